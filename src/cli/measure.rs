//! Measure: every question asked once a search, and cut under every setting that shares the search. Knows the pipeline and
//! a progress bar; adds nothing up.

use std::sync::Arc;

use rayon::prelude::*;

use super::output;
use super::questions::Asked;
use crate::engine::count::count;
use crate::engine::{Deaf, Models, Pipeline};
use crate::eval::outcome::Outcome;
use crate::eval::report::System;
use crate::history::Question;
use crate::settings::{Settings, Truncation};
use crate::trace::Trace;

/// One question under one setting.
pub struct Measured<'a> {
    /// Number of its conversation.
    pub conversation: usize,
    /// Its own number, over all conversations.
    pub number: usize,
    /// The question.
    pub question: &'a Question,
    /// Place of the setting.
    pub system: usize,
    /// What came of it.
    pub trace: &'a Trace,
    /// The same in numbers.
    pub outcome: Outcome,
}

/// Ask all of them under all settings. A cross-encoder that no setting looks at is not run.
pub fn measure(pipeline: &mut Pipeline, asked: &[Asked], systems: &[System], each: &mut dyn FnMut(Measured<'_>)) {
    let models = pipeline.models().clone();
    if !systems.iter().any(|system| looks_at_ce(&system.settings)) {
        pipeline.set_models(Models { ce: Err("no setting looks at it".to_owned()), ..models.clone() });
    }
    let searches = searches(systems);
    let bar = output::bar(false);
    bar.set_length(asked.iter().map(|one| one.questions().count() * searches.len()).sum::<usize>() as u64);
    bar.set_message("questions");
    let tokens = |text: &str| count_tokens(&models, text);
    for search in &searches {
        let chosen: Vec<(usize, &Settings)> =
            search.iter().filter_map(|at| Some((*at, &systems.get(*at)?.settings))).collect();
        let Some((_, settings)) = chosen.first() else { continue };
        let mut number = 0;
        for (conversation, one) in asked.iter().enumerate() {
            for question in one.questions() {
                let text = question.text.trim();
                let scored = pipeline.ask(&one.conversation, text, &question.gold, settings, &mut Deaf);
                let cut = |(at, settings): &(usize, &Settings)| {
                    let trace = Trace::new(Arc::clone(&scored), (*settings).clone());
                    let outcome = Outcome::of(&trace, &tokens);
                    (*at, trace, outcome)
                };
                for (system, trace, outcome) in chosen.par_iter().map(cut).collect::<Vec<_>>() {
                    each(Measured { conversation, number, question, system, trace: &trace, outcome });
                }
                number += 1;
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    pipeline.set_models(models);
}

/// True when the order or the cut depends on the cross-encoder.
fn looks_at_ce(settings: &Settings) -> bool {
    settings.fusion.reads_ce() || settings.truncation == Truncation::Adaptive
}

/// Settings that share a search, by their places: fusion and cut need no model.
fn searches(systems: &[System]) -> Vec<Vec<usize>> {
    let mut searches: Vec<Vec<usize>> = Vec::new();
    for (at, system) in systems.iter().enumerate() {
        let serves = |group: &&mut Vec<usize>| {
            let first = group.first().and_then(|first| systems.get(*first));
            first.is_some_and(|first| system.settings.shares_scores_with(&first.settings))
        };
        match searches.iter_mut().find(serves) {
            Some(group) => group.push(at),
            None => searches.push(vec![at]),
        }
    }
    searches
}

fn count_tokens(models: &Models, text: &str) -> Option<u32> {
    let ce = models.ce.as_ref().map(AsRef::as_ref).map_err(String::as_str);
    let colbert = models.colbert.as_ref().map(AsRef::as_ref).map_err(String::as_str);
    count(ce, colbert, text).ok().and_then(|found| u32::try_from(found.tokens).ok())
}
