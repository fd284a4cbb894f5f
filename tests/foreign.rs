//! Chat databases of other programs in bad shape, in older forms, and read by mappings that are remembered: one clear sentence
//! each, and the user's folder stays as it was.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use memsift::history::Conversation;
use memsift::store::{Mapping, Reading, Store, StoreError, Verdict};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

fn made(sql: &str) -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("made.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (folder, path)
}

fn read_at(path: &Path) -> (Vec<Conversation>, Verdict) {
    let store = Store::open(path).unwrap_or_else(|error| panic!("{error}"));
    let talks = store.summaries().unwrap().iter().map(|row| store.load(&row.id).unwrap()).collect();
    (talks, store.verdict().unwrap())
}

fn turns(talk: &Conversation) -> Vec<(&str, &str)> {
    talk.turns.iter().map(|turn| (talk.speaker_of(turn), turn.text.as_str())).collect()
}

fn left_out(verdict: &Verdict) -> Vec<(&str, usize)> {
    verdict.left_out.iter().map(|(reason, rows)| (reason.as_str(), *rows)).collect()
}

// ---- older forms ----

const OLD_WHATSAPP: &str = "CREATE TABLE chat_list (_id INTEGER PRIMARY KEY, key_remote_jid TEXT, subject TEXT);
    CREATE TABLE messages (_id INTEGER PRIMARY KEY, key_remote_jid TEXT, key_from_me INTEGER, key_id TEXT, status INTEGER,
        data TEXT, timestamp INTEGER, media_wa_type TEXT, media_caption TEXT, remote_resource TEXT);
    INSERT INTO messages VALUES (1, '-1', 0, '-1', -1, NULL, 0, NULL, NULL, NULL);
    INSERT INTO chat_list VALUES (1, '39-1@g.us', 'Lake trip');";

#[test]
fn whatsapp_of_one_table_is_read() {
    let (folder, path) = made(&format!(
        "{OLD_WHATSAPP} INSERT INTO messages VALUES
        (2, '39-1@g.us', 1, 'k1', 6, 'Lake trip', 1777712400000, '0', NULL, NULL),
        (3, '39-1@g.us', 1, 'k2', 0, 'We moved to 16 June.', 1777712461000, '0', NULL, NULL),
        (4, '39-1@g.us', 0, 'k3', 0, NULL, 1777712522000, '1', 'The pier', '390001@s.whatsapp.net'),
        (5, '39-1@g.us', 0, 'k4', 0, NULL, 1777712583000, '2', NULL, '390001@s.whatsapp.net'),
        (6, '390002@s.whatsapp.net', 0, 'k5', 0, 'Hello', 1777885200000, '0', NULL, NULL);"
    ));
    let before = contents(folder.path());
    let (talks, verdict) = read_at(&path);
    assert_eq!(contents(folder.path()), before);
    let ids: Vec<_> = talks.iter().map(|talk| (talk.id.as_str(), talk.title.as_deref())).collect();
    assert_eq!(ids, [("39-1@g.us", Some("Lake trip")), ("390002@s.whatsapp.net", None)]);
    assert_eq!(turns(&talks[0]), [("me", "We moved to 16 June."), ("390001", "The pier")]);
    assert_eq!(turns(&talks[1]), [("390002", "Hello")]);
    assert_eq!(talks[0].turns[0].time.store(), "2026-05-02T09:01:01Z");
    assert_eq!((verdict.store.as_str(), verdict.version.as_str()), ("whatsapp", "older, one table of messages"));
    assert_eq!(left_out(&verdict), [("message without text (media, deleted, call)", 1), ("notice of the program", 1)]);
    // The newer tables lie empty beside it while a version is on its way.
    let newer = format!("{NEW_WHATSAPP} INSERT INTO chat VALUES (1, 1, NULL);");
    Connection::open(&path).unwrap().execute_batch(&newer).unwrap();
    assert_eq!(read_at(&path).0, talks);
    // Without the list of names the chats have none.
    Connection::open(&path).unwrap().execute_batch("DROP TABLE chat_list").unwrap();
    assert_eq!(read_at(&path).0[0].title, None);
}

