//! A database that another connection writes: it is read again by hand and while it is followed, nothing of it or beside it
//! changes, and the screen keeps what the user chose.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/screen.rs"]
mod screen;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use memsift::engine::{Change, Engine, EngineOptions, Event, Job, RankerChoice, Reloaded};
use memsift::history::{Conversation, ConversationSummary, Turn};
use memsift::settings::Settings;
use memsift::store::{Copied, Reading, Store};
use memsift::ui::model::{Mode, text_of};
use memsift::ui::{Effect, Input};
use rusqlite::Connection;
use screen::{QUESTION, Session};
use tempfile::{TempDir, tempdir};

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

fn say(writer: &Connection, talk: &str, number: usize) {
    let time = 1_777_712_400 + i64::try_from(number).unwrap() * 60;
    let sql = "INSERT INTO messages (conversation_id, sender, body, ts) VALUES (?1, ?2, ?3, ?4)";
    let who = if number.is_multiple_of(2) { "ana" } else { "ben" };
    writer.execute(sql, rusqlite::params![talk, who, format!("word {number} of {talk}"), time]).unwrap();
}

/// A database with two talks and the connection that goes on writing it.
fn written(journal: &str) -> (TempDir, PathBuf, Connection) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", journal).unwrap();
    writer
        .execute_batch(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation_id TEXT, sender TEXT, body TEXT, ts INTEGER)",
        )
        .unwrap();
    for number in 0..6 {
        say(&writer, "harbour", number);
        say(&writer, "garden", number);
    }
    (folder, path, writer)
}

fn engine(folder: &Path) -> (Engine, Receiver<Event>) {
    let (send, events) = channel();
    let options = EngineOptions {
        rankers: RankerChoice::small(&folder.join("no models")).unwrap(),
        cache: None,
        marks: None,
        reading: Reading::default(),
    };
    (Engine::start(options, move |event| drop(send.send(event))).unwrap(), events)
}

fn wait<T>(events: &Receiver<Event>, mut pick: impl FnMut(Event) -> Option<T>) -> T {
    loop {
        let event = events.recv_timeout(Duration::from_secs(60)).expect("the engine says something");
        if let Event::Failed(words) = &event {
            panic!("{words}");
        }
        if let Some(found) = pick(event) {
            return found;
        }
    }
}

fn again(events: &Receiver<Event>) -> Reloaded {
    wait(events, |event| match event {
        Event::Reloaded(now) => Some(*now),
        _ => None,
    })
}

#[test]
fn a_store_knows_that_it_was_written() {
    for journal in ["DELETE", "WAL", "PERSIST"] {
        let (_folder, path, writer) = written(journal);
        let store = Store::open(&path).unwrap();
        assert!(!store.has_changed(), "{journal}");
        store.load("garden").unwrap();
        assert!(!store.has_changed(), "{journal}: reading is no writing");
        say(&writer, "garden", 6);
        assert!(store.has_changed(), "{journal}");
        assert!(!Store::open(&path).unwrap().has_changed(), "{journal}");
        writer.execute_batch("UPDATE messages SET body = 'ward 6 of garden' WHERE body = 'word 6 of garden'").unwrap();
        assert!(store.has_changed(), "{journal}: the same size");
    }
}

