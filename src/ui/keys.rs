//! The table of keys: the one place where a key gets its meaning. Footer, help, `memsift keys` and README are made from
//! it. Knows keys and actions; does nothing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::Action;
use super::pane::Pane;

/// One line of the table.
#[derive(Debug)]
pub struct Binding {
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

const fn all(keys: &'static [&'static str], action: Action, doc: &'static str) -> Binding {
    Binding { keys, action, pane: None, doc, footer: None }
}

const fn foot(keys: &'static [&'static str], action: Action, doc: &'static str, footer: &'static str) -> Binding {
    Binding { keys, action, pane: None, doc, footer: Some(footer) }
}

const fn own(
    pane: Pane,
    keys: &'static [&'static str],
    action: Action,
    doc: &'static str,
    footer: &'static str,
) -> Binding {
    Binding { keys, action, pane: Some(pane), doc, footer: Some(footer) }
}

const fn knob(
    keys: &'static [&'static str],
    name: &'static str,
    steps: i32,
    fine: bool,
    doc: &'static str,
    footer: Option<&'static str>,
) -> Binding {
    Binding { keys, action: Action::Knob { name, steps, fine }, pane: None, doc, footer }
}

/// Every key. A pane's own keys come first, so that they win.
pub const KEYS: &[Binding] = &[
    own(Pane::Terms, &["Enter"], Action::Enter, "show only passages that hold the term", "filter"),
    own(Pane::Terms, &["e"], Action::Weight, "change the weight of the term", "weight"),
    own(Pane::Terms, &["Space"], Action::Mute, "silence the term, or give it back its voice", "mute"),
    own(Pane::Hops, &["Enter"], Action::Enter, "look at the passage in the fused order", "go to"),
    own(Pane::Hops, &["o"], Action::Order, "order passages by match score, or as they were said", "order"),
    own(Pane::Ranks, &["r"], Action::Joined, "join gold and selection, movers, or both", "joined"),
    own(Pane::Fused, &["Enter"], Action::Enter, "look at the passage in its session", "passage"),
    own(Pane::Fused, &["t"], Action::Order, "order by time, or by rank again", "time"),
    own(Pane::Fused, &["f"], Action::Fates, "show one fate only: the next one", "fate"),
    own(Pane::Passage, &["Enter"], Action::Enter, "open the session on the whole screen", "session"),
    own(Pane::Why, &["Enter"], Action::Enter, "choose a what-if and turn its knob", "what if"),
    own(Pane::Passage, &["T"], Action::Tokens, "what the models saw of it, token by token", "tokens"),
    foot(
        &["i"],
        Action::Edit,
        "edit the question; Enter asks, Esc leaves, Up and Down walk through earlier ones",
        "ask",
    ),
    all(&["/"], Action::Filter, "show only rows that hold some words"),
    foot(&["Tab"], Action::NextPane, "next pane", "pane"),
    all(&["S-Tab"], Action::PreviousPane, "pane before"),
    all(&["1"], Action::Focus(Pane::Terms), "pane 1, Terms"),
    all(&["2"], Action::Focus(Pane::Hops), "pane 2, Hops"),
    all(&["3"], Action::Focus(Pane::Ranks), "pane 3, Ranks"),
    all(&["4"], Action::Focus(Pane::Fused), "pane 4, Fused"),
    all(&["5"], Action::Focus(Pane::Passage), "pane 5, Passage"),
    all(&["6"], Action::Focus(Pane::Why), "pane 6, Why"),
    all(&["7"], Action::Compare, "compare the pinned settings (A) with the present ones (B)"),
    knob(&["-"], "alpha", -1, false, "α down", Some("α")),
    knob(&["+", "="], "alpha", 1, false, "α up", None),
    knob(&["["], "budget", -1, false, "budget down by 50 words", Some("budget")),
    knob(&["]"], "budget", 1, false, "budget up by 50 words", None),
    knob(&["{"], "budget", -1, true, "budget down by 10 words", None),
    knob(&["}"], "budget", 1, true, "budget up by 10 words", None),
    knob(&["("], "w", -1, false, "w down: more ColBERT (λ in the z fusion)", None),
    knob(&[")"], "w", 1, false, "w up: more cross-encoder (λ in the z fusion)", None),
    knob(&["<"], "top-n", -1, false, "top n down", None),
    knob(&[">"], "top-n", 1, false, "top n up", None),
    all(&["0"], Action::Defaults, "all knobs back to their defaults"),
    all(&["u"], Action::Undo, "undo the last change of a knob"),
    all(&["Ctrl-r"], Action::Redo, "redo it"),
    all(&["s"], Action::Sweep, "share of the gold kept over two knobs, for this question or for all"),
    all(&["c"], Action::Pin, "pin the settings as A, or clear the pin"),
    all(&["x"], Action::Swap, "swap A and the present settings"),
    all(&["w"], Action::Why, "why the selected passage was kept or dropped"),
    all(&["m"], Action::Mark, "mark or unmark the selected passage as gold"),
    all(&["M"], Action::Gold, "list the gold"),
    all(&["*"], Action::NextGold { dropped: false }, "next gold"),
    all(&["#"], Action::NextGold { dropped: true }, "next gold that is dropped"),
    all(&["p"], Action::Question(1), "next question of the set"),
    all(&["P"], Action::Question(-1), "question before"),
    all(&["L"], Action::Questions, "list the questions of the set"),
    all(&["O"], Action::Conversations, "list the conversations"),
    all(&["C"], Action::Context, "the context as it would be sent"),
    all(&["T"], Action::Tokens, "what the models saw: the MaxSim matrix and, with Tab, what the cross-encoder read"),
    all(&["z"], Action::Zoom, "the focused pane on the whole screen, or back"),
    all(&["j", "Down"], Action::Move(1), "next row"),
    all(&["k", "Up"], Action::Move(-1), "row before"),
    all(&["Ctrl-d"], Action::HalfPage(1), "half a screen down"),
    all(&["Ctrl-u"], Action::HalfPage(-1), "half a screen up"),
    all(&["PgDn"], Action::Page(1), "a screen down"),
    all(&["PgUp"], Action::Page(-1), "a screen up"),
    all(&["g", "Home"], Action::First, "first row"),
    all(&["G", "End"], Action::Last, "last row"),
    all(&["l", "Right"], Action::Sideways(8), "scroll long lines to the right"),
    all(&["h", "Left"], Action::Sideways(-8), "scroll back to the left"),
    all(&["n"], Action::NextMatch(1), "next row that the filter keeps"),
    all(&["N"], Action::NextMatch(-1), "row before that the filter keeps"),
    all(&["y"], Action::CopyPassage, "copy the passage"),
    all(&["Y"], Action::CopyWhy, "copy the whole explanation"),
    all(&["E"], Action::Export, "write the trace to a file"),
    all(&["R"], Action::Resume, "go on scoring after Esc"),
    all(&[":"], Action::Command, "type a command: set, open, question, theme, export, resume, quit"),
    all(&["v"], Action::Mouse, "mouse off, so that the terminal can select text, or on again"),
    all(&["Esc"], Action::Back, "one step back: close, stop scoring, drop the filter"),
    all(&["Enter"], Action::Enter, "what the focused pane is for"),
    foot(&["?", "F1"], Action::Help, "help; typing filters it", "help"),
    all(&["Ctrl-z"], Action::Suspend, "put the program to the background"),
    foot(&["q"], Action::Quit, "quit", "quit"),
    all(&["Ctrl-c"], Action::Quit, "quit from anywhere"),
];

