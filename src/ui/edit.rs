//! Keys while something is typed or an overlay is open: question, filter, command, weight, help, lists. Knob keys never
//! work here, so that typing is only typing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::{Mode, Model, line, text_of};
use super::pane::Pane;
use super::picker::{PickerKind, TERM_WEIGHT};
use super::update::{Effect, ask, remake};
use super::{clipboard, command, form, knob, layout, look, pin, pins, select, sweep, tokens};
use crate::engine::Job;
use crate::store::clean::clean_line;

/// Longest text that a prompt takes, in characters.
const LONGEST: usize = 4000;

/// Edit the question.
pub fn question(model: &mut Model) {
    // Typing replaces the question, moving the cursor edits it.
    model.question.select_all();
    model.mode = Mode::Question;
    model.walking = None;
}

/// Open a prompt or an overlay with a text to begin with.
pub fn open(model: &mut Model, mode: Mode, text: &str) {
    model.prompt = line(text);
    model.mode = mode;
}

/// Type the weight of the term under the cursor.
pub fn weight(model: &mut Model) {
    let weight = model.rows.term().and_then(|row| {
        let hop = model.trace.as_ref()?.scored.retrieval.hops.get(row.hop)?;
        hop.terms.get(row.term).map(|tally| tally.term.weight)
    });
    match (knob::term_name(model), weight) {
        (Some(name), Some(weight)) => {
            open(model, Mode::Weight(name), &crate::explain::fate::number(weight));
            model.prompt.select_all();
        }
        _ => model.hint("there is no term yet: ask a question with {edit}"),
    }
}

/// A key while the mode is not normal.
pub fn key(model: &mut Model, event: &KeyEvent, effects: &mut Vec<Effect>) {
    let mode = model.mode.clone();
    match (mode, event.code) {
        (Mode::Help(_), KeyCode::F(1)) => model.mode = Mode::Normal,
        (
            overlay @ (Mode::Context(_) | Mode::Compare(_) | Mode::Oracle(_) | Mode::Sweep(_) | Mode::Tokens(_)),
            KeyCode::Char(':'),
        ) => {
            open(model, Mode::Command, "");
            model.behind = Some(overlay);
        }
        (Mode::Form(form), KeyCode::Char(':')) => {
            open(model, Mode::Command, "");
            model.behind = Some(Mode::Form(form));
        }
        (Mode::Form(form), _) => form::key(model, *form, event, effects),
        (Mode::Sweep(cursor), _) => sweep::key(model, cursor, event, effects),
        (_, KeyCode::Esc) => close(model),
        (Mode::Question, KeyCode::Enter) => {
            let text = text_of(&model.question);
            model.mode = Mode::Normal;
            ask(model, &text, effects);
        }
        (Mode::Question, KeyCode::Up) => walk(model, -1),
        (Mode::Question, KeyCode::Down) => walk(model, 1),
        (Mode::Question, KeyCode::Tab) => model.mode = Mode::Normal,
        (Mode::Question, _) => type_into(&mut model.question, event),
        (Mode::Filter, KeyCode::Enter) => model.mode = Mode::Normal,
        (Mode::Filter, KeyCode::Up) => select::step_in(model, Pane::Fused, -1),
        (Mode::Filter, KeyCode::Down) => select::step_in(model, Pane::Fused, 1),
        (Mode::Filter, _) => {
            type_into(&mut model.prompt, event);
            model.rows.filter.text = text_of(&model.prompt);
            remake(model);
        }
        (Mode::Command, KeyCode::Enter) => {
            let text = text_of(&model.prompt);
            // An overlay comes back for its picture; other commands may change what it shows, so it closes.
            let overlay = model.behind.take().filter(|_| text.trim_start().starts_with("export"));
            model.mode = overlay.unwrap_or(Mode::Normal);
            command::run(model, &text, effects);
        }
        (Mode::Command, KeyCode::Tab) => {
            if let Some(full) = command::complete(&text_of(&model.prompt), &model.themes) {
                model.prompt = line(&full);
            }
        }
        (Mode::Command | Mode::Weight(_), KeyCode::Backspace) if text_of(&model.prompt).is_empty() => close(model),
        (Mode::Weight(term), KeyCode::Enter) => {
            let text = text_of(&model.prompt);
            model.mode = Mode::Normal;
            command::weight(model, &term, &text, effects);
        }
        (Mode::Command | Mode::Weight(_), _) => type_into(&mut model.prompt, event),
        (Mode::Help(at), code) => match scroll(model, code, at) {
            Some(at) => model.mode = Mode::Help(at),
            None => {
                type_into(&mut model.prompt, event);
                model.mode = Mode::Help(0);
            }
        },
        (Mode::Tokens(view), _) => tokens::key(model, view, event),
        (Mode::Context(at), code) => match scroll(model, code, at) {
            Some(at) => model.mode = Mode::Context(at),
            None => match code {
                KeyCode::Char('j') => model.mode = Mode::Context(at + 1),
                KeyCode::Char('k') => model.mode = Mode::Context(at.saturating_sub(1)),
                KeyCode::Char('q' | 'C') => model.mode = Mode::Normal,
                KeyCode::Char('y') => {
                    if let Some(text) = model.trace.as_ref().map(crate::trace::Trace::context) {
                        clipboard::copy(model, "context", text, ":export context.txt", effects);
                    }
                }
                _ => {}
            },
        },
        (Mode::Oracle(at), code) => match scroll(model, code, at) {
            Some(at) => model.mode = Mode::Oracle(at),
            None if super::oracle::key(model, event, effects) => {}
            None => match code {
                KeyCode::Char('j') => model.mode = Mode::Oracle(at + 1),
                KeyCode::Char('k') => model.mode = Mode::Oracle(at.saturating_sub(1)),
                KeyCode::Char('q') => close(model),
                _ => {}
            },
        },
        (Mode::Compare(at), code) => match scroll(model, code, at) {
            Some(at) => model.mode = Mode::Compare(at),
            None => match code {
                KeyCode::Char('j') => model.mode = Mode::Compare(at + 1),
                KeyCode::Char('k') => model.mode = Mode::Compare(at.saturating_sub(1)),
                KeyCode::Char('q' | '7') => model.mode = Mode::Normal,
                KeyCode::Char('x') => pin::swap(model, effects),
                KeyCode::Char('c') => pin::pin(model),
                _ => {}
            },
        },
        (Mode::Picker(picker), _) if pins::key(model, &picker, event, effects) => {}
        (Mode::Picker(mut picker), code) => match code {
            KeyCode::Enter => choose(model, effects),
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
                let page = i32::from(model.size.1 / 2);
                picker.step(match code {
                    KeyCode::Up => -1,
                    KeyCode::Down => 1,
                    KeyCode::PageUp => -page,
                    _ => page,
                });
                model.mode = Mode::Picker(picker);
            }
            _ => {
                type_into(&mut model.prompt, event);
                picker.narrow(&text_of(&model.prompt));
                model.mode = Mode::Picker(picker);
            }
        },
        (Mode::Normal, _) => {}
    }
}

