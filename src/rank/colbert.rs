//! Any late-interaction model from a folder, in the Stanford or the PyLate layout: an encoder with a projection, markers
//! for questions and passages, questions filled up with masks. Knows both layouts; nothing of what is compared.
//!
//! Khattab, Zaharia (2020), "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over
//! BERT", section 3.2.

use std::collections::HashSet;
use std::path::Path;

use candle_core::{Device, Tensor, bail};
use serde::Deserialize;

use super::config::read_json;
use super::encoder::{Encoder, Keep, Network};
use super::error::words;
use super::kernels::unit;
use super::modules::{Module, modules};
use super::tokenizer::{ModelTokenizer, Rows};
use super::weights::{Weights, sha256, sha256_of};
use super::{Gives, ModelId, Precision, RankError, Side, TextEncoder, TokenPiece, TokenVectors};

/// A late-interaction model, loaded.
pub struct ColBert {
    id: ModelId,
    tokenizer: ModelTokenizer,
    encoder: Box<dyn Encoder>,
    /// Applied one after the other; each out x in, without bias.
    projections: Vec<Tensor>,
    dim: usize,
    layout: Layout,
}

/// How texts are laid out for the encoder.
struct Layout {
    question_marker: u32,
    passage_marker: u32,
    /// Tokens of a question, specials and masks included.
    question_tokens: usize,
    /// Longest passage in tokens, specials included.
    passage_tokens: usize,
    /// What a question is filled up with; `None` when it is not.
    mask: Option<u32>,
    /// Whether the other tokens look at the masks.
    masks_attended: bool,
    /// Tokens of passages that get no vector: punctuation.
    skipped: HashSet<u32>,
}

/// `artifact.metadata`, the settings of the Stanford layout.
#[derive(Deserialize)]
struct Artifact {
    query_token_id: String,
    doc_token_id: String,
    query_maxlen: usize,
    doc_maxlen: usize,
    #[serde(default)]
    mask_punctuation: bool,
    #[serde(default)]
    attend_to_mask_tokens: bool,
    similarity: Option<String>,
}

/// `config_sentence_transformers.json`, the settings of the PyLate layout.
#[derive(Deserialize)]
struct PyLate {
    query_prefix: String,
    document_prefix: String,
    query_length: usize,
    document_length: usize,
    #[serde(default)]
    attend_to_expansion_tokens: bool,
    #[serde(default)]
    skiplist_words: Vec<String>,
    #[serde(default = "yes")]
    do_query_expansion: bool,
}

fn yes() -> bool {
    true
}

const SETTINGS: [&str; 2] = ["artifact.metadata", "config_sentence_transformers.json"];

impl ColBert {
    /// [`ColBert::load_as`], exact.
    ///
    /// # Errors
    /// As there.
    pub fn load(folder: &Path) -> Result<Self, RankError> {
        Self::load_as(folder, Precision::Exact)
    }

    /// Reads the model's folder. The name is the folder's.
    ///
    /// # Errors
    /// [`RankError::Read`], [`RankError::Model`] and [`RankError::Unsupported`] name the file.
    pub fn load_as(folder: &Path, precision: Precision) -> Result<Self, RankError> {
        let network = Network::load(folder, precision)?;
        let [stanford, pylate] = SETTINGS.map(|name| folder.join(name));
        let (tokenizer, longest) = (&network.tokenizer, network.max_tokens);
        let mut fingerprint = network.hash.clone();
        let (settings, projections, layout) = if stanford.exists() {
            let weights = folder.join("model.safetensors");
            let projection = network
                .weights
                .tensor("linear.weight")
                .map_err(|error| RankError::Model { path: weights, reason: words(&error) })?;
            (stanford.clone(), vec![projection], Layout::stanford(read_json(&stanford)?, tokenizer, longest))
        } else if pylate.exists() {
            let mut projections = Vec::new();
            for module in modules(folder)? {
                match module {
                    Module::Transformer => {}
                    Module::Dense(path) => {
                        projections.push(dense(&path)?);
                        fingerprint.push_str(&sha256_of(&path.join("model.safetensors"))?);
                    }
                    other => {
                        let reason = format!("{other} in a late-interaction model");
                        return Err(RankError::Unsupported { path: folder.join("modules.json"), reason });
                    }
                }
            }
            (pylate.clone(), projections, Layout::pylate(read_json(&pylate)?, tokenizer, longest))
        } else {
            let reason = "it has no settings of a late-interaction model beside it (artifact.metadata or \
                          config_sentence_transformers.json)"
                .to_owned();
            return Err(RankError::Unsupported { path: folder.join("config.json"), reason });
        };
        let layout = layout.map_err(|reason| RankError::Unsupported { path: settings.clone(), reason })?;
        let dim = width(network.encoder.hidden(), &projections)
            .map_err(|error| RankError::Model { path: folder.join("model.safetensors"), reason: words(&error) })?;
        let read = std::fs::read(&settings).map_err(|source| RankError::Read { path: settings, source })?;
        fingerprint.push_str(&sha256(&read));
        let id = ModelId { name: network.name, hash: sha256(fingerprint.as_bytes()), precision: network.precision };
        Ok(Self { id, tokenizer: network.tokenizer, encoder: network.encoder, projections, dim, layout })
    }

