//! The second paper's experiment: sessions ranked by BM25, by pooled vectors of their turns, and by both, fused by
//! standard scores (PIPELINE section 6). Knows scores by turn and session; no model and no file.

use std::sync::Arc;

use serde::Serialize;

use super::metrics::Metrics;
use crate::fuse::{ranks, z_scores};
use crate::history::{Conversation, Question};
use crate::passage::{PassageSet, Shape};
use crate::scored::{RankerState, Scored};
use crate::settings::{Captions, Discovery, Prf, Settings, Unit};

/// How the scores of a session's turns become the session's score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Pooler {
    /// Cosine with the mean of the turn vectors (early interaction).
    Mean,
    /// The best cosine of a turn (late interaction).
    Max,
    /// Mean of the three best cosines.
    Top3,
    /// `ln(sum(exp(10 cosine))) / 10`, a soft maximum.
    Lse10,
    /// The best token MaxSim of a turn.
    Token,
}

impl Pooler {
    /// All, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::Mean, Self::Max, Self::Top3, Self::Lse10, Self::Token];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean (early)",
            Self::Max => "max (late)",
            Self::Top3 => "top 3 (late)",
            Self::Lse10 => "lse 10 (late)",
            Self::Token => "token MaxSim (late)",
        }
    }
}

/// A way to score sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Scorer {
    /// BM25 alone.
    Bm25,
    /// Pooled vectors alone.
    Dense(Pooler),
    /// `λ z(BM25) + (1 - λ) z(dense)`, λ chosen on the other conversations.
    Fused(Pooler),
    /// Reciprocal ranks of both, k 60, equal shares.
    Rrf(Pooler),
}

/// The values of λ that are tried: 0 to 1 in steps of .05.
pub const GRID: usize = 21;

/// λ at a place of the grid.
pub fn lambda(at: usize) -> f64 {
    at as f64 / (GRID - 1) as f64
}

/// Constant of reciprocal rank fusion.
const K: f64 = 60.0;

/// The settings under which turns are scored: `Speaker: text`, no captions; terms and hops play no part.
pub fn settings() -> Settings {
    Settings {
        unit: Unit::Turn,
        captions: Captions::Off,
        discovery: Discovery::Never,
        prf: Prf::Off,
        ..Settings::default()
    }
}

/// One question with the scores of all sessions of its conversation.
#[derive(Debug, Clone)]
pub struct Example {
    /// Number of its conversation.
    pub conversation: usize,
    /// The source's category.
    pub category: Option<String>,
    /// Sessions that hold its evidence, ascending.
    pub gold: Vec<usize>,
    /// Turns of the longest of them.
    pub longest: usize,
    /// BM25 by session.
    pub bm25: Vec<f64>,
    /// By [`Pooler::ALL`]: dense score by session; `None` without the vectors for it.
    pub dense: [Option<Vec<f64>>; 5],
}

/// The sessions of a conversation as passages, a line `Speaker: text` a turn; they know their BM25.
pub fn sessions(conversation: &Arc<Conversation>) -> PassageSet {
    PassageSet::new(Arc::clone(conversation), Shape { unit: Unit::Session, captions: Captions::Off })
}

/// The sessions that hold the evidence of a question. Where turns are named as in LoCoMo (`D3:14`), the paper's rule: a
/// reference that is written exactly so names its session, whether or not the turn exists, and all others are ignored.
/// Elsewhere the sessions of the gold turns.
pub fn gold_sessions(conversation: &Conversation, question: &Question) -> Vec<usize> {
    let named_so = conversation.turns.first().is_some_and(|turn| session_number(&turn.id).is_some());
    let mut gold: Vec<usize> = if named_so {
        let numbers = question.evidence.iter().filter_map(|reference| session_number(reference.trim()));
        let place = |number| conversation.sessions.iter().position(|session| session.number == number);
        numbers.filter_map(place).collect()
    } else {
        question.gold.iter().filter_map(|turn| conversation.turns.get(*turn)).map(|turn| turn.session).collect()
    };
    gold.sort_unstable();
    gold.dedup();
    gold
}

