//! The form for a database that nobody recognises: its guesses from names and values, its keys, its preview, and the mapping
//! that it leaves behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/screen.rs"]
mod screen;

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use memsift::engine::{Engine, EngineOptions, Event, Job, RankerChoice};
use memsift::store::{Mapping, Outline, Reading, Sketch, Store, StoreError};
use memsift::ui::model::Mode;
use memsift::ui::{Effect, Input};
use rusqlite::Connection;
use screen::Session;
use tempfile::{TempDir, tempdir};

/// A database whose names say nothing, with a table beside that of the turns.
fn nameless() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("odd.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE alpha (k TEXT, v TEXT); CREATE TABLE zz (a INTEGER PRIMARY KEY, b TEXT, c INTEGER, d TEXT, e TEXT)")
        .unwrap();
    db.execute("INSERT INTO alpha VALUES ('version', '3')", []).unwrap();
    for number in 0..12_i64 {
        let who = if number % 2 == 0 { "ana" } else { "ben" };
        let words = format!("In turn {number} the harbour was grey and \u{1b}[31mthe tide was late.");
        let room = if number < 6 { "pier" } else { "quay" };
        db.execute(
            "INSERT INTO zz (b, c, d, e) VALUES (?1, ?2, ?3, ?4)",
            rusqlite::params![who, 1_777_712_400 + number * 60, words, room],
        )
        .unwrap();
    }
    (folder, path)
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = files.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn values_say_what_names_do_not() {
    let (folder, path) = nameless();
    let before = contents(folder.path());
    assert!(matches!(Store::open(&path), Err(StoreError::WrongSchema { .. })), "nothing is guessed by itself");
    let sketch = Sketch::open(&path).unwrap();
    let outline = sketch.outline().unwrap();
    assert_eq!(outline.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["alpha", "zz"]);
    assert_eq!(outline.guess.words(), "turns=zz,text=d,speaker=b,time=c");
    let preview = sketch.preview(&outline.guess, &Reading::default()).unwrap();
    assert_eq!(preview.turns.len(), 12);
    let first = &preview.turns[0];
    assert_eq!((first.speaker.as_str(), first.time.as_str()), ("ana", "2026-05-02 09:00"));
    assert!(first.text.starts_with("In turn 0") && !first.text.contains('\u{1b}'), "{}", first.text);
    assert!(preview.guesses.contains(&"c: seconds since 1970, UTC".to_owned()), "{:?}", preview.guesses);
    let lacking = sketch.preview(&Mapping::read("turns=alpha").unwrap(), &Reading::default()).unwrap_err();
    assert!(lacking.to_string().contains("which column of 'alpha' is the text"), "{lacking}");
    drop(sketch);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn an_empty_name_says_that_there_is_none() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, sender TEXT, body TEXT, session_id TEXT, chat_id TEXT);
         INSERT INTO messages (sender, body, session_id, chat_id) VALUES ('ana', 'one', 's', 'x'), ('ben', 'two', 't', 'y')",
    )
    .unwrap();
    let talks = |map: &str| {
        let map = Some(Mapping::read(map).unwrap());
        Store::open_as(&path, &Reading { map, ..Reading::default() }).unwrap().summaries().unwrap()
    };
    assert_eq!(talks("turns=messages").len(), 2);
    let all = talks("turns=messages,conversation=,session=");
    assert_eq!((all.len(), all[0].turns, all[0].sessions), (1, 2, 1));
    let words = "turns=messages,session=,conversation=";
    assert_eq!(Mapping::read(words).unwrap().words(), words);
}

fn outline() -> Outline {
    let (_folder, path) = nameless();
    let mut outline = Sketch::open(&path).unwrap().outline().unwrap();
    outline.path = PathBuf::from("odd.db");
    outline
}

