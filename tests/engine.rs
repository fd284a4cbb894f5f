//! The engine's thread from outside: jobs in, events out, and a fault inside that is said instead of swallowed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use memsift::engine::{
    Ask, ContrastAsk, Deaf, Engine, EngineOptions, Event, Inspection, Job, Models, Pipeline, RankerChoice, SweepAsk,
};
use memsift::eval::sweep::{Axis, Sweep, sweep};
use memsift::history::Conversation;
use memsift::rank::Cache;
use memsift::scored::RankerState;
use memsift::settings::Settings;
use memsift::store::Reading;
use memsift::store::import::import_texts;
use memsift::trace::Trace;

fn options(models: std::path::PathBuf) -> EngineOptions {
    EngineOptions {
        rankers: RankerChoice::small(&models).unwrap(),
        cache: None,
        marks: None,
        reading: Reading::default(),
    }
}

fn wait<T>(events: &Receiver<Event>, mut pick: impl FnMut(Event) -> Option<T>) -> T {
    loop {
        let event = events.recv_timeout(Duration::from_secs(120)).expect("the engine says something");
        if let Some(found) = pick(event) {
            return found;
        }
    }
}

fn sample(dir: &std::path::Path) -> std::path::PathBuf {
    let db = dir.join("sample.db");
    let texts = [
        ("nell-and-idris.jsonl", include_str!("../sample-data/nell-and-idris.jsonl")),
        ("nell-and-idris.questions.jsonl", include_str!("../sample-data/nell-and-idris.questions.jsonl")),
    ];
    import_texts(&texts, &db, &mut |_| {}).unwrap();
    db
}

#[test]
fn a_fault_inside_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let (send, events) = channel();
    let armed = AtomicBool::new(true);
    let engine = Engine::start(options(dir.path().to_owned()), move |event| {
        if armed.swap(false, Ordering::SeqCst) {
            panic!("on purpose");
        }
        let _ = send.send(event);
    })
    .unwrap();
    let words = wait(&events, |event| match event {
        Event::Broken(words) => Some(words),
        _ => None,
    });
    assert!(words.contains("on purpose") && words.contains("start again"), "{words}");
    drop(engine);
}

/// The sample database opened, and its first talk.
fn open(engine: &Engine, events: &Receiver<Event>, dir: &Path) -> Arc<Conversation> {
    engine.send(Job::Open(sample(dir)));
    engine.send(Job::Load("nell-and-idris".to_owned()));
    wait(events, |event| match event {
        Event::Loaded(conversation) => Some(conversation),
        _ => None,
    })
}

#[test]
fn without_models_everything_but_the_rankers_answers() {
    let dir = tempfile::tempdir().unwrap();
    let (send, events) = channel();
    let engine = Engine::start(options(dir.path().join("none")), move |event| drop(send.send(event))).unwrap();
    let conversation = open(&engine, &events, dir.path());
    let ask = Ask {
        generation: 1,
        conversation,
        text: "What is the name of the boat?".to_owned(),
        gold: Vec::new(),
        settings: Settings::default(),
    };
    engine.send(Job::Ask(ask));
    let mut last = None;
    wait(&events, |event| match event {
        Event::Scored { scored, .. } => {
            last = Some(scored);
            None
        }
        Event::Finished { generation: 1 } => Some(()),
        _ => None,
    });
    let scored = last.unwrap();
    assert!(!scored.retrieval.candidates.is_empty());
    for ranker in [&scored.ce, &scored.colbert] {
        assert!(matches!(&ranker.state, RankerState::Absent(reason) if reason.contains("models pull")), "{ranker:?}");
    }
    engine.send(Job::Inspect { generation: 1, passage: 0 });
    let inspection = wait(&events, inspected);
    assert!(inspection.matrix.as_ref().unwrap_err().contains("models pull"), "{inspection:?}");
    assert!(inspection.pair.as_ref().unwrap_err().contains("models pull"), "{inspection:?}");
}

fn inspected(event: Event) -> Option<Arc<Inspection>> {
    match event {
        Event::Inspected { inspection, .. } => Some(inspection),
        _ => None,
    }
}

