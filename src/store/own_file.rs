//! A small JSON file of memsift's own: set aside when it cannot be understood, replaced in one step when it is written.
//! Knows files; nothing of what is in them.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;

/// What stands in a file; `None` when there is no such file. A file that cannot be understood, or that `fault` finds fault
/// with, is set aside as `<path>.bad` (or `.bad2` …) and never overwritten; the sentence in the second place tells of it.
///
/// # Errors
/// When the file is there and can be neither read nor set aside.
pub(super) fn read<T: DeserializeOwned>(
    path: &Path,
    what: &str,
    fault: impl Fn(&T) -> Option<String>,
) -> Result<(Option<T>, Option<String>), StoreError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok((None, None)),
        Err(cause) => return Err(StoreError::from_io(path, cause)),
    };
    let reason = match serde_json::from_slice::<T>(&bytes) {
        Ok(saved) => match fault(&saved) {
            None => return Ok((Some(saved), None)),
            Some(reason) => reason,
        },
        Err(fault) => fault.to_string(),
    };
    let aside = free_name(path);
    fs::rename(path, &aside).map_err(|cause| StoreError::from_io(path, cause))?;
    let aside = aside.display();
    Ok((None, Some(format!("{what} could not be read; the file was set aside as '{aside}' ({reason})"))))
}

/// Write a file. The old one is there until the new one is complete.
///
/// # Errors
/// When the file or its folder cannot be written.
pub(super) fn write<T: Serialize>(path: &Path, saved: &T) -> Result<(), StoreError> {
    let failed = |cause| StoreError::from_io(path, cause);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut bytes = serde_json::to_vec_pretty(saved).map_err(|fault| failed(fault.into()))?;
    bytes.push(b'\n');
    let fresh = suffixed(path, &format!(".new{}", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&fresh)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    write().map_err(|cause| {
        // The failure to write is what matters, not that of tidying up after it.
        drop(fs::remove_file(&fresh));
        failed(cause)
    })
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn free_name(path: &Path) -> PathBuf {
    let names = std::iter::once(".bad".to_owned()).chain((2..).map(|number| format!(".bad{number}")));
    let mut free = names.map(|suffix| suffixed(path, &suffix)).skip_while(|name| name.exists());
    free.next().unwrap_or_else(|| suffixed(path, ".bad"))
}