/// The session in `D<session>:<turn>`.
fn session_number(id: &str) -> Option<u32> {
    let (session, turn) = id.strip_prefix('D')?.split_once(':')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(session) && digits(turn) { session.parse().ok() } else { None }
}

impl Example {
    /// From the turn scores of a question under [`settings`]; `None` when it has no gold session.
    pub fn new(number: usize, question: &Question, scored: &Scored, sessions: &PassageSet) -> Option<Self> {
        let conversation = &scored.passages.conversation;
        let gold = gold_sessions(conversation, question);
        let turns = |session: &usize| conversation.sessions.get(*session).map_or(0, |session| session.turns.len());
        let longest = gold.iter().map(turns).max()?;
        Some(Self {
            conversation: number,
            category: question.category.clone(),
            longest,
            gold,
            bm25: sessions.bm25().scores(question.text.trim()),
            dense: Pooler::ALL.map(|pooler| pooled(scored, pooler)),
        })
    }

    /// `λ z(BM25) + (1 - λ) z(dense)` over all sessions of the conversation.
    fn fused(&self, pooler: Pooler, lambda: f64) -> Option<Vec<f64>> {
        let dense = self.dense.get(pooler as usize)?.as_ref()?;
        let z = |scores: &[f64]| z_scores(&scores.iter().copied().map(Some).collect::<Vec<_>>());
        let (bm25, dense) = (z(&self.bm25), z(dense));
        Some(bm25.iter().zip(&dense).map(|(lexical, dense)| lambda * lexical + (1.0 - lambda) * dense).collect())
    }

    fn rrf(&self, pooler: Pooler) -> Option<Vec<f64>> {
        let dense = self.dense.get(pooler as usize)?.as_ref()?;
        let places = |scores: &[f64]| ranks(&scores.iter().copied().map(Some).collect::<Vec<_>>());
        let gain = |rank: u32| 1.0 / (K + f64::from(rank));
        Some(places(&self.bm25).into_iter().zip(places(dense)).map(|(a, b)| gain(a) + gain(b)).collect())
    }
}

/// What stands for a session without turns; below every score.
const NO_TURNS: f64 = -9.0;

/// A score for every session, from the scores of its turns.
fn pooled(scored: &Scored, pooler: Pooler) -> Option<Vec<f64>> {
    let ranker = if pooler == Pooler::Token { &scored.colbert } else { &scored.dense };
    if ranker.state != RankerState::Done {
        return None;
    }
    // A question without any token has no token scores: every turn is as good as any other.
    let value = |turn: usize| ranker.value(turn as u32).unwrap_or(0.0);
    let sessions = scored.passages.conversation.sessions.iter();
    let pool = |turns: std::ops::Range<usize>| -> Option<f64> {
        let mut scores: Vec<f64> = turns.clone().map(value).collect();
        if scores.is_empty() {
            return Some(NO_TURNS);
        }
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        let best = scores.first().copied().unwrap_or(NO_TURNS);
        Some(match pooler {
            Pooler::Max | Pooler::Token => best,
            Pooler::Top3 => {
                let best = scores.get(..scores.len().min(3)).unwrap_or_default();
                best.iter().sum::<f64>() / best.len() as f64
            }
            Pooler::Lse10 => scores.iter().map(|score| (10.0 * score).exp()).sum::<f64>().ln() / 10.0,
            Pooler::Mean => {
                // The cosine with a mean is the mean of the cosines over the length of the mean.
                let vectors = scored.sentences.as_ref()?;
                let rows = vectors.data.get(turns.start * vectors.dim..turns.end * vectors.dim)?;
                let mut sum = vec![0.0_f64; vectors.dim];
                for row in rows.chunks_exact(vectors.dim) {
                    sum.iter_mut().zip(row).for_each(|(slot, number)| *slot += f64::from(*number));
                }
                let length = sum.iter().map(|number| number * number).sum::<f64>().sqrt();
                if length > 0.0 { scores.iter().sum::<f64>() / length } else { 0.0 }
            }
        })
    };
    sessions.map(|session| pool(session.turns.clone())).collect()
}

