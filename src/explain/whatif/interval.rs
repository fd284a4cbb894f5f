//! Lists of intervals of a knob's values, both ends closed and on its grain. Knows numbers, not what they are for.

/// Values from `from` to `to`, both included, in the unit of the knob.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Smallest value.
    pub from: f64,
    /// Largest value.
    pub to: f64,
}

/// All values of a knob for which something holds: maximal intervals, ascending, with a value between any two of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Strip {
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// Smallest and largest value of the knob.
    pub range: (f64, f64),
    /// Values of the knob that stand outside, next to the ends of the intervals, ascending.
    outside: Vec<f64>,
}

impl Strip {
    /// A strip of runs: neighbouring stretches of values, each with both ends and whether it holds there.
    pub(super) fn of_runs(runs: impl IntoIterator<Item = (f64, f64, bool)>) -> Self {
        let mut strip = Self::default();
        let mut last: Option<bool> = None;
        for (from, to, holds) in runs {
            if last.is_none() {
                strip.range = (from, to);
            }
            strip.range.1 = to;
            match (last, holds) {
                (Some(true), true) => {
                    if let Some(interval) = strip.intervals.last_mut() {
                        interval.to = to;
                    }
                }
                (_, true) => strip.intervals.push(Interval { from, to }),
                (Some(false), false) => {
                    // The near end of a stretch stands; its far end moves on.
                    if let Some(end) = strip.outside.last_mut() {
                        *end = to;
                    }
                }
                (_, false) => strip.outside.extend([from, to]),
            }
            last = Some(holds);
        }
        strip
    }

    /// A strip of single values, ascending.
    pub(super) fn of_points(points: &[f64], holds: impl IntoIterator<Item = bool>) -> Self {
        Self::of_runs(points.iter().zip(holds).map(|(at, holds)| (*at, *at, holds)))
    }

    /// The same with the last stretch drawn out to the end of the range.
    pub(super) fn stretched(mut self, to: f64) -> Self {
        if to > self.range.1 {
            let last = self.range.1;
            match (self.intervals.last_mut(), self.outside.last_mut()) {
                (Some(interval), _) if interval.to == last => interval.to = to,
                (_, Some(end)) => *end = to,
                _ => {}
            }
            self.range.1 = to;
        }
        self
    }

    /// True when it holds for this value, which must be on the grain.
    pub fn contains(&self, value: f64) -> bool {
        self.intervals.iter().any(|interval| interval.from <= value && value <= interval.to)
    }

    /// True when it holds for every value of the knob.
    pub fn is_everywhere(&self) -> bool {
        self.outside.is_empty() && !self.intervals.is_empty()
    }

    /// True when it holds for no value of the knob.
    pub fn is_nowhere(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The value nearest to `now` where it holds (`wanted`) or does not; of two equally near ones the smaller.
    pub fn nearest(&self, now: f64, wanted: bool) -> Option<f64> {
        if self.contains(now) == wanted {
            return Some(now);
        }
        let ends: Vec<f64> = if wanted {
            self.intervals.iter().flat_map(|interval| [interval.from, interval.to]).collect()
        } else {
            self.outside.clone()
        };
        ends.into_iter().min_by(|a, b| (a - now).abs().total_cmp(&(b - now).abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_become_maximal_intervals() {
        let strip = Strip::of_points(&[1.0, 2.0, 3.0, 4.0, 5.0], [true, true, false, false, true]);
        assert_eq!(strip.intervals, [Interval { from: 1.0, to: 2.0 }, Interval { from: 5.0, to: 5.0 }]);
        assert_eq!(strip.range, (1.0, 5.0));
        assert!(strip.contains(2.0) && !strip.contains(3.0) && !strip.is_everywhere() && !strip.is_nowhere());
        assert!(Strip::of_runs([(0.0, 9.0, true)]).is_everywhere());
        assert!(Strip::of_runs([(0.0, 9.0, false)]).is_nowhere());
    }

    #[test]
    fn the_nearest_value_is_an_end_on_either_side() {
        let strip = Strip::of_runs([(0.0, 4.0, false), (5.0, 7.0, true), (8.0, 20.0, false)]);
        assert_eq!(strip.nearest(12.0, true), Some(7.0));
        assert_eq!(strip.nearest(1.0, true), Some(5.0));
        assert_eq!(strip.nearest(6.0, false), Some(4.0));
        assert_eq!(strip.nearest(7.0, false), Some(8.0));
        assert_eq!(strip.nearest(6.0, true), Some(6.0));
        assert_eq!(Strip::of_runs([(0.0, 9.0, true)]).nearest(3.0, false), None);
    }
}
