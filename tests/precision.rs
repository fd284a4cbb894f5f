//! Fast against exact: on tiny checkpoints of every family, and (ignored, because it takes minutes) on real weights and
//! every question of a database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assert_cmd::cargo::cargo_bin_cmd;
use memsift::engine::models::{MemoReader, load_tagger};
use memsift::models::models_dir;
use memsift::parse::parse;
use memsift::passage::{PassageSet, Shape};
use memsift::rank::{
    BiEncoder, CacheKey, ColBert, CrossEncoder, Kernel, MiniLm, PassageVectors, Precision, SequenceClassifier, Side,
    SmallCrossEncoder, TextEncoder,
};
use memsift::retrieve::{Reader, retrieve};
use memsift::settings::Settings;
use memsift::store::Store;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rankers").join(name)
}

const QUESTION: &str = "When was the ferry late for the first time?";
const PASSAGES: [&str; 4] = [
    "",
    "Noor: the ferry",
    "Ivo: On Tuesday we walked down to the harbour, and the ferry was late again, as it was three times before.",
    "Noor: I baked bread. It rained the whole day, and nobody knew why the old road was closed.",
];

// ---- tiny checkpoints ----

#[test]
fn fast_scores_of_every_family_are_near_the_exact_ones() {
    for name in ["bert-ce", "deberta-v2-ce", "xlm-roberta-ce", "modernbert-ce"] {
        let exact = SequenceClassifier::load(&folder(name)).unwrap();
        let fast = SequenceClassifier::load_as(&folder(name), Precision::Fast).unwrap();
        let rounded = name != "modernbert-ce";
        assert_eq!(fast.model().precision == Precision::Fast, rounded, "{name} has no other precision than exact");
        let pairs = exact.score(QUESTION, &PASSAGES).unwrap().into_iter().zip(fast.score(QUESTION, &PASSAGES).unwrap());
        let apart: Vec<f32> = pairs.map(|(exact, fast)| (exact.score - fast.score).abs()).collect();
        let worst = apart.iter().fold(0.0_f32, |a, &b| a.max(b));
        println!("{name}: scores within {worst:.1e}");
        assert!(worst < 0.02, "{name}: {apart:?}");
        assert_eq!(worst > 0.0, rounded, "{name}: something was rounded, or nothing");
        let alone: Vec<_> = PASSAGES.iter().map(|passage| fast.score(QUESTION, &[passage]).unwrap()[0]).collect();
        assert_eq!(
            alone,
            fast.score(QUESTION, &PASSAGES).unwrap(),
            "{name}: a score does not depend on its neighbours"
        );
        assert!(fast.score(QUESTION, &[]).unwrap().is_empty());
    }
}

#[test]
fn fast_vectors_point_where_the_exact_ones_do() {
    let colbert =
        |precision| -> Box<dyn TextEncoder> { Box::new(ColBert::load_as(&folder("bert-colbert"), precision).unwrap()) };
    let dense = |precision| -> Box<dyn TextEncoder> {
        Box::new(BiEncoder::load_as(&folder("bert-dense-mean"), None, precision).unwrap())
    };
    let makers: [&dyn Fn(Precision) -> Box<dyn TextEncoder>; 2] = [&colbert, &dense];
    for make in makers {
        let (exact, fast) = (make(Precision::Exact), make(Precision::Fast));
        for side in [Side::Question, Side::Passage] {
            let (exact, fast) = (exact.encode(side, &PASSAGES).unwrap(), fast.encode(side, &PASSAGES).unwrap());
            for (exact, fast) in exact.iter().zip(&fast) {
                assert_eq!((exact.tokens, exact.dim), (fast.tokens, fast.dim));
                let numbers = exact.vectors.iter().zip(&fast.vectors).chain(exact.sentence.iter().zip(&fast.sentence));
                let worst = numbers.map(|(a, b)| (a - b).abs()).fold(0.0_f32, f32::max);
                assert!(worst < 0.05, "{worst}");
            }
        }
    }
}

