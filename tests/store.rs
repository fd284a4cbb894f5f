//! The store from outside: what importing and opening promise about files, and what the data sets contain.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memsift::history::EvidenceFault;
use memsift::moment::Moment;
use memsift::store::import::{Format, ImportReport, import, import_texts};
use memsift::store::{Store, StoreError};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

const SMALL: &str = include_str!("fixtures/store/small.jsonl");
const LOCOMO: &str = include_str!("fixtures/store/locomo.json");

fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MEMSIFT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join("data").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no data set at {}", path.display());
    None
}

fn bring(files: &[PathBuf], into: &Path) -> Result<ImportReport, StoreError> {
    import(files, into, &mut |_| {})
}

fn bring_text(name: &str, text: &str, into: &Path) -> Result<ImportReport, StoreError> {
    import_texts(&[(name, text)], into, &mut |_| {})
}

fn small() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.db");
    bring_text("small.jsonl", SMALL, &path).unwrap();
    (folder, path)
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

fn read_all(store: &Store) -> usize {
    let rows = store.summaries().unwrap();
    rows.iter().map(|row| store.load(&row.id).unwrap().turns.len()).sum()
}

fn refusal(path: &Path) -> String {
    Store::open(path).unwrap_err().to_string()
}

// What is stored comes back.

#[test]
fn lines_become_a_history() {
    let (_folder, path) = small();
    let store = Store::open(&path).unwrap();
    let rows = store.summaries().unwrap();
    assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["garden", "trip"]);
    let talk = store.load("garden").unwrap();
    assert_eq!((rows[0].sessions, rows[0].turns, rows[0].words, rows[0].questions), (2, 5, talk.words(), 2));
    assert_eq!((&rows[0].first, &rows[0].last), (&talk.sessions[0].time, &talk.sessions[1].time));
    assert_eq!(talk.title.as_deref(), Some("Two gardeners"));
    assert_eq!(talk.speakers.iter().map(|name| &**name).collect::<Vec<_>>(), ["Ann", "Bo"]);
    assert_eq!(
        talk.sessions.iter().map(|known| (known.number, known.turns.clone())).collect::<Vec<_>>(),
        [(1, 0..3), (4, 3..5)]
    );
    assert_eq!(talk.turns[1].caption.as_deref(), Some("a row of seedlings"));
    assert_eq!(talk.turns[0].time.date_and_time(), "2024-03-02 19:12");
    assert_eq!(talk.turns[1].time, talk.sessions[0].time);
    assert_eq!(talk.turns[4].time, Moment::Unread("some time later".to_owned()));
    assert_eq!(talk.questions[0].gold, [0, 3]);
    assert_eq!(talk.questions[1].dirty[0].fault, EvidenceFault::Unknown);
    assert!(talk.turns[2].text.starts_with("␛[31mbeans␛[0m"));
}

#[test]
fn a_missing_conversation_is_answered_with_the_names_that_are_there() {
    let (_folder, path) = small();
    let text = Store::open(&path).unwrap().load("gardn").unwrap_err().to_string();
    assert!(text.contains("'gardn'") && text.contains("'garden', 'trip'"), "{text}");
}

#[test]
fn the_report_is_for_people() {
    let folder = tempdir().unwrap();
    let report = bring_text("small.jsonl", SMALL, &folder.path().join("m.db")).unwrap();
    let want = "\
small.jsonl  JSONL                 imported
  2 conversations, 3 sessions, 7 turns, 3 questions, 4 evidence references
  evidence: 3 good; 1 name no turn
  1 time kept as words, they could not be read
  2 control characters made visible
";
    assert_eq!(report.to_string(), want);
}