#[test]
fn the_newest_question_wins_and_a_stopped_one_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (send, events) = channel();
    let engine = Engine::start(options(common::models_dir()), move |event| drop(send.send(event))).unwrap();
    let conversation = open(&engine, &events, dir.path());
    let ask = |generation: u64, text: &str| {
        engine.send(Job::Ask(Ask {
            generation,
            conversation: conversation.clone(),
            text: text.to_owned(),
            gold: Vec::new(),
            settings: Settings::default(),
        }));
    };
    ask(1, "What made Nell nearly give up on the boat?");
    ask(2, "Who taught Idris to bake bread?");
    engine.send(Job::Stop);
    let mut last = None;
    let mut generations = Vec::new();
    wait(&events, |event| match event {
        Event::Scored { generation, scored } => {
            generations.push(generation);
            last = Some(scored);
            None
        }
        Event::Finished { generation: 2 } => Some(()),
        _ => None,
    });
    assert!(generations.iter().all(|generation| *generation == 2), "{generations:?}");
    assert_eq!(last.take().unwrap().ce.state, RankerState::Stopped);
    engine.send(Job::Resume);
    wait(&events, |event| match event {
        Event::Scored { scored, .. } => {
            last = Some(scored);
            None
        }
        Event::Finished { generation: 2 } => Some(()),
        _ => None,
    });
    let scored = last.unwrap();
    assert_eq!(scored.ce.state, RankerState::Done);
    assert_eq!(scored.ce.scored(), scored.retrieval.candidates.len());

    // What the models saw is what they scored; for an older question nobody answers, and then the next one is answered.
    let passage = scored.retrieval.candidates[3];
    engine.send(Job::Inspect { generation: 1, passage: 0 });
    engine.send(Job::Inspect { generation: 2, passage });
    let inspection = wait(&events, inspected);
    let (matrix, pair) = (&inspection.matrix.as_ref().unwrap().matrix, inspection.pair.as_ref().unwrap());
    let (colbert, ce) = (scored.colbert.score(passage).unwrap(), scored.ce.score(passage).unwrap());
    assert!((matrix.score.score - colbert.value).abs() < 1e-3, "{} for {}", matrix.score.score, colbert.value);
    assert_eq!((matrix.passage.len() as u32, matrix.clipped), (colbert.tokens, colbert.clipped));
    assert!((pair.score.score - ce.value).abs() < 1e-4 && pair.tokens.read.len() as u32 == ce.tokens);
}

/// The questions of the set that have gold.
fn with_gold(conversation: &Conversation) -> Vec<(String, Vec<usize>)> {
    let known = conversation.questions.iter().filter(|known| !known.gold.is_empty());
    known.map(|known| (known.text.trim().to_owned(), known.gold.clone())).collect()
}

/// Two settings over all questions: as if each were asked alone, also where they search differently.
#[test]
fn two_settings_are_compared_on_every_question() {
    let dir = tempfile::tempdir().unwrap();
    let (send, events) = channel();
    let engine = Engine::start(options(dir.path().join("none")), move |event| drop(send.send(event))).unwrap();
    let conversation = open(&engine, &events, dir.path());
    let questions = with_gold(&conversation);
    let a = Settings::default();
    let b = a.with("matching=word,unit=session,budget=900").unwrap();
    let ask = ContrastAsk { number: 7, conversation: conversation.clone(), questions, a: a.clone(), b: b.clone() };
    engine.send(Job::Contrast(ask.clone()));
    let mut rows = Vec::new();
    wait(&events, |event| match event {
        Event::Contrasted { number: 7, done, total, row, .. } => {
            rows.extend(row);
            assert_eq!((rows.len(), total), (done, ask.questions.len()));
            (done == total).then_some(())
        }
        _ => None,
    });
    let mut pipeline = Pipeline::new(Models::none("not in this test"), Cache::in_memory());
    let mut gold = |settings: &Settings, (text, gold): &(String, Vec<usize>)| {
        let scored = pipeline.ask(&conversation, text, gold, settings, &mut Deaf);
        Trace::new(scored, settings.clone()).gold()
    };
    for (row, question) in rows.iter().zip(&ask.questions) {
        assert_eq!((row.a, row.b), (gold(&a, question), gold(&b, question)), "{}", question.0);
    }
    assert!(rows.iter().any(|row| row.change() != 0.0));
}

