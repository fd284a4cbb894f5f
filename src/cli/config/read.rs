//! The text of a configuration, read with a warning for everything that does not apply. Knows TOML and the tables of keys;
//! looks at no file.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{ENTRIES, Entry, GROUNDS, Kind};
use super::{Config, Said};
use crate::cli::knobs;
use crate::settings::{KNOBS, Knob, unknown_name};
use crate::ui::Keymap;

/// Tables of the file.
pub(super) const TABLES: [&str; 2] = ["knobs", "keys"];

/// What is wrong, and in which line.
type Warnings = Vec<(usize, String)>;

/// A configuration from its text; `file` is what warnings call it.
pub(super) fn read(text: &str, file: &str) -> Config {
    let mut config = Config::default();
    let mut warnings = Warnings::new();
    let line_of = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let (document, errors) = DeTable::parse_recoverable(text);
    // What the reader puts in the place of a value that it could not read says nothing.
    let mut broken = BTreeSet::new();
    for error in errors {
        let line = line_of(error.span().map_or(0, |span| span.start));
        if broken.insert(line) {
            let what = error.message().replace('\n', "; ");
            warnings.push((
                line,
                format!("this cannot be read ({what}): a line is 'key = value', and names stand in quotes"),
            ));
        }
    }
    let mut wanted: Vec<(usize, String, Vec<String>)> = Vec::new();
    for (key, value) in document.get_ref() {
        let (name, line) = (key.get_ref().as_ref(), line_of(key.span().start));
        if broken.contains(&line) {
            continue;
        }
        match (name, value.get_ref()) {
            ("knobs", DeValue::Table(table)) => {
                for (key, value) in table {
                    let line = line_of(key.span().start);
                    if !broken.contains(&line) {
                        let fault = knob(&mut config, key.get_ref(), value, line).err();
                        warnings.extend(fault.map(|fault| (line, fault)));
                    }
                }
            }
            ("keys", DeValue::Table(table)) => {
                for (key, value) in table {
                    let line = line_of(key.span().start);
                    match list(value)
                        .ok_or_else(|| format!("'{}' takes a list of keys, as [\"q\", \"F10\"]", key.get_ref()))
                    {
                        _ if broken.contains(&line) => {}
                        Ok(keys) => wanted.push((line, key.get_ref().to_string(), keys)),
                        Err(fault) => warnings.push((line, fault)),
                    }
                }
            }
            ("theme", DeValue::Table(table)) => {
                for (key, value) in table {
                    let line = line_of(key.span().start);
                    if !broken.contains(&line) {
                        let fault = ground(&mut config, key.get_ref(), value, line).err();
                        warnings.extend(fault.map(|fault| (line, fault)));
                    }
                }
            }
            (table, _) if TABLES.contains(&table) => {
                warnings.push((
                    line,
                    format!("'{table}' is a table: write [{table}] on a line of its own, and its keys below"),
                ));
            }
            _ => warnings.extend(entry(&mut config, name, value, line).err().map(|fault| (line, fault))),
        }
    }
    keys(&mut config, wanted, &mut warnings);
    warnings.sort();
    config.warnings = warnings.into_iter().map(|(line, fault)| format!("'{file}', line {line}: {fault}")).collect();
    let mut settings = config.settings.clone();
    config.turn(&mut settings);
    config.settings = settings;
    config
}

fn entry(config: &mut Config, name: &str, value: &Spanned<DeValue<'_>>, line: usize) -> Result<(), String> {
    let Some(entry) = Entry::named(name) else {
        return Err(match Knob::named(name) {
            Some(_) => format!("'{name}' is a knob: it belongs below [knobs]"),
            None => unknown_name("key", name, ENTRIES.iter().map(|entry| entry.name).chain(TABLES)),
        });
    };
    let text = plain(value).ok_or_else(|| entry.wrong(value.get_ref().type_str()))?;
    let fits = match value.get_ref() {
        DeValue::String(_) => entry.kind == Kind::Name,
        DeValue::Boolean(_) => entry.kind == Kind::Flag,
        _ => entry.kind == Kind::Number,
    };
    if !fits {
        return Err(entry.wrong(&text));
    }
    entry.check(&text)?;
    config.entries.insert(entry.name, Said { text, line });
    Ok(())
}

