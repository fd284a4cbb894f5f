//! What a database was taken for: store, counts, rows left out with reasons, guesses. Knows how to say it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

/// What is left out and guessed while reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::store) struct Notes {
    pub left_out: BTreeMap<String, usize>,
    pub guesses: BTreeSet<String>,
    pub branches: usize,
}

/// Why a row of a branch that is not read is left out.
pub(in crate::store) const OTHER_BRANCH: &str = "on another branch";

impl Notes {
    /// What is beside this branch is offered as a conversation of its own: nothing of it is left out.
    pub fn forget_branches(&mut self) {
        self.branches = 0;
        self.left_out.remove(OTHER_BRANCH);
    }

    /// A row is left out.
    pub fn leave(&mut self, reason: impl Into<String>) {
        self.leave_some(reason, 1);
    }

    /// Several rows are left out.
    pub fn leave_some(&mut self, reason: impl Into<String>, rows: usize) {
        if rows > 0 {
            *self.left_out.entry(reason.into()).or_default() += rows;
        }
    }

    /// Something was guessed.
    pub fn guess(&mut self, guess: impl Into<String>) {
        self.guesses.insert(guess.into());
    }

    /// Add what another reading found.
    pub fn add(&mut self, other: Self) {
        for (reason, rows) in other.left_out {
            self.leave_some(reason, rows);
        }
        self.guesses.extend(other.guesses);
        self.branches += other.branches;
    }
}

/// What a database was recognised as and what was found in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Name of the store, as `--store` takes it.
    pub store: String,
    /// Name for people.
    pub title: String,
    /// Which version of its schema.
    pub version: String,
    /// Conversations with turns.
    pub conversations: usize,
    /// Sessions in all of them.
    pub sessions: usize,
    /// Turns in all of them.
    pub turns: usize,
    /// Questions that came with them.
    pub questions: usize,
    /// Time of the first turn, as [`crate::moment::Moment::store`] writes it; empty when unknown.
    pub first: String,
    /// Time of the last turn.
    pub last: String,
    /// Turns by speaker.
    pub speakers: BTreeMap<String, usize>,
    /// Branches beside the ones that were read.
    pub branches: usize,
    /// Turns that say word for word what an earlier turn of the same conversation and speaker says.
    pub repeated_turns: usize,
    /// Rows left out, by reason.
    pub left_out: BTreeMap<String, usize>,
    /// What was guessed.
    pub guesses: Vec<String>,
    /// What the user should know about how the database was opened.
    pub notices: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "store          {} ({}), {}", self.title, self.store, self.version)?;
        writeln!(to, "conversations  {}", self.conversations)?;
        writeln!(to, "sessions       {}", self.sessions)?;
        writeln!(to, "turns          {}", self.turns)?;
        if self.questions > 0 {
            writeln!(to, "questions      {}", self.questions)?;
        }
        let or_unknown = |time: &str| if time.is_empty() { "unknown".to_owned() } else { time.to_owned() };
        writeln!(to, "time           {} to {}", or_unknown(&self.first), or_unknown(&self.last))?;
        const SHOWN: usize = 12;
        let speakers = self.speakers.iter().take(SHOWN).map(|(name, turns)| format!("{name} ({turns})"));
        let more = self.speakers.len().checked_sub(SHOWN).filter(|more| *more > 0).map(|more| format!("{more} more"));
        writeln!(to, "speakers       {}", speakers.chain(more).collect::<Vec<_>>().join(", "))?;
        if self.branches > 0 {
            writeln!(to, "branches       {} beside the ones read", self.branches)?;
        }
        if self.repeated_turns > 0 {
            writeln!(to, "repeated       {} turns say again what an earlier one says", self.repeated_turns)?;
        }
        for (reason, rows) in &self.left_out {
            writeln!(to, "left out       {rows}: {reason}")?;
        }
        for guess in &self.guesses {
            writeln!(to, "guessed        {guess}")?;
        }
        for notice in &self.notices {
            writeln!(to, "note           {notice}")?;
        }
        Ok(())
    }
}
