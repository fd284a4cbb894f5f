//! memsift's own lines: a turn or a question a line, in any order. Knows this shape, and lines of JSON for the formats
//! that use them.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{BufRead, Seek};
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::super::StoreError;
use super::draft::{Draft, DraftQuestion, DraftSession, DraftTurn, session_numbers};
use super::sink::Sink;
use super::source::{Source, Text, references, scalar};
use crate::moment::Moment;

const NEXT: &str = r#"a turn is {"conversation", "session", "id", "speaker", "text"} with "time" and "caption" if known, a question is {"conversation", "question"} with "answer", "category" and "evidence" (ids of turns) if known"#;

/// Report progress inside a conversation after this many lines.
const STRIDE: usize = 5_000;

#[derive(Deserialize)]
struct Line {
    #[serde(default, deserialize_with = "scalar")]
    session: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    id: Option<String>,
    speaker: Option<Text>,
    text: Option<Text>,
    #[serde(default, deserialize_with = "scalar")]
    time: Option<String>,
    caption: Option<Text>,
    title: Option<Text>,
    question: Option<Text>,
    #[serde(default, deserialize_with = "scalar")]
    answer: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    category: Option<String>,
    #[serde(default, deserialize_with = "references")]
    evidence: Vec<String>,
}

/// What decides where a line belongs.
#[derive(Deserialize)]
struct Head {
    #[serde(default, deserialize_with = "scalar")]
    conversation: Option<String>,
    question: Option<IgnoredAny>,
}

/// Lines of one conversation that follow each other in the file.
struct Run {
    offset: u64,
    line: usize,
    lines: usize,
}

/// The lines of one conversation.
struct Group {
    conversation: String,
    runs: Vec<Run>,
    has_turns: bool,
}

/// Store the conversations and attach the questions. The file is read twice, so that only the places of the lines and
/// one conversation are held at a time, in whatever order the lines are.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let source = sink.source;
    let groups = groups(source)?;
    let mut reader = source.open(&sink.count)?;
    let mut position = reader.stream_position().map_err(|cause| source.io(cause))?;
    let mut buffer = Vec::new();
    let mut done = 0;
    // Questions about conversations of other files come last: those may be in this file under another spelling.
    let (own, other): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.has_turns);
    for group in own.into_iter().chain(other) {
        let mut talk = Gathered::default();
        for run in &group.runs {
            let step = i64::try_from(run.offset).unwrap_or(0) - i64::try_from(position).unwrap_or(0);
            reader.seek_relative(step).map_err(|cause| source.io(cause))?;
            position = run.offset;
            for line in run.line..run.line + run.lines {
                buffer.clear();
                position += reader.read_until(b'\n', &mut buffer).map_err(|cause| source.io(cause))? as u64;
                talk.add(source, line, parse(source, line, &buffer, NEXT)?)?;
                done += 1;
                if done % STRIDE == 0 {
                    sink.tick();
                }
            }
        }
        if group.has_turns {
            sink.conversation(talk.draft(group.conversation))?;
        } else {
            for (line, question) in talk.questions {
                sink.question(&group.conversation, question, format!("line {line}"))?;
            }
        }
    }
    Ok(())
}

/// True when some line is a turn: then other files may ask about its conversation.
pub(super) fn has_turns(source: &Source<'_>) -> Result<bool, StoreError> {
    let mut found = false;
    let outcome = each_line(source, &Rc::default(), &mut |line, bytes| {
        let head: Head = parse(source, line, bytes, NEXT)?;
        found = head.question.is_none();
        // Leaving early needs an error; it goes no further than this function.
        if found { Err(StoreError::NothingImported { files: String::new(), reason: String::new() }) } else { Ok(()) }
    });
    match outcome {
        Err(fault) if !found => Err(fault),
        _ => Ok(found),
    }
}

