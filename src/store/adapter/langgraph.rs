//! LangGraph's SqliteSaver: every checkpoint repeats the whole state, so the newest one of a thread is read. Knows its
//! tables and how messages are packed; pickles are never opened.

use std::collections::HashMap;

use rmpv::Value as Packed;
use serde_json::{Map, Value};

use super::verdict::Notes;
use super::{Adapter, Db, Listed, Said, content};
use crate::moment::Moment;

pub(super) struct Langgraph;

/// Above this many bytes of checkpoints in a thread, times are not looked up in all of them.
const TIMES_UP_TO: i64 = 256 << 20;
const DEPTH: usize = 64;

impl Adapter for Langgraph {
    fn name(&self) -> &'static str {
        "langgraph"
    }

    fn title(&self) -> &'static str {
        "LangGraph SqliteSaver"
    }

    fn recognise(&self, db: &Db<'_>) -> rusqlite::Result<Option<String>> {
        let columns = ["thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint"];
        Ok(db.tables.has("checkpoints", &columns).then(|| "checkpoints".to_owned()))
    }

    fn list(&self, db: &Db<'_>) -> rusqlite::Result<Vec<Listed>> {
        let sql = "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY min(checkpoint_id)";
        Ok(db.rows(sql, [])?.iter().map(|row| Listed::new(row.words(0), None, row.count(1))).collect())
    }

    fn read(&self, db: &Db<'_>, talk: &Listed, notes: &mut Notes) -> rusqlite::Result<Vec<Said>> {
        // The state of the whole graph has an empty namespace; subgraphs keep copies under their own.
        let sql = "SELECT checkpoint_ns, count(*), sum(length(checkpoint)) FROM checkpoints WHERE thread_id = ?1
                   GROUP BY checkpoint_ns ORDER BY checkpoint_ns";
        let spaces = db.rows(sql, [&talk.key])?;
        let Some(main) = spaces.first() else { return Ok(Vec::new()) };
        notes.leave_some("state of a subgraph", spaces.iter().skip(1).map(|row| row.count(1)).sum());
        let sql = "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2
                   ORDER BY checkpoint_id DESC LIMIT 1";
        let newest = db.rows(sql, [&talk.key, &main.words(0)])?;
        let Some(state) = newest.first().and_then(|row| state_of(&row.words(0), row.bytes(1), notes)) else {
            return Ok(Vec::new());
        };
        notes.leave_some("older state of the same talk", main.count(1).saturating_sub(1));
        let mut times = HashMap::new();
        if main.number(2).unwrap_or(0) <= TIMES_UP_TO {
            let sql = "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2
                       ORDER BY checkpoint_id";
            for row in db.rows(sql, [&talk.key, &main.words(0)])? {
                let Some(state) = state_of(&row.words(0), row.bytes(1), &mut Notes::default()) else { continue };
                let time = Moment::read(&content::string(&state, "ts"));
                for message in messages(&state) {
                    times.entry(content::string(&message, "id")).or_insert_with(|| time.clone());
                }
            }
            notes.guess("times: those of the first state that holds the message");
        }
        let mut said = Vec::new();
        for (place, message) in messages(&state).into_iter().enumerate() {
            let mut roles = ["type", "role"].into_iter().map(|field| content::string(&message, field));
            let role = roles.find(|role| !role.is_empty()).unwrap_or_default();
            let Some(speaker) = content::speaker(&role) else {
                notes.leave(content::no_talk(&role));
                continue;
            };
            let name = content::string(&message, "name");
            let id = content::string(&message, "id");
            said.push(Said {
                time: times.get(&id).cloned().unwrap_or_default(),
                id: if id.is_empty() { format!("m{}", place + 1) } else { id },
                speaker: if name.is_empty() { speaker.to_owned() } else { name },
                text: message.get("content").map(content::text).unwrap_or_default(),
                session: None,
            });
        }
        Ok(said)
    }
}

/// A checkpoint as JSON.
fn state_of(kind: &str, bytes: &[u8], notes: &mut Notes) -> Option<Value> {
    let read = match kind {
        "msgpack" => rmpv::decode::read_value_with_max_depth(&mut &bytes[..], DEPTH).ok().map(|value| plain(&value, 0)),
        "json" => serde_json::from_slice(bytes).ok(),
        "pickle" => {
            notes.leave("state is a Python pickle, which may run code and is not opened");
            return None;
        }
        _ => None,
    };
    if read.is_none() {
        notes.leave("state that cannot be read");
    }
    read
}

/// The messages of a state: the channel `messages` by convention, else the first that holds messages.
fn messages(state: &Value) -> Vec<Value> {
    let Some(channels) = state.get("channel_values").and_then(Value::as_object) else { return Vec::new() };
    let named = ["messages", "chat_history", "history"].into_iter().filter_map(|name| channels.get(name));
    let lists = named.chain(channels.values()).filter_map(Value::as_array);
    let read = lists.map(|list| list.iter().filter_map(message).collect::<Vec<_>>());
    read.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// One message, from `{type, content}`, from LangChain's `{lc, id, kwargs}`, or from a packed constructor call.
fn message(value: &Value) -> Option<Value> {
    if let Some(kwargs) = value.get("kwargs").filter(|kwargs| kwargs.get("content").is_some()) {
        let mut kwargs = kwargs.clone();
        let class = value.get("id").and_then(Value::as_array).and_then(|path| path.last()).cloned();
        if let (Some(fields), Some(class)) = (kwargs.as_object_mut(), class) {
            fields.entry("type").or_insert(class);
        }
        return Some(kwargs);
    }
    if let Some([_, class, kwargs, ..]) = value.as_array().map(Vec::as_slice) {
        let mut kwargs = kwargs.clone();
        kwargs.as_object_mut()?.entry("type").or_insert_with(|| class.clone());
        return kwargs.get("content").is_some().then_some(kwargs);
    }
    (value.get("content").is_some() && (value.get("type").is_some() || value.get("role").is_some()))
        .then(|| value.clone())
}

/// Packed values as JSON. An extension holds packed values itself.
fn plain(value: &Packed, depth: usize) -> Value {
    match value {
        _ if depth > DEPTH => Value::Null,
        Packed::Nil => Value::Null,
        Packed::Boolean(truth) => Value::Bool(*truth),
        Packed::Integer(number) => number.as_i64().map_or_else(|| Value::from(number.as_u64()), Value::from),
        Packed::F32(number) => Value::from(*number),
        Packed::F64(number) => Value::from(*number),
        Packed::String(text) => Value::String(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        Packed::Binary(_) => Value::Null,
        Packed::Array(items) => items.iter().map(|item| plain(item, depth + 1)).collect(),
        Packed::Map(pairs) => {
            let name = |key: &Packed| key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            Value::Object(pairs.iter().map(|(key, value)| (name(key), plain(value, depth + 1))).collect::<Map<_, _>>())
        }
        Packed::Ext(_, bytes) => rmpv::decode::read_value_with_max_depth(&mut &bytes[..], DEPTH)
            .map_or(Value::Null, |inner| plain(&inner, depth + 1)),
    }
}
