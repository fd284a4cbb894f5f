//! Any bi-encoder from a model's folder, in the layout of sentence-transformers: one vector a text. Knows pooling and
//! the words put before texts; nothing of what is compared.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::config::{read_json, read_json_if_there};
use super::encoder::{Encoder, Keep, Network};
use super::kernels::{mean, unit};
use super::modules::{Module, modules};
use super::tokenizer::{ModelTokenizer, Rows};
use super::weights::sha256;
use super::{Gives, ModelId, Precision, RankError, Side, TextEncoder, TokenPiece, TokenVectors};

/// A bi-encoder, loaded.
pub struct BiEncoder {
    id: ModelId,
    max_tokens: usize,
    tokenizer: ModelTokenizer,
    encoder: Box<dyn Encoder>,
    mean: bool,
    prefixes: Prefixes,
}

/// Words that a model was trained to see before a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Before a question.
    pub question: String,
    /// Before a passage.
    pub passage: String,
}

/// `1_Pooling/config.json`.
#[derive(Deserialize)]
struct Pooling {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
}

impl BiEncoder {
    /// [`BiEncoder::load_as`], exact.
    ///
    /// # Errors
    /// As there.
    pub fn load(folder: &Path, prefixes: Option<Prefixes>) -> Result<Self, RankError> {
        Self::load_as(folder, prefixes, Precision::Exact)
    }

    /// Reads the model's folder. The name is the folder's. `prefixes` overrules those that the folder names.
    ///
    /// # Errors
    /// [`RankError::Read`], [`RankError::Model`] and [`RankError::Unsupported`] name the file.
    pub fn load_as(folder: &Path, prefixes: Option<Prefixes>, precision: Precision) -> Result<Self, RankError> {
        let network = Network::load(folder, precision)?;
        let mut pooling = None;
        for module in modules(folder)? {
            match module {
                Module::Pooling(path) => pooling = Some(read_pooling(&path.join("config.json"))?),
                Module::Transformer | Module::Normalize => {}
                Module::Dense(_) => {
                    let reason = format!("{module} behind its pooling");
                    return Err(RankError::Unsupported { path: folder.join("modules.json"), reason });
                }
            }
        }
        let Some(mean) = pooling else {
            let reason = "no pooling".to_owned();
            return Err(RankError::Unsupported { path: folder.join("modules.json"), reason });
        };
        #[derive(Deserialize)]
        struct Sizes {
            max_seq_length: Option<usize>,
        }
        let sizes: Option<Sizes> = read_json_if_there(&folder.join("sentence_bert_config.json"))?;
        let limit = sizes.and_then(|sizes| sizes.max_seq_length).unwrap_or(usize::MAX);
        let prefixes = match prefixes {
            Some(prefixes) => prefixes,
            None => read_prefixes(folder)?,
        };
        let settings = format!("{} {mean} {:?} {:?}", network.hash, prefixes.question, prefixes.passage);
        Ok(Self {
            id: ModelId { name: network.name, hash: sha256(settings.as_bytes()), precision: network.precision },
            max_tokens: network.max_tokens.min(limit),
            tokenizer: network.tokenizer,
            encoder: network.encoder,
            mean,
            prefixes,
        })
    }

    fn text(&self, side: Side, text: &str) -> String {
        let prefix = match side {
            Side::Question => &self.prefixes.question,
            Side::Passage => &self.prefixes.passage,
        };
        format!("{prefix}{text}").trim().to_owned()
    }

    /// The tokens of a text as the network reads them.
    ///
    /// # Errors
    /// [`RankError::Tokens`].
    pub fn input(&self, side: Side, text: &str) -> Result<Vec<u32>, RankError> {
        let mut rows = Rows::default();
        self.tokenizer.push_single(&self.tokenizer.ids(&self.text(side, text))?, self.max_tokens, &mut rows);
        Ok(rows.ids)
    }
}

/// Whether it is the mean of all tokens, else the first token.
fn read_pooling(path: &Path) -> Result<bool, RankError> {
    let pooling: Pooling = read_json(path)?;
    match (pooling.pooling_mode_cls_token, pooling.pooling_mode_mean_tokens) {
        (true, false) => Ok(false),
        (false, true) => Ok(true),
        _ => {
            let reason = "a pooling that is neither the first token nor the mean".to_owned();
            Err(RankError::Unsupported { path: path.to_owned(), reason })
        }
    }
}

/// The prompts of the folder, by the names that are in use for the two sides.
fn read_prefixes(folder: &Path) -> Result<Prefixes, RankError> {
    #[derive(Deserialize)]
    struct Settings {
        #[serde(default)]
        prompts: HashMap<String, String>,
    }
    let settings: Option<Settings> = read_json_if_there(&folder.join("config_sentence_transformers.json"))?;
    let prompts = settings.map(|settings| settings.prompts).unwrap_or_default();
    let first = |names: &[&str]| names.iter().find_map(|name| prompts.get(*name)).cloned().unwrap_or_default();
    Ok(Prefixes { question: first(&["query"]), passage: first(&["document", "passage", "corpus"]) })
}

impl TextEncoder for BiEncoder {
    fn model(&self) -> &ModelId {
        &self.id
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn dim(&self) -> usize {
        self.encoder.hidden()
    }

    fn gives(&self) -> Gives {
        Gives { tokens: false, sentence: true }
    }

    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, RankError> {
        let mut rows = Rows::default();
        let mut clipped = Vec::with_capacity(texts.len());
        for text in texts {
            let ids = self.tokenizer.ids(&self.text(side, text))?;
            clipped.push(self.tokenizer.push_single(&ids, self.max_tokens, &mut rows));
        }
        let hidden = self.encoder.hidden();
        let states = self.encoder.forward(&rows, if self.mean { Keep::All } else { Keep::First })?;
        let one = |((text, bounds), clipped): ((usize, &[usize]), usize)| {
            let mut sentence = match self.mean {
                true => mean(&states, bounds, hidden),
                false => states.get(text * hidden..(text + 1) * hidden).unwrap_or_default().to_vec(),
            };
            unit(&mut sentence);
            let clipped = u32::try_from(clipped).unwrap_or(u32::MAX);
            TokenVectors { dim: hidden, tokens: 0, vectors: Vec::new(), sentence, clipped }
        };
        Ok(rows.bounds.windows(2).enumerate().zip(clipped).map(one).collect())
    }

    fn tokens(&self, _: Side, _: &str) -> Result<Vec<TokenPiece>, RankError> {
        Ok(Vec::new())
    }

    fn count_tokens(&self, text: &str) -> Result<usize, RankError> {
        Ok(self.tokenizer.ids(text)?.len())
    }
}
