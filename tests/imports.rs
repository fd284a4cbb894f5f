//! Exports of chat programs that are no list of conversations: logs, trees, lines of plain text. Each file gives its turns,
//! says what was left out and guessed, and is not changed; what is damaged is one sentence.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memsift::history::Conversation;
use memsift::store::import::{FileReport, Format, import, import_texts};
use memsift::store::{Store, StoreError};
use tempfile::tempdir;

/// Import one file under a name that tells nothing, twice, and give what is in the database then.
fn bring(name: &str) -> (Vec<Conversation>, FileReport) {
    bring_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imports").join(name))
}

fn bring_file(file: &Path) -> (Vec<Conversation>, FileReport) {
    bring_bytes(&fs::read(file).unwrap())
}

fn bring_bytes(bytes: &[u8]) -> (Vec<Conversation>, FileReport) {
    let (user, own) = (tempdir().unwrap(), tempdir().unwrap());
    let (file, database) = (user.path().join("some file"), own.path().join("m.db"));
    fs::write(&file, bytes).unwrap();
    let report = import(std::slice::from_ref(&file), &database, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    println!("{report}");
    let before = fs::read(&database).unwrap();
    assert!(import(&[file], &database, &mut |_| {}).unwrap().unchanged());
    assert_eq!(fs::read(&database).unwrap(), before, "the second import changed something");
    let files = fs::read_dir(user.path()).unwrap().count();
    assert!(files == 1 && fs::read(user.path().join("some file")).unwrap() == bytes, "the user's file was changed");
    let store = Store::open(&database).unwrap();
    let talks = store.summaries().unwrap().iter().map(|row| store.load(&row.id).unwrap()).collect();
    (talks, report.files[0].clone())
}

fn turns(talk: &Conversation) -> Vec<(&str, &str)> {
    talk.turns.iter().map(|turn| (talk.speaker_of(turn), turn.text.as_str())).collect()
}

fn times(talk: &Conversation) -> Vec<String> {
    talk.turns.iter().map(|turn| turn.time.store()).collect()
}

/// Reasons with how many messages they took.
fn left_out(report: &FileReport) -> BTreeMap<&str, usize> {
    let rows = report.skipped.iter().map(|row| {
        let count = row.row.split(' ').next().unwrap().parse().unwrap();
        (row.reason.as_str(), count)
    });
    rows.collect()
}

fn guessed(report: &FileReport, words: &str) -> bool {
    report.guesses.iter().any(|guess| guess.contains(words))
}

fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MEMSIFT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join("data/chat_exports").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no file at {}", path.display());
    None
}

// ---- Claude Code ----

#[test]
fn claude_code_logs_of_the_shared_data_are_the_two_talks() {
    for (name, id, title, first, last) in [
        (
            "claude_code_kayak-trip.jsonl",
            "kayak-trip",
            Some("Kayak trip planning"),
            "Hi! I am Ines.",
            "at the pier in Pella.",
        ),
        ("claude_code_sourdough-log.jsonl", "sourdough-log", None, "Yesterday I baked", "14 hours at 5 °C."),
    ] {
        let Some(file) = shared(name) else { return };
        let (talks, report) = bring_file(&file);
        assert_eq!((report.format, report.conversations, report.turns), (Some(Format::ClaudeCode), 1, 6));
        let talk = &talks[0];
        assert_eq!(talk.id, id);
        assert!(title.is_none() || talk.title.as_deref() == title, "{:?}", talk.title);
        assert!(talk.turns[0].text.starts_with(first) && talk.turns[5].text.ends_with(last));
        assert_eq!(turns(talk).iter().map(|(who, _)| *who).collect::<Vec<_>>(), ["user", "assistant"].repeat(3));
        let clock = talk.turns[0].time.seconds().unwrap();
        assert!((0..).zip(&talk.turns).all(|(at, turn)| turn.time.seconds() == Some(clock + 61 * at)));
    }
}

