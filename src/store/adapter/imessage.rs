//! Apple's iMessage: chats, handles, and text that may lie in an archived object only. Knows its tables and that
//! archive's beginning.

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, clock::Clock};

pub(super) struct Imessage;

/// Tapbacks: reactions that are stored as messages.
const TAPBACKS: std::ops::RangeInclusive<i64> = 2000..=3007;

impl Adapter for Imessage {
    fn name(&self) -> &'static str {
        "imessage"
    }

    fn title(&self) -> &'static str {
        "iMessage"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let known = db.tables.has("message", &["guid", "text", "handle_id", "date", "is_from_me"])
            && db.tables.has("chat", &["guid", "chat_identifier"])
            && db.tables.has("handle", &["id"])
            && db.tables.has("chat_message_join", &["chat_id", "message_id"]);
        let body = db.tables.has_column("message", "attributedbody");
        Ok(known.then(|| if body { "with attributedBody" } else { "text only" }.to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql = format!(
            "SELECT c.ROWID, c.guid, {}, count(*) FROM chat c JOIN chat_message_join j ON j.chat_id = c.ROWID
             GROUP BY c.ROWID ORDER BY c.ROWID",
            if db.tables.has_column("chat", "display_name") { "c.display_name" } else { "NULL" }
        );
        let talk = |row: &super::rows::Cells| Listed {
            key: row.words(0),
            ..Listed::new(row.words(1), row.text(2), row.count(3))
        };
        Ok(db.rows(&sql, [])?.iter().map(talk).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let column = |name| match db.tables.has_column("message", name) {
            true => format!("m.{name}"),
            false => "NULL".to_owned(),
        };
        let sql = format!(
            "SELECT m.guid, m.text, {}, h.id, m.date, m.is_from_me, {}, {} FROM chat_message_join j
             JOIN message m ON m.ROWID = j.message_id LEFT JOIN handle h ON h.ROWID = m.handle_id
             WHERE j.chat_id = CAST(?1 AS INTEGER) GROUP BY m.ROWID ORDER BY m.date, m.ROWID",
            column("attributedbody"),
            column("item_type"),
            column("associated_message_type")
        );
        let rows = db.rows(&sql, [&talk.key])?;
        let mut dates: Vec<f64> = rows.iter().filter_map(|row| row.number(4)).map(|date| date as f64).collect();
        let (clock, words) = Clock::guess_apple(&mut dates);
        notes.guess(format!("message.date: {words}"));
        let mut said = Vec::new();
        for row in rows {
            if row.number(7).is_some_and(|kind| TAPBACKS.contains(&kind)) {
                notes.leave("tapback");
                continue;
            }
            if row.number(6).unwrap_or(0) != 0 {
                notes.leave("group event");
                continue;
            }
            let text = row.text(1).filter(|text| !text.is_empty());
            let Some(text) = text.or_else(|| archived(row.bytes(2))) else {
                notes.leave("message without text (attachment, or an archive of another form)");
                continue;
            };
            let other = || row.text(3).unwrap_or_else(|| "unknown".to_owned());
            said.push(Said {
                id: row.words(0),
                session: None,
                speaker: if row.truth(5) == Some(true) { "me".to_owned() } else { other() },
                // Attachments stand in the text as one character that shows nothing.
                text: text.replace('\u{fffc}', ""),
                time: clock.read(row.value(4)),
            });
        }
        Ok(said)
    }
}

/// The string of an archived attributed string: after the class name, `+` and a length, which is one byte, or 0x81
/// and two, or 0x82 and four, the lowest first.
fn archived(bytes: &[u8]) -> Option<String> {
    const CLASS: &[u8] = b"NSString";
    let at = bytes.windows(CLASS.len()).position(|window| window == CLASS)?;
    let rest = bytes.get(at + CLASS.len()..)?;
    let plus = rest.iter().take(16).position(|byte| *byte == b'+')?;
    let rest = rest.get(plus + 1..)?;
    let (kind, rest) = rest.split_first()?;
    let width = match kind {
        0x81 => 2,
        0x82 => 4,
        _ => 0,
    };
    let length = match width {
        0 => usize::from(*kind),
        _ => rest.get(..width)?.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
    };
    let text = rest.get(width..width.checked_add(length)?)?;
    std::str::from_utf8(text).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::archived;

    #[test]
    fn the_text_of_an_archive_is_found_at_every_length() {
        let archive = |head: &[u8], text: &str| {
            let parts: [&[u8]; 4] =
                [b"\x04\x0bstreamtyped\x84NSString\x01\x94\x84\x01+", head, text.as_bytes(), b"\x86"];
            parts.concat()
        };
        let long = "ß".repeat(100);
        assert_eq!(archived(&archive(&[2], "hi")).as_deref(), Some("hi"));
        assert_eq!(archived(&archive(&[0x81, 200, 0], &long)).as_deref(), Some(long.as_str()));
        assert_eq!(archived(&archive(&[0x82, 200, 0, 0, 0], &long)).as_deref(), Some(long.as_str()));
        assert_eq!(archived(&archive(&[0x82, 255, 255, 255, 255], &long)), None);
        assert_eq!(archived(b"NSString"), None);
        assert_eq!(archived(b""), None);
    }
}
