//! Every architecture against its reference library, on tiny checkpoints; see `fixtures/rankers/make.py`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use memsift::rank::{
    BiEncoder, ColBert, CrossEncoder, Matrix, PairPart, PassageVectors, Prefixes, SequenceClassifier, Side, TextEncoder,
};
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
        shown_as_read(&model, pair, &ids, score.clipped.unwrap_or(0) as usize);
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

/// The tokens for display are those of the input, and point at the text that they were made from.
fn shown_as_read(model: &SequenceClassifier, pair: &Pair, ids: &[u32], clipped: usize) {
    let tokens = model.tokens(&pair.question, &pair.passage).unwrap();
    let shown: Vec<u32> = tokens.read.iter().map(|(_, piece)| piece.id).collect();
    assert_eq!(shown, ids);
    assert_eq!((tokens.passage_unread, tokens.unread.len()), (clipped, clipped.min(2000)));
    let mut last = 0;
    let passage = tokens.read.iter().filter(|(part, _)| *part == PairPart::Passage).map(|(_, piece)| piece);
    for piece in passage.chain(&tokens.unread) {
        assert!(piece.start >= last && pair.passage.get(piece.start..piece.end).is_some(), "{piece:?}");
        last = piece.start;
    }
    let specials = tokens.read.iter().filter(|(part, _)| *part == PairPart::Special);
    assert!(specials.clone().count() >= 3 && specials.clone().all(|(_, piece)| piece.end == 0));
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

#[test]
fn modernbert_with_its_head_on_the_first_token_does_too() {
    #[derive(Deserialize)]
    struct Logits {
        first_token_logits: Vec<f32>,
    }
    let changed = tempfile::tempdir().unwrap();
    for file in ["tokenizer.json", "tokenizer_config.json", "model.safetensors"] {
        std::fs::copy(folder("modernbert-ce").join(file), changed.path().join(file)).unwrap();
    }
    let config = std::fs::read_to_string(folder("modernbert-ce").join("config.json")).unwrap();
    let (mean, first) = (r#""classifier_pooling": "mean""#, r#""classifier_pooling": "cls""#);
    assert!(config.contains(mean));
    std::fs::write(changed.path().join("config.json"), config.replace(mean, first)).unwrap();
    let model = SequenceClassifier::load(changed.path()).unwrap();
    let (pairs, logits): (Pairs, Logits) = (reference("modernbert-ce"), reference("modernbert-ce"));
    assert_eq!(pairs.pairs.len(), logits.first_token_logits.len());
    for (pair, wanted) in pairs.pairs.iter().zip(&logits.first_token_logits) {
        let found = model.score(&pair.question, &[&pair.passage]).unwrap()[0].logit;
        assert!((found - wanted).abs() < 1e-4, "{found} {wanted}");
        assert!((found - pair.logit).abs() > 1e-4, "the poolings differ");
    }
}

#[derive(Deserialize)]
struct Late {
    queries: Vec<LateText>,
    documents: Vec<LateText>,
    scores: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct LateText {
    text: String,
    ids: Vec<u32>,
    vectors: Vec<Vec<f32>>,
}

fn colbert(name: &str) {
    let model = ColBert::load(&folder(name)).unwrap();
    let reference: Late = reference(name);
    assert_eq!((model.gives().tokens, model.gives().sentence, model.dim()), (true, false, 8));
    let mut worst = 0.0_f32;
    let mut check = |side: Side, text: &LateText| {
        assert_eq!(model.input(side, &text.text).unwrap(), text.ids, "{name}: {}", text.text);
        let made = match side {
            Side::Question => model.encode_query(&text.text).unwrap(),
            Side::Passage => model.encode_passages(&[&text.text]).unwrap().remove(0),
        };
        assert_eq!(made.tokens, text.vectors.len(), "{name}: {}", text.text);
        assert_eq!(model.tokens(side, &text.text).unwrap().len(), made.tokens, "{name}: {}", text.text);
        for (made, wanted) in made.vectors.iter().zip(text.vectors.iter().flatten()) {
            worst = worst.max((made - wanted).abs());
        }
        made
    };
    let queries: Vec<_> = reference.queries.iter().map(|text| check(Side::Question, text)).collect();
    let documents: Vec<_> = reference.documents.iter().map(|text| check(Side::Passage, text)).collect();
    println!("{name}: vectors within {worst:.1e}");
    assert!(worst < 1e-4, "{name}: vectors are off by {worst}");

    let (question, passage) = (&reference.queries[0].text, &reference.documents[0].text);
    let matrix = Matrix::read(&model, question, passage).unwrap();
    assert_eq!((matrix.question.len(), matrix.passage.len()), (queries[0].tokens, documents[0].tokens));
    assert!((matrix.score.score - reference.scores[0][0]).abs() < 1e-2, "{:?}", matrix.score);
    let texts: Vec<&str> = reference.documents.iter().map(|text| text.text.as_str()).collect();
    let together = model.encode_passages(&texts).unwrap();
    for (together, alone) in together.iter().zip(&documents) {
        assert_eq!((together.tokens, together.clipped), (alone.tokens, alone.clipped));
        let apart = together.vectors.iter().zip(&alone.vectors).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-5);
    }
    assert!(documents.iter().any(|document| document.clipped > 0));
    let history = PassageVectors::new(model.dim(), &documents).unwrap();
    for (query, wanted) in queries.iter().zip(&reference.scores) {
        for ((found, wanted), document) in history.score(query).unwrap().iter().zip(wanted).zip(&documents) {
            if document.tokens > 0 {
                assert!((found.maxsim.score - wanted).abs() < 1e-3, "{name}: {} for {wanted}", found.maxsim.score);
            }
        }
    }
}

#[test]
fn colbert_in_the_stanford_layout_gives_its_vectors() {
    colbert("bert-colbert");
}

#[test]
fn colbert_in_the_pylate_layout_gives_its_vectors() {
    colbert("modernbert-colbert");
}

#[derive(Deserialize)]
struct Dense {
    queries: Vec<DenseText>,
    documents: Vec<DenseText>,
}

#[derive(Deserialize)]
struct DenseText {
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

fn bi_encoder(name: &str) {
    let model = BiEncoder::load(&folder(name), None).unwrap();
    let reference: Dense = reference(name);
    let mut worst = 0.0_f32;
    for (side, texts) in [(Side::Question, &reference.queries), (Side::Passage, &reference.documents)] {
        for text in texts {
            assert_eq!(model.input(side, &text.text).unwrap(), text.ids, "{name}: {}", text.text);
            let made = match side {
                Side::Question => model.encode_query(&text.text).unwrap(),
                Side::Passage => model.encode_passages(&[&text.text]).unwrap().remove(0),
            };
            assert_eq!((made.sentence.len(), made.tokens), (text.vector.len(), 0));
            worst = made.sentence.iter().zip(&text.vector).map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
        }
    }
    println!("{name}: vectors within {worst:.1e}");
    assert!(worst < 1e-4, "{name}: vectors are off by {worst}");
    let texts: Vec<&str> = reference.documents.iter().map(|text| text.text.as_str()).collect();
    for (together, text) in model.encode_passages(&texts).unwrap().iter().zip(&reference.documents) {
        let apart = together.sentence.iter().zip(&text.vector).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-4, "{name}: {}", text.text);
    }
}

#[test]
fn a_bi_encoder_with_mean_pooling_gives_its_vectors() {
    bi_encoder("bert-dense-mean");
}

#[test]
fn a_bi_encoder_with_first_token_pooling_gives_its_vectors() {
    bi_encoder("bert-dense-cls");
}

#[test]
fn prefixes_given_by_hand_overrule_those_of_the_folder() {
    let none = Some(Prefixes::default());
    let (plain, own) = ("bert-dense-mean", folder("bert-dense-mean"));
    let bare = BiEncoder::load(&own, none).unwrap();
    let with = BiEncoder::load(&own, None).unwrap();
    let (short, long) = (bare.input(Side::Question, "x").unwrap(), with.input(Side::Question, "x").unwrap());
    assert!(short.len() < long.len(), "{plain}");
    assert_ne!(bare.model().hash, with.model().hash, "vectors of both must not share a place in the cache");
}

/// A copy of a checkpoint to damage.
fn copy(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join(name);
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(folder(name)).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    (dir, to)
}

fn edit(path: &std::path::Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} is not in {}", path.display());
    std::fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn every_fault_of_a_folder_is_one_sentence() {
    let refuse = |what: &str, wanted: &str, damage: &dyn Fn(&std::path::Path)| {
        let (_keep, folder) = copy("bert-ce");
        damage(&folder);
        let Err(error) = SequenceClassifier::load(&folder) else { panic!("{what} was taken") };
        let text = error.to_string();
        assert!(text.contains(wanted) && !text.contains('\n'), "{what}: {text}");
    };
    let weights = "model.safetensors";
    refuse("an unknown architecture", "'t5'", &|folder| {
        edit(&folder.join("config.json"), "\"model_type\": \"bert\"", "\"model_type\": \"t5\"");
    });
    refuse("another activation", "'relu'", &|folder| edit(&folder.join("config.json"), "\"gelu\"", "\"relu\""));
    refuse("two outputs", "2 outputs", &|folder| {
        edit(&folder.join("config.json"), "\"LABEL_0\"\n  },", "\"LABEL_0\", \"1\": \"LABEL_1\"\n  },");
    });
    refuse("no tokenizer", "tokenizer.json", &|folder| std::fs::remove_file(folder.join("tokenizer.json")).unwrap());
    refuse("no weights", weights, &|folder| std::fs::remove_file(folder.join(weights)).unwrap());
    refuse("pickled weights", "only safetensors", &|folder| {
        std::fs::rename(folder.join(weights), folder.join("pytorch_model.bin")).unwrap();
    });
    refuse("weights cut short", "cut short", &|folder| {
        let bytes = std::fs::read(folder.join(weights)).unwrap();
        std::fs::write(folder.join(weights), &bytes[..bytes.len() - 9]).unwrap();
    });
    refuse("foreign weights", "no safetensors file", &|folder| {
        std::fs::write(folder.join(weights), "PK this is a zip file or something else").unwrap();
    });
    refuse("weights without a head", "classifier", &|folder| {
        std::fs::copy(self::folder("bert-dense-mean").join(weights), folder.join(weights)).unwrap();
    });
    refuse("a config that is no JSON", "config.json", &|folder| {
        std::fs::write(folder.join("config.json"), "{").unwrap();
    });

    let (_keep, plain) = copy("bert-ce");
    let error = ColBert::load(&plain).err().expect("no settings of a late-interaction model").to_string();
    assert!(error.contains("artifact.metadata"), "{error}");
    let (_keep, bare) = copy("bert-colbert");
    std::fs::copy(folder("bert-dense-mean").join(weights), bare.join(weights)).unwrap();
    let error = ColBert::load(&bare).err().expect("no projection").to_string();
    assert!(error.contains("linear.weight"), "{error}");
}
