//! The tokens of a pair as a cross-encoder reads them, and where the passage was cut. Knows a tokenizer and a limit; no
//! weights.

use super::tokenizer::ModelTokenizer;
use super::{RankError, TokenPiece};

/// Unread tokens that are kept for display: a passage may hold a million.
const MOST_UNREAD: usize = 2000;

/// What a token of a pair belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairPart {
    /// A special token of the model.
    Special,
    /// The question.
    Question,
    /// The passage.
    Passage,
}

/// The tokens of one pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairTokens {
    /// What the network reads, in its order. Places are bytes of the question or of the passage.
    pub read: Vec<(PairPart, TokenPiece)>,
    /// Tokens of the question that did not fit.
    pub question_unread: usize,
    /// Tokens of the passage that did not fit.
    pub passage_unread: usize,
    /// The first of those, for display.
    pub unread: Vec<TokenPiece>,
}

impl PairTokens {
    /// Splits and cuts a pair as the model's own input is.
    pub(super) fn new(
        tokenizer: &ModelTokenizer,
        question: &str,
        passage: &str,
        max: usize,
        least: usize,
    ) -> Result<Self, RankError> {
        let (mut question, mut passage) = (tokenizer.pieces(question)?, tokenizer.pieces(passage)?);
        let (of_question, of_passage) = tokenizer.cut_pair(question.len(), passage.len(), max, least);
        let (question_unread, passage_unread) = (question.len() - of_question, passage.len() - of_passage);
        question.truncate(of_question);
        let mut unread = passage.split_off(of_passage);
        unread.truncate(MOST_UNREAD);
        let [before, between, after] = tokenizer.pair_specials();
        let parts = [
            (PairPart::Special, before),
            (PairPart::Question, question),
            (PairPart::Special, between),
            (PairPart::Passage, passage),
            (PairPart::Special, after),
        ];
        let read = parts.into_iter().flat_map(|(part, pieces)| pieces.into_iter().map(move |piece| (part, piece)));
        Ok(Self { read: read.collect(), question_unread, passage_unread, unread })
    }
}
