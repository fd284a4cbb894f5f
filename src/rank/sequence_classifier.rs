//! Any cross-encoder from a model's folder: an encoder with a head of one output. Knows heads and how a pair is cut to
//! fit; nothing of where passages come from.

use std::path::Path;

use candle_core::{Device, Tensor, bail};

use super::bert::{Linear, with_slice};
use super::config::{Family, read_json_if_there};
use super::encoder::{Encoder, Keep, Network};
use super::error::words;
use super::kernels::{Norm, dot, gelu};
use super::tokenizer::{ModelTokenizer, Rows};
use super::weights::Weights;
use super::{CrossEncoder, ModelId, PairScore, RankError};

/// Tokens that a passage keeps even beside a question that fills the model.
const LEAST_PASSAGE_TOKENS: usize = 16;
/// Longest pair in tokens whatever the model claims: attention grows with the square.
const MAX_TOKENS: usize = 2048;

/// A cross-encoder, loaded.
pub struct SequenceClassifier {
    id: ModelId,
    max_tokens: usize,
    tokenizer: ModelTokenizer,
    encoder: Box<dyn Encoder>,
    head: Head,
}

/// From the hidden states of a pair to its logit: pool, dense layer, activation, maybe a norm, one output.
struct Head {
    pooling: Pooling,
    /// Weight hidden x hidden, bias hidden.
    dense: Linear,
    activation: Activation,
    norm: Option<(Norm, f32)>,
    /// One number a hidden unit.
    output: Vec<f32>,
    output_bias: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pooling {
    First,
    Mean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activation {
    Tanh,
    Gelu,
}

impl SequenceClassifier {
    /// Reads `config.json`, `tokenizer.json` and `model.safetensors` from the model's folder. The name is the folder's.
    ///
    /// # Errors
    /// [`RankError::Read`], [`RankError::Model`] and [`RankError::Unsupported`] name the file.
    pub fn load(folder: &Path) -> Result<Self, RankError> {
        let network = Network::load(folder)?;
        let config_path = folder.join("config.json");
        let weights_path = folder.join("model.safetensors");
        let head = Head::load(&network).map_err(|error| match error {
            HeadError::Unsupported(reason) => RankError::Unsupported { path: config_path, reason },
            HeadError::Weights(error) => RankError::Model { path: weights_path, reason: words(&error) },
        })?;
        let tokenizer = ModelTokenizer::load(&folder.join("tokenizer.json"))?;
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self {
            id: ModelId { name, hash: network.hash },
            max_tokens: longest(folder, network.config.positions())?.min(MAX_TOKENS),
            tokenizer,
            encoder: network.encoder,
            head,
        })
    }

    /// The tokens of a pair as the network reads them, and their segments.
    ///
    /// # Errors
    /// [`RankError::Tokens`].
    pub fn input(&self, question: &str, passage: &str) -> Result<(Vec<u32>, Vec<u8>), RankError> {
        let mut rows = Rows::default();
        let (question, passage) = (self.tokenizer.ids(question)?, self.tokenizer.ids(passage)?);
        self.tokenizer.push_pair(&question, &passage, self.max_tokens, LEAST_PASSAGE_TOKENS, &mut rows);
        Ok((rows.ids, rows.segments))
    }

    /// The same model with a lower limit of tokens a pair, specials included.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: usize) -> Self {
        self.max_tokens = self.max_tokens.min(max_tokens);
        self
    }
}

/// Longest input that the tokenizer's settings allow, at most what positions reach.
pub(super) fn longest(folder: &Path, positions: usize) -> Result<usize, RankError> {
    #[derive(serde::Deserialize)]
    struct Settings {
        /// A huge number stands for "no limit".
        model_max_length: Option<f64>,
    }
    let settings: Option<Settings> = read_json_if_there(&folder.join("tokenizer_config.json"))?;
    let limit = settings.and_then(|settings| settings.model_max_length).unwrap_or(f64::MAX);
    Ok(if limit < positions as f64 { limit as usize } else { positions })
}

enum HeadError {
    Unsupported(String),
    Weights(candle_core::Error),
}

impl From<candle_core::Error> for HeadError {
    fn from(error: candle_core::Error) -> Self {
        Self::Weights(error)
    }
}

