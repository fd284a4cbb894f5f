//! BEAM: one history of user and assistant in batches, with typed questions. Knows this shape only.

use serde::Deserialize;
use serde_json::Value;

use super::super::StoreError;
use super::draft::{Draft, DraftQuestion, DraftSession, DraftTurn};
use super::recognise::Format;
use super::sink::Sink;
use super::source::{Text, references, scalar};
use crate::moment::Moment;

#[derive(Deserialize)]
struct History {
    #[serde(default, deserialize_with = "scalar")]
    conversation: Option<String>,
    #[serde(default)]
    topic: Value,
    sessions: Vec<Batch>,
    #[serde(default)]
    questions: Vec<Asked>,
}

#[derive(Deserialize)]
struct Batch {
    batch: Option<u32>,
    time_anchor: Option<Text>,
    turns: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default, deserialize_with = "scalar")]
    id: Option<String>,
    role: Text,
    content: Text,
    time_anchor: Option<Text>,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(rename = "type", default, deserialize_with = "scalar")]
    kind: Option<String>,
    question: Text,
    #[serde(default, deserialize_with = "references")]
    evidence_ids: Vec<String>,
    #[serde(default, deserialize_with = "scalar")]
    answer: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    ideal_response: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    ideal_answer: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    ideal_summary: Option<String>,
}

/// Store the history.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    source.each(&count, Format::Beam.name(), &mut |history: History| {
        let sessions = (1..).zip(history.sessions).map(|(place, batch)| batch.draft(place)).collect();
        let questions = history.questions.into_iter().map(|asked| DraftQuestion {
            text: asked.question.0,
            answer: asked.answer.or(asked.ideal_response).or(asked.ideal_answer).or(asked.ideal_summary),
            category: asked.kind,
            evidence: asked.evidence_ids,
            ..Default::default()
        });
        let title = match &history.topic {
            Value::String(title) => Some(title.clone()),
            topic => topic.get("title").and_then(Value::as_str).map(str::to_owned),
        };
        let id = history.conversation.unwrap_or_else(|| source.stem());
        sink.conversation(Draft { id, title, sessions, questions: questions.collect() })
    })
}

impl Batch {
    /// A time anchor holds until the next one of its session.
    fn draft(self, place: u32) -> DraftSession {
        let number = self.batch.unwrap_or(place);
        let mut now = self.time_anchor.map_or(Moment::Unknown, |text| Moment::read(&text.0));
        let mut began = now.clone();
        let mut turns = Vec::with_capacity(self.turns.len());
        for (at, said) in self.turns.into_iter().enumerate() {
            if let Some(anchor) = said.time_anchor {
                now = Moment::read(&anchor.0);
                if began == Moment::Unknown {
                    began = now.clone();
                }
            }
            turns.push(DraftTurn {
                id: said.id.unwrap_or_else(|| format!("{number}:{}", at + 1)),
                speaker: said.role.0,
                text: said.content.0,
                caption: None,
                time: now.clone(),
            });
        }
        DraftSession { id: format!("batch_{number}"), number, time: began, turns }
    }
}