#[test]
fn claude_code_follows_the_newest_answer_and_counts_the_rest() {
    let (talks, report) = bring("claude_code.jsonl");
    assert_eq!((talks[0].id.as_str(), talks[0].title.as_deref()), ("one", Some("A ferry table")));
    let want = [
        ("user", "Which ferry goes to Pella?"),
        ("assistant", "I look it up."),
        // Two lines of one answer.
        ("assistant", "The one at 9:15,\nfrom the pier."),
    ];
    assert_eq!(turns(&talks[0]), want);
    assert_eq!(times(&talks[0])[2], "2026-05-02T09:00:07Z");
    let want = BTreeMap::from([
        ("line of the type 'file-history-snapshot'", 1),
        ("line that is no JSON object", 1),
        ("line that was there before (a session that was resumed copies some)", 1),
        ("notice of the program", 1),
        ("on another branch", 1),
        ("reasoning", 1),
        ("talk of a sub-agent", 1),
        ("tool call", 1),
        ("tool result", 1),
    ]);
    assert_eq!(left_out(&report), want);
}

#[test]
fn claude_code_goes_over_a_compaction_and_keeps_sessions_apart() {
    let line = |id: &str, parent: &str, session: &str, kind: &str, more: &str| {
        format!(
            r#"{{"type": "{kind}", "uuid": "{id}", "parentUuid": null, "logicalParentUuid": "{parent}", "sessionId": "{session}", "message": {{"content": "words {id}"}}{more}}}"#
        )
    };
    let lines = [
        line("a", "", "one", "user", ""),
        line("b", "a", "one", "assistant", ""),
        line("c", "b", "one", "system", ""),
        line("d", "c", "one", "user", r#", "isCompactSummary": true"#),
        line("e", "d", "one", "user", ""),
        line("f", "", "two", "user", ""),
        // Its parent stood in a line that is lost.
        line("g", "lost", "one", "assistant", ""),
    ];
    let (talks, report) = bring_bytes(lines.join("\n").as_bytes());
    assert_eq!(talks.iter().map(|talk| talk.id.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    let texts: Vec<_> = turns(&talks[0]).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["words a", "words b", "words e", "words g"]);
    let want = BTreeMap::from([("line of the type 'system'", 1), ("summary of a compacted talk", 1)]);
    assert_eq!(left_out(&report), want);
}

// ---- WhatsApp ----

#[test]
fn whatsapp_of_an_android_phone_with_months_first() {
    let (talks, report) = bring("whatsapp_android.txt");
    assert_eq!((report.format, talks[0].id.as_str()), (Some(Format::Whatsapp), "some file"));
    let want = [
        ("Ines", "The tour is on 16 June.\nBring:\n\n- water shoes\n- a hat"),
        ("Tomas", "No latex, please: I am allergic."),
        ("Ines", "Noted."),
    ];
    assert_eq!(turns(&talks[0]), want);
    assert_eq!(times(&talks[0]), ["2023-12-30T21:16:00", "2023-12-30T21:21:00", "2024-01-02T08:05:00"]);
    assert_eq!((talks[0].sessions.len(), talks[0].turns[1].id.as_str()), (2, "line9"));
    let want = BTreeMap::from([("message without text (media, deleted, call)", 2), ("notice of the program", 2)]);
    assert_eq!(left_out(&report), want);
    assert!(guessed(&report, "month before day; '12/30/23, 9:15 PM' in line 1"), "{:?}", report.guesses);
    assert!(guessed(&report, "zone unknown"));
}

#[test]
fn whatsapp_of_an_iphone_with_days_first() {
    let (talks, report) = bring("whatsapp_iphone.txt");
    assert_eq!(turns(&talks[0]), [("Ines", "We moved to the 16th."), ("~\u{202f}Tomas", "It said:\n[see page 3]")]);
    assert_eq!(times(&talks[0]), ["2024-06-01T09:15:10", "2024-06-13T00:05:59"]);
    assert_eq!(left_out(&report), BTreeMap::from([("message without text (media, deleted, call)", 2)]));
    assert!(guessed(&report, "day before month; '13/6/2024, 12:05:59"), "{:?}", report.guesses);
    assert_eq!(report.unread_times, 0);
}

#[test]
fn whatsapp_dates_that_disagree_are_kept_as_words() {
    let text = "13/2/24, 10:00 - Ana: one\n14/2/24, 10:00 - Ana: two\n2/15/24, 10:00 - Ana: three\n";
    let (talks, report) = bring_bytes(text.as_bytes());
    assert_eq!(times(&talks[0]), ["2024-02-13T10:00:00", "2024-02-14T10:00:00", "?2/15/24, 10:00"]);
    assert!(report.unread_times == 1 && guessed(&report, "1 only the other way round"), "{:?}", report.guesses);
}

#[test]
fn a_whatsapp_message_cannot_fake_a_terminal_or_another_speaker_of_another_form() {
    let text = "13/2/24, 10:00 - A\u{1b}na: one\u{1b}[31m\n[14/2/24, 10:00:00] Ben: quoted\n";
    let (talks, report) = bring_bytes(text.as_bytes());
    assert_eq!(turns(&talks[0]), [("A␛na", "one␛[31m\n[14/2/24, 10:00:00] Ben: quoted")]);
    assert!(report.made_visible > 0);
}

#[test]
fn chats_of_the_same_file_name_are_told_by_their_folder() {
    let folder = tempdir().unwrap();
    let files = ["Ana", "Ben"].map(|name| {
        let path = folder.path().join(format!("WhatsApp Chat - {name}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("_chat.txt"), format!("[13/2/24, 10:00:00] {name}: hi\n")).unwrap();
        path.join("_chat.txt")
    });
    let database = folder.path().join("m.db");
    import(&files, &database, &mut |_| {}).unwrap();
    let ids: Vec<_> = Store::open(&database).unwrap().summaries().unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(ids, ["WhatsApp Chat - Ana", "WhatsApp Chat - Ben"]);
}

// ---- LibreChat ----

#[test]
fn librechat_walks_from_the_newest_message() {
    let (talks, report) = bring("librechat_export.json");
    assert_eq!((report.format, talks[0].id.as_str()), (Some(Format::LibreChat), "lake"));
    assert_eq!(talks[0].title.as_deref(), Some("Lake trip"));
    assert_eq!(turns(&talks[0]), [("user", "When is the tour?"), ("GPT", "On 16 June."), ("user", "Thanks.")]);
    assert_eq!(times(&talks[0])[1], "2026-05-02T09:01:00Z");
    assert_eq!(left_out(&report), BTreeMap::from([("error of the program", 1), ("on another branch", 1)]));
}

#[test]
fn librechat_of_the_database_has_all_conversations() {
    let (talks, _) = bring("librechat_mongo.jsonl");
    assert_eq!(talks.iter().map(|talk| talk.id.as_str()).collect::<Vec<_>>(), ["lake", "bread"]);
    assert_eq!(turns(&talks[0]), [("user", "When is the tour?"), ("GPT", "On 16 June.")]);
    assert_eq!(times(&talks[1]), ["2026-05-04T09:00:00Z"]);
    // The same as one list, and each message inside its parent.
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imports/librechat_mongo.jsonl");
    let lines = fs::read_to_string(fixture).unwrap();
    let list = format!("[{}]", lines.trim().replace('\n', ","));
    assert_eq!(bring_bytes(list.as_bytes()).0, talks);
    let nested = r#"{"conversationId": "n", "recursive": true, "messagesTree": [{"messageId": "a", "isCreatedByUser": true,
        "text": "one", "children": [{"messageId": "b", "text": "old"}, {"messageId": "c", "text": "two"}]}]}"#;
    assert_eq!(turns(&bring_bytes(nested.as_bytes()).0[0]), [("user", "one"), ("assistant", "two")]);
}

// ---- mailboxes ----

#[test]
fn a_mailbox_has_a_session_a_thread() {
    let (talks, report) = bring("pier.mbox");
    assert_eq!(report.format, Some(Format::Mbox));
    let want = [
        (
            "Ines",
            "The pier in Pella\n\nWe meet at the pier.\n\nFrom here it is ten minutes.\nFrom the hotel it is twenty.",
        ),
        ("Tomás", "Grüße, I bring no latex at all."),
        ("Ines", "Bread\n\n78% hydration."),
    ];
    assert_eq!(turns(&talks[0]), want);
    assert_eq!(talks[0].sessions.iter().map(|session| session.turns.clone()).collect::<Vec<_>>(), [0..2, 2..3]);
    assert_eq!(times(&talks[0]), ["2026-05-02T11:00:00+02:00", "2026-05-02T09:30:00Z", "2026-05-03T09:00:00Z"]);
    assert_eq!(talks[0].turns[1].id, "b@example.org");
    assert_eq!(left_out(&report), BTreeMap::from([("mail without plain text", 1)]));
    assert!(guessed(&report, "a thread each"));
}

// ---- what cannot be read ----

#[test]
fn files_with_random_faults_are_read_or_refused_in_one_line() {
    const SIGNS: [&[u8]; 14] =
        [b"\n", b"\"", b"{", b"}", b"[", b"]", b":", b" ", b"\xff", b"\0", b"=", b"=?", "\u{200e}".as_bytes(), b"99"];
    let mut state = 5_usize;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below.max(1)
    };
    let folder = tempdir().unwrap();
    let (mut read, mut refused) = (0, 0);
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imports")).unwrap() {
        let whole = fs::read(entry.unwrap().path()).unwrap();
        for _ in 0..40 {
            let mut bytes = whole.clone();
            for _ in 0..=random(6) {
                let at = random(bytes.len());
                match random(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => drop(bytes.drain(at..(at + random(30)).min(bytes.len()))),
                    _ => drop(bytes.splice(at..at, SIGNS[random(SIGNS.len())].iter().copied())),
                }
            }
            let (file, database) = (folder.path().join("f"), folder.path().join("m.db"));
            fs::write(&file, &bytes).unwrap();
            let _ = fs::remove_file(&database);
            match import(&[file], &database, &mut |_| {}) {
                Ok(_) => read += 1,
                Err(error) => {
                    refused += 1;
                    assert!(error.is_input() && !error.to_string().contains('\n') && !database.exists(), "{error}");
                }
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(read > 20 && refused > 20);
}

#[test]
fn what_is_damaged_is_one_sentence_and_stores_nothing() {
    let rows = [
        ("cut.json", r#"{"conversationId": "c", "messages": [{"messageId": "a", "#, "cut.json' line 1"),
        (
            "cut.jsonl",
            "{\"messageId\": \"a\", \"conversationId\": \"c\", \"text\": \"x\"}\n{\"messageId\": ",
            "cut.jsonl' line 2",
        ),
        ("empty.jsonl", r#"{"type": "summary", "summary": "s", "leafUuid": "a"}"#, "it has no turns"),
        ("notices.txt", "13/2/24, 10:00 - Ana joined\n", "it has no turns"),
        ("html.mbox", "From a\nFrom: a\nContent-Type: text/html\n\n<p>x</p>\n", "mail without plain text"),
        ("notes.txt", "From here on it rained.\n", "no mail was found"),
    ];
    for (name, text, want) in rows {
        let folder = tempdir().unwrap();
        let path = folder.path().join("m.db");
        let error = import_texts(&[(name, text)], &path, &mut |_| {}).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(want) && said.contains(name) && !said.contains('\n'), "{said}");
        assert!(error.is_input() && !path.exists(), "{said}");
    }
    let binary = tempdir().unwrap();
    let file = binary.path().join("x.txt");
    fs::write(&file, [0xff, 0xfe, 0x00, 0x31]).unwrap();
    let error = import(&[file], &binary.path().join("m.db"), &mut |_| {}).unwrap_err();
    assert!(matches!(error, StoreError::UnknownFormat { .. }), "{error}");
}

#[test]
fn texts_and_mailboxes_of_a_folder_are_read_where_they_are_exports() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("chat.txt", "02/05/2026, 09:00 - Ana: Where is the key?\n02/05/2026, 09:01 - Ben: Under the mat.\n");
    let mail = "From ana@example.org Sat May  2 09:00:00 2026\nFrom: Ana <ana@example.org>\nTo: ben@example.org\nDate: Sat, 2 May \
                2026 09:00:00 +0000\nMessage-ID: <1@example.org>\nSubject: Key\n\nWhere is the key?\n";
    put("Inbox", mail);
    put("sent.MBOX", &mail.replace("<1@", "<2@").replace("Key", "Boat"));
    put("notes.txt", "The key is under the mat.\n");
    put("picture.png", "\u{89}PNG");
    put("todo.json", "{\"todo\": []}");
    let out = tempfile::tempdir().unwrap();
    let files = [folder.path().to_owned()];
    let report = memsift::store::import::import(&files, &out.path().join("m.db"), &mut |_| {}).unwrap();
    let rows: Vec<(String, usize, bool)> = report
        .files
        .iter()
        .map(|file| {
            let name = std::path::Path::new(&file.file).file_name().unwrap().to_string_lossy().into_owned();
            (name, file.turns, file.format.is_some())
        })
        .collect();
    let row = |name: &str, turns, known| (name.to_owned(), turns, known);
    assert_eq!(
        rows,
        [row("todo.json", 0, false), row("Inbox", 1, true), row("chat.txt", 2, true), row("sent.MBOX", 1, true)]
    );
}
