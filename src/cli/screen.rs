//! The explorer on a database: checks the terminal, chooses colours and glyphs, and hands over to the screen.

use std::io::IsTerminal;
use std::path::Path;

use super::rankers::RankerArgs;
use super::{BadInput, dirs};
use crate::engine::EngineOptions;
use crate::settings::Settings;
use crate::ui::{self, Glyphs, Start, Theme, keys};

/// How the screen looks.
#[derive(Debug, Clone, clap::Args)]
pub struct ScreenArgs {
    /// Conversation to open.
    #[arg(long)]
    conversation: Option<String>,
    /// Question to ask at once.
    #[arg(long)]
    question: Option<String>,
    /// Colour theme: terminal, mono, high-contrast, okabe-ito, catppuccin-mocha, gruvbox-dark, nord, solarized-light.
    #[arg(long, env = "MEMSIFT_THEME")]
    theme: Option<String>,
    #[command(flatten)]
    rankers: RankerArgs,
    /// Draw with ASCII only.
    #[arg(long)]
    ascii: bool,
    /// Leave the mouse to the terminal.
    #[arg(long)]
    no_mouse: bool,
    /// When to use colour; NO_COLOR in the environment means never.
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "never"], default_value = "auto")]
    color: String,
}

/// Open the explorer, on a conversation with a question already asked when one is given.
pub fn open(db: &Path, first: Option<(&str, &str)>, args: &ScreenArgs) -> anyhow::Result<()> {
    let glyphs = if args.ascii { Glyphs::ASCII } else { Glyphs::UNICODE };
    let no_colour = args.color == "never" || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let name = args.theme.as_deref().unwrap_or(if no_colour { "mono" } else { "terminal" });
    let theme = Theme::named(if no_colour { "mono" } else { name }, glyphs).map_err(BadInput)?;
    let rankers = args.rankers.choice()?;
    // What is wrong with the file is said before the screen is taken, and with an exit code.
    crate::store::Store::open(db)?;
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let db = db.display();
        return Err(BadInput(format!(
            "the explorer needs a terminal: run it in one, or use 'memsift ask \"your question\" --db {db}'"
        ))
        .into());
    }
    let dirs = dirs()?;
    let start = Start {
        database: db.to_owned(),
        conversation: args.conversation.clone().or_else(|| first.map(|(conversation, _)| conversation.to_owned())),
        question: args.question.clone().or_else(|| first.map(|(_, question)| question.to_owned())),
        settings: Settings::default(),
        theme,
        mouse: !args.no_mouse,
    };
    let options = EngineOptions { rankers, cache: Some(dirs.cache_db()), marks: Some(dirs.marks()) };
    ui::run(&start, options)
}

/// Every key, as a table.
pub fn keys() -> String {
    keys::markdown()
}
