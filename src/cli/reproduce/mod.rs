//! `memsift reproduce`: the papers' figures, measured on a database, beside what was published. Knows what both papers'
//! measurements share: which conversations are asked, and what is said when a model is missing.

mod ablations;
mod lexical_dense;
mod session_tables;
mod smartsearch;

use std::path::PathBuf;

use super::ask::conversation_id;
use super::document::Form;
use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::{BadInput, output};
use crate::engine::{Models, Pipeline};
use crate::history::ConversationSummary;
use crate::output_file::OutputFile;
use crate::store::Store;

/// Arguments of `reproduce`.
#[derive(Debug, clap::Args)]
pub struct ReproduceArgs {
    /// Which paper.
    #[arg(value_enum)]
    paper: Paper,
    /// A database with questions and gold.
    #[arg(long)]
    db: PathBuf,
    /// Only these conversations.
    #[arg(long)]
    conversation: Vec<String>,
    /// Score with the cross-encoder too: every candidate (smartsearch), the ten best sessions (lexical-dense). It takes hours
    /// on a large data set; what is scored is kept, so an interrupted run goes on where it was.
    #[arg(long)]
    with_ce: bool,
    /// Instead: 59 configurations of the pipeline, each with one thing changed (smartsearch only).
    #[arg(long)]
    ablations: bool,
    /// Only every Nth question with gold, from the first one on.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Also write the tables with charts to this HTML file; a file that is there stays, and that is an error.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Paper {
    /// Ranking beats structure: parse, retrieve, survival in a budget.
    Smartsearch,
    /// Sessions by BM25, by pooled vectors of their turns, and by both.
    LexicalDense,
}

/// Measure and print.
pub fn run(args: &ReproduceArgs) -> anyhow::Result<()> {
    // The place is looked at before hours of work.
    let html = args.html.as_deref().map(|path| OutputFile::new(path, false));
    let html = html.transpose().map_err(|error| BadInput(format!("--html: {error}")))?;
    let document = match args.paper {
        Paper::Smartsearch if args.ablations => ablations::run(args)?,
        Paper::Smartsearch => smartsearch::run(args)?,
        Paper::LexicalDense => lexical_dense::run(args)?,
    };
    if let Some(html) = html {
        html.write(document.print(Form::Html).as_bytes())?;
    }
    output::print(&document.print(Form::Text))
}

/// The conversations that are asked about.
fn chosen(store: &Store, args: &ReproduceArgs) -> anyhow::Result<Vec<ConversationSummary>> {
    for id in &args.conversation {
        conversation_id(store, Some(id))?;
    }
    let mut rows = store.summaries()?;
    rows.retain(|row| args.conversation.is_empty() || args.conversation.contains(&row.id));
    Ok(rows)
}

/// A pipeline without its cross-encoder.
fn without_ce(pipeline: &mut Pipeline, why: &str) {
    let models = Models { ce: Err(why.to_owned()), ..pipeline.models().clone() };
    pipeline.set_models(models);
}
