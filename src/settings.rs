//! Every knob of the pipeline, once: name, unit, range, step, default, doc, and the first stage that it touches. Flags,
//! sliders, `:set`, the trace and the README are derived from this table. Knows nothing of what a stage computes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A stage of the pipeline. A changed knob re-runs its stage and the stages after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Question to weighted terms.
    Parse,
    /// Terms to candidates, hop by hop.
    Retrieve,
    /// Candidates to two rankings.
    Rank,
    /// Two rankings to one order.
    Fuse,
    /// One order to the kept passages.
    Truncate,
}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant),+
        }
        impl $name {
            /// All values with their names, in the order in which a key steps through them.
            pub const ALL: &'static [(&'static str, Self)] = &[$(($text, Self::$variant)),+];
            /// The names alone.
            pub const NAMES: &'static [&'static str] = &[$($text),+];
            /// The name of this value.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
        impl FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or(())
            }
        }
    };
}

choices! {
    /// Which words of the question become terms.
    TermForm {
        /// The word as written.
        Surface = "surface",
        /// Its lemma.
        Lemma = "lemma",
        /// Either of the two counts as a match.
        Both = "both",
    }
}
choices! {
    /// How a name of several words is searched.
    Names {
        /// Word by word; the name counts as the sum of its words.
        Tokens = "tokens",
        /// Only as one phrase.
        Phrase = "phrase",
        /// As a phrase and word by word.
        Both = "both",
    }
}
choices! {
    /// What a passage is.
    Unit {
        /// One turn, `Speaker: text`.
        Turn = "turn",
        /// Two turns that follow each other, without overlap.
        Window = "window",
        /// One turn without the speaker's name.
        TurnText = "turn-text",
        /// A whole session.
        Session = "session",
    }
}
choices! {
    /// What counts as an occurrence of a term.
    Matching {
        /// The term anywhere, also inside a word.
        Substring = "substring",
        /// The term as a whole word.
        Word = "word",
    }
}
choices! {
    /// What happens with image captions.
    Captions {
        /// Left out.
        Off = "off",
        /// Matched and ranked, but not sent to the answer model and not counted.
        Match = "match",
        /// Matched, ranked, sent and counted.
        Render = "render",
    }
}
choices! {
    /// When names found in hop 1 are searched in hop 2.
    Discovery {
        /// Never.
        Never = "never",
        /// When the question itself has no named entity.
        NoEntity = "no-entity",
        /// When hop 1 found fewer than `discovery-floor` candidates.
        Few = "few",
        /// Always.
        Always = "always",
    }
}
choices! {
    /// When pseudo-relevance feedback runs.
    Prf {
        /// When the history is longer than `prf-words`.
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
}
choices! {
    /// How the rankings become one order.
    Fusion {
        /// Reciprocal rank fusion of cross-encoder and ColBERT (first paper).
        Rrf = "rrf",
        /// λ z(BM25) + (1-λ) z(dense), dense = token MaxSim (second paper, with our dense score).
        Z = "z",
        /// Reciprocal rank fusion of cross-encoder, ColBERT and BM25, equal weights. Tried and rejected by the paper.
        Rrf3 = "rrf3",
        /// w x min-max(CE) + (1-w) x min-max(ColBERT). Tried and rejected by the paper.
        MinMax = "minmax",
        /// w x z(CE) + (1-w) x z(ColBERT). Tried and rejected by the paper.
        ScoreZ = "score-z",
        /// The cross-encoder alone.
        Ce = "ce",
        /// ColBERT alone.
        Colbert = "colbert",
        /// The sentence vector alone.
        Dense = "dense",
        /// Match score: unranked, best match first.
        Match = "match",
        /// Conversation order: unranked.
        Order = "order",
    }
}
choices! {
    /// How the fused order is cut.
    Truncation {
        /// The top n, then α, then the budget as a cap.
        Adaptive = "adaptive",
        /// The budget alone.
        Fixed = "fixed",
        /// Keep until the share of the total score reaches p, then the budget. Tried and rejected by the paper.
        Cumulative = "cumulative",
        /// Reorder the top n by maximal marginal relevance, then the budget. Tried and rejected by the paper.
        Mmr = "mmr",
    }
}
choices! {
    /// What happens at the first passage that does not fit.
    Overflow {
        /// Stop there.
        Stop = "stop",
        /// Skip it and go on with the next.
        Skip = "skip",
        /// Keep it and stop behind it.
        Keep = "keep",
    }
}
choices! {
    /// Whether the words of `[date]` count.
    Header {
        /// On every passage.
        Counted = "counted",
        /// Nowhere.
        Free = "free",
        /// Once for every session.
        PerSession = "per-session",
    }
}

/// What the user did to single terms of a question; all keys are folded term texts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TermEdits {
    /// Terms that are not searched.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub muted: BTreeSet<String>,
    /// Terms with another weight.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// Terms added by hand, with their weight.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub added: BTreeMap<String, f64>,
}

