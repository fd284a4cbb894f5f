//! A recognised database of another program: its list, its histories, its verdict. Knows adapters by their trait only.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::super::{StoreError, hex};
use super::assemble::{GAP_HOURS, assemble};
use super::generic::{Generic, Origin};
use super::tables::Tables;
use super::verdict::{Notes, Verdict};
use super::{ADAPTERS, Adapter, Branches, Db, Listed, Mapping, Reading, remembered};
use crate::history::{Conversation, ConversationSummary};
use crate::moment::Moment;

/// Databases up to this many bytes are read through when they are opened, so that their list is exact. Of larger ones
/// the list counts rows.
const READ_THROUGH: u64 = 32 << 20;

/// Who reads it.
enum Reader {
    Known(&'static dyn Adapter),
    Mapped(Generic),
}

impl Reader {
    fn get(&self) -> &dyn Adapter {
        match self {
            Self::Known(adapter) => *adapter,
            Self::Mapped(generic) => generic,
        }
    }
}

/// A database of another program.
pub(in crate::store) struct Foreign {
    reader: Reader,
    version: String,
    listed: Vec<Listed>,
    summaries: Vec<ConversationSummary>,
    gap_hours: f64,
    branches: Branches,
    /// SHA-256 of what was listed and read.
    pub fingerprint: String,
    /// What the user should know about the mapping that it is read by.
    pub notices: Vec<String>,
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Foreign({})", self.reader.get().name())
    }
}

/// Why a recognised database cannot be used, or SQLite's own trouble.
pub(in crate::store) enum Trouble {
    Store(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(cause)
    }
}

impl From<StoreError> for Trouble {
    fn from(cause: StoreError) -> Self {
        Self::Store(cause)
    }
}

impl Foreign {
    /// Recognise a database; `None` when no adapter does.
    pub fn recognise(path: &Path, connection: &Connection, reading: &Reading) -> Result<Option<Self>, Trouble> {
        let db = Db { connection, tables: Tables::of(connection)? };
        if let Some(map) = &reading.map {
            let mut foreign = Self::mapped(path, &db, map, Origin::Said, reading)?;
            foreign.notices.extend(remembered::keep(reading, &db.tables, map));
            return Ok(Some(foreign));
        }
        let found = match &reading.store {
            None => remembered::find(reading, &db.tables),
            Some(_) => remembered::Found::default(),
        };
        let mut notices: Vec<String> = found.notice.into_iter().collect();
        if let Some(map) = found.map {
            match Self::mapped(path, &db, &map, Origin::Remembered, reading) {
                Ok(mut foreign) => {
                    foreign.notices.extend(notices);
                    foreign.notices.push(remembered::used(&map));
                    return Ok(Some(foreign));
                }
                Err(Trouble::Store(StoreError::BadMap { what, .. })) => notices.push(remembered::ignored(&what)),
                Err(Trouble::Store(_)) => notices.push(remembered::ignored("no turn can be read by it")),
                Err(trouble) => return Err(trouble),
            }
        }
        let mut foreign = Self::told_by_tables(path, &db, reading)?;
        if let Some(foreign) = &mut foreign {
            foreign.notices = notices;
        }
        Ok(foreign)
    }

    fn mapped(path: &Path, db: &Db<'_>, map: &Mapping, origin: Origin, reading: &Reading) -> Result<Self, Trouble> {
        let generic =
            Generic::mapped(db, map, origin).map_err(|what| StoreError::BadMap { path: path.to_owned(), what })?;
        Self::of(path, db, Reader::Mapped(generic), reading)
    }

    /// By its tables and columns; `None` when no adapter knows them and nothing can be guessed.
    fn told_by_tables(path: &Path, db: &Db<'_>, reading: &Reading) -> Result<Option<Self>, Trouble> {
        let wanted = reading.store.as_deref();
        if let Some(name) = wanted.filter(|name| !ADAPTERS.iter().any(|adapter| adapter.name() == *name)) {
            let known = ADAPTERS.iter().map(|adapter| adapter.name()).collect::<Vec<_>>().join(", ");
            return Err(StoreError::NoSuchStore { name: name.to_owned(), known }.into());
        }
        let mut candidates = Vec::new();
        for adapter in ADAPTERS {
            if wanted.is_some_and(|name| name != adapter.name()) {
                continue;
            }
            if let Some(version) = adapter.recognise(db)? {
                candidates.push((*adapter, version, adapter.list(db)?));
            }
        }
        // A schema without a row in it is no rival of one that holds something.
        if candidates.iter().any(|(_, _, listed)| !listed.is_empty()) {
            candidates.retain(|(_, _, listed)| !listed.is_empty());
        }
        if candidates.len() > 1 {
            let names: Vec<&str> = candidates.iter().map(|(adapter, ..)| adapter.name()).collect();
            return Err(StoreError::SeveralStores { path: path.to_owned(), stores: names.join(" or --store ") }.into());
        }
        if let Some((adapter, ..)) = candidates.pop() {
            return Self::of(path, db, Reader::Known(adapter), reading).map(Some);
        }
        match wanted {
            Some(_) => Ok(None),
            None => match Generic::guess(db)? {
                Some(generic) => Self::of(path, db, Reader::Mapped(generic), reading).map(Some),
                None => Ok(None),
            },
        }
    }

