//! For which values of k the target survives: a sweep over the crossings of the target with every other candidate, with
//! sums that move by one candidate at a time. Knows reciprocal rank fusion of two rankers only.

use super::crossing::Pair;
use super::field::{Field, Rule, Scratch};
use super::fusion::Fusing;

/// Whether the target is kept, for every value of k.
pub(super) fn kept(field: &Field<'_>, fusing: &Fusing<'_>, points: &[f64], scratch: &mut Scratch) -> Vec<bool> {
    let settings = &field.trace.settings;
    let top = field.top(settings.top_n);
    let pair = |first: usize, second: usize| {
        let rank =
            |list: usize, at: usize| fusing.ranks.get(list).and_then(|ranks| ranks.get(at)).copied().unwrap_or(0);
        let both = |at| (rank(0, at), rank(1, at));
        Pair { w: settings.w, first: both(first), second: both(second), wins_ties: first < second }
    };
    let mut is_above = vec![false; field.len];
    let mut turns: Vec<(u32, u32)> = Vec::new();
    for (other, above) in is_above.iter_mut().enumerate().filter(|(other, _)| *other != field.target) {
        *above = pair(other, field.target).turns(points, |at| turns.push((at as u32, other as u32)));
    }
    turns.sort_unstable();
    let best = Best::new(field, points, top, pair);
    let passing: Vec<bool> = (0..field.len).map(|at| field.passes(&best.rule, at)).collect();
    let passes = |at: usize| passing.get(at).copied().unwrap_or(true);

    let mut count = is_above.iter().filter(|above| **above).count();
    let words_of = |at: usize| if passes(at) { field.cost(at) } else { 0 };
    let mut words: u64 = (0..field.len).filter(|at| is_above.get(*at) == Some(&true)).map(words_of).sum();
    let mut scores = vec![0.0; field.len];
    let mut next = 0;
    let mut kept = Vec::with_capacity(points.len());
    for (at, k) in points.iter().enumerate() {
        while let Some((_, other)) = turns.get(next).filter(|(turn, _)| *turn as usize <= at) {
            let other = *other as usize;
            next += 1;
            if let Some(above) = is_above.get_mut(other) {
                *above = !*above;
                if *above {
                    (count, words) = (count + 1, words + words_of(other));
                } else {
                    (count, words) = (count - 1, words - words_of(other));
                }
            }
        }
        kept.push(if count >= top {
            false
        } else if best.is_known(at, &is_above) && field.plain {
            passes(field.target) && field.fits(words)
        } else {
            let above: Vec<usize> = (0..field.len).filter(|at| is_above.get(*at) == Some(&true)).collect();
            if best.at.is_some_and(|best| best == field.target || is_above.get(best) == Some(&true)) {
                // Who enters is settled, so that only the order of those above still counts.
                for at in above.iter().copied().chain([field.target]) {
                    if let Some(slot) = scores.get_mut(at) {
                        *slot = fusing.rrf_of(at, settings.w, *k);
                    }
                }
            } else {
                fusing.scores_at("k", *k, &mut scores);
            }
            field.survives_below(above, &scores, scratch)
        });
    }
    kept
}

/// The α test, which is the same for all k where the candidate with the best cross-encoder score enters.
struct Best {
    rule: Rule,
    /// That candidate; `None` where there is none.
    at: Option<usize>,
    /// α plays a part.
    adaptive: bool,
    /// By value of k: how many stand above that candidate; empty where nobody asks.
    above: Vec<i64>,
    top: i64,
}

impl Best {
    fn new(field: &Field<'_>, points: &[f64], top: usize, pair: impl Fn(usize, usize) -> Pair) -> Self {
        let settings = &field.trace.settings;
        let mut best =
            Self { rule: Rule::Off, at: None, adaptive: field.is_adaptive(), above: Vec::new(), top: top as i64 };
        if !field.is_adaptive() {
            return best;
        }
        let Some(first) = field.best_ce else { return best };
        best.rule = field.rule_of(&field.extremes([first]), settings.alpha);
        best.at = Some(first);
        if first == field.target {
            return best;
        }
        let mut turns: Vec<(usize, i64)> = Vec::new();
        for other in (0..field.len).filter(|other| *other != first) {
            // The first turn brings it above unless it begins there, and every turn is the opposite of the one before.
            let from = turns.len();
            let start = pair(other, first).turns(points, |at| turns.push((at, 1)));
            if start {
                turns.insert(from, (0, 1));
            }
            for (_, sign) in turns.iter_mut().skip(from + 1).step_by(2) {
                *sign = -1;
            }
        }
        let mut moves = vec![0_i64; points.len()];
        for (at, sign) in turns {
            if let Some(slot) = moves.get_mut(at) {
                *slot += sign;
            }
        }
        let mut sum = 0;
        for slot in &mut moves {
            sum += *slot;
            *slot = sum;
        }
        best.above = moves;
        best
    }

    /// True when the rule is the one of this value of k.
    fn is_known(&self, at: usize, is_above: &[bool]) -> bool {
        match self.at {
            // Without any cross-encoder score the rule depends on who enters.
            None => !self.adaptive,
            Some(best) => {
                self.above.is_empty()
                    || is_above.get(best) == Some(&true)
                    || self.above.get(at).is_some_and(|above| *above < self.top)
            }
        }
    }
}
