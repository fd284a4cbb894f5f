//! Question to weighted terms (PIPELINE section 1). Pure: knows linguistic analyses and settings, never a history.

pub mod stop_words;
pub mod term;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::nlp::{Analysis, Token};
use crate::passage::fold;
use crate::settings::{Names, Settings, TermForm};
use stop_words::is_stop_word;
pub use term::{Origin, Term, TermClass};

/// A parsed question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Query {
    /// The question as typed, cleaned.
    pub text: String,
    /// Who read it.
    pub parser: Parser,
    /// The terms of hop 1, in question order; muted ones included with weight as it would be.
    pub terms: Vec<Term>,
    /// Words that did not become terms, and why.
    pub ignored: Vec<Ignored>,
    /// Named entities of the question, folded.
    pub entities: Vec<String>,
}

/// Who read the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parser {
    /// The tagger, `en_core_web_sm`.
    Tagger,
    /// No tagger was there: capitalised words count as names, all other words but stop words as nouns.
    #[default]
    Plain,
}

/// A word that did not become a term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// The word as typed.
    pub word: String,
    /// Why.
    pub reason: IgnoredReason,
}

/// Why a word did not become a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredReason {
    /// On the stop list.
    StopWord,
    /// Shorter than the shortest term.
    TooShort,
    /// Neither a name, a noun, a verb nor part of a named entity.
    WordClass,
}

impl IgnoredReason {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::StopWord => "stop word",
            Self::TooShort => "too short",
            Self::WordClass => "not a name, noun or verb",
        }
    }
}

/// Terms of a question that the tagger has read. O(tokens).
pub fn parse(text: &str, analysis: &Analysis, settings: &Settings) -> Query {
    let mut query = Query { text: text.to_owned(), parser: Parser::Tagger, ..Query::default() };
    query.entities = analysis.entities.iter().map(|entity| fold(&entity.text)).collect();
    let phrases = settings.names != Names::Tokens;
    let mut in_phrase = BTreeSet::new();
    let mut drafts: Vec<Term> = Vec::new();
    if phrases {
        for entity in &analysis.entities {
            let tokens = analysis.tokens.get(entity.tokens.clone()).unwrap_or_default();
            let parts: Vec<Term> =
                tokens.iter().filter_map(|token| term_of(token, true, settings).ok().flatten()).collect();
            if parts.len() > 1 {
                let weight = parts.iter().map(|part| part.weight).sum();
                let forms = vec![fold(entity.text.trim())];
                drafts.push(Term {
                    text: fold(entity.text.trim()),
                    forms,
                    class: TermClass::Ent,
                    weight,
                    origin: Origin::Question { start: entity.start as u32, end: entity.end as u32 },
                    muted: false,
                });
                if settings.names == Names::Phrase {
                    in_phrase.extend(entity.tokens.clone());
                }
            }
        }
    }
    for (at, token) in analysis.tokens.iter().enumerate() {
        if in_phrase.contains(&at) {
            continue;
        }
        match term_of(token, token.entity.is_some(), settings) {
            Ok(Some(term)) => drafts.push(term),
            Ok(None) => {}
            Err(reason) => query.ignored.push(Ignored { word: token.text.to_string(), reason }),
        }
    }
    finish(query, drafts, settings)
}

/// Terms of a question without a tagger. Coarser, and said to be so wherever it is shown.
pub fn parse_plain(text: &str, settings: &Settings) -> Query {
    let mut query = Query { text: text.to_owned(), parser: Parser::Plain, ..Query::default() };
    let mut drafts = Vec::new();
    let mut start_of_sentence = true;
    for (start, word) in words(text) {
        let folded = fold(word);
        let capital = word.chars().next().is_some_and(char::is_uppercase) && !start_of_sentence;
        start_of_sentence = false;
        if settings.drop_stop_words && is_stop_word(&folded) {
            query.ignored.push(Ignored { word: word.to_owned(), reason: IgnoredReason::StopWord });
            continue;
        }
        if folded.chars().count() < settings.min_term_length as usize {
            query.ignored.push(Ignored { word: word.to_owned(), reason: IgnoredReason::TooShort });
            continue;
        }
        let (class, weight) = if capital {
            query.entities.push(folded.clone());
            (TermClass::Propn, settings.weight_propn + settings.entity_bonus)
        } else {
            (TermClass::Noun, settings.weight_noun)
        };
        let origin = Origin::Question { start: start as u32, end: (start + word.len()) as u32 };
        drafts.push(Term { forms: vec![folded.clone()], text: folded, class, weight, origin, muted: false });
    }
    finish(query, drafts, settings)
}

