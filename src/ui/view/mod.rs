//! Drawing: from the model to cells. Changes nothing, reads no clock, and formats only what can be seen.

mod compare;
mod context;
mod footer;
mod form;
mod fused;
mod help;
mod hops;
mod knobs;
mod oracle;
mod passage;
mod picker;
mod question;
mod ranks;
mod sweep;
pub mod tabs;
mod terms;
mod title;
mod tokens;
mod tour;
mod verdict;
mod why;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Widget};

use super::layout::{self, SMALLEST};
use super::model::{Mode, Model};
use super::pane::Pane;
use super::present;
use super::text;
use super::theme::{Role, Theme};

/// Draw the whole screen.
pub fn view(model: &Model, buf: &mut Buffer) {
    let screen = buf.area;
    buf.set_style(screen, model.theme.style(Role::Text));
    if screen.width < SMALLEST.0 || screen.height < SMALLEST.1 {
        let words = format!("memsift needs {} x {} cells", SMALLEST.0, SMALLEST.1);
        put(buf, screen, 0, &[(text::clip(&words, screen.width.into()), Style::new())]);
        return;
    }
    let areas = layout::areas(model);
    title::draw(model, areas.title, buf);
    question::draw(model, areas.question, buf);
    if let Some(area) = areas.summary.filter(|_| present::shows_gold(model)) {
        verdict::summary(model, area, buf);
    }
    knobs::draw(model, areas.knobs, buf);
    if let Some(area) = areas.tabs {
        tabs::draw(model, area, buf);
    }
    for (pane, area) in &areas.panes {
        if let Some(words) = present::hidden(model, *pane) {
            let inside = frame(model, *pane, *area, "", buf);
            for (row, line) in (0..).zip(text::wrap(&words, inside.width.into(), inside.height.into())) {
                put(
                    buf,
                    inside,
                    row,
                    &[(words.get(line).unwrap_or_default().to_owned(), model.theme.style(Role::Key))],
                );
            }
            continue;
        }
        match pane {
            Pane::Terms => terms::draw(model, *area, buf),
            Pane::Hops => hops::draw(model, *area, buf),
            Pane::Ranks => ranks::draw(model, *area, buf),
            Pane::Fused => fused::draw(model, *area, buf),
            Pane::Passage => passage::draw(model, *area, buf),
            Pane::Why => why::draw(model, *area, buf),
        }
    }
    if let Some(area) = areas.verdict.filter(|_| present::shows_gold(model)) {
        verdict::draw(model, area, buf);
    }
    footer::draw(model, areas.footer, buf);
    if model.mode == Mode::Normal {
        tour::draw(model, buf);
    }
    match model.behind.as_ref().unwrap_or(&model.mode) {
        Mode::Help(from) => help::draw(model, *from, buf),
        Mode::Context(from) => context::draw(model, *from, buf),
        Mode::Compare(from) => compare::draw(model, *from, buf),
        Mode::Oracle(from) => oracle::draw(model, *from, buf),
        Mode::Sweep(cursor) => sweep::draw(model, *cursor, buf),
        Mode::Tokens(open) => tokens::draw(model, open, buf),
        Mode::Form(open) => form::draw(model, open, buf),
        Mode::Picker(open) => picker::draw(model, open, buf),
        _ => {}
    }
}

/// A piece of a line.
type Piece = (String, Style);

/// Write pieces on a row of an area, clipped at its right end. Returns the cells used.
fn put(buf: &mut Buffer, area: Rect, row: u16, pieces: &[Piece]) -> u16 {
    if row >= area.height || area.width == 0 {
        return 0;
    }
    let mut x = area.x;
    for (words, style) in pieces {
        let room = usize::from(area.right().saturating_sub(x));
        if room == 0 {
            break;
        }
        let (next, _) = buf.set_stringn(x, area.y + row, words, room, *style);
        x = next;
    }
    x - area.x
}

/// Write pieces at the right end of a row; nothing when there is no room for all of them.
fn put_right(buf: &mut Buffer, area: Rect, row: u16, pieces: &[Piece]) -> u16 {
    let wide: usize = pieces.iter().map(|(words, _)| text::width(words)).sum();
    let wide = wide as u16;
    if wide > area.width {
        return 0;
    }
    put(buf, Rect { x: area.right() - wide, width: wide, ..area }, row, pieces);
    wide
}

