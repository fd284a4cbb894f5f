//! memsift's own database of what models computed: token vectors of passages, cross-encoder scores of pairs. Knows
//! SQLite and digests; nothing of chats.
//!
//! A cache must never be the reason that something fails, so nothing here returns an error: what cannot be read is
//! not there, what cannot be written is computed again next time, and a notice says so once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use half::f16;
use half::slice::HalfFloatSliceExt;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::{ModelId, PairScore, Precision, Side, TokenVectors};

/// Marks the file as ours (`msft` in ASCII).
const APPLICATION: i32 = 0x6d73_6674;
/// Of the tables below; a file of another version is set aside.
const VERSION: i32 = 1;
/// Default bound of the file's size in bytes.
const DEFAULT_LIMIT: u64 = 2 << 30;
/// Longest wait for another process that is writing.
const BUSY: Duration = Duration::from_secs(2);
/// After such a wait was in vain, nothing is written for this long, so that scoring does not crawl.
const PAUSE: Duration = Duration::from_secs(30);

const SCHEMA: &str = "
    CREATE TABLE vectors (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, dim INTEGER NOT NULL,
        clipped INTEGER NOT NULL, data BLOB NOT NULL);
    CREATE TABLE scores (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, logit REAL NOT NULL,
        tokens INTEGER NOT NULL, clipped INTEGER);";

/// What a result is filed under: a digest of the weights, the settings and the texts that went into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// Vectors of a text of one side, passages cut at `max_tokens`.
    #[must_use]
    pub fn text(side: Side, model: &ModelId, max_tokens: usize, text: &str) -> Self {
        let side = match side {
            Side::Question => "question",
            Side::Passage => "passage",
        };
        Self::digest(&[side, &model.hash, &settings(model, max_tokens), text])
    }

    /// Score of a pair, cut at `max_tokens`.
    #[must_use]
    pub fn pair(model: &ModelId, max_tokens: usize, question: &str, text: &str) -> Self {
        Self::digest(&["pair", &model.hash, &settings(model, max_tokens), question, text])
    }

    fn digest(parts: &[&str]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            // The length keeps ("ab", "c") and ("a", "bc") apart.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(hasher.finalize().into())
    }
}

/// What beside weights and texts decides a result. Exact ones are filed as they were before there were others.
fn settings(model: &ModelId, max_tokens: usize) -> String {
    match model.precision {
        Precision::Exact => max_tokens.to_string(),
        other => format!("{max_tokens} {}", other.name()),
    }
}

/// The cache. Several processes may share a file; a kill at any moment loses at most what was being written.
#[derive(Debug)]
pub struct Cache {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    connection: Option<Connection>,
    path: Option<PathBuf>,
    limit: u64,
    writable: bool,
    paused: Option<Instant>,
    notices: Vec<String>,
}

/// What a cache file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheInfo {
    /// Bytes on disk, with what SQLite keeps beside the file.
    pub bytes: u64,
    /// Bound of the entries' size in bytes.
    pub limit: u64,
    /// Texts whose vectors are kept.
    pub vectors: u64,
    /// Pairs whose score is kept.
    pub scores: u64,
    /// Files that were renamed because they were no usable cache.
    pub set_aside: Vec<PathBuf>,
}