impl TermEdits {
    /// True when nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.muted.is_empty() && self.weights.is_empty() && self.added.is_empty()
    }
}

macro_rules! settings {
    ($( $(#[doc = $doc:literal])+ $field:ident : $type:ty = $default:expr, $name:literal, $stage:ident, $unit:literal, $kind:expr ;)+) => {
        /// The value of every knob. `Settings::default()` is what both papers' LoCoMo figures were made with, with the
        /// adaptive cut.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "kebab-case")]
        pub struct Settings {
            $( $(#[doc = $doc])+ pub $field: $type, )+
            /// What the user did to single terms.
            #[serde(skip_serializing_if = "TermEdits::is_empty")]
            pub terms: TermEdits,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $( $field: $default, )+ terms: TermEdits::default() }
            }
        }

        /// Every knob, in the order of the pipeline.
        pub const KNOBS: &[Knob] = &[
            $( Knob {
                name: $name,
                stage: Stage::$stage,
                unit: $unit,
                doc: concat!($($doc),+),
                kind: $kind,
                get: |settings| settings.$field.value(),
                set: |settings, value| match <$type as Valued>::from_value(value) {
                    Some(value) => { settings.$field = value; true }
                    None => false,
                },
            }, )+
        ];
    };
}

settings! {
    /// Weight of a proper noun.
    weight_propn: f64 = 3.0, "weight-propn", Parse, "", WEIGHT;
    /// Weight of a noun.
    weight_noun: f64 = 2.0, "weight-noun", Parse, "", WEIGHT;
    /// Weight of a verb.
    weight_verb: f64 = 1.0, "weight-verb", Parse, "", WEIGHT;
    /// Added to a proper noun, noun or verb inside a named entity.
    entity_bonus: f64 = 1.0, "entity-bonus", Parse, "", WEIGHT;
    /// Weight of a number or adjective inside a named entity.
    weight_entity_word: f64 = 1.0, "weight-entity-word", Parse, "", WEIGHT;
    /// Which form of a word is searched.
    term_form: TermForm = TermForm::Surface, "term-form", Parse, "", KnobKind::Choice(TermForm::NAMES);
    /// How names of several words are searched.
    names: Names = Names::Tokens, "names", Parse, "", KnobKind::Choice(Names::NAMES);
    /// Drop stop words from the terms.
    drop_stop_words: bool = true, "drop-stop-words", Parse, "", KnobKind::Flag;
    /// Shortest term.
    min_term_length: u32 = 2, "min-term-length", Parse, "characters", KnobKind::Number { min: 1.0, max: 10.0, step: 1.0, fine: 1.0 };
    /// What a passage is.
    unit: Unit = Unit::Turn, "unit", Retrieve, "", KnobKind::Choice(Unit::NAMES);
    /// What happens with image captions.
    captions: Captions = Captions::Off, "captions", Retrieve, "", KnobKind::Choice(Captions::NAMES);
    /// What counts as an occurrence of a term.
    matching: Matching = Matching::Substring, "matching", Retrieve, "", KnobKind::Choice(Matching::NAMES);
    /// How many hops at most.
    hops: u32 = 2, "hops", Retrieve, "hops", KnobKind::Number { min: 1.0, max: 3.0, step: 1.0, fine: 1.0 };
    /// When names found in hop 1 are searched.
    discovery: Discovery = Discovery::NoEntity, "discovery", Retrieve, "", KnobKind::Choice(Discovery::NAMES);
    /// Candidates below which `discovery few` runs.
    discovery_floor: u32 = 30, "discovery-floor", Retrieve, "passages", KnobKind::Number { min: 1.0, max: 10000.0, step: 10.0, fine: 1.0 };
    /// How many passages, best match first, teach names and feedback terms.
    discovery_top: u32 = 10, "discovery-top", Retrieve, "passages", KnobKind::Number { min: 1.0, max: 10000.0, step: 5.0, fine: 1.0 };
    /// Weight of a discovered name.
    weight_discovered: f64 = 2.5, "weight-discovered", Retrieve, "", WEIGHT;
    /// When pseudo-relevance feedback runs.
    prf: Prf = Prf::Auto, "prf", Retrieve, "", KnobKind::Choice(Prf::NAMES);
    /// Length of the history above which `prf auto` runs.
    prf_words: u32 = 30_000, "prf-words", Retrieve, "words", KnobKind::Number { min: 0.0, max: 10_000_000.0, step: 1000.0, fine: 100.0 };
    /// In how many of the top passages a feedback term must stand.
    prf_passages: u32 = 2, "prf-passages", Retrieve, "passages", KnobKind::Number { min: 1.0, max: 100.0, step: 1.0, fine: 1.0 };
    /// Weight of a feedback term.
    weight_prf: f64 = 0.5, "weight-prf", Retrieve, "", WEIGHT;
    /// Best matches that go to the rankers; 0 means all.
    candidate_cap: u32 = 0, "candidate-cap", Retrieve, "passages", KnobKind::Number { min: 0.0, max: 1_000_000.0, step: 50.0, fine: 1.0 };
    /// Rank every passage, matched or not.
    rank_everything: bool = false, "rank-everything", Retrieve, "", KnobKind::Flag;
    /// How the rankings become one order.
    fusion: Fusion = Fusion::Rrf, "fusion", Fuse, "", KnobKind::Choice(Fusion::NAMES);
    /// Share of the cross-encoder in the fusion; the rest is ColBERT's.
    w: f64 = 0.7, "w", Fuse, "", KnobKind::Number { min: 0.0, max: 1.0, step: 0.05, fine: 0.01 };
    /// Weight of BM25 in the z fusion (λ); the rest is the dense score's.
    lambda: f64 = 0.2, "lambda", Fuse, "", KnobKind::Number { min: 0.0, max: 1.0, step: 0.05, fine: 0.01 };
    /// The constant of reciprocal rank fusion.
    k: u32 = 60, "k", Fuse, "ranks", KnobKind::Number { min: 1.0, max: 1000.0, step: 5.0, fine: 1.0 };
    /// How the fused order is cut.
    truncation: Truncation = Truncation::Adaptive, "truncation", Truncate, "", KnobKind::Choice(Truncation::NAMES);
    /// Keep a passage when its CE score is at least α times the best CE score.
    alpha: f64 = 0.03, "alpha", Truncate, "x best CE", KnobKind::Number { min: 0.0, max: 1.0, step: 0.01, fine: 0.001 };
    /// How many of the fused order enter the adaptive cut.
    top_n: u32 = 60, "top-n", Truncate, "passages", KnobKind::Number { min: 1.0, max: 100_000.0, step: 5.0, fine: 1.0 };
    /// Word budget of the context.
    budget: u32 = 2000, "budget", Truncate, "words", KnobKind::Number { min: 0.0, max: 1_000_000.0, step: 50.0, fine: 10.0 };
    /// What happens at the first passage that does not fit.
    overflow: Overflow = Overflow::Stop, "overflow", Truncate, "", KnobKind::Choice(Overflow::NAMES);
    /// Whether the words of the date header count.
    header: Header = Header::Counted, "header", Truncate, "", KnobKind::Choice(Header::NAMES);
    /// Drop copies of a kept passage.
    dedup: bool = false, "dedup", Truncate, "", KnobKind::Flag;
    /// Share of the total score at which the cumulative cut stops.
    cumulative_p: f64 = 0.9, "cumulative-p", Truncate, "share", KnobKind::Number { min: 0.0, max: 1.0, step: 0.05, fine: 0.01 };
    /// Weight of relevance against novelty in the MMR cut.
    mmr_relevance: f64 = 0.7, "mmr-relevance", Truncate, "", KnobKind::Number { min: 0.0, max: 1.0, step: 0.05, fine: 0.01 };
}

const WEIGHT: KnobKind = KnobKind::Number { min: 0.0, max: 100.0, step: 0.5, fine: 0.1 };

/// What a knob may be set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnobKind {
    /// A number in a range.
    Number {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// One key press.
        step: f64,
        /// One fine key press.
        fine: f64,
    },
    /// One of some names.
    Choice(&'static [&'static str]),
    /// On or off.
    Flag,
}

