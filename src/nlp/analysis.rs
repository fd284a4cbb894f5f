//! Knows what the tagger says about a text; must not know how it was found out.

use std::ops::Range;
use std::sync::Arc;

use super::lemmatizer::Lemmatizer;
use super::ner::Span;
use super::parser::Tree;
use super::ruler::Marks;
use super::tokenizer::Piece;

/// A text's tokens and entities, both in text order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Analysis {
    /// The tokens; together with their trailing spaces they cover the text exactly.
    pub tokens: Vec<Token>,
    /// The named entities; they do not overlap.
    pub entities: Vec<Entity>,
}

/// One token. Names of tags, parts of speech and relations are those of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// First byte of the token in the text.
    pub start: usize,
    /// One past its last byte, without the trailing space.
    pub end: usize,
    /// The token itself.
    pub text: String,
    /// Whether one plain space follows that belongs to the token.
    pub whitespace: bool,
    /// Normalised form: lower case, with spelling variants and contractions resolved.
    pub norm: String,
    /// Outline: `Xxxxx` for *March*, `dd/dd` for *12/31*.
    pub shape: Arc<str>,
    /// Fine-grained (Penn Treebank) tag, such as `NNP`.
    pub tag: &'static str,
    /// Universal part of speech, such as `PROPN`.
    pub pos: &'static str,
    /// Morphological features, such as `Number=Sing`, separated by bars; may be empty.
    pub morph: &'static str,
    /// Base form.
    pub lemma: String,
    /// Relation to the head, such as `nsubj`; `ROOT` for the root of a sentence.
    pub dep: &'static str,
    /// Number of the head token; the token's own number for a root.
    pub head: usize,
    /// Whether a sentence starts here.
    pub sent_start: bool,
    /// Number of the entity that the token belongs to.
    pub entity: Option<u32>,
    /// 3: first token of an entity, 1: a later token of one, 2: in none.
    pub ent_iob: u8,
}

/// A named entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// First byte in the text.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Its token numbers.
    pub tokens: Range<usize>,
    /// Its kind, such as `PERSON`.
    pub label: &'static str,
    /// The words themselves.
    pub text: String,
}

/// Puts all annotations of a text together.
pub(super) fn assemble(
    text: &str,
    pieces: &[Piece],
    tags: &[&'static str],
    tree: &Tree,
    marks: &[Marks],
    spans: &[Span],
    lemmatizer: &Lemmatizer,
) -> Analysis {
    let mut analysis = assemble_entities(text, pieces, tags, tree, spans);
    for ((token, piece), marks) in analysis.tokens.iter_mut().zip(pieces).zip(marks) {
        token.tag = marks.tag.unwrap_or(token.tag);
        token.dep = marks.dep.unwrap_or(token.dep);
        token.pos = marks.pos.unwrap_or("");
        token.morph = marks.morph.unwrap_or("");
        token.lemma = match marks.lemma {
            Some(lemma) => lemma.to_owned(),
            None => lemmatizer.lemma(&token.text, &piece.lexeme.lower, token.pos, token.morph),
        };
    }
    analysis
}

/// Puts tokens and entities together; what the rules and the lemmatizer add stays empty.
pub(super) fn assemble_entities(
    text: &str,
    pieces: &[Piece],
    tags: &[&'static str],
    tree: &Tree,
    spans: &[Span],
) -> Analysis {
    let mut start = 0;
    let mut tokens: Vec<Token> = Vec::with_capacity(pieces.len());
    for (number, piece) in pieces.iter().enumerate() {
        let lexeme = &piece.lexeme;
        let end = start + lexeme.text.len();
        tokens.push(Token {
            start,
            end,
            text: lexeme.text.to_string(),
            whitespace: piece.space_after,
            norm: lexeme.norm.to_string(),
            shape: Arc::clone(&lexeme.shape),
            tag: tags[number],
            pos: "",
            morph: "",
            lemma: String::new(),
            dep: tree.labels[number],
            head: tree.heads[number],
            sent_start: tree.sentence_starts[number],
            entity: None,
            ent_iob: 2,
        });
        start = end + usize::from(piece.space_after);
    }
    let mut entities = Vec::with_capacity(spans.len());
    for (number, (range, label)) in (0..).zip(spans) {
        let covered = &mut tokens[range.clone()];
        let (Some(first), Some(last)) = (covered.first(), covered.last()) else {
            continue;
        };
        let (start, end) = (first.start, last.end);
        for token in covered.iter_mut() {
            token.entity = Some(number);
            token.ent_iob = 1;
        }
        covered[0].ent_iob = 3;
        entities.push(Entity { start, end, tokens: range.clone(), label, text: text[start..end].to_owned() });
    }
    Analysis { tokens, entities }
}
