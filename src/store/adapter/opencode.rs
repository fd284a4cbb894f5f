//! opencode: projects with sessions; a message is made of parts. Knows its tables only.

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};

pub(super) struct Opencode;

impl Adapter for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "opencode"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let known = db.tables.has("session", &["id", "project_id", "directory", "time_created"])
            && db.tables.has("message", &["id", "session_id", "time_created", "data"])
            && db.tables.has("part", &["id", "message_id", "data"]);
        Ok(known.then(|| "session, message and part".to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql = "SELECT s.directory, count(*) FROM session s JOIN message m ON m.session_id = s.id
                   GROUP BY s.directory ORDER BY min(s.time_created), s.directory";
        Ok(db.rows(sql, [])?.iter().map(|row| Listed::new(row.words(0), None, row.count(1))).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let sql = format!(
            "SELECT m.id, m.session_id, m.time_created, m.data, {} FROM session s JOIN message m ON m.session_id = s.id
             WHERE s.directory = ?1 ORDER BY s.time_created, s.id, m.time_created, m.id",
            if db.tables.has_column("session", "parent_id") { "s.parent_id" } else { "NULL" }
        );
        let (rows, clock) = db.timed(&sql, [&talk.key], 2, "message.time_created", notes)?;
        let mut said = Vec::new();
        for row in rows {
            if row.text(4).is_some_and(|parent| !parent.is_empty()) {
                notes.leave("in a sub-agent's session");
                continue;
            }
            let role = row.json(3).map(|data| content::string(&data, "role")).unwrap_or_default();
            let Some(speaker) = content::speaker(&role) else {
                notes.leave(content::no_talk(&role));
                continue;
            };
            let mut texts = Vec::new();
            for part in db.rows("SELECT data FROM part WHERE message_id = ?1 ORDER BY id", [row.words(0)])? {
                let Some(data) = part.json(0) else { continue };
                let flag = |name: &str| data.get(name).and_then(Value::as_bool) == Some(true);
                if content::string(&data, "type") == "text" && !flag("synthetic") && !flag("ignored") {
                    texts.push(content::string(&data, "text"));
                }
            }
            if texts.is_empty() {
                notes.leave("message of tool calls or reasoning only");
                continue;
            }
            said.push(Said {
                id: row.words(0),
                session: row.text(1),
                speaker: speaker.to_owned(),
                text: texts.join("\n"),
                time: clock.read(row.value(2)),
            });
        }
        Ok(said)
    }
}