/// The value of a knob without its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A name.
    Choice(&'static str),
    /// On or off.
    Flag(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Choice(name) => f.write_str(name),
            Self::Flag(on) => f.write_str(if *on { "on" } else { "off" }),
        }
    }
}

/// One knob of the table.
pub struct Knob {
    /// Its name in flags, `:set`, configuration and traces.
    pub name: &'static str,
    /// The first stage that it touches.
    pub stage: Stage,
    /// Unit of a number; empty when it has none.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// What it may be set to.
    pub kind: KnobKind,
    /// Read it.
    pub get: fn(&Settings) -> Value,
    set: fn(&mut Settings, &Value) -> bool,
}

impl fmt::Debug for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knob").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Knob {
    /// The knob with this name.
    pub fn named(name: &str) -> Option<&'static Knob> {
        KNOBS.iter().find(|knob| knob.name == name)
    }

    /// Set it from words. The error is one sentence that names the knob and what it takes.
    pub fn set_from(&self, settings: &mut Settings, text: &str) -> Result<(), SettingError> {
        let wrong = || SettingError { knob: self.name, given: text.to_owned(), takes: self.takes() };
        let value = match self.kind {
            KnobKind::Number { min, max, .. } => {
                let number: f64 = text.parse().map_err(|_| wrong())?;
                if !(min..=max).contains(&number) {
                    return Err(wrong());
                }
                Value::Number(number)
            }
            KnobKind::Choice(names) => {
                Value::Choice(names.iter().find(|name| **name == text).copied().ok_or_else(wrong)?)
            }
            KnobKind::Flag => match text {
                "on" | "true" | "yes" => Value::Flag(true),
                "off" | "false" | "no" => Value::Flag(false),
                _ => return Err(wrong()),
            },
        };
        if (self.set)(settings, &value) { Ok(()) } else { Err(wrong()) }
    }

    /// Move a number by steps (rounded to the grid of the step), the next name of a choice, or the other state of a flag.
    pub fn step(&self, settings: &mut Settings, steps: i32, fine: bool) {
        let next = match (self.kind, (self.get)(settings)) {
            (KnobKind::Number { min, max, step, fine: small }, Value::Number(now)) => {
                let by = if fine { small } else { step };
                let moved = ((now / by).round() + f64::from(steps)) * by;
                // A value between two grid points moves at least to the next one, never by less than a press is worth.
                Value::Number(round(moved).clamp(min, max))
            }
            (KnobKind::Choice(names), Value::Choice(now)) => {
                let at = names.iter().position(|name| *name == now).unwrap_or(0) as i32;
                let next = (at + steps).rem_euclid(names.len().max(1) as i32) as usize;
                Value::Choice(names.get(next).copied().unwrap_or(now))
            }
            (_, Value::Flag(on)) => Value::Flag(!on),
            (_, value) => value,
        };
        (self.set)(settings, &next);
    }

    /// Put it back to its default.
    pub fn reset(&self, settings: &mut Settings) {
        (self.set)(settings, &(self.get)(&Settings::default()));
    }

    /// What it takes, in words.
    pub fn takes(&self) -> String {
        match self.kind {
            KnobKind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            KnobKind::Choice(names) => names.join(", "),
            KnobKind::Flag => "on or off".to_owned(),
        }
    }
}

