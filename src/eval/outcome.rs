//! Outcome: what one question under one setting comes to, in numbers. Read off a trace; knows no other question.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::Metrics;
use crate::fuse::Assumption;
use crate::trace::Trace;
use crate::truncate::FateKind;

/// One question under one setting. Positions are 1-based.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Gold passages.
    pub gold: u32,
    /// Of them matched by at least one term.
    pub found: u32,
    /// Position of the first of them among the matching passages in conversation order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_found: Option<u32>,
    /// Matching passages.
    pub candidates: u32,
    /// What the order and the cut made of it; `None` when that was not measured.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Why not: what the order would have had to assume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<Assumption>,
}

/// What ranking and cutting came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Order {
    /// Gold passages that were ranked.
    pub ranked: u32,
    /// Gold passages in the context.
    pub kept: u32,
    /// Place of the first gold passage in the order that was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_gold: Option<u32>,
    /// The measures of that order.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Passages of the context.
    pub passages: u32,
    /// Words of the context, as counted.
    pub words: u32,
    /// Tokens of the context as it is sent; `None` without a tokenizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Gold passages by fate.
    pub fates: BTreeMap<FateKind, u32>,
}

impl Outcome {
    /// Read off a trace. An order that had to do without a model is not measured, because it would stand under that
    /// model's name. `tokens` counts those of the context.
    pub fn of(trace: &Trace, tokens: &dyn Fn(&str) -> Option<u32>) -> Self {
        let counts = trace.gold();
        let places = &trace.scored.retrieval.match_place;
        let mut matching = (0..).zip(places).filter(|(_, place)| **place > 0);
        let first_found = matching.position(|(at, _)| trace.scored.is_gold(at)).map(|at| at as u32 + 1);
        let not_measured = trace.fused.assumptions.first().copied();
        Self {
            gold: counts.total,
            found: counts.matched,
            first_found,
            candidates: places.iter().filter(|place| **place > 0).count() as u32,
            order: not_measured.is_none().then(|| Order::of(trace, tokens)),
            not_measured,
        }
    }

    /// The stage that lost gold passages of this question first, in the order of the pipeline; `None` when none was lost or
    /// nothing was measured.
    pub fn first_loss(&self) -> Option<Loss> {
        let order = self.order.as_ref()?;
        Loss::ALL.into_iter().find(|loss| order.lost(*loss) > 0)
    }
}

impl Order {
    fn of(trace: &Trace, tokens: &dyn Fn(&str) -> Option<u32>) -> Self {
        let counts = trace.gold();
        let gold = || trace.scored.gold.iter().copied();
        let mut places: Vec<u32> = gold().map(|passage| trace.place(passage)).filter(|place| *place > 0).collect();
        places.sort_unstable();
        let mut fates = BTreeMap::new();
        for passage in gold() {
            *fates.entry(trace.fate(passage).kind()).or_default() += 1;
        }
        Self {
            ranked: counts.candidates,
            kept: counts.kept,
            first_gold: places.first().copied(),
            metrics: Metrics::of_places(&places, counts.total as usize),
            passages: trace.cut.kept,
            words: trace.cut.used,
            tokens: tokens(&trace.context()),
            fates,
        }
    }

    /// Gold passages that a stage lost.
    pub fn lost(&self, loss: Loss) -> u32 {
        self.fates.iter().filter(|(kind, _)| Loss::of(**kind) == Some(loss)).map(|(_, count)| count).sum()
    }
}

/// The stage that lost a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Search missed it: no term occurs in it, or it stands beyond the candidate cap.
    Search,
    /// Ranking or α dropped it.
    Ranking,
    /// It did not fit into the budget.
    Budget,
    /// It is a copy of a passage that is kept.
    Copy,
    /// No score decided over it.
    Unscored,
}

impl Loss {
    /// All, in the order of the pipeline.
    pub const ALL: [Self; 5] = [Self::Search, Self::Unscored, Self::Ranking, Self::Copy, Self::Budget];

    /// The stage behind a fate; `None` for what is kept.
    pub fn of(kind: FateKind) -> Option<Self> {
        match kind {
            FateKind::Kept => None,
            FateKind::Unmatched | FateKind::Capped => Some(Self::Search),
            FateKind::BeyondTopN | FateKind::BelowAlpha => Some(Self::Ranking),
            FateKind::OverBudget => Some(Self::Budget),
            FateKind::Duplicate => Some(Self::Copy),
            FateKind::Unscored => Some(Self::Unscored),
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search missed",
            Self::Ranking => "ranking or α dropped",
            Self::Budget => "budget dropped",
            Self::Copy => "a copy of it is kept",
            Self::Unscored => "not scored",
        }
    }
}
