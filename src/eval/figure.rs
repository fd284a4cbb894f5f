//! Figure: one measure over many questions, by name. Tables, files and differences are derived from this list. Knows
//! outcomes; computes no ranking.

use serde::Serialize;

use super::bootstrap::{Interval, interval};
use super::outcome::Outcome;

/// A measure over questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Share of the gold passages that match a term.
    Found,
    /// Share of the questions all of whose gold matches.
    AllFound,
    /// Share of the gold passages that are ranked.
    Ranked,
    /// Share of the gold passages in the context (recall in budget).
    Kept,
    /// Mean over questions of the share of their gold in the context.
    KeptByQuestion,
    /// Share of the questions all of whose gold is in the context.
    AllKept,
    /// The best passage is gold.
    Hit1,
    /// Share of the gold among the best three, mean over questions.
    Recall3,
    /// The same for five.
    Recall5,
    /// The same for ten.
    Recall10,
    /// One over the place of the first gold.
    Mrr,
    /// Discounted gain of the best five.
    Ndcg5,
    /// Position of the first gold among the matching passages in conversation order.
    FirstFound,
    /// Place of the first gold in the order that was cut.
    FirstGold,
    /// Matching passages.
    Candidates,
    /// Passages of the context.
    Passages,
    /// Words of the context.
    Words,
    /// Tokens of the context.
    Tokens,
}

impl Figure {
    /// All, in the order of the tables.
    pub const ALL: [Self; 18] = [
        Self::Found,
        Self::AllFound,
        Self::Ranked,
        Self::Kept,
        Self::KeptByQuestion,
        Self::AllKept,
        Self::Hit1,
        Self::Recall3,
        Self::Recall5,
        Self::Recall10,
        Self::Mrr,
        Self::Ndcg5,
        Self::FirstFound,
        Self::FirstGold,
        Self::Candidates,
        Self::Passages,
        Self::Words,
        Self::Tokens,
    ];

