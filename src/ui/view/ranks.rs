//! Pane 3: one vertical axis for every ranking, the same passage joined across them, and the cut across.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Piece, frame, put, text};
use crate::trace::Trace;
use crate::ui::model::{Joined, Model};
use crate::ui::pane::Pane;
use crate::ui::theme::{Glyphs, Role};

/// More joined lines than this cannot be followed.
const MOST_JOINED: usize = 12;
/// Cells of one axis: a rank and a mark.
const AXIS: usize = 6;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let Some(trace) = &model.trace else {
        frame(model, Pane::Ranks, area, "", buf);
        return;
    };
    let inside = frame(model, Pane::Ranks, area, model.joined.name(), buf);
    let width = usize::from(inside.width);
    if width < 3 * AXIS + 6 || inside.height < 6 {
        put(buf, inside, 0, &[("too small: z zooms".to_owned(), theme.style(Role::Notice))]);
        return;
    }
    let gap = (width - 3 * AXIS) / 2;
    let heads = [("ce", Role::Ce), ("fused", Role::Title), ("colbert", Role::Colbert)];
    for (at, (words, role)) in heads.into_iter().enumerate() {
        let x = (at * (AXIS + gap)) as u16;
        let cell = Rect { x: inside.x + x.saturating_sub(2), width: (AXIS + 2) as u16, height: 1, ..inside };
        let words = if at == 0 { format!("{words:>5}") } else { format!("{words:>7}") };
        put(buf, cell, 0, &[(words, theme.style(role))]);
    }
    let below = agreement(trace);
    let body = inside.height as usize - 1 - below.len();
    let chart = Chart::new(model, trace, body, width, gap);
    for (line, pieces) in chart.lines(&theme.glyphs).into_iter().enumerate() {
        put(buf, inside, 1 + line as u16, &pieces);
    }
    for (line, words) in below.into_iter().enumerate() {
        let words = text::clip(&words, width);
        put(buf, inside, (1 + body + line) as u16, &[(words, theme.style(Role::Faint))]);
    }
}

/// The numbers below the chart, or why there are none.
fn agreement(trace: &Trace) -> Vec<String> {
    let numbers = match trace.agreement() {
        Some(found) => vec![
            format!(" Spearman {:.2} Kendall {:.2}", found.spearman, found.kendall),
            format!(" in both first {}: {}", found.top, found.shared),
        ],
        None => vec![" the rankers cannot be compared".to_owned()],
    };
    let trouble =
        |name: &str, ranker: &crate::scored::Ranker| ranker.trouble().map(|trouble| format!(" {name}: {trouble}"));
    let mut lines = numbers;
    lines.extend(trouble("ce", &trace.scored.ce));
    lines.extend(trouble("colbert", &trace.scored.colbert));
    lines.truncate(3);
    lines
}

/// One passage on all axes: ce, fused, colbert; 0 where it has no rank.
struct Joint {
    ranks: [u32; 3],
    style: Style,
    solid: bool,
}

