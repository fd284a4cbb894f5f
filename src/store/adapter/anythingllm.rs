//! AnythingLLM: workspaces with threads; one row holds a question and its answer. Knows its tables only.

use serde_json::Value;

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};

pub(super) struct AnythingLlm;

impl Adapter for AnythingLlm {
    fn name(&self) -> &'static str {
        "anythingllm"
    }

    fn title(&self) -> &'static str {
        "AnythingLLM"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let chats = db.tables.has("workspace_chats", &["id", "workspaceid", "prompt", "response", "include"]);
        let threads = db.tables.has("workspace_threads", &["id", "slug"]);
        let words = if threads { "workspaces with threads" } else { "workspaces" };
        Ok((chats && db.tables.has("workspaces", &["id", "name"])).then(|| words.to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql =
            "SELECT w.id, w.slug, w.name, count(*) FROM workspaces w JOIN workspace_chats c ON c.workspaceId = w.id
                   GROUP BY w.id ORDER BY w.id";
        let sql =
            if db.tables.has_column("workspaces", "slug") { sql.to_owned() } else { sql.replace("w.slug", "w.id") };
        let talk = |row: &super::rows::Cells| Listed {
            key: row.words(0),
            ..Listed::new(row.words(1), row.text(2), row.count(3) * 2)
        };
        Ok(db.rows(&sql, [])?.iter().map(talk).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let column = |name| match db.tables.has_column("workspace_chats", name) {
            true => format!("c.{name}"),
            false => "NULL".to_owned(),
        };
        let threads =
            db.tables.has("workspace_threads", &["id", "slug"]) && db.tables.has_column("workspace_chats", "thread_id");
        let (thread, join) = match threads {
            true => ("t.slug", "LEFT JOIN workspace_threads t ON t.id = c.thread_id"),
            false => ("NULL", ""),
        };
        let sql = format!(
            "SELECT c.id, c.prompt, c.response, c.include, {}, {thread}, {}, {} FROM workspace_chats c {join}
             WHERE c.workspaceId = ?1 ORDER BY c.id",
            column("createdat"),
            column("api_session_id"),
            column("thread_id")
        );
        let (rows, clock) = db.timed(&sql, [&talk.key], 4, "workspace_chats.createdAt", notes)?;
        let mut said = Vec::new();
        for row in rows {
            if row.truth(3) == Some(false) {
                notes.leave_some("hidden from the model (include is false)", 2);
                continue;
            }
            let session = row.text(6).or(row.text(5)).or(row.text(7)).unwrap_or_else(|| "default".to_owned());
            let answer = match row.json(2) {
                Some(response @ Value::Object(_)) => content::string(&response, "text"),
                Some(Value::String(text)) => text,
                _ => row.words(2),
            };
            let time = clock.read(row.value(4));
            for (name, speaker, text) in [("prompt", "user", row.words(1)), ("response", "assistant", answer)] {
                said.push(Said {
                    id: format!("{}/{name}", row.words(0)),
                    session: Some(session.clone()),
                    speaker: speaker.to_owned(),
                    text,
                    time: time.clone(),
                });
            }
        }
        Ok(said)
    }
}
