//! What the screen shows: one plain value that [`super::update`] changes and [`super::view`] draws. Knows no terminal,
//! no database and no clock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui_textarea::TextArea;

use super::form::Form;
use super::keymap::Keymap;
use super::list::Rows;
use super::pane::Pane;
use super::picker::Picker;
use super::pin::Pinned;
use super::sweep::AllQuestions;
use super::theme::{Theme, Themes};
use super::tokens::{Inspected, TokensView};
use super::tour::Tour;
use crate::engine::{ModelStatus, Progress};
use crate::eval::sweep::Sweep;
use crate::explain::whatif::WhatIfs;
use crate::history::{Conversation, ConversationSummary};
use crate::scored::Scored;
use crate::settings::Settings;
use crate::store::Copied;
use crate::store::pins::Pins;
use crate::trace::Trace;

/// Everything on the screen.
pub struct Model {
    /// The open database.
    pub database: Database,
    /// The conversation that is asked.
    pub conversation: Option<Arc<Conversation>>,
    /// Words of the conversation.
    pub words: usize,
    /// Gold marked by hand: question to turn ids. Where a question has an entry, it replaces the data set's gold.
    pub marks: BTreeMap<String, Vec<String>>,
    /// The state of every model, in the order in which they were heard of.
    pub models: Vec<ModelStatus>,
    /// The knobs.
    pub settings: Settings,
    /// What the knobs go back to when they are reset.
    pub defaults: Settings,
    /// What keys mean while nothing is typed and nothing lies over the panes.
    pub keys: Keymap,
    /// Settings to go back to.
    pub past: Vec<Settings>,
    /// Settings to go forward to.
    pub future: Vec<Settings>,
    /// The question line.
    pub question: TextArea<'static>,
    /// Questions asked before, oldest first.
    pub asked_before: Vec<String>,
    /// Where the question line stands in them while walking.
    pub walking: Option<usize>,
    /// The question that was asked last.
    pub asked: Option<String>,
    /// Its number; answers to older ones are dropped.
    pub generation: u64,
    /// True from asking until the engine says that it is done.
    pub running: bool,
    /// True after the user stopped scoring.
    pub stopped: bool,
    /// How far the engine is.
    pub progress: Option<Progress>,
    /// The trace of the question.
    pub trace: Option<Trace>,
    /// Rows of the panes, made from the trace.
    pub rows: Rows,
    /// The selected passage: one for all panes.
    pub selected: Option<u32>,
    /// What the models saw of one passage, the last one that the engine was asked about.
    pub inspection: Option<Inspected>,
    /// The question under which the engine is asked about a passage and has not answered yet.
    pub inspecting: Option<u64>,
    /// The focused pane.
    pub focus: Pane,
    /// True when the focused pane takes the screen.
    pub zoom: bool,
    /// What keys mean now.
    pub mode: Mode,
    /// The overlay that stays on the screen while a command is typed.
    pub behind: Option<Mode>,
    /// The line that is typed in a prompt.
    pub prompt: TextArea<'static>,
    /// How far long lines are scrolled sideways, in cells.
    pub sideways: usize,
    /// How far the Why pane is scrolled.
    pub why_scroll: usize,
    /// Passages that crossed the cut with the last step of a knob; true when they came in.
    pub crossed: BTreeMap<u32, bool>,
    /// What the rank chart joins.
    pub joined: Joined,
    /// A sentence for the user, until the next key.
    pub message: Option<Message>,
    /// The conversation to open once the database is there.
    pub wanted: Option<String>,
    /// What is asked once a conversation is there.
    pub pending: Option<String>,
    /// True once the user has chosen a row; until then the most telling one is selected.
    pub chosen: bool,
    /// What the mouse button holds.
    pub held: Option<super::mouse::Held>,
    /// Colours and glyphs.
    pub theme: Theme,
    /// The tour, while it is there.
    pub tour: Option<Tour>,
    /// How far the answer is revealed to an audience; `None` when nobody is presenting.
    pub present: Option<usize>,
    /// True where every run must look the same: nothing that a clock says is shown.
    pub steady: bool,
    /// All themes there are.
    pub themes: Themes,
    /// The theme to go back to, while others are tried on.
    pub theme_before: Option<Theme>,
    /// True while the mouse belongs to the program.
    pub mouse: bool,
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    /// True for a trace from a file, which cannot be searched again.
    pub replayed: bool,
    /// True while the database is followed.
    pub following: bool,
    /// Recall over two knobs for the question, while it is shown.
    pub sweep: Option<Sweep>,
    /// What is known of the tokens of the context that was shown last.
    pub counted: Option<super::context::Counted>,
    /// The same for all questions with gold, as far as it is.
    pub sweep_all: Option<AllQuestions>,
    /// A and B over all questions with gold, as far as it is.
    pub contrast: Option<super::contrast::Contrast>,
    /// What the oracle was asked, and what it said.
    pub oracle: Option<super::oracle::Planned>,
    /// How many of these were asked for.
    pub sweeps: u64,
    /// A: pinned settings, with their trace for the question.
    pub pinned: Option<Pinned>,
    /// Settings that are kept under names.
    pub pins: Pins,
    /// What would change the fate of the selected passage, for the trace on the screen.
    pub whatifs: Option<Known>,
}

