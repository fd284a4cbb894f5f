//! `memsift reproduce lexical-dense`: the second paper's tables, measured on a database.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::super::document::Document;
use super::super::{BadInput, output, pipeline, say_what_is_missing};
use super::{ReproduceArgs, chosen, session_tables, without_ce};
use crate::engine::{Models, Pipeline, SlotName};
use crate::eval::lexical_dense::{Example, Experiment, Scorer, gold_sessions, reordered, sessions, settings};
use crate::eval::metrics::{Metrics, best_first};
use crate::history::Question;
use crate::passage::PassageSet;
use crate::scored::Similarity;
use crate::settings::Pooler;

/// The order that is reranked, and how much of it.
const RERANKED: Scorer = Scorer::Fused(Pooler::Max);
const RERANK: usize = 10;
/// Questions that are compared with a conversation at once.
const AT_ONCE: usize = 64;

/// Measure and print.
pub fn run(args: &ReproduceArgs) -> anyhow::Result<Document> {
    if args.ablations {
        return Err(BadInput("--ablations belongs to 'reproduce smartsearch': leave it out here".to_owned()).into());
    }
    let rankers = args.rankers.choice()?;
    let store = args.reading.open(&args.db)?;
    let rows = chosen(&store, args)?;
    let mut pipeline = pipeline(&rankers)?;
    // The cross-encoder reranks the ten best sessions at the end, and scores no turns.
    let ce = pipeline.models().ce.clone();
    without_ce(&mut pipeline, "turns are not scored by it");
    let knobs = settings();
    let bar = output::bar(false);
    bar.set_length(rows.iter().map(|row| row.questions as u64).sum());
    bar.set_message("questions");
    let began = Instant::now();
    let mut examples = Vec::new();
    let mut texts = Vec::new();
    let mut names = Vec::new();
    let (mut without_gold, mut with_gold) = (0, 0_u32);
    for row in &rows {
        let conversation = Arc::new(store.load(&row.id)?);
        let units = Arc::new(sessions(&conversation));
        let mut asked = Vec::new();
        for question in &conversation.questions {
            if gold_sessions(&conversation, question).is_empty() {
                without_gold += 1;
                continue;
            }
            with_gold += 1;
            if (with_gold - 1).is_multiple_of(args.every) {
                asked.push(question);
            }
        }
        let questions: Vec<&str> = asked.iter().map(|question| question.text.trim()).collect();
        // A few at a time, so that the bar moves.
        let scored: Vec<_> = questions
            .chunks(AT_ONCE)
            .flat_map(|some| {
                let found = pipeline.similarities(&conversation, some, &knobs);
                bar.inc(some.len() as u64);
                found
            })
            .collect();
        let number = names.len();
        let of = |(question, turns): (&&Question, &Similarity)| Example::new(number, question, turns, &units);
        examples.par_extend(asked.par_iter().zip(&scored).filter_map(of));
        texts.extend(questions.iter().map(|question| (Arc::clone(&units), (*question).to_owned())));
        bar.inc((conversation.questions.len() - questions.len()) as u64);
        if !asked.is_empty() {
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
    let ce = if args.with_ce { ce } else { Err("not asked for: --with-ce adds it".to_owned()) };
    pipeline.set_models(Models { ce, ..pipeline.models().clone() });
    say_what_is_missing(&pipeline);
    let asked = examples.len();
    let experiment = Experiment::new(examples);
    let reranked = if args.with_ce { rerank(&mut pipeline, &experiment, &texts)? } else { None };
    let name = |slot: SlotName| rankers.slot(slot).name();
    let mut document = Document::new("The second paper's experiment");
    document.lines(format!(
        "{asked} questions in {} conversations ({without_gold} without gold session and {} not sampled left out), {:.1} s\n\
         sessions ranked; ce {}, dense {}, colbert {}\n",
        names.len(),
        with_gold as usize - asked,
        began.elapsed().as_secs_f64(),
        name(SlotName::Ce),
        name(SlotName::Dense),
        name(SlotName::Colbert)
    ));
    session_tables::add(&mut document, &experiment, reranked.as_deref(), &names);
    Ok(document)
}

/// The ten best sessions by BM25 and late interaction, λ held out, in the order of the cross-encoder, which reads each
/// session's text as far as it reads. `None` where it is absent or there is no such order.
fn rerank(
    pipeline: &mut Pipeline,
    experiment: &Experiment,
    texts: &[(Arc<PassageSet>, String)],
) -> anyhow::Result<Option<Vec<Metrics>>> {
    let bar = output::bar(false);
    bar.set_length(texts.len() as u64);
    bar.set_message("reranking");
    let mut all = Vec::new();
    for (at, (example, (units, question))) in experiment.examples.iter().zip(texts).enumerate() {
        let Some(scores) = experiment.scores(RERANKED, at) else { return Ok(None) };
        let top = best_first(&scores);
        let top = top.get(..top.len().min(RERANK)).unwrap_or_default();
        let sessions: Vec<&str> = top.iter().filter_map(|at| Some(units.passages.get(*at)?.text.as_str())).collect();
        let Some(ce) = pipeline.score_pairs(question, &sessions) else { return Ok(None) };
        let ce = ce.map_err(|error| anyhow::anyhow!("the cross-encoder failed: {error}"))?;
        all.push(Metrics::of(&reordered(&scores, top, &ce), &example.gold));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Some(all))
}
