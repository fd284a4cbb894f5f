//! The explorer on a database: checks the terminal, chooses colours and glyphs, and hands over to the screen.

use std::io::IsTerminal;
use std::path::Path;

use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::{BadInput, dirs};
use crate::dirs::Dirs;
use crate::engine::EngineOptions;
use crate::settings::Settings;
use crate::store::pins::Pins;
use crate::trace::Trace;
use crate::ui::{self, Glyphs, Source, Start, Theme, keys};

/// What the explorer is opened with.
#[derive(Debug, Clone, clap::Args)]
pub struct ScreenArgs {
    /// Conversation to open.
    #[arg(long)]
    conversation: Option<String>,
    /// Question to ask at once.
    #[arg(long)]
    question: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
    #[command(flatten)]
    look: LookArgs,
}

/// How the screen looks.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Screen")]
pub struct LookArgs {
    /// Colour theme: terminal, mono, high-contrast, okabe-ito, catppuccin-mocha, gruvbox-dark, nord, solarized-light.
    #[arg(long, env = "MEMSIFT_THEME")]
    theme: Option<String>,
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
    let theme = args.look.theme()?;
    let rankers = args.rankers.choice()?;
    // What is wrong with the file is said before the screen is taken, and with an exit code.
    args.reading.open(db)?;
    let db_words = db.display();
    needs_terminal(&format!("use 'memsift ask \"your question\" --db {db_words}'"))?;
    let dirs = dirs()?;
    let start = Start {
        database: db.to_owned(),
        conversation: args.conversation.clone().or_else(|| first.map(|(conversation, _)| conversation.to_owned())),
        question: args.question.clone().or_else(|| first.map(|(_, question)| question.to_owned())),
        settings: Settings::default(),
        theme,
        mouse: !args.look.no_mouse,
        replayed: false,
        pins: kept_pins(Some(&dirs)),
    };
    let options = EngineOptions {
        rankers,
        cache: Some(dirs.cache_db()),
        marks: Some(dirs.marks()),
        reading: args.reading.reading()?,
    };
    ui::run(&start, Source::Database(Box::new(options)))
}

/// Open the explorer on a trace from a file.
pub fn replay(path: &Path, trace: Trace, fingerprint: String, look: &LookArgs) -> anyhow::Result<()> {
    let theme = look.theme()?;
    needs_terminal("use 'memsift replay FILE --plain'")?;
    let start = Start {
        database: path.to_owned(),
        conversation: None,
        question: Some(trace.scored.query.text.clone()),
        settings: trace.settings.clone(),
        theme,
        mouse: !look.no_mouse,
        replayed: true,
        pins: kept_pins(Dirs::find().as_ref()),
    };
    ui::run(&start, Source::Trace { trace: Box::new(trace), fingerprint })
}

/// The pins of this user, and what is to be said of their file. Without them everything else works.
fn kept_pins(dirs: Option<&Dirs>) -> (Pins, Option<String>) {
    let Some(dirs) = dirs else { return (Pins::in_memory(), None) };
    let path = dirs.pins();
    Pins::load(&path).unwrap_or_else(|error| (Pins::unread(&path), Some(error.to_string())))
}

fn needs_terminal(instead: &str) -> Result<(), BadInput> {
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(BadInput(format!("the explorer needs a terminal: run it in one, or {instead}")))
}

impl LookArgs {
    fn theme(&self) -> Result<Theme, BadInput> {
        let glyphs = if self.ascii { Glyphs::ASCII } else { Glyphs::UNICODE };
        let no_colour = self.color == "never" || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let name = self.theme.as_deref().unwrap_or(if no_colour { "mono" } else { "terminal" });
        Theme::named(if no_colour { "mono" } else { name }, glyphs).map_err(BadInput)
    }
}

/// Every key, as a table.
pub fn keys() -> String {
    keys::markdown()
}
