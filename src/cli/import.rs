//! `memsift import`: files to a memsift database.

use std::path::PathBuf;

use super::{output, reading};
use crate::store::import::import_with;

/// Arguments of `import`.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// LoCoMo, REALTALK, LongMemEval or BEAM files, exports of ChatGPT, Claude.ai, LibreChat, Telegram, WhatsApp or
    /// Discord, logs of Claude Code, mailboxes, or JSON lines; of a folder, the files directly in it are looked at.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The database; made when it does not exist.
    #[arg(long)]
    into: PathBuf,
    /// Of a ChatGPT conversation with branches, the active one only, or each as a conversation of its own.
    #[arg(long, value_name = "WHICH", value_parser = ["active", "all"], default_value = "active")]
    branches: String,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Read the files and print what was found.
pub fn run(args: &ImportArgs) -> anyhow::Result<()> {
    let bar = output::bar(true);
    let report = import_with(&args.files, &args.into, reading::branches(&args.branches), &mut |progress| {
        bar.set_length(progress.bytes_total);
        bar.set_position(progress.bytes_read);
        bar.set_message(progress.file.to_string());
    });
    bar.finish_and_clear();
    let report = report?;
    if args.json {
        return output::print(&format!("{}\n", serde_json::to_string(&report)?));
    }
    output::print(&format!("{}\n", report.to_string().trim_end()))
}
