//! What the terminal can show: size, colours, letters. Knows what its variables mean; draws nothing.

use std::io::IsTerminal;

use ratatui::crossterm::terminal::size;

use super::Line;
use crate::cli::config::Config;
use crate::cli::themes;
use crate::ui::background::{self, From};
use crate::ui::theme::Depth;

/// A line for the terminal, one for its colours, one for its letters.
pub(super) fn lines() -> Vec<Line> {
    let both = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let kind = said("TERM");
    let named = kind.clone().unwrap_or_else(|| "unknown".to_owned());
    let terminal = match (both, size()) {
        (false, _) => Line::missing(
            "terminal",
            "input or output is no terminal here, and the explorer needs one; 'memsift ask' does not",
        ),
        (true, _) if kind.as_deref() == Some("dumb") => {
            Line::broken("terminal", "TERM is 'dumb', which cannot be drawn on: use another terminal").needed()
        }
        (true, Ok((columns, rows))) => Line::fine("terminal", format!("{named}, {columns} columns, {rows} rows")),
        (true, Err(error)) => Line::broken("terminal", format!("{named}, and its size is not known: {error}")),
    };
    vec![terminal, colours(), letters()]
}

fn colours() -> Line {
    if themes::is_colourless() {
        return Line::fine("colours", "none, because NO_COLOR is set: the theme is 'mono'");
    }
    let words = match themes::depth() {
        (Depth::Full, why) => format!("all, as {why} says: every theme fits"),
        (Depth::Indexed, why) => format!("256, as {why} says: themes get the nearest of them"),
        (Depth::Sixteen, _) => {
            "perhaps 16, as neither TERM nor COLORTERM says more: themes get the nearest of them, and \
             'terminal' and 'mono' fit best"
                .to_owned()
        }
    };
    Line::fine("colours", words)
}

/// Whether the terminal is dark or light, where that decides about the theme.
pub(super) fn ground(config: &Config) -> Option<Line> {
    let (dark, light) = config.grounds().filter(|_| !themes::is_colourless())?;
    if said("MEMSIFT_THEME").is_some() || !(std::io::stdout().is_terminal() && std::io::stdin().is_terminal()) {
        return Some(Line::fine(
            "ground",
            format!("'{dark}' on dark terminals, '{light}' on light ones; none was asked"),
        ));
    }
    let found = match background::look() {
        Ok(found) => found,
        Err(error) => return Some(Line::broken("ground", format!("the terminal cannot be asked ({error})"))),
    };
    let (word, theme) = if found.light { ("light", light) } else { ("dark", dark) };
    let from = match found.from {
        From::Terminal([r, g, b]) => format!("as the terminal says (#{r:02x}{g:02x}{b:02x})"),
        From::Variable(value) => format!("as COLORFGBG says ({value})"),
        From::Nothing => "as most are: this terminal does not say".to_owned(),
    };
    Some(Line::fine("ground", format!("{word}, {from}: the theme is '{theme}'")))
}

fn letters() -> Line {
    match (locale(), has_utf8()) {
        (Some((name, value)), true) => Line::fine("letters", format!("UTF-8, as {name} says ({value})")),
        (None, true) => Line::fine("letters", "UTF-8"),
        (Some((name, value)), false) => {
            Line::missing("letters", format!("{name} is '{value}', which is not UTF-8: --ascii draws with ASCII only"))
        }
        (None, false) => Line::missing("letters", "no locale is set: set LANG to one with UTF-8, or use --ascii"),
    }
}

/// Whether the terminal shows more than ASCII.
pub(super) fn has_utf8() -> bool {
    let says = |value: &str| value.to_lowercase().replace('-', "").contains("utf8");
    locale().map_or(cfg!(windows), |(_, value)| says(&value))
}

/// The variable that decides about letters, and what it says.
fn locale() -> Option<(&'static str, String)> {
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, said(name)?)))
}

fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