/// A theme for terminals with such a ground.
fn ground(config: &mut Config, name: &str, value: &Spanned<DeValue<'_>>, line: usize) -> Result<(), String> {
    let Some((_, key)) = GROUNDS.iter().find(|(known, _)| *known == name) else {
        return Err(match Entry::named(name) {
            Some(_) => format!("'{name}' is nothing of [theme]: it belongs above all tables"),
            None => unknown_name("key of [theme]", name, GROUNDS.iter().map(|(name, _)| *name)),
        });
    };
    let DeValue::String(text) = value.get_ref() else {
        return Err(format!("'{name}' takes the name of a theme in quotes"));
    };
    if let Some(entry) = Entry::named("theme") {
        entry.check(text)?;
    }
    config.entries.insert(key, Said { text: text.to_string(), line });
    Ok(())
}

fn knob(config: &mut Config, name: &str, value: &Spanned<DeValue<'_>>, line: usize) -> Result<(), String> {
    let Some(knob) = Knob::named(name) else {
        return Err(match Entry::named(name) {
            Some(_) => format!("'{name}' is no knob: it belongs above all tables"),
            None => unknown_name("knob", name, KNOBS.iter().map(|knob| knob.name)),
        });
    };
    let text = plain(value).unwrap_or_else(|| value.get_ref().type_str().to_owned());
    knobs::turn(knob, &mut config.settings.clone(), &text)?;
    config.knobs.insert(knob.name, Said { text, line });
    Ok(())
}

fn keys(config: &mut Config, mut wanted: Vec<(usize, String, Vec<String>)>, warnings: &mut Warnings) {
    wanted.sort();
    let lines: Vec<usize> = wanted.iter().map(|(line, ..)| *line).collect();
    let wanted: Vec<(String, Vec<String>)> = wanted.into_iter().map(|(_, name, keys)| (name, keys)).collect();
    let (map, refused) = Keymap::with(&wanted);
    for (at, fault) in &refused {
        warnings.push((lines.get(*at).copied().unwrap_or(0), fault.clone()));
    }
    let taken = wanted.into_iter().zip(lines).enumerate().filter(|(at, _)| refused.iter().all(|(no, _)| no != at));
    config.rebound = taken.map(|(_, ((name, _), line))| (name, line)).collect();
    config.keys = map;
}

/// A value that is one word, as flags have it.
fn plain(value: &Spanned<DeValue<'_>>) -> Option<String> {
    Some(match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(on) => on.to_string(),
        _ => return None,
    })
}

