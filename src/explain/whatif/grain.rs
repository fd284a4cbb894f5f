//! The values that a knob can be set to: its finest steps, and the value it has. Knows the table of knobs.

use crate::settings::{Knob, KnobKind, Settings, Value};

/// The finest values of a knob, ascending, the present one among them even where it stands between two steps.
///
/// These are the values that keys reach: multiples of the fine step as [`Knob::step`] rounds them.
pub fn points(knob: &Knob, settings: &Settings) -> Vec<f64> {
    let KnobKind::Number { min, max, fine, .. } = knob.kind else { return Vec::new() };
    let count = ((max - min) / fine).round() as u32;
    // The same rounding as a key press: six digits behind the point.
    let mut points: Vec<f64> = (0..=count)
        .map(|step| ((min + f64::from(step) * fine) * 1e6).round() / 1e6)
        .map(|at| at.clamp(min, max))
        .collect();
    let now = number(knob, settings);
    if let Err(at) = points.binary_search_by(|point| point.total_cmp(&now)) {
        points.insert(at, now);
    }
    points
}

/// Smallest and largest value of a knob; the present one widens the range where it stands outside.
pub(super) fn range(knob: &Knob, settings: &Settings) -> (f64, f64) {
    let KnobKind::Number { min, max, .. } = knob.kind else { return (0.0, 0.0) };
    let now = number(knob, settings);
    (min.min(now), max.max(now))
}

/// The same for a knob of whole numbers.
pub(super) fn whole_range(knob: &Knob, settings: &Settings) -> (u32, u32) {
    let (least, most) = range(knob, settings);
    (least as u32, most as u32)
}

/// The present value of a number; 0 for other knobs.
pub fn number(knob: &Knob, settings: &Settings) -> f64 {
    match (knob.get)(settings) {
        Value::Number(now) => now,
        _ => 0.0,
    }
}
