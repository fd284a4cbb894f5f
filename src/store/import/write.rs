//! Histories to rows of a memsift database. Knows the tables; runs inside a transaction of its caller and writes
//! nothing when the rows are there already.

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::super::{hex, read};
use crate::history::{Conversation, Question};
use crate::moment::Moment;

/// What became of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The database had exactly this.
    Same,
    /// It is new.
    New,
    /// It took the place of another of the same id.
    Replaced,
}

/// Store a conversation with its own questions. Questions attached to an older version of it stay.
pub(super) fn put(connection: &Connection, talk: &Conversation) -> rusqlite::Result<Outcome> {
    let digest = digest(talk);
    let known: Option<(i64, String)> = connection
        .prepare_cached("SELECT key, digest FROM conversation WHERE id = ?1")?
        .query_row([&talk.id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let mut carried = Vec::new();
    if let Some((key, old)) = &known {
        if *old == digest {
            return Ok(Outcome::Same);
        }
        carried = carry(connection, *key, talk)?;
        connection.prepare_cached("DELETE FROM conversation WHERE key = ?1")?.execute([key])?;
    }
    let (first, last) = (talk.sessions.first(), talk.sessions.last());
    let time = |session: Option<&crate::history::Session>| session.map_or(String::new(), |known| known.time.store());
    connection
        .prepare_cached(
            "INSERT INTO conversation (key, id, title, sessions, turns, words, questions, first, last, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            known.as_ref().map(|(key, _)| key),
            talk.id,
            talk.title,
            int(talk.sessions.len()),
            int(talk.turns.len()),
            int(talk.words()),
            int(talk.questions.len() + carried.len()),
            time(first),
            time(last),
            digest,
        ])?;
    let key = connection.last_insert_rowid();
    put_sessions(connection, key, talk)?;
    put_turns(connection, key, talk)?;
    for (place, question) in talk.questions.iter().enumerate() {
        put_question(connection, key, talk, int(place), question, false)?;
    }
    for (place, question) in (talk.questions.len()..).zip(&carried) {
        put_question(connection, key, talk, int(place), question, true)?;
    }
    Ok(if known.is_some() { Outcome::Replaced } else { Outcome::New })
}

/// Store a question of a conversation that is in the database; `talk` is what the database holds of it. One of the
/// same id is replaced. False when it was there already.
pub(super) fn attach(connection: &Connection, talk: &Conversation, question: &Question) -> rusqlite::Result<bool> {
    if talk.questions.contains(question) {
        return Ok(false);
    }
    let key: i64 = connection
        .prepare_cached("SELECT key FROM conversation WHERE id = ?1")?
        .query_row([&talk.id], |row| row.get(0))?;
    let place: Option<i64> = connection
        .prepare_cached("SELECT place FROM question WHERE conversation = ?1 AND id = ?2")?
        .query_row(params![key, question.id], |row| row.get(0))
        .optional()?;
    connection
        .prepare_cached("DELETE FROM question WHERE conversation = ?1 AND id = ?2")?
        .execute(params![key, question.id])?;
    let place = place.unwrap_or(int(talk.questions.len()));
    put_question(connection, key, talk, place, question, true)?;
    connection
        .prepare_cached(
            "UPDATE conversation SET questions = (SELECT count(*) FROM question WHERE conversation = ?1) WHERE key = ?1",
        )?
        .execute([key])?;
    Ok(true)
}

/// Remember the file.
pub(super) fn put_import(connection: &Connection, file: &str, sha256: &str, format: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO import (file, sha256, format) VALUES (?1, ?2, ?3)")?
        .execute([file, sha256, format])
        .map(drop)
}

/// Attached questions of the version that is about to go, with their gold found again by turn id. Those that the new
/// version has of its own are left to it.
fn carry(connection: &Connection, key: i64, talk: &Conversation) -> rusqlite::Result<Vec<Question>> {
    let ids = read::attached_ids(connection, key)?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let Some(old) = read::conversation(connection, &talk.id)? else { return Ok(Vec::new()) };
    let mut carried = Vec::new();
    for mut question in old.questions {
        if !ids.contains(&question.id) || talk.questions.iter().any(|own| own.id == question.id) {
            continue;
        }
        let turns = question.gold.iter().filter_map(|at| old.turns.get(*at));
        question.gold = turns.filter_map(|turn| talk.turn_by_id(&turn.id)).collect();
        question.gold.sort_unstable();
        carried.push(question);
    }
    Ok(carried)
}

fn put_sessions(connection: &Connection, key: i64, talk: &Conversation) -> rusqlite::Result<()> {
    let mut statement = connection
        .prepare_cached("INSERT INTO session (conversation, place, id, number, time) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (place, session) in talk.sessions.iter().enumerate() {
        statement.execute(params![key, int(place), session.id, session.number, session.time.store()])?;
    }
    Ok(())
}

fn put_turns(connection: &Connection, key: i64, talk: &Conversation) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO turn (conversation, place, session, number, id, speaker, text, caption, time)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for (place, turn) in talk.turns.iter().enumerate() {
        let of_session = talk.sessions.get(turn.session).map_or(&Moment::Unknown, |session| &session.time);
        let time = if turn.time == *of_session { String::new() } else { turn.time.store() };
        statement.execute(params![
            key,
            int(place),
            int(turn.session),
            turn.number,
            turn.id,
            talk.speaker_of(turn),
            turn.text,
            turn.caption,
            time,
        ])?;
    }
    Ok(())
}

fn put_question(
    connection: &Connection,
    key: i64,
    talk: &Conversation,
    place: i64,
    question: &Question,
    attached: bool,
) -> rusqlite::Result<()> {
    let evidence = serde_json::Value::from(question.evidence.clone()).to_string();
    connection
        .prepare_cached(
            "INSERT INTO question (conversation, place, id, text, answer, category, evidence, attached)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            key,
            place,
            question.id,
            question.text,
            question.answer,
            question.category,
            evidence,
            attached
        ])?;
    let row = connection.last_insert_rowid();
    let mut gold = connection.prepare_cached(
        "INSERT INTO gold (question, turn) SELECT ?1, key FROM turn WHERE conversation = ?2 AND id = ?3",
    )?;
    for turn in question.gold.iter().filter_map(|at| talk.turns.get(*at)) {
        gold.execute(params![row, key, turn.id])?;
    }
    let mut dirty = connection
        .prepare_cached("INSERT INTO dirty_evidence (question, place, raw, fault) VALUES (?1, ?2, ?3, ?4)")?;
    for (place, evidence) in question.dirty.iter().enumerate() {
        dirty.execute(params![row, int(place), evidence.raw, read::fault_name(evidence.fault)])?;
    }
    Ok(())
}

/// SHA-256 over everything that a conversation says, in the form of its JSON.
fn digest(talk: &Conversation) -> String {
    struct Hash(Sha256);
    impl std::io::Write for Hash {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = std::io::BufWriter::new(Hash(Sha256::new()));
    // Neither the hash nor these plain types can fail; if they did, an empty digest only costs a rewrite.
    let written = serde_json::to_writer(&mut writer, talk).is_ok();
    match writer.into_inner() {
        Ok(hash) if written => hex(&hash.0.finalize()),
        _ => String::new(),
    }
}

fn int(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
