//! Signal Desktop, decrypted: conversations and messages. Knows its tables only.

use std::collections::HashMap;

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said};

pub(super) struct Signal;

impl Adapter for Signal {
    fn name(&self) -> &'static str {
        "signal"
    }

    fn title(&self) -> &'static str {
        "Signal Desktop"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let known = db.tables.has("conversations", &["id", "json", "type", "name", "profilename"])
            && db.tables.has("messages", &["id", "conversationid", "type", "body", "sent_at"]);
        Ok(known.then(|| "conversations and messages".to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql = "SELECT c.id, coalesce(nullif(c.name, ''), c.profileName), count(*) FROM conversations c
                   JOIN messages m ON m.conversationId = c.id GROUP BY c.id ORDER BY min(m.sent_at), c.id";
        Ok(db.rows(sql, [])?.iter().map(|row| Listed::new(row.words(0), row.text(1), row.count(2))).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let column = |table, name| db.tables.or_null(table, name);
        let sql = format!(
            "SELECT {}, coalesce(nullif(profileName, ''), nullif(name, ''), {}, id) FROM conversations",
            column("conversations", "serviceid"),
            column("conversations", "e164")
        );
        let names: HashMap<String, String> =
            db.rows(&sql, [])?.iter().filter_map(|row| Some((row.text(0)?, row.words(1)))).collect();
        // received_at is a counter and no time.
        let sql = format!(
            "SELECT id, type, body, sent_at, {}, {} FROM messages WHERE conversationId = ?1 ORDER BY sent_at, rowid",
            column("messages", "sourceserviceid"),
            column("messages", "json")
        );
        let (rows, clock) = db.timed(&sql, [&talk.key], 3, "messages.sent_at", notes)?;
        let mut said = Vec::new();
        for row in rows {
            let incoming = match row.words(1).as_str() {
                "outgoing" => false,
                "incoming" => true,
                _ => {
                    notes.leave("notice of the program");
                    continue;
                }
            };
            let deleted = row.json(5).and_then(|json| json.get("deletedForEveryone").and_then(Value::as_bool));
            if deleted == Some(true) {
                notes.leave("deleted for everyone");
                continue;
            }
            let other = || {
                let known = row.text(4).and_then(|id| names.get(&id).cloned());
                known.or_else(|| talk.title.clone()).unwrap_or_else(|| "unknown".to_owned())
            };
            said.push(Said {
                id: row.words(0),
                session: None,
                speaker: if incoming { other() } else { "me".to_owned() },
                text: row.words(2),
                time: clock.read(row.value(3)),
            });
        }
        Ok(said)
    }
}
