//! The form in which the user says what the columns of a database are: its fields, what each can be, and the preview that
//! belongs to it. Knows names and keys; reads nothing and draws nothing.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::model::{Database, Mode, Model};
use super::update::Effect;
use crate::engine::Job;
use crate::store::clean::clean_line;
use crate::store::{Mapping, Outline, Preview, TableOutline};

/// Keys of the form, for the footer.
pub const KEYS: &[(&str, &str)] = &[("j/k", "field"), ("h/l", "change"), ("Enter", "open"), ("Esc", "back")];

/// What each field of [`Mapping::FIELDS`] is for.
pub const DOCS: [&str; 7] = [
    "the table with a row a turn",
    "what was said: words, or JSON with them",
    "who said it",
    "when it was said",
    "what belongs to one sitting; without it a pause begins one",
    "what belongs together; without it all turns do",
    "the turn's own id; without it rows are numbered",
];

/// The form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The database with its tables.
    pub outline: Outline,
    /// What is chosen; every field says something.
    pub map: Mapping,
    /// The field under the cursor.
    pub at: usize,
    /// The first turns, with the mapping that they are by.
    pub preview: Option<(Mapping, Result<Preview, String>)>,
    /// The mapping for which the engine is asked.
    asked: Option<Mapping>,
}

impl Form {
    /// With the guesses.
    pub fn new(outline: Outline) -> Self {
        let map = outline.guess.complete();
        Self { outline, map, at: 0, preview: None, asked: None }
    }

    /// The table that is chosen.
    pub fn table(&self) -> Option<&TableOutline> {
        let name = self.map.get("turns");
        self.outline.tables.iter().find(|table| Some(table.name.as_str()) == name)
    }

    /// What a field can be; an empty name stands for none.
    pub fn choices(&self, field: &str) -> Vec<&str> {
        if field == "turns" {
            return self.outline.tables.iter().map(|table| table.name.as_str()).collect();
        }
        let none = (field != "text").then_some("");
        none.into_iter()
            .chain(self.table().into_iter().flat_map(|table| table.columns.iter().map(String::as_str)))
            .collect()
    }

    /// The preview that belongs to what is chosen.
    pub fn current(&self) -> Option<&Result<Preview, String>> {
        self.preview.as_ref().filter(|(map, _)| *map == self.map).map(|(_, preview)| preview)
    }

    /// The next choice of the field under the cursor, around the end.
    fn cycle(&mut self, by: i32) {
        let Some(field) = Mapping::FIELDS.get(self.at) else { return };
        let choices = self.choices(field);
        let now = choices.iter().position(|name| Some(*name) == self.map.get(field));
        let length = choices.len() as i64;
        if length == 0 {
            return;
        }
        let next = match now {
            Some(now) => (now as i64 + i64::from(by)).rem_euclid(length),
            None if by < 0 => length - 1,
            None => 0,
        };
        let Some(name) = choices.get(next as usize).map(|name| (*name).to_owned()) else { return };
        self.map.set(field, &name);
        if *field == "turns"
            && let Some(table) = self.table()
        {
            self.map = Mapping { turns: Some(name), ..table.guess.clone() }.complete();
        }
    }
}

/// Ask for the form of the open database, or of the one that could not be opened.
pub fn ask(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.replayed {
        model.fail("a trace from a file has no columns to choose");
        return;
    }
    effects.push(Effect::Send(Job::Outline(model.database.path.clone())));
}

/// The tables of a database are known: let the user choose.
pub fn open(model: &mut Model, outline: Outline, unknown: bool) {
    if unknown {
        if !model.database.open {
            model.database = Database { path: outline.path.clone(), unknown, ..Database::default() };
        }
        model.say("no program is known for these tables: say what the columns are");
    }
    model.behind = None;
    model.mode = Mode::Form(Box::new(Form::new(outline)));
}

/// The form, also while a command is typed over it.
fn shown(model: &mut Model) -> Option<&mut Form> {
    match (&mut model.behind, &mut model.mode) {
        (Some(Mode::Form(form)), _) | (None, Mode::Form(form)) => Some(form),
        _ => None,
    }
}

/// The engine read the first turns.
pub fn previewed(model: &mut Model, map: Mapping, preview: Result<Preview, String>) {
    if let Some(form) = shown(model) {
        form.asked = None;
        form.preview = Some((map, preview));
    }
}

/// Ask for the preview of what is chosen, one at a time.
pub fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(form) = shown(model)
        && form.current().is_none()
        && form.asked.is_none()
    {
        form.asked = Some(form.map.clone());
        effects.push(Effect::Send(Job::Preview(form.map.clone())));
    }
}

/// A key while the form is open.
pub fn key(model: &mut Model, mut form: Form, event: &KeyEvent, effects: &mut Vec<Effect>) {
    match event.code {
        KeyCode::Char('j') | KeyCode::Down | KeyCode::Tab => form.at = super::step(form.at, 1, Mapping::FIELDS.len()),
        KeyCode::Char('k') | KeyCode::Up | KeyCode::BackTab => {
            form.at = super::step(form.at, -1, Mapping::FIELDS.len())
        }
        KeyCode::Char('l' | ' ') | KeyCode::Right => form.cycle(1),
        KeyCode::Char('h') | KeyCode::Left => form.cycle(-1),
        KeyCode::Enter => match form.current() {
            Some(Ok(preview)) if !preview.turns.is_empty() => {
                model.say("opening by this mapping, which is remembered for these tables");
                effects.push(Effect::Send(Job::OpenMapped(form.outline.path.clone(), form.map.clone())));
                model.mode = Mode::Normal;
                return;
            }
            Some(Ok(_)) => model.fail("no turn can be read like this: choose another table or text"),
            Some(Err(sentence)) => model.fail(clean_line(sentence, &mut 0)),
            None => model.say("the first turns are being read: a moment"),
        },
        KeyCode::Esc | KeyCode::Char('q') => {
            let words = if model.database.open {
                "the database stays as it was read"
            } else {
                "nothing is open: :map shows the form again, :open FILE opens another database, {quit} quits"
            };
            model.hint(words);
            model.mode = Mode::Normal;
            return;
        }
        _ => {}
    }
    model.mode = Mode::Form(Box::new(form));
}
