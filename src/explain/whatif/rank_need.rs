//! At which ranks of one ranker the target survives, the other ranker and all knobs held. Knows what a move in a ranking
//! does to ranks, scores and threshold; asks the field for the rest.

use std::sync::Arc;

use super::field::{Field, Scratch, best_of};
use super::fusion::Fusing;
use super::interval::Strip;
use super::survival::{MMR, MMR_WORK};
use crate::fuse::{min_max, z_scores};
use crate::scored::{Ranker, rank_after_move};
use crate::settings::{Fusion, Truncation};
use crate::trace::Trace;

/// Steps that may be spent on trying every rank, where survival need not end at one of them.
const WORK: f64 = 1.5e6;

/// Why there is no answer.
const MANY: &str = "too many ranks to try under this cut";

/// One of the two rankers whose ranks are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ce,
    Colbert,
}

impl Side {
    pub(super) const ALL: [Self; 2] = [Self::Ce, Self::Colbert];

    /// What its ranks are called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ce => super::CE_RANK,
            Self::Colbert => super::COLBERT_RANK,
        }
    }

    pub(super) fn ranker(self, trace: &Trace) -> &Arc<Ranker> {
        match self {
            Self::Ce => &trace.scored.ce,
            Self::Colbert => &trace.scored.colbert,
        }
    }

    /// True when a rank of this ranker moves the order or the threshold.
    pub(super) fn acts(self, trace: &Trace) -> bool {
        let settings = &trace.settings;
        let orders = match settings.fusion {
            Fusion::Rrf | Fusion::Rrf3 | Fusion::MinMax | Fusion::ScoreZ => true,
            Fusion::Ce => self == Self::Ce,
            Fusion::Colbert | Fusion::Z => self == Self::Colbert,
            Fusion::Dense | Fusion::Match | Fusion::Order => false,
        };
        orders || settings.truncation == Truncation::Adaptive
    }
}

/// The trace in which one ranker had put a passage at another rank.
pub(super) fn moved(trace: &Trace, side: Side, passage: u32, to: u32) -> Option<Trace> {
    let ranker = Arc::new(side.ranker(trace).moved(passage, to)?);
    let mut scored = (*trace.scored).clone();
    match side {
        Side::Ce => scored.ce = ranker,
        Side::Colbert => scored.colbert = ranker,
    }
    Some(Trace::new(Arc::new(scored), trace.settings.clone()))
}

/// The ranks that keep the target, from 1 to the number of ranked candidates; `None` when it has no rank.
pub(super) fn strip(field: &Field<'_>, side: Side, scratch: &mut Scratch) -> Option<Result<Strip, &'static str>> {
    let trace = field.trace;
    let passage = trace.scored.retrieval.candidates.get(field.target).copied()?;
    let ranker = side.ranker(trace);
    let now = ranker.rank(passage);
    let ranked = trace.scored.retrieval.candidates.iter().filter(|at| ranker.rank(**at) > 0).count() as u32;
    if now == 0 || !side.acts(trace) {
        return None;
    }
    let points: Vec<f64> = (1..=ranked).map(f64::from).collect();
    let settings = &trace.settings;
    if let (Truncation::Mmr, Some(vectors)) = (settings.truncation, &trace.scored.sentences) {
        let entered = field.top(settings.top_n) as f64;
        let work = f64::from(ranked) * (entered * entered * vectors.dim as f64 + 50.0 * field.len as f64);
        if work > MMR_WORK {
            return Some(Err(MMR));
        }
        let kept = |rank| moved(trace, side, passage, rank).is_some_and(|there| there.fate(passage).is_kept());
        return Some(Ok(Strip::of_points(&points, (1..=ranked).map(kept).collect::<Vec<bool>>())));
    }
    let ends_once = field.plain && ends_once(field, side);
    if !ends_once && f64::from(ranked) * field.len as f64 > WORK {
        return Some(Err(MANY));
    }
    let mut moving = Moving::new(field, side, now);
    let mut kept = |rank: u32| moving.survives(rank, scratch);
    Some(Ok(if ends_once {
        // Kept up to some rank, dropped behind it.
        let (mut last, mut dropped) = (0, ranked + 1);
        while last + 1 < dropped {
            let middle = last + (dropped - last) / 2;
            if kept(middle) { last = middle } else { dropped = middle }
        }
        let upto = (last > 0).then(|| (1.0, f64::from(last), true));
        let behind = (dropped <= ranked).then(|| (f64::from(dropped), f64::from(ranked), false));
        Strip::of_runs(upto.into_iter().chain(behind))
    } else {
        Strip::of_points(&points, (1..=ranked).map(kept).collect::<Vec<bool>>())
    }))
}

/// True when a better rank can only help: the fusion is one of ranks, nothing but the sum of the words above decides, and
/// the score that α multiplies stays the same because its passage enters whatever the target does.
fn ends_once(field: &Field<'_>, side: Side) -> bool {
    let trace = field.trace;
    let settings = &trace.settings;
    let ranked = match settings.fusion {
        Fusion::Rrf => (0.0..=1.0).contains(&settings.w),
        Fusion::Rrf3 => true,
        _ => false,
    };
    if !ranked || settings.truncation == Truncation::Cumulative {
        return false;
    }
    if !field.is_adaptive() {
        return true;
    }
    let Some(best) = best_of(&field.ce, field.target) else { return false };
    // Everybody else a rank better, the best of them a rank worse, the target above it: still it enters.
    let mut fusing = Fusing::new(trace);
    if fusing.fixed {
        return false;
    }
    if let Some(ranks) = fusing.ranks.get_mut(side as usize) {
        for (at, rank) in ranks.iter_mut().enumerate().filter(|(_, rank)| **rank > 0) {
            *rank = if at == best { *rank + 1 } else { (*rank - 1).max(1) };
        }
    }
    let mut scores = vec![0.0; field.len];
    fusing.scores_at("w", settings.w, &mut scores);
    let others = (0..field.len).filter(|at| *at != best && *at != field.target);
    others.filter(|at| field.beats(&scores, *at, best)).count() + 1 < field.top(settings.top_n)
}

/// The candidates with the target at one rank of one ranker after the other.
struct Moving<'a> {
    field: Field<'a>,
    side: Side,
    now: u32,
    /// Ranks as they are.
    ranks: Vec<u32>,
    /// Scores by rank, best first.
    by_rank: Vec<Option<f64>>,
    /// The best cross-encoder score but the target's.
    best_other: Option<usize>,
    fusing: Fusing<'a>,
    fused: Vec<f64>,
}

