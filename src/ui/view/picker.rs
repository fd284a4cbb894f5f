//! A list to choose from.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{first_visible, highlight, overlay, put, text};
use crate::ui::model::{Model, text_of};
use crate::ui::picker::{Picker, PickerKind};
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
    let inside = overlay(model, &title, (buf.area.width.min(130), wanted), buf);
    let width = usize::from(inside.width);
    let name = match picker.kind {
        PickerKind::Questions | PickerKind::Worst => width.saturating_sub(40).max(20),
        PickerKind::Conversations => 28.min(width / 2),
        PickerKind::Gold => 12,
        PickerKind::WhatIfs => 14,
        PickerKind::Pins => 24.min(width / 2),
    };
    let height = usize::from(inside.height);
    let first = first_visible(picker.at, height);
    for (line, (at, item)) in picker.shown.iter().enumerate().skip(first).take(height).enumerate() {
        let Some(item) = picker.items.get(*item) else { continue };
        let line = line as u16;
        let pieces = [
            (format!(" {} ", text::pad(&item.name, name)), theme.style(Role::Text)),
            (text::clip(&item.detail, width.saturating_sub(name + 3)), theme.style(Role::Faint)),
        ];
        put(buf, inside, line, &pieces);
        if at == picker.at {
            highlight(model, Rect { y: inside.y + line, height: 1, ..inside }, buf);
        }
    }
    if picker.shown.is_empty() {
        put(buf, inside, 0, &[(" nothing fits".to_owned(), theme.style(Role::Notice))]);
    }
}
