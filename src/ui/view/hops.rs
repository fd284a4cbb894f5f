//! Pane 2: hop by hop what was searched, what taught it, what it found, and why the loop ended.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, bar, first_visible, frame, highlight, put, text};
use crate::explain::fate::{id_of, number};
use crate::parse::Origin;
use crate::trace::Trace;
use crate::ui::list::{HopRow, TermRow};
use crate::ui::model::Model;
use crate::ui::pane::Pane;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let Some(trace) = &model.trace else {
        frame(model, Pane::Hops, area, "", buf);
        return;
    };
    let candidates = trace.scored.retrieval.candidates.len();
    let inside = frame(model, Pane::Hops, area, &format!("{candidates} found"), buf);
    let height = usize::from(inside.height);
    let first = first_visible(model.rows.hop_at, height);
    for (line, (at, row)) in model.rows.hops.iter().enumerate().skip(first).take(height).enumerate() {
        let line = line as u16;
        put(buf, inside, line, &line_of(model, trace, *row, inside.width.into()));
        if model.focus == Pane::Hops && at == model.rows.hop_at {
            highlight(model, Rect { y: inside.y + line, height: 1, ..inside }, buf);
        }
    }
}

fn line_of(model: &Model, trace: &Trace, row: HopRow, width: usize) -> Vec<Piece> {
    let theme = &model.theme;
    let faint = theme.style(Role::Faint);
    let retrieval = &trace.scored.retrieval;
    match row {
        HopRow::Head(at) => {
            let Some(hop) = retrieval.hops.get(at) else { return Vec::new() };
            let what = match hop.terms.first().map(|tally| &tally.term.origin) {
                Some(Origin::Passage { .. }) => "new names",
                Some(Origin::Feedback { .. }) => "feedback terms",
                _ => "terms",
            };
            let words = format!("hop {}  {} {what}  +{} passages", hop.number, hop.terms.len(), hop.found.len());
            vec![(text::clip(&format!(" {words}"), width), theme.style(Role::Title))]
        }
        HopRow::Term(row) => term(model, trace, row, width),
        HopRow::Passage(passage) => {
            let gold = if trace.scored.is_gold(passage) { theme.glyphs.gold } else { " " };
            let id = text::pad(id_of(trace, passage), 9);
            let score = format!("{:>5}  ", number(trace.scored.match_score(passage)));
            let room = width.saturating_sub(4 + 9 + 7);
            let whole = trace.scored.passages.passages.get(passage as usize).map_or("", |found| found.text.as_str());
            let style = theme.style(if trace.fate(passage).is_kept() { Role::Text } else { Role::Dropped });
            vec![
                (format!("  {gold} "), theme.style(Role::Gold)),
                (id, faint),
                (score, faint),
                (text::one_line(whole, 0, room), style),
            ]
        }
        HopRow::End(at) => {
            let end = retrieval.hops.get(at).and_then(|hop| hop.end).map_or("", |end| end.words());
            vec![(text::clip(&format!(" {end}"), width), theme.style(Role::Notice))]
        }
    }
}

fn term(model: &Model, trace: &Trace, row: TermRow, width: usize) -> Vec<Piece> {
    let theme = &model.theme;
    let Some(tally) = trace.scored.retrieval.hops.get(row.hop).and_then(|hop| hop.terms.get(row.term)) else {
        return Vec::new();
    };
    let from = match &tally.term.origin {
        Origin::Passage { passage, label, .. } => {
            format!(" {} {} {label}", theme.glyphs.from, id_of(trace, *passage))
        }
        Origin::Feedback { passages } => format!(" {} {} passages", theme.glyphs.from, passages.len()),
        _ => String::new(),
    };
    let name = width.saturating_sub(9 + text::width(&from)).clamp(4, 22);
    let mut pieces = vec![
        (format!("  {} {:>4}", text::pad(&tally.term.text, name), tally.passages), theme.style(Role::Text)),
        (from, theme.style(Role::Faint)),
    ];
    let used: usize = pieces.iter().map(|(words, _)| text::width(words)).sum();
    if width > used + 2 {
        let share = f64::from(tally.passages) / trace.scored.passages.len().max(1) as f64;
        pieces.push((format!(" {}", bar(theme, share, (width - used - 1).min(10))), theme.style(Role::Bar)));
    }
    pieces
}