/// Decimal steps must not leave 0.30000000000000004 behind: six digits are finer than any knob.
fn round(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// A knob was given something it does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{knob} cannot be '{given}': it takes {takes}")]
pub struct SettingError {
    /// The knob.
    pub knob: &'static str,
    /// What was given.
    pub given: String,
    /// What it takes.
    pub takes: String,
}

trait Valued: Sized {
    fn value(&self) -> Value;
    fn from_value(value: &Value) -> Option<Self>;
}

impl Valued for f64 {
    fn value(&self) -> Value {
        Value::Number(*self)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) if number.is_finite() => Some(*number),
            _ => None,
        }
    }
}

impl Valued for u32 {
    fn value(&self) -> Value {
        Value::Number(f64::from(*self))
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(n) if n.fract() == 0.0 && (0.0..=f64::from(Self::MAX)).contains(n) => Some(*n as Self),
            _ => None,
        }
    }
}

impl Valued for bool {
    fn value(&self) -> Value {
        Value::Flag(*self)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Flag(on) => Some(*on),
            _ => None,
        }
    }
}

macro_rules! valued_choice {
    ($($name:ident),+) => {$(
        impl Valued for $name {
            fn value(&self) -> Value {
                Value::Choice(self.name())
            }
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Choice(name) => name.parse().ok(),
                    _ => None,
                }
            }
        }
    )+};
}
valued_choice!(TermForm, Names, Unit, Matching, Captions, Discovery, Prf, Fusion, Truncation, Overflow, Header);

