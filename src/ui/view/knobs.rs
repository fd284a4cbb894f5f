//! The knob line: α, budget, w and top n with their sliders; those of A before those of B where there is room for both.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{put, text};
use crate::settings::{Fusion, Knob, Settings, Truncation, Value};
use crate::ui::layout::{self, Slider};
use crate::ui::model::Model;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let (a, b) = layout::knob_line(model, area);
    let pinned = model.pinned.as_ref().map(|pinned| &pinned.settings).filter(|_| !a.is_empty());
    if let Some(pinned) = pinned {
        let half = Rect { x: area.x + area.width / 2 - 1, width: area.width - area.width / 2 + 1, ..area };
        let line = if theme.glyphs.ascii { "|" } else { "│" };
        put(buf, area, 0, &[(" A".to_owned(), theme.style(Role::Title))]);
        put(buf, half, 0, &[(line.to_owned(), theme.style(Role::Border)), (" B".to_owned(), theme.style(Role::Title))]);
        row(model, pinned, &model.settings, &a, buf);
    }
    row(model, &model.settings, pinned.unwrap_or(&model.settings), &b, buf);
}

/// The sliders of some settings; what other settings have otherwise stands out.
fn row(model: &Model, settings: &Settings, other: &Settings, sliders: &[Slider], buf: &mut Buffer) {
    let theme = &model.theme;
    for slider in sliders {
        let name = if slider.name == "w" && settings.fusion == Fusion::Z { "lambda" } else { slider.name };
        let Some(knob) = Knob::named(name) else { continue };
        let Value::Number(value) = (knob.get)(settings) else { continue };
        let label = match name {
            "alpha" if theme.glyphs.ascii => format!("a {value:.3}"),
            "alpha" => format!("α {value:.3}"),
            "budget" => format!("budget {value} words"),
            "w" => format!("w ce {value:.2}"),
            "lambda" => format!("lambda {value:.2}"),
            _ => format!("top n {value}"),
        };
        // A knob that changes nothing now is grey.
        let adaptive = settings.truncation == Truncation::Adaptive;
        let idle = match name {
            "alpha" => !adaptive || model.no_cross_encoder().is_some(),
            "top-n" => !adaptive,
            "w" => model.no_cross_encoder().is_some(),
            _ => false,
        };
        let role = match ((knob.get)(other) == (knob.get)(settings), idle) {
            (_, true) => Role::Dropped,
            (true, _) => Role::Title,
            (false, _) => Role::Changed,
        };
        put(buf, slider.label, 0, &[(text::clip(&label, slider.label.width.into()), theme.style(role))]);
        if slider.track.width < 4 {
            continue;
        }
        let [left, line, at, right] = theme.glyphs.slider;
        let inner = slider.track.width - 2;
        let column = slider.column_of(value).clamp(1, inner);
        let track = format!(
            "{left}{}{at}{}{right}",
            line.repeat(usize::from(column - 1)),
            line.repeat(usize::from(inner - column))
        );
        put(buf, slider.track, 0, &[(track, theme.style(if idle { Role::Dropped } else { Role::Bar }))]);
    }
}
