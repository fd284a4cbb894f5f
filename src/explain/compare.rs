//! Two settings over one scoring, side by side: which knobs differ, what enters and leaves the context. Reads two traces.

use std::sync::Arc;

use crate::explain::whatif::Price;
use crate::settings::{KNOBS, Settings};
use crate::trace::{Agreement, Trace};
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
    /// How alike the two orders are, over the candidates of both; `None` for fewer than two.
    pub agreement: Option<Agreement>,
    /// Passages with another fate: gold first, then what enters or leaves the context, each by place under B.
    pub changes: Vec<Change>,
}

/// How a passage moves in the order from A to B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// So many places up; negative when down.
    By(i64),
    /// It is a candidate under B only.
    New,
    /// It is no candidate under B.
    Unranked,
}

impl Move {
    /// The move of a passage between two traces of the same passages.
    pub fn of(a: &Trace, b: &Trace, passage: u32) -> Self {
        match (a.place(passage), b.place(passage)) {
            (_, 0) => Self::Unranked,
            (0, _) => Self::New,
            (before, after) => Self::By(i64::from(before) - i64::from(after)),
        }
    }

    /// `+2`, `-1`, `=`, `new`; nothing for what is no candidate under B.
    pub fn words(self) -> String {
        match self {
            Self::By(0) => "=".to_owned(),
            Self::By(places) => format!("{places:+}"),
            Self::New => "new".to_owned(),
            Self::Unranked => String::new(),
        }
    }
}

/// True when two traces are of the same question and the same passages, so that they can be compared row by row. Their
/// terms, hops and candidates may differ.
pub fn comparable(a: &Trace, b: &Trace) -> bool {
    let (one, other) = (&a.scored.passages, &b.scored.passages);
    Arc::ptr_eq(&one.conversation, &other.conversation)
        && one.shape == other.shape
        && a.scored.query.text == b.scored.query.text
}

/// Compare two traces of the same question over the same passages ([`comparable`]). O(n log n).
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
    let places = b.cut.rows.iter().map(|row| (a.place(row.passage), b.place(row.passage)));
    let agreement = Agreement::of(places.filter(|(before, _)| *before > 0).collect(), b.cut.line);
    Comparison { knobs: differing(&a.settings, &b.settings), price: Price::between(a, b), agreement, changes }
}

/// Knobs that differ: name, value under the first, value under the second settings.
pub fn differing(a: &Settings, b: &Settings) -> Vec<(&'static str, String, String)> {
    let differs = KNOBS.iter().filter(|knob| (knob.get)(a) != (knob.get)(b));
    differs.map(|knob| (knob.name, (knob.get)(a).to_string(), (knob.get)(b).to_string())).collect()
}
