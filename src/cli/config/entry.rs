//! The keys of the configuration that are neither knobs nor keys of the screen: name, default, meaning, and what each
//! takes. Knows how a value is tried; reads no file.

use crate::cli::{rankers, themes};
use crate::engine::{RankerChoice, Wish};
use crate::models::{Registry, models_dir};
use crate::ui::Glyphs;

/// One key.
pub(super) struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its default, as the file has it.
    pub default: &'static str,
    /// What it means, in a sentence.
    pub doc: &'static str,
    /// The variable that wins over the file.
    pub variable: Option<&'static str>,
    /// What is written without quotes.
    pub kind: Kind,
}

/// Keys of the table that stands for a theme: each names one for terminals with such a ground.
pub(super) const GROUNDS: [(&str, &str); 2] = [("dark", "theme.dark"), ("light", "theme.light")];

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In quotes.
    Name,
    /// As `true` or `false`.
    Flag,
    /// As a number.
    Number,
}

const fn entry(
    name: &'static str,
    default: &'static str,
    doc: &'static str,
    variable: Option<&'static str>,
    kind: Kind,
) -> Entry {
    Entry { name, default, doc, variable, kind }
}

/// Every key, as the file has them.
pub(super) const ENTRIES: &[Entry] = &[
    entry("theme", "terminal", "Colour theme.", Some("MEMSIFT_THEME"), Kind::Name),
    entry("ascii", "false", "Draw with ASCII only.", None, Kind::Flag),
    entry("mouse", "true", "Use the mouse; where it is off, the terminal can select text.", None, Kind::Flag),
    entry("profile", "small", "Set of models: one of 'memsift models list'.", Some("MEMSIFT_PROFILE"), Kind::Name),
    entry("ce", "", "Cross-encoder: a model's name, its folder, or none.", Some("MEMSIFT_CE"), Kind::Name),
    entry("colbert", "", "Late-interaction model, in the same way.", Some("MEMSIFT_COLBERT"), Kind::Name),
    entry("dense", "", "Bi-encoder, in the same way.", Some("MEMSIFT_DENSE"), Kind::Name),
    entry("precision", "exact", "How precisely encoders are computed.", Some("MEMSIFT_PRECISION"), Kind::Name),
    entry("gap", "6", "A pause of this many hours begins a session where a history has none.", None, Kind::Number),
];

impl Entry {
    /// The key of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ENTRIES.iter().find(|entry| entry.name == name)
    }

    /// What it takes, in words.
    pub fn takes(&self) -> String {
        match self.name {
            "theme" => {
                let names = themes::get().themes.names().collect::<Vec<_>>().join(", ");
                format!("{names}; or a table with one for dark and one for light terminals")
            }
            "precision" => "exact, or fast on CPUs with AVX-512 BF16".to_owned(),
            "gap" => "a number of hours above 0".to_owned(),
            "ce" | "colbert" | "dense" => "a name in quotes; an empty one means the profile's".to_owned(),
            _ if self.kind == Kind::Flag => "true or false".to_owned(),
            _ => "a name in quotes".to_owned(),
        }
    }

    /// Whether it can be this, on this machine.
    ///
    /// # Errors
    /// A sentence that says what it takes.
    pub fn check(&self, text: &str) -> Result<(), String> {
        let wrong = || self.wrong(text);
        match self.name {
            "theme" => themes::get().themes.named(text, Glyphs::UNICODE).map(drop),
            "gap" => {
                let hours: f64 = text.parse().map_err(|_| wrong())?;
                if hours.is_finite() && hours > 0.0 { Ok(()) } else { Err(wrong()) }
            }
            "precision" => rankers::precision_here(text).map(drop).map_err(|error| error.0.replace("--", "")),
            _ if self.kind == Kind::Flag => ["true", "false"].contains(&text).then_some(()).ok_or_else(wrong),
            _ => self.check_model(text),
        }
    }

    /// The sentence for what it does not take.
    pub fn wrong(&self, given: &str) -> String {
        format!("{} cannot be '{given}': it takes {}", self.name, self.takes())
    }

    fn check_model(&self, text: &str) -> Result<(), String> {
        // Without a list of models nothing can be said of a name; whoever needs the list says why it is not there.
        let Ok(dir) = models_dir() else { return Ok(()) };
        let Ok(registry) = Registry::of(&dir) else { return Ok(()) };
        let name = (!text.is_empty()).then(|| text.to_owned());
        let mut wish = Wish::default();
        match self.name {
            "profile" => wish.profile = name,
            "ce" => wish.ce = name,
            "colbert" => wish.colbert = name,
            _ => wish.dense = name,
        }
        RankerChoice::of(&wish, &registry, &dir).map(drop).map_err(|error| error.to_string().replace("--", ""))
    }
}
