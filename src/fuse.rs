//! Two rankings to one order (PIPELINE section 4). Pure: knows scores and the fusion knobs, no model and no text.

use serde::{Deserialize, Serialize};

use crate::scored::Scored;
use crate::settings::{Fusion, Settings};

/// The fused order of all candidates.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fused {
    /// Candidates, best first; ties in conversation order.
    pub rows: Vec<FusedRow>,
    /// What was assumed where a ranker is missing or not done.
    pub assumptions: Vec<Assumption>,
}

/// One candidate in the fused order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FusedRow {
    /// The passage.
    pub passage: u32,
    /// Its fused score, in the units of the fusion.
    pub score: f64,
    /// What the first ranking gives to the score (the cross-encoder; BM25 in the z fusion).
    pub first_share: f64,
    /// What the second ranking gives (ColBERT; the dense score in the z fusion).
    pub second_share: f64,
}

/// Something the fusion assumed because a score is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// No passage has a cross-encoder score: the order is ColBERT's.
    NoCrossEncoder,
    /// No passage has a ColBERT score: the order is the cross-encoder's.
    NoColbert,
    /// No ranker is there: the order is by match score.
    NoRanker,
    /// Some passages have no cross-encoder score yet and gain nothing from it: the order is provisional.
    CrossEncoderPartial,
    /// Some passages have no ColBERT score yet and gain nothing from it: the order is provisional.
    ColbertPartial,
    /// No passage has a sentence-vector score: the order is by match score.
    NoDense,
}

impl Assumption {
    /// One sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoCrossEncoder => "no cross-encoder score: the order is ColBERT's",
            Self::NoColbert => "no ColBERT score: the order is the cross-encoder's",
            Self::NoRanker => "no ranker: the order is by match score",
            Self::CrossEncoderPartial => "cross-encoder not done: unscored passages gain nothing from it",
            Self::ColbertPartial => "ColBERT not done: unscored passages gain nothing from it",
            Self::NoDense => "no sentence vectors: the order is by match score",
        }
    }

    /// True when the order can still change by itself.
    pub fn is_provisional(self) -> bool {
        matches!(self, Self::CrossEncoderPartial | Self::ColbertPartial)
    }
}

/// Stands for the score of what has none when one ranker alone decides; finite, so that a trace can hold it.
const BELOW_EVERY_SCORE: f64 = -1e12;

/// A value and its place in one ranking, for every candidate.
struct View {
    /// Score by candidate position; `None` when not scored.
    scores: Vec<Option<f64>>,
    /// 1-based rank by candidate position; 0 when not scored.
    ranks: Vec<u32>,
}

impl View {
    fn scored(&self) -> usize {
        self.scores.iter().flatten().count()
    }
}

/// Fuse. O(n log n) in the number of candidates; no model is touched.
pub fn fuse(scored: &Scored, settings: &Settings) -> Fused {
    let candidates = &scored.retrieval.candidates;
    let mut assumptions = Vec::new();
    let ce = view(scored, |at| scored.ce.value(at), |at| scored.ce.rank(at));
    let colbert = view(scored, |at| scored.colbert.value(at), |at| scored.colbert.rank(at));
    let wants_ce = settings.fusion.reads_ce();
    let wants_colbert = !matches!(settings.fusion, Fusion::Ce | Fusion::Dense | Fusion::Match | Fusion::Order);
    note(
        &mut assumptions,
        wants_ce,
        &ce,
        candidates.len(),
        Assumption::NoCrossEncoder,
        Assumption::CrossEncoderPartial,
    );
    note(
        &mut assumptions,
        wants_colbert,
        &colbert,
        candidates.len(),
        Assumption::NoColbert,
        Assumption::ColbertPartial,
    );
    let lost = |wanted: bool, view: &View| !wanted || view.scored() == 0;
    if (wants_ce || wants_colbert) && lost(wants_ce, &ce) && lost(wants_colbert, &colbert) {
        assumptions.retain(|assumption| assumption.is_provisional());
        assumptions.push(Assumption::NoRanker);
        return rows_of(candidates, assumptions, |at| (scored.match_score(at), 0.0));
    }
    let k = f64::from(settings.k);
    let reciprocal = |rank: u32| if rank == 0 { 0.0 } else { 1.0 / (k + f64::from(rank)) };
    let position = |at: usize| candidates.get(at).copied().unwrap_or(0);
    let rank = |view: &View, at: usize| view.ranks.get(at).copied().unwrap_or(0);
    match settings.fusion {
        Fusion::Rrf => sorted(candidates, assumptions, |at| {
            (settings.w * reciprocal(rank(&ce, at)), (1.0 - settings.w) * reciprocal(rank(&colbert, at)))
        }),
        Fusion::Rrf3 => {
            let bm25: Vec<Option<f64>> = candidates.iter().map(|at| Some(scored.bm25(*at))).collect();
            let bm25 = ranks(&bm25);
            sorted(candidates, assumptions, |at| {
                let third = reciprocal(bm25.get(at).copied().unwrap_or(0));
                (reciprocal(rank(&ce, at)), reciprocal(rank(&colbert, at)) + third)
            })
        }
        Fusion::MinMax | Fusion::ScoreZ => {
            let scale = if settings.fusion == Fusion::MinMax { min_max } else { z_scores };
            let (ce, colbert) = (scale(&ce.scores), scale(&colbert.scores));
            sorted(candidates, assumptions, |at| {
                let value = |scores: &[f64]| scores.get(at).copied().unwrap_or(0.0);
                (settings.w * value(&ce), (1.0 - settings.w) * value(&colbert))
            })
        }
        Fusion::Z => {
            // z over the passages that are ranked: the candidates. With `rank-everything` these are all passages of the
            // conversation, which is the second paper's definition; the reference figure of 80.7 % is made over candidates.
            let bm25 = z_scores(&candidates.iter().map(|at| Some(scored.bm25(*at))).collect::<Vec<_>>());
            let dense = z_scores(&colbert.scores);
            sorted(candidates, assumptions, |at| {
                let value = |scores: &[f64]| scores.get(at).copied().unwrap_or(0.0);
                (settings.lambda * value(&bm25), (1.0 - settings.lambda) * value(&dense))
            })
        }
        Fusion::Ce => sorted(candidates, assumptions, |at| {
            (ce.scores.get(at).copied().flatten().unwrap_or(BELOW_EVERY_SCORE), 0.0)
        }),
        Fusion::Colbert => sorted(candidates, assumptions, |at| {
            (0.0, colbert.scores.get(at).copied().flatten().unwrap_or(BELOW_EVERY_SCORE))
        }),
        Fusion::Dense => {
            if scored.dense.scored() == 0 {
                assumptions.push(Assumption::NoDense);
                return rows_of(candidates, assumptions, |at| (scored.match_score(at), 0.0));
            }
            sorted(candidates, assumptions, |at| (0.0, scored.dense.value(position(at)).unwrap_or(BELOW_EVERY_SCORE)))
        }
        Fusion::Match => sorted(candidates, assumptions, |at| (scored.match_score(position(at)), 0.0)),
        Fusion::Order => sorted(candidates, assumptions, |at| (-(at as f64), 0.0)),
    }
}