#[test]
fn exact_and_fast_results_have_different_places_in_the_cache() {
    let exact = SequenceClassifier::load(&folder("bert-ce")).unwrap();
    let fast = SequenceClassifier::load_as(&folder("bert-ce"), Precision::Fast).unwrap();
    let keys = |model: &SequenceClassifier| {
        let id = model.model();
        (CacheKey::pair(id, 64, "a", "b"), CacheKey::text(Side::Passage, id, 64, "b"))
    };
    assert_ne!(keys(&exact).0, keys(&fast).0);
    assert_ne!(keys(&exact).1, keys(&fast).1);
    assert_eq!(exact.model().hash, fast.model().hash, "the weights are the same");
}

// ---- the command line ----

#[test]
fn a_kernel_or_a_precision_that_is_not_there_is_one_sentence() {
    let home = tempfile::tempdir().unwrap();
    let refused = |variable: &str, value: &str| {
        let output = cargo_bin_cmd!("memsift")
            .args(["ask", "Where?", "--db", "nowhere.db"])
            .env("MEMSIFT_MODELS", home.path())
            .env(variable, value)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{variable}={value}");
        String::from_utf8(output.stderr).unwrap()
    };
    let text = refused("MEMSIFT_KERNEL", "sse9");
    assert!(text.contains("there is no such kernel: choose one of portable"), "{text}");
    let text = refused("MEMSIFT_PRECISION", "blurred");
    assert!(text.contains("there is no precision 'blurred': choose one of exact, fast"), "{text}");
    for kernel in Kernel::ALL.into_iter().filter(|kernel| !kernel.is_here()) {
        let text = refused("MEMSIFT_KERNEL", kernel.name());
        assert!(text.contains("this CPU does not have it: choose one of portable"), "{text}");
    }
    if !Kernel::Bf16.is_here() {
        let text = refused("MEMSIFT_PRECISION", "fast");
        assert!(text.contains("--precision fast is for CPUs with AVX-512 BF16"), "{text}");
    }
}

// ---- real weights ----

/// Set `MEMSIFT_CHECK_DB` to a database (LoCoMo), and `MEMSIFT_CHECK_QUESTIONS` to how many of its questions to ask.
#[test]
#[ignore = "takes minutes; needs models and a database"]
fn fast_keeps_the_order_on_real_weights() {
    let Some(db) = std::env::var_os("MEMSIFT_CHECK_DB").map(PathBuf::from) else {
        println!("skipped: MEMSIFT_CHECK_DB names no database");
        return;
    };
    let wanted: usize = std::env::var("MEMSIFT_CHECK_QUESTIONS").map_or(60, |n| n.parse().unwrap());
    let dir = models_dir().unwrap();
    let base = |precision| MiniLm::load_as(&dir.join("all-MiniLM-L6-v2"), precision).unwrap();
    let (exact_base, fast_base) = (base(Precision::Exact), base(Precision::Fast));
    let (exact, fast) = (SmallCrossEncoder::on(&exact_base).unwrap(), SmallCrossEncoder::on(&fast_base).unwrap());
    let reader = MemoReader::new(load_tagger(&dir).ok());
    let settings = Settings::default();
    let store = Store::open(&db).unwrap();
    let talks: Vec<_> = store.summaries().unwrap().iter().map(|row| Arc::new(store.load(&row.id).unwrap())).collect();
    let questions: Vec<_> = talks
        .iter()
        .flat_map(|talk| talk.questions.iter().map(move |question| (talk, question)))
        .filter(|(_, question)| !question.gold.is_empty() && question.category.as_deref() != Some("5"))
        .collect();
    let step = (questions.len() / wanted).max(1);
    let (mut ce, mut maxsim) = (Agreement::default(), Agreement::default());
    let (mut exact_ms, mut fast_ms) = (0.0, 0.0);
    for (talk, question) in questions.into_iter().step_by(step).take(wanted) {
        let set = PassageSet::new(Arc::clone(talk), Shape::of(&settings));
        let analysis = reader.read(&question.text).expect("the tagger");
        let found = retrieve(&set, &parse(&question.text, &analysis, &settings), &reader, &settings);
        let texts: Vec<&str> = found.candidates.iter().map(|at| set.passages[*at as usize].text.as_str()).collect();
        let before = process_cpu();
        let a: Vec<f32> = exact.score(&question.text, &texts).unwrap().iter().map(|pair| pair.score).collect();
        let between = process_cpu();
        let b: Vec<f32> = fast.score(&question.text, &texts).unwrap().iter().map(|pair| pair.score).collect();
        exact_ms += between - before;
        fast_ms += process_cpu() - between;
        ce.compare(&a, &b);
        // Vectors of a part of the questions: they take as long again.
        if ce.questions % 4 == 1 {
            let sums = |base: &MiniLm| -> Vec<f32> {
                let passages = PassageVectors::new(base.dim(), &base.encode_passages(&texts).unwrap()).unwrap();
                let query = base.encode_query(&question.text).unwrap();
                passages.score(&query).unwrap().iter().map(|passage| passage.maxsim.score).collect()
            };
            maxsim.compare(&sums(&exact_base), &sums(&fast_base));
        }
    }
    println!("cross-encoder: {}", ce.text());
    println!("token MaxSim: {}", maxsim.text());
    println!("CPU time: exact {exact_ms:.0} ms, fast {fast_ms:.0} ms");
    assert!(ce.questions > 0 && ce.pairs >= 1000, "{} pairs are too few to say anything", ce.pairs);
    assert!(ce.worst < 0.05, "a score is off by {}", ce.worst);
}

