//! `memsift inspect`: what a database was taken for, what was found in it and what was left out.

use std::path::PathBuf;

use super::output;
use super::reading::ReadingArgs;

/// Arguments of `inspect`.
#[derive(Debug, clap::Args)]
pub struct InspectArgs {
    /// The database: memsift's own, or a chat database of another program.
    db: PathBuf,
    /// Print the verdict as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Read everything and print the verdict.
pub fn run(args: &InspectArgs) -> anyhow::Result<()> {
    let verdict = args.reading.open(&args.db)?.verdict()?;
    if args.json {
        return output::print(&format!("{}\n", serde_json::to_string(&verdict)?));
    }
    // A tab moves the cursor; names of speakers hold none, names of tables may.
    output::print(&verdict.to_string().replace('\t', " "))
}
