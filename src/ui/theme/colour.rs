//! How light a colour is, how far two are apart, and which of a terminal's colours is nearest to one. Knows numbers; knows
//! no theme.

use ratatui::style::Color;

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// The sixteen named colours as xterm has them; every terminal may have others.
pub const SIXTEEN: [(Color, Rgb); 16] = [
    (Color::Black, [0x00, 0x00, 0x00]),
    (Color::Red, [0xcd, 0x00, 0x00]),
    (Color::Green, [0x00, 0xcd, 0x00]),
    (Color::Yellow, [0xcd, 0xcd, 0x00]),
    (Color::Blue, [0x00, 0x00, 0xee]),
    (Color::Magenta, [0xcd, 0x00, 0xcd]),
    (Color::Cyan, [0x00, 0xcd, 0xcd]),
    (Color::Gray, [0xe5, 0xe5, 0xe5]),
    (Color::DarkGray, [0x7f, 0x7f, 0x7f]),
    (Color::LightRed, [0xff, 0x00, 0x00]),
    (Color::LightGreen, [0x00, 0xff, 0x00]),
    (Color::LightYellow, [0xff, 0xff, 0x00]),
    (Color::LightBlue, [0x5c, 0x5c, 0xff]),
    (Color::LightMagenta, [0xff, 0x00, 0xff]),
    (Color::LightCyan, [0x00, 0xff, 0xff]),
    (Color::White, [0xff, 0xff, 0xff]),
];

/// The colours that all terminals with 256 share: a cube and a row of greys. The first sixteen are left out, because
/// people give those other values.
pub fn shared() -> impl Iterator<Item = (Color, Rgb)> {
    let level = |at: u8| if at == 0 { 0 } else { 55 + 40 * at };
    let cube = (0..216_u8).map(move |at| (Color::Indexed(16 + at), [level(at / 36), level(at / 6 % 6), level(at % 6)]));
    let greys = (0..24_u8).map(|at| (Color::Indexed(232 + at), [8 + 10 * at; 3]));
    cube.chain(greys)
}

/// One part of a colour as light, from 0 to 1.
fn linear(part: u8) -> f64 {
    let part = f64::from(part) / 255.0;
    if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
}

/// The colour as light: red, green and blue from 0 to 1.
pub fn light([r, g, b]: Rgb) -> [f64; 3] {
    [linear(r), linear(g), linear(b)]
}

/// Relative luminance as WCAG 2 defines it.
pub fn luminance(colour: Rgb) -> f64 {
    let [r, g, b] = light(colour);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Contrast of two colours as WCAG 2 defines it, from 1 to 21.
pub fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Whether dark text is read better on it.
pub fn is_light(colour: Rgb) -> bool {
    contrast(colour, [0; 3]) > contrast(colour, [255; 3])
}

/// CIELAB of light, with the white of sRGB (D65).
pub fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let root = |part: f64| if part > 216.0 / 24389.0 { part.cbrt() } else { (24389.0 / 27.0 * part + 16.0) / 116.0 };
    let x = root((0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b) / 0.950_47);
    let y = root(0.212_672_9 * r + 0.715_152_2 * g + 0.072_175_0 * b);
    let z = root((0.019_333_9 * r + 0.119_192_0 * g + 0.950_304_1 * b) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// How far two colours are apart in CIELAB (CIE 1976); 2 can just be told apart side by side.
pub fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
