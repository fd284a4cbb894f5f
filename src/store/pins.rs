//! Settings kept under names, in a small file of memsift's own beside the marks. Knows knobs by name and value; nothing of
//! questions, so that a pin serves every history.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value as Json};

use super::clean::clean_line;
use super::{StoreError, own_file};
use crate::settings::{KNOBS, Settings, TermEdits, Value};

/// All pins, as they stand in their file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pins {
    path: Option<PathBuf>,
    pins: BTreeMap<String, Knobs>,
}

/// Knob to value. Knobs that this version does not have stay as they were written.
type Knobs = BTreeMap<String, Json>;

/// One pin.
#[derive(Debug, Clone, PartialEq)]
pub struct Pin {
    /// Its name, fit for a terminal.
    pub name: String,
    /// The settings; what the file does not say is at its default.
    pub settings: Settings,
    /// What of the file was left out, and why; one sentence.
    pub trouble: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    pins: BTreeMap<String, Knobs>,
}

const VERSION: u32 = 1;

impl Pins {
    /// Pins that live as long as the program.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Pins whose file cannot be read now; each attempt to save says so.
    pub fn unread(path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..Self::default() }
    }

    /// The pins kept at `path`; none when there is no such file. A file that cannot be understood is set aside, and the
    /// sentence in the second place says so.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn load(path: &Path) -> Result<(Self, Option<String>), StoreError> {
        let other =
            |saved: &Saved| (saved.version != VERSION).then(|| format!("version {} is not known here", saved.version));
        let (saved, notice) = own_file::read(path, "pins", other)?;
        let pins = saved.map(|saved: Saved| saved.pins).unwrap_or_default();
        let pins = pins.into_iter().map(|(name, knobs)| (clean_line(&name, &mut 0).into_owned(), knobs)).collect();
        Ok((Self { path: Some(path.to_owned()), pins }, notice))
    }

    /// All pins, by name.
    pub fn all(&self) -> Vec<Pin> {
        self.pins.iter().map(|(name, knobs)| read(name, knobs)).collect()
    }

    /// The pin of this name.
    pub fn get(&self, name: &str) -> Option<Pin> {
        self.pins.get_key_value(name).map(|(name, knobs)| read(name, knobs))
    }

    /// Keep settings under a name, without what was done to single terms. True when another pin had the name.
    pub fn set(&mut self, name: &str, settings: &Settings) -> bool {
        let knobs = KNOBS.iter().map(|knob| (knob.name.to_owned(), json(&(knob.get)(settings)))).collect();
        self.pins.insert(name.to_owned(), knobs).is_some()
    }

    /// Forget a pin. True when there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        self.pins.remove(name).is_some()
    }

    /// Write one pin as it stands here, or that it is gone. The file is read again before, so that what another memsift
    /// kept meanwhile stays. A sentence comes back when that had to be set aside.
    ///
    /// # Errors
    /// When the file cannot be read or written; the pins here stay as they are.
    pub fn save(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let Some(path) = self.path.clone() else { return Ok(None) };
        let (mut there, notice) = Self::load(&path)?;
        match self.pins.get(name) {
            Some(knobs) => drop(there.pins.insert(name.to_owned(), knobs.clone())),
            None => drop(there.pins.remove(name)),
        }
        own_file::write(&path, &Saved { version: VERSION, pins: there.pins.clone() })?;
        *self = there;
        Ok(notice)
    }
}

fn read(name: &str, knobs: &Knobs) -> Pin {
    let mut settings = Settings::default();
    let mut trouble = Vec::new();
    for (knob, value) in knobs {
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Bool(on) => (if *on { "on" } else { "off" }).to_owned(),
            other => other.to_string(),
        };
        if let Err(reason) = settings.set(knob, &text) {
            trouble.push(clean_line(&reason, &mut 0).into_owned());
        }
    }
    settings.terms = TermEdits::default();
    let trouble = (!trouble.is_empty()).then(|| format!("left out of pin '{name}': {}", trouble.join("; ")));
    Pin { name: name.to_owned(), settings, trouble }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => Json::from(*number as i64),
        Value::Number(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        Value::Choice(name) => Json::from(*name),
        Value::Flag(on) => Json::from(*on),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::fs;

    use super::*;

    fn settings(words: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (knob, value) in words {
            settings.set(knob, value).unwrap();
        }
        settings
    }

    #[test]
    fn every_knob_comes_back_and_terms_stay_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/pins.json");
        let (mut pins, notice) = Pins::load(&path).unwrap();
        assert_eq!((pins.all().len(), notice), (0, None));
        let kept =
            settings(&[("alpha", "0.1"), ("budget", "850"), ("fusion", "z"), ("dedup", "on"), ("unit", "session")]);
        let mut edited = kept.clone();
        edited.terms.muted.insert("boat".to_owned());
        assert!(!pins.set("small", &edited));
        assert_eq!(pins.save("small").unwrap(), None);
        let (again, _) = Pins::load(&path).unwrap();
        assert_eq!(again, pins);
        assert_eq!(again.get("small").unwrap(), Pin { name: "small".to_owned(), settings: kept, trouble: None });
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside the pins");
        assert!(pins.set("small", &Settings::default()), "the name was taken");
        assert!(pins.remove("small") && !pins.remove("small"));
        pins.save("small").unwrap();
        assert!(Pins::load(&path).unwrap().0.all().is_empty());
    }

    #[test]
    fn what_another_program_kept_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        let (mut one, _) = Pins::load(&path).unwrap();
        let (mut other, _) = Pins::load(&path).unwrap();
        one.set("one", &Settings::default());
        one.save("one").unwrap();
        other.set("other", &Settings::default());
        other.save("other").unwrap();
        let names: Vec<String> = Pins::load(&path).unwrap().0.all().into_iter().map(|pin| pin.name).collect();
        assert_eq!(names, ["one", "other"]);
        assert_eq!(other.all().len(), 2);
    }

    #[test]
    fn unknown_knobs_and_values_are_said_and_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        let text = r#"{"version": 1, "pins": {"x\u001b[2J": {"alpha": 0.5, "budget": -3, "warp": "9", "w": null}}}"#;
        fs::write(&path, text).unwrap();
        let (mut pins, notice) = Pins::load(&path).unwrap();
        assert_eq!(notice, None);
        let pin = pins.all().remove(0);
        assert!(!pin.name.contains('\u{1b}'), "{pin:?}");
        assert_eq!(pin.settings, settings(&[("alpha", "0.5")]));
        let trouble = pin.trouble.unwrap();
        for words in ["there is no knob 'warp'", "budget cannot be '-3'", "w cannot be 'null'"] {
            assert!(trouble.contains(words) && !trouble.contains('\n'), "{trouble}");
        }
        pins.set("y", &Settings::default());
        pins.save("y").unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("\"warp\": \"9\""));
    }

    #[test]
    fn a_broken_file_is_set_aside_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        for (round, content) in ["{\"version\": 1, \"pi", "{\"version\": 9, \"pins\": {}}", "[]"].iter().enumerate() {
            fs::write(&path, content).unwrap();
            let (pins, notice) = Pins::load(&path).unwrap();
            let name = ["pins.json.bad", "pins.json.bad2", "pins.json.bad3"][round];
            assert!(notice.as_ref().unwrap().contains(name), "{notice:?}");
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), *content);
            assert!(pins.all().is_empty() && !path.exists());
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error_and_the_pin_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut pins = Pins { path: Some(file.join("pins.json")), ..Pins::default() };
        pins.set("x", &Settings::default());
        assert!(pins.save("x").is_err());
        assert!(pins.get("x").is_some());
    }
}
