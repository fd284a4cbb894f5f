//! Speed of the small ranker set: pairs through the cross-encoder, passages through the encoder, MaxSim over a history.
//!
//! `cargo bench --bench rank -- table` prints the kernels and precisions side by side instead: CPU time of one thread,
//! all in one run, taken in turns, so that load on the machine meets all of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use criterion::{Criterion, criterion_group};
use memsift::rank::{CrossEncoder, Kernel, MiniLm, PassageVectors, Precision, SmallCrossEncoder, TextEncoder};

const QUESTION: &str = "When was the ferry late for the first time?";

fn texts(count: usize) -> Vec<String> {
    (0..count)
        .map(|i| format!("Noor: on day {i} we walked down to the harbour, and the ferry was late again, as it was {i} times before"))
        .collect()
}

fn base(precision: Precision) -> Option<MiniLm> {
    let loaded = memsift::models::models_dir()
        .map_err(|e| e.to_string())
        .and_then(|dir| MiniLm::load_as(&dir.join("all-MiniLM-L6-v2"), precision).map_err(|e| e.to_string()));
    if loaded.is_err() {
        println!("skipped: no model; run 'memsift models pull'");
    }
    loaded.ok()
}

fn ranks(c: &mut Criterion) {
    for precision in Precision::ALL {
        let Some(base) = base(precision) else { return };
        let name = precision.name();
        let ce = SmallCrossEncoder::on(&base).expect("the adapter fits its base");
        let texts = texts(600);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        c.bench_function(&format!("cross-encoder, 100 pairs, {name}"), |b| {
            b.iter(|| ce.score(QUESTION, &texts[..100]).expect("scores"));
        });
        c.bench_function(&format!("token vectors, 100 passages, {name}"), |b| {
            b.iter(|| base.encode_passages(&texts[..100]).expect("vectors"));
        });
        if precision == Precision::Exact {
            let vectors = base.encode_passages(&texts).expect("vectors");
            let all = PassageVectors::new(base.dim(), &vectors).expect("one dimension");
            let query = base.encode_query(QUESTION).expect("vectors");
            c.bench_function("MaxSim, 600 passages", |b| b.iter(|| all.score(&query).expect("scores")));
        }
    }
}

/// CPU time of the calling thread in milliseconds, where the system tells it.
fn thread_cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

/// One way to compute: its name, the kernel, the precision.
type Way = (&'static str, Kernel, Precision);

fn table() {
    const ROUNDS: usize = 15;
    // One thread, and it is this one.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("no pool yet");
    let ways: [Way; 4] = [
        ("exact, loops for every CPU", Kernel::Portable, Precision::Exact),
        ("exact, AVX2 loops", Kernel::Avx2, Precision::Exact),
        ("exact, AVX-512 loops", Kernel::Avx512, Precision::Exact),
        ("fast, AVX-512 BF16", Kernel::Bf16, Precision::Fast),
    ];
    let (Some(exact), Some(fast)) = (base(Precision::Exact), base(Precision::Fast)) else { return };
    let (exact, fast) = (SmallCrossEncoder::on(&exact).expect("fits"), SmallCrossEncoder::on(&fast).expect("fits"));
    let texts = texts(100);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let ways: Vec<Way> = ways.into_iter().filter(|(_, kernel, _)| kernel.is_here()).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
    let mut tokens = 0;
    for _ in 0..=ROUNDS {
        for ((_, kernel, precision), times) in ways.iter().zip(&mut times) {
            assert!(kernel.force());
            let model = if *precision == Precision::Fast { &fast } else { &exact };
            let before = thread_cpu();
            let scores = model.score(QUESTION, &texts).expect("scores");
            times.push(thread_cpu() - before);
            tokens = scores.iter().map(|score| score.tokens).sum();
        }
    }
    println!("cross-encoder, {} pairs, {tokens} tokens, one thread, medians of {ROUNDS} rounds", texts.len());
    println!("{:<30} {:>8} {:>9} {:>6}", "", "CPU ms", "pairs/s", "ratio");
    let mut first = None;
    for ((name, _, _), mut times) in ways.into_iter().zip(times) {
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let first = *first.get_or_insert(median);
        println!("{name:<30} {median:>8.1} {:>9.1} {:>6.2}", 1000.0 * texts.len() as f64 / median, first / median);
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = ranks }

fn main() {
    if std::env::args().any(|argument| argument == "table") {
        table();
    } else {
        benches();
        Criterion::default().configure_from_args().final_summary();
    }
}
