//! The sweep over two knobs, for the question on the screen or for all with gold: which knobs, where the cursor is, what its
//! keys do, and what has to be asked for. Draws nothing.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::knob;
use super::model::{Mode, Model};
use super::update::Effect;
use crate::engine::{Job, SweepAsk};
use crate::eval::sweep::{Axis, Sweep, sweep};
use crate::history::Conversation;
use crate::settings::{Fusion, Knob, Settings, TermEdits};

/// Where the cursor is, and on which map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Row of the map.
    pub row: usize,
    /// Column of the map.
    pub column: usize,
    /// The rows are w (or λ) instead of α.
    pub weight: bool,
    /// The map is of all questions with gold instead of the one on the screen.
    pub all: bool,
    /// The user has moved it; until then it stays on the cheapest cell.
    pub moved: bool,
}

/// The sweep over all questions with gold, as far as it is.
#[derive(Debug, Clone)]
pub struct AllQuestions {
    /// What came in.
    pub found: Sweep,
    /// Questions counted.
    pub done: usize,
    /// Questions in all.
    pub total: usize,
    /// True while the engine is at it.
    pub running: bool,
    /// Seconds left, when they can be told.
    pub left: Option<f64>,
    number: u64,
    of: Of,
}

impl AllQuestions {
    /// True when it ended before its last question.
    fn is_stopped(&self) -> bool {
        !self.running && self.done < self.total
    }
}

/// What a sweep is of. While that stays, it stands.
#[derive(Debug, Clone)]
struct Of {
    conversation: Arc<Conversation>,
    questions: Vec<(String, Vec<usize>)>,
    settings: Settings,
    rows: Axis,
    columns: Axis,
}

impl Of {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.conversation, &other.conversation)
            && self.questions == other.questions
            && self.settings == other.settings
            && (&self.rows, &self.columns) == (&other.rows, &other.columns)
    }
}

/// The columns of every map.
const COLUMNS: &str = "budget=250:4000:250";

/// The questions of the conversation with gold, of its question set or marked by hand.
pub fn questions_with_gold(model: &Model) -> Vec<(String, Vec<usize>)> {
    let set = model.conversation.iter().flat_map(|conversation| &conversation.questions);
    let mut found: Vec<(String, Vec<usize>)> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for text in set.map(|known| known.text.trim()).chain(model.marks.keys().map(String::as_str)) {
        if seen.insert(text) {
            found.push((text.to_owned(), model.gold_turns(text)));
        }
    }
    found.retain(|(_, gold)| !gold.is_empty());
    found
}

/// The rows and columns of a map.
fn axes(settings: &Settings, weight: bool) -> Option<(Axis, Axis)> {
    let rows = match (weight, settings.fusion) {
        (false, _) => "alpha=0:0.5:0.05",
        (true, Fusion::Z) => "lambda=0:1:0.1",
        (true, _) => "w=0:1:0.1",
    };
    Some((Axis::read(rows).ok()?, Axis::read(COLUMNS).ok()?))
}

/// Open the map; the cursor stands on the cheapest cell.
pub fn open(model: &mut Model, weight: bool, all: bool, effects: &mut Vec<Effect>) {
    if all {
        ask_all(model, weight, false, effects);
    } else {
        let trace = model.trace.as_ref().map(|trace| Arc::clone(&trace.scored));
        let scored = trace.filter(|scored| !scored.gold.is_empty());
        model.sweep = scored
            .zip(axes(&model.settings, weight))
            .and_then(|(scored, (rows, columns))| sweep(&[scored], &model.settings, rows, columns).ok());
    }
    let mut cursor = Cursor { weight, all, ..Cursor::default() };
    settle(model, &mut cursor);
    model.mode = Mode::Sweep(cursor);
}

/// The map that a cursor is on.
pub fn shown<'a>(model: &'a Model, cursor: &Cursor) -> Option<&'a Sweep> {
    if cursor.all { model.sweep_all.as_ref().map(|all| &all.found) } else { model.sweep.as_ref() }
}

/// Put a cursor that nobody has moved on the cheapest cell.
fn settle(model: &Model, cursor: &mut Cursor) {
    if !cursor.moved {
        (cursor.row, cursor.column) = shown(model, cursor).and_then(Sweep::cheapest).unwrap_or_default();
    }
}

