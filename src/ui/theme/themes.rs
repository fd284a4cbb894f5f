//! All themes there are: which one a name means, and what it takes from others. Knows texts that somebody read; looks at no
//! folder.

use std::collections::BTreeMap;

use ratatui::style::Style;

use super::built_in::BUILT_IN;
use super::file::{self, File};
use super::{Depth, Glyphs, Role, Theme};
use crate::settings::unknown_name;

/// What says the rest where a theme names nothing to inherit.
const LAST: &str = "terminal";

/// The themes of the user, which come first, and those of the program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Themes {
    own: Vec<Own>,
    depth: Depth,
}

/// A theme of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Its name.
    pub name: String,
    /// What warnings call its file.
    pub file: String,
    /// What the file says.
    pub text: String,
}

/// The text of one theme, and whose it is.
#[derive(Clone, Copy)]
struct Source<'t> {
    name: &'t str,
    text: &'t str,
    /// The file, for a theme of the user.
    file: Option<&'t str>,
}

impl Themes {
    /// The themes of the program, and these.
    pub fn with(mut own: Vec<Own>) -> Self {
        own.sort_by(|a, b| a.name.cmp(&b.name));
        Self { own, depth: Depth::default() }
    }

    /// The same, with the colours that a terminal has.
    pub fn fit(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Every name, the user's first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let built_in = BUILT_IN.iter().map(|(name, _)| *name);
        let others = built_in.filter(|name| self.own.iter().all(|own| own.name != *name));
        self.own.iter().map(|own| own.name.as_str()).chain(others)
    }

    /// Whether a theme of this name is the user's.
    pub fn is_own(&self, name: &str) -> bool {
        self.own.iter().any(|own| own.name == name)
    }

    /// The theme with this name, and a sentence for everything in its file that does not apply.
    ///
    /// # Errors
    /// A sentence that says which names there are.
    pub fn named(&self, name: &str, glyphs: Glyphs) -> Result<(Theme, Vec<String>), String> {
        let first = self.sources(name).next().ok_or_else(|| unknown_name("theme", name, self.names()))?;
        let mut warnings = Vec::new();
        let (mut colours, mut styles) = (BTreeMap::new(), BTreeMap::new());
        for file in self.chain(first, &mut warnings).into_iter().rev() {
            colours.extend(file.colours);
            styles.extend(file.styles);
        }
        let mut roles = [Style::new(); Role::ALL.len()];
        for (slot, (role, _)) in roles.iter_mut().zip(Role::ALL) {
            let Some(said) = styles.get(role) else { continue };
            let (style, faults) = file::style(&said.value, &colours);
            *slot = style;
            warnings.extend(faults.into_iter().map(|fault| format!("{}: in the style '{role}' {fault}", said.place)));
        }
        Ok((Theme { name: name.to_owned(), roles, glyphs }.fit(self.depth), warnings))
    }

