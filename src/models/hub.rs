//! Downloads single files of a model from the model hub, resuming what an earlier run left. Knows HTTP and `.part`
//! files; not where models live.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ModelFile;
use super::state::sha256_of;

/// How often a broken transfer is taken up again before the source is given up.
const ATTEMPTS: u32 = 3;

/// Files up to this size, in bytes, are finished even when another file has failed.
const SMALL: u64 = 1 << 20;

/// One hub repository at one revision.
pub(super) struct Hub {
    pub agent: ureq::Agent,
    pub endpoint: String,
    pub repo: String,
    /// Branch, tag or commit.
    pub revision: String,
}

/// A file as far as it is known before it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub name: String,
    pub size: u64,
    /// `None` where the hub does not tell it: of small files.
    pub sha256: Option<String>,
}

impl From<&ModelFile> for Wanted {
    fn from(file: &ModelFile) -> Self {
        Self { name: file.name.clone(), size: file.size, sha256: Some(file.sha256.clone()) }
    }
}

/// Why the hub did not deliver; the next source is tried, so this is a clause, not a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum HubFailure {
    #[error("the hub {host} could not be reached ({reason})")]
    Unreachable { host: String, reason: String },
    #[error("the hub answered {code} for {file}")]
    Status { file: String, code: u16 },
    #[error("the hub holds another version of {file}")]
    OtherVersion { file: String },
    #[error("{file} could not be written ({source})")]
    Disk { file: String, source: std::io::Error },
    #[error("the hub's list of files of {repo} is not clear ({reason})")]
    Listing { repo: String, reason: String },
    #[error(
        "{repo} on the hub has no {file}{}",
        if *pickled { ", only weights in a format that can carry programs, which are not read" } else { "" }
    )]
    Lacks { repo: String, file: String, pickled: bool },
    #[error("another file of the model could not be had")]
    Stopped,
}

impl Hub {
    /// `connect` bounds the time to a first answer, `stall` the silence within a transfer.
    pub(super) fn new(endpoint: &str, repo: &str, revision: &str, connect: Duration, stall: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_resolve(Some(connect))
            .timeout_connect(Some(connect))
            .timeout_recv_response(Some(stall))
            .timeout_per_read(Some(stall))
            .http_status_as_error(false)
            .user_agent(concat!("memsift/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: config.into(),
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            repo: repo.to_owned(),
            revision: revision.to_owned(),
        }
    }

    /// Brings `file` into `folder`: through `NAME.part`, from where an earlier run stopped, with size and checksum proven.
    /// `done` hears the bytes that are there; a large file is given up when `stop` is set. Returns its SHA-256.
    pub(super) fn fetch(
        &self,
        file: &Wanted,
        folder: &Path,
        stop: &AtomicBool,
        done: &mut dyn FnMut(u64),
    ) -> Result<String, HubFailure> {
        let target = folder.join(&file.name);
        if let Some(sum) = file.sum_of(&target) {
            return Ok(sum);
        }
        let part = part_of(&target);
        let disk = |source| HubFailure::Disk { file: file.name.clone(), source };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(disk)?;
        }
        let mut attempt = 1;
        loop {
            match self.transfer(file, &part, stop, done) {
                Ok(()) => break,
                Err(failure @ HubFailure::Unreachable { .. }) if attempt == ATTEMPTS || !has_bytes(&part) => {
                    return Err(failure);
                }
                Err(HubFailure::Unreachable { .. }) => attempt += 1,
                Err(failure) => return Err(failure),
            }
        }
        let Some(sum) = file.sum_of(&part) else {
            // Nothing can be built on these bytes, so the next run must not resume from them.
            std::fs::remove_file(&part).map_err(disk)?;
            return Err(HubFailure::OtherVersion { file: file.name.clone() });
        };
        std::fs::rename(&part, &target).map_err(disk)?;
        Ok(sum)
    }

