//! What people who debug retrieval ran into, each as a small history with the behaviour that they asked for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use memsift::engine::{Deaf, Models, Pipeline};
use memsift::explain::fate::sentence;
use memsift::explain::lint::{LintKind, lints};
use memsift::history::Conversation;
use memsift::rank::{
    Cache, CrossEncoder, Gives, ModelId, PairScore, PairTokens, Precision, RankError, Side, TextEncoder, TokenPiece,
    TokenVectors,
};
use memsift::scored::RankerState;
use memsift::settings::{Overflow, Settings, Truncation};
use memsift::store::Store;
use memsift::store::import::import_texts;
use memsift::trace::Trace;
use memsift::truncate::{AlphaScale, Fate, FateKind};
use serde_json::{Value, json};

/// A database with these turns of one session: id, text, time.
fn database(dir: &Path, turns: &[(&str, &str, &str)]) -> String {
    let lines: Vec<String> = turns
        .iter()
        .map(|(id, text, time)| {
            let mut line = json!({"conversation": "c", "session": "s", "id": id, "speaker": "Ann", "text": text});
            if !time.is_empty() {
                line["time"] = json!(time);
            }
            line.to_string()
        })
        .collect();
    let db = dir.join("small.db");
    import_texts(&[("c.jsonl", &lines.join("\n"))], &db, &mut |_| {}).unwrap();
    db.display().to_string()
}

fn load(db: &str) -> Arc<Conversation> {
    Arc::new(Store::open(Path::new(db)).unwrap().load("c").unwrap())
}

/// Rankers that say what the test wants.
struct Said {
    id: ModelId,
    score: fn(&str) -> f32,
    fails: bool,
}

impl Said {
    fn new(score: fn(&str) -> f32) -> Self {
        Self {
            id: ModelId { name: "said".to_owned(), hash: "0".to_owned(), precision: Precision::Exact },
            score,
            fails: false,
        }
    }
}

impl CrossEncoder for Said {
    fn model(&self) -> &ModelId {
        &self.id
    }
    fn max_tokens(&self) -> usize {
        16
    }
    fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<PairScore>, RankError> {
        if self.fails {
            return Err(RankError::Tokens { reason: "on purpose".to_owned() });
        }
        let one = |text: &&str| {
            let p = (self.score)(text).clamp(0.001, 0.999);
            let tokens = text.split_whitespace().count() as u32;
            PairScore::new((p / (1.0 - p)).ln(), tokens.min(16), tokens.checked_sub(16).filter(|over| *over > 0))
        };
        Ok(passages.iter().map(one).collect())
    }
    fn tokens(&self, _: &str, _: &str) -> Result<PairTokens, RankError> {
        Err(RankError::Tokens { reason: "not in this test".to_owned() })
    }
}

