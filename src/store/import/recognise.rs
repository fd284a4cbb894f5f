//! Which format a file has, told from its content and never from its name. Knows the outlines of the formats; reads
//! no conversation.

use std::io::Read;

use serde::Serialize;

use super::super::StoreError;
use super::source::{Outline, Source, outline};
use super::{mbox, whatsapp};

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A LoCoMo file: a list of samples with `conversation` and `qa`.
    Locomo,
    /// One chat of REALTALK.
    Realtalk,
    /// Questions of REALTALK, one a line.
    RealtalkQuestions,
    /// LongMemEval haystacks.
    Longmemeval,
    /// LongMemEval questions with their evidence turns, one a line.
    LongmemevalEvidence,
    /// One BEAM history.
    Beam,
    /// memsift's own lines of turns and questions.
    Jsonl,
    /// ChatGPT's account export.
    Chatgpt,
    /// Claude.ai's account export.
    ClaudeAi,
    /// Telegram Desktop's export.
    Telegram,
    /// One channel from DiscordChatExporter.
    Discord,
    /// A session log of Claude Code.
    ClaudeCode,
    /// LibreChat's messages.
    #[serde(rename = "librechat")]
    LibreChat,
    /// WhatsApp's text export of one chat.
    Whatsapp,
    /// A mailbox of plain text.
    Mbox,
}

impl Format {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Locomo => "LoCoMo",
            Self::Realtalk => "REALTALK",
            Self::RealtalkQuestions => "REALTALK questions",
            Self::Longmemeval => "LongMemEval",
            Self::LongmemevalEvidence => "LongMemEval evidence",
            Self::Beam => "BEAM",
            Self::Jsonl => "JSONL",
            Self::Chatgpt => "ChatGPT export",
            Self::ClaudeAi => "Claude.ai export",
            Self::Telegram => "Telegram export",
            Self::Discord => "Discord export",
            Self::ClaudeCode => "Claude Code log",
            Self::LibreChat => "LibreChat export",
            Self::Whatsapp => "WhatsApp export",
            Self::Mbox => "mailbox (mbox)",
        }
    }

    /// True for files that only say something about conversations of other files; they are read last.
    pub(super) fn needs_conversations(self) -> bool {
        matches!(self, Self::RealtalkQuestions | Self::LongmemevalEvidence)
    }

    fn of(outline: &Outline) -> Option<Self> {
        let has = |key: &str| outline.keys.iter().any(|known| known == key);
        let any = |keys: &[&str]| keys.iter().any(|key| has(key));
        if has("haystack_sessions") {
            return Some(Self::Longmemeval);
        }
        if has("conversation") && any(&["sample_id", "qa"]) {
            return Some(Self::Locomo);
        }
        if has("mapping") && any(&["current_node", "conversation_id", "title"]) {
            return Some(Self::Chatgpt);
        }
        if has("chat_messages") {
            return Some(Self::ClaudeAi);
        }
        if has("conversationId") && any(&["messageId", "messages", "messagesTree"]) {
            return Some(Self::LibreChat);
        }
        if outline.array {
            return None;
        }
        let snapshot = has("messageId") && has("snapshot");
        if has("type") && (any(&["leafUuid", "sessionId", "isSidechain"]) || snapshot) {
            return Some(Self::ClaudeCode);
        }
        if has("channel") && has("messages") {
            return Some(Self::Discord);
        }
        if has("chats") || (has("messages") && has("type") && has("id")) {
            return Some(Self::Telegram);
        }
        if has("sessions") && any(&["conversation", "questions"]) {
            Some(Self::Beam)
        } else if outline.keys.iter().any(|key| super::locomo::session_number(key).is_some()) {
            Some(Self::Realtalk)
        } else if has("chat") && has("question") {
            Some(Self::RealtalkQuestions)
        } else if has("question_id") && has("evidence_sessions") {
            Some(Self::LongmemevalEvidence)
        } else if has("conversation") && any(&["session", "id", "speaker", "text", "question"]) {
            Some(Self::Jsonl)
        } else {
            None
        }
    }
}

/// The format of lines of plain text.
fn plain(beginning: &str) -> Option<Format> {
    if mbox::is_mailbox(beginning) {
        return Some(Format::Mbox);
    }
    whatsapp::is_export(beginning).then_some(Format::Whatsapp)
}

