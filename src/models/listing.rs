//! Asks the hub which files a repository has at which commit. Knows the hub's two JSON answers; downloads nothing.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ModelSpec;
use super::hub::{Hub, HubFailure, Wanted};

/// The longest answer that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// `GET /api/models/{repo}/revision/{revision}`.
#[derive(Deserialize)]
struct Revision {
    sha: String,
}

/// An entry of `GET /api/models/{repo}/tree/{commit}?recursive=true`.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    lfs: Option<Large>,
}

/// What the hub says of a file that it keeps outside of Git.
#[derive(Deserialize)]
struct Large {
    oid: String,
    size: u64,
}

impl Hub {
    /// What the files of a model must be, smallest first: those it needs, and those of the others that there are. They
    /// are all of one commit, at which this hub is from then on.
    pub(super) fn learn(&mut self, model: &ModelSpec) -> Result<Vec<Wanted>, HubFailure> {
        let revision: Revision = self.ask(&format!("revision/{}", self.revision))?;
        if !is_hex(&revision.sha, &[40, 64]) {
            return Err(self.unclear("it names no commit"));
        }
        self.revision = revision.sha;
        let entries: Vec<Entry> = self.ask(&format!("tree/{}?recursive=true", self.revision))?;
        let find = |name: &String| entries.iter().find(|entry| entry.kind == "file" && entry.path == *name);
        let mut wanted = Vec::new();
        for name in &model.needs {
            let Some(entry) = find(name) else {
                let pickled = name.ends_with(".safetensors") && entries.iter().any(|entry| is_pickle(&entry.path));
                return Err(HubFailure::Lacks { repo: self.repo.clone(), file: name.clone(), pickled });
            };
            wanted.push(self.wanted(entry)?);
        }
        for entry in model.may_have.iter().filter_map(find) {
            wanted.push(self.wanted(entry)?);
        }
        wanted.sort_by_key(|file| file.size);
        Ok(wanted)
    }

    fn wanted(&self, entry: &Entry) -> Result<Wanted, HubFailure> {
        let (size, sha256) = match &entry.lfs {
            Some(large) => {
                let sum = large.oid.strip_prefix("sha256:").unwrap_or(&large.oid).to_ascii_lowercase();
                if !is_hex(&sum, &[64]) {
                    return Err(self.unclear(&format!("'{}' has no SHA-256", entry.path)));
                }
                (large.size, Some(sum))
            }
            None => (entry.size, None),
        };
        Ok(Wanted { name: entry.path.clone(), size, sha256 })
    }

    fn ask<T: DeserializeOwned>(&self, what: &str) -> Result<T, HubFailure> {
        let url = format!("{}/api/models/{}/{what}", self.endpoint, self.repo);
        let mut answer = self.agent.get(&url).call().map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            let file = format!("the list of files of {}", self.repo);
            return Err(HubFailure::Status { file, code: answer.status().as_u16() });
        }
        let body = answer.body_mut().with_config().limit(LONGEST).read_to_vec();
        let body = body.map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&body).map_err(|error| self.unclear(&error.to_string()))
    }

    fn unclear(&self, reason: &str) -> HubFailure {
        HubFailure::Listing { repo: self.repo.clone(), reason: reason.to_owned() }
    }
}

fn is_hex(text: &str, lengths: &[usize]) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a file holds weights in a format that can carry programs.
pub(super) fn is_pickle(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    [".pt", ".pth", ".pkl", ".ckpt"].iter().any(|end| name.ends_with(end))
        || (name.starts_with("pytorch_model") && name.ends_with(".bin"))
}
