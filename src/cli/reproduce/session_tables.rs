//! The tables of the second paper's experiment. Knows an experiment and how its numbers are written; computes none.

use super::super::chart::Chart;
use super::super::document::Document;
use super::super::table::Table;
use crate::eval::bootstrap::{RESAMPLES, difference};
use crate::eval::lexical_dense::{Example, Experiment, GRID, POOLERS, Scorer, lambda, name_of};
use crate::eval::metrics::Metrics;
use crate::eval::report::SEED;
use crate::settings::Pooler;
use crate::store::clean::clean_line;

/// Turns of the longest gold session: the bins in which length dilution is told.
const LENGTHS: [(usize, usize); 4] = [(0, 7), (8, 15), (16, 25), (26, usize::MAX)];

/// All tables and charts. `reranked` has the measures of every question after reranking.
pub(super) fn add(document: &mut Document, experiment: &Experiment, reranked: Option<&[Metrics]>, names: &[String]) {
    document.table(main_table(experiment, reranked));
    sensitivity(document, experiment);
    let told = told(experiment);
    let category = |one: &Example| clean_line(one.category.as_deref().unwrap_or("none"), &mut 0).into_owned();
    let mut categories: Vec<String> = experiment.examples.iter().map(category).collect();
    categories.sort_unstable();
    categories.dedup();
    document.table(groups(experiment, &told, "Hit@1 by category", &categories, category));
    document.table(differences(experiment, reranked));
    let title = "Length dilution: Hit@1 by turns of the longest gold session";
    document.table(groups(experiment, &told, title, &LENGTHS.map(bin_name), bin));
    document.table(conversations(experiment, &told, names));
}

/// Every scorer, in the order of the tables.
fn scorers() -> impl Iterator<Item = Scorer> {
    let pooled = |pooler| [Scorer::Dense(pooler), Scorer::Fused(pooler), Scorer::Rrf(pooler)];
    [Scorer::Bm25, Scorer::Bm25L].into_iter().chain(POOLERS.into_iter().flat_map(pooled))
}

fn name(scorer: Scorer) -> String {
    match scorer {
        Scorer::Bm25 => "BM25".to_owned(),
        Scorer::Bm25L => "BM25L".to_owned(),
        Scorer::Dense(pooler) => name_of(pooler).to_owned(),
        Scorer::Fused(pooler) => format!("BM25 + {}, λ held out", name_of(pooler)),
        Scorer::Rrf(pooler) => format!("RRF of BM25, {}", name_of(pooler)),
    }
}

/// What the figures are held against on LoCoMo-10 with all-MiniLM-L6-v2.
fn reference(scorer: Scorer) -> &'static str {
    match scorer {
        Scorer::Bm25 => ".6395",
        Scorer::Bm25L => "",
        Scorer::Dense(Pooler::Mean) => ".3276",
        Scorer::Dense(Pooler::Max) => ".4115",
        Scorer::Dense(Pooler::Top3) => ".4226",
        Scorer::Dense(Pooler::Lse10) => ".3893",
        Scorer::Dense(Pooler::Token) => ".6572",
        Scorer::Fused(Pooler::Mean) => ".6456",
        Scorer::Fused(Pooler::Max) => ".6613",
        Scorer::Fused(Pooler::Top3) => ".6618",
        Scorer::Fused(Pooler::Lse10) => ".6577",
        Scorer::Fused(Pooler::Token) => ".7310",
        Scorer::Rrf(Pooler::Mean) => ".5152",
        Scorer::Rrf(Pooler::Max) => ".5748",
        Scorer::Rrf(Pooler::Top3) => ".5642",
        Scorer::Rrf(Pooler::Lse10) => ".5384",
        Scorer::Rrf(Pooler::Token) => ".7149",
        Scorer::Dense(Pooler::Text) | Scorer::Fused(Pooler::Text) | Scorer::Rrf(Pooler::Text) => "",
    }
}

