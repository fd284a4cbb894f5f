//! The program itself, run on the sample history, with nothing of this machine's user.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use memsift::store::import::import_texts;

/// Exit code, standard output and standard error. Without models the order is by match score.
pub fn memsift(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_memsift"))
        .args(args)
        .env("MEMSIFT_MODELS", dir.join("models"))
        .env("MEMSIFT_DATA", dir)
        .env("MEMSIFT_CACHE", dir.join("cache"))
        .env_remove("MEMSIFT_PROFILE")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The sample histories with their questions.
const SAMPLES: [(&str, &str); 4] = [
    ("nell-and-idris.jsonl", include_str!("../../sample-data/nell-and-idris.jsonl")),
    ("nell-and-idris.questions.jsonl", include_str!("../../sample-data/nell-and-idris.questions.jsonl")),
    ("hester-and-rafe.jsonl", include_str!("../../sample-data/hester-and-rafe.jsonl")),
    ("hester-and-rafe.questions.jsonl", include_str!("../../sample-data/hester-and-rafe.questions.jsonl")),
];

/// The first sample history with its questions, as a database in this folder.
pub fn sample(dir: &Path) -> String {
    import(dir, "sample.db", &SAMPLES[..2])
}

/// Both sample histories.
pub fn samples(dir: &Path) -> String {
    import(dir, "samples.db", &SAMPLES)
}

/// A database of these texts.
pub fn import(dir: &Path, name: &str, texts: &[(&str, &str)]) -> String {
    let db = dir.join(name);
    import_texts(texts, &db, &mut |_| {}).unwrap();
    db.display().to_string()
}
