//! What the engine is asked and what it answers. Plain data; newest question wins.

use std::path::PathBuf;
use std::sync::Arc;

use super::change::Change;
use super::count::TokenCount;
use super::inspect::Inspection;
use crate::eval::oracle::{Plan, Rules};
use crate::eval::sweep::{Axis, Sweep};
use crate::history::{Conversation, ConversationSummary};
use crate::scored::Scored;
use crate::settings::Settings;
use crate::store::{Copied, Mapping, Outline, Preview};
use crate::trace::GoldCounts;

/// Something for the engine to do.
#[allow(clippy::large_enum_variant, reason = "a handful of jobs exist at any time")]
#[derive(Debug, Clone)]
pub enum Job {
    /// Open a database and list its conversations.
    Open(PathBuf),
    /// Say which tables a database has and what their columns may be, so that the user can choose.
    Outline(PathBuf),
    /// Say how the first turns of the database of the last [`Job::Outline`] would be read.
    Preview(Mapping),
    /// Open a database by a mapping, and remember that.
    OpenMapped(PathBuf, Mapping),
    /// Read the open database again, as it is now.
    Reload,
    /// Read the open database again whenever somebody wrote to it, or no longer.
    Follow(bool),
    /// Load one conversation of the open database.
    Load(String),
    /// Run the pipeline for a question. Replaces a question that is still running.
    Ask(Ask),
    /// Run the pipeline for the same question under other settings, beside the one that was asked last: what the pinned
    /// settings need where they differ in slower knobs. Dropped when another question was asked since.
    Pinned(Ask),
    /// Count over a grid of two knobs what is kept of the gold of many questions, in the background: everything else comes
    /// first. Replaces a sweep that is still running.
    Sweep(SweepAsk),
    /// Count what two settings keep of the gold of many questions, in the background as a sweep, which it replaces.
    Contrast(ContrastAsk),
    /// Plan the cheapest searches to the gold of many questions.
    Oracle(OracleAsk),
    /// Stop the sweep or the comparison; its scores stay.
    StopSweep,
    /// Stop scoring; what is scored stays.
    Stop,
    /// Go on where [`Job::Stop`] stopped.
    Resume,
    /// Say what the models see of a passage, after the question that is running. Dropped when another one was asked.
    Inspect {
        /// See [`Ask::generation`].
        generation: u64,
        /// The passage.
        passage: u32,
    },
    /// Count the tokens of a text, after the question that is running.
    Count(String),
    /// Mark or unmark turns as gold for a question of a conversation, and keep the marks.
    Mark {
        /// Conversation id.
        conversation: String,
        /// The question as typed.
        question: String,
        /// Turn ids that are gold now.
        turns: Vec<String>,
    },
    /// Leave the thread.
    Quit,
}

/// A question to run.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Number of the question; answers carry it, older ones are dropped.
    pub generation: u64,
    /// The history to ask.
    pub conversation: Arc<Conversation>,
    /// The question as typed.
    pub text: String,
    /// Turns known to hold the evidence; indices into the conversation.
    pub gold: Vec<usize>,
    /// The knobs.
    pub settings: Settings,
}

/// A sweep over many questions.
#[derive(Debug, Clone)]
pub struct SweepAsk {
    /// Number of the sweep; answers carry it.
    pub number: u64,
    /// The history to ask.
    pub conversation: Arc<Conversation>,
    /// The questions as typed, each with the turns known to hold its evidence.
    pub questions: Vec<(String, Vec<usize>)>,
    /// The knobs that stay.
    pub settings: Settings,
    /// The knob of the rows.
    pub rows: Axis,
    /// The knob of the columns.
    pub columns: Axis,
}

/// Two settings to compare over many questions.
#[derive(Debug, Clone)]
pub struct ContrastAsk {
    /// Number of the comparison; answers carry it.
    pub number: u64,
    /// The history to ask.
    pub conversation: Arc<Conversation>,
    /// The questions as typed, each with the turns known to hold its evidence.
    pub questions: Vec<(String, Vec<usize>)>,
    /// The one setting.
    pub a: Settings,
    /// The other.
    pub b: Settings,
}

/// Questions for the oracle.
#[derive(Debug, Clone)]
pub struct OracleAsk {
    /// Number of the request; the answer carries it.
    pub number: u64,
    /// The history to ask.
    pub conversation: Arc<Conversation>,
    /// The questions as typed, each with the turns known to hold its evidence.
    pub questions: Vec<(String, Vec<usize>)>,
    /// The knobs, of which those of terms and matching count.
    pub settings: Settings,
    /// What counts as reaching the goal.
    pub rules: Rules,
}

/// What two settings keep of the gold of one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contrasted {
    /// Place of the question among those asked.
    pub question: usize,
    /// Under the one setting.
    pub a: GoldCounts,
    /// Under the other.
    pub b: GoldCounts,
}

impl Contrasted {
    /// How much more of the gold the other setting keeps, from -1 to 1.
    pub fn change(&self) -> f64 {
        self.b.recall().unwrap_or(0.0) - self.a.recall().unwrap_or(0.0)
    }
}

