//! The table of keys: the one place where a key gets its meaning. Footer, help, `memsift keys` and README are made from
//! it, and the configuration changes its keys by name. Knows keys and actions; does nothing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::Action;
use super::keymap::Keymap;
use super::pane::Pane;
use crate::settings::unknown_name;
use crate::store::clean::is_hostile;

/// One line of the table.
#[derive(Debug)]
pub struct Binding {
    /// What the configuration calls it.
    pub name: &'static str,
    /// Keys as they are written (`j`, `Ctrl-d`, `F1`).
    pub keys: &'static [&'static str],
    /// What they do.
    pub action: Action,
    /// Only in this pane.
    pub pane: Option<Pane>,
    /// What they do, in words.
    pub doc: &'static str,
    /// Short word for the footer, where it has room for eight.
    pub footer: Option<&'static str>,
}

const fn all(name: &'static str, keys: &'static [&'static str], action: Action, doc: &'static str) -> Binding {
    Binding { name, keys, action, pane: None, doc, footer: None }
}

const fn foot(
    name: &'static str,
    keys: &'static [&'static str],
    action: Action,
    doc: &'static str,
    footer: &'static str,
) -> Binding {
    Binding { name, keys, action, pane: None, doc, footer: Some(footer) }
}

const fn own(
    name: &'static str,
    pane: Pane,
    keys: &'static [&'static str],
    action: Action,
    doc: &'static str,
    footer: &'static str,
) -> Binding {
    Binding { name, keys, action, pane: Some(pane), doc, footer: Some(footer) }
}

const fn knob(
    name: &'static str,
    keys: &'static [&'static str],
    of: &'static str,
    steps: i32,
    fine: bool,
    doc: &'static str,
    footer: Option<&'static str>,
) -> Binding {
    Binding { name, keys, action: Action::Knob { name: of, steps, fine }, pane: None, doc, footer }
}