fn main_table(experiment: &Experiment, reranked: Option<&[Metrics]>) -> Table {
    let head = "scorer (reference: LoCoMo-10, MiniLM)";
    let mut table = Table::new("", [head, "reference", "Hit@1", "hits", "R@3", "R@5", "MRR", "NDCG@5"]);
    let mut row = |name: String, reference: &str, metrics: Option<&[Metrics]>, why: &str| {
        let Some(metrics) = metrics else {
            table.row([name, reference.to_owned(), why.to_owned()]);
            return;
        };
        let mean = Metrics::mean(metrics);
        let hits: f64 = metrics.iter().map(|one| one.hit1).sum();
        let measures = [mean.recall3, mean.recall5, mean.mrr, mean.ndcg5].map(|measure| format!("{measure:.4}"));
        let first = [name, reference.to_owned(), format!("{:.4}", mean.hit1), format!("{hits:.0}")];
        table.row(first.into_iter().chain(measures));
    };
    for scorer in scorers() {
        let why = if matches!(scorer, Scorer::Fused(pooler) if experiment.sensitivity(pooler).is_some()) {
            "not measured: λ is chosen on other conversations, and there is one only"
        } else {
            "not measured: model absent"
        };
        row(name(scorer), reference(scorer), experiment.metrics(scorer).as_deref(), why);
    }
    row(reranked_name(), "", reranked, "not measured");
    table
}

fn reranked_name() -> String {
    format!("{}, ten best reranked", name(Scorer::Fused(Pooler::Max)))
}

/// Poolers that were measured, each with what a function makes of it.
fn measured<T>(of: impl Fn(Pooler) -> Option<T>) -> Vec<(Pooler, T)> {
    POOLERS.into_iter().filter_map(|pooler| Some((pooler, of(pooler)?))).collect()
}

fn sensitivity(document: &mut Document, experiment: &Experiment) {
    let curves = measured(|pooler| experiment.sensitivity(pooler));
    let title = "Hit@1 by λ, the share of BM25, one λ for all questions";
    let names = curves.iter().map(|(pooler, _)| name_of(*pooler));
    let mut table = Table::new(title, ["λ"].into_iter().chain(names));
    for at in 0..GRID {
        let cells = curves.iter().map(|(_, curve)| format!("{:.4}", curve.get(at).copied().unwrap_or(0.0)));
        table.row([format!("{:.2}", lambda(at))].into_iter().chain(cells));
    }
    if !curves.is_empty() {
        document.table(table);
    }
    let chosen = measured(|pooler| experiment.chosen(pooler));
    let line = |(pooler, folds): &(Pooler, Vec<f64>)| {
        let folds: Vec<String> = folds.iter().map(|lambda| format!("{lambda:.2}")).collect();
        format!("λ held out, {}: {}\n", name_of(*pooler), folds.join(" "))
    };
    document.lines(chosen.iter().map(line).collect::<String>());
    let line = |(pooler, curve): &(Pooler, Vec<f64>)| {
        let points = curve.iter().enumerate().map(|(at, hit)| (lambda(at), *hit)).collect();
        (name_of(*pooler).to_owned(), points)
    };
    if !curves.is_empty() {
        let lines = curves.iter().map(line).collect();
        document.chart(Chart::Lines { title: title.to_owned(), x: "λ".to_owned(), lines });
    }
}

/// A scorer of the smaller tables and its measures, a question each.
type Told = (String, Vec<Metrics>);

/// BM25, then each pooler alone and fused, as far as they were measured.
fn told(experiment: &Experiment) -> Vec<Told> {
    let wanted = scorers().filter(|scorer| !matches!(scorer, Scorer::Rrf(_)));
    wanted.filter_map(|scorer| Some((name(scorer), experiment.metrics(scorer)?))).collect()
}

/// Hit@1 of those questions that a test keeps.
fn hit1(metrics: &[Metrics], experiment: &Experiment, keeps: impl Fn(&Example) -> bool) -> f64 {
    Metrics::mean(metrics.iter().zip(&experiment.examples).filter(|(_, one)| keeps(one)).map(|(one, _)| one)).hit1
}