#[test]
fn locomo_is_read_with_its_peculiarities() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let report = bring_text("l.json", &format!("\u{feff}{LOCOMO}"), &path).unwrap();
    assert_eq!(report.files[0].format, Some(Format::Locomo));
    let talk = Store::open(&path).unwrap().load("conv-x").unwrap();
    assert_eq!(talk.title.as_deref(), Some("Ida and Kim"));
    assert_eq!(
        talk.sessions.iter().map(|known| (known.id.as_str(), known.number)).collect::<Vec<_>>(),
        [("session_1", 1), ("session_3", 3)]
    );
    assert_eq!(talk.sessions[1].time.header(), "9:05 am on 3 June, 2023");
    let answers: Vec<_> = talk.questions.iter().map(|question| question.answer.as_deref()).collect();
    assert_eq!(answers, [Some("2022"), Some("a kite"), None]);
    assert_eq!(talk.questions[1].category.as_deref(), Some("5"));
    assert_eq!(
        talk.questions.iter().map(|question| question.gold.clone()).collect::<Vec<_>>(),
        [vec![0], vec![0, 2], vec![]]
    );
}

#[test]
fn longmemeval_in_its_upstream_form() {
    let text = r#"[{"question_id": "h1", "question_type": "multi-session", "question": "Which tea?", "answer": "oolong",
      "question_date": "2023/06/01 (Thu) 10:00", "haystack_session_ids": ["b", "a", "b"],
      "haystack_dates": ["2023/05/30 (Tue) 23:40", "2023/05/02 (Tue) 08:00", "2023/05/31 (Wed) 09:00"],
      "answer_session_ids": ["b"],
      "haystack_sessions": [[{"role": "user", "content": "I drink oolong", "has_answer": true},
        {"role": "assistant", "content": "Nice"}], [{"role": "user", "content": "Morning"}], [{"role": "user", "content": "x"}]]}]"#;
    let evidence = r#"{"question_id": "h1", "question_type": "multi-session", "question": "Which tea?", "answers": ["oolong"],
      "answer_session_ids": ["b"], "evidence_sessions": [{"date": "", "turns": [{"role": "assistant", "content": "Nice"}]}]}"#
        .replace('\n', " ");
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    bring_text("s.json", text, &path).unwrap();
    let talk = Store::open(&path).unwrap().load("h1").unwrap();
    assert_eq!(talk.turns.iter().map(|turn| turn.id.as_str()).collect::<Vec<_>>(), ["a:1", "b:1", "b:2", "b#3:1"]);
    assert_eq!((talk.questions[0].id.as_str(), talk.questions[0].gold.as_slice()), ("h1", &[1][..]));
    let before = Store::open(&path).unwrap().fingerprint();
    bring_text("e.jsonl", &evidence, &path).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("h1").unwrap().questions[0].gold, [2]);
    assert_ne!(store.fingerprint(), before);
}

#[test]
fn beam_times_hold_until_the_next_anchor() {
    let text = r#"{"conversation": "b", "topic": {"title": "Kites"}, "sessions": [{"batch": 2, "time_anchor": null, "turns": [
      {"id": 0, "role": "user", "content": "one", "time_anchor": "March-15-2024"},
      {"id": 1, "role": "assistant", "content": "two"},
      {"id": 2, "role": "user", "content": "three", "time_anchor": "March-16-2024"}]}],
      "questions": [{"type": "abstention", "evidence_ids": [1, 7], "question": "?", "ideal_response": "unknown"}]}"#;
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    bring_text("b.json", text, &path).unwrap();
    let talk = Store::open(&path).unwrap().load("b").unwrap();
    assert_eq!((talk.sessions[0].number, talk.title.as_deref()), (2, Some("Kites")));
    let dates: Vec<_> = talk.turns.iter().map(|turn| turn.time.date()).collect();
    assert_eq!(dates, ["2024-03-15", "2024-03-15", "2024-03-16"]);
    let question = &talk.questions[0];
    assert_eq!(
        (question.gold.as_slice(), question.dirty.len(), question.answer.as_deref()),
        (&[1][..], 1, Some("unknown"))
    );
}

#[test]
fn a_turn_of_a_megabyte_and_half_a_surrogate_are_kept() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let long = "word ".repeat(200_000);
    let line = format!(
        "{{\"conversation\": \"c\", \"session\": 1, \"id\": 1, \"speaker\": \"A\", \"text\": \"{long}\\ud83d\\u0000\"}}"
    );
    bring_text("long.jsonl", &line, &path).unwrap();
    let talk = Store::open(&path).unwrap().load("c").unwrap();
    assert_eq!(talk.turns[0].text, format!("{long}\u{fffd}␀"));
}

