//! Splits texts into the tokens of a model and lays them out with its special tokens. Knows a tokenizer file; no
//! weights.

use std::path::Path;

use tokenizers::{DecoderWrapper, Tokenizer};

use super::{PairScore, RankError};

/// One token of a text, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenPiece {
    /// Its number in the model's vocabulary.
    pub id: u32,
    /// The token as the model knows it, where a `##` marks the continuation of a word and a `▁` the start of one. Of a
    /// token that stands for bytes, the text it was made from.
    pub text: String,
    /// Byte of the original text where it starts.
    pub start: usize,
    /// Byte after its end; the start for tokens that stand for no text: specials, markers and masks.
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
    /// How many tokens of each text, from its first on, the others attend to.
    pub attended: Vec<usize>,
}

/// A model's tokenizer, with the special tokens that it puts around a text or a pair.
pub(super) struct ModelTokenizer {
    tokenizer: Tokenizer,
    single: Frame,
    pair: Frame,
}

/// The special tokens of an input, each with its segment, and the segments of what stands between them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Before the first text.
    pub before: Vec<(u32, u8)>,
    /// Between the texts of a pair.
    between: Vec<(u32, u8)>,
    /// At the end.
    pub after: Vec<(u32, u8)>,
    /// Segments of the first and the second text.
    segments: [u8; 2],
}

impl Frame {
    /// How many special tokens these are.
    fn len(&self) -> usize {
        self.before.len() + self.between.len() + self.after.len()
    }

    /// Read off an encoding that has at least one token of each of `texts` texts.
    fn of(encoding: &tokenizers::Encoding, texts: usize) -> Option<Self> {
        let mut frame = Self::default();
        let mut seen = 0;
        let sequences = encoding.get_sequence_ids();
        for ((id, segment), sequence) in encoding.get_ids().iter().zip(encoding.get_type_ids()).zip(sequences) {
            let segment = u8::try_from(*segment).ok()?;
            match sequence {
                Some(text) => {
                    *frame.segments.get_mut(text)? = segment;
                    seen = text + 1;
                }
                None if seen == 0 => frame.before.push((*id, segment)),
                None if seen < texts => frame.between.push((*id, segment)),
                None => frame.after.push((*id, segment)),
            }
        }
        (seen == texts).then_some(frame)
    }
}

