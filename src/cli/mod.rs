//! The command line: what was typed, and which command it means. Knows every command by name; the work is theirs.

mod ask;
mod bench;
mod cache;
mod chart;
mod config;
mod demo;
mod destination;
mod diff;
mod doctor;
mod document;
mod eval;
mod explain;
mod import;
mod inspect;
mod knobs;
mod log;
mod manual;
mod measure;
mod models;
mod oracle;
mod output;
mod plain;
mod play;
mod questions;
mod rankers;
mod reading;
mod replay;
mod reproduce;
mod screen;
mod sweep;
mod table;
mod themes;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

use crate::dirs::Dirs;
use crate::engine::{Models, Pipeline, RankerChoice, SlotName};
use crate::history::Conversation;
use crate::rank::Cache;
use crate::store::Store;
use crate::store::clean::{clean, is_hostile};
use crate::store::marks::Marks;

/// See why an agent forgot: which passages a question matched, how they were ranked, and where the cut fell.
#[derive(Debug, Parser)]
#[command(name = "memsift", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// A database to explore, memsift's own or a chat program's; without it, 'memsift demo' is a good start.
    db: Option<PathBuf>,
    /// Print every key of the screen, as 'memsift keys'.
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    screen: screen::ScreenArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fetch the small models, make the demo database and open it.
    Demo(demo::DemoArgs),
    /// Ask one question without a screen.
    Ask(ask::AskArgs),
    /// Read conversation histories into a memsift database.
    Import(import::ImportArgs),
    /// Say what a database is taken for, what is in it and what is left out.
    Inspect(inspect::InspectArgs),
    /// Look at or empty the cache of what models computed.
    #[command(subcommand)]
    Cache(cache::CacheCommand),
    /// List, fetch and check models.
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// Say of every lost gold passage which stage lost it, and why.
    Explain(explain::ExplainArgs),
    /// Measure every question with gold: what was found, ranked and kept, and where the rest was lost.
    Eval(Box<eval::EvalArgs>),
    /// Find the cheapest searches that would have found the gold.
    Oracle(oracle::OracleArgs),
    /// Compare two traces; exit code 1 when a gold passage changed its fate.
    Diff(diff::DiffArgs),
    /// Open a trace from a file, without database and models.
    Replay(replay::ReplayArgs),
    /// Measure how much gold is kept over two knobs.
    Sweep(sweep::SweepArgs),
    /// Measure the papers' figures on a database.
    Reproduce(reproduce::ReproduceArgs),
    /// Measure how fast this machine ranks.
    Bench(bench::BenchArgs),
    /// Play a script of keys and commands in the explorer: a demonstration that is the same every time.
    Play(play::PlayArgs),
    /// Print every key of the screen.
    Keys,
    /// Print where memsift keeps its files.
    Paths,
    /// Say what is in force of configuration and defaults, or print a file to begin with.
    Config(config::ConfigArgs),
    /// Say what is there, what is missing and what to do next; exit code 1 when the demo would lack something.
    Doctor(doctor::DoctorArgs),
    /// Print the completions of a shell.
    Completions(manual::CompletionArgs),
    /// Print the manual page of the program, or of a command.
    Man(manual::ManArgs),
}

/// Run what was typed. The exit code is 0 when it worked, 1 when it did not, 2 when what was typed or given is at fault.
pub fn run() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    match dispatch(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let input = error.downcast_ref::<BadInput>().is_some()
                || error.chain().any(|cause| {
                    let model = cause.downcast_ref().is_some_and(crate::models::ModelError::is_input);
                    model || cause.downcast_ref().is_some_and(crate::store::StoreError::is_input)
                });
            output::say(&format!("memsift: {error:#}"));
            ExitCode::from(if input { 2 } else { 1 })
        }
    }
}

/// Help, version, or what is wrong with the arguments. Those are repeated as they were typed, so hostile ones cost the
/// text its colours.
fn usage(error: &clap::Error) -> ExitCode {
    let hostile = |text: &str| text.contains('\t') || text.contains(is_hostile);
    if !std::env::args_os().any(|typed| hostile(&typed.to_string_lossy())) {
        error.exit();
    }
    let text = clean(&error.render().to_string()).replace('\t', "\u{2409}");
    // When nobody reads it any more, the exit code still tells.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    ExitCode::from(2)
}

