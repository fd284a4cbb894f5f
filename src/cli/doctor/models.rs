//! What of the models is there, slot by slot, every byte checked. Knows files and checksums; loads nothing.

use std::collections::BTreeMap;

use super::Line;
use crate::engine::models::TAGGER;
use crate::engine::{Chosen, RankerChoice, SlotName};
use crate::models::{ModelSpec, Origin, Registry, State, verify};

/// A line for the tagger and one for each slot.
pub(super) fn of_slots(choice: &RankerChoice) -> Vec<Line> {
    let registry = match Registry::of(&choice.dir) {
        Ok(registry) => registry,
        Err(error) => return vec![Line::broken("models", error.to_string()).needed()],
    };
    let mut checked = BTreeMap::new();
    let mut check = |role: &'static str, name: &str, spec: Option<&ModelSpec>| {
        let (state, origin) = checked
            .entry(name.to_owned())
            .or_insert_with(|| {
                let spec = spec.map_or_else(|| registry.model(name).cloned(), |spec| Ok(spec.clone()));
                spec.and_then(|spec| Ok((verify(&spec, &choice.dir)?, spec.origin))).map_err(|error| error.to_string())
            })
            .clone()
            .map_or_else(|error| (Err(error), None), |(state, origin)| (Ok(state), Some(origin)));
        let again = match origin {
            Some(Origin::Imported) => format!("run 'memsift models remove {name}' and import it again"),
            _ => format!("run 'memsift models pull {name}'"),
        };
        match state {
            Ok(State::Ready) => Line::fine(role, format!("{name}: every file is as it should be")),
            Ok(State::Missing { .. }) if !choice.dir.join(name).is_dir() => {
                Line::missing(role, format!("{name} is not installed: run 'memsift models pull {name}'"))
            }
            Ok(State::Missing { files }) => {
                let first = files.first().map_or("some files", String::as_str);
                Line::broken(role, format!("{name} lacks '{first}': {again}"))
            }
            Ok(State::Damaged { file }) => Line::broken(role, format!("'{file}' of {name} is damaged: {again}")),
            Err(error) => Line::broken(role, error),
        }
    };
    let mut lines = vec![check("tagger", TAGGER, None).needed()];
    for slot in SlotName::ALL {
        lines.push(match choice.slot(slot) {
            Chosen::Nothing => Line::fine(slot.name(), "none, as was asked"),
            Chosen::Folder(folder) => {
                Line::fine(slot.name(), format!("'{}', a folder that no checksum is known of", folder.display()))
            }
            // An adapter has no files of its own.
            Chosen::Listed(spec) => match &spec.base {
                None => check(slot.name(), &spec.name, Some(spec)).needed(),
                Some(base) => {
                    let line = check(slot.name(), base, None).needed();
                    Line { words: format!("{} is in the program; its base: {}", spec.name, line.words), ..line }
                }
            },
        });
    }
    lines
}