#[test]
fn what_is_written_appears_while_it_is_followed_and_nothing_else_changes() {
    for journal in ["WAL", "DELETE"] {
        let (folder, path, writer) = written(journal);
        let elsewhere = tempdir().unwrap();
        let (engine, events) = engine(elsewhere.path());
        engine.send(Job::Open(path.clone()));
        engine.send(Job::Load("harbour".to_owned()));
        engine.send(Job::Follow(true));
        let loaded = wait(&events, |event| match event {
            Event::Loaded(conversation) => Some(conversation),
            _ => None,
        });
        assert_eq!(loaded.turns.len(), 6, "{journal}");
        for number in 6..16 {
            say(&writer, "harbour", number);
        }
        say(&writer, "garden", 6);
        say(&writer, "garden", 7);
        let before = contents(folder.path());
        // The look may come between two turns: until all are there.
        let (mut came, mut now) = (0, None);
        while came < 12 {
            let next = again(&events);
            assert!(next.followed && next.notices.len() < 2, "{journal}: {:?}", next.notices);
            came += next.change.new_turns;
            now = next.conversation.or(now);
        }
        let now = now.unwrap();
        assert_eq!((came, now.turns.len()), (12, 16), "{journal}");
        assert_eq!(now.turns[..6], loaded.turns[..], "{journal}");
        assert_eq!(contents(folder.path()), before, "{journal}: reading again left traces");
        // A change that is none says nothing, and nothing is said once it is no longer followed.
        writer.execute_batch("CREATE TABLE unrelated (x)").unwrap();
        std::thread::sleep(Duration::from_millis(2_500));
        engine.send(Job::Follow(false));
        say(&writer, "harbour", 16);
        let after = contents(folder.path());
        let silence = loop {
            match events.recv_timeout(Duration::from_millis(1_500)) {
                Ok(Event::Reloaded(now)) => panic!("{journal}: {}", now.change),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(silence, RecvTimeoutError::Timeout);
        // By hand it is still there to be read.
        engine.send(Job::Reload);
        let now = again(&events);
        assert_eq!(now.change.to_string(), "1 new turn in 1 conversation", "{journal}");
        assert!(!now.followed && now.conversation.unwrap().turns.len() == 17, "{journal}");
        engine.send(Job::Reload);
        let now = again(&events);
        assert_eq!((now.change.to_string().as_str(), now.conversation), ("nothing new", None), "{journal}");
        writer.execute_batch("DELETE FROM messages WHERE conversation_id = 'harbour'").unwrap();
        engine.send(Job::Reload);
        let now = again(&events);
        assert!(now.gone && now.change.gone_conversations == 1, "{journal}: {}", now.change);
        assert_eq!(after.keys().collect::<Vec<_>>(), contents(folder.path()).keys().collect::<Vec<_>>(), "{journal}");
        drop(engine);
    }
}

#[test]
fn a_database_that_cannot_be_read_for_a_while_is_said_once_and_followed_on() {
    let (_folder, path, writer) = written("DELETE");
    let elsewhere = tempdir().unwrap();
    let (engine, events) = engine(elsewhere.path());
    engine.send(Job::Open(path.clone()));
    engine.send(Job::Follow(true));
    wait(&events, |event| matches!(event, Event::Opened { .. }).then_some(()));
    drop(writer);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, b"no database for a while").unwrap();
    let mut said = 0;
    loop {
        match events.recv_timeout(Duration::from_secs(4)) {
            Ok(Event::Failed(words)) => {
                assert!(words.starts_with("following, but it cannot be read now"), "{words}");
                said += 1;
            }
            Ok(_) => {}
            Err(_) if said > 0 => break,
            Err(_) => {}
        }
    }
    assert_eq!(said, 1);
    fs::write(&path, whole).unwrap();
    say(&Connection::open(&path).unwrap(), "garden", 6);
    assert_eq!(again(&events).change.new_turns, 1);
}

/// The talk of the screen with a turn before all others and one behind.
fn grown(conversation: &Conversation) -> Arc<Conversation> {
    let mut now = conversation.clone();
    let turn = |id: &str, session: usize, text: &str| Turn {
        id: id.to_owned(),
        session,
        number: 1,
        text: text.to_owned(),
        ..conversation.turns[0].clone()
    };
    now.turns.insert(0, turn("first", 0, "Something about the boat that nobody had read yet."));
    for question in &mut now.questions {
        question.gold.iter_mut().for_each(|gold| *gold += 1);
    }
    for (at, session) in now.sessions.iter_mut().enumerate() {
        session.turns = session.turns.start + usize::from(at > 0)..session.turns.end + 1;
    }
    let last = now.sessions.len() - 1;
    now.turns.push(turn("last", last, "And the boat again."));
    now.sessions[last].turns.end += 1;
    Arc::new(now)
}

fn row(talk: &Conversation) -> ConversationSummary {
    ConversationSummary { id: talk.id.clone(), turns: talk.turns.len(), ..Default::default() }
}

fn reloaded(session: &mut Session, now: &Arc<Conversation>) {
    let (before, after) = (row(&session.conversation), row(now));
    let change = Change::between(&[before], std::slice::from_ref(&after), Some((&session.conversation, now)));
    session.give(Input::Engine(Event::Reloaded(Box::new(Reloaded {
        fingerprint: "another".to_owned(),
        notices: Vec::new(),
        copied: None,
        conversations: vec![after],
        conversation: Some(Arc::clone(now)),
        gone: false,
        change,
        followed: true,
    }))));
}

fn selected_turn(session: &Session) -> String {
    let trace = session.model.trace.as_ref().unwrap();
    let passages = &trace.scored.passages;
    let turns = passages.passages[session.model.selected.unwrap() as usize].turns.clone();
    passages.conversation.turns[turns.start].id.clone()
}

#[test]
fn what_the_user_chose_stays_when_turns_come() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("c[[[[jjm");
    let (turn, settings) = (selected_turn(&session), session.model.settings.clone());
    let marks = session.model.marks.clone();
    let gold = session.model.trace.as_ref().unwrap().gold().total;
    let row_before = session.model.selected;
    session.keys("ia half typed que");
    let now = grown(&session.conversation);
    reloaded(&mut session, &now);
    let model = &session.model;
    assert_eq!(text_of(&model.question), "a half typed que", "what is typed is not taken away");
    assert_eq!((model.mode.clone(), model.asked.as_deref()), (Mode::Question, Some(QUESTION)));
    assert_eq!((&model.settings, &model.marks), (&settings, &marks));
    assert_eq!(model.pinned.as_ref().unwrap().settings, Settings::default());
    assert_eq!(selected_turn(&session), turn);
    assert_ne!(session.model.selected, row_before, "the same turn has another number now");
    let trace = session.model.trace.as_ref().unwrap();
    assert_eq!((trace.gold().total, trace.scored.passages.len()), (gold, now.turns.len()));
    assert!(session.text().contains("2 new turns in 1 conversation"), "{}", session.text());
    assert_eq!(session.model.database.fingerprint, "another");
    session.keys("<Esc>uuuu");
    assert_eq!(session.model.settings, Settings::default(), "undo goes back over it");
}

