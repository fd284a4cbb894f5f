//! Scored: everything about one question that depends on the data and the models, and on no knob behind the rankers.
//! It is slow to make and is kept; [`crate::trace::Trace`] is made from it at every key press.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::parse::Query;
use crate::passage::PassageSet;
use crate::retrieve::Retrieval;
use crate::settings::Settings;

/// One question, retrieved and scored.
#[derive(Debug, Clone)]
pub struct Scored {
    /// The history.
    pub passages: Arc<PassageSet>,
    /// The settings under which it was parsed and retrieved.
    pub settings: Arc<Settings>,
    /// The question and its terms.
    pub query: Arc<Query>,
    /// Hops and candidates.
    pub retrieval: Arc<Retrieval>,
    /// BM25 of every passage for the question.
    pub bm25: Arc<Vec<f64>>,
    /// The cross-encoder.
    pub ce: Arc<Ranker>,
    /// Late interaction, for every passage.
    pub colbert: Arc<Ranker>,
    /// Sentence vectors, for every passage.
    pub dense: Arc<Ranker>,
    /// Sentence vectors of the passages, for MMR; `None` in a replayed trace and without a model.
    pub sentences: Option<Arc<SentenceVectors>>,
    /// Passages known to hold the evidence, ascending.
    pub gold: Arc<Vec<u32>>,
    /// How long each stage took.
    pub timings: Timings,
}

/// What vectors say about every passage for one question.
#[derive(Debug, Clone)]
pub struct Similarity {
    /// Late interaction.
    pub colbert: Arc<Ranker>,
    /// Sentence vectors.
    pub dense: Arc<Ranker>,
    /// Sentence vectors of the passages; `None` without a model for them.
    pub sentences: Option<Arc<SentenceVectors>>,
}

/// Unit sentence vectors of all passages.
#[derive(Debug, Clone, PartialEq)]
pub struct SentenceVectors {
    /// Length of a vector.
    pub dim: usize,
    /// Passages x dim, row-major.
    pub data: Vec<f32>,
}

impl SentenceVectors {
    /// Cosine of two passages; 0 when one is missing.
    pub fn cosine(&self, a: u32, b: u32) -> f64 {
        let row = |at: u32| self.data.get(at as usize * self.dim..(at as usize + 1) * self.dim).unwrap_or_default();
        f64::from(row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum::<f32>())
    }
}

/// Milliseconds of each stage, as far as it ran.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Timings {
    /// Tagging and weighting the question.
    pub parse_ms: f64,
    /// All hops.
    pub retrieve_ms: f64,
    /// Encoding the question, fetching or making passage vectors, MaxSim.
    pub colbert_ms: f64,
    /// Cross-encoder, as far as it got.
    pub ce_ms: f64,
}

/// What one ranker said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranker {
    /// Name and content hash of the model; `None` when there is none.
    pub model: Option<Model>,
    /// How far it got.
    pub state: RankerState,
    /// By passage: its score, when it has one.
    pub scores: Vec<Option<Score>>,
    /// By passage: 1-based rank among the scored candidates; 0 otherwise.
    #[serde(skip)]
    ranks: Vec<u32>,
}

/// A model as traces name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// Name.
    pub name: String,
    /// SHA-256 of its weights, hex.
    pub hash: String,
}

/// A score and what the model read for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The score as shown: sigmoid of the logit for a cross-encoder, sum of best cosines for ColBERT, cosine for
    /// sentence vectors.
    pub value: f32,
    /// The raw output of a cross-encoder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logit: Option<f32>,
    /// Tokens that the model read (question and passage together for a cross-encoder); 0 where it does not say.
    pub tokens: u32,
    /// Passage tokens that it did not read because the input was too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clipped: u32,
    /// The turn that scores best in a passage of several turns whose scores were pooled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How far a ranker got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankerState {
    /// Waiting or at work.
    Running,
    /// Every candidate has a score.
    Done,
    /// The user stopped it.
    Stopped,
    /// There is no model, and why.
    Absent(String),
    /// It failed, and how.
    Failed(String),
}

