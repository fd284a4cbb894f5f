//! `memsift reproduce lexical-dense`: the second paper's tables, measured on a database.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use super::super::{BadInput, output, pipeline, say_what_is_missing};
use super::{ReproduceArgs, chosen, without_ce};
use crate::engine::{Deaf, SlotName};
use crate::eval::bootstrap::{RESAMPLES, difference};
use crate::eval::lexical_dense::{
    Example, Experiment, GRID, POOLERS, Scorer, gold_sessions, lambda, name_of, sessions, settings,
};
use crate::eval::metrics::Metrics;
use crate::settings::Pooler;
use crate::store::Store;
use crate::store::clean::clean_line;

/// Seed of the bootstrap.
const SEED: u64 = 1;

/// Turns of the longest gold session: the bins in which length dilution is told.
const LENGTHS: [(usize, usize); 4] = [(0, 7), (8, 15), (16, 25), (26, usize::MAX)];

/// Measure and print.
pub fn run(args: &ReproduceArgs) -> anyhow::Result<()> {
    if args.ablations {
        return Err(BadInput("--ablations belongs to 'reproduce smartsearch': leave it out here".to_owned()).into());
    }
    if args.with_ce {
        return Err(BadInput("--with-ce belongs to 'reproduce smartsearch': leave it out here".to_owned()).into());
    }
    let rankers = args.rankers.choice()?;
    let store = Store::open(&args.db)?;
    let rows = chosen(&store, args)?;
    let mut pipeline = pipeline(&rankers)?;
    without_ce(&mut pipeline, "it plays no part in this experiment");
    let knobs = settings();
    let bar = output::bar(false);
    bar.set_length(rows.iter().map(|row| row.questions as u64).sum());
    bar.set_message("questions");
    let began = Instant::now();
    let mut examples = Vec::new();
    let mut names = Vec::new();
    let (mut without_gold, mut with_gold) = (0, 0_u32);
    for row in &rows {
        let conversation = Arc::new(store.load(&row.id)?);
        let units = sessions(&conversation);
        let before = examples.len();
        for question in &conversation.questions {
            bar.inc(1);
            if gold_sessions(&conversation, question).is_empty() {
                without_gold += 1;
                continue;
            }
            with_gold += 1;
            if !(with_gold - 1).is_multiple_of(args.every) {
                continue;
            }
            let scored = pipeline.ask(&conversation, question.text.trim(), &question.gold, &knobs, &mut Deaf);
            examples.extend(Example::new(names.len(), question, &scored, &units));
        }
        if examples.len() > before {
            names.push(row.id.clone());
        }
    }
    bar.finish_and_clear();
    if examples.is_empty() {
        return Err(BadInput(format!(
            "'{}' has no question with a gold session: import a data set that names the evidence of its questions",
            args.db.display()
        ))
        .into());
    }
    say_what_is_missing(&pipeline);
    let asked = examples.len();
    let experiment = Experiment::new(examples);
    let name = |slot: SlotName| rankers.slot(slot).name();
    let mut text = format!(
        "{asked} questions in {} conversations ({without_gold} without gold session and {} not sampled left out), {:.1} s\n\
         sessions ranked; dense {}, colbert {}\n",
        names.len(),
        with_gold as usize - asked,
        began.elapsed().as_secs_f64(),
        name(SlotName::Dense),
        name(SlotName::Colbert)
    );
    main_table(&mut text, &experiment);
    sensitivity(&mut text, &experiment);
    let told = told(&experiment);
    categories(&mut text, &experiment, &told);
    differences(&mut text, &experiment);
    lengths(&mut text, &experiment, &told);
    conversations(&mut text, &experiment, &told, &names);
    output::print(&text)
}

/// Every scorer, in the order of the tables.
fn scorers() -> impl Iterator<Item = Scorer> {
    let pooled = |pooler| [Scorer::Dense(pooler), Scorer::Fused(pooler), Scorer::Rrf(pooler)];
    [Scorer::Bm25, Scorer::Bm25L].into_iter().chain(POOLERS.into_iter().flat_map(pooled))
}

fn name(scorer: Scorer) -> String {
    match scorer {
        Scorer::Bm25 => "BM25".to_owned(),
        Scorer::Bm25L => "BM25L".to_owned(),
        Scorer::Dense(pooler) => name_of(pooler).to_owned(),
        Scorer::Fused(pooler) => format!("BM25 + {}, λ held out", name_of(pooler)),
        Scorer::Rrf(pooler) => format!("RRF of BM25, {}", name_of(pooler)),
    }
}

