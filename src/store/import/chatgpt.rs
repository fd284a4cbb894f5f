//! ChatGPT's account export: a tree of messages a conversation. Knows this shape only.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::super::adapter::{Notes, OTHER_BRANCH, Said, content};
use super::super::{Branches, StoreError};
use super::chat;
use super::recognise::Format;
use super::sink::Sink;
use crate::moment::Moment;

#[derive(Deserialize)]
struct Talk {
    title: Option<String>,
    conversation_id: Option<String>,
    id: Option<String>,
    #[serde(default)]
    mapping: HashMap<String, Node>,
    current_node: Option<String>,
}

#[derive(Deserialize)]
struct Node {
    parent: Option<String>,
    message: Option<Value>,
}

/// Store every conversation of the file.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    let mut number = 0;
    source.each(&count, Format::Chatgpt.name(), &mut |talk: Talk| {
        number += 1;
        let id = talk.conversation_id.clone().or_else(|| talk.id.clone());
        let id = id.unwrap_or_else(|| format!("{}-{number}", source.stem()));
        let mut notes = Notes::default();
        let active = talk.walk(talk.current_node.clone(), &mut notes);
        if sink.branches == Branches::Active {
            return chat::put(sink, id, talk.title, active, notes);
        }
        notes.forget_branches();
        let beside = talk.beside(&active);
        let (total, name) = (beside.len() + 1, talk.title.clone().unwrap_or_else(|| id.clone()));
        chat::put(sink, id.clone(), talk.title, active, notes)?;
        for (at, (end, said)) in beside.into_iter().enumerate() {
            let title = format!("{name} (branch {} of {total})", at + 2);
            chat::put(sink, format!("{id}@{end}"), Some(title), said, Notes::default())?;
        }
        Ok(())
    })
}

impl Talk {
    /// The other branches, each with where it ends, oldest end first: those that say something that no branch before says.
    fn beside(&self, active: &[Said]) -> Vec<(String, Vec<Said>)> {
        let mut known: HashSet<String> = active.iter().map(|turn| turn.id.clone()).collect();
        let followed: HashSet<&String> = self.mapping.values().filter_map(|node| node.parent.as_ref()).collect();
        let time = |id: &String| {
            let message = self.mapping.get(id).and_then(|node| node.message.as_ref());
            message.and_then(|message| message.get("create_time")?.as_f64()).unwrap_or(0.0)
        };
        let mut ends: Vec<&String> = self.mapping.keys().filter(|id| !followed.contains(id)).collect();
        ends.sort_by(|one, other| time(one).total_cmp(&time(other)).then(one.cmp(other)));
        let mut beside = Vec::new();
        for end in ends {
            let said = self.walk(Some(end.clone()), &mut Notes::default());
            if said.iter().any(|turn| !turn.text.is_empty() && !known.contains(&turn.id)) {
                known.extend(said.iter().map(|turn| turn.id.clone()));
                beside.push((end.clone(), said));
            }
        }
        beside
    }

    /// From the root to where a branch ends.
    fn walk(&self, end: Option<String>, notes: &mut Notes) -> Vec<Said> {
        let mut path = Vec::new();
        let mut seen = HashSet::new();
        let mut next = end;
        while let Some(id) = next.take().filter(|id| seen.insert(id.clone())) {
            let Some(node) = self.mapping.get(&id) else { break };
            next.clone_from(&node.parent);
            path.extend(node.message.as_ref().map(|message| (id, message)));
        }
        let spoken = self.mapping.iter().filter(|(_, node)| node.message.is_some());
        notes.leave_some(OTHER_BRANCH, spoken.filter(|(id, _)| !seen.contains(*id)).count());
        path.reverse();
        path.into_iter().filter_map(|(id, message)| turn(id, message, notes)).collect()
    }
}

fn turn(id: String, message: &Value, notes: &mut Notes) -> Option<Said> {
    let role = message.pointer("/author/role").and_then(Value::as_str).unwrap_or_default();
    let Some(speaker) = content::speaker(role) else {
        notes.leave(content::no_talk(role));
        return None;
    };
    let hidden = message.pointer("/metadata/is_visually_hidden_from_conversation").and_then(Value::as_bool);
    let recipient = message.get("recipient").and_then(Value::as_str).unwrap_or("all");
    let kind = message.pointer("/content/content_type").and_then(Value::as_str).unwrap_or("text");
    if hidden == Some(true) {
        notes.leave("hidden from the user");
        return None;
    }
    if recipient != "all" || !matches!(kind, "text" | "multimodal_text") {
        notes.leave("message to a tool, or no text");
        return None;
    }
    let parts = message.pointer("/content/parts").and_then(Value::as_array);
    // Objects among the parts are images.
    let texts = parts.into_iter().flatten().filter_map(Value::as_str).filter(|text| !text.is_empty());
    let time =
        message.get("create_time").and_then(Value::as_f64).map_or(Moment::Unknown, |time| Moment::utc(time as i64));
    let text = texts.collect::<Vec<_>>().join("\n");
    Some(Said { id, session: None, speaker: speaker.to_owned(), text, time })
}
