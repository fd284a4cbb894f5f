//! Fetching models, against a small server on this machine and a stand-in for pip; the first test fetches the real
//! models when they are missing, which is the only use of the network in all tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/hub.rs"]
mod hub;

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hub::{Answer, Behaviour, fetch, names_below, no_python, options, serve, sha};
use memsift::models::{ModelSpec, PullOptions, Registry, Source, Stage, State, state, verify};

#[test]
fn the_real_models_are_there_and_whole() {
    let dir = common::models_dir();
    for model in Registry::built_in().unwrap().small_set().unwrap() {
        assert_eq!(verify(model, &dir).unwrap(), State::Ready, "{}", model.name);
    }
}

// ---- a model made of two small files ----

const SMALL: &[u8] = b"{}";

fn large() -> Vec<u8> {
    (0..300_000u32).map(|i| (i * 7 % 251) as u8).collect()
}

fn model(package_sum: Option<&str>) -> ModelSpec {
    let package = package_sum.map_or(String::new(), |sum| {
        format!(
            "package = {{ name = 'toy-wheel', version = '1.0', sha256 = '{sum}', size = 1000, prefix = 'toy/m/' }}\n"
        )
    });
    let list = format!(
        "[[model]]\nname = 'toy'\nroles = ['colbert']\narchitecture = 'bert'\nlicence = 'MIT'\n\
         hub = {{ repo = 'owner/toy', revision = 'main' }}\n{package}files = [\n\
         {{ name = 'config.json', size = 2, sha256 = '{}' }},\n\
         {{ name = 'deep/weights', size = 300000, sha256 = '{}' }}]\n",
        sha(SMALL),
        sha(&large())
    );
    Registry::parse(&list, "test").unwrap().models.remove(0)
}

// ---- the server ----

fn body_of(path: &str) -> Vec<u8> {
    match path {
        "/owner/toy/resolve/main/config.json" => SMALL.to_vec(),
        "/owner/toy/resolve/main/deep/weights" => large(),
        other => panic!("unexpected path {other}"),
    }
}

fn good() -> Behaviour {
    Box::new(|path, from| Answer::Bytes(body_of(path), from))
}

// ---- the hub ----

#[test]
fn the_hub_delivers_and_a_second_pull_asks_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (address, seen) = serve(good());
    let (toy, options) = (model(None), options(&address, &no_python()));
    assert!(matches!(state(&toy, dir.path()), State::Missing { files } if files.len() == 2));
    let (result, progress) = fetch(&toy, dir.path(), &options);
    assert_eq!(result.unwrap().source, Source::Hub);
    assert_eq!(names_below(dir.path()), ["toy/config.json", "toy/deep/weights"]);
    assert_eq!(verify(&toy, dir.path()).unwrap(), State::Ready);
    assert!(progress.is_sorted_by_key(|p| p.done));
    assert_eq!(progress.last().unwrap().done, toy.total_size());

    assert_eq!(fetch(&toy, dir.path(), &options).0.unwrap().source, Source::Present);
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[test]
fn a_cut_transfer_resumes_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let (address, seen) = serve(Box::new(|path, from| {
        let cut = path.ends_with("weights") && from.unwrap_or(0) < 200_000;
        if cut { Answer::Cut(body_of(path), from, 100_000) } else { Answer::Bytes(body_of(path), from) }
    }));
    let (result, _) = fetch(&model(None), dir.path(), &options(&address, &no_python()));
    assert_eq!(result.unwrap().source, Source::Hub);
    let seen = seen.lock().unwrap();
    let starts: Vec<_> = seen.iter().filter(|(path, _)| path.ends_with("weights")).map(|(_, from)| *from).collect();
    assert_eq!(starts, [None, Some(100_000), Some(200_000)]);
}

