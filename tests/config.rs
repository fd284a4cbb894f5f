//! The configuration, the log, completions and manual pages: what is printed can be read back, the file gives way to flags
//! and variables, and every mistake is told with its line while the rest applies.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use memsift::store::import::import_texts;
use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};
use serde_json::Value;

fn memsift_with(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memsift"));
    command
        .args(args)
        .env("MEMSIFT_MODELS", dir.join("models"))
        .env("MEMSIFT_DATA", dir)
        .env("MEMSIFT_CACHE", dir.join("cache"))
        .env("MEMSIFT_CONFIG", dir.join("config.toml"));
    for name in ["PROFILE", "CE", "COLBERT", "DENSE", "PRECISION", "KERNEL", "THEME", "LOG"] {
        command.env_remove(format!("MEMSIFT_{name}"));
    }
    let output = command.env_remove("NO_COLOR").envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn memsift(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    memsift_with(dir, args, &[])
}

/// A folder with this configuration.
fn with(config: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("config.toml"), config).unwrap();
    dir
}

fn sample(dir: &Path) -> String {
    let db = dir.join("sample.db");
    let texts = [("nell-and-idris.jsonl", include_str!("../sample-data/nell-and-idris.jsonl"))];
    import_texts(&texts, &db, &mut |_| {}).unwrap();
    db.display().to_string()
}

/// Name, value and origin of every row of `memsift config`.
fn rows(text: &str) -> Vec<(String, String, String)> {
    let field = |line: &str, from: usize, to: usize| {
        line.chars().skip(from).take(to - from).collect::<String>().trim().to_owned()
    };
    text.lines().skip(1).map(|line| (field(line, 0, 19), field(line, 20, 44), field(line, 45, 999))).collect()
}

fn row(text: &str, name: &str) -> (String, String) {
    let found = rows(text).into_iter().find(|(row, ..)| row == name);
    found.map(|(_, value, from)| (value, from)).unwrap_or_else(|| panic!("no row {name} in\n{text}"))
}

