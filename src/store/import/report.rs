//! What an import did, for people and for programs. Knows counts; reads and writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::recognise::Format;
use crate::history::{DirtyEvidence, EvidenceFault};

/// How far an import is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportProgress {
    /// The file being read.
    pub file: String,
    /// Bytes of it read.
    pub bytes_read: u64,
    /// Bytes of it in all.
    pub bytes_total: u64,
    /// Conversations of it stored so far.
    pub conversations: usize,
    /// Turns of it stored so far.
    pub turns: usize,
}

/// What an import did, file by file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ImportReport {
    /// In the order in which they were read: histories before files of questions.
    pub files: Vec<FileReport>,
}

/// What the import of one file did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FileReport {
    /// As the user named it.
    pub file: String,
    /// Its format; `None` when a file of a folder was passed over.
    pub format: Option<Format>,
    /// Conversations in it.
    pub conversations: usize,
    /// Sessions with turns.
    pub sessions: usize,
    /// Turns.
    pub turns: usize,
    /// Questions.
    pub questions: usize,
    /// Evidence references of the questions.
    pub evidence: EvidenceReport,
    /// Times of sessions and turns whose words could not be read as a time.
    pub unread_times: usize,
    /// Control and hidden characters made visible.
    pub made_visible: u64,
    /// What was guessed.
    pub guesses: BTreeSet<String>,
    /// Rows that were not stored.
    pub skipped: Vec<SkippedRow>,
    /// Conversations that were there before with another content.
    pub replaced: Vec<String>,
    /// True when the database had all of it already and was not touched.
    pub unchanged: bool,
}

/// How many references name a turn, and which do not simply do so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EvidenceReport {
    /// References in the file.
    pub total: usize,
    /// References that name a turn as they stand.
    pub good: usize,
    /// The others.
    pub dirty: Vec<DirtyReference>,
}

/// A reference that does not simply name a turn, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirtyReference {
    /// Conversation of the question.
    pub conversation: String,
    /// Id of the question.
    pub question: String,
    /// The reference and its fault.
    #[serde(flatten)]
    pub evidence: DirtyEvidence,
}

/// A row that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedRow {
    /// Which one.
    pub row: String,
    /// Why.
    pub reason: String,
}

impl ImportReport {
    /// True when no file changed the database.
    pub fn unchanged(&self) -> bool {
        self.files.iter().all(|file| file.unchanged)
    }
}

impl EvidenceReport {
    /// Dirty references by fault.
    pub fn by_fault(&self) -> BTreeMap<EvidenceFault, usize> {
        let mut counts = BTreeMap::new();
        for reference in &self.dirty {
            *counts.entry(reference.evidence.fault).or_insert(0) += 1;
        }
        counts
    }
}

fn fault_words(fault: EvidenceFault) -> &'static str {
    match fault {
        EvidenceFault::Unknown => "name no turn",
        EvidenceFault::Several => "held several ids",
        EvidenceFault::Range => "were ranges",
        EvidenceFault::Typo => "had a typing error",
        EvidenceFault::Unreadable => "could not be read",
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.files.iter().map(|file| file.file.chars().count()).max().unwrap_or(0);
        for file in &self.files {
            file.print(to, width)?;
        }
        Ok(())
    }
}

impl FileReport {
    fn print(&self, to: &mut fmt::Formatter<'_>, width: usize) -> fmt::Result {
        let format = self.format.map_or("passed over", Format::name);
        let outcome = match (self.format, self.unchanged, self.replaced.len()) {
            (None, ..) => String::new(),
            (_, true, _) => "already there, nothing changed".to_owned(),
            (_, false, 0) => "imported".to_owned(),
            (_, false, 1) => "imported, 1 conversation replaced".to_owned(),
            (_, false, some) => format!("imported, {some} conversations replaced"),
        };
        writeln!(to, "{}", format!("{:width$}  {format:<20}  {outcome}", self.file).trim_end())?;
        let counts = [
            (self.conversations, "conversation"),
            (self.sessions, "session"),
            (self.turns, "turn"),
            (self.questions, "question"),
            (self.evidence.total, "evidence reference"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(*count, noun)).collect();
        if !counts.is_empty() {
            writeln!(to, "  {}", counts.join(", "))?;
        }
        if !self.evidence.dirty.is_empty() {
            let faults: Vec<String> = self
                .evidence
                .by_fault()
                .into_iter()
                .map(|(fault, count)| format!("{count} {}", fault_words(fault)))
                .collect();
            writeln!(to, "  evidence: {} good; {}", self.evidence.good, faults.join(", "))?;
        }
        if self.unread_times > 0 {
            writeln!(to, "  {} kept as words, they could not be read", plural(self.unread_times, "time"))?;
        }
        if self.made_visible > 0 {
            let count = usize::try_from(self.made_visible).unwrap_or(usize::MAX);
            writeln!(to, "  {} made visible", plural(count, "control character"))?;
        }
        for guess in &self.guesses {
            writeln!(to, "  guessed {guess}")?;
        }
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for skipped in &self.skipped {
            reasons.entry(&skipped.reason).or_default().push(&skipped.row);
        }
        for (reason, rows) in reasons {
            match rows.as_slice() {
                [row] => writeln!(to, "  skipped {row}: {reason}")?,
                rows => writeln!(to, "  skipped {}: {reason}", plural(rows.len(), "row"))?,
            }
        }
        Ok(())
    }
}

fn plural(count: usize, noun: &str) -> String {
    let mut digits = count.to_string();
    let mut at = digits.len();
    while at > 3 {
        at -= 3;
        digits.insert(at, ',');
    }
    format!("{digits} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_short() {
        let dirty = |raw: &str, fault| DirtyReference {
            conversation: "c".to_owned(),
            question: "q1".to_owned(),
            evidence: DirtyEvidence { raw: raw.to_owned(), fault },
        };
        let skip = |row: &str| SkippedRow { row: row.to_owned(), reason: "its chat is not in the database".to_owned() };
        let file = FileReport {
            file: "talks.jsonl".to_owned(),
            format: Some(Format::Jsonl),
            conversations: 1,
            sessions: 2,
            turns: 1_234,
            questions: 3,
            evidence: EvidenceReport {
                total: 4,
                good: 2,
                dirty: vec![dirty("x9", EvidenceFault::Unknown), dirty("", EvidenceFault::Unreadable)],
            },
            unread_times: 1,
            made_visible: 12,
            guesses: BTreeSet::from(["dates: day before month".to_owned()]),
            skipped: vec![skip("a"), skip("b")],
            ..Default::default()
        };
        let other = FileReport { file: "notes.json".to_owned(), ..Default::default() };
        let want = "\
talks.jsonl  JSONL                 imported
  1 conversation, 2 sessions, 1,234 turns, 3 questions, 4 evidence references
  evidence: 2 good; 1 name no turn, 1 could not be read
  1 time kept as words, they could not be read
  12 control characters made visible
  guessed dates: day before month
  skipped 2 rows: its chat is not in the database
notes.json   passed over
";
        assert_eq!(ImportReport { files: vec![file, other] }.to_string(), want);
    }
}
