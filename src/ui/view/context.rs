//! The context exactly as it would be sent, with its words counted.

use ratatui::buffer::Buffer;

use super::{overlay, put, text};
use crate::passage::count_words;
use crate::ui::model::Model;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, from: usize, buf: &mut Buffer) {
    let theme = &model.theme;
    let Some(trace) = &model.trace else { return };
    let title = format!(
        "Context: {} passages, {} of {} words; y copies, Esc closes",
        trace.cut.kept, trace.cut.used, trace.settings.budget
    );
    let screen = (buf.area.width, buf.area.height);
    let inside = overlay(model, &title, screen, buf);
    let mut line = 0;
    let mut skipped = 0;
    for passage in trace.kept() {
        let rendered = trace.scored.passages.rendered(passage);
        let gold = if trace.scored.is_gold(passage) { theme.glyphs.gold } else { " " };
        for (at, range) in
            text::wrap(&rendered, usize::from(inside.width).saturating_sub(2), 200).into_iter().enumerate()
        {
            if skipped < from {
                skipped += 1;
                continue;
            }
            if line >= inside.height {
                return;
            }
            let mark = if at == 0 { gold } else { " " };
            let words = rendered.get(range).unwrap_or_default().to_owned();
            put(buf, inside, line, &[(format!("{mark} "), theme.style(Role::Gold)), (words, theme.style(Role::Text))]);
            line += 1;
        }
    }
    if line == 0 {
        let words = if trace.cut.kept == 0 {
            " nothing is kept: the context is empty".to_owned()
        } else {
            format!(" end of the context, {} words as sent", count_words(&trace.context()))
        };
        put(buf, inside, 0, &[(words, theme.style(Role::Notice))]);
    }
}
