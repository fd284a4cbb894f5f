//! Any cross-encoder from a model's folder: an encoder with a head of one output. Knows heads and how a pair is cut to
//! fit; nothing of where passages come from.

use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Tensor, bail};

use super::bert::{Linear, with_slice};
use super::config::Family;
use super::encoder::{Encoder, Keep, Network};
use super::error::words;
use super::kernels::{Norm, dot, gelu, mean};
use super::tokenizer::{ModelTokenizer, Rows};
use super::{CrossEncoder, ModelId, PairScore, PairTokens, Precision, RankError};

/// Tokens that a passage keeps even beside a question that fills the model.
const LEAST_PASSAGE_TOKENS: usize = 16;
/// Longest pair in tokens whatever the model claims: attention grows with the square.
const MAX_TOKENS: usize = 2048;

/// A cross-encoder, loaded.
pub struct SequenceClassifier {
    pub(super) id: ModelId,
    pub(super) max_tokens: usize,
    pub(super) tokenizer: Arc<ModelTokenizer>,
    pub(super) encoder: Box<dyn Encoder>,
    pub(super) head: Head,
}

/// From the hidden states of a pair to its logit: pool, dense layer, activation, maybe a norm, one output.
pub(super) struct Head {
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
    /// [`SequenceClassifier::load_as`], exact.
    ///
    /// # Errors
    /// As there.
    pub fn load(folder: &Path) -> Result<Self, RankError> {
        Self::load_as(folder, Precision::Exact)
    }

    /// Reads `config.json`, `tokenizer.json` and `model.safetensors` from the model's folder. The name is the folder's.
    ///
    /// # Errors
    /// [`RankError::Read`], [`RankError::Model`] and [`RankError::Unsupported`] name the file.
    pub fn load_as(folder: &Path, precision: Precision) -> Result<Self, RankError> {
        let network = Network::load(folder, precision)?;
        let config_path = folder.join("config.json");
        let weights_path = folder.join("model.safetensors");
        let head = Head::load(&network).map_err(|error| match error {
            HeadError::Unsupported(reason) => RankError::Unsupported { path: config_path, reason },
            HeadError::Weights(error) => RankError::Model { path: weights_path, reason: words(&error) },
        })?;
        Ok(Self {
            id: ModelId { name: network.name, hash: network.hash, precision: network.precision },
            max_tokens: network.max_tokens.min(MAX_TOKENS),
            tokenizer: Arc::new(network.tokenizer),
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
    /// BERT's: the first token, a dense layer with tanh, one output.
    pub(super) fn bert(dense: Linear, output: Vec<f32>, output_bias: f32) -> Self {
        Self { pooling: Pooling::First, dense, activation: Activation::Tanh, norm: None, output, output_bias }
    }

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
        let bias = |name: &str, length: usize| match weights.has(name) {
            true => weights.shaped(name, &[length])?.to_vec1(),
            false => Ok(vec![0.0; length]),
        };
        Ok(Self {
            pooling,
            dense: Linear {
                weight: weights.shaped(&format!("{dense}.weight"), &[hidden, hidden])?,
                bias: bias(&format!("{dense}.bias"), hidden)?,
            },
            activation,
            norm,
            output: output_weight.flatten_all().and_then(|output| output.to_vec1())?,
            output_bias: bias(&format!("{output}.bias"), 1)?.into_iter().sum(),
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

    fn tokens(&self, question: &str, passage: &str) -> Result<PairTokens, RankError> {
        PairTokens::new(&self.tokenizer, question, passage, self.max_tokens, LEAST_PASSAGE_TOKENS)
    }
}