/// A table with a row a scorer and a column a group of questions; groups without questions are left out.
fn groups(
    experiment: &Experiment,
    told: &[Told],
    title: &str,
    names: &[String],
    group: impl Fn(&Example) -> String,
) -> Table {
    let count = |name: &String| experiment.examples.iter().filter(|one| group(one) == *name).count();
    let names: Vec<&String> = names.iter().filter(|name| count(name) > 0).collect();
    let heads = names.iter().map(|name| format!("{name} ({})", count(name)));
    let mut table = Table::new(title, ["scorer".to_owned()].into_iter().chain(heads));
    for (scorer, metrics) in told {
        let cells = names.iter().map(|name| format!("{:.4}", hit1(metrics, experiment, |one| group(one) == **name)));
        table.row([scorer.clone()].into_iter().chain(cells));
    }
    table
}

fn bin_name((least, most): (usize, usize)) -> String {
    match most {
        usize::MAX => format!("{least}+"),
        _ => format!("{least}-{most}"),
    }
}

fn bin(one: &Example) -> String {
    let found = LENGTHS.into_iter().find(|(least, most)| (*least..=*most).contains(&one.longest));
    found.map_or_else(String::new, bin_name)
}

fn conversations(experiment: &Experiment, told: &[Told], names: &[String]) -> Table {
    let wanted = ["BM25".to_owned(), name(Scorer::Dense(Pooler::Max)), name(Scorer::Fused(Pooler::Max))];
    let columns: Vec<_> = told.iter().filter(|(name, _)| wanted.contains(name)).collect();
    let heads = ["conversation", "questions"].into_iter().chain(columns.iter().map(|(name, _)| name.as_str()));
    let mut table = Table::new("Hit@1 by conversation", heads);
    for (at, conversation) in names.iter().enumerate() {
        let own = |one: &Example| one.conversation == at;
        let count = experiment.examples.iter().filter(|one| own(one)).count();
        let first = [clean_line(conversation, &mut 0).into_owned(), count.to_string()];
        let cells = columns.iter().map(|(_, metrics)| format!("{:.4}", hit1(metrics, experiment, own)));
        table.row(first.into_iter().chain(cells));
    }
    table
}

/// The contrasts of the paper, and those of token MaxSim.
fn differences(experiment: &Experiment, reranked: Option<&[Metrics]>) -> Table {
    let late = Pooler::Max;
    let pairs = [
        (Scorer::Dense(late), Scorer::Dense(Pooler::Mean)),
        (Scorer::Fused(late), Scorer::Fused(Pooler::Mean)),
        (Scorer::Dense(Pooler::Top3), Scorer::Dense(late)),
        (Scorer::Dense(Pooler::Lse10), Scorer::Dense(late)),
        (Scorer::Fused(late), Scorer::Dense(late)),
        (Scorer::Fused(late), Scorer::Bm25),
        (Scorer::Dense(late), Scorer::Bm25),
        (Scorer::Bm25L, Scorer::Bm25),
        (Scorer::Fused(late), Scorer::Rrf(late)),
        (Scorer::Rrf(late), Scorer::Bm25),
        (Scorer::Fused(Pooler::Token), Scorer::Fused(late)),
        (Scorer::Fused(Pooler::Token), Scorer::Bm25),
        (Scorer::Dense(Pooler::Token), Scorer::Bm25),
    ];
    let of = |metrics: &[Metrics]| metrics.iter().map(|one| one.hit1).collect::<Vec<f64>>();
    let hits = |scorer| Some(of(&experiment.metrics(scorer)?));
    let mut compared: Vec<(String, Vec<f64>, Vec<f64>)> = pairs
        .into_iter()
        .filter_map(|(first, second)| {
            Some((format!("{} less {}", name(first), name(second)), hits(first)?, hits(second)?))
        })
        .collect();
    if let (Some(reranked), Some(before)) = (reranked, hits(Scorer::Fused(late))) {
        compared.push((format!("{} less the same before", reranked_name()), of(reranked), before));
    }
    let title = format!(
        "Differences of Hit@1 in points, 95 % interval and one-sided p: {RESAMPLES} resamples of conversations, seed {SEED}"
    );
    let mut table = Table::new(title, ["scorers", "difference", "95 % interval", "p"]);
    for (pair, first, second) in compared {
        if let Some(found) = difference(&first, &second, &experiment.conversations(), SEED) {
            table.row([
                pair,
                format!("{:+.2}", found.value * 100.0),
                format!("{:+.2} … {:+.2}", found.low * 100.0, found.high * 100.0),
                format!("{:.4}", found.p),
            ]);
        }
    }
    table
}
