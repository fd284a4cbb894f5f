//! Cursor before its global state: a workspace's items, with the tabs of its chat and the composers in one value each. Knows
//! those two values only.

use serde_json::Value;

use super::clock::Clock;
use super::verdict::Notes;
use super::{Db, Listed, Said, content};
use crate::moment::Moment;

const TABLE: &str = "itemtable";
const CHAT: &str = "workbench.panel.aichat.view.aichat.chatdata";
const COMPOSERS: &str = "composer.composerData";

/// True when one of the two values is there. The table alone is in every editor of this family.
pub(super) fn is_there(db: &Db<'_>) -> rusqlite::Result<bool> {
    if !db.tables.has(TABLE, &["key", "value"]) {
        return Ok(false);
    }
    Ok(!db.rows("SELECT 1 FROM ItemTable WHERE key IN (?1, ?2) LIMIT 1", [CHAT, COMPOSERS])?.is_empty())
}

/// The tabs of the chat, then the composers.
pub(super) fn list(db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
    let of = |talk: &Value, id: &str, title: &str, turns: &str| {
        let count = talk.get(turns).and_then(Value::as_array).map_or(0, Vec::len);
        Listed::new(content::string(talk, id), Some(content::string(talk, title)), count)
    };
    let tabs = talks(db, CHAT, "tabs")?;
    let composers = talks(db, COMPOSERS, "allComposers")?;
    let tabs = tabs.iter().map(|tab| of(tab, "tabId", "chatTitle", "bubbles"));
    let composers = composers.iter().map(|composer| of(composer, "composerId", "name", "conversation"));
    Ok(tabs.chain(composers).collect())
}

/// The bubbles of a tab or a composer.
pub(super) fn read(db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
    let is = |value: &Value, id: &str| value.get(id).and_then(Value::as_str) == Some(talk.key.as_str());
    if let Some(tab) = talks(db, CHAT, "tabs")?.into_iter().find(|tab| is(tab, "tabId")) {
        return Ok(bubbles(&tab, "bubbles", notes));
    }
    let Some(composer) = talks(db, COMPOSERS, "allComposers")?.into_iter().find(|talk| is(talk, "composerId")) else {
        return Ok(Vec::new());
    };
    if composer.get("conversation").and_then(Value::as_array).is_none() {
        notes.leave("composer whose bubbles are in the global state.vscdb");
    }
    Ok(bubbles(&composer, "conversation", notes))
}

/// The list of talks in a value.
fn talks(db: &Db<'_>, key: &str, list: &str) -> rusqlite::Result<Vec<Value>> {
    let rows = db.rows("SELECT value FROM ItemTable WHERE key = ?1", [key])?;
    let value = rows.first().and_then(|row| row.json(0)).unwrap_or_default();
    Ok(value.get(list).and_then(Value::as_array).cloned().unwrap_or_default())
}

fn bubbles(talk: &Value, list: &str, notes: &mut Notes) -> Vec<Said> {
    let mut said = Vec::new();
    for (place, bubble) in talk.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
        let speaker = match bubble.get("type") {
            Some(Value::String(kind)) if kind == "user" => "user",
            Some(Value::String(kind)) if kind == "ai" => "assistant",
            Some(Value::Number(kind)) if kind.as_i64() == Some(1) => "user",
            Some(Value::Number(kind)) if kind.as_i64() == Some(2) => "assistant",
            _ => {
                notes.leave("bubble of an unknown type");
                continue;
            }
        };
        let texts = ["text", "rawText"].map(|name| content::string(bubble, name));
        let text = texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
        let ids = ["bubbleId", "id"].map(|name| content::string(bubble, name));
        let id = ids.into_iter().find(|id| !id.is_empty()).unwrap_or_else(|| format!("bubble{}", place + 1));
        said.push(Said { id, session: None, speaker: speaker.to_owned(), text, time: time(bubble) });
    }
    said
}

/// Some versions give every bubble a time.
fn time(bubble: &Value) -> Moment {
    let Some(value) = ["createdAt", "timestamp"].iter().find_map(|name| bubble.get(*name)) else {
        return Moment::Unknown;
    };
    Clock::guess(&mut [value.as_f64().unwrap_or(0.0)], false).0.read_json(Some(value))
}
