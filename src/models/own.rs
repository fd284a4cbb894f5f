//! What a models directory adds to the built-in list: the user's own list, and models that were imported. Knows lists
//! and manifests; no network.

use std::path::Path;

use super::registry::{Origin, Registry, is_folder_name};
use super::{ModelError, manifest};

/// Name of the user's own list in the models directory.
pub const LIST: &str = "models.toml";

impl Registry {
    /// The models that can be named with `dir` as the models directory: the built-in ones, those of the user's own list
    /// `models.toml`, and those that were imported. Files of learnt models that are installed are what their manifest
    /// says.
    ///
    /// # Errors
    /// [`ModelError::Registry`] for a list that is not valid or repeats a name, [`ModelError::File`] when it cannot be
    /// read.
    pub fn of(dir: &Path) -> Result<Self, ModelError> {
        let mut registry = Self::built_in()?;
        let path = dir.join(LIST);
        match std::fs::read_to_string(&path) {
            Ok(text) => registry.add_own(&text, &path.display().to_string())?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(ModelError::file("read", &path)(error)),
        }
        for model in &mut registry.models {
            if let Ok(known) = manifest::pinned(model, dir) {
                *model = known.into_owned();
            }
        }
        registry.add_imported(dir);
        Ok(registry)
    }

    fn add_own(&mut self, text: &str, origin: &str) -> Result<(), ModelError> {
        let wrong = |reason: String| ModelError::Registry { origin: origin.to_owned(), reason };
        let own = Self::parse(text, origin)?;
        for mut model in own.models {
            if self.models.iter().any(|there| there.name == model.name) {
                return Err(wrong(format!("'{}' is built in already; give yours another name", model.name)));
            }
            model.origin = Origin::User;
            self.models.push(model);
        }
        for profile in own.profiles {
            if self.profile(&profile.name).is_some() {
                let name = profile.name;
                return Err(wrong(format!("the profile '{name}' is built in already; give yours another name")));
            }
            self.profiles.push(profile);
        }
        Ok(())
    }

    /// Adds every folder with a manifest that no list names.
    fn add_imported(&mut self, dir: &Path) {
        let Ok(entries) = std::fs::read_dir(dir) else { return };
        let mut names: Vec<_> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        for name in names {
            if !is_folder_name(&name) || self.models.iter().any(|model| model.name == name) {
                continue;
            }
            match manifest::read(&dir.join(&name)) {
                Ok(Some(model)) => self.models.push(model),
                Ok(None) => {}
                Err(_) => self.damaged.push(name),
            }
        }
    }
}
