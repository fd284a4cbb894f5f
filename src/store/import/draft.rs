//! A conversation as an importer hands it over, and how it becomes a history: cleaned, numbered, its evidence
//! resolved. Knows no format and no database.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::StoreError;
use super::super::clean::{clean_counting, clean_line};
use super::evidence::Index;
use crate::history::{Conversation, DirtyEvidence, Question, Session, Turn};
use crate::moment::Moment;

/// A conversation as the source has it.
#[derive(Debug, Default)]
pub(in crate::store) struct Draft {
    pub id: String,
    pub title: Option<String>,
    pub sessions: Vec<DraftSession>,
    pub questions: Vec<DraftQuestion>,
}

#[derive(Debug, Default)]
pub(in crate::store) struct DraftSession {
    pub id: String,
    pub number: u32,
    pub time: Moment,
    pub turns: Vec<DraftTurn>,
}

#[derive(Debug, Default)]
pub(in crate::store) struct DraftTurn {
    pub id: String,
    pub speaker: String,
    pub text: String,
    pub caption: Option<String>,
    /// [`Moment::Unknown`] when it has none of its own.
    pub time: Moment,
}

#[derive(Debug, Default, Clone)]
pub(in crate::store) struct DraftQuestion {
    /// `None`: the next free `q1`, `q2` …
    pub id: Option<String>,
    pub text: String,
    pub answer: Option<String>,
    pub category: Option<String>,
    pub evidence: Vec<String>,
    /// Ids of the gold turns when the source marks the turns themselves; else `evidence` tells.
    pub gold: Option<Vec<String>>,
}

/// What was seen while building.
#[derive(Debug, Default)]
pub(in crate::store) struct Seen {
    pub made_visible: u64,
    pub unread_times: usize,
    pub good: usize,
    pub references: usize,
}

impl Draft {
    /// The history. `file` is for messages.
    pub fn build(self, file: &str, seen: &mut Seen) -> Result<Conversation, StoreError> {
        let mut built = Conversation {
            id: line(&self.id, seen),
            title: self.title.map(|title| line(&title, seen)).filter(|title| !title.is_empty()),
            ..Default::default()
        };
        let mut speakers: HashMap<Arc<str>, usize> = HashMap::new();
        for session in self.sessions.into_iter().filter(|session| !session.turns.is_empty()) {
            let start = built.turns.len();
            let time = clean_time(session.time, seen);
            for (number, turn) in (1..).zip(session.turns) {
                let own = clean_time(turn.time, seen);
                let name: Arc<str> = line(&turn.speaker, seen).into();
                let next = speakers.len();
                let speaker = *speakers.entry(Arc::clone(&name)).or_insert_with(|| {
                    built.speakers.push(name);
                    next
                });
                built.turns.push(Turn {
                    id: line(&turn.id, seen),
                    session: built.sessions.len(),
                    number,
                    speaker,
                    text: block(turn.text, seen),
                    caption: turn.caption.map(|text| block(text, seen)).filter(|text| !text.trim().is_empty()),
                    time: if own == Moment::Unknown { time.clone() } else { own },
                });
            }
            let id = line(&session.id, seen);
            built.sessions.push(Session { id, number: session.number, time, turns: start..built.turns.len() });
        }
        let mut ids = HashSet::new();
        if let Some(twice) = built.turns.iter().find(|turn| !ids.insert(turn.id.as_str())) {
            return Err(StoreError::DuplicateTurn {
                file: file.to_owned(),
                conversation: built.id.clone(),
                id: twice.id.clone(),
            });
        }
        let mut taken: HashSet<String> =
            self.questions.iter().filter_map(|question| question.id.as_deref()).map(|id| line(id, seen)).collect();
        if taken.len() < self.questions.iter().filter(|question| question.id.is_some()).count() {
            return Err(duplicate_question(file, &built.id, &self.questions));
        }
        let index = Index::new(&built);
        let mut questions = Vec::with_capacity(self.questions.len());
        for (at, question) in self.questions.into_iter().enumerate() {
            let id = match &question.id {
                Some(id) => line(id, &mut Seen::default()),
                None => free_id(at + 1, |id| taken.contains(id)),
            };
            taken.insert(id.clone());
            questions.push(question.build(id, &index, seen));
        }
        built.questions = questions;
        Ok(built)
    }
}

impl DraftQuestion {
    /// The question of a history whose turns are in `index`.
    pub(in crate::store::import) fn build(self, id: String, index: &Index<'_>, seen: &mut Seen) -> Question {
        let evidence: Vec<String> = self.evidence.iter().map(|raw| line(raw, seen)).collect();
        let resolved = match self.gold {
            None => index.resolve(&evidence),
            Some(gold) => {
                let mut at: Vec<usize> = gold.iter().filter_map(|id| index.turn(&line(id, seen))).collect();
                at.sort_unstable();
                at.dedup();
                super::evidence::Resolved { gold: at, dirty: Vec::new(), good: evidence.len() }
            }
        };
        seen.good += resolved.good;
        seen.references += evidence.len();
        Question {
            id,
            text: block(self.text, seen).trim().to_owned(),
            answer: self.answer.map(|text| block(text, seen)),
            category: self.category.map(|text| line(&text, seen)).filter(|text| !text.is_empty()),
            gold: resolved.gold,
            evidence,
            dirty: resolved.dirty,
        }
    }
}

