//! Which model fills which slot, and what the pipeline asks of it: nothing twice, nothing after a stop, best first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/program.rs"]
mod program;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use memsift::engine::{Deaf, Listener, Models, Pipeline, RankerChoice, Wish};
use memsift::history::Conversation;
use memsift::models::Registry;
use memsift::rank::{
    Cache, CrossEncoder, Gives, ModelId, PairScore, PairTokens, Precision, RankError, Side, TextEncoder, TokenPiece,
    TokenVectors,
};
use memsift::scored::{RankerState, Scored};
use memsift::settings::Settings;
use memsift::store::Store;
use memsift::store::import::import_texts;
use memsift::trace::Trace;
use program::memsift;

const QUESTION: &str = "What is the name of the boat?";

fn sample(dir: &Path) -> Arc<Conversation> {
    let db = dir.join("sample.db");
    import_texts(&[("nell-and-idris.jsonl", include_str!("../sample-data/nell-and-idris.jsonl"))], &db, &mut |_| {})
        .unwrap();
    Arc::new(Store::open(&db).unwrap().load("nell-and-idris").unwrap())
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rankers").join(name)
}

fn folder(name: &str) -> Option<String> {
    Some(fixture(name).display().to_string())
}

fn load(wish: &Wish) -> Models {
    Models::load(&RankerChoice::of(wish, &Registry::built_in().unwrap(), Path::new("no models here")).unwrap())
}

/// Models that count what they are asked, and score by the length of a text.
struct Counting {
    id: ModelId,
    gives: Gives,
    texts: AtomicUsize,
    order: Mutex<Vec<String>>,
    pause: std::time::Duration,
}

impl Counting {
    fn new(name: &str, gives: Gives) -> Arc<Self> {
        Arc::new(Self {
            id: ModelId { name: name.to_owned(), hash: format!("hash of {name}"), precision: Precision::Exact },
            gives,
            texts: AtomicUsize::new(0),
            order: Mutex::new(Vec::new()),
            pause: std::time::Duration::ZERO,
        })
    }

    fn count(&self) -> usize {
        self.texts.swap(0, Ordering::SeqCst)
    }
}

impl TextEncoder for Counting {
    fn model(&self) -> &ModelId {
        &self.id
    }
    fn max_tokens(&self) -> usize {
        8
    }
    fn dim(&self) -> usize {
        2
    }
    fn gives(&self) -> Gives {
        self.gives
    }
    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, RankError> {
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        let one = |text: &&str| {
            // A question points along x; the shorter a passage, the closer it lies.
            let cosine = if side == Side::Question { 1.0 } else { 1.0 - (text.len() as f32 / 1000.0).min(1.0) };
            let vector = vec![cosine, (1.0 - cosine * cosine).sqrt()];
            let tokens = usize::from(self.gives.tokens);
            let sentence = if self.gives.sentence { vector.clone() } else { vec![0.0; 2] };
            TokenVectors {
                dim: 2,
                tokens,
                vectors: if tokens == 1 { vector } else { Vec::new() },
                sentence,
                clipped: 0,
            }
        };
        Ok(texts.iter().map(one).collect())
    }
    fn tokens(&self, _: Side, _: &str) -> Result<Vec<TokenPiece>, RankError> {
        Ok(Vec::new())
    }
    fn count_tokens(&self, text: &str) -> Result<usize, RankError> {
        Ok(text.split_whitespace().count())
    }
}

impl CrossEncoder for Counting {
    fn tokens(&self, _: &str, _: &str) -> Result<PairTokens, RankError> {
        Err(RankError::Tokens { reason: "not in this test".to_owned() })
    }
    fn model(&self) -> &ModelId {
        &self.id
    }
    fn max_tokens(&self) -> usize {
        8
    }
    fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<PairScore>, RankError> {
        std::thread::sleep(self.pause * passages.len() as u32);
        self.texts.fetch_add(passages.len(), Ordering::SeqCst);
        self.order.lock().unwrap().extend(passages.iter().map(|text| (*text).to_owned()));
        Ok(passages.iter().map(|text| PairScore::new(-(text.len() as f32) / 100.0, 3, None)).collect())
    }
}

const BOTH: Gives = Gives { tokens: true, sentence: true };
const TOKENS: Gives = Gives { tokens: true, sentence: false };
const SENTENCE: Gives = Gives { tokens: false, sentence: true };

fn models(ce: &Arc<Counting>, colbert: &Arc<Counting>, dense: &Arc<Counting>) -> Models {
    Models {
        ce: Ok(Arc::clone(ce) as _),
        colbert: Ok(Arc::clone(colbert) as _),
        dense: Ok(Arc::clone(dense) as _),
        ..Models::none("not in this test")
    }
}

fn ask(pipeline: &mut Pipeline, conversation: &Arc<Conversation>, question: &str) -> Arc<Scored> {
    pipeline.ask(conversation, question, &[], &Settings::default(), &mut Deaf)
}

