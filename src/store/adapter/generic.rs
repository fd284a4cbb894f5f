//! A table of messages of a program that nobody described: which column is what, by names or as the user says. Knows
//! names that programs use; knows no program.

use serde_json::Value;

use super::langchain::quoted;
use super::tables::Tables;
use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, clock::Clock, content, rows::Cells};

/// Which table and columns hold the turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The table.
    pub turns: Option<String>,
    /// What was said: words, or JSON with them.
    pub text: Option<String>,
    /// Who said it.
    pub speaker: Option<String>,
    /// When.
    pub time: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The conversation.
    pub conversation: Option<String>,
    /// The turn's id.
    pub id: Option<String>,
}

const TEXT: &[&str] =
    &["text", "body", "content", "message", "msg", "message_text", "text_data", "message_data", "utterance"];
const SPEAKER: &[&str] = &[
    "speaker",
    "author",
    "sender",
    "role",
    "from",
    "sender_name",
    "author_name",
    "from_name",
    "username",
    "user_name",
    "user",
    "who",
    "name",
    "sender_id",
    "author_id",
    "user_id",
    "from_id",
];
const TIME: &[&str] = &[
    "time",
    "timestamp",
    "ts",
    "created",
    "created_at",
    "createdat",
    "date",
    "datetime",
    "sent_at",
    "sent",
    "time_created",
    "create_time",
    "date_sent",
    "when",
];
const CONVERSATION: &[&str] = &[
    "conversation",
    "conversation_id",
    "conversationid",
    "thread",
    "thread_id",
    "threadid",
    "chat",
    "chat_id",
    "chatid",
    "channel",
    "channel_id",
    "room",
    "room_id",
    "dialog_id",
];
const SESSION: &[&str] = &["session", "session_id", "sessionid"];
const ID: &[&str] = &["id", "_id", "message_id", "uuid", "guid"];

impl Mapping {
    /// What it can name, in the words of `--map`, the table first.
    pub const FIELDS: [&str; 7] = ["turns", "text", "speaker", "time", "session", "conversation", "id"];

    /// What is said of a field: a name, nothing at all, or with an empty text that there is no such column.
    pub fn get(&self, field: &str) -> Option<&str> {
        let of = match field {
            "turns" => &self.turns,
            "text" => &self.text,
            "speaker" => &self.speaker,
            "time" => &self.time,
            "session" => &self.session,
            "conversation" => &self.conversation,
            "id" => &self.id,
            _ => return None,
        };
        of.as_deref()
    }

    /// Say what a field is; a field that is not known stays unsaid.
    pub fn set(&mut self, field: &str, name: &str) {
        if let Some(field) = self.field(field) {
            *field = Some(name.to_owned());
        }
    }

    /// The same with every field that says nothing saying that there is no such column.
    #[must_use]
    pub fn complete(&self) -> Self {
        let mut map = self.clone();
        for field in Self::FIELDS {
            if map.get(field).is_none() {
                map.set(field, "");
            }
        }
        map
    }