#[test]
fn cursor_of_a_workspace_is_read() {
    let chat = r#"{"tabs": [{"tabId": "t1", "chatTitle": "Retries", "bubbles": [
        {"type": "user", "id": "b1", "text": "How do I retry?"}, {"type": "ai", "rawText": "With a pause."}, {"type": "x"}]}]}"#;
    let composers = r#"{"allComposers": [
        {"composerId": "c1", "name": "Inline", "conversation": [{"type": 1, "bubbleId": "b", "text": "Hi", "createdAt": 1777712400000}]},
        {"composerId": "c2", "name": "Elsewhere"}]}"#;
    let sql = |chat: &str, composers: &str| {
        format!(
            "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB); CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB);
            INSERT INTO ItemTable VALUES ('workbench.panel.aichat.view.aichat.chatdata', '{chat}'),
            ('composer.composerData', CAST('{composers}' AS BLOB));"
        )
    };
    let (_folder, path) = made(&sql(chat, composers));
    let (talks, verdict) = read_at(&path);
    assert_eq!(talks.iter().map(|talk| talk.id.as_str()).collect::<Vec<_>>(), ["t1", "c1"]);
    assert_eq!(turns(&talks[0]), [("user", "How do I retry?"), ("assistant", "With a pause.")]);
    assert_eq!((talks[0].title.as_deref(), talks[0].turns[1].id.as_str()), (Some("Retries"), "bubble2"));
    assert_eq!(turns(&talks[1]), [("user", "Hi")]);
    assert_eq!(talks[1].turns[0].time.store(), "2026-05-02T09:00:00Z");
    let want = [("bubble of an unknown type", 1), ("composer whose bubbles are in the global state.vscdb", 1)];
    assert_eq!(left_out(&verdict), want);
    let (_folder, path) = made(&sql("{}", r#"{"allComposers": [{"composerId": "c2"}]}"#));
    let text = Store::open(&path).unwrap_err().to_string();
    assert!(text.contains("Cursor") && text.contains("global state.vscdb"), "{text}");
    // Every editor of this family has the table.
    let (_folder, path) =
        made("CREATE TABLE ItemTable (key TEXT, value BLOB); INSERT INTO ItemTable VALUES ('x', 'y');");
    assert!(matches!(Store::open(&path), Err(StoreError::WrongSchema { .. })));
}

// ---- databases in bad shape ----

const NEW_WHATSAPP: &str = "CREATE TABLE jid (_id INTEGER PRIMARY KEY, user TEXT, raw_string TEXT);
    CREATE TABLE chat (_id INTEGER PRIMARY KEY, jid_row_id INTEGER, subject TEXT);
    CREATE TABLE message (_id INTEGER PRIMARY KEY, chat_row_id INTEGER, from_me INTEGER, timestamp INTEGER, text_data TEXT);
    INSERT INTO jid VALUES (1, 'ana', 'ana@x');";
const OPENAI: &str = "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY);
    CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TIMESTAMP);
    INSERT INTO agent_sessions VALUES ('ana@x');";
const UNKNOWN: &str =
    "CREATE TABLE posts (id INTEGER PRIMARY KEY, author TEXT, body TEXT, thread TEXT, created INTEGER);";

/// Programs with their tables and a row of a talk `ana@x`, number `{n}`, that says `{words}`.
fn stores() -> Vec<(&'static str, String, &'static str)> {
    vec![
        (
            "whatsapp",
            format!("{NEW_WHATSAPP} INSERT INTO chat VALUES (1, 1, NULL);"),
            "INSERT INTO message VALUES ({n}, 1, 0, 1777712400000 + {n}, '{words}')",
        ),
        (
            "older whatsapp",
            OLD_WHATSAPP.to_owned(),
            "INSERT INTO messages (_id, key_remote_jid, key_from_me, data, timestamp) VALUES ({n} + 10, 'ana@x', 0, '{words}', 1777712400000 + {n})",
        ),
        (
            "openai agents",
            OPENAI.to_owned(),
            r#"INSERT INTO agent_messages VALUES ({n}, 'ana@x', '{"role": "user", "content": "{words}"}', '2026-05-02 09:00:00')"#,
        ),
        ("unknown", UNKNOWN.to_owned(), "INSERT INTO posts VALUES ({n}, 'ana', '{words}', 'ana@x', 1777712400 + {n})"),
    ]
}

