//! Report: the outcomes of many questions under one or several settings, and what they come to together. Knows outcomes;
//! asks nothing and prints nothing.

use std::collections::BTreeMap;

use serde::Serialize;

use super::evidence::Evidence;
use super::figure::Figure;
use super::outcome::{Loss, Outcome};
use super::tune::Tuned;
use crate::history::Question;
use crate::settings::{KNOBS, Settings};
use crate::truncate::FateKind;

/// Seed of the bootstrap, so that the same questions give the same intervals.
pub const SEED: u64 = 1;

/// A setting under which all questions are asked.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// `A` for the first, then `B`, `C` …
    pub name: String,
    /// Its knobs.
    pub settings: Settings,
}

impl System {
    /// The one at a place of the list.
    pub fn new(at: usize, settings: Settings) -> Self {
        Self { name: Self::letter(at), settings }
    }

    /// The name of the one at a place of the list.
    pub fn letter(at: usize) -> String {
        let letter = u8::try_from(at).ok().filter(|at| *at < 26).map(|at| char::from(b'A' + at));
        letter.map_or_else(|| format!("S{}", at + 1), String::from)
    }

    /// The knobs that differ from those of other settings, with their values.
    pub fn changed(&self, from: &Settings) -> BTreeMap<&'static str, String> {
        let differing = KNOBS.iter().filter(|knob| (knob.get)(&self.settings) != (knob.get)(from));
        differing.map(|knob| (knob.name, (knob.get)(&self.settings).to_string())).collect()
    }
}

/// One question with its outcome under every system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Number of its conversation.
    pub conversation: usize,
    /// Its id, unique in the conversation.
    pub id: String,
    /// The question.
    pub text: String,
    /// The source's category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// By system.
    pub outcomes: Vec<Outcome>,
}

impl Record {
    /// One that was not asked yet.
    fn new(conversation: usize, question: &Question) -> Self {
        Self {
            conversation,
            id: question.id.clone(),
            text: question.text.trim().to_owned(),
            category: question.category.clone(),
            outcomes: Vec::new(),
        }
    }
}

/// The outcomes of many questions.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The settings.
    pub systems: Vec<System>,
    /// Ids of the conversations, by number.
    pub conversations: Vec<String>,
    /// The questions.
    pub records: Vec<Record>,
    /// What their gold is worth, and what was left out for want of it.
    pub evidence: Evidence,
    /// Knobs chosen on other conversations.
    pub tuned: Vec<Tuned>,
}

/// A figure of one system.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Value {
    /// Over all questions.
    pub value: f64,
    /// Lower end of its 95 % interval; `None` with one conversation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// Gold passages, and questions that lost some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Lost {
    /// Gold passages.
    pub passages: u32,
    /// Questions whose first loss it is, in the order of the pipeline.
    pub questions: u32,
}

impl Report {
    /// The conversation of the next questions, and those questions, not asked yet.
    pub fn add<'a>(&mut self, conversation: &str, questions: impl Iterator<Item = &'a Question>) {
        let number = self.conversations.len();
        self.conversations.push(conversation.to_owned());
        self.records.extend(questions.map(|question| Record::new(number, question)));
    }

    /// What was measured, by question and system.
    pub fn fill(&mut self, outcomes: Vec<Vec<Option<Outcome>>>) {
        for (record, outcomes) in self.records.iter_mut().zip(outcomes) {
            record.outcomes = outcomes.into_iter().flatten().collect();
        }
    }

    /// The outcomes of one system for the questions that a test keeps.
    pub fn outcomes<'a>(&'a self, system: usize, keeps: impl Fn(&Record) -> bool + 'a) -> Vec<&'a Outcome> {
        self.records.iter().filter(|one| keeps(one)).filter_map(|one| one.outcomes.get(system)).collect()
    }

    /// The conversation of every question.
    fn owners(&self) -> Vec<usize> {
        self.records.iter().map(|one| one.conversation).collect()
    }

    /// A figure of one system with its interval; `None` when it was not measured.
    pub fn value(&self, system: usize, figure: Figure) -> Option<Value> {
        let outcomes = self.outcomes(system, |_| true);
        let value = figure.over(outcomes.iter().copied())?;
        let found = figure.interval(&outcomes, &self.owners(), SEED);
        Some(Value { value, low: found.map(|one| one.low), high: found.map(|one| one.high) })
    }

    /// How much better another system is than the first one.
    pub fn difference(&self, system: usize, figure: Figure) -> Option<super::bootstrap::Interval> {
        let (first, other) = (self.outcomes(0, |_| true), self.outcomes(system, |_| true));
        figure.difference(&other, &first, &self.owners(), SEED)
    }

    /// Where one system lost gold; empty when its order was not measured.
    pub fn losses(&self, system: usize) -> BTreeMap<Loss, Lost> {
        let mut losses: BTreeMap<Loss, Lost> = BTreeMap::new();
        for outcome in self.outcomes(system, |_| true) {
            for loss in Loss::ALL {
                let passages = outcome.order.as_ref().map_or(0, |order| order.lost(loss));
                let questions = u32::from(outcome.first_loss() == Some(loss));
                if passages > 0 || questions > 0 {
                    let sum = losses.entry(loss).or_default();
                    sum.passages += passages;
                    sum.questions += questions;
                }
            }
        }
        losses
    }

    /// Gold passages of one system by fate.
    pub fn fates(&self, system: usize) -> BTreeMap<FateKind, u32> {
        let mut fates = BTreeMap::new();
        for order in self.outcomes(system, |_| true).iter().filter_map(|outcome| outcome.order.as_ref()) {
            for (kind, count) in &order.fates {
                *fates.entry(*kind).or_default() += count;
            }
        }
        fates
    }

    /// Why the order of a system was not measured; `None` when it was.
    pub fn not_measured(&self, system: usize) -> Option<&'static str> {
        self.outcomes(system, |_| true).iter().find_map(|outcome| outcome.not_measured).map(|why| why.words())
    }

    /// The categories that occur, in order; `none` stands for questions without one.
    pub fn categories(&self) -> Vec<String> {
        let mut names: Vec<String> = self.records.iter().map(|one| category(one).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The category of a question in words.
pub fn category(record: &Record) -> &str {
    record.category.as_deref().unwrap_or("none")
}
