//! The explorer on a database: checks the terminal, chooses colours and glyphs, and hands over to the screen.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;

use super::config::{self, Config};
use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::themes::{self, Chosen};
use super::{BadInput, dirs};
use super::{log, output, plain};
use crate::dirs::Dirs;
use crate::engine::EngineOptions;
use crate::settings::Settings;
use crate::store::pins::Pins;
use crate::trace::Trace;
use crate::ui::tour::Tour;
use crate::ui::{self, Glyphs, Source, Start};

/// What the explorer is opened with.
#[derive(Debug, Clone, clap::Args)]
pub struct ScreenArgs {
    /// Conversation to open.
    #[arg(long)]
    conversation: Option<String>,
    /// Question to ask at once.
    #[arg(long)]
    question: Option<String>,
    /// Follow the database: what is written to it while it is open appears.
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
    /// Without a screen: a line is a question or a command, and answers are lines of words, for screen readers and pipes.
    #[arg(long, help_heading = "Screen", conflicts_with = "present")]
    plain: bool,
    /// For an audience: more air, no paths, and answers revealed stage by stage with Space.
    #[arg(long, help_heading = "Screen")]
    present: bool,
    #[command(flatten)]
    pub look: LookArgs,
}

impl ScreenArgs {
    /// True when the user wants a conversation or a question of their own.
    pub fn is_told_what_to_ask(&self) -> bool {
        self.conversation.is_some() || self.question.is_some()
    }
}

/// How the screen looks.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Screen")]
pub struct LookArgs {
    /// Colour theme: terminal, mono, high-contrast, okabe-ito, catppuccin-mocha, catppuccin-latte, gruvbox-dark,
    /// gruvbox-light, nord, dracula, tokyonight, rose-pine, rose-pine-dawn, solarized-dark, solarized-light, onedark, or one
    /// of your own.
    #[arg(long, env = "MEMSIFT_THEME")]
    theme: Option<String>,
    /// Draw with ASCII only.
    #[arg(long, overrides_with = "unicode")]
    ascii: bool,
    /// Draw with all shapes, where the configuration says ASCII.
    #[arg(long, overrides_with = "ascii")]
    unicode: bool,
    /// Leave the mouse to the terminal.
    #[arg(long, overrides_with = "mouse")]
    no_mouse: bool,
    /// Use the mouse, where the configuration leaves it to the terminal.
    #[arg(long, overrides_with = "no_mouse")]
    mouse: bool,
    /// Keep a log in this file: models, questions with their times, warnings, errors.
    #[arg(long, value_name = "FILE", env = "MEMSIFT_LOG")]
    log: Option<OsString>,
    /// Which colours to use: as many as the terminal says that it has, never any, 16, 256 or all; NO_COLOR in the
    /// environment means never.
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "never", "16", "256", "all"], default_value = "auto")]
    color: String,
}

/// Open the explorer, on a conversation with a question already asked when one is given.
pub fn open(db: &Path, first: Option<(&str, &str)>, tour: Option<Tour>, args: &ScreenArgs) -> anyhow::Result<()> {
    args.look.logged(db, || explore(db, first, tour, args))
}

fn explore(db: &Path, first: Option<(&str, &str)>, tour: Option<Tour>, args: &ScreenArgs) -> anyhow::Result<()> {
    let (start, source) = prepared(db, first, args)?;
    let start = Start { tour, ..start };
    if args.plain {
        return plain::run(&start, source, std::io::stdin().lock(), &mut std::io::stdout().lock());
    }
    needs_terminal(&format!("use 'memsift ask \"your question\" --db {}'", db.display()))?;
    ui::run(&start, source)
}

