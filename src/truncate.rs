//! One order to the kept passages, and the fate of every passage (PIPELINE sections 5 and 7). Pure: knows scores, words
//! and the knobs of the cut, no model and no text.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::fuse::{Fused, min_max};
use crate::scored::{RankerState, Scored};
use crate::settings::{Header, Overflow, Settings, Truncation};

/// What became of a passage. Every passage of the conversation has exactly one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum Fate {
    /// It is in the context.
    Kept {
        /// 1-based position in the context.
        position: u32,
        /// Words of the context above it.
        words_before: u32,
        /// Its own words, as counted.
        words: u32,
    },
    /// No term occurs in it.
    Unmatched,
    /// It matched, but stands beyond the candidate cap.
    Capped {
        /// The hop that found it.
        hop: u8,
        /// Its place by match score.
        place: u32,
        /// The cap.
        cap: u32,
    },
    /// Its words are those of a kept passage.
    Duplicate {
        /// That passage.
        of: u32,
    },
    /// The ranker whose score decides has none for it.
    Unscored {
        /// Why.
        reason: String,
    },
    /// The cut looks at the first passages of the fused order only, and it stands behind them.
    BeyondTopN {
        /// Its place in the fused order.
        fused_rank: u32,
        /// How many enter.
        top_n: u32,
    },
    /// Its score is below α times the best.
    BelowAlpha {
        /// Its score, in the units that α cuts.
        score: f64,
        /// The best score among those that entered.
        best: f64,
        /// α.
        alpha: f64,
    },
    /// It does not fit into the budget any more.
    OverBudget {
        /// Words that stand above it.
        words_before: u32,
        /// Its own words, as counted.
        words: u32,
        /// The budget.
        budget: u32,
    },
}

/// The kind of a fate alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FateKind {
    /// See [`Fate::Kept`].
    Kept,
    /// See [`Fate::OverBudget`].
    OverBudget,
    /// See [`Fate::BelowAlpha`].
    BelowAlpha,
    /// See [`Fate::BeyondTopN`].
    BeyondTopN,
    /// See [`Fate::Unscored`].
    Unscored,
    /// See [`Fate::Duplicate`].
    Duplicate,
    /// See [`Fate::Capped`].
    Capped,
    /// See [`Fate::Unmatched`].
    Unmatched,
}

impl FateKind {
    /// All kinds, from the end of the pipeline to its beginning.
    pub const ALL: [Self; 8] = [
        Self::Kept,
        Self::OverBudget,
        Self::BelowAlpha,
        Self::BeyondTopN,
        Self::Unscored,
        Self::Duplicate,
        Self::Capped,
        Self::Unmatched,
    ];

    /// Its name in the words of the field.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::OverBudget => "over budget",
            Self::BelowAlpha => "below alpha",
            Self::BeyondTopN => "beyond top n",
            Self::Unscored => "unscored",
            Self::Duplicate => "duplicate",
            Self::Capped => "capped",
            Self::Unmatched => "unmatched",
        }
    }
}

impl Fate {
    /// Its kind.
    pub fn kind(&self) -> FateKind {
        match self {
            Self::Kept { .. } => FateKind::Kept,
            Self::Unmatched => FateKind::Unmatched,
            Self::Capped { .. } => FateKind::Capped,
            Self::Duplicate { .. } => FateKind::Duplicate,
            Self::Unscored { .. } => FateKind::Unscored,
            Self::BeyondTopN { .. } => FateKind::BeyondTopN,
            Self::BelowAlpha { .. } => FateKind::BelowAlpha,
            Self::OverBudget { .. } => FateKind::OverBudget,
        }
    }

    /// True when the passage is in the context.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }
}

/// The cut: what was kept, by which rule it ended, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// All candidates in the order in which the cut walked them (the fused order; MMR makes its own).
    pub rows: Vec<CutRow>,
    /// How many rows stand above the cut line: the last kept row is the last of them.
    pub line: u32,
    /// The rule that ended it.
    pub rule: CutRule,
    /// Number of kept passages.
    pub kept: u32,
    /// Words used.
    pub used: u32,
    /// Words left of the budget.
    pub left: u32,
    /// The first passage that the budget dropped.
    pub next: Option<CutRow>,
    /// What α cut with; `None` when α plays no part.
    pub threshold: Option<Threshold>,
}

/// One candidate in the walk of the cut.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CutRow {
    /// The passage.
    pub passage: u32,
    /// Its words as counted, with what its header costs.
    pub words: u32,
    /// Words of the rows that reach the budget, down to and including this one.
    pub sum: u32,
}

/// The rule that ended the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutRule {
    /// A passage did not fit into the budget.
    Budget,
    /// All of the top n fitted; the rest did not enter.
    TopN,
    /// The share of the total score was reached.
    Share,
    /// All fitted that α let through.
    Alpha,
    /// Every candidate was kept.
    End,
}

/// The threshold of α in the units of the score that it cuts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The score that is cut.
    pub scale: AlphaScale,
    /// The best score among those that entered.
    pub best: f64,
    /// α times the best.
    pub value: f64,
}