/// How far two rankings of the same passages agree, over some questions.
#[derive(Default)]
struct Agreement {
    questions: usize,
    pairs: usize,
    worst: f32,
    /// Squares of the differences, added up.
    squares: f64,
    /// Questions with the same 10 in the same order, with the same 10, with the same first, with the same 60.
    same_order: usize,
    same_ten: usize,
    same_first: usize,
    same_sixty: usize,
    /// Of the first 10 and 60, those in both.
    in_ten: f64,
    in_sixty: f64,
    /// Kendall's distance: pairs of passages among exact's first 10 that stand the other way round.
    swapped: usize,
    compared: usize,
}

impl Agreement {
    fn compare(&mut self, a: &[f32], b: &[f32]) {
        self.questions += 1;
        self.pairs += a.len();
        for (a, b) in a.iter().zip(b) {
            self.worst = self.worst.max((a - b).abs());
            self.squares += f64::from(a - b).powi(2);
        }
        let order = |scores: &[f32]| {
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|&x, &y| scores[y].total_cmp(&scores[x]).then(x.cmp(&y)));
            order
        };
        let (x, y) = (order(a), order(b));
        let first = |n: usize, order: &[usize]| order[..n.min(order.len())].to_vec();
        let share = |n: usize| {
            let (x, y) = (first(n, &x), first(n, &y));
            let both = x.iter().filter(|at| y.contains(at)).count();
            (both == x.len(), both as f64 / x.len().max(1) as f64)
        };
        self.same_order += usize::from(first(10, &x) == first(10, &y));
        self.same_first += usize::from(first(1, &x) == first(1, &y));
        let (ten, sixty) = (share(10), share(60));
        self.same_ten += usize::from(ten.0);
        self.same_sixty += usize::from(sixty.0);
        self.in_ten += ten.1;
        self.in_sixty += sixty.1;
        let best = first(10, &x);
        for (i, &p) in best.iter().enumerate() {
            for &q in &best[i + 1..] {
                self.compared += 1;
                self.swapped += usize::from(b[p] < b[q]);
            }
        }
    }

    fn text(&self) -> String {
        let share = |n: usize| 100.0 * n as f64 / self.questions.max(1) as f64;
        format!(
            "{} questions, {} pairs; largest difference {:.5}, root of mean square {:.6}; same first {:.1} %, same 10 \
             {:.1} % (in the same order {:.1} %), same 60 {:.1} %; of 10 in both {:.2} %, of 60 {:.2} %; pairs among \
             the first 10 that changed places {:.2} %",
            self.questions,
            self.pairs,
            self.worst,
            (self.squares / self.pairs.max(1) as f64).sqrt(),
            share(self.same_first),
            share(self.same_ten),
            share(self.same_order),
            share(self.same_sixty),
            100.0 * self.in_ten / self.questions.max(1) as f64,
            100.0 * self.in_sixty / self.questions.max(1) as f64,
            100.0 * self.swapped as f64 / self.compared.max(1) as f64,
        )
    }
}

/// CPU time of this process in milliseconds, from the system's accounts; 0 where they are not.
fn process_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    // User and system time, in hundredths of a second.
    (ticks(11) + ticks(12)) * 10.0
}