/// What the figures are held against on LoCoMo-10 with all-MiniLM-L6-v2.
fn reference(scorer: Scorer) -> &'static str {
    match scorer {
        Scorer::Bm25 => ".6395",
        Scorer::Bm25L => "",
        Scorer::Dense(Pooler::Mean) => ".3276",
        Scorer::Dense(Pooler::Max) => ".4115",
        Scorer::Dense(Pooler::Top3) => ".4226",
        Scorer::Dense(Pooler::Lse10) => ".3893",
        Scorer::Dense(Pooler::Token) => ".6572",
        Scorer::Fused(Pooler::Mean) => ".6456",
        Scorer::Fused(Pooler::Max) => ".6613",
        Scorer::Fused(Pooler::Top3) => ".6618",
        Scorer::Fused(Pooler::Lse10) => ".6577",
        Scorer::Fused(Pooler::Token) => ".7310",
        Scorer::Rrf(Pooler::Mean) => ".5152",
        Scorer::Rrf(Pooler::Max) => ".5748",
        Scorer::Rrf(Pooler::Top3) => ".5642",
        Scorer::Rrf(Pooler::Lse10) => ".5384",
        Scorer::Rrf(Pooler::Token) => ".7149",
        Scorer::Dense(Pooler::Text) | Scorer::Fused(Pooler::Text) | Scorer::Rrf(Pooler::Text) => "",
    }
}

fn main_table(text: &mut String, experiment: &Experiment) {
    let _ = writeln!(
        text,
        "\n{:<40} {:>9} {:>7} {:>6} {:>7} {:>7} {:>7} {:>7}",
        "scorer (reference: LoCoMo-10, MiniLM)", "reference", "Hit@1", "hits", "R@3", "R@5", "MRR", "NDCG@5"
    );
    for scorer in scorers() {
        let Some(metrics) = experiment.metrics(scorer) else {
            let why = if matches!(scorer, Scorer::Fused(pooler) if experiment.sensitivity(pooler).is_some()) {
                "not measured: λ is chosen on other conversations, and there is one only"
            } else {
                "not measured: model absent"
            };
            let _ = writeln!(text, "{:<40} {:>9} {why}", name(scorer), reference(scorer));
            continue;
        };
        let mean = Metrics::mean(&metrics);
        let hits: f64 = metrics.iter().map(|one| one.hit1).sum();
        let _ = writeln!(
            text,
            "{:<40} {:>9} {:>7.4} {hits:>6.0} {:>7.4} {:>7.4} {:>7.4} {:>7.4}",
            name(scorer),
            reference(scorer),
            mean.hit1,
            mean.recall3,
            mean.recall5,
            mean.mrr,
            mean.ndcg5
        );
    }
}

/// Poolers that were measured, each with what a function makes of it.
fn measured<T>(of: impl Fn(Pooler) -> Option<T>) -> Vec<(Pooler, T)> {
    POOLERS.into_iter().filter_map(|pooler| Some((pooler, of(pooler)?))).collect()
}

fn heading(text: &mut String, title: &str, first: &str, columns: &[String]) {
    let _ = write!(text, "\n{title}\n{first:<24}");
    for column in columns {
        let _ = write!(text, " {column:>20}");
    }
    text.push('\n');
}

fn names_of<T>(columns: &[(Pooler, T)]) -> Vec<String> {
    columns.iter().map(|(pooler, _)| name_of(*pooler).to_owned()).collect()
}

fn sensitivity(text: &mut String, experiment: &Experiment) {
    let curves = measured(|pooler| experiment.sensitivity(pooler));
    if curves.is_empty() {
        return;
    }
    heading(text, "Hit@1 by λ, the share of BM25, one λ for all questions", "λ", &names_of(&curves));
    for at in 0..GRID {
        let _ = write!(text, "{:<24.2}", lambda(at));
        for (_, curve) in &curves {
            let _ = write!(text, " {:>20.4}", curve.get(at).copied().unwrap_or(0.0));
        }
        text.push('\n');
    }
    let chosen = measured(|pooler| experiment.chosen(pooler));
    for (pooler, folds) in chosen {
        let folds: Vec<String> = folds.iter().map(|lambda| format!("{lambda:.2}")).collect();
        let _ = writeln!(text, "λ held out, {}: {}", name_of(pooler), folds.join(" "));
    }
}

/// A scorer of the smaller tables and its measures, a question each.
type Told = (String, Vec<Metrics>);

/// BM25, then each pooler alone and fused, as far as they were measured.
fn told(experiment: &Experiment) -> Vec<Told> {
    let wanted = scorers().filter(|scorer| !matches!(scorer, Scorer::Rrf(_)));
    wanted.filter_map(|scorer| Some((name(scorer), experiment.metrics(scorer)?))).collect()
}

/// Hit@1 of those questions that a test keeps.
fn hit1(metrics: &[Metrics], experiment: &Experiment, keeps: impl Fn(&Example) -> bool) -> f64 {
    Metrics::mean(metrics.iter().zip(&experiment.examples).filter(|(_, one)| keeps(one)).map(|(one, _)| one)).hit1
}