impl Cache {
    /// Opens or creates the file. A file that is damaged, or is no cache of this version, is renamed and a new one is
    /// begun; without a usable file everything is computed anew. [`Cache::notices`] says so.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        Self::open_with_limit(path, DEFAULT_LIMIT)
    }

    /// [`Cache::open`] with another bound of the file's size, in bytes; the oldest entries go first.
    #[must_use]
    pub fn open_with_limit(path: &Path, limit: u64) -> Self {
        let mut inner = Inner {
            connection: None,
            path: Some(path.to_owned()),
            limit,
            writable: true,
            paused: None,
            notices: Vec::new(),
        };
        if let Some(parent) = path.parent() {
            // When this fails, opening fails too, and says more.
            let _ = std::fs::create_dir_all(parent);
        }
        inner.connect();
        Self { inner: Mutex::new(inner) }
    }

    /// A cache that ends with the program.
    #[must_use]
    pub fn in_memory() -> Self {
        let connection = Connection::open_in_memory().and_then(|connection| prepare(&connection).map(|_| connection));
        let inner = Inner {
            connection: connection.ok(),
            path: None,
            limit: DEFAULT_LIMIT,
            writable: true,
            paused: None,
            notices: Vec::new(),
        };
        Self { inner: Mutex::new(inner) }
    }

    /// What the user should know of the cache, once each.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notices)
    }

    /// Vectors by key, in order; `None` where there are none. They were rounded to half precision when they were put
    /// in: see [`TokenVectors::round_to_half`].
    #[must_use]
    pub fn vectors(&self, keys: &[CacheKey]) -> Vec<Option<TokenVectors>> {
        let read = |connection: &Connection| {
            // One transaction is one snapshot and one lock for all rows.
            let transaction = connection.unchecked_transaction()?;
            let mut statement = transaction.prepare_cached("SELECT dim, clipped, data FROM vectors WHERE key = ?1")?;
            let rows = keys.iter().map(|key| {
                let row = |row: &rusqlite::Row<'_>| {
                    let dim: u32 = row.get(0)?;
                    Ok(unpack(dim as usize, row.get(1)?, row.get_ref(2)?.as_blob()?))
                };
                Ok(statement.query_row([&key.0[..]], row).optional()?.flatten())
            });
            rows.collect()
        };
        self.lock().run(read).unwrap_or_else(|| vec![None; keys.len()])
    }

    /// Files vectors, all or none.
    pub fn put_vectors<'a>(&self, entries: impl IntoIterator<Item = (CacheKey, &'a TokenVectors)>) {
        let entries: Vec<_> = entries
            .into_iter()
            .map(|(key, vectors)| (key, vectors.dim as u32, vectors.clipped, pack(vectors)))
            .collect();
        self.lock().write(|connection| {
            let sql = "INSERT OR IGNORE INTO vectors (key, dim, clipped, data) VALUES (?1, ?2, ?3, ?4)";
            let mut statement = connection.prepare_cached(sql)?;
            for (key, dim, clipped, data) in &entries {
                statement.execute(params![&key.0[..], dim, clipped, data])?;
            }
            Ok(())
        });
    }

    /// Scores by key, in order; `None` where there are none.
    #[must_use]
    pub fn scores(&self, keys: &[CacheKey]) -> Vec<Option<PairScore>> {
        let read = |connection: &Connection| {
            let transaction = connection.unchecked_transaction()?;
            let mut statement =
                transaction.prepare_cached("SELECT logit, tokens, clipped FROM scores WHERE key = ?1")?;
            let row = |row: &rusqlite::Row<'_>| Ok(PairScore::new(row.get(0)?, row.get(1)?, row.get(2)?));
            keys.iter().map(|key| statement.query_row([&key.0[..]], row).optional()).collect()
        };
        self.lock().run(read).unwrap_or_else(|| vec![None; keys.len()])
    }

    /// Files scores, all or none. A score that is not finite is not worth keeping.
    pub fn put_scores(&self, entries: impl IntoIterator<Item = (CacheKey, PairScore)>) {
        let entries: Vec<_> = entries.into_iter().filter(|(_, score)| score.logit.is_finite()).collect();
        self.lock().write(|connection| {
            let sql = "INSERT OR IGNORE INTO scores (key, logit, tokens, clipped) VALUES (?1, ?2, ?3, ?4)";
            let mut statement = connection.prepare_cached(sql)?;
            for (key, score) in &entries {
                statement.execute(params![&key.0[..], score.logit, score.tokens, score.clipped])?;
            }
            Ok(())
        });
    }

    /// What is in it; `None` when it cannot be read, which [`Cache::notices`] explains.
    #[must_use]
    pub fn info(&self) -> Option<CacheInfo> {
        let mut inner = self.lock();
        let count = |connection: &Connection, table: &str| {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))
        };
        let (vectors, scores) =
            inner.run(|connection| Ok((count(connection, "vectors")?, count(connection, "scores")?)))?;
        let (bytes, set_aside) = inner.path.as_deref().map(on_disk).unwrap_or_default();
        Some(CacheInfo { bytes, limit: inner.limit, vectors: vectors as u64, scores: scores as u64, set_aside })
    }

    /// What a file holds, found without changing it; `None` when there is none.
    ///
    /// # Errors
    /// A sentence when it is no cache of this version, or cannot be read.
    pub fn look(path: &Path) -> Result<Option<CacheInfo>, String> {
        if !path.exists() {
            return Ok(None);
        }
        let read = || {
            let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.busy_timeout(BUSY)?;
            let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            if (number("PRAGMA application_id")?, number("PRAGMA user_version")?)
                != (APPLICATION.into(), VERSION.into())
            {
                return Ok(None);
            }
            Ok(Some((number("SELECT count(*) FROM vectors")?, number("SELECT count(*) FROM scores")?)))
        };
        let found = read().map_err(|error: rusqlite::Error| error.to_string())?;
        let (vectors, scores) = found.ok_or_else(|| "it is no cache of this version".to_owned())?;
        let (bytes, set_aside) = on_disk(path);
        Ok(Some(CacheInfo { bytes, limit: DEFAULT_LIMIT, vectors: vectors as u64, scores: scores as u64, set_aside }))
    }

    /// Removes every entry and gives the space back. False when that was not possible, which [`Cache::notices`]
    /// explains.
    #[must_use]
    pub fn clear(&self) -> bool {
        let mut inner = self.lock();
        let cleared = inner.run(|connection| {
            connection.execute_batch("BEGIN IMMEDIATE; DELETE FROM vectors; DELETE FROM scores; COMMIT;")?;
            // Other processes may be reading; then the space is used again instead of given back.
            let _ = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);");
            Ok(())
        });
        cleared.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere left no half-done state: every change is a transaction.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn connect(&mut self) {
        let Some(path) = self.path.clone() else { return };
        for _ in 0..2 {
            let opened = Connection::open(&path).and_then(|connection| Ok((prepare(&connection)?, connection)));
            match opened {
                Ok((true, connection)) => {
                    self.connection = Some(connection);
                    return;
                }
                Ok((false, connection)) => {
                    drop(connection);
                    self.set_aside(&path, "is no cache of this version");
                }
                Err(error) if is_damage(&error) => self.set_aside(&path, "is damaged"),
                Err(error) => {
                    self.notices.push(format!(
                        "the cache '{}' cannot be used ({error}); results are computed anew each time",
                        path.display()
                    ));
                    return;
                }
            }
        }
    }

    /// Renames a file that cannot be ours, with what SQLite keeps beside it, so that nothing is lost.
    fn set_aside(&mut self, path: &Path, why: &str) {
        self.connection = None;
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let free = (1..1000).map(|n| format!(".set-aside-{n}")).find(|end| !beside(end).exists());
        let end = free.unwrap_or_else(|| ".set-aside".to_owned());
        match std::fs::rename(path, beside(&end)) {
            Ok(()) => {
                for extra in ["-wal", "-shm", "-journal"] {
                    // They are there only after a crash.
                    let _ = std::fs::rename(beside(extra), beside(&format!("{end}{extra}")));
                }
                let (path, aside) = (path.display(), beside(&end));
                self.notices.push(format!(
                    "the cache '{path}' {why}; it was renamed to '{}' and a new one begun",
                    aside.display()
                ));
            }
            Err(error) => {
                let path = path.display();
                self.notices.push(format!(
                    "the cache '{path}' {why} and cannot be renamed ({error}); results are computed anew each time"
                ));
            }
        }
    }

    /// Runs something on the database; `None` when that is not possible now.
    fn run<T>(&mut self, work: impl Fn(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        match work(self.connection.as_ref()?) {
            Ok(result) => Some(result),
            Err(error) if is_damage(&error) => {
                if let Some(path) = self.path.clone() {
                    self.set_aside(&path, "is damaged");
                    self.connect();
                }
                work(self.connection.as_ref()?).ok()
            }
            Err(error) => {
                self.note_failure(&error);
                None
            }
        }
    }

    fn write(&mut self, work: impl Fn(&Connection) -> rusqlite::Result<()>) {
        if !self.writable || self.paused.is_some_and(|since| since.elapsed() < PAUSE) {
            return;
        }
        self.paused = None;
        let limit = self.limit;
        self.run(|connection| {
            let transaction =
                rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
            work(&transaction)?;
            evict(&transaction, limit)?;
            transaction.commit()
        });
    }

    fn note_failure(&mut self, error: &rusqlite::Error) {
        // Another process writes longer than we wait: this time goes without the cache, the next may not.
        let path = self.path.as_deref().unwrap_or(Path::new("in memory")).display();
        if matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
            self.paused = Some(Instant::now());
            let waited = BUSY.as_secs();
            self.notices.push(format!(
                "the cache '{path}' has been locked by another process for {waited} s; results are not kept meanwhile"
            ));
        } else if self.writable {
            self.writable = false;
            self.notices
                .push(format!("the cache '{path}' takes nothing new ({error}); check free space and permissions"));
        }
    }
}