    /// A text as the encoder reads it.
    fn push(&self, side: Side, text: &[u32], rows: &mut Rows) -> usize {
        let layout = &self.layout;
        let (marker, limit) = match side {
            Side::Question => (layout.question_marker, layout.question_tokens),
            Side::Passage => (layout.passage_marker, layout.passage_tokens),
        };
        let kept = text.get(..self.tokenizer.room(limit).saturating_sub(1)).unwrap_or(text);
        let frame = self.tokenizer.single();
        rows.open();
        let start = rows.ids.len();
        // The marker stands behind the first special token.
        let (first, rest) = frame.before.split_at(1);
        rows.extend(first);
        rows.push(marker, 0);
        rows.extend(rest);
        kept.iter().for_each(|&id| rows.push(id, 0));
        rows.extend(&frame.after);
        let words = rows.ids.len() - start;
        match layout.mask {
            Some(mask) if side == Side::Question => {
                (words..limit).for_each(|_| rows.push(mask, 0));
                let attended = if layout.masks_attended { limit.max(words) } else { words };
                rows.close_attended(attended);
            }
            _ => rows.close(),
        }
        text.len() - kept.len()
    }

    /// Whether a token of a text gets a vector.
    fn has_vector(&self, side: Side, id: u32) -> bool {
        side == Side::Question || !self.layout.skipped.contains(&id)
    }

    /// The tokens of a text as the network reads them, markers and masks included.
    ///
    /// # Errors
    /// [`RankError::Tokens`].
    pub fn input(&self, side: Side, text: &str) -> Result<Vec<u32>, RankError> {
        let mut rows = Rows::default();
        self.push(side, &self.tokenizer.ids(text.trim())?, &mut rows);
        Ok(rows.ids)
    }
}

/// Numbers a vector behind all projections.
fn width(hidden: usize, projections: &[Tensor]) -> candle_core::Result<usize> {
    projections.iter().try_fold(hidden, |width, projection| match *projection.dims() {
        [out, input] if input == width && out > 0 => Ok(out),
        _ => bail!("its projection has shape {:?} where [_, {width}] was expected", projection.dims()),
    })
}

/// A projection of the PyLate layout.
fn dense(folder: &Path) -> Result<Tensor, RankError> {
    #[derive(Deserialize)]
    struct Settings {
        #[serde(default)]
        bias: bool,
        activation_function: Option<String>,
        #[serde(default)]
        use_residual: bool,
    }
    let path = folder.join("config.json");
    let settings: Settings = read_json(&path)?;
    let linear = settings.activation_function.as_deref().is_none_or(|name| name.ends_with(".Identity"));
    if settings.bias || settings.use_residual || !linear {
        let reason = "a projection with a bias, a residual or an activation".to_owned();
        return Err(RankError::Unsupported { path, reason });
    }
    let path = folder.join("model.safetensors");
    let tensor = Weights::open(&path)?.tensor("linear.weight");
    tensor.map_err(|error| RankError::Model { path, reason: words(&error) })
}

impl Layout {
    fn stanford(settings: Artifact, tokenizer: &ModelTokenizer, longest: usize) -> Result<Self, String> {
        if let Some(similarity) = settings.similarity.as_deref().filter(|similarity| *similarity != "cosine") {
            return Err(format!("similarity '{similarity}' instead of 'cosine'"));
        }
        let mut skipped = HashSet::new();
        if settings.mask_punctuation {
            for mark in ('!'..='~').filter(char::is_ascii_punctuation) {
                let ids = tokenizer.ids(mark.encode_utf8(&mut [0; 4])).map_err(|error| error.to_string())?;
                skipped.extend(ids.first());
            }
        }
        Ok(Self {
            question_marker: special(tokenizer, &settings.query_token_id)?,
            passage_marker: special(tokenizer, &settings.doc_token_id)?,
            question_tokens: settings.query_maxlen.min(longest),
            passage_tokens: settings.doc_maxlen.min(longest),
            mask: Some(mask(tokenizer)?),
            masks_attended: settings.attend_to_mask_tokens,
            skipped,
        })
    }