/// Every key. A pane's own keys come first, so that they win.
pub const KEYS: &[Binding] = &[
    own("terms-filter", Pane::Terms, &["Enter"], Action::Enter, "show only passages that hold the term", "filter"),
    own("terms-weight", Pane::Terms, &["e"], Action::Weight, "change the weight of the term", "weight"),
    own("terms-mute", Pane::Terms, &["Space"], Action::Mute, "silence the term, or give it back its voice", "mute"),
    own("hops-go-to", Pane::Hops, &["Enter"], Action::Enter, "look at the passage in the fused order", "go to"),
    own(
        "hops-order",
        Pane::Hops,
        &["o"],
        Action::Order,
        "order passages by match score, or as they were said",
        "order",
    ),
    own("ranks-joined", Pane::Ranks, &["r"], Action::Joined, "join gold and selection, movers, or both", "joined"),
    own("fused-passage", Pane::Fused, &["Enter"], Action::Enter, "look at the passage in its session", "passage"),
    own("fused-time", Pane::Fused, &["t"], Action::Order, "order by time, or by rank again", "time"),
    own("fused-fate", Pane::Fused, &["f"], Action::Fates, "show one fate only: the next one", "fate"),
    own("passage-session", Pane::Passage, &["Enter"], Action::Enter, "open the session on the whole screen", "session"),
    own("why-what-if", Pane::Why, &["Enter"], Action::Enter, "choose a what-if and turn its knob", "what if"),
    own("passage-tokens", Pane::Passage, &["T"], Action::Tokens, "what the models saw of it, token by token", "tokens"),
    foot(
        "edit",
        &["i"],
        Action::Edit,
        "edit the question; Enter asks, Esc leaves, Up and Down walk through earlier ones",
        "ask",
    ),
    all("filter", &["/"], Action::Filter, "show only rows that hold some words"),
    foot("next-pane", &["Tab"], Action::NextPane, "next pane", "pane"),
    all("previous-pane", &["S-Tab"], Action::PreviousPane, "pane before"),
    all("pane-1", &["1"], Action::Focus(Pane::Terms), "pane 1, Terms"),
    all("pane-2", &["2"], Action::Focus(Pane::Hops), "pane 2, Hops"),
    all("pane-3", &["3"], Action::Focus(Pane::Ranks), "pane 3, Ranks"),
    all("pane-4", &["4"], Action::Focus(Pane::Fused), "pane 4, Fused"),
    all("pane-5", &["5"], Action::Focus(Pane::Passage), "pane 5, Passage"),
    all("pane-6", &["6"], Action::Focus(Pane::Why), "pane 6, Why"),
    all("compare", &["7"], Action::Compare, "compare the pinned settings (A) with the present ones (B)"),
    knob("alpha-down", &["-"], "alpha", -1, false, "α down", Some("α")),
    knob("alpha-up", &["+", "="], "alpha", 1, false, "α up", None),
    knob("budget-down", &["["], "budget", -1, false, "budget down by 50 words", Some("budget")),
    knob("budget-up", &["]"], "budget", 1, false, "budget up by 50 words", None),
    knob("budget-down-fine", &["{"], "budget", -1, true, "budget down by 10 words", None),
    knob("budget-up-fine", &["}"], "budget", 1, true, "budget up by 10 words", None),
    knob("w-down", &["("], "w", -1, false, "w down: more ColBERT (λ in the z fusion)", None),
    knob("w-up", &[")"], "w", 1, false, "w up: more cross-encoder (λ in the z fusion)", None),
    knob("top-n-down", &["<"], "top-n", -1, false, "top n down", None),
    knob("top-n-up", &[">"], "top-n", 1, false, "top n up", None),
    all("defaults", &["0"], Action::Defaults, "all knobs back to their defaults"),
    all("undo", &["u"], Action::Undo, "undo the last change of a knob"),
    all("redo", &["Ctrl-r"], Action::Redo, "redo it"),
    all("sweep", &["s", "8"], Action::Sweep, "share of the gold kept over two knobs, for this question or for all"),
    all("pin", &["c"], Action::Pin, "pin the settings as A, or clear the pin"),
    all("swap", &["x"], Action::Swap, "swap A and the present settings"),
    all("why", &["w"], Action::Why, "why the selected passage was kept or dropped"),
    all("mark", &["m"], Action::Mark, "mark or unmark the selected passage as gold"),
    all("gold", &["M"], Action::Gold, "list the gold"),
    all("next-gold", &["*"], Action::NextGold { dropped: false }, "next gold"),
    all("next-dropped-gold", &["#"], Action::NextGold { dropped: true }, "next gold that is dropped"),
    all("next-question", &["p"], Action::Question(1), "next question of the set"),
    all("previous-question", &["P"], Action::Question(-1), "question before"),
    all("questions", &["L"], Action::Questions, "list the questions of the set"),
    all("conversations", &["O"], Action::Conversations, "list the conversations"),
    all("context", &["C"], Action::Context, "the context as it would be sent"),
    all(
        "tokens",
        &["T"],
        Action::Tokens,
        "what the models saw: the MaxSim matrix and, with Tab, what the cross-encoder read",
    ),
    all("zoom", &["z"], Action::Zoom, "the focused pane on the whole screen, or back"),
    all("down", &["j", "Down"], Action::Move(1), "next row"),
    all("up", &["k", "Up"], Action::Move(-1), "row before"),
    all("half-page-down", &["Ctrl-d"], Action::HalfPage(1), "half a screen down"),
    all("half-page-up", &["Ctrl-u"], Action::HalfPage(-1), "half a screen up"),
    all("page-down", &["PgDn"], Action::Page(1), "a screen down"),
    all("page-up", &["PgUp"], Action::Page(-1), "a screen up"),
    all("first", &["g", "Home"], Action::First, "first row"),
    all("last", &["G", "End"], Action::Last, "last row"),
    all("right", &["l", "Right"], Action::Sideways(8), "scroll long lines to the right"),
    all("left", &["h", "Left"], Action::Sideways(-8), "scroll back to the left"),
    all("next-match", &["n"], Action::NextMatch(1), "next row that the filter keeps"),
    all("previous-match", &["N"], Action::NextMatch(-1), "row before that the filter keeps"),
    all("copy-passage", &["y"], Action::CopyPassage, "copy the passage"),
    all("copy-why", &["Y"], Action::CopyWhy, "copy the whole explanation"),
    all("export", &["E"], Action::Export, "write the trace to a file"),
    all("resume", &["R"], Action::Resume, "go on scoring after Esc"),
    all("reload", &["F5"], Action::Reload, "read the database again"),
    all("follow", &["F"], Action::Follow, "follow the database: what is written to it appears, or no longer"),
    all("command", &[":"], Action::Command, "type a command: set, open, question, theme, export, resume, quit"),
    all("mouse", &["v"], Action::Mouse, "mouse off, so that the terminal can select text, or on again"),
    all("back", &["Esc"], Action::Back, "one step back: close, stop scoring, drop the filter"),
    all("enter", &["Enter"], Action::Enter, "what the focused pane is for"),
    foot("help", &["?", "F1"], Action::Help, "help; typing filters it", "help"),
    all("suspend", &["Ctrl-z"], Action::Suspend, "put the program to the background"),
    foot("quit", &["q"], Action::Quit, "quit", "quit"),
    all("quit-anywhere", &["Ctrl-c"], Action::Quit, "quit from anywhere"),
];

/// The line that no configuration changes: whatever happens, there is one way out.
pub const FIXED: &str = "quit-anywhere";

/// Keys that are no single character, as the table writes them.
const NAMED: [&str; 13] =
    ["Space", "Enter", "Esc", "Tab", "S-Tab", "Up", "Down", "Left", "Right", "Home", "End", "PgUp", "PgDn"];

