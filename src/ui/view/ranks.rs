//! Pane 3: one vertical axis for every ranking, the same passage joined across them, and the cut across; with A pinned an
//! axis and a cut more.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Piece, frame, put, text};
use crate::trace::Trace;
use crate::ui::model::{Joined, Model};
use crate::ui::pane::Pane;
use crate::ui::pin::Pinned;
use crate::ui::theme::{Glyphs, Role};

/// More joined lines than this cannot be followed.
const MOST_JOINED: usize = 12;
/// Cells of one axis: a rank and a mark.
const AXIS: usize = 6;

/// One vertical axis.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    /// The cross-encoder, or BM25 where the fusion looks at it.
    First,
    A,
    B,
    /// ColBERT, or what stands in its slot.
    Second,
}

/// What there is to draw: B's trace, and A's where it is pinned.
#[derive(Clone, Copy)]
struct Orders<'a> {
    a: Option<&'a Trace>,
    b: &'a Trace,
}

impl Orders<'_> {
    /// The rank of a passage on an axis; 0 where it has none.
    fn rank(&self, axis: Axis, passage: u32) -> u32 {
        let [first, second] = self.b.ranks(passage);
        match axis {
            Axis::First => first,
            Axis::A => self.a.map_or(0, |a| a.place(passage)),
            Axis::B => self.b.place(passage),
            Axis::Second => second,
        }
    }
}

/// With A pinned its axis stands before that of B.
const FOUR: &[Axis] = &[Axis::First, Axis::A, Axis::B, Axis::Second];
const THREE: &[Axis] = &[Axis::First, Axis::B, Axis::Second];
/// Fewest cells between two axes.
const GAP: usize = 3;

pub(super) fn draw(model: &Model, area: Rect, buf: &mut Buffer) {
    let theme = &model.theme;
    let Some(trace) = &model.trace else {
        frame(model, Pane::Ranks, area, "", buf);
        return;
    };
    let inside = frame(model, Pane::Ranks, area, model.joined.name(), buf);
    let width = usize::from(inside.width);
    if width < 3 * AXIS + 2 * GAP || inside.height < 6 {
        put(buf, inside, 0, &[(model.keys.fill("too small: {zoom} zooms"), theme.style(Role::Notice))]);
        return;
    }
    let a = model.pinned.as_ref().and_then(Pinned::comparable).filter(|_| width >= 4 * AXIS + 3 * GAP);
    let axes = if a.is_some() { FOUR } else { THREE };
    let gap = (width - axes.len() * AXIS) / (axes.len() - 1);
    let [first, second] = trace.rankings();
    for (at, axis) in axes.iter().enumerate() {
        let (words, role) = match axis {
            Axis::First => (first, Role::Ce),
            Axis::A => ("A", Role::Title),
            Axis::B if a.is_some() => ("B", Role::Title),
            Axis::B => ("fused", Role::Title),
            Axis::Second => (second, Role::Colbert),
        };
        let x = (at * (AXIS + gap)) as u16;
        let cell = Rect { x: inside.x + x.saturating_sub(2), width: (AXIS + 2) as u16, height: 1, ..inside };
        let words = if at == 0 { format!("{words:>5}") } else { format!("{words:>7}") };
        put(buf, cell, 0, &[(words, theme.style(role))]);
    }
    let below = agreement(model, trace);
    let body = (inside.height as usize - 1).saturating_sub(below.len());
    let chart = Chart::new(model, Orders { a, b: trace }, axes, body, (width, gap));
    for (line, pieces) in chart.lines(&theme.glyphs).into_iter().enumerate() {
        put(buf, inside, 1 + line as u16, &pieces);
    }
    for (line, words) in below.into_iter().enumerate() {
        let words = text::clip(&words, width);
        put(buf, inside, (1 + body + line) as u16, &[(words, theme.style(Role::Faint))]);
    }
}

/// The numbers below the chart, or why there are none.
fn agreement(model: &Model, trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(found) = model.pinned.as_ref().and_then(Pinned::comparison) {
        let tau = if model.theme.glyphs.ascii { "tau" } else { "τ" };
        let tau = found.agreement.map_or_else(String::new, |found| format!(" {tau}(A,B) {:.2} ", found.kendall));
        lines.push(format!("{tau} {} enter, {} leave", found.price.enter.len(), found.price.leave.len()));
    }
    match trace.agreement() {
        Some(found) => lines.extend([
            format!(" Spearman {:.2} Kendall {:.2}", found.spearman, found.kendall),
            format!(" in both first {}: {}", found.top, found.shared),
        ]),
        None => lines.push(" the rankers cannot be compared".to_owned()),
    }
    let [first, _] = trace.rankings();
    let trouble =
        |name: &str, ranker: &crate::scored::Ranker| ranker.trouble().map(|trouble| format!(" {name}: {trouble}"));
    if first == "ce" {
        lines.extend(trouble("ce", &trace.scored.ce));
    }
    lines.extend(trouble("colbert", &trace.scored.colbert));
    lines.truncate(if model.pinned.is_some() { 4 } else { 3 });
    lines
}

