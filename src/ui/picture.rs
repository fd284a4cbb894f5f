//! The screen as a picture: cells to one self-contained SVG for slides and papers. Knows cells, colours and the shapes of
//! lines; knows nothing of what is drawn.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use super::theme::{Role, Theme};
use crate::markup::escaped;

/// Width of a cell, in pixels: what the usual monospace fonts advance at this size.
const WIDE: f64 = 8.4;
/// Height of a cell.
const HIGH: f64 = 17.0;
/// Size of the font.
const SIZE: f64 = 14.0;
/// Base line of the text, from the top of a cell.
const BASE: f64 = 13.0;
/// Where text is underlined.
const UNDER: f64 = 14.8;
/// How far a line reaches into the next row: a viewer that smooths edges would show a gap there.
const OVERLAP: f64 = 0.4;
/// Empty space around the cells.
const MARGIN: f64 = 8.0;
/// Where a theme leaves the choice to the terminal: light grey on nearly black.
const TEXT: Rgb = [0xd8, 0xd8, 0xd8];
const BACK: Rgb = [0x17, 0x19, 0x1e];
/// The sixteen named colours, ones that can be read on that background.
const NAMED: [Rgb; 16] = [
    [0x2b, 0x2e, 0x36],
    [0xe0, 0x6c, 0x75],
    [0x8c, 0xc2, 0x65],
    [0xd9, 0xa9, 0x4e],
    [0x5c, 0xa4, 0xea],
    [0xc6, 0x83, 0xdd],
    [0x4e, 0xb8, 0xc4],
    [0xc3, 0xc8, 0xd0],
    [0x7a, 0x82, 0x90],
    [0xff, 0x8a, 0x92],
    [0xae, 0xe0, 0x88],
    [0xf2, 0xcc, 0x79],
    [0x8c, 0xc4, 0xff],
    [0xe2, 0xac, 0xf5],
    [0x84, 0xdd, 0xe8],
    [0xff, 0xff, 0xff],
];

type Rgb = [u8; 3];

/// How a run of cells looks.
#[derive(Clone, Copy, PartialEq)]
struct Look {
    fore: Rgb,
    back: Rgb,
    bold: bool,
    italic: bool,
    underlined: bool,
    dim: bool,
}

