//! The screen as SVG: every row, every colour, hostile text as text, wide characters at their cells, and nothing that
//! refers to the outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use memsift::ui::picture::svg;
use memsift::ui::theme::Role;
use memsift::ui::{Effect, Glyphs, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use screen::Session;

fn theme(name: &str) -> Theme {
    Theme::named(name, Glyphs::UNICODE).unwrap()
}

fn buffer(columns: u16, lines: &[(&str, Style)]) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, lines.len() as u16));
    for (y, (words, style)) in lines.iter().enumerate() {
        buffer.set_string(0, y as u16, words, *style);
    }
    buffer
}

/// Contents of the text elements, entities read.
fn texts(picture: &str) -> Vec<String> {
    let pieces = picture.split("<text ").skip(1);
    let inside = pieces.map(|piece| piece.split_once('>').unwrap().1.split_once("</text>").unwrap().0);
    let read = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
        text.replace("&amp;", "&")
    };
    inside.map(read).collect()
}

/// Tags open and close in order, and everything between them is data.
fn assert_is_well_formed(picture: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in picture.split('<').skip(1) {
        let (tag, data) = piece.split_once('>').expect("a tag that ends");
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        assert!(["svg", "title", "g", "rect", "path", "text"].contains(&name), "{tag}");
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        for entity in data.split('&').skip(1) {
            let name = entity.split(';').next().unwrap();
            assert!(["amp", "lt", "gt", "quot", "apos"].contains(&name), "{data}");
        }
        assert!(!data.contains(|c: char| c.is_control() && c != '\n'), "{data:?}");
    }
    assert!(open.is_empty(), "{open:?}");
    let outside = picture.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for word in ["href", "url(", "http", "@import", "<!"] {
        assert!(!outside.contains(word), "{word}");
    }
}

#[test]
fn hostile_text_is_text() {
    let words = ["<script>alert(1)</script>", "a & b &amp; ]]> <!-- -->", "\" onload=\"x' y=\"", "<text x=\"0\">"];
    let lines: Vec<(&str, Style)> = words.iter().map(|words| (*words, Style::new())).collect();
    let mut buffer = buffer(40, &lines);
    buffer[(39, 0)].set_symbol("\u{1b}");
    let picture = svg(&buffer, &theme("mono"), "</title><script>\u{0}\u{ffff}");
    assert_is_well_formed(&picture);
    let found = texts(&picture);
    assert!(found[0].starts_with(words[0]) && found[0].ends_with('\u{fffd}'), "{found:?}");
    assert_eq!(found[1..], words[1..]);
    assert!(picture.contains("<title>&lt;/title&gt;&lt;script&gt;\u{fffd}\u{fffd}</title>"), "{picture}");
}

#[test]
fn every_row_and_every_colour_is_there() {
    for name in ["terminal", "nord", "solarized-light"] {
        let session = Session::asked(120, 40, name, false);
        let picture = svg(&session.draw(), &session.model.theme, "x");
        assert_is_well_formed(&picture);
        assert_eq!(picture.matches("<g ").count(), 40);
        let joined = texts(&picture).join(" ");
        for words in ["nearly give up on the boat", "budget 2000 words", "beyond top n", "★", "α"] {
            assert!(joined.contains(words), "{name}: {words}");
        }
        for role in [Role::Kept, Role::Dropped, Role::Gold, Role::Text] {
            if let Some(Color::Rgb(r, g, b)) = session.model.theme.style(role).fg {
                assert!(picture.contains(&format!("fill=\"#{r:02x}{g:02x}{b:02x}\"")), "{name}: {role:?}");
            }
        }
    }
    // Where a theme names colours, kept and dropped still look different.
    let (kept, dropped) = (theme("terminal").style(Role::Kept), theme("terminal").style(Role::Dropped));
    let one = |style| svg(&buffer(4, &[("word", style)]), &theme("terminal"), "x");
    assert_ne!(one(kept), one(dropped));
}