/// The score that α cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlphaScale {
    /// The cross-encoder's score, a probability.
    CrossEncoder,
    /// ColBERT's score, min-max over the top n, because there is no cross-encoder.
    ColbertMinMax,
}

/// The cut and all fates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Truncated {
    /// The cut.
    pub cut: Cut,
    /// By passage: its fate.
    pub fates: Vec<Fate>,
}

/// Cut the fused order. O(candidates); no model is touched.
pub fn truncate(scored: &Scored, fused: &Fused, settings: &Settings) -> Truncated {
    let mut fates: Vec<Fate> = (0..scored.passages.len() as u32).map(|at| fate_before_ranking(scored, at)).collect();
    let order: Vec<u32> = fused.rows.iter().map(|row| row.passage).collect();
    let (order, entering) = entering(scored, fused, settings, order);
    let alpha = (settings.truncation == Truncation::Adaptive)
        .then(|| AlphaTest::new(scored, order.get(..entering).unwrap_or_default(), settings.alpha))
        .flatten();

    let mut walk = Walk { scored, settings, used: 0, above: 0, full: false, kept: 0, sessions: HashSet::new() };
    let mut kept_texts: HashMap<u32, u32> = HashMap::new();
    let mut rows = Vec::with_capacity(order.len());
    let mut line = 0;
    let mut next = None;
    for (at, passage) in order.iter().copied().enumerate() {
        let cost = walk.cost(passage);
        let fate = if at >= entering {
            Fate::BeyondTopN { fused_rank: at as u32 + 1, top_n: entering as u32 }
        } else if let Some(fate) = alpha.as_ref().and_then(|alpha| alpha.fate(at)) {
            fate
        } else if let Some(of) = copy_of(scored, settings, passage, &kept_texts) {
            Fate::Duplicate { of }
        } else {
            walk.take(passage, cost)
        };
        let row = CutRow { passage, words: cost, sum: walk.above };
        match &fate {
            Fate::Kept { .. } => {
                line = at as u32 + 1;
                kept_texts.entry(root_of(scored, passage)).or_insert(passage);
            }
            Fate::OverBudget { .. } if next.is_none() => next = Some(row),
            _ => {}
        }
        rows.push(row);
        if let Some(slot) = fates.get_mut(passage as usize) {
            *slot = fate;
        }
    }
    let any = |kind: FateKind| rows.iter().any(|row| fates.get(row.passage as usize).map(Fate::kind) == Some(kind));
    let rule = if next.is_some() {
        CutRule::Budget
    } else if any(FateKind::BeyondTopN) {
        if settings.truncation == Truncation::Cumulative { CutRule::Share } else { CutRule::TopN }
    } else if any(FateKind::BelowAlpha) {
        CutRule::Alpha
    } else {
        CutRule::End
    };
    let cut = Cut {
        line,
        rule,
        kept: walk.kept,
        used: walk.used,
        left: settings.budget.saturating_sub(walk.used),
        next,
        threshold: alpha.map(|alpha| alpha.threshold),
        rows,
    };
    Truncated { cut, fates }
}

fn fate_before_ranking(scored: &Scored, passage: u32) -> Fate {
    let retrieval = &scored.retrieval;
    match retrieval.match_place.get(passage as usize).copied().unwrap_or(0) {
        0 => Fate::Unmatched,
        place => Fate::Capped {
            hop: retrieval.found_in.get(passage as usize).copied().unwrap_or(0),
            place,
            cap: scored.settings.candidate_cap,
        },
    }
}

/// The order in which the cut walks, and how many of it may enter.
fn entering(scored: &Scored, fused: &Fused, settings: &Settings, order: Vec<u32>) -> (Vec<u32>, usize) {
    let top = (settings.top_n as usize).min(order.len());
    match settings.truncation {
        Truncation::Fixed => {
            let all = order.len();
            (order, all)
        }
        Truncation::Adaptive => (order, top),
        Truncation::Cumulative => {
            let scores: Vec<Option<f64>> = fused.rows.iter().map(|row| Some(row.score)).collect();
            // Shares need scores whose zero means nothing, which holds for RRF only: others start at their least.
            let least = scores.iter().flatten().copied().fold(0.0, f64::min);
            let total: f64 = scores.iter().flatten().map(|score| score - least).sum();
            let mut sum = 0.0;
            let mut enter = 0;
            for score in scores.iter().flatten() {
                if total > 0.0 && sum / total >= settings.cumulative_p {
                    break;
                }
                sum += score - least;
                enter += 1;
            }
            (order, enter)
        }
        Truncation::Mmr => {
            let Some(vectors) = &scored.sentences else { return (order, top) };
            let relevance =
                min_max(&fused.rows.iter().take(top).map(|row| Some(row.score)).collect::<Vec<Option<f64>>>());
            let mut rest: Vec<usize> = (0..top).collect();
            let mut walked: Vec<u32> = Vec::with_capacity(order.len());
            let mut nearest = vec![0.0_f64; top];
            while !rest.is_empty() {
                let value = |at: usize| {
                    let relevance = relevance.get(at).copied().unwrap_or(0.0);
                    let nearest = nearest.get(at).copied().unwrap_or(0.0);
                    settings.mmr_relevance * relevance - (1.0 - settings.mmr_relevance) * nearest
                };
                let mut best = 0;
                for slot in 1..rest.len() {
                    let better = match (rest.get(slot), rest.get(best)) {
                        (Some(a), Some(b)) => value(*a) > value(*b),
                        _ => false,
                    };
                    if better {
                        best = slot;
                    }
                }
                let chosen = rest.remove(best);
                let Some(passage) = order.get(chosen).copied() else { break };
                walked.push(passage);
                for at in &rest {
                    let other = order.get(*at).copied().unwrap_or(passage);
                    let likeness = vectors.cosine(passage, other);
                    if let Some(slot) = nearest.get_mut(*at) {
                        *slot = slot.max(likeness);
                    }
                }
            }
            walked.extend(order.iter().skip(top));
            (walked, top)
        }
    }
}

