//! A list to choose from, with what was typed marked in it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Piece, first_visible, highlight, overlay, overlay_at, put, text};
use crate::ui::model::{Model, text_of};
use crate::ui::picker::{GAP, Picker, PickerKind};
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, picker: &Picker, buf: &mut Buffer) {
    let theme = &model.theme;
    let typed = text_of(&model.prompt);
    let title = format!(
        "{} {}/{}{}",
        picker.kind.title(),
        picker.shown.len(),
        picker.items.len(),
        match &picker.doomed {
            Some(name) => format!(": Del again deletes '{name}'"),
            None if typed.is_empty() => format!(": {}", picker.kind.keys()),
            None => format!(": {typed}"),
        }
    );
    let wanted = (picker.items.len() as u16).saturating_add(2).clamp(5, buf.area.height.saturating_sub(4).max(5));
    let inside = match picker.kind {
        PickerKind::Themes => beside(model, &title, wanted, buf),
        _ => overlay(model, &title, (buf.area.width.min(130), wanted), buf),
    };
    let width = usize::from(inside.width);
    let name = match picker.kind {
        PickerKind::Questions | PickerKind::Worst => width.saturating_sub(40).max(20),
        PickerKind::Conversations => 28.min(width / 2),
        PickerKind::Gold => 12,
        PickerKind::WhatIfs => 14,
        PickerKind::Pins => 24.min(width / 2),
        PickerKind::Themes => 18.min(width / 2),
    };
    let height = usize::from(inside.height);
    let first = first_visible(picker.at, height);
    for (line, (at, item)) in picker.shown.iter().enumerate().skip(first).take(height).enumerate() {
        let Some(item) = picker.items.get(*item) else { continue };
        let line = line as u16;
        let marks = picker.marks.get(at).map(Vec::as_slice).unwrap_or_default();
        let detail_at = item.name.chars().count() + GAP;
        let mut pieces = vec![(" ".to_owned(), theme.style(Role::Text))];
        pieces.extend(marked(model, &text::pad(&item.name, name), &item.name, 0, marks, Role::Text));
        pieces.push((" ".to_owned(), theme.style(Role::Text)));
        let detail = text::clip(&item.detail, width.saturating_sub(name + 3));
        pieces.extend(marked(model, &detail, &item.detail, detail_at, marks, Role::Faint));
        put(buf, inside, line, &pieces);
        if at == picker.at {
            highlight(model, Rect { y: inside.y + line, height: 1, ..inside }, buf);
            underline(model, &pieces, Rect { y: inside.y + line, height: 1, ..inside }, buf);
        }
    }
    if picker.shown.is_empty() {
        put(buf, inside, 0, &[(" nothing fits".to_owned(), theme.style(Role::Notice))]);
    }
}

/// A part of a line with the typed letters marked. `shown` is what is left of `whole`, whose first character has the
/// number `from` in the line.
fn marked(model: &Model, shown: &str, whole: &str, from: usize, marks: &[usize], role: Role) -> Vec<Piece> {
    let (plain, mark) = (model.theme.style(role), model.theme.style(Role::Match));
    let mut pieces: Vec<Piece> = Vec::new();
    let mut meant = whole.chars();
    for (at, letter) in shown.chars().enumerate() {
        // What stands for the rest of a clipped text is no letter of it.
        let is_mark = meant.next() == Some(letter) && marks.binary_search(&(from + at)).is_ok();
        let style = if is_mark { mark } else { plain };
        match pieces.last_mut() {
            Some((words, last)) if *last == style => words.push(letter),
            _ => pieces.push((letter.to_string(), style)),
        }
    }
    pieces
}

/// Show the typed letters in the selected row, where colours give way.
fn underline(model: &Model, pieces: &[Piece], row: Rect, buf: &mut Buffer) {
    let mark = model.theme.style(Role::Match);
    let mut x = row.x;
    for (words, style) in pieces {
        let wide = (text::width(words) as u16).min(row.right().saturating_sub(x));
        if *style == mark {
            buf.set_style(Rect { x, width: wide, ..row }, Style::new().add_modifier(mark.add_modifier));
        }
        x += wide;
    }
}

/// The list of themes leaves most of the screen free, so that the theme can be seen on it.
fn beside(model: &Model, title: &str, wanted: u16, buf: &mut Buffer) -> Rect {
    let screen = buf.area;
    let (width, height) = (screen.width.min(44), wanted.min(screen.height / 2));
    let area =
        Rect::new(screen.right() - width, screen.bottom().saturating_sub(height + 1).max(screen.y), width, height);
    overlay_at(model, title, area, buf)
}