fn groups(source: &Source<'_>) -> Result<Vec<Group>, StoreError> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut last = None;
    each_line_at(source, &Rc::default(), &mut |line, offset, bytes| {
        let head: Head = parse(source, line, bytes, NEXT)?;
        let Some(conversation) = head.conversation.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()) else {
            return Err(bad_line(source, line, r#"no "conversation" is given"#, NEXT));
        };
        let place = *places.entry(conversation.clone()).or_insert_with(|| {
            groups.push(Group { conversation, runs: Vec::new(), has_turns: false });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(place) else { return Ok(()) };
        group.has_turns |= head.question.is_none();
        match group.runs.last_mut() {
            Some(run) if last == Some(place) && run.line + run.lines == line => run.lines += 1,
            _ => group.runs.push(Run { offset, line, lines: 1 }),
        }
        last = Some(place);
        Ok(())
    })?;
    Ok(groups)
}

/// The lines of one conversation, sorted into sessions.
#[derive(Default)]
struct Gathered {
    title: Option<String>,
    sessions: Vec<DraftSession>,
    places: HashMap<String, usize>,
    questions: Vec<(usize, DraftQuestion)>,
}

impl Gathered {
    fn add(&mut self, source: &Source<'_>, line: usize, row: Line) -> Result<(), StoreError> {
        if let Some(question) = row.question {
            let question = DraftQuestion {
                id: row.id,
                text: question.0,
                answer: row.answer,
                category: row.category,
                evidence: row.evidence,
                gold: None,
            };
            self.questions.push((line, question));
            return Ok(());
        }
        let missing = |name: &str| bad_line(source, line, &format!("the turn has no \"{name}\""), NEXT);
        let given = |field: Option<String>, name: &str| {
            field.filter(|text| !text.trim().is_empty()).ok_or_else(|| missing(name))
        };
        let session = given(row.session, "session")?;
        let turn = DraftTurn {
            id: given(row.id, "id")?,
            speaker: given(row.speaker.map(|text| text.0), "speaker")?,
            text: row.text.ok_or_else(|| missing("text"))?.0,
            caption: row.caption.map(|text| text.0),
            time: row.time.map_or(Moment::Unknown, |text| Moment::read(&text)),
        };
        self.title = self.title.take().or(row.title.map(|text| text.0));
        let place = *self.places.entry(session).or_insert_with_key(|id| {
            self.sessions.push(DraftSession { id: id.clone(), ..Default::default() });
            self.sessions.len() - 1
        });
        if let Some(session) = self.sessions.get_mut(place) {
            if session.time == Moment::Unknown {
                session.time = turn.time.clone();
            }
            session.turns.push(turn);
        }
        Ok(())
    }

    fn draft(mut self, id: String) -> Draft {
        let numbers = session_numbers(self.sessions.iter().map(|session| session.id.as_str()));
        for (session, number) in self.sessions.iter_mut().zip(numbers) {
            session.number = number;
        }
        let questions = self.questions.into_iter().map(|(_, question)| question).collect();
        Draft { id, title: self.title, sessions: self.sessions, questions }
    }
}

/// Gets the 1-based number of a line and its bytes.
type EachLine<'e> = dyn FnMut(usize, &[u8]) -> Result<(), StoreError> + 'e;

/// Gets the 1-based number of a line, its offset in the file and its bytes.
type EachLineAt<'e> = dyn FnMut(usize, u64, &[u8]) -> Result<(), StoreError> + 'e;

/// Hand every line that is not blank to `each`, with its 1-based number.
pub(super) fn each_line(source: &Source<'_>, count: &Rc<Cell<u64>>, each: &mut EachLine<'_>) -> Result<(), StoreError> {
    each_line_at(source, count, &mut |line, _, bytes| each(line, bytes))
}

fn each_line_at(source: &Source<'_>, count: &Rc<Cell<u64>>, each: &mut EachLineAt<'_>) -> Result<(), StoreError> {
    let mut reader = source.open(count)?;
    let mut offset = reader.stream_position().map_err(|cause| source.io(cause))?;
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        let read = reader.read_until(b'\n', &mut buffer).map_err(|cause| source.io(cause))?;
        if read == 0 {
            break;
        }
        if !buffer.trim_ascii().is_empty() {
            each(line, offset, &buffer)?;
        }
        offset += read as u64;
    }
    Ok(())
}

/// One line as JSON.
pub(super) fn parse<T: DeserializeOwned>(
    source: &Source<'_>,
    line: usize,
    bytes: &[u8],
    next: &str,
) -> Result<T, StoreError> {
    serde_json::from_slice(bytes.trim_ascii()).map_err(|fault| {
        let what = fault.to_string();
        let what = what.split(" at line ").next().unwrap_or(&what);
        let what = if fault.is_eof() { "the line ends in the middle of a value" } else { what };
        bad_line(source, line, &format!("{what} at column {}", fault.column()), next)
    })
}

fn bad_line(source: &Source<'_>, line: usize, what: &str, next: &str) -> StoreError {
    StoreError::BadLine { file: source.name.clone(), line, what: what.to_owned(), next: next.to_owned() }
}
