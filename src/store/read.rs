//! Rows of a memsift database to histories. Knows the tables; opens nothing and writes nothing.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};

use super::clean::{clean, clean_line};
use crate::history::{Conversation, ConversationSummary, DirtyEvidence, EvidenceFault, Question, Session, Turn};
use crate::moment::Moment;

/// Every conversation without its turns.
pub(super) fn summaries(connection: &Connection) -> rusqlite::Result<Vec<ConversationSummary>> {
    connection
        .prepare("SELECT id, title, sessions, turns, words, questions, first, last FROM conversation ORDER BY key")?
        .query_map([], |row| {
            Ok(ConversationSummary {
                id: line(row, 0)?.unwrap_or_default(),
                title: line(row, 1)?,
                sessions: count(row, 2)?,
                turns: count(row, 3)?,
                words: count(row, 4)?,
                questions: count(row, 5)?,
                first: moment(row, 6)?,
                last: moment(row, 7)?,
            })
        })?
        .collect()
}

/// What a fingerprint is made of: a line a conversation and a line an attached question.
pub(super) fn digests(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut lines: Vec<String> = connection
        .prepare("SELECT id, digest, sessions, turns, words, questions FROM conversation ORDER BY id")?
        .query_map([], |row| {
            let (id, digest) = (line(row, 0)?.unwrap_or_default(), line(row, 1)?.unwrap_or_default());
            let counts = [count(row, 2)?, count(row, 3)?, count(row, 4)?, count(row, 5)?];
            Ok(format!("{id} {digest} {counts:?}"))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut attached = connection.prepare(
        "SELECT conversation.id, question.id, text, answer, category, evidence FROM question
         JOIN conversation ON conversation.key = question.conversation
         WHERE attached = 1 ORDER BY conversation.id, question.id",
    )?;
    let mut rows = attached.query([])?;
    while let Some(row) = rows.next()? {
        let fields = (0..6).map(|at| raw(row, at)).collect::<rusqlite::Result<Vec<_>>>()?;
        lines.push(format!("{fields:?}"));
    }
    Ok(lines)
}

/// Ids of the questions that came in a file of their own.
pub(super) fn attached_ids(connection: &Connection, conversation: i64) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached("SELECT id FROM question WHERE conversation = ?1 AND attached = 1 ORDER BY place, key")?
        .query_map([conversation], |row| Ok(line(row, 0)?.unwrap_or_default()))?
        .collect()
}

/// Conversations with a question of exactly this text.
pub(super) fn asking(connection: &Connection, text: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(
            "SELECT DISTINCT conversation.id FROM question JOIN conversation ON conversation.key = question.conversation
             WHERE question.text = ?1 ORDER BY conversation.key",
        )?
        .query_map([text], |row| row.get(0))?
        .collect()
}

/// One conversation, or `None` when there is none of this name.
pub(super) fn conversation(connection: &Connection, id: &str) -> rusqlite::Result<Option<Conversation>> {
    let found = connection
        .prepare_cached("SELECT key, title FROM conversation WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get::<_, i64>(0)?, line(row, 1)?)))
        .optional()?;
    let found = match found {
        Some(found) => Some(found),
        None => by_clean_id(connection, id)?,
    };
    let Some((key, title)) = found else { return Ok(None) };
    let mut conversation = Conversation { id: clean_line(id, &mut 0).into_owned(), title, ..Default::default() };
    let places = read_sessions(connection, key, &mut conversation)?;
    let keys = read_turns(connection, key, &places, &mut conversation)?;
    read_questions(connection, key, &keys, &mut conversation)?;
    Ok(Some(conversation))
}

/// A conversation of a database made elsewhere, whose id is only known in its cleaned form.
fn by_clean_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<(i64, Option<String>)>> {
    let mut statement = connection.prepare_cached("SELECT key, title, id FROM conversation ORDER BY key")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if line(row, 2)?.as_deref() == Some(id) {
            return Ok(Some((row.get(0)?, line(row, 1)?)));
        }
    }
    Ok(None)
}

/// Fill in the sessions; the answer leads from a session's place to its index.
fn read_sessions(
    connection: &Connection,
    key: i64,
    conversation: &mut Conversation,
) -> rusqlite::Result<HashMap<i64, usize>> {
    let mut places = HashMap::new();
    let mut statement = connection
        .prepare_cached("SELECT place, id, number, time FROM session WHERE conversation = ?1 ORDER BY place")?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        places.insert(row.get(0)?, conversation.sessions.len());
        conversation.sessions.push(Session {
            id: line(row, 1)?.unwrap_or_default(),
            number: small(row, 2)?,
            time: moment(row, 3)?,
            turns: 0..0,
        });
    }
    Ok(places)
}