/// What a key does in a pane.
pub fn action_of(key: &KeyEvent, pane: Pane) -> Option<Action> {
    let name = name_of(key)?;
    let means = |binding: &&Binding| binding.keys.contains(&name.as_str());
    let own = KEYS.iter().filter(|binding| binding.pane == Some(pane)).find(means);
    own.or_else(|| KEYS.iter().filter(|binding| binding.pane.is_none()).find(means)).map(|binding| binding.action)
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

/// At most eight keys for the footer of a pane: its own first.
pub fn footer(pane: Pane) -> Vec<(&'static str, &'static str)> {
    let own = KEYS.iter().filter(|binding| binding.pane == Some(pane)).filter_map(short).take(2);
    let rest = KEYS.iter().filter(|binding| binding.pane.is_none()).filter_map(short);
    own.chain(rest).take(8).collect()
}

fn short(binding: &'static Binding) -> Option<(&'static str, &'static str)> {
    let word = binding.footer?;
    let key = match word {
        "α" => "-/+",
        "budget" => "[ ]",
        _ => binding.keys.first()?,
    };
    Some((key, word))
}

/// The whole table as a Markdown table.
pub fn markdown() -> String {
    let mut text = String::from("| key | where | does |\n|---|---|---|\n");
    for binding in KEYS {
        let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{key}`")).collect();
        let place = binding.pane.map_or("everywhere", Pane::name);
        text.push_str(&format!("| {} | {place} | {} |\n", keys.join(" "), binding.doc));
    }
    text
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
    fn a_key_event_finds_its_action() {
        let press = |code, modifiers| KeyEvent::new(code, modifiers);
        let none = KeyModifiers::NONE;
        assert_eq!(action_of(&press(KeyCode::Char('?'), KeyModifiers::SHIFT), Pane::Fused), Some(Action::Help));
        assert_eq!(action_of(&press(KeyCode::F(1), none), Pane::Why), Some(Action::Help));
        assert_eq!(
            action_of(&press(KeyCode::Char('d'), KeyModifiers::CONTROL), Pane::Fused),
            Some(Action::HalfPage(1))
        );
        assert_eq!(action_of(&press(KeyCode::Char('e'), none), Pane::Terms), Some(Action::Weight));
        assert_eq!(action_of(&press(KeyCode::Char('e'), none), Pane::Fused), None);
        assert_eq!(action_of(&press(KeyCode::Char('q'), KeyModifiers::ALT), Pane::Fused), None);
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
    fn every_footer_ends_with_help_and_quit() {
        for pane in Pane::ALL {
            let footer = footer(pane);
            assert!(footer.len() <= 8);
            let words: Vec<&str> = footer.iter().map(|(_, word)| *word).collect();
            assert!(words.ends_with(&["help", "quit"]), "{words:?}");
        }
    }
}