impl<'a> Moving<'a> {
    fn new(field: &Field<'a>, side: Side, now: u32) -> Self {
        let trace = field.trace;
        let field = field.clone();
        let ranker = side.ranker(trace);
        let candidates = &trace.scored.retrieval.candidates;
        let ranks: Vec<u32> = candidates.iter().map(|at| ranker.rank(*at)).collect();
        let mut by_rank = vec![None; ranks.len() + 1];
        for (passage, rank) in candidates.iter().zip(&ranks) {
            if let Some(slot) = by_rank.get_mut(*rank as usize).filter(|_| *rank > 0) {
                *slot = ranker.value(*passage);
            }
        }
        let mut fused = vec![0.0; field.len];
        for row in &trace.fused.rows {
            let at = candidates.binary_search(&row.passage).ok();
            if let Some(slot) = at.and_then(|at| fused.get_mut(at)) {
                *slot = row.score;
            }
        }
        let best_other = best_of(&field.ce, field.target);
        Self { field, side, now, ranks, by_rank, best_other, fusing: Fusing::new(trace), fused }
    }

    fn survives(&mut self, rank: u32, scratch: &mut Scratch) -> bool {
        let target = self.field.target;
        let score = self.by_rank.get(rank as usize).copied().flatten();
        let values = match self.side {
            Side::Ce => &mut self.field.ce,
            Side::Colbert => &mut self.field.colbert,
        };
        if let Some(value) = values.get_mut(target) {
            *value = score;
        }
        if self.side == Side::Ce {
            let other = self.best_other.and_then(|at| self.field.ce.get(at).copied().flatten());
            self.field.best_ce = match (score.filter(|score| !score.is_nan()), other) {
                (Some(own), Some(other)) if own <= other => self.best_other,
                (Some(_), _) => Some(target),
                (None, _) => self.best_other,
            };
        }
        self.fuse(rank);
        self.field.survives(&self.fused, scratch)
    }

    /// The fused scores with the target at this rank; where the ranker has no part in them they stay.
    fn fuse(&mut self, rank: u32) {
        let settings = &self.field.trace.settings;
        let side = self.side as usize;
        let values = match self.side {
            Side::Ce => &self.field.ce,
            Side::Colbert => &self.field.colbert,
        };
        match settings.fusion {
            _ if self.fusing.fixed && !matches!(settings.fusion, Fusion::Ce | Fusion::Colbert) => {}
            Fusion::Rrf | Fusion::Rrf3 => {
                if let Some(ranks) = self.fusing.ranks.get_mut(side) {
                    for (slot, before) in ranks.iter_mut().zip(&self.ranks) {
                        *slot = rank_after_move(*before, self.now, rank);
                    }
                }
                self.fusing.scores_at("w", settings.w, &mut self.fused);
            }
            Fusion::MinMax | Fusion::ScoreZ => {
                let scale = if settings.fusion == Fusion::MinMax { min_max } else { z_scores };
                if let Some(scaled) = self.fusing.scaled.get_mut(side) {
                    *scaled = scale(values);
                }
                self.fusing.scores_at("w", settings.w, &mut self.fused);
            }
            Fusion::Z if self.side == Side::Colbert => {
                if let Some(scaled) = self.fusing.scaled.get_mut(1) {
                    *scaled = z_scores(values);
                }
                self.fusing.scores_at("lambda", settings.lambda, &mut self.fused);
            }
            Fusion::Ce if self.side == Side::Ce => self.only_target(),
            Fusion::Colbert if self.side == Side::Colbert => self.only_target(),
            _ => {}
        }
    }

    /// One ranker alone decides: its score is the fused score.
    fn only_target(&mut self) {
        let values = if self.side == Side::Ce { &self.field.ce } else { &self.field.colbert };
        let target = self.field.target;
        if let (Some(slot), Some(score)) = (self.fused.get_mut(target), values.get(target).copied().flatten()) {
            *slot = score;
        }
    }
}
