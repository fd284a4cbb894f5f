//! The last line: a prompt while something is typed, else a message, else the keys of the focused pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

use super::{Piece, put, text};
use crate::ui::model::{Mode, Model};
use crate::ui::present;
use crate::ui::theme::Role;
use crate::ui::{form, tokens};

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let label = match &model.mode {
        Mode::Filter => " / ".to_owned(),
        Mode::Command => " : ".to_owned(),
        Mode::Weight(term) => format!(" weight of '{}': ", text::clip(term, 30)),
        _ => {
            line(model, area, buf);
            return;
        }
    };
    let used = put(buf, area, 0, &[(label, theme.style(Role::Focus))]);
    let mut widget = model.prompt.clone();
    widget.set_style(theme.style(Role::Text));
    widget.set_cursor_style(Style::new().add_modifier(Modifier::REVERSED));
    widget.set_placeholder_style(theme.style(Role::Faint));
    widget.set_placeholder_text(match model.mode {
        Mode::Filter => "words that must stand in the passage; Enter keeps the filter, Esc drops it",
        Mode::Command => "set alpha 0.05, open FILE, theme NAME, export FILE, help; Tab completes",
        _ => "a number from 0 to 100",
    });
    (&widget).render(Rect { x: area.x + used, width: area.width - used, ..area }, buf);
}

fn line(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    if let Some(message) = &model.message {
        let role = if message.is_error { Role::Error } else { Role::Notice };
        let words = text::clip(&format!(" {} ", present::discreet(model, &message.text)), area.width.into());
        put(buf, area, 0, &[(words, theme.style(role))]);
        return;
    }
    let absent = model.models.iter().find_map(|status| match &status.state {
        crate::engine::ModelState::Absent(reason) => Some(reason.as_str()),
        _ => None,
    });
    if let (Some(reason), None) = (absent, &model.trace) {
        let words = text::clip(&format!(" {}", present::discreet(model, reason)), area.width.into());
        put(buf, area, 0, &[(words, theme.style(Role::Notice))]);
        return;
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let mut room = usize::from(area.width);
    let shown = match model.mode {
        Mode::Form(_) => form::KEYS.iter().map(|(key, word)| ((*key).to_owned(), *word)).collect(),
        Mode::Tokens(_) => tokens::KEYS.iter().map(|(key, word)| ((*key).to_owned(), *word)).collect(),
        _ => model.keys.footer(model.focus),
    };
    for (key, word) in shown {
        let piece = format!(" {key} ");
        let words = format!("{word} ");
        let wide = text::width(&piece) + text::width(&words);
        if wide > room {
            break;
        }
        room -= wide;
        pieces.push((piece, theme.style(Role::Key)));
        pieces.push((words, theme.style(Role::Faint)));
    }
    put(buf, area, 0, &pieces);
}
