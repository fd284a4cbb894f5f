//! Whether somebody wrote to a database since it was looked at. Knows files, their sizes and times; opens no database and
//! changes nothing.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// The file and what stands beside it while it is written.
const SUFFIXES: [&str; 3] = ["", "-wal", "-journal"];
/// A database's header holds the number of its changes, a `-wal`'s the salt that each new round of it gets.
const HEAD: u64 = 100;

/// How the files of a database look from outside. Two that are equal are of the same content, as far as that can be known
/// without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp([Option<Side>; 3]);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    bytes: u64,
    modified: Option<SystemTime>,
    head: Vec<u8>,
}

impl Stamp {
    /// Of the files as they are now; `path` is the database itself, not a link to it.
    pub fn of(path: &Path) -> Self {
        Self(SUFFIXES.map(|suffix| {
            let side = super::open::beside(path, suffix);
            let meta = fs::metadata(&side).ok()?;
            let mut head = Vec::new();
            if let Ok(file) = File::open(&side) {
                // What cannot be read plays no part: size and time still tell.
                let _ = file.take(HEAD).read_to_end(&mut head);
            }
            Some(Side { bytes: meta.len(), modified: meta.modified().ok(), head })
        }))
    }
}
