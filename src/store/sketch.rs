//! A database that nobody described, while the user says which column is what: its tables, what names and values suggest,
//! and the first turns as a mapping would read them. Changes nothing and opens no conversation.

use std::path::{Path, PathBuf};

use super::adapter::{self, Db, Mapping, Reading};
use super::{StoreError, open, schema};
use crate::history::Turn;

/// Rows of which the first turns are made.
const ROWS: usize = 40;

/// An open database and its tables.
pub struct Sketch {
    path: PathBuf,
    opened: open::Opened,
}

/// What is known of a database before anybody says which column is what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The database.
    pub path: PathBuf,
    /// Its tables.
    pub tables: Vec<TableOutline>,
    /// The most likely table, with what its columns are.
    pub guess: Mapping,
}

/// A table and what its columns look like. Names are as they stand in the database: not clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOutline {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// What they are, as far as names and values say.
    pub guess: Mapping,
}

/// The first turns by a mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Turns in order.
    pub turns: Vec<PreviewTurn>,
    /// Rows that were looked at and are no turns, with the reason.
    pub left_out: Vec<(String, usize)>,
    /// What was guessed of times and sessions.
    pub guesses: Vec<String>,
}

/// A turn of a preview; all of it is clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewTurn {
    /// Session.
    pub session: String,
    /// Who says it.
    pub speaker: String,
    /// When.
    pub time: String,
    /// What is said.
    pub text: String,
}

impl Sketch {
    /// Open a database of another program.
    ///
    /// # Errors
    /// What can be wrong with any database, and that it is memsift's own.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let sketch = Self { path: path.to_owned(), opened: open::open(path)? };
        let (application, _) = schema::identity(&sketch.opened.connection).map_err(|cause| sketch.explain(&cause))?;
        if application == schema::APPLICATION_ID {
            let what = "it is memsift's own and its tables are known".to_owned();
            return Err(StoreError::BadMap { path: path.to_owned(), what });
        }
        Ok(sketch)
    }

    /// Tables, columns and guesses.
    ///
    /// # Errors
    /// What SQLite cannot read; that there is no table.
    pub fn outline(&self) -> Result<Outline, StoreError> {
        let db = self.db()?;
        let (guess, found) = adapter::outline(&db).map_err(|cause| self.explain(&cause))?;
        let keep = |name: &String| {
            let mut said = Mapping::default();
            said.set("text", name);
            // What cannot be said with --map could not be remembered.
            Mapping::read(&said.words()).is_ok_and(|read| read == said)
        };
        let mut tables: Vec<TableOutline> = found
            .into_iter()
            .map(|(name, columns, guess)| TableOutline {
                name,
                columns: columns.into_iter().filter(keep).collect(),
                guess,
            })
            .filter(|table| keep(&table.name) && !table.columns.is_empty())
            .collect();
        tables.sort_by(|one, other| one.name.cmp(&other.name));
        let Some(first) = tables.first() else { return Err(StoreError::NoTables { path: self.path.clone() }) };
        let guess = guess.unwrap_or_else(|| first.guess.clone());
        Ok(Outline { path: self.path.clone(), tables, guess })
    }

    /// The first turns by a mapping.
    ///
    /// # Errors
    /// What the mapping lacks or names in vain, and what SQLite cannot read.
    pub fn preview(&self, map: &Mapping, reading: &Reading) -> Result<Preview, StoreError> {
        let db = self.db()?;
        let bad = |what| StoreError::BadMap { path: self.path.clone(), what };
        let (talk, notes) =
            adapter::preview(&db, map, ROWS, reading.gap_hours).map_err(|cause| self.explain(&cause))?.map_err(bad)?;
        let turn = |turn: &Turn| PreviewTurn {
            session: talk.sessions.get(turn.session).map(|session| session.id.clone()).unwrap_or_default(),
            speaker: talk.speaker_of(turn).to_owned(),
            time: turn.time.date_and_time(),
            text: turn.text.clone(),
        };
        let guesses = notes.guesses.iter().map(|guess| super::clean::clean_line(guess, &mut 0).into_owned());
        let left_out = notes.left_out.iter().map(|(reason, rows)| (reason.clone(), *rows));
        Ok(Preview {
            turns: talk.turns.iter().map(turn).collect(),
            left_out: left_out.collect(),
            guesses: guesses.collect(),
        })
    }

    fn db(&self) -> Result<Db<'_>, StoreError> {
        Db::of(&self.opened.connection).map_err(|cause| self.explain(&cause))
    }

    fn explain(&self, cause: &rusqlite::Error) -> StoreError {
        open::explain(&self.path, &self.opened.connection, cause)
    }
}
