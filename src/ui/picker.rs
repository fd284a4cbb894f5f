//! Something to choose from: conversations, questions, gold, what-ifs, pins, themes. Knows its items and which of them the typed words keep.

use super::fuzzy::Finder;
use super::model::Model;
use super::pins::differences;
use super::theme::colour::is_light;
use crate::explain::advice::{knob_name, price};
use crate::explain::fate::sentence;

/// An open list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picker {
    /// What is chosen.
    pub kind: PickerKind,
    /// All items.
    pub items: Vec<Item>,
    /// Which of them are shown, in order.
    pub shown: Vec<usize>,
    /// The characters of each of those that were typed, counted through name, [`GAP`] and detail.
    pub marks: Vec<Vec<usize>>,
    /// The row under the cursor, among those shown.
    pub at: usize,
    /// The item that the next press of the same key deletes.
    pub doomed: Option<String>,
}

/// What a list offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerKind {
    /// Conversations of the database.
    Conversations,
    /// Questions of the conversation.
    Questions,
    /// Gold of the question.
    Gold,
    /// Changes of a knob that turn the fate of the selected passage.
    WhatIfs,
    /// Settings kept under names.
    Pins,
    /// Questions on which A and B differ, most first.
    Worst,
    /// Colours.
    Themes,
}

impl PickerKind {
    /// The title of the list.
    pub fn title(self) -> &'static str {
        match self {
            Self::Conversations => "Conversations",
            Self::Questions => "Questions",
            Self::Gold => "Gold",
            Self::WhatIfs => "What would change it",
            Self::Pins => "Pins",
            Self::Worst => "Where A and B differ most",
            Self::Themes => "Themes",
        }
    }

    /// What its keys do, in words.
    pub fn keys(self) -> &'static str {
        match self {
            Self::Pins => "Enter loads as A, Tab into the knobs (B), Del deletes",
            Self::Themes => "Enter keeps, Esc undoes",
            _ => "type to narrow, Enter chooses",
        }
    }
}

/// Characters between name and detail of a line that is searched: so many that no word is found across them.
pub const GAP: usize = 20;

/// Stands before a term and its weight in the value of a what-if; any other value is a knob and what it takes.
pub const TERM_WEIGHT: &str = "term-weight ";

/// One thing to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What choosing it means: a conversation id, a question, or the number of a passage.
    pub value: String,
    /// First column.
    pub name: String,
    /// The rest of the line.
    pub detail: String,
}

impl Picker {
    fn new(kind: PickerKind, items: Vec<Item>) -> Self {
        let shown = (0..items.len()).collect();
        Self { kind, items, shown, marks: Vec::new(), at: 0, doomed: None }
    }

    /// The conversations of the database; the open one is under the cursor.
    pub fn conversations(model: &Model) -> Self {
        let items = model
            .database
            .conversations
            .iter()
            .map(|row| Item {
                value: row.id.clone(),
                name: row.title.clone().unwrap_or_else(|| row.id.clone()),
                detail: format!(
                    "{} sessions  {} turns  {} words  {} questions  {} to {}",
                    row.sessions,
                    row.turns,
                    row.words,
                    row.questions,
                    row.first.date(),
                    row.last.date()
                ),
            })
            .collect();
        let mut picker = Self::new(PickerKind::Conversations, items);
        if let Some(open) = &model.conversation {
            picker.at = picker.items.iter().position(|item| item.value == open.id).unwrap_or(0);
        }
        picker
    }

    /// The questions of the conversation; the asked one is under the cursor.
    pub fn questions(model: &Model) -> Self {
        let questions = model.conversation.as_ref().map(|open| open.questions.as_slice()).unwrap_or_default();
        let items = questions
            .iter()
            .map(|question| Item {
                value: question.text.trim().to_owned(),
                name: question.text.trim().to_owned(),
                detail: format!(
                    "category {}  {} gold{}",
                    question.category.as_deref().unwrap_or("-"),
                    question.gold.len(),
                    if question.dirty.is_empty() { "" } else { "  dirty evidence" }
                ),
            })
            .collect();
        let mut picker = Self::new(PickerKind::Questions, items);
        if let Some(asked) = &model.asked {
            picker.at = picker.items.iter().position(|item| &item.value == asked).unwrap_or(0);
        }
        picker
    }

    /// The gold of the question with its fates.
    pub fn gold(model: &Model) -> Self {
        let Some(trace) = &model.trace else { return Self::new(PickerKind::Gold, Vec::new()) };
        let items = trace
            .scored
            .gold
            .iter()
            .map(|passage| Item {
                value: passage.to_string(),
                name: crate::explain::fate::id_of(trace, *passage).to_owned(),
                detail: sentence(trace, *passage),
            })
            .collect();
        Self::new(PickerKind::Gold, items)
    }

