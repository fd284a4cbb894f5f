//! Pane 4: the fused order with the cut as a row inside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, bar, frame, highlight, put, text};
use crate::explain::compare::Move;
use crate::explain::fate::{cut_line, id_of};
use crate::trace::Trace;
use crate::truncate::FateKind;
use crate::ui::list::FusedLine;
use crate::ui::model::{Mode, Model};
use crate::ui::pane::Pane;
use crate::ui::pin::Pinned;
use crate::ui::theme::Role;

/// Which columns there is room for.
#[derive(Clone, Copy)]
struct Columns {
    delta: bool,
    bar: usize,
    sum: bool,
    place: usize,
}

impl Columns {
    fn of(width: usize, compared: bool) -> Self {
        let delta = compared && width >= DELTA + 40;
        let width = width - if delta { DELTA } else { 0 };
        Self { delta, bar: if width >= 64 { 6 } else { 0 }, sum: width >= 50, place: if width >= 110 { 14 } else { 9 } }
    }
}

/// Cells of the column with the move from A to B.
const DELTA: usize = 7;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let Some(trace) = &model.trace else {
        let inside = frame(model, Pane::Fused, area, "", buf);
        let words = waiting(model);
        for (line, range) in text::wrap(&words, inside.width.into(), 8).into_iter().enumerate() {
            let part = words.get(range).unwrap_or_default().to_owned();
            put(buf, inside, line as u16 + 1, &[(part, theme.style(Role::Faint))]);
        }
        return;
    };
    let inside = frame(model, Pane::Fused, area, &numbers(model, trace), buf);
    let a = model.pinned.as_ref().and_then(Pinned::comparable);
    let columns = Columns::of(inside.width.into(), a.is_some());
    put(buf, inside, 0, &[(heads(model, trace, columns), theme.style(Role::Faint))]);
    let range = score_range(trace);
    let top = model.rows.fused_top;
    for line in 0..inside.height.saturating_sub(1) {
        match model.rows.at_line(top + usize::from(line)) {
            Some(FusedLine::Passage(passage)) => {
                let row = Rect { y: inside.y + 1 + line, height: 1, ..inside };
                let selected = model.selected == Some(passage);
                put(buf, row, 0, &line_of(model, (a, trace), passage, columns, range, inside.width.into()));
                if selected {
                    highlight(model, row, buf);
                }
            }
            Some(FusedLine::Cut) => cut(model, trace, Rect { y: inside.y + 1 + line, height: 1, ..inside }, buf),
            None => break,
        }
    }
    if model.rows.fused.is_empty() {
        let words = if model.rows.filter.is_empty() { "no candidate" } else { "no row fits the filter: Esc drops it" };
        put(buf, inside, 1, &[(words.to_owned(), theme.style(Role::Notice))]);
    }
}

fn waiting(model: &Model) -> String {
    match (&model.conversation, model.running) {
        (None, _) if model.database.open => model.keys.fill("choose a conversation: {conversations} opens the list"),
        (None, _) => "opening the database".to_owned(),
        (Some(_), true) => "searching".to_owned(),
        (Some(open), false) => {
            let typing = model.mode == Mode::Question;
            let ask = if typing { "type a question and press Enter" } else { "press i and type a question" };
            let keys = if typing { "press Esc, then p" } else { "press p" };
            match open.questions.len() {
                0 => ask.to_owned(),
                count => format!(
                    "{ask}; or {keys} for the first of the {count} questions that came with this conversation, or L \
                     for the list of them"
                ),
            }
        }
    }
}

fn numbers(model: &Model, trace: &Trace) -> String {
    let kept = trace.count(FateKind::Kept);
    let dropped = trace.cut.rows.len() - kept.min(trace.cut.rows.len());
    let mut words = String::new();
    if let Some(found) = model.pinned.as_ref().and_then(Pinned::comparison) {
        let (enter, leave) = (found.price.enter.len(), found.price.leave.len());
        words = format!("A{}B {enter} in, {leave} out · ", model.theme.glyphs.to);
    }
    if !model.rows.filter.is_empty() {
        let filter = &model.rows.filter;
        let what = filter.fate.map_or("filtered", FateKind::name);
        words.push_str(&format!("{what} {} · ", model.rows.fused.len()));
    }
    if model.rows.by_time {
        words.push_str("by time · ");
    }
    if trace.is_provisional() {
        words.push_str(&format!("ce {}/{} · ", trace.scored.ce.scored(), trace.cut.rows.len()));
    }
    format!("{words}{kept} kept · {dropped} dropped")
}

fn heads(model: &Model, trace: &Trace, columns: Columns) -> String {
    let delta = if columns.delta { format!("{:>6} ", model.theme.glyphs.delta) } else { String::new() };
    let bar = if columns.bar > 0 { "score  " } else { "" };
    let sum = if columns.sum { "words   sum" } else { "words" };
    let (first, second) = match trace.rankings() {
        ["ce", "colbert"] => ("ce", "cb"),
        ["ce", _] => ("ce", "dn"),
        [_, "colbert"] => ("bm", "cb"),
        _ => ("bm", "dn"),
    };
    format!("      # {delta}  {first}   {second}  {bar}{sum}  {} passage", text::pad("where", columns.place))
}

