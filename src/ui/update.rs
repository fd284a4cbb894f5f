//! What happens when something comes in: a key, the mouse, or news from the engine. Changes the model and names effects;
//! never blocks, draws nothing.

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent};

use super::action::Action;
use super::model::{Mode, Model, line};
use super::pane::Pane;
use super::picker::{Picker, PickerKind};
use super::tokens::{self, Inspected};
use super::{
    clipboard, command, context, edit, form, knob, layout, live, look, mouse, pin, present, select, sweep, tour,
};
use crate::engine::{Ask, Event, Job};
use crate::explain::fate;
use crate::history::Conversation;
use crate::scored::Scored;
use crate::settings::TermEdits;
use crate::store::clean::clean_line;
use crate::trace::Trace;

/// Something that comes in.
#[derive(Debug, Clone)]
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// The mouse.
    Mouse(MouseEvent),
    /// Text pasted by the terminal.
    Paste(String),
    /// The screen has so many columns and rows now.
    Size(u16, u16),
    /// The engine says something.
    Engine(Event),
    /// A script runs a command, as if it were typed after `:`.
    Command(String),
    /// The system asks the program to end.
    End,
}

/// Something to be done outside.
#[allow(clippy::large_enum_variant, reason = "a handful of effects exist at any time")]
#[derive(Debug, Clone)]
pub enum Effect {
    /// Hand a job to the engine.
    Send(Job),
    /// Put text on the clipboard.
    Copy(String),
    /// Write the trace, or a picture of the screen, to this file.
    Export {
        /// The file; the end of its name says how.
        path: PathBuf,
        /// Whether a file that is there is overwritten.
        overwrite: bool,
    },
    /// Write the pin of this name to its file, or that it is gone.
    SavePin(String),
    /// Take the mouse, or give it back.
    Mouse(bool),
    /// Go to the background.
    Suspend,
    /// Leave.
    Quit,
}

/// Take something in.
pub fn update(model: &mut Model, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    match input {
        Input::Key(event) if event.kind != KeyEventKind::Release => key(model, event, &mut effects),
        Input::Key(_) => {}
        Input::Mouse(event) => mouse::mouse(model, event, &mut effects),
        Input::Paste(text) => edit::paste(model, &text),
        Input::Size(columns, rows) => model.size = (columns, rows),
        Input::Engine(event) => engine(model, event, &mut effects),
        Input::End => effects.push(Effect::Quit),
        Input::Command(text) => {
            model.message = None;
            model.mode = Mode::Normal;
            command::run(model, &text, &mut effects);
        }
    }
    look::settle(model);
    select::settle(model);
    pin::settle(model, &mut effects);
    tokens::settle(model, &mut effects);
    context::settle(model, &mut effects);
    tour::settle(model, &mut effects);
    form::settle(model, &mut effects);
    effects
}

fn key(model: &mut Model, event: KeyEvent, effects: &mut Vec<Effect>) {
    model.message = None;
    if event.code == KeyCode::Char('c') && event.modifiers.contains(KeyModifiers::CONTROL) {
        effects.push(Effect::Quit);
        return;
    }
    if model.mode == Mode::Normal {
        if tour::key(model, event.code, effects) || present::key(model, event.code) {
            return;
        }
        match model.keys.action_of(&event, model.focus) {
            Some(action) => act(model, action, effects),
            None if matches!(event.code, KeyCode::Char(_)) => {
                model.hint("this key does nothing here: {help} shows all keys");
            }
            None => {}
        }
    } else {
        edit::key(model, &event, effects);
    }
}

