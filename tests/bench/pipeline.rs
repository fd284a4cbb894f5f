//! Speed of what needs no model: the scan over a long history, the cut at every key press, an import, and opening a large
//! database to its list.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memsift::engine::models::{MemoReader, load_tagger};
use memsift::explain::whatif::WhatIfs;
use memsift::history::Conversation;
use memsift::parse::{parse, parse_plain};
use memsift::passage::{PassageSet, Shape};
use memsift::retrieve::{NoReader, Reader, retrieve};
use memsift::scored::{Model, Ranker, RankerState, Score, Scored, Timings};
use memsift::settings::{Settings, Truncation};
use memsift::store::Store;
use memsift::store::import::{import, import_texts};
use memsift::trace::Trace;

const QUESTION: &str = "When did Noor's ferry leave the harbour for Lisbon?";

fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MEMSIFT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    Some(root.join("data").join(name)).filter(|path| path.exists())
}

/// A history of made-up turns as JSON lines; every seventh turn says something about a ferry.
fn lines(conversations: usize, turns: usize, words: usize) -> String {
    const SAID: [&str; 12] =
        ["bread", "again", "the", "old", "road", "and", "nobody", "knew", "why", "it", "rained", "there"];
    let mut text = String::new();
    for conversation in 0..conversations {
        for turn in 0..turns {
            let speaker = if turn % 2 == 0 { "Noor" } else { "Ivo" };
            let _ = write!(
                text,
                "{{\"conversation\": \"c{conversation}\", \"session\": \"s{}\", \"id\": \"t{turn}\", \
                 \"speaker\": \"{speaker}\", \"time\": \"2024-03-02T19:12:00\", \"text\": \"",
                turn / 20
            );
            for word in 0..words {
                text.push_str(SAID[(turn * 7 + word * word) % SAID.len()]);
                text.push(' ');
            }
            text.push_str(if turn % 7 == 0 { "on the ferry\"}\n" } else { "on foot\"}\n" });
        }
    }
    text
}

/// The longest conversation of a database.
fn longest(path: &Path) -> Arc<Conversation> {
    let store = Store::open(path).expect("a database");
    let rows = store.summaries().expect("a list");
    let longest = rows.iter().max_by_key(|row| row.words).expect("a conversation");
    Arc::new(store.load(&longest.id).expect("a history"))
}

/// About 115,000 tokens: a haystack of LongMemEval, or as many made-up words.
fn haystack() -> Arc<Conversation> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.db");
    match shared("longmemeval/longmemeval_s_multiq_3haystacks.json") {
        Some(file) => import(&[file], &path, &mut |_| {}).expect("an import"),
        None => import_texts(&[("long.jsonl", &lines(1, 500, 180))], &path, &mut |_| {}).expect("an import"),
    };
    longest(&path)
}

fn retrieval(criterion: &mut Criterion) {
    let talk = haystack();
    let settings = Settings::default();
    let set = PassageSet::new(Arc::clone(&talk), Shape::of(&settings));
    // One core, so that the figure does not depend on how many a machine has.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("no pool yet");
    let mut group = criterion.benchmark_group("retrieval");
    group.throughput(Throughput::Elements(talk.words() as u64));
    let query = parse_plain(QUESTION, &settings);
    group.bench_function("the question's terms", |bencher| {
        bencher.iter(|| retrieve(black_box(&set), &query, &NoReader, &settings));
    });
    let tagger = memsift::models::models_dir().map_err(|error| error.to_string()).and_then(|dir| load_tagger(&dir));
    match tagger {
        Ok(tagger) => {
            // The reader remembers what it has read: this is the price of a second question, not of the first.
            let reader = MemoReader::new(Some(tagger));
            let query = parse(QUESTION, &reader.read(QUESTION).expect("an analysis"), &settings);
            group.bench_function("all hops and feedback", |bencher| {
                bencher.iter(|| retrieve(black_box(&set), &query, &reader, &settings));
            });
        }
        Err(reason) => println!("skipped: {reason}"),
    }
    group.bench_function("cutting the history into passages", |bencher| {
        bencher.iter(|| PassageSet::new(black_box(Arc::clone(&talk)), Shape::of(&settings)));
    });
    group.finish();
}

/// A question with so many candidates, all of them scored by both rankers.
fn scored(candidates: usize) -> Arc<Scored> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.db");
    import_texts(&[("many.jsonl", &lines(1, candidates, 20))], &path, &mut |_| {}).expect("an import");
    let settings = Settings { rank_everything: true, ..Settings::default() };
    let set = PassageSet::new(longest(&path), Shape::of(&settings));
    let query = parse_plain(QUESTION, &settings);
    let retrieval = retrieve(&set, &query, &NoReader, &settings);
    let ranker = |seed: u32| {
        let value = |at: u32| (at ^ seed).wrapping_mul(0x9e37_79b9) as f32 / u32::MAX as f32;
        let score = |at| Some(Score { value: value(at), logit: None, tokens: 40, clipped: 0, turn: None });
        let model = Model { name: "made up".to_owned(), hash: String::new() };
        let scores = (0..set.len() as u32).map(score).collect();
        Arc::new(Ranker::new(Some(model), RankerState::Done, scores, &retrieval.candidates))
    };
    Arc::new(Scored {
        bm25: Arc::new(set.bm25().scores(QUESTION)),
        ce: ranker(7),
        colbert: ranker(11),
        dense: ranker(13),
        sentences: None,
        gold: Arc::default(),
        timings: Timings::default(),
        settings: Arc::new(settings),
        query: Arc::new(query),
        retrieval: Arc::new(retrieval),
        passages: Arc::new(set),
    })
}

fn cut(criterion: &mut Criterion) {
    let scored = scored(2_000);
    assert_eq!(scored.retrieval.candidates.len(), 2_000);
    criterion.bench_function("fuse and truncate, 2,000 candidates", |bencher| {
        bencher.iter(|| Trace::new(Arc::clone(&scored), black_box(Settings::default())));
    });
    let mut group = criterion.benchmark_group("what-ifs, 2,000 candidates");
    let cuts = [
        ("adaptive", Settings::default()),
        ("fixed", Settings { truncation: Truncation::Fixed, ..Settings::default() }),
        ("adaptive, copies dropped", Settings { dedup: true, ..Settings::default() }),
    ];
    for (name, settings) in cuts {
        let trace = Trace::new(Arc::clone(&scored), settings);
        for place in [50, 150, 1_000] {
            let Some(row) = trace.cut.rows.get(place) else { continue };
            group.bench_function(format!("{name}, place {place}"), |bencher| {
                bencher.iter(|| WhatIfs::of(black_box(&trace), row.passage));
            });
        }
    }
    group.finish();
}

fn importing(criterion: &mut Criterion) {
    let Some(file) = shared("locomo10.json") else {
        println!("skipped: no LoCoMo in ../shared");
        return;
    };
    let mut group = criterion.benchmark_group("import");
    group.sample_size(10);
    group.bench_function("LoCoMo-10", |bencher| {
        bencher.iter_with_large_drop(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let files = [file.clone()];
            let report = import(&files, &folder.path().join("locomo.db"), &mut |_| {}).expect("an import");
            (folder, report)
        });
    });
    group.finish();
}

fn opening(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.db");
    import_texts(&[("large.jsonl", &lines(100, 1_000, 12))], &path, &mut |_| {}).expect("an import");
    criterion.bench_function("open 100,000 turns to the list", |bencher| {
        bencher.iter(|| Store::open(black_box(&path)).expect("a database").summaries().expect("a list"));
    });
}

criterion_group!(benches, retrieval, cut, importing, opening);
criterion_main!(benches);
