//! How a database is read when it does not speak for itself: the flags of every command that opens one.

use std::io::IsTerminal;
use std::path::Path;

use super::{BadInput, config};
use crate::dirs::Dirs;
use crate::store::{Branches, Mapping, Reading, Store, StoreError};

/// What is said about a database.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Database")]
pub struct ReadingArgs {
    /// Take it for the database of this program; 'memsift inspect' says which one it is taken for.
    #[arg(long, value_name = "NAME")]
    store: Option<String>,
    /// Where the turns are, for a database of any other program:
    /// turns=messages,text=body,speaker=sender,time=ts,session=thread_id (also conversation, id). One that works is
    /// remembered for databases with the same tables and columns.
    #[arg(long, value_name = "KEY=NAME,…", conflicts_with = "store")]
    map: Option<String>,
    /// A pause of this many hours begins a session where the store has none (6 when not said).
    #[arg(long, value_name = "HOURS")]
    gap: Option<f64>,
    /// Of a conversation with branches, the active one only, or each as a conversation of its own.
    #[arg(long, value_name = "WHICH", value_parser = ["active", "all"], default_value = "active")]
    branches: String,
}

/// What `--branches` says.
pub fn branches(said: &str) -> Branches {
    if said == "all" { Branches::All } else { Branches::Active }
}

impl ReadingArgs {
    /// What was said.
    ///
    /// # Errors
    /// A mapping that cannot be read, a gap that is no length of time.
    pub fn reading(&self) -> Result<Reading, BadInput> {
        if let Some(gap) = self.gap.filter(|gap| !gap.is_finite() || *gap <= 0.0) {
            return Err(BadInput(format!("--gap {gap} is no pause: give hours above 0, for example --gap 6")));
        }
        let map = self.map.as_deref().map(Mapping::read).transpose().map_err(BadInput)?;
        let mappings = Dirs::find().map(|dirs| dirs.mappings());
        let branches = branches(&self.branches);
        let gap_hours = self.gap.or_else(|| config::get().gap());
        Ok(Reading { store: self.store.clone(), map, gap_hours, branches, mappings })
    }

    /// Whether the explorer can open a database, by itself or with what the user says in its form.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn explorable(&self, path: &Path) -> anyhow::Result<()> {
        let told = self.map.is_some() || self.store.is_some();
        match Store::open_as(path, &self.reading()?) {
            Err(StoreError::WrongSchema { .. }) if !told && std::io::stdout().is_terminal() => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }

    /// Open a database as it was said.
    ///
    /// # Errors
    /// As [`Self::reading`], and everything that can be wrong with a database.
    pub fn open(&self, path: &Path) -> anyhow::Result<Store> {
        Ok(Store::open_as(path, &self.reading()?)?)
    }
}
