//! The selection: which passage, term or hop row is under the cursor, and how it moves.

use super::layout;
use super::list::HopRow;
use super::model::{Known, Model};
use super::pane::Pane;
use super::update::remake;
use crate::truncate::FateKind;

/// Move in the focused pane.
pub fn step(model: &mut Model, by: i32) {
    step_in(model, model.focus, by);
}

/// Move in a pane.
pub fn step_in(model: &mut Model, pane: Pane, by: i32) {
    match pane {
        Pane::Terms => model.rows.term_at = super::step(model.rows.term_at, by, model.rows.terms.len()),
        Pane::Hops => {
            model.rows.hop_at = super::step(model.rows.hop_at, by, model.rows.hops.len());
            let passage = model.trace.as_ref().and_then(|trace| model.rows.hop_passage(trace));
            if let Some(passage) = passage {
                choose(model, passage);
            }
        }
        Pane::Ranks | Pane::Fused => {
            let rows = &model.rows.fused;
            let now = model.selected.and_then(|selected| rows.iter().position(|row| *row == selected));
            let next = match now {
                Some(now) => super::step(now, by, rows.len()),
                None => 0,
            };
            if let Some(passage) = rows.get(next).copied() {
                choose(model, passage);
            }
        }
        Pane::Passage => {
            let passages = model.trace.as_ref().map_or(0, |trace| trace.scored.passages.len());
            if passages > 0 {
                let next = super::step(model.selected.unwrap_or(0) as usize, by, passages);
                choose(model, next as u32);
            }
        }
        Pane::Why => model.why_scroll = super::step(model.why_scroll, by, 200),
    }
}

/// Select a passage because the user wants it.
pub fn choose(model: &mut Model, passage: u32) {
    model.selected = Some(passage);
    model.chosen = true;
    model.why_scroll = 0;
}

/// To the next gold in the order of the cut, around the end; what is no candidate comes last.
pub fn next_gold(model: &mut Model, dropped: bool) {
    let Some(trace) = &model.trace else { return };
    let mut gold: Vec<u32> =
        trace.scored.gold.iter().copied().filter(|at| !dropped || !trace.fate(*at).is_kept()).collect();
    let key = |passage: u32| match trace.place(passage) {
        0 => (u32::MAX, passage),
        place => (place, passage),
    };
    gold.sort_unstable_by_key(|passage| key(*passage));
    let now = model.selected.map(key);
    let next = gold.iter().copied().find(|passage| now.is_none_or(|now| key(*passage) > now)).or(gold.first().copied());
    match next {
        Some(passage) => choose(model, passage),
        None if dropped => model.say("no gold is dropped"),
        None => model.hint("no gold is known: mark it with {mark}"),
    }
}

/// Another order of the rows.
pub fn order(model: &mut Model) {
    if model.focus == Pane::Hops {
        model.rows.hops_by_time = !model.rows.hops_by_time;
    } else {
        model.rows.by_time = !model.rows.by_time;
    }
    remake(model);
}

/// Show the next fate that any passage has, or all.
pub fn next_fate(model: &mut Model) {
    let Some(trace) = &model.trace else { return };
    let there: Vec<FateKind> = FateKind::ALL.into_iter().filter(|kind| trace.count(*kind) > 0).collect();
    let next = match model.rows.filter.fate {
        None => there.first().copied(),
        Some(now) => there.iter().copied().find(|kind| *kind > now),
    };
    model.rows.filter.fate = next;
    remake(model);
    model.say(match next {
        Some(kind) => format!("only: {}", kind.name()),
        None => "all fates".to_owned(),
    });
}

/// Put the selection where it can be seen, and choose the most telling passage while the user has chosen none.
pub fn settle(model: &mut Model) {
    let Some(trace) = &model.trace else {
        model.chosen = false;
        return;
    };
    if !model.chosen {
        let gold = &trace.scored.gold;
        let lost = gold.iter().copied().filter(|at| !trace.fate(*at).is_kept()).min_by_key(|at| {
            let place = trace.place(*at);
            if place == 0 { u32::MAX } else { place }
        });
        model.selected = lost.or(gold.first().copied()).or(model.rows.fused.first().copied());
    }
    // While scores still come in, they would be wrong at the next batch.
    match model.selected.filter(|_| !trace.is_provisional()) {
        Some(passage) if model.whatifs.as_ref().is_some_and(|known| known.is_of(trace, passage)) => {}
        Some(passage) => model.whatifs = Some(Known::of(trace, passage)),
        None => model.whatifs = None,
    }
    if !matches!(model.rows.hops.get(model.rows.hop_at), Some(HopRow::Passage(_))) && model.focus != Pane::Hops {
        model.rows.hop_at = 0;
    }
    let height = layout::list_height(model, Pane::Fused);
    let rows = &mut model.rows;
    let row = model.selected.and_then(|selected| rows.fused.iter().position(|passage| *passage == selected));
    if let Some(row) = row {
        let line = rows.line_of(row);
        let cut = rows.cut_at.unwrap_or(line);
        if !model.chosen && height > 3 {
            // Nobody has scrolled yet: show the row together with the cut where both fit.
            let top = cut.min(line).saturating_sub(2);
            rows.fused_top = if cut.max(line) < top + height { top } else { line.saturating_sub(height / 2) };
        } else if line < rows.fused_top {
            rows.fused_top = line;
        } else if line >= rows.fused_top + height {
            rows.fused_top = (line + 1).saturating_sub(height);
        }
    }
    rows.fused_top = rows.fused_top.min(rows.lines().saturating_sub(height));
}
