//! `memsift bench`: how fast this machine ranks, with the models that are there, on the sample histories. Knows what is timed
//! and how it is printed; the work is done where questions do it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::document::{Document, Form};
use super::rankers::RankerArgs;
use super::table::Table;
use super::{demo, output};
use crate::engine::Models;
use crate::passage::{PassageSet, Shape};
use crate::rank::{CrossEncoder, Kernel, PassageVectors, Precision, TextEncoder, TokenVectors};
use crate::retrieve::{NoReader, retrieve};
use crate::settings::Settings;
use crate::store::Store;

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// How to print it.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "markdown"], default_value = "text")]
    format: String,
    #[command(flatten)]
    rankers: RankerArgs,
}

/// Pairs of one measurement.
const PAIRS: usize = 100;
/// Candidates of the curve: the cost of one should not grow with their number.
const CURVE: [usize; 5] = [10, 30, 100, 300, 1000];
/// Passages of a long conversation, as in LoCoMo.
const PASSAGES: usize = 600;
/// Rounds of one measurement, while there is time.
const ROUNDS: usize = 5;
/// No measurement begins another round after this time.
const ENOUGH: Duration = Duration::from_secs(4);
/// The question of the pairs.
const QUESTION: &str = "What made Nell nearly give up on the boat, and what changed her mind?";

/// Measure and print.
pub fn run(args: &BenchArgs) -> anyhow::Result<()> {
    let rankers = args.rankers.choice()?;
    let store = Store::open(&demo::database()?)?;
    let mut texts: Vec<String> = Vec::new();
    let mut sets = Vec::new();
    for row in store.summaries()? {
        let set = PassageSet::new(Arc::new(store.load(&row.id)?), Shape::of(&Settings::default()));
        texts.extend(set.passages.iter().map(|passage| passage.text.clone()));
        sets.push(set);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let cores = rayon::current_num_threads();
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut document = Document::new("memsift bench");
    document.lines(format!(
        "memsift {}, kernel {}, {cores} threads; medians of up to {ROUNDS} rounds, and what else runs counts in\n",
        env!("CARGO_PKG_VERSION"),
        Kernel::current().name()
    ));
    let bar = output::bar(false);
    bar.set_length(4);
    let mut table = Table::new("Rankers, wall time", ["what", "model", "1 thread", "all threads", "rate"]);
    let mut curve = Table::default();
    let mut absent = Vec::new();
    for precision in [Precision::Exact, Precision::Fast] {
        if precision == Precision::Fast && Precision::quickest() != Precision::Fast {
            absent.push("fast: this CPU has no AVX-512 BF16".to_owned());
            continue;
        }
        bar.set_message(precision.name());
        let models = Models::load(&crate::engine::RankerChoice { precision, ..rankers.clone() });
        match &models.ce {
            Ok(ce) => {
                let what = format!("{PAIRS} pairs, {}", precision.name());
                pairs(&mut table, ce.as_ref(), &what, &texts, &one)?;
                if precision == Precision::Exact {
                    curve = curve_of(ce.as_ref(), &texts)?;
                }
            }
            Err(reason) => absent.push(format!("ce: {reason}")),
        }
        bar.inc(1);
        match &models.colbert {
            Ok(colbert) => vectors(&mut table, colbert.as_ref(), precision, &texts, &one)?,
            Err(reason) => absent.push(format!("colbert: {reason}")),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let scan = time(|| {
        let settings = Settings::default();
        for set in &sets {
            black_box(retrieve(set, &crate::parse::parse_plain(QUESTION, &settings), &NoReader, &settings));
        }
        Ok::<(), anyhow::Error>(())
    })?;
    let words: u64 = sets.iter().map(PassageSet::words).sum();
    table.row([
        format!("scan of {words} words for a question's terms"),
        String::new(),
        String::new(),
        shown(scan),
        format!("{:.0} M words/s", words as f64 / scan.as_secs_f64() / 1e6),
    ]);
    document.table(table);
    document.table(curve);
    absent.sort();
    absent.dedup();
    for reason in absent {
        document.lines(format!("not measured, {reason}\n"));
    }
    output::print(&document.print(Form::named(&args.format).unwrap_or(Form::Text)))
}

/// The first texts again and again, as many as wanted.
fn take<'a>(texts: &[&'a str], count: usize) -> Vec<&'a str> {
    texts.iter().copied().cycle().take(count).collect()
}

