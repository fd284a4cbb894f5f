//! The first line: program, database, conversation, models.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, put, put_right, text};
use crate::engine::ModelState;
use crate::explain::fate::thousands;
use crate::ui::model::Model;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let faint = theme.style(Role::Faint);
    let mut right: Vec<Piece> = Vec::new();
    for status in &model.models {
        let (glyph, style) = match &status.state {
            ModelState::Loading => (theme.glyphs.loading, theme.style(Role::Notice)),
            ModelState::Ready(_) => (theme.glyphs.ready, theme.style(role_of(status.role))),
            ModelState::Absent(_) => (theme.glyphs.absent, theme.style(Role::Error)),
        };
        let role = status.role;
        let words = match (&status.state, area.width) {
            (ModelState::Absent(_), _) => format!("no {role} "),
            (_, 140..) => format!("{role} {} ", status.name),
            _ => format!("{role} "),
        };
        right.push((words, faint));
        right.push((format!("{glyph}  "), style));
    }
    right.push((model.keys.fill("{help} help "), theme.style(Role::Key)));
    let used = put_right(buf, area, 0, &right);
    let left = Rect { width: area.width - used, ..area };
    let file = model
        .database
        .path
        .file_name()
        .map_or_else(|| model.database.path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let file = crate::store::clean::clean_line(&file, &mut 0).into_owned();
    let mut pieces =
        vec![(" memsift ".to_owned(), theme.style(Role::Title)), (format!(" {}", text::clip(&file, 30)), faint)];
    if model.replayed {
        pieces.push((" replay".to_owned(), theme.style(Role::Notice)));
    }
    if let Some(copied) = &model.database.copied {
        pieces.push((format!(" copy of {}", copied.time()), theme.style(Role::Notice)));
    }
    if model.following {
        pieces.push((" following".to_owned(), theme.style(Role::Notice)));
    }
    if let Some(conversation) = &model.conversation {
        let name = conversation.title.as_deref().unwrap_or(&conversation.id);
        let numbers = [
            format!("  {} sessions", conversation.sessions.len()),
            format!("  {} turns", thousands(conversation.turns.len() as u64)),
            format!("  {} words", thousands(model.words as u64)),
        ];
        pieces.push((" › ".replace('›', if theme.glyphs.ascii { ">" } else { "›" }), faint));
        pieces.push((text::clip(name, 32), theme.style(Role::Title)));
        pieces.extend(numbers.into_iter().map(|words| (words, faint)));
    } else if model.database.open {
        pieces.push((format!("  {} conversations", model.database.conversations.len()), faint));
    } else if model.database.unknown {
        pieces.push(("  not read yet".to_owned(), theme.style(Role::Notice)));
    } else if model.message.as_ref().is_none_or(|message| !message.is_error) {
        pieces.push(("  opening".to_owned(), theme.style(Role::Notice)));
    }
    // Whole pieces only: half a number says the wrong thing.
    let mut room = usize::from(left.width.saturating_sub(1));
    let fitting: Vec<Piece> = pieces
        .into_iter()
        .take_while(|(words, _)| {
            let fits = text::width(words) <= room;
            room = room.saturating_sub(text::width(words));
            fits
        })
        .collect();
    put(buf, left, 0, &fitting);
}

fn role_of(model: &str) -> Role {
    match model {
        "ce" => Role::Ce,
        "colbert" => Role::Colbert,
        _ => Role::Bar,
    }
}