/// Runs of letters, digits and what stands between them, with their byte positions.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().filter_map(move |word| {
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        // `word` is a slice of `text`, so its offset is the distance of the two starts.
        let start = (word.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        (!word.is_empty()).then_some((start, word))
    })
}

/// A token as a term; `Ok(None)` for punctuation and spaces, which nobody expects to see listed.
fn term_of(token: &Token, in_entity: bool, settings: &Settings) -> Result<Option<Term>, IgnoredReason> {
    let pos = token.pos;
    if matches!(pos, "PUNCT" | "SPACE") {
        return Ok(None);
    }
    let surface = fold(&token.text);
    let bonus = if in_entity { settings.entity_bonus } else { 0.0 };
    let drawn = match pos {
        "PROPN" => Some((TermClass::Propn, settings.weight_propn + bonus)),
        "NOUN" => Some((TermClass::Noun, settings.weight_noun + bonus)),
        "VERB" => Some((TermClass::Verb, settings.weight_verb + bonus)),
        "NUM" | "ADJ" if in_entity => Some((TermClass::Ent, settings.weight_entity_word)),
        _ => None,
    };
    if settings.drop_stop_words && is_stop_word(&surface) {
        return Err(IgnoredReason::StopWord);
    }
    let Some((class, weight)) = drawn else { return Err(IgnoredReason::WordClass) };
    let lemma = fold(&token.lemma);
    let forms = match settings.term_form {
        TermForm::Surface => vec![surface],
        TermForm::Lemma => vec![lemma],
        TermForm::Both if lemma == surface => vec![surface],
        TermForm::Both => vec![surface, lemma],
    };
    let forms: Vec<String> =
        forms.into_iter().filter(|form| form.chars().count() >= settings.min_term_length as usize).collect();
    let Some(text) = forms.first().cloned() else { return Err(IgnoredReason::TooShort) };
    let origin = Origin::Question { start: token.start as u32, end: token.end as u32 };
    Ok(Some(Term { text, forms, class, weight, origin, muted: false }))
}

/// One term a text with its highest weight, then what the user changed by hand.
fn finish(mut query: Query, drafts: Vec<Term>, settings: &Settings) -> Query {
    for draft in drafts {
        match query.terms.iter_mut().find(|term| term.text == draft.text) {
            Some(known) if known.weight >= draft.weight => {}
            Some(known) => *known = draft,
            None => query.terms.push(draft),
        }
    }
    for (text, weight) in &settings.terms.added {
        if !query.terms.iter().any(|term| term.text == *text) {
            query.terms.push(Term::single(text, TermClass::User, *weight, Origin::User));
        }
    }
    for term in &mut query.terms {
        term.edit(&settings.terms);
    }
    query
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn without_a_tagger_capitals_are_names_and_stop_words_are_listed() {
        let query = parse_plain("When did Ottilie's boat leave Harrow Bay?", &Settings::default());
        let terms: Vec<_> = query.terms.iter().map(|t| (t.text.as_str(), t.weight)).collect();
        assert_eq!(terms, [("ottilie", 4.0), ("boat", 2.0), ("leave", 2.0), ("harrow", 4.0), ("bay", 4.0)]);
        assert_eq!(query.ignored.iter().map(|i| i.word.as_str()).collect::<Vec<_>>(), ["When", "did"]);
        let Origin::Question { start, end } = query.terms[0].origin else { panic!() };
        assert_eq!(&query.text[start as usize..end as usize], "Ottilie");
    }

    #[test]
    fn edits_mute_reweight_and_add() {
        let mut settings = Settings::default();
        settings.terms.muted.insert("boat".into());
        settings.terms.weights.insert("leave".into(), 5.0);
        settings.terms.added.insert("ferry".into(), 1.5);
        let query = parse_plain("when did the boat leave?", &settings);
        let seen: Vec<_> = query.terms.iter().map(|t| (t.text.as_str(), t.weight, t.muted)).collect();
        assert_eq!(seen, [("boat", 2.0, true), ("leave", 5.0, false), ("ferry", 1.5, false)]);
    }

    #[test]
    fn a_question_of_stop_words_has_no_terms() {
        let query = parse_plain("what is it that we do", &Settings::default());
        assert!(query.terms.is_empty());
        assert_eq!(query.ignored.len(), 6);
    }
}
