//! For which values of one knob the target survives, the others held. Knows which knobs move the order and which only the
//! cut, and asks the field at every value where the answer can change.

use std::sync::Arc;

use super::field::{Extremes, Field, Rule, Scratch};
use super::fusion::Fusing;
use super::grain;
use super::interval::Strip;
use super::rrf_k;
use crate::settings::{Fusion, Knob, Overflow, Truncation};
use crate::trace::Trace;
use crate::truncate::FateKind;

/// Multiplications that may be spent on running the diversity cut again, which has no shorter way.
pub(super) const MMR_WORK: f64 = 3e6;
/// Steps that may be spent on following a budget that skips long passages.
const SKIP_WORK: f64 = 5e7;

/// Why there is no answer.
pub(super) const MMR: &str = "the diversity cut would have to run again for every value";
pub(super) const SKIP: &str = "too many budgets skip different passages";

/// The strip of one knob, or why there is none.
pub(super) fn strip(field: &Field<'_>, knob: &Knob, scratch: &mut Scratch) -> Result<Strip, &'static str> {
    let settings = &field.trace.settings;
    match knob.name {
        "alpha" => Ok(alpha(field, knob, scratch)),
        "budget" => budget(field, knob, scratch),
        "top-n" => top_n(field, knob, scratch),
        _ => {
            let points = grain::points(knob, settings);
            if is_mmr(field) {
                return moved_mmr(field, knob, &points);
            }
            let fusing = Fusing::new(field.trace);
            if !fusing.moves_with(knob.name) {
                return Ok(constant(field, knob));
            }
            // A sweep over k needs both shares positive and the order alone to decide who enters.
            let swept = knob.name == "k"
                && settings.fusion == Fusion::Rrf
                && settings.truncation != Truncation::Cumulative
                && (0.0..=1.0).contains(&settings.w);
            if swept {
                return Ok(Strip::of_points(&points, rrf_k::kept(field, &fusing, &points, scratch)));
            }
            let mut scores = vec![0.0; field.len];
            let kept = points.iter().map(|value| {
                fusing.scores_at(knob.name, *value, &mut scores);
                field.survives(&scores, scratch)
            });
            Ok(Strip::of_points(&points, kept.collect::<Vec<bool>>()))
        }
    }
}

fn is_mmr(field: &Field<'_>) -> bool {
    field.trace.settings.truncation == Truncation::Mmr && field.trace.scored.sentences.is_some()
}

fn is_kept(field: &Field<'_>) -> bool {
    field.trace.fate(passage(field)).is_kept()
}

fn passage(field: &Field<'_>) -> u32 {
    field.trace.scored.retrieval.candidates.get(field.target).copied().unwrap_or(u32::MAX)
}

/// The same fate for every value.
fn constant(field: &Field<'_>, knob: &Knob) -> Strip {
    everywhere(field.trace, knob, is_kept(field))
}

/// Kept for no value.
pub(super) fn never(trace: &Trace, knob: &Knob) -> Strip {
    everywhere(trace, knob, false)
}

fn everywhere(trace: &Trace, knob: &Knob, kept: bool) -> Strip {
    let (least, most) = grain::range(knob, &trace.settings);
    Strip::of_runs([(least, most, kept)])
}

/// Candidates in the order in which the cut walked them, as positions.
fn walked(field: &Field<'_>) -> Vec<usize> {
    let candidates = &field.trace.scored.retrieval.candidates;
    field.trace.cut.rows.iter().filter_map(|row| candidates.binary_search(&row.passage).ok()).collect()
}

/// Place above the target in the walk.
fn above(field: &Field<'_>) -> usize {
    (field.trace.place(passage(field)) as usize).saturating_sub(1)
}

/// α holds the order and who enters; it moves the threshold alone.
fn alpha(field: &Field<'_>, knob: &Knob, scratch: &mut Scratch) -> Strip {
    let settings = &field.trace.settings;
    let (order, place) = (walked(field), above(field));
    let top = field.top(settings.top_n);
    if !field.is_adaptive() || place >= top {
        return constant(field, knob);
    }
    let extremes = field.extremes(order.iter().copied().take(top));
    let rows = order.get(..place).unwrap_or_default();
    let points = grain::points(knob, settings);
    let mut passing: Vec<usize> = Vec::with_capacity(rows.len());
    let mut before: Option<(usize, bool)> = None;
    let kept: Vec<bool> = points
        .iter()
        .map(|value| {
            let rule = field.rule_of(&extremes, *value);
            if !field.passes(&rule, field.target) {
                return false;
            }
            passing.clear();
            passing.extend(rows.iter().copied().filter(|at| field.passes(&rule, *at)));
            // One threshold more lets through a part of what one less does, so equal numbers are equal sets.
            match before {
                Some((count, fits)) if count == passing.len() => fits,
                _ => {
                    let fits = stands(field, &passing, settings.budget, scratch);
                    before = Some((passing.len(), fits));
                    fits
                }
            }
        })
        .collect();
    Strip::of_points(&points, kept)
}

/// Whether the target is kept below these.
fn stands(field: &Field<'_>, passing: &[usize], budget: u32, scratch: &mut Scratch) -> bool {
    if field.plain {
        return field.fits(passing.iter().map(|at| field.cost(*at)).sum());
    }
    field.walk(passing, budget, scratch).kept
}

/// The budget holds everything but itself.
fn budget(field: &Field<'_>, knob: &Knob, scratch: &mut Scratch) -> Result<Strip, &'static str> {
    let settings = &field.trace.settings;
    let (least, most) = grain::whole_range(knob, settings);
    let (order, place) = (walked(field), above(field));
    let kind = field.trace.fate(passage(field)).kind();
    if matches!(kind, FateKind::BeyondTopN | FateKind::BelowAlpha | FateKind::Unscored) {
        return Ok(Strip::of_runs([(f64::from(least), f64::from(most), false)]));
    }
    let rule = if field.is_adaptive() {
        let extremes = field.extremes(order.iter().copied().take(field.top(settings.top_n)));
        field.rule_of(&extremes, settings.alpha)
    } else {
        Rule::Off
    };
    let passing: Vec<usize> =
        order.get(..place).unwrap_or_default().iter().copied().filter(|at| field.passes(&rule, *at)).collect();
    if settings.overflow == Overflow::Skip {
        return skipping_budget(field, &passing, (least, most), scratch);
    }
    // Nothing above the target is dropped as long as the target itself is in reach.
    let all = field.walk(&passing, u32::MAX, scratch);
    let needs = if settings.overflow == Overflow::Keep { all.used } else { all.used + all.cost };
    let from = if all.copy { u64::from(most) + 1 } else { needs.max(u64::from(least)) };
    Ok(two_runs(from, (least, most)))
}

/// Dropped below a number, kept from it on.
fn two_runs(from: u64, (least, most): (u32, u32)) -> Strip {
    let (bottom, top) = (f64::from(least), f64::from(most));
    match u32::try_from(from) {
        Ok(from) if from <= most => {
            let below = (from > least).then(|| (bottom, f64::from(from) - 1.0, false));
            Strip::of_runs(below.into_iter().chain([(f64::from(from), top, true)]))
        }
        _ => Strip::of_runs([(bottom, top, false)]),
    }
}

/// Where long passages are skipped, a larger budget can drop what a smaller one kept: jump from each budget to the next
/// at which anything on the way is decided otherwise.
fn skipping_budget(
    field: &Field<'_>,
    passing: &[usize],
    (least, most): (u32, u32),
    scratch: &mut Scratch,
) -> Result<Strip, &'static str> {
    let words: u64 = passing.iter().map(|at| field.cost(*at)).sum();
    if words as f64 * passing.len() as f64 > SKIP_WORK {
        return Err(SKIP);
    }
    let mut runs = Vec::new();
    let mut at = least;
    loop {
        let walked = field.walk(passing, at, scratch);
        let end = u32::try_from(walked.next.saturating_sub(1)).unwrap_or(u32::MAX).min(most);
        runs.push((f64::from(at), f64::from(end), walked.kept));
        if end >= most {
            return Ok(Strip::of_runs(runs));
        }
        at = end + 1;
    }
}

/// Top n holds the order; it moves who enters, and with them the best score that α multiplies.
fn top_n(field: &Field<'_>, knob: &Knob, scratch: &mut Scratch) -> Result<Strip, &'static str> {
    let settings = &field.trace.settings;
    let (least, most) = grain::whole_range(knob, settings);
    if is_mmr(field) {
        let points: Vec<f64> = (least..=most.min((field.len as u32).max(least))).map(f64::from).collect();
        let strip = moved_mmr(field, knob, &points)?;
        return Ok(strip.stretched(f64::from(most)));
    }
    if !field.trace.settings.is_moved_by(knob.name) {
        return Ok(constant(field, knob));
    }
    let (order, place) = (walked(field), above(field));
    let mut runs = Vec::new();
    let mut extremes = Extremes::default();
    let mut before: Option<(Rule, bool)> = None;
    // Nothing changes once all have entered.
    let last = (field.len as u32).max(least).min(most);
    for top in least..=last {
        let entered = (top as usize).min(field.len);
        if entered <= place {
            runs.push((f64::from(top), f64::from(top), false));
            continue;
        }
        match (before, order.get(entered - 1)) {
            (Some(_), Some(at)) if top as usize == entered => field.widen(&mut extremes, *at),
            (None, _) => extremes = field.extremes(order.iter().copied().take(entered)),
            _ => {}
        }
        let rule = field.rule_of(&extremes, settings.alpha);
        let kept = match before {
            Some((same, kept)) if same == rule => kept,
            _ => {
                field.passes(&rule, field.target) && {
                    let rows = order.get(..place).unwrap_or_default().iter().copied();
                    let passing: Vec<usize> = rows.filter(|at| field.passes(&rule, *at)).collect();
                    stands(field, &passing, settings.budget, scratch)
                }
            }
        };
        before = Some((rule, kept));
        runs.push((f64::from(top), f64::from(top), kept));
    }
    Ok(Strip::of_runs(runs).stretched(f64::from(most)))
}

/// The diversity cut has no short way: run the pipeline itself at every value, where that is quick enough.
fn moved_mmr(field: &Field<'_>, knob: &Knob, points: &[f64]) -> Result<Strip, &'static str> {
    let trace = field.trace;
    if !trace.settings.is_moved_by(knob.name) {
        return Ok(constant(field, knob));
    }
    let dim = trace.scored.sentences.as_ref().map_or(0, |vectors| vectors.dim) as f64;
    let enter = |top: f64| top.min(field.len as f64);
    let work: f64 = if knob.name == "top-n" {
        points.iter().map(|top| enter(*top).powi(2)).sum::<f64>() * dim
    } else {
        points.len() as f64 * (enter(f64::from(trace.settings.top_n)).powi(2) * dim + 50.0 * field.len as f64)
    };
    if work > MMR_WORK {
        return Err(MMR);
    }
    let kept = points
        .iter()
        .map(|value| retraced(trace, knob, *value).is_some_and(|there| there.fate(passage(field)).is_kept()));
    Ok(Strip::of_points(points, kept.collect::<Vec<bool>>()))
}

/// The trace that a scored question has with another value of one knob.
pub(super) fn retraced(trace: &Trace, knob: &Knob, value: f64) -> Option<Trace> {
    let mut settings = trace.settings.clone();
    knob.set_from(&mut settings, &value.to_string()).ok()?;
    Some(Trace::new(Arc::clone(&trace.scored), settings))
}
