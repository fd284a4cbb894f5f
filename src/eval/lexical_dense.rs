//! The second paper's experiment: sessions ranked by BM25, by pooled vectors of their turns, and by both, fused by
//! standard scores (PIPELINE section 6). Knows scores by turn and session; no model and no file.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use super::metrics::Metrics;
use crate::fuse::{ranks, z_scores};
use crate::history::{Conversation, Question};
use crate::passage::{PassageSet, Shape};
use crate::pool::pool;
use crate::scored::{RankerState, Similarity};
use crate::settings::{Bm25Form, Captions, Discovery, Pooler, Prf, Settings, Unit};

/// The poolers that are compared, in the order of the tables.
pub const POOLERS: [Pooler; 5] = [Pooler::Mean, Pooler::Max, Pooler::Top3, Pooler::Lse10, Pooler::Token];

/// Its name in tables.
pub fn name_of(pooler: Pooler) -> &'static str {
    match pooler {
        Pooler::Text => "session text",
        Pooler::Mean => "mean (early)",
        Pooler::Max => "max (late)",
        Pooler::Top3 => "top 3 (late)",
        Pooler::Lse10 => "lse 10 (late)",
        Pooler::Token => "token MaxSim (late)",
    }
}

/// Place among [`POOLERS`]; behind them for one that is not compared.
fn slot(pooler: Pooler) -> usize {
    POOLERS.iter().position(|one| *one == pooler).unwrap_or(POOLERS.len())
}

/// A way to score sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Scorer {
    /// BM25 alone.
    Bm25,
    /// BM25L alone.
    Bm25L,
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
    /// BM25L by session.
    pub bm25l: Vec<f64>,
    /// By [`POOLERS`]: dense score by session; `None` without the vectors for it.
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
    /// From what vectors say about the turns of a question under [`settings`]; `None` when it has no gold session.
    pub fn new(number: usize, question: &Question, turns: &Similarity, sessions: &PassageSet) -> Option<Self> {
        let conversation = &sessions.conversation;
        let gold = gold_sessions(conversation, question);
        let length = |session: &usize| conversation.sessions.get(*session).map_or(0, |session| session.turns.len());
        let longest = gold.iter().map(length).max()?;
        Some(Self {
            conversation: number,
            category: question.category.clone(),
            longest,
            gold,
            bm25: sessions.bm25().scores(question.text.trim()),
            bm25l: sessions.bm25().scores_as(question.text.trim(), Bm25Form::L),
            dense: POOLERS.map(|pooler| pooled(turns, pooler, conversation)),
        })
    }

    /// z(BM25) and z(dense) over all sessions of the conversation.
    fn standard(&self, pooler: Pooler) -> Option<[Vec<f64>; 2]> {
        let dense = self.dense.get(slot(pooler))?.as_ref()?;
        let z = |scores: &[f64]| z_scores(&scores.iter().copied().map(Some).collect::<Vec<_>>());
        Some([z(&self.bm25), z(dense)])
    }

    /// Hit@1 at every λ of the grid.
    fn hits(&self, pooler: Pooler) -> Option<Vec<f64>> {
        let standard = self.standard(pooler)?;
        let hit = |at: usize| {
            let scores = mixed(&standard, lambda(at));
            // The first of equal ones, as everywhere.
            let best = (0..scores.len()).reduce(|best, at| if scores.get(at) > scores.get(best) { at } else { best });
            f64::from(u8::from(best.is_some_and(|best| self.gold.contains(&best))))
        };
        Some((0..GRID).map(hit).collect())
    }

    fn rrf(&self, pooler: Pooler) -> Option<Vec<f64>> {
        let dense = self.dense.get(slot(pooler))?.as_ref()?;
        let places = |scores: &[f64]| ranks(&scores.iter().copied().map(Some).collect::<Vec<_>>());
        let gain = |rank: u32| 1.0 / (K + f64::from(rank));
        Some(places(&self.bm25).into_iter().zip(places(dense)).map(|(a, b)| gain(a) + gain(b)).collect())
    }
}

/// `λ z(BM25) + (1 - λ) z(dense)`.
fn mixed([bm25, dense]: &[Vec<f64>; 2], lambda: f64) -> Vec<f64> {
    bm25.iter().zip(dense).map(|(lexical, dense)| lambda * lexical + (1.0 - lambda) * dense).collect()
}

/// Scores that put the sessions of `top` in the order of other scores, above all that are not in it. `scores` by session;
/// `others` by place in `top`; ties stay in the order of `top`.
pub fn reordered(scores: &[f64], top: &[usize], others: &[f64]) -> Vec<f64> {
    let highest = scores.iter().copied().fold(f64::MIN, f64::max);
    let mut order: Vec<(usize, f64)> = top.iter().copied().zip(others.iter().copied()).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut scores = scores.to_vec();
    for (place, (session, _)) in order.iter().enumerate() {
        if let Some(slot) = scores.get_mut(*session) {
            *slot = highest + (order.len() - place) as f64;
        }
    }
    scores
}

