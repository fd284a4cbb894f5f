//! The table of keys as this user has it: the keys of the table, or others for the lines that the configuration names.
//! Knows keys and lines of the table; knows no file.

use ratatui::crossterm::event::KeyEvent;

use super::action::Action;
use super::keys::{Binding, FIXED, KEYS, check, name_of};
use super::pane::Pane;
use crate::settings::unknown_name;

/// The keys of every line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    keys: Vec<Vec<String>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self { keys: KEYS.iter().map(of_table).collect() }
    }
}

fn of_table(binding: &Binding) -> Vec<String> {
    binding.keys.iter().map(|key| (*key).to_owned()).collect()
}

impl Keymap {
    /// The table with other keys for some lines, each by its name. What cannot be is refused and stays as it was; the
    /// second place says why, by its place in the list.
    pub fn with(wanted: &[(String, Vec<String>)]) -> (Self, Vec<(usize, String)>) {
        let mut map = Self::default();
        let mut refused = Vec::new();
        // Who asked for the keys of a line.
        let mut asked: Vec<Option<usize>> = vec![None; KEYS.len()];
        for (at, (name, keys)) in wanted.iter().enumerate() {
            match place(name).and_then(|line| keys.iter().try_for_each(|key| check(key)).map(|()| line)) {
                Ok(line) => {
                    let first = |(at, key): &(usize, &String)| !keys.iter().take(*at).any(|before| before == *key);
                    map.put(line, keys.iter().enumerate().filter(first).map(|(_, key)| key.clone()).collect());
                    if let Some(slot) = asked.get_mut(line) {
                        *slot = Some(at);
                    }
                }
                Err(why) => refused.push((at, why)),
            }
        }
        // A refused line has its old keys again, which another line may have taken: until nothing is left to refuse.
        while let Some((line, at, why)) = map.conflict(&asked) {
            refused.push((at, why));
            if let (Some(slot), Some(binding)) = (asked.get_mut(line), KEYS.get(line)) {
                *slot = None;
                map.put(line, of_table(binding));
            }
        }
        (map, refused)
    }

    fn put(&mut self, line: usize, keys: Vec<String>) {
        if let Some(slot) = self.keys.get_mut(line) {
            *slot = keys;
        }
    }

    /// A line that was asked for and has a key of another one: the later one where both were.
    fn conflict(&self, asked: &[Option<usize>]) -> Option<(usize, usize, String)> {
        let mut found: Option<(usize, usize, String)> = None;
        for (line, (binding, keys)) in self.lines().enumerate() {
            let Some(at) = asked.get(line).copied().flatten() else { continue };
            for (other, (with, taken)) in self.lines().enumerate() {
                let later = asked.get(other).copied().flatten().is_none_or(|other| other < at);
                let meet = binding.pane == with.pane || binding.pane.is_none() || with.pane.is_none();
                if line == other || !later || !meet || binding.action == with.action {
                    continue;
                }
                if let Some(key) = keys.iter().find(|key| taken.contains(key)) {
                    let why = format!(
                        "'{key}' cannot be a key of '{}', because it is one of '{}' ({}): give one of them another",
                        binding.name, with.name, with.doc
                    );
                    if found.as_ref().is_none_or(|(_, before, _)| *before < at) {
                        found = Some((line, at, why));
                    }
                }
            }
        }
        found
    }

    /// Every line of the table with its keys.
    pub fn lines(&self) -> impl Iterator<Item = (&'static Binding, &[String])> {
        KEYS.iter().zip(self.keys.iter().map(Vec::as_slice))
    }

    /// What a key does in a pane.
    pub fn action_of(&self, key: &KeyEvent, pane: Pane) -> Option<Action> {
        let name = name_of(key)?;
        let means = |at: Option<Pane>| {
            self.lines().find(|(binding, keys)| binding.pane == at && keys.contains(&name)).map(|(line, _)| line.action)
        };
        means(Some(pane)).or_else(|| means(None))
    }

    /// The first key of the line of this name, for sentences.
    pub fn first(&self, name: &str) -> &str {
        let line = self.lines().find(|(binding, _)| binding.name == name);
        line.and_then(|(_, keys)| keys.first()).map_or("(no key)", String::as_str)
    }

    /// A sentence with the first key of each line that stands in it by its name: `{undo} takes it back`.
    pub fn fill(&self, sentence: &str) -> String {
        let named = KEYS.iter().filter(|_| sentence.contains('{'));
        named.fold(sentence.to_owned(), |text, line| text.replace(&format!("{{{}}}", line.name), self.first(line.name)))
    }

    /// At most eight keys for the footer of a pane: its own first.
    pub fn footer(&self, pane: Pane) -> Vec<(String, &'static str)> {
        let of = |at: Option<Pane>| {
            let lines = self.lines().filter(move |(binding, _)| binding.pane == at);
            lines.filter_map(|(binding, keys)| self.short(binding, keys))
        };
        of(Some(pane)).take(2).chain(of(None)).take(8).collect()
    }

    fn short(&self, binding: &Binding, keys: &[String]) -> Option<(String, &'static str)> {
        let (word, key) = (binding.footer?, keys.first()?);
        // The footer has no room for both ends of a knob on their own.
        let other = |between: &str| {
            let up = binding.name.replace("-down", "-up");
            format!("{key}{between}{}", self.first(&up))
        };
        let key = match binding.name {
            "alpha-down" => other("/"),
            "budget-down" => other(" "),
            _ => key.clone(),
        };
        Some((key, word))
    }