    /// What would turn the fate of the selected passage, one line a knob.
    pub fn what_ifs(model: &Model) -> Self {
        let whatifs = model.whatifs.as_ref().map(|known| &known.whatifs);
        let items = whatifs.into_iter().flat_map(|whatifs| {
            whatifs.knobs.iter().filter_map(|whatif| {
                let turn = whatif.nearest.as_ref()?;
                Some(Item {
                    value: format!("{} {}", whatif.knob, turn.value),
                    name: format!("{} {}", knob_name(whatif.knob), turn.value),
                    detail: if whatifs.kept {
                        format!("dropped; {}", price(&turn.price))
                    } else {
                        format!("kept, place {}; {}", turn.place, price(&turn.price))
                    },
                })
            })
        });
        // Ranks are the models' own: only what a person can set is on the list.
        let terms = whatifs.into_iter().flat_map(|whatifs| {
            whatifs.terms.iter().map(|need| Item {
                value: format!("{TERM_WEIGHT}{} {}", need.term, need.to),
                name: format!("'{}' {}", need.term, need.to),
                detail: format!("a candidate, place {} of {} by match score", need.place, need.cap),
            })
        });
        Self::new(PickerKind::WhatIfs, items.chain(terms).collect())
    }

    /// The kept pins, each with how it differs from the defaults.
    pub fn pins(model: &Model) -> Self {
        let items = model.pins.all().into_iter().map(|pin| {
            let trouble = pin.trouble.map_or_else(String::new, |trouble| format!("; {trouble}"));
            Item { detail: format!("{}{trouble}", differences(&pin.settings)), name: pin.name.clone(), value: pin.name }
        });
        let mut picker = Self::new(PickerKind::Pins, items.collect());
        let a = model.pinned.as_ref().and_then(|pinned| pinned.name.as_ref());
        picker.at = picker.items.iter().position(|item| Some(&item.value) == a).unwrap_or(0);
        picker
    }

    /// The questions on which A and B differ; the asked one is under the cursor.
    pub fn worst(model: &Model) -> Self {
        let rows = model.contrast.iter().flat_map(|contrast| contrast.worst());
        let items = rows.map(|(question, row)| Item {
            value: question.to_owned(),
            name: question.to_owned(),
            detail: format!(
                "{:+4.0} %  A {} of {}, B {} of {}",
                row.change() * 100.0,
                row.a.kept,
                row.a.total,
                row.b.kept,
                row.b.total
            ),
        });
        let mut picker = Self::new(PickerKind::Worst, items.collect());
        if let Some(asked) = &model.asked {
            picker.at = picker.items.iter().position(|item| &item.value == asked).unwrap_or(0);
        }
        picker
    }

    /// All themes; the one on the screen is under the cursor.
    pub fn themes(model: &Model) -> Self {
        let items = model.themes.names().map(|name| {
            let theme = model.themes.named(name, model.theme.glyphs).ok().map(|(theme, _)| theme);
            let ground = match theme.and_then(|theme| theme.ground()) {
                Some(ground) if is_light(ground) => "light",
                Some(_) => "dark",
                None => "as the terminal is",
            };
            let whose = if model.themes.is_own(name) { ", yours" } else { "" };
            Item { value: name.to_owned(), name: name.to_owned(), detail: format!("{ground}{whose}") }
        });
        let mut picker = Self::new(PickerKind::Themes, items.collect());
        picker.at = picker.items.iter().position(|item| item.value == model.theme.name).unwrap_or(0);
        picker
    }

    /// Show only items in which all typed words are found, letter by letter and with gaps, the best first.
    pub fn narrow(&mut self, typed: &str) {
        self.doomed = None;
        let under = self.chosen().map(|item| item.value.clone());
        let mut finder = Finder::new(typed);
        let mut found: Vec<(u32, usize, Vec<usize>)> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let fit = finder.fit(&format!("{}{:GAP$}{}", item.name, "", item.detail));
            // A name may stand for an id; what is found there cannot be marked.
            let fit = fit.map(|fit| (fit.score, fit.at));
            found.extend(
                fit.or_else(|| Some((finder.fit(&item.value)?.score, Vec::new()))).map(|(score, on)| (score, at, on)),
            );
        }
        found.sort_by_key(|(score, at, _)| (std::cmp::Reverse(*score), *at));
        (self.shown, self.marks) = found.into_iter().map(|(_, at, on)| (at, on)).unzip();
        let again = self.shown.iter().position(|at| self.items.get(*at).map(|item| &item.value) == under.as_ref());
        // Whoever types means the best; whoever takes it all back stays where the cursor was.
        self.at = if typed.trim().is_empty() { again.unwrap_or(0) } else { 0 };
    }

    /// Move the cursor.
    pub fn step(&mut self, by: i32) {
        self.doomed = None;
        self.at = super::step(self.at, by, self.shown.len());
    }

    /// The item under the cursor.
    pub fn chosen(&self) -> Option<&Item> {
        self.items.get(*self.shown.get(self.at)?)
    }
}