/// The cells as an SVG document. Texts are data in it: nothing in them becomes markup, and it refers to nothing outside.
pub fn svg(buffer: &Buffer, theme: &Theme, title: &str) -> String {
    let text = theme.style(Role::Text);
    let fore = text.fg.and_then(rgb).unwrap_or(TEXT);
    let back = text.bg.and_then(rgb).unwrap_or(BACK);
    let (columns, rows) = (f64::from(buffer.area.width), f64::from(buffer.area.height));
    let (width, height) = (columns * WIDE + 2.0 * MARGIN, rows * HIGH + 2.0 * MARGIN);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" \
         font-family=\"'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace\" font-size=\"{SIZE}\" \
         xml:space=\"preserve\">",
        px(width),
        px(height)
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(title));
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>", hex(back));
    for y in 0..buffer.area.height {
        let top = f64::from(y) * HIGH + MARGIN;
        let _ = writeln!(out, "<g transform=\"translate({MARGIN} {})\">", px(top));
        row(buffer, buffer.area.y + y, (fore, back), &mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// One row: backgrounds first, so that no glyph is covered by the next run's.
fn row(buffer: &Buffer, y: u16, screen: (Rgb, Rgb), out: &mut String) {
    let mut runs: Vec<Run> = Vec::new();
    let mut x = 0;
    while x < buffer.area.width {
        let Some(cell) = buffer.cell((buffer.area.x + x, y)) else { break };
        let look = look(cell, screen);
        let wide = (cell.symbol().width().max(1) as u16).min(buffer.area.width - x);
        match runs.last_mut() {
            Some(run) if run.look == look => run.cells.push((x, wide, cell.symbol())),
            _ => runs.push(Run { look, cells: vec![(x, wide, cell.symbol())] }),
        }
        x += wide;
    }
    for run in runs.iter().filter(|run| run.look.back != screen.1) {
        let (from, to) = run.range();
        let (x, width) = (px(f64::from(from) * WIDE), px(f64::from(to - from) * WIDE));
        let _ = writeln!(out, "<rect x=\"{x}\" width=\"{width}\" height=\"{HIGH}\" fill=\"{}\"/>", hex(run.look.back));
    }
    for run in &runs {
        run.shapes(out);
        run.text(out);
        run.underline(out);
    }
}

/// Neighbouring cells that look alike: column, columns taken, symbol.
struct Run<'a> {
    look: Look,
    cells: Vec<(u16, u16, &'a str)>,
}

impl Run<'_> {
    fn range(&self) -> (u16, u16) {
        let from = self.cells.first().map_or(0, |(x, _, _)| *x);
        (from, self.cells.last().map_or(from, |(x, wide, _)| x + wide))
    }

    /// Frames, bars and shades as shapes: fonts leave gaps between their lines.
    fn shapes(&self, out: &mut String) {
        let fill = hex(self.look.fore);
        let dim = if self.look.dim { " opacity=\"0.6\"" } else { "" };
        let mut path = String::new();
        for (x, _, symbol) in &self.cells {
            let left = f64::from(*x) * WIDE;
            if let Some(arms) = arms(symbol) {
                arms.draw(left, &mut path);
            } else if let Some((from, opacity)) = block(symbol) {
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" opacity=\"{}\"/>",
                    px(left),
                    px(from * HIGH),
                    px(WIDE),
                    px((1.0 - from) * HIGH),
                    if self.look.dim { opacity * 0.6 } else { opacity }
                );
            }
        }
        if !path.is_empty() {
            let _ = writeln!(out, "<path d=\"{path}\" fill=\"{fill}\"{dim}/>");
        }
    }

    /// The rest as text, every character at its cell. A symbol of several characters or columns stands alone, so that
    /// its parts stay together.
    fn text(&self, out: &mut String) {
        let (mut words, mut places) = (String::new(), Vec::new());
        for (x, wide, symbol) in &self.cells {
            let drawn = arms(symbol).is_some() || block(symbol).is_some();
            let single = *wide == 1 && symbol.chars().nth(1).is_none() && !is_sign(symbol);
            if drawn || !single || (symbol.trim().is_empty() && words.is_empty()) {
                self.piece(&std::mem::take(&mut words), &std::mem::take(&mut places), out);
                if !drawn && !symbol.trim().is_empty() {
                    self.piece(symbol, &[px(f64::from(*x) * WIDE)], out);
                }
            } else {
                words.push_str(symbol);
                places.push(px(f64::from(*x) * WIDE));
            }
        }
        self.piece(&words, &places, out);
    }

    /// A line of its own: not every reader of SVG underlines text whose characters are placed one by one.
    fn underline(&self, out: &mut String) {
        if self.look.underlined {
            let (from, to) = self.range();
            let (x, width) = (px(f64::from(from) * WIDE), px(f64::from(to - from) * WIDE));
            let fill = hex(self.look.fore);
            let _ = writeln!(out, "<rect x=\"{x}\" y=\"{UNDER}\" width=\"{width}\" height=\"1\" fill=\"{fill}\"/>");
        }
    }

    fn piece(&self, words: &str, places: &[String], out: &mut String) {
        let words = words.trim_end();
        if words.is_empty() {
            return;
        }
        let places = places.get(..words.chars().count()).unwrap_or(places).join(" ");
        let _ = write!(out, "<text x=\"{places}\" y=\"{BASE}\" fill=\"{}\"", hex(self.look.fore));
        for (is, attribute) in [
            (self.look.bold, " font-weight=\"bold\""),
            (self.look.italic && !is_sign(words), " font-style=\"italic\""),
            (self.look.dim, " opacity=\"0.6\""),
        ] {
            out.push_str(if is { attribute } else { "" });
        }
        let _ = writeln!(out, ">{}</text>", escaped(words));
    }
}

/// An arrow, a star or another sign: few italic fonts have them, so they stand alone and upright.
fn is_sign(symbol: &str) -> bool {
    symbol.starts_with(|c| ('\u{2190}'..='\u{2bff}').contains(&c))
}

fn look(cell: &Cell, (text, screen): (Rgb, Rgb)) -> Look {
    let has = |modifier| cell.modifier.contains(modifier);
    let (fore, back) = (rgb(cell.fg).unwrap_or(text), rgb(cell.bg).unwrap_or(screen));
    let (fore, back) = if has(Modifier::REVERSED) { (back, fore) } else { (fore, back) };
    Look {
        fore: if has(Modifier::HIDDEN) { back } else { fore },
        back,
        bold: has(Modifier::BOLD),
        italic: has(Modifier::ITALIC),
        underlined: has(Modifier::UNDERLINED),
        dim: has(Modifier::DIM),
    }
}