/// The frame of a pane with its title; returns the inside.
fn frame(model: &Model, pane: Pane, area: Rect, right: &str, buf: &mut Buffer) -> Rect {
    let focused = model.focus == pane;
    let theme = &model.theme;
    let edge = theme.style(if focused { Role::Focus } else { Role::Border });
    let inside = layout::inside(area, model);
    let room = usize::from(area.width.saturating_sub(4));
    if layout::is_narrow(model.size.0, model.size.1) {
        let line = if theme.glyphs.ascii { "=" } else { "━" };
        let rule = line.repeat(area.width.into());
        put(buf, area, 0, &[(rule, edge)]);
        let words = text::clip(&format!(" {right} "), room);
        if !right.is_empty() {
            put_right(
                buf,
                Rect { width: area.width.saturating_sub(2), ..area },
                0,
                &[(words, theme.style(Role::Faint))],
            );
        }
        return inside;
    }
    let left = format!(" {} {} ", pane.number(), pane.name());
    let right = text::clip(right, room.saturating_sub(text::width(&left) + 3));
    let mut block = Block::new()
        .borders(Borders::ALL)
        .border_set(edges(theme, focused))
        .border_style(edge)
        .title(Line::from(Span::styled(left, if focused { edge } else { theme.style(Role::Title) })));
    if !right.is_empty() {
        block = block.title(Line::from(Span::styled(format!(" {right} "), theme.style(Role::Faint))).right_aligned());
    }
    block.render(area, buf);
    inside
}

fn edges(theme: &Theme, focused: bool) -> border::Set<'static> {
    const ASCII: border::Set<'static> = border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    };
    match (theme.glyphs.ascii, focused) {
        (true, _) => ASCII,
        (false, true) => border::THICK,
        (false, false) => border::PLAIN,
    }
}

/// An overlay in the middle of the screen; returns its inside.
fn overlay(model: &Model, title: &str, size: (u16, u16), buf: &mut Buffer) -> Rect {
    let screen = buf.area;
    let width = size.0.min(screen.width.saturating_sub(2));
    let height = size.1.min(screen.height.saturating_sub(2));
    let area = Rect::new(screen.x + (screen.width - width) / 2, screen.y + (screen.height - height) / 2, width, height);
    overlay_at(model, title, area, buf)
}

/// An overlay in this place; returns its inside.
fn overlay_at(model: &Model, title: &str, area: Rect, buf: &mut Buffer) -> Rect {
    Clear.render(area, buf);
    buf.set_style(area, model.theme.style(Role::Text));
    let block = Block::new()
        .borders(Borders::ALL)
        .border_set(edges(&model.theme, true))
        .border_style(model.theme.style(Role::Focus))
        .title(format!(" {} ", text::clip(title, area.width.saturating_sub(6).into())));
    let inside = block.inner(area);
    block.render(area, buf);
    inside
}

/// Show that a row is selected. Colours of single cells give way, so that the row is one bar on every theme.
fn highlight(model: &Model, row: Rect, buf: &mut Buffer) {
    let style = Style::reset().patch(model.theme.style(Role::Text)).patch(model.theme.style(Role::Selected));
    buf.set_style(row, style);
}

/// A bar of full cells; at least one cell for what is more than nothing.
fn bar(theme: &Theme, share: f64, cells: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let full = ((share * cells as f64).round() as usize).max(usize::from(share > 0.0)).min(cells);
    text::pad(&theme.glyphs.bar.repeat(full), cells)
}

/// The first visible row of a list that keeps its cursor in sight.
pub fn first_visible(at: usize, height: usize) -> usize {
    (at + 1).saturating_sub(height)
}

/// A line of words with some of its characters underlined: byte ranges of `whole` that fall into `range`.
fn underlined(
    whole: &str,
    range: std::ops::Range<usize>,
    marks: &[std::ops::Range<usize>],
    base: Style,
    mark: Style,
) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = range.start;
    for found in marks {
        let (start, end) = (found.start.max(range.start).max(at), found.end.min(range.end));
        if start >= end {
            continue;
        }
        pieces.push((whole.get(at..start).unwrap_or_default().replace('\t', " "), base));
        pieces.push((whole.get(start..end).unwrap_or_default().to_owned(), mark));
        at = end;
    }
    pieces.push((whole.get(at..range.end).unwrap_or_default().replace('\t', " "), base));
    pieces
}
