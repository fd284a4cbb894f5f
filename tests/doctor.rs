//! `memsift doctor`: what is missing or broken is said with what to do next, nothing is changed, and the exit code says
//! whether the demo has what it needs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use memsift::rank::Cache;
use memsift::store::import::import_texts;

fn doctor(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memsift"));
    command
        .arg("doctor")
        .args(args)
        .env("MEMSIFT_MODELS", dir.join("models"))
        .env("MEMSIFT_DATA", dir.join("data"))
        .env("MEMSIFT_CACHE", dir.join("cache"))
        .env("MEMSIFT_CONFIG", dir.join("config.toml"))
        .env("LC_ALL", "en_GB.UTF-8")
        .env_remove("NO_COLOR");
    for name in ["PROFILE", "CE", "COLBERT", "DENSE", "PRECISION", "KERNEL"] {
        command.env_remove(format!("MEMSIFT_{name}"));
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Every file below a folder, with its bytes.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path().display().to_string(), std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines().filter(|line| line.split_whitespace().nth(1) == Some(name));
    lines.next().unwrap_or_else(|| panic!("no line {name} in\n{text}"))
}

#[test]
fn an_empty_home_lacks_the_models_and_nothing_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let (code, text, said) = doctor(dir.path(), &[], &[]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("memsift: 4 lines name something that is needed"), "{said}");
    assert!(line(&text, "tagger").starts_with("○ tagger    en_core_web_sm is not installed: run 'memsift models pull"));
    assert!(
        line(&text, "ce")
            .starts_with("○ ce        small-cross-encoder is in the program; its base: all-MiniLM-L6-v2 is")
    );
    assert!(line(&text, "colbert").contains("run 'memsift models pull all-MiniLM-L6-v2'"), "{text}");
    assert!(line(&text, "cache").starts_with("✓ cache ") && line(&text, "marks").starts_with("✓ marks "), "{text}");
    assert!(line(&text, "demo").starts_with("○ demo ") && line(&text, "demo").ends_with("'memsift demo' makes it"));
    assert!(line(&text, "terminal").starts_with("○ terminal "), "{text}");
    assert!(line(&text, "letters").contains("UTF-8, as LC_ALL says (en_GB.UTF-8)"), "{text}");
    assert!(line(&text, "kernel").contains("portable"), "{text}");
    assert!(files(dir.path()).is_empty());
}

#[test]
fn with_the_small_models_everything_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let models = common::models_dir().display().to_string();
    let (code, text, said) = doctor(dir.path(), &[], &[("MEMSIFT_MODELS", &models)]);
    assert_eq!((code, said.as_str()), (Some(0), ""), "{text}");
    for name in ["tagger", "ce", "colbert", "dense"] {
        assert!(line(&text, name).starts_with('✓') && line(&text, name).ends_with("every file is as it should be"));
    }
    assert!(text.ends_with("'memsift demo' opens it.\n"), "{text}");
    let (_, text, _) = doctor(dir.path(), &["--ce", "none"], &[("MEMSIFT_MODELS", &models)]);
    assert!(line(&text, "ce").ends_with("none, as was asked"), "{text}");
}

#[test]
fn what_is_broken_is_named_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("config.toml", "theem = 1\n");
    write("data/marks.json", "{");
    write("data/pins.json", "{\"version\": 99, \"pins\": {}}");
    write("cache/scores.db", "no database");
    write("models/all-MiniLM-L6-v2/config.json", "{}");
    write("chats.db", "no database either");
    let before = files(dir.path());
    let db = dir.path().join("chats.db").display().to_string();
    let (code, text, said) = doctor(dir.path(), &["--db", &db], &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("5 lines name something"), "{said}");
    for (name, words) in [
        ("config", "applies but for what the next lines say"),
        ("colbert", "'config.json' of all-MiniLM-L6-v2 is damaged: run 'memsift models pull all-MiniLM-L6-v2'"),
        ("marks", "cannot be understood: the next start sets it aside"),
        ("pins", "cannot be understood: the next start sets it aside"),
        ("cache", "cannot be used (file is not a database): it may be deleted"),
        ("database", "chats.db"),
    ] {
        assert!(line(&text, name).starts_with('✗') && line(&text, name).contains(words), "{name}\n{text}");
    }
    assert!(text.contains("line 1: there is no key 'theem': did you mean 'theme'?"), "{text}");
    assert_eq!(files(dir.path()), before);
}

#[test]
fn what_is_there_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache/scores.db");
    drop(Cache::open(&cache));
    std::fs::write(dir.path().join("config.toml"), "[knobs]\nalpha = 0.1\n").unwrap();
    let db = dir.path().join("my.db");
    let texts = [("nell-and-idris.jsonl", include_str!("../sample-data/nell-and-idris.jsonl"))];
    import_texts(&texts, &db, &mut |_| {}).unwrap();
    let (_, text, _) = doctor(dir.path(), &["--db", &db.display().to_string()], &[]);
    assert!(line(&text, "cache").contains("vectors of 0 texts, scores of 0 pairs"), "{text}");
    assert!(line(&text, "config").ends_with("config.toml' applies"), "{text}");
    let database = line(&text, "database");
    assert!(database.contains("1 conversations, 351 turns") && database.contains("(memsift)"), "{text}");
}

#[test]
fn a_wrong_choice_is_said_in_its_line_and_plain_terminals_get_plain_signs() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("config.toml"), "").unwrap();
    let variables = [("LC_ALL", "C"), ("NO_COLOR", "1"), ("MEMSIFT_KERNEL", "abacus")];
    let (code, text, _) = doctor(dir.path(), &[], &variables);
    assert_eq!(code, Some(1));
    assert!(text.is_ascii(), "{text}");
    assert!(line(&text, "models").starts_with("x models    MEMSIFT_KERNEL is 'abacus'"), "{text}");
    assert!(line(&text, "letters").starts_with("- letters   LC_ALL is 'C', which is not UTF-8: --ascii"), "{text}");
    assert!(line(&text, "colours").contains("NO_COLOR"), "{text}");
    assert!(line(&text, "config").starts_with("+ config "), "{text}");
}
