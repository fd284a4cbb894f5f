//! `memsift eval`: every question with gold, under one setting or several, measured. Knows which questions are asked under
//! which settings; how the figures are written is told beside it.

mod files;
mod tables;
mod trec;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::destination::DestinationArgs;
use super::document::Form;
use super::knobs::KnobArgs;
use super::measure::{Measured, measure};
use super::questions::{Asked, QuestionArgs};
use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::{BadInput, output, pipeline, say_what_is_missing};
use crate::engine::{Pipeline, SlotName};
use crate::eval::outcome::Outcome;
use crate::eval::report::{Report, SEED, System};
use crate::eval::sweep::Axis;
use crate::eval::tune::{Kept, Row, Tuned, tune};
use crate::settings::Settings;
use crate::trace::Trace;

/// Arguments of `eval`.
#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    /// A database with questions and gold, or with gold marked on the screen.
    #[arg(long)]
    db: PathBuf,
    /// Another setting to measure beside the one of the knobs: what differs, as knob=value,knob=value. May be repeated.
    #[arg(long, value_name = "KNOB=VALUE,…")]
    against: Vec<String>,
    /// Choose a knob of fusion or cut on all conversations but one and judge it on that one: lambda, w, alpha, or any as
    /// knob=from:to:step. May be repeated.
    #[arg(long, value_name = "KNOB[=FROM:TO:STEP]")]
    tune: Vec<String>,
    /// How to print it: csv has a row a question and setting, json everything; else as the end of the name after --output
    /// says, else text.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "markdown", "html", "csv", "json"])]
    format: Option<String>,
    /// Also write PREFIX.qrels and the order of every setting as PREFIX.A.run, PREFIX.B.run … for TREC tools.
    #[arg(long, value_name = "PREFIX")]
    trec: Option<PathBuf>,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    destination: DestinationArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
    #[command(flatten)]
    knobs: KnobArgs,
}

/// Ask, measure, print.
pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let systems = systems(args)?;
    let first = systems.first().map(|system| system.settings.clone()).unwrap_or_default();
    let axes = args.tune.iter().map(|text| axis(text, &first)).collect::<Result<Vec<_>, _>>()?;
    let destination = args.destination.open()?;
    let trec = args.trec.as_ref().map(|prefix| trec::Trec::open(prefix, &systems)).transpose()?;
    let rankers = args.rankers.choice()?;
    let store = args.reading.open(&args.db)?;
    let questions = args.questions.choose(&store, &args.db)?;
    let mut report = Report { systems, evidence: questions.evidence.clone(), ..Report::default() };
    for one in &questions.asked {
        report.add(&one.conversation.id, one.questions());
    }
    let began = Instant::now();
    let mut pipeline = pipeline(&rankers)?;
    let (tuned, lines) = ask_all(&mut pipeline, &questions.asked, &axes, &mut report, trec.is_some());
    report.tuned = tuned;
    say_what_is_missing(&pipeline);
    let seconds = began.elapsed().as_secs_f64();
    if let Some(trec) = trec {
        trec.write(&lines)?;
    }
    let models = SlotName::ALL.map(|slot| (slot.name(), rankers.slot(slot).name()));
    let text = match args.format.as_deref().unwrap_or(&args.destination.ending()) {
        "json" => files::json(&report, &models)?,
        "csv" => files::csv(&report),
        other => tables::document(&report, &models, seconds).print(Form::named(other).unwrap_or(Form::Text)),
    };
    destination.put(text.as_bytes())
}

/// The setting of the knobs, and those beside it.
fn systems(args: &EvalArgs) -> Result<Vec<System>, BadInput> {
    let mut settings = Settings::default();
    args.knobs.apply(&mut settings)?;
    let mut systems = vec![System::new(0, settings.clone())];
    for (at, text) in (1..).zip(&args.against) {
        let other = settings.with(text).map_err(|error| BadInput(format!("--against: {error}")))?;
        if systems.iter().any(|system| system.settings == other) {
            return Err(BadInput(format!("--against '{text}' changes nothing: name a knob with another value")));
        }
        systems.push(System::new(at, other));
    }
    Ok(systems)
}

/// The values that a knob is tried at. One that plays no part under these settings is refused: its curve would be flat.
fn axis(text: &str, settings: &Settings) -> Result<Axis, BadInput> {
    let axis = match text {
        "lambda" | "w" => Axis::read(&format!("{text}=0:1:0.05")),
        "alpha" => Axis::read("alpha=0:0.5:0.05"),
        _ => Axis::read(text),
    };
    let axis = axis.map_err(|error| BadInput(format!("--tune: {error}")))?;
    if settings.is_moved_by(&axis.knob) {
        return Ok(axis);
    }
    let knob = &axis.knob;
    let (other, value) = match knob.as_str() {
        "lambda" => ("fusion", "z"),
        "w" | "k" => ("fusion", "rrf"),
        "cumulative-p" => ("truncation", "cumulative"),
        "mmr-relevance" => ("truncation", "mmr"),
        _ => ("truncation", "adaptive"),
    };
    Err(BadInput(format!("--tune {knob}: it plays no part under these settings; add --{other} {value}")))
}

/// Ask every question under every setting, and cut it at every value of the knobs that are tuned.
fn ask_all(
    pipeline: &mut Pipeline,
    asked: &[Asked],
    axes: &[Axis],
    report: &mut Report,
    wants_trec: bool,
) -> (Vec<Tuned>, trec::Lines) {
    let systems = report.systems.clone();
    let mut rows: Vec<Vec<Row>> = vec![Vec::new(); axes.len()];
    let mut lines = trec::Lines::new(systems.len());
    let mut outcomes: Vec<Vec<Option<Outcome>>> = vec![vec![None; systems.len()]; report.records.len()];
    measure(pipeline, asked, &systems, &mut |one| {
        let Measured { conversation, number, question, system, trace, outcome } = one;
        if wants_trec && outcome.order.is_some() {
            lines.add(system, trace, question);
        }
        if system == 0 && outcome.order.is_some() {
            for (axis, rows) in axes.iter().zip(&mut rows) {
                rows.push(Row { conversation, gold: outcome.gold, kept: values(trace, axis) });
            }
        }
        if let Some(slot) = outcomes.get_mut(number).and_then(|row| row.get_mut(system)) {
            *slot = Some(outcome);
        }
    });
    report.fill(outcomes);
    let mut tuned = Vec::new();
    for (axis, rows) in axes.iter().zip(&rows) {
        let knob = axis.knob.clone();
        match tune(axis.clone(), rows, SEED) {
            Some(found) => tuned.push(found),
            None if rows.is_empty() => {
                output::say(&format!("memsift: {knob} is not tuned: the order was not measured"));
            }
            None => output::say(&format!(
                "memsift: {knob} is not tuned: it is chosen on other conversations than it is judged on, and only one has \
                 questions"
            )),
        }
    }
    (tuned, lines)
}

/// What every value of a knob keeps of a question.
fn values(trace: &Trace, axis: &Axis) -> Vec<Kept> {
    let kept = |value: &f64| {
        let mut settings = trace.settings.clone();
        // A value that the knob does not take was refused when the axis was read.
        if axis.set(&mut settings, *value).is_err() {
            return Kept::default();
        }
        let other = Trace::new(Arc::clone(&trace.scored), settings);
        Kept { gold: other.gold().kept, words: other.cut.used }
    };
    axis.values.par_iter().map(kept).collect()
}
