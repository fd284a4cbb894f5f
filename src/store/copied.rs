//! That a database is read from a copy: since when, and why. Knows how to say it; copies nothing.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::clean::clean_line;

/// A private copy that is read instead of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// When it was made, in seconds since 1970, UTC.
    pub seconds: u64,
    /// Why the database itself is not read.
    pub why: String,
}

impl Copied {
    /// A copy made now. The reason may name files.
    pub(super) fn now(why: &str) -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self { seconds, why: clean_line(why, &mut 0).into_owned() }
    }

    /// The time of day at which it was made.
    pub fn time(&self) -> String {
        let minutes = self.seconds / 60;
        format!("{:02}:{:02} UTC", minutes / 60 % 24, minutes % 60)
    }
}

impl fmt::Display for Copied {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "read from a snapshot copy made at {}: {}", self.time(), self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_said() {
        let copied = Copied { seconds: 1_777_712_400 + 3 * 3600 + 31 * 60, why: "the database was locked".to_owned() };
        assert_eq!(copied.to_string(), "read from a snapshot copy made at 12:31 UTC: the database was locked");
    }
}
