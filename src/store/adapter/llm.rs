//! simonw's `llm`: a tree of messages (newer), or one row a question with its answer (older). Knows its tables only.

use std::collections::{HashMap, HashSet};

use super::verdict::{Notes, OTHER_BRANCH};
use super::{Adapter, Db, Listed, Said, clock::Clock, content};
use crate::moment::Moment;

pub(super) struct Llm;

const TREE: &str = "message tree";

impl Llm {
    fn has_tree(db: &Db<'_>) -> bool {
        db.tables.has("threads", &["id", "name", "tip_message_hash"])
            && db.tables.has("turns", &["thread_id", "parent_message_hash", "tip_message_hash", "datetime_utc"])
            && db.tables.has("messages", &["hash", "parent_hash", "role"])
            && db.tables.has("parts", &["message_hash", "position", "type", "text"])
    }

    fn has_pairs(db: &Db<'_>) -> bool {
        db.tables.has("conversations", &["id", "name", "model"])
            && db.tables.has("responses", &["id", "prompt", "response", "conversation_id", "datetime_utc"])
    }
}

impl Adapter for Llm {
    fn name(&self) -> &'static str {
        "llm"
    }

    fn title(&self) -> &'static str {
        "llm"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        Ok(match (Self::has_tree(db), Self::has_pairs(db)) {
            (true, _) => Some(TREE.to_owned()),
            (false, true) => Some("prompt and response rows".to_owned()),
            _ => None,
        })
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        if Self::has_pairs(db) {
            // A response that belongs to no conversation is listed, too.
            let sql = "SELECT coalesce(r.conversation_id, ''), c.name, count(*) FROM responses r
                       LEFT JOIN conversations c ON c.id = r.conversation_id
                       GROUP BY 1 ORDER BY min(r.datetime_utc), 1";
            for row in db.rows(sql, [])? {
                let talk = Listed::new(row.words(0), row.text(1), row.count(2) * 2);
                listed.push(Listed { key: format!("pairs {}", talk.id), ..talk });
            }
        }
        if Self::has_tree(db) {
            let sql = "SELECT id, name, (SELECT count(*) FROM turns WHERE thread_id = threads.id) FROM threads
                       ORDER BY datetime_utc, id";
            for row in db.rows(sql, [])? {
                let talk = Listed::new(row.words(0), row.text(1), row.count(2) * 2);
                listed.push(Listed { key: format!("tree {}", talk.id), ..talk });
            }
        }
        Ok(listed)
    }

    fn branches(&self, db: &Db<'_>, talk: &Listed) -> rusqlite::Result<Vec<String>> {
        let Some(("tree", id)) = talk.key.split_once(' ') else { return Ok(Vec::new()) };
        let on: HashSet<String> = walk(db, id, None)?.into_iter().map(|(hash, _)| hash).collect();
        let sql =
            "SELECT parent_message_hash, tip_message_hash FROM turns WHERE thread_id = ?1 ORDER BY datetime_utc, id";
        let rows = db.rows(sql, [id])?;
        let followed: HashSet<String> = rows.iter().map(|row| row.words(0)).collect();
        let mut ends: Vec<String> = Vec::new();
        for end in rows.iter().filter_map(|row| row.text(1)) {
            if !on.contains(&end) && !followed.contains(&end) && !ends.contains(&end) {
                ends.push(end);
            }
        }
        Ok(ends)
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        match talk.key.split_once(' ') {
            Some(("tree", id)) => tree(db, id, talk.branch.as_ref(), notes),
            Some((_, id)) => pairs(db, id, notes),
            None => Ok(Vec::new()),
        }
    }
}

