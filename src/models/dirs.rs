//! The models directory. Knows one environment variable and the platform's data directory; nothing of what is inside.

use std::path::PathBuf;

use super::ModelError;

/// Environment variable that names the models directory.
const VARIABLE: &str = "MEMSIFT_MODELS";

/// The directory with one folder per model: `MEMSIFT_MODELS` when it is set and not empty, else `models` in the
/// platform's data directory of memsift. It may not exist yet.
///
/// # Errors
/// [`ModelError::NoHome`] when the platform gives no home directory and the variable is not set.
pub fn models_dir() -> Result<PathBuf, ModelError> {
    if let Some(dir) = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()) {
        return Ok(PathBuf::from(dir));
    }
    directories::ProjectDirs::from("", "", "memsift")
        .map(|dirs| dirs.data_dir().join("models"))
        .ok_or(ModelError::NoHome { variable: VARIABLE })
}
