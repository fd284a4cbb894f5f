//! `memsift explain`: every gold turn that was lost, the stage that lost it, and why.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::ask::{conversation_id, question};
use super::destination::DestinationArgs;
use super::knobs::KnobArgs;
use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::{BadInput, load, output, pipeline, say_what_is_missing};
use crate::engine::Deaf;
use crate::explain::advice;
use crate::explain::fate::{id_of, sentence};
use crate::explain::lint::{Lint, lints};
use crate::explain::near_miss::{near_misses, words_of};
use crate::explain::whatif::WhatIfs;
use crate::settings::Settings;
use crate::trace::Trace;
use crate::truncate::{Fate, FateKind};

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// Only this question; without it, every question of the conversation that has gold.
    question: Option<String>,
    /// A database, memsift's own or a chat program's.
    #[arg(long)]
    db: PathBuf,
    /// Conversation id; may be left out when the database has one conversation.
    #[arg(long)]
    conversation: Option<String>,
    /// Explain the gold passages that were lost (the default, and so far the only choice).
    #[arg(long)]
    gold: bool,
    /// Print JSON, one object a question and a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    destination: DestinationArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
    #[command(flatten)]
    knobs: KnobArgs,
}

/// One question with what became of its gold.
#[derive(Serialize)]
struct Explained<'a> {
    id: &'a str,
    question: &'a str,
    gold: u32,
    kept: u32,
    lost: Vec<Lost<'a>>,
    lints: Vec<Lint>,
}

/// One gold passage that was lost.
#[derive(Serialize)]
struct Lost<'a> {
    id: &'a str,
    fate: &'a Fate,
    why: String,
    /// What would keep it: the cheapest change of a knob, else a rank or the weight of a term.
    #[serde(skip_serializing_if = "Option::is_none")]
    rescue: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near_misses: Vec<String>,
}

/// Ask, explain, count.
pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let mut settings = Settings::default();
    args.knobs.apply(&mut settings)?;
    let wanted = args.question.as_deref().map(question).transpose()?;
    let destination = args.destination.open()?;
    let json = args.json || ["json", "jsonl"].contains(&args.destination.ending().as_str());
    let rankers = args.rankers.choice()?;
    let store = args.reading.open(&args.db)?;
    let id = conversation_id(&store, args.conversation.as_deref())?;
    let conversation = Arc::new(load(&store, &id)?);
    let asked: Vec<_> = conversation
        .questions
        .iter()
        .filter(|known| wanted.as_deref().is_none_or(|wanted| known.text.trim() == wanted))
        .filter(|known| !known.gold.is_empty())
        .collect();
    if asked.is_empty() {
        let what = match &wanted {
            Some(text) => format!("'{id}' has no question '{text}' with gold"),
            None => format!("no question of '{id}' has gold"),
        };
        return Err(
            BadInput(format!("{what}: import a data set that names the evidence, or mark gold on the screen")).into()
        );
    }
    let mut pipeline = pipeline(&rankers)?;
    let bar = output::bar(false);
    bar.set_length(asked.len() as u64);
    bar.set_message("questions");
    let mut text = String::new();
    let mut stages: BTreeMap<FateKind, u32> = BTreeMap::new();
    let mut gold = 0;
    for known in &asked {
        let scored = pipeline.ask(&conversation, known.text.trim(), &known.gold, &settings, &mut Deaf);
        let trace = Trace::new(scored, settings.clone());
        for passage in trace.scored.gold.iter() {
            gold += 1;
            *stages.entry(trace.fate(*passage).kind()).or_default() += 1;
        }
        let explained = explain(&trace, &known.id, known.text.trim());
        if json {
            text.push_str(&serde_json::to_string(&explained)?);
            text.push('\n');
        } else {
            lines(&mut text, &explained);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    say_what_is_missing(&pipeline);
    if !json {
        let parts: Vec<String> = FateKind::ALL
            .into_iter()
            .filter_map(|kind| stages.get(&kind).map(|count| format!("{count} {}", kind.name())))
            .collect();
        let _ = writeln!(text, "{} questions, {gold} gold passages: {}", asked.len(), parts.join(", "));
    }
    destination.put(text.as_bytes())
}

fn explain<'a>(trace: &'a Trace, id: &'a str, question: &'a str) -> Explained<'a> {
    let counts = trace.gold();
    let lost = trace.scored.gold.iter().copied().filter(|passage| !trace.fate(*passage).is_kept());
    let lost = lost.map(|passage| Lost {
        id: id_of(trace, passage),
        fate: trace.fate(passage),
        why: sentence(trace, passage),
        rescue: rescue(trace, passage),
        near_misses: near_misses(trace, passage).iter().map(|miss| words_of(trace, miss)).collect(),
    });
    Explained { id, question, gold: counts.total, kept: counts.kept, lost: lost.collect(), lints: lints(trace) }
}

/// The cheapest change of one knob that keeps a lost candidate, or the rank that it would need where no knob does; the
/// weight of a term that lifts one over the candidate cap.
fn rescue(trace: &Trace, passage: u32) -> Option<String> {
    let whatifs = WhatIfs::of(trace, passage);
    if trace.place(passage) == 0 {
        return advice::term_line(&whatifs.terms);
    }
    let knob = advice::cheapest(&whatifs).and_then(|whatif| advice::line(whatif, false));
    knob.or_else(|| advice::rank_line(&whatifs)).or_else(|| advice::without_effect(&whatifs))
}

/// A question whose gold is all kept takes one line, so that the others stand out.
fn lines(text: &mut String, explained: &Explained<'_>) {
    let Explained { id, question, gold, kept, .. } = explained;
    let _ = writeln!(text, "{kept} of {gold} kept  {id}  {question}");
    for lost in &explained.lost {
        let _ = writeln!(text, "    lost {}: {}", lost.id, lost.why);
        if let Some(rescue) = &lost.rescue {
            let _ = writeln!(text, "         {rescue}");
        }
        for miss in &lost.near_misses {
            let _ = writeln!(text, "         {miss}");
        }
    }
    for lint in explained.lints.iter().filter(|_| !explained.lost.is_empty()) {
        let _ = writeln!(text, "    lint {}: {}", lint.kind.name(), lint.text);
    }
}