#[test]
fn a_sweep_counts_every_question_and_leaves_room_for_a_question() {
    let dir = tempfile::tempdir().unwrap();
    let (send, events) = channel();
    let engine = Engine::start(options(dir.path().join("none")), move |event| drop(send.send(event))).unwrap();
    let conversation = open(&engine, &events, dir.path());
    let questions = with_gold(&conversation);
    let total = questions.len();
    assert!(total > 3);
    let axes = || (Axis::read("alpha=0:0.4:0.2").unwrap(), Axis::read("budget=500:2000:500").unwrap());
    let ask = |number: u64, settings: Settings| {
        let (rows, columns) = axes();
        let (conversation, questions) = (conversation.clone(), questions.clone());
        engine.send(Job::Sweep(SweepAsk { number, conversation, questions, settings, rows, columns }));
    };
    let swept = |wanted: u64| {
        let mut last = 0;
        wait(&events, |event| match event {
            Event::Swept { number, done, total: all, found, .. } if number == wanted => {
                assert_eq!((done, all, found.questions), (last + 1, total, last + 1));
                last = done;
                (done == all).then_some(found)
            }
            _ => None,
        })
    };
    // What the engine counts is what the pipeline keeps.
    let mut pipeline = Pipeline::new(Models::none("not in this test"), Cache::in_memory());
    let mut whole = |settings: &Settings| {
        let scored: Vec<_> =
            questions.iter().map(|(text, gold)| pipeline.ask(&conversation, text, gold, settings, &mut Deaf)).collect();
        let (rows, columns) = axes();
        sweep(&scored, settings, rows, columns).unwrap()
    };
    let same = |one: &Sweep, other: &Sweep| {
        assert_eq!((one.questions, one.gold), (other.questions, other.gold));
        for (a, b) in one.cells.iter().flatten().zip(other.cells.iter().flatten()) {
            assert_eq!((a.kept, a.recall), (b.kept, b.recall));
            assert!((a.words - b.words).abs() < 1e-6, "{a:?} {b:?}");
        }
    };
    let settings = Settings::default();
    ask(1, settings.clone());
    same(&swept(1), &whole(&settings));
    // Other knobs behind the rankers, and then other ones before them.
    let mut other = settings.clone();
    other.set("top-n", "20").unwrap();
    ask(2, other.clone());
    same(&swept(2), &whole(&other));
    other.set("matching", "word").unwrap();
    ask(3, other.clone());
    same(&swept(3), &whole(&other));
    // A question that comes meanwhile is answered, and the sweep goes on.
    ask(4, settings.clone());
    engine.send(Job::Ask(Ask {
        generation: 1,
        conversation: conversation.clone(),
        text: "What is the name of the boat?".to_owned(),
        gold: Vec::new(),
        settings: settings.clone(),
    }));
    let (mut finished, mut last) = (false, None);
    wait(&events, |event| match event {
        Event::Finished { generation: 1 } => {
            finished = true;
            last.is_some().then_some(())
        }
        Event::Swept { number: 4, done, total: all, found, .. } if done == all => {
            last = Some(found);
            finished.then_some(())
        }
        _ => None,
    });
    same(&last.unwrap(), &whole(&settings));
    // Stopped, it says nothing more.
    ask(5, settings.clone());
    engine.send(Job::StopSweep);
    engine.send(Job::Load("nell-and-idris".to_owned()));
    wait(&events, |event| matches!(event, Event::Marks(_)).then_some(()));
    engine.send(Job::Inspect { generation: 1, passage: 0 });
    wait(&events, |event| match event {
        Event::Swept { .. } => panic!("a sweep that was stopped went on"),
        Event::Inspected { .. } => Some(()),
        _ => None,
    });
}

#[test]
fn pinned_settings_are_scored_beside_the_question() {
    let dir = tempfile::tempdir().unwrap();
    let (send, events) = channel();
    let engine = Engine::start(options(dir.path().join("none")), move |event| drop(send.send(event))).unwrap();
    let conversation = open(&engine, &events, dir.path());
    let mut settings = Settings::default();
    let ask = |generation: u64, settings: &Settings| Ask {
        generation,
        conversation: conversation.clone(),
        text: "What is the name of the boat?".to_owned(),
        gold: Vec::new(),
        settings: settings.clone(),
    };
    engine.send(Job::Ask(ask(2, &settings)));
    settings.set("matching", "word").unwrap();
    engine.send(Job::Pinned(ask(1, &settings)));
    engine.send(Job::Pinned(ask(2, &settings)));
    let (generation, scored) = wait(&events, |event| match event {
        Event::Pinned { generation, scored } => Some((generation, scored.unwrap())),
        _ => None,
    });
    assert_eq!((generation, scored.settings.matching.name()), (2, "word"), "for an older question nobody answers");
    // Stopped, there are no half scores.
    engine.send(Job::Stop);
    engine.send(Job::Pinned(ask(2, &settings)));
    let none = wait(&events, |event| match event {
        Event::Pinned { scored, .. } => Some(scored.is_none()),
        _ => None,
    });
    assert!(none);
}
