//! The oracle's overlay: for which questions and rules the engine plans, and what its keys do. Draws nothing.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::model::{Mode, Model};
use super::sweep::questions_with_gold;
use super::update::Effect;
use crate::engine::{Job, OracleAsk};
use crate::eval::oracle::{Oracle, Plan, Rules};
use crate::settings::{Settings, TermEdits};

/// How many hits a search may return, as `h` steps through them.
const LIMITS: [Option<u32>; 5] = [None, Some(270), Some(100), Some(30), Some(10)];

/// What was asked of the engine, and what came.
#[derive(Debug, Clone)]
pub struct Planned {
    /// By question; `None` while the engine is at it.
    pub plans: Option<Vec<Plan>>,
    of: OracleAsk,
}

impl Planned {
    /// The rules under which it was planned.
    pub fn rules(&self) -> Rules {
        self.of.rules
    }

    /// The plan of a question.
    pub fn plan(&self, question: &str) -> Option<&Plan> {
        let at = self.of.questions.iter().position(|(text, _)| text == question)?;
        self.plans.as_ref()?.get(at)
    }

    /// All plans added up.
    pub fn totals(&self) -> Option<Oracle> {
        let mut totals = Oracle::default();
        self.plans.as_ref()?.iter().for_each(|plan| totals.add(plan));
        Some(totals)
    }
}

/// Open it for the questions of the conversation with gold.
pub fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.replayed {
        model.fail("the oracle needs the database: a trace holds one question");
        return;
    }
    if questions_with_gold(model).is_empty() {
        model.fail(
            model.keys.fill("the oracle needs gold: choose a question of the set, or mark a passage with {mark}"),
        );
        return;
    }
    let rules = model.oracle.as_ref().map(Planned::rules).unwrap_or_default();
    plan(model, rules, effects);
    model.mode = Mode::Oracle(0);
}

/// Have the engine plan, unless it has.
fn plan(model: &mut Model, rules: Rules, effects: &mut Vec<Effect>) {
    let Some(conversation) = model.conversation.clone() else { return };
    // Terms are edited for one question.
    let settings = Settings { terms: TermEdits::default(), ..model.settings.clone() };
    let questions = questions_with_gold(model);
    let known = model.oracle.as_ref().is_some_and(|planned| {
        let of = &planned.of;
        Arc::ptr_eq(&of.conversation, &conversation)
            && (&of.questions, &of.settings, of.rules) == (&questions, &settings, rules)
    });
    if known {
        return;
    }
    model.sweeps += 1;
    let of = OracleAsk { number: model.sweeps, conversation, questions, settings, rules };
    effects.push(Effect::Send(Job::Oracle(of.clone())));
    model.oracle = Some(Planned { plans: None, of });
}

/// What the engine found; dropped when something else was asked since.
pub fn planned(model: &mut Model, number: u64, plans: Vec<Plan>) {
    if let Some(planned) = model.oracle.as_mut().filter(|planned| planned.of.number == number) {
        planned.plans = Some(plans);
    }
}

/// A key while it is open; false where it only scrolls.
pub fn key(model: &mut Model, event: &KeyEvent, effects: &mut Vec<Effect>) -> bool {
    let Some(mut rules) = model.oracle.as_ref().map(Planned::rules) else { return false };
    match event.code {
        KeyCode::Char('a') => rules.any = !rules.any,
        KeyCode::Char('h') => {
            let at = LIMITS.iter().position(|limit| *limit == rules.hits).unwrap_or(0);
            rules.hits = LIMITS.get((at + 1) % LIMITS.len()).copied().flatten();
        }
        _ => return false,
    }
    plan(model, rules, effects);
    true
}
