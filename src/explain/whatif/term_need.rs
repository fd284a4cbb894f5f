//! Which weight of which term would lift a passage over the candidate cap, the terms held as they are. Knows match scores
//! and the cap; a further hop might find other names under other weights, which only the pipeline can tell.

use crate::parse::Term;
use crate::retrieve::{Retrieval, with_weight};
use crate::trace::Trace;
use crate::truncate::Fate;

/// Weights are told in steps of this.
const GRAIN: f64 = 0.01;
/// The largest weight that a term can be given.
const MOST: f64 = 100.0;

/// A weight that lifts the passage over the cap.
#[derive(Debug, Clone, PartialEq)]
pub struct TermNeed {
    /// The term.
    pub term: String,
    /// Its weight now.
    pub now: f64,
    /// The nearest weight at which the passage is a candidate: above `now` for a term that the passage holds, below it
    /// for one that others hold.
    pub to: f64,
    /// 1-based place of the passage by match score there.
    pub place: u32,
    /// How many places the cap leaves.
    pub cap: u32,
}

/// One change of one term each, the smallest first; nothing for a passage that the cap did not drop.
pub(super) fn term_needs(trace: &Trace, passage: u32) -> Vec<TermNeed> {
    let Fate::Capped { cap, .. } = *trace.fate(passage) else { return Vec::new() };
    let retrieval = &trace.scored.retrieval;
    let terms: Vec<&Term> = retrieval.terms().collect();
    let mut needs: Vec<TermNeed> = (0..terms.len() as u16)
        .filter_map(|at| {
            let term = terms.get(usize::from(at)).filter(|term| !term.muted)?;
            let to = nearest(retrieval, &terms, at, passage, cap)?;
            let place = place_with(retrieval, &terms, at, to, passage);
            Some(TermNeed { term: term.text.clone(), now: term.weight, to, place, cap })
        })
        .collect();
    needs.sort_by(|a, b| (a.to - a.now).abs().total_cmp(&(b.to - b.now).abs()).then_with(|| a.term.cmp(&b.term)));
    needs
}

/// The nearest weight of one term on the grain at which the passage stands within the cap.
fn nearest(retrieval: &Retrieval, terms: &[&Term], term: u16, passage: u32, cap: u32) -> Option<f64> {
    let now = terms.get(usize::from(term))?.weight;
    let own = retrieval.match_score.get(passage as usize).copied()?;
    let rises = holds(retrieval, passage, term);
    // Of those above, only they can be overtaken that do not move along.
    let mut gaps: Vec<f64> = Vec::new();
    let mut above = 0;
    for (other, place) in retrieval.match_place.iter().enumerate() {
        if *place == 0 || *place >= retrieval.match_place.get(passage as usize).copied().unwrap_or(0) {
            continue;
        }
        above += 1;
        if holds(retrieval, other as u32, term) != rises {
            gaps.push(retrieval.match_score.get(other).copied().unwrap_or(0.0) - own);
        }
    }
    let overtake = (above + 1_usize).checked_sub(cap as usize)?;
    if overtake == 0 || overtake > gaps.len() {
        return None;
    }
    gaps.sort_unstable_by(f64::total_cmp);
    let gap = gaps.get(overtake - 1).copied()?;
    // The gap closes here; who stands first in the conversation decides a tie, and rounding decides near one.
    let steps = if rises { ((now + gap) / GRAIN).floor() - 1.0 } else { ((now - gap) / GRAIN).ceil() + 1.0 };
    let towards = if rises { 1.0 } else { -1.0 };
    (0..5_u8)
        .map(|more| ((steps + towards * f64::from(more)) * GRAIN * 1e6).round() / 1e6)
        .filter(|to| (0.0..=MOST).contains(to) && (to - now) * towards > 0.0)
        .find(|to| (1..=cap).contains(&place_with(retrieval, terms, term, *to, passage)))
}

fn holds(retrieval: &Retrieval, passage: u32, term: u16) -> bool {
    retrieval.hits_of(passage).iter().any(|hit| hit.term == term)
}

/// The place of a passage by match score with another weight of one term; 0 when it does not match then.
fn place_with(retrieval: &Retrieval, terms: &[&Term], term: u16, weight: f64, passage: u32) -> u32 {
    let own = score_with(retrieval, terms, term, weight, passage);
    if own <= 0.0 {
        return 0;
    }
    let above = (0..retrieval.match_score.len() as u32).filter(|other| *other != passage).filter(|other| {
        let score = score_with(retrieval, terms, term, weight, *other);
        score.total_cmp(&own).then(passage.cmp(other)).is_gt()
    });
    above.count() as u32 + 1
}

/// The match score of a passage with another weight of one term.
fn score_with(retrieval: &Retrieval, terms: &[&Term], term: u16, weight: f64, passage: u32) -> f64 {
    let hits = retrieval.hits_of(passage);
    let firsts = hits.iter().enumerate().filter(|(at, hit)| !hits.iter().take(*at).any(|one| one.term == hit.term));
    firsts.fold(0.0, |score, (_, hit)| {
        let known = || terms.get(usize::from(hit.term)).map_or(0.0, |term| term.weight);
        with_weight(score, if hit.term == term { weight } else { known() })
    })
}
