//! A configuration as text: a file to begin with, and what is in force. Made from the tables of keys, so that neither can
//! go stale.

use std::fmt::Write;

use super::entry::{ENTRIES, Entry, GROUNDS, Kind};
use super::{Config, Said};
use crate::settings::{KNOBS, KnobKind, Settings};
use crate::store::clean::clean_line;
use crate::ui::Pane;
use crate::ui::keys::{FIXED, KEYS};

const HEAD: &str = "\
# The configuration of memsift; 'memsift paths' says where it lies, and MEMSIFT_CONFIG names another one.
# Everything below is at its default, and may be left out. Flags and variables win over this file.
";

/// A file with every key at its default.
pub(super) fn defaults() -> String {
    let mut text = HEAD.to_owned();
    for entry in ENTRIES {
        let variable = entry.variable.map_or(String::new(), |name| format!(" {name} wins over it."));
        let value = if entry.kind == Kind::Name { quoted(entry.default) } else { entry.default.to_owned() };
        let _ = write!(text, "\n# {} Takes {}.{variable}\n{} = {value}\n", entry.doc, entry.takes(), entry.name);
    }
    text.push_str("\n# Where every knob begins, and goes back to.\n[knobs]\n");
    for knob in KNOBS {
        let value = (knob.get)(&Settings::default()).to_string();
        let value = match knob.kind {
            KnobKind::Number { .. } => value,
            KnobKind::Choice(_) => quoted(&value),
            KnobKind::Flag => (value == "on").to_string(),
        };
        let unit = if knob.unit.is_empty() { String::new() } else { format!(" ({})", knob.unit) };
        let takes = if matches!(knob.kind, KnobKind::Flag) { "true or false".to_owned() } else { knob.takes() };
        let _ = write!(text, "\n# {} Takes {takes}{unit}.\n{} = {value}\n", knob.doc.trim(), knob.name);
    }
    text.push_str(
        "\n# Keys of the screen. A key has one meaning in one pane; an empty list takes the keys away.\n[keys]\n",
    );
    for binding in KEYS.iter().filter(|binding| binding.name != FIXED) {
        let place = binding.pane.map_or("Everywhere", Pane::name);
        let keys: Vec<String> = binding.keys.iter().map(|key| quoted(key)).collect();
        let _ = write!(text, "\n# {place}: {}.\n{} = [{}]\n", binding.doc, binding.name, keys.join(", "));
    }
    text
}

/// Every value that is in force, and where it comes from; then the warnings.
pub(super) fn in_force(config: &Config) -> String {
    let mut text = String::new();
    let found = if config.found { "" } else { " (not there: 'memsift config --print-default' prints one)" };
    let path = config.file.as_ref().map_or("no home directory is known: set MEMSIFT_CONFIG".into(), |file| {
        format!("{}{found}", clean_line(&file.display().to_string(), &mut 0))
    });
    let _ = writeln!(text, "{:19} {path}", "file");
    for entry in ENTRIES {
        let (value, from) = value(config, entry);
        let grounds = GROUNDS.iter().filter_map(|(_, name)| Some((name, config.entries.get(name)?)));
        let grounds: Vec<_> = grounds.filter(|_| entry.name == "theme" && from == "default").collect();
        if grounds.is_empty() {
            row(&mut text, entry.name, &value, &from);
        }
        for (name, said) in grounds {
            row(&mut text, name, &clean_line(&said.text, &mut 0), &format!("line {}", said.line));
        }
    }
    for knob in KNOBS {
        row(&mut text, knob.name, &(knob.get)(&config.settings).to_string(), &from(config.knobs.get(knob.name)));
    }
    for (binding, keys) in config.keys.lines() {
        if let Some(line) = config.rebound.get(binding.name) {
            row(&mut text, &format!("keys.{}", binding.name), &keys.join(" "), &format!("line {line}"));
        }
    }
    let own = config.rebound.len();
    let _ = writeln!(text, "{:19} {own} lines of the file name keys; 'memsift keys' prints all", "keys");
    for warning in &config.warnings {
        let _ = writeln!(text, "{:19} {}", "warning", clean_line(warning, &mut 0));
    }
    text
}

/// A key's value in force, and where it comes from.
fn value(config: &Config, entry: &Entry) -> (String, String) {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if entry.name == "theme" && said("NO_COLOR").is_some() {
        return ("mono".to_owned(), "NO_COLOR".to_owned());
    }
    if let Some((name, value)) = entry.variable.and_then(|name| Some((name, said(name)?))) {
        return (clean_line(&value, &mut 0).into_owned(), name.to_owned());
    }
    let line = config.entries.get(entry.name);
    let value = line.map_or(entry.default, |line| line.text.as_str());
    let value = if value.is_empty() { "the profile's".to_owned() } else { clean_line(value, &mut 0).into_owned() };
    (value, from(line))
}

fn from(said: Option<&Said>) -> String {
    said.map_or("default".to_owned(), |said| format!("line {}", said.line))
}

fn row(text: &mut String, name: &str, value: &str, from: &str) {
    let _ = writeln!(text, "{name:19} {value:24} {from}");
}

/// As TOML writes a name.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
