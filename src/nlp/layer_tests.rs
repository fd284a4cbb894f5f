//! Knows the reference values of every layer; compares them where model and fixtures are present.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use serde_json::Value;

use super::affix::{Infixes, Prefixes, Suffixes};
use super::lexeme::shape;
use super::pattern::Scanner;
use super::strings::{key_hashes, murmur64a, string_id};
use super::tok2vec::{Tok2Vec, WIDTH, Workspace};
use super::{Scratch, Tagger, encode, msgpack};

/// Largest difference allowed in vectors, and in scores.
const VECTOR_TOLERANCE: f32 = 2e-5;
const SCORE_TOLERANCE: f32 = 1e-4;

fn model_folder() -> Option<PathBuf> {
    let models = match std::env::var_os("MEMSIFT_MODELS") {
        Some(models) => PathBuf::from(models),
        None => directories::ProjectDirs::from("", "", "memsift")?.data_dir().join("models"),
    };
    Some(models.join("en_core_web_sm")).filter(|folder| folder.is_dir())
}

fn fixture(name: &str) -> Option<Value> {
    let shared = match std::env::var_os("MEMSIFT_SHARED") {
        Some(shared) => PathBuf::from(shared),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    };
    let bytes = std::fs::read(shared.join("fixtures/tagger").join(name)).ok()?;
    Some(serde_json::from_slice(&bytes).unwrap())
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> u64 {
    value.as_str().map_or_else(|| value.as_u64().unwrap(), |text| text.parse().unwrap())
}

fn close(want: &Value, got: &[f32], tolerance: f32, what: &str) {
    let want = list(want);
    assert!(got.len() >= want.len(), "{what}: length");
    for (at, (want, got)) in want.iter().zip(got).enumerate() {
        let difference = (want.as_f64().unwrap() as f32 - got).abs();
        assert!(difference <= tolerance, "{what} [{at}]: {want} but {got}");
    }
}

fn close_rows(want: &Value, got: &[f32], width: usize, tolerance: f32, what: &str) {
    assert_eq!(list(want).len() * width, got.len(), "{what}: rows");
    for (token, (want, got)) in list(want).iter().zip(got.chunks(width)).enumerate() {
        close(want, got, tolerance, &format!("{what}, token {token}"));
    }
}

#[test]
fn hashes_and_rows_follow_the_reference() {
    let Some(reference) = fixture("en_core_web_sm_logits.json") else {
        println!("skipped: no fixtures in ../shared");
        return;
    };
    for vector in list(&reference["string_hash_vectors"]) {
        let text = vector["string"].as_str().unwrap();
        assert_eq!(murmur64a(text.as_bytes(), 1), number(&vector["murmurhash64a_seed1"]));
        assert_eq!(string_id(text), number(&vector["string_id"]), "{text}");
    }
    for vector in list(&reference["key_hash_vectors"]) {
        let seed = number(&vector["seed"]) as u32;
        let hashes = key_hashes(number(&vector["key"]), seed).map(Value::from);
        assert_eq!(Value::from(hashes.to_vec()), vector["hash4"]);
    }
    for word in list(&reference["words"]) {
        assert_eq!(shape(word["text"].as_str().unwrap()), word["shape"].as_str().unwrap());
        for (column, rows) in ["NORM", "PREFIX", "SUFFIX", "SHAPE"].iter().zip([5000, 1000, 2500, 2500]) {
            let id = number(&word[format!("{}_id", column.to_lowercase())]);
            assert_eq!(string_id(word[column.to_lowercase()].as_str().unwrap()), id);
            let seed = 8 + number(&Value::from(
                ["NORM", "PREFIX", "SUFFIX", "SHAPE"].iter().position(|c| c == column).unwrap(),
            ));
            let got = key_hashes(id, seed as u32).map(|hash| Value::from(hash % rows));
            assert_eq!(Value::from(got.to_vec()), word["rows"][column]);
        }
    }
}

fn check_network(network: &Tok2Vec, want: &Value, inputs: &[&[f32]], what: &str) {
    let embedded: Vec<f32> = inputs.iter().flat_map(|input| input[..WIDTH].to_vec()).collect();
    close_rows(&want["embed"], &embedded, WIDTH, VECTOR_TOLERANCE, &format!("{what} mixer"));
    for (number, layer) in network.layers(inputs).iter().enumerate() {
        let name = format!("layer{}", number + 1);
        close_rows(&want[&name], layer, WIDTH, VECTOR_TOLERANCE, &format!("{what} {name}"));
    }
    let (mut out, mut space) = (Vec::new(), Workspace::default());
    network.encode(inputs, &mut out, &mut space);
    close_rows(&want["output"], &out, WIDTH, VECTOR_TOLERANCE, &format!("{what} output"));
}

/// The scored states, each of which must be among the reference's, in order.
fn check_steps(want: &Value, got: &[(Vec<Option<usize>>, Vec<f32>)], what: &str) {
    let mut steps = list(want).iter();
    for (slots, scores) in got {
        let ids = slots.iter().map(|slot| slot.map_or(Value::from(-1), Value::from));
        let ids = Value::from(ids.collect::<Vec<_>>());
        let step = steps.find(|step| step["token_ids"] == ids);
        let step = step.unwrap_or_else(|| panic!("{what}: unexpected state {ids}"));
        assert_eq!(list(&step["scores"]).len(), scores.len());
        close(&step["scores"], scores, SCORE_TOLERANCE, &format!("{what} {ids}"));
    }
}

#[test]
fn every_layer_is_close_to_the_reference() {
    let (Some(folder), Some(reference)) = (model_folder(), fixture("en_core_web_sm_logits.json")) else {
        println!("skipped: no model or no fixtures");
        return;
    };
    let tagger = Tagger::load(&folder).unwrap();
    for case in list(&reference["texts"]) {
        let text = case["text"].as_str().unwrap();
        let pieces = tagger.tokenizer.tokenize(text);
        let mut scratch = Scratch::default();
        for (piece, ids) in pieces.iter().zip(list(&case["feature_ids"])) {
            let flags = [u64::from(piece.space_after), u64::from(piece.lexeme.is_space)];
            let got = piece.lexeme.ids.into_iter().chain(flags);
            assert!(got.eq(list(ids).iter().map(number)), "{text}");
        }
        let Scratch { space, vectors, features, .. } = &mut scratch;
        encode(&tagger.entity_network, &pieces, |_| 2, space, vectors);
        encode(&tagger.shared, &pieces, usize::from, space, vectors);
        let inputs = |slot: fn(bool) -> usize| -> Vec<&[f32]> {
            let slots = pieces.iter().map(|p| p.lexeme.inputs[slot(p.space_after)].get());
            slots.map(|input| &**input.unwrap()).collect()
        };
        let shared = inputs(usize::from);
        check_network(&tagger.shared, &case["tok2vec"], &shared, &format!("{text}: shared"));
        let own = inputs(|_| 2);
        check_network(&tagger.entity_network, &case["ner_tok2vec"], &own, &format!("{text}: ner"));

        let mut scores = Vec::new();
        tagger.tags.scores(vectors, &mut scores, &mut space.spread);
        let width = tagger.tags.width();
        close_rows(&case["tagger_logits"], &scores, width, SCORE_TOLERANCE, text);

        let is_space: Vec<bool> = pieces.iter().map(|piece| piece.lexeme.is_space).collect();
        let mut seen = Vec::new();
        let watch = |slots: &[Option<usize>], scores: &[f32]| seen.push((slots.to_vec(), scores.to_vec()));
        let tree = tagger.parser.parse(vectors, &is_space, features, watch);
        // A lone token has but one way to go.
        assert_eq!(seen.is_empty(), pieces.len() < 2, "{text}");
        check_steps(&case["parser_steps"], &seen, &format!("{text}: parser"));

        encode(&tagger.entity_network, &pieces, |_| 2, space, vectors);
        let mut seen = Vec::new();
        let watch = |slots: &[Option<usize>], scores: &[f32]| seen.push((slots.to_vec(), scores.to_vec()));
        let starts = &tree.sentence_starts;
        tagger.recogniser.entities(vectors, &is_space, starts, features, watch);
        check_steps(&case["ner_steps"], &seen, &format!("{text}: ner"));
    }
}

#[test]
fn character_classes_have_the_sizes_of_the_reference() {
    let Some(folder) = model_folder() else {
        println!("skipped: no model");
        return;
    };
    let bytes = std::fs::read(folder.join("tokenizer")).unwrap();
    let file = msgpack::decode(&bytes).unwrap();
    let sizes = |pattern: &str| -> Vec<usize> {
        let mut scanner = Scanner::new(file.get(pattern).unwrap().as_str().unwrap());
        let mut sizes = Vec::new();
        scanner.seek_class();
        while !scanner.is_done() {
            if let Some(class) = scanner.class() {
                sizes.push(class.len());
            }
            scanner.seek_class();
        }
        sizes
    };
    assert_eq!(sizes("prefix_search").last(), Some(&5_984));
    let suffix = sizes("suffix_search");
    assert_eq!(suffix[suffix.len() - 3..], [105_241, 104_939, 104_939]);
    assert!(sizes("infix_finditer").contains(&105_724));
    assert!(sizes("url_match").contains(&105_177));
    for (pattern, read) in [
        ("prefix_search", Prefixes::parse(r"^a\w").is_none()),
        ("suffix_search", Suffixes::parse(r"a").is_none()),
        ("infix_finditer", Infixes::parse(r"(?<=a)b").is_none()),
    ] {
        assert!(read, "{pattern}: a rule of unknown shape must be refused");
    }
}
