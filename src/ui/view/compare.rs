//! Pinned settings (A) against the knobs as they stand (B): what differs, and which passages have another fate.

use ratatui::buffer::Buffer;

use super::{Piece, overlay, put, text};
use crate::explain::advice::{knob_name, price};
use crate::explain::compare::Change;
use crate::explain::fate::id_of;
use crate::trace::Trace;
use crate::truncate::FateKind;
use crate::ui::model::Model;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, from: usize, buf: &mut Buffer) {
    let theme = &model.theme;
    let screen = (buf.area.width, buf.area.height);
    let pinned = model.pinned.as_ref();
    let name = pinned.and_then(|pinned| pinned.name.as_deref()).unwrap_or("pinned");
    let title = format!("7 Compare: A ({}) with B (now); x swaps, c clears, Esc closes", text::clip(name, 24));
    let inside = overlay(model, &title, screen, buf);
    let known = pinned.and_then(|pinned| Some((pinned.trace()?, pinned.comparison())));
    let (Some(b), Some((a, Some(found)))) = (&model.trace, known) else {
        let words = match (&model.trace, known, pinned) {
            (None, ..) => "there is no trace yet: ask a question with {edit}",
            (_, _, None) => "nothing is pinned: c pins the settings as they are, then turn knobs",
            (_, Some(_), _) => {
                "A cuts the history into other passages than B (unit or captions), so there are no rows to compare"
            }
            (_, None, Some(pinned)) => pinned.standing(model).words(),
        };
        put(buf, inside, 0, &[(format!(" {}", model.keys.fill(words)), theme.style(Role::Notice))]);
        return;
    };
    let width = usize::from(inside.width);
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let label = |name: &str| (text::pad(&format!(" {name}"), 10), theme.style(Role::Faint));
    if found.knobs.is_empty() {
        lines.push(vec![label("knobs"), ("A and B are the same settings".to_owned(), theme.style(Role::Text))]);
    }
    for (name, before, after) in &found.knobs {
        let words = format!("{} {before} {} {after}", knob_name(name), arrow(model));
        lines.push(vec![label("knob"), (text::clip(&words, width.saturating_sub(10)), theme.style(Role::Changed))]);
    }
    for (name, trace) in [("A", a), ("B", b)] {
        let gold = trace.gold();
        let gold = if gold.total > 0 { format!(", gold {} of {}", gold.kept, gold.total) } else { String::new() };
        let words = format!("{} kept, {} of {} words{gold}", trace.cut.kept, trace.cut.used, trace.settings.budget);
        lines.push(vec![label(name), (words, theme.style(Role::Text))]);
    }
    lines.push(vec![label("A to B"), (price(&found.price), theme.style(Role::Title))]);
    if let Some(agreement) = found.agreement {
        let words =
            format!("Kendall {:.2}, Spearman {:.2} between the two orders", agreement.kendall, agreement.spearman);
        lines.push(vec![label("order"), (words, theme.style(Role::Text))]);
    }
    lines.push(Vec::new());
    lines.extend(found.changes.iter().map(|change| row(model, b, change, width)));
    let most = lines.len().saturating_sub(inside.height.into());
    for (at, pieces) in lines.iter().skip(from.min(most)).take(inside.height.into()).enumerate() {
        put(buf, inside, at as u16, pieces);
    }
}

/// `★ s01.t03  in   71 → 58  beyond top n → kept  Nell: …`
fn row(model: &Model, b: &Trace, change: &Change, width: usize) -> Vec<Piece> {
    let theme = &model.theme;
    let gold = if b.scored.is_gold(change.passage) { theme.glyphs.gold } else { " " };
    let (sign, style) = match (change.before == FateKind::Kept, change.after == FateKind::Kept) {
        (false, true) => ("in ", theme.style(Role::Kept)),
        (true, false) => ("out", theme.style(Role::Cut)),
        _ => ("   ", theme.style(Role::Dropped)),
    };
    let place = |place: u32| if place == 0 { "-".to_owned() } else { place.to_string() };
    let arrow = arrow(model);
    let places = format!("{:>4} {arrow} {:<4}", place(change.place_before), place(change.place_after));
    let fates = format!("{} {arrow} {}", change.before.name(), change.after.name());
    let used = 2 + 12 + 4 + 12 + 30;
    let words = b.scored.passages.passages.get(change.passage as usize).map_or("", |passage| passage.text.as_str());
    vec![
        (format!("{gold} "), theme.style(Role::Gold)),
        (text::pad(id_of(b, change.passage), 12), theme.style(Role::Text)),
        (format!("{sign} "), style),
        (text::pad(&places, 12), theme.style(Role::Faint)),
        (text::pad(&fates, 30), style),
        (text::clip(&words.replace(['\n', '\t'], " "), width.saturating_sub(used)), theme.style(Role::Faint)),
    ]
}

fn arrow(model: &Model) -> &'static str {
    if model.theme.glyphs.ascii { "->" } else { "→" }
}
