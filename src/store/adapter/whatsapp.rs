//! WhatsApp on Android, decrypted: messages, chats, and the addresses behind them. Knows its tables only.

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said};

pub(super) struct Whatsapp;

/// Messages that the program wrote itself: a number changed, a group was made.
const SYSTEM: i64 = 7;

impl Adapter for Whatsapp {
    fn name(&self) -> &'static str {
        "whatsapp"
    }

    fn title(&self) -> &'static str {
        "WhatsApp"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let known = db.tables.has("message", &["_id", "chat_row_id", "from_me", "timestamp", "text_data"])
            && db.tables.has("chat", &["_id", "jid_row_id", "subject"])
            && db.tables.has("jid", &["_id", "user", "raw_string"]);
        Ok(known.then(|| "message, chat and jid".to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql = "SELECT c._id, coalesce(j.raw_string, 'chat ' || c._id), c.subject, count(*) FROM chat c
                   JOIN message m ON m.chat_row_id = c._id LEFT JOIN jid j ON j._id = c.jid_row_id
                   GROUP BY c._id ORDER BY c._id";
        let talk = |row: &super::rows::Cells| Listed {
            key: row.words(0),
            ..Listed::new(row.words(1), row.text(2), row.count(3))
        };
        Ok(db.rows(sql, [])?.iter().map(talk).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let column = |name| match db.tables.has_column("message", name) {
            true => format!("m.{name}"),
            false => "NULL".to_owned(),
        };
        let sender = column("sender_jid_row_id");
        let sql = format!(
            "SELECT coalesce({}, m._id), m.text_data, m.timestamp, m.from_me, {}, coalesce(s.user, j.user)
             FROM message m JOIN chat c ON c._id = m.chat_row_id LEFT JOIN jid j ON j._id = c.jid_row_id
             LEFT JOIN jid s ON s._id = {sender} WHERE c._id = CAST(?1 AS INTEGER) ORDER BY {}, m._id",
            column("key_id"),
            column("message_type"),
            if db.tables.has_column("message", "sort_id") { "m.sort_id" } else { "m.timestamp" }
        );
        let (rows, clock) = db.timed(&sql, [&talk.key], 2, "message.timestamp", notes)?;
        let mut said = Vec::new();
        for row in rows {
            let text = row.words(1);
            if row.number(4) == Some(SYSTEM) {
                notes.leave("notice of the program");
            } else if text.is_empty() {
                notes.leave("message without text (media, deleted, call)");
            } else {
                let other = || row.text(5).unwrap_or_else(|| "unknown".to_owned());
                said.push(Said {
                    id: row.words(0),
                    session: None,
                    speaker: if row.truth(3) == Some(true) { "me".to_owned() } else { other() },
                    text,
                    time: clock.read(row.value(2)),
                });
            }
        }
        Ok(said)
    }
}
