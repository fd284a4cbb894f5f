//! The configuration: what its file says, and what is in force with it. Knows one file and which variables win over it;
//! reading its text is `read`'s work.

mod entry;
mod read;
mod show;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};

use super::output;
use crate::dirs;
use crate::settings::{Knob, Settings};
use crate::ui::Keymap;

/// Arguments of `config`.
#[derive(Debug, clap::Args)]
pub struct ConfigArgs {
    /// Print a configuration with every key at its default, ready to be changed.
    #[arg(long)]
    print_default: bool,
}

/// What the file says and where.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    text: String,
    line: usize,
}

/// The configuration of this user. What its file does not say, or says wrongly, is at its default.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Where the file is, or would be; `None` without a home directory.
    pub file: Option<PathBuf>,
    /// Whether there is one.
    pub found: bool,
    /// What of it does not apply, a sentence each.
    pub warnings: Vec<String>,
    entries: BTreeMap<&'static str, Said>,
    knobs: BTreeMap<&'static str, Said>,
    settings: Settings,
    keys: Keymap,
    rebound: BTreeMap<String, usize>,
}

impl Config {
    /// Read the file of this user. Never fails: what cannot be read is said in the warnings.
    fn load() -> Self {
        let Some(file) = dirs::config_file() else { return Self::default() };
        let name = file.display();
        let named = std::env::var_os(dirs::CONFIG).is_some_and(|file| !file.is_empty());
        let trouble =
            |found, warning: Option<String>| Self { found, warnings: warning.into_iter().collect(), ..Self::default() };
        let config = match std::fs::read_to_string(&file) {
            Ok(text) => Self { found: true, ..read::read(&text, &name.to_string()) },
            Err(error) if error.kind() == ErrorKind::NotFound && !named => trouble(false, None),
            Err(error) if error.kind() == ErrorKind::NotFound => trouble(
                false,
                Some(format!(
                    "{} names '{name}', and there is no such file: everything is at its default",
                    dirs::CONFIG
                )),
            ),
            Err(error) => trouble(
                true,
                Some(format!("the configuration '{name}' cannot be read ({error}): everything is at its default")),
            ),
        };
        Self { file: Some(file), ..config }
    }

    /// What the file says of a key that is neither a knob nor a key of the screen; nothing where it says nothing.
    fn said(&self, name: &str) -> Option<&str> {
        self.entries.get(name).map(|said| said.text.as_str()).filter(|text| !text.is_empty())
    }

    /// The colour theme; of a table, the one that is named first.
    pub fn theme(&self) -> Option<&str> {
        ["theme", "theme.dark", "theme.light"].into_iter().find_map(|name| self.said(name))
    }

    /// Themes for dark and for light terminals, where the file names both.
    pub fn grounds(&self) -> Option<(&str, &str)> {
        Some((self.said("theme.dark")?, self.said("theme.light")?))
    }

    /// Whether only ASCII is drawn.
    pub fn ascii(&self) -> bool {
        self.said("ascii") == Some("true")
    }

    /// Whether the mouse is used.
    pub fn mouse(&self) -> bool {
        self.said("mouse") != Some("false")
    }

    /// Set of models.
    pub fn profile(&self) -> Option<&str> {
        self.said("profile")
    }

    /// What fills a ranker's slot, by the slot's name.
    pub fn slot(&self, name: &str) -> Option<&str> {
        self.said(name)
    }

    /// How precisely encoders are computed.
    pub fn precision(&self) -> Option<&str> {
        self.said("precision")
    }

    /// Hours of a pause that begins a session.
    pub fn gap(&self) -> Option<f64> {
        self.said("gap").and_then(|hours| hours.parse().ok())
    }

    /// The knobs with which everything begins.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The keys of the screen.
    pub fn keys(&self) -> &Keymap {
        &self.keys
    }

    /// Turn the knobs that the file names.
    pub fn turn(&self, settings: &mut Settings) {
        for (name, said) in &self.knobs {
            if let Some(knob) = Knob::named(name) {
                // It was tried when the file was read.
                let _ = knob.set_from(settings, &said.text);
            }
        }
    }
}

static CONFIG: OnceLock<Config> = OnceLock::new();
static SAID: Once = Once::new();

/// The configuration, read once; the first one to ask has its warnings said.
pub fn get() -> &'static Config {
    let config = CONFIG.get_or_init(Config::load);
    SAID.call_once(|| config.warnings.iter().for_each(|warning| output::say(&format!("memsift: {warning}"))));
    config
}

/// The same for those who show the warnings themselves.
pub fn look() -> &'static Config {
    SAID.call_once(|| {});
    CONFIG.get_or_init(Config::load)
}

/// Print a file to begin with, or what is in force.
pub fn run(args: &ConfigArgs) -> anyhow::Result<()> {
    output::print(&if args.print_default { show::defaults() } else { show::in_force(look()) })
}
