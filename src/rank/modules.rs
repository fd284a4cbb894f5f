//! The parts of a model folder in the layout of sentence-transformers. Knows `modules.json`; loads nothing.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::RankError;
use super::config::read_json;

/// One part of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Module {
    /// The encoder; its files lie in the model's folder.
    Transformer,
    /// How the vectors of tokens become one, and its folder.
    Pooling(PathBuf),
    /// A linear layer, and its folder.
    Dense(PathBuf),
    /// Makes vectors of unit length.
    Normalize,
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transformer => "an encoder",
            Self::Pooling(_) => "a pooling of tokens",
            Self::Dense(_) => "a linear layer",
            Self::Normalize => "a normalisation",
        })
    }
}

/// The parts in order.
///
/// # Errors
/// [`RankError::Read`], [`RankError::Model`], and [`RankError::Unsupported`] for a part that cannot be run.
pub(super) fn modules(folder: &Path) -> Result<Vec<Module>, RankError> {
    #[derive(Deserialize)]
    struct Entry {
        path: String,
        #[serde(rename = "type")]
        kind: String,
    }
    let path = folder.join("modules.json");
    let entries: Vec<Entry> = read_json(&path)?;
    let unsupported = |reason| RankError::Unsupported { path: path.clone(), reason };
    let module = |entry: Entry| {
        let kind = entry.kind.rsplit('.').next().unwrap_or_default();
        if entry.path.contains("..") || Path::new(&entry.path).is_absolute() {
            return Err(unsupported(format!("a part outside its folder ('{}')", entry.path)));
        }
        match kind {
            "Transformer" if entry.path.is_empty() => Ok(Module::Transformer),
            "Transformer" => Err(unsupported("an encoder in a folder of its own".to_owned())),
            "Pooling" => Ok(Module::Pooling(folder.join(entry.path))),
            "Dense" => Ok(Module::Dense(folder.join(entry.path))),
            "Normalize" => Ok(Module::Normalize),
            other => Err(unsupported(format!("a part of the kind '{other}'"))),
        }
    };
    entries.into_iter().map(module).collect()
}
