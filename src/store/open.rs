//! How to open a database without changing it, its folder, or what another process is doing with it. Knows files and
//! SQLite's locks; knows no conversation.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::StoreError;
use super::copied::Copied;
use super::schema;
use super::stamp::Stamp;

/// How long to wait for another process before reading a copy instead.
const PATIENCE: Duration = Duration::from_millis(400);
/// Why a copy is read, when waiting did not help.
const LOCKED: &str = "the database was locked, another program is writing to it";
const HEADER: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// An open database and how it was opened.
pub(super) struct Opened {
    pub connection: Connection,
    /// What is read instead of the file, and why.
    pub copied: Option<Copied>,
    pub copy: Option<Snapshot>,
    /// How its files looked before anything was read.
    pub stamp: Stamp,
    /// Where the file really is.
    pub real: PathBuf,
}

/// Open `path` for reading, on the file itself when that leaves no trace, else on a copy.
pub(super) fn open(path: &Path) -> Result<Opened, StoreError> {
    let path = &follow(path);
    // Before anything is read: what is written from now on is a change.
    let stamp = Stamp::of(path);
    let header = inspect(path)?;
    for suffix in ["-wal", "-shm", "-journal"] {
        let side = beside(path, suffix);
        let Ok(meta) = fs::metadata(&side) else { continue };
        // Outside WAL mode, an empty side file is a leftover that says nothing.
        if header.wal || meta.len() > 0 {
            let name = side.file_name().unwrap_or_default().to_string_lossy();
            let why = format!(
                "{name} is there, so another program has the database open, or was stopped before it had finished"
            );
            return open_copy(path, stamp, &why);
        }
    }
    // In WAL mode even a read-only connection makes `-wal` and `-shm`. Without a `-wal` there is nothing in it to
    // miss, so the file may be read as if it could not change.
    let immutable = if header.wal { "&immutable=1" } else { "" };
    let uri = format!("{}?mode=ro{immutable}", uri(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&uri, flags).map_err(|cause| StoreError::from_sqlite(path, &cause))?;
    match prepare(&connection) {
        Ok(()) => {}
        Err(cause) if is_busy(&cause) || needs_rollback(&cause) => {
            drop(connection);
            return open_copy(path, stamp, LOCKED);
        }
        Err(cause) => return Err(explain(path, &connection, &cause)),
    }
    Ok(Opened { connection, copied: None, copy: None, stamp, real: path.clone() })
}

/// Open a copy of a database that another program has locked since it was opened.
pub(super) fn open_locked(path: &Path) -> Result<Opened, StoreError> {
    let path = &follow(path);
    open_copy(path, Stamp::of(path), LOCKED)
}

fn open_copy(path: &Path, stamp: Stamp, why: &str) -> Result<Opened, StoreError> {
    let copy = Snapshot::take(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(copy.database(), flags).map_err(|cause| StoreError::from_sqlite(path, &cause))?;
    prepare(&connection).map_err(|cause| explain(path, &connection, &cause))?;
    Ok(Opened { connection, copied: Some(Copied::now(why)), copy: Some(copy), stamp, real: path.to_owned() })
}

/// Settings of a reading connection, and a first read that meets locks and damage of the first page.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0)).map(|_| ())
}

/// Refuse what is not a memsift database of a schema known here.
pub(super) fn check_schema(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let read = |cause: rusqlite::Error| explain(path, connection, &cause);
    let (application, version) = schema::identity(connection).map_err(read)?;
    let path = path.to_owned();
    if application != schema::APPLICATION_ID {
        let mut tables = schema::tables(connection).map_err(read)?;
        let more = tables.len().saturating_sub(12);
        tables.truncate(12);
        if tables.is_empty() {
            return Err(StoreError::NoTables { path });
        }
        let mut tables = tables.join(", ");
        if more > 0 {
            tables.push_str(&format!(", {more} more"));
        }
        return Err(StoreError::WrongSchema { path, tables });
    }
    match version.cmp(&schema::VERSION) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(StoreError::NewerSchema { path, found: version, known: schema::VERSION }),
        std::cmp::Ordering::Less => Err(StoreError::OlderSchema { path, found: version, known: schema::VERSION }),
    }
}

