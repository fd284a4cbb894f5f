//! A term: a string that is searched, with its class, weight and origin. Knows nothing of where it occurs.

use serde::{Deserialize, Serialize};

use crate::settings::TermEdits;

/// A weighted query string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Folded text; its name everywhere.
    pub text: String,
    /// Folded strings that count as an occurrence; usually just `text`.
    pub forms: Vec<String>,
    /// Its class.
    pub class: TermClass,
    /// What a passage gains by holding it.
    pub weight: f64,
    /// Where it comes from.
    pub origin: Origin,
    /// True when the user silenced it: shown, not searched.
    pub muted: bool,
}

/// The class of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TermClass {
    /// Proper noun.
    Propn,
    /// Noun.
    Noun,
    /// Verb.
    Verb,
    /// Another word of a named entity, or a name searched as a phrase.
    Ent,
    /// A name found in an earlier hop.
    Discovered,
    /// Pseudo-relevance feedback.
    Prf,
    /// Added by hand.
    User,
}

impl TermClass {
    /// As shown in columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Propn => "PROPN",
            Self::Noun => "NOUN",
            Self::Verb => "VERB",
            Self::Ent => "ENT",
            Self::Discovered => "found",
            Self::Prf => "PRF",
            Self::User => "yours",
        }
    }
}

/// Where a term comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Origin {
    /// A byte range of the question.
    Question {
        /// First byte.
        start: u32,
        /// Behind the last byte.
        end: u32,
    },
    /// A named entity of a passage.
    Passage {
        /// The hop whose results taught it.
        hop: u8,
        /// The best matching passage that holds it.
        passage: u32,
        /// The label of the entity (`PERSON`, `GPE` …).
        label: String,
    },
    /// Several of the top passages hold it.
    Feedback {
        /// Those passages.
        passages: Vec<u32>,
    },
    /// The user.
    User,
}

impl Term {
    /// A term that is searched as it stands.
    pub fn single(text: &str, class: TermClass, weight: f64, origin: Origin) -> Self {
        Self { text: text.to_owned(), forms: vec![text.to_owned()], class, weight, origin, muted: false }
    }

    /// Apply what the user did to this term.
    pub fn edit(&mut self, edits: &TermEdits) {
        self.muted = edits.muted.contains(&self.text);
        if let Some(weight) = edits.weights.get(&self.text) {
            self.weight = *weight;
        }
    }
}
