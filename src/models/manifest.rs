//! The manifest beside a model's files: what they were when they came. Knows one file and its format, which is that of
//! the lists.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use super::registry::{ModelFile, ModelSpec, Origin, Registry};
use super::{ModelError, State};

/// Its name.
pub(super) const MANIFEST: &str = "memsift.toml";
/// The longest one that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The model that a folder says it holds; `None` without a manifest.
///
/// # Errors
/// [`ModelError::Manifest`] for one that cannot be read or describes something else.
pub(super) fn read(folder: &Path) -> Result<Option<ModelSpec>, ModelError> {
    let path = folder.join(MANIFEST);
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let damaged = || ModelError::Manifest { name: name.clone() };
    match std::fs::metadata(&path) {
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Ok(found) if found.is_file() && found.len() <= LONGEST => {}
        _ => return Err(damaged()),
    }
    let text = std::fs::read_to_string(&path).map_err(|_| damaged())?;
    let mut models = Registry::parse(&text, MANIFEST).map_err(|_| damaged())?.models;
    match models.pop() {
        Some(model) if models.is_empty() && model.name == name && !model.files.is_empty() => {
            Ok(Some(ModelSpec { origin: Origin::Imported, ..model }))
        }
        _ => Err(damaged()),
    }
}

/// The model with what its files must be: from its list where that says it, else from the manifest in `dir`.
///
/// # Errors
/// The state of a model whose list does not say it, and that has no manifest or a damaged one.
pub(super) fn pinned<'m>(model: &'m ModelSpec, dir: &Path) -> Result<Cow<'m, ModelSpec>, State> {
    if model.needs.is_empty() || !model.files.is_empty() {
        return Ok(Cow::Borrowed(model));
    }
    match read(&dir.join(&model.name)) {
        Ok(Some(found)) if model.needs.iter().all(|name| found.files.iter().any(|file| file.name == *name)) => {
            Ok(Cow::Owned(learnt(model, found.hub.map(|hub| hub.revision), found.files)))
        }
        Ok(None) => Err(State::Missing { files: model.needs.clone() }),
        Ok(Some(_)) | Err(_) => Err(State::Damaged { file: MANIFEST.to_owned() }),
    }
}

/// The model with files as they were found, at the commit that they are of.
pub(super) fn learnt(model: &ModelSpec, commit: Option<String>, files: Vec<ModelFile>) -> ModelSpec {
    let mut model = model.clone();
    model.files = files;
    if let (Some(hub), Some(commit)) = (&mut model.hub, commit) {
        hub.revision = commit;
    }
    model
}

/// Writes the manifest into a folder.
pub(super) fn write(model: &ModelSpec, folder: &Path) -> Result<(), ModelError> {
    let path = folder.join(MANIFEST);
    std::fs::write(&path, text(model)).map_err(ModelError::file("write", &path))
}

fn text(model: &ModelSpec) -> String {
    let roles: Vec<_> = model.roles.iter().map(|role| quoted(role.name())).collect();
    let mut text =
        "# What memsift found when this model came; 'memsift models verify' compares the files with it.\n\n".to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "[[model]]\nname = {}\nroles = [{}]", quoted(&model.name), roles.join(", "));
    let _ = writeln!(text, "architecture = {}", quoted(model.architecture.name()));
    let _ = writeln!(text, "licence = {}", quoted(&model.licence));
    if let Some(hub) = &model.hub {
        let _ = writeln!(text, "hub = {{ repo = {}, revision = {} }}", quoted(&hub.repo), quoted(&hub.revision));
    }
    let _ = writeln!(text, "files = [");
    for file in &model.files {
        let (name, sum) = (quoted(&file.name), quoted(&file.sha256));
        let _ = writeln!(text, "  {{ name = {name}, size = {}, sha256 = {sum} }},", file.size);
    }
    text + "]\n"
}

/// A string as TOML writes it. JSON escapes the same way, but for one control character, which names cannot have.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.replace('\u{7f}', "")).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("gte-base");
        std::fs::create_dir(&folder).unwrap();
        let registry = Registry::built_in().unwrap();
        let files = vec![
            ModelFile { name: "a \"b\".json".to_owned(), size: 0, sha256: "0".repeat(64) },
            ModelFile { name: "d/w\u{e9}".to_owned(), size: u64::from(u32::MAX) + 1, sha256: "a".repeat(64) },
        ];
        let mut model = learnt(registry.model("gte-base").unwrap(), Some("c0ffee".to_owned()), files);
        model.licence = "\u{7f}M\\IT\n".to_owned();
        write(&model, &folder).unwrap();
        let read = read(&folder).unwrap().unwrap();
        assert_eq!((&read.files, &read.roles, read.architecture), (&model.files, &model.roles, model.architecture));
        assert_eq!((read.hub.unwrap().revision.as_str(), read.licence.as_str()), ("c0ffee", "M\\IT\n"));
        assert_eq!(read.origin, Origin::Imported);
    }
}