fn row(form: &str, number: usize, words: &str) -> String {
    form.replace("{n}", &number.to_string()).replace("{words}", words)
}

/// A database of several pages: 300 turns.
fn filled(tables: &str, form: &str) -> (TempDir, PathBuf) {
    let words = "word ".repeat(40);
    let rows: Vec<String> = (1..=300).map(|at| row(form, at, &words)).collect();
    made(&format!("{tables} BEGIN; {}; COMMIT;", rows.join("; ")))
}

fn count(path: &Path) -> (usize, Vec<String>) {
    let store = Store::open(path).unwrap_or_else(|error| panic!("{error}"));
    (store.load("ana@x").unwrap().turns.len(), store.notices().to_vec())
}

/// One sentence about a file that cannot be read, which is left as it was.
fn refused(path: &Path, want: &[&str]) -> StoreError {
    let folder = path.parent().unwrap();
    let before = contents(folder);
    let error = Store::open(path).unwrap_err();
    let said = error.to_string();
    for words in want.iter().chain(&["made.db"]) {
        assert!(said.contains(words), "'{words}' is not in: {said}");
    }
    assert!(!said.contains('\n') && error.is_input(), "{said}");
    assert_eq!(contents(folder), before, "{said}");
    error
}

#[test]
fn a_database_that_its_program_has_locked_is_read_from_a_copy() {
    for (name, tables, form) in stores() {
        let (folder, path) = filled(&tables, form);
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let before = contents(folder.path());
        let (turns, notices) = count(&path);
        assert_eq!(turns, 300, "{name}");
        assert!(notices.iter().any(|notice| notice.contains("another program is writing")), "{name}: {notices:?}");
        assert_eq!(contents(folder.path()), before, "{name}");
    }
}

#[test]
fn a_change_that_was_stopped_in_the_middle_is_undone_in_a_copy() {
    for (name, tables, form) in stores() {
        let (folder, path) = filled(&tables, form);
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN EXCLUSIVE").unwrap();
        for number in 400..600 {
            writer.execute_batch(&row(form, number, &"half ".repeat(200))).unwrap();
        }
        // What is left when the program is stopped now: some new pages, and a journal that knows the old ones.
        let stopped = tempdir().unwrap();
        for (file, bytes) in contents(folder.path()) {
            fs::write(stopped.path().join(file), bytes).unwrap();
        }
        let before = contents(stopped.path());
        assert!(before.contains_key("made.db-journal"), "{name}: {:?}", before.keys());
        let (turns, notices) = count(&stopped.path().join("made.db"));
        assert_eq!(turns, 300, "{name}");
        assert!(notices.iter().any(|notice| notice.contains("made.db-journal is there")), "{name}: {notices:?}");
        assert_eq!(contents(stopped.path()), before, "{name}");
    }
}

#[test]
fn of_a_log_that_is_cut_short_the_whole_changes_are_read() {
    for (name, tables, form) in stores() {
        let (folder, path) = filled(&tables, form);
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
        writer.execute_batch(&row(form, 301, "one more")).unwrap();
        let whole = fs::metadata(folder.path().join("made.db-wal")).unwrap().len();
        writer.execute_batch(&row(form, 302, "two more")).unwrap();
        let stopped = tempdir().unwrap();
        for (file, mut bytes) in contents(folder.path()) {
            if file.ends_with("-wal") {
                bytes.truncate(usize::try_from(whole).unwrap() + 100);
            }
            if !file.ends_with("-shm") {
                fs::write(stopped.path().join(file), bytes).unwrap();
            }
        }
        let before = contents(stopped.path());
        let (turns, notices) = count(&stopped.path().join("made.db"));
        assert_eq!((turns, notices.len()), (301, 1), "{name}: {notices:?}");
        assert_eq!(contents(stopped.path()), before, "{name}");
    }
}

