//! Knows where a prefix, a suffix or an infix ends; must not know special cases or whole tokens.
//!
//! The tokenizer file states these rules as Python regular expressions with look-around. They are
//! read once into the sets below and matched by hand, which needs no regex engine and never
//! backtracks.

use std::collections::HashMap;

use super::pattern::{CharClass, Scanner};

/// What may stand at the start of a token and is cut off.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    singles: CharClass,
    literals: Vec<String>,
    lone_plus: bool,
}

impl Prefixes {
    /// Reads the pattern `prefix_search`; `None` if it holds a rule of another shape.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut scanner = Scanner::new(pattern);
        let (mut all, mut singles) = (Self::default(), Vec::new());
        loop {
            if !scanner.eat("^") {
                return None;
            }
            if scanner.eat(r"\+(?![0-9])") {
                all.lone_plus = true;
            } else if scanner.eat(r"\.\.+") {
                // A run of dots is always a prefix: see `length`.
            } else if let Some(class) = scanner.class() {
                all.singles = all.singles.union(&class);
            } else {
                let text = scanner.literal()?;
                match single(&text) {
                    Some(c) => singles.push(c),
                    None => all.literals.push(text),
                }
            }
            if scanner.is_done() {
                all.singles = all.singles.union(&CharClass::of(singles));
                return Some(all);
            }
            if !scanner.eat("|") {
                return None;
            }
        }
    }

    /// Bytes of the prefix of `text`, 0 if it has none.
    pub(super) fn length(&self, text: &str) -> usize {
        let Some(first) = text.chars().next() else {
            return 0;
        };
        if self.singles.contains(first) {
            return first.len_utf8();
        }
        match first {
            '.' => dots(text),
            '+' if self.lone_plus && !text[1..].starts_with(|c: char| c.is_ascii_digit()) => 1,
            _ => {
                let known = self.literals.iter().find(|known| text.starts_with(*known));
                known.map_or(0, String::len)
            }
        }
    }
}

/// What may stand at the end of a token and is cut off.
#[derive(Debug, Default)]
pub(super) struct Suffixes {
    singles: CharClass,
    /// By last code point: the whole suffix, and what must stand right before it.
    literals: HashMap<char, Vec<(String, Vec<CharClass>)>>,
}

impl Suffixes {
    /// Reads the pattern `suffix_search`; `None` if it holds a rule of another shape.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut scanner = Scanner::new(pattern);
        let (mut all, mut singles) = (Self::default(), Vec::new());
        loop {
            let mut behind = Vec::new();
            if scanner.eat("(?<=") {
                while !scanner.eat(")") {
                    match scanner.class() {
                        Some(class) => behind.push(class),
                        None => {
                            let text = scanner.literal()?;
                            behind.extend(text.chars().map(|c| CharClass::of([c])));
                        }
                    }
                }
            }
            if scanner.eat(r"\.\.+") {
                // A run of dots is always a suffix: see `length`.
            } else if let Some(class) = scanner.class() {
                if !behind.is_empty() {
                    return None;
                }
                all.singles = all.singles.union(&class);
            } else {
                let group = scanner.literal_group();
                let texts = match group {
                    Some(texts) => texts,
                    None => vec![scanner.literal()?],
                };
                for text in texts {
                    match single(&text) {
                        Some(c) if behind.is_empty() => singles.push(c),
                        _ => {
                            let last = text.chars().next_back()?;
                            let same = all.literals.entry(last).or_default();
                            same.push((text, behind.clone()));
                        }
                    }
                }
            }
            if !scanner.eat("$") {
                return None;
            }
            if scanner.is_done() {
                all.singles = all.singles.union(&CharClass::of(singles));
                return Some(all);
            }
            if !scanner.eat("|") {
                return None;
            }
        }
    }

    /// Bytes of the longest suffix of `text`, 0 if it has none.
    pub(super) fn length(&self, text: &str) -> usize {
        let Some(last) = text.chars().next_back() else {
            return 0;
        };
        let mut longest = 0;
        if self.singles.contains(last) {
            longest = last.len_utf8();
        }
        if last == '.' {
            let run = text.len() - text.trim_end_matches('.').len();
            if run >= 2 {
                longest = run;
            }
        }
        for (literal, behind) in self.literals.get(&last).into_iter().flatten() {
            if literal.len() > longest
                && let Some(before) = text.strip_suffix(literal.as_str())
                && stands_after(behind, before)
            {
                longest = literal.len();
            }
        }
        longest
    }
}

