//! `memsift replay`: a trace from a file, on the screen or as lines, without database and models.

use std::path::{Path, PathBuf};

use super::BadInput;
use super::ask::plain;
use super::screen::{self, LookArgs};
use crate::trace::Trace;
use crate::trace::file::TraceFile;

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// A trace, as 'memsift ask' and the key E write it; JSON or MessagePack, whatever its name.
    file: PathBuf,
    /// Print the stages as lines instead.
    #[arg(long)]
    plain: bool,
    /// Print every candidate, not only those around the cut.
    #[arg(long, requires = "plain")]
    all: bool,
    /// Print the trace as JSON again, as this memsift writes it.
    #[arg(long, conflicts_with = "plain")]
    json: bool,
    /// With --json: make every text unreadable; ids, times, lengths, ranks and fates stay.
    #[arg(long, requires = "json")]
    redact: bool,
    #[command(flatten)]
    look: LookArgs,
}

/// A trace in a file: its file form and what was rebuilt from it.
///
/// # Errors
/// One sentence that names the file.
pub fn read(path: &Path) -> anyhow::Result<(TraceFile, Trace)> {
    let wrong = |reason: String| BadInput(format!("'{}' cannot be replayed: {reason}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| wrong(format!("{error}; check the path")))?;
    let file = TraceFile::from_bytes(&bytes).map_err(|error| wrong(error.to_string()))?;
    let trace = file.to_trace().map_err(|error| wrong(error.to_string()))?;
    Ok((file, trace))
}

/// Open or print.
pub fn run(args: &ReplayArgs) -> anyhow::Result<()> {
    let (file, trace) = read(&args.file)?;
    if args.plain {
        return super::output::print(&plain(&trace, args.all));
    }
    if args.json {
        let file = TraceFile::new(&trace, file.header);
        let json = if args.redact { file.redacted()?.to_json()? } else { file.to_json()? };
        return super::output::print(&format!("{json}\n"));
    }
    screen::replay(&args.file, trace, file.header.database, &args.look)
}
