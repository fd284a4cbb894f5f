//! DiscordChatExporter's JSON: one channel a file. Knows this shape only.

use serde::Deserialize;
use serde_json::Value;

use super::super::StoreError;
use super::super::adapter::{Notes, Said, content};
use super::chat;
use super::recognise::Format;
use super::sink::Sink;
use crate::moment::Moment;

#[derive(Deserialize)]
struct Export {
    channel: Value,
    #[serde(default)]
    messages: Vec<Value>,
}

/// Store the channel of the file.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    source.each(&count, Format::Discord.name(), &mut |export: Export| {
        let id = content::string(&export.channel, "id");
        let id = if id.is_empty() { source.stem() } else { id };
        let mut notes = Notes::default();
        let said = export.messages.iter().filter_map(|message| turn(message, &mut notes)).collect();
        chat::put(sink, id, Some(content::string(&export.channel, "name")), said, notes)
    })
}

fn turn(message: &Value, notes: &mut Notes) -> Option<Said> {
    if !matches!(content::string(message, "type").as_str(), "Default" | "Reply") {
        notes.leave("notice of the program");
        return None;
    }
    let author = message.get("author").unwrap_or(&Value::Null);
    let names = [content::string(author, "nickname"), content::string(author, "name")];
    Some(Said {
        id: content::string(message, "id"),
        session: None,
        speaker: names.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned()),
        text: content::string(message, "content"),
        time: Moment::read(&content::string(message, "timestamp")),
    })
}