// Imports: all or nothing, twice is once.

#[test]
fn importing_again_changes_no_byte() {
    let (folder, path) = small();
    let before = contents(folder.path());
    let report = bring_text("small.jsonl", SMALL, &path).unwrap();
    assert!(report.unchanged() && report.files[0].turns == 7);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn the_same_files_make_the_same_bytes_anywhere() {
    let ((one, _), (two, _)) = (small(), small());
    assert_eq!(contents(one.path()), contents(two.path()));
}

#[test]
fn a_changed_conversation_takes_the_place_of_the_old_one() {
    let (_folder, path) = small();
    let question = r#"{"conversation": "garden", "question": "What did Bo plant?", "evidence": ["g2"]}"#;
    bring_text("more.jsonl", question, &path).unwrap();
    let changed = SMALL.replace("the tomatoes", "the old tomatoes");
    let report = bring_text("small.jsonl", &changed, &path).unwrap();
    assert_eq!(report.files[0].replaced, ["garden"]);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.summaries().unwrap().iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["garden", "trip"]);
    let talk = store.load("garden").unwrap();
    assert!(talk.turns[0].text.contains("old tomatoes"));
    assert_eq!(talk.questions[2].text, "What did Bo plant?");
    assert_eq!((talk.questions[2].gold.as_slice(), talk.questions[2].id.as_str()), (&[1][..], "q3"));
    assert!(bring_text("more.jsonl", question, &path).unwrap().unchanged());
}

#[test]
fn a_failing_file_leaves_the_database_as_it_was() {
    let (folder, path) = small();
    let before = contents(folder.path());
    let truncated = &LOCOMO[..LOCOMO.len() - 40];
    let twice = r#"{"conversation": "n", "session": "1", "id": "a", "speaker": "A", "text": "x"}"#;
    let rows: [(&str, String, &str); 6] = [
        ("l.json", truncated.to_owned(), "line"),
        ("t.jsonl", format!("{twice}\n{twice}\n"), "two turns with the id 'a'"),
        ("l.jsonl", format!("{twice}\n{{\"conversation\": \"n\", \"text\": \n"), "line 2: the line ends in the middle"),
        (
            "l.jsonl",
            format!("{twice}\n{{\"conversation\": \"n\", \"session\": \"1\", \"id\": \"b\", \"text\": \"\"}}\n"),
            "no \"speaker\"",
        ),
        ("l.jsonl", format!("{twice}\n{{\"session\": \"1\"}}\n"), "no \"conversation\""),
        ("q.json", r#"[{"query": "?"}]"#.to_owned(), "'query'"),
    ];
    for (name, text, want) in rows {
        let fault = bring_text(name, &text, &path).unwrap_err().to_string();
        assert!(fault.contains(name) && fault.contains(want), "{fault}");
        assert_eq!(contents(folder.path()), before, "{fault}");
    }
}

#[test]
fn a_database_that_did_not_come_to_be_leaves_no_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("new.db");
    assert!(bring_text("l.json", &LOCOMO[..200], &path).is_err());
    let question = r#"{"conversation": "nobody", "question": "?"}"#;
    let fault = bring_text("q.jsonl", question, &path).unwrap_err().to_string();
    assert!(fault.contains("nothing to import in 'q.jsonl'") && fault.contains("not in the database"), "{fault}");
    assert!(bring(&[], &path).is_err());
    assert!(contents(folder.path()).is_empty());
}

#[test]
fn a_file_cut_anywhere_is_refused_and_leaves_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("new.db");
    let end = LOCOMO.trim_end().len();
    for cut in (0..end).step_by(37).chain([end - 1]) {
        let text = LOCOMO.get(..cut).unwrap();
        assert!(bring_text("cut.json", text, &path).is_err(), "{text}");
        assert!(contents(folder.path()).is_empty(), "{text}");
    }
}

#[test]
fn files_before_the_failing_one_stay() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let texts = [("good.jsonl", SMALL), ("bad.json", &LOCOMO[..400])];
    assert!(import_texts(&texts, &path, &mut |_| {}).is_err());
    assert_eq!(read_all(&Store::open(&path).unwrap()), 7);
}

