//! Where importers put what they read: builds, counts and stores it. Knows the report and the database; knows no
//! format.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;

use rusqlite::Connection;

use super::super::{Branches, StoreError, read};
use super::draft::{Draft, DraftQuestion, Seen, dirty_of, free_id};
use super::evidence::Index;
use super::report::{FileReport, ImportProgress, SkippedRow};
use super::source::Source;
use super::write::{self, Outcome};
use crate::history::{Conversation, Question};

/// Why a question of a file of questions is skipped.
pub(super) const NO_CONVERSATION: &str = "its conversation is not in the database; import that first or together";

/// One file on its way into the database.
pub(super) struct Sink<'s> {
    pub source: &'s Source<'s>,
    /// How far the reader is.
    pub count: Rc<Cell<u64>>,
    pub report: FileReport,
    /// Which branches of a tree are stored.
    pub branches: Branches,
    connection: &'s Connection,
    target: &'s Path,
    progress: &'s mut dyn FnMut(ImportProgress),
    bytes_total: u64,
    changed: bool,
    stored: HashSet<String>,
    asked: HashSet<(String, String)>,
    /// The conversation that questions are being attached to.
    loaded: Option<Conversation>,
}

impl<'s> Sink<'s> {
    pub fn new(
        source: &'s Source<'s>,
        connection: &'s Connection,
        target: &'s Path,
        progress: &'s mut dyn FnMut(ImportProgress),
    ) -> Result<Self, StoreError> {
        Ok(Self {
            source,
            count: Rc::default(),
            branches: Branches::Active,
            report: FileReport { file: source.name.clone(), ..Default::default() },
            connection,
            target,
            progress,
            bytes_total: source.bytes()?,
            changed: false,
            stored: HashSet::new(),
            asked: HashSet::new(),
            loaded: None,
        })
    }

    /// Tell how far it is.
    pub fn tick(&mut self) {
        (self.progress)(ImportProgress {
            file: self.source.name.clone(),
            bytes_read: self.count.get().min(self.bytes_total),
            bytes_total: self.bytes_total,
            conversations: self.report.conversations,
            turns: self.report.turns,
        });
    }

    /// Leave a row out and say why.
    pub fn skip(&mut self, row: String, reason: &str) {
        self.report.skipped.push(SkippedRow { row, reason: reason.to_owned() });
    }

    /// Store a conversation.
    pub fn conversation(&mut self, draft: Draft) -> Result<(), StoreError> {
        let mut seen = Seen::default();
        let talk = draft.build(&self.source.name, &mut seen)?;
        if talk.turns.is_empty() {
            self.skip(format!("conversation '{}'", talk.id), "it has no turns");
            return Ok(());
        }
        if !self.stored.insert(talk.id.clone()) {
            return Err(StoreError::DuplicateConversation { file: self.source.name.clone(), conversation: talk.id });
        }
        match write::put(self.connection, &talk).map_err(|cause| self.failed(&cause))? {
            Outcome::Same => {}
            Outcome::New => self.changed = true,
            Outcome::Replaced => {
                self.changed = true;
                self.report.replaced.push(talk.id.clone());
            }
        }
        self.report.conversations += 1;
        self.report.sessions += talk.sessions.len();
        self.report.turns += talk.turns.len();
        for question in &talk.questions {
            self.count_question(&talk.id, question);
        }
        self.count_seen(&seen);
        self.tick();
        Ok(())
    }

    /// Store a question of a conversation that the database has. The same question, by its id or else its text, is
    /// replaced. `row` names it when it must be skipped.
    pub fn question(&mut self, conversation: &str, draft: DraftQuestion, row: String) -> Result<(), StoreError> {
        let Some(mut talk) = self.take_loaded(conversation)? else {
            self.skip(row, NO_CONVERSATION);
            return Ok(());
        };
        let text = super::super::clean::clean(draft.text.trim()).into_owned();
        let known = |id: &str| talk.questions.iter().any(|question| question.id == id);
        let id = draft.id.clone().or_else(|| {
            let same = talk.questions.iter().find(|question| question.text == text);
            same.map(|question| question.id.clone())
        });
        let id = id.unwrap_or_else(|| free_id(talk.questions.len() + 1, known));
        let mut seen = Seen::default();
        let question =
            draft.build(super::super::clean::clean_line(&id, &mut 0).into_owned(), &Index::new(&talk), &mut seen);
        if !self.asked.insert((talk.id.clone(), question.id.clone())) {
            let file = self.source.name.clone();
            return Err(StoreError::DuplicateQuestion { file, conversation: talk.id, id: question.id });
        }
        self.changed |= write::attach(self.connection, &talk, &question).map_err(|cause| self.failed(&cause))?;
        self.count_question(&talk.id, &question);
        self.count_seen(&seen);
        match talk.questions.iter_mut().find(|known| known.id == question.id) {
            Some(known) => *known = question,
            None => talk.questions.push(question),
        }
        self.loaded = Some(talk);
        Ok(())
    }

    /// Ids of the conversations that have a question of this text.
    pub fn asking(&self, text: &str) -> Result<Vec<String>, StoreError> {
        let text = super::super::clean::clean(text.trim());
        read::asking(self.connection, &text).map_err(|cause| self.failed(&cause))
    }

    /// What the database holds of a conversation.
    pub fn load(&mut self, conversation: &str) -> Result<Option<&Conversation>, StoreError> {
        self.loaded = self.take_loaded(conversation)?;
        Ok(self.loaded.as_ref())
    }

    /// The report, and whether anything was written.
    pub fn finish(mut self) -> (FileReport, bool) {
        self.count.set(self.bytes_total);
        self.tick();
        self.report.unchanged = !self.changed;
        (self.report, self.changed)
    }

    fn take_loaded(&mut self, conversation: &str) -> Result<Option<Conversation>, StoreError> {
        let id = super::super::clean::clean_line(conversation, &mut 0);
        if self.loaded.as_ref().is_some_and(|talk| talk.id == id) {
            return Ok(self.loaded.take());
        }
        read::conversation(self.connection, &id).map_err(|cause| self.failed(&cause))
    }

    fn failed(&self, cause: &rusqlite::Error) -> StoreError {
        super::super::open::explain(self.target, self.connection, cause)
    }

    fn count_question(&mut self, conversation: &str, question: &Question) {
        self.report.questions += 1;
        self.report.evidence.dirty.extend(dirty_of(conversation, question));
    }

    fn count_seen(&mut self, seen: &Seen) {
        self.report.evidence.total += seen.references;
        self.report.evidence.good += seen.good;
        self.report.unread_times += seen.unread_times;
        self.report.made_visible += seen.made_visible;
    }
}
