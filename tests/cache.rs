//! The cache under hard conditions: two processes, a kill at any moment, a lock, damage, no place to write.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use memsift::rank::{Cache, CacheKey, ModelId, PairScore, Precision};
use memsift::store::import::import_texts;
use rusqlite::Connection;

fn model() -> ModelId {
    ModelId { name: "toy".to_owned(), hash: "hash".to_owned(), precision: Precision::Exact }
}

fn key(text: &str) -> CacheKey {
    CacheKey::pair(&model(), 8, "question", text)
}

const SCORE: PairScore = PairScore { logit: 0.0, score: 0.5, tokens: 3, clipped: None };

fn sample(dir: &Path) -> String {
    let db = dir.join("sample.db");
    // The first turns are enough here.
    let turns: Vec<&str> = include_str!("../sample-data/nell-and-idris.jsonl").lines().take(60).collect();
    import_texts(&[("nell-and-idris.jsonl", &turns.join("\n"))], &db, &mut |_| {}).unwrap();
    db.display().to_string()
}

fn memsift(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memsift"));
    command.args(args).env("MEMSIFT_MODELS", common::models_dir()).env("MEMSIFT_DATA", dir);
    command.env("MEMSIFT_CACHE", dir.join("cache")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

const QUESTION: &str = "What did Nell name the boat?";

#[test]
fn two_processes_share_a_file_and_a_kill_leaves_a_sound_one() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let ask = ["ask", QUESTION, "--db", &db];
    // Killed at moments spread over the first run.
    for wait in [200, 500, 900, 1400] {
        let mut child = memsift(dir.path(), &ask).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().unwrap();
    }
    let both = [memsift(dir.path(), &ask).spawn().unwrap(), memsift(dir.path(), &ask).spawn().unwrap()];
    let both = both.map(|child| child.wait_with_output().unwrap());
    let third = memsift(dir.path(), &ask).output().unwrap();
    for output in &both {
        assert!(output.status.success(), "{}", words(output));
        assert_eq!(words(output), words(&third), "one answer, whoever computed it and when, and no complaint");
    }
    let file = dir.path().join("cache/scores.db");
    let sound: String =
        Connection::open(&file).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");

    let info = words(&memsift(dir.path(), &["cache", "info"]).output().unwrap());
    assert!(info.contains(" texts\nscores ") && !info.contains(" 0 texts"), "{info}");
    let cleared = words(&memsift(dir.path(), &["cache", "clear"]).output().unwrap());
    assert!(cleared.starts_with("removed vectors of ") && !cleared.contains(" of 0 texts"), "{cleared}");
    let info = words(&memsift(dir.path(), &["cache", "info"]).output().unwrap());
    assert!(info.contains("vectors  0 texts\nscores   0 pairs"), "{info}");
    let fourth = memsift(dir.path(), &ask).output().unwrap();
    assert_eq!(words(&fourth), words(&third));
}

#[test]
fn a_locked_file_is_said_and_slows_nothing_down_twice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.db");
    let cache = Cache::open(&path);
    cache.put_scores([(key("kept"), SCORE)]);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    for text in ["a", "b", "c", "d"] {
        cache.put_scores([(key(text), SCORE)]);
    }
    assert!(began.elapsed() < Duration::from_secs(4), "only the first write waits");
    let notices = cache.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("locked by another process"), "{notices:?}");
    assert_eq!(cache.scores(&[key("kept"), key("a")]), [Some(SCORE), None], "reading goes on");
    assert!(!cache.clear());
    other.execute_batch("ROLLBACK").unwrap();
    assert!(cache.clear());
    assert_eq!(cache.scores(&[key("kept")]), [None]);
}

#[test]
fn a_damaged_file_is_set_aside_also_when_the_damage_shows_late() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.db");
    {
        let cache = Cache::open(&path);
        cache.put_scores((0..20_000).map(|at| (key(&at.to_string()), SCORE)));
    }
    // The header stays, everything behind the first page is overwritten.
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 1 << 20);
    bytes[16_384..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let cache = Cache::open(&path);
    let keys: Vec<CacheKey> = (0..20_000).map(|at| key(&at.to_string())).collect();
    assert!(cache.scores(&keys).iter().all(Option::is_none));
    cache.put_scores([(key("new"), SCORE)]);
    assert_eq!(cache.scores(&[key("new")]), [Some(SCORE)]);
    let notices = cache.notices();
    assert!(notices.len() == 1 && notices[0].contains("is damaged; it was renamed to"), "{notices:?}");
    assert_eq!(cache.info().unwrap().set_aside.len(), 1);
}

#[test]
fn without_a_place_to_write_everything_is_computed_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    std::fs::write(dir.path().join("cache"), "a file where the folder should be").unwrap();
    let output = memsift(dir.path(), &["ask", QUESTION, "--db", &db]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("cannot be used").count(), 1, "{said}");
    assert!(words(&output).contains("small-cross-encoder: "), "{}", words(&output));
}

#[test]
fn a_file_that_may_only_be_read_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.db");
    Cache::open(&path).put_scores([(key("kept"), SCORE)]);
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        println!("skipped: this user may write everywhere");
        return;
    }
    let cache = Cache::open(&path);
    cache.put_scores([(key("new"), SCORE)]);
    assert_eq!(cache.scores(&[key("kept"), key("new")]), [Some(SCORE), None]);
    let notices = cache.notices();
    assert!(notices.len() == 1 && notices[0].contains("takes nothing new"), "{notices:?}");
}

#[test]
fn the_oldest_entries_go_when_the_bound_is_reached() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open_with_limit(&dir.path().join("cache.db"), 1 << 20);
    for block in 0..20 {
        cache.put_scores((0..1000).map(|at| (key(&format!("{block} {at}")), SCORE)));
    }
    let info = cache.info().unwrap();
    assert!(info.scores > 1000 && info.scores < 20_000, "{info:?}");
    assert_eq!(cache.scores(&[key("0 0"), key("19 999")]), [None, Some(SCORE)]);
}
