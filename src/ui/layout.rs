//! Where everything stands on a screen of some size. Knows rectangles; knows no content.

use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};

use super::model::Model;
use super::pane::Pane;
use super::present::AIR;

/// Fewer columns or rows than this, and only a sentence is shown.
pub const SMALLEST: (u16, u16) = (40, 10);

/// All places of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Areas {
    /// Program, database, models.
    pub title: Rect,
    /// The question line.
    pub question: Rect,
    /// The stages in numbers; on narrow screens.
    pub summary: Option<Rect>,
    /// The sliders.
    pub knobs: Rect,
    /// Names of the panes; on narrow screens.
    pub tabs: Option<Rect>,
    /// The panes that can be seen, frames included.
    pub panes: Vec<(Pane, Rect)>,
    /// The verdict on the selection, below a single pane.
    pub verdict: Option<Rect>,
    /// Keys, prompts and messages.
    pub footer: Rect,
}

impl Areas {
    /// The place of a pane, frame included.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes.iter().find(|(known, _)| *known == pane).map(|(_, area)| *area)
    }

    /// The pane at a place.
    pub fn pane_at(&self, place: Position) -> Option<(Pane, Rect)> {
        self.panes.iter().copied().find(|(_, area)| area.contains(place))
    }
}

/// True when there is room for one pane at a time only.
pub fn is_narrow(columns: u16, rows: u16) -> bool {
    columns < 100 || rows < 30
}

/// The places on the screen of a model.
pub fn areas(model: &Model) -> Areas {
    let (columns, rows) = model.size;
    let screen = Rect::new(0, 0, columns, rows);
    if is_narrow(columns, rows) {
        narrow(screen, model.focus, model.zoom)
    } else {
        wide(screen, model.focus, model.zoom, model.pinned.is_some())
    }
}

fn rows<const N: usize>(area: Rect, constraints: [Constraint; N]) -> [Rect; N] {
    Layout::vertical(constraints).areas(area)
}

fn columns<const N: usize>(area: Rect, constraints: [Constraint; N]) -> [Rect; N] {
    Layout::horizontal(constraints).areas(area)
}

fn narrow(screen: Rect, focus: Pane, zoom: bool) -> Areas {
    use Constraint::{Length, Min};
    // Very low screens give their rows to the pane.
    let (summary, verdict) = match (zoom, screen.height) {
        (true, _) => (0, 0),
        (false, ..16) => (0, 1),
        (false, _) => (1, 3),
    };
    let [title, question, summary, knobs, tabs, pane, verdict, footer] =
        rows(screen, [Length(1), Length(1), Length(summary), Length(1), Length(1), Min(3), Length(verdict), Length(1)]);
    let some = |area: Rect| (area.height > 0).then_some(area);
    Areas {
        title,
        question,
        summary: some(summary),
        knobs,
        tabs: Some(tabs),
        panes: vec![(focus, pane)],
        verdict: some(verdict),
        footer,
    }
}

fn wide(screen: Rect, focus: Pane, zoom: bool, pinned: bool) -> Areas {
    use Constraint::{Fill, Length, Min, Percentage};
    let [title, question, knobs, body, footer] = rows(screen, [Length(1), Length(1), Length(1), Min(10), Length(1)]);
    let panes = if zoom {
        vec![(focus, body)]
    } else {
        let below = (body.height * 2 / 5).clamp(10, 18);
        let [above, below] = rows(body, [Fill(1), Length(below)]);
        let mut panes = Vec::with_capacity(6);
        if screen.width >= 160 {
            // With A pinned, Ranks has an axis more and Fused a column.
            let [terms, hops, ranks] = match (pinned, screen.width) {
                (false, _) => [30, 36, 45],
                (true, ..190) => [26, 28, 45],
                (true, _) => [28, 36, 53],
            };
            let [terms, hops, ranks, fused] = columns(above, [Length(terms), Length(hops), Length(ranks), Fill(1)]);
            panes.extend([(Pane::Terms, terms), (Pane::Hops, hops), (Pane::Ranks, ranks), (Pane::Fused, fused)]);
        } else {
            let [left, ranks, fused] = columns(above, [Length(28), Length(31), Fill(1)]);
            let [terms, hops] = rows(left, [Percentage(50), Fill(1)]);
            panes.extend([(Pane::Terms, terms), (Pane::Hops, hops), (Pane::Ranks, ranks), (Pane::Fused, fused)]);
        }
        let [why, passage] = columns(below, [Percentage(52), Fill(1)]);
        panes.extend([(Pane::Why, why), (Pane::Passage, passage)]);
        panes
    };
    Areas { title, question, summary: None, knobs, tabs: None, panes, verdict: None, footer }
}

