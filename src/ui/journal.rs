//! What the log says of a session: jobs that go to the engine and events that come from it, a line each. Knows sentences;
//! whether anybody keeps them is decided elsewhere.

use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::{Event, Job, ModelState};
use crate::scored::Scored;
use crate::store::clean::clean_line;

/// What has been heard and is told later.
#[derive(Default)]
pub struct Journal {
    last: Mutex<Option<Arc<Scored>>>,
}

impl Journal {
    /// The engine says something.
    pub fn event(&self, event: &Event) {
        match event {
            Event::Model(status) => match &status.state {
                ModelState::Loading => {}
                ModelState::Ready(seconds) => {
                    info(&format!("model {} '{}' is ready after {seconds:.2} s", status.role, status.name));
                }
                ModelState::Absent(reason) => warn(&format!("model {}: {reason}", status.role)),
            },
            Event::Opened { path, fingerprint, notices, conversations, .. } => {
                let count = conversations.len();
                info(&format!("'{}' is open: {count} conversations, fingerprint {fingerprint}", path.display()));
                notices.iter().for_each(|notice| warn(notice));
            }
            Event::Reloaded(now) => {
                info(&format!("read again: {}, fingerprint {}", now.change, now.fingerprint));
                now.notices.iter().for_each(|notice| warn(notice));
            }
            Event::Loaded(talk) => {
                let (sessions, turns) = (talk.sessions.len(), talk.turns.len());
                info(&format!("conversation '{}' is loaded: {sessions} sessions, {turns} turns", talk.id));
            }
            Event::Scored { scored, .. } => *self.lock() = Some(Arc::clone(scored)),
            Event::Finished { generation } => match self.lock().take() {
                Some(scored) => finished(*generation, &scored),
                None => info(&format!("question {generation} is done")),
            },
            Event::Swept { number, done, total, .. } if done == total => {
                info(&format!("sweep {number} is done: {total} questions"));
            }
            Event::Contrasted { number, done, total, .. } if done == total => {
                info(&format!("comparison {number} is done: {total} questions"));
            }
            Event::Planned { number, plans } => info(&format!("oracle {number} is done: {} questions", plans.len())),
            Event::Failed(sentence) | Event::Broken(sentence) => error(sentence),
            Event::Notice(sentence) => warn(sentence),
            Event::Outlined { outline, .. } => {
                info(&format!("'{}' has {} tables to choose from", outline.path.display(), outline.tables.len()));
            }
            Event::Previewed { .. }
            | Event::Marks(_)
            | Event::Progress(_)
            | Event::Pinned { .. }
            | Event::Swept { .. }
            | Event::Contrasted { .. }
            | Event::Inspected { .. }
            | Event::Counted { .. } => {}
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Scored>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The engine is asked something.
pub fn job(job: &Job) {
    match job {
        Job::Open(path) => info(&format!("'{}' is opened", path.display())),
        Job::Ask(ask) => info(&format!("question {} of '{}': {}", ask.generation, ask.conversation.id, ask.text)),
        Job::Pinned(ask) => info(&format!("question {} under the pinned settings", ask.generation)),
        Job::Sweep(ask) => info(&format!("sweep {}: {} questions", ask.number, ask.questions.len())),
        Job::Contrast(ask) => info(&format!("comparison {}: {} questions", ask.number, ask.questions.len())),
        Job::Oracle(ask) => info(&format!("oracle {}: {} questions", ask.number, ask.questions.len())),
        Job::Mark { question, turns, .. } => info(&format!("{} turns are gold now for: {question}", turns.len())),
        Job::Stop | Job::StopSweep => info("scoring is stopped"),
        Job::Resume => info("scoring goes on"),
        Job::OpenMapped(path, map) => info(&format!("'{}' is opened by {}", path.display(), map.words())),
        Job::Reload => info("the database is read again"),
        Job::Follow(on) => info(if *on { "the database is followed" } else { "the database is no longer followed" }),
        Job::Outline(_) | Job::Preview(_) | Job::Load(_) | Job::Inspect { .. } | Job::Count(_) | Job::Quit => {}
    }
}

/// A question is done: how much there was, how long it took, and what of it failed.
fn finished(generation: u64, scored: &Scored) {
    let times = &scored.timings;
    let total = times.parse_ms + times.retrieve_ms + times.colbert_ms + times.ce_ms;
    info(&format!(
        "question {generation} is done after {total:.1} ms: parse {:.1}, retrieve {:.1}, colbert {:.1}, ce {:.1}; {} \
         candidates of {} passages",
        times.parse_ms,
        times.retrieve_ms,
        times.colbert_ms,
        times.ce_ms,
        scored.retrieval.candidates.len(),
        scored.passages.len()
    ));
    for (slot, ranker) in [("ce", &scored.ce), ("colbert", &scored.colbert)] {
        if let Some(trouble) = ranker.trouble() {
            warn(&format!("question {generation}, {slot}: {trouble}"));
        }
    }
}

/// Something worth knowing.
pub fn info(text: &str) {
    tracing::info!("{}", clean_line(text, &mut 0));
}

/// Something that is not as it should be.
pub fn warn(text: &str) {
    tracing::warn!("{}", clean_line(text, &mut 0));
}

/// Something that went wrong.
pub fn error(text: &str) {
    tracing::error!("{}", clean_line(text, &mut 0));
}