/// All questions, with λ chosen by leaving one conversation out.
#[derive(Debug)]
pub struct Experiment {
    /// The questions.
    pub examples: Vec<Example>,
    /// By [`Pooler::ALL`], then by λ of the grid: hits at 1 by question.
    hits: [Option<Vec<Vec<f64>>>; 5],
    /// By [`Pooler::ALL`]: place in the grid of each conversation's λ; `None` without the vectors, or with questions of one
    /// conversation only, because nothing is left to choose it on.
    folds: [Option<Vec<usize>>; 5],
}

impl Experiment {
    /// Score everything. O(questions x sessions x grid).
    pub fn new(examples: Vec<Example>) -> Self {
        let hits = Pooler::ALL.map(|pooler| {
            (0..GRID)
                .map(|at| examples.iter().map(|one| hit(one, pooler, lambda(at))).collect::<Option<Vec<f64>>>())
                .collect::<Option<Vec<Vec<f64>>>>()
                .filter(|_| !examples.is_empty())
        });
        let conversations = examples.iter().map(|one| one.conversation).max().map_or(0, |most| most + 1);
        let folds = Pooler::ALL.map(|pooler| {
            let hits = hits.get(pooler as usize)?.as_ref()?;
            let choose = |held_out: usize| {
                let sum = |at: usize| -> Option<f64> {
                    let row = hits.get(at)?.iter().zip(&examples);
                    Some(row.filter(|(_, one)| one.conversation != held_out).map(|(hit, _)| hit).sum())
                };
                // The first of equal sums, which is the smallest λ.
                (0..GRID).reduce(|best, at| if sum(at) > sum(best) { at } else { best })
            };
            let mut present: Vec<usize> = examples.iter().map(|one| one.conversation).collect();
            present.dedup();
            if present.iter().all(|one| Some(one) == present.first()) {
                return None;
            }
            (0..conversations).map(choose).collect()
        });
        Self { examples, hits, folds }
    }

    /// The measures of one scorer, a question each; `None` when it could not be measured.
    pub fn metrics(&self, scorer: Scorer) -> Option<Vec<Metrics>> {
        let of = |one: &Example| {
            let scores = match scorer {
                Scorer::Bm25 => Some(one.bm25.clone()),
                Scorer::Dense(pooler) => one.dense.get(pooler as usize)?.clone(),
                Scorer::Fused(pooler) => {
                    let fold = self.folds.get(pooler as usize)?.as_ref()?.get(one.conversation)?;
                    one.fused(pooler, lambda(*fold))
                }
                Scorer::Rrf(pooler) => one.rrf(pooler),
            };
            Some(Metrics::of(&scores?, &one.gold))
        };
        self.examples.iter().map(of).collect()
    }

    /// λ of every conversation, as chosen on the others.
    pub fn chosen(&self, pooler: Pooler) -> Option<Vec<f64>> {
        let folds = self.folds.get(pooler as usize)?.as_ref()?;
        Some(folds.iter().map(|at| lambda(*at)).collect())
    }

    /// Mean Hit@1 with one λ for all, by [`lambda`] of the grid.
    pub fn sensitivity(&self, pooler: Pooler) -> Option<Vec<f64>> {
        let hits = self.hits.get(pooler as usize)?.as_ref()?;
        Some(hits.iter().map(|row| row.iter().sum::<f64>() / row.len().max(1) as f64).collect())
    }

    /// The conversation of every question.
    pub fn conversations(&self) -> Vec<usize> {
        self.examples.iter().map(|one| one.conversation).collect()
    }
}

fn hit(one: &Example, pooler: Pooler, lambda: f64) -> Option<f64> {
    Some(Metrics::of(&one.fused(pooler, lambda)?, &one.gold).hit1)
}