    /// Read `turns=messages,text=body,…`. The keys are [`Self::FIELDS`]; one with nothing after its `=` says that there is
    /// no such column, whatever its name suggests.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut map = Self::default();
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let example = "write it like turns=messages,text=body,speaker=sender,time=ts,session=thread_id";
            let Some((key, value)) = pair.split_once('=') else {
                return Err(format!("'{}' in --map has no '=': {example}", pair.trim()));
            };
            let field = map.field(key.trim());
            let Some(field) = field else { return Err(format!("--map knows no '{}': {example}", key.trim())) };
            *field = Some(value.trim().to_lowercase());
        }
        Ok(map)
    }

    fn field(&mut self, key: &str) -> Option<&mut Option<String>> {
        Some(match key {
            "turns" => &mut self.turns,
            "text" => &mut self.text,
            "speaker" => &mut self.speaker,
            "time" => &mut self.time,
            "session" => &mut self.session,
            "conversation" => &mut self.conversation,
            "id" => &mut self.id,
            _ => return None,
        })
    }

    /// The mapping in the words of `--map`.
    pub fn words(&self) -> String {
        let named = Self::FIELDS.iter().filter_map(|field| Some(format!("{field}={}", self.get(field)?)));
        named.collect::<Vec<_>>().join(",")
    }

    /// Fill in from the names of columns what is not said; the table first.
    pub(super) fn guess(&self, tables: &Tables, table: &str) -> Self {
        let first = |said: &Option<String>, names: &[&str]| {
            let found = names.iter().find(|name| tables.has_column(table, name));
            // An empty name says that there is none.
            said.clone().or_else(|| found.map(|name| (*name).to_owned())).filter(|name| !name.is_empty())
        };
        Self {
            turns: Some(table.to_owned()),
            text: first(&self.text, TEXT),
            speaker: first(&self.speaker, SPEAKER),
            time: first(&self.time, TIME),
            // A column that the user gave one meaning has no other by its name.
            session: first(&self.session, SESSION).filter(|name| self.conversation.as_ref() != Some(name)),
            conversation: first(&self.conversation, CONVERSATION).filter(|name| self.session.as_ref() != Some(name)),
            id: first(&self.id, ID),
        }
    }

    /// How much of what a talk needs is there; 0 when it cannot be one.
    fn weight(&self) -> usize {
        if self.text.is_none() {
            return 0;
        }
        let table = self.turns.as_deref().unwrap_or_default();
        let named = ["message", "turn", "chat", "msg", "post", "utterance"].iter().any(|word| table.contains(word));
        let has = |field: &Option<String>, weight| if field.is_some() { weight } else { 0 };
        3 + has(&self.speaker, 3)
            + has(&self.time, 1)
            + has(&self.conversation, 1)
            + has(&self.session, 1)
            + usize::from(named)
    }
}

/// Where a mapping comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// From the names of columns.
    Guessed,
    /// The user gives it now.
    Said,
    /// The user gave it before, for the same tables.
    Remembered,
}

/// A database that is read by a mapping.
#[derive(Debug)]
pub(super) struct Generic {
    map: Mapping,
    origin: Origin,
    /// Read no more rows than these.
    most: Option<usize>,
}

impl Generic {
    /// Guess a mapping; `None` when no table looks like one of messages.
    pub fn guess(db: &Db<'_>) -> rusqlite::Result<Option<Self>> {
        let mut best: Option<(usize, Mapping)> = None;
        for table in db.tables.names() {
            let map = Mapping::default().guess(&db.tables, table);
            let speaks = map.speaker.is_some() || is_json_talk(db, &map)?;
            let weight = map.weight();
            if speaks && weight > 0 && best.as_ref().is_none_or(|(known, _)| *known < weight) {
                best = Some((weight, map));
            }
        }
        Ok(best.map(|(_, map)| Self { map, origin: Origin::Guessed, most: None }))
    }

    /// Take the user's mapping, filled in by guesses.
    ///
    /// # Errors
    /// What it names that is not there.
    pub fn mapped(db: &Db<'_>, said: &Mapping, origin: Origin) -> Result<Self, String> {
        let tables = || db.tables.names().collect::<Vec<_>>().join(", ");
        let Some(table) = said.turns.clone() else {
            return Err(format!("--map names no table: add turns=TABLE, one of {}", tables()));
        };
        if !db.tables.names().any(|name| name == table) {
            return Err(format!("there is no table '{table}': --map turns= takes one of {}", tables()));
        }
        let columns = db.tables.columns(&table).join(", ");
        for name in [&said.text, &said.speaker, &said.time, &said.session, &said.conversation, &said.id] {
            let named = name.as_ref().filter(|name| !name.is_empty());
            if let Some(name) = named.filter(|name| !db.tables.has_column(&table, name)) {
                return Err(format!("table '{table}' has no column '{name}', it has {columns}"));
            }
        }
        let map = said.guess(&db.tables, &table);
        if map.text.is_none() {
            return Err(format!("which column of '{table}' is the text? Add text=COLUMN to --map, one of {columns}"));
        }
        Ok(Self { map, origin, most: None })
    }

    /// The columns, by what they are.
    pub fn map(&self) -> &Mapping {
        &self.map
    }

    /// The first rows as they would be read, of all conversations together.
    pub fn first(mut self, db: &Db<'_>, most: usize, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        (self.map.conversation, self.most) = (None, Some(most));
        self.read(db, &Listed::default(), notes)
    }

    /// Rows as id, text, speaker, time, session.
    fn select(&self) -> String {
        let map = &self.map;
        let column = |name: &Option<String>| name.as_deref().map_or("NULL".to_owned(), quoted);
        let columns = [&map.id, &map.text, &map.speaker, &map.time, &map.session].map(column).join(", ");
        format!("SELECT {columns} FROM {}", column(&map.turns))
    }
}

