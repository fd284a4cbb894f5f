//! The help: keys of the focused pane first, then all keys and commands, narrowed by what is typed.

use ratatui::buffer::Buffer;

use super::{Piece, overlay, put, text};
use crate::ui::command::COMMANDS;
use crate::ui::keys::Binding;
use crate::ui::model::{Model, text_of};
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, from: usize, buf: &mut Buffer) {
    let theme = &model.theme;
    let typed = text_of(&model.prompt);
    let title = if typed.is_empty() { "Help: type to filter, Esc closes".to_owned() } else { format!("Help: {typed}") };
    let inside = overlay(model, &title, (100, buf.area.height), buf);
    let lines = lines(model, &typed.to_lowercase());
    let most = lines.len().saturating_sub(inside.height.into());
    for (at, (key, words)) in lines.iter().skip(from.min(most)).take(inside.height.into()).enumerate() {
        let style = if words.is_empty() { theme.style(Role::Title) } else { theme.style(Role::Key) };
        let pieces: Vec<Piece> = vec![
            (format!(" {} ", text::pad(key, 26)), style),
            (text::clip(words, usize::from(inside.width).saturating_sub(29)), theme.style(Role::Text)),
        ];
        put(buf, inside, at as u16, &pieces);
    }
    if lines.is_empty() {
        put(buf, inside, 0, &[(" no key or command fits".to_owned(), theme.style(Role::Notice))]);
    }
}

fn lines(model: &Model, typed: &str) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let fits = |key: &str, words: &str| typed.is_empty() || format!("{key} {words}").to_lowercase().contains(typed);
    let mut section = |title: String, rows: Vec<(String, String)>| {
        let rows: Vec<_> = rows.into_iter().filter(|(key, words)| fits(key, words)).collect();
        if !rows.is_empty() {
            if !lines.is_empty() {
                lines.push((String::new(), String::new()));
            }
            lines.push((title, String::new()));
            lines.extend(rows);
        }
    };
    // A line that the configuration left without a key has nothing to teach.
    let table = || model.keys.lines().filter(|(_, keys)| !keys.is_empty());
    let row = |(binding, keys): (&Binding, &[String])| (keys.join(" "), binding.doc.to_owned());
    let own = table().filter(|(binding, _)| binding.pane == Some(model.focus)).map(row).collect();
    section(format!("Pane {} {}", model.focus.number(), model.focus.name()), own);
    section("Everywhere".to_owned(), table().filter(|(binding, _)| binding.pane.is_none()).map(row).collect());
    let others = table().filter(|(binding, _)| binding.pane.is_some_and(|pane| pane != model.focus));
    section(
        "Other panes".to_owned(),
        others
            .map(|(binding, keys)| {
                (format!("{} {}", binding.pane.map_or("", |pane| pane.name()), keys.join(" ")), binding.doc.to_owned())
            })
            .collect(),
    );
    let commands =
        COMMANDS.iter().map(|(name, takes, words)| (format!(":{name} {takes}"), (*words).to_owned())).collect();
    section("Commands".to_owned(), commands);
    lines
}
