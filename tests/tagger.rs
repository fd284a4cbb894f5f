//! The tagger against spaCy's own annotations, and against damaged model files.
//!
//! Needs the model (`memsift models pull en_core_web_sm`); prints `skipped` without it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memsift::nlp::{Analysis, NlpError, Tagger, Token};
use proptest::prelude::*;
use serde_json::Value;

/// The folder of the model, if it has been fetched.
fn model_folder() -> Option<PathBuf> {
    let models = match std::env::var_os("MEMSIFT_MODELS") {
        Some(models) => PathBuf::from(models),
        None => directories::ProjectDirs::from("", "", "memsift")?.data_dir().join("models"),
    };
    let folder = models.join("en_core_web_sm");
    if !folder.is_dir() {
        println!("skipped: no model at {}", folder.display());
        return None;
    }
    Some(folder)
}

/// One model for all tests of this file.
fn tagger() -> Option<&'static Tagger> {
    static TAGGER: OnceLock<Option<Tagger>> = OnceLock::new();
    let load = || model_folder().map(|folder| Tagger::load(&folder).expect("the model loads"));
    TAGGER.get_or_init(load).as_ref()
}

/// The value that the reference calls `column`, for one token.
fn column(token: &Token, text: &str, analysis: &Analysis, column: &str) -> Value {
    match column {
        "text" | "tokens" => token.text.as_str().into(),
        "idx" => text[..token.start].chars().count().into(),
        "ws" => token.whitespace.into(),
        "norm" => token.norm.as_str().into(),
        "shape" => (*token.shape).into(),
        "tag" => token.tag.into(),
        "pos" => token.pos.into(),
        "morph" => token.morph.into(),
        "lemma" => token.lemma.as_str().into(),
        "dep" => token.dep.into(),
        "head" => token.head.into(),
        "sent_start" => token.sent_start.into(),
        "ent_iob" => token.ent_iob.into(),
        "ent_type" => {
            let entity = token.entity.and_then(|at| analysis.entities.get(at as usize));
            entity.map_or("", |entity| entity.label).into()
        }
        other => panic!("unknown column {other}"),
    }
}

/// Entities as the reference writes them, in code points.
fn entities(text: &str, analysis: &Analysis) -> Value {
    let point = |byte: usize| text[..byte].chars().count();
    let all = analysis.entities.iter();
    let all = all.map(|e| serde_json::json!([point(e.start), point(e.end), e.label, e.text]));
    all.collect()
}

/// What holds for every analysis of every text.
fn check_invariants(text: &str, analysis: &Analysis) {
    let mut at = 0;
    for (number, token) in analysis.tokens.iter().enumerate() {
        assert_eq!(token.start, at);
        assert_eq!(&text[token.start..token.end], token.text);
        at = token.end;
        if token.whitespace {
            assert_eq!(&text[at..at + 1], " ");
            at += 1;
        }
        assert!(token.head < analysis.tokens.len());
        assert_eq!(token.dep == "ROOT", token.head == number && token.dep != "dep");
        assert_eq!(token.entity.is_none(), token.ent_iob == 2);
    }
    assert_eq!(at, text.len());
    for (number, entity) in analysis.entities.iter().enumerate() {
        assert_eq!(&text[entity.start..entity.end], entity.text);
        for token in &analysis.tokens[entity.tokens.clone()] {
            assert_eq!(token.entity, Some(number as u32));
        }
    }
}

#[test]
fn tricky_texts_are_annotated_as_by_spacy() {
    let Some(tagger) = tagger() else { return };
    let lines = include_str!("fixtures/tagger_tricky.jsonl").lines();
    for line in lines.clone() {
        let want: BTreeMap<String, Value> = serde_json::from_str(line).unwrap();
        let text = want["text"].as_str().unwrap();
        let analysis = tagger.analyse(text);
        check_invariants(text, &analysis);
        assert_eq!(entities(text, &analysis), want["ents"], "{text:?}");
        assert_eq!(tagger.entities(text).entities, analysis.entities);
        for (name, values) in want.iter().filter(|(name, _)| !["text", "ents"].contains(&&***name)) {
            let got = analysis.tokens.iter().map(|token| {
                let value = column(token, text, &analysis, name);
                // The fixture keeps truth values as numbers to stay small.
                value.as_bool().map_or(value, |truth| u8::from(truth).into())
            });
            assert_eq!(got.collect::<Value>(), *values, "{name} of {text:?}");
        }
    }
    assert_eq!(lines.count(), 469);
}