    fn pylate(settings: PyLate, tokenizer: &ModelTokenizer, longest: usize) -> Result<Self, String> {
        Ok(Self {
            question_marker: special(tokenizer, &settings.query_prefix)?,
            passage_marker: special(tokenizer, &settings.document_prefix)?,
            question_tokens: settings.query_length.min(longest),
            passage_tokens: settings.document_length.min(longest),
            mask: if settings.do_query_expansion { Some(mask(tokenizer)?) } else { None },
            masks_attended: settings.attend_to_expansion_tokens,
            skipped: settings.skiplist_words.iter().filter_map(|word| tokenizer.id(word)).collect(),
        })
    }
}

fn special(tokenizer: &ModelTokenizer, token: &str) -> Result<u32, String> {
    tokenizer.id(token).ok_or_else(|| format!("the marker '{token}', which its tokenizer does not know"))
}

fn mask(tokenizer: &ModelTokenizer) -> Result<u32, String> {
    let known = ["[MASK]", "<mask>"].into_iter().find_map(|token| tokenizer.id(token));
    known.ok_or_else(|| "questions filled up with masks, and its tokenizer has no mask token".to_owned())
}

impl TextEncoder for ColBert {
    fn model(&self) -> &ModelId {
        &self.id
    }

    fn max_tokens(&self) -> usize {
        self.layout.passage_tokens
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn gives(&self) -> Gives {
        Gives { tokens: true, sentence: false }
    }

    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, RankError> {
        let mut rows = Rows::default();
        let mut clipped = Vec::with_capacity(texts.len());
        for text in texts {
            clipped.push(self.push(side, &self.tokenizer.ids(text.trim())?, &mut rows));
        }
        if rows.ids.is_empty() {
            return Ok(Vec::new());
        }
        let states = self.encoder.forward(&rows, Keep::All)?;
        let mut projected = Tensor::from_vec(states, (rows.ids.len(), self.encoder.hidden()), &Device::Cpu)?;
        for projection in &self.projections {
            projected = projected.matmul(&projection.t()?)?;
        }
        let projected: Vec<f32> = projected.flatten_all()?.to_vec1()?;
        let one = |(bounds, clipped): (&[usize], usize)| {
            let mut vectors = Vec::new();
            if let &[start, end] = bounds {
                let ids = rows.ids.get(start..end).unwrap_or_default();
                let own = projected.get(start * self.dim..end * self.dim).unwrap_or_default();
                for (row, _) in own.chunks_exact(self.dim).zip(ids).filter(|(_, id)| self.has_vector(side, **id)) {
                    let from = vectors.len();
                    vectors.extend_from_slice(row);
                    vectors.get_mut(from..).into_iter().for_each(unit);
                }
            }
            TokenVectors {
                dim: self.dim,
                tokens: vectors.len() / self.dim,
                vectors,
                sentence: vec![0.0; self.dim],
                clipped: u32::try_from(clipped).unwrap_or(u32::MAX),
            }
        };
        Ok(rows.bounds.windows(2).zip(clipped).map(one).collect())
    }

    fn tokens(&self, side: Side, text: &str) -> Result<Vec<TokenPiece>, RankError> {
        let mut rows = Rows::default();
        let from = text.len() - text.trim_start().len();
        let pieces = self.tokenizer.pieces(text.trim())?;
        let ids: Vec<u32> = pieces.iter().map(|piece| piece.id).collect();
        let words = ids.len() - self.push(side, &ids, &mut rows);
        let before = self.tokenizer.single().before.len() + 1;
        let piece = |(at, id): (usize, &u32)| match at.checked_sub(before).filter(|word| *word < words) {
            Some(word) => pieces.get(word).map(|piece| TokenPiece {
                start: piece.start + from,
                end: piece.end + from,
                ..piece.clone()
            }),
            None => Some(self.tokenizer.special(*id)),
        };
        Ok(rows.ids.iter().enumerate().filter(|(_, id)| self.has_vector(side, **id)).filter_map(piece).collect())
    }

    fn count_tokens(&self, text: &str) -> Result<usize, RankError> {
        Ok(self.tokenizer.ids(text)?.len())
    }
}