/// What stands for a session without turns; below every score.
const NO_TURNS: f64 = -9.0;

/// A score for every session, from the scores of its turns.
fn pooled(turns: &Similarity, pooler: Pooler, conversation: &Conversation) -> Option<Vec<f64>> {
    let ranker = if pooler == Pooler::Token { &turns.colbert } else { &turns.dense };
    if ranker.state != RankerState::Done {
        return None;
    }
    // A question without any token has no token scores: every turn is as good as any other.
    let value = |turn: usize| ranker.value(turn as u32).unwrap_or(0.0);
    let vectors = turns.sentences.as_ref();
    let of = |turns: std::ops::Range<usize>| -> Option<f64> {
        let scores: Vec<f64> = turns.clone().map(value).collect();
        if scores.is_empty() {
            return Some(NO_TURNS);
        }
        let rows = vectors.and_then(|found| found.data.get(turns.start * found.dim..turns.end * found.dim));
        pool(pooler, &scores, rows.zip(vectors.map(|found| found.dim))).map(|found| found.score)
    };
    conversation.sessions.iter().map(|session| of(session.turns.clone())).collect()
}

/// All questions, with λ chosen by leaving one conversation out.
#[derive(Debug)]
pub struct Experiment {
    /// The questions.
    pub examples: Vec<Example>,
    /// By [`POOLERS`], then by λ of the grid: hits at 1 by question.
    hits: [Option<Vec<Vec<f64>>>; 5],
    /// By [`POOLERS`]: place in the grid of each conversation's λ; `None` without the vectors, or with questions of one
    /// conversation only, because nothing is left to choose it on.
    folds: [Option<Vec<usize>>; 5],
}

impl Experiment {
    /// Score everything. O(questions x sessions x grid).
    pub fn new(examples: Vec<Example>) -> Self {
        let hits = POOLERS.map(|pooler| {
            let by_question: Vec<Vec<f64>> = examples.par_iter().map(|one| one.hits(pooler)).collect::<Option<_>>()?;
            let at = |at: usize| by_question.iter().map(|hits| hits.get(at).copied().unwrap_or(0.0)).collect();
            (!by_question.is_empty()).then(|| (0..GRID).map(at).collect::<Vec<Vec<f64>>>())
        });
        let conversations = examples.iter().map(|one| one.conversation).max().map_or(0, |most| most + 1);
        let folds = POOLERS.map(|pooler| {
            let hits = hits.get(slot(pooler))?.as_ref()?;
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

    /// The scores of one scorer for one question, by session; `None` when it could not be measured.
    pub fn scores(&self, scorer: Scorer, question: usize) -> Option<Vec<f64>> {
        let one = self.examples.get(question)?;
        match scorer {
            Scorer::Bm25 => Some(one.bm25.clone()),
            Scorer::Bm25L => Some(one.bm25l.clone()),
            Scorer::Dense(pooler) => one.dense.get(slot(pooler))?.clone(),
            Scorer::Fused(pooler) => {
                let fold = self.folds.get(slot(pooler))?.as_ref()?.get(one.conversation)?;
                one.standard(pooler).map(|standard| mixed(&standard, lambda(*fold)))
            }
            Scorer::Rrf(pooler) => one.rrf(pooler),
        }
    }

    /// The measures of one scorer, a question each; `None` when it could not be measured.
    pub fn metrics(&self, scorer: Scorer) -> Option<Vec<Metrics>> {
        let of = |(at, one): (usize, &Example)| Some(Metrics::of(&self.scores(scorer, at)?, &one.gold));
        self.examples.iter().enumerate().map(of).collect()
    }

    /// λ of every conversation, as chosen on the others.
    pub fn chosen(&self, pooler: Pooler) -> Option<Vec<f64>> {
        let folds = self.folds.get(slot(pooler))?.as_ref()?;
        Some(folds.iter().map(|at| lambda(*at)).collect())
    }

    /// Mean Hit@1 with one λ for all, by [`lambda`] of the grid.
    pub fn sensitivity(&self, pooler: Pooler) -> Option<Vec<f64>> {
        let hits = self.hits.get(slot(pooler))?.as_ref()?;
        Some(hits.iter().map(|row| row.iter().sum::<f64>() / row.len().max(1) as f64).collect())
    }

    /// The conversation of every question.
    pub fn conversations(&self) -> Vec<usize> {
        self.examples.iter().map(|one| one.conversation).collect()
    }
}
