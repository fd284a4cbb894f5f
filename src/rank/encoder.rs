//! An encoder of any family, behind one narrow trait, and how it comes out of a model's folder. Knows families; nothing
//! of heads, scores or texts.

use std::path::Path;

use super::bert::{ATTENTION, Bert, Naming};
use super::config::{Config, Family, read_json_if_there};
use super::error::words;
use super::modernbert::ModernBert;
use super::packed::PackedBert;
use super::relative;
use super::tokenizer::{ModelTokenizer, Rows};
use super::weights::{Weights, sha256_of, weights_file};
use super::{Precision, RankError};

/// Turns tokens into hidden states.
pub(super) trait Encoder: Send + Sync {
    /// Numbers a token.
    fn hidden(&self) -> usize;
    /// The last hidden states of all texts, row-major: a row a token, or a row a text with [`Keep::First`].
    fn forward(&self, rows: &Rows, keep: Keep) -> candle_core::Result<Vec<f32>>;
}

/// Which rows of the last layer are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Every token's.
    All,
    /// Only each text's first token's, which saves most of the last layer.
    First,
}

/// What a model's folder holds whatever its head is: tokenizer and encoder, and the file for a head to be read from.
pub(super) struct Network {
    /// The folder's name.
    pub name: String,
    pub tokenizer: ModelTokenizer,
    /// Longest input that tokenizer and positions allow.
    pub max_tokens: usize,
    pub config: Config,
    pub family: Family,
    pub encoder: Box<dyn Encoder>,
    pub weights: Weights<'static>,
    /// SHA-256 of the weights.
    pub hash: String,
    /// What was wanted, or exact where the family has nothing else.
    pub precision: Precision,
}

impl Network {
    /// Reads `config.json`, `tokenizer.json` and `model.safetensors` of a folder.
    ///
    /// # Errors
    /// [`RankError::Read`], [`RankError::Model`] and [`RankError::Unsupported`] name the file.
    pub(super) fn load(folder: &Path, precision: Precision) -> Result<Self, RankError> {
        let config = Config::load(folder)?;
        let unsupported = |reason| RankError::Unsupported { path: folder.join("config.json"), reason };
        let family = config.family().map_err(unsupported)?;
        let precision = if family == Family::ModernBert { Precision::Exact } else { precision };
        let path = weights_file(folder)?;
        let read = || {
            let weights = Weights::open(&path)?.below(family.prefix());
            let encoder = encoder(&config, family, precision, &weights)
                .map_err(|error| RankError::Model { path: path.clone(), reason: words(&error) })?;
            Ok::<_, RankError>((weights, encoder))
        };
        // The file is read twice, once for its digest: the second time it comes from the system's memory.
        let (read, hash) = rayon::join(read, || sha256_of(&path));
        let (weights, encoder) = read?;
        Ok(Self {
            name: folder_name(folder),
            tokenizer: ModelTokenizer::load(&folder.join("tokenizer.json"))?,
            max_tokens: longest(folder, config.positions())?,
            config,
            family,
            encoder,
            weights: weights.whole(),
            hash: hash?,
            precision,
        })
    }
}

/// The name that a model gets from its folder, fit for a screen.
pub(crate) fn folder_name(folder: &Path) -> String {
    // `models/.` and `..` have a name only on disk.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy();
    let hostile = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    name.replace(hostile, "\u{fffd}")
}

/// Longest input that the tokenizer's settings allow, at most what positions reach.
fn longest(folder: &Path, positions: usize) -> Result<usize, RankError> {
    #[derive(serde::Deserialize)]
    struct Settings {
        /// A huge number stands for "no limit".
        model_max_length: Option<f64>,
    }
    let settings: Option<Settings> = read_json_if_there(&folder.join("tokenizer_config.json"))?;
    let limit = settings.and_then(|settings| settings.model_max_length).unwrap_or(f64::MAX);
    Ok(if limit < positions as f64 { limit as usize } else { positions })
}

fn encoder(
    config: &Config,
    family: Family,
    precision: Precision,
    weights: &Weights<'_>,
) -> candle_core::Result<Box<dyn Encoder>> {
    if family == Family::ModernBert {
        return Ok(Box::new(ModernBert::load(config, weights)?));
    }
    let mut bert = Bert::load(config, weights, &naming(config, family))?;
    if family == Family::DebertaV2 && config.relative_attention {
        for (layer, positions) in bert.layers.iter_mut().zip(relative::load(config, weights)?) {
            layer.relative = Some(positions);
        }
    }
    bert.at(precision)
}

impl Bert {
    /// The encoder at a precision.
    pub(super) fn at(self, precision: Precision) -> candle_core::Result<Box<dyn Encoder>> {
        Ok(match precision {
            Precision::Exact => Box::new(self),
            Precision::Fast => Box::new(PackedBert::of(self)?),
        })
    }
}

/// What BERT's relatives call their parts.
pub(super) fn naming(config: &Config, family: Family) -> Naming {
    let deberta = family == Family::DebertaV2;
    Naming {
        attention: if deberta { ["query_proj", "key_proj", "value_proj"] } else { ATTENTION },
        first_position: config.first_position(),
        positions: !deberta || config.position_biased_input.unwrap_or(true),
        segments: config.type_vocab_size.unwrap_or(if deberta { 0 } else { 2 }) > 0,
    }
}
