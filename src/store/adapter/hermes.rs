//! Hermes agent: sessions that a compression splits into a chain, rows that were taken back. Knows its tables only.

use std::collections::{HashMap, HashSet};

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};

pub(super) struct Hermes;

/// Id, parent, title and rows of a session.
type Session = (String, Option<String>, Option<String>, usize);

/// Sessions in the order in which they began.
fn sessions(db: &Db<'_>) -> rusqlite::Result<Vec<Session>> {
    let sql = format!(
        "SELECT id, parent_session_id, {}, (SELECT count(*) FROM messages WHERE session_id = sessions.id)
         FROM sessions ORDER BY started_at, id",
        db.tables.or_null("sessions", "title")
    );
    Ok(db.rows(&sql, [])?.iter().map(|row| (row.words(0), row.text(1), row.text(2), row.count(3))).collect())
}

/// The session in which a chain began.
fn root(id: &str, parents: &HashMap<String, String>) -> String {
    let mut at = id.to_owned();
    let mut seen = HashSet::new();
    while let Some(parent) = parents.get(&at).filter(|_| seen.insert(at.clone())) {
        at = parent.clone();
    }
    at
}

fn parents(sessions: &[Session]) -> HashMap<String, String> {
    let known: HashSet<&str> = sessions.iter().map(|(id, ..)| id.as_str()).collect();
    let with_parent = sessions.iter().filter_map(|(id, parent, ..)| Some((id.clone(), parent.clone()?)));
    with_parent.filter(|(_, parent)| known.contains(parent.as_str())).collect()
}

impl Adapter for Hermes {
    fn name(&self) -> &'static str {
        "hermes"
    }

    fn title(&self) -> &'static str {
        "Hermes agent"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let known = db.tables.has("sessions", &["id", "source", "parent_session_id", "started_at"])
            && db.tables.has("messages", &["id", "session_id", "role", "content", "timestamp", "tool_calls"]);
        if !known {
            return Ok(None);
        }
        let version = match db.tables.has("schema_version", &["version"]) {
            true => db.rows("SELECT max(version) FROM schema_version", [])?.first().and_then(|row| row.number(0)),
            false => None,
        };
        Ok(Some(version.map_or_else(|| "schema of unknown version".to_owned(), |number| format!("schema {number}"))))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sessions = sessions(db)?;
        let parents = parents(&sessions);
        let mut listed: Vec<Listed> = Vec::new();
        for (id, _, title, rows) in &sessions {
            let root = root(id, &parents);
            match listed.iter_mut().find(|talk| talk.key == root) {
                Some(talk) => talk.rows += rows,
                None => listed.push(Listed::new(root, title.clone(), *rows)),
            }
        }
        Ok(listed)
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let sessions = sessions(db)?;
        let parents = parents(&sessions);
        let chain: Vec<&String> =
            sessions.iter().map(|(id, ..)| id).filter(|id| root(id, &parents) == talk.key).collect();
        let column = |name| db.tables.or_null("messages", name);
        let sql = format!(
            "SELECT id, role, content, timestamp, {}, {}, {} FROM messages WHERE session_id = ?1 ORDER BY timestamp, id",
            column("active"),
            column("compacted"),
            column("display_kind")
        );
        let mut said = Vec::new();
        for session in &chain {
            let (rows, clock) = db.timed(&sql, [session], 3, "messages.timestamp", notes)?;
            for row in rows {
                let role = row.words(1);
                let Some(speaker) = content::speaker(&role) else {
                    notes.leave(content::no_talk(&role));
                    continue;
                };
                if row.truth(4) == Some(false) && row.truth(5) != Some(true) {
                    notes.leave("taken back by the user (active is 0)");
                    continue;
                }
                if row.words(6) == "hidden" {
                    notes.leave("scaffolding (display_kind is hidden)");
                    continue;
                }
                said.push(Said {
                    id: row.words(0),
                    // A chain of one session has none below the conversation.
                    session: (chain.len() > 1).then(|| (*session).clone()),
                    speaker: speaker.to_owned(),
                    text: row.words(2),
                    time: clock.read(row.value(3)),
                });
            }
        }
        Ok(said)
    }
}
