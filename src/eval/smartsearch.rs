//! The figures of the first paper that need no answers, on a set of questions: found, position of the first gold, and
//! what survives a budget in several orders. Every order and cut goes through the same code as the screen.

use std::sync::Arc;

use crate::scored::Scored;
use crate::settings::{Discovery, Fusion, Prf, Settings, Truncation};
use crate::trace::Trace;

/// The settings of the published figures: hop 1 alone, conversation turns, 2,000 words with the header counted.
pub fn settings() -> Settings {
    Settings {
        discovery: Discovery::Never,
        prf: Prf::Off,
        truncation: Truncation::Fixed,
        budget: 2000,
        ..Settings::default()
    }
}

/// The orders whose survival is measured.
pub const ORDERS: [Fusion; COUNT] =
    [Fusion::Order, Fusion::Match, Fusion::Dense, Fusion::Colbert, Fusion::Z, Fusion::Ce, Fusion::Rrf];
const COUNT: usize = 7;

/// Sums over questions.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Questions with gold.
    pub questions: usize,
    /// Their gold passages.
    pub gold: usize,
    /// Gold passages among the candidates because they matched.
    pub found: usize,
    /// Questions all of whose gold was found.
    pub all_found: usize,
    /// 1-based position of the first found gold among the candidates in conversation order, a question each.
    pub first_gold: Vec<u32>,
    /// Number of candidates, a question each.
    pub candidates: Vec<u32>,
    /// By [`ORDERS`]: gold passages that survive.
    pub survived: [usize; COUNT],
    /// By [`ORDERS`]: sum over questions of the share of gold that survives.
    pub survived_share: [f64; COUNT],
    /// By [`ORDERS`]: false when an order could not be made for want of a model.
    pub measured: [bool; COUNT],
    /// Spearman's rank correlation of the cross-encoder and ColBERT over the candidates, a question each.
    pub spearman: Vec<f64>,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self { measured: [true; COUNT], ..Self::default() }
    }

    /// Count one question.
    pub fn add(&mut self, scored: &Arc<Scored>) {
        let gold = &scored.gold;
        if gold.is_empty() {
            return;
        }
        self.questions += 1;
        self.gold += gold.len();
        let retrieval = &scored.retrieval;
        let matched = |passage: u32| retrieval.match_place.get(passage as usize).is_some_and(|place| *place > 0);
        let found = gold.iter().filter(|passage| matched(**passage)).count();
        self.found += found;
        self.all_found += usize::from(found == gold.len());
        let matches: Vec<u32> = (0..scored.passages.len() as u32).filter(|passage| matched(*passage)).collect();
        self.candidates.push(matches.len() as u32);
        if let Some(at) = matches.iter().position(|passage| scored.is_gold(*passage)) {
            self.first_gold.push(at as u32 + 1);
        }
        for (slot, fusion) in ORDERS.into_iter().enumerate() {
            let absent = match fusion {
                Fusion::Colbert | Fusion::Z => scored.colbert.scored() == 0,
                Fusion::Dense => scored.dense.scored() == 0,
                Fusion::Ce => scored.ce.scored() == 0,
                Fusion::Rrf => scored.ce.scored() == 0 || scored.colbert.scored() == 0,
                _ => false,
            };
            if absent {
                if let Some(measured) = self.measured.get_mut(slot) {
                    *measured = false;
                }
                continue;
            }
            let trace = Trace::new(Arc::clone(scored), Settings { fusion, ..settings() });
            if fusion == Fusion::Rrf {
                self.spearman.extend(trace.agreement().map(|agreement| agreement.spearman));
            }
            // Nothing matched means nothing is retrieved; the unranked orders must not profit from the fallback.
            let unranked = matches!(fusion, Fusion::Order | Fusion::Match);
            let kept = if unranked && matches.is_empty() { 0 } else { trace.gold().kept as usize };
            if let (Some(sum), Some(share)) = (self.survived.get_mut(slot), self.survived_share.get_mut(slot)) {
                *sum += kept;
                *share += kept as f64 / gold.len() as f64;
            }
        }
    }

    /// Share of gold passages found.
    pub fn found_share(&self) -> f64 {
        ratio(self.found, self.gold)
    }

    /// Mean position of the first gold, conversation order.
    pub fn mean_first_gold(&self) -> f64 {
        mean(&self.first_gold)
    }

    /// Gold-weighted share that survives in an order of [`ORDERS`]; `None` when it was not measured.
    pub fn survival(&self, slot: usize) -> Option<f64> {
        let measured = self.measured.get(slot).copied().unwrap_or(false);
        measured.then(|| ratio(self.survived.get(slot).copied().unwrap_or(0), self.gold))
    }

    /// Mean over questions of the share that survives in an order of [`ORDERS`].
    pub fn survival_by_question(&self, slot: usize) -> Option<f64> {
        let measured = self.measured.get(slot).copied().unwrap_or(false);
        measured.then(|| self.survived_share.get(slot).copied().unwrap_or(0.0) / self.questions.max(1) as f64)
    }

    /// Mean over questions of Spearman's correlation; `None` when no question has both rankers.
    pub fn mean_spearman(&self) -> Option<f64> {
        let count = self.spearman.len();
        (count > 0).then(|| self.spearman.iter().sum::<f64>() / count as f64)
    }

    /// Mean, 95th percentile (nearest rank) and maximum of the candidates.
    pub fn candidate_numbers(&self) -> (f64, u32, u32) {
        let mut sorted = self.candidates.clone();
        sorted.sort_unstable();
        let at = (sorted.len() as f64 * 0.95).ceil() as usize;
        let p95 = sorted.get(at.saturating_sub(1)).copied().unwrap_or(0);
        (mean(&self.candidates), p95, sorted.last().copied().unwrap_or(0))
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn mean(numbers: &[u32]) -> f64 {
    numbers.iter().map(|number| f64::from(*number)).sum::<f64>() / numbers.len().max(1) as f64
}
