//! The names of the panes on screens with room for one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, put};
use crate::ui::model::Model;
use crate::ui::pane::Pane;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let pieces: Vec<Piece> = Pane::ALL
        .into_iter()
        .map(|pane| {
            let focused = pane == model.focus;
            (label(pane, focused), theme.style(if focused { Role::Focus } else { Role::Faint }))
        })
        .collect();
    put(buf, area, 0, &pieces);
}

fn label(pane: Pane, focused: bool) -> String {
    if focused {
        format!("[{} {}]", pane.number(), pane.name())
    } else {
        format!(" {} {} ", pane.number(), pane.name())
    }
}

/// The pane whose name stands at a column.
pub fn pane_at(column: u16) -> Option<Pane> {
    let mut from = 0;
    for pane in Pane::ALL {
        let to = from + label(pane, false).len() as u16;
        if (from..to).contains(&column) {
            return Some(pane);
        }
        from = to;
    }
    None
}
