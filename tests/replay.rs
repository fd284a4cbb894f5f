//! A trace as a file, opened again: the same bytes, live knobs, and a sentence for what cannot be done or read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;

use memsift::engine::{Ask, Replay};
use memsift::scored::RankerState;
use memsift::settings::Settings;
use memsift::trace::Trace;
use memsift::trace::file::{TraceFile, TraceHeader};
use memsift::ui::{Effect, Glyphs, Input, Model, Start, Theme, update};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn made() -> Trace {
    let conversation = screen::conversation();
    let gold = conversation.questions[0].gold.clone();
    let text = screen::QUESTION.to_owned();
    let settings = Settings { budget: 900, ..Settings::default() };
    let ask = Ask { generation: 1, conversation, text, gold, settings: settings.clone() };
    Trace::new(screen::scored(&ask, RankerState::Done), settings)
}

fn write(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("trace.json");
    std::fs::write(&path, text).unwrap();
    path
}

fn replay(path: &Path, flags: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_memsift")).arg("replay").arg(path).args(flags).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_replayed_trace_is_written_as_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let json = TraceFile::new(&made(), TraceHeader::default()).to_json().unwrap();
    let path = write(dir.path(), &json);
    let (code, again, complaint) = replay(&path, &["--json"]);
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    let differs = json
        .bytes()
        .zip(again.bytes())
        .position(|(a, b)| a != b)
        .map(|at| (&json[at - 60..at + 40], &again[at - 60..at + 40]));
    assert_eq!(differs, None);
    assert_eq!(again.len(), json.len() + 1);
    let (code, lines, _) = replay(&path, &["--plain"]);
    assert_eq!(code, Some(0));
    assert!(lines.starts_with(&format!("question  {}\n", screen::QUESTION)), "{lines}");
    assert!(lines.contains("budget 900"), "{lines}");
}

