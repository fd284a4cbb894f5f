//! The explorer on a database: checks the terminal and starts engine and screen. Knows how they are wired together.

use std::path::Path;

use super::BadInput;

/// How the screen looks.
#[derive(Debug, Clone, clap::Args)]
pub struct ScreenArgs {
    /// Colour theme.
    #[arg(long)]
    theme: Option<String>,
}

/// Open the explorer, with a question already asked when one is given.
pub fn open(_db: &Path, _question: Option<(&str, &str)>, _args: &ScreenArgs) -> anyhow::Result<()> {
    Err(BadInput("the explorer is not part of this build: use 'memsift ask'".to_owned()).into())
}

/// Every key, as text.
pub fn keys() -> String {
    String::new()
}
