//! The encoder of ModernBERT, through candle's own layers, a text at a time. Knows weights and token ids; nothing of
//! texts or scores.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::modernbert;

use super::config::Config;
use super::encoder::{Encoder, Keep};
use super::tokenizer::Rows;
use super::weights::Weights;

/// The encoder.
pub(super) struct ModernBert {
    network: modernbert::ModernBert,
    hidden: usize,
}

impl ModernBert {
    /// Takes the encoder out of a weights file, with or without a head beside it.
    pub(super) fn load(config: &Config, weights: &Weights<'_>) -> candle_core::Result<Self> {
        let mut tensors = HashMap::new();
        for name in weights.names() {
            let bare = name.strip_prefix("model.").unwrap_or(name);
            if ["embeddings.", "layers.", "final_norm."].iter().any(|part| bare.starts_with(part)) {
                tensors.insert(format!("model.{bare}"), weights.tensor(bare)?);
            }
        }
        let (global_rope_theta, local_rope_theta) = config.rope_thetas();
        let settings = modernbert::Config {
            vocab_size: config.vocab_size,
            hidden_size: config.hidden_size,
            num_hidden_layers: config.num_hidden_layers,
            num_attention_heads: config.num_attention_heads,
            intermediate_size: config.intermediate_size,
            max_position_embeddings: config.max_position_embeddings,
            layer_norm_eps: config.eps(),
            pad_token_id: config.pad_token_id.unwrap_or(0),
            global_attn_every_n_layers: config.global_attn_every_n_layers.unwrap_or(3),
            global_rope_theta,
            local_attention: config.local_attention.unwrap_or(128),
            local_rope_theta,
            classifier_config: None,
        };
        let tensors = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
        Ok(Self { network: modernbert::ModernBert::load(tensors, &settings)?, hidden: config.hidden_size })
    }
}

impl Encoder for ModernBert {
    fn hidden(&self) -> usize {
        self.hidden
    }

    fn forward(&self, rows: &Rows, keep: Keep) -> candle_core::Result<Vec<f32>> {
        let mut out = Vec::new();
        for (text, attended) in rows.bounds.windows(2).zip(&rows.attended) {
            let &[start, end] = text else { continue };
            let ids = Tensor::new(rows.ids.get(start..end).unwrap_or_default(), &Device::Cpu)?.unsqueeze(0)?;
            let mask: Vec<u32> = (0..end - start).map(|at| u32::from(at < *attended)).collect();
            let mask = Tensor::new(mask, &Device::Cpu)?.unsqueeze(0)?;
            let states: Vec<f32> = self.network.forward(&ids, &mask)?.flatten_all()?.to_vec1()?;
            let kept = if keep == Keep::All { states.len() } else { self.hidden };
            out.extend_from_slice(states.get(..kept).unwrap_or(&states));
        }
        Ok(out)
    }
}
