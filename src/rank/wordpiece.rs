//! Splits texts into the tokens of a BERT model and lays them out with their special tokens. Knows a tokenizer file;
//! no weights.

use std::path::Path;

use tokenizers::Tokenizer;

use super::RankError;

/// One token of a text, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenPiece {
    /// The token as the model knows it; a `##` marks the continuation of a word.
    pub text: String,
    /// Byte of the original text where it starts.
    pub start: usize,
    /// Byte after its end.
    pub end: usize,
}

/// Texts laid out back to back as the model reads them, without padding.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    /// Token ids of all texts.
    pub ids: Vec<u32>,
    /// Segment (0 or 1) of each token.
    pub segments: Vec<u8>,
    /// Where each text starts, and the end of the last: one entry more than texts.
    pub bounds: Vec<usize>,
}

/// A BERT tokenizer: WordPiece with `[CLS]` and `[SEP]`.
pub(super) struct WordPiece {
    tokenizer: Tokenizer,
    cls: u32,
    sep: u32,
}

impl WordPiece {
    /// Reads `tokenizer.json`. Its own truncation and padding are turned off: we cut ourselves, to know what was cut.
    pub(super) fn load(path: &Path) -> Result<Self, RankError> {
        let bytes = std::fs::read(path).map_err(|source| RankError::Read { path: path.to_owned(), source })?;
        let wrong = |reason: String| RankError::Model { path: path.to_owned(), reason };
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| wrong(error.to_string()))?;
        tokenizer.with_truncation(None).map_err(|error| wrong(error.to_string()))?;
        tokenizer.with_padding(None);
        let special = |name: &str| tokenizer.token_to_id(name).ok_or_else(|| wrong(format!("it has no token {name}")));
        let (cls, sep) = (special("[CLS]")?, special("[SEP]")?);
        Ok(Self { tokenizer, cls, sep })
    }

    /// Ids of all tokens of a text, without specials and without a limit.
    pub(super) fn ids(&self, text: &str) -> Result<Vec<u32>, RankError> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(tokens_error)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The tokens of a text with their places in it, at most `limit`.
    pub(super) fn pieces(&self, text: &str, limit: usize) -> Result<Vec<TokenPiece>, RankError> {
        let encoding = self.tokenizer.encode(text, false).map_err(tokens_error)?;
        let pieces = encoding.get_tokens().iter().zip(encoding.get_offsets()).take(limit);
        Ok(pieces.map(|(token, &(start, end))| TokenPiece { text: token.clone(), start, end }).collect())
    }

    /// Appends `[CLS] text [SEP]` with at most `max` tokens; returns how many tokens of the text were dropped.
    pub(super) fn push_single(&self, text: &[u32], max: usize, rows: &mut Rows) -> usize {
        let kept = text.get(..max.saturating_sub(2)).unwrap_or(text);
        rows.open();
        rows.push(self.cls, 0);
        kept.iter().for_each(|&id| rows.push(id, 0));
        rows.push(self.sep, 0);
        rows.close();
        text.len() - kept.len()
    }

    /// Appends `[CLS] question [SEP] passage [SEP]` with at most `max` tokens; returns how many tokens of the passage
    /// were dropped. Only a question that would leave the passage fewer than `least` tokens is cut itself.
    pub(super) fn push_pair(
        &self,
        question: &[u32],
        passage: &[u32],
        max: usize,
        least: usize,
        rows: &mut Rows,
    ) -> usize {
        let room = max.saturating_sub(3);
        let question = question.get(..room.saturating_sub(least.min(passage.len()))).unwrap_or(question);
        let kept = passage.get(..room - question.len()).unwrap_or(passage);
        rows.open();
        rows.push(self.cls, 0);
        question.iter().for_each(|&id| rows.push(id, 0));
        rows.push(self.sep, 0);
        kept.iter().for_each(|&id| rows.push(id, 1));
        rows.push(self.sep, 1);
        rows.close();
        passage.len() - kept.len()
    }
}

impl Rows {
    /// Texts.
    pub(super) fn len(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    fn open(&mut self) {
        if self.bounds.is_empty() {
            self.bounds.push(0);
        }
    }

    fn push(&mut self, id: u32, segment: u8) {
        self.ids.push(id);
        self.segments.push(segment);
    }

    fn close(&mut self) {
        self.bounds.push(self.ids.len());
    }
}

fn tokens_error(error: tokenizers::Error) -> RankError {
    RankError::Tokens { reason: error.to_string() }
}
