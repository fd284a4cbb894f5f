//! Answers jobs from one trace, without database, models and thread: what `memsift replay` opens. Knows events and the
//! trace; computes nothing.

use std::sync::Arc;

use super::inspect::Inspection;
use super::job::{Ask, ContrastAsk, Contrasted, Event, Job, ModelState, ModelStatus, SweepAsk};
use crate::eval::sweep::{Sweep, sweep};
use crate::history::{Conversation, ConversationSummary, Question};
use crate::scored::{Ranker, Scored};
use crate::settings::Settings;
use crate::trace::Trace;

/// One trace that stands for an engine.
pub struct Replay {
    scored: Arc<Scored>,
    conversation: Arc<Conversation>,
    fingerprint: String,
    say: Box<dyn Fn(Event) + Send>,
}

impl Replay {
    /// Takes a trace and what its header says of the database.
    pub fn new(trace: &Trace, fingerprint: String, say: impl Fn(Event) + Send + 'static) -> Self {
        let scored = Arc::clone(&trace.scored);
        let passages = &scored.passages;
        let turns = scored.gold.iter().filter_map(|gold| passages.passages.get(*gold as usize));
        // The question stands in the list of the conversation, so that its gold is known there.
        let question = Question {
            id: "trace".to_owned(),
            text: scored.query.text.clone(),
            answer: None,
            category: None,
            gold: turns.map(|passage| passage.turns.start).collect(),
            evidence: Vec::new(),
            dirty: Vec::new(),
        };
        let conversation = Conversation { questions: vec![question], ..(*passages.conversation).clone() };
        Self { conversation: Arc::new(conversation), scored, fingerprint, say: Box::new(say) }
    }

    /// Answers a job at once.
    pub fn send(&self, job: &Job) {
        match job {
            Job::Open(path) => {
                for (role, ranker) in [("colbert", &self.scored.colbert), ("ce", &self.scored.ce)] {
                    self.tell_model(role, ranker);
                }
                let conversation = &self.conversation;
                let summary = ConversationSummary {
                    id: conversation.id.clone(),
                    title: conversation.title.clone(),
                    sessions: conversation.sessions.len(),
                    turns: conversation.turns.len(),
                    questions: conversation.questions.len(),
                    ..ConversationSummary::default()
                };
                (self.say)(Event::Opened {
                    path: path.clone(),
                    fingerprint: self.fingerprint.clone(),
                    notices: Vec::new(),
                    copied: None,
                    conversations: vec![summary],
                });
            }
            Job::Load(_) => {
                (self.say)(Event::Loaded(Arc::clone(&self.conversation)));
                (self.say)(Event::Marks(Vec::new()));
            }
            Job::Ask(ask) => self.ask(ask),
            Job::Inspect { generation, passage } => {
                let reason = "a trace holds no models: open the database to see what they read";
                let inspection = Inspection { matrix: Err(reason.to_owned()), pair: Err(reason.to_owned()) };
                (self.say)(Event::Inspected {
                    generation: *generation,
                    passage: *passage,
                    inspection: Arc::new(inspection),
                });
            }
            // The screen does not ask for this: without a database there are no other terms and hops.
            Job::Pinned(ask) => (self.say)(Event::Pinned { generation: ask.generation, scored: None }),
            Job::Count(text) => {
                let reason = "tokens are not counted: a trace holds no models, open the database";
                (self.say)(Event::Counted { text: text.clone(), count: Err(reason.to_owned()) });
            }
            Job::Sweep(ask) => self.sweep(ask),
            Job::Contrast(ask) => self.contrast(ask),
            // The screen does not ask for this: a trace has one question.
            Job::Oracle(ask) => (self.say)(Event::Planned { number: ask.number, plans: Vec::new() }),
            // Nor for these: a trace in a file stays as it is.
            Job::Reload | Job::Follow(_) | Job::Outline(_) | Job::Preview(_) | Job::OpenMapped(..) => {}
            Job::StopSweep | Job::Stop | Job::Resume | Job::Mark { .. } | Job::Quit => {}
        }
    }

    fn ask(&self, ask: &Ask) {
        let generation = ask.generation;
        if ask.text != self.scored.query.text {
            (self.say)(Event::Failed(format!(
                "this is a replayed trace of one question ('{}'): open the database to ask another",
                self.scored.query.text
            )));
        } else if !ask.settings.shares_scores_with(&self.scored.settings) {
            (self.say)(Event::Failed(
                "a replayed trace cannot be searched again: knobs of terms and hops need the database".to_owned(),
            ));
        } else {
            (self.say)(Event::Scored { generation, scored: Arc::clone(&self.scored) });
        }
        (self.say)(Event::Finished { generation });
    }

    /// The one question, where both settings share its terms and hops.
    fn contrast(&self, ask: &ContrastAsk) {
        let serves = |settings: &Settings| settings.shares_scores_with(&self.scored.settings);
        let total = ask.questions.len();
        let found = ask.questions.iter().position(|(text, _)| *text == self.scored.query.text);
        let row = found.filter(|_| serves(&ask.a) && serves(&ask.b)).map(|question| {
            let gold = |settings: &Settings| Trace::new(Arc::clone(&self.scored), settings.clone()).gold();
            Contrasted { question, a: gold(&ask.a), b: gold(&ask.b) }
        });
        (self.say)(Event::Contrasted { number: ask.number, done: total, total, left: None, row });
    }

    /// A trace has one question.
    fn sweep(&self, ask: &SweepAsk) {
        let mut found = Sweep::empty(ask.rows.clone(), ask.columns.clone());
        for (_, gold) in ask.questions.iter().filter(|(text, _)| *text == self.scored.query.text) {
            let gold = Arc::new(self.scored.passages.of_turns(gold));
            let scored = Arc::new(Scored { gold, ..(*self.scored).clone() });
            match sweep(&[scored], &ask.settings, ask.rows.clone(), ask.columns.clone()) {
                Ok(one) => found.add(&one),
                Err(error) => (self.say)(Event::Failed(error.to_string())),
            }
        }
        let total = ask.questions.len();
        (self.say)(Event::Swept { number: ask.number, done: total, total, left: None, found });
    }

    fn tell_model(&self, role: &'static str, ranker: &Ranker) {
        let (name, state) = match (&ranker.model, ranker.trouble()) {
            (Some(model), _) => (model.name.clone(), ModelState::Ready(0.0)),
            (None, reason) => (String::new(), ModelState::Absent(reason.unwrap_or("not in the trace").to_owned())),
        };
        (self.say)(Event::Model(ModelStatus { role, name, state }));
    }
}