impl Settings {
    /// The first stage that must run again when these settings replace `before`; `None` when nothing changed.
    pub fn first_changed_stage(&self, before: &Self) -> Option<Stage> {
        let knobs = KNOBS.iter().filter(|knob| (knob.get)(self) != (knob.get)(before)).map(|knob| knob.stage).min();
        let terms = (self.terms != before.terms).then_some(Stage::Parse);
        knobs.into_iter().chain(terms).min()
    }

    /// Set a knob by name.
    ///
    /// # Errors
    /// A sentence when the knob does not exist (with the nearest name) or does not take the value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        match Knob::named(name) {
            Some(knob) => knob.set_from(self, text).map_err(|error| error.to_string()),
            None => Err(unknown_name("knob", name, KNOBS.iter().map(|knob| knob.name))),
        }
    }
}

/// The sentence for a name that does not exist, with the nearest one that does.
pub fn unknown_name<'a>(kind: &str, given: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let nearest = names
        .iter()
        .copied()
        .map(|name| (strsim::damerau_levenshtein(name, given), name))
        .filter(|(distance, name)| *distance <= name.len() / 2)
        .min();
    match nearest {
        Some((_, name)) => format!("there is no {kind} '{given}': did you mean '{name}'?"),
        None => {
            let some = names.iter().copied().take(12).collect::<Vec<_>>().join(", ");
            let more = if names.len() > 12 { " …" } else { "" };
            format!("there is no {kind} '{given}': there is {some}{more}")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_are_in_range() {
        let defaults = Settings::default();
        let mut names: Vec<_> = KNOBS.iter().map(|knob| knob.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOBS.len());
        for knob in KNOBS {
            let mut settings = defaults.clone();
            knob.set_from(&mut settings, &(knob.get)(&defaults).to_string()).unwrap();
            assert_eq!(settings, defaults, "{}", knob.name);
        }
    }

    #[test]
    fn a_step_moves_on_the_grid_and_stays_in_range() {
        let alpha = Knob::named("alpha").unwrap();
        let mut settings = Settings::default();
        for _ in 0..7 {
            alpha.step(&mut settings, 1, false);
        }
        assert_eq!(settings.alpha, 0.1);
        alpha.step(&mut settings, -1, true);
        assert_eq!(settings.alpha, 0.099);
        for _ in 0..300 {
            alpha.step(&mut settings, -1, true);
        }
        assert_eq!(settings.alpha, 0.0);
        let fusion = Knob::named("fusion").unwrap();
        fusion.step(&mut settings, -1, false);
        assert_eq!(settings.fusion, Fusion::Order);
    }

    #[test]
    fn a_change_names_the_first_stage_that_must_run_again() {
        let before = Settings::default();
        let rows: [(&str, &str, Option<Stage>); 6] = [
            ("alpha", "0.03", None),
            ("alpha", "0.2", Some(Stage::Truncate)),
            ("w", "0.5", Some(Stage::Fuse)),
            ("matching", "word", Some(Stage::Retrieve)),
            ("weight-noun", "4", Some(Stage::Parse)),
            ("dedup", "on", Some(Stage::Truncate)),
        ];
        for (name, value, stage) in rows {
            let mut after = before.clone();
            after.set(name, value).unwrap();
            assert_eq!(after.first_changed_stage(&before), stage, "{name}");
        }
        let mut after = before.clone();
        after.terms.muted.insert("pottery".into());
        assert_eq!(after.first_changed_stage(&before), Some(Stage::Parse));
    }

    #[test]
    fn wrong_values_are_refused_with_a_sentence() {
        let mut settings = Settings::default();
        for (name, value, says) in [
            ("alpha", "2", "alpha cannot be '2': it takes a number from 0 to 1"),
            ("alpha", "NaN", "alpha cannot be 'NaN': it takes a number from 0 to 1"),
            ("budget", "10.5", "budget cannot be '10.5': it takes a number from 0 to 1000000"),
            ("overflow", "go", "overflow cannot be 'go': it takes stop, skip, keep"),
            ("bugdet", "10", "there is no knob 'bugdet': did you mean 'budget'?"),
        ] {
            assert_eq!(settings.set(name, value).unwrap_err(), says);
        }
        assert_eq!(settings, Settings::default());
    }
}
