//! Colours by meaning, and the glyphs that say the same without colour. Knows palettes; knows no pane.

use std::collections::BTreeMap;
use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

/// A style for every meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    /// Its name.
    pub name: String,
    roles: [Style; Role::ALL.len()],
    /// The glyphs that go with it.
    pub glyphs: Glyphs,
}

/// What a style means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Plain text.
    Text,
    /// Text of less weight: labels, column heads.
    Faint,
    /// Names of panes and of the program.
    Title,
    /// Frames.
    Border,
    /// The frame of the focused pane.
    Focus,
    /// The selected row.
    Selected,
    /// Gold.
    Gold,
    /// A kept passage.
    Kept,
    /// A dropped passage.
    Dropped,
    /// The cut.
    Cut,
    /// The cross-encoder.
    Ce,
    /// ColBERT.
    Colbert,
    /// A matched word.
    Match,
    /// Bars and sliders.
    Bar,
    /// What changed with the last step of a knob.
    Changed,
    /// What is not settled yet, and notices.
    Notice,
    /// What went wrong.
    Error,
    /// A key.
    Key,
}

impl Role {
    /// All roles with their names in theme files.
    pub const ALL: [(&'static str, Self); 18] = [
        ("text", Self::Text),
        ("faint", Self::Faint),
        ("title", Self::Title),
        ("border", Self::Border),
        ("focus", Self::Focus),
        ("selected", Self::Selected),
        ("gold", Self::Gold),
        ("kept", Self::Kept),
        ("dropped", Self::Dropped),
        ("cut", Self::Cut),
        ("ce", Self::Ce),
        ("colbert", Self::Colbert),
        ("match", Self::Match),
        ("bar", Self::Bar),
        ("changed", Self::Changed),
        ("notice", Self::Notice),
        ("error", Self::Error),
        ("key", Self::Key),
    ];
}

/// The shapes on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// Gold.
    pub gold: &'static str,
    /// The selected row.
    pub selected: &'static str,
    /// A full bar cell.
    pub bar: &'static str,
    /// Model ready.
    pub ready: &'static str,
    /// Model loading.
    pub loading: &'static str,
    /// Model absent.
    pub absent: &'static str,
    /// A passage on a rank axis.
    pub dot: &'static str,
    /// A passage that only one ranker would keep.
    pub mover: &'static str,
    /// Dashes of the cut line.
    pub cut: &'static str,
    /// Slider: left end, line, knob, right end.
    pub slider: [&'static str; 4],
    /// Chart lines: horizontal, vertical, down from the left, up from the left, from above to the right, from below to
    /// the right, crossing.
    pub lines: [&'static str; 7],
    /// The same two directions, dashed.
    pub dashes: [&'static str; 2],
    /// Enters the context between A and B.
    pub enters: &'static str,
    /// Leaves it.
    pub leaves: &'static str,
    /// The move between A and B, as the head of a column.
    pub delta: &'static str,
    /// Dropped by α.
    pub alpha: &'static str,
    /// From where a name was learnt.
    pub from: &'static str,
    /// What is found on the other side.
    pub to: &'static str,
    /// Shades of a matrix, nothing first.
    pub shades: [&'static str; 5],
    /// True when only ASCII may be drawn.
    pub ascii: bool,
}

impl Glyphs {
    /// Shapes of any modern terminal.
    pub const UNICODE: Self = Self {
        gold: "★",
        selected: "▸",
        bar: "▇",
        ready: "●",
        loading: "◌",
        absent: "○",
        dot: "·",
        mover: "o",
        cut: "╌",
        slider: ["├", "─", "●", "┤"],
        lines: ["─", "│", "╮", "╯", "╰", "╭", "┼"],
        dashes: ["╌", "╎"],
        enters: "▴",
        leaves: "▾",
        delta: "Δ",
        alpha: "α",
        from: "←",
        to: "→",
        shades: ["·", "░", "▒", "▓", "█"],
        ascii: false,
    };
    /// Shapes of every terminal.
    pub const ASCII: Self = Self {
        gold: "*",
        selected: ">",
        bar: "#",
        ready: "+",
        loading: "~",
        absent: "-",
        dot: ".",
        mover: "o",
        cut: "-",
        slider: ["|", "-", "O", "|"],
        lines: ["-", "|", ".", "'", "`", ",", "+"],
        dashes: ["~", ":"],
        enters: "^",
        leaves: "v",
        delta: "+/-",
        alpha: "a",
        from: "<-",
        to: ">",
        shades: [".", "-", "=", "%", "#"],
        ascii: true,
    };
}

const BUILT_IN: [(&str, &str); 8] = [
    ("terminal", include_str!("../../themes/terminal.toml")),
    ("mono", include_str!("../../themes/mono.toml")),
    ("high-contrast", include_str!("../../themes/high-contrast.toml")),
    ("okabe-ito", include_str!("../../themes/okabe-ito.toml")),
    ("catppuccin-mocha", include_str!("../../themes/catppuccin-mocha.toml")),
    ("gruvbox-dark", include_str!("../../themes/gruvbox-dark.toml")),
    ("nord", include_str!("../../themes/nord.toml")),
    ("solarized-light", include_str!("../../themes/solarized-light.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    colours: BTreeMap<String, String>,
    styles: BTreeMap<String, String>,
}

impl Theme {
    /// Names of all themes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The theme with this name.
    ///
    /// # Errors
    /// A sentence that lists the names there are.
    pub fn named(name: &str, glyphs: Glyphs) -> Result<Self, String> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Self::read(name, text, glyphs),
            None => Err(crate::settings::unknown_name("theme", name, Self::names())),
        }
    }

    /// A theme from the text of its file.
    ///
    /// # Errors
    /// A sentence that names the theme and what is wrong with it.
    pub fn read(name: &str, text: &str, glyphs: Glyphs) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| format!("theme '{name}': {}", error.message()))?;
        let mut roles = [Style::new(); Role::ALL.len()];
        if let Some(unknown) = file.styles.keys().find(|key| !Role::ALL.iter().any(|(role, _)| role == key)) {
            return Err(format!("theme '{name}' has a style '{unknown}' that nothing uses"));
        }
        for (slot, (role, _)) in roles.iter_mut().zip(Role::ALL) {
            let words = file.styles.get(role).ok_or_else(|| format!("theme '{name}' has no style '{role}'"))?;
            *slot = style(words, &file.colours).map_err(|word| {
                format!("theme '{name}', style '{role}': '{word}' is neither a colour nor bold, dim, underlined, reversed, italic")
            })?;
        }
        Ok(Self { name: name.to_owned(), roles, glyphs })
    }

    /// The theme that sets no colour; never fails.
    pub fn plain(glyphs: Glyphs) -> Self {
        Self::named("mono", glyphs).unwrap_or(Self { name: "mono".to_owned(), roles: Default::default(), glyphs })
    }

    /// The style of a meaning.
    pub fn style(&self, role: Role) -> Style {
        self.roles.get(role as usize).copied().unwrap_or_default()
    }
}

/// `#d08770 bold on #2e3440` to a style. The error is the word that was not understood.
fn style(words: &str, colours: &BTreeMap<String, String>) -> Result<Style, String> {
    let mut style = Style::new();
    let mut on = false;
    for word in words.split_whitespace() {
        let modifier = match word {
            "on" => {
                on = true;
                continue;
            }
            "bold" => Modifier::BOLD,
            "dim" => Modifier::DIM,
            "underlined" => Modifier::UNDERLINED,
            "reversed" => Modifier::REVERSED,
            "italic" => Modifier::ITALIC,
            "plain" => continue,
            colour => {
                let code = colours.get(colour).map_or(colour, String::as_str);
                let colour = Color::from_str(code).map_err(|_| colour.to_owned())?;
                style = if on { style.bg(colour) } else { style.fg(colour) };
                on = false;
                continue;
            }
        };
        style = style.add_modifier(modifier);
    }
    Ok(style)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_reads_and_gives_every_meaning_a_style() {
        for name in Theme::names() {
            let theme = Theme::named(name, Glyphs::UNICODE).unwrap();
            let apart = [Role::Kept, Role::Dropped, Role::Gold, Role::Selected].map(|role| theme.style(role));
            for (at, one) in apart.iter().enumerate() {
                for other in &apart[at + 1..] {
                    assert_ne!(one, other, "two states look alike in {name}");
                }
            }
        }
    }

    #[test]
    fn mono_sets_no_colour() {
        let theme = Theme::named("mono", Glyphs::UNICODE).unwrap();
        for (name, role) in Role::ALL {
            assert!(theme.style(role).fg.is_none() && theme.style(role).bg.is_none(), "{name}");
        }
    }

    #[test]
    fn a_wrong_theme_is_refused_with_its_fault() {
        let fault = |text: &str| Theme::read("x", text, Glyphs::UNICODE).unwrap_err();
        assert!(fault("styles = 3").contains("theme 'x'"));
        assert!(fault("[styles]\nnosuch = 'red'").contains("nosuch"));
        assert!(fault("[styles]\ntext = 'blurple'").contains("blurple"));
        assert!(fault("[styles]\ntext = 'red'").contains("no style"));
        assert!(Theme::named("drakula", Glyphs::UNICODE).unwrap_err().contains("okabe-ito"));
    }

    /// WCAG contrast of two colours.
    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let luminance = |colour: [u8; 3]| {
            let part = |value: u8| {
                let value = f64::from(value) / 255.0;
                if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2])
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_can_be_read_on_its_background() {
        for name in Theme::names() {
            let theme = Theme::named(name, Glyphs::UNICODE).unwrap();
            let Some(Color::Rgb(r, g, b)) = theme.style(Role::Text).bg else { continue };
            for (role_name, role) in Role::ALL {
                let style = theme.style(role);
                let Some(Color::Rgb(fr, fg, fb)) = style.fg else { continue };
                let back = match style.bg {
                    Some(Color::Rgb(r, g, b)) => [r, g, b],
                    _ => [r, g, b],
                };
                let least = if matches!(role, Role::Border | Role::Faint | Role::Dropped) { 2.5 } else { 4.5 };
                let found = contrast([fr, fg, fb], back);
                assert!(found >= least, "{name}, {role_name}: contrast {found:.2}");
            }
        }
    }
}
