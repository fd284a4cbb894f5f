//! The tour: three steps that show on the question on the screen what the program is for. Knows what to say and which knob
//! loses a gold passage; every other key works as ever while it is there.

use std::sync::Arc;

use ratatui::crossterm::event::KeyCode;

use super::model::Model;
use super::pane::Pane;
use super::update::{Effect, ask};
use super::{knob, select};
use crate::explain::fate::{id_of, sentence};
use crate::settings::Settings;
use crate::trace::Trace;

/// How many steps there are.
pub const STEPS: usize = 3;

/// Where the tour stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Tour {
    /// The step, from 1.
    pub step: usize,
    /// A question whose gold is kept, for step 2 when that of step 1 has none to lose.
    question: Option<String>,
    /// What step 2 did, once it did.
    fall: Option<Fall>,
    /// The question that step 2 looked at, by its number.
    looked: Option<u64>,
    /// The settings before it.
    before: Option<Settings>,
}

/// A turn of one knob that loses a gold passage.
#[derive(Debug, Clone, PartialEq)]
struct Fall {
    passage: u32,
    knob: &'static str,
    from: String,
    to: Settings,
}

impl Tour {
    /// The first step. `question` is asked for the second one when the present question has no gold to lose.
    pub fn new(question: Option<String>) -> Self {
        Self { step: 1, question, fall: None, looked: None, before: None }
    }
}

/// Begin from the first step.
pub fn begin(model: &mut Model) {
    model.tour = Some(Tour::new(None));
}

/// Take the keys of the tour: Space goes on, Esc ends it. False for every other key.
pub fn key(model: &mut Model, code: KeyCode, effects: &mut Vec<Effect>) -> bool {
    let Some(tour) = &mut model.tour else { return false };
    match code {
        KeyCode::Char(' ') if tour.step < STEPS => {
            tour.step += 1;
            if tour.step == 2 {
                lose(model, effects);
            } else {
                model.focus = Pane::Why;
            }
            true
        }
        KeyCode::Char(' ') => {
            end(model, effects);
            true
        }
        KeyCode::Esc => {
            end(model, effects);
            model.say("the tour is over; :tour begins it again");
            true
        }
        _ => false,
    }
}

/// What the engine said since may let step 2 go on.
pub fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    let waits = |tour: &Tour| tour.step == 2 && tour.fall.is_none() && tour.looked != Some(model.generation);
    if model.tour.as_ref().is_some_and(waits) {
        lose(model, effects);
    }
}

/// Turn the knob that loses a gold passage, and select it. Asks another question first where this one has none to lose.
fn lose(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(trace) = model.trace.as_ref().filter(|_| !model.running) else { return };
    let found = fall(trace);
    let Some(tour) = &mut model.tour else { return };
    tour.looked = Some(model.generation);
    let Some(found) = found else {
        if let Some(question) = tour.question.take() {
            ask(model, &question, effects);
        }
        return;
    };
    tour.before = Some(model.settings.clone());
    tour.fall = Some(found.clone());
    knob::change(model, found.to, effects);
    model.focus = Pane::Fused;
    select::choose(model, found.passage);
}

/// The smallest step of α that drops a kept gold passage, or of the budget where α has no effect.
fn fall(trace: &Trace) -> Option<Fall> {
    let kept: Vec<u32> = trace.scored.gold.iter().copied().filter(|gold| trace.fate(*gold).is_kept()).collect();
    if kept.is_empty() {
        return None;
    }
    let now = &trace.settings;
    let lost = |settings: &Settings| {
        let after = Trace::new(Arc::clone(&trace.scored), settings.clone());
        kept.iter().copied().find(|gold| !after.fate(*gold).is_kept())
    };
    let alpha = (1..=100).map(|percent| f64::from(percent) / 100.0).filter(|alpha| *alpha > now.alpha);
    let by_alpha = alpha.map(|alpha| Settings { alpha, ..now.clone() });
    let fall = |knob, from: String, to: Settings| lost(&to).map(|passage| Fall { passage, knob, from, to });
    let mut steps = by_alpha.filter_map(|to| fall("α", format!("{:.3}", now.alpha), to));
    let budget = |step: u32| now.budget.checked_sub(50 * step).filter(|budget| *budget > 0);
    let by_budget = (1..).map_while(budget).map(|budget| Settings { budget, ..now.clone() });
    let found = steps.next();
    found.or_else(|| by_budget.filter_map(|to| fall("the budget", now.budget.to_string(), to)).next())
}

/// End it, with the settings as they were before step 2.
fn end(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(tour) = model.tour.take() else { return };
    // What the user did since stays.
    if let (Some(before), Some(fall)) = (tour.before, tour.fall)
        && model.settings == fall.to
    {
        knob::change(model, before, effects);
    }
    model.focus = Pane::Fused;
}

/// What the step says.
pub fn words(model: &Model) -> String {
    let Some(tour) = &model.tour else { return String::new() };
    let star = model.theme.glyphs.gold;
    let Some(trace) = &model.trace else {
        return "The question goes through the whole pipeline; the tour goes on as soon as there is an order."
            .to_owned();
    };
    let gold = trace.gold();
    match tour.step {
        1 => {
            let fate = if gold.total == 0 {
                model.keys.fill("no passage is known to hold the answer: {mark} marks one")
            } else {
                format!(
                    "of {} passages that hold the answer ({star}) {} {} found and {} kept",
                    gold.total,
                    gold.candidates,
                    if gold.candidates == 1 { "was" } else { "were" },
                    gold.kept
                )
            };
            format!(
                "{} of {} turns matched the words of the question. Two models ranked them, and what stands above the cut \
                 in Fused goes to the agent: {fate}.",
                trace.cut.rows.len(),
                trace.scored.passages.len()
            )
        }
        2 => match &tour.fall {
            Some(fall) => {
                let to = if fall.knob == "α" { format!("{:.3}", fall.to.alpha) } else { fall.to.budget.to_string() };
                let place = trace.place(fall.passage);
                format!(
                    "Here {} went from {} to {to}, and {star} {}, at place {place}, fell: it was found, it was ranked, and \
                     the agent will never see it.",
                    fall.knob,
                    fall.from,
                    id_of(trace, fall.passage)
                )
            }
            None if model.running => "A question whose answer is kept is being asked.".to_owned(),
            None => "No passage with the answer is kept here, so none can fall: ask another question, then Space."
                .to_owned(),
        },
        _ => {
            let why = model.selected.map(|passage| sentence(trace, passage)).unwrap_or_default();
            let keys = "{undo} takes the last knob back, {edit} asks another question, {help} shows all keys.";
            format!("Why says it exactly: {why}. It also says what would bring it back. {}", model.keys.fill(keys))
        }
    }
}
