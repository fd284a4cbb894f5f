//! A, the pinned settings, against B, the knobs as they stand: A's trace for the question on the screen, how the two
//! differ, and when either has to be made again. Draws nothing.

use std::sync::Arc;

use super::knob;
use super::model::Model;
use super::update::Effect;
use crate::engine::{Ask, Job};
use crate::explain::compare::{Comparison, comparable, compare};
use crate::scored::{RankerState, Scored};
use crate::settings::{Settings, TermEdits};
use crate::trace::Trace;

/// The pinned settings, and what is known of them.
#[derive(Debug, Clone)]
pub struct Pinned {
    /// The settings.
    pub settings: Settings,
    /// The name under which they are kept, where they have one.
    pub name: Option<String>,
    /// The last complete scores under A's terms and hops; of use while the question is theirs.
    kept: Option<Arc<Scored>>,
    /// The question for which the engine is asked for such scores.
    asked: Option<u64>,
    /// True when the user stopped the engine at that.
    stopped: bool,
    made: Option<Made>,
}

/// A's trace, and how it differs from B's.
#[derive(Debug, Clone)]
struct Made {
    a: Trace,
    /// `None` where the two have no passages in common.
    comparison: Option<Comparison>,
    /// B's scores and settings.
    scored: Arc<Scored>,
    settings: Settings,
}

/// Where A stands for the question on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its trace is there.
    Known,
    /// No question has been asked.
    NoQuestion,
    /// Its terms or hops are others than B's, and B is being computed first.
    AfterB,
    /// The engine computes it.
    Computing,
    /// The user stopped that.
    Stopped,
    /// It has other terms or hops than a replayed trace, which cannot be searched again.
    NeedsDatabase,
}

impl Standing {
    /// What to say of A where it has no trace, with keys to be filled in; nothing where it has.
    pub fn words(self) -> &'static str {
        match self {
            Self::Known => "",
            Self::NoQuestion => "A waits for a question",
            Self::AfterB => "A is not computed for this question yet",
            Self::Computing => "A is being computed for this question",
            Self::Stopped => "A is not computed for this question: {resume} goes on",
            Self::NeedsDatabase => "A needs the database: its terms or hops are others",
        }
    }
}

impl Pinned {
    /// Settings without a trace yet.
    pub fn new(settings: Settings, name: Option<String>) -> Self {
        Self { settings, name, kept: None, asked: None, stopped: false, made: None }
    }

    /// A's trace for the question on the screen.
    pub fn trace(&self) -> Option<&Trace> {
        self.made.as_ref().map(|made| &made.a)
    }

    /// How A differs from B; `None` without a trace, and where the two cut the history into other passages.
    pub fn comparison(&self) -> Option<&Comparison> {
        self.made.as_ref()?.comparison.as_ref()
    }

    /// A's trace where its rows are those of B.
    pub fn comparable(&self) -> Option<&Trace> {
        self.comparison().and(self.trace())
    }

    /// True while the engine computes it for the question on this screen.
    pub fn is_computing(&self, model: &Model) -> bool {
        self.asked == Some(model.generation)
    }

    /// Where it stands on this screen.
    pub fn standing(&self, model: &Model) -> Standing {
        match (&model.trace, &self.made) {
            (_, Some(_)) => Standing::Known,
            _ if model.replayed && model.trace.is_some() => Standing::NeedsDatabase,
            _ if self.stopped => Standing::Stopped,
            _ if self.is_computing(model) => Standing::Computing,
            (None, _) if !model.running => Standing::NoQuestion,
            _ => Standing::AfterB,
        }
    }

    /// True when these scores are of A's terms and hops, so that only the knobs behind the rankers are left to apply.
    fn is_served_by(&self, scored: &Scored) -> bool {
        self.settings.shares_scores_with(&scored.settings)
    }

    /// Make what is missing for B's trace, or the job that brings it.
    fn settle(&mut self, model: &Model) -> Option<Job> {
        let Some(b) = &model.trace else {
            self.made = None;
            return None;
        };
        let same = |made: &Made| Arc::ptr_eq(&made.scored, &b.scored) && made.settings == b.settings;
        if self.made.as_ref().is_some_and(same) {
            return None;
        }
        let Some(scored) = self.scored(model, b) else {
            self.made = None;
            return self.wanted(model, b);
        };
        self.asked = None;
        // Turning B's knobs leaves A as it is.
        let known = self.made.take().map(|made| made.a).filter(|a| Arc::ptr_eq(&a.scored, &scored));
        let a = known.unwrap_or_else(|| Trace::new(scored, self.settings.clone()));
        let comparison = comparable(&a, b).then(|| compare(&a, b));
        self.made = Some(Made { a, comparison, scored: Arc::clone(&b.scored), settings: b.settings.clone() });
        None
    }