/// Do what an action says.
pub fn act(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::Quit => effects.push(Effect::Quit),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::Back => back(model, effects),
        Action::Edit => edit::question(model),
        Action::Enter => enter(model),
        Action::Focus(pane) => model.focus = pane,
        Action::NextPane => model.focus = model.focus.step(1),
        Action::PreviousPane => model.focus = model.focus.step(-1),
        Action::Why => model.focus = if model.focus == Pane::Why { Pane::Fused } else { Pane::Why },
        Action::Zoom => model.zoom = !model.zoom,
        Action::Move(by) => select::step(model, by),
        Action::HalfPage(by) => select::step(model, by * (layout::page(model) / 2).max(1)),
        Action::Page(by) => select::step(model, by * layout::page(model)),
        Action::First => select::step(model, -i32::MAX / 2),
        Action::Last => select::step(model, i32::MAX / 2),
        Action::NextMatch(by) => select::step_in(model, Pane::Fused, by),
        Action::NextGold { dropped } => select::next_gold(model, dropped),
        Action::Sideways(by) => model.sideways = model.sideways.saturating_add_signed(by as isize).min(10_000),
        Action::Knob { name, steps, fine } => knob::step(model, name, steps, fine, effects),
        Action::Defaults => knob::defaults(model, effects),
        Action::Undo => knob::undo(model, effects),
        Action::Redo => knob::redo(model, effects),
        Action::Filter => edit::open(model, Mode::Filter, &model.rows.filter.text.clone()),
        Action::Command => edit::open(model, Mode::Command, ""),
        Action::Export => edit::open(model, Mode::Command, "export trace.json"),
        Action::Help => edit::open(model, Mode::Help(0), ""),
        Action::Context if model.trace.is_some() => model.mode = Mode::Context(0),
        Action::Context => model.hint("there is no context yet: ask a question with {edit}"),
        Action::Tokens => tokens::open(model),
        Action::Sweep => sweep::open(model, false, false, effects),
        Action::Pin => pin::pin(model),
        Action::Swap => pin::swap(model, effects),
        Action::Compare => model.mode = Mode::Compare(0),
        Action::Conversations => pick(model, Picker::conversations),
        Action::Questions => pick(model, Picker::questions),
        Action::Gold => pick(model, Picker::gold),
        Action::Question(by) => question_of_set(model, by, effects),
        Action::Mark => mark(model, effects),
        Action::Weight => edit::weight(model),
        Action::Mute => knob::mute(model, effects),
        Action::Order => select::order(model),
        Action::Fates => select::next_fate(model),
        Action::Joined => model.joined = model.joined.next(),
        Action::Resume => resume(model, effects),
        Action::Reload => live::reload(model, effects),
        Action::Follow => live::follow(model, "", effects),
        Action::CopyPassage => copy_passage(model, effects),
        Action::CopyWhy => copy_why(model, effects),
        Action::Mouse => {
            model.mouse = !model.mouse;
            effects.push(Effect::Mouse(model.mouse));
            model.say(if model.mouse { "mouse on" } else { "mouse off: the terminal can select text" });
        }
    }
}

fn back(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.zoom {
        model.zoom = false;
    } else if model.running {
        model.stopped = true;
        effects.push(Effect::Send(Job::Stop));
        model.hint("stopping at the next batch; {resume} goes on");
    } else if pin::stop(model, effects) {
        model.hint("A is stopped at the next batch; {resume} goes on");
    } else if super::contrast::stop(model, effects) || sweep::stop(model, effects) {
        // What it says is enough.
    } else if !model.rows.filter.is_empty() {
        model.rows.filter = super::list::Filter::default();
        remake(model);
    } else {
        model.hint("nothing to go back from: {quit} quits");
    }
}

fn enter(model: &mut Model) {
    match model.focus {
        Pane::Terms => {
            let Some(term) = model.rows.term() else { return };
            let filter = &mut model.rows.filter;
            filter.term = if filter.term == Some(term.id) { None } else { Some(term.id) };
            remake(model);
        }
        Pane::Why => pick(model, Picker::what_ifs),
        Pane::Hops | Pane::Ranks => model.focus = Pane::Fused,
        Pane::Fused => model.focus = Pane::Passage,
        Pane::Passage => model.zoom = !model.zoom,
    }
}

/// Open a list, or say why it is empty.
pub fn pick(model: &mut Model, make: impl Fn(&Model) -> Picker) {
    let picker = make(model);
    if picker.items.is_empty() {
        model.hint(match picker.kind {
            PickerKind::Conversations => "no conversation is known yet",
            PickerKind::Questions => "this conversation has no question set: type one with {edit}",
            PickerKind::Gold => "no gold is known: mark a passage with {mark}",
            PickerKind::Pins => "no pin is kept: :pin NAME keeps the knobs as they stand",
            PickerKind::Worst => "A and B keep the same share of the gold of every question",
            PickerKind::Themes => "there is no theme",
            PickerKind::WhatIfs => "no knob alone turns the fate of this passage",
        });
    } else {
        model.prompt = line("");
        model.mode = Mode::Picker(picker);
    }
}

fn resume(model: &mut Model, effects: &mut Vec<Effect>) {
    if (pin::resume(model) || model.stopped) && model.asked.is_some() {
        model.stopped = false;
        model.running = true;
        effects.push(Effect::Send(Job::Resume));
    } else {
        model.say("nothing was stopped");
    }
}