#[test]
fn all_reference_texts_are_annotated_as_by_spacy() {
    let Some(tagger) = tagger() else { return };
    let shared = match std::env::var_os("MEMSIFT_SHARED") {
        Some(shared) => PathBuf::from(shared),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    };
    let file = shared.join("fixtures/tagger/en_core_web_sm.jsonl.gz");
    let Ok(file) = std::fs::File::open(&file) else {
        println!("skipped: no {}", file.display());
        return;
    };
    let mut lines = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut lines).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let differing: Vec<String> = std::thread::scope(|scope| {
        let parts = lines.chunks(lines.len().div_ceil(workers));
        let threads: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().filter_map(|line| compare(tagger, line)).collect())).collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.collect::<Vec<Vec<String>>>().concat()
    });
    assert!(differing.is_empty(), "{} differ: {differing:#?}", differing.len());
    assert_eq!(lines.len(), 5_455);
}

/// The text of one line of the reference, if its annotations differ.
fn compare(tagger: &Tagger, line: &str) -> Option<String> {
    let want: Value = serde_json::from_str(line).unwrap();
    let text = want["text"].as_str().unwrap();
    let analysis = tagger.analyse(text);
    check_invariants(text, &analysis);
    let tokens = want["tokens"].as_array().unwrap();
    let same = tokens.len() == analysis.tokens.len()
        && tokens.iter().zip(&analysis.tokens).all(|(want, got)| {
            let mut columns = want.as_object().unwrap().iter();
            columns.all(|(name, value)| column(got, text, &analysis, name) == *value)
        })
        && entities(text, &analysis) == want["ents"];
    (!same).then(|| text.to_owned())
}

#[test]
fn threads_share_one_tagger() {
    let Some(tagger) = tagger() else { return };
    let texts = ["When did Melanie run a charity race?", "Café — US$5, U.S.A. 10km!", "\n\n a  b"];
    let alone = texts.map(|text| tagger.analyse(text));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(texts.map(|text| tagger.analyse(text)), alone);
                }
            });
        }
    });
}

#[test]
fn long_and_strange_texts_are_harmless() {
    let Some(tagger) = tagger() else { return };
    for text in ["(".repeat(20_000), ".".repeat(20_000), "a@".repeat(10_000), " ".repeat(20_000)] {
        check_invariants(&text, &tagger.analyse(&text));
    }
    assert_eq!(tagger.analyse(""), Analysis::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_covered_exactly(text in "(\\PC|[ \n\u{a0}]|[a-zA-Z0-9.,'’:;()$€%-]){0,40}") {
        if let Some(tagger) = tagger() {
            check_invariants(&text, &tagger.analyse(&text));
        }
    }
}

/// Copies the model, so that one file of it can be damaged.
fn copy_model(from: &Path, to: &Path) {
    for file in Tagger::FILES {
        let target = to.join(file);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(from.join(file), target).unwrap();
    }
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let Some(folder) = model_folder() else { return };
    let copy = tempfile::tempdir().unwrap();
    copy_model(&folder, copy.path());
    let text = "Dr. Smith (of Paris) didn't pay US$5 in March 2023, did he?";
    // A file with flipped bytes may still load: then it must also annotate without a panic.
    let load = || Tagger::load(copy.path()).map(|tagger| tagger.analyse(text).tokens.len());
    assert!(load().is_ok());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for file in Tagger::FILES {
        let path = copy.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        for keep in [0, 1, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..keep]).unwrap();
            let error = load().expect_err(&format!("{file} cut to {keep} bytes"));
            assert!(matches!(&error, NlpError::Malformed { .. }), "{error}");
            let message = error.to_string();
            assert!(message.contains(file) && message.contains("memsift models pull"), "{message}");
        }
        // The beginning of a file holds its structure: most flips go there.
        for round in 0..12 {
            let mut flipped = whole.clone();
            let reach = if round % 3 == 2 { whole.len() } else { whole.len().min(3_000) };
            for _ in 0..1 + next(3) {
                flipped[next(reach)] ^= 1 << next(8);
            }
            std::fs::write(&path, &flipped).unwrap();
            let _ = load();
        }
        std::fs::remove_file(&path).unwrap();
        let error = load().expect_err("a file is missing");
        assert!(matches!(&error, NlpError::Read { .. }), "{error}");
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(load().is_ok());
}
