//! The names that a passage teaches: entities that are worth a search of their own. Knows one question and its speakers;
//! searches nothing.

use crate::nlp::Analysis;
use crate::parse::stop_words::is_stop_word;
use crate::parse::{Origin, Term, TermClass};
use crate::passage::{PassageSet, fold};
use crate::settings::{self, Settings};

/// Labels of entities that are worth a hop.
const LABELS: [&str; 9] = ["PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "EVENT", "PRODUCT", "WORK_OF_ART"];

/// Which names are news for a question.
pub struct Names<'a> {
    settings: &'a Settings,
    question: String,
    speakers: Vec<String>,
}

impl<'a> Names<'a> {
    /// For a question about this history.
    pub fn new(set: &PassageSet, question: &str, settings: &'a Settings) -> Self {
        let speakers = set.conversation.speakers.iter().map(|name| fold(name)).collect();
        Self { settings, question: fold(question), speakers }
    }

    /// The names in a passage that are neither in the question nor a speaker's, as terms; each once. `hop` is the one that
    /// found the passage.
    pub fn taught(&self, analysis: &Analysis, passage: u32, hop: u8) -> Vec<Term> {
        let mut names: Vec<Term> = Vec::new();
        for entity in &analysis.entities {
            let name = bare_name(&entity.text);
            let known = name.chars().count() < self.settings.min_term_length.max(2) as usize
                || is_stop_word(&name)
                || self.question.contains(&name)
                || self.is_speaker(&name)
                || names.iter().any(|term| term.text == name);
            if known || !LABELS.contains(&entity.label) {
                continue;
            }
            let origin = Origin::Passage { hop, passage, label: entity.label.to_owned() };
            let mut term = Term::single(&name, TermClass::Discovered, self.settings.weight_discovered, origin);
            if entity.label == "PERSON" && self.settings.names != settings::Names::Phrase {
                term.forms.extend(self.parts_of(&name));
            }
            names.push(term);
        }
        names
    }

    /// The words of a person's name that may stand for it: whoever is introduced with two names is called by one later.
    fn parts_of(&self, name: &str) -> Vec<String> {
        let parts: Vec<String> = words_of(name);
        if parts.len() < 2 {
            return Vec::new();
        }
        let usable = |part: &String| {
            part.chars().count() >= self.settings.min_term_length.max(3) as usize
                && !is_stop_word(part)
                && !self.question.contains(part.as_str())
                && !self.is_speaker(part)
        };
        parts.into_iter().filter(usable).collect()
    }

    /// True when a name is a speaker's, whole or one word of it (`Ann` for `Ann Lee`).
    fn is_speaker(&self, name: &str) -> bool {
        let is = |speaker: &String| name == speaker || speaker.split_whitespace().any(|word| word == name);
        self.speakers.iter().any(is)
    }
}

/// A name without the article and the possessive that the tagger leaves on it, folded.
fn bare_name(text: &str) -> String {
    let name = fold(text);
    let name = name.trim();
    let name = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).unwrap_or(name);
    let name = name.strip_prefix("the ").unwrap_or(name);
    name.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// Runs of letters and digits.
pub(super) fn words_of(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
