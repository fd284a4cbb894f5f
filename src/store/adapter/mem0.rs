//! mem0's history database: messages that were learnt from, and the facts made of them. Knows its tables only.

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};

pub(super) struct Mem0;

/// The id under which the facts are listed.
const FACTS: &str = "facts";

impl Adapter for Mem0 {
    fn name(&self) -> &'static str {
        "mem0"
    }

    fn title(&self) -> &'static str {
        "mem0"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let history = db.tables.has("history", &["id", "memory_id", "old_memory", "new_memory", "event"]);
        let messages = db.tables.has("messages", &["session_scope", "role", "content"]);
        Ok(history.then(|| if messages { "history and messages" } else { "history" }.to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        if db.tables.has("messages", &["session_scope", "role", "content"]) {
            let sql = "SELECT session_scope, count(*) FROM messages GROUP BY session_scope ORDER BY min(rowid)";
            for row in db.rows(sql, [])? {
                let talk = Listed::new(row.words(0), None, row.count(1));
                listed.push(Listed { key: format!("talk {}", talk.id), ..talk });
            }
        }
        let facts = db.rows("SELECT count(*) FROM history", [])?.first().map_or(0, |row| row.count(0));
        if facts > 0 {
            let title = Some("facts that mem0 keeps".to_owned());
            listed.push(Listed { key: FACTS.to_owned(), id: FACTS.to_owned(), title, rows: facts, branch: None });
        }
        Ok(listed)
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        if talk.key == FACTS {
            return facts(db, notes);
        }
        let scope = talk.key.strip_prefix("talk ").unwrap_or(&talk.key);
        let column = |name| db.tables.or_null("messages", name);
        let sql = format!(
            "SELECT id, role, content, {}, {} FROM messages WHERE coalesce(session_scope, '') = ?1 ORDER BY 4, rowid",
            column("created_at"),
            column("name")
        );
        let (rows, clock) = db.timed(&sql, [scope], 3, "messages.created_at", notes)?;
        let mut said = Vec::new();
        for row in rows {
            let role = row.words(1);
            let Some(speaker) = content::speaker(&role) else {
                notes.leave(content::no_talk(&role));
                continue;
            };
            let speaker = row.text(4).filter(|name| !name.is_empty()).unwrap_or_else(|| speaker.to_owned());
            let time = clock.read(row.value(3));
            said.push(Said { id: row.words(0), speaker, text: row.words(2), time, session: None });
        }
        Ok(said)
    }
}

/// Every version of every fact is a turn, so that a question shows which one would be found.
fn facts(db: &Db<'_>, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
    let column = |name| db.tables.or_null("history", name);
    let sql = format!(
        "SELECT id, new_memory, event, coalesce({}, {}), coalesce({}, {}) FROM history ORDER BY 4, rowid",
        column("updated_at"),
        column("created_at"),
        column("actor_id"),
        column("role")
    );
    let (rows, clock) = db.timed(&sql, [], 3, "history.created_at and updated_at", notes)?;
    let mut said = Vec::new();
    for row in rows {
        if row.words(2) == "DELETE" {
            notes.leave("fact that was deleted");
            continue;
        }
        let speaker = row.text(4).unwrap_or_else(|| "memory".to_owned());
        said.push(Said {
            id: row.words(0),
            speaker,
            text: row.words(1),
            time: clock.read(row.value(3)),
            session: None,
        });
    }
    Ok(said)
}
