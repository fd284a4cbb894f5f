//! Which tables and columns a database has. Knows names only, in lower case, as SQLite compares them.

use std::collections::BTreeMap;

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::super::hex;

/// Tables with their columns.
#[derive(Debug, Default)]
pub(in crate::store) struct Tables(BTreeMap<String, Vec<String>>);

impl Tables {
    /// Of an open database. A virtual table whose module is not there has no columns.
    pub fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let names = super::super::schema::tables(connection)?;
        let mut tables = BTreeMap::new();
        for name in names {
            let columns = connection
                .prepare_cached("SELECT name FROM pragma_table_info(?1)")
                .and_then(|mut statement| {
                    statement.query_map([&name], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
                })
                .unwrap_or_default();
            tables.insert(name.to_lowercase(), columns.iter().map(|column| column.to_lowercase()).collect());
        }
        Ok(Self(tables))
    }

    /// The tables and columns as 64 hexadecimal digits; what is in them plays no part.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (table, columns) in &self.0 {
            // Lengths keep names apart that hold any sign.
            for name in std::iter::once(table).chain(columns) {
                hash.update(format!("{}:{name},", name.len()));
            }
            hash.update("\n");
        }
        hex(&hash.finalize())
    }

    /// True when the table is there with all these columns.
    pub fn has(&self, table: &str, columns: &[&str]) -> bool {
        columns.iter().all(|column| self.has_column(table, column)) && self.0.contains_key(table)
    }

    /// True when the table has this column.
    pub fn has_column(&self, table: &str, column: &str) -> bool {
        self.0.get(table).is_some_and(|known| known.iter().any(|name| name == column))
    }

    /// The column's name where the table has it, else the SQL `NULL`.
    pub fn or_null<'n>(&self, table: &str, column: &'n str) -> &'n str {
        if self.has_column(table, column) { column } else { "NULL" }
    }

    /// Tables with all these columns, by name.
    pub fn with<'t>(&'t self, columns: &'t [&str]) -> impl Iterator<Item = &'t str> {
        self.0.keys().map(String::as_str).filter(|table| self.has(table, columns))
    }

    /// The tables by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The columns of a table.
    pub fn columns(&self, table: &str) -> &[String] {
        self.0.get(table).map(Vec::as_slice).unwrap_or_default()
    }
}