impl Ranker {
    /// A ranker with scores for some passages; ranks are given among `candidates`.
    pub fn new(model: Option<Model>, state: RankerState, scores: Vec<Option<Score>>, candidates: &[u32]) -> Self {
        let mut ranker = Self { model, state, scores, ranks: Vec::new() };
        ranker.rank_among(candidates);
        ranker
    }

    /// A ranker that is not there.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { model: None, state: RankerState::Absent(reason.into()), scores: Vec::new(), ranks: Vec::new() }
    }

    /// Give ranks among these candidates: best first, ties in conversation order.
    pub fn rank_among(&mut self, candidates: &[u32]) {
        let values: Vec<Option<f64>> = candidates.iter().map(|at| self.value(*at)).collect();
        let ranks = crate::fuse::ranks(&values);
        let length = self.scores.len();
        self.ranks = vec![0; length];
        for (passage, rank) in candidates.iter().zip(ranks) {
            if let Some(slot) = self.ranks.get_mut(*passage as usize) {
                *slot = rank;
            }
        }
    }

    /// The ranker as it would be had it put this passage at another rank: the passage takes the score of the one that
    /// stands there now, and those between move on by one rank. `None` when there is no such passage or rank.
    pub fn moved(&self, passage: u32, to: u32) -> Option<Self> {
        let from = Some(self.rank(passage)).filter(|from| *from > 0 && to > 0)?;
        let there = self.ranks.iter().position(|rank| *rank == to)?;
        let mut moved = self.clone();
        *moved.scores.get_mut(passage as usize)? = self.scores.get(there).copied().flatten();
        for rank in moved.ranks.iter_mut().filter(|rank| **rank > 0) {
            *rank = rank_after_move(*rank, from, to);
        }
        Some(moved)
    }

    /// The score of a passage.
    pub fn score(&self, passage: u32) -> Option<&Score> {
        self.scores.get(passage as usize)?.as_ref()
    }

    /// The shown value of a passage's score.
    pub fn value(&self, passage: u32) -> Option<f64> {
        self.score(passage).map(|score| f64::from(score.value))
    }

    /// 1-based rank among the scored candidates; 0 when not scored or not a candidate.
    pub fn rank(&self, passage: u32) -> u32 {
        self.ranks.get(passage as usize).copied().unwrap_or(0)
    }

    /// How many passages have a score.
    pub fn scored(&self) -> usize {
        self.scores.iter().flatten().count()
    }

    /// True when it still may bring scores.
    pub fn is_running(&self) -> bool {
        self.state == RankerState::Running
    }

    /// Why it has no or not all scores, in words; `None` when it is done or at work.
    pub fn trouble(&self) -> Option<&str> {
        match &self.state {
            RankerState::Running | RankerState::Done => None,
            RankerState::Stopped => Some("stopped before scoring (you pressed Esc)"),
            RankerState::Absent(reason) | RankerState::Failed(reason) => Some(reason),
        }
    }
}

/// The rank of a passage after another one, or it itself, moved from one rank to another.
pub fn rank_after_move(rank: u32, from: u32, to: u32) -> u32 {
    match rank {
        0 => 0,
        _ if rank == from => to,
        _ if to <= rank && rank < from => rank + 1,
        _ if from < rank && rank <= to => rank - 1,
        _ => rank,
    }
}

impl Scored {
    /// Match score of a passage.
    pub fn match_score(&self, passage: u32) -> f64 {
        self.retrieval.match_score.get(passage as usize).copied().unwrap_or(0.0)
    }

    /// BM25 of a passage.
    pub fn bm25(&self, passage: u32) -> f64 {
        self.bm25.get(passage as usize).copied().unwrap_or(0.0)
    }

    /// True when a passage is known to hold evidence.
    pub fn is_gold(&self, passage: u32) -> bool {
        self.gold.binary_search(&passage).is_ok()
    }

    /// True while a ranker still may bring scores.
    pub fn is_running(&self) -> bool {
        self.ce.is_running() || self.colbert.is_running()
    }
}
