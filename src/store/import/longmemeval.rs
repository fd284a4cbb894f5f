//! LongMemEval: a haystack of dated sessions a question (or for several questions), and the evidence turns of all
//! questions, one question a line. Knows these shapes only.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::super::StoreError;
use super::super::clean::{clean, clean_line};
use super::draft::{Draft, DraftQuestion, DraftSession, DraftTurn};
use super::jsonl;
use super::recognise::Format;
use super::sink::Sink;
use super::source::{Text, references, scalar};
use crate::history::Conversation;
use crate::moment::Moment;

#[derive(Deserialize)]
struct Haystack {
    #[serde(default, deserialize_with = "scalar")]
    question_id: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    question_type: Option<String>,
    question: Option<Text>,
    #[serde(default)]
    questions: Vec<Text>,
    #[serde(default, deserialize_with = "scalar")]
    answer: Option<String>,
    #[serde(default)]
    answers: Vec<serde_json::Value>,
    /// For one question a list, for several a list of lists.
    #[serde(default)]
    answer_session_ids: Vec<serde_json::Value>,
    #[serde(default)]
    haystack_dates: Vec<Text>,
    #[serde(default)]
    haystack_session_ids: Vec<Text>,
    haystack_sessions: Vec<Vec<Said>>,
}

#[derive(Deserialize)]
struct Said {
    role: Text,
    content: Text,
    #[serde(default)]
    has_answer: Option<bool>,
}

/// Store every haystack.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    let mut number = 0;
    source.each(&count, Format::Longmemeval.name(), &mut |haystack: Haystack| {
        number += 1;
        let id = haystack.question_id.clone().unwrap_or_else(|| format!("{}-{number}", source.stem()));
        sink.conversation(haystack.draft(id))
    })
}

impl Haystack {
    fn draft(self, id: String) -> Draft {
        let mut marked: HashMap<String, Vec<String>> = HashMap::new();
        let mut sessions = Vec::with_capacity(self.haystack_sessions.len());
        let mut used = HashSet::new();
        for (place, said) in self.haystack_sessions.into_iter().enumerate() {
            let named = self.haystack_session_ids.get(place).map(|text| text.0.clone());
            let mut session = named.unwrap_or_else(|| format!("session_{}", place + 1));
            if !used.insert(session.clone()) {
                // The same session may lie in a haystack twice; ids of turns must differ all the same.
                session = format!("{session}#{}", place + 1);
                used.insert(session.clone());
            }
            let mut turns = Vec::with_capacity(said.len());
            for (at, said) in said.into_iter().enumerate() {
                let turn = format!("{session}:{}", at + 1);
                if said.has_answer == Some(true) {
                    marked.entry(session.clone()).or_default().push(turn.clone());
                }
                let (speaker, text) = (said.role.0, said.content.0);
                turns.push(DraftTurn { id: turn, speaker, text, ..Default::default() });
            }
            let time = self.haystack_dates.get(place).map_or(Moment::Unknown, |text| Moment::read(&text.0));
            let number = u32::try_from(place + 1).unwrap_or(u32::MAX);
            sessions.push(DraftSession { id: session, number, time, turns });
        }
        // Some haystacks are shuffled; a history is told in order when every session says when it was.
        if sessions.iter().all(|session| session.time.seconds().is_some()) {
            sessions.sort_by_key(|session| session.time.seconds());
        }
        let one = self.questions.is_empty();
        let mut questions = Vec::new();
        for (at, text) in self.question.into_iter().chain(self.questions).enumerate() {
            let answered = if one {
                Some(serde_json::Value::from(self.answer_session_ids.clone()))
            } else {
                self.answer_session_ids.get(at).cloned()
            };
            let evidence = answered.and_then(|ids| references(ids).ok()).unwrap_or_default();
            let turns: Vec<String> =
                evidence.iter().filter_map(|session| marked.get(session)).flatten().cloned().collect();
            let answer = if one { self.answer.clone() } else { None };
            questions.push(DraftQuestion {
                id: one.then(|| id.clone()),
                text: text.0,
                answer: answer
                    .or_else(|| self.answers.get(at).cloned().and_then(|answer| scalar(answer).ok().flatten())),
                // The type is that of the question that the haystack was made for.
                category: if one { self.question_type.clone() } else { None },
                evidence,
                // Where no turn is marked, the sessions named are all that is known.
                gold: (!turns.is_empty()).then_some(turns),
            });
        }
        Draft { id, title: None, sessions, questions }
    }
}

#[derive(Deserialize)]
struct Row {
    #[serde(default, deserialize_with = "scalar")]
    question_id: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    question_type: Option<String>,
    question: Text,
    #[serde(default, deserialize_with = "scalar")]
    answers: Option<String>,
    #[serde(default, deserialize_with = "references")]
    answer_session_ids: Vec<String>,
    evidence_sessions: Vec<EvidenceSession>,
}

#[derive(Deserialize)]
struct EvidenceSession {
    turns: Vec<Said>,
}

/// Attach the evidence turns to the haystacks that ask the same question, found by their exact words.
pub(super) fn import_evidence(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    const NEXT: &str = r#"a line is {"question_id", "question", "answer_session_ids", "evidence_sessions"}"#;
    jsonl::each_line(sink.source, &sink.count.clone(), &mut |line, bytes| {
        let row: Row = jsonl::parse(sink.source, line, bytes, NEXT)?;
        let name = row.question_id.clone().map_or_else(|| format!("line {line}"), |id| format!("question '{id}'"));
        let name = clean_line(&name, &mut 0).into_owned();
        let conversations = sink.asking(&row.question.0)?;
        if conversations.is_empty() {
            sink.skip(name, "no haystack in the database asks it");
            return Ok(());
        }
        for conversation in conversations {
            let Some(talk) = sink.load(&conversation)? else { continue };
            let gold = row.verbatim(talk);
            if gold.is_empty() {
                sink.skip(name.clone(), "none of its evidence turns is in the haystack that asks it");
                continue;
            }
            let asked = clean(row.question.0.trim()).into_owned();
            let same = talk.questions.iter().find(|question| question.text == asked);
            let (id, answer) = match same {
                Some(question) => (Some(question.id.clone()), question.answer.clone()),
                None => (None, None),
            };
            let question = DraftQuestion {
                id,
                text: row.question.0.clone(),
                answer: answer.or_else(|| row.answers.clone()),
                category: row.question_type.clone(),
                evidence: row.answer_session_ids.clone(),
                gold: Some(gold),
            };
            sink.question(&conversation, question, name.clone())?;
        }
        Ok(())
    })
}

impl Row {
    /// Ids of the turns with the words of the evidence: in the sessions that the row names, or else anywhere.
    fn verbatim(&self, talk: &Conversation) -> Vec<String> {
        let sessions: HashSet<usize> = talk
            .sessions
            .iter()
            .enumerate()
            .filter(|(_, session)| self.answer_session_ids.contains(&session.id))
            .map(|(at, _)| at)
            .collect();
        let mut found = Vec::new();
        for said in self.evidence_sessions.iter().flat_map(|session| &session.turns) {
            let words = clean(said.content.0.trim());
            let turns = talk.turns.iter().filter(|turn| sessions.is_empty() || sessions.contains(&turn.session));
            found.extend(turns.filter(|turn| turn.text.trim() == words.trim()).map(|turn| turn.id.clone()));
        }
        found
    }
}
