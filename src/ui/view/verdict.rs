//! On narrow screens: the stages in numbers above the pane, and the verdict on the selection below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Piece, put, put_right, text};
use crate::explain::fate::{id_of, sentence};
use crate::truncate::FateKind;
use crate::ui::model::Model;
use crate::ui::theme::Role;

/// `terms 4 › hop 1 38 › hop 2 +21 › ranked 59 › kept 16`
pub(super) fn summary(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let Some(trace) = &model.trace else { return };
    let arrow = if theme.glyphs.ascii { " > " } else { " › " };
    let retrieval = &trace.scored.retrieval;
    let mut parts = vec![format!("terms {}", trace.scored.query.terms.len())];
    for hop in &retrieval.hops {
        let sign = if hop.number > 1 { "+" } else { "" };
        parts.push(format!("hop {} {sign}{}", hop.number, hop.found.len()));
    }
    parts.push(format!("ranked {}", trace.cut.rows.len()));
    parts.push(format!("kept {}", trace.count(FateKind::Kept)));
    let words = format!("{}/{} words ", trace.cut.used, trace.settings.budget);
    let taken = put_right(buf, area, 0, &[(words, theme.style(Role::Title))]);
    let left = Rect { width: area.width - taken, ..area };
    put(buf, left, 0, &[(format!(" {}", parts.join(arrow)), theme.style(Role::Faint))]);
}

/// What became of the selection.
pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let line = if theme.glyphs.ascii { "=" } else { "━" };
    let ruled = u16::from(area.height > 1);
    if ruled == 1 {
        put(buf, area, 0, &[(line.repeat(area.width.into()), theme.style(Role::Border))]);
    }
    let (Some(trace), Some(selected)) = (&model.trace, model.selected) else { return };
    let kept = trace.fate(selected).is_kept();
    let gold = if trace.scored.is_gold(selected) { theme.glyphs.gold } else { " " };
    let head = format!("{gold} {} ", id_of(trace, selected));
    let mut words = sentence(trace, selected);
    let a = model.pinned.as_ref().and_then(|a| a.comparable()).map(|a| a.fate(selected).kind());
    if let Some(a) = a.filter(|a| *a != trace.fate(selected).kind()) {
        words = format!("A: {}. B: {words}", a.name());
    }
    let style = theme.style(if kept { Role::Kept } else { Role::Cut });
    let room = usize::from(area.width).saturating_sub(text::width(&head) + 2);
    for (at, range) in text::wrap(&words, room, (area.height - ruled).into()).into_iter().enumerate() {
        let label = if at == 0 { head.clone() } else { " ".repeat(text::width(&head)) };
        let pieces: Vec<Piece> = vec![
            (format!(" {label}"), theme.style(Role::Gold)),
            (words.get(range).unwrap_or_default().to_owned(), style),
        ];
        put(buf, area, ruled + at as u16, &pieces);
    }
}
