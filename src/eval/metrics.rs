//! How good a ranking of units is for one question: Hit@1, Recall@k, MRR and NDCG@5. Knows places and gold, not what the
//! units are.

use serde::Serialize;

/// The measures of one question, or their means over questions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Metrics {
    /// The best unit is gold.
    pub hit1: f64,
    /// Share of the gold among the best three.
    pub recall3: f64,
    /// Share of the gold among the best five.
    pub recall5: f64,
    /// Share of the gold among the best ten.
    pub recall10: f64,
    /// One over the place of the first gold.
    pub mrr: f64,
    /// Discounted gain of the best five, over that of an ideal order; each gold unit counts one.
    pub ndcg5: f64,
}

impl Metrics {
    /// Of one question. `scores` by unit; ties go to the earlier unit. All zero without gold.
    pub fn of(scores: &[f64], gold: &[usize]) -> Self {
        if gold.is_empty() {
            return Self::default();
        }
        let order = best_first(scores);
        let is_gold = |(_, at): &(usize, &usize)| gold.contains(at);
        let places: Vec<u32> = order.iter().enumerate().filter(is_gold).map(|(at, _)| at as u32 + 1).collect();
        Self::of_places(&places, gold.len())
    }

    /// From the 1-based places of the gold units that are in the order, ascending, and the number of all gold units. All
    /// zero without gold.
    pub fn of_places(places: &[u32], gold: usize) -> Self {
        if gold == 0 {
            return Self::default();
        }
        let within = |k: u32| places.iter().filter(|place| **place <= k).count() as f64;
        let gain = |place: u32| 1.0 / (f64::from(place) + 1.0).log2();
        let gained: f64 = places.iter().filter(|place| **place <= 5).map(|place| gain(*place)).sum();
        let ideal: f64 = (1..=gold.min(5) as u32).map(gain).sum();
        Self {
            hit1: within(1),
            recall3: within(3) / gold as f64,
            recall5: within(5) / gold as f64,
            recall10: within(10) / gold as f64,
            mrr: places.first().map_or(0.0, |place| 1.0 / f64::from(*place)),
            ndcg5: gained / ideal,
        }
    }

    /// Means over questions; all zero without any.
    pub fn mean<'a>(questions: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        let mut count = 0.0;
        for one in questions {
            count += 1.0;
            sum.hit1 += one.hit1;
            sum.recall3 += one.recall3;
            sum.recall5 += one.recall5;
            sum.recall10 += one.recall10;
            sum.mrr += one.mrr;
            sum.ndcg5 += one.ndcg5;
        }
        if count > 0.0 {
            for slot in
                [&mut sum.hit1, &mut sum.recall3, &mut sum.recall5, &mut sum.recall10, &mut sum.mrr, &mut sum.ndcg5]
            {
                *slot /= count;
            }
        }
        sum
    }
}

/// Units by score, best first, ties to the earlier one.
pub fn best_first(scores: &[f64]) -> Vec<usize> {
    let score = |at: usize| scores.get(at).copied().unwrap_or(f64::NEG_INFINITY);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_of_a_ranking_made_by_hand() {
        // Order: 2, 0, 1, 3 (the tie goes to the earlier unit); gold stands at places 2 and 4.
        let found = Metrics::of(&[0.5, 0.5, 0.9, 0.1], &[0, 3]);
        assert_eq!((found.hit1, found.recall3, found.recall5, found.mrr), (0.0, 0.5, 1.0, 0.5));
        let ideal = 1.0 + 1.0 / 3.0_f64.log2();
        assert!((found.ndcg5 - (1.0 / 3.0_f64.log2() + 1.0 / 5.0_f64.log2()) / ideal).abs() < 1e-12);
        assert_eq!(Metrics::of(&[1.0], &[]), Metrics::default());
        let mean = Metrics::mean([&Metrics { hit1: 1.0, ..found }, &found]);
        assert_eq!((mean.hit1, mean.mrr), (0.5, 0.5));
    }
}