/// Have the engine ask all questions, unless it has for these knobs. `again` goes on where it was stopped.
fn ask_all(model: &mut Model, weight: bool, again: bool, effects: &mut Vec<Effect>) {
    let questions = questions_with_gold(model);
    let (Some(conversation), Some((rows, columns))) = (model.conversation.clone(), axes(&model.settings, weight))
    else {
        return;
    };
    if questions.is_empty() {
        model.sweep_all = None;
        return;
    }
    // Terms are edited for one question, and the knobs of the map are set by its cells.
    let mut settings = Settings { terms: TermEdits::default(), ..model.settings.clone() };
    for axis in [&rows, &columns] {
        Knob::named(&axis.knob).into_iter().for_each(|knob| knob.reset_to(&mut settings, &Settings::default()));
    }
    let of = Of { conversation, questions, settings, rows, columns };
    if !again && model.sweep_all.as_ref().is_some_and(|all| all.of.is(&of)) {
        return;
    }
    let number = model.sweeps + 1;
    model.sweeps = number;
    effects.push(Effect::Send(Job::Sweep(SweepAsk {
        number,
        conversation: Arc::clone(&of.conversation),
        questions: of.questions.clone(),
        settings: of.settings.clone(),
        rows: of.rows.clone(),
        columns: of.columns.clone(),
    })));
    let found = Sweep::empty(of.rows.clone(), of.columns.clone());
    let total = of.questions.len();
    model.sweep_all = Some(AllQuestions { found, done: 0, total, running: true, left: None, number, of });
    // The engine does one of both at a time.
    if let Some(known) = model.contrast.as_mut() {
        known.running = false;
    }
}

/// A question more is counted.
pub fn swept(model: &mut Model, number: u64, (done, total): (usize, usize), left: Option<f64>, found: Sweep) {
    let Some(all) = model.sweep_all.as_mut().filter(|all| all.number == number && all.running) else { return };
    (all.done, all.total, all.left, all.found) = (done, total, left, found);
    all.running = done < total;
    if let Mode::Sweep(mut cursor) = model.mode {
        settle(model, &mut cursor);
        model.mode = Mode::Sweep(cursor);
    }
}

/// Stop the sweep; false when none is running.
pub fn stop(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let Some(all) = model.sweep_all.as_mut().filter(|all| all.running) else { return false };
    all.running = false;
    let (done, total) = (all.done, all.total);
    effects.push(Effect::Send(Job::StopSweep));
    model.say(format!("sweep stopped at {done} of {total} questions: R in the map goes on"));
    true
}

/// Forget what was asked of another conversation.
pub fn forget(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.sweep_all.take().is_some_and(|all| all.running) {
        effects.push(Effect::Send(Job::StopSweep));
    }
    if model.contrast.take().is_some_and(|known| known.running) {
        effects.push(Effect::Send(Job::StopSweep));
    }
    model.sweep = None;
    model.oracle = None;
}

/// A key while the map is open.
pub fn key(model: &mut Model, mut cursor: Cursor, event: &KeyEvent, effects: &mut Vec<Effect>) {
    let (rows, columns) =
        shown(model, &cursor).map_or((0, 0), |found| (found.rows.values.len(), found.columns.values.len()));
    let mut step = |row: i32, column: i32| {
        cursor.moved = true;
        cursor.row = super::step(cursor.row, row, rows);
        cursor.column = super::step(cursor.column, column, columns);
    };
    match event.code {
        KeyCode::Char('j') | KeyCode::Down => step(1, 0),
        KeyCode::Char('k') | KeyCode::Up => step(-1, 0),
        KeyCode::Char('l') | KeyCode::Right => step(0, 1),
        KeyCode::Char('h') | KeyCode::Left => step(0, -1),
        KeyCode::Tab => return open(model, !cursor.weight, cursor.all, effects),
        KeyCode::Char('a') => return open(model, cursor.weight, !cursor.all, effects),
        KeyCode::Char('R') if cursor.all && model.sweep_all.as_ref().is_some_and(AllQuestions::is_stopped) => {
            ask_all(model, cursor.weight, true, effects);
        }
        KeyCode::Esc if cursor.all && stop(model, effects) => {}
        KeyCode::Esc | KeyCode::Char('q' | 's') => {
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
    let Some(found) = shown(model, &cursor) else { return };
    let mut next = model.settings.clone();
    let set = [(&found.rows, cursor.row), (&found.columns, cursor.column)].into_iter().try_for_each(|(axis, at)| {
        axis.values.get(at).map_or(Ok(()), |value| next.set(&axis.knob, &value.to_string()))
    });
    if let Err(reason) = set {
        model.fail(reason);
        return;
    }
    model.sweep = None;
    knob::change(model, next, effects);
    model.hint("cell taken: {undo} takes it back");
}
