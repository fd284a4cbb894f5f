//! What can go wrong with a database or an import, said as one sentence with the next step. Knows no screen and
//! opens nothing.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why a database could not be read or a file could not be imported.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No file at this path.
    #[error("no file '{path}': check the path, or make the database with `memsift import <files> --into '{path}'`")]
    Missing {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path is a folder.
    #[error("'{path}' is a folder, not a database: name the file in it, for example '{path}/memory.db'")]
    IsDirectory {
        /// The path asked for.
        path: PathBuf,
    },
    /// A file of zero bytes.
    #[error("'{path}' is empty (0 bytes): nothing was ever written to it; restore it from a copy or import again")]
    ZeroBytes {
        /// The database.
        path: PathBuf,
    },
    /// A file that is no SQLite database.
    #[error("'{path}' is not a SQLite database, it {looks}: {next}")]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What its first bytes look like.
        looks: String,
        /// What to do.
        next: String,
    },
    /// Bytes like noise in whole pages: an encrypted database cannot be told from random bytes.
    #[error(
        "'{path}' is encrypted or not a SQLite database: its first bytes look random and its size ({bytes} bytes) is \
         a whole number of pages, as with SQLCipher; decrypt it with the program that wrote it and open the copy"
    )]
    Encrypted {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// SQLite found damage.
    #[error(
        "'{path}' is damaged in {place} ({detail}); {readable}: save what is left with \
         `sqlite3 '{path}' .recover | sqlite3 repaired.db` and open repaired.db"
    )]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The table, or `the file` when no table can be named.
        place: String,
        /// How many rows could be read before the damage.
        readable: String,
        /// SQLite's own words.
        detail: String,
    },
    /// The file is shorter than its header says.
    #[error(
        "'{path}' is cut short: its header promises {expected} bytes, {found} are there; copy it again, or save what \
         is left with `sqlite3 '{path}' .recover | sqlite3 repaired.db`"
    )]
    Truncated {
        /// The database.
        path: PathBuf,
        /// Bytes by its header.
        expected: u64,
        /// Bytes in the file.
        found: u64,
    },
    /// A healthy SQLite database of another program.
    #[error(
        "'{path}' is a SQLite database, but neither memsift's nor one of the chat stores that are recognised ({}); its \
         tables: {tables}: say which table holds the turns with --map turns=TABLE,text=COLUMN,speaker=COLUMN, or export \
         the conversations to one of the formats that `memsift import` understands ({})",
        super::adapter::known(),
        super::import::FORMATS
    )]
    WrongSchema {
        /// The database.
        path: PathBuf,
        /// Names of the tables found.
        tables: String,
    },
    /// A SQLite database that nothing was ever put into.
    #[error(
        "'{path}' is a SQLite database with no tables in it: import histories into a new file with `memsift import \
         <files> --into memory.db` and open that"
    )]
    NoTables {
        /// The database.
        path: PathBuf,
    },
    /// A chat database that is recognised and has nothing to read.
    #[error("'{path}' is a database of {store}, but no turn can be read from it: {reasons}")]
    NothingReadable {
        /// The database.
        path: PathBuf,
        /// Whose it is.
        store: String,
        /// What it has instead.
        reasons: String,
    },
    /// The tables of two programs in one database.
    #[error("'{path}' looks like the database of more than one program: choose with --store {stores}")]
    SeveralStores {
        /// The database.
        path: PathBuf,
        /// Their names.
        stores: String,
    },
    /// A mapping that does not fit the database.
    #[error("'{path}' cannot be read by --map: {what}")]
    BadMap {
        /// The database.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// A store that is not known.
    #[error("there is no store '{name}': choose one of {known}")]
    NoSuchStore {
        /// The name asked for.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// Written by a memsift that knows more than this one.
    #[error("'{path}' was written by a newer memsift (schema {found}, this one knows {known}): update memsift")]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// Written by an older memsift.
    #[error(
        "'{path}' was written by an older memsift (schema {found}, this one reads {known}): import any file into it \
         once, that brings it up to date"
    )]
    OlderSchema {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The schema read here.
        known: i64,
    },
    /// Another process holds the database.
    #[error(
        "'{path}' is locked by another program that is writing to it: wait for it to finish or stop it, then try again"
    )]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// A memsift database without conversations.
    #[error(
        "'{path}' is a memsift database without conversations: fill it with `memsift import <files> --into '{path}'`"
    )]
    NoConversations {
        /// The database.
        path: PathBuf,
    },
    /// The database has no conversation of this name.
    #[error("'{path}' has no conversation '{id}'; it has {known}")]
    NoSuchConversation {
        /// The database.
        path: PathBuf,
        /// The name asked for.
        id: String,
        /// The first names that it has.
        known: String,
    },
    /// The system refuses access.
    #[error("no permission for '{path}': allow it with `chmod u+rw '{path}'` or use a copy that you own")]
    Permission {
        /// The file.
        path: PathBuf,
    },
    /// The target can be read but not written.
    #[error("'{path}' cannot be written (read-only file, folder or disk): choose another place with --into")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The folder of the target does not exist.
    #[error("'{path}' cannot be made, there is no folder '{folder}': make it with `mkdir -p '{folder}'`")]
    NoFolder {
        /// The file to be made.
        path: PathBuf,
        /// The folder that is missing.
        folder: PathBuf,
    },
    /// No space left.
    #[error("the disk that holds '{path}' is full: free some space and try again; nothing of the last file was stored")]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// Reading or writing failed in another way.
    #[error("'{path}' could not be read or written ({cause}): check the disk and the path, then try again")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        cause: io::Error,
    },
    /// SQLite failed in a way that none of the above names.
    #[error("SQLite refused '{path}' ({detail}): if it opens with the sqlite3 program, this is a fault of memsift")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// SQLite's own words.
        detail: String,
    },
    /// A file to import that is not there.
    #[error("no file '{file}' to import: check the path")]
    NoSuchFile {
        /// The file.
        file: PathBuf,
    },
    /// A file that no importer knows.
    #[error("'{file}' has none of the formats that memsift imports ({}): {found}", super::import::FORMATS)]
    UnknownFormat {
        /// The file.
        file: String,
        /// What was seen in it.
        found: String,
    },
    /// JSON that cannot be read as what it should be.
    #[error("'{file}' line {line} column {column}: {what} (read as {format}); mend that place, nothing was stored")]
    BadJson {
        /// The file.
        file: String,
        /// 1-based line.
        line: usize,
        /// 1-based column.
        column: usize,
        /// The fault.
        what: String,
        /// The format that was recognised.
        format: &'static str,
    },
    /// One bad line of a file of lines.
    #[error("'{file}' line {line}: {what}; {next}; nothing of this file was stored")]
    BadLine {
        /// The file.
        file: String,
        /// 1-based line.
        line: usize,
        /// The fault.
        what: String,
        /// What to do.
        next: String,
    },
    /// Two turns of one conversation with the same id.
    #[error(
        "'{file}': conversation '{conversation}' has two turns with the id '{id}', so evidence could mean either; \
         give each turn its own id; nothing of this file was stored"
    )]
    DuplicateTurn {
        /// The file.
        file: String,
        /// The conversation.
        conversation: String,
        /// The id.
        id: String,
    },
    /// Two conversations of one file with the same id.
    #[error(
        "'{file}' has two conversations with the id '{conversation}'; give each its own id; nothing of this file was \
         stored"
    )]
    DuplicateConversation {
        /// The file.
        file: String,
        /// The id.
        conversation: String,
    },
    /// Two questions of one conversation with the same id.
    #[error(
        "'{file}': conversation '{conversation}' has two questions with the id '{id}'; give each its own id; nothing \
         of this file was stored"
    )]
    DuplicateQuestion {
        /// The file.
        file: String,
        /// The conversation.
        conversation: String,
        /// The id.
        id: String,
    },
    /// Files that were understood but left nothing to store.
    #[error("nothing to import in {files}: {reason}")]
    NothingImported {
        /// The files.
        files: String,
        /// Why.
        reason: String,
    },
}

