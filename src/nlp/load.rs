//! Knows which file each part of the tagger comes from; must not know how a part works.

use std::path::Path;
use std::sync::Mutex;

use super::error::NlpError;
use super::thinc::ModelFile;
use super::{Tagger, lemmatizer, lexeme, ner, parser, ruler, tagger, tok2vec, tokenizer};

pub(super) const TOKENIZER: &str = "tokenizer";
pub(super) const LOOKUPS: &str = "vocab/lookups.bin";
pub(super) const SHARED_MODEL: &str = "tok2vec/model";
pub(super) const TAGGER_MODEL: &str = "tagger/model";
pub(super) const TAGGER_SETTINGS: &str = "tagger/cfg";
pub(super) const PARSER_MODEL: &str = "parser/model";
pub(super) const PARSER_MOVES: &str = "parser/moves";
pub(super) const RULES: &str = "attribute_ruler/patterns";
pub(super) const LEMMAS: &str = "lemmatizer/lookups/lookups.bin";
pub(super) const NER_MODEL: &str = "ner/model";
pub(super) const NER_MOVES: &str = "ner/moves";

/// Feature columns of the shared network, and of the entity recogniser's own.
const SHARED_COLUMNS: usize = 6;
const NER_COLUMNS: usize = 4;

impl Tagger {
    /// Loads the model from its folder, which holds [`Tagger::FILES`].
    ///
    /// # Errors
    ///
    /// If a file is missing, damaged, or not of this model's version. A file is never trusted: its
    /// shapes are checked here, so that later calls cannot fail.
    pub fn load(dir: &Path) -> Result<Self, NlpError> {
        let read = |file: &str| {
            std::fs::read(dir.join(file)).map_err(|source| NlpError::Read { file: file.to_owned(), source })
        };
        let norms = lexeme::Norms::parse(LOOKUPS, &read(LOOKUPS)?)?;
        let tokenizer = tokenizer::Tokenizer::parse(TOKENIZER, &read(TOKENIZER)?, norms)?;
        let bytes = read(SHARED_MODEL)?;
        let model = ModelFile::parse(SHARED_MODEL, &bytes)?;
        let shared = tok2vec::Tok2Vec::load(&model, SHARED_COLUMNS)?;
        let bytes = read(TAGGER_MODEL)?;
        let model = ModelFile::parse(TAGGER_MODEL, &bytes)?;
        let tags = tagger::TagLayer::load(&model, TAGGER_SETTINGS, &read(TAGGER_SETTINGS)?)?;
        let bytes = read(PARSER_MODEL)?;
        let model = ModelFile::parse(PARSER_MODEL, &bytes)?;
        let parser = parser::Parser::load(&model, PARSER_MOVES, &read(PARSER_MOVES)?)?;
        let ruler = ruler::Ruler::parse(RULES, &read(RULES)?)?;
        let lemmatizer = lemmatizer::Lemmatizer::parse(LEMMAS, &read(LEMMAS)?)?;
        let bytes = read(NER_MODEL)?;
        let model = ModelFile::parse(NER_MODEL, &bytes)?;
        let entity_network = tok2vec::Tok2Vec::load(&model, NER_COLUMNS)?;
        let recogniser = ner::EntityRecogniser::load(&model, NER_MOVES, &read(NER_MOVES)?)?;
        Ok(Self {
            tokenizer,
            shared,
            tags,
            parser,
            ruler,
            lemmatizer,
            entity_network,
            recogniser,
            scratch: Mutex::new(Vec::new()),
        })
    }
}