#[test]
fn the_printed_default_reads_back_as_the_default() {
    let dir = with("");
    let (_, without, _) = memsift(dir.path(), &["config"]);
    let (code, printed, said) = memsift(dir.path(), &["config", "--print-default"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    std::fs::write(dir.path().join("config.toml"), &printed).unwrap();
    let (code, with, said) = memsift(dir.path(), &["config"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(!with.contains("warning"), "{with}");
    let values = |text: &str| {
        let rows = rows(text).into_iter().filter(|(name, ..)| !name.starts_with("keys"));
        rows.map(|(name, value, _)| (name, value)).collect::<Vec<_>>()
    };
    assert_eq!(values(&with), values(&without));
    assert!(rows(&without).iter().filter(|(name, ..)| name != "keys").all(|(.., from)| from == "default"), "{without}");
    let (_, keys, _) = memsift(dir.path(), &["keys"]);
    assert_eq!(keys, memsift::ui::keys::markdown());
    // Every knob and every key of the screen has a line, each with a comment above it.
    for knob in memsift::settings::KNOBS {
        assert!(printed.contains(&format!("\n{} = ", knob.name)), "{}", knob.name);
    }
    assert!(printed.contains("\n# Everywhere: quit.\nquit = [\"q\"]\n"), "{printed}");
}

#[test]
fn flags_and_variables_win_over_the_file_and_the_file_over_the_defaults() {
    let dir = with("ce = 'none'\ngap = 3\n[knobs]\nalpha = 0.1\nbudget = 300\ndedup = true\noverflow = 'skip'\n");
    let db = sample(dir.path());
    let settings = |args: &[&str], variables: &[(&str, &str)]| {
        let words = [&["ask", "Where is the boat?", "--db", &db, "--json"], args].concat();
        let (code, json, said) = memsift_with(dir.path(), &words, variables);
        assert_eq!(code, Some(0), "{said}");
        let trace: Value = serde_json::from_str(&json).unwrap();
        (trace["settings"].clone(), json)
    };
    let (knobs, trace) = settings(&[], &[]);
    assert_eq!((&knobs["alpha"], &knobs["budget"]), (&0.1.into(), &300.into()));
    assert_eq!((&knobs["dedup"], &knobs["overflow"]), (&true.into(), &"skip".into()));
    assert!(trace.contains("no ce model was wanted"));
    let (knobs, trace) = settings(&["--alpha", "0.2", "--ce", "small-cross-encoder"], &[]);
    assert_eq!((&knobs["alpha"], &knobs["budget"]), (&0.2.into(), &300.into()));
    assert!(!trace.contains("no ce model was wanted"));
    let (_, trace) = settings(&[], &[("MEMSIFT_CE", "small-cross-encoder")]);
    assert!(!trace.contains("no ce model was wanted"));
    // Whoever names a profile means all of it.
    let (_, trace) = settings(&["--profile", "small"], &[]);
    assert!(!trace.contains("no ce model was wanted"));

    let (_, text, _) = memsift_with(dir.path(), &["config"], &[("MEMSIFT_COLBERT", "none"), ("NO_COLOR", "1")]);
    assert_eq!(row(&text, "ce"), ("none".to_owned(), "line 1".to_owned()));
    assert_eq!(row(&text, "gap"), ("3".to_owned(), "line 2".to_owned()));
    assert_eq!(row(&text, "alpha"), ("0.1".to_owned(), "line 4".to_owned()));
    assert_eq!(row(&text, "w"), ("0.7".to_owned(), "default".to_owned()));
    assert_eq!(row(&text, "dense"), ("the profile's".to_owned(), "default".to_owned()));
    assert_eq!(row(&text, "colbert"), ("none".to_owned(), "MEMSIFT_COLBERT".to_owned()));
    assert_eq!(row(&text, "theme"), ("mono".to_owned(), "NO_COLOR".to_owned()));
}

#[test]
fn mistakes_are_warnings_and_the_rest_applies() {
    let dir = with("theem = 'nord'\nprofile = 'huge'\n[knobs]\nalpha = 7\nbudget = 300\nbugdet = 1\n");
    let db = sample(dir.path());
    let (code, json, said) = memsift(dir.path(), &["ask", "Where is the boat?", "--db", &db, "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let trace: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(trace["settings"]["budget"], 300);
    let file = dir.path().join("config.toml").display().to_string();
    for line in [
        "line 1: there is no key 'theem': did you mean 'theme'?",
        "line 2: there is no profile 'huge': choose one of small",
        "line 4: alpha cannot be '7': it takes a number from 0 to 1",
        "line 6: there is no knob 'bugdet': did you mean 'budget'?",
    ] {
        assert_eq!(said.matches(&format!("memsift: '{file}', {line}")).count(), 1, "{line}\n{said}");
    }
    // There they are the answer, and said once.
    let (code, text, said) = memsift(dir.path(), &["config"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(text.lines().filter(|line| line.starts_with("warning ")).count(), 4, "{text}");
}

#[test]
fn a_file_that_is_not_there_or_cannot_be_read_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, said) = memsift(dir.path(), &["keys"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("MEMSIFT_CONFIG names '") && said.contains("there is no such file"), "{said}");
    std::fs::create_dir(dir.path().join("config.toml")).unwrap();
    let (code, _, said) = memsift(dir.path(), &["keys"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("cannot be read"), "{said}");
    let (_, paths, _) = memsift(dir.path(), &["paths"]);
    let line = format!("themes    {0}/themes\nconfig    {0}/config.toml\n", dir.path().display());
    assert!(paths.ends_with(&line), "{paths}");
}

#[test]
fn themes_of_ones_own_lie_beside_the_configuration() {
    let dir = with("theme = 'mine'\n");
    let themes = dir.path().join("themes");
    std::fs::create_dir(&themes).unwrap();
    std::fs::write(themes.join("mine.toml"), "inherits = 'nord'\n[styles]\nkep = 'red'\n").unwrap();
    std::fs::write(themes.join("no theme.txt"), "x").unwrap();
    let (_, text, said) = memsift(dir.path(), &["config"]);
    assert_eq!((row(&text, "theme"), said.as_str()), (("mine".to_owned(), "line 1".to_owned()), ""), "{text}");
    let fault =
        format!("'{}', line 3: there is no style 'kep': did you mean 'kept'?", themes.join("mine.toml").display());
    let (_, text, _) = memsift(dir.path(), &["doctor"]);
    assert!(text.lines().any(|line| line.contains(" themes ") && line.ends_with(&fault)), "{text}");
    // Before the screen is taken it is said as well, and a name that nothing has ends with those that there are.
    let db = sample(dir.path());
    let (_, _, said) = memsift(dir.path(), &[&db]);
    assert!(said.contains(&format!("memsift: {fault}\n")), "{said}");
    let (code, _, said) = memsift(dir.path(), &[&db, "--theme", "mien"]);
    assert!(code == Some(2) && said.contains("there is no theme 'mien': did you mean 'mine'?"), "{said}");
    let elsewhere = dir.path().join("elsewhere").display().to_string();
    let (_, text, _) = memsift_with(dir.path(), &["doctor"], &[("MEMSIFT_THEMES", &elsewhere)]);
    assert!(text.contains(&format!("themes cannot be read from '{elsewhere}'")), "{text}");
}

#[test]
fn hostile_files_reach_no_terminal() {
    let dir = with("'th\\u001beme' = 1\n\"a\\u001b[31mb\" = 2\ntheme = \"\\u001b[2J\"\n");
    let (_, text, _) = memsift(dir.path(), &["config"]);
    let (_, _, said) = memsift(dir.path(), &["keys"]);
    assert!(!text.contains('\u{1b}') && !said.contains('\u{1b}'), "{text}{said}");
    assert!(said.contains('␛'), "{said}");
}

#[test]
fn keys_are_rebound_by_name_and_two_meanings_are_refused() {
    let dir = with("[keys]\nquit = ['Ctrl-x', 'F10']\nswap = []\nundo = ['q']\nzoom = ['u']\nredo = ['s']\n");
    let (code, keys, said) = memsift(dir.path(), &["keys"]);
    assert_eq!(code, Some(0));
    assert!(keys.contains("| `Ctrl-x` `F10` | everywhere | quit | `quit` |"), "{keys}");
    assert!(keys.contains("| `q` | everywhere | undo the last change of a knob | `undo` |"), "{keys}");
    assert!(keys.contains("| `u` | everywhere | "), "{keys}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("line 6: 's' cannot be a key of 'redo', because it is one of 'sweep' ("), "{said}");
}

#[test]
fn a_session_has_the_keys_and_knobs_of_the_file_and_leaves_a_log() {
    let dir = with("theem = 1\n[keys]\nquit = ['F10']\n[knobs]\nbudget = 300\n");
    let (db, log) = (sample(dir.path()), dir.path().join("log.txt"));
    let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
    let pair = NativePtySystem::default().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_memsift"));
    command.args([&db, "--question", "Where is the \u{1b}boat?", "--log", &log.display().to_string()]);
    for (name, place) in [("DATA", ""), ("CACHE", "cache"), ("MODELS", "models"), ("CONFIG", "config.toml")] {
        command.env(format!("MEMSIFT_{name}"), dir.path().join(place));
    }
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let (mut reader, mut keys) = (pair.master.try_clone_reader().unwrap(), pair.master.take_writer().unwrap());
    let (send, bytes) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if send.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut screen = vt100::Parser::new(NonZero::new(40).unwrap(), NonZero::new(120).unwrap(), 0);
    // The first question is done when its fates are on the screen.
    while !screen.screen().contents().contains(" dropped ") {
        screen.process(&bytes.recv_timeout(Duration::from_secs(120)).expect("the answer never came"));
    }
    let text = screen.screen().contents();
    assert!(text.contains("budget 300 words") && text.contains("line 1: there is no key"), "{text}");
    for (key, says) in [("q", "this key does nothing here: ? shows all keys"), ("j", "F10 quit")] {
        keys.write_all(key.as_bytes()).unwrap();
        while !screen.screen().contents().contains(says) {
            screen.process(&bytes.recv_timeout(Duration::from_secs(120)).expect(says));
        }
    }
    keys.write_all(b"\x1b[21~").unwrap();
    assert!(child.wait().unwrap().success());

    let text = std::fs::read_to_string(&log).unwrap();
    for what in [
        " INFO memsift 0.1.0 begins with '",
        " WARN '",
        "line 1: there is no key 'theem': did you mean 'theme'?",
        " is open: 1 conversations, fingerprint ",
        " INFO conversation 'nell-and-idris' is loaded: 15 sessions, 351 turns",
        " WARN model ce: no ce model: ",
        " INFO question 2 of 'nell-and-idris': Where is the ␛boat?",
        " INFO question 2 is done after ",
        " candidates of 351 passages",
        " INFO memsift ends",
    ] {
        assert!(text.contains(what), "no '{what}' in\n{text}");
    }
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    assert!(text.lines().all(|line| line.starts_with("20") && line.contains("Z ")), "{text}");
}

#[test]
fn a_log_goes_to_no_other_file() {
    let dir = with("");
    let db = sample(dir.path());
    let before = std::fs::read(&db).unwrap();
    let (code, _, said) = memsift(dir.path(), &[&db, "--log", &db]);
    assert_eq!(code, Some(2));
    assert!(said.contains("the file is there and is no log of memsift; name another one"), "{said}");
    assert_eq!(std::fs::read(&db).unwrap(), before);
    let folder = dir.path().join("no/such/log").display().to_string();
    let (code, _, said) = memsift(dir.path(), &[&db, "--log", &folder]);
    assert_eq!(code, Some(2));
    assert!(said.contains("check the path"), "{said}");
    // Without a terminal there is no explorer, and the log says so. A second run goes on behind the first.
    let log = dir.path().join("log.txt").display().to_string();
    for runs in 1..=2 {
        let (code, _, _) = memsift_with(dir.path(), &[&db], &[("MEMSIFT_LOG", &log)]);
        assert_eq!(code, Some(2));
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.matches("ERROR memsift ends: the explorer needs a terminal").count(), runs, "{text}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let dir = with("");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, text, said) = memsift(dir.path(), &["completions", shell]);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{shell}");
        for word in ["doctor", "reproduce", "candidate-cap", "print-default"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    let (code, _, said) = memsift(dir.path(), &["completions", "dash"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("bash") && said.contains("elvish"), "{said}");
    let (code, page, _) = memsift(dir.path(), &["man"]);
    assert_eq!(code, Some(0));
    assert!(page.contains(".TH memsift 1") && page.contains("memsift\\-doctor(1)"), "{page}");
    let (_, page, _) = memsift(dir.path(), &["man", "models", "pull"]);
    assert!(page.contains(".TH memsift-models-pull 1") && page.contains("\\-\\-offline"), "{page}");
    let (code, _, said) = memsift(dir.path(), &["man", "modles"]);
    assert_eq!((code, said.as_str()), (Some(2), "memsift: there is no command 'modles': did you mean 'models'?\n"));
}
