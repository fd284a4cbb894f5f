//! REALTALK: one chat a file with its questions, and the cleaned questions of all chats, one a line. Knows these
//! shapes only.

use serde::Deserialize;

use super::super::StoreError;
use super::draft::DraftQuestion;
use super::jsonl;
use super::locomo::Talk;
use super::recognise::Format;
use super::sink::Sink;
use super::source::{Text, references, scalar};

/// Store the chat; its id is the name of the file, for it has no other.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    source.each(&count, Format::Realtalk.name(), &mut |talk: Talk| sink.conversation(talk.draft(source.stem())))
}

#[derive(Deserialize)]
struct Row {
    chat: Text,
    /// Counts the questions of the chat from 0.
    qid: Option<u32>,
    question: Text,
    #[serde(default, deserialize_with = "scalar")]
    answer: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    category: Option<String>,
    #[serde(default, deserialize_with = "references")]
    evidence: Vec<String>,
    #[serde(default, deserialize_with = "references")]
    raw_evidence: Vec<String>,
}

/// Attach the questions to their chats.
pub(super) fn import_questions(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    const NEXT: &str = r#"a line is {"chat", "qid", "question", "answer", "category", "evidence"}"#;
    jsonl::each_line(sink.source, &sink.count.clone(), &mut |line, bytes| {
        let row: Row = jsonl::parse(sink.source, line, bytes, NEXT)?;
        // The raw references are read here as well, so that the same question is the same from either file.
        let evidence = if row.raw_evidence.is_empty() { row.evidence } else { row.raw_evidence };
        let question = DraftQuestion {
            id: row.qid.map(|number| format!("q{}", u64::from(number) + 1)),
            text: row.question.0,
            answer: row.answer,
            category: row.category,
            evidence,
            gold: None,
        };
        sink.question(&row.chat.0, question, format!("line {line}"))
    })
}