fn folders() -> Wish {
    let (ce, colbert, dense) = (folder("bert-ce"), folder("bert-colbert"), folder("bert-dense-cls"));
    Wish { ce, colbert, dense, ..Wish::default() }
}

#[test]
fn a_model_that_ran_fast_is_named_so_and_shares_no_score_with_the_exact_one() {
    let dir = tempfile::tempdir().unwrap();
    let conversation = sample(dir.path());
    let path = dir.path().join("cache.db");
    let scored = |precision| {
        let mut pipeline = Pipeline::new(load(&Wish { precision, ..folders() }), Cache::open(&path));
        ask(&mut pipeline, &conversation, QUESTION)
    };
    let names = |scored: &Scored| {
        [&scored.ce, &scored.colbert, &scored.dense].map(|ranker| ranker.model.as_ref().unwrap().name.clone())
    };
    let (exact, fast) = (scored(Precision::Exact), scored(Precision::Fast));
    assert_eq!(names(&exact), ["bert-ce", "bert-colbert", "bert-dense-cls"]);
    assert_eq!(names(&fast), ["bert-ce (fast)", "bert-colbert (fast)", "bert-dense-cls (fast)"]);
    for (exact, fast) in [(&exact.ce, &fast.ce), (&exact.colbert, &fast.colbert), (&exact.dense, &fast.dense)] {
        assert_eq!(exact.scored(), fast.scored());
        assert_ne!(exact.scores, fast.scores, "the cache gave one for the other");
    }
}

#[test]
fn models_from_folders_fill_the_slots_and_are_named_in_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let conversation = sample(dir.path());
    let wish = folders();
    let mut pipeline = Pipeline::new(load(&wish), Cache::in_memory());
    let scored = ask(&mut pipeline, &conversation, QUESTION);
    let turns = conversation.turns.len();
    for (ranker, name, count) in [
        (&scored.ce, "bert-ce", scored.retrieval.candidates.len()),
        (&scored.colbert, "bert-colbert", turns),
        (&scored.dense, "bert-dense-cls", turns),
    ] {
        assert_eq!(ranker.model.as_ref().map(|model| model.name.as_str()), Some(name));
        assert_eq!((ranker.state.clone(), ranker.scored()), (RankerState::Done, count), "{name}");
    }
    assert!(scored.sentences.is_some());
    assert!(Trace::new(scored, Settings::default()).agreement().is_some());
}

#[test]
fn a_slot_left_empty_or_filled_with_the_wrong_folder_says_so_and_the_rest_works() {
    let dir = tempfile::tempdir().unwrap();
    let conversation = sample(dir.path());
    let (ce, colbert) = (Some("none".to_owned()), folder("bert-colbert"));
    let wish = Wish { ce, dense: colbert.clone(), colbert, ..Wish::default() };
    let mut pipeline = Pipeline::new(load(&wish), Cache::in_memory());
    let scored = ask(&mut pipeline, &conversation, QUESTION);
    assert_eq!(scored.ce.state, RankerState::Absent("no ce model was wanted".to_owned()));
    let RankerState::Absent(reason) = &scored.dense.state else { panic!("{:?}", scored.dense.state) };
    assert!(reason.contains("bert-colbert"), "{reason}");
    assert_eq!(scored.colbert.state, RankerState::Done);
    // ColBERT gives no sentence vectors, so nothing may stand in for them.
    assert!(scored.sentences.is_none() && scored.dense.scored() == 0);
    let small = load(&Wish::default());
    let reason = small.ce.as_ref().err().unwrap();
    assert!(reason.contains("'all-MiniLM-L6-v2' is not installed; run 'memsift models pull"), "{reason}");
}

#[test]
fn nothing_is_computed_twice() {
    let dir = tempfile::tempdir().unwrap();
    let conversation = sample(dir.path());
    let turns = conversation.turns.len();
    let cache = dir.path().join("scores.db");
    let (ce, both) = (Counting::new("ce", BOTH), Counting::new("both", BOTH));
    let mut pipeline = Pipeline::new(models(&ce, &both, &both), Cache::open(&cache));
    let first = ask(&mut pipeline, &conversation, QUESTION);
    let candidates = first.retrieval.candidates.len();
    assert_eq!((ce.count(), both.count()), (candidates, turns + 1), "one reading for token and sentence vectors");
    let again = ask(&mut pipeline, &conversation, QUESTION);
    assert_eq!((ce.count(), both.count()), (0, 0));
    assert_eq!((&again.ce, &again.colbert, &again.dense), (&first.ce, &first.colbert, &first.dense));
    let second = ask(&mut pipeline, &conversation, "Who taught Idris to bake bread?");
    assert_eq!((ce.count(), both.count()), (second.retrieval.candidates.len(), 1), "only the question is new");
    // Another process finds it all in the file.
    let mut pipeline = Pipeline::new(models(&ce, &both, &both), Cache::open(&cache));
    let elsewhere = ask(&mut pipeline, &conversation, QUESTION);
    assert_eq!((ce.count(), both.count()), (0, 0));
    assert_eq!((&elsewhere.ce, &elsewhere.colbert), (&first.ce, &first.colbert));
    // Another model shares nothing with it.
    let other = Counting::new("other", SENTENCE);
    let mut pipeline = Pipeline::new(models(&ce, &both, &other), Cache::open(&cache));
    ask(&mut pipeline, &conversation, QUESTION);
    assert_eq!((ce.count(), both.count(), other.count()), (0, 0, turns + 1));
}

