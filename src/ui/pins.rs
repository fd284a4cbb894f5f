//! Pins with names at the keyboard: keeping, listing, loading and deleting them. Writes nothing itself.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::knob;
use super::model::{Mode, Model};
use super::picker::{Picker, PickerKind};
use super::pin::Pinned;
use super::update::Effect;
use crate::explain::advice::knob_name;
use crate::explain::compare::differing;
use crate::settings::Settings;
use crate::store::clean::clean_line;

/// Longest name, in characters.
const LONGEST: usize = 40;

/// Keep the knobs as they stand under a name.
pub fn keep(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    let name = clean_line(name, &mut 0).trim().to_owned();
    if name.is_empty() {
        model.fail("pin needs a name: :pin small-budget keeps the knobs under it; c pins them as A without one");
        return;
    }
    if name.chars().count() > LONGEST {
        model.fail(format!("the name is too long: take at most {LONGEST} characters"));
        return;
    }
    let replaced = model.pins.set(&name, &model.settings);
    let terms = if model.settings.terms.is_empty() { "" } else { "; edited terms stay with their question" };
    let how = if replaced { "replaced what was kept as" } else { "kept as" };
    model.say(format!("{how} '{name}': :pins lists it{terms}"));
    effects.push(Effect::SavePin(name));
}

/// The settings of a pin for the question on the screen, whose edited terms stay.
fn settings(model: &mut Model, name: &str) -> Option<Settings> {
    let pin = model.pins.get(name)?;
    if let Some(trouble) = pin.trouble {
        model.fail(trouble);
    }
    Some(Settings { terms: model.settings.terms.clone(), ..pin.settings })
}

/// Make a pin A.
pub fn load_as_a(model: &mut Model, name: &str) {
    let Some(settings) = settings(model, name) else { return };
    model.pinned = Some(Pinned::new(settings, Some(name.to_owned())));
    if model.message.is_none() {
        model.say(format!("'{name}' is A: 7 compares, x swaps"));
    }
}

/// Turn the knobs to a pin.
pub fn load_as_b(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    let Some(settings) = settings(model, name) else { return };
    if settings == model.settings {
        model.say(format!("the knobs stand as in '{name}' already"));
        return;
    }
    knob::change(model, settings, effects);
    if model.message.is_none() {
        model.say(format!("knobs as in '{name}': {} takes it back", model.keys.first("undo")));
    }
}

/// A key while the list of pins is open, where it means something there; false where it only moves or narrows.
pub fn key(model: &mut Model, picker: &Picker, event: &KeyEvent, effects: &mut Vec<Effect>) -> bool {
    if picker.kind != PickerKind::Pins {
        return false;
    }
    let Some(name) = picker.chosen().map(|item| item.value.clone()) else { return false };
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Enter => {
            model.mode = Mode::Normal;
            load_as_a(model, &name);
        }
        KeyCode::Tab => {
            model.mode = Mode::Normal;
            load_as_b(model, &name, effects);
        }
        KeyCode::Delete => delete(model, picker, &name, effects),
        KeyCode::Char('x') if control => delete(model, picker, &name, effects),
        _ => return false,
    }
    true
}

/// Delete a pin, when the key is pressed twice.
fn delete(model: &mut Model, picker: &Picker, name: &str, effects: &mut Vec<Effect>) {
    let mut picker = picker.clone();
    if picker.doomed.as_deref() != Some(name) {
        picker.doomed = Some(name.to_owned());
        model.mode = Mode::Picker(picker);
        return;
    }
    model.pins.remove(name);
    effects.push(Effect::SavePin(name.to_owned()));
    model.say(format!("pin '{name}' is deleted"));
    let (at, typed) = (picker.at, super::model::text_of(&model.prompt));
    let mut left = Picker::pins(model);
    left.narrow(&typed);
    left.at = at.min(left.shown.len().saturating_sub(1));
    model.mode = if left.items.is_empty() { Mode::Normal } else { Mode::Picker(left) };
}

/// How settings differ from the defaults, in one line: `fusion z, α 0.1, budget 850`.
pub fn differences(settings: &Settings) -> String {
    let parts: Vec<String> = differing(&Settings::default(), settings)
        .into_iter()
        .map(|(knob, _, value)| format!("{} {value}", knob_name(knob)))
        .collect();
    if parts.is_empty() { "all knobs at their defaults".to_owned() } else { parts.join(", ") }
}
