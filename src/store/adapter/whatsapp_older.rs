//! WhatsApp on Android before its tables were split up: one table of messages, chats by their address. Knows that table only.

use super::rows::Cells;
use super::verdict::Notes;
use super::{Db, Listed, Said};

const TABLE: &str = "messages";
/// The status of what the program wrote itself.
const SYSTEM: i64 = 6;

/// True when the table is there.
pub(super) fn is_there(db: &Db<'_>) -> bool {
    db.tables.has(TABLE, &["_id", "key_remote_jid", "key_from_me", "timestamp", "data"])
}

/// The chats, with their names where a list of them is there.
pub(super) fn list(db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
    let named = db.tables.has("chat_list", &["key_remote_jid", "subject"]);
    let subject = match named {
        true => "(SELECT c.subject FROM chat_list c WHERE c.key_remote_jid = m.key_remote_jid LIMIT 1)",
        false => "NULL",
    };
    // The first row of the table belongs to no chat.
    let sql = format!(
        "SELECT m.key_remote_jid, {subject}, count(*) FROM messages m
         WHERE m.key_remote_jid IS NOT NULL AND m.key_remote_jid <> '-1' GROUP BY 1 ORDER BY min(m._id)"
    );
    let talk = |row: &Cells| Listed::new(row.words(0), row.text(1), row.count(2));
    Ok(db.rows(&sql, [])?.iter().map(talk).collect())
}

/// The messages of a chat.
pub(super) fn read(db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
    let column = |name| db.tables.or_null(TABLE, name);
    let sql = format!(
        "SELECT coalesce({}, _id), data, timestamp, key_from_me, {}, {}, {}, key_remote_jid FROM messages
         WHERE key_remote_jid = ?1 ORDER BY timestamp, _id",
        column("key_id"),
        column("status"),
        column("media_caption"),
        column("remote_resource")
    );
    let (rows, clock) = db.timed(&sql, [&talk.key], 2, "messages.timestamp", notes)?;
    let mut said = Vec::new();
    for row in rows {
        // Pictures and films have what is said of them in a column of its own, and their preview in the other.
        let caption = row.words(5);
        let text = if caption.trim().is_empty() { row.words(1) } else { caption };
        if row.number(4) == Some(SYSTEM) {
            notes.leave("notice of the program");
        } else if text.trim().is_empty() {
            notes.leave("message without text (media, deleted, call)");
        } else {
            // In a group, the sender stands beside the group's address.
            let address = row.text(6).filter(|jid| !jid.is_empty()).unwrap_or_else(|| row.words(7));
            let other = address.split('@').next().filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned();
            said.push(Said {
                id: row.words(0),
                session: None,
                speaker: if row.truth(3) == Some(true) { "me".to_owned() } else { other },
                text,
                time: clock.read(row.value(2)),
            });
        }
    }
    Ok(said)
}