/// Ask a question of the open conversation.
pub fn ask(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let cleaned = clean_line(text, &mut 0).trim().to_owned();
    if cleaned.is_empty() {
        model.fail("the question is empty: type at least one word");
        return;
    }
    if model.conversation.is_none() {
        model.pending = Some(cleaned);
        model.say("the question is asked as soon as a conversation is open");
        return;
    }
    if model.asked.as_deref() != Some(cleaned.as_str()) {
        model.settings.terms = TermEdits::default();
        model.trace = None;
        model.selected = None;
        model.rows = super::list::Rows::default();
        present::again(model);
        model.asked_before.retain(|known| *known != cleaned);
        model.asked_before.push(cleaned.clone());
        pin::another_question(model);
    }
    model.crossed.clear();
    model.question = line(&cleaned);
    model.asked = Some(cleaned.clone());
    model.walking = None;
    rerun(model, cleaned, effects);
}

/// Ask the same question again, of the conversation as it is now. What is typed meanwhile stays.
pub fn rerun(model: &mut Model, question: String, effects: &mut Vec<Effect>) {
    let Some(conversation) = model.conversation.clone() else { return };
    model.generation += 1;
    model.running = true;
    model.stopped = false;
    model.progress = None;
    let gold = model.gold_turns(&question);
    effects.push(Effect::Send(Job::Ask(Ask {
        generation: model.generation,
        conversation,
        text: question,
        gold,
        settings: model.settings.clone(),
    })));
}

fn question_of_set(model: &mut Model, by: i32, effects: &mut Vec<Effect>) {
    let Some(conversation) = model.conversation.clone() else { return };
    let questions = &conversation.questions;
    if questions.is_empty() {
        model.hint("this conversation has no question set: type one with {edit}");
        return;
    }
    let now = questions.iter().position(|known| Some(known.text.trim()) == model.asked.as_deref());
    let next = match now {
        Some(at) => (at as i64 + i64::from(by)).rem_euclid(questions.len() as i64) as usize,
        None if by < 0 => questions.len() - 1,
        None => 0,
    };
    if let Some(question) = questions.get(next) {
        ask(model, &question.text, effects);
    }
}

fn mark(model: &mut Model, effects: &mut Vec<Effect>) {
    let (Some(trace), Some(selected), Some(question)) = (&model.trace, model.selected, model.asked.clone()) else {
        model.say("nothing is selected: ask a question first");
        return;
    };
    let set = &trace.scored.passages;
    let conversation = Arc::clone(&set.conversation);
    let turns = set.passages.get(selected as usize).map(|passage| passage.turns.clone()).unwrap_or_default();
    // The database may have been read again since the trace was made: what is gold is kept by ids.
    let known = model.gold_turns(&question);
    let known = model.conversation.iter().flat_map(|now| known.iter().filter_map(|turn| now.turns.get(*turn)));
    let mut gold: Vec<usize> = known.filter_map(|turn| conversation.turn_by_id(&turn.id)).collect();
    let was = turns.clone().any(|turn| gold.contains(&turn));
    gold.retain(|turn| !turns.contains(turn));
    if !was {
        gold.extend(turns);
        gold.sort_unstable();
    }
    let ids: Vec<String> =
        gold.iter().filter_map(|turn| conversation.turns.get(*turn)).map(|turn| turn.id.clone()).collect();
    model.marks.insert(question.clone(), ids.clone());
    effects.push(Effect::Send(Job::Mark { conversation: conversation.id.clone(), question, turns: ids }));
    let scored = Arc::clone(&trace.scored);
    let now = scored.passages.of_turns(&gold);
    let scored = Arc::new(Scored { gold: Arc::new(now), ..(*scored).clone() });
    set_trace(model, scored);
    model.say(if was { "no longer gold" } else { "marked as gold" });
}

fn copy_passage(model: &mut Model, effects: &mut Vec<Effect>) {
    if let (Some(trace), Some(passage)) = (&model.trace, model.selected) {
        let text = trace.scored.passages.rendered(passage);
        clipboard::copy(model, "passage", text, ":export passages.csv", effects);
    }
}

fn copy_why(model: &mut Model, effects: &mut Vec<Effect>) {
    if let (Some(trace), Some(passage)) = (&model.trace, model.selected) {
        let mut text = format!("{}\n{}\n", fate::id_of(trace, passage), fate::sentence(trace, passage));
        for (stage, words) in fate::path(trace, passage) {
            text.push_str(&format!("{stage:9} {words}\n"));
        }
        text.push_str(&fate::cut_line(trace));
        clipboard::copy(model, "explanation", text, ":export report.md", effects);
    }
}