/// Lowest and highest fused score: bars are relative to these.
fn score_range(trace: &Trace) -> (f64, f64) {
    let scores = trace.fused.rows.iter().map(|row| row.score).filter(|score| *score > -1e11);
    scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| (low.min(score), high.max(score)))
}

fn line_of(
    model: &Model,
    (a, trace): (Option<&Trace>, &Trace),
    passage: u32,
    columns: Columns,
    (low, high): (f64, f64),
    width: usize,
) -> Vec<Piece> {
    let theme = &model.theme;
    let scored = &trace.scored;
    let fate = trace.fate(passage);
    let base = theme.style(if fate.is_kept() { Role::Kept } else { Role::Dropped });
    let cursor = if model.selected == Some(passage) { theme.glyphs.selected } else { " " };
    let turned = a.and_then(|a| match (a.fate(passage).is_kept(), fate.is_kept()) {
        (false, true) => Some((theme.glyphs.enters, theme.style(Role::Kept))),
        (true, false) => Some((theme.glyphs.leaves, theme.style(Role::Cut))),
        _ => None,
    });
    let sign = match (model.crossed.get(&passage), fate.kind()) {
        (Some(true), _) => "+",
        (Some(false), _) => "-",
        // Where there is no room for the moves, the gutter has what enters and leaves between A and B.
        (None, _) if turned.is_some() && !columns.delta => turned.map_or(" ", |(glyph, _)| glyph),
        (None, FateKind::BelowAlpha) => theme.glyphs.alpha,
        (None, FateKind::Duplicate) => "=",
        (None, FateKind::Unscored) => "?",
        _ => " ",
    };
    let gold = if scored.is_gold(passage) { theme.glyphs.gold } else { " " };
    let place = trace.place(passage);
    let rough = if trace.is_provisional() { "~" } else { " " };
    let rank = |rank: u32| if rank == 0 { "-".to_owned() } else { rank.to_string() };
    let row = (place > 0).then(|| trace.cut.rows.get(place as usize - 1)).flatten();
    let words = row.map_or_else(
        || scored.passages.passages.get(passage as usize).map_or(0, |found| found.words + found.header_words),
        |row| row.words,
    );
    let mut pieces = vec![
        (cursor.to_owned(), base),
        (sign.to_owned(), theme.style(Role::Changed)),
        (gold.to_owned(), theme.style(Role::Gold)),
        (format!("{rough}{:>3} ", rank(place)), base),
    ];
    let [first, second] = trace.ranks(passage);
    if let Some(a) = a.filter(|_| columns.delta) {
        let (glyph, style) = turned.unwrap_or((" ", base));
        pieces.push((glyph.to_owned(), style));
        let moved = Move::of(a, trace, passage);
        let style = if moved == Move::By(0) { base } else { theme.style(Role::Changed) };
        pieces.push((format!("{:>5} ", moved.words()), style));
    }
    pieces.extend([
        (format!("{:>4} ", rank(first)), theme.style(Role::Ce)),
        (format!("{:>4}  ", rank(second)), theme.style(Role::Colbert)),
    ]);
    if columns.bar > 0 {
        let score = trace.fused_row(passage).map_or(low, |row| row.score);
        let share = if high > low { (score - low) / (high - low) } else { 1.0 };
        pieces.push((format!("{} ", bar(theme, share, columns.bar)), theme.style(Role::Bar)));
    }
    pieces.push((format!("{words:>5} "), base));
    if columns.sum {
        // What never reached the budget has no part in the running sum.
        let counts = matches!(fate.kind(), FateKind::Kept | FateKind::OverBudget);
        let sum = row.filter(|_| counts).map_or_else(|| "-".to_owned(), |row| row.sum.to_string());
        pieces.push((format!("{sum:>5} "), base));
    }
    let id = id_of(trace, passage);
    pieces.push((format!(" {} ", text::pad(&text::clip_start(id, columns.place), columns.place)), base));
    let used: usize = pieces.iter().map(|(words, _)| text::width(words)).sum();
    let whole = scored.passages.passages.get(passage as usize).map_or("", |found| found.text.as_str());
    pieces.push((text::one_line(whole, model.sideways, width.saturating_sub(used)), base));
    pieces
}

fn cut(model: &Model, trace: &Trace, row: Rect, buf: &mut Buffer) {
    let dash = model.theme.glyphs.cut;
    let hollow = if trace.is_provisional() { "~" } else { "" };
    let words = format!("{} {hollow}{} ", dash.repeat(2), cut_line(trace));
    let room = usize::from(row.width);
    let words = text::clip(&words, room);
    let rest = dash.repeat(room.saturating_sub(text::width(&words)));
    put(buf, row, 0, &[(format!("{words}{rest}"), model.theme.style(Role::Cut))]);
}