impl TextEncoder for Said {
    fn model(&self) -> &ModelId {
        &self.id
    }
    fn max_tokens(&self) -> usize {
        512
    }
    fn dim(&self) -> usize {
        2
    }
    fn gives(&self) -> Gives {
        Gives { tokens: true, sentence: false }
    }
    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, RankError> {
        let one = |text: &&str| {
            let cosine = if side == Side::Question { 1.0 } else { (self.score)(text) };
            let vectors = vec![cosine, (1.0 - cosine * cosine).max(0.0).sqrt()];
            TokenVectors { dim: 2, tokens: 1, vectors, sentence: vec![0.0; 2], clipped: 0 }
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

fn trace(conversation: &Arc<Conversation>, question: &str, ce: Said, colbert: Said, settings: &Settings) -> Trace {
    let models = Models { ce: Ok(Arc::new(ce)), colbert: Ok(Arc::new(colbert)), ..Models::none("not in this test") };
    let scored = Pipeline::new(models, Cache::in_memory()).ask(conversation, question, &[], settings, &mut Deaf);
    Trace::new(scored, settings.clone())
}

fn memsift(dir: &Path, args: &[&str], zone: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_memsift"))
        .args(args)
        .env("MEMSIFT_MODELS", dir.join("models"))
        .env("MEMSIFT_DATA", dir)
        .env("MEMSIFT_CACHE", dir.join("cache"))
        .env_remove("MEMSIFT_PROFILE")
        .env("TZ", zone)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A: "nobody can tell at which stage a memory was lost", as structured data and not as log text.
#[test]
fn every_passage_of_the_history_says_at_which_stage_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let turns = [
        ("t1", "The Stoßlüften script runs every morning.", ""),
        ("t2", "Opening the windows wide for five minutes helps.", ""),
        ("t3", "We had soup.", ""),
    ];
    let db = database(dir.path(), &turns);
    let json = memsift(dir.path(), &["ask", "Stoßlüften script", "--db", &db, "--json"], "UTC");
    let trace: Value = serde_json::from_str(&json).unwrap();
    let terms: Vec<&str> =
        trace["hops"][0]["terms"].as_array().unwrap().iter().map(|t| t["term"]["text"].as_str().unwrap()).collect();
    assert!(terms.iter().any(|term| term.starts_with("sto")) && terms.contains(&"script"), "{terms:?}");
    let passages = trace["passages"].as_array().unwrap();
    assert_eq!(passages.len(), 3, "also those that nothing matched");
    let fates: Vec<&str> = passages.iter().map(|passage| passage["fate"]["fate"].as_str().unwrap()).collect();
    assert_eq!(fates, ["kept", "unmatched", "unmatched"]);
    assert!(passages[0]["hits"].as_array().unwrap().len() >= 2, "what matched, and where");
    assert!(trace["ce"]["state"]["absent"].is_string(), "a ranker that is not there says why");
}

/// B 2: the reranker's first note was dropped by a later stage, and nobody could see which.
#[test]
fn the_place_after_every_stage_is_there_and_the_stage_that_overruled() {
    let dir = tempfile::tempdir().unwrap();
    let turns = [("t1", "I breathe before talks, four counts in.", ""), ("t2", "Talks, talks, and more talks.", "")];
    let conversation = load(&database(dir.path(), &turns));
    let ce = Said::new(|text| if text.contains("breathe") { 0.9 } else { 0.2 });
    let colbert = Said::new(|text| if text.contains("breathe") { 0.1 } else { 0.8 });
    let settings = Settings { w: 0.2, top_n: 1, ..Settings::default() };
    let trace = trace(&conversation, "How do I calm down before talks?", ce, colbert, &settings);
    let (ce, colbert) = (trace.scored.ce.rank(0), trace.scored.colbert.rank(0));
    assert_eq!((ce, colbert, trace.place(0)), (1, 2, 2), "first by one ranker, second by the other and in the fusion");
    assert_eq!(trace.fate(0).kind(), FateKind::BeyondTopN);
    assert!(lints(&trace).iter().all(|lint| lint.kind != LintKind::RankersApart), "two places are not half a list");
}

/// B 3: a reranker that failed and silently passed the order through.
#[test]
fn a_failed_reranker_is_never_a_silent_pass_through() {
    let dir = tempfile::tempdir().unwrap();
    let turns: Vec<(String, String)> = (0..5).map(|at| (format!("t{at}"), format!("the boat number {at}"))).collect();
    let turns: Vec<(&str, &str, &str)> = turns.iter().map(|(id, text)| (id.as_str(), text.as_str(), "")).collect();
    let conversation = load(&database(dir.path(), &turns));
    let ce = Said { fails: true, ..Said::new(|_| 0.5) };
    let trace = trace(&conversation, "boat", ce, Said::new(|text| text.len() as f32 / 100.0), &Settings::default());
    assert!(matches!(&trace.scored.ce.state, RankerState::Failed(reason) if reason.contains("on purpose")));
    assert_eq!(trace.scored.ce.scored(), 0);
    assert!(!trace.fused.assumptions.is_empty(), "the fusion says what it did without those scores");
    let said: Vec<&str> = trace.fused.assumptions.iter().map(|assumption| assumption.words()).collect();
    assert!(said.iter().any(|words| words.to_lowercase().contains("colbert")), "{said:?}");
}

/// B 4: the match stood behind what the reranker reads.
#[test]
fn what_the_reranker_did_not_read_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let long = format!("the boat {} and its name is Larkspur", "filler ".repeat(500));
    let conversation = load(&database(dir.path(), &[("t1", &long, ""), ("t2", "the boat", "")]));
    let score = |_: &str| 0.5;
    let trace = trace(&conversation, "boat name", Said::new(score), Said::new(score), &Settings::default());
    let seen = trace.scored.ce.score(0).unwrap();
    assert_eq!(seen.tokens, 16);
    assert!(seen.clipped > 400, "{seen:?}");
    let lint = lints(&trace).into_iter().find(|lint| lint.kind == LintKind::ReadInPart).unwrap();
    assert_eq!(lint.passages, [0]);
}

/// B 5: one threshold for scores of different scales.
#[test]
fn the_threshold_names_the_scale_that_it_cuts() {
    let dir = tempfile::tempdir().unwrap();
    let turns = [("t1", "boat one", ""), ("t2", "boat two two", ""), ("t3", "boat three three three", "")];
    let conversation = load(&database(dir.path(), &turns));
    let falling = |text: &str| 0.9 - text.len() as f32 / 40.0;
    let settings = Settings { alpha: 0.8, ..Settings::default() };
    let both = trace(&conversation, "boat", Said::new(falling), Said::new(falling), &settings);
    let threshold = both.cut.threshold.unwrap();
    assert_eq!(threshold.scale, AlphaScale::CrossEncoder);
    assert!((threshold.value - 0.8 * threshold.best).abs() < 1e-9);
    let Fate::BelowAlpha { score, best, alpha } = both.fate(2) else { panic!("{:?}", both.fate(2)) };
    assert!(*score < alpha * best);
    let without = Said { fails: true, ..Said::new(falling) };
    let one = trace(&conversation, "boat", without, Said::new(falling), &settings);
    assert_eq!(one.cut.threshold.map(|threshold| threshold.scale), Some(AlphaScale::ColbertMinMax));
}

/// C 6: the best record does not fit, and an empty result looks like an empty memory.
#[test]
fn a_budget_that_nothing_fits_says_what_was_needed_and_what_was_left() {
    let dir = tempfile::tempdir().unwrap();
    let words = |count: usize| format!("boat {}", "word ".repeat(count - 2));
    let (large, middle, small) = (words(2400), words(120), words(90));
    let turns = [("t1", large.as_str(), ""), ("t2", middle.as_str(), ""), ("t3", small.as_str(), "")];
    let conversation = load(&database(dir.path(), &turns));
    let by_length = |text: &str| (text.len() as f32 / 13_000.0).min(0.99);
    let settings = |overflow| Settings { truncation: Truncation::Fixed, budget: 900, overflow, ..Settings::default() };
    let run = |overflow| trace(&conversation, "boat", Said::new(by_length), Said::new(by_length), &settings(overflow));
    let stopped = run(Overflow::Stop);
    assert_eq!(stopped.cut.kept, 0);
    let Fate::OverBudget { words, budget, words_before } = stopped.fate(0) else { panic!("{:?}", stopped.fate(0)) };
    assert!(*words >= 2400 && *budget == 900 && *words_before == 0);
    let next = stopped.cut.next.unwrap();
    assert!(next.words >= 2400 && stopped.cut.left == 900, "needs {}, {} left", next.words, stopped.cut.left);
    assert!(sentence(&stopped, 0).contains("the budget is 900"));
    let skipped = run(Overflow::Skip);
    let kept: Vec<u32> = skipped.kept().collect();
    assert_eq!(kept, [1, 2], "shorter ones are tried when the knob says so");
}

/// 12: the same message stored again and again fills the top and the budget.
#[test]
fn copies_are_counted_and_dropping_them_lifts_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut turns: Vec<(String, &str, &str)> = Vec::new();
    let texts = [
        "the boat is blue",
        "the boat is new",
        "the boat is ours",
        "the boat sank",
        "the boat was raised",
        "the boat is Larkspur",
    ];
    for (at, text) in texts.iter().enumerate() {
        // Each new turn comes after the first ones stored once more.
        for copy in texts.iter().take(at.min(4)) {
            turns.push((format!("t{}", turns.len()), copy, ""));
        }
        turns.push((format!("t{}", turns.len()), text, ""));
    }
    let turns: Vec<(&str, &str, &str)> = turns.iter().map(|(id, text, time)| (id.as_str(), *text, *time)).collect();
    let conversation = load(&database(dir.path(), &turns));
    let last = turns.len() as u32 - 1;
    let score = |text: &str| if text.contains("Larkspur") { 0.2 } else { 0.8 };
    let run = |dedup| {
        let settings = Settings { dedup, budget: 60, truncation: Truncation::Fixed, ..Settings::default() };
        trace(&conversation, "boat", Said::new(score), Said::new(score), &settings)
    };
    let with = run(false);
    let lint = lints(&with).into_iter().find(|lint| lint.kind == LintKind::Copies).unwrap();
    assert!(lint.passages.len() >= 3, "{}", lint.text);
    assert!(!with.fate(last).is_kept(), "copies push it out");
    let without = run(true);
    assert!(without.fate(last).is_kept(), "{:?}", without.fate(last));
    assert!(without.count(FateKind::Duplicate) >= lint.passages.len());
}

/// 13: "yesterday" without the day on which it was said, and days that depend on the reader's zone.
#[test]
fn the_day_stands_with_the_passage_whatever_zone_the_reader_is_in() {
    let dir = tempfile::tempdir().unwrap();
    let turns = [("t1", "I went to a support group yesterday", "2023-05-08T13:56:00")];
    let db = database(dir.path(), &turns);
    let ask = ["ask", "When did Ann go to the support group?", "--db", &db];
    let said = memsift(dir.path(), &ask, "UTC");
    assert!(said.contains("8 May, 2023"), "{said}");
    for zone in ["Pacific/Midway", "Pacific/Kiritimati"] {
        assert_eq!(memsift(dir.path(), &ask, zone), said);
    }
    let bare = tempfile::tempdir().unwrap();
    let db = database(bare.path(), &[("t1", "I went to a support group yesterday", "")]);
    let said = memsift(bare.path(), &["ask", "support group", "--db", &db], "UTC");
    assert!(said.contains("no turn of the history has a time"), "{said}");
}