    /// One request; appends to `part` when the server continues there, else starts over.
    fn transfer(
        &self,
        file: &Wanted,
        part: &Path,
        stop: &AtomicBool,
        done: &mut dyn FnMut(u64),
    ) -> Result<(), HubFailure> {
        let disk = |source| HubFailure::Disk { file: file.name.clone(), source };
        let url = format!("{}/{}/resolve/{}/{}", self.endpoint, self.repo, self.revision, file.name);
        let mut have = std::fs::metadata(part).map_or(0, |found| found.len());
        if have == file.size && part.exists() {
            return Ok(());
        }
        if have > file.size {
            std::fs::remove_file(part).map_err(disk)?;
            have = 0;
        }
        let mut request = self.agent.get(&url).header("accept-encoding", "identity");
        if have > 0 {
            request = request.header("range", format!("bytes={have}-"));
        }
        let mut answer = request.call().map_err(|error| self.unreachable(&error))?;
        let continues = answer.status().as_u16() == 206
            && answer
                .headers()
                .get("content-range")
                .and_then(|range| range.to_str().ok())
                .is_some_and(|range| range.starts_with(&format!("bytes {have}-")));
        let code = answer.status().as_u16();
        if code == 416 || (code == 206 && !continues) {
            // The server cannot continue there: start over on the next attempt.
            std::fs::remove_file(part).map_err(disk)?;
            return if have > 0 {
                self.transfer(file, part, stop, done)
            } else {
                Err(HubFailure::Status { file: file.name.clone(), code })
            };
        }
        if !answer.status().is_success() {
            return Err(HubFailure::Status { file: file.name.clone(), code });
        }
        let mut out: File = if continues {
            OpenOptions::new().append(true).open(part).map_err(disk)?
        } else {
            have = 0;
            File::create(part).map_err(disk)?
        };
        // A wrong page can be endless: one byte more than expected is enough to know.
        let mut body = answer.body_mut().as_reader().take((file.size + 1).saturating_sub(have));
        let mut buffer = vec![0; 1 << 16];
        loop {
            if file.size > SMALL && stop.load(Ordering::Relaxed) {
                return Err(HubFailure::Stopped);
            }
            let read = body.read(&mut buffer).map_err(|error| self.unreachable(&error))?;
            if read == 0 {
                break;
            }
            out.write_all(buffer.get(..read).unwrap_or_default()).map_err(disk)?;
            have += read as u64;
            done(have);
        }
        out.sync_all().map_err(disk)?;
        if have < file.size && answer_was_short(&answer, have) {
            return Err(self.unreachable(&"the transfer stopped early"));
        }
        Ok(())
    }

    pub(super) fn unreachable(&self, reason: &dyn std::fmt::Display) -> HubFailure {
        let host = self.endpoint.split("://").nth(1).unwrap_or(&self.endpoint).split('/').next().unwrap_or_default();
        HubFailure::Unreachable { host: host.to_owned(), reason: reason.to_string() }
    }
}

impl Wanted {
    /// The SHA-256 of a file that is this one, as far as that is known.
    fn sum_of(&self, path: &Path) -> Option<String> {
        let found = std::fs::metadata(path).ok().filter(|found| found.is_file() && found.len() == self.size);
        let sum = found.and_then(|_| sha256_of(path).ok())?;
        self.sha256.as_ref().is_none_or(|wanted| *wanted == sum).then_some(sum)
    }
}

/// Whether the server announced more than it sent; a shorter announced length means another version of the file.
fn answer_was_short(answer: &ureq::http::Response<ureq::Body>, have: u64) -> bool {
    let announced = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
    match announced("content-range").and_then(|range| range.rsplit('/').next()?.parse::<u64>().ok()) {
        Some(total) => have < total,
        None => announced("content-length").and_then(|n| n.parse::<u64>().ok()).is_none_or(|total| have < total),
    }
}

/// Where the bytes of an unfinished file are kept: its name with `.part` at the end.
pub(super) fn part_of(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn has_bytes(part: &Path) -> bool {
    std::fs::metadata(part).is_ok_and(|found| found.len() > 0)
}