/// Make the trace from these scores and the knobs as they are.
pub fn set_trace(model: &mut Model, scored: Arc<Scored>) {
    model.trace = Some(Trace::new(scored, model.settings.clone()));
    remake(model);
}

/// Make the rows anew after trace, filter or order changed.
pub fn remake(model: &mut Model) {
    if let Some(trace) = &model.trace {
        model.rows.make(trace);
    }
}

fn engine(model: &mut Model, event: Event, effects: &mut Vec<Effect>) {
    match event {
        Event::Model(status) => match model.models.iter_mut().find(|known| known.role == status.role) {
            Some(known) => *known = status,
            None => model.models.push(status),
        },
        Event::Opened { path, fingerprint, notices, copied, conversations } => {
            model.database =
                super::model::Database { path, fingerprint, copied, conversations, open: true, unknown: false };
            model.conversation = None;
            if let Some(notice) = notices.first() {
                model.say(notice.clone());
            }
            choose(model, effects);
        }
        Event::Outlined { outline, unknown } => form::open(model, *outline, unknown),
        Event::Previewed { map, preview } => form::previewed(model, *map, preview),
        Event::Reloaded(now) => live::reloaded(model, *now, effects),
        Event::Loaded(conversation) => {
            sweep::forget(model, effects);
            loaded(model, conversation);
        }
        Event::Marks(marks) => {
            model.marks = marks.into_iter().collect();
            match model.pending.take() {
                Some(question) => {
                    // What went wrong before is worth more than a footer.
                    model.message.take_if(|message| !message.is_error);
                    ask(model, &question, effects);
                }
                None if model.mode == Mode::Normal => edit::question(model),
                None => {}
            }
        }
        Event::Progress(progress) => model.progress = Some(progress),
        Event::Scored { generation, scored } if generation == model.generation => {
            let gold = scored.passages.of_turns(&model.gold_turns(&scored.query.text));
            let scored = if *scored.gold == gold {
                scored
            } else {
                Arc::new(Scored { gold: Arc::new(gold), ..(*scored).clone() })
            };
            live::carry(model, &scored);
            set_trace(model, scored);
        }
        Event::Finished { generation } if generation == model.generation => {
            model.running = false;
            model.progress = None;
        }
        Event::Pinned { generation, scored } => pin::scored(model, generation, scored),
        Event::Swept { number, done, total, left, found } => sweep::swept(model, number, (done, total), left, found),
        Event::Contrasted { number, done, total, row, .. } => {
            super::contrast::contrasted(model, number, row, (done, total));
        }
        Event::Planned { number, plans } => super::oracle::planned(model, number, plans),
        Event::Inspected { generation, passage, inspection } if generation == model.generation => {
            model.inspection = Some(Inspected { generation, passage, inspection });
            model.inspecting = None;
        }
        Event::Counted { text, count } => context::counted(model, &text, count),
        Event::Scored { .. } | Event::Finished { .. } | Event::Inspected { .. } => {}
        Event::Failed(sentence) => model.fail(clean_line(&sentence, &mut 0)),
        Event::Broken(sentence) => {
            pin::scored(model, model.generation, None);
            model.running = false;
            model.progress = None;
            model.fail(clean_line(&sentence, &mut 0));
        }
        Event::Notice(sentence) => model.say(clean_line(&sentence, &mut 0)),
    }
}

/// Open the conversation that was meant, the only one, or the list.
fn choose(model: &mut Model, effects: &mut Vec<Effect>) {
    let known = &model.database.conversations;
    let wanted = model.wanted.take();
    match (wanted, known.as_slice()) {
        (_, []) => {
            let path = model.database.path.display().to_string();
            model.fail(format!("{path} holds no conversation: fill it with 'memsift import FILE --into {path}'"));
        }
        (Some(id), _) if known.iter().any(|row| row.id == id) => effects.push(Effect::Send(Job::Load(id))),
        (Some(id), _) => {
            pick(model, Picker::conversations);
            model.fail(format!("there is no conversation '{id}' here: choose one"));
        }
        (None, [only]) => effects.push(Effect::Send(Job::Load(only.id.clone()))),
        (None, _) => pick(model, Picker::conversations),
    }
}

fn loaded(model: &mut Model, conversation: Arc<Conversation>) {
    model.words = conversation.words();
    model.conversation = Some(conversation);
    model.trace = None;
    model.asked = None;
    if model.mode != Mode::Question {
        model.question = line("");
    }
    model.selected = None;
    model.running = false;
    model.rows = super::list::Rows::default();
    model.crossed.clear();
    // Answers to what was asked of the conversation before are of no use any more.
    model.generation += 1;
}
