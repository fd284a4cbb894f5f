//! How sure a figure or a difference is: a bootstrap over conversations, because the questions of one conversation
//! are not independent. Knows numbers by question and their conversations.

use serde::Serialize;

/// Resamples of the second paper.
pub const RESAMPLES: usize = 4000;

/// A ratio with its uncertainty; of a difference, when what is summed are differences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The ratio over all questions.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Share of resamples in which it is not above 0: of a difference, that the first is not better.
    pub p: f64,
}

/// The mean of `first - second`, as [`interval`].
pub fn difference(first: &[f64], second: &[f64], conversation: &[usize], seed: u64) -> Option<Interval> {
    let shares: Vec<(f64, f64)> = first.iter().zip(second).map(|(a, b)| (a - b, 1.0)).collect();
    interval(&shares, conversation, seed)
}

/// The sum of the first numbers over the sum of the second ones when whole conversations are drawn with replacement, as
/// many as there are. A mean has ones below; a share of all gold passages has the gold passages of each question below.
/// `conversation` numbers the conversation of every question; both have one entry a question. The same seed gives the same
/// answer. `None` without questions or with fewer than two conversations.
pub fn interval(shares: &[(f64, f64)], conversation: &[usize], seed: u64) -> Option<Interval> {
    let conversations = conversation.iter().max()? + 1;
    let mut sums = vec![(0.0, 0.0); conversations];
    for ((part, whole), at) in shares.iter().zip(conversation) {
        let (sum, count) = sums.get_mut(*at)?;
        *sum += part;
        *count += whole;
    }
    sums.retain(|(_, count)| *count > 0.0);
    if sums.len() < 2 {
        return None;
    }
    let mean = |chosen: &mut dyn Iterator<Item = (f64, f64)>| {
        let (sum, count) = chosen.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        sum / count
    };
    let mut random = Random(seed);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut drawn = (0..sums.len()).filter_map(|_| sums.get(random.below(sums.len())).copied());
            mean(&mut drawn)
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    // The quantile between two resamples is on the line between them.
    let quantile = |share: f64| {
        let at = share * (means.len() - 1) as f64;
        let value = |at: f64| means.get(at as usize).copied().unwrap_or(0.0);
        value(at.floor()) + (value(at.ceil()) - value(at.floor())) * at.fract()
    };
    Some(Interval {
        value: mean(&mut sums.iter().copied()),
        low: quantile(0.025),
        high: quantile(0.975),
        p: means.iter().filter(|mean| **mean <= 0.0).count() as f64 / means.len() as f64,
    })
}

/// SplitMix64: small, seeded and good enough to draw conversations.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`, which is small: the bias of the remainder is far below one in a billion.
    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_in_every_conversation_is_sure_and_one_in_half_of_them_is_not() {
        let conversation: Vec<usize> = (0..100).map(|at| at / 10).collect();
        let better = vec![1.0; 100];
        let worse = vec![0.0; 100];
        let sure = difference(&better, &worse, &conversation, 1).unwrap();
        assert_eq!((sure.value, sure.low, sure.high, sure.p), (1.0, 1.0, 1.0, 0.0));
        let half: Vec<f64> = conversation.iter().map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let unsure = difference(&half, &worse, &conversation, 1).unwrap();
        assert!(unsure.value == 0.0 && unsure.low < -0.3 && unsure.high > 0.3, "{unsure:?}");
        // Ten fair coins: half of the resamples and a bit more, because a draw counts as no better.
        assert!((0.5..0.75).contains(&unsure.p), "{unsure:?}");
        assert_eq!(difference(&half, &worse, &conversation, 1), Some(unsure));
        assert_eq!(difference(&better, &worse, &vec![0; 100], 1), None);
        assert_eq!(difference(&[], &[], &[], 1), None);
    }

    #[test]
    fn a_share_weighs_every_question_by_its_gold() {
        let shares = [(1.0, 1.0), (0.0, 3.0), (2.0, 4.0)];
        let found = interval(&shares, &[0, 0, 1], 7).unwrap();
        assert_eq!(found.value, 3.0 / 8.0);
        // Only two conversations: a quarter of the resamples holds the worse one alone, a quarter the better one.
        assert_eq!((found.low, found.high, found.p), (0.25, 0.5, 0.0));
    }
}
