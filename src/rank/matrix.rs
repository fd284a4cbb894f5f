//! The matrix behind a MaxSim score: the tokens of a question and of a passage, and the cosine of every pair of them.
//! Knows tokens and their vectors; nothing of how it is drawn.

use super::maxsim::cosine;
use super::{MaxSim, RankError, Side, TextEncoder, TokenMatch, TokenPiece, maxsim_matches};

/// How a question and a passage met, token by token.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Tokens of the question that have a vector, markers and masks of the model included.
    pub question: Vec<TokenPiece>,
    /// Tokens of the passage that have a vector.
    pub passage: Vec<TokenPiece>,
    /// Cosines, a row of passage tokens for each question token.
    cosines: Vec<f32>,
    /// For each question token its best passage token.
    pub best: Vec<TokenMatch>,
    /// The sum and the mean of the best cosines: the score of the passage.
    pub score: MaxSim,
    /// Passage tokens that the model did not read.
    pub clipped: u32,
}

impl Matrix {
    /// Encodes both texts, with passage vectors as the cache keeps them, so that the score is the one that ranks.
    ///
    /// # Errors
    /// When the encoder cannot split or encode a text, or gives other tokens than vectors.
    pub fn read(encoder: &dyn TextEncoder, question: &str, passage: &str) -> Result<Self, RankError> {
        let (asked, pieces) = (encoder.encode_query(question)?, encoder.tokens(Side::Question, question)?);
        let mut found = encoder.encode_passages(&[passage])?;
        let Some(mut found) = found.pop() else {
            return Err(RankError::Tokens { reason: "no text came back".to_owned() });
        };
        found.round_to_half();
        let passage = encoder.tokens(Side::Passage, passage)?;
        if (pieces.len(), passage.len()) != (asked.tokens, found.tokens) {
            let reason = format!(
                "{} and {} tokens have {} and {} vectors",
                pieces.len(),
                passage.len(),
                asked.tokens,
                found.tokens
            );
            return Err(RankError::Tokens { reason });
        }
        let rows = asked.vectors.chunks_exact(asked.dim.max(1));
        let cosines =
            rows.flat_map(|row| found.vectors.chunks_exact(found.dim.max(1)).map(|other| cosine(row, other))).collect();
        Ok(Self::new(pieces, passage, cosines, maxsim_matches(&asked, &found), found.clipped))
    }

    /// From tokens, their cosines row by row, and the best of each row.
    #[must_use]
    pub fn new(
        question: Vec<TokenPiece>,
        passage: Vec<TokenPiece>,
        cosines: Vec<f32>,
        best: Vec<TokenMatch>,
        clipped: u32,
    ) -> Self {
        let sums: Vec<f32> = best.iter().map(|token| token.cosine).collect();
        Self { question, passage, cosines, best, score: MaxSim::of(&sums), clipped }
    }

    /// The cosine of a question token and a passage token.
    #[must_use]
    pub fn cosine(&self, question: usize, passage: usize) -> Option<f32> {
        let at = question.checked_mul(self.passage.len())?.checked_add(passage)?;
        if passage < self.passage.len() { self.cosines.get(at).copied() } else { None }
    }

    /// The matches that are worth a word, strongest first: those of question tokens that are words.
    #[must_use]
    pub fn strongest(&self, most: usize) -> Vec<TokenMatch> {
        let is_word = |token: &TokenMatch| {
            self.question
                .get(token.query)
                .is_some_and(|piece| piece.end > piece.start && piece.text.chars().any(char::is_alphanumeric))
        };
        let mut matches: Vec<TokenMatch> =
            self.best.iter().copied().filter(|token| token.passage.is_some() && is_word(token)).collect();
        matches.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.query.cmp(&b.query)));
        matches.truncate(most);
        matches
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pieces(words: &[&str]) -> Vec<TokenPiece> {
        let piece = |(at, word): (usize, &&str)| {
            let end = if word.starts_with('[') { 0 } else { at * 10 + word.len() };
            TokenPiece { id: at as u32, text: (*word).to_owned(), start: end.min(at * 10), end }
        };
        words.iter().enumerate().map(piece).collect()
    }

    #[test]
    fn cells_are_found_and_only_words_are_strong() {
        let best = |query, passage, cosine| TokenMatch { query, passage: Some(passage), cosine };
        let matches = vec![best(0, 1, 0.9), best(1, 0, 0.5), best(2, 1, 0.8), best(3, 0, 0.6)];
        let cosines = vec![0.1, 0.9, 0.5, 0.2, 0.3, 0.8, 0.6, 0.0];
        let question = pieces(&["[Q]", "when", "?", "boat"]);
        let matrix = Matrix::new(question, pieces(&["boat", "mended"]), cosines, matches, 3);
        assert_eq!((matrix.cosine(1, 0), matrix.cosine(3, 1)), (Some(0.5), Some(0.0)));
        assert_eq!((matrix.cosine(0, 2), matrix.cosine(4, 0), matrix.cosine(usize::MAX, 1)), (None, None, None));
        assert!((matrix.score.score - 2.8).abs() < 1e-6);
        let strong: Vec<usize> = matrix.strongest(5).iter().map(|token| token.query).collect();
        assert_eq!(strong, [3, 1], "markers and punctuation say nothing");
        assert_eq!(matrix.strongest(1).len(), 1);
    }
}