/// What the explorer needs to begin on a database. What is wrong with the file is said now, before any screen is taken.
pub fn prepared(db: &Path, first: Option<(&str, &str)>, args: &ScreenArgs) -> anyhow::Result<(Start, Source)> {
    let config = config::get();
    let look = args.look.chosen(config)?;
    let rankers = args.rankers.choice()?;
    args.reading.explorable(db)?;
    let dirs = dirs()?;
    let start = Start {
        database: db.to_owned(),
        conversation: args.conversation.clone().or_else(|| first.map(|(conversation, _)| conversation.to_owned())),
        question: args.question.clone().or_else(|| first.map(|(_, question)| question.to_owned())),
        settings: config.settings().clone(),
        defaults: config.settings().clone(),
        keys: config.keys().clone(),
        theme: look.theme,
        light: look.light,
        themes: look.themes,
        tour: None,
        present: args.present,
        follow: args.follow,
        mouse: args.look.uses_mouse(config),
        replayed: false,
        pins: with_warnings(kept_pins(Some(&dirs)), config, &look.warnings),
    };
    let options = EngineOptions {
        rankers,
        cache: Some(dirs.cache_db()),
        marks: Some(dirs.marks()),
        reading: args.reading.reading()?,
    };
    Ok((start, Source::Database(Box::new(options))))
}

/// Open the explorer on a trace from a file.
pub fn replay(path: &Path, trace: Trace, fingerprint: String, look: &LookArgs) -> anyhow::Result<()> {
    look.logged(path, || watch(path, trace, fingerprint, look))
}

fn watch(path: &Path, trace: Trace, fingerprint: String, look: &LookArgs) -> anyhow::Result<()> {
    let config = config::get();
    let chosen = look.chosen(config)?;
    needs_terminal("use 'memsift replay FILE --plain'")?;
    let start = Start {
        database: path.to_owned(),
        conversation: None,
        question: Some(trace.scored.query.text.clone()),
        settings: trace.settings.clone(),
        defaults: Settings::default(),
        keys: config.keys().clone(),
        theme: chosen.theme,
        light: chosen.light,
        themes: chosen.themes,
        tour: None,
        present: false,
        follow: false,
        mouse: look.uses_mouse(config),
        replayed: true,
        pins: with_warnings(kept_pins(Dirs::find().as_ref()), config, &chosen.warnings),
    };
    ui::run(&start, Source::Trace { trace: Box::new(trace), fingerprint })
}

/// The pins of this user, and what is to be said of their file. Without them everything else works.
fn kept_pins(dirs: Option<&Dirs>) -> (Pins, Option<String>) {
    let Some(dirs) = dirs else { return (Pins::in_memory(), None) };
    let path = dirs.pins();
    Pins::load(&path).unwrap_or_else(|error| (Pins::unread(&path), Some(error.to_string())))
}

/// The screen hides what was said before it, so the first thing that it says is that again.
fn with_warnings(
    (pins, notice): (Pins, Option<String>),
    config: &Config,
    of_theme: &[String],
) -> (Pins, Option<String>) {
    let of_config = (config.warnings.as_slice(), "'memsift config' lists all");
    let of_theme = (of_theme, "'memsift doctor' lists all");
    let first = [of_config, of_theme].into_iter().find_map(|(warnings, all)| match warnings {
        [] => None,
        [only] => Some(only.clone()),
        [first, ..] => Some(format!("{first}; {all}")),
    });
    (pins, notice.or(first))
}

pub fn needs_terminal(instead: &str) -> Result<(), BadInput> {
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(BadInput(format!("the explorer needs a terminal: run it in one, or {instead}")))
}

impl LookArgs {
    /// The same look where no terminal limits the colours.
    pub fn in_full_colour(mut self) -> Self {
        if self.color == "auto" {
            "all".clone_into(&mut self.color);
        }
        self
    }

    /// Do something with a log kept of it, when there is to be one.
    pub fn logged(&self, what: &Path, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        if let Some(file) = self.log.as_ref().filter(|file| !file.is_empty()) {
            log::keep(Path::new(file))?;
            log::begin(what, &config::get().warnings);
        }
        let result = work();
        log::end(&result);
        result
    }

    fn uses_mouse(&self, config: &Config) -> bool {
        !self.no_mouse && (self.mouse || config.mouse())
    }

    /// The theme; what does not apply of it is said.
    fn chosen(&self, config: &Config) -> Result<Chosen, BadInput> {
        let ascii = !self.unicode && (self.ascii || config.ascii());
        let glyphs = if ascii { Glyphs::ASCII } else { Glyphs::UNICODE };
        let chosen = themes::choose(self.theme.as_deref(), &self.color, glyphs, config)?;
        chosen.warnings.iter().for_each(|warning| output::say(&format!("memsift: {warning}")));
        Ok(chosen)
    }
}

/// Every key of this user, as a table.
pub fn keys() -> String {
    config::get().keys().markdown()
}
