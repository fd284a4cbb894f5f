//! The question line: what is asked, how much gold survives, how far scoring is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

use super::{Piece, put, put_right, text};
use crate::engine::Progress;
use crate::trace::GoldCounts;
use crate::ui::model::{Mode, Model, text_of};
use crate::ui::pin::Pinned;
use crate::ui::present;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let editing = model.mode == Mode::Question;
    let mark = if theme.glyphs.ascii { " > " } else { " › " };
    let style = theme.style(if editing { Role::Focus } else { Role::Faint });
    let used = put(buf, area, 0, &[(mark.to_owned(), style)]);
    let right = status(model, area.width);
    let line = Rect { x: area.x + used, width: area.width.saturating_sub(used), ..area };
    if editing {
        let mut widget = model.question.clone();
        widget.set_style(theme.style(Role::Text));
        widget.set_cursor_style(Style::new().add_modifier(Modifier::REVERSED));
        widget.set_selection_style(theme.style(Role::Selected));
        widget.set_placeholder_text("type a question, Enter asks");
        widget.set_placeholder_style(theme.style(Role::Faint));
        (&widget).render(line, buf);
        return;
    }
    let typed = text_of(&model.question);
    let taken = if text::width(&typed) + 24 < usize::from(line.width) || model.running {
        put_right(buf, line, 0, &right)
    } else {
        // A long question leaves room for the last, most telling pieces only.
        let from = right.len().saturating_sub(if model.pinned.is_some() { 3 } else { 2 });
        put_right(buf, line, 0, right.get(from..).unwrap_or_default())
    };
    let room = usize::from(line.width.saturating_sub(taken + 1));
    if typed.is_empty() {
        put(buf, line, 0, &[(text::clip("press i and type a question", room), theme.style(Role::Faint))]);
    } else {
        put(buf, line, 0, &[(text::clip(&typed, room), theme.style(Role::Title))]);
    }
}

/// Gold of A and of B, time and progress.
fn status(model: &Model, width: u16) -> Vec<Piece> {
    let theme = &model.theme;
    let mut pieces: Vec<Piece> = Vec::new();
    let a = model.pinned.as_ref();
    if let Some(trace) = model.trace.as_ref().filter(|_| present::shows_gold(model)) {
        let gold = trace.gold();
        if gold.total > 0 {
            pieces.push((format!("{} ", theme.glyphs.gold), theme.style(Role::Gold)));
            pieces.extend(a.and_then(Pinned::trace).map(|a| counts(model, "A ", a.gold(), width)));
            let (words, style) = counts(model, if a.is_some() { "B " } else { "" }, gold, width);
            pieces.push((format!("{words}, {} found  ", gold.candidates), style));
        }
    }
    if let Some(words) = a.map(|a| a.standing(model).words()).filter(|words| !words.is_empty()) {
        pieces.push((format!("{}  ", model.keys.fill(words)), theme.style(Role::Notice)));
    }
    if let Some(trace) = model.trace.as_ref().filter(|_| !model.running && !model.steady) {
        let times = &trace.scored.timings;
        let total = times.parse_ms + times.retrieve_ms + times.colbert_ms + times.ce_ms;
        pieces.push((milliseconds(total), theme.style(Role::Faint)));
    }
    if model.running || a.is_some_and(|a| a.is_computing(model)) {
        let words = model.progress.as_ref().map_or_else(|| "working  ".to_owned(), progress);
        pieces.push((format!("{words}Esc stops "), theme.style(Role::Notice)));
    } else if let Some(known) = model.contrast.as_ref().filter(|known| known.running) {
        let words = format!("A and B {}/{}  Esc stops ", known.rows.len(), known.total);
        pieces.push((words, theme.style(Role::Notice)));
    } else if let Some(all) = model.sweep_all.as_ref().filter(|all| all.running) {
        pieces.push((format!("sweep {}/{}  Esc stops ", all.done, all.total), theme.style(Role::Notice)));
    } else if model.stopped {
        pieces.push((model.keys.fill("stopped, {resume} goes on "), theme.style(Role::Notice)));
    }
    pieces
}

/// `gold 1/2 kept`, with the recall where there is room and two of them are to be compared.
fn counts(model: &Model, name: &str, gold: GoldCounts, width: u16) -> Piece {
    let recall = gold.recall().filter(|_| width >= 160 && !name.is_empty());
    let recall = recall.map_or_else(String::new, |recall| format!(" recall {recall:.2}"));
    let gap = if name.starts_with('A') { "  " } else { "" };
    let role = if gold.kept == gold.total { Role::Gold } else { Role::Cut };
    (format!("{name}gold {}/{} kept{recall}{gap}", gold.kept, gold.total), model.theme.style(role))
}

fn milliseconds(total: f64) -> String {
    if total < 1000.0 { format!("{total:.0} ms ") } else { format!("{:.1} s ", total / 1000.0) }
}

fn progress(progress: &Progress) -> String {
    let left = match progress.left {
        Some(left) if left >= 1.0 => format!("  about {left:.0} s left"),
        _ => String::new(),
    };
    format!("{} {}/{}  {:.1} s{left}  ", progress.what, progress.done, progress.total, progress.seconds)
}
