//! `memsift play`: a script in the explorer, for people who watch or for pictures and recordings.

use std::path::PathBuf;

use anyhow::Context;

use super::screen::{self, ScreenArgs};
use super::{BadInput, Changed, demo, output};
use crate::output_file::OutputFile;
use crate::ui::play::{Playing, play};
use crate::ui::script::{self, WORDS};

/// Arguments of `play`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = steps())]
pub struct PlayArgs {
    /// The script: a step a line.
    script: PathBuf,
    /// The database to open; the demo's when not said.
    #[arg(long)]
    db: Option<PathBuf>,
    /// Without a terminal, as fast as it goes: for pictures, recordings and checks.
    #[arg(long)]
    headless: bool,
    /// With --headless: columns and rows of the screen.
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x40", value_parser = size)]
    size: (u16, u16),
    /// With --headless: also write a recording in the asciicast format.
    #[arg(long, value_name = "FILE", requires = "headless")]
    cast: Option<PathBuf>,
    /// How much faster than usual.
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// The folder for the pictures of the script.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    into: PathBuf,
    /// Overwrite pictures and recordings that are there.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    screen: ScreenArgs,
}

fn size(text: &str) -> Result<(u16, u16), String> {
    script::size(text).ok_or_else(|| "columns x rows, as 120x40, up to 500 each".to_owned())
}

fn speed(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|speed| (0.01..=1000.0).contains(speed)).ok_or("a number from 0.01 to 1000".to_owned())
}

/// Every step of a script, a line each.
fn steps() -> String {
    let rows = WORDS.iter().map(|(word, what, does)| format!("  {:24} {does}\n", format!("{word} {what}").trim_end()));
    format!(
        "Steps of a script, a line each; empty lines and lines that begin with # are skipped:\n{}",
        rows.collect::<String>()
    )
}

/// Play the script.
pub fn run(args: &PlayArgs) -> anyhow::Result<()> {
    let name = args.script.display();
    let text = std::fs::read_to_string(&args.script)
        .map_err(|error| BadInput(format!("the script '{name}' cannot be read: {error}")))?;
    let steps = script::parse(&text).map_err(|words| BadInput(format!("'{name}', {words}")))?;
    if !args.headless {
        screen::needs_terminal("add --headless to play without one")?;
    }
    let recording = match &args.cast {
        Some(path) => Some(OutputFile::new(path, args.force).context("add --force to overwrite it")?),
        None => None,
    };
    let db = match &args.db {
        Some(db) => db.clone(),
        None => demo::database()?,
    };
    let playing = Playing {
        size: args.headless.then_some(args.size),
        cast: args.cast.is_some(),
        speed: args.speed,
        into: args.into.clone(),
        overwrite: args.force,
    };
    let mut screen_args = args.screen.clone();
    if args.headless {
        screen_args.look = screen_args.look.in_full_colour();
    }
    args.screen.look.logged(&db, || {
        let (start, source) = screen::prepared(&db, None, &screen_args)?;
        let played = play(&start, source, &steps, &playing)?;
        for words in &played.written {
            output::say(words);
        }
        if let (Some(file), Some(cast), None) = (recording, &played.cast, &played.failed) {
            file.write(cast.as_bytes())?;
        }
        match played.failed {
            Some((line, words)) => Err(Changed(format!("'{name}', line {line}: {words}")).into()),
            None => Ok(()),
        }
    })
}
