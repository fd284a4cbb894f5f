//! Google's Agent Development Kit: sessions of events, in three schemas. Knows its tables only; pickles are not opened.

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};

pub(super) struct GoogleAdk;

impl Adapter for GoogleAdk {
    fn name(&self) -> &'static str {
        "google-adk"
    }

    fn title(&self) -> &'static str {
        "Google ADK"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let events = db.tables.has("events", &["id", "app_name", "user_id", "session_id", "timestamp"]);
        Ok(match events && db.tables.has("sessions", &["app_name", "user_id", "id", "state"]) {
            false => None,
            true if db.tables.has("adk_internal_metadata", &["key", "value"]) => {
                Some("DatabaseSessionService v1".into())
            }
            true if db.tables.has_column("events", "event_data") => Some("SqliteSessionService".into()),
            true if db.tables.has("events", &["author", "content"]) => Some("DatabaseSessionService v0".into()),
            true => None,
        })
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql = "SELECT app_name, user_id, count(*) FROM events GROUP BY app_name, user_id ORDER BY min(timestamp)";
        let talk = |row: &super::rows::Cells| {
            let key = Value::from(vec![row.words(0), row.words(1)]).to_string();
            Listed { key, ..Listed::new(format!("{}/{}", row.words(0), row.words(1)), None, row.count(2)) }
        };
        Ok(db.rows(sql, [])?.iter().map(talk).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let key: [String; 2] = serde_json::from_str(&talk.key).unwrap_or_default();
        let column = |name| db.tables.or_null("events", name);
        let sql = format!(
            "SELECT id, session_id, timestamp, {}, {}, {}, {} FROM events WHERE app_name = ?1 AND user_id = ?2
             ORDER BY timestamp, rowid",
            column("event_data"),
            column("author"),
            column("content"),
            column("partial"),
        );
        let (rows, clock) = db.timed(&sql, key, 2, "events.timestamp", notes)?;
        let mut said = Vec::new();
        for row in rows {
            let event = row.json(3).unwrap_or_else(|| {
                serde_json::json!({
                    "author": row.words(4), "content": row.json(5), "partial": row.truth(6).unwrap_or(false),
                })
            });
            if event.get("partial").and_then(Value::as_bool) == Some(true) {
                notes.leave("part of a streamed answer");
                continue;
            }
            let parts = event.pointer("/content/parts").and_then(Value::as_array).cloned().unwrap_or_default();
            let spoken = parts.iter().filter(|part| part.get("thought").and_then(Value::as_bool) != Some(true));
            let texts: Vec<String> =
                spoken.map(|part| content::string(part, "text")).filter(|text| !text.is_empty()).collect();
            if texts.is_empty() {
                notes.leave("event without text (tool call, tool result, state)");
                continue;
            }
            let author = content::string(&event, "author");
            said.push(Said {
                id: row.words(0),
                session: row.text(1),
                speaker: if author.is_empty() { "unknown".to_owned() } else { author },
                text: texts.join("\n"),
                time: clock.read(row.value(2)),
            });
        }
        Ok(said)
    }
}
