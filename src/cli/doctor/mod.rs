//! `memsift doctor`: what is there, what is missing, and what to do next, a line each. Changes nothing; knows where
//! everything lies, not how it works.

mod models;
mod terminal;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use indicatif::HumanBytes;

use super::config::{self, Config};
use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::{Changed, dirs, output, themes};
use crate::dirs::Dirs;
use crate::explain::fate::thousands;
use crate::rank::{Cache, Kernel};
use crate::store::clean::clean_line;
use crate::store::marks::Marks;
use crate::store::pins::Pins;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Also say what this database is taken for.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Fine,
    Missing,
    Broken,
}

/// What is said of one thing.
struct Line {
    mark: Mark,
    name: &'static str,
    words: String,
    /// Whether the demo lacks something without it.
    needed: bool,
}

impl Line {
    fn fine(name: &'static str, words: impl Into<String>) -> Self {
        Self { mark: Mark::Fine, name, words: words.into(), needed: false }
    }

    fn missing(name: &'static str, words: impl Into<String>) -> Self {
        Self { mark: Mark::Missing, name, words: words.into(), needed: false }
    }

    fn broken(name: &'static str, words: impl Into<String>) -> Self {
        Self { mark: Mark::Broken, name, words: words.into(), needed: false }
    }

    fn needed(self) -> Self {
        Self { needed: true, ..self }
    }
}

/// Look at everything and say it.
pub fn run(args: &DoctorArgs) -> anyhow::Result<()> {
    let config = config::look();
    let mut lines = of_config(config);
    match args.rankers.choice() {
        Ok(choice) => lines.extend(models::of_slots(&choice)),
        Err(error) => lines.push(Line::broken("models", format!("{error:#}")).needed()),
    }
    lines.push(kernel());
    match dirs() {
        Ok(dirs) => lines.extend(of_files(&dirs)),
        Err(error) => lines.push(Line::broken("files", format!("{error:#}")).needed()),
    }
    lines.extend(terminal::lines());
    lines.extend(terminal::ground(config));
    lines.extend(of_themes(themes::get()));
    lines.extend(args.db.as_deref().map(|db| database(db, &args.reading)));
    let plain = config.ascii() || !terminal::has_utf8();
    let mut text = String::new();
    for line in &lines {
        let glyph = match (line.mark, plain) {
            (Mark::Fine, false) => "✓",
            (Mark::Missing, false) => "○",
            (Mark::Broken, false) => "✗",
            (Mark::Fine, true) => "+",
            (Mark::Missing, true) => "-",
            (Mark::Broken, true) => "x",
        };
        let _ = writeln!(text, "{glyph} {:9} {}", line.name, clean_line(&line.words, &mut 0));
    }
    let lacking = lines.iter().filter(|line| line.needed && line.mark != Mark::Fine).count();
    if lacking == 0 {
        text.push_str("\nEverything that the demo needs is there: 'memsift demo' opens it.\n");
        return output::print(&text);
    }
    output::print(&text)?;
    let lines = if lacking == 1 { "1 line names" } else { &format!("{lacking} lines name") };
    Err(Changed(format!("{lines} something that is needed and not as it should be: do what stands there")).into())
}

fn of_config(config: &Config) -> Vec<Line> {
    let Some(file) = &config.file else {
        return vec![Line::fine("config", "no home directory is known: everything is at its default")];
    };
    let name = file.display();
    let begin = match (config.found, config.warnings.len()) {
        (false, 0) => Line::fine(
            "config",
            format!("'{name}' is not there, everything is at its default: 'memsift config --print-default' prints one"),
        ),
        (true, 0) => Line::fine("config", format!("'{name}' applies")),
        (false, _) => Line::missing("config", format!("'{name}' is not there")),
        (true, _) => {
            Line::broken("config", format!("'{name}' applies but for what the next lines say: correct them there"))
        }
    };
    std::iter::once(begin).chain(config.warnings.iter().map(|warning| Line::broken("config", warning))).collect()
}

/// The themes of this user, and what of them does not apply.
fn of_themes(found: &themes::Found) -> Vec<Line> {
    let Some(folder) = &found.folder else { return Vec::new() };
    let folder = folder.display();
    let own: Vec<&str> = found.themes.names().filter(|name| found.themes.is_own(name)).collect();
    let faults: Vec<String> = found.troubles.iter().cloned().chain(found.themes.warnings()).collect();
    let begin = match (own.len(), faults.len()) {
        (0, 0) => Line::fine("themes", format!("none of your own: '{folder}' is where they would lie")),
        (_, 0) => Line::fine("themes", format!("of your own in '{folder}': {}", own.join(", "))),
        _ => Line::broken("themes", format!("'{folder}' applies but for what the next lines say: correct it there")),
    };
    std::iter::once(begin).chain(faults.into_iter().map(|fault| Line::broken("themes", fault))).collect()
}

