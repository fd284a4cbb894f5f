//! The sweep over many questions: asks one after the other in the background, keeps their scores, and counts what a grid of
//! two knobs keeps of their gold. Knows the pipeline and the grid; draws nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::job::{Event, SweepAsk};
use super::pipeline::{Listener, Pipeline};
use crate::eval::sweep::{Sweep, sweep};
use crate::history::Conversation;
use crate::scored::{RankerState, Scored, SentenceVectors};
use crate::settings::{Settings, Stage};

/// The sweep that is running, and the scores of all questions that were asked for one.
#[derive(Default)]
pub(super) struct Sweeper {
    run: Option<Run>,
    kept: Option<Kept>,
}

struct Run {
    ask: SweepAsk,
    next: usize,
    found: Sweep,
    began: Instant,
}

/// Scores under one search: they serve every fusion and cut.
struct Kept {
    conversation: Arc<Conversation>,
    settings: Settings,
    scored: HashMap<String, Arc<Scored>>,
    /// The same for every question, and large.
    sentences: Option<Arc<SentenceVectors>>,
}

impl Kept {
    fn serves(&self, ask: &SweepAsk) -> bool {
        let stage = ask.settings.first_changed_stage(&self.settings);
        Arc::ptr_eq(&self.conversation, &ask.conversation) && !matches!(stage, Some(stage) if stage < Stage::Fuse)
    }
}

impl Sweeper {
    /// True when there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.run.is_none()
    }

    /// Begin another sweep; scores that serve it are kept.
    pub(super) fn start(&mut self, ask: SweepAsk) {
        if !self.kept.as_ref().is_some_and(|kept| kept.serves(&ask)) {
            self.kept = Some(Kept {
                conversation: Arc::clone(&ask.conversation),
                settings: ask.settings.clone(),
                scored: HashMap::new(),
                sentences: None,
            });
        }
        let found = Sweep::empty(ask.rows.clone(), ask.columns.clone());
        self.run = Some(Run { ask, next: 0, found, began: Instant::now() });
    }

    /// Stop; scores stay.
    pub(super) fn stop(&mut self) {
        self.run = None;
    }

    /// Stop and forget all scores.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Ask and count one question. `None` when it was interrupted, which leaves it for the next step.
    pub(super) fn step(&mut self, pipeline: &mut Pipeline, interrupted: &dyn Fn() -> bool) -> Option<Event> {
        let (run, kept) = (self.run.as_mut()?, self.kept.as_mut()?);
        let number = run.ask.number;
        let total = run.ask.questions.len();
        if let Some((text, gold)) = run.ask.questions.get(run.next) {
            let scored = match kept.scored.get(text) {
                Some(known) => Arc::clone(known),
                None => {
                    let settings = &kept.settings;
                    let mut listener = Interruptible { interrupted };
                    let fresh = pipeline.ask(&kept.conversation, text, gold, settings, &mut listener);
                    if is_stopped(&fresh) {
                        return None;
                    }
                    kept.keep(text, fresh)
                }
            };
            let gold = scored.passages.of_turns(gold);
            let scored = if *scored.gold == gold {
                scored
            } else {
                Arc::new(Scored { gold: Arc::new(gold), ..(*scored).clone() })
            };
            match sweep(&[scored], &run.ask.settings, run.found.rows.clone(), run.found.columns.clone()) {
                Ok(one) => run.found.add(&one),
                Err(error) => {
                    self.run = None;
                    return Some(Event::Failed(error.to_string()));
                }
            }
            run.next += 1;
        }
        let done = run.next;
        let seconds = run.began.elapsed().as_secs_f64();
        let left = (done > 0 && seconds > 0.5).then(|| seconds / done as f64 * total.saturating_sub(done) as f64);
        let found = run.found.clone();
        if done >= total {
            self.run = None;
        }
        Some(Event::Swept { number, done, total, left, found })
    }
}

impl Kept {
    fn keep(&mut self, text: &str, fresh: Arc<Scored>) -> Arc<Scored> {
        let scored = match (&self.sentences, &fresh.sentences) {
            (Some(shared), Some(own)) if shared.data.len() == own.data.len() => {
                Arc::new(Scored { sentences: Some(Arc::clone(shared)), ..(*fresh).clone() })
            }
            (_, own) => {
                self.sentences.clone_from(own);
                fresh
            }
        };
        self.scored.insert(text.to_owned(), Arc::clone(&scored));
        scored
    }
}

fn is_stopped(scored: &Scored) -> bool {
    [&scored.ce, &scored.colbert, &scored.dense].into_iter().any(|ranker| ranker.state == RankerState::Stopped)
}

/// Hears nothing, and stops when something else is to be done.
struct Interruptible<'a> {
    interrupted: &'a dyn Fn() -> bool,
}

impl Listener for Interruptible<'_> {
    fn scored(&mut self, _: Arc<Scored>) {}
    fn progress(&mut self, _: &'static str, _: usize, _: usize) {}
    fn stopped(&self) -> bool {
        (self.interrupted)()
    }
}