/// The cross-encoder over question and passage.
fn pairs(
    table: &mut Table,
    ce: &dyn CrossEncoder,
    what: &str,
    texts: &[&str],
    one: &rayon::ThreadPool,
) -> anyhow::Result<()> {
    let passages = take(texts, PAIRS);
    let mut work = || ce.score(QUESTION, &passages).map(|scores| drop(black_box(scores)));
    let alone = one.install(|| time(&mut work))?;
    let all = time(&mut work)?;
    let rate = format!("{:.0} pairs/s", PAIRS as f64 / all.as_secs_f64());
    table.row([what.to_owned(), ce.model().name.clone(), shown(alone), shown(all), rate]);
    Ok(())
}

/// What a candidate costs among few and among many.
fn curve_of(ce: &dyn CrossEncoder, texts: &[&str]) -> anyhow::Result<Table> {
    let mut table = Table::new("What a candidate costs, exact, all threads", ["candidates", "all", "each"]);
    for count in CURVE {
        let passages = take(texts, count);
        let all = time(|| ce.score(QUESTION, &passages).map(|scores| drop(black_box(scores))))?;
        table.row([count.to_string(), shown(all), shown(all / count as u32)]);
    }
    Ok(table)
}

/// The encoder over passages, and MaxSim over what it gave.
fn vectors(
    table: &mut Table,
    encoder: &dyn TextEncoder,
    precision: Precision,
    texts: &[&str],
    one: &rayon::ThreadPool,
) -> anyhow::Result<()> {
    let name = &encoder.model().name;
    let passages = take(texts, PAIRS);
    let mut work = || encoder.encode_passages(&passages).map(|vectors| drop(black_box(vectors)));
    let alone = one.install(|| time(&mut work))?;
    let all = time(&mut work)?;
    let rate = format!("{:.0} passages/s", PAIRS as f64 / all.as_secs_f64());
    let what = format!("vectors of {PAIRS} passages, {}", precision.name());
    table.row([what, name.clone(), shown(alone), shown(all), rate]);
    if precision != Precision::Exact || !encoder.gives().tokens {
        return Ok(());
    }
    let made: Vec<TokenVectors> = encoder.encode_passages(&passages)?;
    let many = PassageVectors::new(encoder.dim(), made.iter().cycle().take(PASSAGES))?;
    let query = encoder.encode_query(QUESTION)?;
    let mut work = || many.score(&query).map(|scores| drop(black_box(scores)));
    let alone = one.install(|| time(&mut work))?;
    let all = time(&mut work)?;
    let rate = format!("{:.0} k passages/s", PASSAGES as f64 / all.as_secs_f64() / 1e3);
    table.row([format!("MaxSim of {PASSAGES} known passages"), name.clone(), shown(alone), shown(all), rate]);
    Ok(())
}

/// The median of some rounds, after one that warms up.
fn time<E: Into<anyhow::Error>>(mut work: impl FnMut() -> Result<(), E>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut rounds = Vec::new();
    work().map_err(Into::into)?;
    while rounds.len() < ROUNDS && (rounds.is_empty() || began.elapsed() < ENOUGH) {
        let round = Instant::now();
        work().map_err(Into::into)?;
        rounds.push(round.elapsed());
    }
    rounds.sort_unstable();
    Ok(rounds.get(rounds.len() / 2).copied().unwrap_or_default())
}

fn shown(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    if millis >= 100.0 { format!("{millis:.0} ms") } else { format!("{millis:.2} ms") }
}