#[test]
fn questions_find_their_history_in_any_order_of_files() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let questions = "{\"conversation\": \"trip\", \"question\": \"Where?\", \"evidence\": [\"t1\"], \"id\": \"w\"}\n\
                     {\"conversation\": \"nobody\", \"question\": \"Who?\"}\n";
    let texts = [("questions.jsonl", questions), ("small.jsonl", SMALL)];
    let mut seen = Vec::new();
    let report = import_texts(&texts, &path, &mut |progress| seen.push(progress)).unwrap();
    assert_eq!(
        report.files.iter().map(|file| file.file.as_str()).collect::<Vec<_>>(),
        ["small.jsonl", "questions.jsonl"]
    );
    assert_eq!(report.files[1].skipped.len(), 1);
    let last = seen.last().unwrap();
    assert_eq!((last.bytes_read, last.bytes_total), (questions.len() as u64, questions.len() as u64));
    let talk = Store::open(&path).unwrap().load("trip").unwrap();
    assert_eq!(
        talk.questions.last().map(|question| (question.id.as_str(), question.gold.as_slice())),
        Some(("w", &[0][..]))
    );
    let before = contents(folder.path());
    assert!(import_texts(&texts, &path, &mut |_| {}).unwrap().unchanged());
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn lines_of_two_conversations_may_be_mixed() {
    let line = |talk: &str, id: usize| {
        format!(
            "{{\"conversation\": \"{talk}\", \"session\": \"s\", \"id\": \"{id}\", \"speaker\": \"A\", \"text\": \"{talk}{id}\"}}\n"
        )
    };
    let text: String = (0..50).flat_map(|id| [line("a", id), "\n".to_owned(), line("b", id)]).collect();
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    bring_text("mixed.jsonl", &text, &path).unwrap();
    let talk = Store::open(&path).unwrap().load("b").unwrap();
    assert_eq!(talk.turns.len(), 50);
    assert!(talk.turns.iter().enumerate().all(|(at, turn)| turn.text == format!("b{at}")));
}

#[test]
fn a_folder_is_read_and_what_is_something_else_is_passed_over() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("a.json"), LOCOMO).unwrap();
    fs::write(folder.path().join("notes.json"), "{\"todo\": []}").unwrap();
    fs::write(folder.path().join("readme.txt"), "hello").unwrap();
    let out = tempdir().unwrap();
    let report = bring(&[folder.path().to_owned()], &out.path().join("m.db")).unwrap();
    assert_eq!(report.files.len(), 2);
    assert!(report.files[0].format.is_none() && report.files[1].conversations == 1);
    let gone = bring(&[folder.path().join("gone.json")], &out.path().join("m.db")).unwrap_err().to_string();
    assert!(gone.contains("no file") && gone.contains("gone.json"), "{gone}");
}

#[test]
fn an_import_never_writes_to_a_database_of_another_program() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("other.db");
    let sql = "PRAGMA journal_mode = WAL; CREATE TABLE messages (id, body)";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "my notes").unwrap();
    let before = contents(folder.path());
    assert!(matches!(bring_text("s.jsonl", SMALL, &path), Err(StoreError::WrongSchema { .. })));
    assert!(matches!(bring_text("s.jsonl", SMALL, &text), Err(StoreError::NotADatabase { .. })));
    assert!(matches!(bring_text("s.jsonl", SMALL, folder.path()), Err(StoreError::IsDirectory { .. })));
    let nowhere = folder.path().join("no/such/m.db");
    assert!(matches!(bring_text("s.jsonl", SMALL, &nowhere), Err(StoreError::NoFolder { .. })));
    assert_eq!(contents(folder.path()), before);
}

// Opening: nothing of the user's changes.

#[test]
fn opening_and_reading_changes_nothing() {
    let (folder, path) = small();
    let before = contents(folder.path());
    let store = Store::open(&path).unwrap();
    assert_eq!(read_all(&store), 7);
    assert!(store.notices().is_empty());
    assert_eq!(contents(folder.path()), before, "while open");
    drop(store);
    assert_eq!(contents(folder.path()), before, "after closing");
}

