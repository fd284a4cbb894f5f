//! Whether a model's files are there and whole. Knows files and checksums; never changes anything on disk.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{ModelError, ModelFile, ModelSpec, manifest};

/// What is on disk of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Every file is there with the right size.
    Ready,
    /// Some files are not there.
    Missing {
        /// Their names, relative to the model's folder.
        files: Vec<String>,
    },
    /// A file is there and is not what it should be.
    Damaged {
        /// Its name, relative to the model's folder.
        file: String,
    },
}

/// Looks at names and sizes only, so it is cheap enough for every start. `dir` is the models directory. Where the list
/// does not know what the files must be, the manifest beside them does.
#[must_use]
pub fn state(model: &ModelSpec, dir: &Path) -> State {
    match manifest::pinned(model, dir) {
        Ok(model) => quick(&model, dir),
        Err(state) => state,
    }
}

fn quick(model: &ModelSpec, dir: &Path) -> State {
    let folder = dir.join(&model.name);
    let mut missing = Vec::new();
    for file in &model.files {
        match std::fs::metadata(folder.join(&file.name)) {
            Ok(found) if found.is_file() && found.len() == file.size => {}
            Ok(_) => return State::Damaged { file: file.name.clone() },
            Err(_) => missing.push(file.name.clone()),
        }
    }
    if missing.is_empty() { State::Ready } else { State::Missing { files: missing } }
}

/// Reads every file and compares its SHA-256. `dir` is the models directory.
///
/// # Errors
/// [`ModelError::File`] when a file is there and cannot be read.
pub fn verify(model: &ModelSpec, dir: &Path) -> Result<State, ModelError> {
    let model = match manifest::pinned(model, dir) {
        Ok(model) => model,
        Err(state) => return Ok(state),
    };
    let quick = quick(&model, dir);
    if quick != State::Ready {
        return Ok(quick);
    }
    for file in &model.files {
        let path = dir.join(&model.name).join(&file.name);
        if sha256_of(&path)? != file.sha256 {
            return Ok(State::Damaged { file: file.name.clone() });
        }
    }
    Ok(State::Ready)
}

/// Whether `path` is exactly this file; a file that is not there is not.
pub(super) fn is_whole(path: &Path, file: &ModelFile) -> Result<bool, ModelError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() == file.size => Ok(sha256_of(path)? == file.sha256),
        _ => Ok(false),
    }
}

/// SHA-256 of a file, lower-case hexadecimal.
pub(super) fn sha256_of(path: &Path) -> Result<String, ModelError> {
    digest(path).map_err(ModelError::file("read", path))
}

/// SHA-256 of a file, lower-case hexadecimal, in the system's own errors.
pub(crate) fn digest(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hasher.update(buffer.get(..read).unwrap_or_default()),
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Lower-case hexadecimal digits of some bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes of all files below a folder, as far as they can be seen; they may vanish while they are counted.
pub(super) fn bytes_under(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_under(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |found| found.len()),
            _ => 0,
        })
        .sum()
}
