//! Chat databases of other programs, read where they lie. Knows the list of adapters and what each one answers; a
//! database's own tables are known to its adapter only.

mod anythingllm;
pub(super) mod assemble;
mod clock;
pub(super) mod content;
mod cursor;
mod cursor_older;
mod foreign;
mod generic;
mod google_adk;
mod goose;
mod hermes;
mod imessage;
mod langchain;
mod langgraph;
mod llm;
mod mem0;
mod open_webui;
mod openai_agents;
mod opencode;
mod remembered;
mod rows;
mod sample;
mod signal;
mod tables;
mod verdict;
mod whatsapp;
mod whatsapp_older;
mod zed;

use std::path::PathBuf;

use rusqlite::Connection;

pub(super) use foreign::{Foreign, Tally, Trouble};
pub use generic::Mapping;
pub use verdict::Verdict;
pub(super) use verdict::{Notes, OTHER_BRANCH};

use crate::history::Conversation;
use crate::moment::Moment;
use tables::Tables;

/// A program's chat database. Recognised by tables and columns, never by a file's name.
pub(super) trait Adapter: Sync {
    /// Name for flags: lower case, no blanks.
    fn name(&self) -> &'static str;
    /// Name for people.
    fn title(&self) -> &'static str;
    /// Which version of the program's schema this is, in words; `None` when it is none.
    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>>;
    /// Its conversations, without their turns.
    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>>;
    /// Where the branches of a conversation end beside the one that is read: for each what [`Listed::branch`] takes.
    fn branches(&self, _db: &Db<'_>, _talk: &Listed) -> rusqlite::Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// The turns of one conversation in order; what is left out is said to `notes`.
    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>>;
}

/// Every adapter, the more particular ones first.
const ADAPTERS: &[&dyn Adapter] = &[
    &llm::Llm,
    &langchain::Langchain,
    &openai_agents::OpenaiAgents,
    &open_webui::OpenWebui,
    &langgraph::Langgraph,
    &google_adk::GoogleAdk,
    &anythingllm::AnythingLlm,
    &opencode::Opencode,
    &goose::Goose,
    &cursor::Cursor,
    &imessage::Imessage,
    &whatsapp::Whatsapp,
    &signal::Signal,
    &zed::Zed,
    &mem0::Mem0,
    &hermes::Hermes,
];

/// Titles of the stores that are recognised, for messages.
pub(super) fn known() -> String {
    let titles: Vec<&str> = ADAPTERS.iter().map(|adapter| adapter.title()).collect();
    titles.join(", ")
}

/// Which branches of a conversation that has several are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Branches {
    /// The one on which its program stands; the others are counted.
    #[default]
    Active,
    /// Each as a conversation of its own.
    All,
}

/// How to read a database when it does not speak for itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Take it for the database of this program.
    pub store: Option<String>,
    /// Read it by this mapping, whatever it looks like.
    pub map: Option<Mapping>,
    /// A pause of so many hours begins a session where the store has none; 6 when not said.
    pub gap_hours: Option<f64>,
    /// Which branches are offered, where a conversation has several.
    pub branches: Branches,
    /// The file in which mappings that worked are kept, by the tables and columns that they are for; nothing is kept
    /// without it.
    pub mappings: Option<PathBuf>,
}

/// An open database and what tables it has.
pub(super) struct Db<'c> {
    pub connection: &'c Connection,
    pub tables: Tables,
}

impl<'c> Db<'c> {
    /// Of an open database.
    pub fn of(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self { connection, tables: Tables::of(connection)? })
    }
}

/// A table, its columns, and what they may be.
pub(super) type Guessed = (String, Vec<String>, Mapping);

/// What the columns of every table may be, and the most likely table: by names, else by values.
pub(super) fn outline(db: &Db<'_>) -> rusqlite::Result<(Option<Mapping>, Vec<Guessed>)> {
    let mut tables = Vec::new();
    for name in db.tables.names() {
        let guess = match sample::of_table(db, name) {
            Ok(found) => found.map(|(_, map)| map),
            // A virtual table whose module is not there cannot be read; the others can.
            Err(_) => None,
        };
        let guess = guess.unwrap_or_else(|| Mapping::default().guess(&db.tables, name));
        tables.push((name.to_owned(), db.tables.columns(name).to_vec(), guess));
    }
    let best = match generic::Generic::guess(db)? {
        Some(found) => Some(found.map().clone()),
        None => sample::guess(db)?,
    };
    Ok((best, tables))
}

/// The first rows by a mapping, or what is wrong with it.
pub(super) fn preview(
    db: &Db<'_>,
    map: &Mapping,
    most: usize,
    gap_hours: Option<f64>,
) -> rusqlite::Result<Result<(Conversation, Notes), String>> {
    let generic = match generic::Generic::mapped(db, map, generic::Origin::Said) {
        Ok(generic) => generic,
        Err(what) => return Ok(Err(what)),
    };
    let mut notes = Notes::default();
    let said = generic.first(db, most, &mut notes)?;
    let talk = assemble::assemble(&Listed::default(), said, gap_hours.unwrap_or(assemble::GAP_HOURS), &mut notes);
    Ok(talk.map(|talk| (talk, notes)).map_err(|error| error.to_string()))
}

/// One conversation of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    /// What the adapter finds it by.
    pub key: String,
    /// Its id, as people see it.
    pub id: String,
    /// A name, when the store has one.
    pub title: Option<String>,
    /// Rows that belong to it: at least as many as turns, unless a row holds several.
    pub rows: usize,
    /// Where the branch ends that is read; the active one when nothing is said.
    pub branch: Option<String>,
}

/// One turn as an adapter found it.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub id: String,
    /// The store's own session, when it has some below the conversation.
    pub session: Option<String>,
    pub speaker: String,
    pub text: String,
    pub time: Moment,
}

impl Listed {
    pub fn new(id: String, title: Option<String>, rows: usize) -> Self {
        Self { key: id.clone(), id, title: title.filter(|title| !title.trim().is_empty()), rows, branch: None }
    }
}
