//! The report for people: tables of figures, losses and differences. Knows how numbers are written; computes none.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::chart::Chart;
use super::super::document::Document;
use super::super::table::Table;
use crate::eval::bootstrap::RESAMPLES;
use crate::eval::figure::Figure;
use crate::eval::outcome::Loss;
use crate::eval::report::{Record, Report, SEED, Value, category};
use crate::eval::tune::Tuned;
use crate::explain::fate::{number, thousands};
use crate::settings::Settings;
use crate::store::clean::clean_line;
use crate::truncate::FateKind;

/// Figures of the tables by category and conversation.
const SMALL: [Figure; 7] =
    [Figure::Found, Figure::Kept, Figure::KeptByQuestion, Figure::Hit1, Figure::Recall5, Figure::Mrr, Figure::Ndcg5];

/// What stands where a model is absent.
const ABSENT: &str = "not measured";

/// All tables, and charts of the tuned knobs.
pub(super) fn document(report: &Report, models: &[(&'static str, String)], seconds: f64) -> Document {
    let mut document = Document::new("memsift eval");
    document.lines(head(report, models, seconds));
    document.table(figures(report));
    document.table(differences(report));
    document.table(losses(report));
    for at in 0..report.systems.len() {
        document.table(groups(report, at, "category", &report.categories(), |record, name| category(record) == name));
    }
    for at in 0..report.systems.len() {
        let number = |record: &Record, name: &str| {
            report.conversations.get(record.conversation).is_some_and(|conversation| conversation == name)
        };
        document.table(groups(report, at, "conversation", &report.conversations, number));
    }
    for tuned in &report.tuned {
        let values = tuned.axis.values.iter().copied();
        let points = values.zip(&tuned.curve).map(|(value, (share, _))| (value, share * 100.0)).collect();
        document.chart(Chart::Lines {
            title: format!("% of the gold kept over {}", tuned.axis.knob),
            x: tuned.axis.knob.clone(),
            lines: vec![("all conversations".to_owned(), points)],
        });
        document.table(curve(tuned));
        document.table(folds(report, tuned));
    }
    document.table(evidence(report));
    document
}

/// What was asked, of which models, under which knobs.
fn head(report: &Report, models: &[(&'static str, String)], seconds: f64) -> String {
    let evidence = &report.evidence;
    let mut text = format!(
        "{} questions with gold in {}, {} gold passages, {seconds:.1} s\n",
        thousands(report.records.len() as u64),
        match report.conversations.len() {
            1 => "1 conversation".to_owned(),
            many => format!("{many} conversations"),
        },
        thousands(evidence.gold as u64)
    );
    let models: Vec<String> = models.iter().map(|(slot, name)| format!("{slot} {name}")).collect();
    let _ = writeln!(text, "{}", models.join(", "));
    let defaults = Settings::default();
    let base = report.systems.first().map_or(&defaults, |first| &first.settings);
    for (at, system) in report.systems.iter().enumerate() {
        let changed = system.changed(if at == 0 { &defaults } else { base });
        let knobs: Vec<String> = changed.iter().map(|(knob, value)| format!("{knob} {value}")).collect();
        let knobs = match (at, knobs.is_empty()) {
            (0, true) => "every knob at its default".to_owned(),
            (0, false) => knobs.join(", "),
            _ => format!("as A, but {}", knobs.join(", ")),
        };
        let why = report.not_measured(at).map(|why| format!("; its order is not measured: {why}")).unwrap_or_default();
        let _ = writeln!(text, "{}: {knobs}{why}", system.name);
    }
    if report.conversations.len() < 2 {
        text.push_str("one conversation only: intervals over conversations cannot be told\n");
    }
    text
}

/// A figure as tables show it.
fn shown(figure: Figure, value: f64) -> String {
    if figure.is_share() {
        format!("{:.2} %", value * 100.0)
    } else if figure.is_measure() {
        format!("{value:.4}")
    } else {
        format!("{value:.1}")
    }
}

fn with_interval(figure: Figure, value: &Value) -> String {
    let (Some(low), Some(high)) = (value.low, value.high) else { return shown(figure, value.value) };
    let end = |end: f64| shown(figure, end).trim_end_matches(" %").to_owned();
    format!("{} [{}, {}]", shown(figure, value.value), end(low), end(high))
}

/// Every figure of every system.
fn figures(report: &Report) -> Table {
    let title = format!("Figures, with 95 % intervals over conversations ({RESAMPLES} resamples, seed {SEED})");
    let title = if report.conversations.len() < 2 { "Figures".to_owned() } else { title };
    let mut table = Table::new(title, ["figure"].into_iter().chain(names(report)));
    for figure in Figure::ALL {
        let cells = (0..report.systems.len()).map(|at| {
            report.value(at, figure).map_or_else(|| ABSENT.to_owned(), |value| with_interval(figure, &value))
        });
        table.row([figure.name().to_owned()].into_iter().chain(cells));
    }
    table
}

fn names(report: &Report) -> impl Iterator<Item = &str> {
    report.systems.iter().map(|system| system.name.as_str())
}

/// Every system less the first one.
fn differences(report: &Report) -> Table {
    let title = "Differences in points, with 95 % intervals and one-sided p";
    let mut table = Table::new(title, ["figure", "systems", "difference", "95 % interval", "p"]);
    for (at, system) in report.systems.iter().enumerate().skip(1) {
        for figure in Figure::HEADLINES {
            if let Some(found) = report.difference(at, figure) {
                table.row([
                    figure.name().to_owned(),
                    format!("{} less A", system.name),
                    format!("{:+.2}", found.value * 100.0),
                    format!("{:+.2} to {:+.2}", found.low * 100.0, found.high * 100.0),
                    format!("{:.4}", found.p),
                ]);
            }
        }
    }
    table
}

/// Where gold was lost: passages by fate, and questions by their first loss.
fn losses(report: &Report) -> Table {
    let title = "What became of the gold: passages (questions that lost some there first)";
    let mut table = Table::new(title, ["stage"].into_iter().chain(names(report)));
    let systems = 0..report.systems.len();
    let all: Vec<_> =
        systems.clone().map(|at| (report.losses(at), report.fates(at), report.not_measured(at))).collect();
    let cell = |measured: bool, text: String| if measured { text } else { ABSENT.to_owned() };
    let fate = |kind: FateKind| {
        let count = move |fates: &BTreeMap<FateKind, u32>| fates.get(&kind).copied().unwrap_or(0);
        all.iter().map(move |(_, fates, why)| cell(why.is_none(), count(fates).to_string()))
    };
    table.row(["kept".to_owned()].into_iter().chain(fate(FateKind::Kept)));
    for loss in Loss::ALL {
        if !all.iter().any(|(losses, _, _)| losses.contains_key(&loss)) {
            continue;
        }
        let sum = all.iter().map(|(losses, _, why)| {
            let lost = losses.get(&loss).copied().unwrap_or_default();
            cell(why.is_none(), format!("{} ({})", lost.passages, lost.questions))
        });
        table.row([loss.name().to_owned()].into_iter().chain(sum));
        for kind in FateKind::ALL.into_iter().rev().filter(|kind| Loss::of(*kind) == Some(loss)) {
            if all.iter().any(|(_, fates, _)| fates.contains_key(&kind)) {
                table.row([format!("  {}", kind.name())].into_iter().chain(fate(kind)));
            }
        }
    }
    table
}

/// The figures of one system for groups of questions.
fn groups(report: &Report, at: usize, what: &str, names: &[String], is: impl Fn(&Record, &str) -> bool) -> Table {
    let Some(system) = report.systems.get(at) else { return Table::default() };
    let of = if report.systems.len() > 1 { format!("{}, by {what}", system.name) } else { format!("By {what}") };
    let columns = [what, "questions"].into_iter().chain(SMALL.iter().map(|figure| short(*figure)));
    let mut table = Table::new(of, columns);
    for name in names {
        let outcomes = report.outcomes(at, |record| is(record, name));
        let cells = SMALL.iter().map(|figure| {
            figure.over(outcomes.iter().copied()).map_or_else(|| ABSENT.to_owned(), |value| shown(*figure, value))
        });
        let row = [clean_line(name, &mut 0).into_owned(), outcomes.len().to_string()];
        table.row(row.into_iter().chain(cells));
    }
    table
}

fn short(figure: Figure) -> &'static str {
    match figure {
        Figure::Found => "found",
        Figure::Kept => "kept",
        Figure::KeptByQuestion => "by question",
        _ => figure.name(),
    }
}

/// What every value of a tuned knob keeps of all gold.
fn curve(tuned: &Tuned) -> Table {
    let knob = &tuned.axis.knob;
    let mut table = Table::new(format!("A under every value of {knob}"), [knob.as_str(), "gold kept", "words"]);
    for (value, (share, words)) in tuned.axis.values.iter().zip(&tuned.curve) {
        table.row([number(*value), format!("{:.2} %", share * 100.0), format!("{words:.0}")]);
    }
    table
}

/// The value that the other conversations chose for each.
fn folds(report: &Report, tuned: &Tuned) -> Table {
    let knob = &tuned.axis.knob;
    let title = format!(
        "{knob} held out: {:.2} % of the gold kept [{:.2}, {:.2}], {:.0} words",
        tuned.held_out.value * 100.0,
        tuned.held_out.low * 100.0,
        tuned.held_out.high * 100.0,
        tuned.words
    );
    let mut table = Table::new(title, ["conversation".to_owned(), format!("{knob} chosen on the others")]);
    for (conversation, value) in report.conversations.iter().zip(&tuned.chosen) {
        let value = value.map_or_else(|| "-".to_owned(), number);
        table.row([clean_line(conversation, &mut 0).into_owned(), value]);
    }
    table
}

/// How far the gold can be trusted; only what there is to say.
fn evidence(report: &Report) -> Table {
    let found = &report.evidence;
    let mut table = Table::new("The evidence itself, apart from what was missed", ["what", "count"]);
    let rows = [
        ("questions that name no evidence, left out", found.without_evidence),
        ("questions whose evidence leads to no turn: not measurable, left out", found.not_measurable),
        ("references to a turn that is not in the history", found.not_in_history()),
        ("references that cannot be read", found.unreadable()),
        ("references that were understood although they are written otherwise", found.mended()),
        ("gold turns of another speaker than the one whom the question names", found.other_speaker),
        ("  questions with such a turn", found.questions_other_speaker),
    ];
    for (what, count) in rows.into_iter().filter(|(_, count)| *count > 0) {
        table.row([what.to_owned(), count.to_string()]);
    }
    table
}
