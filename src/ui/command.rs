//! Commands typed after `:`. Knows their names and what they take; the work is done where the keys do it.

use std::path::PathBuf;

use super::action::Action;
use super::model::{Mode, Model, line};
use super::picker::Picker;
use super::theme::Themes;
use super::update::{Effect, act, ask, pick};
use super::{contrast, form, knob, live, look, oracle, pin, pins, tour};
use crate::engine::Job;
use crate::passage::fold;
use crate::settings::{KNOBS, Knob, KnobKind, PRESETS, Settings, unknown_name};

/// Every command: name, what it takes, what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("set", "KNOB VALUE", "set a knob"),
    ("reset", "KNOB", "put a knob back to its default"),
    ("preset", "NAME", "the knobs of a paper: smartsearch, lexical-dense"),
    ("ask", "QUESTION", "ask a question"),
    ("open", "FILE", "open another database"),
    ("map", "", "say what the columns of a database are that no program is known for"),
    ("reload", "", "read the database again"),
    ("follow", "on | off", "read the database again whenever it is written"),
    ("conversations", "", "choose a conversation"),
    ("load", "CONVERSATION", "open a conversation by its id"),
    ("questions", "", "choose a question of the set"),
    ("term", "WORD WEIGHT", "search another term"),
    ("theme", "NAME", "other colours; without a name, a list in which each is shown at once"),
    ("pin", "NAME", "keep the knobs as they stand under a name"),
    ("pins", "", "list what is kept: Enter loads as A, Tab into the knobs, Del deletes"),
    ("unpin", "", "remove A"),
    (
        "export",
        "FILE",
        "write the trace: .json, .msgpack, .md, .csv, .txt context, .run for TREC, .svg picture; export! overwrites",
    ),
    ("oracle", "", "the cheapest searches that would have found the gold, of this question and of all"),
    ("worst", "", "compare A and B on all questions with gold, and list those on which they differ most"),
    ("resume", "", "go on scoring after Esc"),
    ("tour", "", "three steps that show what this is for"),
    ("present", "on | off", "reveal answers stage by stage with Space, for an audience"),
    ("help", "", "all keys and commands"),
    ("quit", "", "leave"),
];

/// Run a command line.
pub fn run(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let text = text.trim();
    let (name, rest) = text.split_once(' ').map_or((text, ""), |(name, rest)| (name, rest.trim()));
    match name {
        "" => {}
        "set" => set(model, rest, effects),
        "reset" => reset(model, rest, effects),
        "preset" => match Settings::preset(rest) {
            Ok(next) => knob::change(model, next, effects),
            Err(sentence) => model.fail(sentence),
        },
        "ask" => ask(model, rest, effects),
        "open" if rest.is_empty() => model.fail("open needs a file: :open my.db"),
        "open" => effects.push(Effect::Send(Job::Open(PathBuf::from(rest)))),
        "map" => form::ask(model, effects),
        "reload" => act(model, Action::Reload, effects),
        "follow" => live::follow(model, rest, effects),
        "load" if model.database.conversations.iter().any(|known| known.id == rest) => {
            effects.push(Effect::Send(Job::Load(rest.to_owned())));
        }
        "load" => {
            let known = model.database.conversations.iter().map(|known| known.id.as_str());
            model.fail(unknown_name("conversation", rest, known));
        }
        "conversations" => act(model, Action::Conversations, effects),
        "questions" => act(model, Action::Questions, effects),
        "term" => term(model, rest, effects),
        "theme" if rest.is_empty() => pick(model, Picker::themes),
        "theme" => look::take(model, rest),
        "pin" => pins::keep(model, rest, effects),
        "pins" => pick(model, Picker::pins),
        "unpin" => pin::unpin(model),
        "export" | "export!" if rest.is_empty() => model.fail("export needs a file: :export trace.json"),
        "export" | "export!" => {
            effects.push(Effect::Export { path: PathBuf::from(rest), overwrite: name == "export!" });
        }
        "oracle" => oracle::open(model, effects),
        "worst" => contrast::open(model, effects),
        "tour" => tour::begin(model),
        "present" => match rest {
            "" | "on" => model.present = Some(0),
            "off" => model.present = None,
            _ => model.fail(format!("present takes on or off, not '{rest}'")),
        },
        "resume" => act(model, Action::Resume, effects),
        "help" => {
            model.prompt = line("");
            model.mode = Mode::Help(0);
        }
        "q" | "quit" => effects.push(Effect::Quit),
        _ => model.fail(unknown_name("command", name, COMMANDS.iter().map(|(name, _, _)| *name))),
    }
}

