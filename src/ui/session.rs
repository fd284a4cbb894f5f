//! The model with its engine: what comes in is taken, jobs go to the engine, files are written. Knows no terminal; what
//! only a terminal can do is handed back.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::export::export;
use super::journal::{self, Journal};
use super::model::{Model, Start};
use super::update::{Effect, Input, update};
use crate::engine::{Engine, EngineOptions, Event, Job, ModelState, Replay};
use crate::trace::Trace;

/// Where the answers come from.
pub enum Source {
    /// A database, with models.
    Database(Box<EngineOptions>),
    /// One trace from a file.
    Trace {
        /// The trace.
        trace: Box<Trace>,
        /// Fingerprint of the database that it was made from.
        fingerprint: String,
    },
}

/// What jobs are sent to.
enum Answers {
    Engine(Engine),
    Replay(Replay),
}

impl Answers {
    fn send(&self, job: Job) {
        journal::job(&job);
        match self {
            Self::Engine(engine) => engine.send(job),
            Self::Replay(replay) => replay.send(&job),
        }
    }
}

/// A model and what answers it.
pub struct Session {
    /// What the screen shows.
    pub model: Model,
    inputs: Sender<Input>,
    inbox: Receiver<Input>,
    /// True while a database or a conversation is read.
    opening: bool,
    // Last, so that nobody talks to a session that is gone.
    answers: Answers,
}

impl Session {
    /// Start the engine and open the database.
    ///
    /// # Errors
    /// When the engine's thread cannot be had.
    pub fn start(start: &Start, source: Source) -> anyhow::Result<Self> {
        let (inputs, inbox) = channel();
        let engine_inputs = inputs.clone();
        // The receiver outlives the engine; when it is gone nobody listens any more.
        let heard = Journal::default();
        let say = move |event| {
            heard.event(&event);
            drop(engine_inputs.send(Input::Engine(event)));
        };
        let answers = match source {
            Source::Database(options) => Answers::Engine(Engine::start(*options, say)?),
            Source::Trace { trace, fingerprint } => Answers::Replay(Replay::new(&trace, fingerprint, say)),
        };
        answers.send(Job::Open(start.database.clone()));
        if start.follow {
            answers.send(Job::Follow(true));
        }
        Ok(Self { model: Model::new(start), inputs, inbox, opening: true, answers })
    }

    /// Where others put what comes in: keys, the mouse.
    pub fn inputs(&self) -> Sender<Input> {
        self.inputs.clone()
    }

    /// What has come in, after waiting for the first of it, so long at most; nothing when the time is over. Of several
    /// results of one question only the last is worth a frame.
    pub fn wait(&mut self, most: Option<Duration>) -> Vec<Input> {
        let first = match most {
            None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(most) => self.inbox.recv_timeout(most),
        };
        let Ok(first) = first else { return Vec::new() };
        let mut waiting = vec![first];
        waiting.extend(self.inbox.try_iter());
        let is_scored = |input: &Input| matches!(input, Input::Engine(Event::Scored { .. }));
        let last = waiting.iter().rposition(is_scored);
        let mut at = 0;
        waiting.retain(|input| {
            at += 1;
            !is_scored(input) || Some(at - 1) == last
        });
        waiting
    }

    /// Take something in and do what follows from it. What only a terminal can do comes back: [`Effect::Copy`],
    /// [`Effect::Mouse`], [`Effect::Suspend`], [`Effect::Quit`].
    pub fn take(&mut self, input: Input) -> Vec<Effect> {
        if matches!(
            &input,
            Input::Engine(
                Event::Opened { .. } | Event::Outlined { .. } | Event::Marks(_) | Event::Failed(_) | Event::Broken(_)
            )
        ) {
            self.opening = false;
        }
        let effects = update(&mut self.model, input);
        self.carry_out(effects)
    }

    /// Do what effects say, as far as it needs no terminal; the others come back.
    pub fn carry_out(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let model = &mut self.model;
        let mut left = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send(job) => {
                    self.opening |= matches!(job, Job::Open(_) | Job::OpenMapped(..) | Job::Outline(_) | Job::Load(_));
                    self.answers.send(job);
                }
                Effect::Export { path, overwrite } => match export(model, &path, overwrite) {
                    Ok(words) => {
                        journal::info(&words);
                        model.say(words);
                    }
                    Err(words) => {
                        journal::error(&words);
                        model.fail(words);
                    }
                },
                Effect::SavePin(name) => match model.pins.save(&name) {
                    Ok(notice) => notice.into_iter().for_each(|notice| model.fail(notice)),
                    Err(error) => model.fail(format!("pin '{name}' stays until the program ends only: {error}")),
                },
                Effect::Copy(_) | Effect::Mouse(_) | Effect::Suspend | Effect::Quit => left.push(effect),
            }
        }
        left
    }

    /// True while the engine is expected to say more.
    pub fn is_busy(&self) -> bool {
        let models = &self.model.models;
        let loading = models.is_empty() || models.iter().any(|status| status.state == ModelState::Loading);
        self.opening || self.model.is_busy() || (loading && matches!(self.answers, Answers::Engine(_)))
    }

    /// Take in what the engine says until nothing is at work any more; false when it still is after this time. Effects
    /// for a terminal, and other inputs than the engine's, are dropped.
    pub fn settle(&mut self, most: Duration) -> bool {
        let began = Instant::now();
        while self.is_busy() {
            let Some(left) = most.checked_sub(began.elapsed()) else { return false };
            for input in self.wait(Some(left)) {
                if matches!(input, Input::Engine(_)) {
                    self.take(input);
                }
            }
        }
        true
    }
}
