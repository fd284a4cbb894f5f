//! Files that commands and the screen write: whole, never over another one without being told, and refused before any
//! work is done.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use memsift::store::import::import_texts;
use memsift::ui::Effect;
use memsift::ui::export::export;
use screen::Session;
use tempfile::TempDir;

const TALK: &str = concat!(
    r#"{"conversation": "ana", "session": "s1", "id": "s1.t1", "speaker": "Ana", "text": "I moved to Porto."}"#,
    "\n",
    r#"{"conversation": "ana", "session": "s1", "id": "s1.t2", "speaker": "Ben", "text": "How is the view?"}"#,
    "\n",
    r#"{"conversation": "ana", "question": "Who moved to Porto?", "evidence": ["s1.t1"]}"#,
);

/// A database and a folder for output, without models.
struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(place.path("out")).unwrap();
        import_texts(&[("talk.jsonl", TALK)], &place.path("talk.db"), &mut |_| {}).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Exit code, what was printed, what was complained about.
    fn run(&self, args: &[&str], output: &Path, more: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memsift"));
        for (name, folder) in [("MEMSIFT_DATA", "data"), ("MEMSIFT_CACHE", "cache"), ("MEMSIFT_MODELS", "models")] {
            command.env(name, self.path(folder));
        }
        command.args(args).arg("--db").arg(self.path("talk.db")).arg("--output").arg(output).args(more);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

const ASK: &[&str] = &["ask", "Who moved to Porto?"];

#[test]
fn each_command_writes_what_it_would_print() {
    let place = Place::new();
    for (args, name, begins) in [
        (ASK, "plain", "question  Who moved"),
        (ASK, "context.txt", "Ana: I moved to Porto."),
        (ASK, "trace.json", "{\"memsift_trace\":1,"),
        (ASK, "trace.MSGPACK", "\u{fffd}\0"),
        (ASK, "table.csv", "id,session,"),
        (&["explain"], "why.txt", "1 of 1 kept"),
        (&["explain"], "why.jsonl", "{\"id\":"),
        (&["sweep"], "map.csv", "alpha,budget,kept"),
        (&["sweep"], "map", "1 questions, 1 gold"),
    ] {
        let path = place.path("out").join(name);
        let (code, printed, complaint) = place.run(args, &path, &[]);
        assert_eq!((code, printed.as_str()), (Some(0), ""), "{name}: {complaint}");
        let written = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(written.starts_with(begins), "{name}: {written}");
    }
    let path = place.path("out").join("other.json");
    let (code, _, _) = place.run(ASK, &path, &["--format", "csv"]);
    assert_eq!(code, Some(0));
    assert!(fs::read_to_string(path).unwrap().starts_with("id,session,"), "what is said goes before a name");
}

#[test]
fn what_is_there_stays_unless_forced() {
    let place = Place::new();
    let path = place.path("out").join("trace.json");
    fs::write(&path, "mine").unwrap();
    for args in [ASK, &["explain"], &["sweep"]] {
        let (code, printed, complaint) = place.run(args, &path, &[]);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "refused before any work: {complaint}");
        assert!(complaint.contains("trace.json' already") && complaint.contains("--force"), "{complaint}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
    assert_eq!(place.run(ASK, &path, &["--force"]).0, Some(0));
    assert!(fs::read_to_string(&path).unwrap().starts_with("{\"memsift_trace\""));
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let place = Place::new();
    for (path, words) in [
        (place.path("out"), "is a folder"),
        (place.path("none").join("a.json"), "there is no folder"),
        (place.path("talk.db").join("a.json"), "there is no folder"),
        #[cfg(target_os = "linux")]
        (PathBuf::from("/proc/self/a.json"), "nothing can be written in the folder"),
    ] {
        let (code, _, complaint) = place.run(ASK, &path, &["--force"]);
        assert_eq!(code, Some(2), "{complaint}");
        assert!(complaint.contains(words) && complaint.lines().count() == 1, "{complaint}");
    }
}

/// Type a command and carry out what follows; the sentence that the user reads.
fn typed(session: &mut Session, command: &str) -> Result<String, String> {
    session.left.clear();
    session.keys(&format!(":{command}<Enter>"));
    match session.left.pop() {
        Some(Effect::Export { path, overwrite }) => export(&session.model, &path, overwrite),
        other => panic!("{command}: {other:?}, {:?}", session.model.message),
    }
}

#[test]
fn the_screen_overwrites_only_with_a_bang() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.json");
    let shown = path.display();
    let mut session = Session::asked(80, 24, "terminal", false);
    assert_eq!(typed(&mut session, &format!("export {shown}")), Ok(format!("trace written to {shown}")));
    let first = fs::read(&path).unwrap();
    session.keys(":set budget 100<Enter>");
    let sentence = typed(&mut session, &format!("export {shown}")).unwrap_err();
    assert!(sentence.contains("already") && sentence.contains(":export!"), "{sentence}");
    assert_eq!(fs::read(&path).unwrap(), first);
    assert!(typed(&mut session, &format!("export! {shown}")).is_ok());
    assert_ne!(fs::read(&path).unwrap(), first);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let folder = typed(&mut session, &format!("export! {}", dir.path().display())).unwrap_err();
    assert!(folder.contains("is a folder"), "{folder}");
}
