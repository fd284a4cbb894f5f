//! Pane 1: weighted terms, names that a hop added, and the words that were ignored.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, bar, first_visible, frame, highlight, put, text};
use crate::explain::fate::{id_of, number};
use crate::parse::Parser;
use crate::retrieve::bm25::Part;
use crate::settings::Fusion;
use crate::trace::Trace;
use crate::ui::list::TermRow;
use crate::ui::model::Model;
use crate::ui::pane::Pane;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let Some(trace) = &model.trace else {
        frame(model, Pane::Terms, area, "", buf);
        return;
    };
    let asked = trace.scored.query.terms.len();
    let learnt = model.rows.terms.len().saturating_sub(asked);
    let right = if learnt > 0 { format!("{asked} + {learnt}") } else { format!("{asked}") };
    let inside = frame(model, Pane::Terms, area, &right, buf);
    let lexical = lexical(model, trace, inside.width.into());
    let ignored = if lexical.is_empty() { ignored(model, trace, inside.width.into()) } else { lexical };
    let most = if trace.settings.fusion == Fusion::Z { inside.height * 2 / 3 } else { inside.height / 3 };
    let below = (ignored.len() as u16).min(most);
    let height = inside.height - below;
    let heaviest = heaviest(trace);
    let first = first_visible(model.rows.term_at, height.into());
    for (line, (at, row)) in model.rows.terms.iter().enumerate().skip(first).take(height.into()).enumerate() {
        let selected = model.focus == Pane::Terms && at == model.rows.term_at;
        let pieces = line_of(model, trace, *row, heaviest, inside.width.into());
        let line = line as u16;
        put(buf, inside, line, &pieces);
        if selected {
            highlight(model, Rect { y: inside.y + line, height: 1, ..inside }, buf);
        }
    }
    if model.rows.terms.is_empty() {
        put(buf, inside, 0, &[("no term".to_owned(), theme.style(Role::Notice))]);
    }
    for (line, words) in ignored.into_iter().take(below.into()).enumerate() {
        put(buf, inside, height + line as u16, &[(words, theme.style(Role::Faint))]);
    }
}

fn heaviest(trace: &Trace) -> f64 {
    trace.scored.retrieval.terms().map(|term| term.weight).fold(0.0, f64::max)
}

fn line_of(model: &Model, trace: &Trace, row: TermRow, heaviest: f64, width: usize) -> Vec<Piece> {
    let theme = &model.theme;
    let Some(tally) = trace.scored.retrieval.hops.get(row.hop).and_then(|hop| hop.terms.get(row.term)) else {
        return Vec::new();
    };
    let term = &tally.term;
    let filtered = if model.rows.filter.term == Some(row.id) { "/" } else { " " };
    let name = if width < 34 { width.saturating_sub(17) } else { (width - 24).min(24) }.max(6);
    let style = theme.style(if term.muted { Role::Dropped } else { Role::Text });
    let mut pieces = vec![
        (format!("{filtered}{} ", text::pad(&term.text, name)), style),
        (text::pad(term.class.name(), 6), theme.style(Role::Faint)),
        (format!("{:>4} ", if term.muted { "mute".to_owned() } else { number(term.weight) }), style),
        (format!("{:>4}", tally.passages), theme.style(Role::Faint)),
    ];
    let used: usize = pieces.iter().map(|(words, _)| text::width(words)).sum();
    if width > used + 3 {
        let share = if heaviest > 0.0 && !term.muted { term.weight / heaviest } else { 0.0 };
        pieces.push((format!(" {}", bar(theme, share, (width - used - 1).min(12))), theme.style(Role::Bar)));
    }
    pieces
}

/// What each word of the question gives to the BM25 of the selected passage, where the fusion looks at BM25.
fn lexical(model: &Model, trace: &Trace, width: usize) -> Vec<String> {
    let (Fusion::Z, Some(passage)) = (trace.settings.fusion, model.selected) else { return Vec::new() };
    let set = &trace.scored.passages;
    let parts = set.bm25().parts(&trace.scored.query.text, trace.scored.settings.bm25);
    let share = |part: &Part| part.shares.iter().find(|(unit, _)| *unit == passage).map_or(0.0, |(_, share)| *share);
    let most = parts.iter().map(share).fold(0.0, f64::max);
    let mut lines = vec![format!(" bm25 of {} {}", id_of(trace, passage), number(trace.scored.bm25(passage)))];
    for part in &parts {
        let gain = share(part);
        let name = text::pad(&part.token, 14.min(width / 2));
        let line = if width < 40 {
            format!(" {name} {gain:>5.2} ")
        } else {
            format!(" {name} {gain:>5.2}  idf {:<5.2} in {:>3} ", part.idf, part.shares.len())
        };
        let room = width.saturating_sub(text::width(&line)).min(10);
        let bar = if most > 0.0 && room > 2 { bar(&model.theme, gain / most, room) } else { String::new() };
        lines.push(text::clip(&format!("{line}{bar}"), width));
    }
    lines
}

/// Words that became no term, wrapped, and who read the question when it was not the tagger.
fn ignored(model: &Model, trace: &Trace, width: usize) -> Vec<String> {
    let query = &trace.scored.query;
    let mut words = String::new();
    if query.parser == Parser::Plain {
        words.push_str("no tagger: capitalised words are names, the rest nouns; ");
    }
    if let Some(term) = model.rows.filter.term.and_then(|at| trace.scored.retrieval.terms().nth(at.into())) {
        words.push_str(&format!("filter: {}; ", term.text));
    }
    if !query.ignored.is_empty() {
        words.push_str("ignored ");
        words.push_str(&query.ignored.iter().map(|word| word.word.as_str()).collect::<Vec<_>>().join(" "));
    }
    text::wrap(&words, width.saturating_sub(1), 6)
        .into_iter()
        .map(|line| format!(" {}", words.get(line).unwrap_or_default()))
        .collect()
}
