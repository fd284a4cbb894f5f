//! `memsift demo`: the first minute. Models, the sample histories, and the explorer on them.

use std::path::PathBuf;

use super::screen::{self, ScreenArgs};
use super::{dirs, models};
use crate::store::import::import_texts;
use crate::ui::tour::Tour;

/// The sample histories, as they lie in `sample-data`.
const SAMPLES: [(&str, &str); 4] = [
    ("nell-and-idris.jsonl", include_str!("../../sample-data/nell-and-idris.jsonl")),
    ("nell-and-idris.questions.jsonl", include_str!("../../sample-data/nell-and-idris.questions.jsonl")),
    ("hester-and-rafe.jsonl", include_str!("../../sample-data/hester-and-rafe.jsonl")),
    ("hester-and-rafe.questions.jsonl", include_str!("../../sample-data/hester-and-rafe.questions.jsonl")),
];

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    #[command(flatten)]
    screen: ScreenArgs,
    /// Make the demo database, print where it is, and open nothing.
    #[arg(long)]
    prepare: bool,
    /// Begin without the tour.
    #[arg(long)]
    no_tour: bool,
    /// Touch no network; go on without the models that are not there.
    #[arg(long)]
    offline: bool,
}

/// The demo database, made or brought up to date.
pub fn database() -> anyhow::Result<PathBuf> {
    let dirs = dirs()?;
    std::fs::create_dir_all(&dirs.data)?;
    let path = dirs.demo_db();
    import_texts(&SAMPLES, &path, &mut |_| {})?;
    Ok(path)
}

/// Fetch, make, open.
pub fn run(args: &DemoArgs) -> anyhow::Result<()> {
    if let Err(reason) = models::fetch_small_set(args.offline) {
        super::output::say(&format!("memsift: going on without all models: {reason:#}"));
    }
    let path = database()?;
    if args.prepare {
        return super::output::print(&format!("{}\n", path.display()));
    }
    let question = "What made Nell nearly give up on the boat, and what changed her mind?";
    // Its answers are kept, one of them far down.
    let kept = "Where did the teacher of the bread course learn the trade?";
    let tour = (!args.no_tour && !args.screen.is_told_what_to_ask()).then(|| Tour::new(Some(kept.to_owned())));
    screen::open(&path, Some(("nell-and-idris", question)), tour, &args.screen)
}
