//! The sweep over two knobs for the question on the screen: which knobs, where the cursor is, and what its keys do. Draws
//! nothing.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::knob;
use super::model::{Mode, Model};
use super::update::Effect;
use crate::eval::sweep::{Axis, sweep};
use crate::settings::Fusion;

/// Where the cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Row of the map.
    pub row: usize,
    /// Column of the map.
    pub column: usize,
    /// The rows are w (or λ) instead of α.
    pub weight: bool,
}

/// The columns of every map.
const COLUMNS: &str = "budget=250:4000:250";

/// Open the map; the cursor stands on the cheapest cell.
pub fn open(model: &mut Model, weight: bool) {
    let rows = match (weight, model.settings.fusion) {
        (false, _) => "alpha=0:0.5:0.05",
        (true, Fusion::Z) => "lambda=0:1:0.1",
        (true, _) => "w=0:1:0.1",
    };
    let scored = model.trace.as_ref().map(|trace| Arc::clone(&trace.scored)).filter(|scored| !scored.gold.is_empty());
    let axes = Axis::read(rows).and_then(|rows| Ok((rows, Axis::read(COLUMNS)?)));
    model.sweep = scored
        .zip(axes.ok())
        .and_then(|(scored, (rows, columns))| sweep(&[scored], &model.settings, rows, columns).ok());
    let (row, column) = model.sweep.as_ref().and_then(|found| found.cheapest()).unwrap_or_default();
    model.mode = Mode::Sweep(Cursor { row, column, weight });
}

/// A key while the map is open.
pub fn key(model: &mut Model, mut cursor: Cursor, event: &KeyEvent, effects: &mut Vec<Effect>) {
    let (rows, columns) =
        model.sweep.as_ref().map_or((0, 0), |found| (found.rows.values.len(), found.columns.values.len()));
    match event.code {
        KeyCode::Char('j') | KeyCode::Down => cursor.row = super::step(cursor.row, 1, rows),
        KeyCode::Char('k') | KeyCode::Up => cursor.row = super::step(cursor.row, -1, rows),
        KeyCode::Char('l') | KeyCode::Right => cursor.column = super::step(cursor.column, 1, columns),
        KeyCode::Char('h') | KeyCode::Left => cursor.column = super::step(cursor.column, -1, columns),
        KeyCode::Tab => return open(model, !cursor.weight),
        KeyCode::Char('q' | 's') => {
            model.mode = Mode::Normal;
            return;
        }
        KeyCode::Enter => return take(model, cursor, effects),
        _ => {}
    }
    model.mode = Mode::Sweep(cursor);
}

/// Turn both knobs to the cell under the cursor.
fn take(model: &mut Model, cursor: Cursor, effects: &mut Vec<Effect>) {
    model.mode = Mode::Normal;
    let Some(found) = model.sweep.take() else { return };
    let mut next = model.settings.clone();
    for (axis, at) in [(&found.rows, cursor.row), (&found.columns, cursor.column)] {
        let Some(value) = axis.values.get(at) else { return };
        if let Err(reason) = next.set(&axis.knob, &value.to_string()) {
            model.fail(reason);
            return;
        }
    }
    knob::change(model, next, effects);
    model.say("cell taken: u takes it back");
}
