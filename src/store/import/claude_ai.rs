//! Claude.ai's account export: a list of messages a conversation. Knows this shape only.

use serde::Deserialize;
use serde_json::Value;

use super::super::StoreError;
use super::super::adapter::{Notes, Said, content};
use super::chat;
use super::recognise::Format;
use super::sink::Sink;
use crate::moment::Moment;

#[derive(Deserialize)]
struct Talk {
    uuid: Option<String>,
    name: Option<String>,
    #[serde(default)]
    chat_messages: Vec<Value>,
}

/// Store every conversation of the file.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    let mut number = 0;
    source.each(&count, Format::ClaudeAi.name(), &mut |talk: Talk| {
        number += 1;
        let id = talk.uuid.unwrap_or_else(|| format!("{}-{number}", source.stem()));
        let mut notes = Notes::default();
        let said = talk.chat_messages.iter().filter_map(|message| turn(message, &mut notes)).collect();
        chat::put(sink, id, talk.name, said, notes)
    })
}

fn turn(message: &Value, notes: &mut Notes) -> Option<Said> {
    let role = content::string(message, "sender");
    let Some(speaker) = content::speaker(&role) else {
        notes.leave(content::no_talk(&role));
        return None;
    };
    // `text` may be empty where the blocks are not.
    let blocks = message.get("content").map(content::text).unwrap_or_default();
    Some(Said {
        id: content::string(message, "uuid"),
        session: None,
        speaker: speaker.to_owned(),
        text: if blocks.is_empty() { content::string(message, "text") } else { blocks },
        time: Moment::read(&content::string(message, "created_at")),
    })
}
