//! Models whose checksums only the hub knows: what is asked, what is kept, and what is refused. Against a small server on
//! this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/hub.rs"]
mod hub;

use std::fs;
use std::path::Path;

use hub::{Answer, fetch, names_below, no_python, options, serve, sha};
use memsift::models::{ModelSpec, PullOptions, Registry, Source, Stage, State, pull, state, verify};
use serde_json::{Value, json};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba98";

fn weights() -> Vec<u8> {
    (0..3_000_000u32).map(|i| (i * 7 % 251) as u8).collect()
}

/// A model of a user's own list.
fn toy() -> ModelSpec {
    let list = "[[model]]\nname = 'toy'\nroles = ['dense']\narchitecture = 'bert'\nlicence = 'MIT'\n\
                hub = { repo = 'owner/toy', revision = 'main' }\n\
                needs = ['config.json', 'deep/weights.safetensors']\nmay-have = ['more.json', 'never.json']\n";
    Registry::parse(list, "test").unwrap().models.remove(0)
}

/// The hub's list of files; `sum` is what it says of the large one.
fn listing(sum: &str) -> Value {
    json!([
        { "type": "directory", "path": "deep", "size": 0, "oid": "d" },
        { "type": "file", "path": "config.json", "size": 2, "oid": "a" },
        { "type": "file", "path": "more.json", "size": 0, "oid": "b" },
        { "type": "file", "path": "deep/weights.safetensors", "size": 3_000_000, "oid": "c",
          "lfs": { "oid": sum, "size": 3_000_000, "pointerSize": 134 } },
        { "type": "file", "path": "pytorch_model.bin", "size": 9, "oid": "e" },
    ])
}

/// The answers of a hub whose files are at `commit`.
fn answer(commit: &str, list: &Value, path: &str, from: Option<usize>) -> Answer {
    let bytes = match path {
        "/api/models/owner/toy/revision/main" => json!({ "id": "owner/toy", "sha": commit }).to_string().into_bytes(),
        _ if path == format!("/api/models/owner/toy/tree/{commit}?recursive=true") => list.to_string().into_bytes(),
        _ if path == format!("/owner/toy/resolve/{commit}/config.json") => b"{}".to_vec(),
        _ if path == format!("/owner/toy/resolve/{commit}/more.json") => Vec::new(),
        _ if path == format!("/owner/toy/resolve/{commit}/deep/weights.safetensors") => weights(),
        _ => return Answer::Status(404),
    };
    Answer::Bytes(bytes, from)
}

#[test]
fn one_commit_is_fetched_and_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let list = listing(&sha(&weights()));
    let (address, seen) = serve(Box::new(move |path, from| answer(COMMIT, &list, path, from)));
    let (toy, options) = (toy(), options(&address, &no_python()));
    assert!(matches!(state(&toy, dir.path()), State::Missing { files } if files == toy.needs));
    let (result, progress) = fetch(&toy, dir.path(), &options);
    assert_eq!(result.unwrap().source, Source::Hub);
    let all = ["toy/config.json", "toy/deep/weights.safetensors", "toy/memsift.toml", "toy/more.json"];
    assert_eq!(names_below(dir.path()), all);
    assert_eq!(progress.last().unwrap().done, 3_000_002);
    let of_file =
        |p: &&memsift::models::PullProgress| matches!(&p.stage, Stage::Hub { file, .. } if file == "config.json");
    assert!(progress.iter().filter(of_file).count() >= 2);

    // From now on the manifest says what the files must be, and at which commit they are.
    assert_eq!(verify(&toy, dir.path()).unwrap(), State::Ready);
    assert_eq!(fetch(&toy, dir.path(), &options).0.unwrap().source, Source::Present);
    let requests = seen.lock().unwrap().len();
    assert_eq!(requests, 5);
    let path = dir.path().join("toy/config.json");
    fs::write(&path, "[]").unwrap();
    assert_eq!(state(&toy, dir.path()), State::Ready);
    assert_eq!(verify(&toy, dir.path()).unwrap(), State::Damaged { file: "config.json".to_owned() });
    assert_eq!(fetch(&toy, dir.path(), &options).0.unwrap().source, Source::Hub);
    let again: Vec<_> = seen.lock().unwrap().iter().skip(requests).map(|(path, _)| path.clone()).collect();
    assert_eq!(again, [format!("/owner/toy/resolve/{COMMIT}/config.json")]);
    assert_eq!(verify(&toy, dir.path()).unwrap(), State::Ready);
    assert_eq!(names_below(dir.path()), all);

    // Another file in its place that happens to be of the right size is never taken.
    fs::write(&path, "[]").unwrap();
    let (address, _) = serve(Box::new(|_, _| Answer::Bytes(b"[]".to_vec(), None)));
    let message = fetch(&toy, dir.path(), &hub::options(&address, &no_python())).0.unwrap_err().to_string();
    assert!(message.contains("the hub holds another version of config.json"), "{message}");
}