/// What is known from the first bytes of a database.
struct Header {
    wal: bool,
}

/// Tell apart everything that is no readable database before SQLite, which has one message for all of it, sees it.
fn inspect(path: &Path) -> Result<Header, StoreError> {
    let read = |cause| StoreError::from_io(path, cause);
    let meta = fs::metadata(path).map_err(read)?;
    if meta.is_dir() {
        return Err(StoreError::IsDirectory { path: path.to_owned() });
    }
    if !meta.is_file() {
        let (path, looks) = (path.to_owned(), "is a device or a pipe".to_owned());
        return Err(StoreError::NotADatabase { path, looks, next: "name a file on a disk".to_owned() });
    }
    let mut head = Vec::with_capacity(4096);
    File::open(path).map_err(read)?.take(4096).read_to_end(&mut head).map_err(read)?;
    if head.is_empty() {
        return Err(StoreError::ZeroBytes { path: path.to_owned() });
    }
    if !head.starts_with(MAGIC) {
        return Err(not_a_database(path, &head, meta.len()));
    }
    let wal = head.get(18) == Some(&2);
    if head.len() < HEADER {
        return Err(StoreError::Truncated { path: path.to_owned(), expected: 512, found: meta.len() });
    }
    let number = |at: usize, bytes: usize| -> u64 {
        head.iter().skip(at).take(bytes).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let page = if number(16, 2) == 1 { 65_536 } else { number(16, 2) };
    // The page count is only valid when the two counters agree (very old programs do not keep it), and a `-wal`
    // may hold the pages that are missing.
    let counted = number(24, 4) == number(92, 4);
    let expected = page * number(28, 4);
    let has_wal = fs::metadata(beside(path, "-wal")).is_ok_and(|meta| meta.len() > 0);
    if counted && !has_wal && expected > meta.len() {
        return Err(StoreError::Truncated { path: path.to_owned(), expected, found: meta.len() });
    }
    Ok(Header { wal })
}

fn not_a_database(path: &Path, head: &[u8], bytes: u64) -> StoreError {
    let path = path.to_owned();
    let text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The head may end inside a character.
        Err(fault) => fault.error_len().is_none(),
    };
    if text && !head.contains(&0) {
        let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
        let looks = if matches!(first, Some(b'{' | b'[')) { "looks like JSON" } else { "looks like text" };
        let next = "put it into a database with `memsift import <file> --into memory.db` and open that".to_owned();
        return StoreError::NotADatabase { path, looks: looks.to_owned(), next };
    }
    if bytes.is_multiple_of(512) && entropy(head) > 7.0_f64.min(max_entropy(head.len()) - 0.5) {
        return StoreError::Encrypted { path, bytes };
    }
    let looks = "does not begin as one".to_owned();
    StoreError::NotADatabase { path, looks, next: "check the path, or restore the file from a copy".to_owned() }
}

/// Bits of information a byte, from the frequencies of the bytes.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = bytes.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total).map(|p| -p * p.log2()).sum()
}

fn max_entropy(len: usize) -> f64 {
    (len.min(256) as f64).log2()
}

/// A failure of SQLite in words: for damage, the table that is hurt and how much of it can be read.
pub(super) fn explain(path: &Path, connection: &Connection, cause: &rusqlite::Error) -> StoreError {
    if cause.sqlite_error_code() != Some(ErrorCode::DatabaseCorrupt) {
        return StoreError::from_sqlite(path, cause);
    }
    let corrupt = |place: String, readable: String| StoreError::Corrupt {
        path: path.to_owned(),
        place,
        readable,
        detail: quick_check(connection).unwrap_or_else(|| cause.to_string()),
    };
    let Ok(tables) = schema::tables(connection) else {
        return corrupt("its list of tables".to_owned(), "no row could be read".to_owned());
    };
    for table in tables {
        let (rows, failed) = rows_until_damage(connection, &table);
        if failed {
            return corrupt(format!("table '{table}'"), format!("{rows} rows of it could be read before the damage"));
        }
    }
    corrupt("an index".to_owned(), "all rows of all tables could be read".to_owned())
}

