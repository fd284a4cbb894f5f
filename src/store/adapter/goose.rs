//! goose: sessions of messages in blocks. Knows its tables only.

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};

pub(super) struct Goose;

impl Adapter for Goose {
    fn name(&self) -> &'static str {
        "goose"
    }

    fn title(&self) -> &'static str {
        "goose"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let known = db.tables.has("sessions", &["id", "working_dir", "created_at"])
            && db.tables.has("messages", &["id", "session_id", "role", "content_json", "created_timestamp"]);
        Ok(known.then(|| "sessions and messages".to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let column = |name| db.tables.or_null("sessions", name);
        let sql = format!(
            "SELECT id, coalesce(nullif({}, ''), {}), (SELECT count(*) FROM messages WHERE session_id = sessions.id)
             FROM sessions ORDER BY created_at, id",
            column("name"),
            column("description")
        );
        Ok(db.rows(&sql, [])?.iter().map(|row| Listed::new(row.words(0), row.text(1), row.count(2))).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let column = |name| db.tables.or_null("messages", name);
        let sql = format!(
            "SELECT coalesce({}, id), role, content_json, created_timestamp, {} FROM messages WHERE session_id = ?1
             ORDER BY created_timestamp, id",
            column("message_id"),
            column("metadata_json")
        );
        let (rows, clock) = db.timed(&sql, [&talk.key], 3, "messages.created_timestamp", notes)?;
        let mut said = Vec::new();
        for row in rows {
            let role = row.words(1);
            let visible = row.json(4).and_then(|meta| meta.get("userVisible").and_then(Value::as_bool));
            let text = row.json(2).as_ref().map(content::text).unwrap_or_default();
            let Some(speaker) = content::speaker(&role) else {
                notes.leave(content::no_talk(&role));
                continue;
            };
            if visible == Some(false) {
                notes.leave("hidden from the user");
            } else if text.is_empty() {
                notes.leave("message of tool calls or results only");
            } else {
                let time = clock.read(row.value(3));
                said.push(Said { id: row.words(0), speaker: speaker.into(), text, time, session: None });
            }
        }
        Ok(said)
    }
}