/// Sets the connection up and the tables when the file is new; false when the file belongs to something else.
fn prepare(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(BUSY)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
    let ours = |application, version| application == APPLICATION && version == VERSION;
    if ours(number("PRAGMA application_id")?, number("PRAGMA user_version")?) {
        settle(connection);
        return Ok(true);
    }
    if number("SELECT count(*) FROM sqlite_schema")? > 0 || number("PRAGMA application_id")? != 0 {
        return Ok(false);
    }
    // Vectors are long rows: large pages keep them in one piece.
    connection.pragma_update(None, "page_size", 16_384)?;
    settle(connection);
    let transaction = rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let application: i32 = transaction.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(true)
}

/// Settings that make it faster; where a file system has no room for them, SQLite's own are right too.
fn settle(connection: &Connection) {
    let _ = connection.pragma_update(None, "journal_mode", "wal");
    let _ = connection.pragma_update(None, "synchronous", "normal");
    let _ = connection.pragma_update(None, "journal_size_limit", 64 << 20);
}

/// Removes the oldest entries when the file has outgrown its bound. Freed pages are used again, so the file stays.
fn evict(connection: &Connection, limit: u64) -> rusqlite::Result<()> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let page = number("PRAGMA page_size")?;
    let used = || Ok::<_, rusqlite::Error>((number("PRAGMA page_count")? - number("PRAGMA freelist_count")?) * page);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    if used()? <= limit {
        return Ok(());
    }
    // A little more than needed, so that not every write has to evict.
    let goal = limit - limit / 10;
    while used()? > goal {
        let mut removed = 0;
        for table in ["vectors", "scores"] {
            let oldest = format!("(SELECT id FROM {table} ORDER BY id LIMIT (SELECT count(*) / 8 + 1 FROM {table}))");
            removed += connection.execute(&format!("DELETE FROM {table} WHERE id IN {oldest}"), [])?;
        }
        if removed == 0 {
            break;
        }
    }
    Ok(())
}