#[test]
fn an_interrupted_pull_leaves_parts_only_and_the_next_one_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let toy = model(None);
    let (address, _) = serve(Box::new(|path, from| {
        if path.ends_with("weights") && from.is_none() {
            Answer::Cut(body_of(path), from, 100_000)
        } else if path.ends_with("weights") {
            Answer::Status(503)
        } else {
            Answer::Bytes(body_of(path), from)
        }
    }));
    let (result, _) = fetch(&toy, dir.path(), &options(&address, &no_python()));
    let message = result.unwrap_err().to_string();
    assert!(message.contains("the hub answered 503 for deep/weights"), "{message}");
    assert!(message.contains("put config.json, deep/weights into"), "{message}");
    assert_eq!(names_below(dir.path()), [".toy.part/config.json", ".toy.part/deep/weights.part"]);

    let (address, seen) = serve(good());
    assert_eq!(fetch(&toy, dir.path(), &options(&address, &no_python())).0.unwrap().source, Source::Hub);
    assert_eq!(*seen.lock().unwrap(), [("/owner/toy/resolve/main/deep/weights".to_owned(), Some(100_000))]);
    assert_eq!(names_below(dir.path()), ["toy/config.json", "toy/deep/weights"]);
}

#[test]
fn a_server_that_cannot_resume_is_taken_from_the_start() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join(".toy.part/deep")).unwrap();
    std::fs::write(dir.path().join(".toy.part/deep/weights.part"), b"stale").unwrap();
    for refuse in [false, true] {
        let (address, _) = serve(Box::new(move |path, from| {
            if refuse && from.is_some() { Answer::Status(416) } else { Answer::Bytes(body_of(path), None) }
        }));
        let toy = model(None);
        assert_eq!(fetch(&toy, dir.path(), &options(&address, &no_python())).0.unwrap().source, Source::Hub);
        std::fs::remove_dir_all(dir.path().join("toy")).unwrap();
        std::fs::create_dir_all(dir.path().join(".toy.part/deep")).unwrap();
        std::fs::write(dir.path().join(".toy.part/deep/weights.part"), b"stale").unwrap();
    }
}

#[test]
fn a_damaged_file_is_fetched_again_and_the_rest_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let toy = model(None);
    let folder = dir.path().join("toy");
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    std::fs::write(folder.join("notes.txt"), "mine").unwrap();
    std::fs::write(folder.join("config.json"), SMALL).unwrap();
    let mut wrong = large();
    wrong[17] ^= 1;
    std::fs::write(folder.join("deep/weights"), &wrong).unwrap();
    assert_eq!(state(&toy, dir.path()), State::Ready);
    assert_eq!(verify(&toy, dir.path()).unwrap(), State::Damaged { file: "deep/weights".to_owned() });
    let (address, seen) = serve(good());
    assert_eq!(fetch(&toy, dir.path(), &options(&address, &no_python())).0.unwrap().source, Source::Hub);
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert_eq!(names_below(dir.path()), ["toy/config.json", "toy/deep/weights", "toy/notes.txt"]);
    std::fs::write(folder.join("config.json"), "{").unwrap();
    assert_eq!(state(&toy, dir.path()), State::Damaged { file: "config.json".to_owned() });
}

#[test]
fn offline_asks_nobody_and_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let (address, seen) = serve(good());
    let options = PullOptions { offline: true, ..options(&address, &no_python()) };
    let message = fetch(&model(None), dir.path(), &options).0.unwrap_err().to_string();
    assert!(message.contains("(config.json, deep/weights) and memsift runs offline"), "{message}");
    assert!(seen.lock().unwrap().is_empty());
    assert!(names_below(dir.path()).is_empty());
}

#[test]
fn two_pulls_at_once_fetch_it_once() {
    let dir = tempfile::tempdir().unwrap();
    let (address, seen) = serve(Box::new(|path, from| {
        std::thread::sleep(Duration::from_millis(250));
        Answer::Bytes(body_of(path), from)
    }));
    let (toy, options) = (model(None), options(&address, &no_python()));
    let sources: Vec<_> = std::thread::scope(|scope| {
        let pulls: Vec<_> = (0..3).map(|_| scope.spawn(|| fetch(&toy, dir.path(), &options).0)).collect();
        pulls.into_iter().map(|pull| pull.join().unwrap().unwrap().source).collect()
    });
    assert_eq!(sources.iter().filter(|source| **source == Source::Hub).count(), 1, "{sources:?}");
    assert_eq!(seen.lock().unwrap().len(), 2);
    assert_eq!(names_below(dir.path()), ["toy/config.json", "toy/deep/weights"]);
}

// ---- the package ----