impl ModelTokenizer {
    /// Reads `tokenizer.json`. Its own truncation and padding are turned off: we cut ourselves, to know what was cut.
    pub(super) fn load(path: &Path) -> Result<Self, RankError> {
        let bytes = std::fs::read(path).map_err(|source| RankError::Read { path: path.to_owned(), source })?;
        let wrong = |reason: String| RankError::Model { path: path.to_owned(), reason };
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| wrong(error.to_string()))?;
        tokenizer.with_truncation(None).map_err(|error| wrong(error.to_string()))?;
        tokenizer.with_padding(None);
        // How a model frames its input is code in its tokenizer; what it does to a letter shows it.
        let single = tokenizer.encode("a", true).map_err(|error| wrong(error.to_string()))?;
        let pair = tokenizer.encode(("a", "a"), true).map_err(|error| wrong(error.to_string()))?;
        match (Frame::of(&single, 1), Frame::of(&pair, 2)) {
            (Some(single), Some(pair)) if !single.before.is_empty() && !pair.between.is_empty() => {
                Ok(Self { tokenizer, single, pair })
            }
            _ => Err(wrong("it puts no special tokens around texts".to_owned())),
        }
    }

    /// How many tokens of question and passage fit beside the specials into `max`. Only a question that would leave the
    /// passage fewer than `least` tokens is cut itself.
    pub(super) fn cut_pair(&self, question: usize, passage: usize, max: usize, least: usize) -> (usize, usize) {
        let room = max.saturating_sub(self.pair.len());
        let question = question.min(room.saturating_sub(least.min(passage)));
        (question, passage.min(room - question))
    }

    /// The special tokens around a pair: before the question, between the texts, at the end.
    pub(super) fn pair_specials(&self) -> [Vec<TokenPiece>; 3] {
        [&self.pair.before, &self.pair.between, &self.pair.after]
            .map(|tokens| tokens.iter().map(|&(id, _)| self.special(id)).collect())
    }

    /// The special tokens around a single text.
    pub(super) fn single(&self) -> &Frame {
        &self.single
    }

    /// The id of a token by its text.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Ids of all tokens of a text, without specials and without a limit.
    pub(super) fn ids(&self, text: &str) -> Result<Vec<u32>, RankError> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(tokens_error)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The tokens of a text with their places in it: what [`ModelTokenizer::ids`] gives, for display.
    pub(super) fn pieces(&self, text: &str) -> Result<Vec<TokenPiece>, RankError> {
        let encoding = self.tokenizer.encode(text, false).map_err(tokens_error)?;
        let of_bytes = matches!(self.tokenizer.get_decoder(), Some(DecoderWrapper::ByteLevel(_)));
        let piece = |((&id, token), &(start, end)): ((&u32, &String), &(usize, usize))| {
            let origin = if of_bytes { text.get(start..end).filter(|origin| !origin.is_empty()) } else { None };
            TokenPiece { id, text: origin.unwrap_or(token).to_owned(), start, end }
        };
        Ok(encoding.get_ids().iter().zip(encoding.get_tokens()).zip(encoding.get_offsets()).map(piece).collect())
    }

    /// A token that stands for no text.
    pub(super) fn special(&self, id: u32) -> TokenPiece {
        TokenPiece { id, text: self.tokenizer.id_to_token(id).unwrap_or_default(), start: 0, end: 0 }
    }

    /// Tokens of a text that fit beside the specials into `max` tokens.
    pub(super) fn room(&self, max: usize) -> usize {
        max.saturating_sub(self.single.len())
    }

    /// Appends a text in its frame with at most `max` tokens; returns how many tokens of the text were dropped.
    pub(super) fn push_single(&self, text: &[u32], max: usize, rows: &mut Rows) -> usize {
        let kept = text.get(..self.room(max)).unwrap_or(text);
        let [segment, _] = self.single.segments;
        rows.open();
        rows.extend(&self.single.before);
        kept.iter().for_each(|&id| rows.push(id, segment));
        rows.extend(&self.single.after);
        rows.close();
        text.len() - kept.len()
    }

    /// Appends question and passage in their frame, cut as [`ModelTokenizer::cut_pair`] says; returns how many tokens of
    /// the passage were dropped.
    pub(super) fn push_pair(
        &self,
        question: &[u32],
        passage: &[u32],
        max: usize,
        least: usize,
        rows: &mut Rows,
    ) -> usize {
        let (of_question, of_passage) = self.cut_pair(question.len(), passage.len(), max, least);
        let question = question.get(..of_question).unwrap_or(question);
        let kept = passage.get(..of_passage).unwrap_or(passage);
        let [first, second] = self.pair.segments;
        rows.open();
        rows.extend(&self.pair.before);
        question.iter().for_each(|&id| rows.push(id, first));
        rows.extend(&self.pair.between);
        kept.iter().for_each(|&id| rows.push(id, second));
        rows.extend(&self.pair.after);
        rows.close();
        passage.len() - kept.len()
    }
}

impl Rows {
    /// Texts.
    pub(super) fn len(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    /// What a cross-encoder says about pairs laid out here: a logit and a number of dropped passage tokens each.
    pub(super) fn pair_scores(&self, logits: Vec<f32>, clipped: Vec<usize>) -> Vec<PairScore> {
        let lengths = self.bounds.windows(2).map(|pair| pair.iter().rev().copied().reduce(|end, start| end - start));
        let count = |tokens: usize| u32::try_from(tokens).unwrap_or(u32::MAX);
        let scores = logits.into_iter().zip(lengths).zip(clipped);
        scores
            .map(|((logit, length), clipped)| {
                let clipped = (clipped > 0).then(|| count(clipped));
                PairScore::new(logit, count(length.unwrap_or(0)), clipped)
            })
            .collect()
    }

    /// Begins a text.
    pub(super) fn open(&mut self) {
        if self.bounds.is_empty() {
            self.bounds.push(0);
        }
    }

    /// Appends a token.
    pub(super) fn push(&mut self, id: u32, segment: u8) {
        self.ids.push(id);
        self.segments.push(segment);
    }

    /// Appends tokens.
    pub(super) fn extend(&mut self, tokens: &[(u32, u8)]) {
        tokens.iter().for_each(|&(id, segment)| self.push(id, segment));
    }

    /// Ends a text.
    pub(super) fn close(&mut self) {
        let start = self.bounds.last().copied().unwrap_or(0);
        self.close_attended(self.ids.len() - start);
    }

    /// Ends a text of which only the first `attended` tokens are attended to.
    pub(super) fn close_attended(&mut self, attended: usize) {
        self.bounds.push(self.ids.len());
        self.attended.push(attended);
    }
}

fn tokens_error(error: tokenizers::Error) -> RankError {
    RankError::Tokens { reason: error.to_string() }
}