    /// The scores to make A's trace from: B's where A has the same terms and hops, else those that were kept.
    fn scored(&mut self, model: &Model, b: &Trace) -> Option<Arc<Scored>> {
        if self.is_served_by(&b.scored) {
            if is_complete(&b.scored) {
                self.kept = Some(Arc::clone(&b.scored));
            }
            return Some(Arc::clone(&b.scored));
        }
        let kept = self.kept.as_ref().filter(|kept| {
            kept.query.text == b.scored.query.text
                && Arc::ptr_eq(&kept.passages.conversation, &b.scored.passages.conversation)
                && self.is_served_by(kept)
        })?;
        // The gold may have been marked since.
        let gold = kept.passages.of_turns(&model.gold_turns(&kept.query.text));
        if *kept.gold != gold {
            self.kept = Some(Arc::new(Scored { gold: Arc::new(gold), ..(**kept).clone() }));
        }
        self.kept.clone()
    }

    fn wanted(&mut self, model: &Model, b: &Trace) -> Option<Job> {
        let busy = model.running || model.stopped || self.stopped || model.replayed;
        if busy || self.asked == Some(model.generation) {
            return None;
        }
        self.asked = Some(model.generation);
        let text = b.scored.query.text.clone();
        Some(Job::Pinned(Ask {
            generation: model.generation,
            conversation: Arc::clone(&b.scored.passages.conversation),
            gold: model.gold_turns(&text),
            text,
            settings: self.settings.clone(),
        }))
    }
}

/// True when no ranker is at work or was stopped: there is nothing more to come.
fn is_complete(scored: &Scored) -> bool {
    [&scored.ce, &scored.colbert]
        .into_iter()
        .all(|ranker| !matches!(ranker.state, RankerState::Running | RankerState::Stopped))
}

/// Bring A up to date with the question and the knobs on the screen. Costs nothing while neither changes.
pub fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(mut pinned) = model.pinned.take() else { return };
    effects.extend(pinned.settle(model).map(Effect::Send));
    model.pinned = Some(pinned);
}

/// Pin the settings as A; when they are pinned already, clear the pin.
pub fn pin(model: &mut Model) {
    if model.pinned.as_ref().is_some_and(|pinned| pinned.settings == model.settings) {
        unpin(model);
    } else {
        model.pinned = Some(Pinned::new(model.settings.clone(), None));
        model.say("pinned as A: turn knobs, 7 compares, x swaps");
    }
}

/// Clear the pin.
pub fn unpin(model: &mut Model) {
    match model.pinned.take() {
        Some(_) => model.say("pin cleared"),
        None => model.say("nothing is pinned: c pins the settings as A"),
    }
}

/// The pinned settings become the present ones, and the other way round.
pub fn swap(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(pinned) = model.pinned.clone() else {
        model.say("nothing is pinned: c pins the settings as A");
        return;
    };
    let now = model.settings.clone();
    knob::change(model, pinned.settings, effects);
    if model.settings != now {
        model.pinned = Some(Pinned::new(now, None));
        model.say("A and B swapped: x swaps back");
    }
}

/// Another question was asked: what was done to single terms of the one before has no meaning for it.
pub fn another_question(model: &mut Model) {
    let Some(pinned) = &mut model.pinned else { return };
    pinned.stopped = false;
    if !pinned.settings.terms.is_empty() {
        pinned.settings.terms = TermEdits::default();
        pinned.made = None;
        model.say("A's edited terms were those of the question before: A goes on without them");
    }
}

/// The engine is done with A's scores.
pub fn scored(model: &mut Model, generation: u64, scored: Option<Arc<Scored>>) {
    let current = generation == model.generation;
    let Some(pinned) = model.pinned.as_mut().filter(|pinned| current && pinned.asked == Some(generation)) else {
        return;
    };
    match scored {
        // Something else may have been pinned since.
        Some(scored) if !pinned.is_served_by(&scored) => return,
        Some(scored) => pinned.kept = Some(scored),
        None => pinned.stopped = true,
    }
    pinned.asked = None;
    model.progress = None;
}

/// Stop the engine at A's scores; false when it is not at them.
pub fn stop(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let now = Some(model.generation);
    let Some(pinned) = model.pinned.as_mut().filter(|pinned| pinned.asked == now) else { return false };
    pinned.stopped = true;
    pinned.asked = None;
    effects.push(Effect::Send(Job::Stop));
    true
}

/// Go on with A's scores; false when nothing was stopped.
pub fn resume(model: &mut Model) -> bool {
    let stopped = model.pinned.as_mut().filter(|pinned| pinned.stopped);
    stopped.map(|pinned| pinned.stopped = false).is_some()
}
