//! Scripts and the plain explorer, run as programs: what a script shows and checks, that a recording is the same every time,
//! that README's pictures are those of today, and that nothing but words comes out of `--plain`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/program.rs"]
mod program;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use program::{memsift, sample};

fn script(dir: &Path, text: &str) -> String {
    let path = dir.join("a.play");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_script_writes_pictures_and_a_recording_that_is_the_same_every_time() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let script = script(
        dir.path(),
        "size 100x30\nask What did the widow who sells engine parts ask for?\nexpect widow\nkey ] 3\nexpect 2150 words\n\
         say The budget grew.\nexpect The budget grew.\npause 2\nstop\ntype zz\npicture one.svg\n",
    );
    let into = dir.path().display().to_string();
    let mut casts = Vec::new();
    for name in ["a.cast", "b.cast"] {
        let cast = dir.path().join(name).display().to_string();
        let args = ["play", &script, "--db", &db, "--headless", "--into", &into, "--cast", &cast, "--force"];
        let (code, out, err) = memsift(dir.path(), &args);
        assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
        assert!(err.contains("picture written to"), "{err}");
        casts.push(std::fs::read_to_string(cast).unwrap());
    }
    assert!(casts[0] == casts[1], "two recordings of one script differ");
    let mut lines = casts[0].lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!((&header["version"], &header["width"], &header["height"]), (&2.into(), &100.into(), &30.into()));
    let frames: Vec<_> = lines.collect();
    let times: Vec<f64> = frames.iter().map(|frame| frame[0].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && *times.last().unwrap() > 2.0, "{times:?}");
    // Played again, the frames make the screen of the end.
    let mut screen = vt100::Parser::new(30.try_into().unwrap(), 100.try_into().unwrap(), 0);
    frames.iter().for_each(|frame| screen.process(frame[2].as_str().unwrap().as_bytes()));
    assert!(screen.screen().contents().contains("budget 2150 words"));
    let picture = std::fs::read_to_string(dir.path().join("one.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("widow"));
}

#[test]
fn a_script_that_goes_wrong_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let cases = [
        ("ask When?\nexpect purple elephants", 1, "line 2: the screen does not show 'purple elephants'"),
        ("\ncommand set alhpa 1", 1, "line 2: there is no knob 'alhpa': did you mean 'alpha'?"),
        ("pictrue a.svg", 2, "line 1: there is no step 'pictrue': did you mean 'picture'?"),
        ("picture a.png", 1, "its name must end in .svg"),
    ];
    for (text, code, words) in cases {
        let script = script(dir.path(), text);
        let (found, _, err) = memsift(dir.path(), &["play", &script, "--db", &db, "--headless"]);
        assert_eq!(found, Some(code), "{err}");
        assert!(err.contains(words), "{err}");
    }
    let (code, _, err) = memsift(dir.path(), &["play", "nowhere.play", "--headless"]);
    assert!(code == Some(2) && err.contains("'nowhere.play' cannot be read"), "{err}");
    // Without a terminal and without --headless: one sentence with the way out.
    let script = script(dir.path(), "ask When?");
    let (code, _, err) = memsift(dir.path(), &["play", &script, "--db", &db]);
    assert!(code == Some(2) && err.contains("--headless"), "{err}");
}

/// Letters without the numbers that another processor may round in another way.
fn words(svg: &str) -> String {
    let text: String = svg.split('<').filter_map(|tag| tag.split_once('>')).map(|(_, text)| text).collect();
    text.chars().filter(|c| c.is_alphabetic()).collect()
}

#[test]
fn the_pictures_of_readme_are_those_of_today() {
    let home = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_memsift"))
        .args(["play", "sample-data/pictures.play", "--headless", "--into"])
        .arg(home.path())
        .current_dir(root)
        .env("MEMSIFT_MODELS", common::models_dir())
        .env("MEMSIFT_DATA", home.path())
        .env("MEMSIFT_CACHE", home.path().join("cache"))
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    for name in ["answer.svg", "fall.svg"] {
        assert!(readme.contains(&format!("sample-data/pictures/{name}")), "{name}");
        let read = |path: &Path| std::fs::read_to_string(path.join(name)).unwrap();
        let (kept, made) = (read(&root.join("sample-data/pictures")), read(home.path()));
        assert!(words(&kept).len() > 500);
        assert_eq!(words(&kept), words(&made), "draw {name} again: see sample-data/pictures.play");
    }
}

#[test]
fn the_plain_explorer_answers_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let mut child = Command::new(env!("CARGO_BIN_EXE_memsift"))
        .args([&db, "--plain"])
        .env("MEMSIFT_MODELS", dir.path().join("models"))
        .env("MEMSIFT_DATA", dir.path())
        .env("MEMSIFT_CACHE", dir.path().join("cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "What did the widow who sells engine parts ask for?\n:set budget 60\n:why 2\n:why nothing\n:read s03.t12\n\
                 :thme\n:theme nord\n:questions 4\n:help\n:quit\nnever read\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "ce, ",
        "is absent",
        "question  What did the widow",
        "fell out: ",
        "what if: ",
        "'nothing' is no passage",
        "this one: ",
        "there is no command 'thme'",
        "':theme' needs the screen",
        "question  Why is the landlord of the shed leaving town?",
        ":why PASSAGE  ",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("never read"));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "only words");
    assert!(!text.contains(['│', '┌', '▇']));
}
