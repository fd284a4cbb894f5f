//! What a model's `config.json` says of its network. Knows the file and its defaults; computes nothing.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::RankError;

/// Families of encoders that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// BERT, MiniLM, and what was trained from them (bge, e5, gte, answerai-colbert).
    Bert,
    /// XLM-RoBERTa and RoBERTa: BERT's layers with other positions.
    Roberta,
    /// DeBERTa-v2 and -v3.
    DebertaV2,
    /// ModernBERT.
    ModernBert,
}

impl Family {
    /// Before the names of the encoder's tensors, in a file that holds more than the encoder.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Bert => "bert.",
            Self::Roberta => "roberta.",
            Self::DebertaV2 => "deberta.",
            Self::ModernBert => "model.",
        }
    }
}

/// The part of `config.json` that an encoder and its head need; each family reads its own fields.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Config {
    model_type: String,
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub intermediate_size: usize,
    pub vocab_size: usize,
    pub max_position_embeddings: usize,
    layer_norm_eps: Option<f64>,
    norm_eps: Option<f64>,
    hidden_act: Option<String>,
    hidden_activation: Option<String>,
    position_embedding_type: Option<String>,
    pub pad_token_id: Option<u32>,
    pub type_vocab_size: Option<usize>,
    id2label: Option<serde_json::Map<String, serde_json::Value>>,
    // DeBERTa
    #[serde(default)]
    pub relative_attention: bool,
    pub position_buckets: Option<i64>,
    pub max_relative_positions: Option<i64>,
    #[serde(default)]
    pub share_att_key: bool,
    pub pos_att_type: Option<Names>,
    pub position_biased_input: Option<bool>,
    pub norm_rel_ebd: Option<String>,
    conv_kernel_size: Option<usize>,
    embedding_size: Option<usize>,
    pub pooler_hidden_act: Option<String>,
    // ModernBERT
    pub global_attn_every_n_layers: Option<usize>,
    pub local_attention: Option<usize>,
    global_rope_theta: Option<f64>,
    local_rope_theta: Option<f64>,
    rope_parameters: Option<serde_json::Value>,
    pub classifier_pooling: Option<String>,
}

/// Names in one string or a list: both are in use.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Names {
    Joined(String),
    List(Vec<String>),
}

impl Names {
    /// Whether a name is among them.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Joined(names) => names.split('|').any(|one| one.trim() == name),
            Self::List(names) => names.iter().any(|one| one == name),
        }
    }
}

impl Config {
    /// Reads `config.json` of a model's folder and refuses what would be computed wrongly.
    pub(super) fn load(folder: &Path) -> Result<Self, RankError> {
        let path = folder.join("config.json");
        let config: Self = read_json(&path)?;
        match config.check() {
            Ok(()) => Ok(config),
            Err(reason) => Err(RankError::Unsupported { path, reason }),
        }
    }

    /// Which family it is of; checked when it was read.
    pub(super) fn family(&self) -> Result<Family, String> {
        match self.model_type.as_str() {
            "bert" => Ok(Family::Bert),
            "xlm-roberta" | "roberta" => Ok(Family::Roberta),
            "deberta-v2" => Ok(Family::DebertaV2),
            "modernbert" => Ok(Family::ModernBert),
            other => Err(format!(
                "architecture '{other}'; those it runs are bert, roberta, xlm-roberta, deberta-v2 and modernbert"
            )),
        }
    }

    fn check(&self) -> Result<(), String> {
        let family = self.family()?;
        let act = self.hidden_act.as_deref().or(self.hidden_activation.as_deref()).unwrap_or("gelu");
        if act != "gelu" {
            return Err(format!("activation '{act}' instead of 'gelu'"));
        }
        if let Some(kind) = self.position_embedding_type.as_deref().filter(|kind| *kind != "absolute") {
            return Err(format!("positions '{kind}' instead of 'absolute'"));
        }
        let heads = self.num_attention_heads;
        if heads == 0 || !self.hidden_size.is_multiple_of(heads) {
            return Err(format!("{} numbers a token in {heads} heads", self.hidden_size));
        }
        if family == Family::DebertaV2 {
            if self.conv_kernel_size.is_some_and(|size| size > 0) {
                return Err("a convolution after the first layer".to_owned());
            }
            if self.embedding_size.is_some_and(|size| size != self.hidden_size) {
                return Err("embeddings of another width than its layers".to_owned());
            }
            if let Some(norm) = self.norm_rel_ebd.as_deref().filter(|norm| !matches!(*norm, "none" | "layer_norm")) {
                return Err(format!("norm_rel_ebd '{norm}'"));
            }
        }
        if family == Family::ModernBert && self.global_attn_every_n_layers == Some(0) {
            return Err("global attention every 0 layers".to_owned());
        }
        Ok(())
    }

    /// Added to the variance in every layer norm.
    pub(super) fn eps(&self) -> f64 {
        let family = match self.family() {
            Ok(Family::ModernBert) => 1e-5,
            Ok(Family::DebertaV2) => 1e-7,
            _ => 1e-12,
        };
        self.norm_eps.or(self.layer_norm_eps).unwrap_or(family)
    }

    /// Outputs of a classifier head, as far as the file says: transformers' default is 2.
    pub(super) fn labels(&self) -> usize {
        self.id2label.as_ref().map_or(2, serde_json::Map::len)
    }

    /// Added to every position: RoBERTa counts from behind the padding token's id.
    pub(super) fn first_position(&self) -> usize {
        match self.family() {
            Ok(Family::Roberta) => self.pad_token_id.unwrap_or(1) as usize + 1,
            _ => 0,
        }
    }

    /// Tokens that the positions reach.
    pub(super) fn positions(&self) -> usize {
        self.max_position_embeddings.saturating_sub(self.first_position())
    }

    /// Base of the rotary embedding of layers with global and with local attention. Older files name two fields, newer
    /// ones a table by kind of layer.
    pub(super) fn rope_thetas(&self) -> (f64, f64) {
        let of = |kind: &str| self.rope_parameters.as_ref()?.get(kind)?.get("rope_theta")?.as_f64();
        (
            self.global_rope_theta.or_else(|| of("full_attention")).unwrap_or(160_000.0),
            self.local_rope_theta.or_else(|| of("sliding_attention")).unwrap_or(10_000.0),
        )
    }
}

/// Reads a JSON file of a model's folder.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, RankError> {
    let bytes = std::fs::read(path).map_err(|source| RankError::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| RankError::Model { path: path.to_owned(), reason: error.to_string() })
}

/// Reads a JSON file that a folder may lack.
pub(super) fn read_json_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RankError> {
    if path.exists() { read_json(path).map(Some) } else { Ok(None) }
}
