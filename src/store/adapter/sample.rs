//! Which columns hold turns, guessed from the values in them where names say nothing. Knows how talk looks; knows no names.

use std::collections::HashSet;

use rusqlite::types::Value;

use super::langchain::quoted;
use super::{Db, Mapping, clock::Clock, rows::Cells};
use crate::moment::Moment;

/// Rows of a table that are looked at.
const ROWS: usize = 200;
/// Tables that are looked at.
const TABLES: usize = 60;
/// Bytes of a mean text below which a column is hardly talk.
const SHORT: usize = 12;
/// 1990 and 2100, between which talks are.
const TIMES: std::ops::Range<i64> = 631_152_000..4_102_444_800;

/// The most likely table with what its columns are; `None` when no table holds words.
pub(super) fn guess(db: &Db<'_>) -> rusqlite::Result<Option<Mapping>> {
    let mut best: Option<(usize, Mapping)> = None;
    for table in db.tables.names().take(TABLES) {
        if let Some((length, map)) = of_table(db, table)?
            && best.as_ref().is_none_or(|(known, _)| *known < length)
        {
            best = Some((length, map));
        }
    }
    Ok(best.map(|(_, map)| map))
}

/// What the columns of a table are by their values, names first, and the mean length of its texts.
pub(super) fn of_table(db: &Db<'_>, table: &str) -> rusqlite::Result<Option<(usize, Mapping)>> {
    let columns = db.tables.columns(table);
    if columns.is_empty() {
        return Ok(None);
    }
    let list: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    let rows = db.rows(&format!("SELECT {} FROM {} LIMIT {ROWS}", list.join(", "), quoted(table)), [])?;
    let mut map = Mapping::default().guess(&db.tables, table);
    let place = |name: &Option<String>| columns.iter().position(|column| Some(column) == name.as_ref());
    let by_length = |at: &usize| mean(&rows, *at);
    let text =
        place(&map.text).or_else(|| (0..columns.len()).filter(|at| mean(&rows, *at) >= SHORT).max_by_key(by_length));
    let Some(text) = text else { return Ok(None) };
    map.text = columns.get(text).cloned();
    let name = |at: usize| columns.get(at).cloned();
    let free = |map: &Mapping, at: usize| {
        let name = columns.get(at).map(String::as_str);
        Mapping::FIELDS.iter().skip(1).all(|field| map.get(field) != name)
    };
    if map.time.is_none() {
        map.time = (0..columns.len()).find(|at| free(&map, *at) && is_time(&rows, *at)).and_then(name);
    }
    if map.speaker.is_none() {
        map.speaker = (0..columns.len()).find(|at| free(&map, *at) && is_speaker(&rows, *at)).and_then(name);
    }
    Ok(Some((mean(&rows, text), map)))
}

/// Mean bytes of the texts of a column, with 0 for what is no text.
fn mean(rows: &[Cells], at: usize) -> usize {
    let bytes = rows.iter().map(|row| match row.value(at) {
        Value::Text(text) => text.len(),
        _ => 0,
    });
    bytes.sum::<usize>() / rows.len().max(1)
}

/// Every value is a time of our days.
fn is_time(rows: &[Cells], at: usize) -> bool {
    let mut numbers: Vec<f64> = rows
        .iter()
        .filter_map(|row| match row.value(at) {
            Value::Integer(number) => Some(*number as f64),
            Value::Real(number) => Some(*number),
            _ => None,
        })
        .collect();
    let (clock, _) = Clock::guess(&mut numbers, false);
    let mut values = rows.iter().map(|row| row.value(at)).filter(|value| **value != Value::Null).peekable();
    let is = |value: &Value| match clock.read(value) {
        Moment::At { seconds, .. } => TIMES.contains(&seconds),
        _ => false,
    };
    values.peek().is_some() && values.all(is)
}

/// A few short texts that come again and again.
fn is_speaker(rows: &[Cells], at: usize) -> bool {
    let texts: Vec<&str> = rows
        .iter()
        .filter_map(|row| match row.value(at) {
            Value::Text(text) if !text.is_empty() && text.len() <= 40 => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let names: HashSet<&str> = texts.iter().copied().collect();
    texts.len() == rows.len() && names.len() >= 2 && names.len() * 2 <= texts.len() && names.len() <= 20
}
