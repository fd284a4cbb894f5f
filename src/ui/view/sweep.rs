//! Recall of the question's gold over two knobs, as a map with a cursor.

use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};

use super::{Piece, overlay, put, text};
use crate::explain::advice::knob_name;
use crate::explain::fate::number;
use crate::ui::model::Model;
use crate::ui::sweep::Cursor;
use crate::ui::theme::Role;

/// Cells of one value.
const CELL: usize = 7;
/// Cells of the first column.
const LABEL: usize = 10;

pub(super) fn draw(model: &Model, cursor: Cursor, buf: &mut Buffer) {
    let theme = &model.theme;
    let screen = (buf.area.width, buf.area.height);
    let inside = overlay(
        model,
        "Sweep: gold kept in %; hjkl moves, Enter takes a cell, Tab other knobs, Esc closes",
        screen,
        buf,
    );
    let Some(found) = &model.sweep else {
        let words = " no gold is known for this question: mark a passage with m, or choose one with L";
        put(buf, inside, 0, &[(words.to_owned(), theme.style(Role::Notice))]);
        return;
    };
    let width = usize::from(inside.width);
    let shown = width.saturating_sub(LABEL + 1) / CELL;
    let first = cursor.column.saturating_sub(shown.saturating_sub(1));
    let names = format!(" {} \\ {}", knob_name(&found.rows.knob), knob_name(&found.columns.knob));
    let mut head: Vec<Piece> = vec![(text::pad(&names, LABEL + 1), theme.style(Role::Faint))];
    for value in found.columns.values.iter().skip(first).take(shown) {
        head.push((format!("{:>CELL$}", number(*value)), theme.style(Role::Faint)));
    }
    put(buf, inside, 0, &head);
    let best = found.cells.iter().flatten().map(|cell| cell.recall).fold(0.0, f64::max);
    let cheapest = found.cheapest();
    let height = usize::from(inside.height).saturating_sub(5).max(1);
    let top = cursor.row.saturating_sub(height - 1);
    for (line, (row, value)) in found.rows.values.iter().enumerate().skip(top).take(height).enumerate() {
        let mut pieces: Vec<Piece> = vec![(format!(" {:>9} ", number(*value)), theme.style(Role::Faint))];
        for (column, cell) in found.cells.get(row).into_iter().flatten().enumerate().skip(first).take(shown) {
            let mark = if cheapest == Some((row, column)) { "*" } else { " " };
            let base = match cell.recall {
                recall if recall >= best && best > 0.0 => theme.style(Role::Kept),
                recall if recall > 0.0 => theme.style(Role::Text),
                _ => theme.style(Role::Dropped),
            };
            let here = (row, column) == (cursor.row, cursor.column);
            let style = if here { base.patch(Style::new().add_modifier(Modifier::REVERSED)) } else { base };
            pieces.push((format!("{:>6.0}{mark}", cell.recall * 100.0), style));
        }
        put(buf, inside, 1 + line as u16, &pieces);
    }
    let below = (2 + found.rows.values.len().min(height)) as u16;
    let cell = found.cells.get(cursor.row).and_then(|row| row.get(cursor.column));
    let values = found.rows.values.get(cursor.row).zip(found.columns.values.get(cursor.column));
    if let (Some(cell), Some((row, column))) = (cell, values) {
        let words = format!(
            " {} {}, {} {}: {} of {} gold kept, {:.0} words",
            knob_name(&found.rows.knob),
            number(*row),
            knob_name(&found.columns.knob),
            number(*column),
            cell.kept,
            found.gold,
            cell.words
        );
        put(buf, inside, below, &[(words, theme.style(Role::Title))]);
    }
    let words = " * fewest words among the cells that keep the most; 'memsift sweep' takes all questions";
    put(buf, inside, below + 1, &[(text::clip(words, width), theme.style(Role::Faint))]);
}
