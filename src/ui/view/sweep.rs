//! The gold kept over two knobs, of the question or of all with gold, as a map with a cursor.

use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};

use super::{Piece, overlay, put, text};
use crate::eval::sweep::Sweep;
use crate::explain::advice::knob_name;
use crate::explain::fate::number;
use crate::settings::Fusion;
use crate::ui::model::Model;
use crate::ui::sweep::{self, Cursor};
use crate::ui::theme::Role;

/// Cells of one value.
const CELL: usize = 7;
/// Cells of the first column.
const LABEL: usize = 10;

pub(super) fn draw(model: &Model, cursor: Cursor, buf: &mut Buffer) {
    let theme = &model.theme;
    let screen = (buf.area.width, buf.area.height);
    let title = match (&model.sweep_all, cursor.all) {
        (Some(all), true) => format!("Sweep: gold kept in %, {} with gold", questions(all.total)),
        (None, true) => "Sweep: gold kept in %, all questions with gold".to_owned(),
        (_, false) => "Sweep: gold kept in %, this question".to_owned(),
    };
    let inside = overlay(model, &title, screen, buf);
    let Some(found) = sweep::shown(model, &cursor) else {
        let words = if cursor.all {
            " no question of this conversation has gold: ask one and mark a passage with {mark}"
        } else {
            " no gold is known for this question: mark a passage with {mark}, choose another with {questions}, or see all with a"
        };
        put(buf, inside, 0, &[(model.keys.fill(words), theme.style(Role::Notice))]);
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
    let below = below(model, &cursor, found, cheapest);
    let height = usize::from(inside.height).saturating_sub(below.len() + 2).max(1);
    let top = cursor.row.saturating_sub(height - 1);
    for (line, (row, value)) in found.rows.values.iter().enumerate().skip(top).take(height).enumerate() {
        let mut pieces: Vec<Piece> = vec![(format!(" {:>9} ", number(*value)), theme.style(Role::Faint))];
        for (column, cell) in found.cells.get(row).into_iter().flatten().enumerate().skip(first).take(shown) {
            let mark = if cheapest == Some((row, column)) && found.questions > 0 { "*" } else { " " };
            let base = match cell.recall {
                recall if recall >= best && best > 0.0 => theme.style(Role::Kept),
                recall if recall > 0.0 => theme.style(Role::Text),
                _ => theme.style(Role::Dropped),
            };
            let here = (row, column) == (cursor.row, cursor.column);
            let style = if here { base.patch(Style::new().add_modifier(Modifier::REVERSED)) } else { base };
            let share = if found.questions > 0 { format!("{:.0}", cell.recall * 100.0) } else { "-".to_owned() };
            pieces.push((format!("{share:>6}{mark}"), style));
        }
        put(buf, inside, 1 + line as u16, &pieces);
    }
    let from = (2 + found.rows.values.len().min(height)) as u16;
    for (line, (words, role)) in below.into_iter().enumerate() {
        put(buf, inside, from + line as u16, &[(text::clip(&format!(" {words}"), width), theme.style(role))]);
    }
}

/// The lines below the map: the cell under the cursor, the cheapest one, how far it is, the keys.
fn below(model: &Model, cursor: &Cursor, found: &Sweep, cheapest: Option<(usize, usize)>) -> Vec<(String, Role)> {
    let mut lines = Vec::new();
    let each = if cursor.all { " words a question" } else { " words" };
    let cell = |(row, column): (usize, usize)| {
        let cell = found.cells.get(row)?.get(column)?;
        let values = (found.rows.values.get(row)?, found.columns.values.get(column)?);
        Some(format!(
            "{} {}, {} {}: {} of {} gold passages kept, {:.0}{each}",
            knob_name(&found.rows.knob),
            number(*values.0),
            knob_name(&found.columns.knob),
            number(*values.1),
            cell.kept,
            found.gold,
            cell.words
        ))
    };
    if found.questions > 0 {
        lines.extend(cell((cursor.row, cursor.column)).map(|words| (words, Role::Title)));
        lines.extend(cheapest.and_then(cell).map(|words| (format!("* cheapest of the best: {words}"), Role::Text)));
    }
    if let Some(all) = model.sweep_all.as_ref().filter(|_| cursor.all) {
        let left = match all.left {
            Some(left) if left >= 1.0 => format!(", about {left:.0} s left"),
            _ => String::new(),
        };
        lines.push(match (all.running, all.done < all.total) {
            (true, _) => {
                let first = if model.running { "; the one on the screen comes first" } else { "" };
                (format!("{} of {} questions asked{left}{first}; Esc stops", all.done, all.total), Role::Notice)
            }
            (_, true) => (
                format!("stopped at {} of {} questions: {} goes on", all.done, all.total, model.keys.first("resume")),
                Role::Notice,
            ),
            _ => {
                (format!("all {} questions asked; gold of the question set and marked by hand", all.total), Role::Faint)
            }
        });
    }
    let (other, weight) = (if cursor.all { "this question" } else { "all questions" }, found.rows.knob != "alpha");
    let rows = match (weight, model.settings.fusion) {
        (true, _) => "α",
        (false, Fusion::Z) => "λ",
        (false, _) => "w",
    };
    let rows = if model.theme.glyphs.ascii && rows == "λ" { "lambda" } else { rows };
    lines.push((format!("hjkl moves  Enter takes a cell  Tab {rows}  a {other}  Esc closes"), Role::Faint));
    lines
}

fn questions(total: usize) -> String {
    if total == 1 { "the only question".to_owned() } else { format!("all {total} questions") }
}
