//! Cursor: keys and JSON values; a composer names its bubbles in order. Knows its global table; what older versions wrote is
//! read elsewhere.

use std::collections::HashMap;

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, clock::Clock, content, cursor_older};

pub(super) struct Cursor;

const TABLE: &str = "cursordiskkv";

/// All keys with this beginning, in the order in which they were stored.
fn with_prefix(db: &Db<'_>, prefix: &str) -> rusqlite::Result<Vec<super::rows::Cells>> {
    // The character after `:` in ASCII ends the range, so that the key's index is used.
    let end = format!("{};", prefix.strip_suffix(':').unwrap_or(prefix));
    db.rows("SELECT key, value FROM cursorDiskKV WHERE key >= ?1 AND key < ?2 ORDER BY rowid", [prefix, &end])
}

fn has_table(db: &Db<'_>) -> bool {
    db.tables.has(TABLE, &["key", "value"])
}

/// True when the global state holds a composer: a workspace can have the table empty.
fn is_global(db: &Db<'_>) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' LIMIT 1";
    Ok(has_table(db) && !db.rows(sql, [])?.is_empty())
}

impl Adapter for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn title(&self) -> &'static str {
        "Cursor"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        Ok(if is_global(db)? {
            Some("global state, composers and bubbles".to_owned())
        } else if cursor_older::is_there(db)? {
            Some("older, tabs and composers of a workspace".to_owned())
        } else {
            has_table(db).then(|| "global state, composers and bubbles".to_owned())
        })
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        if !is_global(db)? {
            return if cursor_older::is_there(db)? { cursor_older::list(db) } else { Ok(Vec::new()) };
        }
        let mut listed = Vec::new();
        for row in with_prefix(db, "composerData:")? {
            let Some(data) = row.json(1) else { continue };
            let id = row.words(0).trim_start_matches("composerData:").to_owned();
            let headers = data.get("fullConversationHeadersOnly").and_then(Value::as_array).map_or(0, Vec::len);
            let inline = data.get("conversation").and_then(Value::as_array).map_or(0, Vec::len);
            listed.push(Listed::new(id, Some(content::string(&data, "name")), headers.max(inline)));
        }
        Ok(listed)
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        if !is_global(db)? {
            return cursor_older::read(db, talk, notes);
        }
        let rows = db.rows("SELECT value FROM cursorDiskKV WHERE key = ?1", [format!("composerData:{}", talk.key)])?;
        let composer = rows.first().and_then(|row| row.json(0)).unwrap_or_default();
        let list = |name: &str| composer.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let prefix = format!("bubbleId:{}:", talk.key);
        let mut bubbles: Vec<(String, Option<Value>)> = Vec::new();
        for row in with_prefix(db, &prefix)? {
            bubbles.push((row.words(0).trim_start_matches(&prefix).to_owned(), row.json(1)));
        }
        // Older versions keep the bubbles in the composer itself.
        bubbles.extend(
            list("conversation").into_iter().map(|bubble| (content::string(&bubble, "bubbleId"), Some(bubble))),
        );
        let headers = list("fullConversationHeadersOnly");
        if !headers.is_empty() {
            let mut places = HashMap::new();
            for (place, header) in headers.iter().enumerate() {
                places.entry(content::string(header, "bubbleId")).or_insert(place);
            }
            let place = |(key, bubble): &(String, Option<Value>)| {
                let inner = bubble.as_ref().and_then(|bubble| bubble.get("bubbleId")).and_then(Value::as_str);
                places.get(inner.unwrap_or(key)).or_else(|| places.get(key)).copied()
            };
            let before = bubbles.len();
            bubbles.retain(|bubble| place(bubble).is_some());
            notes.leave_some("not in the conversation's own list (undone)", before - bubbles.len());
            bubbles.sort_by_key(place);
        }
        let mut said = Vec::new();
        for (id, bubble) in bubbles {
            let Some(bubble) = bubble else {
                notes.leave("empty value");
                continue;
            };
            let text = content::string(&bubble, "text");
            let speaker = match bubble.get("type").and_then(Value::as_i64) {
                Some(1) => "user",
                Some(2) => "assistant",
                _ => {
                    notes.leave("bubble of an unknown type");
                    continue;
                }
            };
            if text.trim().is_empty() && bubble.get("toolFormerData").is_some() {
                notes.leave("tool call");
                continue;
            }
            let clock = Clock::guess(&mut [bubble.get("createdAt").and_then(Value::as_f64).unwrap_or(0.0)], false).0;
            let time = clock.read_json(bubble.get("createdAt"));
            said.push(Said { id, speaker: speaker.into(), text, time, session: None });
        }
        Ok(said)
    }
}
