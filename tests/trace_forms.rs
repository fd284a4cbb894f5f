//! Traces as JSON and as MessagePack: the same fields, the same bytes after a replay, told apart by content, and a
//! sentence for whatever is broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use memsift::engine::Ask;
use memsift::explain::export::{Format, export};
use memsift::scored::RankerState;
use memsift::settings::Settings;
use memsift::trace::Trace;
use memsift::trace::file::{TraceFile, TraceHeader};
use serde_json::Value;

fn made() -> TraceFile {
    let conversation = screen::conversation();
    let gold = conversation.questions[0].gold.clone();
    let settings = Settings { budget: 900, ..Settings::default() };
    let ask = Ask { generation: 1, conversation, text: screen::QUESTION.to_owned(), gold, settings: settings.clone() };
    TraceFile::new(&Trace::new(screen::scored(&ask, RankerState::Done), settings), TraceHeader::default())
}

fn both() -> [Vec<u8>; 2] {
    let file = made();
    [file.to_json().unwrap().into_bytes(), file.to_msgpack().unwrap()]
}

fn memsift(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_memsift")).args(args.iter().map(AsRef::as_ref)).output().unwrap()
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// What reading gives: the sentence that refuses, or the trace again as JSON.
fn read(bytes: &[u8]) -> Result<String, String> {
    let file = TraceFile::from_bytes(bytes).map_err(|error| error.to_string())?;
    let trace = file.to_trace().map_err(|error| error.to_string())?;
    TraceFile::new(&trace, file.header).to_json().map_err(|error| error.to_string())
}

fn assert_is_refused(bytes: &[u8], what: &str) {
    let sentence = read(bytes).expect_err(what);
    assert!(sentence.starts_with("this ") && sentence.lines().count() == 1, "{what}: {sentence}");
}

/// Paths of all fields, without places in lists.
fn fields(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| fields(value, &format!("{path}.{key}"), into)),
        Value::Array(list) => list.iter().for_each(|value| fields(value, path, into)),
        _ => drop(into.insert(path.to_owned())),
    }
}

#[test]
fn either_form_is_replayed_as_the_same_json() {
    let dir = tempfile::tempdir().unwrap();
    let [json, msgpack] = both();
    assert!(msgpack.len() < json.len(), "{} and {} bytes", msgpack.len(), json.len());
    // The names say the contrary of the content.
    let (as_json, as_msgpack) = (write(dir.path(), "a.msgpack", &json), write(dir.path(), "b.json", &msgpack));
    for path in [&as_json, &as_msgpack] {
        let replayed = memsift(&[&"replay", path, &"--json"]);
        assert_eq!(String::from_utf8_lossy(&replayed.stderr), "");
        assert!(replayed.status.success());
        assert!(replayed.stdout.strip_suffix(b"\n") == Some(&json[..]), "{} differs", path.display());
    }
    let diff = memsift(&[&"diff", &as_json, &as_msgpack, &"--all"]);
    assert!(diff.status.success());
    let said = String::from_utf8(diff.stdout).unwrap();
    assert!(said.ends_with("changed   0 gold passages, 0 others\n"), "{said}");
}

#[test]
fn messagepack_has_the_fields_of_the_json_by_name() {
    let [json, msgpack] = both();
    let (mut a, mut b) = (BTreeSet::new(), BTreeSet::new());
    fields(&serde_json::from_slice(&json).unwrap(), "", &mut a);
    fields(&rmp_serde::from_slice(&msgpack).unwrap(), "", &mut b);
    assert_eq!(a, b);
    assert!(a.contains(".memsift_trace") && a.contains(".passages.fused.rank"), "{a:?}");
    let exported = export(&made().to_trace().unwrap(), TraceHeader::default(), Format::MessagePack).unwrap();
    assert_eq!(exported, msgpack, "equal traces give equal bytes");
}

#[test]
fn what_is_cut_short_is_refused() {
    for bytes in both() {
        let step = (bytes.len() / 150).max(1);
        let ends = (0..40).chain((40..bytes.len()).step_by(step)).chain(bytes.len() - 40..bytes.len());
        for end in ends {
            assert_is_refused(&bytes[..end], &format!("{end} of {} bytes", bytes.len()));
        }
        assert!(read(&bytes).is_ok());
    }
}