/// Whether the table could write a key like this.
///
/// # Errors
/// A sentence that says what is wrong, with the nearest name.
pub fn check(key: &str) -> Result<(), String> {
    let mut chars = key.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        return if only.is_control() || only.is_whitespace() || is_hostile(only) {
            Err("a key is a character that can be seen, or a name as 'Space'".to_owned())
        } else {
            Ok(())
        };
    }
    let control: Vec<String> = ('a'..='z').map(|letter| format!("Ctrl-{letter}")).collect();
    match key {
        "Ctrl-c" => return Err("'Ctrl-c' always quits".to_owned()),
        "Ctrl-i" => return Err("terminals send 'Ctrl-i' as 'Tab'".to_owned()),
        "Ctrl-m" => return Err("terminals send 'Ctrl-m' as 'Enter'".to_owned()),
        _ => {}
    }
    let functions: Vec<String> = (1..=12).map(|number| format!("F{number}")).collect();
    let others = control.iter().chain(&functions).map(String::as_str);
    let mut known = NAMED.iter().copied().chain(others);
    if known.clone().any(|name| name == key) { Ok(()) } else { Err(unknown_name("key", key, &mut known)) }
}

/// A key as the table writes it; `None` for keys that it does not use.
pub fn name_of(key: &KeyEvent) -> Option<String> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    let name = match key.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) if control => return Some(format!("Ctrl-{}", c.to_ascii_lowercase())),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        KeyCode::Tab if key.modifiers.contains(KeyModifiers::SHIFT) => "S-Tab".to_owned(),
        KeyCode::Tab => "Tab".to_owned(),
        KeyCode::BackTab => "S-Tab".to_owned(),
        KeyCode::Up => "Up".to_owned(),
        KeyCode::Down => "Down".to_owned(),
        KeyCode::Left => "Left".to_owned(),
        KeyCode::Right => "Right".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::F(number) => format!("F{number}"),
        _ => return None,
    };
    (!control).then_some(name)
}

/// The key that the table writes like this.
///
/// # Errors
/// As [`check`]; `Ctrl-c` is a key here.
pub fn key_of(name: &str) -> Result<KeyEvent, String> {
    if name != "Ctrl-c" {
        check(name)?;
    }
    let (code, modifiers) = match (name.strip_prefix("Ctrl-"), name.strip_prefix('F'), name.chars().next()) {
        (Some(letter), _, _) => (letter.chars().next().map(KeyCode::Char), KeyModifiers::CONTROL),
        (None, Some(number), _) if !number.is_empty() => (number.parse().ok().map(KeyCode::F), KeyModifiers::NONE),
        (None, _, Some(only)) if name.chars().count() == 1 => (Some(KeyCode::Char(only)), KeyModifiers::NONE),
        _ => {
            let code = match name {
                "Space" => KeyCode::Char(' '),
                "Enter" => KeyCode::Enter,
                "Esc" => KeyCode::Esc,
                "Tab" => KeyCode::Tab,
                "S-Tab" => KeyCode::BackTab,
                "Up" => KeyCode::Up,
                "Down" => KeyCode::Down,
                "Left" => KeyCode::Left,
                "Right" => KeyCode::Right,
                "Home" => KeyCode::Home,
                "End" => KeyCode::End,
                "PgUp" => KeyCode::PageUp,
                "PgDn" => KeyCode::PageDown,
                _ => return Err(unknown_name("key", name, NAMED.into_iter())),
            };
            (Some(code), KeyModifiers::NONE)
        }
    };
    code.map(|code| KeyEvent::new(code, modifiers)).ok_or_else(|| unknown_name("key", name, NAMED.into_iter()))
}

/// The whole table as a Markdown table, every key at its default.
pub fn markdown() -> String {
    Keymap::default().markdown()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_in_one_pane() {
        for pane in Pane::ALL {
            for at in [Some(pane), None] {
                let mut keys: Vec<&str> =
                    KEYS.iter().filter(|b| b.pane == at).flat_map(|b| b.keys.iter().copied()).collect();
                let count = keys.len();
                keys.sort_unstable();
                keys.dedup();
                assert_eq!(count, keys.len(), "a key stands twice for {at:?}");
            }
        }
    }

    #[test]
    fn every_knob_of_the_table_exists() {
        for binding in KEYS {
            if let Action::Knob { name, .. } = binding.action {
                assert!(crate::settings::Knob::named(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn every_line_has_a_name_of_its_own_and_keys_that_can_be_written() {
        let mut names: Vec<&str> = KEYS.iter().map(|binding| binding.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KEYS.len());
        for key in KEYS.iter().filter(|binding| binding.name != FIXED).flat_map(|binding| binding.keys) {
            assert_eq!(check(key), Ok(()), "{key}");
            assert_eq!(key_of(key).ok().and_then(|event| name_of(&event)).as_deref(), Some(*key));
        }
        assert_eq!(check("ctrl-d"), Err("there is no key 'ctrl-d': did you mean 'Ctrl-d'?".to_owned()));
        assert!(["", "  ", "\u{1b}", "\u{202e}", "Ctrl-c", "F99", "gg"].iter().all(|key| check(key).is_err()));
    }
}
