//! What is suspicious in a trace: each lint on a history that has the fault, and none on one that has not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::sync::Arc;

use memsift::engine::Ask;
use memsift::explain::lint::{Lint, LintKind, lints};
use memsift::history::{Conversation, Session, Turn};
use memsift::moment::Moment;
use memsift::scored::{Ranker, RankerState, Score, Scored};
use memsift::settings::{Settings, Truncation};
use memsift::trace::Trace;

fn history(texts: &[&str], time: &Moment) -> Arc<Conversation> {
    let turns: Vec<Turn> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| Turn {
            id: format!("t{at}"),
            session: 0,
            number: at as u32 + 1,
            speaker: 0,
            text: (*text).to_owned(),
            caption: None,
            time: time.clone(),
        })
        .collect();
    let sessions = vec![Session { id: "s1".to_owned(), number: 1, time: time.clone(), turns: 0..turns.len() }];
    Arc::new(Conversation {
        id: "made-up".to_owned(),
        title: None,
        speakers: vec!["Ann".into()],
        sessions,
        turns,
        questions: Vec::new(),
    })
}

/// A trace of these turns in which the rankers gave these scores.
fn trace(texts: &[&str], ce: &[f32], colbert: &[f32], gold: &[usize], settings: Settings) -> Trace {
    let ask = Ask {
        generation: 1,
        conversation: history(texts, &Moment::read("2024-03-02T19:12:00")),
        text: "boat".to_owned(),
        gold: gold.to_vec(),
        settings: settings.clone(),
    };
    let made = screen::scored(&ask, RankerState::Done);
    let ranker = |values: &[f32], old: &Ranker| {
        let score = |value: &f32| Some(Score { value: *value, logit: None, tokens: 9, clipped: 0, turn: None });
        let scores = values.iter().map(score).collect();
        Arc::new(Ranker::new(old.model.clone(), RankerState::Done, scores, &made.retrieval.candidates))
    };
    let scored = Scored { ce: ranker(ce, &made.ce), colbert: ranker(colbert, &made.colbert), ..(*made).clone() };
    Trace::new(Arc::new(scored), settings)
}

fn of(trace: &Trace, kind: LintKind) -> Option<Lint> {
    let mut found = lints(trace).into_iter().filter(|lint| lint.kind == kind);
    let first = found.next();
    assert!(found.next().is_none(), "one lint a kind");
    first
}

const FOUR: [&str; 4] = ["the boat one", "the boat two", "the boat three", "the boat four"];
const FALLING: [f32; 4] = [0.9, 0.8, 0.7, 0.6];

#[test]
fn a_quiet_trace_has_none() {
    let trace = trace(&FOUR, &FALLING, &FALLING, &[0], Settings::default());
    assert_eq!(lints(&trace), []);
}

#[test]
fn gold_below_the_cut_is_counted_by_stage() {
    let settings = Settings { top_n: 2, ..Settings::default() };
    let trace = trace(&FOUR, &FALLING, &FALLING, &[0, 3], settings);
    let lint = of(&trace, LintKind::GoldLost).unwrap();
    assert_eq!((lint.passages, lint.text.as_str()), (vec![3], "1 of 2 gold passages are lost: 1 beyond top n"));
}

#[test]
fn rankers_that_disagree_are_named_with_their_places() {
    let trace = trace(&FOUR, &FALLING, &[0.1, 0.8, 0.7, 0.6], &[], Settings::default());
    let lint = of(&trace, LintKind::RankersApart).unwrap();
    assert_eq!(lint.passages, [0]);
    assert!(lint.text.ends_with("most on t0: ce 1, colbert 4"), "{}", lint.text);
}

#[test]
fn a_passage_read_in_part_is_said_with_what_is_missing() {
    let trace = trace(&FOUR, &FALLING, &FALLING, &[], Settings::default());
    let mut scored = (*trace.scored).clone();
    let mut scores = scored.ce.scores.clone();
    scores[2].as_mut().unwrap().clipped = 40;
    scored.ce = Arc::new(Ranker::new(None, RankerState::Done, scores, &scored.retrieval.candidates));
    let lint = of(&Trace::new(Arc::new(scored), Settings::default()), LintKind::ReadInPart).unwrap();
    assert_eq!(lint.passages, [2]);
    assert!(lint.text.ends_with("most is missing of t2: 40 tokens"), "{}", lint.text);
}

#[test]
fn one_passage_with_a_quarter_of_the_budget_is_named() {
    let long = format!("the boat {}", "word ".repeat(30));
    let texts = ["the boat one", &long];
    let settings = Settings { budget: 100, ..Settings::default() };
    let trace = trace(&texts, &[0.9, 0.8], &[0.9, 0.8], &[], settings);
    let lint = of(&trace, LintKind::LongPassage).unwrap();
    assert_eq!(lint.passages, [1]);
    assert!(lint.text.contains("most t1: "), "{}", lint.text);
}

#[test]
fn a_tie_at_the_cut_is_named() {
    // 0 and 1 swap their places between the rankers, which RRF with equal weights cannot tell apart.
    let settings = Settings { w: 0.5, top_n: 1, ..Settings::default() };
    let trace = trace(&FOUR, &[0.9, 0.8, 0.7, 0.6], &[0.8, 0.9, 0.7, 0.6], &[], settings);
    let lint = of(&trace, LintKind::TieAtCut).unwrap();
    assert_eq!(lint.passages, [0, 1]);
}

#[test]
fn copies_among_the_kept_are_counted_with_the_words_they_take() {
    let texts = ["the boat one", "the boat two", "the boat one", "the boat one"];
    let kept = trace(&texts, &FALLING, &FALLING, &[], Settings::default());
    let lint = of(&kept, LintKind::Copies).unwrap();
    assert_eq!(lint.passages, [2, 3]);
    assert!(lint.text.starts_with("2 kept passages are copies of 1 others and take "), "{}", lint.text);
    let without = trace(&texts, &FALLING, &FALLING, &[], Settings { dedup: true, ..Settings::default() });
    assert_eq!(of(&without, LintKind::Copies), None);
}

#[test]
fn a_budget_that_alpha_leaves_unspent_is_said() {
    let settings = Settings { alpha: 0.5, truncation: Truncation::Adaptive, ..Settings::default() };
    let trace = trace(&FOUR, &[0.9, 0.1, 0.05, 0.01], &FALLING, &[], settings);
    let lint = of(&trace, LintKind::BudgetUnspent).unwrap();
    assert_eq!(lint.passages, [1, 2, 3]);
    assert!(lint.text.contains("; 3 passages stand below it"), "{}", lint.text);
}

#[test]
fn a_history_without_times_is_said() {
    let ask = Ask {
        generation: 1,
        conversation: history(&FOUR, &Moment::Unknown),
        text: "boat".to_owned(),
        gold: Vec::new(),
        settings: Settings::default(),
    };
    let trace = Trace::new(screen::scored(&ask, RankerState::Done), Settings::default());
    assert!(of(&trace, LintKind::NoTimes).is_some());
}