/// The typed line with its last word completed as far as it is certain; `None` when nothing fits.
pub fn complete(text: &str, themes: &Themes) -> Option<String> {
    let (head, last) = text.rsplit_once(' ').map_or(("", text), |(head, last)| (head, last));
    let mut words = head.split_whitespace();
    let names: Vec<&str> = match (words.next(), words.next(), words.next()) {
        (None, _, _) => COMMANDS.iter().map(|(name, _, _)| *name).collect(),
        (Some("set" | "reset"), None, _) => KNOBS.iter().map(|knob| knob.name).collect(),
        (Some("set"), Some(name), None) => match Knob::named(name)?.kind {
            KnobKind::Choice(names) => names.to_vec(),
            KnobKind::Flag => vec!["on", "off"],
            KnobKind::Number { .. } => return None,
        },
        (Some("follow"), None, _) => vec!["on", "off"],
        (Some("preset"), None, _) => PRESETS.iter().map(|(name, _, _)| *name).collect(),
        (Some("theme"), None, _) => themes.names().collect(),
        _ => return None,
    };
    let fitting: Vec<&str> = names.into_iter().filter(|name| name.starts_with(last)).collect();
    let first = fitting.first()?;
    let mut common = first.len();
    for name in &fitting {
        common = first.bytes().zip(name.bytes()).take(common).take_while(|(a, b)| a == b).count();
    }
    let word = first.get(..common)?;
    let space = if fitting.len() == 1 { " " } else { "" };
    Some(if head.is_empty() { format!("{word}{space}") } else { format!("{head} {word}{space}") })
}

fn set(model: &mut Model, rest: &str, effects: &mut Vec<Effect>) {
    let Some((name, value)) = rest.split_once(' ') else {
        model.fail("set needs a knob and a value: :set alpha 0.05");
        return;
    };
    let mut next = model.settings.clone();
    match next.set(name, value.trim()) {
        Ok(()) => knob::change(model, next, effects),
        Err(sentence) => model.fail(sentence),
    }
}

fn reset(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    let mut next = model.settings.clone();
    match Knob::named(name) {
        Some(knob) => {
            knob.reset_to(&mut next, &model.defaults);
            knob::change(model, next, effects);
        }
        None => model.fail(unknown_name("knob", name, KNOBS.iter().map(|knob| knob.name))),
    }
}

fn term(model: &mut Model, rest: &str, effects: &mut Vec<Effect>) {
    let (word, number) = rest.rsplit_once(' ').unwrap_or((rest, "1"));
    let word = fold(word.trim());
    match number.parse::<f64>() {
        Ok(weight) if weight.is_finite() && (0.0..=100.0).contains(&weight) && !word.is_empty() => {
            let mut next = model.settings.clone();
            next.terms.added.insert(word, weight);
            knob::change(model, next, effects);
        }
        _ => model.fail("term needs a word and a weight from 0 to 100: :term harbour 2"),
    }
}

/// Give a term this weight.
pub fn weight(model: &mut Model, term: &str, text: &str, effects: &mut Vec<Effect>) {
    match text.trim().parse::<f64>() {
        Ok(weight) if weight.is_finite() && (0.0..=100.0).contains(&weight) => {
            let mut next = model.settings.clone();
            next.terms.weights.insert(term.to_owned(), weight);
            knob::change(model, next, effects);
        }
        _ => model.fail(format!("'{}' is no weight: type a number from 0 to 100", text.trim())),
    }
}
