//! Knobs from the keyboard: steps, undo, and what has to be computed again. α, budget, w and top n never leave this
//! thread; what touches terms or hops is asked again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::Model;
use super::update::{Effect, ask, remake};
use crate::settings::{Fusion, Knob, Settings, Stage, Truncation};
use crate::trace::Trace;

/// How many settings can be undone.
const UNDO: usize = 500;

/// Turn a knob by steps.
pub fn step(model: &mut Model, name: &str, steps: i32, fine: bool, effects: &mut Vec<Effect>) {
    if let ("alpha" | "w", Some(reason)) = (name, model.no_cross_encoder()) {
        let reason = reason.to_owned();
        model.say(format!("{name} has no effect: {reason}"));
    }
    let name = if name == "w" && model.settings.fusion == Fusion::Z { "lambda" } else { name };
    let Some(knob) = Knob::named(name) else { return };
    let mut next = model.settings.clone();
    // Most of what α does happens below .1, where it moves in thousandths.
    let small = name == "alpha" && (next.alpha < 0.1 || (steps < 0 && next.alpha <= 0.1));
    knob.step(&mut next, steps, fine || small);
    if next == model.settings {
        model.say(format!("{name} takes {}", knob.takes()));
        return;
    }
    change(model, next, effects);
}

/// All knobs back to their defaults; what was done to terms goes too.
pub fn defaults(model: &mut Model, effects: &mut Vec<Effect>) {
    change(model, model.defaults.clone(), effects);
    model.hint("all knobs at their defaults: {undo} brings the settings before back");
}

/// Back to the settings before.
pub fn undo(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.past.pop() {
        Some(before) => {
            model.future.push(model.settings.clone());
            apply(model, before, effects);
        }
        None => model.say("nothing to undo"),
    }
}

/// Forward again.
pub fn redo(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.future.pop() {
        Some(after) => {
            model.past.push(model.settings.clone());
            apply(model, after, effects);
        }
        None => model.say("nothing to redo"),
    }
}

/// Silence the term under the cursor, or give it back its voice.
pub fn mute(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(name) = term_name(model) else { return };
    let mut next = model.settings.clone();
    if !next.terms.muted.remove(&name) {
        next.terms.muted.insert(name);
    }
    change(model, next, effects);
}

/// The text of the term under the cursor.
pub fn term_name(model: &Model) -> Option<String> {
    let row = model.rows.term()?;
    let hop = model.trace.as_ref()?.scored.retrieval.hops.get(row.hop)?;
    hop.terms.get(row.term).map(|tally| tally.term.text.clone())
}

/// Take new settings; the old ones can be undone to.
pub fn change(model: &mut Model, next: Settings, effects: &mut Vec<Effect>) {
    if next == model.settings {
        return;
    }
    if let Some(reason) = refused(model, &next) {
        model.fail(reason);
        return;
    }
    model.past.push(model.settings.clone());
    if model.past.len() > UNDO {
        model.past.remove(0);
    }
    model.future.clear();
    apply(model, next, effects);
}

/// Why a replayed trace cannot take these settings; `None` when it can.
fn refused(model: &Model, next: &Settings) -> Option<&'static str> {
    if !model.replayed {
        return None;
    }
    let vectors = model.trace.as_ref().is_some_and(|trace| trace.scored.sentences.is_some());
    match next.first_changed_stage(&model.settings) {
        Some(Stage::Parse | Stage::Retrieve | Stage::Rank) => {
            Some("a replayed trace cannot be searched again: knobs of terms and hops need the database")
        }
        _ if next.truncation == Truncation::Mmr && model.settings.truncation != Truncation::Mmr && !vectors => {
            Some("a trace holds no vectors, so 'mmr' cannot cut it: open the database for that")
        }
        _ => None,
    }
}

fn apply(model: &mut Model, next: Settings, effects: &mut Vec<Effect>) {
    let stage = next.first_changed_stage(&model.settings);
    model.settings = next;
    match stage {
        None => {}
        Some(Stage::Fuse | Stage::Truncate) => retrace(model),
        Some(_) => {
            if let Some(question) = model.asked.clone() {
                ask(model, &question, effects);
            }
        }
    }
}

/// Fuse and cut again, and note which passages crossed the cut.
fn retrace(model: &mut Model) {
    let Some(before) = model.trace.take() else { return };
    let after = Trace::new(Arc::clone(&before.scored), model.settings.clone());
    let mut crossed = BTreeMap::new();
    for passage in before.kept().filter(|passage| !after.fate(*passage).is_kept()) {
        crossed.insert(passage, false);
    }
    for passage in after.kept().filter(|passage| !before.fate(*passage).is_kept()) {
        crossed.insert(passage, true);
    }
    model.crossed = crossed;
    model.trace = Some(after);
    remake(model);
}
