//! Where memsift's own files lie. Knows the platform's directories and the variables that replace them.

use std::path::PathBuf;

/// The variable that names the configuration.
pub const CONFIG: &str = "MEMSIFT_CONFIG";
/// The variable that names the folder of the user's themes.
pub const THEMES: &str = "MEMSIFT_THEMES";

/// memsift's own files.
#[derive(Debug, Clone)]
pub struct Dirs {
    /// The demo database and other data: `MEMSIFT_DATA`.
    pub data: PathBuf,
    /// The score cache: `MEMSIFT_CACHE`.
    pub cache: PathBuf,
}

impl Dirs {
    /// The directories of this user. `None` without a home directory.
    pub fn find() -> Option<Self> {
        let project = directories::ProjectDirs::from("", "", "memsift");
        let place = |variable: &str, default: Option<PathBuf>| {
            std::env::var_os(variable).filter(|dir| !dir.is_empty()).map(PathBuf::from).or(default)
        };
        Some(Self {
            data: place("MEMSIFT_DATA", project.as_ref().map(|dirs| dirs.data_dir().to_owned()))?,
            cache: place("MEMSIFT_CACHE", project.as_ref().map(|dirs| dirs.cache_dir().to_owned()))?,
        })
    }

    /// The cache database.
    pub fn cache_db(&self) -> PathBuf {
        self.cache.join("scores.db")
    }

    /// Marks made by hand.
    pub fn marks(&self) -> PathBuf {
        self.data.join("marks.json")
    }

    /// Settings kept under names.
    pub fn pins(&self) -> PathBuf {
        self.data.join("pins.json")
    }

    /// Mappings of databases that were given once.
    pub fn mappings(&self) -> PathBuf {
        self.data.join("mappings.json")
    }

    /// The demo database.
    pub fn demo_db(&self) -> PathBuf {
        self.data.join("demo.db")
    }
}

/// The configuration: `MEMSIFT_CONFIG` when it is set and not empty, else `config.toml` in the platform's directory for
/// configurations. It need not be there. `None` without a home directory.
pub fn config_file() -> Option<PathBuf> {
    let named = std::env::var_os(CONFIG).filter(|file| !file.is_empty()).map(PathBuf::from);
    let project = || directories::ProjectDirs::from("", "", "memsift");
    named.or_else(|| Some(project()?.config_dir().join("config.toml")))
}

/// The folder of the user's themes: `MEMSIFT_THEMES` when it is set and not empty, else `themes` beside the configuration.
/// It need not be there. `None` without a home directory.
pub fn themes() -> Option<PathBuf> {
    let named = std::env::var_os(THEMES).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(config_file()?.parent()?.join("themes")))
}
