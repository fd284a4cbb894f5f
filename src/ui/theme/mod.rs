//! Colours by meaning, and the glyphs that say the same without colour. Knows palettes; knows no pane and no folder.

mod built_in;
pub mod colour;
mod depth;
mod file;
mod glyphs;
mod themes;

use ratatui::style::{Color, Style};

use built_in::BUILT_IN;
pub use depth::{Depth, READABLE};
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

    /// The colour behind everything, where the theme does not leave it to the terminal.
    pub fn ground(&self) -> Option<colour::Rgb> {
        match self.style(Role::Text).bg {
            Some(Color::Rgb(r, g, b)) => Some([r, g, b]),
            // As a terminal with 256 colours shows it.
            Some(shown) => colour::shared().find(|(colour, _)| *colour == shown).map(|(_, rgb)| rgb),
            None => None,
        }
    }

    /// The same theme with the colours that a terminal has.
    pub fn fit(self, depth: Depth) -> Self {
        Self { roles: self.roles.map(|style| depth.fit(style)), ..self }
    }

    /// The style of a meaning.
    pub fn style(&self, role: Role) -> Style {
        self.roles.get(role as usize).copied().unwrap_or_default()
    }
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
}