    fn of(path: &Path, db: &Db<'_>, reader: Reader, reading: &Reading) -> Result<Self, Trouble> {
        let version = reader.get().recognise(db)?.unwrap_or_default();
        let mut listed = reader.get().list(db)?;
        if reading.branches == Branches::All {
            listed = with_branches(db, reader.get(), listed)?;
        }
        let mut foreign = Self {
            reader,
            // It may repeat names of tables, which are text from outside.
            version: super::super::clean::clean_line(&version, &mut 0).into_owned(),
            listed: unique(listed),
            summaries: Vec::new(),
            branches: reading.branches,
            gap_hours: reading.gap_hours.unwrap_or(GAP_HOURS),
            fingerprint: String::new(),
            notices: Vec::new(),
        };
        foreign.summarise(path, db)?;
        Ok(foreign)
    }

    /// The mapping by which it is read; `None` for a program that is known.
    pub fn mapping(&self) -> Option<&Mapping> {
        match &self.reader {
            Reader::Known(_) => None,
            Reader::Mapped(generic) => Some(generic.map()),
        }
    }

    /// The list of conversations: those that have a turn.
    pub fn summaries(&self) -> &[ConversationSummary] {
        &self.summaries
    }

    /// One conversation, or `None` when there is none of this name.
    pub fn load(&self, connection: &Connection, id: &str) -> Result<Option<Conversation>, Trouble> {
        let Some(talk) = self.listed.iter().find(|talk| talk.id == id) else { return Ok(None) };
        let db = Db { connection, tables: Tables::of(connection)? };
        self.read(&db, talk, &mut Notes::default()).map(Some)
    }

