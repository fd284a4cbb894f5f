//! What-ifs against the pipeline itself: every value of every knob's grain is tried on generated questions, and the
//! intervals must say of each exactly what the cut does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use memsift::explain::whatif::{Answer, CE_RANK, COLBERT_RANK, Price, WhatIf, WhatIfs, grain};
use memsift::history::{Conversation, Session, Turn};
use memsift::moment::Moment;
use memsift::parse::{Origin, Query, Term, TermClass};
use memsift::passage::{PassageSet, Shape};
use memsift::retrieve::{NoReader, Retrieval, retrieve};
use memsift::scored::{Model, Ranker, RankerState, Score, Scored, SentenceVectors, Timings};
use memsift::settings::{Fusion, Header, Knob, Overflow, Settings, Truncation};
use memsift::trace::Trace;
use memsift::truncate::FateKind;
use proptest::prelude::*;
use proptest::sample::select;

/// What is drawn for one question.
#[derive(Debug, Clone)]
struct Case {
    /// Words, speaker, time and text of every passage.
    turns: Vec<(usize, usize, usize, u8)>,
    /// Which passages are candidates.
    candidates: Vec<bool>,
    ce: Vec<Option<f32>>,
    ce_state: RankerState,
    colbert: Vec<Option<f32>>,
    bm25: Vec<f64>,
    gold: Vec<bool>,
    sentences: bool,
    settings: Settings,
}

const MOST: usize = 24;
const TIMES: [&str; 3] = ["", "1:56 pm on 8 May, 2023", "2024-03-02T19:12:00+01:00"];

