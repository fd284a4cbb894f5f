//! Turns as an adapter found them to a history: sessions, unique ids, clean text. Knows no database.

use std::collections::{HashMap, HashSet};

use super::super::StoreError;
use super::super::import::draft::{Draft, DraftSession, DraftTurn, Seen};
use super::verdict::Notes;
use super::{Listed, Said};
use crate::history::Conversation;
use crate::moment::Moment;

/// A pause of this many hours begins a new session where the store has none.
pub const GAP_HOURS: f64 = 6.0;

/// The history of one conversation.
pub(super) fn assemble(
    talk: &Listed,
    said: Vec<Said>,
    gap_hours: f64,
    notes: &mut Notes,
) -> Result<Conversation, StoreError> {
    draft(talk, said, gap_hours, notes).build(&talk.id, &mut Seen::default())
}

/// Turns in their sessions, each with an id of its own.
pub(in crate::store) fn draft(talk: &Listed, said: Vec<Said>, gap_hours: f64, notes: &mut Notes) -> Draft {
    let before = said.len();
    let said: Vec<Said> = said.into_iter().filter(|turn| !turn.text.trim().is_empty()).collect();
    notes.leave_some("without text", before - said.len());
    let mut ids: HashSet<String> = HashSet::new();
    let mut sessions: Vec<DraftSession> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut last = Moment::Unknown;
    for turn in said {
        let place = match &turn.session {
            Some(session) => *places.entry(session.clone()).or_insert_with(|| {
                sessions.push(session_of(session.clone(), sessions.len()));
                sessions.len() - 1
            }),
            None => {
                let pause = turn.time.seconds().zip(last.seconds()).map_or(0, |(now, then)| now.saturating_sub(then));
                if sessions.is_empty() || pause as f64 >= gap_hours * 3_600.0 {
                    if sessions.is_empty() {
                        notes.guess(format!("sessions: the store has none, a pause of {gap_hours} hours begins one"));
                    }
                    sessions.push(session_of(format!("s{}", sessions.len() + 1), sessions.len()));
                }
                sessions.len() - 1
            }
        };
        if turn.time.seconds().is_some() {
            last = turn.time.clone();
        }
        let Some(session) = sessions.get_mut(place) else { continue };
        if session.time == Moment::Unknown {
            session.time = turn.time.clone();
        }
        let id = free_id(&turn.id, &ids);
        ids.insert(id.clone());
        session.turns.push(DraftTurn { id, speaker: turn.speaker, text: turn.text, caption: None, time: turn.time });
    }
    Draft { id: talk.id.clone(), title: talk.title.clone(), sessions, questions: Vec::new() }
}

fn session_of(id: String, place: usize) -> DraftSession {
    DraftSession { id, number: u32::try_from(place + 1).unwrap_or(u32::MAX), ..Default::default() }
}

/// The id as it will be after cleaning, or the first `#2`, `#3` … of it that is free.
fn free_id(id: &str, taken: &HashSet<String>) -> String {
    let id = super::super::clean::clean_line(id, &mut 0).into_owned();
    if !taken.contains(&id) {
        return id;
    }
    (2..).map(|number: usize| format!("{id}#{number}")).find(|id| !taken.contains(id)).unwrap_or(id)
}