/// True when the first text is JSON that says who speaks.
fn is_json_talk(db: &Db<'_>, map: &Mapping) -> rusqlite::Result<bool> {
    let (Some(table), Some(text)) = (&map.turns, &map.text) else { return Ok(false) };
    let sql = format!("SELECT {0} FROM {1} WHERE {0} IS NOT NULL LIMIT 1", quoted(text), quoted(table));
    let rows = db.rows(&sql, [])?;
    Ok(rows.first().and_then(|row| row.json(0)).is_some_and(|value| value.get("role").is_some_and(Value::is_string)))
}

impl Adapter for Generic {
    fn name(&self) -> &'static str {
        "mapped"
    }

    fn title(&self) -> &'static str {
        "a table of messages"
    }

    fn recognise(&self, _: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let origin = match self.origin {
            Origin::Guessed => "guessed",
            Origin::Said => "--map",
            Origin::Remembered => "remembered",
        };
        Ok(Some(format!("{origin} {}", self.map.words())))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let Some(table) = self.map.turns.as_deref() else { return Ok(Vec::new()) };
        let Some(conversation) = self.map.conversation.as_deref().map(quoted) else {
            let rows = db.rows(&format!("SELECT count(*) FROM {}", quoted(table)), [])?;
            let count = rows.first().map_or(0, |row| row.count(0));
            let all = Listed::new(table.to_owned(), None, count);
            return Ok(if count > 0 { vec![all] } else { Vec::new() });
        };
        let sql = format!("SELECT {conversation}, count(*) FROM {} GROUP BY 1 ORDER BY 1", quoted(table));
        Ok(db.rows(&sql, [])?.iter().map(|row| Listed::new(row.words(0), None, row.count(1))).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let name = self.map.time.clone().unwrap_or_else(|| "times".to_owned());
        let (rows, clock) = match self.map.conversation.as_deref() {
            None => {
                let most = self.most.map_or(String::new(), |most| format!(" LIMIT {most}"));
                db.timed(&format!("{}{most}", self.select()), [], 3, &name, notes)?
            }
            Some(conversation) => {
                let sql = format!("{} WHERE coalesce(CAST({} AS TEXT), '') = ?1", self.select(), quoted(conversation));
                db.timed(&sql, [&talk.key], 3, &name, notes)?
            }
        };
        if self.origin == Origin::Guessed {
            notes.guess(format!("columns: {}", super::super::clean::clean_line(&self.map.words(), &mut 0)));
        }
        let mut said: Vec<Said> = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let (spoken, text) = words(row);
            let speaker = row.text(2).or(spoken).unwrap_or_else(|| "unknown".to_owned());
            if matches!(speaker.as_str(), "system" | "developer" | "tool" | "function") {
                notes.leave(content::no_talk(&speaker));
                continue;
            }
            let id = row.text(0).unwrap_or_else(|| format!("row{}", place + 1));
            said.push(Said { id, session: row.text(4), speaker, text, time: time(clock, row) });
        }
        if said.iter().all(|turn| turn.time.seconds().is_some()) {
            said.sort_by_key(|turn| turn.time.seconds());
        }
        Ok(said)
    }
}

fn time(clock: Clock, row: &Cells) -> crate::moment::Moment {
    clock.read(row.value(3))
}

/// The text of a row, and who says it where the text is JSON that tells.
fn words(row: &Cells) -> (Option<String>, String) {
    match row.json(1) {
        Some(value @ Value::Object(_)) => {
            let role = ["role", "sender", "author"].iter().find_map(|field| value.get(*field)?.as_str());
            let text = ["content", "text", "body"].iter().find_map(|field| value.get(*field)).map(content::text);
            (role.map(str::to_owned), text.unwrap_or_default())
        }
        Some(value @ Value::Array(_)) => {
            let text = content::text(&value);
            (None, if text.is_empty() { row.words(1) } else { text })
        }
        _ => (None, row.words(1)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_read_or_says_what_is_wrong() {
        let map = Mapping::read("turns=Messages, text=body,speaker=sender").unwrap();
        assert_eq!((map.turns.as_deref(), map.text.as_deref()), (Some("messages"), Some("body")));
        assert!(Mapping::read("turns").unwrap_err().contains("no '='"));
        assert!(Mapping::read("table=x").unwrap_err().contains("knows no 'table'"));
    }
}
