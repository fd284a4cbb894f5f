//! Files of other programs into a memsift database: recognised by content, all of a file or nothing of it, twice the
//! same as once. Knows files, transactions and the order of work; the formats are in files of their own.

mod beam;
mod chat;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod discord;
pub(in crate::store) mod draft;
mod evidence;
mod jsonl;
mod librechat;
mod locomo;
mod longmemeval;
mod mail;
mod mbox;
mod realtalk;
mod recognise;
mod report;
mod sink;
mod source;
mod telegram;
mod tree;
mod whatsapp;
mod whatsapp_line;
mod write;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

pub use recognise::Format;
pub use report::{DirtyReference, EvidenceReport, FileReport, ImportProgress, ImportReport, SkippedRow};

use super::{Branches, StoreError, open, schema};
use recognise::recognise;
use sink::Sink;
use source::Source;

/// The formats that can be imported, for messages and help.
pub const FORMATS: &str = "LoCoMo, REALTALK, LongMemEval, BEAM, exports of ChatGPT, Claude.ai, LibreChat, Telegram, WhatsApp and \
    DiscordChatExporter, logs of Claude Code, mailboxes (mbox), and memsift's own JSONL";

/// How long to wait for another process that writes to the same database.
const PATIENCE: Duration = Duration::from_secs(5);

/// Import files, and the exports among the files of folders, into a database that is made when it does not exist.
///
/// Each file is one transaction: a file that cannot be read to its end leaves the database as it was before that
/// file. Importing the same again changes no byte; a conversation that came before with another content is replaced.
/// Files that only hold questions are read after the histories that they ask about.
pub fn import(
    files: &[PathBuf],
    into: &Path,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<ImportReport, StoreError> {
    import_with(files, into, Branches::Active, progress)
}

/// [`import`], with the other branches of a ChatGPT export as conversations of their own where that is wanted.
pub fn import_with(
    files: &[PathBuf],
    into: &Path,
    branches: Branches,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<ImportReport, StoreError> {
    let mut sources = Vec::new();
    for file in files {
        let meta = fs::metadata(file).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => StoreError::NoSuchFile { file: file.clone() },
            _ => StoreError::from_io(file, cause),
        })?;
        if meta.is_dir() {
            sources.extend(folder(file)?.iter().map(|path| (Source::file(path), true)));
        } else {
            sources.push((Source::file(file), false));
        }
    }
    import_sources(&sources, into, branches, progress)
}

