//! How long the tagger takes to load, and to annotate one of the LoCoMo questions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memsift::nlp::Tagger;

fn model_folder() -> Option<PathBuf> {
    let models = match std::env::var_os("MEMSIFT_MODELS") {
        Some(models) => PathBuf::from(models),
        None => directories::ProjectDirs::from("", "", "memsift")?.data_dir().join("models"),
    };
    Some(models.join("en_core_web_sm")).filter(|folder| folder.is_dir())
}

/// The questions of the reference file.
fn questions() -> Option<Vec<String>> {
    let shared = match std::env::var_os("MEMSIFT_SHARED") {
        Some(shared) => PathBuf::from(shared),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    };
    let file = shared.join("fixtures/tagger/en_core_web_sm.jsonl.gz");
    let mut lines = String::new();
    let mut reader = flate2::read::GzDecoder::new(std::fs::File::open(file).ok()?);
    reader.read_to_string(&mut lines).ok()?;
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    let questions = lines.filter(|line: &serde_json::Value| line["src"] == "locomo_q");
    let texts = questions.map(|line| line["text"].as_str().unwrap().to_owned());
    Some(texts.collect())
}

fn bench(criterion: &mut Criterion) {
    let Some(folder) = model_folder() else {
        println!("skipped: no model");
        return;
    };
    criterion.bench_function("tagger/load", |bencher| {
        bencher.iter(|| Tagger::load(black_box(&folder)).unwrap());
    });
    let Some(questions) = questions() else {
        println!("skipped: no questions in ../shared");
        return;
    };
    let tagger = Tagger::load(&folder).unwrap();
    let mut group = criterion.benchmark_group("tagger");
    group.throughput(Throughput::Elements(questions.len() as u64));
    group.sample_size(10);
    group.bench_function("all_questions", |bencher| {
        bencher.iter(|| {
            for question in &questions {
                black_box(tagger.analyse(question));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
