//! Claude Code's session logs: one JSON object a line, a tree of messages by their parents. Knows this shape only.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::StoreError;
use super::super::adapter::{Notes, Said, content};
use super::sink::Sink;
use super::tree::{Node, trees};
use super::{chat, jsonl};
use crate::moment::Moment;

/// A line that has a place in the tree.
struct Line {
    id: String,
    parent: String,
    session: String,
    /// One answer may be split over several lines of the same message.
    message: String,
    time: Moment,
    talk: Result<Words, String>,
}

/// What is said in a line.
struct Words {
    speaker: &'static str,
    text: String,
}

/// All lines of a file.
#[derive(Default)]
struct Log {
    lines: Vec<Line>,
    /// Id of a line to the name of the talk that it ends.
    titles: HashMap<String, String>,
    /// Lines outside the tree.
    notes: Notes,
}

/// A session on its way into the database.
struct Talk {
    id: String,
    title: Option<String>,
    said: Vec<Said>,
    notes: Notes,
}

/// Store every session of the file: of each tree, the way from its newest message back to its root.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let (source, count) = (sink.source, sink.count.clone());
    let mut log = Log::default();
    let mut seen = HashSet::new();
    jsonl::each_line(source, &count, &mut |number, bytes| {
        match serde_json::from_slice::<Value>(bytes.trim_ascii()) {
            Ok(value @ Value::Object(_)) => log.add(number, &value, &mut seen),
            // A program that is stopped leaves half a line.
            _ => log.notes.leave("line that is no JSON object"),
        }
        Ok(())
    })?;
    for talk in log.talks(&source.stem()) {
        chat::put(sink, talk.id, talk.title, talk.said, talk.notes)?;
    }
    Ok(())
}

impl Log {
    fn add(&mut self, number: usize, value: &Value, seen: &mut HashSet<String>) {
        let kind = content::string(value, "type");
        if kind == "summary" {
            self.titles.insert(content::string(value, "leafUuid"), content::string(value, "summary"));
            return;
        }
        let id = content::string(value, "uuid");
        if value.get("isSidechain").and_then(Value::as_bool) == Some(true) {
            self.notes.leave("talk of a sub-agent");
        } else if id.is_empty() && value.get("message").is_none() {
            self.notes.leave(line_of(&kind));
        } else if !id.is_empty() && !seen.insert(id.clone()) {
            self.notes.leave("line that was there before (a session that was resumed copies some)");
        } else {
            let parents = ["parentUuid", "logicalParentUuid"].map(|name| content::string(value, name));
            self.lines.push(Line {
                id: if id.is_empty() { format!("line{number}") } else { id },
                parent: parents.into_iter().find(|parent| !parent.is_empty()).unwrap_or_default(),
                session: content::string(value, "sessionId"),
                message: value.get("message").map(|message| content::string(message, "id")).unwrap_or_default(),
                time: Moment::read(&content::string(value, "timestamp")),
                talk: words(&kind, value),
            });
        }
    }

    /// One talk a session; trees of the same session follow each other.
    fn talks(self, stem: &str) -> Vec<Talk> {
        let nodes: Vec<Node<'_>> = self
            .lines
            .iter()
            .map(|line| Node { id: &line.id, parent: &line.parent, time: line.time.seconds() })
            .collect();
        let mut talks: Vec<Talk> = Vec::new();
        for tree in trees(&nodes) {
            let line = |place: &usize| self.lines.get(*place);
            let session = tree.path.iter().rev().filter_map(line).map(|line| &line.session).find(|id| !id.is_empty());
            let id = session.map_or(stem, String::as_str);
            let at = talks.iter().position(|talk| talk.id == id).unwrap_or(talks.len());
            if at == talks.len() {
                talks.push(Talk { id: id.to_owned(), title: None, said: Vec::new(), notes: Notes::default() });
            }
            let Some(talk) = talks.get_mut(at) else { continue };
            let mut last = "";
            for line in tree.path.iter().filter_map(line) {
                talk.take(line, last);
                last = &line.message;
            }
            for line in tree.beside.iter().filter_map(line) {
                let reason = line.talk.as_ref().err().map_or("on another branch", String::as_str);
                talk.notes.leave(reason);
            }
            let all = tree.path.iter().chain(&tree.beside).filter_map(line);
            let title = all.filter_map(|line| self.titles.get(&line.id)).next_back();
            talk.title = title.cloned().or(talk.title.take());
        }
        match talks.first_mut() {
            Some(talk) => talk.notes.add(self.notes),
            None => talks.push(Talk { id: stem.to_owned(), title: None, said: Vec::new(), notes: self.notes }),
        }
        talks
    }
}

impl Talk {
    fn take(&mut self, line: &Line, last: &str) {
        let words = match &line.talk {
            Ok(words) => words,
            Err(reason) => return self.notes.leave(reason.as_str()),
        };
        let same = !line.message.is_empty() && line.message == last;
        match self.said.last_mut().filter(|said| same && said.speaker == words.speaker) {
            Some(said) => {
                said.text.push('\n');
                said.text.push_str(&words.text);
            }
            None => self.said.push(Said {
                id: line.id.clone(),
                session: None,
                speaker: words.speaker.to_owned(),
                text: words.text.clone(),
                time: line.time.clone(),
            }),
        }
    }
}

fn line_of(kind: &str) -> String {
    match kind {
        "" => "line without a type".to_owned(),
        kind => format!("line of the type '{}'", super::super::clean::clean_line(kind, &mut 0)),
    }
}

/// What a line says, or why it says nothing.
fn words(kind: &str, value: &Value) -> Result<Words, String> {
    let Some(speaker) = content::speaker(kind) else { return Err(line_of(kind)) };
    let marked = |name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
    if marked("isCompactSummary") {
        return Err("summary of a compacted talk".to_owned());
    }
    if marked("isMeta") || marked("isApiErrorMessage") {
        return Err("notice of the program".to_owned());
    }
    let said = value.pointer("/message/content").unwrap_or(&Value::Null);
    let text = content::text(said);
    if text.trim().is_empty() {
        return Err(no_text(said));
    }
    let command = ["<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>"];
    if speaker == "user" && command.iter().any(|tag| text.trim_start().starts_with(tag)) {
        return Err("command to the program".to_owned());
    }
    Ok(Words { speaker, text })
}

fn no_text(said: &Value) -> String {
    let has = |kind: &str| {
        let blocks = said.as_array().into_iter().flatten();
        blocks.filter_map(|block| block.get("type")).any(|known| known == kind)
    };
    let reasons = [
        ("tool_result", "tool result"),
        ("tool_use", "tool call"),
        ("thinking", "reasoning"),
        ("redacted_thinking", "reasoning"),
        ("image", "image"),
    ];
    let reason = reasons.iter().find(|(kind, _)| has(kind));
    reason.map_or("without text", |(_, reason)| reason).to_owned()
}
