//! What the text of a theme says, with a warning for everything in it that cannot be meant. Knows TOML, colours and the
//! names of meanings; looks at no file and at no other theme.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Role;
use crate::settings::unknown_name;

/// Keys of the file.
const KEYS: [&str; 3] = ["inherits", "colours", "styles"];

/// Words of a style beside colours.
const WORDS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

/// The sixteen colours whose names every theme may use.
const NAMED: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "gray",
    "darkgray",
    "lightred",
    "lightgreen",
    "lightyellow",
    "lightblue",
    "lightmagenta",
    "lightcyan",
    "white",
];

/// A value and where it stands, for warnings.
#[derive(Debug, Clone)]
pub(super) struct Said<T> {
    pub value: T,
    /// File and line.
    pub place: String,
}

/// One theme as its text has it.
#[derive(Debug, Default)]
pub(super) struct File {
    /// The theme that says the rest.
    pub inherits: Option<Said<String>>,
    /// Colours by the names that the theme gives them.
    pub colours: BTreeMap<String, Color>,
    /// The words of a style, by the name of its meaning.
    pub styles: BTreeMap<&'static str, Said<String>>,
}

/// Read a text; `label` is what warnings call it.
pub(super) fn read(text: &str, label: &str, warnings: &mut Vec<String>) -> File {
    let mut file = File::default();
    let mut found: Vec<(usize, String)> = Vec::new();
    let line_of = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let (document, errors) = DeTable::parse_recoverable(text);
    // What the reader puts in the place of a value that it could not read says nothing.
    let mut broken = BTreeSet::new();
    for error in errors {
        let line = line_of(error.span().map_or(0, |span| span.start));
        if broken.insert(line) {
            let what = error.message().replace('\n', "; ");
            found.push((line, format!("this cannot be read ({what}): a line is 'name = \"value\"'")));
        }
    }
    for (key, value) in document.get_ref() {
        let (name, line) = (key.get_ref().as_ref(), line_of(key.span().start));
        if broken.contains(&line) {
            continue;
        }
        match (name, value.get_ref()) {
            ("inherits", DeValue::String(parent)) => {
                file.inherits = Some(Said { value: parent.to_string(), place: format!("{label}, line {line}") });
            }
            ("inherits", _) => found.push((line, "'inherits' takes the name of a theme in quotes".to_owned())),
            ("colours" | "styles", DeValue::Table(table)) => {
                for (key, value) in table {
                    let line = line_of(key.span().start);
                    if broken.contains(&line) {
                        continue;
                    }
                    let taken = match name {
                        "colours" => colour(&mut file, key.get_ref(), value),
                        _ => style_words(&mut file, key.get_ref(), value, || format!("{label}, line {line}")),
                    };
                    found.extend(taken.err().map(|fault| (line, fault)));
                }
            }
            ("colours" | "styles", _) => found.push((
                line,
                format!("'{name}' is a table: write [{name}] on a line of its own, and what belongs to it below"),
            )),
            _ => found.push((line, unknown_name("key", name, KEYS.into_iter()))),
        }
    }
    found.sort();
    warnings.extend(found.into_iter().map(|(line, fault)| format!("{label}, line {line}: {fault}")));
    file
}

fn colour(file: &mut File, name: &str, value: &Spanned<DeValue<'_>>) -> Result<(), String> {
    let given = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        other => other.type_str().to_owned(),
    };
    let colour = Color::from_str(&given).map_err(|_| {
        let near = unknown_name("colour", &given, NAMED.into_iter());
        let near = near.split_once(": did you mean").map_or(String::new(), |(_, name)| format!("; did you mean{name}"));
        format!("the colour '{name}' cannot be '{given}': it takes '#rrggbb', a name such as 'lightblue', or a number up to 255{near}")
    })?;
    file.colours.insert(name.to_owned(), colour);
    Ok(())
}

fn style_words(
    file: &mut File,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    place: impl Fn() -> String,
) -> Result<(), String> {
    let names = || Role::ALL.iter().map(|(name, _)| *name);
    let Some(role) = names().find(|known| *known == name) else { return Err(unknown_name("style", name, names())) };
    let DeValue::String(words) = value.get_ref() else {
        return Err(format!("the style '{name}' takes words in quotes, as \"yellow bold\""));
    };
    file.styles.insert(role, Said { value: words.to_string(), place: place() });
    Ok(())
}

/// `gold bold on #2e3440` to a style, and a sentence for every word that says nothing.
pub(super) fn style(words: &str, colours: &BTreeMap<String, Color>) -> (Style, Vec<String>) {
    let (mut style, mut faults, mut on) = (Style::new(), Vec::new(), false);
    for word in words.split_whitespace() {
        if let Some((_, modifier)) = WORDS.iter().find(|(known, _)| *known == word) {
            style = style.add_modifier(*modifier);
        } else if word == "on" {
            on = true;
        } else if word != "plain" {
            match colours.get(word).copied().map_or_else(|| Color::from_str(word), Ok) {
                Ok(colour) => style = if on { style.bg(colour) } else { style.fg(colour) },
                Err(_) => faults.push(unknown(word, colours)),
            }
            on = false;
        }
    }
    if on {
        faults.push("after 'on' comes the colour of the ground".to_owned());
    }
    (style, faults)
}

fn unknown(word: &str, colours: &BTreeMap<String, Color>) -> String {
    let words = WORDS.iter().map(|(word, _)| *word).chain(["plain"]);
    unknown_name("colour", word, colours.keys().map(String::as_str).chain(words).chain(NAMED))
}
