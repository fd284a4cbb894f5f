//! What the terminal can show: size, colours, letters. Knows what its variables mean; draws nothing.

use std::io::IsTerminal;

use ratatui::crossterm::terminal::size;

use super::Line;

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
    vec![terminal, colours(kind.as_deref()), letters()]
}

fn colours(kind: Option<&str>) -> Line {
    let depth = said("COLORTERM");
    Line::fine(
        "colours",
        match (said("NO_COLOR"), depth.as_deref(), kind) {
            (Some(_), ..) => "none, because NO_COLOR is set: the theme is 'mono'",
            (None, Some("truecolor" | "24bit"), _) => "all, as COLORTERM says: every theme fits",
            (None, _, Some(kind)) if kind.contains("256color") => {
                "256, as TERM says: the themes 'terminal' and 'mono' fit best"
            }
            _ => "perhaps 16, as neither TERM nor COLORTERM says more: the themes 'terminal' and 'mono' fit best",
        },
    )
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
