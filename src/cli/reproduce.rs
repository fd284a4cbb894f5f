//! `memsift reproduce`: the papers' figures, measured on a database, beside what was published.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::ask::conversation_id;
use super::{BadInput, output, pipeline};
use crate::engine::{Deaf, Models};
use crate::eval::smartsearch::{ORDERS, Tally, settings};
use crate::settings::Fusion;
use crate::store::Store;

/// Arguments of `reproduce`.
#[derive(Debug, clap::Args)]
pub struct ReproduceArgs {
    /// Which paper.
    #[arg(value_enum)]
    paper: Paper,
    /// A memsift database with questions and gold.
    #[arg(long)]
    db: PathBuf,
    /// Only these conversations.
    #[arg(long)]
    conversation: Vec<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Paper {
    /// Ranking beats structure: parse, retrieve, survival in a budget.
    Smartsearch,
}

/// Category of questions about what was never said; they have no answer to keep.
const ADVERSARIAL: &str = "5";

/// Measure and print.
pub fn run(args: &ReproduceArgs) -> anyhow::Result<()> {
    let Paper::Smartsearch = args.paper;
    let store = Store::open(&args.db)?;
    let summaries = store.summaries()?;
    for id in &args.conversation {
        conversation_id(&store, Some(id))?;
    }
    let mut pipeline = pipeline()?;
    let no_ce = Models { ce: Err("not part of this table".to_owned()), ..pipeline.models().clone() };
    pipeline.set_models(no_ce);
    let knobs = settings();
    let mut tally = Tally::new();
    let (mut adversarial, mut without_gold) = (0, 0);
    let began = Instant::now();
    let chosen: Vec<_> =
        summaries.iter().filter(|row| args.conversation.is_empty() || args.conversation.contains(&row.id)).collect();
    let bar = output::bar(false);
    bar.set_length(chosen.iter().map(|row| row.questions as u64).sum());
    bar.set_message("questions");
    for row in chosen {
        let conversation = Arc::new(store.load(&row.id)?);
        for question in &conversation.questions {
            bar.inc(1);
            if question.category.as_deref() == Some(ADVERSARIAL) {
                adversarial += 1;
            } else if question.gold.is_empty() {
                without_gold += 1;
            } else {
                tally.add(&pipeline.ask(&conversation, &question.text, &question.gold, &knobs, &mut Deaf));
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
    for notice in pipeline.notices() {
        output::say(&format!("memsift: {notice}"));
    }
    let models = pipeline.models();
    for reason in [models.tagger.as_ref().err(), models.encoder.as_ref().err()].into_iter().flatten() {
        output::say(&format!("memsift: {reason}"));
    }
    output::print(&table(&tally, adversarial, without_gold, began.elapsed().as_secs_f64()))
}

fn table(tally: &Tally, adversarial: usize, without_gold: usize, seconds: f64) -> String {
    let mut text = format!(
        "{} questions, {} gold passages ({adversarial} adversarial and {without_gold} without gold left out), {seconds:.1} s\n\n",
        tally.questions, tally.gold
    );
    let mut row = |figure: &str, paper: &str, reference: &str, measured: String| {
        let _ = writeln!(text, "{figure:<58} {paper:>8} {reference:>13} {measured:>16}");
    };
    row("figure (the references are for LoCoMo-10)", "paper", "reference", "here".to_owned());
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
    let published = [
        ("conversation order", "22.5 %", "22.1 %"),
        ("match score", "", "62.6 %"),
        ("sentence cosine (all-MiniLM-L6-v2)", "", "69.2 %"),
        ("token MaxSim (all-MiniLM-L6-v2)", "", "80.2 %"),
        ("z, 0.2 BM25 + 0.8 MaxSim", "", "80.7 %"),
    ];
    for (slot, (name, paper, reference)) in published.into_iter().enumerate() {
        debug_assert!(slot < ORDERS.len() && ORDERS.last() == Some(&Fusion::Z));
        row(&format!("gold surviving 2,000 words, {name}"), paper, reference, percent(tally.survival(slot), 1));
        row("    the same, mean over questions", "", "", percent(tally.survival_by_question(slot), 1));
    }
    let (mean, p95, most) = tally.candidate_numbers();
    row("candidates per question, mean / p95 / max", "", "428/629/689", format!("{mean:.0}/{p95}/{most}"));
    text
}

fn percent(share: Option<f64>, digits: usize) -> String {
    share.map_or("model absent".to_owned(), |share| format!("{:.digits$} %", share * 100.0))
}
