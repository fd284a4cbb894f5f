//! Mappings that the user gave, kept in a small file of memsift's own by the tables and columns that they are for. Knows
//! fingerprints and words; knows no database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StoreError, own_file};

/// All mappings that are kept.
#[derive(Debug)]
pub(super) struct Mappings {
    path: PathBuf,
    /// Fingerprint of tables and columns to a mapping in the words of `--map`.
    kept: BTreeMap<String, String>,
    notice: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    mappings: BTreeMap<String, String>,
}

const VERSION: u32 = 1;

impl Mappings {
    /// Read what is kept at `path`; nothing when there is no such file. A file that cannot be understood is set aside as
    /// `<path>.bad` (or `.bad2` …), never overwritten; [`Mappings::notice`] tells.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let other =
            |saved: &Saved| (saved.version != VERSION).then(|| format!("version {} is not known here", saved.version));
        let (saved, notice) = own_file::read(path, "remembered mappings", other)?;
        let kept = saved.map(|saved: Saved| saved.mappings).unwrap_or_default();
        Ok(Self { path: path.to_owned(), kept, notice })
    }

    /// What the user should know about how the file was read.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The mapping for these tables, in the words of `--map`.
    pub fn get(&self, fingerprint: &str) -> Option<&str> {
        self.kept.get(fingerprint).map(String::as_str)
    }

    /// Keep a mapping. The old file is there until the new one is complete; nothing is written when it is kept already.
    pub fn keep(&mut self, fingerprint: &str, words: &str) -> Result<(), StoreError> {
        if self.get(fingerprint) == Some(words) {
            return Ok(());
        }
        self.kept.insert(fingerprint.to_owned(), words.to_owned());
        own_file::write(&self.path, &Saved { version: VERSION, mappings: self.kept.clone() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn mappings_come_back_and_a_broken_file_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/mappings.json");
        let mut mappings = Mappings::load(&path).unwrap();
        mappings.keep("aa", "turns=notes").unwrap();
        mappings.keep("bb", "turns=log,text=said").unwrap();
        let again = Mappings::load(&path).unwrap();
        assert_eq!((again.get("aa"), again.get("cc")), (Some("turns=notes"), None));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        fs::write(&path, "{\"version\": 9, \"mappings\": {}}").unwrap();
        let broken = Mappings::load(&path).unwrap();
        assert!(broken.notice().unwrap().contains("mappings.json.bad") && broken.get("aa").is_none());
    }
}
