//! Speed of the small ranker set: pairs through the cross-encoder, passages through the encoder, MaxSim over a history.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use memsift::rank::{CrossEncoder, MiniLm, PassageVectors, SmallCrossEncoder, TextEncoder};

fn ranks(c: &mut Criterion) {
    let Ok(base) = memsift::models::models_dir()
        .map_err(|e| e.to_string())
        .and_then(|dir| MiniLm::load(&dir.join("all-MiniLM-L6-v2")).map_err(|e| e.to_string()))
    else {
        println!("skipped: no model; run 'memsift models pull'");
        return;
    };
    let ce = SmallCrossEncoder::on(&base).expect("the adapter fits its base");
    let texts: Vec<String> = (0..600)
        .map(|i| format!("Noor: on day {i} we walked down to the harbour, and the ferry was late again, as it was {i} times before"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let question = "When was the ferry late for the first time?";
    c.bench_function("cross-encoder, 100 pairs", |b| b.iter(|| ce.score(question, &texts[..100]).expect("scores")));
    c.bench_function("token vectors, 100 passages", |b| {
        b.iter(|| base.encode_passages(&texts[..100]).expect("vectors"))
    });
    let vectors = base.encode_passages(&texts).expect("vectors");
    let all = PassageVectors::new(base.dim(), &vectors).expect("one dimension");
    let query = base.encode_query(question).expect("vectors");
    c.bench_function("MaxSim, 600 passages", |b| b.iter(|| all.score(&query).expect("scores")));
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = ranks }
criterion_main!(benches);