/// What α does to the passages that entered.
struct AlphaTest {
    threshold: Threshold,
    alpha: f64,
    /// Score by place in the walk; `None` when the passage has none.
    scores: Vec<Option<f64>>,
    /// Why an unscored passage will not get one; `None` while it still may.
    never: Option<String>,
}

impl AlphaTest {
    fn new(scored: &Scored, entering: &[u32], alpha: f64) -> Option<Self> {
        let ce: Vec<Option<f64>> = entering.iter().map(|at| scored.ce.value(*at)).collect();
        let (scale, scores, never) = if ce.iter().any(Option::is_some) {
            let never = match &scored.ce.state {
                RankerState::Running | RankerState::Done => None,
                _ => scored.ce.trouble().map(str::to_owned),
            };
            (AlphaScale::CrossEncoder, ce, never)
        } else {
            let colbert: Vec<Option<f64>> = entering.iter().map(|at| scored.colbert.value(*at)).collect();
            if colbert.iter().all(Option::is_none) {
                return None;
            }
            let low = colbert.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            let high = colbert.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            if high <= low {
                // All equal: 0/0 would drop a whole set that nothing tells apart.
                return None;
            }
            let scaled = min_max(&colbert).into_iter().zip(&colbert).map(|(s, raw)| raw.map(|_| s)).collect();
            (AlphaScale::ColbertMinMax, scaled, None)
        };
        let best = scores.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { threshold: Threshold { scale, best, value: alpha * best }, alpha, scores, never })
    }

    fn fate(&self, at: usize) -> Option<Fate> {
        match (self.scores.get(at).copied().flatten(), &self.never) {
            (Some(score), _) if score < self.threshold.value => {
                Some(Fate::BelowAlpha { score, best: self.threshold.best, alpha: self.alpha })
            }
            (None, Some(reason)) => Some(Fate::Unscored { reason: reason.clone() }),
            _ => None,
        }
    }
}

/// The walk down the order with the budget in hand.
struct Walk<'a> {
    scored: &'a Scored,
    settings: &'a Settings,
    /// Words of the kept passages.
    used: u32,
    /// Words of all passages that reached the budget test so far.
    above: u32,
    /// True once nothing more may be kept.
    full: bool,
    kept: u32,
    sessions: HashSet<usize>,
}

impl Walk<'_> {
    fn cost(&self, passage: u32) -> u32 {
        let Some(found) = self.scored.passages.passages.get(passage as usize) else { return 0 };
        let header = match self.settings.header {
            Header::Counted => found.header_words,
            Header::Free => 0,
            Header::PerSession if self.sessions.contains(&found.session) => 0,
            Header::PerSession => found.header_words,
        };
        found.words.saturating_add(header)
    }

    fn take(&mut self, passage: u32, words: u32) -> Fate {
        let budget = self.settings.budget;
        let words_before = self.above;
        let fits = self.used.saturating_add(words) <= budget;
        let keep = !self.full && (fits || self.settings.overflow == Overflow::Keep);
        if !fits && self.settings.overflow != Overflow::Skip {
            self.full = true;
        }
        if keep {
            self.kept += 1;
            let words_before = self.used;
            self.used = self.used.saturating_add(words);
            self.above = self.above.saturating_add(words);
            if let Some(found) = self.scored.passages.passages.get(passage as usize) {
                self.sessions.insert(found.session);
            }
            return Fate::Kept { position: self.kept, words_before, words };
        }
        if self.settings.overflow == Overflow::Skip {
            // A skipped passage takes no room, so what stands above the next one is what was kept.
            return Fate::OverBudget { words_before: self.used, words, budget };
        }
        self.above = self.above.saturating_add(words);
        Fate::OverBudget { words_before, words, budget }
    }
}

fn root_of(scored: &Scored, passage: u32) -> u32 {
    scored.passages.passages.get(passage as usize).and_then(|found| found.copy_of).unwrap_or(passage)
}

fn copy_of(scored: &Scored, settings: &Settings, passage: u32, kept: &HashMap<u32, u32>) -> Option<u32> {
    settings.dedup.then(|| kept.get(&root_of(scored, passage)).copied()).flatten()
}
