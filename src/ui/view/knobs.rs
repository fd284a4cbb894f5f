//! The knob line: α, budget, w and top n with their sliders.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{put, text};
use crate::settings::{Fusion, Knob, Truncation, Value};
use crate::ui::layout::sliders;
use crate::ui::model::Model;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    for slider in sliders(area, model.settings.budget) {
        let name = if slider.name == "w" && model.settings.fusion == Fusion::Z { "lambda" } else { slider.name };
        let Some(knob) = Knob::named(name) else { continue };
        let Value::Number(value) = (knob.get)(&model.settings) else { continue };
        let label = match name {
            "alpha" if theme.glyphs.ascii => format!("a {value:.3}"),
            "alpha" => format!("α {value:.3}"),
            "budget" => format!("budget {value} words"),
            "w" => format!("w ce {value:.2}"),
            "lambda" => format!("lambda {value:.2}"),
            _ => format!("top n {value}"),
        };
        // A knob that changes nothing now is grey.
        let adaptive = model.settings.truncation == Truncation::Adaptive;
        let idle = match name {
            "alpha" => !adaptive || model.no_cross_encoder().is_some(),
            "top-n" => !adaptive,
            "w" => model.no_cross_encoder().is_some(),
            _ => false,
        };
        let style = theme.style(if idle { Role::Dropped } else { Role::Title });
        put(buf, slider.label, 0, &[(text::clip(&label, slider.label.width.into()), style)]);
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