impl Head {
    fn load(network: &Network) -> Result<Self, HeadError> {
        let (config, weights) = (&network.config, &network.weights);
        let labels = config.labels();
        if labels != 1 {
            return Err(HeadError::Unsupported(format!("{labels} outputs; a reranker has one")));
        }
        let (dense, output) = match network.family {
            Family::Bert => ("bert.pooler.dense", "classifier"),
            Family::Roberta => ("classifier.dense", "classifier.out_proj"),
            Family::DebertaV2 => ("pooler.dense", "classifier"),
            Family::ModernBert => ("head.dense", "classifier"),
        };
        let activation = match (network.family, config.pooler_hidden_act.as_deref()) {
            (Family::Bert | Family::Roberta, _) | (Family::DebertaV2, Some("tanh")) => Activation::Tanh,
            (Family::ModernBert, _) | (Family::DebertaV2, None | Some("gelu")) => Activation::Gelu,
            (Family::DebertaV2, Some(other)) => {
                return Err(HeadError::Unsupported(format!("activation '{other}' in its pooler")));
            }
        };
        let pooling = match config.classifier_pooling.as_deref() {
            Some("mean") if network.family == Family::ModernBert => Pooling::Mean,
            _ => Pooling::First,
        };
        let norm = (network.family == Family::ModernBert)
            .then(|| -> candle_core::Result<_> {
                let weight = weights.numbers("head.norm.weight")?;
                let bias = vec![0.0; weight.len()];
                Ok((Norm { weight, bias }, config.eps() as f32))
            })
            .transpose()?;
        let hidden = config.hidden_size;
        let output_weight = weights.shaped(&format!("{output}.weight"), &[1, hidden])?;
        let bias = |weights: &Weights<'_>, name: &str, length: usize| match weights.has(name) {
            true => weights.shaped(name, &[length])?.to_vec1(),
            false => Ok(vec![0.0; length]),
        };
        Ok(Self {
            pooling,
            dense: Linear {
                weight: weights.shaped(&format!("{dense}.weight"), &[hidden, hidden])?,
                bias: bias(weights, &format!("{dense}.bias"), hidden)?,
            },
            activation,
            norm,
            output: output_weight.flatten_all().and_then(|output| output.to_vec1())?,
            output_bias: bias(weights, &format!("{output}.bias"), 1)?.into_iter().sum(),
        })
    }

    /// Which rows the pooling needs.
    fn keep(&self) -> Keep {
        if self.pooling == Pooling::First { Keep::First } else { Keep::All }
    }

    /// Logits, one a pair, from the rows that [`Head::keep`] asked for.
    fn logits(&self, states: Vec<f32>, rows: &Rows, hidden: usize) -> candle_core::Result<Vec<f32>> {
        let pairs = rows.len();
        let pooled = match self.pooling {
            Pooling::First => states,
            Pooling::Mean => rows.bounds.windows(2).flat_map(|pair| mean(&states, pair, hidden)).collect(),
        };
        if pooled.len() != pairs * hidden {
            bail!("the encoder gave {} numbers for {pairs} pairs", pooled.len());
        }
        let dense = Tensor::from_vec(pooled, (pairs, hidden), &Device::Cpu)?.matmul(&self.dense.weight.t()?)?;
        with_slice(&dense, |dense| {
            let logit = |row: &[f32]| {
                let mut row: Vec<f32> = row.iter().zip(&self.dense.bias).map(|(x, b)| x + b).collect();
                for x in &mut row {
                    *x = match self.activation {
                        Activation::Tanh => x.tanh(),
                        Activation::Gelu => gelu(*x),
                    };
                }
                if let Some((norm, eps)) = &self.norm {
                    norm.apply(&mut row, *eps);
                }
                dot(&row, &self.output) + self.output_bias
            };
            Ok(dense.chunks_exact(hidden).map(logit).collect())
        })
    }
}

/// Mean of the rows between two bounds.
pub(super) fn mean(states: &[f32], bounds: &[usize], hidden: usize) -> Vec<f32> {
    let mut mean = vec![0.0; hidden];
    let &[start, end] = bounds else { return mean };
    for row in states.get(start * hidden..end * hidden).unwrap_or_default().chunks_exact(hidden) {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    mean.iter_mut().for_each(|sum| *sum /= (end - start).max(1) as f32);
    mean
}

impl CrossEncoder for SequenceClassifier {
    fn model(&self) -> &ModelId {
        &self.id
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<PairScore>, RankError> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let question = self.tokenizer.ids(question)?;
        let mut rows = Rows::default();
        let mut clipped = Vec::with_capacity(passages.len());
        for passage in passages {
            let ids = self.tokenizer.ids(passage)?;
            clipped.push(self.tokenizer.push_pair(&question, &ids, self.max_tokens, LEAST_PASSAGE_TOKENS, &mut rows));
        }
        let states = self.encoder.forward(&rows, self.head.keep())?;
        let logits = self.head.logits(states, &rows, self.encoder.hidden())?;
        Ok(rows.pair_scores(logits, clipped))
    }
}
