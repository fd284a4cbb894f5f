//! The store: SQLite databases of histories, memsift's own and those of other programs, opened so that nothing of the
//! user's is ever changed. Knows how to open and read; [`import`] alone writes, and only to databases that it was told
//! to write.

mod adapter;
pub mod clean;
mod copied;
mod error;
pub mod import;
mod mappings;
pub mod marks;
mod open;
mod own_file;
pub mod pins;
mod read;
pub mod schema;
mod sketch;
mod stamp;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sha2::{Digest, Sha256};

pub use adapter::{Branches, Mapping, Reading, Verdict};
pub use copied::Copied;
pub use error::StoreError;
pub use sketch::{Outline, Preview, PreviewTurn, Sketch, TableOutline};

use crate::history::{Conversation, ConversationSummary};

/// A database of histories, open for reading only: memsift's own, or one that an adapter recognises by its tables.
///
/// The file and its folder stay byte for byte as they were: no journal, `-wal` or `-shm` appears beside it. When that
/// cannot be promised, or another process is in the middle of a change, a private copy is read instead and
/// [`Store::notices`] says so.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    notices: Vec<String>,
    copied: Option<Copied>,
    fingerprint: String,
    stamp: stamp::Stamp,
    /// Where the file is when links are followed.
    real: PathBuf,
    connection: Connection,
    foreign: Option<adapter::Foreign>,
    /// Declared after the connection, so that the copy is removed when nothing reads it any more.
    _copy: Option<open::Snapshot>,
}

