//! Tune: one knob chosen on all conversations but one and judged on that one, for every conversation in turn (LOCO-CV).
//! Knows what each value keeps of each question; makes no trace.

use serde::Serialize;

use super::bootstrap::{Interval, interval};
use super::sweep::{AS_GOOD, Axis};
use crate::settings::{Knob, Stage};

/// What one value of the knob keeps of one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    /// Gold passages in the context.
    pub gold: u32,
    /// Words of the context.
    pub words: u32,
}

/// A question as tuning sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Number of its conversation.
    pub conversation: usize,
    /// Its gold passages.
    pub gold: u32,
    /// By value of the axis.
    pub kept: Vec<Kept>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tuned {
    /// The knob and its values.
    pub axis: Axis,
    /// By value: share of all gold that is kept, and mean words.
    pub curve: Vec<(f64, f64)>,
    /// By conversation number: the value chosen on the others; `None` for one without questions.
    pub chosen: Vec<Option<f64>>,
    /// Share of the gold kept, each conversation under the value chosen on the others.
    pub held_out: Interval,
    /// Mean words of the context there.
    pub words: f64,
}

/// Chooses and judges. Where the knob is one of the cut, words count too: among the values that keep at most half a point
/// less than the best one, the one with the fewest words. Else the best one. Ties go to the smallest value. `None` with
/// questions of fewer than two conversations: nothing is left to choose on.
pub fn tune(axis: Axis, rows: &[Row], seed: u64) -> Option<Tuned> {
    let conversations = rows.iter().map(|row| row.conversation).max()? + 1;
    let spares_words = Knob::named(&axis.knob).is_some_and(|knob| knob.stage == Stage::Truncate);
    let at = |row: &Row, value: usize| row.kept.get(value).copied().unwrap_or_default();
    let mean = |value: usize, keeps: &dyn Fn(&Row) -> bool| -> (f64, f64) {
        let (mut gold, mut all, mut words, mut count) = (0.0, 0.0, 0.0, 0.0);
        for row in rows.iter().filter(|row| keeps(row)) {
            let kept = at(row, value);
            gold += f64::from(kept.gold);
            all += f64::from(row.gold);
            words += f64::from(kept.words);
            count += 1.0;
        }
        if all > 0.0 { (gold / all, words / count) } else { (0.0, 0.0) }
    };
    let choose = |keeps: &dyn Fn(&Row) -> bool| -> usize {
        let all: Vec<(f64, f64)> = (0..axis.values.len()).map(|value| mean(value, keeps)).collect();
        let best = all.iter().map(|(gold, _)| *gold).fold(0.0, f64::max);
        let slack = if spares_words { AS_GOOD } else { 0.0 };
        let good = all.iter().enumerate().filter(|(_, (gold, _))| *gold >= best - slack);
        let cost = |words: f64| if spares_words { words } else { 0.0 };
        // The first of equal ones, which is the smallest value.
        good.reduce(|a, b| if cost(b.1.1) < cost(a.1.1) { b } else { a }).map_or(0, |(value, _)| value)
    };
    let present = |number: usize| rows.iter().any(|row| row.conversation == number);
    if (0..conversations).filter(|number| present(*number)).count() < 2 {
        return None;
    }
    let folds: Vec<Option<usize>> = (0..conversations)
        .map(|number| present(number).then(|| choose(&|row: &Row| row.conversation != number)))
        .collect();
    let own =
        |row: &Row| folds.get(row.conversation).copied().flatten().map(|value| at(row, value)).unwrap_or_default();
    let shares: Vec<(f64, f64)> = rows.iter().map(|row| (f64::from(own(row).gold), f64::from(row.gold))).collect();
    let owners: Vec<usize> = rows.iter().map(|row| row.conversation).collect();
    let held_out = interval(&shares, &owners, seed)?;
    let words = rows.iter().map(|row| f64::from(own(row).words)).sum::<f64>() / rows.len() as f64;
    let curve = (0..axis.values.len()).map(|value| mean(value, &|_| true)).collect();
    let chosen = folds.into_iter().map(|fold| axis.values.get(fold?).copied()).collect();
    Some(Tuned { axis, curve, chosen, held_out, words })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(conversation: usize, kept: &[(u32, u32)]) -> Row {
        let kept = kept.iter().map(|(gold, words)| Kept { gold: *gold, words: *words }).collect();
        Row { conversation, gold: 10, kept }
    }

    #[test]
    fn a_value_is_judged_where_it_was_not_chosen() {
        let axis = Axis::read("lambda=0:1:0.5").unwrap();
        // Each conversation likes another value best; held out, it gets what the others like.
        let rows = [row(0, &[(10, 1), (5, 1), (0, 1)]), row(2, &[(0, 1), (5, 1), (10, 1)])];
        let found = tune(axis.clone(), &rows, 1).unwrap();
        assert_eq!(found.chosen, [Some(1.0), None, Some(0.0)]);
        assert_eq!(found.held_out.value, 0.0);
        assert_eq!(found.curve, [(0.5, 1.0), (0.5, 1.0), (0.5, 1.0)]);
        assert_eq!(tune(axis, &rows[..1], 1), None);
    }

    #[test]
    fn knobs_of_the_cut_spare_words_and_others_do_not() {
        let kept = [(1000, 900), (996, 500), (990, 100)];
        let rows: Vec<Row> = (0..3).map(|at| Row { gold: 1000, ..row(at, &kept) }).collect();
        let alpha = tune(Axis::read("alpha=0:0.2:0.1").unwrap(), &rows, 1).unwrap();
        assert_eq!((alpha.chosen[0], alpha.words), (Some(0.1), 500.0));
        let w = tune(Axis::read("w=0:0.2:0.1").unwrap(), &rows, 1).unwrap();
        assert_eq!((w.chosen[0], w.words), (Some(0.0), 900.0));
    }
}
