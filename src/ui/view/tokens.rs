//! The overlay with what the models saw of the selected passage: the MaxSim matrix, and the pair of the cross-encoder.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation;

use super::{Piece, first_visible, highlight, overlay, put, put_right, text};
use crate::engine::{MatrixReading, PairReading};
use crate::explain::fate::id_of;
use crate::rank::{Matrix, PairPart, TokenMatch};
use crate::ui::model::Model;
use crate::ui::theme::{Role, Theme};
use crate::ui::tokens::{CELL, Grid, PART, PairLine, Tab, TokensView, inspected, label, pair_height, pair_lines};

pub(super) fn draw(model: &Model, view: &TokensView, buf: &mut Buffer) {
    let theme = &model.theme;
    let (Some(trace), Some(selected)) = (&model.trace, model.selected) else { return };
    let gold = if trace.scored.is_gold(selected) { format!(" {}", theme.glyphs.gold) } else { String::new() };
    let fate = trace.fate(selected).kind().name();
    let title = format!("What the models saw of {}{gold}, {fate}", id_of(trace, selected));
    let inside = overlay(model, &title, (buf.area.width, buf.area.height), buf);
    let found = inspected(model);
    let name = |tab: Tab, words: &str| match view.tab == tab {
        true => (format!("[{words}] "), theme.style(Role::Focus)),
        false => (format!(" {words}  "), theme.style(Role::Faint)),
    };
    put(buf, inside, 0, &[name(Tab::Matrix, "MaxSim matrix"), name(Tab::Pair, "cross-encoder")]);
    let Some(found) = found else {
        let words = if model.running { " after scoring" } else { " reading" };
        put(buf, inside, 2, &[(words.to_owned(), theme.style(Role::Notice))]);
        return;
    };
    let passage = trace.scored.passages.passages.get(selected as usize).map_or("", |passage| passage.text.as_str());
    let trouble = match (view.tab, &found.matrix, &found.pair) {
        (Tab::Matrix, Ok(reading), _) => return matrix(model, view, reading, passage, inside, buf),
        (Tab::Pair, _, Ok(reading)) => return pair(model, view, reading, inside, buf),
        (Tab::Matrix, Err(reason), _) | (Tab::Pair, _, Err(reason)) => reason,
    };
    for (at, range) in text::wrap(trouble, inside.width.saturating_sub(2).into(), 8).into_iter().enumerate() {
        let words = format!(" {}", trouble.get(range).unwrap_or_default());
        put(buf, inside, 2 + at as u16, &[(words, theme.style(Role::Notice))]);
    }
}

/// The name of a model at the right of the tabs, and one line below them.
fn head(model: &Model, name: &str, words: &str, inside: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let name = text::clip(name, usize::from(inside.width).saturating_sub(34));
    put_right(buf, inside, 0, &[(format!("{name} "), theme.style(Role::Faint))]);
    let words = text::clip(&format!(" {words}"), inside.width.into());
    put(buf, inside, 1, &[(words, theme.style(Role::Text))]);
}