/// Each row is two turns.
fn pairs(db: &Db<'_>, id: &str, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
    let sql = format!(
        "SELECT id, prompt, response, datetime_utc, {} FROM responses WHERE coalesce(conversation_id, '') = ?1
         ORDER BY datetime_utc, id",
        db.tables.or_null("responses", "system")
    );
    let (rows, clock) = db.timed(&sql, [id], 3, "responses.datetime_utc", notes)?;
    let mut said = Vec::new();
    for row in rows {
        let time = clock.read(row.value(3));
        if row.text(4).is_some_and(|system| !system.is_empty()) {
            notes.leave("system prompt");
        }
        for (at, name, speaker) in [(1, "prompt", "user"), (2, "response", "assistant")] {
            let id = format!("{}/{name}", row.words(0));
            said.push(Said { id, speaker: speaker.into(), text: row.words(at), time: time.clone(), session: None });
        }
    }
    Ok(said)
}

/// From the root to the thread's newest message, or to where a branch ends: hashes and roles. Messages are shared between
/// threads.
fn walk(db: &Db<'_>, id: &str, branch: Option<&String>) -> rusqlite::Result<Vec<(String, String)>> {
    let mut path: Vec<(String, String)> = Vec::new();
    let mut seen = HashSet::new();
    let tip = db.rows("SELECT tip_message_hash FROM threads WHERE id = ?1", [id])?;
    let mut next = branch.cloned().or_else(|| tip.first().and_then(|row| row.text(0)));
    while let Some(hash) = next.take().filter(|hash| seen.insert(hash.clone())) {
        let rows = db.rows("SELECT role, parent_hash FROM messages WHERE hash = ?1", [&hash])?;
        let Some(row) = rows.first() else { break };
        next = row.text(1);
        path.push((hash, row.words(0)));
    }
    path.reverse();
    Ok(path)
}

fn tree(db: &Db<'_>, id: &str, branch: Option<&String>, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
    let path = walk(db, id, branch)?;
    let seen: HashSet<String> = path.iter().map(|(hash, _)| hash.clone()).collect();
    let times = times(db, id, &seen, notes)?;
    let mut said = Vec::new();
    for (hash, role) in path {
        let Some(speaker) = content::speaker(&role) else {
            notes.leave(content::no_talk(&role));
            continue;
        };
        let time = times.get(&hash).cloned().unwrap_or_default();
        said.push(Said { text: text(db, &hash)?, id: hash, speaker: speaker.into(), time, session: None });
    }
    Ok(said)
}

/// A turn of the table has the time of its question and of its answer.
fn times(
    db: &Db<'_>,
    thread: &str,
    walked: &HashSet<String>,
    notes: &mut Notes,
) -> rusqlite::Result<HashMap<String, Moment>> {
    let sql = "SELECT parent_message_hash, tip_message_hash, datetime_utc FROM turns WHERE thread_id = ?1
               ORDER BY datetime_utc, id";
    let rows = db.rows(sql, [thread])?;
    let clock = Clock::of(&rows, 2, "turns.datetime_utc", notes);
    let mut times = HashMap::new();
    for row in rows {
        for at in [0, 1] {
            times.entry(row.words(at)).or_insert_with(|| clock.read(row.value(2)));
        }
        if !walked.contains(&row.words(1)) {
            notes.branches += 1;
            notes.leave(OTHER_BRANCH);
        }
    }
    Ok(times)
}

fn text(db: &Db<'_>, hash: &str) -> rusqlite::Result<String> {
    let fragments = db.tables.has("part_fragments", &["part_id", "fragment_id", "order"])
        && db.tables.has("fragments", &["id", "content"]);
    let sql = "SELECT id, text FROM parts WHERE message_hash = ?1 AND type = 'text' ORDER BY position";
    let mut texts = Vec::new();
    for row in db.rows(sql, [hash])? {
        if fragments {
            let sql = "SELECT content FROM part_fragments JOIN fragments ON fragments.id = fragment_id
                       WHERE part_id = ?1 ORDER BY \"order\"";
            texts.extend(db.rows(sql, [row.number(0)])?.iter().filter_map(|row| row.text(0)));
        }
        texts.extend(row.text(1).filter(|text| !text.is_empty()));
    }
    Ok(texts.join("\n"))
}