fn scores() -> impl Strategy<Value = Vec<Option<f32>>> {
    // A few values often, so that ties are common; some passages without a score, sometimes all of them.
    let score = prop_oneof![2 => select(vec![0.02_f32, 0.5, 0.9]), 3 => 0.0..1.0_f32];
    let missing = select(vec![0.0, 0.0, 0.2, 1.0]);
    (prop::collection::vec((score, 0.0..1.0_f64), MOST), missing).prop_map(|(drawn, missing)| {
        drawn.into_iter().map(|(score, luck)| (luck >= missing).then_some(score)).collect()
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let names = (
        prop::sample::select(Fusion::ALL),
        prop::sample::select(Truncation::ALL),
        prop::sample::select(Overflow::ALL),
        prop::sample::select(Header::ALL),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.5),
    );
    let share = || prop_oneof![1 => Just(0.0), 1 => Just(1.0), 4 => 0.0..1.0_f64];
    let step = || prop_oneof![1 => Just(0.0), 6 => (0..=100_u32).prop_map(|at| f64::from(at) / 100.0)];
    let numbers = (step(), share(), step(), 1..100_u32, 1..30_u32, 0..160_u32, share());
    (names, numbers).prop_map(|(names, (w, lambda, alpha, k, top_n, budget, p))| {
        let (fusion, truncation, overflow, header, dedup, usual) = names;
        let mut settings = Settings {
            fusion: fusion.1,
            truncation: truncation.1,
            overflow: overflow.1,
            header: header.1,
            dedup,
            w,
            lambda,
            alpha,
            k,
            top_n,
            budget,
            cumulative_p: p,
            ..Settings::default()
        };
        if usual {
            (settings.fusion, settings.truncation) = (Fusion::Rrf, Truncation::Adaptive);
        }
        settings
    })
}

fn case() -> impl Strategy<Value = Case> {
    let turn = (prop_oneof![5 => 0..9_usize, 1 => 20..60_usize], 0..2_usize, 0..TIMES.len(), 0..9_u8);
    let states = prop_oneof![
        4 => Just(RankerState::Done),
        1 => Just(RankerState::Running),
        1 => Just(RankerState::Stopped),
        1 => Just(RankerState::Failed("the weights are damaged".to_owned())),
    ];
    let parts = (
        prop::collection::vec(turn, 1..MOST),
        prop::collection::vec(prop::bool::weighted(0.85), MOST),
        scores(),
        states,
        scores(),
        prop::collection::vec(select(vec![0.0, 0.7, 1.3, 2.9, 4.0]), MOST),
        prop::collection::vec(prop::bool::weighted(0.2), MOST),
    );
    (parts, any::<bool>(), settings()).prop_map(
        |((turns, candidates, ce, ce_state, colbert, bm25, gold), sentences, settings)| Case {
            turns,
            candidates,
            ce,
            ce_state,
            colbert,
            bm25,
            gold,
            sentences,
            settings,
        },
    )
}

fn passages(case: &Case) -> PassageSet {
    let mut talk = Conversation { id: "talk".to_owned(), ..Conversation::default() };
    talk.speakers = vec!["Ann".into(), "Bo Lee".into()];
    for (at, (words, speaker, time, fresh)) in case.turns.iter().enumerate() {
        if at == 0 || *fresh < 2 {
            let number = talk.sessions.len() as u32 + 1;
            talk.sessions.push(Session { id: format!("s{number}"), number, time: Moment::Unknown, turns: at..at });
        }
        let session = talk.sessions.len() - 1;
        let known = talk.sessions.last_mut().unwrap();
        known.turns.end = at + 1;
        talk.turns.push(Turn {
            id: format!("t{at}"),
            session,
            number: (at - known.turns.start) as u32 + 1,
            speaker: *speaker,
            text: vec!["yes"; *words].join(" "),
            caption: None,
            time: Moment::read(TIMES[*time]),
        });
    }
    PassageSet::new(Arc::new(talk), Shape::of(&Settings::default()))
}

fn ranker(scores: &[Option<f32>], state: RankerState, passages: usize, candidates: &[u32]) -> Arc<Ranker> {
    let model = Model { name: "made up".to_owned(), hash: String::new() };
    let score = |value: f32| Score { value, logit: None, tokens: 1, clipped: 0, turn: None };
    let scores: Vec<Option<Score>> = scores.iter().take(passages).map(|value| value.map(score)).collect();
    Arc::new(Ranker::new(Some(model), state, scores, candidates))
}

fn scored(case: &Case) -> Arc<Scored> {
    let set = passages(case);
    let count = set.len();
    let candidates: Vec<u32> = (0..count as u32).filter(|at| case.candidates[*at as usize]).collect();
    let retrieval = Retrieval {
        match_score: case.bm25.iter().take(count).copied().collect(),
        match_place: (1..=count as u32).collect(),
        found_in: vec![1; count],
        candidates: candidates.clone(),
        ..Retrieval::default()
    };
    let vector = |at: usize| ((at as u32).wrapping_mul(0x9e37_79b9) as f32 / u32::MAX as f32) - 0.5;
    Arc::new(Scored {
        ce: ranker(&case.ce, case.ce_state.clone(), count, &candidates),
        colbert: ranker(&case.colbert, RankerState::Done, count, &candidates),
        dense: ranker(&case.ce, RankerState::Done, count, &candidates),
        bm25: Arc::new(case.bm25.clone()),
        sentences: case
            .sentences
            .then(|| Arc::new(SentenceVectors { dim: 2, data: (0..2 * MOST).map(vector).collect() })),
        gold: Arc::new((0..count as u32).filter(|at| case.gold[*at as usize]).collect()),
        query: Arc::new(Query::default()),
        settings: Arc::new(Settings::default()),
        retrieval: Arc::new(retrieval),
        timings: Timings::default(),
        passages: Arc::new(set),
    })
}

/// Every value that is tried: the whole grain; of whole numbers as many as can matter, and the ends of the range.
fn tried(name: &str, trace: &Trace) -> Vec<f64> {
    let far = |most: u32, ends: &[f64]| (0..=most).map(f64::from).chain(ends.iter().copied()).collect();
    let words: u32 = trace.scored.passages.passages.iter().map(|one| one.words + one.header_words).sum();
    match name {
        "budget" => far(words + 3, &[f64::from(words) * 2.0 + 7.0, 999_999.0, 1_000_000.0]),
        CE_RANK | COLBERT_RANK => (1..=MOST as u32 + 1).map(f64::from).collect(),
        "top-n" => far(MOST as u32 + 3, &[5_000.0, 99_999.0, 100_000.0]).into_iter().filter(|at| *at >= 1.0).collect(),
        _ => grain::points(Knob::named(name).unwrap(), &trace.settings),
    }
}

fn at_value(trace: &Trace, name: &str, value: f64) -> Trace {
    let mut settings = trace.settings.clone();
    settings.set(name, &value.to_string()).unwrap();
    Trace::new(Arc::clone(&trace.scored), settings)
}

/// Counts what was compared, so that a law that compares nothing is seen.
fn check(case: &Case) -> Result<(usize, usize), TestCaseError> {
    let trace = Trace::new(scored(case), case.settings.clone());
    let count = trace.scored.passages.len() as u32;
    let all: Vec<WhatIfs> = (0..=count).map(|at| WhatIfs::of(&trace, at)).collect();
    let (mut compared, mut unknown) = (0, 0);
    let names: Vec<&str> = all[0].knobs.iter().map(|found| found.knob).collect();
    for (at, name) in names.iter().enumerate() {
        for value in tried(name, &trace) {
            let there = at_value(&trace, name, value);
            for found in &all {
                let answer = &found.knobs[at];
                let Some(strip) = answer.strip() else {
                    unknown += 1;
                    continue;
                };
                compared += 1;
                let kept = there.fate(found.passage).is_kept();
                prop_assert_eq!(
                    strip.contains(value),
                    kept,
                    "passage {}, {} {}: {:?}",
                    found.passage,
                    name,
                    value,
                    answer
                );
            }
        }
        for found in &all {
            well_made(&trace, found.passage, &found.knobs[at], |value| Some(at_value(&trace, name, value)))?;
        }
    }
    for found in &all {
        for answer in &found.ranks {
            let there = |rank: f64| at_rank(&trace, answer.knob, found.passage, rank as u32);
            for rank in tried(answer.knob, &trace) {
                match (answer.strip(), there(rank)) {
                    (Some(strip), Some(there)) => {
                        compared += 1;
                        let kept = there.fate(found.passage).is_kept();
                        prop_assert_eq!(strip.contains(rank), kept, "{} {}: {:?}", found.passage, rank, answer);
                    }
                    // No rank, no answer.
                    (Some(strip), None) => prop_assert!(rank > strip.range.1 && !strip.contains(rank)),
                    (None, _) => unknown += 1,
                }
            }
            well_made(&trace, found.passage, answer, there)?;
        }
    }
    Ok((compared, unknown))
}

/// The pipeline when one ranker had put a passage at another rank.
fn at_rank(trace: &Trace, name: &str, passage: u32, rank: u32) -> Option<Trace> {
    let mut scored = (*trace.scored).clone();
    let ranker = if name == CE_RANK { &mut scored.ce } else { &mut scored.colbert };
    *ranker = Arc::new(ranker.moved(passage, rank)?);
    Some(Trace::new(Arc::new(scored), trace.settings.clone()))
}

/// Intervals are apart and in order; the nearest value is the nearest, and its price is what happens.
fn well_made(
    trace: &Trace,
    passage: u32,
    found: &WhatIf,
    there: impl Fn(f64) -> Option<Trace>,
) -> Result<(), TestCaseError> {
    let Answer::Kept(strip) = &found.answer else {
        let Answer::Unknown { reason } = &found.answer else { panic!() };
        prop_assert!(found.nearest.is_none() && !reason.contains("itself"), "{}", reason);
        return Ok(());
    };
    for pair in strip.intervals.windows(2) {
        prop_assert!(pair[0].to < pair[1].from);
    }
    prop_assert!(strip.intervals.iter().all(|one| one.from <= one.to));
    let kept = trace.fate(passage).is_kept();
    prop_assert_eq!(strip.contains(found.now), kept);
    let inside = |at: &f64| (strip.range.0..=strip.range.1).contains(at);
    let other: Vec<f64> =
        tried(found.knob, trace).into_iter().filter(inside).filter(|at| strip.contains(*at) != kept).collect();
    let nearest = other.iter().map(|at| (at - found.now).abs()).min_by(f64::total_cmp);
    prop_assert_eq!(found.nearest.as_ref().map(|turn| (turn.value - found.now).abs()), nearest);
    if let Some(turn) = &found.nearest {
        let there = there(turn.value).unwrap();
        prop_assert_eq!(&turn.price, &Price::between(trace, &there));
        prop_assert_eq!(turn.price.enter.contains(&passage), !kept);
        prop_assert_eq!(turn.price.leave.contains(&passage), kept);
        let words = i64::from(there.cut.used) - i64::from(trace.cut.used);
        prop_assert_eq!((turn.price.words, turn.place), (words, there.place(passage)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn intervals_say_of_every_value_what_the_cut_does(case in case()) {
        check(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_nearest_weight_of_a_term_is_the_nearest_that_retrieval_agrees_with(case in capped()) {
        check_terms(&case)?;
    }
}

/// Short texts of few words under a candidate cap.
#[derive(Debug, Clone)]
struct Capped {
    texts: Vec<Vec<&'static str>>,
    weights: Vec<u32>,
    cap: u32,
}

const WORDS: [&str; 4] = ["clay", "kiln", "glaze", "wheel"];

fn capped() -> impl Strategy<Value = Capped> {
    let text = prop::collection::vec(select(WORDS.to_vec()), 0..4);
    let parts = (prop::collection::vec(text, 1..10), prop::collection::vec(0..300_u32, WORDS.len()), 1..6_u32);
    parts.prop_map(|(texts, weights, cap)| Capped { texts, weights, cap })
}

/// Retrieval over the texts, its terms with these weights in hundredths.
fn retrieved(case: &Capped, set: &PassageSet, weights: &[u32]) -> (Retrieval, Settings) {
    let term =
        |(word, weight): (&&str, &u32)| Term::single(word, TermClass::User, f64::from(*weight) / 100.0, Origin::User);
    let query = Query { terms: WORDS.iter().zip(weights).map(term).collect(), ..Query::default() };
    let settings = Settings { candidate_cap: case.cap, ..Settings::default() };
    (retrieve(set, &query, &NoReader, &settings), settings)
}

fn check_terms(case: &Capped) -> Result<(), TestCaseError> {
    let mut talk = Conversation { id: "talk".to_owned(), ..Conversation::default() };
    talk.speakers = vec!["Ann".into()];
    let turns = 0..case.texts.len();
    talk.sessions.push(Session { id: "s1".to_owned(), number: 1, time: Moment::Unknown, turns });
    for (at, words) in case.texts.iter().enumerate() {
        let (id, text, number) = (format!("t{at}"), words.join(" "), at as u32 + 1);
        talk.turns.push(Turn { id, session: 0, number, speaker: 0, text, caption: None, time: Moment::Unknown });
    }
    let set = Arc::new(PassageSet::new(Arc::new(talk), Shape::of(&Settings::default())));
    let (retrieval, settings) = retrieved(case, &set, &case.weights);
    let scored = Scored {
        ce: Arc::new(Ranker::absent("no model here")),
        colbert: Arc::new(Ranker::absent("no model here")),
        dense: Arc::new(Ranker::absent("no model here")),
        bm25: Arc::new(vec![0.0; set.len()]),
        sentences: None,
        gold: Arc::default(),
        query: Arc::new(Query::default()),
        settings: Arc::new(settings.clone()),
        retrieval: Arc::new(retrieval),
        timings: Timings::default(),
        passages: Arc::clone(&set),
    };
    let trace = Trace::new(Arc::new(scored), settings);
    for passage in 0..set.len() as u32 {
        let needs = WhatIfs::of(&trace, passage).terms;
        if trace.fate(passage).kind() != FateKind::Capped {
            prop_assert!(needs.is_empty());
            continue;
        }
        let mut last = 0.0;
        for (at, word) in WORDS.iter().enumerate() {
            let now = case.weights[at];
            let is_candidate = |weight: u32| {
                let mut weights = case.weights.clone();
                weights[at] = weight;
                let (retrieval, _) = retrieved(case, &set, &weights);
                // Where nothing matches any more, all are candidates: that is no way over the cap.
                let over = retrieval.everything.is_none() && retrieval.candidates.contains(&passage);
                over.then(|| retrieval.match_place[passage as usize])
            };
            // No weight here is above 3, and four of them make 12.
            let nearest = (1..=1_300_u32)
                .flat_map(|step| [now.checked_sub(step), Some(now + step)])
                .flatten()
                .find_map(|weight| is_candidate(weight).map(|place| (weight, place)));
            let told = needs.iter().find(|need| need.term == *word);
            prop_assert_eq!(
                told.map(|need| ((need.to * 100.0).round() as u32, need.place)),
                nearest,
                "passage {}, {}: {:?}",
                passage,
                word,
                needs
            );
        }
        for need in &needs {
            let change = (need.to - need.now).abs();
            prop_assert!(change >= last && need.cap == case.cap);
            last = change;
        }
    }
    Ok(())
}
