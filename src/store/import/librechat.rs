//! LibreChat's messages: exported by its page, one conversation a file, or by `mongoexport`, of all conversations. Knows
//! these shapes only.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use serde::Deserialize;
use serde_json::Value;

use super::super::StoreError;
use super::super::adapter::{Notes, Said, content};
use super::recognise::Format;
use super::sink::Sink;
use super::source::Source;
use super::tree::{Node, trees};
use super::{chat, jsonl};
use crate::moment::Moment;

const NEXT: &str = "a message is an object with \"messageId\" and \"conversationId\"";

/// What the page exports.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Export {
    conversation_id: Option<String>,
    title: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    /// The same messages, each inside its parent.
    #[serde(default)]
    messages_tree: Vec<Value>,
}

/// A message with what places it in the tree.
struct Message {
    id: String,
    parent: String,
    time: Moment,
    talk: Result<(String, String), &'static str>,
}

/// Store every conversation of the file: of each tree, the way from its newest message back to its root.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    let mut talks = Talks::default();
    let add = &mut |message: Value| {
        talks.add(&message);
        Ok(())
    };
    match shape(source)? {
        Shape::List => source.each(&count, Format::LibreChat.name(), add)?,
        Shape::Lines => {
            jsonl::each_line(source, &count, &mut |line, bytes| add(jsonl::parse(source, line, bytes, NEXT)?))?
        }
        Shape::Export => {
            return source.each(&count, Format::LibreChat.name(), &mut |export: Export| {
                let mut messages = Vec::new();
                export.messages.iter().for_each(|message| messages.push(Message::of(message)));
                flatten(&export.messages_tree, "", &mut messages);
                let id = export.conversation_id.filter(|id| !id.is_empty()).unwrap_or_else(|| source.stem());
                put(sink, id, export.title, &messages)
            });
        }
    }
    for (id, messages) in talks.list {
        let id = if id.is_empty() { source.stem() } else { id };
        put(sink, id, None, &messages)?;
    }
    Ok(())
}

enum Shape {
    /// A list of messages.
    List,
    /// A message a line.
    Lines,
    /// One conversation.
    Export,
}

fn shape(source: &Source<'_>) -> Result<Shape, StoreError> {
    let mut first = Vec::new();
    let mut reader = source.open(&Default::default())?;
    while first.trim_ascii().is_empty() {
        first.clear();
        // A whole export can stand in one line; what a message begins with is short.
        let read = reader.by_ref().take(1 << 20).read_until(b'\n', &mut first).map_err(|cause| source.io(cause))?;
        if read == 0 {
            return Ok(Shape::Export);
        }
    }
    if first.trim_ascii().starts_with(b"[") {
        return Ok(Shape::List);
    }
    let keys = super::source::outline(first.as_slice()).keys;
    Ok(if keys.iter().any(|key| key == "messageId") { Shape::Lines } else { Shape::Export })
}

/// Messages by conversation, in the order in which the conversations begin.
#[derive(Default)]
struct Talks {
    list: Vec<(String, Vec<Message>)>,
    places: HashMap<String, usize>,
}

impl Talks {
    fn add(&mut self, message: &Value) {
        let id = content::string(message, "conversationId");
        let place = *self.places.entry(id).or_insert_with_key(|id| {
            self.list.push((id.clone(), Vec::new()));
            self.list.len() - 1
        });
        if let Some((_, messages)) = self.list.get_mut(place) {
            messages.push(Message::of(message));
        }
    }
}

fn put<'m>(sink: &mut Sink<'_>, id: String, title: Option<String>, messages: &'m [Message]) -> Result<(), StoreError> {
    let node = |message: &'m Message| Node { id: &message.id, parent: &message.parent, time: message.time.seconds() };
    let nodes: Vec<Node<'m>> = messages.iter().map(node).collect();
    let mut notes = Notes::default();
    let mut said = Vec::new();
    for tree in trees(&nodes) {
        let message = |place: &usize| messages.get(*place);
        for message in tree.path.iter().filter_map(message) {
            match &message.talk {
                Ok((speaker, text)) => said.push(Said {
                    id: message.id.clone(),
                    session: None,
                    speaker: speaker.clone(),
                    text: text.clone(),
                    time: message.time.clone(),
                }),
                Err(reason) => notes.leave(*reason),
            }
        }
        for message in tree.beside.iter().filter_map(message) {
            notes.leave(message.talk.as_ref().err().copied().unwrap_or("on another branch"));
        }
    }
    chat::put(sink, id, title, said, notes)
}

/// Messages of a nested export, each with the parent that it stands in.
fn flatten(list: &[Value], parent: &str, into: &mut Vec<Message>) {
    for value in list {
        let mut message = Message::of(value);
        if message.parent.is_empty() {
            message.parent = parent.to_owned();
        }
        let id = message.id.clone();
        into.push(message);
        // The parser has a limit of its own to how deep this goes.
        flatten(value.get("children").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default(), &id, into);
    }
}

impl Message {
    fn of(value: &Value) -> Self {
        Self {
            id: content::string(value, "messageId"),
            parent: content::string(value, "parentMessageId"),
            time: time(value.get("createdAt")),
            talk: talk(value),
        }
    }
}

/// Who says what, or why it is left out.
fn talk(value: &Value) -> Result<(String, String), &'static str> {
    let marked = |name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
    if marked("error") {
        return Err("error of the program");
    }
    let own = content::string(value, "text");
    let blocks = || value.get("content").and_then(Value::as_array).into_iter().flatten();
    let text = match own.trim().is_empty() {
        true => blocks().map(block).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        false => own,
    };
    if text.trim().is_empty() {
        let call = blocks().any(|block| block.get("type").is_some_and(|kind| kind == "tool_call"));
        return Err(if call { "tool call" } else { "without text" });
    }
    let sender = content::string(value, "sender");
    let speaker = match (marked("isCreatedByUser"), sender.is_empty()) {
        (true, _) => "user".to_owned(),
        (false, true) => "assistant".to_owned(),
        (false, false) => sender,
    };
    Ok((speaker, text))
}

/// The words of a part; the page keeps those of assistants one level deeper.
fn block(value: &Value) -> String {
    let deeper = value.pointer("/text/value").and_then(Value::as_str);
    deeper.map_or_else(|| content::text(value), str::to_owned)
}

/// A time as the page writes it, or as the database's own export does.
fn time(value: Option<&Value>) -> Moment {
    let Some(value) = value else { return Moment::Unknown };
    let inner = value.get("$date").unwrap_or(value);
    let inner = inner.get("$numberLong").unwrap_or(inner);
    match inner {
        Value::Number(number) => number.as_i64().map_or(Moment::Unknown, |at| Moment::utc(at.div_euclid(1_000))),
        Value::String(text) => match text.parse::<i64>() {
            Ok(at) => Moment::utc(at.div_euclid(1_000)),
            Err(_) => Moment::read(text),
        },
        _ => Moment::Unknown,
    }
}
