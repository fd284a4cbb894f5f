//! `memsift cache`: what the cache of vectors and scores holds, and how to empty it.

use anyhow::bail;
use indicatif::HumanBytes;

use super::{dirs, output};
use crate::explain::fate::thousands;
use crate::rank::Cache;

/// Commands on the cache.
#[derive(Debug, clap::Subcommand)]
pub enum CacheCommand {
    /// Print where it is and what it holds.
    Info,
    /// Remove every entry; models compute again what is needed.
    Clear,
}

/// Run one of them.
pub fn run(command: &CacheCommand) -> anyhow::Result<()> {
    let path = dirs()?.cache_db();
    if !path.exists() {
        return output::print(&format!("there is no cache at '{}' yet\n", path.display()));
    }
    let cache = Cache::open(&path);
    let before = cache.info();
    let cleared = matches!(command, CacheCommand::Info) || cache.clear();
    for notice in cache.notices() {
        output::say(&format!("memsift: {notice}"));
    }
    let Some(before) = before else { bail!("the cache '{}' cannot be read", path.display()) };
    if !cleared {
        bail!("the cache '{}' was not emptied: try again when no other memsift is running", path.display());
    }
    let text = match command {
        CacheCommand::Info => {
            let mut text = format!(
                "file     {}\nsize     {} of at most {}\nvectors  {} texts\nscores   {} pairs\n",
                path.display(),
                HumanBytes(before.bytes),
                HumanBytes(before.limit),
                thousands(before.vectors),
                thousands(before.scores)
            );
            for file in &before.set_aside {
                text.push_str(&format!("aside    {}: was no usable cache, may be deleted\n", file.display()));
            }
            text
        }
        CacheCommand::Clear => {
            let freed = before.bytes.saturating_sub(cache.info().map_or(0, |after| after.bytes));
            format!(
                "removed vectors of {} texts and scores of {} pairs, {} freed\n",
                thousands(before.vectors),
                thousands(before.scores),
                HumanBytes(freed)
            )
        }
    };
    output::print(&text)
}
