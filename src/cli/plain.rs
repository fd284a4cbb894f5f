//! The explorer without a screen: a line is a question or a command, and every answer is lines of words, in reading order,
//! for screen readers, dumb terminals and pipes. Knows the session of the screen; draws nothing.

use std::io::{BufRead, Write};
use std::time::Duration;

use super::ask;
use crate::engine::ModelState;
use crate::explain::advice::{all_lines, without_effect};
use crate::explain::fate::{cut_line, id_of, path, sentence};
use crate::explain::whatif::WhatIfs;
use crate::settings::unknown_name;
use crate::store::clean::clean_line;
use crate::trace::Trace;
use crate::ui::session::{Session, Source};
use crate::ui::update::{Effect, Input};
use crate::ui::{Model, Start};

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Turns read out before and after a passage.
const AROUND: usize = 2;

/// Commands of its own: name, what it takes, what it does.
const OWN: [(&str, &str, &str); 8] = [
    ("conversations", "[NUMBER]", "list the conversations, or open one"),
    ("questions", "[NUMBER]", "list the questions of the set, or ask one"),
    ("all", "", "read every candidate in its order"),
    ("why", "PASSAGE", "why a passage was kept or dropped, and what would change that; its id or its place"),
    ("read", "PASSAGE", "read a passage with the turns around it"),
    ("context", "", "read the context as it would be sent"),
    ("help", "", "these commands"),
    ("quit", "", "leave"),
];

/// Commands of the screen that need none.
const SHARED: [(&str, &str); 14] = [
    ("ask", "ask a question; a line without ':' does the same"),
    ("set", "set a knob: :set alpha 0.1"),
    ("reset", "put a knob back to its default"),
    ("preset", "the knobs of a paper: smartsearch, lexical-dense"),
    ("term", "search another term: :term harbour 2"),
    ("load", "open a conversation by its id"),
    ("open", "open another database"),
    ("reload", "read the database again"),
    ("pin", "keep the knobs as they stand under a name"),
    ("unpin", "remove A"),
    ("export", "write the trace to a file"),
    ("export!", "the same over a file that is there"),
    ("resume", "go on scoring"),
    ("follow", "read the database again whenever it is written"),
];

/// Read lines until there are no more, or `:quit`.
///
/// # Errors
/// When the engine's thread cannot be had, or the lines cannot be read or the answers written.
pub fn run(start: &Start, source: Source, lines: impl BufRead, out: &mut impl Write) -> anyhow::Result<()> {
    let session = Session::start(start, source)?;
    let mut reader = Plain { session, told: None };
    reader.session.settle(PATIENCE);
    out.write_all(reader.beginning().as_bytes())?;
    prompt(out)?;
    for line in lines.lines() {
        match reader.line(line?.trim()) {
            Some(answer) => out.write_all(answer.as_bytes())?,
            None => break,
        }
        prompt(out)?;
    }
    Ok(())
}

fn prompt(out: &mut impl Write) -> std::io::Result<()> {
    out.write_all(b"> ")?;
    out.flush()
}

struct Plain {
    session: Session,
    /// The trace that was read out last.
    told: Option<Trace>,
}

impl Plain {
    fn model(&self) -> &Model {
        &self.session.model
    }

    /// What there is to begin with.
    fn beginning(&mut self) -> String {
        let mut text = String::from("memsift without a screen. Type a question, or :help.\n");
        for status in &self.model().models {
            let state = match &status.state {
                ModelState::Loading => "is being read".to_owned(),
                ModelState::Ready(_) => "is ready".to_owned(),
                ModelState::Absent(reason) => format!("is absent: {}", clean_line(reason, &mut 0)),
            };
            text.push_str(&format!("{}, {}, {state}.\n", status.role, clean_line(&status.name, &mut 0)));
        }
        let conversations = self.model().database.conversations.len();
        text.push_str(&match &self.model().conversation {
            Some(open) => format!("Conversation {}, {} turns.\n", clean_line(&open.id, &mut 0), open.turns.len()),
            None => format!("{conversations} conversations; :conversations lists them.\n"),
        });
        text + &self.news()
    }