/// The jobs of the form, and an answer to its previews by a real database.
fn answer(session: &mut Session, sketch: &Sketch) -> Vec<String> {
    let mut opened = Vec::new();
    loop {
        let left = std::mem::take(&mut session.left);
        if left.is_empty() {
            return opened;
        }
        for effect in left {
            match effect {
                Effect::Send(Job::Preview(map)) => {
                    let preview = sketch.preview(&map, &Reading::default()).map_err(|error| error.to_string());
                    session.give(Input::Engine(Event::Previewed { map: Box::new(map), preview }));
                }
                Effect::Send(Job::OpenMapped(path, map)) => opened.push(format!("{} {}", path.display(), map.words())),
                Effect::Send(Job::Outline(path)) => opened.push(format!("outline {}", path.display())),
                _ => {}
            }
        }
    }
}

fn chosen(session: &Session) -> String {
    match &session.model.mode {
        Mode::Form(form) => form.map.words(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_form_is_filled_in_with_keys() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let (_folder, path) = nameless();
        let sketch = Sketch::open(&path).unwrap();
        let mut session = Session::open(columns, rows, "terminal", false);
        session.keys("<Esc>");
        session.left.clear();
        session.give(Input::Engine(Event::Outlined { outline: Box::new(outline()), unknown: true }));
        assert!(session.text().contains("reading the first turns"), "{}", session.text());
        answer(&mut session, &sketch);
        assert_eq!(chosen(&session), "turns=zz,text=d,speaker=b,time=c,session=,conversation=,id=");
        let text = session.text();
        for words in ["What are the columns of odd.db?", "c: seconds since 1970, UTC", "2026-05-02 09:00", "In turn 3"]
        {
            assert!(text.contains(words), "{words}\n{text}");
        }
        // A preview that comes while a command is typed over the form is taken in.
        session.keys("jl:");
        answer(&mut session, &sketch);
        session.keys("<Esc>");
        assert!(session.text().contains("The first turn"), "{}", session.text());
        session.keys("hk");
        answer(&mut session, &sketch);
        // Down to the session and one to the left, around the end.
        session.keys("jjjjh");
        assert_eq!(chosen(&session), "turns=zz,text=d,speaker=b,time=c,session=e,conversation=,id=");
        session.keys("jll");
        assert_eq!(chosen(&session), "turns=zz,text=d,speaker=b,time=c,session=e,conversation=b,id=");
        session.keys("hh");
        // Another table has other columns, and the way back finds the guesses again.
        session.keys("kkkkkkl");
        assert!(chosen(&session).starts_with("turns=alpha,text=,"), "{}", chosen(&session));
        answer(&mut session, &sketch);
        assert!(session.text().contains("which column of 'alpha'"), "{}", session.text());
        session.keys("<Enter>");
        assert!(matches!(session.model.mode, Mode::Form(_)) && session.model.message.as_ref().unwrap().is_error);
        session.keys("h");
        answer(&mut session, &sketch);
        session.keys("<Enter>");
        assert_eq!(session.model.mode, Mode::Normal);
        assert_eq!(
            answer(&mut session, &sketch),
            ["odd.db turns=zz,text=d,speaker=b,time=c,session=,conversation=,id="]
        );
    }
}

#[test]
fn escape_leaves_the_form_with_a_sentence_and_map_brings_it_back() {
    let (_folder, path) = nameless();
    let sketch = Sketch::open(&path).unwrap();
    let mut session = Session::open(120, 40, "terminal", false);
    session.model.database.open = false;
    session.model.conversation = None;
    session.give(Input::Engine(Event::Outlined { outline: Box::new(outline()), unknown: true }));
    assert!(session.text().contains("odd.db  not read yet"), "{}", session.text());
    session.keys("<Esc>");
    assert_eq!(session.model.mode, Mode::Normal);
    assert!(session.text().contains("nothing is open: :map shows the form again"), "{}", session.text());
    session.left.clear();
    session.keys(":map<Enter>");
    assert_eq!(answer(&mut session, &sketch), ["outline odd.db"]);
}

#[test]
fn what_the_form_says_opens_the_database_and_is_remembered() {
    let (folder, path) = nameless();
    let elsewhere = tempdir().unwrap();
    let reading = Reading { mappings: Some(elsewhere.path().join("mappings.json")), ..Reading::default() };
    let options = EngineOptions {
        rankers: RankerChoice::small(&elsewhere.path().join("none")).unwrap(),
        cache: None,
        marks: None,
        reading: reading.clone(),
    };
    let before = contents(folder.path());
    let (send, events) = channel();
    let engine = Engine::start(options, move |event| drop(send.send(event))).unwrap();
    let next = || loop {
        match events.recv_timeout(Duration::from_secs(60)).unwrap() {
            Event::Model(_) => {}
            other => return other,
        }
    };
    engine.send(Job::Open(path.clone()));
    let Event::Outlined { outline, unknown: true } = next() else { panic!("no form") };
    let Event::Previewed { map, preview: Ok(preview) } = next() else { panic!("no preview") };
    assert_eq!(*map, outline.guess.complete());
    assert_eq!(preview.turns.len(), 12);
    engine.send(Job::Preview(Mapping::read("turns=alpha,text=").unwrap()));
    let Event::Previewed { preview: Err(words), .. } = next() else { panic!("a preview without a text") };
    assert_eq!(words, "no column is chosen for the text yet");
    let map = Mapping::read("turns=zz,text=d,speaker=b,time=c,session=e,conversation=,id=a").unwrap();
    engine.send(Job::OpenMapped(path.clone(), map));
    let Event::Opened { conversations, notices, .. } = next() else { panic!("not open") };
    assert_eq!((conversations.len(), conversations[0].turns, conversations[0].sessions), (1, 12, 2));
    assert!(notices[0].contains("is remembered"), "{notices:?}");
    // It can be changed while the database is open, and a reload reads by it.
    engine.send(Job::Outline(path.clone()));
    let Event::Outlined { outline, unknown: false } = next() else { panic!("no form") };
    assert_eq!(
        outline.guess.words(),
        "turns=zz,text=d,speaker=b,time=c,session=e,id=a",
        "it begins with what is said now"
    );
    engine.send(Job::Reload);
    let Event::Reloaded(now) = next() else { panic!("not read again") };
    assert!(now.change.is_empty());
    drop(engine);
    // The next time it opens by itself.
    assert_eq!(Store::open_as(&path, &reading).unwrap().summaries().unwrap()[0].sessions, 2);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn hostile_names_and_small_screens_break_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("hostile.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "CREATE TABLE \"\u{1b}[31mred \u{202e}table\" (\"a,b\" TEXT, \"w\u{1b}]0;x\u{7}ords\" TEXT, \"日本語の列の名前です\" TEXT);
             INSERT INTO \"\u{1b}[31mred \u{202e}table\" VALUES ('x', 'some words that are long enough \u{1b}[2J', 'y')",
        )
        .unwrap();
    let sketch = Sketch::open(&path).unwrap();
    let outline = sketch.outline().unwrap();
    assert_eq!(outline.tables[0].columns.len(), 2, "a name that --map cannot say is not offered");
    for ascii in [false, true] {
        let mut session = Session::open(120, 40, "terminal", ascii);
        session.keys("<Esc>");
        session.left.clear();
        session.give(Input::Engine(Event::Outlined { outline: Box::new(outline.clone()), unknown: true }));
        answer(&mut session, &sketch);
        assert!(session.text().contains("some words that are long enough"), "{}", session.text());
        for (columns, rows) in [(1, 1), (40, 12), (60, 16), (80, 24), (200, 60)] {
            session.give(Input::Size(columns, rows));
            for keys in ["j", "l", "l", "k", "h"] {
                session.keys(keys);
                answer(&mut session, &sketch);
                let text = session.text();
                assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text}");
            }
        }
    }
}
