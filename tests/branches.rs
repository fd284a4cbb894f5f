//! Conversations with branches: the active one is read and the others are counted, or each is offered as a conversation of its
//! own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use memsift::history::Conversation;
use memsift::store::import::import_with;
use memsift::store::{Branches, Reading, Store, Verdict};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

fn made(sql: &str) -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("made.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (folder, path)
}

fn read(path: &Path, branches: Branches) -> (Vec<Conversation>, Verdict) {
    let store = Store::open_as(path, &Reading { branches, ..Reading::default() }).unwrap();
    let rows = store.summaries().unwrap();
    (rows.iter().map(|row| store.load(&row.id).unwrap()).collect(), store.verdict().unwrap())
}

/// A copy of a file of the shared data.
fn shared(name: &str) -> Option<(TempDir, PathBuf)> {
    let root = std::env::var_os("MEMSIFT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let source = root.join("data/sqlite").join(name);
    if !source.exists() {
        println!("skipped: no database at {}", source.display());
        return None;
    }
    let folder = tempdir().unwrap();
    let path = folder.path().join("copy.db");
    fs::write(&path, fs::read(source).unwrap()).unwrap();
    Some((folder, path))
}

fn names(talks: &[Conversation]) -> Vec<(&str, Option<&str>)> {
    talks.iter().map(|talk| (talk.id.as_str(), talk.title.as_deref())).collect()
}

fn texts(talk: &Conversation) -> Vec<&str> {
    talk.turns.iter().map(|turn| turn.text.as_str()).collect()
}

fn reasons(verdict: &Verdict) -> Vec<&str> {
    verdict.left_out.keys().map(String::as_str).collect()
}

/// What the active branches give is the same in both readings.
fn keeps(active: &[Conversation], all: &[Conversation]) {
    for talk in active {
        assert_eq!(all.iter().find(|other| other.id == talk.id), Some(talk));
    }
}

#[test]
fn open_webui_offers_every_leaf() {
    let chat = r#"{"history": {"currentId": "c", "messages": {
        "a": {"parentId": null, "role": "user", "content": "Where is Ana?", "timestamp": 1777712400},
        "b": {"parentId": "a", "role": "assistant", "content": "In Rome.", "timestamp": 1777712401},
        "c": {"parentId": "a", "role": "assistant", "content": "In Porto.", "timestamp": 1777712402},
        "e": {"parentId": "b", "role": "user", "content": "Since when?", "timestamp": 1777712404},
        "f": {"parentId": "b", "role": "user", "content": "With \u001b[31mwhom?", "timestamp": 1777712403}}}}"#;
    let (_folder, path) = made(&format!(
        "CREATE TABLE chat (id, user_id, title, chat, created_at, archived);
         INSERT INTO chat VALUES ('x', 'u', 'Ana', '{chat}', 1, 0);"
    ));
    let (active, verdict) = read(&path, Branches::Active);
    assert_eq!((names(&active), verdict.branches), (vec![("x", Some("Ana"))], 2));
    assert_eq!(reasons(&verdict), ["on another branch"]);
    let (all, verdict) = read(&path, Branches::All);
    keeps(&active, &all);
    let want = [("x", Some("Ana")), ("x@f", Some("Ana (branch 2 of 3)")), ("x@e", Some("Ana (branch 3 of 3)"))];
    assert_eq!(names(&all), want);
    assert_eq!(texts(&all[1])[..2], ["Where is Ana?", "In Rome."]);
    assert!(texts(&all[1])[2].starts_with("With ") && !texts(&all[1])[2].contains('\u{1b}'));
    assert_eq!(texts(&all[2]), ["Where is Ana?", "In Rome.", "Since when?"]);
    assert_eq!((verdict.conversations, verdict.branches, reasons(&verdict).len()), (3, 0, 0), "{verdict}");
}

#[test]
fn openai_agents_offers_every_branch() {
    let mut sql = "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id, message_data, created_at);
        CREATE TABLE message_structure (session_id, message_id, branch_id, sequence_number);"
        .to_owned();
    for (id, role, words) in [(1, "user", "Where is Ana?"), (2, "assistant", "In Rome."), (3, "assistant", "In Porto.")]
    {
        sql.push_str(&format!(
            "INSERT INTO agent_messages VALUES ({id}, 's', '{{\"role\": \"{role}\", \"content\": \"{words}\"}}', '2026-05-02 09:00:0{id}');"
        ));
    }
    for (message, branch, at) in [(1, "main", 1), (2, "main", 2), (1, "other", 3), (3, "other", 4)] {
        sql.push_str(&format!("INSERT INTO message_structure VALUES ('s', {message}, '{branch}', {at});"));
    }
    let (_folder, path) = made(&sql);
    let (active, verdict) = read(&path, Branches::Active);
    assert_eq!((texts(&active[0]), verdict.branches), (vec!["Where is Ana?", "In Rome."], 1));
    let (all, verdict) = read(&path, Branches::All);
    keeps(&active, &all);
    assert_eq!(names(&all), [("s", None), ("s@other", Some("s (branch 2 of 2)"))]);
    assert_eq!(texts(&all[1]), ["Where is Ana?", "In Porto."]);
    assert_eq!((verdict.branches, reasons(&verdict).len()), (0, 0));
}

