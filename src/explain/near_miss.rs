//! What an unmatched passage was close to: words that nearly are terms, words of the question that were left out, and
//! names that a further hop would have needed. Reads a trace and its texts.

use std::collections::BTreeSet;

use crate::explain::fate::id_of;
use crate::parse::IgnoredReason;
use crate::trace::Trace;

/// A shared stem has at least so many letters, and makes up at least [`STEM_SHARE`] of the longer word.
const STEM: usize = 4;
/// See [`STEM`].
const STEM_SHARE: f64 = 0.6;
/// Shorter words are one letter apart by chance.
const TYPO: usize = 4;
/// Names that are told at most.
const NAMES: usize = 3;
/// Names are not looked for in histories of more passages: the pane is drawn at every key press.
const LARGEST: usize = 20_000;

/// One thing that a passage just missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NearMiss {
    /// A word of the passage begins as a term does.
    Stem {
        /// The term.
        term: String,
        /// The word.
        word: String,
    },
    /// A word of the passage is one edit away from a term.
    Typo {
        /// The term.
        term: String,
        /// The word.
        word: String,
    },
    /// A word of the question occurs in the passage and did not become a term.
    LeftOut {
        /// The word.
        word: String,
        /// Why it was left out.
        reason: IgnoredReason,
    },
    /// The passage shares a name with one that was found.
    Name {
        /// The name.
        name: String,
        /// The found passage that holds it too, best match score first.
        found: u32,
        /// Passages of the history that hold the name.
        passages: u32,
    },
}

/// What an unmatched passage just missed; nothing for one that matched.
pub fn near_misses(trace: &Trace, passage: u32) -> Vec<NearMiss> {
    let scored = &trace.scored;
    let Some(text) = scored.passages.passages.get(passage as usize).map(|passage| passage.text.as_str()) else {
        return Vec::new();
    };
    if !scored.retrieval.hits_of(passage).is_empty() {
        return Vec::new();
    }
    let words: BTreeSet<String> = words(text).map(str::to_lowercase).collect();
    let mut misses = Vec::new();
    for term in scored.retrieval.terms().filter(|term| !term.muted) {
        for word in &words {
            let miss = |make: fn(String, String) -> NearMiss| make(term.text.clone(), word.clone());
            if shares_stem(&term.text, word) {
                misses.push(miss(|term, word| NearMiss::Stem { term, word }));
            } else if is_typo(&term.text, word) {
                misses.push(miss(|term, word| NearMiss::Typo { term, word }));
            }
        }
    }
    for ignored in &scored.query.ignored {
        let word = ignored.word.to_lowercase();
        if words.contains(&word) {
            let miss = NearMiss::LeftOut { word, reason: ignored.reason };
            if !misses.contains(&miss) {
                misses.push(miss);
            }
        }
    }
    if scored.passages.len() <= LARGEST {
        misses.extend(names(trace, text));
    }
    misses
}

/// Words with a capital letter inside a sentence that a found passage holds too, rarest first.
fn names(trace: &Trace, text: &str) -> Vec<NearMiss> {
    let scored = &trace.scored;
    let passages = &scored.passages.passages;
    let speakers: BTreeSet<&str> = scored.passages.conversation.speakers.iter().map(AsRef::as_ref).collect();
    let mut candidates = BTreeSet::new();
    let mut begins = true;
    for piece in text.split_whitespace() {
        let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("\u{2019}s")).unwrap_or(word);
        let capital =
            word.chars().next().is_some_and(char::is_uppercase) && word.chars().nth(1).is_some_and(char::is_lowercase);
        if !begins && capital && !speakers.contains(word) {
            candidates.insert(word);
        }
        begins = piece.ends_with(['.', '!', '?', ':', '"']);
    }
    let mut found = Vec::new();
    for name in candidates {
        // Most texts do not hold the letters at all, which is quick to see.
        let holds = |at: &u32| {
            let text = passages.get(*at as usize).map_or("", |passage| &passage.text);
            text.contains(name) && words(text).any(|word| word == name)
        };
        let holders: Vec<u32> = (0..passages.len() as u32).filter(holds).collect();
        let matched = holders.iter().copied().filter(|at| !scored.retrieval.hits_of(*at).is_empty());
        let best = matched.max_by(|a, b| scored.match_score(*a).total_cmp(&scored.match_score(*b)).then(b.cmp(a)));
        if let Some(best) = best {
            found.push(NearMiss::Name { name: name.to_owned(), found: best, passages: holders.len() as u32 });
        }
    }
    found.sort_by_key(|miss| match miss {
        NearMiss::Name { passages, .. } => *passages,
        _ => 0,
    });
    found.truncate(NAMES);
    found
}

/// In a sentence.
pub fn words_of(trace: &Trace, miss: &NearMiss) -> String {
    match miss {
        NearMiss::Stem { term, word } => format!("'{word}' begins as the term '{term}' does"),
        NearMiss::Typo { term, word } => format!("'{word}' is one letter away from the term '{term}'"),
        NearMiss::LeftOut { word, reason } => {
            format!("'{word}' of the question occurs in it and was left out ({})", reason.words())
        }
        NearMiss::Name { name, found, passages } => format!(
            "it shares the name '{name}' with {}, which was found; a further hop by that name would reach it \
             ({passages} passages hold it)",
            id_of(trace, *found)
        ),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn shares_stem(term: &str, word: &str) -> bool {
    let common = term.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
    let longer = term.chars().count().max(word.chars().count());
    // A term that a word holds whole would have matched, unless whole words were asked for.
    common >= STEM && common as f64 >= STEM_SHARE * longer as f64
}

fn is_typo(term: &str, word: &str) -> bool {
    let long = term.chars().count() >= TYPO && word.chars().count() >= TYPO;
    long && strsim::osa_distance(term, word) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_and_typing_errors() {
        assert!(shares_stem("painting", "painted") && shares_stem("pottery", "pottering"));
        assert!(!shares_stem("painting", "pain") && !shares_stem("car", "cars") && !shares_stem("reading", "real"));
        assert!(is_typo("carolyne", "caroline") && is_typo("freind", "friend"));
        assert!(!is_typo("cat", "cut") && !is_typo("boat", "boat") && !is_typo("boat", "bones"));
    }
}
