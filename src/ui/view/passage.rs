//! Pane 5: the selected passage in its session, matched words underlined, and what the models read of it.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, frame, put, text, underlined};
use crate::explain::fate::number;
use crate::rank::TokenMatch;
use crate::trace::Trace;
use crate::ui::model::Model;
use crate::ui::pane::Pane;
use crate::ui::theme::Role;
use crate::ui::tokens::{inspected, label};

/// Most lines that are wrapped for one passage: more than any screen has.
const MOST_LINES: usize = 400;
/// Cells before the words: cursor and gold.
const INDENT: usize = 3;
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
    // Pooled scores are not those of the tokens of the whole passage.
    if winner(trace, selected).is_none() {
        notes.extend(matched(model));
    }
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
    let mut own = lines_of(model, trace, selected, true, width);
    if let Some(line) = winner_line(trace, selected, width) {
        if let Some(first) = own.get_mut(line).and_then(|pieces| pieces.first_mut()) {
            *first = (model.theme.glyphs.mover.to_owned(), model.theme.style(Role::Colbert));
        }
        // A long passage opens at the turn that speaks for it.
        if own.len() > height {
            own.drain(..line.saturating_sub(height / 3).min(own.len() - height));
        }
    }
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
    let wrapped = text::wrap(&passage.text, width.saturating_sub(INDENT).max(8), MOST_LINES);
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
        for range in text::wrap(&words, width.saturating_sub(INDENT).max(8), 4) {
            let part = words.get(range).unwrap_or_default();
            lines.push(vec![(format!("{}{part}", " ".repeat(INDENT)), theme.style(Role::Notice))]);
        }
    }
    lines
}

/// The turn whose vector scores best in a passage of several turns whose scores were pooled.
fn winner(trace: &Trace, passage: u32) -> Option<usize> {
    Some(trace.scored.colbert.score(passage)?.turn? as usize)
}

/// The first screen line of that turn.
fn winner_line(trace: &Trace, passage: u32, width: usize) -> Option<usize> {
    let winner = winner(trace, passage)?;
    let found = trace.scored.passages.passages.get(passage as usize)?;
    let before = trace.scored.passages.conversation.turns.get(found.turns.start..winner)?;
    let lines = before.iter().map(|turn| 1 + turn.text.matches('\n').count()).sum();
    let start: usize = found.text.split_inclusive('\n').take(lines).map(str::len).sum();
    let wrapped = text::wrap(&found.text, width.saturating_sub(INDENT).max(8), MOST_LINES);
    wrapped.iter().position(|range| range.end > start)
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
    let Some(turn) = winner(trace, passage).and_then(|at| scored.passages.conversation.turns.get(at)) else {
        return read("ce", &scored.ce).into_iter().chain(read("colbert", &scored.colbert)).collect();
    };
    let value = scored.colbert.value(passage).map(number).unwrap_or_default();
    let pooler = scored.settings.pooler;
    let mut notes = vec![format!(" dense ({pooler}) {value}: turn {} scores best", turn.id)];
    notes.extend(read("ce", &scored.ce));
    notes
}
