//! Every architecture against its reference library, on tiny checkpoints; see `fixtures/rankers/make.py`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use memsift::rank::{CrossEncoder, SequenceClassifier};
use serde::Deserialize;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rankers").join(name)
}

fn reference<T: serde::de::DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&std::fs::read(folder(name).join("reference.json")).unwrap()).unwrap()
}

#[derive(Deserialize)]
struct Pairs {
    max_tokens: usize,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    question: String,
    passage: String,
    ids: Vec<u32>,
    segments: Vec<u8>,
    logit: f32,
}

fn cross_encoder(name: &str) {
    let model = SequenceClassifier::load(&folder(name)).unwrap();
    let reference: Pairs = reference(name);
    assert_eq!(model.max_tokens(), reference.max_tokens);
    let mut worst = 0.0_f32;
    let mut clipped = 0;
    for pair in &reference.pairs {
        let (ids, segments) = model.input(&pair.question, &pair.passage).unwrap();
        assert_eq!(ids, pair.ids, "{name}: {} / {}", pair.question, pair.passage);
        assert_eq!(segments, pair.segments, "{name}: {} / {}", pair.question, pair.passage);
        let score = model.score(&pair.question, &[&pair.passage]).unwrap()[0];
        worst = worst.max((score.logit - pair.logit).abs());
        assert_eq!(score.tokens as usize, pair.ids.len());
        clipped += usize::from(score.clipped.is_some());
    }
    assert!(reference.pairs.len() >= 20 && clipped >= 4, "{} pairs, {clipped} clipped", reference.pairs.len());
    println!("{name}: {} pairs, {clipped} clipped, logits within {worst:.1e}", reference.pairs.len());
    assert!(worst < 1e-4, "{name}: logits are off by {worst}");

    let question = &reference.pairs[0].question;
    let same = reference.pairs.iter().filter(|pair| pair.question == *question);
    let passages: Vec<&str> = same.map(|pair| pair.passage.as_str()).collect();
    let together = model.score(question, &passages).unwrap();
    for (passage, together) in passages.iter().zip(together) {
        let alone = model.score(question, &[passage]).unwrap()[0];
        assert!((alone.logit - together.logit).abs() < 1e-5, "{name}: {passage}");
        assert_eq!((alone.tokens, alone.clipped), (together.tokens, together.clipped));
    }
}

#[test]
fn bert_scores_as_transformers_does() {
    cross_encoder("bert-ce");
}

#[test]
fn deberta_scores_as_transformers_does() {
    cross_encoder("deberta-v2-ce");
}

#[test]
fn xlm_roberta_scores_as_transformers_does() {
    cross_encoder("xlm-roberta-ce");
}

#[test]
fn modernbert_scores_as_transformers_does() {
    cross_encoder("modernbert-ce");
}
