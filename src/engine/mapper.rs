//! A database of which the user says what its columns are: its outline, and previews. Knows what to ask of the store; the
//! choice is made elsewhere.

use std::path::Path;

use super::job::Event;
use crate::store::{Mapping, Reading, Sketch};

/// The database that is being mapped, while one is.
#[derive(Default)]
pub(super) struct Mapper {
    sketch: Option<Sketch>,
}

impl Mapper {
    /// The tables of a database that nobody recognises, with the first turns by the guesses: they are there before models
    /// are loaded.
    pub fn unknown(&mut self, path: &Path, reading: &Reading) -> Vec<Event> {
        let outlined = self.of(path, true);
        let guess = match &outlined {
            Event::Outlined { outline, .. } => Some(outline.guess.complete()),
            _ => None,
        };
        let preview = guess.and_then(|map| self.preview(map, reading));
        std::iter::once(outlined).chain(preview).collect()
    }

    /// The tables of a database of which the user wants to say what the columns are, with the mapping by which it is read
    /// now; `open` is as [`super::source::Source::mapping`] gives it.
    pub fn outline(&mut self, path: &Path, open: Option<Option<&Mapping>>) -> Event {
        if open == Some(None) {
            let words = "the tables of this database are known: :map is for those that no program is known for";
            return Event::Failed(words.to_owned());
        }
        let mut outlined = self.of(path, false);
        if let (Event::Outlined { outline, .. }, Some(Some(now))) = (&mut outlined, open) {
            outline.guess = now.clone();
        }
        outlined
    }

    fn of(&mut self, path: &Path, unknown: bool) -> Event {
        match Sketch::open(path).and_then(|sketch| Ok((sketch.outline()?, sketch))) {
            Ok((outline, sketch)) => {
                self.sketch = Some(sketch);
                Event::Outlined { outline: Box::new(outline), unknown }
            }
            Err(error) => Event::Failed(error.to_string()),
        }
    }

    /// The first turns by a mapping; nothing when no database is being mapped.
    pub fn preview(&self, map: Mapping, reading: &Reading) -> Option<Event> {
        let sketch = self.sketch.as_ref()?;
        let preview = match map.get("text").unwrap_or_default() {
            "" => Err("no column is chosen for the text yet".to_owned()),
            _ => sketch.preview(&map, reading).map_err(|error| error.to_string()),
        };
        Some(Event::Previewed { map: Box::new(map), preview })
    }
}