/// `q<number>`, or the first number after it that is free.
pub(super) fn free_id(number: usize, taken: impl Fn(&str) -> bool) -> String {
    (number..).map(|number| format!("q{number}")).find(|id| !taken(id)).unwrap_or_default()
}

/// The evidence that does not simply name a turn, with whose it is.
pub(super) fn dirty_of<'c>(
    conversation: &'c str,
    question: &'c Question,
) -> impl Iterator<Item = super::report::DirtyReference> + 'c {
    question.dirty.iter().map(|evidence: &DirtyEvidence| super::report::DirtyReference {
        conversation: conversation.to_owned(),
        question: question.id.clone(),
        evidence: evidence.clone(),
    })
}

/// Numbers for sessions that only have ids: the digits at the end of the ids when these count upwards, else places.
pub(super) fn session_numbers<'i>(ids: impl Iterator<Item = &'i str> + Clone) -> Vec<u32> {
    let digits = |id: &str| -> Option<u32> {
        let start = id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        id.get(start..)?.parse().ok()
    };
    let numbers: Option<Vec<u32>> = ids.clone().map(digits).collect();
    numbers
        .filter(|numbers| numbers.is_sorted_by(|one, next| one < next))
        .unwrap_or_else(|| (1..).zip(ids).map(|(number, _)| number).collect())
}

fn duplicate_question(file: &str, conversation: &str, questions: &[DraftQuestion]) -> StoreError {
    let mut ids = HashSet::new();
    let twice = questions.iter().filter_map(|question| question.id.as_deref()).find(|id| !ids.insert(id.trim()));
    StoreError::DuplicateQuestion {
        file: file.to_owned(),
        conversation: conversation.to_owned(),
        id: clean_line(twice.unwrap_or_default(), &mut 0).into_owned(),
    }
}

fn line(text: &str, seen: &mut Seen) -> String {
    clean_line(text, &mut seen.made_visible).into_owned()
}

fn block(text: String, seen: &mut Seen) -> String {
    match clean_counting(&text, &mut seen.made_visible) {
        std::borrow::Cow::Owned(cleaned) => cleaned,
        std::borrow::Cow::Borrowed(_) => text,
    }
}

fn clean_time(time: Moment, seen: &mut Seen) -> Moment {
    let Moment::Unread(words) = time else { return time };
    seen.unread_times += 1;
    Moment::Unread(line(&words, seen))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn turn(id: &str, text: &str) -> DraftTurn {
        DraftTurn { id: id.to_owned(), speaker: "Ann".to_owned(), text: text.to_owned(), ..Default::default() }
    }

    #[test]
    fn a_draft_is_cleaned_and_its_sessions_tile_the_turns() {
        let session = |id: &str, turns| DraftSession { id: id.to_owned(), number: 1, turns, ..Default::default() };
        let mut first = session("s1", vec![turn("a", "one\x1b"), turn("b", "two")]);
        first.time = Moment::Unread("some\nday".to_owned());
        let question =
            DraftQuestion { text: " who? ".to_owned(), evidence: vec!["b".to_owned()], ..Default::default() };
        let draft = Draft {
            id: "c\0".to_owned(),
            sessions: vec![first, session("empty", vec![]), session("s2", vec![turn("c", "")])],
            questions: vec![question],
            ..Default::default()
        };
        let mut seen = Seen::default();
        let talk = draft.build("f", &mut seen).unwrap();
        assert_eq!((talk.id.as_str(), talk.sessions.len(), talk.turns.len()), ("c␀", 2, 3));
        assert_eq!(talk.sessions.iter().map(|known| known.turns.clone()).collect::<Vec<_>>(), [0..2, 2..3]);
        assert_eq!(talk.turns[0].text, "one␛");
        assert_eq!(talk.turns[0].time, Moment::Unread("some␊day".to_owned()));
        assert_eq!((talk.questions[0].id.as_str(), talk.questions[0].gold.as_slice()), ("q1", &[1][..]));
        assert_eq!((seen.made_visible, seen.unread_times, seen.good), (2, 1, 1));
    }

    #[test]
    fn ids_that_occur_twice_are_refused() {
        let draft = Draft {
            id: "c".to_owned(),
            sessions: vec![DraftSession { turns: vec![turn("a", ""), turn("a ", "")], ..Default::default() }],
            ..Default::default()
        };
        let text = draft.build("talk.json", &mut Seen::default()).unwrap_err().to_string();
        assert!(text.contains("two turns with the id 'a'") && text.contains("talk.json"), "{text}");
    }

    #[test]
    fn sessions_are_numbered_as_their_ids_count() {
        assert_eq!(session_numbers(["s02", "s04"].into_iter()), [2, 4]);
        assert_eq!(session_numbers(["s4", "s2"].into_iter()), [1, 2]);
        assert_eq!(session_numbers(["morning", "evening"].into_iter()), [1, 2]);
    }
}
