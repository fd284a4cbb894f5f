//! The mouse: a click focuses and selects, a drag on a slider or on the cut sets the knob, the wheel moves the pane under
//! the pointer. Everything it does can be done with keys.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::list::FusedLine;
use super::model::{Mode, Model};
use super::pane::Pane;
use super::update::Effect;
use super::{edit, knob, layout, select};
use crate::settings::Knob;

/// What the pressed button holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The slider of this knob.
    Slider(&'static str),
    /// The cut.
    Cut,
}

/// Something happened with the mouse.
pub fn mouse(model: &mut Model, event: MouseEvent, effects: &mut Vec<Effect>) {
    let place = Position::new(event.column, event.row);
    match (event.kind, &mut model.mode) {
        (MouseEventKind::ScrollDown, Mode::Picker(picker)) => picker.step(3),
        (MouseEventKind::ScrollUp, Mode::Picker(picker)) => picker.step(-3),
        (MouseEventKind::ScrollDown, Mode::Help(at) | Mode::Context(at) | Mode::Compare(at) | Mode::Oracle(at)) => {
            *at += 3
        }
        (MouseEventKind::ScrollUp, Mode::Help(at) | Mode::Context(at) | Mode::Compare(at) | Mode::Oracle(at)) => {
            *at = at.saturating_sub(3)
        }
        (MouseEventKind::ScrollDown, Mode::Tokens(view)) => view.step(3),
        (MouseEventKind::ScrollUp, Mode::Tokens(view)) => view.step(-3),
        (
            _,
            Mode::Picker(_)
            | Mode::Help(_)
            | Mode::Context(_)
            | Mode::Compare(_)
            | Mode::Oracle(_)
            | Mode::Sweep(_)
            | Mode::Tokens(_)
            | Mode::Form(_),
        ) => {}
        (MouseEventKind::ScrollDown, _) => wheel(model, place, 3),
        (MouseEventKind::ScrollUp, _) => wheel(model, place, -3),
        (MouseEventKind::Down(MouseButton::Left), _) => press(model, place, effects),
        (MouseEventKind::Drag(MouseButton::Left), _) => drag(model, place, effects),
        (MouseEventKind::Up(_), _) => model.held = None,
        _ => {}
    }
}

fn wheel(model: &mut Model, place: Position, by: i32) {
    if let Some((pane, _)) = layout::areas(model).pane_at(place) {
        select::step_in(model, pane, by);
    }
}

fn press(model: &mut Model, place: Position, effects: &mut Vec<Effect>) {
    model.message = None;
    let areas = layout::areas(model);
    let (_, sliders) = layout::knob_line(model, areas.knobs);
    let slider = sliders.into_iter().find(|slider| slider.track.contains(place));
    if let Some(slider) = slider {
        model.held = Some(Held::Slider(slider.name));
        drag(model, place, effects);
    } else if areas.question.contains(place) {
        edit::question(model);
    } else if areas.tabs.is_some_and(|tabs| tabs.contains(place)) {
        if let Some(action) = super::view::tabs::action_at(place.x) {
            super::update::act(model, action, effects);
        }
    } else if let Some((pane, area)) = areas.pane_at(place) {
        model.mode = Mode::Normal;
        model.focus = pane;
        let inside = layout::inside(area, model);
        let line = usize::from(place.y.saturating_sub(inside.y));
        if inside.contains(place) {
            row(model, pane, line);
        }
    }
}

fn row(model: &mut Model, pane: Pane, line: usize) {
    match pane {
        Pane::Terms => {
            let first = super::view::first_visible(model.rows.term_at, layout::list_height(model, pane));
            model.rows.term_at = (first + line).min(model.rows.terms.len().saturating_sub(1));
        }
        Pane::Hops => {
            let first = super::view::first_visible(model.rows.hop_at, layout::list_height(model, pane));
            let by = (first + line) as i64 - model.rows.hop_at as i64;
            select::step_in(model, pane, by as i32);
        }
        Pane::Fused if line > 0 => match model.rows.at_line(model.rows.fused_top + line - 1) {
            Some(FusedLine::Passage(passage)) => select::choose(model, passage),
            Some(FusedLine::Cut) => model.held = Some(Held::Cut),
            None => {}
        },
        _ => {}
    }
}

fn drag(model: &mut Model, place: Position, effects: &mut Vec<Effect>) {
    match model.held {
        Some(Held::Slider(name)) => {
            let areas = layout::areas(model);
            let (_, sliders) = layout::knob_line(model, areas.knobs);
            let Some(slider) = sliders.into_iter().find(|slider| slider.name == name) else { return };
            set(model, name, slider.value_at(place.x), effects);
        }
        Some(Held::Cut) => {
            let Some(area) = layout::areas(model).pane(Pane::Fused) else { return };
            let inside = layout::inside(area, model);
            let line = model.rows.fused_top + usize::from(place.y.saturating_sub(inside.y + 1));
            // The budget that just reaches the row under the pointer.
            let Some(FusedLine::Passage(passage)) = model.rows.at_line(line) else { return };
            let sum = model
                .trace
                .as_ref()
                .and_then(|trace| trace.cut.rows.get(trace.place(passage).checked_sub(1)? as usize).map(|row| row.sum));
            if let Some(sum) = sum {
                set(model, "budget", f64::from(sum), effects);
            }
        }
        None => {}
    }
}

fn set(model: &mut Model, name: &str, value: f64, effects: &mut Vec<Effect>) {
    let Some(knob) = Knob::named(name) else { return };
    let value = match name {
        "budget" => ((value / 10.0).ceil() * 10.0).max(0.0),
        "top-n" => value.round().max(1.0),
        _ => (value * 100.0).round() / 100.0,
    };
    let mut next = model.settings.clone();
    if knob.set_from(&mut next, &value.to_string()).is_ok() {
        knob::change(model, next, effects);
    }
}