/// A table with a row a scorer and a column a group of questions; groups without questions are left out.
fn groups(
    text: &mut String,
    experiment: &Experiment,
    told: &[Told],
    title: &str,
    names: &[String],
    group: impl Fn(&Example) -> String,
) {
    let count = |name: &String| experiment.examples.iter().filter(|one| group(one) == *name).count();
    let names: Vec<&String> = names.iter().filter(|name| count(name) > 0).collect();
    let _ = write!(text, "\n{title}\n{:<40}", "scorer");
    for name in &names {
        let _ = write!(text, " {:>14}", format!("{name} ({})", count(name)));
    }
    text.push('\n');
    for (scorer, metrics) in told {
        let _ = write!(text, "{scorer:<40}");
        for name in &names {
            let _ = write!(text, " {:>14.4}", hit1(metrics, experiment, |one| group(one) == **name));
        }
        text.push('\n');
    }
}

fn categories(text: &mut String, experiment: &Experiment, told: &[Told]) {
    let category = |one: &Example| clean_line(one.category.as_deref().unwrap_or("none"), &mut 0).into_owned();
    let mut names: Vec<String> = experiment.examples.iter().map(category).collect();
    names.sort_unstable();
    names.dedup();
    groups(text, experiment, told, "Hit@1 by category", &names, category);
}

fn lengths(text: &mut String, experiment: &Experiment, told: &[Told]) {
    let name = |(least, most): (usize, usize)| match most {
        usize::MAX => format!("{least}+"),
        _ => format!("{least}-{most}"),
    };
    let bin = |one: &Example| {
        let found = LENGTHS.into_iter().find(|(least, most)| (*least..=*most).contains(&one.longest));
        found.map_or_else(String::new, name)
    };
    let title = "Length dilution: Hit@1 by turns of the longest gold session";
    groups(text, experiment, told, title, &LENGTHS.map(name), bin);
}

fn conversations(text: &mut String, experiment: &Experiment, told: &[Told], names: &[String]) {
    let wanted = ["BM25".to_owned(), name(Scorer::Dense(Pooler::Max)), name(Scorer::Fused(Pooler::Max))];
    let columns: Vec<_> = told.iter().filter(|(name, _)| wanted.contains(name)).collect();
    let _ = write!(text, "\nHit@1 by conversation\n{:<24} {:>6}", "conversation", "n");
    for (name, _) in &columns {
        let _ = write!(text, " {name:>28}");
    }
    text.push('\n');
    for (at, conversation) in names.iter().enumerate() {
        let own = |one: &Example| one.conversation == at;
        let count = experiment.examples.iter().filter(|one| own(one)).count();
        let _ = write!(text, "{:<24} {count:>6}", clean_line(conversation, &mut 0));
        for (_, metrics) in &columns {
            let _ = write!(text, " {:>28.4}", hit1(metrics, experiment, own));
        }
        text.push('\n');
    }
}

/// The contrasts of the paper, and those of token MaxSim.
fn differences(text: &mut String, experiment: &Experiment) {
    let late = Pooler::Max;
    let pairs = [
        (Scorer::Dense(late), Scorer::Dense(Pooler::Mean)),
        (Scorer::Fused(late), Scorer::Fused(Pooler::Mean)),
        (Scorer::Dense(Pooler::Top3), Scorer::Dense(late)),
        (Scorer::Dense(Pooler::Lse10), Scorer::Dense(late)),
        (Scorer::Fused(late), Scorer::Dense(late)),
        (Scorer::Fused(late), Scorer::Bm25),
        (Scorer::Dense(late), Scorer::Bm25),
        (Scorer::Fused(late), Scorer::Rrf(late)),
        (Scorer::Rrf(late), Scorer::Bm25),
        (Scorer::Fused(Pooler::Token), Scorer::Fused(late)),
        (Scorer::Fused(Pooler::Token), Scorer::Bm25),
        (Scorer::Dense(Pooler::Token), Scorer::Bm25),
    ];
    let hits = |scorer| -> Option<Vec<f64>> { Some(experiment.metrics(scorer)?.iter().map(|one| one.hit1).collect()) };
    let owners = experiment.conversations();
    let found: Vec<(String, String)> = pairs
        .into_iter()
        .filter_map(|(first, second)| {
            let found = difference(&hits(first)?, &hits(second)?, &owners, SEED)?;
            Some((
                format!("{} less {}", name(first), name(second)),
                format!(
                    "{:>+7.2} {:>+7.2} … {:>+6.2} {:>8.4}",
                    found.value * 100.0,
                    found.low * 100.0,
                    found.high * 100.0,
                    found.p
                ),
            ))
        })
        .collect();
    if found.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nDifferences of Hit@1 in points, 95 % interval and one-sided p: {RESAMPLES} resamples of conversations, seed {SEED}"
    );
    for (pair, numbers) in found {
        let _ = writeln!(text, "{pair:<76} {numbers}");
    }
}
