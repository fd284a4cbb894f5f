//! The rankers against measured reference values: token ids, vectors, cosines, MaxSim and cross-encoder logits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::OnceLock;

use memsift::rank::{
    Cache, CacheKey, CrossEncoder, Matrix, MiniLm, PassageVectors, Side, SmallCrossEncoder, TextEncoder, cosine, maxsim,
};
use serde_json::Value;

fn models() -> &'static (MiniLm, SmallCrossEncoder) {
    static MODELS: OnceLock<(MiniLm, SmallCrossEncoder)> = OnceLock::new();
    MODELS.get_or_init(|| {
        let base = MiniLm::load(&common::models_dir().join("all-MiniLM-L6-v2")).unwrap();
        let ce = SmallCrossEncoder::on(&base).unwrap();
        (base, ce)
    })
}

#[test]
fn the_small_cross_encoder_gives_the_reference_logits_alone_and_in_a_batch() {
    let (_, ce) = models();
    let reference: Vec<Value> =
        serde_json::from_str(include_str!("../src/rank/small_cross_encoder/reference.json")).unwrap();
    assert_eq!(reference.len(), 16);
    let mut wrong = Vec::new();
    for pair in &reference {
        let (question, passage) = (pair["question"].as_str().unwrap(), pair["passage"].as_str().unwrap());
        let alone = ce.score(question, &[passage]).unwrap()[0];
        let wanted = pair["logit"].as_f64().unwrap();
        let tokens = pair["input_ids"].as_array().unwrap().len();
        if (f64::from(alone.logit) - wanted).abs() > 2e-3 || alone.tokens as usize != tokens {
            wrong.push(format!("{question}: {} tokens {} wanted {wanted} {tokens}", alone.logit, alone.tokens));
        }
        let batch = ce.score(question, &["Noor: something else entirely", passage, "Noor: ok"]).unwrap()[1];
        if (batch.logit - alone.logit).abs() > 1e-5 {
            wrong.push(format!("{question}: {} in a batch, {} alone", batch.logit, alone.logit));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_matrix_adds_up_to_the_score_that_ranks() {
    let (encoder, ce) = models();
    let question = "What made Nell nearly give up on the boat?";
    let long = "Nell: crumbs, ribs and the bilge. ".repeat(60);
    for passage in ["Nell: Eleven ribs went to crumbs. I wrote the advert.", "船は直った。Ünïcode 🚤", "", &long]
    {
        let mut vectors = encoder.encode_passages(&[passage]).unwrap();
        vectors[0].round_to_half();
        let history = PassageVectors::new(encoder.dim(), &vectors).unwrap();
        let query = encoder.encode_query(question).unwrap();
        let score = history.score(&query).unwrap()[0].maxsim;
        let matrix = Matrix::read(encoder, question, passage).unwrap();
        let sum: f32 = matrix.best.iter().map(|token| token.cosine).sum();
        assert!((sum - score.score).abs() < 1e-3 && (matrix.score.score - score.score).abs() < 1e-3, "{passage}");
        assert_eq!((matrix.question.len(), matrix.clipped), (query.tokens, vectors[0].clipped));
        for token in &matrix.best {
            let row = (0..matrix.passage.len()).filter_map(|at| matrix.cosine(token.query, at));
            let highest = row.fold(-1.0, f32::max);
            assert!((highest - token.cosine).abs() < 1e-6, "{token:?}");
        }
        for piece in &matrix.passage {
            assert!(piece.end > piece.start && passage.get(piece.start..piece.end).is_some(), "{piece:?}");
        }
        let (score, tokens) = (ce.score(question, &[passage]).unwrap()[0], ce.tokens(question, passage).unwrap());
        assert_eq!(tokens.read.len(), score.tokens as usize);
        assert_eq!(tokens.passage_unread, score.clipped.unwrap_or(0) as usize);
    }
}

#[test]
fn a_megabyte_is_taken_apart_too() {
    let (encoder, ce) = models();
    for text in ["word ".repeat(200_000), "x".repeat(1_000_000)] {
        let began = std::time::Instant::now();
        let matrix = Matrix::read(encoder, "what word?", &text).unwrap();
        let tokens = ce.tokens("what word?", &text).unwrap();
        println!("1 MB in {:?}: {} tokens in the matrix", began.elapsed(), matrix.passage.len());
        assert!(matrix.passage.len() <= encoder.max_tokens() && tokens.read.len() <= ce.max_tokens());
        assert!(tokens.unread.len() <= 2000 && tokens.unread.len() <= tokens.passage_unread);
    }
}

#[test]
fn long_passages_lose_their_end_and_say_so() {
    let (_, ce) = models();
    let long = "Noor: ".to_owned() + &"word ".repeat(600);
    let score = ce.score("what did Noor say?", &[&long]).unwrap()[0];
    assert_eq!(score.tokens, 128);
    assert!(score.clipped.unwrap() > 400);
}

#[test]
fn vectors_cosines_and_maxsim_are_the_reference() {
    let Some(shared) = common::shared() else { return };
    let (encoder, _) = models();
    let reference: Value =
        serde_json::from_str(&std::fs::read_to_string(shared.join("reference/minilm_fixture.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    let texts = reference["texts"].as_array().unwrap();
    for text in texts {
        let vectors = &encoder.encode_passages(&[text["text"].as_str().unwrap()]).unwrap()[0];
        // The fixture counts [CLS] and [SEP].
        if vectors.tokens + 2 != text["n_ids"].as_u64().unwrap() as usize {
            wrong.push(format!("{}: {} tokens", text["text"], vectors.tokens));
        }
        for (at, wanted) in text["embedding_first8"].as_array().unwrap().iter().enumerate() {
            if (f64::from(vectors.sentence[at]) - wanted.as_f64().unwrap()).abs() > 1e-4 {
                wrong.push(format!("{}: component {at} is {}, wanted {wanted}", text["text"], vectors.sentence[at]));
            }
        }
    }
    let cosines = &reference["cosine_4x4"];
    let chosen: Vec<&str> = cosines["text_indices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| texts[at.as_u64().unwrap() as usize]["text"].as_str().unwrap())
        .collect();
    let chosen = encoder.encode_passages(&chosen).unwrap();
    for (row, wanted) in cosines["matrix"].as_array().unwrap().iter().enumerate() {
        for (column, wanted) in wanted.as_array().unwrap().iter().enumerate() {
            let found = cosine(&chosen[row].sentence, &chosen[column].sentence);
            if (f64::from(found) - wanted.as_f64().unwrap()).abs() > 1e-4 {
                wrong.push(format!("cosine {row} {column} is {found}, wanted {wanted}"));
            }
        }
    }
    for pair in reference["maxsim"].as_array().unwrap() {
        let query = encoder.encode_query(pair["query"].as_str().unwrap()).unwrap();
        let passage = encoder.encode_passages(&[pair["passage"].as_str().unwrap()]).unwrap();
        let alone = maxsim(&query, &passage[0]);
        let wanted = pair["maxsim_sum"].as_f64().unwrap();
        let many = PassageVectors::new(encoder.dim(), &passage).unwrap().score(&query).unwrap()[0].maxsim;
        for found in [alone, many] {
            if (f64::from(found.score) - wanted).abs() > 1e-3 {
                wrong.push(format!("MaxSim is {}, wanted {wanted}", found.score));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_batch_of_passages_is_encoded_as_each_alone() {
    let (encoder, _) = models();
    let texts = ["Noor: hello", "", "Ivo: the ferry leaves at nine, or so they say", "x"];
    let together = encoder.encode_passages(&texts).unwrap();
    for (text, batch) in texts.iter().zip(&together) {
        let alone = &encoder.encode_passages(&[text]).unwrap()[0];
        assert_eq!(alone.tokens, batch.tokens);
        assert!(alone.vectors.iter().zip(&batch.vectors).all(|(a, b)| (a - b).abs() < 1e-5), "{text}");
    }
}

#[test]
fn cached_vectors_and_scores_come_back() {
    let (encoder, ce) = models();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.db");
    let mut vectors = encoder.encode_passages(&["Noor: hello there"]).unwrap();
    vectors[0].round_to_half();
    let key = CacheKey::text(Side::Passage, encoder.model(), encoder.max_tokens(), "Noor: hello there");
    let pair = CacheKey::pair(ce.model(), ce.max_tokens(), "hello?", "Noor: hello there");
    let score = ce.score("hello?", &["Noor: hello there"]).unwrap()[0];
    {
        let cache = Cache::open(&path);
        assert_eq!(cache.vectors(&[key]), [None]);
        cache.put_vectors([(key, &vectors[0])]);
        cache.put_scores([(pair, score)]);
    }
    let cache = Cache::open(&path);
    assert_eq!(cache.vectors(&[key]), [Some(vectors.remove(0))]);
    assert_eq!(cache.scores(&[pair]), [Some(score)]);
    assert!(cache.notices().is_empty());
}

#[test]
fn a_foreign_cache_file_is_set_aside_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.db");
    std::fs::write(&path, "not a database at all, but long enough to look like one ".repeat(100)).unwrap();
    let cache = Cache::open(&path);
    assert_eq!(cache.notices().len(), 1);
    assert!(std::fs::read_dir(folder.path()).unwrap().count() >= 2, "the foreign file is kept under another name");
}
