//! Pane 5: the selected passage in its session, matched words underlined, and what the models read of it.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, frame, put, text, underlined};
use crate::rank::TokenMatch;
use crate::trace::Trace;
use crate::ui::model::Model;
use crate::ui::pane::Pane;
use crate::ui::theme::Role;
use crate::ui::tokens::{inspected, label};

/// Most lines that are wrapped for one passage: more than any screen has.
const MOST_LINES: usize = 400;
/// Pairs of tokens that are named.
const PAIRS: usize = 5;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let (Some(trace), Some(selected)) = (&model.trace, model.selected) else {
        frame(model, Pane::Passage, area, "", buf);
        return;
    };
    let set = &trace.scored.passages;
    let Some(passage) = set.passages.get(selected as usize) else { return };
    let conversation = &set.conversation;
    let turn = conversation.turns.get(passage.turns.start);
    let session = conversation.sessions.get(passage.session);
    let right = match (turn, session) {
        (Some(turn), Some(session)) => {
            format!("session {}, turn {}, {}", session.number, turn.number, turn.time.date_and_time())
        }
        _ => String::new(),
    };
    let inside = frame(model, Pane::Passage, area, &right, buf);
    let mut notes = notes(trace, selected);
    notes.extend(matched(model));
    let below = if inside.height > 6 { notes.len() as u16 } else { 0 };
    let body = Rect { height: inside.height - below, ..inside };
    let lines = around(model, trace, selected, body);
    for (at, pieces) in lines.iter().enumerate() {
        put(buf, body, at as u16, pieces);
    }
    for (at, words) in notes.into_iter().take(below.into()).enumerate() {
        let words = text::clip(&words, inside.width.into());
        put(buf, inside, body.height + at as u16, &[(words, theme.style(Role::Faint))]);
    }
}

/// The selected passage with as much before and after it, within its session, as there is room for.
fn around(model: &Model, trace: &Trace, selected: u32, body: Rect) -> Vec<Vec<Piece>> {
    let height = usize::from(body.height);
    let width = usize::from(body.width);
    let set = &trace.scored.passages;
    let session = |at: u32| set.passages.get(at as usize).map(|passage| passage.session);
    let home = session(selected);
    let own = lines_of(model, trace, selected, true, width);
    // One third of the room goes to what was said before.
    let mut before: Vec<Vec<Piece>> = Vec::new();
    let room = height.saturating_sub(own.len()).min(height / 3).max(usize::from(own.len() < height));
    let mut at = selected;
    while before.len() < room && at > 0 && session(at - 1) == home {
        at -= 1;
        let mut lines = lines_of(model, trace, at, false, width);
        lines.append(&mut before);
        before = lines;
    }
    let skip = before.len().saturating_sub(room);
    let mut lines: Vec<Vec<Piece>> = before.into_iter().skip(skip).collect();
    lines.extend(own);
    let mut at = selected + 1;
    while lines.len() < height && session(at) == home && home.is_some() {
        lines.extend(lines_of(model, trace, at, false, width));
        at += 1;
    }
    lines.truncate(height);
    lines
}

fn lines_of(model: &Model, trace: &Trace, at: u32, selected: bool, width: usize) -> Vec<Vec<Piece>> {
    let theme = &model.theme;
    let Some(passage) = trace.scored.passages.passages.get(at as usize) else { return Vec::new() };
    let base = theme.style(if selected { Role::Text } else { Role::Faint });
    let mark = theme.style(Role::Match);
    let marks = matches(trace, at);
    let indent = 3;
    let wrapped = text::wrap(&passage.text, width.saturating_sub(indent).max(8), MOST_LINES);
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    for (number, range) in wrapped.into_iter().enumerate() {
        let cursor = if selected && number == 0 { theme.glyphs.selected } else { " " };
        let gold = if trace.scored.is_gold(at) && number == 0 { theme.glyphs.gold } else { " " };
        let mut pieces =
            vec![(cursor.to_owned(), theme.style(Role::Focus)), (format!("{gold} "), theme.style(Role::Gold))];
        pieces.extend(underlined(&passage.text, range, &marks, base, if selected { mark } else { base.patch(mark) }));
        lines.push(pieces);
    }
    let turns = trace.scored.passages.conversation.turns.get(passage.turns.clone()).unwrap_or_default();
    for caption in turns.iter().filter_map(|turn| turn.caption.as_deref()) {
        let words = format!("image: {caption}");
        for range in text::wrap(&words, width.saturating_sub(indent).max(8), 4) {
            let part = words.get(range).unwrap_or_default();
            lines.push(vec![(format!("{}{part}", " ".repeat(indent)), theme.style(Role::Notice))]);
        }
    }
    lines
}

/// Byte ranges of all matches in a passage, merged and in order.
fn matches(trace: &Trace, passage: u32) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for hit in trace.scored.retrieval.hits_of(passage) {
        let range = hit.start as usize..hit.end as usize;
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The strongest pairs of a question token and the passage token that it found.
fn matched(model: &Model) -> Option<String> {
    let matrix = &inspected(model)?.matrix.as_ref().ok()?.matrix;
    let pair = |token: &TokenMatch| {
        let asked = label(matrix.question.get(token.query)?);
        let found = label(matrix.passage.get(token.passage?)?);
        let arrow = if asked == found { String::new() } else { format!("{}{found}", model.theme.glyphs.to) };
        let cosine = format!("{:.2}", token.cosine);
        Some(format!("{asked}{arrow} {}", cosine.strip_prefix('0').unwrap_or(&cosine)))
    };
    let pairs: Vec<String> = matrix.strongest(PAIRS).iter().filter_map(pair).collect();
    (!pairs.is_empty()).then(|| format!(" colbert matched {}", pairs.join("  ")))
}

/// What the models read.
fn notes(trace: &Trace, passage: u32) -> Vec<String> {
    let scored = &trace.scored;
    let read = |name: &str, ranker: &crate::scored::Ranker| {
        ranker.score(passage).map(|score| {
            let cut = if score.clipped > 0 {
                format!("{} tokens not read: too long", score.clipped)
            } else {
                "nothing left out".to_owned()
            };
            format!(" {name} read {} tokens, {cut}", score.tokens)
        })
    };
    read("ce", &scored.ce).into_iter().chain(read("colbert", &scored.colbert)).collect()
}