#[test]
fn a_database_in_wal_mode_is_read_with_its_newest_rows_and_left_alone() {
    let (folder, path) = small();
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "WAL").unwrap();
    // Closed: no -wal, nothing may appear beside the file.
    drop(writer);
    let before = contents(folder.path());
    assert_eq!(before.len(), 1);
    let store = Store::open(&path).unwrap();
    assert_eq!(read_all(&store), 7);
    assert_eq!(contents(folder.path()), before);
    drop(store);
    // In use: the newest row is only in the -wal.
    let writer = Connection::open(&path).unwrap();
    writer.execute("UPDATE conversation SET title = 'Three gardeners' WHERE id = 'garden'", []).unwrap();
    let before = contents(folder.path());
    assert!(before.len() > 1);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("garden").unwrap().title.as_deref(), Some("Three gardeners"));
    assert!(store.notices()[0].contains("snapshot copy") && store.notices()[0].contains("memory.db-wal"));
    drop(store);
    assert_eq!(contents(folder.path()), before);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_to_the_side_files() {
    let (_folder, path) = small();
    let elsewhere = tempdir().unwrap();
    let link = elsewhere.path().join("odd name?#%.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(read_all(&Store::open(&link).unwrap()), 7);
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "WAL").unwrap();
    writer.execute("UPDATE conversation SET title = 'New' WHERE id = 'garden'", []).unwrap();
    let store = Store::open(&link).unwrap();
    assert_eq!(store.load("garden").unwrap().title.as_deref(), Some("New"));
    assert_eq!((store.notices().len(), store.path()), (1, link.as_path()));
}

#[cfg(unix)]
#[test]
fn a_file_of_an_odd_name_is_opened_in_place() {
    let (folder, path) = small();
    let odd = folder.path().join("100% odd?#ü.db");
    fs::rename(&path, &odd).unwrap();
    let store = Store::open(&odd).unwrap();
    assert!(read_all(&store) == 7 && store.notices().is_empty());
    assert!(refusal(Path::new("/dev/null")).contains("device"));
}

#[test]
fn a_database_that_another_program_is_changing_is_read_as_it_was() {
    let (folder, path) = small();
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let store = Store::open(&path).unwrap();
    assert!(store.notices()[0].contains("another program is writing"), "{:?}", store.notices());
    assert_eq!(read_all(&store), 7);
    // Half a change: pages are in the file already, the journal knows how to undo them.
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1;").unwrap();
    writer.execute_batch("UPDATE turn SET text = text || hex(zeroblob(20000)); DELETE FROM conversation;").unwrap();
    let before = contents(folder.path());
    assert!(before.contains_key("memory.db-journal"));
    let store = Store::open(&path).unwrap();
    assert_eq!(read_all(&store), 7);
    assert!(store.load("garden").unwrap().turns[0].text.len() < 1_000);
    assert_eq!(contents(folder.path()), before);
    drop(store);
    writer.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn the_fingerprint_follows_the_content_and_not_the_file() {
    let (folder, path) = small();
    let print = |path: &Path| Store::open(path).unwrap().fingerprint();
    let first = print(&path);
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    Connection::open(&copy).unwrap().execute_batch("PRAGMA page_size = 1024; VACUUM").unwrap();
    assert_eq!(print(&copy), first);
    bring_text("small.jsonl", &SMALL.replace("tomatoes", "potatoes"), &copy).unwrap();
    assert_ne!(print(&copy), first);
    assert_eq!(first.len(), 64);
}

#[test]
fn hostile_rows_of_a_database_made_elsewhere_are_cleaned_on_load() {
    let (_folder, path) = small();
    let writer = Connection::open(&path).unwrap();
    writer
        .execute("UPDATE turn SET text = ?1, speaker = ?2 WHERE id = 'g1'", ["\x1b]0;x\x07 a\u{202e}b", "Ann\n"])
        .unwrap();
    writer.execute("UPDATE turn SET text = CAST(x'61ff62' AS TEXT) WHERE id = 'g2'", []).unwrap();
    writer.execute("UPDATE conversation SET id = 'tr' || char(27) || 'ip' WHERE id = 'trip'", []).unwrap();
    drop(writer);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.summaries().unwrap()[1].id, "tr␛ip");
    assert_eq!(store.load("tr␛ip").unwrap().turns.len(), 2);
    let talk = store.load("garden").unwrap();
    assert_eq!(talk.turns[0].text, "␛]0;x␇ a⟨U+202E⟩b");
    assert_eq!(talk.speaker_of(&talk.turns[0]), "Ann");
    assert_eq!(talk.turns[1].text, "a\u{fffd}b");
}