/// What-ifs, and for which trace they were computed.
pub struct Known {
    /// What they say.
    pub whatifs: WhatIfs,
    scored: Arc<Scored>,
    settings: Settings,
}

impl Known {
    /// Computes them for a passage of a trace.
    pub fn of(trace: &Trace, passage: u32) -> Self {
        let (scored, settings) = (Arc::clone(&trace.scored), trace.settings.clone());
        Self { whatifs: WhatIfs::of(trace, passage), scored, settings }
    }

    /// True when they are those of this passage in this trace.
    pub fn is_of(&self, trace: &Trace, passage: u32) -> bool {
        self.whatifs.passage == passage && Arc::ptr_eq(&self.scored, &trace.scored) && self.settings == trace.settings
    }
}

/// The open database.
#[derive(Debug, Clone, Default)]
pub struct Database {
    /// Where it is.
    pub path: PathBuf,
    /// Its fingerprint.
    pub fingerprint: String,
    /// The copy that is read instead of it.
    pub copied: Option<Copied>,
    /// Its conversations.
    pub conversations: Vec<ConversationSummary>,
    /// True once it is open.
    pub open: bool,
    /// True when it cannot be opened before the user says what its columns are.
    pub unknown: bool,
}

/// A sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub text: String,
    /// True when something went wrong.
    pub is_error: bool,
}

/// What keys mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Keys are those of the table.
    Normal,
    /// The question is edited.
    Question,
    /// A filter is typed.
    Filter,
    /// A command is typed.
    Command,
    /// The weight of this term is typed.
    Weight(String),
    /// The help is open, so far scrolled.
    Help(usize),
    /// The context is shown, so far scrolled.
    Context(usize),
    /// Pinned settings are compared with the present ones, so far scrolled.
    Compare(usize),
    /// The cheapest searches to the gold are shown, so far scrolled.
    Oracle(usize),
    /// Recall over two knobs is shown.
    Sweep(super::sweep::Cursor),
    /// What the models saw is shown.
    Tokens(TokensView),
    /// The columns of a database are chosen.
    Form(Box<Form>),
    /// Something is chosen from a list.
    Picker(Picker),
}

/// What the rank chart joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// Gold and the selection.
    Gold,
    /// What one ranker would keep and the other would lose.
    Movers,
    /// Both.
    All,
}

impl Joined {
    /// As shown in the pane.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gold => "gold",
            Self::Movers => "movers",
            Self::All => "gold, movers",
        }
    }

    /// The next choice.
    pub fn next(self) -> Self {
        match self {
            Self::Gold => Self::Movers,
            Self::Movers => Self::All,
            Self::All => Self::Gold,
        }
    }
}

/// What the program is opened with.
#[derive(Debug, Clone)]
pub struct Start {
    /// The database.
    pub database: PathBuf,
    /// A conversation to open.
    pub conversation: Option<String>,
    /// A question to ask at once.
    pub question: Option<String>,
    /// The knobs.
    pub settings: Settings,
    /// What the knobs go back to when they are reset.
    pub defaults: Settings,
    /// The keys of this user.
    pub keys: Keymap,
    /// Colours and glyphs.
    pub theme: Theme,
    /// The same for terminals with a light ground, where the terminal is to decide.
    pub light: Option<Theme>,
    /// All themes there are.
    pub themes: Themes,
    /// Whether the mouse is used.
    pub mouse: bool,
    /// The tour to begin with.
    pub tour: Option<Tour>,
    /// Whether the answer is revealed stage by stage, for an audience.
    pub present: bool,
    /// True for a trace from a file, which cannot be searched again.
    pub replayed: bool,
    /// Follow the database from the beginning.
    pub follow: bool,
    /// Settings that are kept under names, with what is to be said before anything else.
    pub pins: (Pins, Option<String>),
}

