//! The right to write a model: one process at a time. Knows lock files; nothing of what is written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::ModelError;

/// The right to write a model. It ends with the process, however that ends.
pub(super) struct Turn {
    /// Whether another process had it first.
    pub waited: bool,
    /// Appended to the names of hidden folders, where nothing keeps other processes out of them.
    suffix: String,
    _lock: File,
}

impl Turn {
    /// Waits for the right; `None` when `there` says, while another process has it, that it is not needed any more.
    ///
    /// # Errors
    /// [`ModelError::Busy`] after `limit`, [`ModelError::File`] when the lock cannot be made.
    pub(super) fn wait(
        model: &str,
        dir: &Path,
        limit: Duration,
        mut there: impl FnMut() -> bool,
    ) -> Result<Option<Self>, ModelError> {
        std::fs::create_dir_all(dir).map_err(ModelError::file("create", dir))?;
        let path = dir.join(format!(".{model}.lock"));
        let lock = File::create(&path).map_err(ModelError::file("create", &path))?;
        let started = Instant::now();
        let mut waited = false;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Some(Self { waited, suffix: String::new(), _lock: lock })),
                Err(std::fs::TryLockError::WouldBlock) => {
                    waited = true;
                    if there() {
                        return Ok(None);
                    }
                    if started.elapsed() > limit {
                        let waited_s = started.elapsed().as_secs();
                        return Err(ModelError::Busy { model: model.to_owned(), waited_s, lock: path });
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
                // Some network disks have no locks; a folder of our own is then the only thing that cannot collide.
                Err(std::fs::TryLockError::Error(_)) => {
                    let suffix = format!("-{}", std::process::id());
                    return Ok(Some(Self { waited, suffix, _lock: lock }));
                }
            }
        }
    }

    /// A hidden folder in `dir` for one purpose; it may be there from before.
    pub(super) fn folder(&self, model: &str, dir: &Path, purpose: &str) -> PathBuf {
        dir.join(format!(".{model}.{purpose}{}", self.suffix))
    }
}
