//! The themes of this user: read once from their folder, and which one is meant by flag, variables and configuration. What a
//! theme says is read elsewhere.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::BadInput;
use super::config::Config;
use crate::dirs;
use crate::store::clean::clean_line;
use crate::ui::theme::{Depth, Own};
use crate::ui::{Glyphs, Theme, Themes};

/// Longest file that is read; a theme has some forty lines.
const LONGEST: u64 = 64 * 1024;

/// What lies in the folder.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Where themes are looked for; `None` without a home directory.
    pub folder: Option<PathBuf>,
    /// All themes.
    pub themes: Themes,
    /// Files that cannot be read, a sentence each.
    pub troubles: Vec<String>,
}

/// The themes, read once.
pub(super) fn get() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| dirs::themes().map_or_else(Found::default, |folder| look_in(&folder)))
}

fn look_in(folder: &Path) -> Found {
    let shown = |path: &Path| clean_line(&path.display().to_string(), &mut 0).into_owned();
    let mut found = Found { folder: Some(folder.to_owned()), ..Found::default() };
    let mut own = Vec::new();
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.retain(|file| file.extension().is_some_and(|kind| kind == "toml"));
            files.sort();
            for file in files {
                let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                match read(&file) {
                    Ok(text) => {
                        own.push(Own { name: clean_line(&name, &mut 0).into_owned(), file: shown(&file), text });
                    }
                    Err(why) => found.troubles.push(format!("the theme '{}' cannot be read: {why}", shown(&file))),
                }
            }
        }
        // Nobody needs themes of their own; whoever names a folder for them means it.
        Err(_) if std::env::var_os(dirs::THEMES).is_none_or(|named| named.is_empty()) && !folder.exists() => {}
        Err(error) => found.troubles.push(format!("themes cannot be read from '{}': {error}", shown(folder))),
    }
    found.themes = Themes::with(own);
    found
}

fn read(file: &Path) -> Result<String, String> {
    let size = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > LONGEST {
        return Err(format!("it has {size} bytes, and a theme has at most {LONGEST}"));
    }
    std::fs::read_to_string(file).map_err(|error| error.to_string())
}

/// The theme that is meant.
pub(super) struct Chosen {
    /// The theme; of two, the one for dark terminals.
    pub theme: Theme,
    /// The one for light terminals, where the terminal is to decide.
    pub light: Option<Theme>,
    /// All themes, with the colours of this terminal.
    pub themes: Themes,
    /// What does not apply, a sentence each.
    pub warnings: Vec<String>,
}

/// Whether no colour is wanted.
pub(super) fn is_colourless() -> bool {
    said("NO_COLOR").is_some()
}

/// How many colours this terminal has, and what says so.
pub(super) fn depth() -> (Depth, &'static str) {
    Depth::of(said)
}

/// Decide by the flag, then the configuration. `colour` is what `--color` says.
pub(super) fn choose(flag: Option<&str>, colour: &str, glyphs: Glyphs, config: &Config) -> Result<Chosen, BadInput> {
    let depth = match colour {
        "16" => Depth::Sixteen,
        "256" => Depth::Indexed,
        "all" => Depth::Full,
        _ => depth().0,
    };
    let found = get();
    let themes = found.themes.clone().fit(depth);
    let named = |name: &str| themes.named(name, glyphs).map_err(BadInput);
    let (pair, one) = match (flag, config.grounds()) {
        _ if colour == "never" || is_colourless() => (None, "mono"),
        (Some(name), _) => (None, name),
        (None, Some((dark, light))) => (Some(light), dark),
        (None, None) => (None, config.theme().unwrap_or("terminal")),
    };
    let (theme, of_theme) = named(one)?;
    let mut warnings = found.troubles.clone();
    warnings.extend(of_theme);
    let light = match pair.map(named).transpose()? {
        Some((light, more)) => {
            warnings.extend(more);
            Some(light)
        }
        None => None,
    };
    Ok(Chosen { theme, light, themes, warnings })
}

fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