/// A rank, its glyph and its style.
type Mark = (u32, &'static str, Style);

struct Chart {
    /// First rank of every row.
    starts: Vec<u32>,
    /// The row of the cut, when it is in the list.
    cut: Option<usize>,
    joints: Vec<Joint>,
    /// By axis and row: the mark with its rank.
    marks: Vec<[Option<Mark>; 3]>,
    cells: Vec<Vec<(&'static str, Style)>>,
    gap: usize,
    plain: Style,
    cut_style: Style,
    last: u32,
}

impl Chart {
    fn new(model: &Model, trace: &Trace, rows: usize, width: usize, gap: usize) -> Self {
        let theme = &model.theme;
        let last = trace.cut.rows.len() as u32;
        let line = trace.cut.line;
        let has_cut = line < last && rows > 4;
        let starts = bins(last, rows.saturating_sub(usize::from(has_cut)), has_cut.then_some(line + 1));
        let cut = if has_cut { starts.iter().position(|start| *start == line + 1) } else { None };
        let mut chart = Self {
            starts,
            cut,
            joints: Vec::new(),
            marks: Vec::new(),
            cells: vec![vec![(" ", theme.style(Role::Text)); width]; rows],
            gap,
            plain: theme.style(Role::Faint),
            cut_style: theme.style(Role::Cut),
            last,
        };
        chart.marks = vec![[None; 3]; rows];
        chart.join(model, trace);
        chart.draw_joints(&theme.glyphs);
        chart
    }

    /// Choose what is joined, most telling first.
    fn join(&mut self, model: &Model, trace: &Trace) {
        let theme = &model.theme;
        let scored = &trace.scored;
        let ranks = |passage: u32| [scored.ce.rank(passage), trace.place(passage), scored.colbert.rank(passage)];
        let mut chosen: Vec<u32> = Vec::new();
        if let Some(selected) = model.selected.filter(|passage| trace.place(*passage) > 0) {
            chosen.push(selected);
        }
        if model.joined != Joined::Movers {
            chosen.extend(scored.gold.iter().copied().filter(|passage| trace.place(*passage) > 0));
        }
        if model.joined != Joined::Gold {
            let line = trace.cut.line;
            let mut movers: Vec<(u32, u32)> = trace
                .cut
                .rows
                .iter()
                .map(|row| (row.passage, ranks(row.passage)))
                .filter(|(_, [ce, _, colbert])| *ce > 0 && *colbert > 0 && (*ce <= line) != (*colbert <= line))
                .map(|(passage, [ce, _, colbert])| (ce.abs_diff(colbert), passage))
                .collect();
            movers.sort_unstable_by(|a, b| b.cmp(a));
            chosen.extend(movers.into_iter().map(|(_, passage)| passage));
        }
        let mut seen = std::collections::BTreeSet::new();
        chosen.retain(|passage| seen.insert(*passage));
        chosen.truncate(MOST_JOINED);
        for passage in chosen {
            let gold = scored.is_gold(passage);
            let (mark, style) = match (model.selected == Some(passage), gold) {
                (_, true) => (theme.glyphs.gold, theme.style(Role::Gold)),
                (true, false) => (theme.glyphs.selected, theme.style(Role::Focus)),
                (false, false) => (theme.glyphs.mover, theme.style(Role::Changed)),
            };
            let selected = model.selected == Some(passage);
            let style = if selected { style.patch(theme.style(Role::Focus)) } else { style };
            let joint = Joint { ranks: ranks(passage), style, solid: gold || selected };
            for (axis, rank) in joint.ranks.into_iter().enumerate() {
                if let Some(row) = self.row_of(rank)
                    && let Some(slot) = self.marks.get_mut(row).and_then(|marks| marks.get_mut(axis))
                    && slot.is_none()
                {
                    *slot = Some((rank, mark, style));
                }
            }
            self.joints.push(joint);
        }
    }

    /// The row of a rank, the row of the cut counted in.
    fn row_of(&self, rank: u32) -> Option<usize> {
        if rank == 0 {
            return None;
        }
        let bin = self.starts.partition_point(|start| *start <= rank).checked_sub(1)?;
        Some(bin + usize::from(self.cut.is_some_and(|cut| bin >= cut)))
    }

    fn draw_joints(&mut self, glyphs: &Glyphs) {
        let joints = std::mem::take(&mut self.joints);
        for (at, joint) in joints.iter().enumerate() {
            for side in 0..2 {
                let [Some(from), Some(to)] = [joint.ranks.get(side), joint.ranks.get(side + 1)]
                    .map(|rank| rank.and_then(|rank| self.row_of(*rank)))
                else {
                    continue;
                };
                let left = AXIS + side * (AXIS + self.gap);
                // Every line turns in a column of its own, so that lines can be told apart.
                let room = self.gap.saturating_sub(2).max(1);
                let apart = (room / joints.len().max(1)).clamp(1, 4);
                let turn = left + 1 + at * apart % room;
                self.draw_line(glyphs, joint, (from, to), (left, turn, left + self.gap));
            }
        }
        self.joints = joints;
    }

    fn draw_line(
        &mut self,
        glyphs: &Glyphs,
        joint: &Joint,
        (from, to): (usize, usize),
        (left, turn, right): (usize, usize, usize),
    ) {
        let [across, along, down_in, up_in, down_out, up_out, _] = glyphs.lines;
        let [across, along] = if joint.solid { [across, along] } else { glyphs.dashes };
        for x in left..right {
            if x < turn {
                self.set(glyphs, from, x, across, joint.style);
            } else if x > turn {
                self.set(glyphs, to, x, across, joint.style);
            }
        }
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => self.set(glyphs, from, turn, across, joint.style),
            std::cmp::Ordering::Less => {
                self.set(glyphs, from, turn, down_in, joint.style);
                self.set(glyphs, to, turn, down_out, joint.style);
            }
            std::cmp::Ordering::Greater => {
                self.set(glyphs, from, turn, up_in, joint.style);
                self.set(glyphs, to, turn, up_out, joint.style);
            }
        }
        for y in from.min(to) + 1..from.max(to) {
            self.set(glyphs, y, turn, along, joint.style);
        }
    }

    fn set(&mut self, glyphs: &Glyphs, y: usize, x: usize, glyph: &'static str, style: Style) {
        let [across, along, .., cross] = glyphs.lines;
        let Some(cell) = self.cells.get_mut(y).and_then(|row| row.get_mut(x)) else { return };
        let [dash_across, dash_along] = glyphs.dashes;
        let flat = |glyph: &str| glyph == across || glyph == dash_across;
        let upright = |glyph: &str| glyph == along || glyph == dash_along;
        let crossing = (flat(cell.0) && upright(glyph)) || (upright(cell.0) && flat(glyph));
        // What is drawn first is more telling and stays.
        if cell.0 == " " {
            *cell = (glyph, style);
        } else if crossing {
            cell.0 = cross;
        }
    }

    fn lines(&self, glyphs: &Glyphs) -> Vec<Vec<Piece>> {
        (0..self.cells.len()).filter_map(|row| self.line(row, glyphs)).collect()
    }

    fn line(&self, row: usize, glyphs: &Glyphs) -> Option<Vec<Piece>> {
        let cells = self.cells.get(row)?;
        let is_cut = self.cut == Some(row);
        let bin = row - usize::from(self.cut.is_some_and(|cut| row > cut));
        let start = self.starts.get(bin).copied();
        if start.is_none() && !is_cut {
            return None;
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for axis in 0..3 {
            let mark = self.marks.get(row).and_then(|marks| marks.get(axis).copied().flatten());
            match (is_cut, mark, start) {
                (true, ..) if axis == 1 => pieces.push((format!("{0}cut{0}{0}", glyphs.cut), self.cut_style)),
                (true, ..) => pieces.push((glyphs.cut.repeat(AXIS), self.cut_style)),
                (false, Some((rank, mark, style)), _) => pieces.push((format!("{rank:>4}{mark} "), style)),
                (false, None, Some(start)) if start <= self.last => {
                    pieces.push((format!("{start:>4}{} ", glyphs.dot), self.plain));
                }
                _ => pieces.push((" ".repeat(AXIS), self.plain)),
            }
            if axis == 2 {
                break;
            }
            let left = AXIS + axis * (AXIS + self.gap);
            for (glyph, style) in cells.get(left..left + self.gap)? {
                match (*glyph, is_cut) {
                    (" ", true) => pieces.push((glyphs.cut.to_owned(), self.cut_style)),
                    (glyph, _) => pieces.push((glyph.to_owned(), *style)),
                }
            }
        }
        Some(pieces)
    }
}

/// First ranks of so many rows over ranks 1 to `last`: one by one at the top, then in steps that grow. `forced` is made
/// the beginning of a row.
fn bins(last: u32, rows: usize, forced: Option<u32>) -> Vec<u32> {
    if last == 0 || rows == 0 {
        return Vec::new();
    }
    let mut starts: Vec<u32> = if last as usize <= rows {
        (1..=last).collect()
    } else {
        let linear = (rows / 3).max(1);
        let growing = rows - linear;
        let from = linear as f64 + 1.0;
        let mut starts: Vec<u32> = (1..=linear as u32).collect();
        for at in 0..growing {
            // The last row holds the last rank, so that the end of the list is on the chart.
            let share = if growing > 1 { at as f64 / (growing - 1) as f64 } else { 1.0 };
            let rank = from * (f64::from(last) / from).powf(share);
            let least = starts.last().map_or(1, |start| start + 1);
            starts.push((rank.round() as u32).clamp(least, last.max(least)));
        }
        starts
    };
    if let Some(forced) = forced.filter(|forced| *forced > 1 && !starts.contains(forced)) {
        let nearest =
            (1..starts.len()).min_by_key(|at| starts.get(*at).map_or(u32::MAX, |start| start.abs_diff(forced)));
        if let Some(slot) = nearest.and_then(|at| starts.get_mut(at)) {
            *slot = forced;
        }
        starts.sort_unstable();
        starts.dedup();
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_rise_begin_at_one_and_hold_the_cut() {
        for last in [1_u32, 2, 5, 18, 19, 60, 428, 2000] {
            for rows in [1_usize, 2, 5, 18, 30] {
                for forced in [None, Some(2), Some(17), Some(last)] {
                    let forced = forced.filter(|at| *at <= last);
                    let starts = bins(last, rows, forced);
                    assert!(starts.len() <= rows, "{last} {rows}");
                    assert_eq!(starts.first(), Some(&1), "{last} {rows} {forced:?}");
                    assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{starts:?}");
                    if let (Some(forced), true) = (forced, rows > 2) {
                        assert!(starts.contains(&forced), "{last} {rows} {forced}: {starts:?}");
                    }
                }
            }
        }
    }
}
