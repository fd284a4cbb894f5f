//! The context exactly as it would be sent, with its words and its tokens counted.

use ratatui::buffer::Buffer;

use super::{overlay, put, text};
use crate::engine::TokenCount;
use crate::explain::fate::thousands;
use crate::passage::count_words;
use crate::store::clean::clean_line;
use crate::ui::model::Model;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, from: usize, buf: &mut Buffer) {
    let theme = &model.theme;
    let Some(trace) = &model.trace else { return };
    let title = format!("Context: {} passages; y copies, Esc closes", trace.cut.kept);
    let screen = (buf.area.width, buf.area.height);
    let inside = overlay(model, &title, screen, buf);
    let used = format!(" {} of {} words   ", thousands(trace.cut.used.into()), thousands(trace.settings.budget.into()));
    let (words, style) = tokens(model);
    put(
        buf,
        inside,
        0,
        &[(used, theme.style(Role::Title)), (clean_line(&words, &mut 0).into_owned(), theme.style(style))],
    );
    let mut line = 1;
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
    if line == 1 {
        let words = if trace.cut.kept == 0 {
            " nothing is kept: the context is empty".to_owned()
        } else {
            format!(" end of the context, {} words as sent", count_words(&trace.context()))
        };
        put(buf, inside, 1, &[(words, theme.style(Role::Notice))]);
    }
}

/// The tokens of the context and whose they are, or why there is no number.
fn tokens(model: &Model) -> (String, Role) {
    if model.running {
        return ("tokens are counted when all scores are in".to_owned(), Role::Faint);
    }
    match model.counted.as_ref().and_then(|counted| counted.count.as_ref()) {
        Some(Ok(TokenCount { slot, model, tokens })) => {
            (format!("{} tokens of {slot} ({model})", thousands(*tokens as u64)), Role::Title)
        }
        Some(Err(reason)) => (reason.clone(), Role::Notice),
        None => ("counting tokens".to_owned(), Role::Faint),
    }
}