/// A wheel with the given entries, and its checksum.
fn wheel(dir: &Path, entries: &[(&str, &[u8])]) -> (PathBuf, String) {
    let path = dir.join("toy_wheel-1.0-py3-none-any.whl");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, bytes) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
    let sum = sha(&std::fs::read(&path).unwrap());
    (path, sum)
}

/// A program that stands in for the Python interpreter: `$1 $2 $3` are `-m pip download`.
#[cfg(unix)]
fn interpreter(dir: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join("python-stand-in");
    let text = format!(
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = -d ] && OUT=\"$2\"; shift; done\nWHAT=\"$1\"\n{script}\n"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn all_missing() -> Behaviour {
    Box::new(|_, _| Answer::Status(404))
}

#[cfg(unix)]
#[test]
fn the_package_steps_in_for_each_failure_of_the_hub() {
    let tools = tempfile::tempdir().unwrap();
    let (path, sum) = wheel(
        tools.path(),
        &[("toy/m/config.json", SMALL), ("toy/m/deep/weights", &large()), ("../evil", b"x"), ("toy/m/other", b"y")],
    );
    let python =
        interpreter(tools.path(), &format!("[ \"$WHAT\" = toy-wheel==1.0 ] && cp '{}' \"$OUT\"", path.display()));
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let hubs: [(String, &str); 5] = [
        (serve(all_missing()).0, "the hub answered 404 for config.json"),
        (
            serve(Box::new(|path, _| Answer::Bytes(vec![7; body_of(path).len()], None))).0,
            "another version of config.json",
        ),
        (serve(Box::new(|path, _| Answer::Bytes(vec![7; body_of(path).len() * 2], None))).0, "another version"),
        (serve(Box::new(|path, _| Answer::Stall(body_of(path), 1))).0, "could not be reached"),
        (closed, "could not be reached"),
    ];
    for (hub, reason) in hubs {
        let dir = tempfile::tempdir().unwrap();
        let toy = model(Some(&sum));
        let (result, progress) = fetch(&toy, dir.path(), &options(&hub, &python));
        assert_eq!(result.unwrap().source, Source::Package, "{reason}");
        assert!(
            progress.iter().any(|p| matches!(&p.stage, Stage::FallingBack { reason: why } if why.contains(reason))),
            "{reason}: {progress:?}"
        );
        assert_eq!(names_below(dir.path()), ["toy/config.json", "toy/deep/weights"], "{reason}");
        assert_eq!(verify(&toy, dir.path()).unwrap(), State::Ready);
    }
}

#[cfg(unix)]
#[test]
fn a_package_that_fails_is_named_with_its_reason() {
    let tools = tempfile::tempdir().unwrap();
    let (path, sum) = wheel(tools.path(), &[("toy/m/config.json", SMALL), ("toy/m/deep/weights", b"too short")]);
    let copy = format!("cp '{}' \"$OUT\"", path.display());
    let zeros = "0".repeat(64);
    for (script, package_sum, reason) in [
        ("echo chatter; echo 'ERROR: no matching version' >&2; exit 1", &sum, "(no matching version)"),
        ("exit 0", &sum, "it left no wheel"),
        (copy.as_str(), &zeros, "with another checksum"),
        (copy.as_str(), &sum, "lacks deep/weights or holds another version"),
        ("sleep 30", &sum, "did not finish toy-wheel 1.0 within 1 s"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let python = interpreter(tools.path(), script);
        let (hub, _) = serve(all_missing());
        let options = PullOptions { pip_timeout: Duration::from_secs(1), ..options(&hub, &python) };
        let message = fetch(&model(Some(package_sum)), dir.path(), &options).0.unwrap_err().to_string();
        assert!(message.contains(reason), "{reason}: {message}");
        assert!(message.contains("the hub answered 404"), "{message}");
        assert!(message.contains("put config.json, deep/weights into"), "{message}");
        assert!(!dir.path().join("toy").exists(), "{reason}");
    }
    let (hub, _) = serve(all_missing());
    let dir = tempfile::tempdir().unwrap();
    let message = fetch(&model(Some(&sum)), dir.path(), &options(&hub, &no_python())).0.unwrap_err().to_string();
    assert!(message.contains("'/nonexistent/python3' could not be started"), "{message}");
}
