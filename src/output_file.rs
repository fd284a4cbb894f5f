//! A file that the program writes for the user: whole or not at all, and never over another one without being told.
//! Knows paths and bytes; knows nothing of what they hold.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A place for a file that was looked at and can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    path: PathBuf,
    folder: PathBuf,
    overwrite: bool,
}

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// There is one of this name. Who asked adds how to overwrite it.
    #[error("there is a file '{}' already: choose another name", .0.display())]
    Exists(PathBuf),
    /// The name is that of a folder.
    #[error("'{}' is a folder: name a file in it", .0.display())]
    Folder(PathBuf),
    /// The name is that of a device, a pipe or the like.
    #[error("'{}' is no ordinary file and is not overwritten: choose another name", .0.display())]
    Special(PathBuf),
    /// The folder is not there.
    #[error("there is no folder '{}': make it first, or choose another one", .0.display())]
    NoFolder(PathBuf),
    /// Nothing can be made in the folder.
    #[error("nothing can be written in the folder '{}' ({}): choose another one", .0.display(), .1)]
    Unwritable(PathBuf, io::Error),
    /// Writing failed; nothing was left behind.
    #[error("'{}' could not be written ({}): make room or choose another place", .0.display(), .1)]
    Failed(PathBuf, io::Error),
}

impl OutputFile {
    /// Looks at a place before there is anything to write, so that hours of work do not end in a refusal.
    ///
    /// # Errors
    /// One sentence for every reason why the file cannot be written there. Without `overwrite`, a file of that name is
    /// one.
    pub fn new(path: &Path, overwrite: bool) -> Result<Self, OutputError> {
        // What a link points to is overwritten, not the link.
        let path = if overwrite { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() };
        match path.metadata() {
            Ok(found) if found.is_dir() => return Err(OutputError::Folder(path)),
            Ok(_) if !overwrite => return Err(OutputError::Exists(path)),
            Ok(found) if !found.is_file() => return Err(OutputError::Special(path)),
            // A link to nothing is something, too.
            Err(_) if !overwrite && path.symlink_metadata().is_ok() => return Err(OutputError::Exists(path)),
            _ => {}
        }
        let folder = match path.parent() {
            Some(folder) if path.file_name().is_some() && !ends_in_separator(&path) => folder,
            _ => return Err(OutputError::NoFolder(path)),
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.to_owned();
        if !folder.is_dir() {
            return Err(OutputError::NoFolder(folder));
        }
        let file = Self { path, folder, overwrite };
        file.beside()?;
        Ok(file)
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all of it beside its place and puts it there in one step.
    ///
    /// # Errors
    /// As [`OutputFile::new`], and when writing fails; then the place is as it was.
    pub fn write(&self, bytes: &[u8]) -> Result<(), OutputError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => OutputError::Exists(self.path.clone()),
            _ => OutputError::Failed(self.path.clone(), error),
        };
        let mut beside = self.beside()?;
        beside.write_all(bytes).map_err(failed)?;
        if self.overwrite {
            if let Ok(found) = self.path.metadata() {
                beside.as_file().set_permissions(found.permissions()).map_err(failed)?;
            }
            beside.persist(&self.path).map_err(|error| failed(error.error))?;
            return Ok(());
        }
        match beside.persist_noclobber(&self.path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(failed(error.error)),
            // Some file systems know no such step: look, then move.
            Err(_) if self.path.symlink_metadata().is_ok() => Err(OutputError::Exists(self.path.clone())),
            Err(error) => error.file.persist(&self.path).map(drop).map_err(|error| failed(error.error)),
        }
    }

    /// An empty file in the same folder; it goes with the value.
    fn beside(&self) -> Result<NamedTempFile, OutputError> {
        let mut builder = Builder::new();
        builder.prefix(".memsift-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file, less what the user's mask takes away.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(&self.folder).map_err(|error| OutputError::Unwritable(self.folder.clone(), error))
    }
}

fn ends_in_separator(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(std::path::is_separator)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_written_whole_and_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        OutputFile::new(&path, false).unwrap().write(b"one").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(names(dir.path()), ["a.json"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let usual = dir.path().join("usual");
            fs::write(&usual, "").unwrap();
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
            assert_eq!(mode(&path), mode(&usual));
        }
    }

    #[test]
    fn a_file_that_is_there_is_overwritten_only_when_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        let early = OutputFile::new(&path, false).unwrap();
        fs::write(&path, "mine").unwrap();
        // It came after the first look.
        assert!(matches!(early.write(b"two"), Err(OutputError::Exists(_))));
        assert!(matches!(OutputFile::new(&path, false), Err(OutputError::Exists(_))));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        OutputFile::new(&path, true).unwrap().write(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(dir.path()), ["a.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_stay_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link, nowhere) = (dir.path().join("a"), dir.path().join("link"), dir.path().join("nowhere"));
        fs::write(&path, "one").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        std::os::unix::fs::symlink(dir.path().join("gone"), &nowhere).unwrap();
        OutputFile::new(&link, true).unwrap().write(b"two").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(matches!(OutputFile::new(&nowhere, false), Err(OutputError::Exists(_))));
        assert!(matches!(OutputFile::new(Path::new("/dev/null"), true), Err(OutputError::Special(_))));
        assert!(matches!(OutputFile::new(Path::new("/dev/null"), false), Err(OutputError::Exists(_))));
    }

    #[test]
    fn places_where_nothing_can_be_written_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |path: &Path| OutputFile::new(path, true).unwrap_err().to_string();
        assert!(refused(dir.path()).contains("is a folder: name a file in it"));
        assert!(refused(&dir.path().join("no/such/a.json")).contains("there is no folder"));
        assert!(refused(&dir.path().join("new/")).contains("there is no folder"));
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(refused(&file.join("a.json")).contains("there is no folder"));
        assert!(refused(Path::new("")).contains("there is no folder"));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_takes_nothing_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let closed = dir.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
        let folders = [closed, PathBuf::from("/proc/self")];
        let tried = folders.iter().filter(|folder| folder.is_dir() && fs::write(folder.join("try"), "").is_err());
        for folder in tried {
            let sentence = OutputFile::new(&folder.join("a.json"), false).unwrap_err().to_string();
            assert!(sentence.contains("nothing can be written in the folder"), "{sentence}");
        }
    }
}
