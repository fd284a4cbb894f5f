//! `memsift reproduce smartsearch`: the first paper's retrieval figures, measured on a database, beside what was published.

use std::sync::Arc;
use std::time::Instant;

use super::super::chart::Chart;
use super::super::document::Document;
use super::super::table::Table;
use super::super::{BadInput, output, pipeline, say_what_is_missing};
use super::{ReproduceArgs, chosen, without_ce};
use crate::engine::{Deaf, SlotName};
use crate::eval::oracle::{Oracle, Rules, plan};
use crate::eval::smartsearch::{ORDERS, Tally, settings};
use crate::settings::Fusion;

/// Category of questions about what was never said; they have no answer to keep.
pub(super) const ADVERSARIAL: &str = "5";

/// Hits a search with which the oracle solves as many questions as in the paper.
const LIMIT: u32 = 270;

/// Measure and print.
pub fn run(args: &ReproduceArgs) -> anyhow::Result<Document> {
    let rankers = args.rankers.choice()?;
    let store = args.reading.open(&args.db)?;
    let rows = chosen(&store, args)?;
    let mut pipeline = pipeline(&rankers)?;
    if !args.with_ce {
        without_ce(&mut pipeline, "not asked for: --with-ce adds it");
    }
    let knobs = settings();
    let limited = Rules { hits: Some(LIMIT), ..Rules::default() };
    let mut oracles = [(Rules::default(), Oracle::default()), (limited, Oracle::default())];
    let mut tally = Tally::new();
    let (mut adversarial, mut without_gold, mut with_gold) = (0, 0, 0_u32);
    let began = Instant::now();
    let bar = output::bar(false);
    bar.set_length(rows.iter().map(|row| row.questions as u64).sum());
    bar.set_message("questions");
    for row in rows {
        let conversation = Arc::new(store.load(&row.id)?);
        for question in &conversation.questions {
            bar.inc(1);
            if question.category.as_deref() == Some(ADVERSARIAL) {
                adversarial += 1;
            } else if question.gold.is_empty() {
                without_gold += 1;
            } else {
                with_gold += 1;
                if !(with_gold - 1).is_multiple_of(args.every) {
                    continue;
                }
                let scored = pipeline.ask(&conversation, &question.text, &question.gold, &knobs, &mut Deaf);
                tally.add(&scored);
                for (rules, totals) in &mut oracles {
                    let set = &scored.passages;
                    totals.add(&plan(set, &scored.query, &scored.gold, pipeline.reader(), &knobs, *rules));
                }
            }
        }
    }
    bar.finish_and_clear();
    if tally.questions == 0 {
        return Err(BadInput(format!(
            "'{}' has no question with gold: import a data set that names the evidence of its questions",
            args.db.display()
        ))
        .into());
    }
    say_what_is_missing(&pipeline);
    let left_out = format!(
        "{adversarial} adversarial, {without_gold} without gold and {} not sampled left out",
        with_gold - tally.questions as u32
    );
    let name = |slot: SlotName| rankers.slot(slot).name();
    let names = [name(SlotName::Ce), name(SlotName::Colbert), name(SlotName::Dense)];
    Ok(document(&tally, &oracles, &left_out, &names, began.elapsed().as_secs_f64()))
}

fn document(
    tally: &Tally,
    oracles: &[(Rules, Oracle)],
    left_out: &str,
    [ce, colbert, dense]: &[String; 3],
    seconds: f64,
) -> Document {
    let mut document = Document::new("The first paper's retrieval figures");
    document.lines(format!(
        "{} questions, {} gold passages ({left_out}), {seconds:.1} s\nce {ce}, colbert {colbert}, dense {dense}\n",
        tally.questions, tally.gold
    ));
    // References were measured with the small set; other models are not held against them.
    let small = |model: &str, reference: &'static str| if model == "all-MiniLM-L6-v2" { reference } else { "" };
    let mut table = Table::new("", ["figure (the references are for LoCoMo-10)", "paper", "reference", "here"]);
    let mut row = |figure: &str, paper: &str, reference: &str, measured: String| {
        table.row([figure.to_owned(), paper.to_owned(), reference.to_owned(), measured]);
    };
    row("gold passages retrieved", "98.6 %", "99.24 %", percent(Some(tally.found_share()), 2));
    row(
        "questions with all gold retrieved",
        "",
        "98.89 %",
        format!("{} ({})", percent(Some(tally.all_found as f64 / tally.questions as f64), 2), tally.all_found),
    );
    row(
        "mean position of the first gold, conversation order",
        "195",
        "193.2",
        format!("{:.1}", tally.mean_first_gold()),
    );
    let mut bars = Vec::new();
    for (slot, fusion) in ORDERS.into_iter().enumerate() {
        let (name, paper, reference) = match fusion {
            Fusion::Order => ("conversation order", "22.5 %", "22.1 %"),
            Fusion::Match => ("match score", "", "62.6 %"),
            Fusion::Dense => ("cosine of sentence vectors", "", small(dense, "69.2 %")),
            Fusion::Colbert => ("ColBERT (token MaxSim)", "", small(colbert, "80.2 %")),
            Fusion::Z => ("z, 0.2 BM25 + 0.8 MaxSim", "", small(colbert, "80.7 %")),
            Fusion::Ce => ("cross-encoder", "", ""),
            _ => ("RRF, 0.7 cross-encoder + 0.3 ColBERT", "", ""),
        };
        bars.push((name.to_owned(), tally.survival(slot).map(|share| share * 100.0)));
        row(&format!("gold surviving 2,000 words, {name}"), paper, reference, percent(tally.survival(slot), 1));
        row("    the same, mean over questions", "", "", percent(tally.survival_by_question(slot), 1));
    }
    let spearman = tally.mean_spearman().map_or("not measured".to_owned(), |mean| format!("{mean:.3}"));
    row("Spearman of cross-encoder and ColBERT, mean", "", "", spearman);
    let (mean, p95, most) = tally.candidate_numbers();
    row("candidates per question, mean / p95 / max", "", "428/629/689", format!("{mean:.0}/{p95}/{most}"));
    for (rules, totals) in oracles {
        let limit = rules.hits.map(|hits| format!(", {hits} hits a search")).unwrap_or_default();
        let of = |count: usize, of: usize| percent((of > 0).then(|| count as f64 / of as f64), 1);
        let (solved, one) = (totals.solved(), totals.steps.get(&1).copied().unwrap_or(0));
        let references = if rules.hits.is_some() { ["85.8 %", "95.6 %"] } else { ["98.9 %", "97.7 %"] };
        let [solvable, one_step] = references;
        row(&format!("oracle: solvable{limit}"), "85.7 %", solvable, of(solved, totals.questions));
        row(&format!("oracle: one search, of the solved{limit}"), "97 %", one_step, of(one, solved));
    }
    document.table(table);
    document.chart(Chart::Bars { title: "% of the gold that survives 2,000 words".to_owned(), bars });
    document
}

fn percent(share: Option<f64>, digits: usize) -> String {
    share.map_or("not measured".to_owned(), |share| format!("{:.digits$} %", share * 100.0))
}
