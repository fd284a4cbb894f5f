//! The questions on which A and B differ most: what the engine is asked for, what came in, and the list of them. Draws
//! nothing.

use std::sync::Arc;

use super::model::{Mode, Model};
use super::picker::Picker;
use super::sweep::questions_with_gold;
use super::update::{Effect, pick};
use crate::engine::{ContrastAsk, Contrasted, Job};
use crate::settings::{Settings, TermEdits};
use crate::trace::GoldCounts;

/// A and B over all questions with gold, as far as it is.
#[derive(Debug, Clone)]
pub struct Contrast {
    /// What came in, in the order of the questions.
    pub rows: Vec<Contrasted>,
    /// Questions in all.
    pub total: usize,
    /// True while the engine is at it.
    pub running: bool,
    of: ContrastAsk,
}

impl Contrast {
    /// Questions on which B keeps another share of the gold than A, the farthest first; of equal ones the first.
    pub fn worst(&self) -> Vec<(&str, &Contrasted)> {
        let mut rows: Vec<(&str, &Contrasted)> = self
            .rows
            .iter()
            .filter(|row| row.change() != 0.0)
            .filter_map(|row| Some((self.of.questions.get(row.question)?.0.as_str(), row)))
            .collect();
        rows.sort_by(|(_, one), (_, other)| other.change().abs().total_cmp(&one.change().abs()));
        rows
    }

    /// Gold kept by A and by B over all of them, and how many questions gain and lose.
    pub fn totals(&self) -> (GoldCounts, GoldCounts, usize, usize) {
        let sum = |of: fn(&Contrasted) -> GoldCounts| {
            self.rows.iter().map(of).fold(GoldCounts::default(), |all, one| GoldCounts {
                total: all.total + one.total,
                matched: all.matched + one.matched,
                candidates: all.candidates + one.candidates,
                kept: all.kept + one.kept,
            })
        };
        let count = |test: fn(f64) -> bool| self.rows.iter().filter(|row| test(row.change())).count();
        (sum(|row| row.a), sum(|row| row.b), count(|change| change > 0.0), count(|change| change < 0.0))
    }
}

/// Open the list, or have the engine make it.
pub fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(a) = model.pinned.as_ref().map(|pinned| pinned.settings.clone()) else {
        model.fail(
            model.keys.fill("worst compares A with the knobs as they stand: pin A first with {pin}, then turn a knob"),
        );
        return;
    };
    let Some(conversation) = model.conversation.clone() else {
        model.say("there is no conversation yet");
        return;
    };
    // Terms are edited for one question.
    let plain = |settings: &Settings| Settings { terms: TermEdits::default(), ..settings.clone() };
    let (a, b) = (plain(&a), plain(&model.settings));
    let questions = questions_with_gold(model);
    if a == b {
        model.say("A and B are the same: turn a knob first");
        return;
    }
    if questions.is_empty() {
        model.fail(model.keys.fill("no question of this conversation has gold: mark a passage with {mark}"));
        return;
    }
    let number = model.sweeps + 1;
    let of = ContrastAsk { number, conversation, questions, a, b };
    match &model.contrast {
        Some(known) if known.of.is(&of) && !known.running && known.rows.len() == known.total => return show(model),
        Some(known) if known.of.is(&of) && known.running => {
            let done = known.rows.len();
            model.say(format!("A and B are compared: {done} of {} questions so far", known.total));
            return;
        }
        _ => {}
    }
    model.sweeps = number;
    let total = of.questions.len();
    effects.push(Effect::Send(Job::Contrast(of.clone())));
    // The engine does one of both at a time.
    if let Some(all) = model.sweep_all.as_mut() {
        all.running = false;
    }
    model.contrast = Some(Contrast { rows: Vec::new(), total, running: true, of });
    model.say(format!("comparing A and B on {total} questions with gold: the list opens when they are done"));
}

/// A question more is compared.
pub fn contrasted(model: &mut Model, number: u64, row: Option<Contrasted>, (done, total): (usize, usize)) {
    let Some(known) = model.contrast.as_mut().filter(|known| known.of.number == number && known.running) else {
        return;
    };
    known.rows.extend(row);
    known.running = done < total;
    if !known.running && model.mode == Mode::Normal {
        show(model);
        // The farthest first; opened again, the list stands at the question that was asked from it.
        if let Mode::Picker(picker) = &mut model.mode {
            picker.at = 0;
        }
    }
}

/// Stop comparing; false when nothing is compared.
pub fn stop(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let Some(known) = model.contrast.as_mut().filter(|known| known.running) else { return false };
    known.running = false;
    let (done, total) = (known.rows.len(), known.total);
    effects.push(Effect::Send(Job::StopSweep));
    model
        .say(format!("comparing stopped at {done} of {total} questions: :worst begins again, what was scored is kept"));
    true
}

fn show(model: &mut Model) {
    let Some((a, b, gain, lose)) = model.contrast.as_ref().map(Contrast::totals) else { return };
    pick(model, Picker::worst);
    model.say(format!(
        "A keeps {} of {} gold, B {} of {}; {gain} questions gain, {lose} lose",
        a.kept, a.total, b.kept, b.total
    ));
}

impl ContrastAsk {
    /// True for the same questions under the same settings.
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.conversation, &other.conversation)
            && self.questions == other.questions
            && (&self.a, &self.b) == (&other.a, &other.b)
    }
}