impl Store {
    /// Open a database. Every way in which this can fail has its own [`StoreError`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_as(path, &Reading::default())
    }

    /// [`Store::open`] for a database of which the user says how it is read.
    pub fn open_as(path: &Path, reading: &Reading) -> Result<Self, StoreError> {
        let opened = open::open(path)?;
        let whole = opened.copied.is_none();
        match Self::of(path, opened, reading) {
            // Locked after it was opened, in the middle of reading.
            Err(StoreError::Locked { .. }) if whole => Self::of(path, open::open_locked(path)?, reading),
            other => other,
        }
    }

    fn of(path: &Path, opened: open::Opened, reading: &Reading) -> Result<Self, StoreError> {
        let mut store = Self {
            path: path.to_owned(),
            notices: opened.copied.iter().map(Copied::to_string).collect(),
            copied: opened.copied,
            fingerprint: String::new(),
            stamp: opened.stamp,
            real: opened.real,
            connection: opened.connection,
            foreign: None,
            _copy: opened.copy,
        };
        store.recognise(reading)?;
        store.fingerprint = match &store.foreign {
            Some(foreign) => foreign.fingerprint.clone(),
            None => store.fingerprint_now()?,
        };
        Ok(store)
    }

    /// memsift's own database, or another program's; anything else is refused.
    fn recognise(&mut self, reading: &Reading) -> Result<(), StoreError> {
        let (application, _) = schema::identity(&self.connection).map_err(|cause| self.explain(&cause))?;
        if application != schema::APPLICATION_ID {
            let found = adapter::Foreign::recognise(&self.path, &self.connection, reading);
            self.foreign = found.map_err(|trouble| self.trouble(trouble))?;
        }
        self.notices.extend(self.foreign.iter_mut().flat_map(|foreign| std::mem::take(&mut foreign.notices)));
        match &self.foreign {
            None => open::check_schema(&self.path, &self.connection),
            Some(foreign) if foreign.is_rough() => {
                let notice = "the database is large: the list counts rows, and turns and words when one is opened";
                self.notices.push(notice.to_owned());
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// What the database was taken for and everything that was found in it; reads all of it.
    pub fn verdict(&self) -> Result<Verdict, StoreError> {
        let mut verdict = match &self.foreign {
            Some(foreign) => foreign.verdict(&self.connection).map_err(|trouble| self.trouble(trouble))?,
            None => {
                let mut tally = adapter::Tally::default();
                for row in self.summaries()? {
                    tally.add(&self.load(&row.id)?);
                }
                tally.verdict("memsift", "memsift", &format!("schema {}", schema::VERSION), adapter::Notes::default())
            }
        };
        verdict.notices.clone_from(&self.notices);
        Ok(verdict)
    }

    fn trouble(&self, trouble: adapter::Trouble) -> StoreError {
        match trouble {
            adapter::Trouble::Store(error) => error,
            adapter::Trouble::Sqlite(cause) => self.explain(&cause),
        }
    }

    /// The mapping by which it is read; `None` for databases whose tables are known.
    pub fn mapping(&self) -> Option<&Mapping> {
        self.foreign.as_ref()?.mapping()
    }

    /// All conversations, in the order in which they were imported.
    pub fn summaries(&self) -> Result<Vec<ConversationSummary>, StoreError> {
        if let Some(foreign) = &self.foreign {
            return Ok(foreign.summaries().to_vec());
        }
        read::summaries(&self.connection).map_err(|cause| self.explain(&cause))
    }

    /// One conversation with its questions and gold.
    pub fn load(&self, conversation_id: &str) -> Result<Conversation, StoreError> {
        let found = match &self.foreign {
            Some(foreign) => {
                foreign.load(&self.connection, conversation_id).map_err(|trouble| self.trouble(trouble))?
            }
            None => read::conversation(&self.connection, conversation_id).map_err(|cause| self.explain(&cause))?,
        };
        match found {
            Some(conversation) => Ok(conversation),
            None => Err(StoreError::NoSuchConversation {
                path: self.path.clone(),
                id: conversation_id.to_owned(),
                known: names(&self.summaries()?),
            }),
        }
    }

    /// What the database holds, as 64 hexadecimal digits: SHA-256 over the id, the digest and the counts of every
    /// conversation and over the questions that were attached later. Copying, moving, vacuuming or importing the same files again does not change it; other turns,
    /// times or imported questions do. Rows edited by hand without a new digest are not noticed. Of another program's
    /// database it covers every turn, or the list alone when the database is large.
    pub fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    /// Whether somebody wrote to the file, or to what stands beside it, since it was opened. Looks at sizes, times and first
    /// bytes only, so it costs nothing worth mentioning; what it finds may turn out to be no other content.
    pub fn has_changed(&self) -> bool {
        stamp::Stamp::of(&self.real) != self.stamp
    }

    /// The path that was asked for, also when a copy is read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The copy that is read instead of the file; its sentence is the first of [`Store::notices`].
    pub fn copied(&self) -> Option<&Copied> {
        self.copied.as_ref()
    }

    /// What the user should know about how the database was opened.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    fn fingerprint_now(&self) -> Result<String, StoreError> {
        let rows = read::digests(&self.connection).map_err(|cause| self.explain(&cause))?;
        if rows.is_empty() {
            return Err(StoreError::NoConversations { path: self.path.clone() });
        }
        let mut hash = Sha256::new();
        for row in rows {
            // A line feed cannot occur in a cleaned id, so no two lists of rows run together to the same bytes.
            hash.update(row.as_bytes());
            hash.update(b"\n");
        }
        Ok(hex(&hash.finalize()))
    }

    fn explain(&self, cause: &rusqlite::Error) -> StoreError {
        // A reader may not undo what a writer left half done since the database was opened.
        if open::needs_rollback(cause) {
            return StoreError::Locked { path: self.path.clone() };
        }
        open::explain(&self.path, &self.connection, cause)
    }
}

fn names(summaries: &[ConversationSummary]) -> String {
    const SHOWN: usize = 8;
    let mut list: Vec<String> = summaries.iter().take(SHOWN).map(|row| format!("'{}'", row.id)).collect();
    if let Some(more) = summaries.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        list.push(format!("{more} more"));
    }
    list.join(", ")
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_can_move_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Store>();
    }

    #[test]
    fn the_list_of_names_is_short() {
        let row = |n: usize| ConversationSummary { id: format!("c{n}"), ..Default::default() };
        let rows: Vec<_> = (0..10).map(row).collect();
        assert_eq!(names(&rows), "'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 2 more");
    }
}
