//! Brings a model of the user's into the models directory, and takes models out of it. Knows which files each kind of
//! model needs; whether it can be computed is asked from the caller.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::bundle::{Bundle, Copying};
use super::pull::put_in_place;
use super::registry::{is_folder_name, plain_path};
use super::turn::Turn;
use super::{Architecture, ModelError, ModelFile, ModelSpec, Origin, Registry, Role, State, manifest, state};

/// Files that every model needs.
const NEEDED: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];
/// Files that are used when there are any.
const USED: [&str; 5] = [
    "tokenizer_config.json",
    "artifact.metadata",
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
];

/// How a model is imported.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Its name; else that of its folder.
    pub name: Option<String>,
    /// What it does; else what its configuration says.
    pub role: Option<Role>,
    /// Longest wait for another process that writes a model of this name.
    pub lock_timeout: Duration,
}

/// Copies a model from a folder, or from a folder inside a wheel, into `dir` (the models directory).
///
/// Only the files that the model needs are copied, into a hidden folder; they are moved into place when `prove` could
/// load them. What they were is kept in a manifest beside them. A name of the list is taken for the model of the list:
/// then its files must be what the list says.
///
/// # Errors
/// [`ModelError::Import`] says what is wrong with what was given; [`ModelError::File`] when the disk refuses.
pub fn import(
    path: &Path,
    dir: &Path,
    options: &ImportOptions,
    prove: &dyn Fn(&ModelSpec, &Path) -> Result<(), String>,
) -> Result<ModelSpec, ModelError> {
    let refuse = |reason: String| ModelError::Import { path: path.to_owned(), reason };
    let registry = Registry::of(dir)?;
    let (mut bundle, name) = Bundle::open(path, &registry).map_err(refuse)?;
    let name = options.name.clone().or(name).filter(|name| is_folder_name(name));
    let Some(name) = name else {
        return Err(refuse("its name cannot be that of a folder; give it another with --name".to_owned()));
    };
    let mut known = spec(&registry, &name, dir).map_err(refuse)?;
    let Some(turn) = Turn::wait(&name, dir, options.lock_timeout, || false)? else {
        return Err(refuse("another process is writing it".to_owned()));
    };
    if turn.waited {
        known = spec(&registry, &name, dir).map_err(refuse)?;
    }
    let staging = turn.folder(&name, dir, "import");
    let empty = |folder: &Path| match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(ModelError::file("remove", folder)(error)),
        _ => Ok(()),
    };
    empty(&staging)?;
    let mut bring_in = || {
        std::fs::create_dir_all(&staging).map_err(ModelError::file("create", &staging))?;
        let model = fill(&mut bundle, known, &name, options.role, &staging).map_err(|error| match error {
            Copying::Source(reason) => refuse(reason),
            Copying::Disk(error) => error,
        })?;
        // The copy is gone when somebody reads this; what is wrong with it is wrong with what was given.
        let told = |reason: String| reason.replace(&staging.display().to_string(), &path.display().to_string());
        prove(&model, &staging).map_err(|reason| refuse(told(reason)))?;
        put_in_place(&model, &staging, &dir.join(&name))?;
        Ok(model)
    };
    let result = bring_in();
    if result.is_err() {
        // What is wrong has been found; a leftover costs space only.
        let _ = empty(&staging);
    }
    result
}

/// The model of that name in the list, if there is one, when it may be brought in.
fn spec<'r>(registry: &'r Registry, name: &str, dir: &Path) -> Result<Option<&'r ModelSpec>, String> {
    let known = registry.models.iter().find(|model| model.name == name);
    let installed = match known {
        Some(model) if model.base.is_some() => return Err(format!("'{name}' is part of the program")),
        // Files of a pinned model that are there already do no harm: they must be what the list says.
        Some(model) if model.needs.is_empty() && model.origin != Origin::Imported => state(model, dir) == State::Ready,
        Some(_) | None => dir.join(name).exists(),
    };
    if installed {
        return Err(format!(
            "there is a model '{name}' already; give this one another name with --name, or run 'memsift models remove \
             {name}' first"
        ));
    }
    Ok(known)
}

