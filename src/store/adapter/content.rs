//! Text out of the JSON in which programs keep a message: a string, or a list of blocks. Knows block types; knows no
//! table.

use serde_json::Value;

/// The words of a message: text blocks joined by line feeds; calls, results, reasoning and images give none.
pub(in crate::store) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(block).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(_) => block(content),
        _ => String::new(),
    }
}

fn block(value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    let kind = value.get("type").and_then(Value::as_str);
    match kind {
        None | Some("text" | "input_text" | "output_text") => string(value, "text"),
        Some(_) => String::new(),
    }
}

/// A field as text; empty when it is none.
pub(in crate::store) fn string(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Who speaks, by the role that programs write; `None` for what is no talk (system, tool, developer).
pub(in crate::store) fn speaker(role: &str) -> Option<&'static str> {
    match role {
        "user" | "human" | "HumanMessage" => Some("user"),
        "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk" | "agent" => Some("assistant"),
        _ => None,
    }
}

/// Why a row of this role is left out.
pub(in crate::store) fn no_talk(role: &str) -> String {
    match role {
        "system" | "developer" | "SystemMessage" => "system prompt".to_owned(),
        "tool" | "function" | "ToolMessage" | "FunctionMessage" => "tool result".to_owned(),
        "" => "row without a role".to_owned(),
        other => format!("role '{}'", super::super::clean::clean_line(other, &mut 0)),
    }
}
