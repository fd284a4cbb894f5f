//! The fused score of every candidate as a function of w, λ or k. Knows the formulas of `crate::fuse`, in the same
//! arithmetic, and nothing of the cut.

use crate::fuse::{min_max, ranks, z_scores};
use crate::settings::Fusion;
use crate::trace::Trace;

/// What a fused score is made of, by position among the candidates.
pub(super) struct Fusing<'a> {
    trace: &'a Trace,
    /// Ranks, for fusions of ranks; 0 for what has none.
    pub(super) ranks: [Vec<u32>; 3],
    /// Scaled scores, for fusions of scores.
    pub(super) scaled: [Vec<f64>; 2],
    /// The fusion falls back to an order that no knob moves.
    pub(super) fixed: bool,
}

impl<'a> Fusing<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let scored = &trace.scored;
        let fusion = trace.settings.fusion;
        let candidates = &scored.retrieval.candidates;
        let ce: Vec<Option<f64>> = candidates.iter().map(|at| scored.ce.value(*at)).collect();
        let colbert: Vec<Option<f64>> = candidates.iter().map(|at| scored.colbert.value(*at)).collect();
        let bm25 = || candidates.iter().map(|at| Some(scored.bm25(*at))).collect::<Vec<Option<f64>>>();
        let silent = |scores: &[Option<f64>]| scores.iter().all(Option::is_none);
        let fixed = match fusion {
            Fusion::Rrf | Fusion::Rrf3 | Fusion::MinMax | Fusion::ScoreZ => silent(&ce) && silent(&colbert),
            Fusion::Z => silent(&colbert),
            _ => true,
        };
        let ranked = matches!(fusion, Fusion::Rrf | Fusion::Rrf3);
        let third = if fusion == Fusion::Rrf3 { ranks(&bm25()) } else { Vec::new() };
        let rank = |rank: &dyn Fn(u32) -> u32| candidates.iter().filter(|_| ranked).map(|at| rank(*at)).collect();
        Self {
            trace,
            ranks: [rank(&|at| scored.ce.rank(at)), rank(&|at| scored.colbert.rank(at)), third],
            scaled: match fusion {
                Fusion::MinMax => [min_max(&ce), min_max(&colbert)],
                Fusion::ScoreZ => [z_scores(&ce), z_scores(&colbert)],
                Fusion::Z => [z_scores(&bm25()), z_scores(&colbert)],
                _ => [Vec::new(), Vec::new()],
            },
            fixed,
        }
    }

    /// True when this knob can move the order.
    pub(super) fn moves_with(&self, knob: &str) -> bool {
        !self.fixed && self.trace.settings.is_moved_by(knob)
    }

    /// The fused scores with one knob at a value.
    pub(super) fn scores_at(&self, knob: &str, value: f64, into: &mut [f64]) {
        let settings = &self.trace.settings;
        let (mut w, mut k) = (settings.w, f64::from(settings.k));
        if settings.fusion == Fusion::Z {
            w = settings.lambda;
        }
        match knob {
            "k" => k = value,
            _ => w = value,
        }
        match settings.fusion {
            Fusion::Rrf => {
                for (at, slot) in into.iter_mut().enumerate() {
                    *slot = self.rrf_of(at, w, k);
                }
            }
            Fusion::Rrf3 => {
                let [ce, colbert, bm25] = &self.ranks;
                for (((slot, ce), colbert), bm25) in into.iter_mut().zip(ce).zip(colbert).zip(bm25) {
                    *slot = reciprocal(k, *ce) + (reciprocal(k, *colbert) + reciprocal(k, *bm25));
                }
            }
            _ => {
                let [first, second] = &self.scaled;
                for ((slot, first), second) in into.iter_mut().zip(first).zip(second) {
                    *slot = w * first + (1.0 - w) * second;
                }
            }
        }
    }
}

impl Fusing<'_> {
    /// The score of one candidate by reciprocal rank fusion of the two rankers.
    pub(super) fn rrf_of(&self, at: usize, w: f64, k: f64) -> f64 {
        let [ce, colbert, _] = &self.ranks;
        let gain = |ranks: &[u32]| reciprocal(k, ranks.get(at).copied().unwrap_or(0));
        w * gain(ce) + (1.0 - w) * gain(colbert)
    }
}

/// What a rank gives; nothing where there is none.
pub(super) fn reciprocal(k: f64, rank: u32) -> f64 {
    if rank == 0 { 0.0 } else { 1.0 / (k + f64::from(rank)) }
}