#[test]
fn an_interrupted_pull_goes_on_unless_the_commit_has_changed() {
    for second in [COMMIT, OTHER] {
        let dir = tempfile::tempdir().unwrap();
        let list = listing(&sha(&weights()));
        let (address, _) = serve(Box::new(move |path, from| match answer(COMMIT, &list, path, from) {
            Answer::Bytes(bytes, None) if path.ends_with("weights.safetensors") => Answer::Cut(bytes, None, 1_000_000),
            Answer::Bytes(..) if path.ends_with("weights.safetensors") => Answer::Status(503),
            other => other,
        }));
        let message = fetch(&toy(), dir.path(), &options(&address, &no_python())).0.unwrap_err().to_string();
        assert!(message.contains("the hub answered 503 for deep/weights.safetensors"), "{message}");
        assert!(message.contains("memsift models import FOLDER --name toy"), "{message}");
        assert!(!dir.path().join("toy").exists());

        let list = listing(&sha(&weights()));
        let (address, seen) = serve(Box::new(move |path, from| answer(second, &list, path, from)));
        assert_eq!(fetch(&toy(), dir.path(), &options(&address, &no_python())).0.unwrap().source, Source::Hub);
        let seen = seen.lock().unwrap();
        let from = seen.iter().find(|(path, _)| path.ends_with("weights.safetensors")).unwrap().1;
        assert_eq!(from, (second == COMMIT).then_some(1_000_000));
        let small = seen.iter().any(|(path, _)| path.ends_with("config.json"));
        assert_eq!(small, second == OTHER);
        assert!(!dir.path().join("toy/.commit").exists());
    }
}

#[test]
fn what_the_hub_says_must_be_clear_and_whole() {
    let good = listing(&sha(&weights()));
    let without = |gone: &str| {
        let mut list = good.clone();
        list.as_array_mut().unwrap().retain(|entry| entry["path"] != gone);
        list
    };
    let rows = [
        (COMMIT, json!("<html>"), "the hub's list of files of owner/toy is not clear (invalid type: string"),
        (COMMIT, json!([{ "type": "file" }]), "is not clear (missing field `path`"),
        ("../../evil", good.clone(), "is not clear (it names no commit)"),
        (COMMIT, listing("12"), "is not clear ('deep/weights.safetensors' has no SHA-256)"),
        (COMMIT, listing(&"0".repeat(64)), "the hub holds another version of deep/weights.safetensors"),
        (COMMIT, without("config.json"), "owner/toy on the hub has no config.json; bring a folder"),
        (
            COMMIT,
            without("deep/weights.safetensors"),
            "has no deep/weights.safetensors, only weights in a format that can carry programs",
        ),
    ];
    for (commit, list, reason) in rows {
        let dir = tempfile::tempdir().unwrap();
        let (address, _) = serve(Box::new(move |path, from| answer(commit, &list, path, from)));
        let message = fetch(&toy(), dir.path(), &options(&address, &no_python())).0.unwrap_err().to_string();
        assert!(message.contains(reason), "{reason}: {message}");
        assert_eq!(message.lines().count(), 1);
        assert!(!dir.path().join("toy").exists());
    }
    let dir = tempfile::tempdir().unwrap();
    let (address, _) = serve(Box::new(|_, _| Answer::Bytes(b"not json".to_vec(), None)));
    let message = fetch(&toy(), dir.path(), &options(&address, &no_python())).0.unwrap_err().to_string();
    assert!(message.contains("is not clear (expected"), "{message}");
    let (address, _) = serve(Box::new(|_, _| Answer::Status(401)));
    let message = fetch(&toy(), dir.path(), &options(&address, &no_python())).0.unwrap_err().to_string();
    assert!(message.contains("the hub answered 401 for the list of files of owner/toy"), "{message}");
}

#[test]
fn without_a_network_the_sentence_says_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let options = options("http://127.0.0.1:1", &no_python());
    let message = fetch(&toy(), dir.path(), &options).0.unwrap_err().to_string();
    assert!(message.contains("the hub 127.0.0.1:1 could not be reached"), "{message}");
    let offline = PullOptions { offline: true, ..options };
    let message = pull(&toy(), dir.path(), &offline, &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("(config.json, deep/weights.safetensors) and memsift runs offline"), "{message}");
    assert!(message.contains("models import FOLDER --name toy"), "{message}");
}

#[test]
fn a_damaged_manifest_is_learnt_anew() {
    let dir = tempfile::tempdir().unwrap();
    let list = listing(&sha(&weights()));
    let (address, _) = serve(Box::new(move |path, from| answer(COMMIT, &list, path, from)));
    let options = options(&address, &no_python());
    fetch(&toy(), dir.path(), &options).0.unwrap();
    let path = dir.path().join("toy/memsift.toml");
    let good = fs::read_to_string(&path).unwrap();
    let bad = [
        String::new(),
        "[[model".to_owned(),
        good.replace("'toy'", "'boy'").replace("\"toy\"", "\"boy\""),
        good.replace("config.json", "../evil"),
        good.replace("config.json", "konfig.json"),
        good.clone() + &good,
    ];
    for text in bad {
        fs::write(&path, &text).unwrap();
        let damaged = State::Damaged { file: "memsift.toml".to_owned() };
        assert_eq!(state(&toy(), dir.path()), damaged, "{text}");
        assert_eq!(verify(&toy(), dir.path()).unwrap(), damaged);
        assert_eq!(fetch(&toy(), dir.path(), &options).0.unwrap().source, Source::Hub);
        assert_eq!(fs::read_to_string(&path).unwrap(), good);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_place_that_cannot_be_written_is_named() {
    // A full disk cannot be had in a test; a folder that is none fails at the same places.
    let message = pull(&toy(), Path::new("/dev/full"), &options("http://127.0.0.1:1", &no_python()), &mut |_| {});
    let message = message.unwrap_err().to_string();
    assert!(message.contains("'/dev/full'") && message.contains("check free space"), "{message}");
}