fn kernel() -> Line {
    let here: Vec<&str> = Kernel::here().map(Kernel::name).collect();
    Line::fine("kernel", format!("{} of what this CPU has: {}", Kernel::current().name(), here.join(", ")))
}

fn of_files(dirs: &Dirs) -> Vec<Line> {
    let cache = dirs.cache_db();
    let name = cache.display();
    let cache = match (Cache::look(&cache), can_write(&dirs.cache)) {
        (Ok(_), Err(error)) => Line::broken(
            "cache",
            format!("nothing can be kept in '{}' ({error}): set MEMSIFT_CACHE", dirs.cache.display()),
        ),
        (Ok(None), Ok(())) => Line::fine("cache", format!("'{name}' is not there yet: the first question makes it")),
        (Ok(Some(info)), Ok(())) => {
            let (vectors, scores) = (thousands(info.vectors), thousands(info.scores));
            let size = HumanBytes(info.bytes);
            Line::fine("cache", format!("'{name}', {size}: vectors of {vectors} texts, scores of {scores} pairs"))
        }
        (Err(why), _) => Line::broken(
            "cache",
            format!("'{name}' cannot be used ({why}): it may be deleted, models compute it again"),
        ),
    };
    let demo = dirs.demo_db();
    let demo = match (can_write(&dirs.data), demo.exists()) {
        (Err(error), _) => {
            let words = format!("'{}' cannot be written ({error}): set MEMSIFT_DATA", dirs.data.display());
            Line::broken("demo", words).needed()
        }
        (Ok(()), true) => Line::fine("demo", format!("'{}' is there", demo.display())),
        (Ok(()), false) => {
            Line::missing("demo", format!("'{}' is not made yet: 'memsift demo' makes it", demo.display()))
        }
    };
    let marks = own_file("marks", &dirs.marks(), |copy| Marks::load(copy).map(|marks| marks.notice().is_none()));
    let pins = own_file("pins", &dirs.pins(), |copy| Pins::load(copy).map(|(_, notice)| notice.is_none()));
    vec![cache, marks, pins, demo]
}

/// A small file of memsift's own. What cannot be understood is set aside by whoever loads it, so a copy is loaded.
fn own_file<E: std::fmt::Display>(name: &'static str, path: &Path, load: impl Fn(&Path) -> Result<bool, E>) -> Line {
    let file = path.display();
    if !path.exists() {
        return Line::fine(name, format!("'{file}' is not there yet"));
    }
    let read = || -> anyhow::Result<bool> {
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join(name);
        std::fs::copy(path, &copy)?;
        load(&copy).map_err(|error| anyhow::anyhow!("{error}"))
    };
    match read() {
        Ok(true) => Line::fine(name, format!("'{file}' can be read")),
        Ok(false) => Line::broken(name, format!("'{file}' cannot be understood: the next start sets it aside")),
        Err(error) => Line::broken(name, format!("'{file}' cannot be read: {error:#}")),
    }
}

/// Whether files can be made in a folder, or in the one where it would be made.
fn can_write(folder: &Path) -> std::io::Result<()> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    tempfile::tempfile_in(there).map(drop)
}

fn database(path: &Path, reading: &ReadingArgs) -> Line {
    let verdict = reading.open(path).and_then(|store| Ok(store.verdict()?));
    match verdict {
        Ok(found) if found.turns == 0 => Line::broken(
            "database",
            format!("'{}' is taken for {} ({}) and holds no turn", path.display(), found.title, found.store),
        )
        .needed(),
        Ok(found) => {
            let (name, talks, turns) =
                (path.display(), thousands(found.conversations as u64), thousands(found.turns as u64));
            let taken = format!("{} ({}), {}", found.title, found.store, found.version);
            Line::fine(
                "database",
                format!(
                    "'{name}' is taken for {taken}: {talks} conversations, {turns} turns; 'memsift inspect' says more"
                ),
            )
        }
        Err(error) => Line::broken("database", format!("{error:#}")).needed(),
    }
}
