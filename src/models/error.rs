//! What can go wrong while models are looked up or fetched, each with the next step. Knows no inference.

use std::path::{Path, PathBuf};

/// Why a model is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No home directory and no variable that replaces it.
    #[error("no home directory is known, so there is no place for models; set {variable} to a directory")]
    NoHome {
        /// The environment variable that names the directory.
        variable: &'static str,
    },
    /// The registry has no such model.
    #[error("no model is named '{name}'; known models: {known}")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// Known names, comma-separated.
        known: String,
    },
    /// A registry file cannot be read as one.
    #[error("the model list {origin} is not valid: {reason}")]
    Registry {
        /// Which list.
        origin: String,
        /// What is wrong, with the line where the parser knows it.
        reason: String,
    },
    /// A model's folder does not say what is in it.
    #[error(
        "'memsift.toml' in the folder of model '{name}' is damaged, so its files cannot be told; run 'memsift models \
         remove {name}' and fetch or import it again"
    )]
    Manifest {
        /// The model.
        name: String,
    },
    /// What was given to be imported is no model, or not the one it should be.
    #[error("'{}' cannot be imported: {reason}", path.display())]
    Import {
        /// The folder or archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing to remove.
    #[error("nothing of model '{name}' is in the models directory, so there is nothing to remove")]
    NotInstalled {
        /// The model.
        name: String,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} '{}': {source}; check free space and permissions", path.display())]
    File {
        /// What was being done (`read`, `write`, ...).
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The model is not there and the network must not be used.
    #[error(
        "model '{model}' is not complete in '{}' ({missing}) and memsift runs offline; {by_hand}, or run without --offline \
         and MEMSIFT_OFFLINE",
        folder.display()
    )]
    Offline {
        /// The model.
        model: String,
        /// Its folder.
        folder: PathBuf,
        /// Missing or damaged files, comma-separated.
        missing: String,
        /// How to bring them without a network.
        by_hand: String,
    },
    /// Every source failed.
    #[error("model '{model}' could not be fetched: {tried}; {by_hand} and run again")]
    Unreachable {
        /// The model.
        model: String,
        /// What was tried and how it failed, one clause a source.
        tried: String,
        /// How to bring the files without a network.
        by_hand: String,
    },
    /// Another process holds the model's lock for too long.
    #[error(
        "another process has been fetching model '{model}' for {waited_s} s; wait for it, or remove '{}' when none runs",
        lock.display()
    )]
    Busy {
        /// The model.
        model: String,
        /// Seconds waited.
        waited_s: u64,
        /// The lock file.
        lock: PathBuf,
    },
}

impl ModelError {
    /// Whether what was typed or given is at fault, not the machine or the network.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::UnknownModel { .. } | Self::Registry { .. } | Self::Import { .. } | Self::NotInstalled { .. }
        )
    }

    /// Adds to an I/O error what was done to which path.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }
}
