//! Every knob of the pipeline, once: name, unit, range, step, default, doc, and the first stage that it touches. Flags,
//! sliders, `:set`, the trace and the README are derived from this table. Knows nothing of what a stage computes.

mod choice;
mod knob;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use choice::{
    Bm25Form, Captions, Discovery, Fusion, Header, Matching, Names, Overflow, Pooler, Prf, TermForm, Truncation, Unit,
};
use knob::Valued;
pub use knob::{Knob, KnobKind, SettingError, Value};

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
        /// The value of every knob. `Settings::default()` is the first paper's pipeline with the adaptive cut
        /// and a budget of 2,000 words.
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
    /// How a passage of several turns gets its vector scores.
    pooler: Pooler = Pooler::Text, "pooler", Rank, "", KnobKind::Choice(Pooler::NAMES);
    /// Which form of BM25.
    bm25: Bm25Form = Bm25Form::Classic, "bm25", Rank, "", KnobKind::Choice(Bm25Form::NAMES);
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

/// Settings with a name: what differs from the defaults, and what they are.
pub const PRESETS: &[(&str, &str, &str)] = &[
    ("smartsearch", "", "the first paper: turns, cross-encoder and ColBERT fused by rank, adaptive cut"),
    (
        "lexical-dense",
        "unit=session,rank-everything=on,discovery=never,prf=off,pooler=max,fusion=z,lambda=0.6,truncation=fixed",
        "the second paper: sessions by BM25 and by the best vector of their turns, fused by standard scores",
    ),
];

impl Settings {
    /// The settings of a name of [`PRESETS`].
    ///
    /// # Errors
    /// A sentence with the nearest name that there is.
    pub fn preset(name: &str) -> Result<Self, String> {
        let found = PRESETS.iter().find(|(known, _, _)| *known == name);
        let (_, list, _) =
            found.ok_or_else(|| unknown_name("preset", name, PRESETS.iter().map(|(known, _, _)| *known)))?;
        Self::default().with(list).map_err(|error| error.to_string())
    }

    /// The first stage that must run again when these settings replace `before`; `None` when nothing changed.
    pub fn first_changed_stage(&self, before: &Self) -> Option<Stage> {
        let knobs = KNOBS.iter().filter(|knob| (knob.get)(self) != (knob.get)(before)).map(|knob| knob.stage).min();
        let terms = (self.terms != before.terms).then_some(Stage::Parse);
        knobs.into_iter().chain(terms).min()
    }

    /// These settings with other values, written as `knob=value,knob=value`.
    ///
    /// # Errors
    /// [`ListError`] for the first of them that cannot be applied.
    pub fn with(&self, list: &str) -> Result<Self, ListError> {
        let mut other = self.clone();
        for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (knob, value) = part.split_once('=').ok_or_else(|| ListError::Form(part.to_owned()))?;
            other.set(knob.trim(), value.trim()).map_err(ListError::Knob)?;
        }
        Ok(other)
    }

    /// True when scores made under other settings serve these: only knobs of fusion and cut differ.
    pub fn shares_scores_with(&self, other: &Self) -> bool {
        !matches!(self.first_changed_stage(other), Some(stage) if stage < Stage::Fuse)
    }

    /// True when a knob of fusion or cut moves anything under the present fusion and cut.
    pub fn is_moved_by(&self, knob: &str) -> bool {
        match knob {
            "lambda" => self.fusion == Fusion::Z,
            "w" => matches!(self.fusion, Fusion::Rrf | Fusion::MinMax | Fusion::ScoreZ),
            "k" => matches!(self.fusion, Fusion::Rrf | Fusion::Rrf3),
            "alpha" => self.truncation == Truncation::Adaptive,
            "top-n" => matches!(self.truncation, Truncation::Adaptive | Truncation::Mmr),
            "cumulative-p" => self.truncation == Truncation::Cumulative,
            "mmr-relevance" => self.truncation == Truncation::Mmr,
            _ => true,
        }
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

/// A list of knobs with values cannot be applied; one sentence.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// Something without `=`.
    #[error("'{0}' is no knob with a value: write it as knob=value, for example fusion=z,budget=4000")]
    Form(String),
    /// No such knob, or not its value.
    #[error("{0}")]
    Knob(String),
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
    fn presets_can_be_applied() {
        let of = |name| Settings::preset(name).unwrap();
        assert_eq!(of("smartsearch"), Settings::default());
        let second = of("lexical-dense");
        assert_eq!((second.unit, second.pooler, second.fusion), (Unit::Session, Pooler::Max, Fusion::Z));
        assert_eq!(
            Settings::preset("lexical").unwrap_err(),
            "there is no preset 'lexical': did you mean 'lexical-dense'?"
        );
    }

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