#[test]
fn llm_offers_every_end_of_a_thread() {
    let (_folder, path) = made(
        "CREATE TABLE threads (id, name, tip_message_hash, datetime_utc);
         CREATE TABLE turns (id, thread_id, parent_message_hash, tip_message_hash, datetime_utc);
         CREATE TABLE messages (hash, parent_hash, role);
         CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash, position, type, text);
         INSERT INTO threads VALUES ('t', 'Ana', 'c', '2026-05-02T09:00:00+00:00');
         INSERT INTO turns VALUES ('1', 't', NULL, 'b', '2026-05-02T09:00:00+00:00'), ('2', 't', NULL, 'c', '2026-05-02T09:01:00+00:00');
         INSERT INTO messages VALUES ('a', NULL, 'user'), ('b', 'a', 'assistant'), ('c', 'a', 'assistant');
         INSERT INTO parts (message_hash, position, type, text) VALUES
           ('a', 0, 'text', 'Where is Ana?'), ('b', 0, 'text', 'In Rome.'), ('c', 0, 'text', 'In Porto.');",
    );
    let (active, verdict) = read(&path, Branches::Active);
    assert_eq!((texts(&active[0]), verdict.branches), (vec!["Where is Ana?", "In Porto."], 1));
    let (all, verdict) = read(&path, Branches::All);
    keeps(&active, &all);
    assert_eq!(names(&all), [("t", Some("Ana")), ("t@b", Some("Ana (branch 2 of 2)"))]);
    assert_eq!((texts(&all[1]), verdict.branches), (vec!["Where is Ana?", "In Rome."], 0));
}

#[test]
fn the_databases_of_real_programs_offer_their_branches() {
    for (name, active_talks, branched, title) in [
        ("synthetic/open_webui_webui.db", 2, 3, " (branch 2 of 2)"),
        ("openai_agents_advancedsqlitesession.db", 2, 3, " (branch 2 of 2)"),
        ("openai_agents_sqlitesession.db", 2, 2, ""),
        ("llm.db", 2, 2, ""),
        ("synthetic/zed_threads.db", 2, 2, ""),
    ] {
        let Some((_folder, path)) = shared(name) else { continue };
        let (active, verdict) = read(&path, Branches::Active);
        assert_eq!((active.len(), verdict.branches), (active_talks, branched - active_talks), "{name}");
        let (all, verdict) = read(&path, Branches::All);
        assert_eq!((all.len(), verdict.branches), (branched, 0), "{name}");
        keeps(&active, &all);
        let beside: Vec<_> = all.iter().filter(|talk| !active.iter().any(|known| known.id == talk.id)).collect();
        for talk in beside {
            assert!(talk.title.as_deref().unwrap().ends_with(title) && talk.turns.len() >= 2, "{name}: {}", talk.id);
            let (_, first) = (name, talk.id.split('@').next().unwrap());
            let main = active.iter().find(|known| known.id == first).unwrap();
            assert_eq!(talk.turns[0].text, main.turns[0].text, "{name}: both begin the same way");
            assert_ne!(texts(talk), texts(main), "{name}");
        }
        assert!(!verdict.left_out.contains_key("on another branch"), "{name}");
    }
}

#[test]
fn the_flag_is_one_of_inspect_and_reproduce() {
    let Some((folder, path)) = shared("openai_agents_advancedsqlitesession.db") else { return };
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_memsift"));
        command.args(args).arg(&path).env("MEMSIFT_DATA", folder.path().join("data"));
        command.output().unwrap()
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let active = said(&run(&["inspect"]));
    assert!(active.contains("conversations  2\n") && active.contains("branches       1 beside"), "{active}");
    let all = said(&run(&["inspect", "--branches", "all"]));
    assert!(all.contains("conversations  3\n") && !all.contains("beside the ones read"), "{all}");
    let output = run(&["reproduce", "smartsearch", "--branches", "all", "--store", "llm", "--gap", "2", "--db"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && error.contains("is a SQLite database, but"), "{error}");
}

#[test]
fn a_chatgpt_export_offers_every_branch_that_says_something() {
    let node = |id: &str, parent: &str, role: &str, text: &str, time: u32| {
        format!(
            r#""{id}": {{"parent": "{parent}", "message": {{"author": {{"role": "{role}"}}, "create_time": {time}, "content": {{"content_type": "text", "parts": ["{text}"]}}}}}}"#
        )
    };
    let nodes = [
        node("a", "root", "user", "Where is Ana?", 1),
        node("b", "a", "assistant", "In Rome.", 2),
        node("c", "a", "assistant", "In Porto.", 3),
        node("d", "a", "tool", "a result that nobody read", 4),
        node("e", "a", "assistant", "In Oslo.", 5),
    ];
    let text = format!(r#"[{{"title": "Ana", "id": "x", "current_node": "c", "mapping": {{{}}}}}]"#, nodes.join(", "));
    let folder = tempdir().unwrap();
    let file = folder.path().join("conversations.json");
    fs::write(&file, text).unwrap();
    let bring = |name: &str, branches| {
        let path = folder.path().join(name);
        let report = import_with(std::slice::from_ref(&file), &path, branches, &mut |_| {}).unwrap();
        let skipped: Vec<String> = report.files[0].skipped.iter().map(|row| row.reason.clone()).collect();
        (read(&path, Branches::Active).0, skipped)
    };
    let (active, skipped) = bring("active.db", Branches::Active);
    assert_eq!((names(&active), skipped), (vec![("x", Some("Ana"))], vec!["on another branch".to_owned()]));
    let (all, skipped) = bring("all.db", Branches::All);
    keeps(&active, &all);
    let want = [("x", Some("Ana")), ("x@b", Some("Ana (branch 2 of 3)")), ("x@e", Some("Ana (branch 3 of 3)"))];
    assert_eq!((names(&all), skipped.len()), (want.to_vec(), 0));
    assert_eq!(texts(&all[2]), ["Where is Ana?", "In Oslo."]);
}