    /// What does not apply of all themes of the user.
    pub fn warnings(&self) -> Vec<String> {
        let of = |own: &Own| self.named(&own.name, Glyphs::UNICODE).map_or_else(|error| vec![error], |made| made.1);
        let mut all = Vec::new();
        for warning in self.own.iter().flat_map(of) {
            // One that others inherit from is asked more than once.
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
        all
    }

    /// Whatever has this name, the user's first.
    fn sources<'t>(&'t self, name: &'t str) -> impl Iterator<Item = Source<'t>> {
        let own = self.own.iter().filter(move |own| own.name == name);
        let own = own.map(|own| Source { name: &own.name, text: &own.text, file: Some(&own.file) });
        own.chain(built_in(name))
    }

    /// A theme, then what it inherits from, and so on.
    fn chain(&self, first: Source<'_>, warnings: &mut Vec<String>) -> Vec<File> {
        let mut files = Vec::new();
        let mut seen: Vec<(String, bool)> = Vec::new();
        let mut next = Some((first.name.to_owned(), first.file.is_some()));
        while let Some((name, own)) = next.take() {
            let Some(source) = self.sources(&name).find(|source| source.file.is_some() == own) else { break };
            let label = source.file.map_or_else(|| format!("the theme '{name}'"), |file| format!("'{file}'"));
            let file = file::read(source.text, &label, warnings);
            seen.push((name.clone(), own));
            next = match &file.inherits {
                Some(parent) => {
                    let found =
                        self.sources(&parent.value).map(|source| (source.name.to_owned(), source.file.is_some()));
                    let mut found = found.peekable();
                    let fault = match found.peek() {
                        None => unknown_name("theme", &parent.value, self.names()),
                        Some(_) => circle(&seen, &parent.value),
                    };
                    // A theme may have the name of one of the program and inherit from that.
                    found.find(|source| !seen.contains(source)).or_else(|| {
                        warnings.push(format!("{}: {fault}; '{LAST}' says the rest", parent.place));
                        Some((LAST.to_owned(), false)).filter(|last| !seen.contains(last))
                    })
                }
                None => {
                    let missing: Vec<&str> = Role::ALL
                        .iter()
                        .map(|(role, _)| *role)
                        .filter(|role| !file.styles.contains_key(role))
                        .collect();
                    if !missing.is_empty() {
                        warnings.push(format!(
                            "{label} has no style {}: '{LAST}' says it; 'inherits' names another theme for the rest",
                            some(&missing)
                        ));
                    }
                    (!missing.is_empty()).then(|| (LAST.to_owned(), false)).filter(|last| !seen.contains(last))
                }
            };
            files.push(file);
        }
        files
    }
}

fn built_in(name: &str) -> Option<Source<'static>> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(Source { name, text, file: None })
}

/// The sentence for themes that inherit from each other.
fn circle(seen: &[(String, bool)], parent: &str) -> String {
    let from = seen.iter().position(|(name, _)| name == parent).unwrap_or(0);
    let names = seen.iter().skip(from).map(|(name, _)| format!("'{name}'")).collect::<Vec<_>>().join(" inherits ");
    format!("{names} inherits '{parent}' is a circle")
}