/// Something that the engine says.
#[derive(Debug, Clone)]
pub enum Event {
    /// A model changed its state.
    Model(ModelStatus),
    /// A database is open.
    Opened {
        /// Its path.
        path: PathBuf,
        /// Its fingerprint.
        fingerprint: String,
        /// What the user should know about how it was opened.
        notices: Vec<String>,
        /// The copy that is read instead of it.
        copied: Option<Copied>,
        /// Its conversations.
        conversations: Vec<ConversationSummary>,
    },
    /// A database that is not recognised, or of which the user wants to say what its columns are.
    Outlined {
        /// Its tables, with guesses.
        outline: Box<Outline>,
        /// True when it could not be opened without the user.
        unknown: bool,
    },
    /// How the first turns would be read.
    Previewed {
        /// The mapping.
        map: Box<Mapping>,
        /// The turns, or the sentence that says what is missing.
        preview: Result<Preview, String>,
    },
    /// The open database was read again.
    Reloaded(Box<Reloaded>),
    /// A conversation is loaded.
    Loaded(Arc<Conversation>),
    /// Marks made by hand for the conversation that was loaded: question text to turn ids.
    Marks(Vec<(String, Vec<String>)>),
    /// How far a running job is.
    Progress(Progress),
    /// Scores so far for a question. The first one comes with terms and hops and no scores; the last one is complete.
    Scored {
        /// See [`Ask::generation`].
        generation: u64,
        /// What is known so far.
        scored: Arc<Scored>,
    },
    /// A question is done, stopped or failed in part (the state of each ranker says which).
    Finished {
        /// See [`Ask::generation`].
        generation: u64,
    },
    /// What came of [`Job::Pinned`].
    Pinned {
        /// See [`Ask::generation`].
        generation: u64,
        /// The scores; `None` when it was stopped before they were complete.
        scored: Option<Arc<Scored>>,
    },
    /// A question more is counted in a sweep.
    Swept {
        /// See [`SweepAsk::number`].
        number: u64,
        /// Questions counted.
        done: usize,
        /// Questions in all.
        total: usize,
        /// Seconds left, when they can be told.
        left: Option<f64>,
        /// The grid so far.
        found: Sweep,
    },
    /// A question more is compared.
    Contrasted {
        /// See [`ContrastAsk::number`].
        number: u64,
        /// Questions compared.
        done: usize,
        /// Questions in all.
        total: usize,
        /// Seconds left, when they can be told.
        left: Option<f64>,
        /// The question; `None` when there was none left.
        row: Option<Contrasted>,
    },
    /// The cheapest searches, by question.
    Planned {
        /// See [`OracleAsk::number`].
        number: u64,
        /// By question.
        plans: Vec<Plan>,
    },
    /// What the models see of a passage.
    Inspected {
        /// See [`Ask::generation`].
        generation: u64,
        /// The passage.
        passage: u32,
        /// What they see.
        inspection: Arc<Inspection>,
    },
    /// How many tokens a text has.
    Counted {
        /// The text.
        text: String,
        /// How many and whose, or the sentence that says why nobody knows.
        count: Result<TokenCount, String>,
    },
    /// Something went wrong; one sentence for the user.
    Failed(String),
    /// The engine ended because of a fault of its own; one sentence for the user.
    Broken(String),
    /// Something worth saying that is no failure; one sentence.
    Notice(String),
}

/// What the open database holds now.
#[derive(Debug, Clone)]
pub struct Reloaded {
    /// Its fingerprint.
    pub fingerprint: String,
    /// What the user should know about how it was opened this time.
    pub notices: Vec<String>,
    /// The copy that is read instead of it.
    pub copied: Option<Copied>,
    /// Its conversations.
    pub conversations: Vec<ConversationSummary>,
    /// The open conversation, when it is another than before.
    pub conversation: Option<Arc<Conversation>>,
    /// True when the open conversation is no longer there.
    pub gone: bool,
    /// What is new.
    pub change: Change,
    /// True when nobody asked for it and it was read because it was written.
    pub followed: bool,
}

/// How far a job is. Units are named by `what`.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What is done, in one or two words (`loading all-MiniLM-L6-v2`, `embedding`, `scoring`).
    pub what: String,
    /// Units done.
    pub done: u64,
    /// Units in all; 0 when unknown.
    pub total: u64,
    /// Seconds since it began.
    pub seconds: f64,
    /// Seconds left, when they can be told.
    pub left: Option<f64>,
}

/// The state of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelStatus {
    /// What it is for: `tagger`, `colbert`, `ce`, `dense`.
    pub role: &'static str,
    /// Name as shown.
    pub name: String,
    /// State.
    pub state: ModelState,
}

/// The state of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelState {
    /// Being read.
    Loading,
    /// Ready, after so many seconds.
    Ready(f64),
    /// Not there; one sentence that says what to do.
    Absent(String),
}