/// Text pasted by the terminal: never a command, only text.
pub fn paste(model: &mut Model, text: &str) {
    let room = text.floor_char_boundary(LONGEST * 4);
    let cleaned = clean_line(text.get(..room).unwrap_or(text), &mut 0).replace(['\u{240a}', '\u{2409}'], " ");
    let cleaned: String = cleaned.chars().take(LONGEST).collect();
    if model.mode == Mode::Normal {
        model.mode = Mode::Question;
    }
    match model.mode.clone() {
        Mode::Question => {
            model.question.insert_str(cleaned);
        }
        Mode::Context(_)
        | Mode::Compare(_)
        | Mode::Oracle(_)
        | Mode::Sweep(_)
        | Mode::Tokens(_)
        | Mode::Form(_)
        | Mode::Normal => {}
        mode => {
            model.prompt.insert_str(cleaned);
            let typed = text_of(&model.prompt);
            match mode {
                Mode::Filter => {
                    model.rows.filter.text = typed;
                    remake(model);
                }
                Mode::Picker(mut picker) => {
                    picker.narrow(&typed);
                    model.mode = Mode::Picker(picker);
                }
                _ => {}
            }
        }
    }
}

fn close(model: &mut Model) {
    if model.mode == Mode::Filter {
        model.rows.filter.text.clear();
        remake(model);
    }
    if model.mode == Mode::Question
        && let Some(asked) = model.asked.clone()
    {
        model.question = line(&asked);
    }
    model.mode = model.behind.take().unwrap_or(Mode::Normal);
}

fn type_into(area: &mut ratatui_textarea::TextArea<'_>, event: &KeyEvent) {
    // One line: what would break it, and what would make it endless, is left out.
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let breaks = event.code == KeyCode::Enter || (control && matches!(event.code, KeyCode::Char('m' | 'j')));
    let grows = matches!(event.code, KeyCode::Char(_)) && !control;
    let full = grows && area.lines().iter().map(|line| line.chars().count()).sum::<usize>() >= LONGEST;
    if !breaks && !full && event.code != KeyCode::Tab {
        area.input(*event);
    }
}

fn scroll(model: &Model, code: KeyCode, at: usize) -> Option<usize> {
    let page = layout::page(model).unsigned_abs() as usize;
    match code {
        KeyCode::Up => Some(at.saturating_sub(1)),
        KeyCode::Down => Some(at + 1),
        KeyCode::PageUp => Some(at.saturating_sub(page)),
        KeyCode::PageDown => Some(at + page),
        KeyCode::Home => Some(0),
        _ => None,
    }
}

fn walk(model: &mut Model, by: i32) {
    let count = model.asked_before.len();
    if count == 0 {
        return;
    }
    let next = match model.walking {
        None if by < 0 => Some(count - 1),
        None => None,
        Some(at) if by > 0 && at + 1 >= count => None,
        Some(at) => Some(super::step(at, by, count)),
    };
    model.walking = next;
    let text = next.and_then(|at| model.asked_before.get(at)).cloned().unwrap_or_default();
    model.question = line(&text);
}

fn choose(model: &mut Model, effects: &mut Vec<Effect>) {
    let Mode::Picker(picker) = std::mem::replace(&mut model.mode, Mode::Normal) else { return };
    let Some(item) = picker.chosen() else { return };
    match picker.kind {
        PickerKind::Conversations => {
            model.say(format!("opening {}", item.name));
            effects.push(Effect::Send(Job::Load(item.value.clone())));
        }
        PickerKind::Questions | PickerKind::Worst => ask(model, &item.value, effects),
        PickerKind::WhatIfs => {
            if let Some(change) = item.value.strip_prefix(TERM_WEIGHT) {
                if let Some((term, weight)) = change.rsplit_once(' ') {
                    command::weight(model, term, weight, effects);
                }
            } else if let Some((name, text)) = item.value.split_once(' ') {
                let mut next = model.settings.clone();
                match next.set(name, text) {
                    Ok(()) => {
                        knob::change(model, next, effects);
                        model.say(format!("{} applied: {} takes it back", item.name, model.keys.first("undo")));
                    }
                    Err(reason) => model.fail(reason),
                }
            }
        }
        PickerKind::Themes => look::keep(model, &item.value),
        // Its keys are taken before.
        PickerKind::Pins => {}
        PickerKind::Gold => {
            if let Ok(passage) = item.value.parse() {
                select::choose(model, passage);
            }
        }
    }
}