fn matrix(model: &Model, view: &TokensView, reading: &MatrixReading, passage: &str, inside: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let matrix = &reading.matrix;
    let (rows, columns) = (matrix.question.len(), matrix.passage.len());
    let left_out = match matrix.clipped {
        0 => format!("{columns} passage tokens, all read"),
        clipped => format!("{columns} passage tokens; {clipped} not read: too long"),
    };
    let words =
        format!("score {:.3} = sum of {rows} best, mean {:.2}; {left_out}", matrix.score.score, matrix.score.mean);
    head(model, &reading.model, &words, inside, buf);
    let grid = Grid::of(matrix, (inside.width, inside.height));
    let cells = 2 + grid.label as u16 + 1;
    let shown = view.column..(view.column + grid.columns).min(columns);
    let chosen = matrix.best.get(view.row);
    let body = Rect { y: inside.y + 2, height: inside.height.saturating_sub(2), ..inside };
    for (at, column) in shown.clone().enumerate() {
        let Some(piece) = matrix.passage.get(column) else { break };
        let is_best = chosen.is_some_and(|token| token.passage == Some(column));
        let place = Rect { x: body.x + cells + (at * CELL) as u16, width: CELL as u16, ..body };
        column_head(theme, &label(piece), grid.heads, is_best, place, buf);
    }
    let first = first_visible(view.row, grid.rows);
    for (line, row) in (first..rows).take(grid.rows).enumerate() {
        let line = (grid.heads + line) as u16;
        let Some(token) = matrix.best.get(row) else { break };
        let cursor = if row == view.row { theme.glyphs.selected } else { " " };
        let name = matrix.question.get(row).map(label).unwrap_or_default();
        let mut pieces: Vec<Piece> = vec![
            (format!("{cursor} "), theme.style(Role::Focus)),
            (format!("{} ", text::pad(&name, grid.label)), theme.style(Role::Text)),
        ];
        pieces.extend(shown.clone().map(|column| cell(theme, matrix, token, column)));
        let found = token.passage.and_then(|at| matrix.passage.get(at)).map_or_else(|| "nothing".to_owned(), label);
        let found = format!("{} {:>5.2}", text::pad(&found, grid.found), token.cosine);
        let used = put(buf, body, line, &pieces);
        let rest = Rect { x: body.x + used, width: body.width.saturating_sub(used), ..body };
        put(
            buf,
            rest,
            line,
            &[(format!(" {} ", theme.glyphs.to), theme.style(Role::Faint)), (found, theme.style(Role::Text))],
        );
        if row == view.row {
            highlight(model, Rect { y: body.y + line, height: 1, width: cells - 1, ..body }, buf);
            highlight(model, Rect { x: rest.x + 3, y: body.y + line, height: 1, width: grid.found as u16 + 6 }, buf);
        }
    }
    if inside.height < 6 {
        return;
    }
    if let Some(token) = chosen {
        put(buf, inside, inside.height - 2, &in_context(theme, matrix, token, passage, inside.width.into()));
    }
    let span = if shown.is_empty() { 0 } else { shown.start + 1 };
    let words = format!(" {} best of its row; tokens {span} to {} of {columns}", legend(theme), shown.end);
    put(buf, inside, inside.height - 1, &[(text::clip(&words, inside.width.into()), theme.style(Role::Faint))]);
}

/// A passage token from top to bottom, its end at the cells.
fn column_head(theme: &Theme, name: &str, heads: usize, is_best: bool, place: Rect, buf: &mut Buffer) {
    let letters: Vec<&str> = name.graphemes(true).collect();
    let cut = letters.len() > heads;
    let top = heads.saturating_sub(letters.len());
    let style = theme.style(if is_best { Role::Match } else { Role::Faint });
    for (at, letter) in letters.into_iter().take(heads).enumerate() {
        let last = cut && at + 1 == heads;
        let letter = if last { "…" } else { letter };
        put(buf, place, (top + at) as u16, &[(text::clip(letter, CELL), style)]);
    }
}

/// Whether cosines are drawn as digits: where shades cannot be drawn, and where colour says nothing.
fn as_digits(theme: &Theme) -> bool {
    theme.glyphs.ascii || theme.name == "mono"
}

/// One cell: a shade or a digit for its cosine; hundredths for the best of its row.
fn cell(theme: &Theme, matrix: &Matrix, best: &TokenMatch, column: usize) -> Piece {
    let cosine = matrix.cosine(best.query, column).unwrap_or(-1.0);
    if best.passage == Some(column) {
        // Beside other digits two of them would not stand out.
        if as_digits(theme) {
            return (format!("*{}", tenths(cosine)), theme.style(Role::Match));
        }
        let words = match (cosine * 100.0).round() as i32 {
            100.. => "1.".to_owned(),
            hundredths @ 0..100 => format!("{hundredths:02}"),
            below => format!("-{}", (below / -10).min(9)),
        };
        return (words, theme.style(Role::Match));
    }
    let style = theme.style(if cosine < 0.2 { Role::Faint } else { Role::Colbert });
    if as_digits(theme) {
        return (format!(" {}", tenths(cosine)), style);
    }
    let [none, shades @ ..] = &theme.glyphs.shades;
    let step = ((cosine / 0.2).floor().max(0.0) as usize).min(shades.len());
    match step.checked_sub(1).and_then(|step| shades.get(step)) {
        Some(shade) => (shade.repeat(CELL), style),
        None => (format!("{none} "), style),
    }
}

/// The first digit of a cosine; a dash below nothing.
fn tenths(cosine: f32) -> char {
    if cosine < 0.0 { '-' } else { char::from_digit(((cosine * 10.0) as u32).min(9), 10).unwrap_or('9') }
}