/// Fill in the turns and the speakers; the answer leads from a turn's key to its index.
fn read_turns(
    connection: &Connection,
    key: i64,
    places: &HashMap<i64, usize>,
    conversation: &mut Conversation,
) -> rusqlite::Result<HashMap<i64, usize>> {
    let mut speakers: HashMap<Arc<str>, usize> = HashMap::new();
    let mut keys = HashMap::new();
    let mut read: Vec<(i64, Turn)> = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT key, session, number, id, speaker, text, caption, time FROM turn WHERE conversation = ?1 ORDER BY place",
    )?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        // A turn of a session that is not listed has no place in the history.
        let Some(&session) = places.get(&row.get(1)?) else { continue };
        let name: Arc<str> = line(row, 4)?.unwrap_or_default().into();
        let next = speakers.len();
        let speaker = *speakers.entry(Arc::clone(&name)).or_insert_with(|| {
            conversation.speakers.push(name);
            next
        });
        let time = match moment(row, 7)? {
            Moment::Unknown => conversation.sessions.get(session).map_or(Moment::Unknown, |known| known.time.clone()),
            own => own,
        };
        let turn = Turn {
            id: line(row, 3)?.unwrap_or_default(),
            session,
            number: small(row, 2)?,
            speaker,
            text: block(row, 5)?.unwrap_or_default(),
            caption: block(row, 6)?,
            time,
        };
        read.push((row.get(0)?, turn));
    }
    // Databases made elsewhere may interleave sessions; a history does not. The sort is stable.
    read.sort_by_key(|(_, turn)| turn.session);
    conversation.turns.reserve(read.len());
    for (key, turn) in read {
        let at = conversation.turns.len();
        keys.insert(key, at);
        if let Some(session) = conversation.sessions.get_mut(turn.session) {
            if session.turns.is_empty() {
                session.turns = at..at;
            }
            session.turns.end = at + 1;
        }
        conversation.turns.push(turn);
    }
    let mut end = 0;
    for session in &mut conversation.sessions {
        if session.turns.is_empty() {
            session.turns = end..end;
        }
        end = session.turns.end;
    }
    Ok(keys)
}

fn read_questions(
    connection: &Connection,
    key: i64,
    keys: &HashMap<i64, usize>,
    conversation: &mut Conversation,
) -> rusqlite::Result<()> {
    let mut gold = connection.prepare_cached("SELECT turn FROM gold WHERE question = ?1")?;
    let mut dirty =
        connection.prepare_cached("SELECT raw, fault FROM dirty_evidence WHERE question = ?1 ORDER BY place")?;
    let mut statement = connection.prepare_cached(
        "SELECT key, id, text, answer, category, evidence FROM question WHERE conversation = ?1 ORDER BY place, key",
    )?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        let question: i64 = row.get(0)?;
        let turns = gold.query_map([question], |row| row.get::<_, i64>(0))?;
        let mut found = Vec::new();
        for turn in turns {
            found.extend(keys.get(&turn?));
        }
        found.sort_unstable();
        found.dedup();
        let faults = dirty.query_map([question], |row| {
            let fault = fault(&line(row, 1)?.unwrap_or_default());
            Ok(DirtyEvidence { raw: line(row, 0)?.unwrap_or_default(), fault })
        })?;
        conversation.questions.push(Question {
            id: line(row, 1)?.unwrap_or_default(),
            text: block(row, 2)?.unwrap_or_default(),
            answer: block(row, 3)?,
            category: line(row, 4)?,
            gold: found,
            evidence: list(&line(row, 5)?.unwrap_or_default()),
            dirty: faults.collect::<rusqlite::Result<_>>()?,
        });
    }
    Ok(())
}

/// The word under which a fault is stored.
pub(super) fn fault_name(fault: EvidenceFault) -> &'static str {
    match fault {
        EvidenceFault::Unknown => "unknown",
        EvidenceFault::Several => "several",
        EvidenceFault::Range => "range",
        EvidenceFault::Typo => "typo",
        EvidenceFault::Unreadable => "unreadable",
    }
}

fn fault(name: &str) -> EvidenceFault {
    match name {
        "unknown" => EvidenceFault::Unknown,
        "several" => EvidenceFault::Several,
        "range" => EvidenceFault::Range,
        "typo" => EvidenceFault::Typo,
        _ => EvidenceFault::Unreadable,
    }
}

fn list(json: &str) -> Vec<String> {
    let parsed: Vec<String> = serde_json::from_str(json).unwrap_or_default();
    parsed.iter().map(|raw| clean_line(raw, &mut 0).into_owned()).collect()
}

/// A text column as it is stored: anything but NULL has a reading, also bytes that are not UTF-8.
fn raw(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        }),
    })
}

fn block(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(raw(row, at)?.map(|text| match clean(&text) {
        std::borrow::Cow::Owned(cleaned) => cleaned,
        std::borrow::Cow::Borrowed(_) => text,
    }))
}

fn line(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(raw(row, at)?.map(|text| clean_line(&text, &mut 0).into_owned()))
}

fn moment(row: &Row<'_>, at: usize) -> rusqlite::Result<Moment> {
    Ok(line(row, at)?.map_or(Moment::Unknown, |text| Moment::restore(&text)))
}

fn count(row: &Row<'_>, at: usize) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
}

fn small(row: &Row<'_>, at: usize) -> rusqlite::Result<u32> {
    Ok(u32::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
}
