//! The tables of a memsift database and how old databases are brought up to date. Knows SQL; knows no importer and
//! no conversation.

use rusqlite::Connection;

/// Marks a SQLite file as memsift's (`PRAGMA application_id`): `msft` in ASCII.
pub const APPLICATION_ID: i64 = 0x6d73_6674;

/// Each step leads from the version of its index to the next. Steps are only ever added: a database in somebody's
/// folder has gone through exactly these.
const MIGRATIONS: &[&str] = &[r"-- One row a conversation. The counts let the list be shown without reading turns.
CREATE TABLE conversation (
  key       INTEGER PRIMARY KEY,          -- also the order of the list
  id        TEXT    NOT NULL UNIQUE,      -- as the source names it
  title     TEXT,                         -- a name for people, or NULL
  sessions  INTEGER NOT NULL,
  turns     INTEGER NOT NULL,
  words     INTEGER NOT NULL,             -- whitespace words of all turn texts
  questions INTEGER NOT NULL,
  first     TEXT    NOT NULL DEFAULT '',  -- time of the first session (see session.time)
  last      TEXT    NOT NULL DEFAULT '',  -- time of the last session
  digest    TEXT    NOT NULL DEFAULT ''   -- SHA-256 of the imported content: equal digest, equal conversation
);

CREATE TABLE session (
  conversation INTEGER NOT NULL REFERENCES conversation (key) ON DELETE CASCADE,
  place        INTEGER NOT NULL,          -- 0, 1, 2 ... in the order of the talk
  id           TEXT    NOT NULL,
  number       INTEGER NOT NULL,          -- as the source counts; may have gaps
  time         TEXT    NOT NULL DEFAULT '', -- ISO 8601; '' unknown; '?words' when the source's words are not a time
  PRIMARY KEY (conversation, place)
) WITHOUT ROWID;

CREATE TABLE turn (
  key          INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (key) ON DELETE CASCADE,
  place        INTEGER NOT NULL,          -- 0, 1, 2 ... through the whole conversation
  session      INTEGER NOT NULL,          -- session.place
  number       INTEGER NOT NULL,          -- 1, 2, 3 ... in its session
  id           TEXT    NOT NULL,          -- as the source names it; evidence points here
  speaker      TEXT    NOT NULL,
  text         TEXT    NOT NULL,
  caption      TEXT,                      -- of a shared image, or NULL
  time         TEXT    NOT NULL DEFAULT '', -- '' = the time of its session
  UNIQUE (conversation, place),
  UNIQUE (conversation, id)
);

CREATE TABLE question (
  key          INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (key) ON DELETE CASCADE,
  place        INTEGER NOT NULL,          -- order of the list
  id           TEXT    NOT NULL,
  text         TEXT    NOT NULL,
  answer       TEXT,
  category     TEXT,
  evidence     TEXT    NOT NULL DEFAULT '[]', -- JSON array: the references as the source writes them
  attached     INTEGER NOT NULL DEFAULT 0,    -- 1 when it came in a file of its own
  UNIQUE (conversation, id)
);
CREATE INDEX question_text ON question (text);

-- The turns that hold the evidence of a question.
CREATE TABLE gold (
  question INTEGER NOT NULL REFERENCES question (key) ON DELETE CASCADE,
  turn     INTEGER NOT NULL,              -- turn.key
  PRIMARY KEY (question, turn)
) WITHOUT ROWID;

-- References that do not simply name a turn.
CREATE TABLE dirty_evidence (
  question INTEGER NOT NULL REFERENCES question (key) ON DELETE CASCADE,
  place    INTEGER NOT NULL,
  raw      TEXT    NOT NULL,
  fault    TEXT    NOT NULL,              -- unknown | several | range | typo | unreadable
  PRIMARY KEY (question, place)
) WITHOUT ROWID;

-- Which files the content came from; nothing here depends on the clock.
CREATE TABLE import (
  file   TEXT PRIMARY KEY,                -- name without its folder
  sha256 TEXT NOT NULL,
  format TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('about', 'memsift: conversations for debugging memory retrieval');
"];

/// The schema that this memsift writes and reads (`PRAGMA user_version`).
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// The whole schema as SQL, with a comment for every column that needs one; printed in the README.
pub fn schema_sql() -> String {
    let head = format!("PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {VERSION};\n\n");
    head + MIGRATIONS.concat().trim_end() + "\n"
}

/// `application_id` and `user_version` of an open database.
pub(crate) fn identity(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let read = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok((read("application_id")?, read("user_version")?))
}

/// Names of the tables of a database, for a message.
pub(crate) fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// Bring a database from `version` to [`VERSION`]. Runs inside the caller's transaction, so that a failed import
/// leaves an old database old.
pub(crate) fn migrate(connection: &Connection, version: i64) -> rusqlite::Result<()> {
    let done = usize::try_from(version).unwrap_or(0);
    for step in MIGRATIONS.iter().skip(done) {
        connection.execute_batch(step)?;
    }
    if version != VERSION {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_schema_makes_a_database_that_is_recognised() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&schema_sql()).unwrap();
        assert_eq!(identity(&connection).unwrap(), (APPLICATION_ID, VERSION));
        let names = tables(&connection).unwrap().join(" ");
        assert_eq!(names, "conversation dirty_evidence gold import meta question session turn");
    }

    #[test]
    fn migrating_twice_is_migrating_once() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, 0).unwrap();
        migrate(&connection, VERSION).unwrap();
        assert_eq!(identity(&connection).unwrap(), (APPLICATION_ID, VERSION));
    }
}
