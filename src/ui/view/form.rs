//! The form for the columns of a database: fields with what is chosen, and beneath them the first turns as they would be
//! read.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, highlight, overlay, put, text};
use crate::store::clean::clean_line;
use crate::store::{Mapping, Preview};
use crate::ui::form::{DOCS, Form};
use crate::ui::model::Model;
use crate::ui::theme::Role;

/// Cells of a chosen name.
const NAME: usize = 24;

pub(super) fn draw(model: &Model, form: &Form, buf: &mut Buffer) {
    let theme = &model.theme;
    let file = form.outline.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let title = format!("What are the columns of {}?", clean_line(&file, &mut 0));
    // The last line of the screen stays free for messages and keys.
    let size = (buf.area.width.min(130), buf.area.height.saturating_sub(2));
    let inside = overlay(model, &title, size, buf);
    let width = usize::from(inside.width);
    for (at, (field, doc)) in Mapping::FIELDS.iter().zip(DOCS).enumerate() {
        let chosen = form.map.get(field).unwrap_or_default();
        let name = if chosen.is_empty() { "(none)".to_owned() } else { clean_line(chosen, &mut 0).into_owned() };
        let choices = form.choices(field);
        let place = choices.iter().position(|choice| *choice == chosen).map_or(0, |place| place + 1);
        let of = format!("{place}/{}", choices.len());
        let role = if chosen.is_empty() { Role::Faint } else { Role::Title };
        let pieces: Vec<Piece> = vec![
            (format!(" {} ", text::pad(field, 12)), theme.style(Role::Key)),
            (format!("{} ", text::pad(&name, NAME)), theme.style(role)),
            (format!("{} ", text::pad(&of, 7)), theme.style(Role::Faint)),
            (text::clip(doc, width.saturating_sub(NAME + 24)), theme.style(Role::Faint)),
        ];
        put(buf, inside, at as u16, &pieces);
        if at == form.at {
            highlight(model, Rect { y: inside.y + at as u16, height: 1, ..inside }, buf);
        }
    }
    let top = Mapping::FIELDS.len() as u16;
    let below = Rect { y: inside.y + top, height: inside.height.saturating_sub(top), ..inside };
    match form.current() {
        None => say(model, below, "reading the first turns", Role::Notice, buf),
        Some(Err(sentence)) => say(model, below, sentence, Role::Error, buf),
        Some(Ok(preview)) => turns(model, below, preview, buf),
    }
}

/// A sentence on as many lines as it takes.
fn say(model: &Model, area: Rect, sentence: &str, role: Role, buf: &mut Buffer) {
    let sentence = clean_line(sentence, &mut 0);
    for (line, range) in text::wrap(&sentence, usize::from(area.width).saturating_sub(2), 6).into_iter().enumerate() {
        let words = sentence.get(range).unwrap_or_default();
        put(buf, area, line as u16 + 1, &[(format!(" {words}"), model.theme.style(role))]);
    }
}

fn turns(model: &Model, area: Rect, preview: &Preview, buf: &mut Buffer) {
    let theme = &model.theme;
    let width = usize::from(area.width);
    let rule = if theme.glyphs.ascii { "-" } else { "─" };
    put(buf, area, 0, &[(rule.repeat(width), theme.style(Role::Border))]);
    let heading = match preview.turns.len() {
        0 => " no turn can be read like this".to_owned(),
        1 => " The first turn as it would be read".to_owned(),
        _ => " The first turns as they would be read".to_owned(),
    };
    put(buf, area, 0, &[(heading + " ", theme.style(Role::Title))]);
    let left_out = preview.left_out.iter().map(|(reason, rows)| format!("{rows} left out: {reason}"));
    let mut line = 1;
    for words in preview.guesses.iter().cloned().chain(left_out) {
        put(buf, area, line, &[(text::clip(&format!(" {words}"), width), theme.style(Role::Notice))]);
        line += 1;
    }
    for turn in &preview.turns {
        let (time, who) = (text::pad(&turn.time, 20), text::pad(&turn.speaker, 12));
        let room = width.saturating_sub(37);
        put(
            buf,
            area,
            line,
            &[
                (format!(" {time} "), theme.style(Role::Faint)),
                (format!("{who} "), theme.style(Role::Title)),
                (text::one_line(&turn.text, 0, room), theme.style(Role::Text)),
            ],
        );
        line += 1;
    }
}
