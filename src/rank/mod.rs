//! The rankers, the only learned stage: cross-encoders, token encoders, late interaction, and the cache of what they
//! computed. Knows texts, models and vectors; nothing of chats, settings or screens.
//!
//! Everything is computed in the caller's thread and the thread pool behind it. A caller that wants to stream results
//! or to stop in between hands over a few passages a call: a call sets nothing up.

mod bert;
mod bi_encoder;
mod cache;
mod colbert;
mod config;
mod encoder;
mod error;
mod kernels;
mod matrix;
mod maxsim;
mod minilm;
mod modernbert;
mod modules;
mod packed;
mod pair_tokens;
mod precision;
mod relative;
mod sequence_classifier;
mod small_cross_encoder;
mod tokenizer;
mod weights;

pub use bi_encoder::{BiEncoder, Prefixes};
pub use cache::{Cache, CacheInfo, CacheKey};
pub use colbert::ColBert;
pub(crate) use encoder::folder_name;
pub use error::RankError;
pub use kernels::Kernel;
pub use matrix::Matrix;
pub use maxsim::{MaxSim, PassageScore, PassageVectors, TokenMatch, cosine, maxsim, maxsim_matches};
pub use minilm::MiniLm;
pub use pair_tokens::{PairPart, PairTokens};
pub use precision::Precision;
pub use sequence_classifier::SequenceClassifier;
pub use small_cross_encoder::SmallCrossEncoder;
pub use tokenizer::TokenPiece;

/// Which weights computed something, and how precisely.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelId {
    /// Name for people.
    pub name: String,
    /// SHA-256 of the weights (for an adapter: of the base's SHA-256 and the adapter's bytes), hexadecimal.
    pub hash: String,
    /// What the weights were rounded to. Scores of two precisions are never mixed.
    pub precision: Precision,
}

impl ModelId {
    /// Name for people, with the precision where it is not exact.
    #[must_use]
    pub fn label(&self) -> String {
        match self.precision {
            Precision::Exact => self.name.clone(),
            other => format!("{} ({})", self.name, other.name()),
        }
    }
}

/// A model that reads question and passage together and gives one score a pair.
pub trait CrossEncoder: Send + Sync {
    /// Which weights.
    fn model(&self) -> &ModelId;
    /// Longest pair in tokens, specials included.
    fn max_tokens(&self) -> usize;
    /// Scores each passage against the question; one result a passage, in order, independent of its neighbours.
    ///
    /// # Errors
    /// [`RankError::Tokens`] or [`RankError::Compute`]; then nothing was scored.
    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<PairScore>, RankError>;
    /// The tokens of one pair as the network reads them, and what did not fit, for display.
    ///
    /// # Errors
    /// [`RankError::Tokens`].
    fn tokens(&self, question: &str, passage: &str) -> Result<PairTokens, RankError>;
    /// How many tokens a text of any length has, without specials.
    ///
    /// # Errors
    /// [`RankError::Tokens`].
    fn count_tokens(&self, text: &str) -> Result<usize, RankError> {
        let tokens = self.tokens("", text)?;
        let read = tokens.read.iter().filter(|(part, _)| *part == PairPart::Passage).count();
        Ok(read + tokens.passage_unread)
    }
}

/// What a cross-encoder says about one pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairScore {
    /// The raw output.
    pub logit: f32,
    /// Sigmoid of the logit, in (0, 1).
    pub score: f32,
    /// Tokens of the pair that the model read, specials included.
    pub tokens: u32,
    /// Passage tokens that did not fit, when there are any.
    pub clipped: Option<u32>,
}

impl PairScore {
    /// A score from its logit.
    #[must_use]
    pub fn new(logit: f32, tokens: u32, clipped: Option<u32>) -> Self {
        Self { logit, score: 1.0 / (1.0 + (-logit).exp()), tokens, clipped }
    }
}

/// Which of the two texts a model is given; many models treat them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The question.
    Question,
    /// A passage of the history.
    Passage,
}

/// Which vectors a model gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gives {
    /// One a token: it can fill the ColBERT slot.
    pub tokens: bool,
    /// One a text: it can fill the dense slot. Where it does not, [`TokenVectors::sentence`] is all zeros.
    pub sentence: bool,
}

/// A model that gives vectors of each text by itself: one a token, one a text, or both.
pub trait TextEncoder: Send + Sync {
    /// Which weights.
    fn model(&self) -> &ModelId;
    /// Longest passage in tokens, specials included.
    fn max_tokens(&self) -> usize;
    /// Numbers a vector.
    fn dim(&self) -> usize;
    /// Which vectors it gives.
    fn gives(&self) -> Gives;
    /// Encodes texts of one side; one result a text, in order, independent of its neighbours.
    ///
    /// # Errors
    /// [`RankError::Tokens`] or [`RankError::Compute`]; then nothing was encoded.
    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, RankError>;
    /// Encodes a question.
    ///
    /// # Errors
    /// As [`TextEncoder::encode`].
    fn encode_query(&self, query: &str) -> Result<TokenVectors, RankError> {
        let mut one = self.encode(Side::Question, &[query])?;
        one.pop().ok_or_else(|| RankError::Tokens { reason: "no text came back".to_owned() })
    }
    /// Encodes passages.
    ///
    /// # Errors
    /// As [`TextEncoder::encode`].
    fn encode_passages(&self, passages: &[&str]) -> Result<Vec<TokenVectors>, RankError> {
        self.encode(Side::Passage, passages)
    }
    /// The tokens of a text in the order of [`TokenVectors::vectors`], for display.
    ///
    /// # Errors
    /// [`RankError::Tokens`].
    fn tokens(&self, side: Side, text: &str) -> Result<Vec<TokenPiece>, RankError>;
    /// How many tokens a text of any length has, without specials.
    ///
    /// # Errors
    /// [`RankError::Tokens`].
    fn count_tokens(&self, text: &str) -> Result<usize, RankError>;
}

/// The vectors of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenVectors {
    /// Numbers a vector.
    pub dim: usize,
    /// Vectors, that is tokens without specials; 0 from a model that gives one vector a text only.
    pub tokens: usize,
    /// `tokens` x `dim`, row-major, each row of unit length.
    pub vectors: Vec<f32>,
    /// `dim` numbers of unit length, pooled as the model was trained; zeros from a model that gives none.
    pub sentence: Vec<f32>,
    /// Tokens that did not fit into the model.
    pub clipped: u32,
}

impl TokenVectors {
    /// Rounds all numbers to half precision, as the [`Cache`] does. Whoever caches vectors rounds them before the first
    /// use, so that a question scores the same passages the same before and after they are cached.
    pub fn round_to_half(&mut self) {
        for number in self.vectors.iter_mut().chain(&mut self.sentence) {
            *number = half::f16::from_f32(*number).to_f32();
        }
    }
}