impl Model {
    /// The screen before anything is known.
    pub fn new(start: &Start) -> Self {
        Self {
            database: Database { path: start.database.clone(), ..Database::default() },
            conversation: None,
            words: 0,
            marks: BTreeMap::new(),
            models: Vec::new(),
            settings: start.settings.clone(),
            defaults: start.defaults.clone(),
            keys: start.keys.clone(),
            past: Vec::new(),
            future: Vec::new(),
            question: line(start.question.as_deref().unwrap_or_default()),
            asked_before: Vec::new(),
            walking: None,
            asked: None,
            generation: 0,
            running: false,
            stopped: false,
            progress: None,
            trace: None,
            rows: Rows::default(),
            selected: None,
            inspection: None,
            inspecting: None,
            focus: Pane::Fused,
            zoom: false,
            // Whoever opens the program without a question wants to type one.
            mode: if start.question.is_none() { Mode::Question } else { Mode::Normal },
            behind: None,
            prompt: line(""),
            sideways: 0,
            why_scroll: 0,
            crossed: BTreeMap::new(),
            joined: Joined::Gold,
            message: start.pins.1.clone().map(|text| Message { text, is_error: true }),
            wanted: start.conversation.clone(),
            pending: start.question.clone(),
            chosen: false,
            held: None,
            theme: start.theme.clone(),
            tour: start.tour.clone(),
            present: start.present.then_some(0),
            steady: false,
            themes: start.themes.clone(),
            theme_before: None,
            mouse: start.mouse,
            size: (80, 24),
            replayed: start.replayed,
            following: start.follow,
            sweep: None,
            counted: None,
            sweep_all: None,
            contrast: None,
            oracle: None,
            sweeps: 0,
            pinned: None,
            pins: start.pins.0.clone(),
            whatifs: None,
        }
    }

    /// Say something until the next key.
    pub fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: false });
    }

    /// Say something in which keys stand by the names of their lines: `{undo} takes it back`.
    pub fn hint(&mut self, text: &str) {
        let text = self.keys.fill(text);
        self.say(text);
    }

    /// Say that something went wrong.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: true });
    }

    /// Turns that are gold for a question: marked by hand, or the data set's.
    pub fn gold_turns(&self, question: &str) -> Vec<usize> {
        let Some(conversation) = &self.conversation else { return Vec::new() };
        match self.marks.get(question) {
            Some(ids) => {
                let mut turns: Vec<usize> = ids.iter().filter_map(|id| conversation.turn_by_id(id)).collect();
                turns.sort_unstable();
                turns
            }
            None => conversation
                .questions
                .iter()
                .find(|known| known.text.trim() == question)
                .map(|known| known.gold.clone())
                .unwrap_or_default(),
        }
    }

    /// True while a question is scored, or A, a passage or many questions are computed.
    pub fn is_busy(&self) -> bool {
        self.running
            || self.pinned.as_ref().is_some_and(|pinned| pinned.is_computing(self))
            || self.inspecting.is_some()
            || self.contrast.as_ref().is_some_and(|known| known.running)
            || self.sweep_all.as_ref().is_some_and(|all| all.running)
    }

    /// Why a knob of the cross-encoder has no effect; `None` when it has.
    pub fn no_cross_encoder(&self) -> Option<&str> {
        self.trace.as_ref().filter(|trace| trace.scored.ce.scored() == 0).and_then(|trace| trace.scored.ce.trouble())
    }
}

/// A one-line text area with this text and the cursor at its end.
pub fn line(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(vec![text.to_owned()]);
    area.set_cursor_line_style(ratatui::style::Style::new());
    area.move_cursor(ratatui_textarea::CursorMove::End);
    area
}

/// What stands in a one-line text area.
pub fn text_of(area: &TextArea<'_>) -> String {
    area.lines().join(" ")
}
