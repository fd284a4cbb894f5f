//! Chart: lines or bars as a picture for a report (SVG). Knows numbers and names; nothing of what they measure.

use std::fmt::Write;

use crate::explain::fate::number;
use crate::markup::escaped;

/// Colours that people with any colour vision tell apart; dashes tell them apart without colours.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777"];
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];

/// Sizes in user units.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 12.0;
/// Room for the names at the right of lines.
const LEGEND: f64 = 190.0;
/// Height of a bar with the room around it, and the room for its name.
const BAR: f64 = 20.0;
const BAR_NAMES: f64 = 250.0;

/// A picture of numbers.
#[derive(Debug, Clone)]
pub enum Chart {
    /// Values over a number.
    Lines {
        /// What it shows.
        title: String,
        /// What the horizontal axis is.
        x: String,
        /// Name and points of every line; points ascend.
        lines: Vec<(String, Vec<(f64, f64)>)>,
    },
    /// A value a name; `None` where it was not measured.
    Bars {
        /// What it shows.
        title: String,
        /// Name and value of every bar, all at least 0.
        bars: Vec<(String, Option<f64>)>,
    },
}

impl Chart {
    /// As an SVG element, which stands in an HTML page as it is.
    pub fn svg(&self) -> String {
        match self {
            Self::Lines { title, x, lines } => draw_lines(title, x, lines),
            Self::Bars { title, bars } => draw_bars(title, bars),
        }
    }
}

fn open(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!(
        "<figure><figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\">\n"
    )
}

fn draw_lines(title: &str, x_name: &str, lines: &[(String, Vec<(f64, f64)>)]) -> String {
    let mut svg = open(title, HEIGHT);
    let points = || lines.iter().flat_map(|(_, points)| points.iter().copied());
    let (x_low, x_high) = range(points().map(|(x, _)| x));
    let (y_low, y_high) = range(points().map(|(_, y)| y));
    let (right, base) = (WIDTH - LEGEND, HEIGHT - BOTTOM);
    let x = |value: f64| LEFT + (value - x_low) / (x_high - x_low) * (right - LEFT);
    let y = |value: f64| base - (value - y_low) / (y_high - y_low) * (base - TOP);
    for tick in ticks(y_low, y_high) {
        let at = y(tick);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/><text x=\"{:.1}\" \
             y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            number(tick)
        );
    }
    for tick in ticks(x_low, x_high) {
        let at = x(tick);
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            base + 16.0,
            number(tick)
        );
    }
    let middle = f64::midpoint(LEFT, right);
    let below = base + 34.0;
    let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", escaped(x_name));
    for (at, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS.get(at % COLOURS.len()).copied().unwrap_or_default();
        let dash = DASHES.get(at % DASHES.len()).copied().unwrap_or_default();
        let path: Vec<String> = points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
        let stroke = format!("stroke=\"{colour}\" stroke-dasharray=\"{dash}\"");
        let _ = writeln!(svg, "<polyline class=\"line\" {stroke} points=\"{}\"/>", path.join(" "));
        let row = TOP + 14.0 + 18.0 * at as f64;
        let _ = writeln!(
            svg,
            "<line class=\"line\" {stroke} x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/><text x=\"{}\" y=\"{row}\">{}</text>",
            right + 12.0,
            row - 4.0,
            right + 38.0,
            row - 4.0,
            right + 44.0,
            escaped(name)
        );
    }
    svg.push_str("</svg></figure>\n");
    svg
}

fn draw_bars(title: &str, bars: &[(String, Option<f64>)]) -> String {
    let height = BAR * bars.len() as f64 + TOP;
    let mut svg = open(title, height);
    let most = bars.iter().filter_map(|(_, value)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let room = WIDTH - BAR_NAMES - 60.0;
    for (at, (name, value)) in bars.iter().enumerate() {
        let top = TOP / 2.0 + BAR * at as f64;
        let wide = value.map_or(0.0, |value| value / most * room);
        let words = value.map_or_else(|| "not measured".to_owned(), number);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect x=\"{BAR_NAMES}\" y=\"{:.1}\" \
             width=\"{wide:.1}\" height=\"{}\" fill=\"#0072b2\"/><text x=\"{:.1}\" y=\"{:.1}\">{words}</text>",
            BAR_NAMES - 8.0,
            top + 14.0,
            escaped(name),
            top + 3.0,
            BAR - 6.0,
            BAR_NAMES + wide + 6.0,
            top + 14.0
        );
    }
    svg.push_str("</svg></figure>\n");
    svg
}

/// Lowest and highest of some values, apart even when they are all the same.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    match (low.is_finite() && high.is_finite(), high > low) {
        (true, true) => (low, high),
        (true, false) => (low - 0.5, low + 0.5),
        _ => (0.0, 1.0),
    }
}

/// Round numbers within a range, about five of them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough).unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (first..first + 12).map(|at| at as f64 * step).take_while(|tick| *tick <= high + step * 1e-9).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(193.0, 212.0), [195.0, 200.0, 205.0, 210.0]);
        assert_eq!(range([2.0, 2.0].into_iter()), (1.5, 2.5));
        assert_eq!(range(std::iter::empty()), (0.0, 1.0));
    }

    #[test]
    fn names_are_no_markup_and_every_point_is_inside() {
        let lines = vec![("<b>".to_owned(), vec![(0.0, 3.0), (1.0, 4.0)])];
        let svg = Chart::Lines { title: "a & b".to_owned(), x: "λ".to_owned(), lines }.svg();
        assert!(svg.contains("a &amp; b") && svg.contains("&lt;b&gt;") && !svg.contains("<b>"), "{svg}");
        assert!(svg.contains("points=\"56.0,276.0 570.0,12.0\""), "{svg}");
        let bars = vec![("x".to_owned(), Some(2.0)), ("y".to_owned(), None)];
        let svg = Chart::Bars { title: String::new(), bars }.svg();
        assert!(svg.contains("width=\"450.0\"") && svg.contains("not measured"), "{svg}");
    }
}
