//! Pane 6: what became of the selected passage, in one sentence, and its path through the stages.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, frame, put, text};
use crate::explain::advice;
use crate::explain::fate::{cut_line, id_of, path, sentence};
use crate::explain::lint::lints;
use crate::explain::near_miss::{near_misses, words_of};
use crate::trace::Trace;
use crate::truncate::FateKind;
use crate::ui::model::Model;
use crate::ui::pane::Pane;
use crate::ui::theme::Role;

/// Cells of the first column.
const LABEL: usize = 10;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let (Some(trace), Some(selected)) = (&model.trace, model.selected) else {
        frame(model, Pane::Why, area, "", buf);
        return;
    };
    let gold = if trace.scored.is_gold(selected) { model.theme.glyphs.gold } else { "" };
    let right = format!("{} {gold} {}", id_of(trace, selected), verdict(model, trace, selected));
    let inside = frame(model, Pane::Why, area, &right, buf);
    let lines = lines(model, trace, selected, inside.width.into());
    let most = lines.len().saturating_sub(inside.height.into());
    for (at, pieces) in lines.iter().skip(model.why_scroll.min(most)).take(inside.height.into()).enumerate() {
        put(buf, inside, at as u16, pieces);
    }
}

/// `kept`, or `dropped: beyond top n in A, kept in B` where the pinned settings give it another fate.
fn verdict(model: &Model, trace: &Trace, selected: u32) -> String {
    let words = |kind: FateKind| match kind {
        FateKind::Kept => "kept".to_owned(),
        other => format!("dropped: {}", other.name()),
    };
    let kind = trace.fate(selected).kind();
    let a = model.pinned.as_ref().and_then(|a| a.comparable()).map(|a| a.fate(selected).kind());
    match a.filter(|a| *a != kind) {
        Some(a) => format!("{} in A, {} in B", words(a), words(kind)),
        None => words(kind),
    }
}

fn lines(model: &Model, trace: &Trace, selected: u32, width: usize) -> Vec<Vec<Piece>> {
    let theme = &model.theme;
    let mut lines = Vec::new();
    let role = if trace.fate(selected).is_kept() { Role::Kept } else { Role::Cut };
    block(&mut lines, "", &sentence(trace, selected), width, theme.style(Role::Faint), theme.style(role));
    lines.push(Vec::new());
    for (stage, words) in path(trace, selected).into_iter().filter(|(stage, _)| *stage != "truncate") {
        block(&mut lines, stage, &words, width, theme.style(Role::Faint), theme.style(Role::Text));
    }
    for miss in near_misses(trace, selected) {
        block(&mut lines, "close", &words_of(trace, &miss), width, theme.style(Role::Faint), theme.style(Role::Text));
    }
    block(&mut lines, "the cut", &cut_line(trace), width, theme.style(Role::Faint), theme.style(Role::Text));
    if let Some(known) = &model.whatifs {
        let whatifs = &known.whatifs;
        for words in advice::all_lines(whatifs) {
            let words = if theme.glyphs.ascii { words.replace('≤', "<=").replace('≥', ">=") } else { words };
            block(&mut lines, "what if", &words, width, theme.style(Role::Faint), theme.style(Role::Text));
        }
        if let Some(words) = advice::without_effect(whatifs) {
            block(&mut lines, "what if", &words, width, theme.style(Role::Faint), theme.style(Role::Faint));
        }
    }
    for assumption in &trace.fused.assumptions {
        block(&mut lines, "note", assumption.words(), width, theme.style(Role::Faint), theme.style(Role::Notice));
    }
    let counts: Vec<String> = FateKind::ALL
        .into_iter()
        .map(|kind| (kind, trace.count(kind)))
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.name()))
        .collect();
    let all = format!("{} = {} passages", counts.join(" + "), trace.fates.len());
    block(&mut lines, "all fates", &all, width, theme.style(Role::Faint), theme.style(Role::Faint));
    for lint in lints(trace) {
        // What is about this passage stands out.
        let role = if lint.passages.contains(&selected) { Role::Notice } else { Role::Faint };
        block(&mut lines, "lint", &lint.text, width, theme.style(Role::Faint), theme.style(role));
    }
    lines
}

fn block(
    lines: &mut Vec<Vec<Piece>>,
    label: &str,
    words: &str,
    width: usize,
    label_style: ratatui::style::Style,
    style: ratatui::style::Style,
) {
    let indent = if label.is_empty() { 1 } else { LABEL + 1 };
    for (at, range) in text::wrap(words, width.saturating_sub(indent + 1), 12).into_iter().enumerate() {
        let head = if at == 0 { text::pad(&format!(" {label}"), indent) } else { " ".repeat(indent) };
        lines.push(vec![(head, label_style), (words.get(range).unwrap_or_default().to_owned(), style)]);
    }
}
