//! The report for programs: a CSV row a question and setting, or everything as JSON. Knows those formats.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::eval::bootstrap::Interval;
use crate::eval::evidence::Evidence;
use crate::eval::figure::Figure;
use crate::eval::outcome::Loss;
use crate::eval::report::{Lost, Record, Report, SEED, Value, category};
use crate::eval::tune::Tuned;
use crate::explain::export::quoted;
use crate::settings::Settings;
use crate::truncate::FateKind;

/// Columns of the CSV that are read off an outcome as they stand.
const COLUMNS: &str = "conversation,question,category,system,gold,found,ranked,kept,first_loss,first_found,first_gold,\
                       candidates,passages,words,tokens,hit1,recall3,recall5,recall10,mrr,ndcg5,text";

/// One row a question and setting; what was not measured stays empty.
pub(super) fn csv(report: &Report) -> String {
    let mut text = format!("{COLUMNS}\n");
    for record in &report.records {
        for (system, outcome) in report.systems.iter().zip(&record.outcomes) {
            let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
            let order = outcome.order.as_ref();
            let measure =
                |figure: Figure| figure.of(outcome).map(|(value, _)| format!("{value:.6}")).unwrap_or_default();
            let loss = outcome.first_loss().map_or("", Loss::name);
            let conversation = report.conversations.get(record.conversation).cloned().unwrap_or_default();
            let mut fields = vec![
                conversation,
                record.id.clone(),
                category(record).to_owned(),
                system.name.clone(),
                outcome.gold.to_string(),
                outcome.found.to_string(),
                number(order.map(|order| order.ranked)),
                number(order.map(|order| order.kept)),
                loss.to_owned(),
                number(outcome.first_found),
                number(order.and_then(|order| order.first_gold)),
                outcome.candidates.to_string(),
                number(order.map(|order| order.passages)),
                number(order.map(|order| order.words)),
                number(order.and_then(|order| order.tokens)),
            ];
            fields.extend(Figure::ALL.into_iter().filter(|figure| figure.is_measure()).map(measure));
            fields.push(record.text.clone());
            let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
            let _ = writeln!(text, "{}", fields.join(","));
        }
    }
    text
}

/// Everything that was measured.
#[derive(Serialize)]
struct Whole<'a> {
    memsift: &'static str,
    models: BTreeMap<&'static str, &'a str>,
    bootstrap_seed: u64,
    systems: Vec<Summary<'a>>,
    evidence: &'a Evidence,
    tuned: &'a [Tuned],
    conversations: &'a [String],
    questions: &'a [Record],
}

/// What one setting comes to.
#[derive(Serialize)]
struct Summary<'a> {
    name: &'a str,
    /// Knobs that are not at their defaults.
    knobs: BTreeMap<&'static str, String>,
    figures: BTreeMap<&'static str, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_measured: Option<&'static str>,
    lost: BTreeMap<Loss, Lost>,
    fates: BTreeMap<FateKind, u32>,
    /// This system less the first one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    differences: BTreeMap<&'static str, Interval>,
}

/// As JSON.
pub(super) fn json(report: &Report, models: &[(&'static str, String)]) -> anyhow::Result<String> {
    let defaults = Settings::default();
    let systems = report.systems.iter().enumerate().map(|(at, system)| Summary {
        name: &system.name,
        knobs: system.changed(&defaults),
        figures: Figure::ALL.into_iter().filter_map(|figure| Some((figure.key(), report.value(at, figure)?))).collect(),
        not_measured: report.not_measured(at),
        lost: report.losses(at),
        fates: report.fates(at),
        differences: Figure::HEADLINES
            .into_iter()
            .filter(|_| at > 0)
            .filter_map(|figure| Some((figure.key(), report.difference(at, figure)?)))
            .collect(),
    });
    let whole = Whole {
        memsift: env!("CARGO_PKG_VERSION"),
        models: models.iter().map(|(slot, name)| (*slot, name.as_str())).collect(),
        bootstrap_seed: SEED,
        systems: systems.collect(),
        evidence: &report.evidence,
        tuned: &report.tuned,
        conversations: &report.conversations,
        questions: &report.records,
    };
    Ok(format!("{}\n", serde_json::to_string(&whole)?))
}