    /// Read everything and say what was found.
    pub fn verdict(&self, connection: &Connection) -> Result<Verdict, Trouble> {
        let db = Db { connection, tables: Tables::of(connection)? };
        let mut notes = Notes::default();
        let mut tally = Tally::default();
        for talk in &self.listed {
            tally.add(&self.read(&db, talk, &mut notes)?);
        }
        Ok(tally.verdict(self.reader.get().name(), self.reader.get().title(), &self.version, notes))
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> Result<Conversation, Trouble> {
        let mut own = Notes::default();
        let said = self.reader.get().read(db, talk, &mut own)?;
        if self.branches == Branches::All {
            own.forget_branches();
        }
        let built = assemble(talk, said, self.gap_hours, &mut own)?;
        notes.add(own);
        Ok(built)
    }

    fn summarise(&mut self, path: &Path, db: &Db<'_>) -> Result<(), Trouble> {
        let mut hash = Sha256::new();
        let mut add = |words: &str| {
            hash.update(words.as_bytes());
            hash.update(b"\n");
        };
        add(self.reader.get().name());
        let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
        let mut notes = Notes::default();
        let mut summaries = Vec::new();
        for talk in &self.listed {
            add(&talk.id);
            if bytes > READ_THROUGH {
                add(&talk.rows.to_string());
                let (id, title) = (talk.id.clone(), talk.title.clone());
                summaries.push(ConversationSummary { id, title, turns: talk.rows, ..Default::default() });
                continue;
            }
            let read = self.read(db, talk, &mut notes)?;
            for turn in &read.turns {
                add(&format!("{:?}", (&turn.id, read.speaker_of(turn), &turn.text, turn.time.store())));
            }
            if !read.turns.is_empty() {
                summaries.push(summary(&read));
            }
        }
        self.fingerprint = hex(&hash.finalize());
        if summaries.is_empty() {
            let (path, store) = (path.to_owned(), self.reader.get().title().to_owned());
            let reasons = match notes.left_out.is_empty() {
                true => "it has no messages yet".to_owned(),
                false => {
                    let words = notes.left_out.iter().map(|(reason, rows)| format!("{rows} rows left out: {reason}"));
                    words.collect::<Vec<_>>().join("; ")
                }
            };
            return Err(StoreError::NothingReadable { path, store, reasons }.into());
        }
        self.summaries = summaries;
        Ok(())
    }

    /// True when the list counts rows instead of turns.
    pub fn is_rough(&self) -> bool {
        self.summaries.first().is_some_and(|row| row.sessions == 0)
    }
}

/// The conversations, each followed by its other branches as conversations of their own. Their ids name where they end, so
/// that they stay when others come.
fn with_branches(db: &Db<'_>, adapter: &dyn Adapter, listed: Vec<Listed>) -> rusqlite::Result<Vec<Listed>> {
    let mut all = Vec::with_capacity(listed.len());
    for talk in listed {
        let ends = adapter.branches(db, &talk)?;
        let total = ends.len() + 1;
        let name = talk.title.clone().unwrap_or_else(|| talk.id.clone());
        let beside = ends.into_iter().enumerate().map(|(at, end)| Listed {
            key: talk.key.clone(),
            id: format!("{}@{end}", talk.id),
            title: Some(format!("{name} (branch {} of {total})", at + 2)),
            rows: talk.rows,
            branch: Some(end),
        });
        let beside: Vec<Listed> = beside.collect();
        all.push(talk);
        all.extend(beside);
    }
    Ok(all)
}

/// Ids as people see them: clean, and each only once.
fn unique(listed: Vec<Listed>) -> Vec<Listed> {
    let mut taken = HashSet::new();
    let mut unique = Vec::with_capacity(listed.len());
    for mut talk in listed {
        let id = super::super::clean::clean_line(&talk.id, &mut 0).into_owned();
        let id = if id.is_empty() { "unnamed".to_owned() } else { id };
        talk.title = talk.title.map(|title| super::super::clean::clean_line(&title, &mut 0).into_owned());
        let numbered = (2..).map(|number: usize| format!("{id}#{number}"));
        talk.id = std::iter::once(id.clone()).chain(numbered).find(|id| !taken.contains(id)).unwrap_or(id.clone());
        taken.insert(talk.id.clone());
        unique.push(talk);
    }
    unique
}

fn summary(read: &Conversation) -> ConversationSummary {
    let time = |session: Option<&crate::history::Session>| session.map_or(Moment::Unknown, |known| known.time.clone());
    ConversationSummary {
        id: read.id.clone(),
        title: read.title.clone(),
        sessions: read.sessions.len(),
        turns: read.turns.len(),
        words: read.words(),
        questions: read.questions.len(),
        first: time(read.sessions.first()),
        last: time(read.sessions.last()),
    }
}

/// Counts over conversations.
#[derive(Default)]
pub(in crate::store) struct Tally {
    conversations: usize,
    sessions: usize,
    turns: usize,
    questions: usize,
    repeated: usize,
    first: Option<Moment>,
    last: Option<Moment>,
    speakers: BTreeMap<String, usize>,
}

impl Tally {
    /// Count a conversation.
    pub fn add(&mut self, talk: &Conversation) {
        self.conversations += usize::from(!talk.turns.is_empty());
        self.sessions += talk.sessions.len();
        self.turns += talk.turns.len();
        self.questions += talk.questions.len();
        let mut texts: HashMap<(usize, &str), ()> = HashMap::new();
        for turn in &talk.turns {
            *self.speakers.entry(talk.speaker_of(turn).to_owned()).or_default() += 1;
            self.repeated += usize::from(texts.insert((turn.speaker, turn.text.trim()), ()).is_some());
            if turn.time.seconds().is_none() {
                continue;
            }
            if self.first.as_ref().is_none_or(|first| turn.time.seconds() < first.seconds()) {
                self.first = Some(turn.time.clone());
            }
            if self.last.as_ref().is_none_or(|last| turn.time.seconds() > last.seconds()) {
                self.last = Some(turn.time.clone());
            }
        }
    }

    /// The verdict; notices are the caller's.
    pub fn verdict(self, store: &str, title: &str, version: &str, notes: Notes) -> Verdict {
        let said = |time: Option<Moment>| time.map(|time| time.store()).unwrap_or_default();
        Verdict {
            store: store.to_owned(),
            title: title.to_owned(),
            version: version.to_owned(),
            conversations: self.conversations,
            sessions: self.sessions,
            turns: self.turns,
            questions: self.questions,
            first: said(self.first),
            last: said(self.last),
            speakers: self.speakers,
            branches: notes.branches,
            repeated_turns: self.repeated,
            left_out: notes.left_out,
            guesses: notes.guesses.into_iter().collect(),
            notices: Vec::new(),
        }
    }
}