/// It worked, and the answer is one that a script should stop at.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Changed(pub String);

/// What was given is at fault, not the machine.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

fn dispatch(args: Args) -> anyhow::Result<()> {
    match args.command {
        None if args.keys => output::print(&screen::keys()),
        None => match args.db {
            Some(db) => screen::open(&db, None, None, &args.screen),
            None => Err(BadInput(
                "name a database ('memsift my.db'), make one ('memsift import FILE --into my.db'), or look around with \
                 'memsift demo'"
                    .to_owned(),
            )
            .into()),
        },
        Some(Command::Demo(demo)) => demo::run(&demo),
        Some(Command::Ask(ask)) => ask::run(&ask),
        Some(Command::Import(import)) => import::run(&import),
        Some(Command::Inspect(inspect)) => inspect::run(&inspect),
        Some(Command::Cache(command)) => cache::run(&command),
        Some(Command::Models(command)) => models::run(&command),
        Some(Command::Explain(explain)) => explain::run(&explain),
        Some(Command::Eval(eval)) => eval::run(&eval),
        Some(Command::Oracle(oracle)) => oracle::run(&oracle),
        Some(Command::Diff(diff)) => diff::run(&diff),
        Some(Command::Replay(replay)) => replay::run(&replay),
        Some(Command::Sweep(sweep)) => sweep::run(&sweep),
        Some(Command::Reproduce(reproduce)) => reproduce::run(&reproduce),
        Some(Command::Bench(bench)) => bench::run(&bench),
        Some(Command::Play(play)) => play::run(&play),
        Some(Command::Keys) => output::print(&screen::keys()),
        Some(Command::Paths) => paths(),
        Some(Command::Config(config)) => config::run(&config),
        Some(Command::Doctor(doctor)) => doctor::run(&doctor),
        Some(Command::Completions(completions)) => manual::completions(&completions),
        Some(Command::Man(man)) => manual::page(&man),
    }
}

fn dirs() -> anyhow::Result<Dirs> {
    Dirs::find().context("no home directory is known; set MEMSIFT_DATA and MEMSIFT_CACHE to directories")
}

/// A pipeline with those of the models that there are, and the user's cache.
fn pipeline(rankers: &RankerChoice) -> anyhow::Result<Pipeline> {
    Ok(Pipeline::new(Models::load(rankers), Cache::open(&dirs()?.cache_db())))
}

/// What went wrong with cache and models, on standard error.
fn say_what_is_missing(pipeline: &Pipeline) {
    for notice in pipeline.notices() {
        output::say(&format!("memsift: {notice}"));
    }
    let models = pipeline.models();
    let mut reasons: Vec<&str> = models.tagger.as_ref().err().map(String::as_str).into_iter().collect();
    reasons.extend(SlotName::ALL.into_iter().filter_map(|slot| models.reason(slot)));
    reasons.dedup();
    for reason in reasons {
        output::say(&format!("memsift: {reason}"));
    }
}

/// A conversation with the gold that was marked by hand.
fn load(store: &Store, id: &str) -> anyhow::Result<Conversation> {
    let mut conversation = store.load(id)?;
    if let Some(dirs) = Dirs::find() {
        let marks = Marks::load(&dirs.marks())?;
        if let Some(notice) = marks.notice() {
            output::say(&format!("memsift: {notice}"));
        }
        marks.apply(&mut conversation);
    }
    Ok(conversation)
}

fn paths() -> anyhow::Result<()> {
    let dirs = dirs()?;
    output::print(&format!(
        "models    {}\ncache     {}\nmarks     {}\npins      {}\nmappings  {}\ndemo      {}\nthemes    {}\nconfig    {}\n",
        crate::models::models_dir()?.display(),
        dirs.cache_db().display(),
        dirs.marks().display(),
        dirs.pins().display(),
        dirs.mappings().display(),
        dirs.demo_db().display(),
        crate::dirs::themes().unwrap_or_default().display(),
        crate::dirs::config_file().unwrap_or_default().display()
    ))
}
