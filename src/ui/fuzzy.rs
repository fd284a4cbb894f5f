//! Typed words found in a line: letters in their order, with gaps, the best line first. Knows letters; knows no list.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Of a line, so many characters are looked at.
const LOOKED_AT: usize = 2000;

/// Finds the same words in many lines.
pub struct Finder {
    pattern: Pattern,
    matcher: Matcher,
    letters: Vec<char>,
}

/// How well the words fit, and which characters of the line they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// More is better; lines of other words cannot be compared.
    pub score: u32,
    /// Positions in characters, ascending.
    pub at: Vec<usize>,
}

impl Finder {
    /// Look for all of these words, in any order.
    pub fn new(typed: &str) -> Self {
        let pattern = Pattern::new(typed, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
        Self { pattern, matcher: Matcher::new(Config::DEFAULT), letters: Vec::new() }
    }

    /// Whether the line has all words. In a long line any letters can be found somewhere, so those of a word must stand
    /// together well enough for a reader to see the word in them, or each begin a word.
    pub fn fit(&mut self, line: &str) -> Option<Fit> {
        let line = line.char_indices().nth(LOOKED_AT).and_then(|(end, _)| line.get(..end)).unwrap_or(line);
        let (mut score, mut at) = (0, Vec::new());
        for atom in &self.pattern.atoms {
            let mut found = Vec::new();
            score += u32::from(atom.indices(Utf32Str::new(line, &mut self.letters), &mut self.matcher, &mut found)?);
            found.sort_unstable();
            let span = found.last()?.checked_sub(*found.first()?)? as usize + 1;
            let before = |at: usize| at.checked_sub(1).and_then(|at| line.chars().nth(at));
            let begins = |at: &u32| before(*at as usize).is_none_or(|c| !c.is_alphanumeric());
            if span > found.len() * 2 + 4 && !found.iter().all(begins) {
                return None;
            }
            at.extend(found.into_iter().map(|at| at as usize));
        }
        at.sort_unstable();
        at.dedup();
        Some(Fit { score, at })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_found_in_their_order() {
        let fit = |typed: &str, line: &str| Finder::new(typed).fit(line);
        assert_eq!(fit("gbd", "gruvbox-dark").unwrap().at, [0, 4, 8]);
        assert_eq!(fit("rpd", "rose-pine-dawn").unwrap().at, [0, 5, 10], "first letters may stand far apart");
        assert_eq!(fit("cmocha", "catppuccin-mocha").unwrap().at, [0, 11, 12, 13, 14, 15]);
        assert_eq!(fit("dark gruv", "gruvbox-dark").unwrap().at, [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!(fit("NORD", "nord").unwrap().at, [0, 1, 2, 3]);
        assert_eq!(fit("rose", "Ros\u{e9} Pine").unwrap().at, [0, 1, 2, 3]);
        assert_eq!(fit("dbg", "gruvbox-dark"), None);
        assert_eq!(fit("!^$'", "gruvbox-dark"), None, "signs are letters like others");
        assert_eq!(fit("", "x").unwrap().score, 0);
    }

    #[test]
    fn words_fit_better_than_scattered_letters_and_far_ones_do_not() {
        let score = |line: &str| Finder::new("boat").fit(line).map(|fit| fit.score);
        assert!(score("Where is the boat?") > score("Was it a big oat?"));
        assert_eq!(score("Who brought over any old books, and at what time?"), None);
    }
}
