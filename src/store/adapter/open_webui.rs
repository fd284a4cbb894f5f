//! Open WebUI: a tree of messages in the JSON of each chat, in newer releases also one row a message. Knows its tables
//! only.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::verdict::{Notes, OTHER_BRANCH};
use super::{Adapter, Db, Listed, Said, clock::Clock, content};

pub(super) struct OpenWebui;

impl Adapter for OpenWebui {
    fn name(&self) -> &'static str {
        "open-webui"
    }

    fn title(&self) -> &'static str {
        "Open WebUI"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        if !db.tables.has("chat", &["id", "user_id", "title", "chat", "created_at", "archived"]) {
            return Ok(None);
        }
        let rows = db.tables.has("chat_message", &["chat_id", "parent_id", "role", "content"]);
        Ok(Some(if rows { "chat and chat_message" } else { "chat" }.to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let rows = match db.tables.has("chat_message", &["chat_id"]) {
            true => "(SELECT count(*) FROM chat_message WHERE chat_id = chat.id)",
            false => "0",
        };
        let sql = format!("SELECT id, title, {rows} FROM chat ORDER BY created_at, id");
        Ok(db.rows(&sql, [])?.iter().map(|row| Listed::new(row.words(0), row.text(1), row.count(2))).collect())
    }

    fn branches(&self, db: &Db<'_>, talk: &Listed) -> rusqlite::Result<Vec<String>> {
        let (messages, tip) = tree(db, talk)?;
        let on: HashSet<String> = walk(&messages, tip).into_iter().map(|(id, _)| id).collect();
        let mut ends: Vec<&String> = leaves(&messages).filter(|id| !on.contains(*id)).collect();
        let time = |id: &String| messages.get(id).and_then(|message| message.get("timestamp")?.as_f64()).unwrap_or(0.0);
        ends.sort_by(|one, other| time(one).total_cmp(&time(other)).then(one.cmp(other)));
        Ok(ends.into_iter().cloned().collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let (messages, tip) = tree(db, talk)?;
        let stamps = messages.values().filter_map(|message| message.get("timestamp")?.as_f64()).collect();
        let clock = Clock::of_numbers(stamps, "message timestamp", notes);
        let path = walk(&messages, talk.branch.clone().unwrap_or(tip));
        let on: HashSet<&str> = path.iter().map(|(id, _)| id.as_str()).collect();
        notes.branches += leaves(&messages).filter(|id| !on.contains(id.as_str())).count();
        notes.leave_some(OTHER_BRANCH, messages.keys().filter(|id| !on.contains(id.as_str())).count());
        let mut said = Vec::new();
        for (id, message) in path {
            let role = content::string(message, "role");
            let Some(speaker) = content::speaker(&role) else {
                notes.leave(content::no_talk(&role));
                continue;
            };
            let text = message.get("content").map(content::text).unwrap_or_default();
            let time = clock.read_json(message.get("timestamp"));
            said.push(Said { id, speaker: speaker.into(), text, time, session: None });
        }
        Ok(said)
    }
}

/// The messages of a chat and the one at which it stands.
fn tree(db: &Db<'_>, talk: &Listed) -> rusqlite::Result<(Map<String, Value>, String)> {
    let rows = db.rows("SELECT chat FROM chat WHERE id = ?1", [&talk.key])?;
    let chat = rows.first().and_then(|row| row.json(0)).unwrap_or_default();
    let history = chat.get("history").unwrap_or(&Value::Null);
    let mut messages = history.get("messages").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut tip = content::string(history, "currentId");
    if messages.is_empty() {
        messages = of_rows(db, talk)?;
    }
    if !messages.contains_key(&tip) {
        tip = newest_leaf(&messages);
    }
    Ok((messages, tip))
}

/// From the root to where a branch ends.
fn walk(messages: &Map<String, Value>, end: String) -> Vec<(String, &Value)> {
    let mut path = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(end);
    while let Some(id) = next.take().filter(|id| seen.insert(id.clone())) {
        let Some(message) = messages.get(&id) else { break };
        next = message.get("parentId").and_then(Value::as_str).map(str::to_owned);
        path.push((id, message));
    }
    path.reverse();
    path
}

/// Messages that nothing follows.
fn leaves(messages: &Map<String, Value>) -> impl Iterator<Item = &String> {
    let parents: HashSet<String> = messages.values().map(|message| content::string(message, "parentId")).collect();
    messages.keys().filter(move |id| !parents.contains(*id))
}

/// The same tree from the rows of newer releases, whose ids begin with the chat's.
fn of_rows(db: &Db<'_>, talk: &Listed) -> rusqlite::Result<Map<String, Value>> {
    if !db.tables.has("chat_message", &["id", "chat_id", "parent_id", "role", "content", "created_at"]) {
        return Ok(Map::new());
    }
    let sql = "SELECT id, parent_id, role, content, created_at FROM chat_message WHERE chat_id = ?1";
    let mut messages = Map::new();
    for row in db.rows(sql, [&talk.key])? {
        let id = row.words(0);
        let id = id.strip_prefix(&format!("{}-", talk.key)).unwrap_or(&id).to_owned();
        let content = row.json(3).unwrap_or_else(|| Value::String(row.words(3)));
        let message = serde_json::json!({
            "parentId": row.text(1), "role": row.words(2), "content": content, "timestamp": row.number(4),
        });
        messages.insert(id, message);
    }
    Ok(messages)
}

/// The leaf with the latest time, when the chat does not say where it stands.
fn newest_leaf(messages: &Map<String, Value>) -> String {
    let leaves = leaves(messages).filter_map(|id| messages.get_key_value(id));
    let time = |message: &Value| message.get("timestamp").and_then(Value::as_f64).unwrap_or(0.0);
    leaves.max_by(|one, other| time(one.1).total_cmp(&time(other.1))).map(|(id, _)| id.clone()).unwrap_or_default()
}
