//! Which model fills which ranker's slot: a profile, single names, folders. Knows the list of models; loads nothing.

use std::path::{Path, PathBuf};

use crate::models::{ModelError, ModelSpec, Registry, Role};
use crate::rank::Precision;

/// The profile that is used when none is named.
pub const DEFAULT_PROFILE: &str = "small";
/// What leaves a slot empty.
const NONE: &str = "none";

/// A ranker's slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotName {
    /// The cross-encoder.
    Ce,
    /// Late interaction.
    Colbert,
    /// Sentence vectors.
    Dense,
}

impl SlotName {
    /// All slots.
    pub const ALL: [Self; 3] = [Self::Ce, Self::Colbert, Self::Dense];

    /// As flags and messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ce => "ce",
            Self::Colbert => "colbert",
            Self::Dense => "dense",
        }
    }

    /// What a model must be to fill it.
    pub fn role(self) -> Role {
        match self {
            Self::Ce => Role::CrossEncoder,
            Self::Colbert => Role::Colbert,
            Self::Dense => Role::Dense,
        }
    }
}

/// What fills a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// Nothing, because the user said so.
    Nothing,
    /// A model of the list; its folder lies in the models directory.
    Listed(Box<ModelSpec>),
    /// A model's folder anywhere.
    Folder(PathBuf),
}

impl Chosen {
    /// Name for people, also before anything is loaded.
    pub fn name(&self) -> String {
        match self {
            Self::Nothing => NONE.to_owned(),
            Self::Listed(spec) => spec.name.clone(),
            Self::Folder(folder) => crate::rank::folder_name(folder),
        }
    }
}

/// What was typed for the slots; what is not named comes from the profile.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Name of a profile.
    pub profile: Option<String>,
    /// Name or folder of the cross-encoder, or `none`.
    pub ce: Option<String>,
    /// Name or folder of the late-interaction model, or `none`.
    pub colbert: Option<String>,
    /// Name or folder of the bi-encoder, or `none`.
    pub dense: Option<String>,
    /// How precisely all of them are computed.
    pub precision: Precision,
}

/// What fills every slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankerChoice {
    /// The models directory.
    pub dir: PathBuf,
    /// The cross-encoder.
    pub ce: Chosen,
    /// Late interaction.
    pub colbert: Chosen,
    /// Sentence vectors.
    pub dense: Chosen,
    /// How precisely all of them are computed.
    pub precision: Precision,
}

/// Why a wish cannot be fulfilled; one sentence.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// There is no such profile.
    #[error("there is no profile '{name}': choose one of {known}")]
    NoProfile {
        /// What was typed.
        name: String,
        /// Known names, comma-separated.
        known: String,
    },
    /// There is no such model and no such folder.
    #[error(
        "--{slot} '{name}' is neither a known model nor a folder: choose one of {known}, 'none', or a model's folder"
    )]
    NoModel {
        /// The slot.
        slot: &'static str,
        /// What was typed.
        name: String,
        /// Names that fit, comma-separated.
        known: String,
    },
    /// The model is something else.
    #[error("'{name}' cannot fill --{slot}: choose one of {known}, 'none', or a model's folder")]
    WrongRole {
        /// The slot.
        slot: &'static str,
        /// What was typed.
        name: String,
        /// Names that fit, comma-separated.
        known: String,
    },
    /// The list of models cannot be read.
    #[error(transparent)]
    List(#[from] ModelError),
}

impl RankerChoice {
    /// The profile `small`.
    ///
    /// # Errors
    /// [`ChoiceError`], when the list of models is broken.
    pub fn small(dir: &Path) -> Result<Self, ChoiceError> {
        Self::of(&Wish::default(), &Registry::built_in()?, dir)
    }

    /// What a wish means with this list of models and this models directory.
    ///
    /// # Errors
    /// [`ChoiceError`] names what is not known and what is.
    pub fn of(wish: &Wish, registry: &Registry, dir: &Path) -> Result<Self, ChoiceError> {
        let profile = wish.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        let Some(set) = registry.profile(profile) else {
            let known: Vec<&str> = registry.profiles.iter().map(|profile| profile.name.as_str()).collect();
            return Err(ChoiceError::NoProfile { name: profile.to_owned(), known: known.join(", ") });
        };
        let choose =
            |slot, typed: &Option<String>, name: &str| choose(slot, typed.as_deref().unwrap_or(name), registry);
        Ok(Self {
            dir: dir.to_owned(),
            ce: choose(SlotName::Ce, &wish.ce, &set.ce)?,
            colbert: choose(SlotName::Colbert, &wish.colbert, &set.colbert)?,
            dense: choose(SlotName::Dense, &wish.dense, &set.dense)?,
            precision: wish.precision,
        })
    }

    /// What fills a slot.
    pub fn slot(&self, slot: SlotName) -> &Chosen {
        match slot {
            SlotName::Ce => &self.ce,
            SlotName::Colbert => &self.colbert,
            SlotName::Dense => &self.dense,
        }
    }
}

fn choose(slot: SlotName, name: &str, registry: &Registry) -> Result<Chosen, ChoiceError> {
    let known = || {
        let fitting = registry.models.iter().filter(|model| model.roles.contains(&slot.role()));
        fitting.map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (slot_name, typed) = (slot.name(), name.to_owned());
    if name == NONE {
        return Ok(Chosen::Nothing);
    }
    if let Ok(spec) = registry.model(name) {
        return if spec.roles.contains(&slot.role()) {
            Ok(Chosen::Listed(Box::new(spec.clone())))
        } else {
            Err(ChoiceError::WrongRole { slot: slot_name, name: typed, known: known() })
        };
    }
    let folder = Path::new(name);
    if folder.is_dir() {
        return Ok(Chosen::Folder(folder.to_owned()));
    }
    Err(ChoiceError::NoModel { slot: slot_name, name: typed, known: known() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn of(wish: Wish) -> Result<RankerChoice, ChoiceError> {
        RankerChoice::of(&wish, &Registry::built_in().unwrap(), Path::new("models"))
    }

    #[test]
    fn a_profile_fills_what_is_not_named() {
        let choice = of(Wish { ce: Some("none".to_owned()), ..Wish::default() }).unwrap();
        assert_eq!(choice.ce, Chosen::Nothing);
        assert_eq!(choice.colbert.name(), "all-MiniLM-L6-v2");
        assert_eq!(choice.dense, choice.colbert);
        assert_eq!(RankerChoice::small(Path::new("models")).unwrap().ce.name(), "small-cross-encoder");
    }

    #[test]
    fn a_folder_is_taken_by_its_path_and_a_name_must_fit_the_slot() {
        let choice = of(Wish { ce: Some("src".to_owned()), ..Wish::default() }).unwrap();
        assert_eq!(choice.ce, Chosen::Folder(PathBuf::from("src")));
        let error = of(Wish { ce: Some("all-MiniLM-L6-v2".to_owned()), ..Wish::default() }).unwrap_err().to_string();
        assert!(error.starts_with("'all-MiniLM-L6-v2' cannot fill --ce: choose one of small-cross-encoder"), "{error}");
        let error = of(Wish { dense: Some("nothing-of".to_owned()), ..Wish::default() }).unwrap_err().to_string();
        assert!(error.contains("--dense 'nothing-of' is neither a known model nor a folder"), "{error}");
        let error = of(Wish { profile: Some("huge".to_owned()), ..Wish::default() }).unwrap_err().to_string();
        assert!(error.starts_with("there is no profile 'huge': choose one of small"), "{error}");
    }
}
