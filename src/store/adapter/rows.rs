//! Rows of any database to values, whatever their declared types. Knows SQLite's values; knows no table.

use rusqlite::types::Value;
use rusqlite::{Params, Row};

use super::Db;

impl Db<'_> {
    /// All rows of a query, as values.
    pub fn rows(&self, sql: &str, params: impl Params) -> rusqlite::Result<Vec<Cells>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let width = statement.column_count();
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Cells::of(row, width)?);
        }
        Ok(found)
    }
}

/// The values of one row.
#[derive(Debug, Clone)]
pub(in crate::store) struct Cells(Vec<Value>);

impl Cells {
    fn of(row: &Row<'_>, width: usize) -> rusqlite::Result<Self> {
        use rusqlite::types::ValueRef;
        let cell = |at| {
            Ok(match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                ValueRef::Real(number) => Value::Real(number),
                // Text that is not UTF-8 has a reading, too.
                ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
                ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
            })
        };
        (0..width).map(cell).collect::<rusqlite::Result<_>>().map(Self)
    }

    /// The value of a column; NULL beyond the last.
    pub fn value(&self, at: usize) -> &Value {
        self.0.get(at).unwrap_or(&Value::Null)
    }

    /// As text; `None` for NULL.
    pub fn text(&self, at: usize) -> Option<String> {
        match self.value(at) {
            Value::Null => None,
            Value::Integer(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
            Value::Text(text) => Some(text.clone()),
            Value::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    /// As text; empty for NULL.
    pub fn words(&self, at: usize) -> String {
        self.text(at).unwrap_or_default()
    }

    /// As bytes; empty for what has none.
    pub fn bytes(&self, at: usize) -> &[u8] {
        match self.value(at) {
            Value::Blob(bytes) => bytes,
            Value::Text(text) => text.as_bytes(),
            _ => &[],
        }
    }

    /// As a whole number, where it is one; also in text.
    pub fn number(&self, at: usize) -> Option<i64> {
        match self.value(at) {
            Value::Integer(number) => Some(*number),
            Value::Real(number) => Some(*number as i64),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// As a count.
    pub fn count(&self, at: usize) -> usize {
        self.number(at).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
    }

    /// As truth: a number that is not 0, or the word `true`.
    pub fn truth(&self, at: usize) -> Option<bool> {
        match self.value(at) {
            Value::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Value::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
            _ => self.number(at).map(|number| number != 0),
        }
    }

    /// As JSON, in text or in bytes.
    pub fn json(&self, at: usize) -> Option<serde_json::Value> {
        serde_json::from_slice(self.bytes(at)).ok()
    }
}
