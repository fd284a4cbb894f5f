//! Reads weights and their configuration from a model's folder. Knows file formats; not what is computed with them.

use std::path::Path;

use candle_core::safetensors::SliceSafetensors;
use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::RankError;

/// The part of `config.json` that a BERT encoder needs.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Config {
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub layer_norm_eps: f64,
    pub max_position_embeddings: usize,
    hidden_act: String,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

impl Config {
    /// Reads `config.json` and refuses what would be computed wrongly.
    pub(super) fn load(path: &Path) -> Result<Self, RankError> {
        let bytes = std::fs::read(path).map_err(|source| RankError::Read { path: path.to_owned(), source })?;
        let config: Self = serde_json::from_slice(&bytes)
            .map_err(|error| RankError::Model { path: path.to_owned(), reason: error.to_string() })?;
        let refuse = |reason: String| Err(RankError::Unsupported { path: path.to_owned(), reason });
        if config.hidden_act != "gelu" {
            return refuse(format!("activation '{}' instead of 'gelu'", config.hidden_act));
        }
        if let Some(kind) = config.position_embedding_type.as_deref().filter(|kind| *kind != "absolute") {
            return refuse(format!("positions '{kind}' instead of 'absolute'"));
        }
        let heads = config.num_attention_heads;
        if heads == 0 || !config.hidden_size.is_multiple_of(heads) {
            return refuse(format!("{} numbers a token in {heads} heads", config.hidden_size));
        }
        Ok(config)
    }
}

/// A safetensors file in memory. It is read whole and copied out tensor by tensor: mapping it would need `unsafe`.
pub(super) struct Weights<'a> {
    tensors: SliceSafetensors<'a>,
}

impl<'a> Weights<'a> {
    /// Reads the table of contents.
    pub(super) fn new(bytes: &'a [u8]) -> candle_core::Result<Self> {
        Ok(Self { tensors: SliceSafetensors::new(bytes)? })
    }

    /// One tensor, converted to f32.
    pub(super) fn tensor(&self, name: &str) -> candle_core::Result<Tensor> {
        self.tensors.load(name, &Device::Cpu)?.to_dtype(DType::F32)
    }

    /// The numbers of one tensor, row-major.
    pub(super) fn numbers(&self, name: &str) -> candle_core::Result<Vec<f32>> {
        self.tensor(name)?.flatten_all()?.to_vec1()
    }
}

/// The `__metadata__` of a safetensors file, by key.
pub(super) fn metadata(bytes: &[u8]) -> Option<std::collections::HashMap<String, String>> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let header = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let mut header: serde_json::Value = serde_json::from_slice(header).ok()?;
    serde_json::from_value(header.get_mut("__metadata__")?.take()).ok()
}

/// SHA-256 of some bytes, lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    crate::models::hex(&Sha256::digest(bytes))
}