/// [`import`] for texts in memory, each with a name for messages.
pub fn import_texts(
    texts: &[(&str, &str)],
    into: &Path,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<ImportReport, StoreError> {
    let sources: Vec<_> = texts.iter().map(|(name, text)| (Source::text(name, text), false)).collect();
    import_sources(&sources, into, Branches::Active, progress)
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let read = |cause| StoreError::from_io(path, cause);
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(read)? {
        let file = entry.map_err(read)?.path();
        let kind = file.extension().map(|kind| kind.to_string_lossy().to_lowercase());
        let is_export = match kind.as_deref() {
            Some("json" | "jsonl") => true,
            // Texts and mailboxes, which mail programs often keep without an ending, can be anything: those that are no export
            // are passed over in silence.
            Some("txt" | "mbox" | "mbx") | None => file.is_file() && recognise(&Source::file(&file)).is_ok(),
            _ => false,
        };
        if is_export && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Each source with whether it was only found in a folder: then it may be something else and is passed over.
fn import_sources(
    sources: &[(Source<'_>, bool)],
    into: &Path,
    branches: Branches,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<ImportReport, StoreError> {
    let mut report = ImportReport::default();
    let mut known = Vec::new();
    for (source, found) in sources {
        match recognise(source) {
            Ok(format) => {
                let last = format.needs_conversations() || format == Format::Jsonl && !jsonl::has_turns(source)?;
                known.push((last, format, source));
            }
            Err(StoreError::UnknownFormat { found: reason, .. }) if *found => {
                let row = "the file".to_owned();
                let skipped = vec![SkippedRow { row, reason }];
                report.files.push(FileReport {
                    file: source.name.clone(),
                    skipped,
                    unchanged: true,
                    ..Default::default()
                });
            }
            Err(fault) => return Err(fault),
        }
    }
    known.sort_by_key(|(last, ..)| *last);
    let mut target = Target::open(into)?;
    for (_, format, source) in known {
        report.files.push(target.import(format, source, branches, progress)?);
    }
    if report.files.iter().all(|file| file.conversations == 0 && file.questions == 0) {
        return Err(nothing(&report));
    }
    Ok(report)
}

fn nothing(report: &ImportReport) -> StoreError {
    let files: Vec<String> = report.files.iter().map(|file| format!("'{}'", file.file)).collect();
    let skipped = report.files.iter().flat_map(|file| &file.skipped);
    let mut reasons: Vec<&str> = skipped.map(|row| row.reason.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let reason =
        if reasons.is_empty() { "no conversation and no question was found".to_owned() } else { reasons.join("; ") };
    let files = if files.is_empty() { "no file".to_owned() } else { files.join(", ") };
    StoreError::NothingImported { files, reason }
}

/// The database that is imported into.
struct Target {
    path: PathBuf,
    /// `None` only while being dropped.
    connection: Option<Connection>,
    /// The file did not exist before and nothing was committed yet.
    blank: bool,
}

impl Target {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let blank = match fs::metadata(path) {
            Ok(meta) if meta.len() == 0 && meta.is_file() => false,
            // Looked at the way a reader does: a database of another program is not to be touched.
            Ok(_) => match open::open(path).and_then(|opened| open::check_schema(path, &opened.connection)) {
                Ok(()) | Err(StoreError::OlderSchema { .. }) => false,
                Err(fault) => return Err(fault),
            },
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                    return Err(StoreError::NoFolder { path: path.to_owned(), folder: folder.to_owned() });
                }
                true
            }
            Err(cause) => return Err(StoreError::from_io(path, cause)),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |cause: rusqlite::Error| StoreError::from_sqlite(path, &cause);
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        let target = Self { path: path.to_owned(), connection: Some(connection), blank };
        if let Some(connection) = &target.connection {
            connection.busy_timeout(PATIENCE).map_err(failed)?;
            // Without a write-ahead log, readers find one complete file and nothing is ever left beside it.
            connection.pragma_update(None, "journal_mode", "DELETE").map_err(failed)?;
            connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536;").map_err(failed)?;
        }
        Ok(target)
    }

    fn import(
        &mut self,
        format: Format,
        source: &Source<'_>,
        branches: Branches,
        progress: &mut dyn FnMut(ImportProgress),
    ) -> Result<FileReport, StoreError> {
        let path = self.path.clone();
        let failed = |cause: rusqlite::Error| StoreError::from_sqlite(&path, &cause);
        let Some(connection) = self.connection.as_mut() else { return Err(StoreError::Locked { path }) };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let (_, version) = schema::identity(&transaction).map_err(failed)?;
        schema::migrate(&transaction, version).map_err(failed)?;
        let mut sink = Sink::new(source, &transaction, &path, progress)?;
        sink.report.format = Some(format);
        sink.branches = branches;
        sink.tick();
        match format {
            Format::Locomo => locomo::import(&mut sink)?,
            Format::Realtalk => realtalk::import(&mut sink)?,
            Format::RealtalkQuestions => realtalk::import_questions(&mut sink)?,
            Format::Longmemeval => longmemeval::import(&mut sink)?,
            Format::LongmemevalEvidence => longmemeval::import_evidence(&mut sink)?,
            Format::Beam => beam::import(&mut sink)?,
            Format::Jsonl => jsonl::import(&mut sink)?,
            Format::Chatgpt => chatgpt::import(&mut sink)?,
            Format::ClaudeAi => claude_ai::import(&mut sink)?,
            Format::Telegram => telegram::import(&mut sink)?,
            Format::Discord => discord::import(&mut sink)?,
            Format::ClaudeCode => claude_code::import(&mut sink)?,
            Format::LibreChat => librechat::import(&mut sink)?,
            Format::Whatsapp => whatsapp::import(&mut sink)?,
            Format::Mbox => mbox::import(&mut sink)?,
        }
        let (report, changed) = sink.finish();
        if changed {
            let sha256 = source.sha256()?;
            write::put_import(&transaction, &source.short_name(), &sha256, format.name()).map_err(failed)?;
            transaction.commit().map_err(failed)?;
            self.blank = false;
        } else {
            transaction.rollback().map_err(failed)?;
        }
        Ok(report)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        drop(self.connection.take());
        if self.blank {
            // It is our own empty file; if it cannot be removed, opening it explains itself.
            drop(fs::remove_file(&self.path));
        }
    }
}
