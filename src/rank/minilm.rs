//! all-MiniLM-L6-v2 as a token encoder: token vectors for late interaction and a sentence vector. Knows one model
//! folder; nothing of passages' origin.

use std::path::Path;
use std::sync::Arc;

use super::bert::Bert;
use super::config::{Config, Family};
use super::encoder::{Encoder, Keep, folder_name, naming};
use super::error::words;
use super::kernels::unit;
use super::packed::PackedBert;
use super::tokenizer::{ModelTokenizer, Rows};
use super::weights::{Weights, sha256_of, weights_file};
use super::{Gives, ModelId, Precision, RankError, Side, TextEncoder, TokenPiece, TokenVectors};

/// Longest text in tokens, specials included: what the model's sentence vectors were trained with.
const MAX_TOKENS: usize = 256;

/// The model, loaded.
pub struct MiniLm {
    id: ModelId,
    max_tokens: usize,
    pub(super) tokenizer: Arc<ModelTokenizer>,
    /// What an adapter builds on, whatever the precision.
    pub(super) bert: Bert,
    packed: Option<PackedBert>,
}

impl MiniLm {
    /// [`MiniLm::load_as`], exact.
    ///
    /// # Errors
    /// As there.
    pub fn load(folder: &Path) -> Result<Self, RankError> {
        Self::load_as(folder, Precision::Exact)
    }

    /// Reads `model.safetensors`, `tokenizer.json` and `config.json` from the model's folder.
    ///
    /// # Errors
    /// [`RankError::Read`], [`RankError::Model`] and [`RankError::Unsupported`] name the file.
    pub fn load_as(folder: &Path, precision: Precision) -> Result<Self, RankError> {
        let config = Config::load(folder)?;
        let tokenizer = ModelTokenizer::load(&folder.join("tokenizer.json"))?;
        let path = weights_file(folder)?;
        let read = || {
            Bert::load(&config, &Weights::open(&path)?, &naming(&config, Family::Bert))
                .map_err(|error| RankError::Model { path: path.clone(), reason: words(&error) })
        };
        let (bert, hash) = rayon::join(read, || sha256_of(&path));
        let bert = bert?;
        let packed = (precision == Precision::Fast)
            .then(|| PackedBert::of(bert.clone()))
            .transpose()
            .map_err(|error| RankError::Model { path: path.clone(), reason: words(&error) })?;
        let id = ModelId { name: folder_name(folder), hash: hash?, precision };
        let max_tokens = MAX_TOKENS.min(config.max_position_embeddings);
        Ok(Self { id, max_tokens, tokenizer: Arc::new(tokenizer), bert, packed })
    }
}

impl TextEncoder for MiniLm {
    fn model(&self) -> &ModelId {
        &self.id
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn dim(&self) -> usize {
        self.bert.hidden()
    }

    fn gives(&self) -> Gives {
        Gives { tokens: true, sentence: true }
    }

    fn encode(&self, _: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, RankError> {
        let mut rows = Rows::default();
        let mut clipped = Vec::with_capacity(texts.len());
        for text in texts {
            let ids = self.tokenizer.ids(text)?;
            clipped.push(self.tokenizer.push_single(&ids, self.max_tokens, &mut rows));
        }
        let hidden = match &self.packed {
            Some(packed) => packed.forward(&rows, Keep::All)?,
            None => self.bert.forward(&rows, Keep::All)?,
        };
        let dim = self.dim();
        let texts = rows.bounds.windows(2).zip(clipped);
        Ok(texts
            .map(|(bounds, clipped)| {
                let &[start, end] = bounds else { return pooled(&[], dim, clipped) };
                pooled(hidden.get(start * dim..end * dim).unwrap_or_default(), dim, clipped)
            })
            .collect())
    }

    fn tokens(&self, _: Side, text: &str) -> Result<Vec<TokenPiece>, RankError> {
        let mut pieces = self.tokenizer.pieces(text)?;
        pieces.truncate(self.tokenizer.room(self.max_tokens));
        Ok(pieces)
    }

    fn count_tokens(&self, text: &str) -> Result<usize, RankError> {
        Ok(self.tokenizer.ids(text)?.len())
    }
}

/// Vectors of one text from its hidden states: mean of all rows, and the rows between the specials.
fn pooled(hidden: &[f32], dim: usize, clipped: usize) -> TokenVectors {
    let mut sentence = vec![0.0; dim];
    for row in hidden.chunks_exact(dim) {
        sentence.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    // The length of the sum does not matter once it is made a unit vector.
    unit(&mut sentence);
    let inner = hidden.len().checked_sub(dim).and_then(|end| hidden.get(dim..end)).unwrap_or_default();
    let mut vectors = inner.to_vec();
    vectors.chunks_exact_mut(dim).for_each(unit);
    let clipped = u32::try_from(clipped).unwrap_or(u32::MAX);
    TokenVectors { dim, tokens: vectors.len() / dim, vectors, sentence, clipped }
}
