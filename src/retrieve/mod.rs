//! Terms to candidates, hop by hop (PIPELINE section 2). Deterministic: knows passages, terms and a tagger behind a
//! trait; knows no ranker.

pub mod bm25;
pub mod hop;
pub mod matcher;
pub mod names;

use serde::{Deserialize, Serialize};

use crate::nlp::Analysis;
use crate::parse::Query;
use crate::passage::PassageSet;
use crate::settings::Settings;
pub use hop::{Hop, HopEnd, TermTally};
pub use matcher::Hit;

/// Something that can read a text: the tagger, a cache in front of it, or nothing.
pub trait Reader: Sync {
    /// Tokens and entities of a text, or `None` when no tagger is there.
    fn read(&self, text: &str) -> Option<std::sync::Arc<Analysis>>;
}

/// No tagger: hop 2 finds no names, and says so.
pub struct NoReader;

impl Reader for NoReader {
    fn read(&self, _: &str) -> Option<std::sync::Arc<Analysis>> {
        None
    }
}

/// What retrieval found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Retrieval {
    /// All hops in order.
    pub hops: Vec<Hop>,
    /// Every occurrence of every term, by passage, then by position.
    pub hits: Vec<Hit>,
    /// Where the hits of a passage begin in `hits`; one more entry than there are passages.
    pub first_hit: Vec<u32>,
    /// Match score of every passage: sum of the weights of the distinct terms in it.
    pub match_score: Vec<f64>,
    /// 1-based place by match score of every matched passage; 0 when unmatched.
    pub match_place: Vec<u32>,
    /// The hop in which a passage was first found; 0 when never.
    pub found_in: Vec<u8>,
    /// Passages that go to the rankers, in conversation order.
    pub candidates: Vec<u32>,
    /// Why passages without any match are among the candidates.
    pub everything: Option<Everything>,
}

/// Why every passage became a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Everything {
    /// No term occurs anywhere, so the rankers see all passages (dense fallback).
    NothingMatched,
    /// The user asked for it.
    Asked,
}

impl Retrieval {
    /// Occurrences in one passage.
    pub fn hits_of(&self, passage: u32) -> &[Hit] {
        let at = |index: usize| self.first_hit.get(index).copied().unwrap_or(0) as usize;
        self.hits.get(at(passage as usize)..at(passage as usize + 1)).unwrap_or_default()
    }

    /// All terms of all hops; [`Hit::term`] points here.
    pub fn terms(&self) -> impl Iterator<Item = &crate::parse::Term> {
        self.hops.iter().flat_map(|hop| hop.terms.iter().map(|tally| &tally.term))
    }

    /// Number of passages that hold at least one term.
    pub fn matched(&self) -> usize {
        self.match_place.iter().filter(|place| **place > 0).count()
    }
}

/// Run all hops over one history. O(text x terms) for the scan; the tagger reads the top passages of each hop.
pub fn retrieve(set: &PassageSet, query: &Query, reader: &dyn Reader, settings: &Settings) -> Retrieval {
    let mut walk = hop::Walk::new(set, query, settings);
    walk.first(query);
    while walk.next(query, reader) {}
    walk.finish()
}

/// A match score with the weight of one more term. Sums are rounded to nine decimals, so that passages with the same terms
/// have the same score, in whatever order they hold them. Sums below a thousandth stay as they are, so that no weight
/// above zero becomes zero.
pub fn with_weight(match_score: f64, weight: f64) -> f64 {
    let sum = match_score + weight;
    if sum < 1e-3 { sum } else { (sum * 1e9).round() / 1e9 }
}

/// Passages by match score, best first, ties in conversation order; unmatched ones left out. At most `top`.
pub fn by_match_score(match_score: &[f64], top: usize) -> Vec<u32> {
    let mut order: Vec<u32> =
        (0..match_score.len() as u32).filter(|at| match_score.get(*at as usize).is_some_and(|s| *s > 0.0)).collect();
    let key = |at: &u32| match_score.get(*at as usize).copied().unwrap_or(0.0);
    let compare = |a: &u32, b: &u32| key(b).total_cmp(&key(a)).then(a.cmp(b));
    if top < order.len() {
        order.select_nth_unstable_by(top, compare);
        order.truncate(top);
    }
    order.sort_unstable_by(compare);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_terms_does_not_move_a_match_score() {
        let sum = |weights: [f64; 3]| weights.into_iter().fold(0.0, with_weight);
        assert_ne!((2.0 + 0.01) + 0.01, (0.01 + 0.01) + 2.0, "or rounding would not matter");
        assert_eq!(sum([2.0, 0.01, 0.01]), sum([0.01, 0.01, 2.0]));
        assert_eq!(sum([3.0, 2.0, 1.5]), 6.5);
        assert_eq!(sum([1e-20, 0.0, 0.0]), 1e-20);
    }
}
