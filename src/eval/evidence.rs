//! Evidence: how far the gold of a history's questions can be trusted, counted apart from what a pipeline misses. Knows
//! questions and turns; no trace.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::history::{Conversation, EvidenceFault, Question};

/// What the questions name as evidence, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Evidence {
    /// Questions.
    pub questions: usize,
    /// Of them with gold that can be measured.
    pub with_gold: usize,
    /// Of them that name no evidence.
    pub without_evidence: usize,
    /// Of them whose evidence leads to no turn at all: not measurable.
    pub not_measurable: usize,
    /// Gold passages of those that can be measured.
    pub gold: usize,
    /// References by what is wrong with them.
    pub faults: BTreeMap<EvidenceFault, usize>,
    /// Gold turns said by another speaker than the only one whom the question names.
    pub other_speaker: usize,
    /// Questions with such a turn.
    pub questions_other_speaker: usize,
}

impl Evidence {
    /// Count one question in.
    pub fn add(&mut self, conversation: &Conversation, question: &Question) {
        self.questions += 1;
        for dirty in &question.dirty {
            *self.faults.entry(dirty.fault).or_default() += 1;
        }
        if question.gold.is_empty() {
            let named = !question.evidence.is_empty() || !question.dirty.is_empty();
            *(if named { &mut self.not_measurable } else { &mut self.without_evidence }) += 1;
            return;
        }
        self.with_gold += 1;
        self.gold += question.gold.len();
        let Some(named) = only_speaker(conversation, &question.text) else { return };
        let of_another = |turn: &&usize| conversation.turns.get(**turn).is_some_and(|turn| turn.speaker != named);
        let others = question.gold.iter().filter(of_another).count();
        self.other_speaker += others;
        self.questions_other_speaker += usize::from(others > 0);
    }

    /// References that name a turn which is not in the history.
    pub fn not_in_history(&self) -> usize {
        self.faults.get(&EvidenceFault::Unknown).copied().unwrap_or(0)
    }

    /// References that cannot be read.
    pub fn unreadable(&self) -> usize {
        self.faults.get(&EvidenceFault::Unreadable).copied().unwrap_or(0)
    }

    /// References that were understood although they are not written as they should be.
    pub fn mended(&self) -> usize {
        self.faults.iter().filter(|(fault, _)| fault.is_mended()).map(|(_, count)| count).sum()
    }
}

/// The speaker whom a text names, when it names exactly one of them.
fn only_speaker(conversation: &Conversation, text: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let names = conversation.speakers.iter().enumerate().filter(|(_, name)| has_word(&text, &name.to_lowercase()));
    let mut named = names.map(|(at, _)| at);
    let first = named.next()?;
    named.next().is_none().then_some(first)
}

/// True when the words stand in the text, not inside other words.
fn has_word(text: &str, words: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    !words.is_empty()
        && text.match_indices(words).any(|(at, found)| {
            let (before, after) =
                (text.get(..at).unwrap_or_default(), text.get(at + found.len()..).unwrap_or_default());
            edge(before.chars().next_back()) && edge(after.chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{DirtyEvidence, Turn};
    use crate::moment::Moment;

    fn conversation() -> Conversation {
        let turn = |speaker| Turn {
            id: String::new(),
            session: 0,
            number: 1,
            speaker,
            text: String::new(),
            caption: None,
            time: Moment::Unknown,
        };
        Conversation {
            speakers: vec!["Ana".into(), "Bo".into()],
            turns: vec![turn(0), turn(1)],
            ..Conversation::default()
        }
    }

    #[test]
    fn evidence_that_cannot_be_measured_is_counted_apart() {
        let conversation = conversation();
        let question = |text: &str, gold: &[usize], evidence: &[&str], dirty: &[EvidenceFault]| Question {
            text: text.to_owned(),
            gold: gold.to_vec(),
            evidence: evidence.iter().map(|raw| (*raw).to_owned()).collect(),
            dirty: dirty.iter().map(|fault| DirtyEvidence { raw: String::new(), fault: *fault }).collect(),
            ..Question::default()
        };
        let mut found = Evidence::default();
        for one in [
            question("What did Ana say?", &[0], &["D1:1"], &[]),
            question("What did ANA's brother say?", &[0, 1], &["D1:1", "D1 :2"], &[EvidenceFault::Typo]),
            question("What did Ana tell Bo?", &[1], &["D1:2"], &[]),
            question("What about bananas?", &[1], &["D1:2"], &[]),
            question("Who?", &[], &["D9:9"], &[EvidenceFault::Unknown]),
            question("When?", &[], &["?"], &[EvidenceFault::Unreadable]),
            question("Why?", &[], &[], &[]),
        ] {
            found.add(&conversation, &one);
        }
        assert_eq!((found.questions, found.with_gold, found.gold), (7, 4, 5));
        assert_eq!((found.not_measurable, found.without_evidence), (2, 1));
        assert_eq!((found.not_in_history(), found.unreadable(), found.mended()), (1, 1, 1));
        // The banana is no Ana, and two names are no one's.
        assert_eq!((found.other_speaker, found.questions_other_speaker), (1, 1));
    }
}
