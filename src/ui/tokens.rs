//! The overlay with what the models saw of the selected passage: its tab, its cursor, how far it is scrolled, and when
//! the engine is asked for it. Knows sizes and labels; draws nothing.

use std::ops::Range;
use std::sync::Arc;

use ratatui::crossterm::event::KeyEvent;
use unicode_segmentation::UnicodeSegmentation;

use super::keys::name_of;
use super::model::{Mode, Model};
use super::pane::Pane;
use super::update::Effect;
use super::{edit, layout, select, text};
use crate::engine::{Inspection, Job, PairReading};
use crate::rank::{Matrix, PairPart, TokenPiece};
use crate::store::clean::clean_line;

/// Cells of a column of the matrix: a wide character fits.
pub const CELL: usize = 2;
/// Columns that are scrolled at once.
const SIDEWAYS: isize = 8;
/// Bytes of the longest passage that is read again for the Passage pane alone: a megabyte keeps the engine for seconds.
const UNASKED: usize = 64 * 1024;
/// Graphemes of a token that are looked at for its label.
const LABEL: usize = 24;
/// Keys of the overlay, for the footer.
pub const KEYS: &[(&str, &str)] =
    &[("j/k", "token"), ("h/l", "scroll"), ("n/p", "passage"), ("Tab", "other model"), ("?", "help"), ("Esc", "close")];

/// Where the overlay stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokensView {
    /// What is shown.
    pub tab: Tab,
    /// The question token under the cursor.
    pub row: usize,
    /// The first passage token that is shown.
    pub column: usize,
    /// Whether the best token of the row is kept in sight.
    pub follow: bool,
    /// How far the cross-encoder's tokens are scrolled.
    pub from: usize,
}

/// What the overlay shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// The MaxSim matrix.
    Matrix,
    /// The cross-encoder's pair.
    Pair,
}

/// What the engine said about one passage.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// The question.
    pub generation: u64,
    /// The passage.
    pub passage: u32,
    /// What the models saw.
    pub inspection: Arc<Inspection>,
}

/// What is known of the selected passage.
pub fn inspected(model: &Model) -> Option<&Inspection> {
    let known = model.inspection.as_ref()?;
    let fits = known.generation == model.generation && Some(known.passage) == model.selected;
    fits.then(|| known.inspection.as_ref())
}

/// Open the overlay.
pub fn open(model: &mut Model) {
    if model.trace.is_none() || model.selected.is_none() {
        model.hint("no passage is selected yet: ask a question with {edit}");
        return;
    }
    model.mode = Mode::Tokens(TokensView { tab: Tab::Matrix, row: 0, column: 0, follow: true, from: 0 });
}

/// A key in the overlay.
pub fn key(model: &mut Model, mut view: TokensView, event: &KeyEvent) {
    let page = i32::from(inside(model).1).max(2);
    let mut passage = 0;
    match name_of(event).as_deref() {
        Some("q" | "T") => {
            model.mode = Mode::Normal;
            return;
        }
        Some("?" | "F1") => {
            edit::open(model, Mode::Help(0), "");
            return;
        }
        Some("Tab" | "S-Tab") => {
            view.tab = if view.tab == Tab::Matrix { Tab::Pair } else { Tab::Matrix };
        }
        Some("j" | "Down") => view.step(1),
        Some("k" | "Up") => view.step(-1),
        Some("Ctrl-d") => view.step(page / 2),
        Some("Ctrl-u") => view.step(-page / 2),
        Some("PgDn") => view.step(page),
        Some("PgUp") => view.step(-page),
        Some("g" | "Home") => view.step(i32::MIN),
        Some("G" | "End") => view.step(i32::MAX),
        Some("l" | "Right") => view.sideways(SIDEWAYS),
        Some("h" | "Left") => view.sideways(-SIDEWAYS),
        Some("n") => passage = 1,
        Some("p" | "N") => passage = -1,
        _ => {}
    }
    if passage != 0 {
        select::step_in(model, Pane::Fused, passage);
        (view.follow, view.from) = (true, 0);
    }
    model.mode = Mode::Tokens(view);
}

impl TokensView {
    /// Move the cursor, or scroll where there is none. What is too far is brought back by [`settle`].
    pub fn step(&mut self, by: i32) {
        let moved = |at: usize| at.saturating_add_signed(by as isize);
        match self.tab {
            Tab::Matrix => (self.row, self.follow) = (moved(self.row), true),
            Tab::Pair => self.from = moved(self.from),
        }
    }

    fn sideways(&mut self, by: isize) {
        (self.column, self.follow) = (self.column.saturating_add_signed(by), false);
    }
}

