//! The log: a plain file with a line for everything worth knowing afterwards. Knows which file may be written; what is
//! worth knowing is said elsewhere.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use super::BadInput;
use crate::store::clean::clean_line;

/// How each line of a log begins: digits stand for any digit.
const BEGIN: &[u8] = b"0000-00-00T";

/// Keep a log from now on, behind what is in the file. Lines of other programs' parts are left out.
///
/// # Errors
/// A sentence when the file cannot be written, is a terminal, or is something else than a log.
pub fn keep(path: &Path) -> Result<(), BadInput> {
    let refuse = |why: String| BadInput(format!("the log '{}' cannot be kept: {why}", path.display()));
    let failed = |error: std::io::Error| refuse(format!("{error}; check the path, or leave --log out"));
    // A line at the end of a database would be the end of the database.
    if path.is_file() && !is_log(path).map_err(failed)? {
        return Err(refuse("the file is there and is no log of memsift; name another one".to_owned()));
    }
    let file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    if file.is_terminal() {
        return Err(refuse("it is a terminal, which the screen has; name a file".to_owned()));
    }
    let lines = tracing_subscriber::fmt().with_ansi(false).with_target(false).with_writer(Mutex::new(file));
    let lines = lines.with_env_filter(EnvFilter::new("memsift=info"));
    lines.try_init().map_err(|error| refuse(error.to_string()))
}

/// True for a file that is empty or begins like a log.
fn is_log(path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(BEGIN.len() as u64).read_to_end(&mut head)?;
    let alike = |(byte, like): (&u8, &u8)| if *like == b'0' { byte.is_ascii_digit() } else { byte == like };
    Ok(head.is_empty() || head.len() == BEGIN.len() && head.iter().zip(BEGIN).all(alike))
}

/// The first line of a run, and what was said before it.
pub fn begin(what: &Path, warnings: &[String]) {
    let what = what.display().to_string();
    tracing::info!("memsift {} begins with '{}'", env!("CARGO_PKG_VERSION"), clean_line(&what, &mut 0));
    warnings.iter().for_each(|warning| tracing::warn!("{}", clean_line(warning, &mut 0)));
}

/// The last line of a run.
pub fn end(result: &anyhow::Result<()>) {
    match result {
        Ok(()) => tracing::info!("memsift ends"),
        Err(error) => tracing::error!("memsift ends: {}", clean_line(&format!("{error:#}"), &mut 0)),
    }
}
