//! The trace: one question under one setting, from its terms to the fate of every passage. Made from [`Scored`] and
//! [`Settings`] without a model, at every key press; knows no screen and no database.

pub mod file;
mod form;
mod redact;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::fuse::{Fused, FusedRow, fuse, ranks};
use crate::scored::Scored;
use crate::settings::{Fusion, Pooler, Settings, Unit};
use crate::truncate::{Cut, Fate, FateKind, truncate};

/// One question under one setting.
#[derive(Debug, Clone)]
pub struct Trace {
    /// What the data and the models say.
    pub scored: Arc<Scored>,
    /// The knobs.
    pub settings: Settings,
    /// The fused order.
    pub fused: Fused,
    /// The cut.
    pub cut: Cut,
    /// By passage: its fate.
    pub fates: Vec<Fate>,
    /// By passage: its 1-based place in `cut.rows`; 0 for no candidate.
    places: Vec<u32>,
    /// By passage: its rank by BM25 among the candidates, made at first use; a grid of traces has none.
    bm25_ranks: OnceLock<Vec<u32>>,
}

/// How much of the gold survives each stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GoldCounts {
    /// Gold passages.
    pub total: u32,
    /// Of them matched by at least one term.
    pub matched: u32,
    /// Of them among the candidates.
    pub candidates: u32,
    /// Of them kept.
    pub kept: u32,
}

impl GoldCounts {
    /// Share of the gold that is kept; `None` without gold.
    pub fn recall(&self) -> Option<f64> {
        (self.total > 0).then(|| f64::from(self.kept) / f64::from(self.total))
    }
}

impl Trace {
    /// Fuse and truncate. O(n log n) in the number of candidates, O(passages) for the fates.
    pub fn new(scored: Arc<Scored>, settings: Settings) -> Self {
        let fused = fuse(&scored, &settings);
        let done = truncate(&scored, &fused, &settings);
        let mut places = vec![0; scored.passages.len()];
        for (at, row) in done.cut.rows.iter().enumerate() {
            if let Some(place) = places.get_mut(row.passage as usize) {
                *place = at as u32 + 1;
            }
        }
        Self { scored, settings, fused, cut: done.cut, fates: done.fates, places, bm25_ranks: OnceLock::new() }
    }

    /// The fate of a passage.
    pub fn fate(&self, passage: u32) -> &Fate {
        self.fates.get(passage as usize).unwrap_or(&Fate::Unmatched)
    }

    /// 1-based place in the order that was cut; 0 for no candidate.
    pub fn place(&self, passage: u32) -> u32 {
        self.places.get(passage as usize).copied().unwrap_or(0)
    }

    /// The two rankings that stand beside the fused order: the cross-encoder, or BM25 where the fusion looks at it, and
    /// ColBERT, or the pooled sentence vectors that stand in its slot.
    pub fn rankings(&self) -> [&'static str; 2] {
        let asked = &self.scored.settings;
        let pooled =
            matches!(asked.unit, Unit::Window | Unit::Session) && !matches!(asked.pooler, Pooler::Text | Pooler::Token);
        [if self.settings.fusion == Fusion::Z { "bm25" } else { "ce" }, if pooled { "dense" } else { "colbert" }]
    }

    /// 1-based ranks of a passage in [`Self::rankings`]; 0 where it has none.
    pub fn ranks(&self, passage: u32) -> [u32; 2] {
        let first = if self.settings.fusion == Fusion::Z {
            let ranks = self.bm25_ranks.get_or_init(|| bm25_ranks(&self.scored));
            ranks.get(passage as usize).copied().unwrap_or(0)
        } else {
            self.scored.ce.rank(passage)
        };
        [first, self.scored.colbert.rank(passage)]
    }

    /// The fused row of a passage.
    pub fn fused_row(&self, passage: u32) -> Option<&FusedRow> {
        // Only MMR walks another order than the fused one, so the place usually is the answer.
        let guess = self.place(passage).checked_sub(1)? as usize;
        match self.fused.rows.get(guess) {
            Some(row) if row.passage == passage => Some(row),
            _ => self.fused.rows.iter().find(|row| row.passage == passage),
        }
    }

    /// Number of passages with this kind of fate.
    pub fn count(&self, kind: FateKind) -> usize {
        self.fates.iter().filter(|fate| fate.kind() == kind).count()
    }