    /// The whole table as a Markdown table.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| key | where | does | name |\n|---|---|---|---|\n");
        for (binding, keys) in self.lines() {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let place = binding.pane.map_or("everywhere", Pane::name);
            text.push_str(&format!("| {} | {place} | {} | `{}` |\n", keys.join(" "), binding.doc, binding.name));
        }
        text
    }
}

/// Where the line of this name stands.
fn place(name: &str) -> Result<usize, String> {
    if name == FIXED {
        return Err(format!("'{FIXED}' stays on 'Ctrl-c': 'quit' takes other keys"));
    }
    let found = KEYS.iter().position(|binding| binding.name == name);
    found.ok_or_else(|| unknown_name("action", name, KEYS.iter().map(|binding| binding.name)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ratatui::crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    fn with(wanted: &[(&str, &[&str])]) -> (Keymap, Vec<(usize, String)>) {
        let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        Keymap::with(&wanted.iter().map(|(name, keys)| ((*name).to_owned(), owned(keys))).collect::<Vec<_>>())
    }

    fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn a_key_event_finds_its_action() {
        let (map, none) = (Keymap::default(), KeyModifiers::NONE);
        assert_eq!(map.action_of(&press(KeyCode::Char('?'), KeyModifiers::SHIFT), Pane::Fused), Some(Action::Help));
        assert_eq!(map.action_of(&press(KeyCode::F(1), none), Pane::Why), Some(Action::Help));
        let control_d = press(KeyCode::Char('d'), KeyModifiers::CONTROL);
        assert_eq!(map.action_of(&control_d, Pane::Fused), Some(Action::HalfPage(1)));
        assert_eq!(map.action_of(&press(KeyCode::Char('e'), none), Pane::Terms), Some(Action::Weight));
        assert_eq!(map.action_of(&press(KeyCode::Char('e'), none), Pane::Fused), None);
        assert_eq!(map.action_of(&press(KeyCode::Char('q'), KeyModifiers::ALT), Pane::Fused), None);
    }

    #[test]
    fn every_footer_ends_with_help_and_quit() {
        for pane in Pane::ALL {
            let footer = Keymap::default().footer(pane);
            assert!(footer.len() <= 8);
            let words: Vec<&str> = footer.iter().map(|(_, word)| *word).collect();
            assert!(words.ends_with(&["help", "quit"]), "{words:?}");
        }
    }

    #[test]
    fn other_keys_do_what_the_old_ones_did() {
        let (map, refused) = with(&[("quit", &["Ctrl-x", "F10", "F10"]), ("swap", &[]), ("undo", &["x"])]);
        assert_eq!(refused, []);
        let quits = press(KeyCode::Char('x'), KeyModifiers::CONTROL);
        assert_eq!(map.action_of(&quits, Pane::Why), Some(Action::Quit));
        assert_eq!(map.action_of(&press(KeyCode::Char('q'), KeyModifiers::NONE), Pane::Why), None);
        assert_eq!(map.action_of(&press(KeyCode::Char('x'), KeyModifiers::NONE), Pane::Why), Some(Action::Undo));
        assert_eq!(map.footer(Pane::Why).last(), Some(&("Ctrl-x".to_owned(), "quit")));
        assert_eq!(
            map.fill("{undo} takes it back, {swap} and {nothing} stay"),
            "x takes it back, (no key) and {nothing} stay"
        );
        assert!(map.markdown().contains("| `Ctrl-x` `F10` | everywhere | quit | `quit` |"));
    }

    #[test]
    fn a_key_with_two_meanings_is_refused_with_both_named() {
        type Wanted = &'static [(&'static str, &'static [&'static str])];
        let rows: [(Wanted, &[(usize, &str)]); 5] = [
            (&[("quit", &["x"])], &[(0, "'x' cannot be a key of 'quit', because it is one of 'swap' (")]),
            (&[("redo", &["t"])], &[(0, "'t' cannot be a key of 'redo', because it is one of 'fused-time' (")]),
            (&[("fused-time", &["q"])], &[(0, "'q' cannot be a key of 'fused-time', because it is one of 'quit' (")]),
            // The later one is refused, and takes back the key that the first one has taken from it.
            (&[("quit", &["z"]), ("zoom", &["z", "Z"])], &[(1, "'z' cannot be a key of 'zoom'"), (0, "of 'zoom' (")]),
            (&[("qit", &["x"]), ("quit", &["esc"])], &[(0, "did you mean 'quit'?"), (1, "did you mean 'Esc'?")]),
        ];
        for (wanted, says) in rows {
            let (map, refused) = with(wanted);
            assert_eq!(map, Keymap::default(), "{wanted:?}");
            assert_eq!(refused.len(), says.len(), "{refused:?}");
            for ((at, why), (wanted_at, words)) in refused.iter().zip(says) {
                assert!(at == wanted_at && why.contains(words), "{why}");
            }
        }
        // Panes have their own keys, and one action may have one key in several places.
        assert_eq!(with(&[("hops-order", &["t"]), ("fused-passage", &["Enter"])]).1, []);
    }
}
