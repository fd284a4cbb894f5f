//! WhatsApp on Android, decrypted: messages, chats, and the addresses behind them. Knows its newer tables; the older one is
//! read elsewhere.

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, whatsapp_older};

pub(super) struct Whatsapp;

/// Messages that the program wrote itself: a number changed, a group was made.
const SYSTEM: i64 = 7;

/// True when the newer tables are there.
fn has_split(db: &Db<'_>) -> bool {
    db.tables.has("message", &["_id", "chat_row_id", "from_me", "timestamp", "text_data"])
        && db.tables.has("chat", &["_id", "jid_row_id", "subject"])
        && db.tables.has("jid", &["_id", "user", "raw_string"])
}

/// True when the newer tables are used: between the two, some versions had them empty beside the older one.
fn is_split(db: &Db<'_>) -> rusqlite::Result<bool> {
    Ok(has_split(db) && !db.rows("SELECT 1 FROM message WHERE text_data IS NOT NULL LIMIT 1", [])?.is_empty())
}

impl Adapter for Whatsapp {
    fn name(&self) -> &'static str {
        "whatsapp"
    }

    fn title(&self) -> &'static str {
        "WhatsApp"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        Ok(if is_split(db)? {
            Some("message, chat and jid".to_owned())
        } else if whatsapp_older::is_there(db) {
            Some("older, one table of messages".to_owned())
        } else {
            has_split(db).then(|| "message, chat and jid".to_owned())
        })
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        if !is_split(db)? && whatsapp_older::is_there(db) {
            return whatsapp_older::list(db);
        }
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
        if !is_split(db)? && whatsapp_older::is_there(db) {
            return whatsapp_older::read(db, talk, notes);
        }
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