/// Copies what is needed into the staging folder, with a manifest where no list says what it must be.
fn fill(
    bundle: &mut Bundle,
    known: Option<&ModelSpec>,
    name: &str,
    role: Option<Role>,
    staging: &Path,
) -> Result<ModelSpec, Copying> {
    if let (Some(model), Some(role)) = (known, role)
        && !model.roles.contains(&role)
    {
        let roles: Vec<_> = model.roles.iter().map(|role| role.name()).collect();
        let reason = format!("'{name}' of the list is {}, not {}", roles.join(" and "), role.name());
        return Err(Copying::Source(reason));
    }
    let (mut model, pinned, names) = match known {
        Some(model) if model.needs.is_empty() => {
            let names = model.files.iter().map(|file| file.name.clone()).collect();
            (model.clone(), true, names)
        }
        Some(model) => {
            let (_, architecture) = look(bundle, model.roles.first().copied()).map_err(Copying::Source)?;
            if architecture != model.architecture {
                let (found, wanted) = (architecture.name(), model.architecture.name());
                return Err(Copying::Source(format!("its architecture is {found}, and that of '{name}' is {wanted}")));
            }
            let mut names = model.needs.clone();
            names.extend(model.may_have.iter().filter(|name| bundle.size_of(name).is_some()).cloned());
            (model.clone(), false, names)
        }
        None => {
            let (role, architecture) = look(bundle, role).map_err(Copying::Source)?;
            let names = files_of(bundle, role).map_err(Copying::Source)?;
            let model = ModelSpec {
                name: name.to_owned(),
                roles: vec![role],
                architecture,
                licence: "unknown".to_owned(),
                hub: None,
                package: None,
                base: None,
                prefixes: None,
                files: Vec::new(),
                needs: Vec::new(),
                may_have: Vec::new(),
                origin: Origin::Imported,
            };
            (model, false, names)
        }
    };
    let mut files = Vec::with_capacity(names.len());
    for name in &names {
        present(bundle, name).map_err(Copying::Source)?;
        files.push(bundle.copy(name, staging)?);
    }
    if pinned {
        let differs = |(found, wanted): (&ModelFile, &ModelFile)| (found != wanted).then(|| wanted.name.clone());
        if let Some(file) = files.iter().zip(&model.files).find_map(differs) {
            return Err(Copying::Source(format!("its {file} has not the SHA-256 that the list has for '{name}'")));
        }
        return Ok(model);
    }
    files.sort_by_key(|file| file.size);
    // It does not come from the hub, so it is of no commit that is known.
    model.hub = None;
    model.files = files;
    manifest::write(&model, staging).map_err(Copying::Disk)?;
    Ok(model)
}

/// The part of `config.json` that tells what a model is.
#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    #[serde(default)]
    architectures: Vec<String>,
}

/// What a model does, unless it is told, and which network it is.
fn look(bundle: &mut Bundle, role: Option<Role>) -> Result<(Role, Architecture), String> {
    for name in NEEDED {
        present(bundle, name)?;
    }
    let not_read = |error: serde_json::Error| format!("its config.json cannot be read as one ({error})");
    let config: Config = serde_json::from_slice(&bundle.read("config.json")?).map_err(not_read)?;
    let architecture = match config.model_type.as_deref() {
        Some("bert") => Architecture::Bert,
        Some("roberta" | "xlm-roberta") => Architecture::Roberta,
        Some("deberta-v2") => Architecture::DebertaV2,
        Some("modernbert") => Architecture::ModernBert,
        other => {
            return Err(format!(
                "its architecture is '{}'; those that memsift runs are bert, roberta, xlm-roberta, deberta-v2 and modernbert",
                other.unwrap_or("not said in its config.json")
            ));
        }
    };
    if let Some(role) = role {
        return Ok((role, architecture));
    }
    let classifies = config.architectures.iter().any(|name| name.ends_with("ForSequenceClassification"));
    let parts = parts(bundle)?;
    let has = |kind: &str| parts.iter().any(|part| part.kind() == kind);
    match () {
        () if classifies => Ok((Role::CrossEncoder, architecture)),
        () if bundle.size_of("artifact.metadata").is_some() => Ok((Role::Colbert, architecture)),
        () if has("Pooling") => Ok((Role::Dense, architecture)),
        () if has("Dense") => Ok((Role::Colbert, architecture)),
        () => {
            Err("its files do not say what it does; say it with --role ce, --role colbert or --role dense".to_owned())
        }
    }
}