fn view(scored: &Scored, value: impl Fn(u32) -> Option<f64>, rank: impl Fn(u32) -> u32) -> View {
    let candidates = &scored.retrieval.candidates;
    View {
        scores: candidates.iter().map(|at| value(*at)).collect(),
        ranks: candidates.iter().map(|at| rank(*at)).collect(),
    }
}

fn note(
    into: &mut Vec<Assumption>,
    wanted: bool,
    view: &View,
    candidates: usize,
    absent: Assumption,
    partial: Assumption,
) {
    match view.scored() {
        _ if !wanted || candidates == 0 => {}
        0 => into.push(absent),
        scored if scored < candidates => into.push(partial),
        _ => {}
    }
}

fn rows_of(candidates: &[u32], assumptions: Vec<Assumption>, share: impl Fn(u32) -> (f64, f64)) -> Fused {
    sorted(candidates, assumptions, |at| share(candidates.get(at).copied().unwrap_or(0)))
}

/// Sort candidate positions by the sum of their shares; the sort is stable, so ties stay in conversation order.
fn sorted(candidates: &[u32], assumptions: Vec<Assumption>, shares: impl Fn(usize) -> (f64, f64)) -> Fused {
    let mut rows: Vec<FusedRow> = candidates
        .iter()
        .enumerate()
        .map(|(at, passage)| {
            let (first_share, second_share) = shares(at);
            FusedRow { passage: *passage, score: first_share + second_share, first_share, second_share }
        })
        .collect();
    rows.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.passage.cmp(&b.passage)));
    Fused { rows, assumptions }
}

/// 1-based ranks, best first, ties to the earlier; 0 for what has no score.
pub fn ranks(scores: &[Option<f64>]) -> Vec<u32> {
    let mut order: Vec<(usize, f64)> =
        scores.iter().enumerate().filter_map(|(at, score)| score.map(|score| (at, score))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut ranks = vec![0; scores.len()];
    for (place, (at, _)) in order.into_iter().enumerate() {
        if let Some(rank) = ranks.get_mut(at) {
            *rank = place as u32 + 1;
        }
    }
    ranks
}

/// Population z-scores; a spread below 1e-9 gives zeros. What has no score counts as the mean.
pub fn z_scores(scores: &[Option<f64>]) -> Vec<f64> {
    let known: Vec<f64> = scores.iter().flatten().copied().collect();
    let count = known.len().max(1) as f64;
    let mean = known.iter().sum::<f64>() / count;
    let deviation = (known.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / count).sqrt();
    let scale = |score: f64| if deviation < 1e-9 { 0.0 } else { (score - mean) / deviation };
    scores.iter().map(|score| score.map_or(0.0, scale)).collect()
}

/// Scores mapped to 0..1 by their own extremes; all equal gives zeros. What has no score counts as 0.
pub fn min_max(scores: &[Option<f64>]) -> Vec<f64> {
    let low = scores.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let high = scores.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let spread = high - low;
    let scale = |score: f64| if spread > 0.0 { (score - low) / spread } else { 0.0 };
    scores.iter().map(|score| score.map_or(0.0, scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_put_ties_in_conversation_order_and_leave_gaps_unranked() {
        assert_eq!(ranks(&[Some(1.0), None, Some(2.0), Some(1.0)]), [2, 0, 1, 3]);
    }

    #[test]
    fn z_scores_of_a_flat_list_are_zero() {
        assert_eq!(z_scores(&[Some(3.0), Some(3.0), None]), [0.0, 0.0, 0.0]);
        let z = z_scores(&[Some(1.0), Some(3.0)]);
        assert!((z[0] + 1.0).abs() < 1e-12 && (z[1] - 1.0).abs() < 1e-12);
    }
}