    /// The answer to a line; `None` to leave.
    fn line(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            return Some(String::new());
        }
        let Some(command) = line.strip_prefix(':') else { return Some(self.command(&format!("ask {line}"))) };
        let (name, rest) = command.split_once(' ').map_or((command, ""), |(name, rest)| (name, rest.trim()));
        Some(match name {
            "q" | "quit" => return None,
            "help" => help(),
            "conversations" => self.conversations(rest),
            "questions" => self.questions(rest),
            "all" => self.of_trace(|trace| ask::plain(trace, true)),
            "context" => self.of_trace(|trace| format!("{}\n", trace.context().replace('\t', " "))),
            "why" => self.of_passage(rest, why),
            "read" => self.of_passage(rest, read),
            name if SHARED.iter().any(|(shared, _)| *shared == name) => self.command(command),
            name if crate::ui::command::COMMANDS.iter().any(|(known, _, _)| *known == name) => {
                format!("':{name}' needs the screen: start without --plain\n")
            }
            name => {
                let names = OWN.iter().map(|(name, _, _)| *name).chain(SHARED.iter().map(|(name, _)| *name));
                format!("{}\n", unknown_name("command", &clean_line(name, &mut 0), names))
            }
        })
    }

    fn command(&mut self, text: &str) -> String {
        self.take(Input::Command(text.to_owned()))
    }

    /// Take something in, wait for what it starts, and say what is new.
    fn take(&mut self, input: Input) -> String {
        let left = self.session.take(input);
        // There is no clipboard and no mouse here.
        debug_assert!(left.iter().all(|effect| !matches!(effect, Effect::Send(_))));
        if !self.session.settle(PATIENCE) {
            return "still at work after an hour; :resume goes on\n".to_owned();
        }
        self.news()
    }

    /// What was said, and the order where it is another one.
    fn news(&mut self) -> String {
        let mut text = String::new();
        if let Some(message) = self.session.model.message.take() {
            text.push_str(&format!("{}\n", clean_line(&message.text, &mut 0)));
        }
        let Some(trace) = self.session.model.trace.clone() else { return text };
        match &self.told {
            Some(told) if told.scored.query.text == trace.scored.query.text => text.push_str(&moved(told, &trace)),
            _ => text.push_str(&ask::plain(&trace, false)),
        }
        self.told = Some(trace);
        text
    }

    fn of_trace(&self, answer: impl Fn(&Trace) -> String) -> String {
        match &self.model().trace {
            Some(trace) => answer(trace),
            None => "there is no answer yet: type a question\n".to_owned(),
        }
    }

    fn of_passage(&self, name: &str, answer: impl Fn(&Trace, u32) -> String) -> String {
        self.of_trace(|trace| {
            let by_id = (0..trace.scored.passages.len() as u32).find(|passage| id_of(trace, *passage) == name);
            let place = || name.parse::<usize>().ok()?.checked_sub(1);
            let by_place = || trace.cut.rows.get(place()?).map(|row| row.passage);
            match by_id.or_else(by_place) {
                Some(passage) => answer(trace, passage),
                None => {
                    let first = trace.cut.rows.first().map_or("", |row| id_of(trace, row.passage));
                    format!(
                        "'{}' is no passage: give an id, as {first}, or a place from 1 to {}\n",
                        clean_line(name, &mut 0),
                        trace.cut.rows.len()
                    )
                }
            }
        })
    }

    fn conversations(&mut self, number: &str) -> String {
        let known = &self.model().database.conversations;
        if number.is_empty() {
            let line = |(at, row): (usize, &crate::history::ConversationSummary)| {
                format!("{}. {}, {} turns\n", at + 1, clean_line(&row.id, &mut 0), row.turns)
            };
            return known.iter().enumerate().map(line).collect();
        }
        match number.parse::<usize>().ok().and_then(|number| known.get(number.checked_sub(1)?)) {
            Some(row) => {
                let id = row.id.clone();
                self.session.carry_out(vec![Effect::Send(crate::engine::Job::Load(id))]);
                self.told = None;
                self.session.settle(PATIENCE);
                let open = self.model().conversation.as_ref();
                let open = open.map_or_else(String::new, |open| {
                    format!("Conversation {}, {} turns.\n", clean_line(&open.id, &mut 0), open.turns.len())
                });
                open + &self.news()
            }
            None => format!("there is no conversation {}: 1 to {}\n", clean_line(number, &mut 0), known.len()),
        }
    }

    fn questions(&mut self, number: &str) -> String {
        let known = self.model().conversation.as_ref().map(|open| open.questions.as_slice()).unwrap_or_default();
        if known.is_empty() {
            return "this conversation has no question set: type a question\n".to_owned();
        }
        if number.is_empty() {
            let line = |(at, question): (usize, &crate::history::Question)| {
                format!("{}. {}\n", at + 1, clean_line(&question.text, &mut 0))
            };
            return known.iter().enumerate().map(line).collect();
        }
        match number.parse::<usize>().ok().and_then(|number| known.get(number.checked_sub(1)?)) {
            Some(question) => {
                let text = format!("ask {}", question.text);
                self.command(&text)
            }
            None => format!("there is no question {}: 1 to {}\n", clean_line(number, &mut 0), known.len()),
        }
    }
}

