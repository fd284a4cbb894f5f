//! Colours by meaning, and the glyphs that say the same without colour. Knows palettes; knows no pane and no folder.

mod built_in;
mod file;
mod glyphs;
mod themes;

use ratatui::style::Style;

use built_in::BUILT_IN;
pub use glyphs::Glyphs;
pub use themes::{Own, Themes};

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

impl Theme {
    /// Names of the themes of the program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The theme of the program with this name.
    ///
    /// # Errors
    /// A sentence that lists the names there are.
    pub fn named(name: &str, glyphs: Glyphs) -> Result<Self, String> {
        Themes::default().named(name, glyphs).map(|(theme, _)| theme)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ratatui::style::Color;

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
