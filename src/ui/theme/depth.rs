//! How many colours a terminal has, and styles that make do with them. Knows what variables say of terminals; reads none
//! itself.

use ratatui::style::{Color, Style};

use super::colour::{Rgb, SIXTEEN, contrast, distance, lab, light, shared};

/// The contrast that small text needs (WCAG 2, level AA).
pub const READABLE: f64 = 4.5;
/// The same for named colours, whose values are the terminal's own: its blue is often lighter than xterm's.
const READABLE_NAMED: f64 = 4.0;
/// From this chroma on a colour of 256 is more than a grey.
const COLOURFUL: f64 = 16.0;

/// The colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// The sixteen that have names.
    Sixteen,
    /// The cube of 256.
    Indexed,
    /// All.
    #[default]
    Full,
}

impl Depth {
    /// What variables say of a terminal, and which of them says it. Over a remote shell only `TERM` comes along, so the
    /// names of terminals that have all colours count.
    pub fn of(said: impl Fn(&str) -> Option<String>) -> (Self, &'static str) {
        const WITH_ALL: [&str; 8] = ["direct", "kitty", "alacritty", "wezterm", "foot", "ghostty", "contour", "rio"];
        const PROGRAMS: [&str; 5] = ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"];
        if said("COLORTERM").is_some_and(|value| ["truecolor", "24bit"].contains(&value.to_lowercase().as_str())) {
            return (Self::Full, "COLORTERM");
        }
        let kind = said("TERM").unwrap_or_default();
        if WITH_ALL.iter().any(|name| kind.contains(name)) {
            return (Self::Full, "TERM");
        }
        if said("WT_SESSION").is_some() {
            return (Self::Full, "WT_SESSION");
        }
        if said("TERM_PROGRAM").is_some_and(|program| PROGRAMS.contains(&program.as_str())) {
            return (Self::Full, "TERM_PROGRAM");
        }
        if kind.contains("256color") { (Self::Indexed, "TERM") } else { (Self::Sixteen, "TERM") }
    }

    /// The style with the nearest colours that there are. Text keeps as much contrast to its ground as it had, or what
    /// small text needs.
    pub fn fit(self, style: Style) -> Style {
        let (Self::Sixteen | Self::Indexed, mut fitted) = (self, style) else { return style };
        let mut ground = None;
        if let Some(Color::Rgb(r, g, b)) = style.bg {
            let found = self.nearest([r, g, b], |_| true);
            fitted.bg = found.map(|(colour, _)| colour).or(style.bg);
            ground = found.map(|(_, rgb)| ([r, g, b], rgb));
        }
        if let Some(Color::Rgb(r, g, b)) = style.fg {
            let found = match ground {
                Some((meant, there)) => {
                    let enough = if self == Self::Sixteen { READABLE_NAMED } else { READABLE };
                    let least = contrast([r, g, b], meant).min(enough);
                    self.nearest([r, g, b], |colour| contrast(colour, there) >= least)
                }
                None => None,
            };
            let found = found.or_else(|| self.nearest([r, g, b], |_| true));
            fitted.fg = found.map(|(colour, _)| colour).or(style.fg);
        }
        fitted
    }

    fn nearest(self, wanted: Rgb, fits: impl Fn(Rgb) -> bool) -> Option<(Color, Rgb)> {
        let wanted = lab(light(wanted));
        let colours: Vec<(Color, Rgb)> = match self {
            Self::Sixteen => SIXTEEN.to_vec(),
            Self::Indexed => shared().collect(),
            Self::Full => Vec::new(),
        };
        let colours = colours.into_iter().filter(|(_, rgb)| fits(*rgb));
        let far = |rgb: Rgb| match self {
            // Pale colours are nearest to some grey; with sixteen, the hue says more.
            Self::Sixteen => by_hue(wanted, lab(light(rgb))),
            // A grey with a tinge stays a grey: the cube's colours are so strong that it would look like a meaning.
            _ if chroma(wanted) < COLOURFUL && chroma(lab(light(rgb))) > 1.0 => f64::MAX,
            _ => distance(wanted, lab(light(rgb))),
        };
        colours.min_by(|(_, a), (_, b)| far(*a).total_cmp(&far(*b)))
    }
}

fn chroma([_, a, b]: [f64; 3]) -> f64 {
    a.hypot(b)
}

/// Distance of a colour to one of sixteen strong ones: greys to greys, and everything else to its hue. Greys of palettes
/// are often bluish, so blue begins later.
fn by_hue(wanted: [f64; 3], there: [f64; 3]) -> f64 {
    let ([l, a, b], [there_l, there_a, there_b]) = (wanted, there);
    let share = if b < -a.abs() { 0.38 } else { 0.29 };
    let lightness = (l - there_l).abs();
    match (l >= 20.0 && chroma(wanted) >= (share * l).max(12.0), chroma(there) >= 12.0) {
        (true, true) => {
            let turn = (b.atan2(a) - there_b.atan2(there_a)).abs();
            turn.min(std::f64::consts::TAU - turn).to_degrees() + lightness * 0.4
        }
        (false, false) => lightness,
        _ => 1000.0 + lightness,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> (Depth, &'static str) {
        Depth::of(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn variables_say_how_many_colours_there_are() {
        let rows = [
            (&[("COLORTERM", "truecolor"), ("TERM", "xterm-256color")][..], (Depth::Full, "COLORTERM")),
            (&[("COLORTERM", "24bit")], (Depth::Full, "COLORTERM")),
            (&[("COLORTERM", "yes"), ("TERM", "xterm-256color")], (Depth::Indexed, "TERM")),
            (&[("TERM", "xterm-kitty")], (Depth::Full, "TERM")),
            (&[("TERM", "xterm-direct")], (Depth::Full, "TERM")),
            (&[("TERM", "xterm"), ("WT_SESSION", "1")], (Depth::Full, "WT_SESSION")),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], (Depth::Indexed, "TERM")),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode")], (Depth::Full, "TERM_PROGRAM")),
            (&[("TERM", "linux")], (Depth::Sixteen, "TERM")),
            (&[], (Depth::Sixteen, "TERM")),
        ];
        for (variables, wanted) in rows {
            assert_eq!(of(variables), wanted, "{variables:?}");
        }
    }

    #[test]
    fn colours_go_to_the_nearest_that_there_is() {
        let fit = |depth: Depth, colour| depth.fit(Style::new().fg(colour)).fg;
        let red = Color::Rgb(0xfe, 0x01, 0x02);
        assert_eq!(fit(Depth::Full, red), Some(red));
        assert_eq!(fit(Depth::Indexed, red), Some(Color::Indexed(196)));
        assert_eq!(fit(Depth::Sixteen, red), Some(Color::LightRed));
        assert_eq!(fit(Depth::Indexed, Color::Rgb(0x80, 0x80, 0x80)), Some(Color::Indexed(244)));
        assert_eq!(fit(Depth::Sixteen, Color::Rgb(0xfa, 0xf4, 0xed)), Some(Color::White));
        assert_eq!(fit(Depth::Sixteen, Color::Cyan), Some(Color::Cyan), "names stay");
        let grey = Style::new().fg(Color::Rgb(0x70, 0x70, 0x70)).bg(Color::Rgb(0x18, 0x18, 0x18));
        let fitted = Depth::Sixteen.fit(grey);
        assert_eq!((fitted.fg, fitted.bg), (Some(Color::DarkGray), Some(Color::Black)));
    }
}