/// Bytes of a database file and of what SQLite keeps beside it, and the files set aside from it.
fn on_disk(path: &Path) -> (u64, Vec<PathBuf>) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let (mut bytes, mut set_aside) = (0, Vec::new());
    for entry in entries {
        let entry_name = entry.file_name().to_string_lossy().into_owned();
        match entry_name.strip_prefix(&name) {
            Some("" | "-wal" | "-shm" | "-journal") => bytes += entry.metadata().map_or(0, |found| found.len()),
            Some(end) if end.starts_with(".set-aside") => set_aside.push(entry.path()),
            _ => {}
        }
    }
    set_aside.sort();
    (bytes, set_aside)
}

fn is_damage(error: &rusqlite::Error) -> bool {
    let broken_schema =
        matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..));
    broken_schema || matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// All token vectors and then the sentence vector, as half-precision little-endian numbers.
fn pack(vectors: &TokenVectors) -> Vec<u8> {
    let mut halves = vec![f16::ZERO; vectors.vectors.len() + vectors.sentence.len()];
    let (tokens, sentence) = halves.split_at_mut(vectors.vectors.len());
    tokens.convert_from_f32_slice(&vectors.vectors);
    sentence.convert_from_f32_slice(&vectors.sentence);
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

fn unpack(dim: usize, clipped: u32, data: &[u8]) -> Option<TokenVectors> {
    let halves: Vec<f16> = data.as_chunks::<2>().0.iter().map(|&bytes| f16::from_le_bytes(bytes)).collect();
    let tokens =
        (dim > 0 && halves.len().is_multiple_of(dim)).then(|| (halves.len() / dim).checked_sub(1)).flatten()?;
    let (mut vectors, mut sentence) = (vec![0.0; tokens * dim], vec![0.0; dim]);
    let (of_tokens, of_sentence) = halves.split_at_checked(tokens * dim)?;
    of_tokens.convert_to_f32_slice(&mut vectors);
    of_sentence.convert_to_f32_slice(&mut sentence);
    Some(TokenVectors { dim, tokens, vectors, sentence, clipped })
}