    /// Those whose differences are worth a test, and that stand in the smaller tables.
    pub const HEADLINES: [Self; 5] = [Self::Kept, Self::KeptByQuestion, Self::Hit1, Self::Mrr, Self::Ndcg5];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Found => "gold found",
            Self::AllFound => "questions with all gold found",
            Self::Ranked => "gold ranked",
            Self::Kept => "gold kept (recall in budget)",
            Self::KeptByQuestion => "the same, mean over questions",
            Self::AllKept => "questions with all gold kept",
            Self::Hit1 => "Hit@1",
            Self::Recall3 => "Recall@3",
            Self::Recall5 => "Recall@5",
            Self::Recall10 => "Recall@10",
            Self::Mrr => "MRR",
            Self::Ndcg5 => "NDCG@5",
            Self::FirstFound => "first gold, conversation order",
            Self::FirstGold => "first gold, place in the order",
            Self::Candidates => "candidates",
            Self::Passages => "passages kept",
            Self::Words => "words kept",
            Self::Tokens => "tokens kept",
        }
    }

    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::AllFound => "all_found",
            Self::Ranked => "ranked",
            Self::Kept => "kept",
            Self::KeptByQuestion => "kept_by_question",
            Self::AllKept => "all_kept",
            Self::Hit1 => "hit1",
            Self::Recall3 => "recall3",
            Self::Recall5 => "recall5",
            Self::Recall10 => "recall10",
            Self::Mrr => "mrr",
            Self::Ndcg5 => "ndcg5",
            Self::FirstFound => "first_found",
            Self::FirstGold => "first_gold",
            Self::Candidates => "candidates",
            Self::Passages => "passages",
            Self::Words => "words",
            Self::Tokens => "tokens",
        }
    }

    /// True for shares, which tables show in percent.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Found | Self::AllFound | Self::Ranked | Self::Kept | Self::KeptByQuestion | Self::AllKept)
    }

    /// True for measures between 0 and 1 that tables show as they are.
    pub fn is_measure(self) -> bool {
        matches!(self, Self::Hit1 | Self::Recall3 | Self::Recall5 | Self::Recall10 | Self::Mrr | Self::Ndcg5)
    }

    /// What one question adds to the sum above and below the line; `None` when it was not measured. Questions without any
    /// gold in the order have no first place: the mean is over the others, and nothing is added.
    pub fn of(self, outcome: &Outcome) -> Option<(f64, f64)> {
        let gold = f64::from(outcome.gold);
        let each = |number: f64| Some((number, 1.0));
        let place = |place: Option<u32>| Some(place.map_or((0.0, 0.0), |place| (f64::from(place), 1.0)));
        match self {
            Self::Found => return Some((f64::from(outcome.found), gold)),
            Self::AllFound => return each(f64::from(u8::from(outcome.found == outcome.gold))),
            Self::FirstFound => return place(outcome.first_found),
            Self::Candidates => return each(f64::from(outcome.candidates)),
            _ => {}
        }
        let order = outcome.order.as_ref()?;
        match self {
            Self::Ranked => Some((f64::from(order.ranked), gold)),
            Self::Kept => Some((f64::from(order.kept), gold)),
            Self::KeptByQuestion => each(f64::from(order.kept) / gold.max(1.0)),
            Self::AllKept => each(f64::from(u8::from(order.kept == outcome.gold))),
            Self::Hit1 => each(order.metrics.hit1),
            Self::Recall3 => each(order.metrics.recall3),
            Self::Recall5 => each(order.metrics.recall5),
            Self::Recall10 => each(order.metrics.recall10),
            Self::Mrr => each(order.metrics.mrr),
            Self::Ndcg5 => each(order.metrics.ndcg5),
            Self::FirstGold => place(order.first_gold),
            Self::Passages => each(f64::from(order.passages)),
            Self::Words => each(f64::from(order.words)),
            Self::Tokens => each(f64::from(order.tokens?)),
            Self::Found | Self::AllFound | Self::FirstFound | Self::Candidates => None,
        }
    }

    /// Over questions; `None` when one of them was not measured, or there is nothing to divide by.
    pub fn over<'a>(self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<f64> {
        let mut sum = (0.0, 0.0);
        for outcome in outcomes {
            let (part, whole) = self.of(outcome)?;
            sum.0 += part;
            sum.1 += whole;
        }
        (sum.1 > 0.0).then(|| sum.0 / sum.1)
    }

    /// With its 95 % interval over conversations. `conversation` numbers the conversation of every question.
    pub fn interval(self, outcomes: &[&Outcome], conversation: &[usize], seed: u64) -> Option<Interval> {
        let shares: Vec<(f64, f64)> = outcomes.iter().map(|outcome| self.of(outcome)).collect::<Option<_>>()?;
        interval(&shares, conversation, seed)
    }

    /// How much better the first setting is than the second, over the same questions. Only for figures whose questions
    /// count the same under both, so not for places.
    pub fn difference(
        self,
        first: &[&Outcome],
        second: &[&Outcome],
        conversation: &[usize],
        seed: u64,
    ) -> Option<Interval> {
        let of = |(first, second): (&&Outcome, &&Outcome)| {
            let ((first, whole), (second, other)) = (self.of(first)?, self.of(second)?);
            (whole == other).then_some((first - second, whole))
        };
        let shares: Vec<(f64, f64)> = first.iter().zip(second).map(of).collect::<Option<_>>()?;
        interval(&shares, conversation, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(gold: u32, found: u32, first_found: Option<u32>) -> Outcome {
        Outcome { gold, found, first_found, candidates: 10, order: None, not_measured: None }
    }

    #[test]
    fn shares_weigh_by_gold_and_what_was_not_measured_is_no_number() {
        let outcomes = [outcome(1, 1, Some(4)), outcome(3, 0, None)];
        assert_eq!(Figure::Found.over(&outcomes), Some(0.25));
        assert_eq!(Figure::AllFound.over(&outcomes), Some(0.5));
        assert_eq!(Figure::FirstFound.over(&outcomes), Some(4.0));
        assert_eq!(Figure::Candidates.over(&outcomes), Some(10.0));
        for figure in Figure::ALL {
            let known = matches!(figure, Figure::Found | Figure::AllFound | Figure::FirstFound | Figure::Candidates);
            assert_eq!(figure.over(&outcomes).is_some(), known, "{}", figure.name());
        }
        assert_eq!(Figure::Found.over(&[]), None);
    }
}
