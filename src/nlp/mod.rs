//! Knows how to tag English text (tokens, tags, lemmas, dependencies, entities); must not know why.
//!
//! A re-implementation of the inference of spaCy's `en_core_web_sm` 3.8.0 that reads the model's
//! own files. Annotations are identical to spaCy's; only the last digits of scores differ.

mod affix;
mod analysis;
mod chars;
mod dense;
mod error;
mod lemmatizer;
mod lexeme;
mod load;
mod moves;
mod msgpack;
mod ner;
mod parser;
mod pattern;
mod ruler;
mod strings;
mod tagger;
mod thinc;
mod tok2vec;
mod tokenizer;
mod transition;
mod unicode;
mod url;
mod wide;

use std::sync::{Mutex, PoisonError};

pub use analysis::{Analysis, Entity, Token};
pub use error::NlpError;

use parser::Tree;
use ruler::{Facts, Marks};
use tokenizer::Piece;

/// Scratch space larger than this many floats is not kept for the next text.
const LARGEST_KEPT: usize = 1 << 18;

/// The loaded model. Share it between threads behind an `Arc`: every method takes `&self`, and what
/// it learns about words (bounded, about 30 MB) serves all threads.
pub struct Tagger {
    tokenizer: tokenizer::Tokenizer,
    shared: tok2vec::Tok2Vec,
    tags: tagger::TagLayer,
    parser: parser::Parser,
    ruler: ruler::Ruler,
    lemmatizer: lemmatizer::Lemmatizer,
    entity_network: tok2vec::Tok2Vec,
    recogniser: ner::EntityRecogniser,
    scratch: Mutex<Vec<Scratch>>,
}

/// Buffers that one text needs and the next one can use again.
#[derive(Debug, Default)]
struct Scratch {
    space: tok2vec::Workspace,
    vectors: Vec<f32>,
    scores: Vec<f32>,
    features: transition::Features,
}

impl Tagger {
    /// Name and version of the model, as shown to people and stored with results.
    pub const NAME: &'static str = "en_core_web_sm 3.8.0";

    /// The files that [`Tagger::load`] reads, relative to the model's folder.
    pub const FILES: &'static [&'static str] = &[
        load::TOKENIZER,
        load::LOOKUPS,
        load::SHARED_MODEL,
        load::TAGGER_MODEL,
        load::TAGGER_SETTINGS,
        load::PARSER_MODEL,
        load::PARSER_MOVES,
        load::RULES,
        load::LEMMAS,
        load::NER_MODEL,
        load::NER_MOVES,
    ];

    /// Annotates a text completely: tokens with all their attributes, and entities.
    ///
    /// Never fails; an empty text has no tokens. Offsets are byte offsets into `text`.
    pub fn analyse(&self, text: &str) -> Analysis {
        let mut scratch = self.take_scratch();
        let pieces = self.tokenizer.tokenize(text);
        let is_space: Vec<bool> = pieces.iter().map(|piece| piece.lexeme.is_space).collect();
        let tags = self.tag(&pieces, &mut scratch);
        let tree = self.parse(&is_space, &mut scratch);
        let marks = self.apply_rules(&pieces, &tags, &tree);
        let spans = self.find_entities(&pieces, &is_space, &tree, &mut scratch);
        self.return_scratch(scratch);
        analysis::assemble(text, &pieces, &tags, &tree, &marks, &spans, &self.lemmatizer)
    }

    /// The same as [`Tagger::analyse`] but for lemma, part of speech and morphology, which stay
    /// empty: tokens and entities only, a little faster.
    pub fn entities(&self, text: &str) -> Analysis {
        let mut scratch = self.take_scratch();
        let pieces = self.tokenizer.tokenize(text);
        let is_space: Vec<bool> = pieces.iter().map(|piece| piece.lexeme.is_space).collect();
        let tags = self.tag(&pieces, &mut scratch);
        let tree = self.parse(&is_space, &mut scratch);
        let spans = self.find_entities(&pieces, &is_space, &tree, &mut scratch);
        self.return_scratch(scratch);
        analysis::assemble_entities(text, &pieces, &tags, &tree, &spans)
    }

    /// The tag of every token; leaves the shared token vectors in `scratch.vectors`.
    fn tag(&self, pieces: &[Piece], scratch: &mut Scratch) -> Vec<&'static str> {
        let Scratch { space, vectors, scores, .. } = scratch;
        encode(&self.shared, pieces, usize::from, space, vectors);
        self.tags.scores(vectors, scores, &mut space.spread);
        let rows = scores.chunks_exact(self.tags.width());
        rows.map(|row| self.tags.choose(row)).collect()
    }

    fn parse(&self, is_space: &[bool], scratch: &mut Scratch) -> Tree {
        let (vectors, features) = (&scratch.vectors, &mut scratch.features);
        self.parser.parse(vectors, is_space, features, |_, _| {})
    }

    fn apply_rules(&self, pieces: &[Piece], tags: &[&'static str], tree: &Tree) -> Vec<Marks> {
        let tokens = pieces.iter().zip(tags).zip(&tree.labels);
        let facts: Vec<Facts<'_>> = tokens
            .map(|((piece, tag), dep)| Facts { tag, dep, lower: &piece.lexeme.lower, is_space: piece.lexeme.is_space })
            .collect();
        self.ruler.apply(&facts)
    }

    fn find_entities(&self, pieces: &[Piece], is_space: &[bool], tree: &Tree, scratch: &mut Scratch) -> Vec<ner::Span> {
        let Scratch { space, vectors, features, .. } = scratch;
        encode(&self.entity_network, pieces, |_| 2, space, vectors);
        let starts = &tree.sentence_starts;
        self.recogniser.entities(vectors, is_space, starts, features, |_, _| {})
    }

    fn take_scratch(&self) -> Scratch {
        let mut pool = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        pool.pop().unwrap_or_default()
    }

    fn return_scratch(&self, scratch: Scratch) {
        // A very long text must not hold its memory for ever.
        if scratch.features.capacity() <= LARGEST_KEPT {
            let mut pool = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            pool.push(scratch);
        }
    }
}

/// The vectors that `network` gives the tokens; `slot` is the place of its inputs in a lexeme.
fn encode(
    network: &tok2vec::Tok2Vec,
    pieces: &[Piece],
    slot: impl Fn(bool) -> usize,
    space: &mut tok2vec::Workspace,
    vectors: &mut Vec<f32>,
) {
    let tokens = pieces.iter().map(|piece| (&*piece.lexeme, piece.space_after));
    network.prepare(tokens, &slot, space);
    // All inputs are there: `prepare` has just computed those that were missing.
    let inputs: Vec<&[f32]> = pieces
        .iter()
        .filter_map(|piece| piece.lexeme.inputs[slot(piece.space_after)].get())
        .map(|input| &**input)
        .collect();
    network.encode(&inputs, vectors, space);
}

impl std::fmt::Debug for Tagger {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tagger").field("name", &Self::NAME).finish()
    }
}

#[cfg(test)]
mod layer_tests;