    /// Gold by stage.
    pub fn gold(&self) -> GoldCounts {
        let retrieval = &self.scored.retrieval;
        let mut counts = GoldCounts::default();
        for passage in self.scored.gold.iter().copied() {
            counts.total += 1;
            counts.matched += u32::from(retrieval.match_place.get(passage as usize).is_some_and(|place| *place > 0));
            counts.candidates += u32::from(self.place(passage) > 0);
            counts.kept += u32::from(self.fate(passage).is_kept());
        }
        counts
    }

    /// Passages in the context, in order.
    pub fn kept(&self) -> impl Iterator<Item = u32> {
        self.cut.rows.iter().map(|row| row.passage).filter(|passage| self.fate(*passage).is_kept())
    }

    /// The context exactly as it would be sent, one passage a line.
    pub fn context(&self) -> String {
        let lines: Vec<String> = self.kept().map(|passage| self.scored.passages.rendered(passage)).collect();
        lines.join("\n")
    }

    /// True while the order can still change by itself.
    pub fn is_provisional(&self) -> bool {
        self.scored.is_running() && self.fused.assumptions.iter().any(|assumption| assumption.is_provisional())
    }

    /// How much the two [`Self::rankings`] agree on the candidates.
    pub fn agreement(&self) -> Option<Agreement> {
        let scored = &self.scored;
        let pairs: Vec<(u32, u32)> = scored
            .retrieval
            .candidates
            .iter()
            .map(|at| self.ranks(*at))
            .filter(|ranks| ranks.iter().all(|rank| *rank > 0))
            .map(|[first, second]| (first, second))
            .collect();
        Agreement::of(pairs, self.cut.line)
    }
}

/// Ranks of the candidates by BM25, by passage.
fn bm25_ranks(scored: &Scored) -> Vec<u32> {
    let candidates = &scored.retrieval.candidates;
    let ranks = ranks(&candidates.iter().map(|at| Some(scored.bm25(*at))).collect::<Vec<_>>());
    let mut by_passage = vec![0; scored.passages.len()];
    for (at, rank) in candidates.iter().zip(ranks) {
        if let Some(slot) = by_passage.get_mut(*at as usize) {
            *slot = rank;
        }
    }
    by_passage
}

/// Agreement of two orders over what both have: of the two rankers over the candidates that both have scored, or of the
/// orders under two settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Spearman's rank correlation.
    pub spearman: f64,
    /// Kendall's tau.
    pub kendall: f64,
    /// Passages that both rank within the first `top`.
    pub shared: u32,
    /// How deep `shared` looks: rows above the cut line.
    pub top: u32,
}

impl Agreement {
    /// From pairs of 1-based ranks; `None` for fewer than two of them. O(n log n).
    pub fn of(mut pairs: Vec<(u32, u32)>, top: u32) -> Option<Self> {
        if pairs.len() < 2 {
            return None;
        }
        let top = (top.max(1)).min(pairs.len() as u32);
        let shared = pairs.iter().filter(|(one, other)| *one <= top && *other <= top).count() as u32;
        pairs.sort_unstable();
        // Where one order has fewer, ranks have gaps: rank again among those that both have.
        let mut second: Vec<u32> = pairs.iter().map(|(_, other)| *other).collect();
        let mut order: Vec<usize> = (0..second.len()).collect();
        order.sort_unstable_by_key(|at| second.get(*at).copied());
        for (rank, at) in order.into_iter().enumerate() {
            if let Some(slot) = second.get_mut(at) {
                *slot = rank as u32;
            }
        }
        let n = second.len() as f64;
        let squares: f64 =
            second.iter().enumerate().map(|(first, second)| (first as f64 - f64::from(*second)).powi(2)).sum();
        let spearman = 1.0 - 6.0 * squares / (n * (n * n - 1.0));
        let swaps = inversions(&mut second) as f64;
        let kendall = 1.0 - 4.0 * swaps / (n * (n - 1.0));
        Some(Self { spearman, kendall, shared, top })
    }
}

/// Number of pairs out of order; sorts on the way (merge sort, O(n log n)).
fn inversions(values: &mut [u32]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (&left[..], &right[..]);
    while let (Some((a, rest_a)), Some((b, rest_b))) = (left.split_first(), right.split_first()) {
        if a <= b {
            merged.push(*a);
            left = rest_a;
        } else {
            count += left.len() as u64;
            merged.push(*b);
            right = rest_b;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    values.copy_from_slice(&merged);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_count_pairs_out_of_order() {
        assert_eq!(inversions(&mut [2, 0, 1]), 2);
        assert_eq!(inversions(&mut [3, 2, 1, 0]), 6);
        assert_eq!(inversions(&mut []), 0);
    }
}
