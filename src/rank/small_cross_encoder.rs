//! memsift's small cross-encoder: an adapter that is part of the program, merged into all-MiniLM-L6-v2. Knows the
//! adapter's format and its base; nothing of where passages come from.
//!
//! How it was made and how good it is: `small_cross_encoder/CARD.md`. The recipe lies beside it.

use std::sync::Arc;

use candle_core::{Tensor, bail};

use super::bert::{ATTENTION, Layer, Linear, linear_names};
use super::error::words;
use super::kernels::Norm;
use super::minilm::MiniLm;
use super::sequence_classifier::{Head, SequenceClassifier};
use super::weights::{Weights, sha256};
use super::{CrossEncoder, ModelId, PairScore, PairTokens, RankError, TextEncoder};

/// The adapter: LoRA matrices, layer norms and the scoring head, f16.
static ADAPTER: &[u8] = include_bytes!("small_cross_encoder/small-cross-encoder.safetensors");

/// The model, loaded. It shares the embeddings (half of the weights) with the encoder it was built on.
pub struct SmallCrossEncoder(SequenceClassifier);

impl SmallCrossEncoder {
    /// Merges the adapter into a loaded base, at the base's precision.
    ///
    /// # Errors
    /// [`RankError::WrongBase`] when the base has other weights than the adapter was trained on,
    /// [`RankError::Adapter`] when the adapter in the program is damaged.
    pub fn on(base: &MiniLm) -> Result<Self, RankError> {
        let damaged = |reason: String| RankError::Adapter { reason };
        let adapter = Weights::of(ADAPTER).map_err(|error| damaged(words(&error)))?;
        let metadata = adapter.metadata();
        let number = |key: &str| metadata.get(key).and_then(|value| value.parse::<u32>().ok());
        let (Some(rank), Some(alpha), Some(max), Some(wanted)) =
            (number("lora_rank"), number("lora_alpha"), number("max_length"), metadata.get("base_sha256"))
        else {
            return Err(damaged("its description is incomplete".to_owned()));
        };
        if *wanted != base.model().hash {
            return Err(RankError::WrongBase { wanted: wanted.clone(), found: base.model().hash.clone() });
        }
        let scale = f64::from(alpha) / f64::from(rank);
        let hash = sha256(format!("{wanted} {}", sha256(ADAPTER)).as_bytes());
        let id = ModelId { name: "small-cross-encoder".to_owned(), hash, precision: base.model().precision };
        Self::merge(base, &adapter, id, scale, max as usize).map_err(|error| damaged(words(&error)))
    }

    fn merge(
        base: &MiniLm,
        adapter: &Weights<'_>,
        id: ModelId,
        scale: f64,
        max_tokens: usize,
    ) -> candle_core::Result<Self> {
        let norm = |name: String| -> candle_core::Result<Norm> {
            let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
            Ok(Norm { weight: adapter.numbers(&weight)?, bias: adapter.numbers(&bias)? })
        };
        // W + scale B A, for matrices that lie below each other in one.
        let merged = |linear: &Linear, names: &[String]| -> candle_core::Result<Linear> {
            let mut deltas = Vec::with_capacity(names.len());
            for name in names {
                let b = adapter.tensor(&format!("{name}.lora_B"))?;
                deltas.push(b.matmul(&adapter.tensor(&format!("{name}.lora_A"))?)?);
            }
            let weight = (&linear.weight + (Tensor::cat(&deltas, 0)? * scale)?)?;
            Ok(Linear { weight, bias: linear.bias.clone() })
        };
        let layer = |(i, layer): (usize, &Layer)| -> candle_core::Result<Layer> {
            let [qkv @ .., attention_out, up, down] = &linear_names(i, ATTENTION);
            Ok(Layer {
                attention: merged(&layer.attention, qkv)?,
                attention_out: merged(&layer.attention_out, std::slice::from_ref(attention_out))?,
                attention_norm: norm(format!("encoder.layer.{i}.attention.output.LayerNorm"))?,
                up: merged(&layer.up, std::slice::from_ref(up))?,
                down: merged(&layer.down, std::slice::from_ref(down))?,
                output_norm: norm(format!("encoder.layer.{i}.output.LayerNorm"))?,
                relative: None,
            })
        };
        let layers = base.bert.layers.iter().enumerate().map(layer).collect::<candle_core::Result<Vec<_>>>()?;
        let &[classifier_bias] = adapter.numbers("classifier.bias")?.as_slice() else {
            bail!("its head has more than one output");
        };
        let pooler =
            Linear { weight: adapter.tensor("pooler.dense.weight")?, bias: adapter.numbers("pooler.dense.bias")? };
        Ok(Self(SequenceClassifier {
            id,
            max_tokens,
            tokenizer: Arc::clone(&base.tokenizer),
            encoder: base.bert.with_layers(layers).at(base.model().precision)?,
            head: Head::bert(pooler, adapter.numbers("classifier.weight")?, classifier_bias),
        }))
    }
}

impl CrossEncoder for SmallCrossEncoder {
    fn model(&self) -> &ModelId {
        self.0.model()
    }

    fn max_tokens(&self) -> usize {
        self.0.max_tokens()
    }

    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<PairScore>, RankError> {
        self.0.score(question, passages)
    }

    fn tokens(&self, question: &str, passage: &str) -> Result<PairTokens, RankError> {
        self.0.tokens(question, passage)
    }
}
