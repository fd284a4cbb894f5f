//! What a history is: one conversation of sessions of turns, with its questions and their gold. Knows nothing of
//! SQLite, of models or of the screen.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// One conversation: sessions of turns in the order in which they were said.
///
/// All text in it has passed [`crate::store::clean`]: it holds no control sequence, no bidi override and no NUL.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conversation {
    /// Identifier, unique in its database.
    pub id: String,
    /// A name for people, when the store has one.
    pub title: Option<String>,
    /// Distinct speakers in order of first appearance; [`Turn::speaker`] points here.
    pub speakers: Vec<Arc<str>>,
    /// Sessions in order; their turn ranges tile `turns`.
    pub sessions: Vec<Session>,
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// Questions that came with the history (data set) for this conversation.
    pub questions: Vec<Question>,
}

/// One session: what was said in one sitting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Identifier as the source gives it (`session_4`, `s04`).
    pub id: String,
    /// 1-based number as the source counts sessions; gaps are possible when a source leaves one out.
    pub number: u32,
    /// When it began.
    pub time: Moment,
    /// Its turns, as indices into [`Conversation::turns`].
    pub turns: Range<usize>,
}

/// One turn: what one speaker said at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Identifier as the source gives it (`D4:17`, `s04.t17`), unique in the conversation.
    pub id: String,
    /// Index into [`Conversation::sessions`].
    pub session: usize,
    /// 1-based position in its session.
    pub number: u32,
    /// Index into [`Conversation::speakers`].
    pub speaker: usize,
    /// The words, cleaned for a terminal.
    pub text: String,
    /// Caption of a shared image, when there is one.
    pub caption: Option<String>,
    /// When it was said; a turn without a time of its own has its session's.
    pub time: Moment,
}

/// A question of a data set, with the evidence that its authors marked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Question {
    /// Identifier, unique in the conversation (`q1`, `q2` … in the source's order unless the source has ids).
    pub id: String,
    /// The question.
    pub text: String,
    /// The expected answer, when known.
    pub answer: Option<String>,
    /// The source's own category, as text (`1` … `5` for LoCoMo-like sets, a type name for others).
    pub category: Option<String>,
    /// Indices into [`Conversation::turns`] of the evidence, ascending, without repeats.
    pub gold: Vec<usize>,
    /// Evidence as the source writes it, before it was understood; empty when the source gives none.
    pub evidence: Vec<String>,
    /// Evidence that could not be used, and why.
    pub dirty: Vec<DirtyEvidence>,
}

/// One evidence reference that does not simply name a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirtyEvidence {
    /// The reference as written in the source.
    pub raw: String,
    /// What was wrong with it.
    pub fault: EvidenceFault,
}

/// What can be wrong with an evidence reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceFault {
    /// Well formed, but no turn has this id: not measurable.
    Unknown,
    /// Several ids in one string; all of them were read.
    Several,
    /// A range of turns; all turns of it were read.
    Range,
    /// A typing error that has one reading (`D 2:18`, `D17;39`, `D20:6.`); that reading was used.
    Typo,
    /// Empty or without any reading: not measurable.
    Unreadable,
}

impl EvidenceFault {
    /// True when the reference still led to a turn.
    pub fn is_mended(self) -> bool {
        matches!(self, Self::Several | Self::Range | Self::Typo)
    }
}

/// One row of the list of conversations: what can be said without loading the turns.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ConversationSummary {
    /// See [`Conversation::id`].
    pub id: String,
    /// See [`Conversation::title`].
    pub title: Option<String>,
    /// Number of sessions.
    pub sessions: usize,
    /// Number of turns.
    pub turns: usize,
    /// Whitespace words of all turn texts.
    pub words: usize,
    /// Number of questions with the data set.
    pub questions: usize,
    /// When the first session began.
    pub first: Moment,
    /// When the last session began.
    pub last: Moment,
}

impl Conversation {
    /// Name of the speaker of a turn; empty when the index is out of range.
    pub fn speaker_of(&self, turn: &Turn) -> &str {
        self.speakers.get(turn.speaker).map_or("", |name| name)
    }

    /// Index of the turn with this id.
    pub fn turn_by_id(&self, id: &str) -> Option<usize> {
        self.turns.iter().position(|turn| turn.id == id)
    }

    /// Whitespace words of all turn texts.
    pub fn words(&self) -> usize {
        self.turns.iter().map(|turn| turn.text.split_whitespace().count()).sum()
    }
}