impl StoreError {
    /// Whether the file or the request is at fault, rather than the machine.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Locked { .. } | Self::DiskFull { .. } | Self::Io { .. } | Self::Sqlite { .. })
    }

    /// From a failure of the file system at `path`.
    pub fn from_io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        match cause.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::IsADirectory => Self::IsDirectory { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Io { path, cause },
        }
    }

    /// From a failure of SQLite on `path`. Damage is named without its table; see `Store`'s diagnosis for that.
    pub fn from_sqlite(path: &Path, cause: &rusqlite::Error) -> Self {
        let (path, detail) = (path.to_owned(), cause.to_string());
        match cause.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt {
                path,
                place: "the file".to_owned(),
                readable: "no row could be read".to_owned(),
                detail,
            },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase {
                path,
                looks: format!("cannot be read by SQLite ({detail})"),
                next: "restore it from a copy or import again".to_owned(),
            },
            Some(ErrorCode::PermissionDenied) => Self::Permission { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::CannotOpen) => Self::Permission { path },
            _ => Self::Sqlite { path, detail },
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn failures_of_the_system_get_their_own_sentence() {
        let path = Path::new("/data/memory.db");
        let rows = [
            (io::ErrorKind::NotFound, "no file"),
            (io::ErrorKind::PermissionDenied, "chmod"),
            (io::ErrorKind::ReadOnlyFilesystem, "read-only"),
            (io::ErrorKind::StorageFull, "full"),
            (io::ErrorKind::TimedOut, "check the disk"),
        ];
        for (kind, want) in rows {
            let text = StoreError::from_io(path, io::Error::from(kind)).to_string();
            assert!(text.contains(want) && text.contains("/data/memory.db"), "{text}");
        }
    }

    #[test]
    fn failures_of_sqlite_get_their_own_sentence() {
        let path = Path::new("memory.db");
        let rows = [
            (ffi::SQLITE_BUSY, "locked"),
            (ffi::SQLITE_CORRUPT, ".recover"),
            (ffi::SQLITE_NOTADB, "not a SQLite database"),
            (ffi::SQLITE_READONLY, "--into"),
            (ffi::SQLITE_FULL, "full"),
            (ffi::SQLITE_MISUSE, "fault of memsift"),
        ];
        for (code, want) in rows {
            let cause = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let text = StoreError::from_sqlite(path, &cause).to_string();
            assert!(text.contains(want) && text.contains("memory.db"), "{code}: {text}");
        }
    }

    #[test]
    fn a_full_disk_is_not_the_users_fault() {
        let error = |code| {
            StoreError::from_sqlite(
                Path::new("memory.db"),
                &rusqlite::Error::SqliteFailure(ffi::Error::new(code), None),
            )
        };
        assert!(!error(ffi::SQLITE_FULL).is_input());
        assert!(!error(ffi::SQLITE_BUSY).is_input());
        assert!(error(ffi::SQLITE_NOTADB).is_input());
        assert!(error(ffi::SQLITE_CORRUPT).is_input());
    }
}
