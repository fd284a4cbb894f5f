//! Zed's agent threads: one row a thread, its talk as JSON, mostly compressed. Knows its table and both forms of the
//! JSON.

use std::io::Read;

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};
use crate::moment::Moment;

pub(super) struct Zed;

/// The longest thread that is unpacked.
const LARGEST: u64 = 256 << 20;

impl Adapter for Zed {
    fn name(&self) -> &'static str {
        "zed"
    }

    fn title(&self) -> &'static str {
        "Zed"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let known = db.tables.has("threads", &["id", "summary", "updated_at", "data_type", "data"]);
        Ok(known.then(|| "threads".to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql = "SELECT id, summary FROM threads ORDER BY updated_at, id";
        Ok(db.rows(sql, [])?.iter().map(|row| Listed::new(row.words(0), row.text(1), 1)).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let sql = format!(
            "SELECT data_type, data, coalesce({}, updated_at) FROM threads WHERE id = ?1",
            db.tables.or_null("threads", "created_at")
        );
        let rows = db.rows(&sql, [&talk.key])?;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let json = match row.words(0).as_str() {
            "zstd" => unpacked(row.bytes(1)).and_then(|bytes| serde_json::from_slice(&bytes).ok()),
            _ => row.json(1),
        };
        let Some(json): Option<Value> = json else {
            notes.leave("thread that cannot be unpacked");
            return Ok(Vec::new());
        };
        notes.guess("times: the store keeps none of turns, each turn has its thread's");
        let time = Moment::read(&row.words(2));
        let mut said = Vec::new();
        for (place, message) in json.get("messages").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let (role, blocks) = match (message.get("User"), message.get("Agent")) {
                (Some(user), _) => ("user".to_owned(), user.get("content")),
                (_, Some(agent)) => ("assistant".to_owned(), agent.get("content")),
                _ => (content::string(message, "role"), message.get("segments")),
            };
            let Some(speaker) = content::speaker(&role) else {
                notes.leave(if role.is_empty() { "marker without text".to_owned() } else { content::no_talk(&role) });
                continue;
            };
            let named = message.pointer("/User/id").and_then(Value::as_str).map(str::to_owned);
            let texts = blocks.and_then(Value::as_array).into_iter().flatten().map(|block| {
                let newer = content::string(block, "Text");
                if newer.is_empty() { content::text(block) } else { newer }
            });
            said.push(Said {
                id: named.unwrap_or_else(|| format!("m{}", place + 1)),
                session: None,
                speaker: speaker.to_owned(),
                text: texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
                time: time.clone(),
            });
        }
        Ok(said)
    }
}

fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(bytes).ok()?;
    let mut out = Vec::new();
    decoder.take(LARGEST).read_to_end(&mut out).ok()?;
    Some(out)
}