fn quick_check(connection: &Connection) -> Option<String> {
    let first: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).ok()?;
    // The check puts a heading line before its finding.
    first.lines().rev().map(str::trim).find(|line| !line.is_empty() && *line != "ok").map(str::to_owned)
}

fn rows_until_damage(connection: &Connection, table: &str) -> (usize, bool) {
    let mut count = 0;
    let mut walk = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{}\"", table.replace('"', "\"\"")))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                row.get_ref(column)?;
            }
            count += 1;
        }
        Ok(())
    };
    let failed = walk().is_err();
    (count, failed)
}

fn is_busy(cause: &rusqlite::Error) -> bool {
    matches!(cause.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A journal appeared between our look at the folder and SQLite's: a read-only connection may not roll it back.
pub(super) fn needs_rollback(cause: &rusqlite::Error) -> bool {
    matches!(cause.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// The path of a file beside a database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A path as a `file:` URI. All but plain characters are escaped: SQLite reads `?`, `#` and `%` as its own, and a path
/// need not be UTF-8.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    if path.is_absolute() {
        uri.push_str(if cfg!(windows) { "///" } else { "//" });
    }
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(byte)),
            b'\\' | b':' if cfg!(windows) => uri.push(if byte == b':' { ':' } else { '/' }),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri
}

/// Where a link leads: SQLite keeps side files beside the real file.
fn follow(path: &Path) -> PathBuf {
    let linked = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    let real = if linked { fs::canonicalize(path).ok() } else { None };
    real.unwrap_or_else(|| path.to_owned())
}

/// A private copy of a database and its side files, removed when dropped.
#[derive(Debug)]
pub(super) struct Snapshot {
    folder: PathBuf,
    database: PathBuf,
}

impl Snapshot {
    /// Copy the database with what belongs to it. A writer may be at work, so a copy counts only when nothing
    /// changed in size or time while it was made.
    fn take(path: &Path) -> Result<Self, StoreError> {
        const ATTEMPTS: usize = 5;
        let read = |cause| StoreError::from_io(path, cause);
        let folder = private_folder().map_err(read)?;
        let database = folder.join("snapshot.db");
        let copy = Self { folder, database };
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(PATIENCE / 4);
            }
            let before = Stamp::of(path);
            copy_bytes(path, &copy.database).map_err(read)?;
            for suffix in ["-wal", "-journal"] {
                let (from, to) = (beside(path, suffix), beside(&copy.database, suffix));
                match copy_bytes(&from, &to) {
                    Ok(()) => {}
                    Err(cause) if cause.kind() == io::ErrorKind::NotFound => drop(fs::remove_file(&to)),
                    Err(cause) => return Err(StoreError::from_io(&from, cause)),
                }
            }
            if Stamp::of(path) == before {
                return Ok(copy);
            }
        }
        Err(StoreError::Locked { path: path.to_owned() })
    }

    fn database(&self) -> &Path {
        &self.database
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // Nothing useful can be done when the system does not let go of a temporary file.
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Copy without the permissions, so that SQLite may work on the copy of a read-only file.
fn copy_bytes(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    io::copy(&mut source, &mut File::create(to)?).map(drop)
}

/// A new folder that only this user can enter.
fn private_folder() -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("memsift-{}-{number}", std::process::id()));
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_pages_look_encrypted_and_text_does_not() {
        // A linear congruential generator is random enough for a histogram.
        let mut state = 7_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let bytes: Vec<u8> = (0..4096).map(|_| noise()).collect();
        let path = Path::new("x.db");
        assert!(matches!(not_a_database(path, &bytes, 8192), StoreError::Encrypted { .. }));
        assert!(matches!(not_a_database(path, &bytes, 8191), StoreError::NotADatabase { .. }));
        assert!(not_a_database(path, b"[{\"a\": 1}]", 10).to_string().contains("JSON"));
        assert!(not_a_database(path, &[0; 4096], 4096).to_string().contains("does not begin"));
    }

    #[cfg(unix)]
    #[test]
    fn paths_become_uris() {
        assert_eq!(uri(Path::new("/a b/100%?#.db")), "file:///a%20b/100%25%3f%23.db");
        assert_eq!(uri(Path::new("ü.db")), "file:%c3%bc.db");
    }
}