#[test]
fn what_is_no_trace_is_said_in_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let json = TraceFile::new(&made(), TraceHeader::default()).to_json().unwrap();
    let newer = json.replacen("\"memsift_trace\":1", "\"memsift_trace\":99", 1);
    assert_ne!(newer, json);
    for (text, words) in [
        (&json[..json.len() / 2], "this is no memsift trace"),
        ("{\"some\": \"other program\"}", "this is no memsift trace"),
        ("", "this is no memsift trace"),
        (newer.as_str(), "format 99 and this memsift reads up to 1: update memsift"),
    ] {
        let (code, said, complaint) = replay(&write(dir.path(), text), &["--plain"]);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{words}");
        assert!(complaint.contains(words) && complaint.contains("trace.json"), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
    std::fs::write(dir.path().join("bytes"), [0xff, 0xfe, 0x00]).unwrap();
    assert_eq!(replay(&dir.path().join("bytes"), &["--plain"]).0, Some(2));
    assert_eq!(replay(&dir.path().join("nothing"), &["--plain"]).0, Some(2));
}

/// A screen on a replayed trace.
struct Screen {
    model: Model,
    replay: Replay,
    events: std::sync::mpsc::Receiver<memsift::engine::Event>,
}

impl Screen {
    fn open() -> Self {
        let trace = made();
        let (send, events) = channel();
        let replay = Replay::new(&trace, "fingerprint".to_owned(), move |event| drop(send.send(event)));
        let start = Start {
            database: PathBuf::from("trace.json"),
            conversation: None,
            question: Some(trace.scored.query.text.clone()),
            settings: trace.settings,
            defaults: Settings::default(),
            keys: memsift::ui::Keymap::default(),
            theme: Theme::named("mono", Glyphs::UNICODE).unwrap(),
            tour: None,
            present: false,
            light: None,
            themes: memsift::ui::Themes::default(),
            mouse: false,
            replayed: true,
            follow: false,
            pins: (memsift::store::pins::Pins::in_memory(), None),
        };
        let mut screen = Self { model: Model::new(&start), replay, events };
        screen.give(Input::Size(120, 40));
        screen.replay.send(&memsift::engine::Job::Open(start.database));
        screen.settle(Vec::new());
        screen
    }

    fn give(&mut self, input: Input) {
        let effects = update(&mut self.model, input);
        self.settle(effects);
    }

    fn settle(&mut self, mut effects: Vec<Effect>) {
        loop {
            for effect in effects.drain(..) {
                if let Effect::Send(job) = effect {
                    self.replay.send(&job);
                }
            }
            match self.events.try_recv() {
                Ok(event) => effects = update(&mut self.model, Input::Engine(event)),
                Err(_) => return,
            }
        }
    }

    fn type_keys(&mut self, keys: &str) {
        for key in keys.chars() {
            let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
            self.give(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }
}

#[test]
fn on_the_screen_the_knobs_of_the_cut_are_live_and_those_of_the_search_say_why_not() {
    let mut screen = Screen::open();
    let first = screen.model.trace.clone().expect("the question is there at once");
    assert_eq!(first.cut, made().cut);
    assert_eq!(first.gold(), made().gold());
    assert!(first.gold().total > 0);
    screen.type_keys(":set budget 100\n");
    let cut = screen.model.trace.clone().unwrap().cut;
    assert!(cut.kept < first.cut.kept && cut.used <= 100, "{cut:?}");
    for (command, words) in
        [(":set hops 1\n", "cannot be searched again"), (":set truncation mmr\n", "a trace holds no vectors")]
    {
        screen.type_keys(command);
        let message = screen.model.message.clone().expect("something is said");
        assert!(message.is_error && message.text.contains(words), "{command}: {}", message.text);
    }
    let mut effects = Vec::new();
    memsift::ui::update::ask(&mut screen.model, "Who is Fitz?", &mut effects);
    screen.settle(effects);
    assert!(screen.model.message.clone().unwrap().text.contains("open the database to ask another"));
    assert_eq!(screen.model.settings.budget, 100, "what was refused changed nothing");
}

#[test]
fn a_redacted_trace_holds_no_word_and_cuts_the_same_under_every_knob() {
    let trace = made();
    let file = TraceFile::new(&trace, TraceHeader::default());
    let redacted = file.redacted().unwrap();
    let json = redacted.to_json().unwrap();
    let rebuilt = TraceFile::from_json(&json).unwrap().to_trace().unwrap();
    for (budget, alpha, dedup) in [(900, 0.03, false), (300, 0.4, false), (2000, 0.0, true)] {
        let settings = Settings { budget, alpha, dedup, ..Settings::default() };
        let (a, b) = (&trace.scored, &rebuilt.scored);
        let of = |scored: &std::sync::Arc<memsift::scored::Scored>| {
            let trace = Trace::new(std::sync::Arc::clone(scored), settings.clone());
            (trace.fates, trace.cut, trace.fused.rows)
        };
        assert_eq!(of(a), of(b), "budget {budget}, alpha {alpha}");
    }
    let ids = |trace: &Trace| trace.scored.passages.passages.iter().map(|p| p.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&trace), ids(&rebuilt));
    let texts: Vec<&String> =
        redacted.passages.iter().map(|part| &part.text).chain([&redacted.question.text]).collect();
    for (part, masked) in file.passages.iter().zip(&redacted.passages) {
        assert_eq!(part.text.len(), masked.text.len());
        assert_eq!(part.words, masked.words);
    }
    // Long words of the history stand nowhere in the file; short ones may by chance.
    let words = trace.scored.passages.conversation.turns.iter().flat_map(|turn| turn.text.split_whitespace());
    let mut looked = 0;
    for word in words.filter(|word| word.len() >= 7 && word.chars().all(char::is_alphabetic)) {
        looked += 1;
        assert!(texts.iter().all(|text| !text.contains(word)), "{word}");
    }
    assert!(looked > 300);
    assert!(!json.contains("Larkspur") && !json.contains("Idris:"), "nor do names");
    assert_ne!(file.redacted().unwrap(), redacted, "letters are drawn anew");
}