/// The format of a source.
pub(super) fn recognise(source: &Source<'_>) -> Result<Format, StoreError> {
    let mut head = Vec::new();
    source.open(&Default::default())?.take(16).read_to_end(&mut head).map_err(|cause| source.io(cause))?;
    if head.starts_with(b"SQLite format 3") {
        let found = "it is a SQLite database; if memsift made it, open it instead of importing it".to_owned();
        return Err(StoreError::UnknownFormat { file: source.name.clone(), found });
    }
    let outline = outline(source.open(&Default::default())?);
    let format = match outline.keys.is_empty() {
        true => plain(&whatsapp::beginning(source)?),
        false => Format::of(&outline),
    };
    format.ok_or_else(|| {
        let kind = if outline.array { "a list of objects" } else { "an object" };
        let mut keys = outline.keys.iter().take(8).map(|key| super::super::clean::clean_line(key, &mut 0).into_owned());
        let found = match (source.bytes(), keys.next()) {
            (Ok(0), _) => "the file is empty".to_owned(),
            (_, None) => "no JSON object, no message of a chat and no mail was found at its beginning".to_owned(),
            (_, Some(first)) => {
                let keys: Vec<String> = std::iter::once(first).chain(keys).map(|key| format!("'{key}'")).collect();
                format!("it begins with {kind} with the keys {}", keys.join(", "))
            }
        };
        StoreError::UnknownFormat { file: source.name.clone(), found }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_keys() {
        let rows = [
            (r#"[{"qa": [], "conversation": {}, "sample_id": "c"}]"#, Some(Format::Locomo)),
            (r#"{"sample_id": "c", "conversation": {}}"#, Some(Format::Locomo)),
            (r#"{"name": {}, "session_1": []}"#, Some(Format::Realtalk)),
            (r#"{"chat": "c", "qid": 0, "question": "?"}"#, Some(Format::RealtalkQuestions)),
            (r#"[{"question_id": "x", "haystack_sessions": []}]"#, Some(Format::Longmemeval)),
            (r#"{"question_id": "x", "evidence_sessions": []}"#, Some(Format::LongmemevalEvidence)),
            (r#"{"conversation": "b", "sessions": [], "questions": []}"#, Some(Format::Beam)),
            ("\u{feff}{\"conversation\": \"c\", \"text\": \"hi\"}", Some(Format::Jsonl)),
            (r#"{"conversation": "c", "question": "?"}"#, Some(Format::Jsonl)),
            (r#"[{"title": "t", "mapping": {}, "current_node": "a"}]"#, Some(Format::Chatgpt)),
            (r#"[{"uuid": "u", "chat_messages": []}]"#, Some(Format::ClaudeAi)),
            (r#"{"about": "", "chats": {"list": []}}"#, Some(Format::Telegram)),
            (r#"{"guild": {}, "channel": {}, "messages": []}"#, Some(Format::Discord)),
            (r#"{"type": "summary", "summary": "s", "leafUuid": "a"}"#, Some(Format::ClaudeCode)),
            (r#"{"parentUuid": null, "sessionId": "s", "type": "user", "message": {}}"#, Some(Format::ClaudeCode)),
            (r#"{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}"#, Some(Format::ClaudeCode)),
            (r#"[{"messageId": "m", "conversationId": "c", "text": "hi"}]"#, Some(Format::LibreChat)),
            (r#"{"conversationId": "c", "endpoint": "openAI", "messages": []}"#, Some(Format::LibreChat)),
            ("[31/12/2023, 21:15:03] Ana: hi", Some(Format::Whatsapp)),
            ("\u{feff}\n12/31/23, 9:15 PM - Ana: hi", Some(Format::Whatsapp)),
            ("From ana@x Sat May  2 09:00:00 2026\nFrom: Ana\n\nhi", Some(Format::Mbox)),
            (r#"[{"id": 1, "query": "?"}]"#, None),
            ("hello", None),
            ("", None),
        ];
        for (text, want) in rows {
            assert_eq!(recognise(&Source::text("x", text)).ok(), want, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_described() {
        let text = recognise(&Source::text("x.json", r#"[{"id": 1, "query": "?"}]"#)).unwrap_err().to_string();
        assert!(text.contains("'id', 'query'") && text.contains("LoCoMo"), "{text}");
        assert!(recognise(&Source::text("x", "")).unwrap_err().to_string().contains("empty"));
        let database = recognise(&Source::text("x", "SQLite format 3\0...")).unwrap_err().to_string();
        assert!(database.contains("open it instead"), "{database}");
    }
}