#[test]
fn what_is_cut_encrypted_or_empty_is_named() {
    for (_, tables, form) in stores() {
        let (_folder, path) = filled(&tables, form);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2 + 10]).unwrap();
        assert!(matches!(refused(&path, &["cut short", ".recover"]), StoreError::Truncated { .. }));
        fs::write(&path, &whole[..60]).unwrap();
        assert!(matches!(refused(&path, &["cut short"]), StoreError::Truncated { .. }));
        fs::write(&path, b"").unwrap();
        assert!(matches!(refused(&path, &["empty (0 bytes)"]), StoreError::ZeroBytes { .. }));
        // As SQLCipher leaves it: whole pages, each byte changed by a stream that looks random.
        let mut state = 11_u64;
        let hidden: Vec<u8> = whole
            .iter()
            .map(|byte| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                byte ^ (state >> 56) as u8
            })
            .collect();
        fs::write(&path, &hidden).unwrap();
        assert!(matches!(refused(&path, &["encrypted", "SQLCipher", "decrypt it"]), StoreError::Encrypted { .. }));
        // The first page is whole and a later one is not.
        let mut torn = whole.clone();
        let leaf = (1..torn.len() / 4096).rev().find(|page| torn[page * 4096] == 13).unwrap();
        torn[leaf * 4096..][..200].iter_mut().for_each(|byte| *byte ^= 0x5a);
        fs::write(&path, &torn).unwrap();
        assert!(matches!(refused(&path, &["damaged", ".recover"]), StoreError::Corrupt { .. }));
    }
}

// ---- mappings that are remembered ----

const OWN: &str = "CREATE TABLE messages (id, thread, author, body, created);
    INSERT INTO messages VALUES ('a', 't1', 'Ana', 'I moved to Porto.', 1777712400), ('b', 't1', 'Ben', 'How is it?', 1777712460);";
const MAP: &str = "turns=messages,text=author,speaker=body";

fn reading(map: Option<&str>, file: &Path) -> Reading {
    let map = map.map(|map| Mapping::read(map).unwrap());
    Reading { map, mappings: Some(file.to_owned()), ..Reading::default() }
}