#[test]
fn styles_become_attributes() {
    let picture = |style: Style| svg(&buffer(6, &[("word", style)]), &theme("mono"), "x");
    let styled = |modifier| picture(Style::new().add_modifier(modifier));
    assert!(styled(Modifier::BOLD).contains(" font-weight=\"bold\""));
    assert!(styled(Modifier::ITALIC).contains(" font-style=\"italic\""));
    let signs = svg(&buffer(4, &[("56★", Style::new().add_modifier(Modifier::ITALIC))]), &theme("mono"), "x");
    assert!(signs.contains(" font-style=\"italic\">56</text>") && signs.contains("\">★</text>"), "{signs}");
    assert!(styled(Modifier::UNDERLINED).contains("<rect x=\"0\" y=\"14.8\" width=\"33.6\" height=\"1\""));
    assert!(styled(Modifier::DIM).contains(" opacity=\"0.6\""));
    let colours = Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Rgb(250, 251, 252));
    let plain = picture(colours);
    assert!(
        plain.contains("width=\"33.6\" height=\"17\" fill=\"#fafbfc\"") && plain.contains(" fill=\"#010203\">word")
    );
    let reversed = picture(colours.add_modifier(Modifier::REVERSED));
    assert!(reversed.contains("height=\"17\" fill=\"#010203\"") && reversed.contains(" fill=\"#fafbfc\">word"));
    assert!(picture(Style::new().fg(Color::Indexed(196))).contains("fill=\"#ff0000\""));
    assert!(picture(Style::new().fg(Color::Indexed(244))).contains("fill=\"#808080\""));
}

#[test]
fn wide_and_joined_characters_stand_at_their_cells() {
    let picture = svg(&buffer(12, &[("a\u{65e5}b e\u{301}x", Style::new())]), &theme("mono"), "x");
    assert_eq!(texts(&picture), ["a", "\u{65e5}", "b", "e\u{301}", "x"]);
    for place in ["x=\"0\"", "x=\"8.4\"", "x=\"25.2\"", "x=\"42\"", "x=\"50.4\""] {
        assert!(picture.contains(&format!("<text {place} ")), "{place}: {picture}");
    }
}

#[test]
fn frames_are_shapes_that_meet() {
    let picture = svg(&buffer(3, &[("┌─┐", Style::new()), ("│▇│", Style::new())]), &theme("mono"), "x");
    assert_eq!(texts(&picture), [""; 0]);
    // The line between the corners goes from edge to edge of its cell, and the bar fills seven eighths.
    assert!(picture.contains("M8.4 7.9h4.8v1.2h-4.8z") && picture.contains("M12 7.9h4.8v1.2h-4.8z"), "{picture}");
    assert!(picture.contains("<rect x=\"8.4\" y=\"2.13\" width=\"8.4\" height=\"14.88\""), "{picture}");
}

#[test]
fn the_smallest_screen() {
    let session = Session::asked(40, 10, "okabe-ito", false);
    let picture = svg(&session.draw(), &session.model.theme, "memsift: a question");
    assert_is_well_formed(&picture);
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("picture-40x10", picture);
    });
}

#[test]
fn the_picture_is_without_the_command_and_with_the_overlay() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::inspected(120, 40, "terminal", false);
    for (name, keys, words, missing) in [
        ("screen.svg", "", "Enter passage", "Context:"),
        ("context.svg", "C", "Context:", "nothing"),
        ("tokens.SVG", "<Esc>T", "maxsim", "Context:"),
    ] {
        let path = dir.path().join(name);
        session.keys(keys);
        session.left.clear();
        session.keys(&format!(":export {}<Enter>", path.display()));
        let Some(Effect::Export { path, overwrite: false }) = session.left.pop() else { panic!("{name}") };
        let said = memsift::ui::export::export(&session.model, &path, false).unwrap();
        assert_eq!(said, format!("picture written to {}", path.display()));
        let joined = texts(&std::fs::read_to_string(&path).unwrap()).join(" ");
        assert!(joined.to_lowercase().contains(&words.to_lowercase()), "{name}: {joined}");
        assert!(!joined.contains(":export") && !joined.contains(missing), "{name}");
    }
    session.keys(":set budget 900<Enter>");
    assert_eq!(session.model.mode, memsift::ui::model::Mode::Normal, "another command closes the overlay");
}
