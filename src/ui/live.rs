//! A database that somebody writes while it is on the screen: asking for it again, following it, and taking in what came.
//! Question, knobs, pins and marks stay, and so does the selection, by its turn. Reads nothing itself.

use std::sync::Arc;

use super::model::{Mode, Model, text_of};
use super::picker::{Picker, PickerKind};
use super::sweep;
use super::update::{Effect, rerun};
use crate::engine::{Job, Reloaded};
use crate::scored::Scored;
use crate::store::clean::clean_line;

/// Why a trace from a file cannot be read again.
const REPLAYED: &str = "a trace in a file stays as it is: open the database to read it again";

/// Ask for the database as it is now.
pub fn reload(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.replayed {
        model.fail(REPLAYED);
        return;
    }
    model.say("reading the database again");
    effects.push(Effect::Send(Job::Reload));
}

/// Follow the database, or no longer; the other of both where nothing is said.
pub fn follow(model: &mut Model, said: &str, effects: &mut Vec<Effect>) {
    if model.replayed {
        model.fail(REPLAYED);
        return;
    }
    let on = match said {
        "" => !model.following,
        "on" => true,
        "off" => false,
        _ => {
            model.fail("follow takes on or off: :follow on");
            return;
        }
    };
    model.following = on;
    effects.push(Effect::Send(Job::Follow(on)));
    if on {
        model.hint("following: what is written to the database appears here; {follow} ends it");
    } else {
        model.say("no longer following: the database is on the screen as it was read last");
    }
}

/// The database was read again.
pub fn reloaded(model: &mut Model, now: Reloaded, effects: &mut Vec<Effect>) {
    model.database.fingerprint = now.fingerprint;
    model.database.conversations = now.conversations;
    model.database.copied = now.copied;
    refresh_list(model);
    let mut words = now.change.to_string();
    if now.gone {
        words = format!("{words}; the open conversation is no longer in the database and stays as it was read");
    }
    if let Some(notice) = now.notices.first().filter(|_| !now.followed) {
        words = format!("{words}; {notice}");
    }
    model.say(clean_line(&words, &mut 0));
    if let Some(conversation) = now.conversation {
        model.words = conversation.words();
        model.conversation = Some(conversation);
        sweep::forget(model, effects);
        let stopped = model.stopped;
        if let Some(question) = model.asked.clone() {
            rerun(model, question, effects);
            if stopped {
                // What the user stopped stays so: the hops are new, and scores that are known already are taken.
                model.stopped = true;
                effects.push(Effect::Send(Job::Stop));
            }
        }
    }
}

/// A list of conversations that is open shows those of now, with the same one under the cursor.
fn refresh_list(model: &mut Model) {
    let Mode::Picker(open) = &model.mode else { return };
    if open.kind != PickerKind::Conversations {
        return;
    }
    let under = open.chosen().map(|item| item.value.clone());
    let mut picker = Picker::conversations(model);
    picker.narrow(&text_of(&model.prompt));
    let again = picker.shown.iter().position(|at| picker.items.get(*at).map(|item| &item.value) == under.as_ref());
    picker.at = again.unwrap_or(0);
    model.mode = Mode::Picker(picker);
}

/// The selection and what is marked, carried from the trace on the screen to scores of the same conversation as it is now:
/// passages have other numbers there, turns have their ids.
pub fn carry(model: &mut Model, scored: &Scored) {
    let Some(trace) = &model.trace else { return };
    let (old, new) = (&trace.scored.passages, &scored.passages);
    if Arc::ptr_eq(&old.conversation, &new.conversation) || old.conversation.id != new.conversation.id {
        return;
    }
    let across = |passage: u32| {
        let turns = old.passages.get(passage as usize)?.turns.clone();
        let mut ids = old.conversation.turns.get(turns)?.iter().map(|turn| turn.id.as_str());
        ids.find_map(|id| new.of_turn(new.conversation.turn_by_id(id)?))
    };
    model.selected = model.selected.and_then(across);
    model.crossed = model.crossed.iter().filter_map(|(passage, came)| Some((across(*passage)?, *came))).collect();
}
