//! What would have to change for one passage: for each knob every value that keeps it, the nearest one that turns its fate,
//! and what that costs. Computed, not sampled; the pipeline itself is run at each value that is recommended and has the
//! last word.
//!
//! Values stand on the grain of their knob: whole numbers for the budget, top n and k, thousandths for α, hundredths for w
//! and λ, and the present value where it stands between two of them.

mod crossing;
mod field;
mod fusion;
pub mod grain;
pub mod interval;
mod rank_need;
mod rrf_k;
mod survival;
mod term_need;

use crate::settings::{Fusion, Knob};
use crate::trace::Trace;
pub use interval::{Interval, Strip};
use rank_need::Side;
pub use term_need::TermNeed;

/// The knobs that what-ifs are about, w standing for λ under the z fusion.
pub const ASKED: [&str; 5] = ["alpha", "budget", "w", "top-n", "k"];

/// What the ranks of the cross-encoder are called beside the knobs.
pub const CE_RANK: &str = "ce rank";
/// What the ranks of ColBERT are called beside the knobs.
pub const COLBERT_RANK: &str = "colbert rank";

/// All what-ifs of one passage: over the knobs, over its ranks and over the weights of terms, each with all else held.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIfs {
    /// The passage.
    pub passage: u32,
    /// It is kept now.
    pub kept: bool,
    /// One for each of [`ASKED`], in that order.
    pub knobs: Vec<WhatIf>,
    /// One for each ranker that has ranked it and whose ranks matter: had it stood at another rank of this ranker alone,
    /// with the score of the passage that stands there now.
    pub ranks: Vec<WhatIf>,
    /// What would lift it over the candidate cap, the smallest change first; empty for a passage that is no victim of it.
    pub terms: Vec<TermNeed>,
}

/// What one knob, or one rank, does to one passage.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// Name of the knob in the table of knobs; [`CE_RANK`] and [`COLBERT_RANK`] are none.
    pub knob: &'static str,
    /// Its present value.
    pub now: f64,
    /// It moves something under the present fusion and cut; otherwise the fate is the same for all its values.
    pub acts: bool,
    /// The values for which the passage is kept.
    pub answer: Answer,
    /// The nearest value with the other fate; `None` when there is none.
    pub nearest: Option<Turn>,
}

/// Where the passage is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Exactly for these values.
    Kept(Strip),
    /// Nobody knows, and why.
    Unknown {
        /// One clause.
        reason: &'static str,
    },
}

/// A value at which the passage has the other fate.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The value.
    pub value: f64,
    /// 1-based place of the passage in the order that is cut there.
    pub place: u32,
    /// What else changes.
    pub price: Price,
}

/// What a change does to the context.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Price {
    /// Passages that enter, ascending.
    pub enter: Vec<u32>,
    /// Passages that leave, ascending.
    pub leave: Vec<u32>,
    /// Gold among those that enter.
    pub gold_in: u32,
    /// Gold among those that leave.
    pub gold_out: u32,
    /// Words that the context gains; negative when it loses some.
    pub words: i64,
}

impl Price {
    /// From one trace to another of the same question.
    pub fn between(before: &Trace, after: &Trace) -> Self {
        let only = |one: &Trace, other: &Trace| {
            let mut passages: Vec<u32> = one.kept().filter(|at| !other.fate(*at).is_kept()).collect();
            passages.sort_unstable();
            passages
        };
        let gold = |passages: &[u32]| passages.iter().filter(|at| before.scored.is_gold(**at)).count() as u32;
        let (enter, leave) = (only(after, before), only(before, after));
        Self {
            gold_in: gold(&enter),
            gold_out: gold(&leave),
            enter,
            leave,
            words: i64::from(after.cut.used) - i64::from(before.cut.used),
        }
    }
}

impl WhatIfs {
    /// All knobs for one passage. A passage that is no candidate is kept for no value of any of them.
    pub fn of(trace: &Trace, passage: u32) -> Self {
        let kept = trace.fate(passage).is_kept();
        let field = field::Field::new(trace, passage);
        let mut scratch = field::Scratch::default();
        let mut one = |name: &str| {
            let name = if name == "w" && trace.settings.fusion == Fusion::Z { "lambda" } else { name };
            let knob = Knob::named(name)?;
            let strip = match &field {
                Some(field) => survival::strip(field, knob, &mut scratch),
                None => Ok(survival::never(trace, knob)),
            };
            let acts = trace.settings.is_moved_by(knob.name);
            let now = grain::number(knob, &trace.settings);
            Some(WhatIf::new(trace, passage, (knob.name, now, acts), strip, |to| survival::retraced(trace, knob, to)))
        };
        let knobs = ASKED.iter().filter_map(|name| one(name)).collect();
        let ranks = Side::ALL.into_iter().filter_map(|side| {
            let strip = rank_need::strip(field.as_ref()?, side, &mut scratch)?;
            let now = f64::from(side.ranker(trace).rank(passage));
            let there = |to: f64| rank_need::moved(trace, side, passage, to as u32);
            Some(WhatIf::new(trace, passage, (side.name(), now, true), strip, there))
        });
        Self { passage, kept, knobs, ranks: ranks.collect(), terms: term_need::term_needs(trace, passage) }
    }

    /// The what-if of one knob; `w` finds λ where that stands for it.
    pub fn knob(&self, name: &str) -> Option<&WhatIf> {
        self.knobs.iter().find(|found| found.knob == name || (name == "w" && found.knob == "lambda"))
    }
}

impl WhatIf {
    /// `knob` is its name, its present value, and whether it acts; `retraced` is the pipeline at another value.
    fn new(
        trace: &Trace,
        passage: u32,
        (knob, now, acts): (&'static str, f64, bool),
        strip: Result<Strip, &'static str>,
        retraced: impl Fn(f64) -> Option<Trace>,
    ) -> Self {
        let mut found = Self { knob, now, acts, answer: Answer::Unknown { reason: "" }, nearest: None };
        let strip = match strip {
            Ok(strip) => strip,
            Err(reason) => {
                found.answer = Answer::Unknown { reason };
                return found;
            }
        };
        let kept = trace.fate(passage).is_kept();
        let disagrees = Answer::Unknown { reason: "the pipeline itself says otherwise at the nearest value" };
        if strip.contains(now) != kept {
            found.answer = disagrees;
            return found;
        }
        if let Some(value) = strip.nearest(now, !kept) {
            let there = retraced(value);
            let Some(there) = there.filter(|there| there.fate(passage).is_kept() != kept) else {
                found.answer = disagrees;
                return found;
            };
            found.nearest = Some(Turn { value, place: there.place(passage), price: Price::between(trace, &there) });
        }
        found.answer = Answer::Kept(strip);
        found
    }

    /// The values that keep the passage, where they are known.
    pub fn strip(&self) -> Option<&Strip> {
        match &self.answer {
            Answer::Kept(strip) => Some(strip),
            Answer::Unknown { .. } => None,
        }
    }
}