// Every way in which opening fails has its sentence.

#[test]
fn what_is_no_database_is_told_apart() {
    let folder = tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(8192)
    .collect();
    let rows = [
        (folder.path().join("gone.db"), "no file"),
        (folder.path().to_owned(), "is a folder"),
        (file("empty.db", b""), "0 bytes"),
        (file("export.json", b"[{\"a\": 1}]"), "looks like JSON: put it into a database with `memsift import"),
        (file("notes.txt", "größe".as_bytes()), "looks like text"),
        (file("noise.db", &noise), "encrypted or not a SQLite database"),
        (file("odd.bin", &noise[..1001]), "does not begin as one"),
        (file("head.db", b"SQLite format 3\0\x10\0"), "cut short"),
    ];
    let before = contents(folder.path());
    for (path, want) in &rows {
        let text = refusal(path);
        assert!(text.contains(want), "{text}");
    }
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn other_schemas_are_told_apart() {
    let (folder, path) = small();
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE messages (id); CREATE TABLE threads (id)").unwrap();
    let text = refusal(&other);
    assert!(text.contains("messages, threads") && text.contains("memsift import") && text.contains("JSONL"), "{text}");

    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "user_version", 7).unwrap();
    assert!(refusal(&path).contains("newer memsift (schema 7, this one knows 1): update memsift"));
    writer.pragma_update(None, "user_version", 1).unwrap();
    writer.execute_batch("PRAGMA foreign_keys = ON; DELETE FROM conversation").unwrap();
    assert!(refusal(&path).contains("without conversations"));
}

#[test]
fn a_file_cut_short_is_told() {
    let (_folder, path) = small();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() * 9 / 10]).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Truncated { .. })), "{}", refusal(&path));
}