/// The first names of a list.
fn some(names: &[&str]) -> String {
    let shown = names.iter().take(3).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    if names.len() > 3 { format!("{shown} and {} more", names.len() - 3) } else { shown }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ratatui::style::{Color, Modifier};

    use super::*;

    fn own(texts: &[(&str, &str)]) -> Themes {
        let own = |(name, text): &(&str, &str)| Own {
            name: (*name).to_owned(),
            file: format!("{name}.toml"),
            text: (*text).to_owned(),
        };
        Themes::with(texts.iter().map(own).collect())
    }

    #[test]
    fn every_theme_of_the_program_is_read_without_a_warning() {
        for name in Themes::default().names() {
            assert_eq!(Themes::default().named(name, Glyphs::UNICODE).unwrap().1, [""; 0], "{name}");
        }
    }

    #[test]
    fn a_theme_gives_only_what_differs() {
        let themes = own(&[
            ("mine", "inherits = 'nord'\n[colours]\ngold = '#ff0000'\n[styles]\nkept = 'gold underlined'\n"),
            ("child", "inherits = 'mine'\n[colours]\ngold = 'lightblue'\n"),
        ]);
        let nord = themes.named("nord", Glyphs::UNICODE).unwrap().0;
        let (mine, warnings) = themes.named("mine", Glyphs::UNICODE).unwrap();
        assert_eq!(warnings, [""; 0]);
        assert_eq!(mine.style(Role::Ce), nord.style(Role::Ce));
        assert_eq!(mine.style(Role::Gold), nord.style(Role::Gold).fg(Color::Rgb(255, 0, 0)));
        assert_eq!(mine.style(Role::Kept), Style::new().fg(Color::Rgb(255, 0, 0)).add_modifier(Modifier::UNDERLINED));
        let child = themes.named("child", Glyphs::UNICODE).unwrap().0;
        assert_eq!(child.style(Role::Kept).fg, Some(Color::LightBlue));
        assert_eq!(themes.names().take(3).collect::<Vec<_>>(), ["child", "mine", "terminal"]);
    }

    #[test]
    fn a_theme_of_the_user_comes_before_the_programs_and_may_inherit_from_it() {
        let themes = own(&[("nord", "inherits = 'nord'\n[colours]\ngold = '#010203'\n")]);
        let (mine, warnings) = themes.named("nord", Glyphs::UNICODE).unwrap();
        assert_eq!((mine.style(Role::Gold).fg, warnings.len()), (Some(Color::Rgb(1, 2, 3)), 0));
        assert_eq!(themes.names().filter(|name| *name == "nord").count(), 1);
        assert!(themes.is_own("nord") && !themes.is_own("mono"));
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_the_rest_applies() {
        let rows = [
            ("inherit = 'nord'", "there is no key 'inherit': did you mean 'inherits'?"),
            ("inherits = 'nrd'", "there is no theme 'nrd': did you mean 'nord'?; 'terminal' says the rest"),
            ("inherits = 'x'", "'x' inherits 'x' is a circle; 'terminal' says the rest"),
            ("inherits = 'y'", "'x' inherits 'y' inherits 'x' is a circle"),
            ("inherits = 3", "'inherits' takes the name of a theme in quotes"),
            ("styles = 3", "'styles' is a table: write [styles]"),
            ("inherits = nord", "this cannot be read"),
            ("colours.gold = '#12'", "the colour 'gold' cannot be '#12': it takes '#rrggbb'"),
            ("colours.gold = 'yelow'", "the colour 'gold' cannot be 'yelow'"),
            ("colours.gold = [1]", "the colour 'gold' cannot be 'array'"),
            ("styles.kep = 'red'", "there is no style 'kep': did you mean 'kept'?"),
            ("styles.kept = 3", "the style 'kept' takes words in quotes"),
            ("styles.kept = 'blod'", "in the style 'kept' there is no colour 'blod': did you mean 'bold'?"),
            ("styles.kept = 'red on'", "in the style 'kept' after 'on' comes the colour of the ground"),
        ];
        for (text, says) in rows {
            let rest = "styles.gold = 'blue'";
            let inherits = if text.contains("inherit") { "" } else { "inherits = 'nord'" };
            let themes = own(&[("x", &format!("{inherits}\n{text}\n{rest}\n")), ("y", "inherits = 'x'\n")]);
            let (theme, warnings) = themes.named("x", Glyphs::UNICODE).unwrap();
            let line = if says.contains("'y' inherits") { "'y.toml', line 1: " } else { "'x.toml', line 2: " };
            let told = warnings.iter().filter(|warning| warning.starts_with(line) && warning.contains(says)).count();
            assert_eq!(told, 1, "{text}: {warnings:?}");
            if text != "styles = 3" {
                assert_eq!(theme.style(Role::Gold).fg, Some(Color::Blue), "the rest applies: {text}");
            }
        }
        let (_, warnings) = own(&[("x", "styles.text = 'red'")]).named("x", Glyphs::UNICODE).unwrap();
        assert!(
            warnings[0].starts_with("'x.toml' has no style 'faint', 'title', 'border' and 14 more: 'terminal' says")
        );
        assert!(Themes::default().named("drakula", Glyphs::UNICODE).unwrap_err().contains("did you mean 'dracula'?"));
    }

    #[test]
    fn warnings_of_all_are_told_once() {
        let themes = own(&[("a", "inherits = 'b'\n"), ("b", "inherits = 'mono'\nstyle = 1\n")]);
        assert_eq!(themes.warnings(), ["'b.toml', line 2: there is no key 'style': did you mean 'styles'?"]);
    }
}