/// A colour as red, green and blue; `None` for the terminal's own.
fn rgb(colour: Color) -> Option<Rgb> {
    let named = match colour {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => return Some([r, g, b]),
        Color::Indexed(at) => at,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    Some(match named {
        0..=15 => NAMED.get(usize::from(named)).copied().unwrap_or(TEXT),
        // The cube and the greys that terminals share.
        16..=231 => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + part * 40 };
            let at = named - 16;
            [level(at / 36), level(at / 6 % 6), level(at % 6)]
        }
        _ => [8 + (named - 232) * 10; 3],
    })
}

/// The lines of a box-drawing character: thickness towards left, up, right and down.
struct Arms {
    arms: [u8; 4],
    dashed: bool,
}

fn arms(symbol: &str) -> Option<Arms> {
    let (arms, dashed) = match symbol {
        "─" => ([1, 0, 1, 0], false),
        "│" => ([0, 1, 0, 1], false),
        "┌" | "╭" => ([0, 0, 1, 1], false),
        "┐" | "╮" => ([1, 0, 0, 1], false),
        "└" | "╰" => ([0, 1, 1, 0], false),
        "┘" | "╯" => ([1, 1, 0, 0], false),
        "├" => ([0, 1, 1, 1], false),
        "┤" => ([1, 1, 0, 1], false),
        "┬" => ([1, 0, 1, 1], false),
        "┴" => ([1, 1, 1, 0], false),
        "┼" => ([1, 1, 1, 1], false),
        "━" => ([2, 0, 2, 0], false),
        "┃" => ([0, 2, 0, 2], false),
        "┏" => ([0, 0, 2, 2], false),
        "┓" => ([2, 0, 0, 2], false),
        "┗" => ([0, 2, 2, 0], false),
        "┛" => ([2, 2, 0, 0], false),
        "╌" => ([1, 0, 1, 0], true),
        "╎" => ([0, 1, 0, 1], true),
        _ => return None,
    };
    Some(Arms { arms, dashed })
}

impl Arms {
    /// Bars from the middle of the cell to its edges, as closed shapes.
    fn draw(&self, left: f64, path: &mut String) {
        let thick = |arm: u8| f64::from(arm) * 1.2;
        let (x, y) = (left + WIDE / 2.0, HIGH / 2.0);
        let most = self.arms.iter().copied().map(thick).fold(0.0, f64::max) / 2.0;
        let mut bar = |x: f64, y: f64, width: f64, height: f64| {
            let _ = write!(path, "M{} {}h{}v{}h-{}z", px(x), px(y), px(width), px(height), px(width));
        };
        if self.dashed {
            let half = thick(1) / 2.0;
            for part in [0.1, 0.6] {
                match self.arms {
                    [1, ..] => bar(left + part * WIDE, y - half, 0.3 * WIDE, 2.0 * half),
                    _ => bar(x - half, part * HIGH, 2.0 * half, 0.3 * HIGH),
                }
            }
            return;
        }
        let [to_left, up, right, down] = self.arms.map(thick);
        if to_left > 0.0 {
            bar(left, y - to_left / 2.0, WIDE / 2.0 + most, to_left);
        }
        if right > 0.0 {
            bar(x - most, y - right / 2.0, WIDE / 2.0 + most, right);
        }
        if up > 0.0 {
            bar(x - up / 2.0, 0.0, up, HIGH / 2.0 + most);
        }
        if down > 0.0 {
            bar(x - down / 2.0, y - most, down, HIGH / 2.0 + most + OVERLAP);
        }
    }
}

/// A block character: where it begins, as a share of the cell from its top, and how dense it is.
fn block(symbol: &str) -> Option<(f64, f64)> {
    Some(match symbol {
        "█" => (0.0, 1.0),
        "▇" => (0.125, 1.0),
        "▓" => (0.0, 0.75),
        "▒" => (0.0, 0.5),
        "░" => (0.0, 0.25),
        _ => return None,
    })
}

/// A length without digits that nobody sees.
fn px(length: f64) -> String {
    let rounded = (length * 100.0).round() / 100.0;
    rounded.to_string()
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