#[test]
fn damage_is_told_with_its_table_and_what_is_left() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let line = |id: usize| {
        let words = "word ".repeat(60);
        format!(
            "{{\"conversation\": \"c\", \"session\": \"s\", \"id\": \"{id}\", \"speaker\": \"A\", \"text\": \"{words}\"}}\n"
        )
    };
    bring_text("m.jsonl", &(0..2_000).map(line).collect::<String>(), &path).unwrap();
    let pages: Vec<usize> = {
        let reader = Connection::open(&path).unwrap();
        let root: usize = reader
            .query_row("SELECT rootpage FROM sqlite_master WHERE name = 'turn'", [], |row| row.get::<_, i64>(0))
            .unwrap() as usize;
        vec![root]
    };
    let clean = fs::read(&path).unwrap();
    // The root of the table, and one of its leaves in the middle of the file.
    let leaf = (clean.len() / 4096 / 2..).find(|page| clean[page * 4096] == 13).unwrap() + 1;
    for page in [pages[0], leaf] {
        let mut bytes = clean.clone();
        bytes[(page - 1) * 4096..][..100].iter_mut().for_each(|byte| *byte ^= 0x5a);
        fs::write(&path, &bytes).unwrap();
        let text = Store::open(&path).and_then(|store| store.load("c")).unwrap_err().to_string();
        assert!(
            text.contains("table 'turn'") && text.contains("rows of it could be read") && text.contains(".recover"),
            "{text}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    // The list of tables itself.
    let mut bytes = clean.clone();
    bytes[100..200].iter_mut().for_each(|byte| *byte ^= 0x5a);
    fs::write(&path, &bytes).unwrap();
    let text = refusal(&path);
    assert!(text.contains(".recover"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = small();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    assert!(refusal(&path).contains("no permission"));
}

#[cfg(unix)]
#[test]
fn a_database_that_may_not_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = small();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let read = read_all(&Store::open(&path).unwrap());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(read, 7);
}

// The data sets.

/// Conversations, sessions, turns, questions, gold turns, and dirty references by fault in the order
/// unknown, several, range, typo, unreadable.
fn counts(path: &Path) -> ([usize; 5], [usize; 5]) {
    let store = Store::open(path).unwrap();
    let mut sums = [0; 5];
    let mut faults = [0; 5];
    for row in store.summaries().unwrap() {
        let talk = store.load(&row.id).unwrap();
        assert_eq!(
            (row.turns, row.sessions, row.words, row.questions),
            (talk.turns.len(), talk.sessions.len(), talk.words(), talk.questions.len())
        );
        assert_eq!(talk.sessions.iter().map(|known| known.turns.len()).sum::<usize>(), talk.turns.len());
        let gold: usize = talk.questions.iter().map(|question| question.gold.len()).sum();
        for (sum, more) in sums.iter_mut().zip([1, row.sessions, row.turns, row.questions, gold]) {
            *sum += more;
        }
        for dirty in talk.questions.iter().flat_map(|question| &question.dirty) {
            faults[dirty.fault as usize] += 1;
        }
    }
    (sums, faults)
}

fn stays_the_same(files: &[PathBuf], folder: &Path, path: &Path) {
    let before = contents(folder);
    assert!(bring(files, path).unwrap().unchanged());
    assert_eq!(contents(folder), before);
}

#[test]
fn locomo_10_is_complete() {
    let Some(data) = shared("locomo10.json") else { return };
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let report = bring(std::slice::from_ref(&data), &path).unwrap();
    println!("{report}");
    let (sums, faults) = counts(&path);
    println!("{sums:?} {faults:?}");
    assert_eq!(sums[..4], [10, 272, 5_882, 1_986]);
    let store = Store::open(&path).unwrap();
    let talks: Vec<_> = store.summaries().unwrap().iter().map(|row| store.load(&row.id).unwrap()).collect();
    assert_eq!(talks[0].id, "conv-26");
    let asked: Vec<_> = talks
        .iter()
        .flat_map(|talk| &talk.questions)
        .filter(|question| question.category.as_deref() != Some("5") && !question.gold.is_empty())
        .collect();
    // The figures of the reference: gold turns, and questions that have some.
    assert_eq!((asked.len(), asked.iter().map(|question| question.gold.len()).sum::<usize>()), (1_536, 2_360));
    stays_the_same(&[data], folder.path(), &path);
}

#[test]
fn realtalk_is_complete_from_either_file() {
    let Some(data) = shared("realtalk") else { return };
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let report = bring(std::slice::from_ref(&data), &path).unwrap();
    println!("{report}");
    let (sums, faults) = counts(&path);
    println!("{sums:?} {faults:?}");
    assert_eq!(sums[..4], [5, 104, 3_309, 360]);
    // The cleaned questions say what the chats say: nothing was written for them.
    assert_eq!(report.files.last().map(|file| (file.questions, file.unchanged)), Some((360, true)));
    assert!(report.files.iter().all(|file| file.unread_times == 0));
    let talk = Store::open(&path).unwrap().load("Chat_1_Emi_Elise").unwrap();
    assert_ne!(talk.turns[0].time, talk.turns[10].time);
    stays_the_same(&[data], folder.path(), &path);
}

#[test]
fn longmemeval_is_complete() {
    let Some(data) = shared("longmemeval") else { return };
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    let report = bring(std::slice::from_ref(&data), &path).unwrap();
    println!("{report}");
    let (sums, faults) = counts(&path);
    println!("{sums:?} {faults:?}");
    assert_eq!(sums[..4], [3, 120, 1_218, 26]);
    stays_the_same(&[data], folder.path(), &path);
}

#[test]
fn beam_is_complete() {
    let Some(data) = shared("beam") else { return };
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.db");
    println!("{}", bring(std::slice::from_ref(&data), &path).unwrap());
    let (sums, faults) = counts(&path);
    println!("{sums:?} {faults:?}");
    assert_eq!((sums[0], sums[3], faults), (10, 200, [0; 5]));
    let store = Store::open(&path).unwrap();
    let talk = store.load("beam-100K-1").unwrap();
    assert_eq!(talk.sessions[1].time.date(), "2024-04-05");
    stays_the_same(&[data], folder.path(), &path);
}