/// Keep the overlay within what it shows, and ask the engine for what the screen needs and nobody has said yet.
pub fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Mode::Tokens(mut view) = model.mode.clone() {
        if let Some(inspection) = inspected(model) {
            let size = inside(model);
            if let Ok(reading) = &inspection.matrix {
                keep_in_matrix(&mut view, &reading.matrix, size);
            }
            if let Ok(reading) = &inspection.pair {
                let lines = pair_lines(reading, size.0.into()).len();
                view.from = view.from.min(lines.saturating_sub(pair_height(size.1)));
            }
        }
        model.mode = Mode::Tokens(view);
    }
    let (Some(trace), Some(passage), false) = (&model.trace, model.selected, model.running) else { return };
    let bytes = trace.scored.passages.passages.get(passage as usize).map_or(0, |passage| passage.text.len());
    let shown = matches!(model.mode, Mode::Tokens(_))
        || (bytes <= UNASKED && layout::areas(model).pane(Pane::Passage).is_some());
    // One at a time: whoever walks through passages waits for one of them at most.
    if shown && inspected(model).is_none() && model.inspecting != Some(model.generation) {
        model.inspecting = Some(model.generation);
        effects.push(Effect::Send(Job::Inspect { generation: model.generation, passage }));
    }
}

fn keep_in_matrix(view: &mut TokensView, matrix: &Matrix, size: (u16, u16)) {
    let grid = Grid::of(matrix, size);
    view.row = view.row.min(matrix.question.len().saturating_sub(1));
    let best = matrix.best.get(view.row).and_then(|token| token.passage).filter(|_| view.follow);
    if let Some(best) = best
        && !(view.column..view.column + grid.columns).contains(&best)
    {
        view.column = best.saturating_sub(grid.columns / 2);
    }
    view.column = view.column.min(matrix.passage.len().saturating_sub(grid.columns));
}

/// Columns and rows inside the overlay.
pub fn inside(model: &Model) -> (u16, u16) {
    (model.size.0.saturating_sub(4), model.size.1.saturating_sub(4))
}

/// Lines of the cross-encoder's tokens that fit; three lines stand above.
pub fn pair_height(rows: u16) -> usize {
    usize::from(rows.saturating_sub(3))
}

/// Where the parts of the matrix stand: question tokens, the cells, and what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Cells of a question token.
    pub label: usize,
    /// Passage tokens side by side.
    pub columns: usize,
    /// Cells of the best passage token.
    pub found: usize,
    /// Lines of the column heads.
    pub heads: usize,
    /// Question tokens below each other.
    pub rows: usize,
}

impl Grid {
    /// The grid of a matrix in so many columns and rows.
    pub fn of(matrix: &Matrix, (columns, rows): (u16, u16)) -> Self {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        let most = (columns / 6).clamp(5, 16);
        let widest = |tokens: &mut dyn Iterator<Item = &TokenPiece>| {
            tokens.map(|piece| text::width(&label(piece))).max().unwrap_or(0).clamp(4, most)
        };
        let question = widest(&mut matrix.question.iter());
        let found = widest(&mut matrix.best.iter().filter_map(|token| matrix.passage.get(token.passage?)));
        let longest = matrix.passage.iter().map(|piece| label(piece).graphemes(true).count()).max().unwrap_or(0);
        let heads = longest.clamp(1, (rows / 4).clamp(1, 10));
        // Cursor and label, a gap, the cells, an arrow, the found token, its cosine.
        let room = columns.saturating_sub(2 + question + 1 + 3 + found + 6);
        Self { label: question, columns: room / CELL, found, heads, rows: rows.saturating_sub(4 + heads).max(1) }
    }
}

/// A token in the words of the screen: cleaned, on one line, without the mark of a word's start.
pub fn label(piece: &TokenPiece) -> String {
    let end = piece.text.grapheme_indices(true).nth(LABEL).map_or(piece.text.len(), |(at, _)| at);
    let start = piece.text.get(..end).unwrap_or_default().replace('\n', "\u{240a}").replace('\t', "\u{2409}");
    let cleaned = clean_line(start.trim_start_matches(['\u{2581}', '\u{120}']), &mut 0).into_owned();
    if cleaned.is_empty() { "_".to_owned() } else { cleaned }
}

/// A line of the cross-encoder's pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairLine {
    /// Tokens that were read.
    Read {
        /// What they belong to.
        part: PairPart,
        /// Whether these are its first.
        first: bool,
        /// Which of [`crate::rank::PairTokens::read`].
        tokens: Range<usize>,
    },
    /// Here the model stopped reading.
    Cut,
    /// Tokens that were not read.
    Unread {
        /// Whether these are the first.
        first: bool,
        /// Which of [`crate::rank::PairTokens::unread`].
        tokens: Range<usize>,
    },
    /// So many more were not read and are not shown.
    More(usize),
}

/// Cells before the tokens of a line.
pub const PART: usize = 10;