#[test]
fn the_most_promising_candidates_are_scored_first() {
    let dir = tempfile::tempdir().unwrap();
    let conversation = sample(dir.path());
    for (colbert, dense) in [(TOKENS, SENTENCE), (SENTENCE, SENTENCE)] {
        let ce = Counting::new("ce", BOTH);
        let (colbert, dense) = (Counting::new("colbert", colbert), Counting::new("dense", dense));
        let mut models = models(&ce, &colbert, &dense);
        if !colbert.gives.tokens {
            models.colbert = Err("no ColBERT: the sentence vectors say what is promising".to_owned());
        }
        let mut pipeline = Pipeline::new(models, Cache::in_memory());
        ask(&mut pipeline, &conversation, QUESTION);
        let order = ce.order.lock().unwrap();
        assert!(order.len() > 5, "{order:?}");
        assert!(order.is_sorted_by_key(String::len), "the encoders hold short texts for close");
    }
}

/// Stops after so many looks, and remembers how far the cross-encoder got.
struct Stopping {
    looks: AtomicUsize,
    after: usize,
}

impl Listener for Stopping {
    fn scored(&mut self, _: Arc<Scored>) {}
    fn progress(&mut self, _: &'static str, _: usize, _: usize) {}
    fn stopped(&self) -> bool {
        self.looks.fetch_add(1, Ordering::SeqCst) >= self.after
    }
}

#[test]
fn a_stop_is_heard_within_a_batch_and_what_was_scored_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let conversation = sample(dir.path());
    let both = Counting::new("both", BOTH);
    // A model of 40 ms a pair, as a large one is: its batches shrink.
    let slow = Arc::new(Counting {
        pause: std::time::Duration::from_millis(40),
        ..Arc::into_inner(Counting::new("slow", BOTH)).unwrap()
    });
    let mut pipeline = Pipeline::new(models(&slow, &both, &both), Cache::in_memory());
    ask(&mut Pipeline::new(models(&both, &both, &both), Cache::in_memory()), &conversation, QUESTION);
    // Passage vectors take turns / 32 looks or so; count them with a cross-encoder that is not there.
    let mut silent = Stopping { looks: AtomicUsize::new(0), after: usize::MAX };
    let mut without = models(&slow, &both, &both);
    without.ce = Err("not now".to_owned());
    Pipeline::new(without, Cache::in_memory()).ask(&conversation, QUESTION, &[], &Settings::default(), &mut silent);
    let before = silent.looks.load(Ordering::SeqCst);
    let mut stopping = Stopping { looks: AtomicUsize::new(0), after: before + 4 };
    let scored = pipeline.ask(&conversation, QUESTION, &[], &Settings::default(), &mut stopping);
    let made = slow.count();
    assert_eq!((scored.ce.state.clone(), scored.ce.scored()), (RankerState::Stopped, made));
    assert!((2..=16).contains(&made), "four batches of a slow model are small ones: {made}");
    let whole = ask(&mut pipeline, &conversation, QUESTION);
    assert_eq!(slow.count() + made, whole.retrieval.candidates.len(), "what was scored before the stop is kept");
}

#[test]
fn flags_choose_the_models_and_a_wrong_one_is_a_fault_of_what_was_typed() {
    let dir = tempfile::tempdir().unwrap();
    sample(dir.path());
    let db = dir.path().join("sample.db").display().to_string();
    let (ce, colbert) = (folder("modernbert-ce").unwrap(), folder("modernbert-colbert").unwrap());
    let ask = ["ask", QUESTION, "--db", &db];
    let (code, said, _) = memsift(dir.path(), &[&ask[..], &["--ce", &ce, "--colbert", &colbert]].concat());
    assert_eq!(code, Some(0));
    assert!(
        said.contains("\nce        modernbert-ce: ") && said.contains("\ncolbert   modernbert-colbert: "),
        "{said}"
    );
    let (code, said, _) = memsift(dir.path(), &[&ask[..], &["--ce", "none"]].concat());
    assert_eq!(code, Some(0));
    assert!(said.contains("\nce        no ce model was wanted\n"), "{said}");
    for (flags, words) in [
        (["--profile", "huge"], "there is no profile 'huge': choose one of small"),
        (["--ce", "no-such-model"], "--ce 'no-such-model' is neither a known model nor a folder"),
        (["--colbert", "small-cross-encoder"], "'small-cross-encoder' cannot fill --colbert"),
    ] {
        let (code, said, complaint) = memsift(dir.path(), &[&ask[..], &flags].concat());
        assert_eq!((code, said.as_str()), (Some(2), ""), "{flags:?}");
        assert!(complaint.starts_with("memsift: ") && complaint.contains(words), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
}
