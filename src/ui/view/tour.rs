//! The tour's box, in the lower right, where it hides least.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Borders, Clear, Widget};

use super::{edges, put, text};
use crate::ui::layout::is_narrow;
use crate::ui::model::Model;
use crate::ui::theme::Role;
use crate::ui::tour::{STEPS, words};

/// Widest box, in cells.
const WIDEST: u16 = 58;
/// Most lines of words.
const MOST: usize = 8;

pub(super) fn draw(model: &Model, buf: &mut Buffer) {
    let Some(tour) = &model.tour else { return };
    let screen = buf.area;
    let width = WIDEST.min(screen.width);
    let said = words(model);
    let lines = text::wrap(&said, usize::from(width.saturating_sub(4)), MOST);
    let height = (lines.len() as u16 + 3).min(screen.height.saturating_sub(1));
    // On narrow screens the verdict below the list is what the box hides; the footer stays everywhere.
    let left = if is_narrow(screen.width, screen.height) { screen.x } else { screen.right() - width };
    let area = Rect::new(left, screen.bottom().saturating_sub(height + 1), width, height);
    Clear.render(area, buf);
    let theme = &model.theme;
    buf.set_style(area, theme.style(Role::Text));
    let block = Block::new()
        .borders(Borders::ALL)
        .border_set(edges(theme, true))
        .border_style(theme.style(Role::Focus))
        .title(format!(" Tour {} of {STEPS} ", tour.step));
    let inside = block.inner(area);
    block.render(area, buf);
    for (row, range) in (0..).zip(&lines) {
        let words = said.get(range.clone()).unwrap_or_default();
        put(buf, inside, row, &[(format!(" {words}"), theme.style(Role::Text))]);
    }
    let mut keys = vec![(" Space".to_owned(), theme.style(Role::Key))];
    if tour.step == STEPS {
        keys.push((" ends the tour, and the knob goes back".to_owned(), theme.style(Role::Faint)));
    } else {
        keys.push((" goes on   ".to_owned(), theme.style(Role::Faint)));
        keys.push(("Esc".to_owned(), theme.style(Role::Key)));
        keys.push((" ends the tour".to_owned(), theme.style(Role::Faint)));
    }
    put(buf, inside, inside.height.saturating_sub(1), &keys);
}
