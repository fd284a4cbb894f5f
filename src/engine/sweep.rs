//! Work over many questions: asks one after the other in the background, keeps their scores, and counts what a grid of two
//! knobs keeps of their gold, or what two settings do. Knows the pipeline and the grid; draws nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::job::{ContrastAsk, Contrasted, Event, SweepAsk};
use super::pipeline::{Listener, Pipeline};
use crate::eval::sweep::{Sweep, sweep};
use crate::history::Conversation;
use crate::scored::{RankerState, Scored, SentenceVectors};
use crate::settings::Settings;
use crate::trace::Trace;

/// Searches whose scores are kept: those of two settings that are compared.
const SEARCHES: usize = 2;

/// What is running, and the scores of all questions that were asked for it.
#[derive(Default)]
pub(super) struct Sweeper {
    run: Option<Run>,
    kept: Vec<Kept>,
}

struct Run {
    task: Task,
    next: usize,
    began: Instant,
}

enum Task {
    Sweep(SweepAsk, Sweep),
    Contrast(ContrastAsk),
}

impl Task {
    fn questions(&self) -> &[(String, Vec<usize>)] {
        match self {
            Self::Sweep(ask, _) => &ask.questions,
            Self::Contrast(ask) => &ask.questions,
        }
    }
}

/// Scores under one search: they serve every fusion and cut.
struct Kept {
    conversation: Arc<Conversation>,
    settings: Settings,
    scored: HashMap<String, Arc<Scored>>,
    /// The same for every question, and large.
    sentences: Option<Arc<SentenceVectors>>,
}

impl Sweeper {
    /// True when there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.run.is_none()
    }

    /// Begin another sweep; scores that serve it are kept.
    pub(super) fn start(&mut self, ask: SweepAsk) {
        let found = Sweep::empty(ask.rows.clone(), ask.columns.clone());
        self.run = Some(Run { task: Task::Sweep(ask, found), next: 0, began: Instant::now() });
    }

    /// Begin to compare two settings; scores that serve one of them are kept.
    pub(super) fn contrast(&mut self, ask: ContrastAsk) {
        self.run = Some(Run { task: Task::Contrast(ask), next: 0, began: Instant::now() });
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
        let run = self.run.as_mut()?;
        let at = run.next;
        let mut contrasted = None;
        let asked = run.task.questions().get(at).cloned();
        if let Some((text, gold)) = &asked {
            let mut scores = |conversation: &Arc<Conversation>, settings: &Settings| {
                scores(&mut self.kept, pipeline, (conversation, settings), (text, gold), interrupted)
            };
            match &mut run.task {
                Task::Sweep(ask, found) => {
                    let scored = scores(&ask.conversation, &ask.settings)?;
                    match sweep(&[scored], &ask.settings, found.rows.clone(), found.columns.clone()) {
                        Ok(one) => found.add(&one),
                        Err(error) => {
                            self.run = None;
                            return Some(Event::Failed(error.to_string()));
                        }
                    }
                }
                Task::Contrast(ask) => {
                    let a = scores(&ask.conversation, &ask.a)?;
                    let b = scores(&ask.conversation, &ask.b)?;
                    contrasted = Some(Contrasted {
                        question: at,
                        a: Trace::new(a, ask.a.clone()).gold(),
                        b: Trace::new(b, ask.b.clone()).gold(),
                    });
                }
            }
            run.next += 1;
        }
        let (done, total) = (run.next, run.task.questions().len());
        let seconds = run.began.elapsed().as_secs_f64();
        let left = (done > 0 && seconds > 0.5).then(|| seconds / done as f64 * total.saturating_sub(done) as f64);
        let event = match &run.task {
            Task::Sweep(ask, found) => Event::Swept { number: ask.number, done, total, left, found: found.clone() },
            Task::Contrast(ask) => Event::Contrasted { number: ask.number, done, total, left, row: contrasted },
        };
        if done >= total {
            self.run = None;
        }
        Some(event)
    }
}

/// The scores of a question under a search, with its gold as it is now; `None` when interrupted.
fn scores(
    kept: &mut Vec<Kept>,
    pipeline: &mut Pipeline,
    (conversation, settings): (&Arc<Conversation>, &Settings),
    (text, gold): (&str, &[usize]),
    interrupted: &dyn Fn() -> bool,
) -> Option<Arc<Scored>> {
    let at = kept.iter().position(|one| one.serves(conversation, settings)).unwrap_or_else(|| {
        kept.retain(|one| Arc::ptr_eq(&one.conversation, conversation));
        if kept.len() >= SEARCHES {
            kept.remove(0);
        }
        kept.push(Kept {
            conversation: Arc::clone(conversation),
            settings: settings.clone(),
            scored: HashMap::new(),
            sentences: None,
        });
        kept.len() - 1
    });
    let kept = kept.get_mut(at)?;
    let scored = match kept.scored.get(text) {
        Some(known) => Arc::clone(known),
        None => {
            let mut listener = Interruptible { interrupted };
            let fresh = pipeline.ask(&kept.conversation, text, gold, &kept.settings, &mut listener);
            if is_stopped(&fresh) {
                return None;
            }
            kept.keep(text, fresh)
        }
    };
    let gold = scored.passages.of_turns(gold);
    if *scored.gold == gold {
        Some(scored)
    } else {
        Some(Arc::new(Scored { gold: Arc::new(gold), ..(*scored).clone() }))
    }
}

impl Kept {
    fn serves(&self, conversation: &Arc<Conversation>, settings: &Settings) -> bool {
        Arc::ptr_eq(&self.conversation, conversation) && settings.shares_scores_with(&self.settings)
    }

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