#[test]
fn changed_bytes_give_a_sentence_or_a_trace() {
    // A multiplicative generator: the same places in every run.
    let mut seed = 20_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for bytes in both() {
        let (mut refused, mut read_again) = (0, 0);
        for round in 0..240 {
            let mut broken = bytes.clone();
            // The first bytes hold the version, the settings and the hops; later ones are nearly all text.
            let reach = if round % 2 == 0 { bytes.len().min(4000) } else { bytes.len() };
            for _ in 0..=next(3) {
                let at = next(reach);
                broken[at] ^= 1 << next(8);
            }
            match read(&broken) {
                Ok(_) => read_again += 1,
                Err(sentence) => {
                    refused += 1;
                    assert_eq!(sentence.lines().count(), 1, "{sentence}");
                }
            }
        }
        println!("{refused} refused, {read_again} read");
        assert!(refused > 20, "{refused} refused, {read_again} read");
    }
}

#[test]
fn a_newer_version_is_named() {
    let mut file = made();
    file.memsift_trace = 99;
    for bytes in [file.to_json().unwrap().into_bytes(), file.to_msgpack().unwrap()] {
        let sentence = read(&bytes).unwrap_err();
        assert_eq!(sentence, "this trace has format 99 and this memsift reads up to 1: update memsift");
    }
}

#[test]
fn numbers_that_json_cannot_hold_are_refused() {
    for spoil in [
        (|file| file.settings.alpha = f64::NAN) as fn(&mut TraceFile),
        |file| file.passages[7].bm25 = f64::INFINITY,
        |file| file.passages.iter_mut().find_map(|part| part.ce.as_mut()).unwrap().score.value = f32::NAN,
    ] {
        let mut file = made();
        spoil(&mut file);
        assert_is_refused(&file.to_msgpack().unwrap(), "not finite");
    }
}

#[test]
fn files_of_other_programs_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [json, mut msgpack] = both();
    msgpack.push(0xc0);
    let utf16: Vec<u8> = String::from_utf8(json).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let png = [&b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"[..], &[0; 40]].concat();
    let sqlite = [&b"SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20"[..], &[0; 80]].concat();
    let other = rmp_serde::to_vec_named(&serde_json::json!({"some": "other program"})).unwrap();
    for (name, bytes) in [
        ("picture", &png[..]),
        ("empty", b""),
        ("database", &sqlite),
        ("words", b"Dear diary, today nobody remembered anything."),
        ("list", b"[1, 2, 3]"),
        ("zip", b"PK\x03\x04\x14\x00"),
        ("other MessagePack", &other),
        ("empty map", b"\x80"),
        ("a byte too many", &msgpack),
        ("UTF-16", &utf16),
        ("zeros", &[0; 64]),
    ] {
        assert_is_refused(bytes, name);
    }
    for (name, bytes) in [("picture.png", &png[..]), ("empty.msgpack", b"")] {
        let path = write(dir.path(), name, bytes);
        for args in [&[&"replay" as &dyn AsRef<std::ffi::OsStr>, &path, &"--plain"][..], &[&"diff", &path, &path]] {
            let output = memsift(args);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.lines().count() == 1 && said.contains(name) && output.stdout.is_empty(), "{said}");
        }
    }
}

/// The program gets less memory than the file claims to need; an allocation of that size would end it by a signal.
#[cfg(unix)]
#[test]
fn declared_lengths_take_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let [_, msgpack] = both();
    let key = b"\xa8passages\xdc";
    let at = msgpack.windows(key.len()).position(|window| window == key).expect("a list of more than 15 passages");
    let mut passages = msgpack[..at + key.len() - 1].to_vec();
    passages.extend(b"\xdd\xff\xff\xff\xff");
    passages.extend(&msgpack[at + key.len() + 2..]);
    let deep = [&b"\x81\xa1x"[..], &vec![0x91; 200_000]].concat();
    for (name, bytes) in [
        ("passages", &passages[..]),
        ("map", b"\xdf\xff\xff\xff\xff\xadmemsift_trace\x01"),
        ("key", b"\x81\xdb\xff\xff\xff\xffmemsift_trace"),
        ("text", b"\x82\xadmemsift_trace\x01\xa6header\x81\xa7program\xdb\xff\xff\xff\xff"),
        ("bytes", b"\x82\xadmemsift_trace\x01\xa4hops\xc6\xff\xff\xff\xff"),
        ("hops", b"\x82\xadmemsift_trace\x01\xa4hops\xdd\xff\xff\xff\xff"),
        ("unknown", b"\x82\xadmemsift_trace\x01\xa4what\xdd\xff\xff\xff\xff"),
        ("deep", &deep),
    ] {
        assert_is_refused(bytes, name);
        let path = write(dir.path(), name, bytes);
        let script =
            format!("ulimit -v 1000000; exec '{}' replay '{}' --plain", env!("CARGO_BIN_EXE_memsift"), path.display());
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains("this is no memsift trace (MessagePack: "), "{name}: {said}");
    }
}