#[test]
fn following_is_said_and_asked_for() {
    let mut session = Session::asked(120, 40, "terminal", false);
    let jobs = |session: &mut Session| {
        let left = std::mem::take(&mut session.left);
        let name = |effect: Effect| match effect {
            Effect::Send(Job::Follow(on)) => Some(if on { "follow" } else { "leave" }),
            Effect::Send(Job::Reload) => Some("reload"),
            _ => None,
        };
        left.into_iter().filter_map(name).collect::<Vec<_>>()
    };
    jobs(&mut session);
    session.keys("F");
    assert!(session.model.following && session.text().contains(" following"), "{}", session.text());
    session.keys("F:follow on<Enter>:follow off<Enter>:reload<Enter><F5>");
    assert_eq!(jobs(&mut session), ["follow", "leave", "follow", "leave", "reload", "reload"]);
    session.keys(":follow never<Enter>");
    assert!(session.text().contains("follow takes on or off"), "{}", session.text());
    session.keys("3r");
    assert_eq!(jobs(&mut session), Vec::<&str>::new(), "r still joins in Ranks");
}

#[test]
fn a_locked_database_is_read_from_a_copy_and_that_is_said() {
    let (folder, path, writer) = written("DELETE");
    let elsewhere = tempdir().unwrap();
    let (engine, events) = engine(elsewhere.path());
    drop(writer);
    let before = contents(folder.path());
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // Another process first: whoever closes a file here gives up the locks that the system keeps for this process.
    let mut inspect = std::process::Command::new(env!("CARGO_BIN_EXE_memsift"));
    let output = inspect.arg("inspect").arg(&path).env("MEMSIFT_DATA", elsewhere.path()).output().unwrap();
    let verdict = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(verdict.contains("note           read from a snapshot copy made at "), "{verdict}");
    assert!(verdict.contains("the database was locked") && verdict.contains("turns          12"), "{verdict}");
    engine.send(Job::Open(path.clone()));
    let (notices, copied) = wait(&events, |event| match event {
        Event::Opened { notices, copied, .. } => Some((notices, copied)),
        _ => None,
    });
    let copied = copied.unwrap();
    assert_eq!(notices, [copied.to_string()]);
    assert!(copied.to_string().contains(" UTC: the database was locked"), "{copied}");
    assert_eq!(contents(folder.path()), before);
    holder.execute_batch("ROLLBACK").unwrap();
    // Read in place, then locked before the next conversation is opened.
    engine.send(Job::Reload);
    assert_eq!(again(&events).copied, None);
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    engine.send(Job::Load("garden".to_owned()));
    assert!(again(&events).copied.is_some());
    let loaded = wait(&events, |event| match event {
        Event::Loaded(conversation) => Some(conversation),
        _ => None,
    });
    assert_eq!(loaded.turns.len(), 6);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn the_title_says_that_a_copy_is_read() {
    let mut session = Session::asked(120, 40, "terminal", false);
    assert!(!session.text().contains("copy of"));
    let copied = Copied { seconds: 45_060, why: "the database was locked".to_owned() };
    session.model.database.copied = Some(copied.clone());
    assert!(session.text().contains(" copy of 12:31 UTC"), "{}", session.text());
    session.give(Input::Engine(Event::Opened {
        path: PathBuf::from("sample.db"),
        fingerprint: "test".to_owned(),
        notices: vec![copied.to_string()],
        copied: Some(copied),
        conversations: vec![row(&session.conversation), row(&Conversation::default())],
    }));
    assert!(session.text().contains("read from a snapshot copy made at 12:31 UTC: the database was locked"));
}