/// A part of a model in the layout of sentence-transformers.
#[derive(Deserialize)]
struct Part {
    path: String,
    #[serde(rename = "type")]
    class: String,
}

impl Part {
    fn kind(&self) -> &str {
        self.class.rsplit('.').next().unwrap_or_default()
    }
}

fn parts(bundle: &mut Bundle) -> Result<Vec<Part>, String> {
    if bundle.size_of("modules.json").is_none() {
        return Ok(Vec::new());
    }
    let parts: Result<Vec<Part>, _> = serde_json::from_slice(&bundle.read("modules.json")?);
    parts.map_err(|error| format!("its modules.json cannot be read as one ({error})"))
}

/// The names of all files that a model with this role needs or uses.
fn files_of(bundle: &mut Bundle, role: Role) -> Result<Vec<String>, String> {
    let used = USED.into_iter().filter(|name| bundle.size_of(name).is_some());
    let mut names: Vec<String> = NEEDED.into_iter().chain(used).map(str::to_owned).collect();
    if role == Role::CrossEncoder || (role == Role::Colbert && names.iter().any(|name| name == "artifact.metadata")) {
        return Ok(names);
    }
    for part in parts(bundle)? {
        let files: &[&str] = match part.kind() {
            "Pooling" => &["config.json"],
            "Dense" => &["config.json", "model.safetensors"],
            _ => continue,
        };
        if !plain_path(&part.path) {
            return Err(format!("its modules.json names a part outside its folder ('{}')", part.path));
        }
        names.extend(files.iter().map(|file| format!("{}/{file}", part.path.trim_end_matches('/'))));
    }
    Ok(names)
}

/// Says why a needed file is not there.
fn present(bundle: &mut Bundle, name: &str) -> Result<(), String> {
    if bundle.size_of(name).is_some() {
        return Ok(());
    }
    let (folder, file) = name.rsplit_once('/').map_or(("", name), |(folder, file)| (folder, file));
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    match file {
        "model.safetensors" => Err(match bundle.pickle(&folder) {
            Some(pickle) => format!(
                "its weights are in '{folder}{pickle}', a format that can carry programs; convert them to \
                 {name} (safetensors) first"
            ),
            None if bundle.size_of(&format!("{name}.index.json")).is_some() => {
                format!("its weights are split into several files; join them in one {name} first")
            }
            None => format!("it has no {name}"),
        }),
        "tokenizer.json" => Err(format!("it has no {name}; save it with a fast tokenizer, which writes that file")),
        _ => Err(format!("it has no {name}")),
    }
}

/// Takes a model, and what an interrupted pull left of it, out of `dir` (the models directory). Returns the bytes that
/// were freed.
///
/// # Errors
/// [`ModelError::UnknownModel`] and [`ModelError::NotInstalled`] for a name with nothing behind it;
/// [`ModelError::File`] when the disk refuses.
pub fn remove(name: &str, dir: &Path, lock_timeout: Duration) -> Result<u64, ModelError> {
    match Registry::of(dir)?.model(name) {
        Ok(_) | Err(ModelError::Manifest { .. }) => {}
        Err(error) => return Err(error),
    }
    let not_installed = || ModelError::NotInstalled { name: name.to_owned() };
    let folder = dir.join(name);
    let leftovers = ["part", "import", "removed"].map(|purpose| dir.join(format!(".{name}.{purpose}")));
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    if !there(&folder) && !leftovers.iter().any(there) {
        return Err(not_installed());
    }
    let turn = Turn::wait(name, dir, lock_timeout, || false)?.ok_or_else(not_installed)?;
    let mut freed = 0;
    let away = turn.folder(name, dir, "removed");
    // Moved away first, so that nobody loads half a model.
    let moved = !there(&away) && std::fs::rename(&folder, &away).is_ok();
    for path in leftovers.iter().chain((!moved).then_some(&folder)).filter(|path| there(path)) {
        freed += take_away(path).map_err(ModelError::file("remove", path))?;
    }
    Ok(freed)
}

/// Removes a folder; of a link only the link, because what it leads to is not in the models directory.
fn take_away(path: &Path) -> std::io::Result<u64> {
    if !path.symlink_metadata()?.is_dir() {
        std::fs::remove_file(path)?;
        return Ok(0);
    }
    let bytes = super::state::bytes_under(path);
    std::fs::remove_dir_all(path)?;
    Ok(bytes)
}
