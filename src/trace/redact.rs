//! A trace file without its texts: every word becomes letters of the same length, so that places, counts, ranks and fates
//! stay what they were. Knows the file form; keeps ids, times, numbers and names of models.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::file::{TraceFile, TraceFileError};
use crate::passage::{PassageSet, Shape};
use crate::settings::TermEdits;

/// How often other letters are tried when two different passages became alike.
const ATTEMPTS: usize = 20;

impl TraceFile {
    /// The same trace with every text made unreadable: question, terms, speakers, title, turns, captions. The letters are
    /// drawn anew each time and kept nowhere, so words cannot be looked up; equal words of one file stay equal.
    ///
    /// # Errors
    /// [`TraceFileError::Contradiction`] when the file contradicts itself, or when its passages are so short that
    /// different ones become alike.
    pub fn redacted(&self) -> Result<Self, TraceFileError> {
        let fates = |file: &Self| file.to_trace().map(|trace| (trace.fates, trace.cut));
        let wanted = fates(self)?;
        for _ in 0..ATTEMPTS {
            let file = self.redacted_once(&Letters(RandomState::new()));
            if fates(&file)? == wanted {
                return Ok(file);
            }
        }
        Err(TraceFileError::Contradiction("its passages are too short to be told apart without their words"))
    }

    fn redacted_once(&self, letters: &Letters) -> Self {
        let mut file = self.clone();
        let all = |texts: &mut Vec<String>| texts.iter_mut().for_each(|text| *text = letters.of(text));
        file.question.text = letters.of(&file.question.text);
        all(&mut file.question.entities);
        for ignored in &mut file.question.ignored {
            ignored.word = letters.of(&ignored.word);
        }
        for term in file.hops.iter_mut().flat_map(|hop| &mut hop.terms).map(|tally| &mut tally.term) {
            term.text = letters.of(&term.text);
            all(&mut term.forms);
        }
        let edits = |edits: &TermEdits| TermEdits {
            muted: edits.muted.iter().map(|term| letters.of(term)).collect::<BTreeSet<_>>(),
            weights: edits.weights.iter().map(|(term, weight)| (letters.of(term), *weight)).collect::<BTreeMap<_, _>>(),
            added: edits.added.iter().map(|(term, weight)| (letters.of(term), *weight)).collect::<BTreeMap<_, _>>(),
        };
        file.settings.terms = edits(&file.settings.terms);
        if let Some(settings) = &mut file.retrieved_with {
            settings.terms = edits(&settings.terms);
        }
        let conversation = &mut file.conversation;
        conversation.title = conversation.title.as_deref().map(|title| letters.of(title));
        for speaker in &mut conversation.speakers {
            *speaker = letters.of(speaker).into();
        }
        for turn in &mut conversation.turns {
            turn.text = letters.of(&turn.text);
            turn.caption = turn.caption.as_deref().map(|caption| letters.of(caption));
        }
        // Passages are made of the turns again, so that the two agree letter by letter.
        let shape = Shape::of(file.retrieved_with.as_ref().unwrap_or(&file.settings));
        let set = PassageSet::new(Arc::new(file.conversation.clone()), shape);
        for (part, passage) in file.passages.iter_mut().zip(&set.passages) {
            part.text.clone_from(&passage.text);
        }
        file
    }
}

/// Draws letters for words.
struct Letters(RandomState);

impl Letters {
    /// The same white space, and for every other character one of as many bytes.
    fn of(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut word = String::new();
        for c in text.chars() {
            if c.is_whitespace() {
                self.word(&word, &mut out);
                word.clear();
                out.push(c);
            } else {
                word.push(c);
            }
        }
        self.word(&word, &mut out);
        out
    }

    fn word(&self, word: &str, out: &mut String) {
        for (at, c) in word.chars().enumerate() {
            out.push(match c.len_utf8() {
                1 => char::from(b'a' + (self.0.hash_one((word, at)) % 26) as u8),
                2 => 'é',
                3 => '€',
                _ => '𝄞',
            });
        }
    }
}