fn legend(theme: &Theme) -> String {
    if as_digits(theme) {
        return "digits are tenths of the cosine   *N".to_owned();
    }
    let [none, shades @ ..] = &theme.glyphs.shades;
    let steps: Vec<String> =
        shades.iter().zip([2, 4, 6, 8]).map(|(shade, tenths)| format!("{shade} .{tenths}")).collect();
    format!("{none} below  {}   NN", steps.join("  "))
}

/// The token that the cursor's row found, with the words around it.
fn in_context(theme: &Theme, matrix: &Matrix, token: &TokenMatch, passage: &str, width: usize) -> Vec<Piece> {
    let faint = theme.style(Role::Faint);
    let Some(piece) = token.passage.and_then(|at| matrix.passage.get(at)).filter(|piece| piece.end > piece.start)
    else {
        return vec![(" this token stands for no text of the passage".to_owned(), faint)];
    };
    let flat = |part: Option<&str>| part.unwrap_or_default().replace(['\n', '\t'], " ");
    let side = width.saturating_sub(2) / 2;
    let from = passage.floor_char_boundary(piece.start.saturating_sub(side * 4));
    let word = text::clip(&flat(passage.get(piece.start..piece.end)), width / 3);
    let before = text::clip_start(&flat(passage.get(from..piece.start)), side.saturating_sub(text::width(&word)));
    let room = width.saturating_sub(text::width(&word) + text::width(&before) + 2);
    let after = text::one_line(passage.get(piece.end..).unwrap_or_default(), 0, room);
    vec![(format!(" {before}"), faint), (word, theme.style(Role::Match)), (after, faint)]
}

fn pair(model: &Model, view: &TokensView, reading: &PairReading, inside: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let tokens = &reading.tokens;
    let read = tokens.read.len();
    let mut unread: Vec<String> = Vec::new();
    if tokens.question_unread > 0 {
        unread.push(format!("{} question tokens not read", tokens.question_unread));
    }
    unread.push(match tokens.passage_unread {
        0 => "nothing of the passage left out".to_owned(),
        count => format!("{count} passage tokens not read"),
    });
    let all = read + tokens.question_unread + tokens.passage_unread;
    let words = format!("reads {read} of {all} tokens (at most {}); {}", reading.max_tokens, unread.join("; "));
    head(model, &reading.model, &words, inside, buf);
    let score = &reading.score;
    let words = format!(" logit {:.3}, score {:.4} = sigmoid of the logit", score.logit, score.score);
    put(buf, inside, 2, &[(text::clip(&words, inside.width.into()), theme.style(Role::Ce))]);
    let lines = pair_lines(reading, inside.width.into());
    let visible = lines.iter().skip(view.from).take(pair_height(inside.height)).enumerate();
    for (at, line) in visible {
        put(buf, inside, 3 + at as u16, &pair_line(theme, reading, line, inside.width.into()));
    }
}

fn pair_line(theme: &Theme, reading: &PairReading, line: &PairLine, width: usize) -> Vec<Piece> {
    let tokens = &reading.tokens;
    let faint = theme.style(Role::Faint);
    let row = |name: &str, first: bool, labels: Vec<String>, role: Role| {
        let name = if first { name } else { "" };
        let words = text::clip(&labels.join(" "), width.saturating_sub(PART + 1));
        vec![(format!(" {}", text::pad(name, PART)), faint), (words, theme.style(role))]
    };
    match line {
        PairLine::Read { part, first, tokens: range } => {
            let labels = tokens.read.get(range.clone()).unwrap_or_default();
            let (name, role) = match part {
                PairPart::Special => ("", Role::Faint),
                PairPart::Question => ("question", Role::Ce),
                PairPart::Passage => ("passage", Role::Text),
            };
            row(name, *first, labels.iter().map(|(_, piece)| label(piece)).collect(), role)
        }
        PairLine::Cut => {
            let words = format!("{0}{0} the model reads no further ", theme.glyphs.cut);
            let rest = theme.glyphs.cut.repeat(width.saturating_sub(text::width(&words)));
            vec![(format!("{words}{rest}"), theme.style(Role::Cut))]
        }
        PairLine::Unread { first, tokens: range } => {
            let labels = tokens.unread.get(range.clone()).unwrap_or_default();
            row("not read", *first, labels.iter().map(label).collect(), Role::Dropped)
        }
        PairLine::More(count) => {
            vec![(format!(" {}and {count} more that are not shown", " ".repeat(PART)), theme.style(Role::Notice))]
        }
    }
}