/// The inside of a pane. Single panes have a rule above instead of a frame.
pub fn inside(area: Rect, model: &Model) -> Rect {
    let frame = framed(area, model);
    let (columns, rows) = if model.present.is_some() { AIR } else { (0, 0) };
    // A narrow pane needs all its columns: a number that is cut says the wrong thing.
    frame.inner(Margin::new(if frame.width < NARROW { 0 } else { columns }, rows))
}

/// Below so many columns a pane has none to spare for air.
const NARROW: u16 = 45;

/// What a pane's frame leaves.
fn framed(area: Rect, model: &Model) -> Rect {
    if is_narrow(model.size.0, model.size.1) {
        Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }
    } else {
        Rect {
            x: area.x + 1.min(area.width),
            y: area.y + 1.min(area.height),
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(2),
        }
    }
}

/// Rows of a list pane without its column heads; what a page is.
pub fn list_height(model: &Model, pane: Pane) -> usize {
    let area = areas(model).pane(pane).map_or(0, |area| inside(area, model).height);
    usize::from(area.saturating_sub(if pane == Pane::Fused { 1 } else { 0 })).max(1)
}

/// Rows of the focused pane.
pub fn page(model: &Model) -> i32 {
    list_height(model, model.focus).min(1000) as i32
}

/// A slider on the knob line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slider {
    /// The knob.
    pub name: &'static str,
    /// The label with its value.
    pub label: Rect,
    /// The line that is dragged; empty when there is no room.
    pub track: Rect,
    /// The value at the left end.
    pub min: f64,
    /// The value at the right end.
    pub max: f64,
}

impl Slider {
    /// The value under a column.
    pub fn value_at(&self, column: u16) -> f64 {
        let last = f64::from(self.track.width.saturating_sub(1).max(1));
        let at = f64::from(column.saturating_sub(self.track.x)).min(last);
        self.min + (self.max - self.min) * at / last
    }

    /// The column of a value, counted from the left end of the track.
    pub fn column_of(&self, value: f64) -> u16 {
        let last = f64::from(self.track.width.saturating_sub(1));
        let share = ((value - self.min) / (self.max - self.min).max(f64::EPSILON)).clamp(0.0, 1.0);
        (share * last).round() as u16
    }
}

/// Fewest columns for the sliders of A beside those of B.
const BOTH_SLIDERS: u16 = 160;

/// The sliders of A, where it is pinned and there is room, and those of B, which can be dragged. Both have the same ends.
pub fn knob_line(model: &Model, area: Rect) -> (Vec<Slider>, Vec<Slider>) {
    let budget = model.settings.budget;
    match &model.pinned {
        Some(pinned) if area.width >= BOTH_SLIDERS => {
            let budget = budget.max(pinned.settings.budget);
            let half = area.width / 2;
            let a = Rect { x: area.x + 2, width: half.saturating_sub(4), ..area };
            let b = Rect { x: area.x + half + 2, width: area.width - half - 2, ..area };
            (sliders(a, budget), sliders(b, budget))
        }
        _ => (Vec::new(), sliders(area, budget)),
    }
}

/// The sliders of the knob line: α and budget always, w and top n where there is room.
pub fn sliders(area: Rect, budget: u32) -> Vec<Slider> {
    let budget_max = f64::from(budget.max(2000)) * 1.5;
    let all = [
        ("alpha", 8, 0.0, 1.0),
        ("budget", 18, 0.0, (budget_max / 1000.0).ceil() * 1000.0),
        ("w", 9, 0.0, 1.0),
        ("top-n", 11, 0.0, 200.0),
    ];
    let shown = if area.width < 64 { 2 } else { 4 };
    let labels: u16 = all.iter().take(shown).map(|(_, label, _, _)| label + 3).sum();
    // Tracks of w and top n come last: they are the first to go.
    let with_track = if area.width >= 150 { shown } else { 2.min(shown) };
    let room = area.width.saturating_sub(labels + 1) / with_track.max(1) as u16;
    let track = if room < 6 { 0 } else { room.min(30) };
    let mut x = area.x + 1;
    let mut sliders = Vec::new();
    for (at, (name, label, min, max)) in all.into_iter().enumerate().take(shown) {
        let width = if at < with_track { track } else { 0 };
        let end = area.right();
        let label_area = Rect::new(x.min(end), area.y, label.min(end.saturating_sub(x)), 1);
        let track_area = Rect::new((x + label).min(end), area.y, width.min(end.saturating_sub(x + label)), 1);
        sliders.push(Slider { name, label: label_area, track: track_area, min, max });
        x += label + width + if width > 0 { 3 } else { 2 };
    }
    sliders
}
