//! The names of the panes on screens with room for one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, put};
use crate::ui::action::Action;
use crate::ui::model::Model;
use crate::ui::pane::Pane;
use crate::ui::theme::Role;

/// What else has a number: it lies over the panes.
const OVERLAYS: [(&str, Action); 2] = [("7 Compare", Action::Compare), ("8 Sweep", Action::Sweep)];

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let pieces: Vec<Piece> = Pane::ALL
        .into_iter()
        .map(|pane| {
            let focused = pane == model.focus;
            (label(pane, focused), theme.style(if focused { Role::Focus } else { Role::Faint }))
        })
        .collect();
    let overlays = OVERLAYS.iter().map(|(name, _)| (format!(" {name} "), theme.style(Role::Faint)));
    let pieces: Vec<Piece> = pieces.into_iter().chain(overlays).collect();
    put(buf, area, 0, &pieces);
}

fn label(pane: Pane, focused: bool) -> String {
    if focused {
        format!("[{} {}]", pane.number(), pane.name())
    } else {
        format!(" {} {} ", pane.number(), pane.name())
    }
}

/// What the name at a column opens.
pub fn action_at(column: u16) -> Option<Action> {
    let panes = Pane::ALL.into_iter().map(|pane| (label(pane, false).len(), Action::Focus(pane)));
    let overlays = OVERLAYS.iter().map(|(name, action)| (name.len() + 2, *action));
    let mut to = 0;
    panes.chain(overlays).find_map(|(length, action)| {
        to += length;
        (usize::from(column) < to).then_some(action)
    })
}
