//! The command line from outside: what it says to every kind of bad input, what it leaves alone, and that nothing it prints
//! can drive a terminal. All in temporary folders, and without models but where scores are the point.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use assert_cmd::Command;
use memsift::scored::Timings;
use memsift::store::clean::is_hostile;
use memsift::store::import::import_texts;
use memsift::store::schema::schema_sql;
use memsift::trace::file::TraceFile;
use rusqlite::Connection;
use serde_json::json;
use tempfile::{TempDir, tempdir};

const PROGRAM: &str = env!("CARGO_BIN_EXE_memsift");
const LOCOMO: &str = include_str!("fixtures/store/locomo.json");

/// A folder of its own for the user's files, and others for memsift's.
struct Place {
    root: TempDir,
}

/// What a run said.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Self {
        let root = tempdir().unwrap();
        for folder in ["user", "data", "cache", "models"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A path in the user's folder.
    fn path(&self, name: &str) -> PathBuf {
        self.folder("user").join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// A database with these lines.
    fn db(&self, lines: &[String]) -> PathBuf {
        let path = self.path("memory.db");
        import_texts(&[("talk.jsonl", &lines.join("\n"))], &path, &mut |_| {}).unwrap();
        path
    }

    fn variables(&self) -> [(&'static str, PathBuf); 4] {
        [
            ("MEMSIFT_DATA", self.folder("data")),
            ("MEMSIFT_CACHE", self.folder("cache")),
            ("MEMSIFT_MODELS", self.folder("models")),
            ("HOME", self.folder("user")),
        ]
    }

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.envs(self.variables()).current_dir(self.folder("user"));
        command
    }

    /// Run to the end. Whatever happens, nobody sees a panic or a byte that a terminal obeys.
    fn run(&self, arguments: &[&dyn AsRef<OsStr>]) -> Said {
        let mut command = self.command();
        command.args(arguments.iter().map(|argument| argument.as_ref()));
        let output = command.output().unwrap();
        let said = Said {
            code: output.status.code().expect("no signal ended it"),
            out: String::from_utf8(output.stdout).expect("output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        };
        assert!(!said.err.contains("panicked"), "{}", said.err);
        for text in [&said.out, &said.err] {
            if let Some(bad) = text.chars().find(|c| *c == '\t' || is_hostile(*c)) {
                panic!("{bad:?} was printed raw: {text:?}");
            }
        }
        said
    }

    fn ask(&self, db: &Path, question: &str, more: &[&str]) -> Said {
        let mut arguments: Vec<&dyn AsRef<OsStr>> = vec![&"ask", &question, &"--db", &db];
        arguments.extend(more.iter().map(|argument| argument as &dyn AsRef<OsStr>));
        self.run(&arguments)
    }

    /// Ask and get an answer.
    fn answer(&self, db: &Path, question: &str, more: &[&str]) -> String {
        let said = self.ask(db, question, more);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{}", said.out);
        said.out
    }

    /// Every file of the user's folder with its bytes.
    fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(self.folder("user")).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
    }
}

impl Said {
    /// Refused: nothing on standard output, and one sentence on standard error with all of `parts`.
    fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        let sentence = self.err.strip_prefix("memsift: ").unwrap_or_else(|| panic!("who says it? {}", self.err));
        let sentence = sentence.strip_suffix('\n').unwrap_or_else(|| panic!("no line end: {sentence}"));
        assert!(!sentence.contains('\n') && !sentence.contains(". "), "more than one sentence: {sentence}");
        for part in parts {
            assert!(sentence.contains(part), "'{part}' is not in: {sentence}");
        }
    }
}

fn turn(conversation: &str, id: usize, speaker: &str, text: &str) -> String {
    json!({"conversation": conversation, "session": "s1", "id": format!("t{id}"), "speaker": speaker, "text": text,
           "time": "2024-03-02T19:12:00"})
    .to_string()
}

/// Six turns and a question with gold.
fn ferry() -> Vec<String> {
    let texts = [
        ("Noor", "The ferry to Harrow Bay was late again."),
        ("Ivo", "How late was it?"),
        ("Noor", "Two hours! I missed the last bus and walked."),
        ("Ivo", "Ottilie would have fetched you."),
        ("Noor", "She sold her car in March."),
        ("Ivo", "Then I will lend you my bicycle."),
    ];
    let mut lines: Vec<String> =
        texts.iter().enumerate().map(|(at, (speaker, text))| turn("ferry", at, speaker, text)).collect();
    lines.push(
        json!({"conversation": "ferry", "question": "When did the ferry leave Harrow Bay?", "evidence": ["t0", "t2"]})
            .to_string(),
    );
    lines
}

// ---- databases that cannot be read ----

#[test]
fn a_missing_file() {
    let place = Place::new();
    place.ask(&place.path("gone.db"), "ferry?", &[]).refused(2, &["no file", "gone.db", "check the path"]);
    let said = place.run(&[&"import", &"gone.json", &"--into", &"new.db"]);
    said.refused(2, &["no file", "gone.json", "check the path"]);
    assert!(place.contents().is_empty());
}

#[test]
fn a_folder() {
    let place = Place::new();
    place.ask(&place.folder("user"), "ferry?", &[]).refused(2, &["user", "is a folder", "name the file in it"]);
}

#[test]
fn a_text_file() {
    let place = Place::new();
    let path = place.write("notes.txt", "The ferry was late. So was I.\n");
    place.ask(&path, "ferry?", &[]).refused(2, &["notes.txt", "looks like text", "memsift import"]);
}

#[test]
fn random_bytes_in_whole_pages() {
    let place = Place::new();
    let mut state = 3_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    let path = place.write("secret.db", noise.take(3 * 4096).collect::<Vec<u8>>());
    place.ask(&path, "ferry?", &[]).refused(2, &["secret.db", "encrypted", "decrypt it"]);
}

#[test]
fn a_damaged_page() {
    let place = Place::new();
    let words = "The ferry was late and nobody knew why. ".repeat(8);
    let path = place.db(&(0..800).map(|at| turn("long", at, "Noor", &words)).collect::<Vec<_>>());
    let mut bytes = fs::read(&path).unwrap();
    // A leaf of a table (13) in the middle of the file: only turns are there.
    let leaf = (bytes.len() / 4096 / 2..).find(|page| bytes[page * 4096] == 13).unwrap() * 4096;
    bytes[leaf..leaf + 100].iter_mut().for_each(|byte| *byte ^= 0x5a);
    fs::write(&path, bytes).unwrap();
    place.ask(&path, "ferry?", &[]).refused(2, &["memory.db", "is damaged in table 'turn'", "save what is left"]);
}

#[test]
fn an_empty_file() {
    let place = Place::new();
    let path = place.write("empty.db", "");
    place.ask(&path, "ferry?", &[]).refused(2, &["empty.db", "0 bytes", "import again"]);
}

#[test]
fn an_empty_database() {
    let place = Place::new();
    let path = place.path("blank.db");
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 0; VACUUM").unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 0);
    place.ask(&path, "ferry?", &[]).refused(2, &["blank.db", "no tables", "memsift import"]);
}

#[test]
fn a_database_of_another_program() {
    let place = Place::new();
    let path = place.path("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE messages (id); CREATE TABLE threads (id)").unwrap();
    let parts = ["other.db", "neither memsift's nor one of the chat stores", "messages, threads", "memsift import"];
    place.ask(&path, "ferry?", &[]).refused(2, &parts);
    let before = place.contents();
    let talk = place.folder("data").join("talk.jsonl");
    fs::write(&talk, ferry().join("\n")).unwrap();
    place.run(&[&"import", &talk, &"--into", &path]).refused(2, &parts);
    assert_eq!(place.contents(), before);
}

#[test]
fn a_database_without_conversations() {
    let place = Place::new();
    let path = place.path("bare.db");
    Connection::open(&path).unwrap().execute_batch(&schema_sql()).unwrap();
    place.ask(&path, "ferry?", &[]).refused(2, &["bare.db", "without conversations", "memsift import"]);
}

#[test]
fn an_unknown_conversation() {
    let place = Place::new();
    let path = place.db(&ferry());
    let said = place.ask(&path, "ferry?", &["--conversation", "fery"]);
    let parts = ["no conversation 'fery'", "memory.db", "choose one of", "'ferry'"];
    said.refused(2, &parts);
    place.run(&[&"reproduce", &"smartsearch", &"--db", &path, &"--conversation", &"fery"]).refused(2, &parts);
}

#[test]
fn several_conversations_and_none_chosen() {
    let place = Place::new();
    let mut lines = ferry();
    lines.push(turn("train", 1, "Ada", "Trains are never late."));
    let path = place.db(&lines);
    let parts = ["memory.db", "2 conversations", "choose one with --conversation", "'ferry', 'train'"];
    place.ask(&path, "late?", &[]).refused(2, &parts);
    let out = place.answer(&path, "late?", &["--conversation", "train"]);
    assert!(out.contains("history   train: 1 sessions, 1 turns"), "{out}");
}

// ---- questions ----

#[test]
fn a_question_of_stop_words_is_answered_and_says_what_was_ranked() {
    let place = Place::new();
    let path = place.db(&ferry());
    let out = place.answer(&path, "what is it that we do?", &[]);
    for part in [
        "ignored   what is it that we do\n",
        "no term occurs in the history: every passage went to the rankers\n",
        "matched   0 of 6 passages, 6 candidates\n",
    ] {
        assert!(out.contains(part), "'{part}' is not in:\n{out}");
    }
}

#[test]
fn an_empty_question() {
    let place = Place::new();
    let path = place.db(&ferry());
    for question in ["", "   ", "\n\t\n"] {
        place.ask(&path, question, &[]).refused(2, &["the question is empty", "type at least one word"]);
    }
}

#[test]
fn a_question_of_5000_characters() {
    let place = Place::new();
    let path = place.db(&ferry());
    let question = |length: usize| format!("ferry {}", "ö".repeat(length - 6));
    place.ask(&path, &question(5000), &[]).refused(2, &["5000 characters", "at most 4000", "ask a shorter one"]);
    assert!(place.answer(&path, &question(4000), &[]).contains("matched   1 of 6 passages"));
}

// ---- what is in the data ----

#[test]
fn a_turn_of_a_megabyte() {
    let place = Place::new();
    let mut lines = ferry();
    lines.push(turn("ferry", 99, "Noor", &"ferry and more ferries ".repeat(45_000)));
    let path = place.db(&lines);
    let out = place.answer(&path, "Where do the ferries go?", &["--budget", "50"]);
    // With its header, which the sample's time makes six words, and its speaker.
    let words = 45_000 * 4 + 1 + 6;
    assert!(out.contains(&format!(" {words} ")) && out.contains("1 over budget"), "{}", &out[..2000]);
    let json = place.answer(&path, "Where do the ferries go?", &["--json"]);
    assert!(TraceFile::from_json(&json).unwrap().to_trace().is_ok());
}

/// Every way to drive, reorder or hide that has a name, in one string.
const HOSTILE: &str = "a\u{0}b\u{1b}[31mc\u{7}\u{8}\u{9b}2J\u{202e}d\u{2066}e\u{200b}\u{feff}\r\n\tf\u{7f}";

#[test]
fn hostile_bytes_in_the_data_are_made_visible() {
    let place = Place::new();
    let line = |id: usize, text: &str| {
        json!({"conversation": format!("talk {HOSTILE}"), "title": HOSTILE, "session": HOSTILE, "time": HOSTILE,
               "id": format!("{HOSTILE}{id}"), "speaker": HOSTILE, "text": text, "caption": HOSTILE})
        .to_string()
    };
    let question =
        json!({"conversation": format!("talk {HOSTILE}"), "id": HOSTILE, "question": HOSTILE, "answer": HOSTILE,
                          "category": HOSTILE, "evidence": [format!("{HOSTILE}1")]})
        .to_string();
    let other = turn("train", 1, "Ada", "Trains are never late.");
    let file =
        place.write("talk.jsonl", [line(1, HOSTILE), line(2, "a ferry\tin a table"), question, other].join("\n"));
    let db = place.path("memory.db");
    let said = place.run(&[&"import", &file, &"--into", &db]);
    assert!(said.code == 0 && said.out.contains("control characters made visible"), "{}{}", said.out, said.err);
    assert_eq!(place.run(&[&"import", &file, &"--into", &db, &"--json"]).code, 0);
    // The names are listed in the refusal, and can be copied from there.
    let said = place.ask(&db, "ferry?", &[]);
    said.refused(2, &["2 conversations", "talk a␀b␛[31mc␇␈⟨U+009B⟩2J⟨U+202E⟩d"]);
    let name = said.err.split('\'').find(|part| part.starts_with("talk ")).unwrap();
    for more in [&["--conversation", name, "--all", "--captions", "render"][..], &["--conversation", name, "--json"]] {
        let out = place.answer(&db, HOSTILE.trim_start_matches("a\u{0}"), more);
        assert!(out.contains("a␀b␛[31mc␇"), "{out}");
    }
}

#[test]
fn hostile_arguments_are_made_visible() {
    let place = Place::new();
    let db = place.db(&ferry());
    // No program can be given a NUL.
    let bad = HOSTILE.replace('\0', "");
    let bad = bad.as_str();
    let seen = "b␛[31mc␇";
    assert!(place.answer(&db, bad, &[]).contains(seen));
    place.ask(&db, "ferry?", &["--conversation", bad]).refused(2, &["no conversation", seen]);
    place.ask(&db, "ferry?", &["--alpha", bad]).refused(2, &["--alpha", seen]);
    place.ask(&db, "ferry?", &["--overflow", bad]).refused(2, &["--overflow", seen]);
    for arguments in [vec![&"import" as &dyn AsRef<OsStr>, &bad], vec![&"models", &bad], vec![&"--theme", &"x", &bad]] {
        let said = place.run(&arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
    }
    let said = place.ask(&db, "ferry?", &[&format!("--{bad}")]);
    assert!(said.code == 2 && said.err.contains("⟨U+202E⟩"), "{}", said.err);
}

/// A file system that takes such names is needed.
#[cfg(unix)]
#[test]
fn hostile_file_names_are_made_visible() {
    let place = Place::new();
    let name = HOSTILE.replace('\0', "");
    place.ask(&place.path(&format!("{name}.db")), "ferry?", &[]).refused(2, &["no file", "␛[31mc␇"]);
    let file = place.write(&format!("{name}.jsonl"), ferry().join("\n"));
    let db = place.path(&format!("{name}.db"));
    let said = place.run(&[&"import", &file, &"--into", &db]);
    assert!(said.code == 0 && said.out.contains("␛[31mc␇"), "{}{}", said.out, said.err);
    assert!(place.answer(&db, "ferry?", &[]).contains("matched   1 of 6 passages"));
    place.run(&[&"import", &file, &"--into", &file]).refused(2, &["looks like JSON", "memsift import"]);
    place.ask(&db, "ferry?", &["--conversation", "x"]).refused(2, &["no conversation 'x'", "␛[31mc␇"]);
}

#[test]
fn times_that_nobody_can_read_are_kept_as_words() {
    let place = Place::new();
    let times = ["the day after the storm", "31.02.2023, 10:00:00", "1709406720", "2024-13-40", "", "12 o'clock"];
    let lines: Vec<String> = (0..)
        .zip(times)
        .map(|(at, time): (usize, _)| {
            json!({"conversation": "ferry", "session": "s1", "id": at, "speaker": "Noor", "text": "a ferry", "time": time})
                .to_string()
        })
        .collect();
    let file = place.write("talk.jsonl", lines.join("\n"));
    let said = place.run(&[&"import", &file, &"--into", &"memory.db"]);
    assert!(said.code == 0 && said.out.contains("times kept as words, they could not be read"), "{}", said.out);
    let out = place.answer(&place.path("memory.db"), "ferry?", &["--all"]);
    for time in times.iter().filter(|time| !time.is_empty()) {
        assert!(out.contains(&format!("[{time}] Noor: a ferry")), "{time}:\n{out}");
    }
}

// ---- knobs ----

#[test]
fn bad_values_of_knobs_are_refused_with_what_they_take() {
    let place = Place::new();
    let db = place.db(&ferry());
    for (knob, value, takes) in [
        ("--alpha", "2", "a number from 0 to 1"),
        ("--alpha", "much", "a number from 0 to 1"),
        ("--alpha", "NaN", "a number from 0 to 1"),
        ("--alpha", "", "a number from 0 to 1"),
        ("--alpha", "-0.1", "a number from 0 to 1"),
        ("--budget", "-1", "a number from 0 to 1000000"),
        ("--budget", "1e99", "a number from 0 to 1000000"),
        ("--budget", "10.5", "without a fraction"),
        ("--overflow", "go", "stop, skip, keep"),
        ("--fusion", "RRF", "rrf, z, rrf3"),
        ("--dedup", "maybe", "on or off"),
    ] {
        place.ask(&db, "ferry?", &[knob, value]).refused(2, &[knob, &format!("cannot be '{value}'"), takes]);
    }
    let said = place.ask(&db, "ferry?", &["--bugdet", "10"]);
    assert!(said.code == 2 && said.err.contains("--budget"), "{}", said.err);
}

// ---- imports ----

#[test]
fn a_damaged_file_leaves_the_database_as_it_was() {
    let place = Place::new();
    let db = place.db(&ferry());
    let cut = place.write("cut.json", &LOCOMO[..LOCOMO.len() - 60]);
    let lines = place.write("lines.jsonl", format!("{}\n{{\"conversation\": \"new\", \"text\": \n", ferry()[0]));
    let list = place.write("list.json", "[1, 2, 3]");
    let before = place.contents();
    for (file, parts) in [
        (&cut, &["cut.json' line ", "nothing was stored"][..]),
        (&lines, &["lines.jsonl' line 2", "ends in the middle", "nothing of this file was stored"]),
        (&list, &["list.json", "none of the formats", "LoCoMo"]),
    ] {
        place.run(&[&"import", file, &"--into", &db]).refused(2, parts);
        place.run(&[&"import", file, &"--into", &"fresh.db"]).refused(2, parts);
        assert_eq!(place.contents(), before);
    }
    assert!(place.answer(&db, "ferry?", &[]).contains("history   ferry: 1 sessions, 6 turns"));
}

#[test]
fn importing_twice_changes_nothing() {
    let place = Place::new();
    let file = place.write("talk.jsonl", ferry().join("\n"));
    let import: [&dyn AsRef<OsStr>; 4] = [&"import", &file, &"--into", &"memory.db"];
    let first = place.run(&import);
    assert!(first.code == 0 && first.out.contains("imported"), "{}{}", first.out, first.err);
    let before = place.contents();
    let second = place.run(&import);
    assert!(second.code == 0 && second.out.contains("nothing changed"), "{}{}", second.out, second.err);
    assert_eq!(place.contents(), before);
}

// ---- what is left behind, and where output goes ----

#[test]
fn asking_changes_nothing_of_the_users() {
    let place = Place::new();
    let db = place.db(&ferry());
    for mode in ["DELETE", "WAL"] {
        let connection = Connection::open(&db).unwrap();
        connection.pragma_update(None, "journal_mode", mode).unwrap();
        drop(connection);
        let before = place.contents();
        assert_eq!(before.len(), 1);
        place.answer(&db, "When did the ferry leave Harrow Bay?", &[]);
        place.answer(&db, "When did the ferry leave Harrow Bay?", &["--json"]);
        assert_eq!(place.contents(), before, "{mode}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    let db = place.db(&ferry());
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let child = std::process::Command::new(PROGRAM)
        .args(["ask", "ferry?", "--db"])
        .arg(&db)
        .envs(place.variables())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn();
    let output = child.unwrap().wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn a_message_that_nobody_reads_still_ends_with_its_code() {
    let place = Place::new();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let status = std::process::Command::new(PROGRAM)
        .args(["ask", "ferry?", "--db", "gone.db"])
        .envs(place.variables())
        .stderr(writer)
        .status();
    assert_eq!(status.unwrap().code(), Some(2));
}

#[test]
fn codes_tell_who_is_at_fault() {
    let place = Place::new();
    place.run(&[]).refused(2, &["name a database", "memsift import", "memsift demo"]);
    place.run(&[&"models", &"pull", &"--offline"]).refused(1, &["offline", "run without --offline"]);
    assert_eq!(place.run(&[&"ask", &"--help"]).code, 0);
    assert_eq!(place.run(&[&"ask"]).code, 2);
}

// ---- the trace ----

/// The trace without what may differ between two runs.
fn without_timings(json: &str) -> String {
    let mut file = TraceFile::from_json(json).unwrap();
    file.timings = Timings::default();
    file.to_json().unwrap()
}

#[test]
fn the_trace_is_read_back_and_the_same_on_a_second_run() {
    let place = Place::new();
    let db = place.db(&ferry());
    let question = "When did the ferry leave Harrow Bay?";
    let first = place.answer(&db, question, &["--json", "--budget", "20"]);
    assert_eq!(first.matches('\n').count(), 1);
    let file = TraceFile::from_json(&first).unwrap();
    assert_eq!((file.passages.len(), file.gold.total, file.settings.budget), (6, 2, 20));
    assert_eq!(file.to_trace().unwrap().cut, file.cut);
    assert!(file.timings.parse_ms > 0.0);
    assert_ne!(without_timings(&first), first.trim_end());
    let second = place.answer(&db, question, &["--json", "--budget", "20"]);
    assert_eq!(without_timings(&second), without_timings(&first));
}

#[test]
fn scores_from_the_cache_make_the_same_trace_as_fresh_ones() {
    let place = Place::new();
    let db = place.db(&ferry());
    let models = common::models_dir();
    let ask = || {
        let mut command = place.command();
        command.env("MEMSIFT_MODELS", &models);
        command.args(["ask", "When did the ferry leave Harrow Bay?", "--json", "--rank-everything", "on", "--db"]);
        let output = command.arg(&db).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let fresh = ask();
    assert!(fs::read_dir(place.folder("cache")).unwrap().count() > 0, "nothing was cached");
    let file = TraceFile::from_json(&fresh).unwrap();
    assert!(file.passages.iter().all(|passage| passage.ce.is_some() && passage.colbert.is_some()));
    assert_eq!(without_timings(&ask()), without_timings(&fresh));
}