/// What a knob changed: who came in, who fell.
fn moved(before: &Trace, after: &Trace) -> String {
    if before.settings == after.settings && before.cut.rows == after.cut.rows {
        return String::new();
    }
    let star = |passage: u32| if after.scored.is_gold(passage) { " (gold)" } else { "" };
    let list = |verb: &str, passages: Vec<u32>| -> String {
        let names: Vec<String> =
            passages.iter().map(|passage| format!("{}{}", id_of(after, *passage), star(*passage))).collect();
        if names.is_empty() { String::new() } else { format!("{verb}: {}\n", names.join(", ")) }
    };
    let came = list("came in", after.kept().filter(|passage| !before.fate(*passage).is_kept()).collect());
    let fell = list("fell out", before.kept().filter(|passage| !after.fate(*passage).is_kept()).collect());
    let gold = after.gold();
    let gold = if gold.total > 0 { format!("{} of {} gold kept; ", gold.kept, gold.total) } else { String::new() };
    format!("{came}{fell}{gold}{} kept. {}\n", after.kept().count(), cut_line(after))
}

fn why(trace: &Trace, passage: u32) -> String {
    let star = if trace.scored.is_gold(passage) { ", gold" } else { "" };
    let mut text = format!("{}{star}: {}\n", id_of(trace, passage), sentence(trace, passage));
    for (stage, words) in path(trace, passage) {
        text.push_str(&format!("{stage}: {words}\n"));
    }
    let whatifs = WhatIfs::of(trace, passage);
    for line in all_lines(&whatifs).into_iter().chain(without_effect(&whatifs)) {
        text.push_str(&format!("what if: {line}\n"));
    }
    text
}

fn read(trace: &Trace, passage: u32) -> String {
    let set = &trace.scored.passages;
    let at = passage as usize;
    let last = set.len().min(at + AROUND + 1);
    (at.saturating_sub(AROUND)..last)
        .map(|near| {
            let mark = if near == at { "this one: " } else { "" };
            format!("{mark}{}\n", set.rendered(near as u32).replace('\t', " "))
        })
        .collect()
}

fn help() -> String {
    let own = OWN.iter().map(|(name, takes, does)| format!(":{}  {does}\n", format!("{name} {takes}").trim_end()));
    own.chain(SHARED.iter().map(|(name, does)| format!(":{name}  {does}\n"))).collect()
}
