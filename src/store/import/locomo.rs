//! LoCoMo: a list of samples, each a `conversation` with `session_N` lists and `qa`. Knows this shape only.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::super::StoreError;
use super::draft::{Draft, DraftQuestion, DraftSession, DraftTurn};
use super::recognise::Format;
use super::sink::Sink;
use super::source::{Text, references, scalar};
use crate::moment::Moment;

#[derive(Deserialize)]
struct Sample {
    #[serde(default, deserialize_with = "scalar")]
    sample_id: Option<String>,
    conversation: Talk,
    #[serde(default)]
    qa: Vec<Asked>,
}

/// Store every sample of the file.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    let mut number = 0;
    source.each(&count, Format::Locomo.name(), &mut |sample: Sample| {
        number += 1;
        let id = sample.sample_id.unwrap_or_else(|| format!("{}-{number}", source.stem()));
        let mut draft = sample.conversation.draft(id);
        draft.questions.extend(sample.qa.into_iter().map(DraftQuestion::from));
        sink.conversation(draft)
    })
}

/// Sessions kept as keys of one object, as LoCoMo and REALTALK do.
#[derive(Debug, Default)]
pub(super) struct Talk {
    names: Vec<String>,
    times: BTreeMap<u32, String>,
    sessions: BTreeMap<u32, Vec<Said>>,
    questions: Vec<Asked>,
}

#[derive(Debug, Deserialize)]
struct Said {
    #[serde(default)]
    speaker: Text,
    #[serde(default, deserialize_with = "scalar")]
    dia_id: Option<String>,
    text: Option<Text>,
    clean_text: Option<Text>,
    blip_caption: Option<Text>,
    date_time: Option<Text>,
}

#[derive(Debug, Deserialize)]
struct Asked {
    question: Text,
    #[serde(default, deserialize_with = "scalar")]
    answer: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    adversarial_answer: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    category: Option<String>,
    #[serde(default, deserialize_with = "references")]
    evidence: Vec<String>,
}

impl From<Asked> for DraftQuestion {
    fn from(asked: Asked) -> Self {
        Self {
            text: asked.question.0,
            answer: asked.answer.or(asked.adversarial_answer),
            category: asked.category,
            evidence: asked.evidence,
            ..Default::default()
        }
    }
}

impl Talk {
    /// The conversation. Sessions with a date but without turns are left out; the numbers keep their gaps.
    pub fn draft(mut self, id: String) -> Draft {
        let mut sessions = Vec::new();
        for (number, said) in self.sessions {
            let time = self.times.remove(&number).map_or(Moment::Unknown, |text| Moment::read(&text));
            let turns = (1..).zip(said).map(|(place, said)| said.draft(number, place)).collect();
            sessions.push(DraftSession { id: format!("session_{number}"), number, time, turns });
        }
        self.names.retain(|name| !name.trim().is_empty());
        let title = (!self.names.is_empty()).then(|| self.names.join(" and "));
        Draft { id, title, sessions, questions: self.questions.into_iter().map(DraftQuestion::from).collect() }
    }
}

impl Said {
    fn draft(self, session: u32, place: u32) -> DraftTurn {
        DraftTurn {
            id: self.dia_id.unwrap_or_else(|| format!("D{session}:{place}")),
            speaker: self.speaker.0,
            text: self.clean_text.or(self.text).unwrap_or_default().0,
            caption: self.blip_caption.map(|text| text.0),
            time: self.date_time.map_or(Moment::Unknown, |text| Moment::read(&text.0)),
        }
    }
}

/// The number of a key `session_N`.
pub(super) fn session_number(key: &str) -> Option<u32> {
    let digits = key.strip_prefix("session_")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

impl<'de> Deserialize<'de> for Talk {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Talk;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object with session_1, session_2 …")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Talk, A::Error> {
                let mut talk = Talk::default();
                while let Some(key) = map.next_key::<String>()? {
                    if let Some(number) = session_number(&key) {
                        talk.sessions.insert(number, map.next_value()?);
                    } else if let Some(number) = key.strip_suffix("_date_time").and_then(session_number) {
                        talk.times.insert(number, map.next_value::<Option<Text>>()?.unwrap_or_default().0);
                    } else if key == "speaker_a" || key == "speaker_b" {
                        talk.names.push(map.next_value::<Text>()?.0);
                    } else if key == "name" {
                        let names: BTreeMap<String, Text> = map.next_value()?;
                        talk.names = names.into_values().map(|name| name.0).collect();
                    } else if key == "qa" {
                        talk.questions = map.next_value()?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(talk)
            }
        }
        parser.deserialize_map(Keys)
    }
}
