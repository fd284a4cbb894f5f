//! Telegram Desktop's export: all chats, or one. Knows this shape only.

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
    chats: Option<Chats>,
    #[serde(flatten)]
    one: Chat,
}

#[derive(Deserialize)]
struct Chats {
    #[serde(default)]
    list: Vec<Chat>,
}

#[derive(Deserialize)]
struct Chat {
    name: Option<String>,
    id: Option<i64>,
    #[serde(default)]
    messages: Vec<Value>,
}

/// Store every chat of the file.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    source.each(&count, Format::Telegram.name(), &mut |export: Export| {
        let chats = export.chats.map_or_else(|| vec![export.one], |chats| chats.list);
        for (number, chat) in (1..).zip(chats) {
            let id = chat.id.map_or_else(|| format!("{}-{number}", source.stem()), |id| id.to_string());
            let mut notes = Notes::default();
            let said = chat.messages.iter().filter_map(|message| turn(message, &mut notes)).collect();
            chat::put(sink, id, chat.name, said, notes)?;
        }
        Ok(())
    })
}

fn turn(message: &Value, notes: &mut Notes) -> Option<Said> {
    if content::string(message, "type") != "message" {
        notes.leave("notice of the program");
        return None;
    }
    let from = [content::string(message, "from"), content::string(message, "from_id")];
    let speaker = from.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "deleted account".to_owned());
    // The text is words, or a list of words and of pieces that are formatted.
    let text = match message.get("text") {
        Some(Value::Array(pieces)) => pieces.iter().map(piece).collect::<String>(),
        Some(other) => piece(other),
        None => String::new(),
    };
    // `date` is local time without a zone.
    let unix = content::string(message, "date_unixtime").parse().ok();
    let time = unix.map_or_else(|| Moment::read(&content::string(message, "date")), Moment::utc);
    let id = message.get("id").map(ToString::to_string).unwrap_or_default();
    Some(Said { id, session: None, speaker, text, time })
}

fn piece(value: &Value) -> String {
    value.as_str().map_or_else(|| content::string(value, "text"), str::to_owned)
}