/// A list of names.
fn list(value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
    let DeValue::Array(items) = value.get_ref() else { return None };
    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::show;
    use super::*;

    #[test]
    fn what_is_printed_as_the_default_is_the_default() {
        let config = read(&show::defaults(), "x");
        assert_eq!(config.warnings, [""; 0]);
        assert_eq!(config.settings, crate::settings::Settings::default());
        assert_eq!(config.keys, Keymap::default());
        assert_eq!(config.knobs.len(), KNOBS.len());
        for entry in ENTRIES {
            assert_eq!(config.entries.get(entry.name).unwrap().text, entry.default, "{}", entry.name);
        }
        let nothing = read("", "x");
        assert_eq!((nothing.ascii(), nothing.mouse(), nothing.gap()), (false, true, None));
        assert_eq!((config.ascii(), config.mouse(), config.gap()), (false, true, Some(6.0)));
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_the_rest_applies() {
        let rows = [
            ("theem = 'nord'", "there is no key 'theem': did you mean 'theme'?"),
            ("theme = 'nrd'", "there is no theme 'nrd': did you mean 'nord'?"),
            ("theme = { dark = 'nrd' }", "there is no theme 'nrd': did you mean 'nord'?"),
            ("theme = { drak = 'nord' }", "there is no key of [theme] 'drak': did you mean 'dark'?"),
            ("theme = { light = 3 }", "'light' takes the name of a theme in quotes"),
            ("[theme]\ngap = 3", "'gap' is nothing of [theme]: it belongs above all tables"),
            ("ascii = 'yes'", "ascii cannot be 'yes': it takes true or false"),
            ("ascii = 1", "ascii cannot be '1': it takes true or false"),
            ("gap = -1", "gap cannot be '-1': it takes a number of hours above 0"),
            ("gap = [6]", "gap cannot be 'array': it takes a number of hours above 0"),
            ("profile = 'huge'", "there is no profile 'huge': choose one of small"),
            ("ce = 'nothing-of'", "ce 'nothing-of' is neither a known model nor a folder"),
            ("precision = 'half'", "there is no precision 'half': choose one of exact, fast"),
            ("alpha = 0.1", "'alpha' is a knob: it belongs below [knobs]"),
            ("knobs = 3", "'knobs' is a table: write [knobs]"),
            ("[knobs]\ntheme = 'nord'", "'theme' is no knob: it belongs above all tables"),
            ("[knobs]\nbugdet = 1", "there is no knob 'bugdet': did you mean 'budget'?"),
            ("[knobs]\nalpha = 2", "alpha cannot be '2': it takes a number from 0 to 1"),
            (
                "[knobs]\nbudget = 10.5",
                "budget cannot be '10.5': it takes a number from 0 to 1000000 without a fraction",
            ),
            ("[knobs]\ndedup = 'maybe'", "dedup cannot be 'maybe': it takes on or off"),
            ("[keys]\nqit = ['x']", "there is no action 'qit': did you mean 'quit'?"),
            ("[keys]\nquit = 'x'", "'quit' takes a list of keys, as [\"q\", \"F10\"]"),
            ("[keys]\nquit = ['x']", "'x' cannot be a key of 'quit', because it is one of 'swap'"),
            ("[keys]\nquit = ['ctrl-x']", "there is no key 'ctrl-x': did you mean 'Ctrl-x'?"),
        ];
        for (text, says) in rows {
            let head = if text.starts_with('[') { "mouse = false\n" } else { "\n" };
            let config = read(&format!("{head}{text}\n"), "my.toml");
            let line = if text.starts_with('[') { 3 } else { 2 };
            let begin = format!("'my.toml', line {line}: {says}");
            assert!(
                matches!(config.warnings.as_slice(), [one] if one.starts_with(&begin)),
                "{text}: {:?}",
                config.warnings
            );
            assert_eq!(config.mouse(), !text.starts_with('['), "the rest applies: {text}");
        }
    }

    #[test]
    fn a_theme_is_a_name_or_one_for_each_ground() {
        let of = |text: &str| read(text, "my.toml");
        let both = of("[theme]\ndark = 'nord'\nlight = 'catppuccin-latte'\n");
        assert_eq!((both.grounds(), both.warnings.len()), (Some(("nord", "catppuccin-latte")), 0));
        let one = of("theme = { light = 'catppuccin-latte' }");
        assert_eq!((one.grounds(), one.theme()), (None, Some("catppuccin-latte")));
        let plain = of("theme = 'nord'");
        assert_eq!((plain.grounds(), plain.theme()), (None, Some("nord")));
        assert!(show::in_force(&both).contains("theme.light         catppuccin-latte         line 3\n"));
    }

    #[test]
    fn a_line_that_is_no_toml_costs_only_itself() {
        let config = read("theme = nord\nascii = true\ngap =\n[knobs]\nalpha = 0.1\n", "my.toml");
        assert_eq!(config.warnings.len(), 2, "{:?}", config.warnings);
        assert!(config.warnings.iter().zip([1, 3]).all(|(text, line)| text.contains(&format!(" line {line}: "))));
        assert_eq!((config.theme(), config.ascii(), config.settings.alpha), (None, true, 0.1));
    }
}