/// Whether the last code points of `before` belong to `classes`, in order.
fn stands_after(classes: &[CharClass], before: &str) -> bool {
    let mut chars = before.chars().rev();
    classes.iter().rev().all(|class| chars.next().is_some_and(|c| class.contains(c)))
}

/// Where a token is cut in its middle.
#[derive(Debug, Default)]
pub(super) struct Infixes {
    rules: Vec<Infix>,
    /// First code points of all rules: any other position is passed over.
    starts: CharClass,
}

#[derive(Debug)]
struct Infix {
    behind: Option<CharClass>,
    body: Body,
    ahead: Option<CharClass>,
}

#[derive(Debug)]
enum Body {
    /// Two or more dots, as many as there are.
    Dots,
    /// One code point.
    Class(CharClass),
    /// The first text that fits.
    Texts(Vec<String>),
}

impl Infixes {
    /// Reads the pattern `infix_finditer`; `None` if it holds a rule of another shape.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut scanner = Scanner::new(pattern);
        let mut all = Self::default();
        loop {
            let mut behind = None;
            if scanner.eat("(?<=") {
                behind = Some(scanner.class()?);
                if !scanner.eat(")") {
                    return None;
                }
            }
            let (body, starts) = if scanner.eat(r"\.\.+") {
                (Body::Dots, CharClass::of(['.']))
            } else if let Some(class) = scanner.class() {
                (Body::Class(class.clone()), class)
            } else {
                let texts = match scanner.literal_group() {
                    Some(texts) => texts,
                    None => vec![scanner.literal()?],
                };
                let starts = texts.iter().filter_map(|text| text.chars().next());
                let starts = CharClass::of(starts);
                (Body::Texts(texts), starts)
            };
            let mut ahead = None;
            if scanner.eat("(?=") {
                ahead = Some(scanner.class()?);
                if !scanner.eat(")") {
                    return None;
                }
            }
            all.starts = all.starts.union(&starts);
            all.rules.push(Infix { behind, body, ahead });
            if scanner.is_done() {
                return Some(all);
            }
            if !scanner.eat("|") {
                return None;
            }
        }
    }

    /// Byte spans of all infixes of `text`, left to right, without overlaps.
    pub(super) fn find(&self, text: &str) -> Vec<(usize, usize)> {
        let mut spans = Vec::new();
        let (mut before, mut resume) = (None, 0);
        for (at, c) in text.char_indices() {
            if at >= resume && self.starts.contains(c) {
                let length = self.length(before, &text[at..]);
                if length > 0 {
                    spans.push((at, at + length));
                    resume = at + length;
                }
            }
            before = Some(c);
        }
        spans
    }

    /// Whether any infix occurs in `text`.
    pub(super) fn occurs(&self, text: &str) -> bool {
        !self.find(text).is_empty()
    }

    /// Bytes of the infix at the start of `text`, which follows `before`; 0 if there is none.
    fn length(&self, before: Option<char>, text: &str) -> usize {
        let fits = |class: &Option<CharClass>, c: Option<char>| match class {
            Some(class) => c.is_some_and(|c| class.contains(c)),
            None => true,
        };
        for rule in &self.rules {
            if !fits(&rule.behind, before) {
                continue;
            }
            let follows = |length: usize| fits(&rule.ahead, text[length..].chars().next());
            let found = match &rule.body {
                Body::Dots => Some(dots(text)).filter(|length| *length > 0),
                Body::Class(class) => text
                    .chars()
                    .next()
                    .filter(|c| class.contains(*c))
                    .map(char::len_utf8)
                    .filter(|length| follows(*length)),
                Body::Texts(texts) => texts
                    .iter()
                    .filter(|known| text.starts_with(known.as_str()))
                    .map(String::len)
                    .find(|length| follows(*length)),
            };
            if let Some(length) = found {
                return length;
            }
        }
        0
    }
}

/// Length of the run of dots at the start of `text` if there are two or more, else 0.
fn dots(text: &str) -> usize {
    let run = text.len() - text.trim_start_matches('.').len();
    if run >= 2 { run } else { 0 }
}

/// The code point of a text that has just one.
fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

#[cfg(test)]
#[path = "affix_tests.rs"]
mod tests;
