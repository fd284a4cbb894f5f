//! OpenAI Agents SDK: SQLiteSession, and AdvancedSQLiteSession with branches. Knows its tables only; those have names
//! that a program may choose, so the columns tell.

use super::langchain::quoted;
use super::verdict::{Notes, OTHER_BRANCH};
use super::{Adapter, Db, Listed, Said, clock::Clock, content};

pub(super) struct OpenaiAgents;

const MAIN: &str = "main";

fn table(db: &Db<'_>) -> Option<String> {
    db.tables.with(&["id", "session_id", "message_data", "created_at"]).next().map(str::to_owned)
}

fn is_branched(db: &Db<'_>) -> bool {
    db.tables.has("message_structure", &["session_id", "message_id", "branch_id", "sequence_number"])
}

/// The branch on which a session stands, and the others, oldest end first.
fn ends(db: &Db<'_>, talk: &Listed) -> rusqlite::Result<(Option<String>, Vec<String>)> {
    let sql = "SELECT branch_id, max(sequence_number) FROM message_structure WHERE session_id = ?1
               GROUP BY branch_id ORDER BY 2";
    let mut branches: Vec<String> = db.rows(sql, [&talk.key])?.iter().map(|row| row.words(0)).collect();
    let main = branches.iter().find(|name| *name == MAIN).or(branches.last()).cloned();
    branches.retain(|name| Some(name) != main.as_ref());
    Ok((main, branches))
}

impl Adapter for OpenaiAgents {
    fn name(&self) -> &'static str {
        "openai-agents"
    }

    fn title(&self) -> &'static str {
        "OpenAI Agents SDK"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let kind = if is_branched(db) { "AdvancedSQLiteSession" } else { "SQLiteSession" };
        Ok(table(db).map(|_| kind.to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let Some(table) = table(db) else { return Ok(Vec::new()) };
        let sql = format!("SELECT session_id, count(*) FROM {} GROUP BY session_id ORDER BY min(id)", quoted(&table));
        Ok(db.rows(&sql, [])?.iter().map(|row| Listed::new(row.words(0), None, row.count(1))).collect())
    }

    fn branches(&self, db: &Db<'_>, talk: &Listed) -> rusqlite::Result<Vec<String>> {
        Ok(if is_branched(db) { ends(db, talk)?.1 } else { Vec::new() })
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        let Some(table) = table(db).map(|name| quoted(&name)) else { return Ok(Vec::new()) };
        let all = db.rows(
            &format!("SELECT id, message_data, created_at FROM {table} WHERE session_id = ?1 ORDER BY id"),
            [&talk.key],
        )?;
        let clock = Clock::of(&all, 2, "created_at", notes);
        let rows = match is_branched(db) {
            false => all,
            true => {
                let (main, beside) = ends(db, talk)?;
                let branch = talk.branch.clone().or(main).unwrap_or_default();
                let sql = format!(
                    "SELECT m.id, m.message_data, m.created_at FROM message_structure s JOIN {table} m
                     ON m.id = s.message_id WHERE s.session_id = ?1 AND s.branch_id = ?2
                     GROUP BY m.id ORDER BY min(s.sequence_number)"
                );
                let rows = db.rows(&sql, [&talk.key, &branch])?;
                notes.branches += beside.len();
                notes.leave_some(OTHER_BRANCH, all.len().saturating_sub(rows.len()));
                rows
            }
        };
        let mut said = Vec::new();
        for row in rows {
            let Some(item) = row.json(1) else {
                notes.leave("message is not JSON");
                continue;
            };
            if item.get("__enc__").is_some() {
                notes.leave("encrypted message (EncryptedSession)");
                continue;
            }
            let (kind, role) = (content::string(&item, "type"), content::string(&item, "role"));
            let Some(speaker) = content::speaker(&role) else {
                let reason = match kind.as_str() {
                    "function_call" => "tool call".to_owned(),
                    "function_call_output" => "tool result".to_owned(),
                    "reasoning" => "reasoning".to_owned(),
                    _ => content::no_talk(&role),
                };
                notes.leave(reason);
                continue;
            };
            let text = item.get("content").map(content::text).unwrap_or_default();
            let time = clock.read(row.value(2));
            said.push(Said { id: row.words(0), speaker: speaker.into(), text, time, session: None });
        }
        Ok(said)
    }
}