#[test]
fn a_mapping_that_worked_opens_the_same_tables_again() {
    let own = tempdir().unwrap();
    let file = own.path().join("data/mappings.json");
    let (folder, path) = made(OWN);
    let before = contents(folder.path());
    // What does not work is not kept.
    assert!(Store::open_as(&path, &reading(Some("turns=messages,text=words"), &file)).is_err());
    assert!(!file.exists());
    let store = Store::open_as(&path, &reading(Some(MAP), &file)).unwrap();
    assert!(store.notices()[0].contains("is remembered"), "{:?}", store.notices());
    assert!(store.verdict().unwrap().version.starts_with("--map turns=messages"));

    // Another database with the same tables and columns.
    let (_other, second) = made(&OWN.replace("Porto", "Rome"));
    let store = Store::open_as(&second, &reading(None, &file)).unwrap();
    assert_eq!(store.load("t1").unwrap().turns[0].text, "Ana");
    assert!(store.notices()[0].contains(MAP), "{:?}", store.notices());
    let verdict = store.verdict().unwrap().to_string();
    assert!(
        verdict.contains("remembered turns=messages") && verdict.contains("given for these tables before"),
        "{verdict}"
    );

    // Without the file, with other tables, and with --store, nothing is remembered.
    assert_eq!(Store::open(&second).unwrap().load("t1").unwrap().turns[0].text, "I moved to Rome.");
    let (_third, third) =
        made(&OWN.replace("created)", "created, note)").replace("400)", "400, '')").replace("460)", "460, '')"));
    let store = Store::open_as(&third, &reading(None, &file)).unwrap();
    assert!(store.notices().is_empty() && store.load("t1").unwrap().turns[0].text == "I moved to Porto.");
    let named = Reading { store: Some("whatsapp".to_owned()), ..reading(None, &file) };
    assert!(matches!(Store::open_as(&second, &named), Err(StoreError::WrongSchema { .. })));
    // The last one given counts.
    Store::open_as(&path, &reading(Some("turns=messages,text=thread"), &file)).unwrap();
    let store = Store::open_as(&path, &reading(None, &file)).unwrap();
    assert_eq!(store.load(&store.summaries().unwrap()[0].id).unwrap().turns[0].text, "t1");
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_mapping_that_no_longer_fits_is_ignored_with_one_sentence() {
    let own = tempdir().unwrap();
    let file = own.path().join("mappings.json");
    let (_folder, path) = made(OWN);
    Store::open_as(&path, &reading(Some(MAP), &file)).unwrap();
    let kept = fs::read_to_string(&file).unwrap();
    for (words, why) in [
        ("turns=messages,text=words", "has no column 'words'"),
        ("turns=gone,text=body", "no table 'gone'"),
        ("nonsense", "no '='"),
    ] {
        fs::write(&file, kept.replace(MAP, words)).unwrap();
        let store = Store::open_as(&path, &reading(None, &file)).unwrap();
        let [notice] = store.notices() else { panic!("{:?}", store.notices()) };
        assert!(notice.contains("no longer fits and is ignored") && notice.contains(why), "{notice}");
        assert_eq!(store.load("t1").unwrap().turns[0].text, "I moved to Porto.");
    }
    // The same columns, and nothing in the one that was named.
    fs::write(&file, &kept).unwrap();
    Connection::open(&path).unwrap().execute_batch("UPDATE messages SET author = ''").unwrap();
    let store = Store::open_as(&path, &reading(None, &file)).unwrap();
    assert!(store.notices()[0].contains("no turn can be read by it"), "{:?}", store.notices());
    // A file that nobody can understand is set aside.
    fs::write(&file, "{").unwrap();
    let store = Store::open_as(&path, &reading(None, &file)).unwrap();
    assert!(store.notices()[0].contains("mappings.json.bad"), "{:?}", store.notices());
    // A place that cannot be written costs the memory, not the database.
    let nowhere = path.join("mappings.json");
    let store = Store::open_as(&path, &reading(Some("turns=messages,text=body"), &nowhere)).unwrap();
    assert!(store.notices()[0].contains("could not be remembered"), "{:?}", store.notices());
}

#[test]
fn the_commands_take_and_remember_a_mapping() {
    let own = tempdir().unwrap();
    let (folder, path) = made(OWN);
    let before = contents(folder.path());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memsift"));
        for name in ["DATA", "CACHE", "MODELS"] {
            command.env(format!("MEMSIFT_{name}"), own.path().join(name));
        }
        let output = command.args(arguments).env("MEMSIFT_OFFLINE", "1").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let db = path.to_str().unwrap();
    let (code, out, err) = run(&["inspect", db]);
    assert!(code == 0 && out.contains("guessed turns=messages"), "{out}{err}");
    let (code, out, err) = run(&["sweep", "--db", db, "--map", MAP]);
    assert!(
        code == 2 && out.is_empty() && err.contains("is remembered") && err.contains("no question with gold"),
        "{err}"
    );
    let (code, out, err) = run(&["inspect", db]);
    assert!(code == 0 && out.contains("remembered turns=messages") && out.contains("another --map"), "{out}{err}");
    let (code, _, err) = run(&["sweep", "--db", db, "--gap", "0"]);
    assert!(code == 2 && err.contains("--gap 0 is no pause"), "{err}");
    let (code, _, err) = run(&["sweep", "--db", db, "--store", "icq"]);
    assert!(code == 2 && err.contains("no store 'icq'"), "{err}");
    assert!(own.path().join("DATA/mappings.json").exists());
    assert_eq!(contents(folder.path()), before);
}