/// The pair in lines of so many cells.
pub fn pair_lines(reading: &PairReading, columns: usize) -> Vec<PairLine> {
    let tokens = &reading.tokens;
    let room = columns.saturating_sub(PART + 1).max(1);
    let mut lines = Vec::new();
    let mut start = 0;
    for run in tokens.read.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((part, _)) = run.first() else { continue };
        for (number, range) in flow(run.iter().map(|(_, piece)| piece), room).into_iter().enumerate() {
            let tokens = start + range.start..start + range.end;
            lines.push(PairLine::Read { part: *part, first: number == 0, tokens });
        }
        start += run.len();
    }
    if tokens.passage_unread > 0 {
        lines.push(PairLine::Cut);
        let unread = flow(tokens.unread.iter(), room).into_iter().enumerate();
        lines.extend(unread.map(|(number, tokens)| PairLine::Unread { first: number == 0, tokens }));
        let more = tokens.passage_unread.saturating_sub(tokens.unread.len());
        if more > 0 {
            lines.push(PairLine::More(more));
        }
    }
    lines
}

/// Tokens with a space between them, in lines of so many cells.
fn flow<'a>(tokens: impl Iterator<Item = &'a TokenPiece>, room: usize) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (at, piece) in tokens.enumerate() {
        let wide = text::width(&label(piece)) + 1;
        match lines.last_mut() {
            Some(line) if used + wide <= room + 1 => line.end = at + 1,
            _ => {
                lines.push(at..at + 1);
                used = 0;
            }
        }
        used += wide;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::{PairScore, PairTokens, TokenMatch};

    fn piece(text: &str) -> TokenPiece {
        TokenPiece { id: 1, text: text.to_owned(), start: 0, end: text.len() }
    }

    fn matrix(question: usize, passage: usize) -> Matrix {
        let best = (0..question).map(|query| TokenMatch { query, passage: passage.checked_sub(1), cosine: 0.5 });
        let (words, others) = (vec![piece("boat"); question], vec![piece("日本語"); passage]);
        Matrix::new(words, others, vec![0.5; question * passage], best.collect(), 0)
    }

    #[test]
    fn the_grid_fits_every_screen() {
        for columns in [36, 56, 76, 116, 196] {
            for rows in [6, 20, 36, 56] {
                let grid = Grid::of(&matrix(12, 300), (columns, rows));
                assert!(2 + grid.label + 1 + grid.columns * CELL + 3 + grid.found + 6 <= columns.into(), "{grid:?}");
                assert!(grid.columns >= 3 && grid.rows >= 1, "{grid:?}");
            }
        }
    }

    #[test]
    fn the_best_of_the_row_is_brought_into_sight_until_the_user_scrolls() {
        let matrix = matrix(3, 300);
        let mut view = TokensView { tab: Tab::Matrix, row: 99, column: 0, follow: true, from: 0 };
        keep_in_matrix(&mut view, &matrix, (76, 20));
        let columns = Grid::of(&matrix, (76, 20)).columns;
        assert_eq!((view.row, view.column), (2, 300 - columns));
        view.sideways(-1000);
        keep_in_matrix(&mut view, &matrix, (76, 20));
        assert_eq!(view.column, 0);
        view.step(-1);
        keep_in_matrix(&mut view, &matrix, (76, 20));
        assert_eq!((view.row, view.column), (1, 300 - columns));
        keep_in_matrix(&mut view, &self::matrix(0, 0), (76, 20));
        assert_eq!((view.row, view.column), (0, 0));
    }

    #[test]
    fn labels_are_clean_and_on_one_line() {
        let rows = [
            ("\u{1b}[2J", "\u{241b}[2J"),
            ("\n", "\u{240a}"),
            ("\u{2581}boat", "boat"),
            ("\u{2581}", "_"),
            ("##ing", "##ing"),
            (" the", "the"),
        ];
        for (text, wanted) in rows {
            assert_eq!(label(&piece(text)), wanted);
        }
        assert_eq!(label(&piece(&"x".repeat(1_000_000))).len(), LABEL);
    }

    #[test]
    fn the_pair_is_shown_up_to_its_cut_and_beyond() {
        let tokens = PairTokens {
            read: vec![
                (PairPart::Special, piece("[CLS]")),
                (PairPart::Question, piece("who")),
                (PairPart::Special, piece("[SEP]")),
                (PairPart::Passage, piece("one")),
                (PairPart::Passage, piece("two")),
            ],
            question_unread: 0,
            passage_unread: 9,
            unread: vec![piece("three"), piece("four")],
        };
        let score = PairScore::new(0.0, 5, Some(9));
        let reading = PairReading { model: "m".to_owned(), max_tokens: 5, tokens, score };
        let lines = pair_lines(&reading, 40);
        let read = |part, tokens| PairLine::Read { part, first: true, tokens };
        let wanted = [
            read(PairPart::Special, 0..1),
            read(PairPart::Question, 1..2),
            read(PairPart::Special, 2..3),
            read(PairPart::Passage, 3..5),
            PairLine::Cut,
            PairLine::Unread { first: true, tokens: 0..2 },
            PairLine::More(7),
        ];
        assert_eq!(lines, wanted);
        assert!(pair_lines(&reading, 15).len() > lines.len());
    }
}
