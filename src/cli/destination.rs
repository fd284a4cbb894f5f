//! Where the output of a command goes: to standard output, or to a file that the user names. Knows both; knows nothing
//! of what is written.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use super::{BadInput, output};
use crate::output_file::{OutputError, OutputFile};

/// Arguments of commands whose output can go to a file.
#[derive(Debug, clap::Args)]
pub struct DestinationArgs {
    /// Write to this file instead of standard output; a file that is there stays, and that is an error.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With --output: overwrite a file that is there.
    #[arg(long, requires = "output")]
    force: bool,
}

/// Where output goes.
pub enum Destination {
    /// To standard output.
    Stdout,
    /// To a file.
    File(OutputFile),
}

impl DestinationArgs {
    /// Looks at the place, before the work is done.
    ///
    /// # Errors
    /// One sentence when nothing can be written there.
    pub fn open(&self) -> anyhow::Result<Destination> {
        match &self.output {
            None => Ok(Destination::Stdout),
            Some(path) => OutputFile::new(path, self.force).map(Destination::File).map_err(sentence),
        }
    }

    /// The end of the file's name, lower case; empty without a file.
    pub fn ending(&self) -> String {
        let end = self.output.as_ref().and_then(|path| path.extension());
        end.map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default()
    }
}

impl Destination {
    /// True when people read it as it comes.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Stdout) && io::stdout().is_terminal()
    }

    /// Writes all of the output.
    ///
    /// # Errors
    /// When it cannot be written; then a file is as it was.
    pub fn put(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Stdout => output::print_bytes(bytes),
            Self::File(file) => file.write(bytes).map_err(sentence),
        }
    }
}

fn sentence(error: OutputError) -> anyhow::Error {
    match error {
        OutputError::Failed(..) => error.into(),
        OutputError::Exists(_) => BadInput(format!("{error}, or overwrite it with --force")).into(),
        _ => BadInput(error.to_string()).into(),
    }
}
