//! `memsift sweep`: recall of gold over two knobs, as a table, CSV or JSON.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::ask::conversation_id;
use super::destination::DestinationArgs;
use super::knobs::KnobArgs;
use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::{BadInput, load, output, pipeline, say_what_is_missing};
use crate::engine::Deaf;
use crate::eval::sweep::{AS_GOOD, Axis, Sweep, sweep};
use crate::explain::fate::number;
use crate::settings::Settings;

/// Arguments of `sweep`.
#[derive(Debug, clap::Args)]
pub struct SweepArgs {
    /// A database with questions and gold, memsift's own, or a chat program's with gold marked by hand.
    #[arg(long)]
    db: PathBuf,
    /// Only these conversations.
    #[arg(long)]
    conversation: Vec<String>,
    /// Knob and values of the rows.
    #[arg(long, value_name = "KNOB=FROM:TO:STEP", default_value = "alpha=0:0.5:0.05")]
    rows: String,
    /// Knob and values of the columns.
    #[arg(long, value_name = "KNOB=FROM:TO:STEP", default_value = "budget=500:4000:500")]
    columns: String,
    /// How to print it; else as the end of the name after --output says, else as a table.
    #[arg(long, value_name = "FORMAT", value_parser = ["table", "csv", "json"])]
    format: Option<String>,
    #[command(flatten)]
    destination: DestinationArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
    #[command(flatten)]
    knobs: KnobArgs,
}

/// Ask every question once, cut it everywhere, print.
pub fn run(args: &SweepArgs) -> anyhow::Result<()> {
    let mut settings = Settings::default();
    args.knobs.apply(&mut settings)?;
    let axis = |text: &str| Axis::read(text).map_err(|error| BadInput(error.to_string()));
    let (rows, columns) = (axis(&args.rows)?, axis(&args.columns)?);
    if rows.knob == columns.knob {
        return Err(BadInput(format!("rows and columns are both '{}': sweep two knobs", rows.knob)).into());
    }
    let destination = args.destination.open()?;
    let rankers = args.rankers.choice()?;
    let store = args.reading.open(&args.db)?;
    for notice in store.notices() {
        output::say(&format!("memsift: {notice}"));
    }
    for id in &args.conversation {
        conversation_id(&store, Some(id))?;
    }
    let summaries = store.summaries()?;
    let chosen: Vec<_> =
        summaries.iter().filter(|row| args.conversation.is_empty() || args.conversation.contains(&row.id)).collect();
    let mut pipeline = pipeline(&rankers)?;
    let bar = output::bar(false);
    bar.set_length(chosen.iter().map(|row| row.questions as u64).sum());
    bar.set_message("questions");
    let mut scored = Vec::new();
    for row in chosen {
        let conversation = Arc::new(load(&store, &row.id)?);
        for known in &conversation.questions {
            bar.inc(1);
            if !known.gold.is_empty() {
                scored.push(pipeline.ask(&conversation, known.text.trim(), &known.gold, &settings, &mut Deaf));
            }
        }
    }
    bar.finish_and_clear();
    if scored.is_empty() {
        let db = args.db.display();
        return Err(
            BadInput(format!("'{db}' has no question with gold: import a data set that names the evidence")).into()
        );
    }
    say_what_is_missing(&pipeline);
    let found = sweep(&scored, &settings, rows, columns).map_err(|error| BadInput(error.to_string()))?;
    let text = match args.format.as_deref().unwrap_or(&args.destination.ending()) {
        "json" => format!("{}\n", serde_json::to_string(&found)?),
        "csv" => csv(&found),
        _ => table(&found),
    };
    destination.put(text.as_bytes())
}

fn csv(found: &Sweep) -> String {
    let mut text = format!("{},{},kept,recall,words\n", found.rows.knob, found.columns.knob);
    for (row, cells) in found.rows.values.iter().zip(&found.cells) {
        for (column, cell) in found.columns.values.iter().zip(cells) {
            let _ = writeln!(text, "{row},{column},{},{:.6},{:.1}", cell.kept, cell.recall, cell.words);
        }
    }
    text
}

fn table(found: &Sweep) -> String {
    let (rows, columns) = (&found.rows, &found.columns);
    let mut text = format!(
        "{} questions, {} gold passages; share of the gold that is kept, in %\n\n{:>12}",
        found.questions,
        found.gold,
        format!("{} \\ {}", rows.knob, columns.knob)
    );
    for column in &columns.values {
        let _ = write!(text, " {:>7}", number(*column));
    }
    text.push('\n');
    let cheapest = found.cheapest();
    for (at, (row, cells)) in rows.values.iter().zip(&found.cells).enumerate() {
        let _ = write!(text, "{:>12}", number(*row));
        for (column, cell) in cells.iter().enumerate() {
            let mark = if cheapest == Some((at, column)) { '*' } else { ' ' };
            let _ = write!(text, " {:>6.1}{mark}", cell.recall * 100.0);
        }
        text.push('\n');
    }
    let named = cheapest.and_then(|(row, column)| {
        Some((rows.values.get(row)?, columns.values.get(column)?, found.cells.get(row)?.get(column)?))
    });
    if let Some((row, column, cell)) = named {
        let _ = writeln!(
            text,
            "\n* cheapest within {} % of the best: {} {}, {} {}: {:.1} % with {:.0} words on average",
            AS_GOOD * 100.0,
            rows.knob,
            number(*row),
            columns.knob,
            number(*column),
            cell.recall * 100.0,
            cell.words
        );
    }
    text
}
