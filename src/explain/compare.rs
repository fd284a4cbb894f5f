//! Two settings over one scoring, side by side: which knobs differ, what enters and leaves the context. Reads two traces.

use crate::explain::whatif::Price;
use crate::settings::{KNOBS, Settings};
use crate::trace::Trace;
use crate::truncate::FateKind;

/// A passage whose fate is another one under the second setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The passage.
    pub passage: u32,
    /// Its fate under A.
    pub before: FateKind,
    /// Its fate under B.
    pub after: FateKind,
    /// Its 1-based place under A; 0 for no candidate.
    pub place_before: u32,
    /// Its 1-based place under B; 0 for no candidate.
    pub place_after: u32,
}

/// A against B.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Knobs that differ: name, value under A, value under B.
    pub knobs: Vec<(&'static str, String, String)>,
    /// What going from A to B does to the context.
    pub price: Price,
    /// Passages with another fate: gold first, then what enters or leaves the context, each by place under B.
    pub changes: Vec<Change>,
}

/// Compare two traces of one scoring.
pub fn compare(a: &Trace, b: &Trace) -> Comparison {
    let mut changes: Vec<Change> = (0..a.fates.len().min(b.fates.len()) as u32)
        .map(|passage| Change {
            passage,
            before: a.fate(passage).kind(),
            after: b.fate(passage).kind(),
            place_before: a.place(passage),
            place_after: b.place(passage),
        })
        .filter(|change| change.before != change.after)
        .collect();
    let crosses = |change: &Change| (change.before == FateKind::Kept) != (change.after == FateKind::Kept);
    changes.sort_by_key(|change| {
        (!b.scored.is_gold(change.passage), !crosses(change), change.place_after, change.place_before)
    });
    Comparison { knobs: knobs(&a.settings, &b.settings), price: Price::between(a, b), changes }
}

fn knobs(a: &Settings, b: &Settings) -> Vec<(&'static str, String, String)> {
    let differs = KNOBS.iter().filter(|knob| (knob.get)(a) != (knob.get)(b));
    differs.map(|knob| (knob.name, (knob.get)(a).to_string(), (knob.get)(b).to_string())).collect()
}