/// One passage on all axes; 0 where it has no rank.
struct Joint {
    ranks: Vec<u32>,
    style: Style,
    solid: bool,
}

/// A rank, its glyph and its style.
type Mark = (u32, &'static str, Style);

/// A line of the chart.
#[derive(Clone, Copy)]
enum Row {
    /// Ranks from this one on.
    Ranks(u32),
    /// The cut of A, of B or of both.
    Cut { a: bool, b: bool },
}

struct Chart {
    axes: &'static [Axis],
    rows: Vec<Row>,
    joints: Vec<Joint>,
    /// By row and axis: the mark with its rank.
    marks: Vec<Vec<Option<Mark>>>,
    cells: Vec<Vec<(&'static str, Style)>>,
    gap: usize,
    plain: Style,
    cut_style: Style,
    last: u32,
}

impl Chart {
    fn new(
        model: &Model,
        orders: Orders<'_>,
        axes: &'static [Axis],
        rows: usize,
        (width, gap): (usize, usize),
    ) -> Self {
        let theme = &model.theme;
        let length = |trace: &Trace| trace.cut.rows.len() as u32;
        let last = length(orders.b).max(orders.a.map_or(0, length));
        // A cut behind the last row is none.
        let line = |trace: &Trace| Some(trace.cut.line + 1).filter(|below| *below <= length(trace) && rows > 4);
        let cut_b = line(orders.b);
        let cut_a = orders.a.and_then(line).filter(|_| rows > 6);
        let mut forced: Vec<u32> = [cut_a, cut_b].into_iter().flatten().collect();
        forced.sort_unstable();
        forced.dedup();
        let starts = bins(last, rows.saturating_sub(forced.len()), &forced);
        let mut lines = Vec::with_capacity(rows);
        for start in starts {
            if forced.contains(&start) {
                lines.push(Row::Cut { a: cut_a == Some(start), b: cut_b == Some(start) });
            }
            lines.push(Row::Ranks(start));
        }
        let mut chart = Self {
            axes,
            marks: vec![vec![None; axes.len()]; lines.len()],
            cells: vec![vec![(" ", theme.style(Role::Text)); width]; lines.len()],
            rows: lines,
            joints: Vec::new(),
            gap,
            plain: theme.style(Role::Faint),
            cut_style: theme.style(Role::Cut),
            last,
        };
        chart.join(model, orders);
        chart.draw_joints(&theme.glyphs);
        chart
    }

    /// Choose what is joined, most telling first.
    fn join(&mut self, model: &Model, orders: Orders<'_>) {
        let theme = &model.theme;
        let trace = orders.b;
        let scored = &trace.scored;
        let ranked = |passage: u32| trace.place(passage) > 0 || orders.rank(Axis::A, passage) > 0;
        let mut chosen: Vec<u32> = Vec::new();
        if let Some(selected) = model.selected.filter(|passage| ranked(*passage)) {
            chosen.push(selected);
        }
        if model.joined != Joined::Movers {
            chosen.extend(scored.gold.iter().copied().filter(|passage| ranked(*passage)));
        }
        if model.joined != Joined::Gold {
            chosen.extend(movers(model, orders));
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
            let ranks = self.axes.iter().map(|axis| orders.rank(*axis, passage)).collect();
            let joint = Joint { ranks, style, solid: gold || selected };
            for (axis, rank) in joint.ranks.iter().enumerate() {
                if let Some(row) = self.row_of(*rank)
                    && let Some(slot) = self.marks.get_mut(row).and_then(|marks| marks.get_mut(axis))
                    && slot.is_none()
                {
                    *slot = Some((*rank, mark, style));
                }
            }
            self.joints.push(joint);
        }
    }

    /// The row of a rank.
    fn row_of(&self, rank: u32) -> Option<usize> {
        self.rows.iter().rposition(|row| matches!(row, Row::Ranks(start) if rank > 0 && *start <= rank))
    }

    fn draw_joints(&mut self, glyphs: &Glyphs) {
        let joints = std::mem::take(&mut self.joints);
        for (at, joint) in joints.iter().enumerate() {
            for side in 0..self.axes.len() - 1 {
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
        let kind = *self.rows.get(row)?;
        // A's cut is drawn on its side of the chart, B's on the other; a cut of both goes across.
        let covers = |at: usize| match (kind, self.axes.get(at)) {
            (Row::Cut { a, .. }, Some(Axis::First | Axis::A)) if self.axes == FOUR => a,
            (Row::Cut { b, .. }, Some(_)) => b,
            _ => false,
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for (at, axis) in self.axes.iter().enumerate() {
            let mark = self.marks.get(row).and_then(|marks| marks.get(at).copied().flatten());
            match (kind, mark) {
                (Row::Cut { .. }, _) if !covers(at) => pieces.push((" ".repeat(AXIS), self.plain)),
                (Row::Cut { .. }, _) if matches!(axis, Axis::A | Axis::B) => {
                    pieces.push((format!("{0}cut{0}{0}", glyphs.cut), self.cut_style));
                }
                (Row::Cut { .. }, _) => pieces.push((glyphs.cut.repeat(AXIS), self.cut_style)),
                (_, Some((rank, mark, style))) => pieces.push((format!("{rank:>4}{mark} "), style)),
                (Row::Ranks(start), None) if start <= self.last => {
                    pieces.push((format!("{start:>4}{} ", glyphs.dot), self.plain));
                }
                _ => pieces.push((" ".repeat(AXIS), self.plain)),
            }
            if at + 1 == self.axes.len() {
                break;
            }
            let left = AXIS + at * (AXIS + self.gap);
            let dashed = covers(at) && covers(at + 1);
            for (glyph, style) in cells.get(left..left + self.gap)? {
                match (*glyph, dashed) {
                    (" ", true) => pieces.push((glyphs.cut.to_owned(), self.cut_style)),
                    (glyph, _) => pieces.push((glyph.to_owned(), *style)),
                }
            }
        }
        Some(pieces)
    }
}

/// Passages that one ranker would keep and the other would lose; with A on the chart those that enter or leave between A
/// and B. The farthest first.
fn movers(model: &Model, orders: Orders<'_>) -> Vec<u32> {
    let (trace, line) = (orders.b, orders.b.cut.line);
    let (one, other) = if orders.a.is_some() { (Axis::A, Axis::B) } else { (Axis::First, Axis::Second) };
    let apart = |passage: u32| (orders.rank(one, passage).abs_diff(orders.rank(other, passage)), passage);
    let found = model.pinned.as_ref().and_then(Pinned::comparison).filter(|_| orders.a.is_some());
    let mut movers: Vec<(u32, u32)> = match found {
        Some(found) => found.price.enter.iter().chain(&found.price.leave).map(|passage| apart(*passage)).collect(),
        None => {
            let all = trace.cut.rows.iter().map(|row| row.passage);
            let ranks = |passage: u32| (orders.rank(one, passage), orders.rank(other, passage));
            let moves = |(one, other): (u32, u32)| one > 0 && other > 0 && (one <= line) != (other <= line);
            all.filter(|passage| moves(ranks(*passage))).map(apart).collect()
        }
    };
    movers.sort_unstable_by(|a, b| b.cmp(a));
    movers.into_iter().map(|(_, passage)| passage).collect()
}

/// First ranks of so many rows over ranks 1 to `last`: one by one at the top, then in steps that grow. Each of `forced` is
/// made the beginning of a row, where there are rows enough.
fn bins(last: u32, rows: usize, forced: &[u32]) -> Vec<u32> {
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
    for at in forced {
        if *at <= 1 || starts.contains(at) {
            continue;
        }
        let free = (1..starts.len()).filter(|slot| starts.get(*slot).is_none_or(|start| !forced.contains(start)));
        let nearest = free.min_by_key(|slot| starts.get(*slot).map_or(u32::MAX, |start| start.abs_diff(*at)));
        if let Some(slot) = nearest.and_then(|slot| starts.get_mut(slot)) {
            *slot = *at;
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
                for forced in [vec![], vec![2], vec![17], vec![last], vec![2, 3], vec![17, 60], vec![18, last]] {
                    let forced: Vec<u32> = forced.into_iter().filter(|at| *at <= last).collect();
                    let starts = bins(last, rows, &forced);
                    assert!(starts.len() <= rows, "{last} {rows}");
                    assert_eq!(starts.first(), Some(&1), "{last} {rows} {forced:?}");
                    assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{starts:?}");
                    if rows > 3 {
                        assert!(forced.iter().all(|at| starts.contains(at)), "{last} {rows} {forced:?}: {starts:?}");
                    }
                }
            }
        }
    }
}
