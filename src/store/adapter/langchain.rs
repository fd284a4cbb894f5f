//! LangChain's SQLChatMessageHistory: one row a message, as JSON. Its table and its session column have names that
//! the user chose, so the shape of the JSON tells.

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};

pub(super) struct Langchain;

/// The table and its session column.
fn find(db: &Db<'_>) -> rusqlite::Result<Option<(String, String)>> {
    for table in db.tables.with(&["id", "message"]) {
        let others: Vec<&String> =
            db.tables.columns(table).iter().filter(|name| !matches!(name.as_str(), "id" | "message")).collect();
        let named = others.iter().find(|name| name.contains("session") || name.ends_with("_id"));
        let Some(session) = named.or(others.first()) else { continue };
        let sql = format!("SELECT message FROM {} WHERE message IS NOT NULL LIMIT 1", quoted(table));
        let first = db.rows(&sql, [])?;
        let shaped = first.first().and_then(|row| row.json(0)).is_some_and(|message| {
            message.get("type").is_some_and(Value::is_string) && message.get("data").is_some_and(Value::is_object)
        });
        if shaped || (first.is_empty() && table == "message_store") {
            return Ok(Some((table.to_owned(), (*session).clone())));
        }
    }
    Ok(None)
}

/// A name as SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Adapter for Langchain {
    fn name(&self) -> &'static str {
        "langchain"
    }

    fn title(&self) -> &'static str {
        "LangChain SQLChatMessageHistory"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        Ok(find(db)?.map(|(table, session)| format!("table {table}, sessions by {session}")))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let Some((table, session)) = find(db)? else { return Ok(Vec::new()) };
        let (table, session) = (quoted(&table), quoted(&session));
        let sql = format!("SELECT {session}, count(*) FROM {table} GROUP BY {session} ORDER BY min(id)");
        Ok(db.rows(&sql, [])?.iter().map(|row| Listed::new(row.words(0), None, row.count(1))).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let Some((table, session)) = find(db)? else { return Ok(Vec::new()) };
        let (table, session) = (quoted(&table), quoted(&session));
        let sql =
            format!("SELECT id, message FROM {table} WHERE coalesce(CAST({session} AS TEXT), '') = ?1 ORDER BY id");
        let mut said = Vec::new();
        notes.guess("times: the store keeps none, the order is that of the ids");
        for row in db.rows(&sql, [&talk.key])? {
            let Some(message) = row.json(1) else {
                notes.leave("message is not JSON");
                continue;
            };
            let role = content::string(&message, "type");
            let data = message.get("data").unwrap_or(&Value::Null);
            let Some(speaker) = content::speaker(&role) else {
                notes.leave(content::no_talk(&role));
                continue;
            };
            let name = content::string(data, "name");
            let speaker = if name.is_empty() { speaker.to_owned() } else { name };
            let text = data.get("content").map(content::text).unwrap_or_default();
            said.push(Said { id: row.words(0), speaker, text, ..Default::default() });
        }
        Ok(said)
    }
}
