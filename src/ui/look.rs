//! Trying themes on: the one under the cursor of the list is on the screen at once, and goes again with the list. Knows the
//! list and the themes; draws nothing.

use super::model::{Mode, Model};
use super::picker::PickerKind;

/// Take the theme of this name, and say what does not apply of it; or say why there is none.
pub fn take(model: &mut Model, name: &str) {
    match model.themes.named(name, model.theme.glyphs) {
        Ok((theme, warnings)) => {
            model.theme = theme;
            match warnings.as_slice() {
                [] => {}
                [only] => model.fail(only.clone()),
                [first, ..] => model.fail(format!("{first}; 'memsift doctor' lists all")),
            }
        }
        Err(sentence) => model.fail(sentence),
    }
}

/// Keep the theme that is tried on.
pub fn keep(model: &mut Model, name: &str) {
    model.theme_before = None;
    take(model, name);
    if model.message.is_none() {
        model.say(format!("theme {name}; the line 'theme = \"{name}\"' in the configuration keeps it"));
    }
}

/// After everything that came in: have the theme under the cursor on, or the one from before.
pub fn settle(model: &mut Model) {
    let wanted = match &model.mode {
        Mode::Picker(picker) if picker.kind == PickerKind::Themes => picker.chosen().map(|item| item.value.clone()),
        _ => {
            if let Some(before) = model.theme_before.take() {
                model.theme = before;
            }
            return;
        }
    };
    let before = model.theme_before.get_or_insert_with(|| model.theme.clone());
    match wanted {
        Some(name) if name == before.name => model.theme = before.clone(),
        // Every time, because each key takes away what was said before.
        Some(name) => take(model, &name),
        None => model.theme = before.clone(),
    }
}
