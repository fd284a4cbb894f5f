//! Knows the lexical features of one token text (NORM, PREFIX, SUFFIX, SHAPE); must not know its context.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::chars;
use super::error::NlpError;
use super::msgpack::{self, Value};
use super::strings::string_id;

/// Text and its norm, one pair a line, separated by a tab. From spaCy's code (MIT).
const BASE_NORMS: &str = include_str!("tables/base_norms.tsv");

/// From this many code points on, the shape says only that the text is long.
const LONG: usize = 100;

/// A run of equal shape characters is cut to this many.
const LONGEST_RUN: usize = 4;

/// Number of network inputs that depend on the token text alone and are kept with it: the shared
/// network's without and with a space after the token, and the entity recogniser's.
pub(super) const INPUT_SLOTS: usize = 3;

/// Everything that depends on the text of a token alone.
#[derive(Debug)]
pub(super) struct Lexeme {
    pub(super) text: Box<str>,
    pub(super) norm: Box<str>,
    pub(super) shape: Arc<str>,
    pub(super) lower: Box<str>,
    pub(super) is_space: bool,
    /// Ids of NORM, PREFIX, SUFFIX and SHAPE.
    pub(super) ids: [u64; 4],
    /// Whether a phrase of the tokenizer's second pass starts with this text.
    pub(super) opens_phrase: bool,
    /// First-layer inputs, computed on first use.
    pub(super) inputs: [OnceLock<Box<[f32]>>; INPUT_SLOTS],
}

/// The tables that give a text its NORM.
#[derive(Debug)]
pub(super) struct Norms {
    by_id: HashMap<u64, Box<str>>,
    base: HashMap<&'static str, &'static str>,
}

impl Norms {
    /// Reads the table `lexeme_norm` out of `file`.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, NlpError> {
        let bad = |what: &str| NlpError::malformed(file, what);
        let top = msgpack::decode(bytes).map_err(|what| NlpError::malformed(file, what))?;
        let table = top.get("lexeme_norm").and_then(Value::as_map);
        let by_id = table
            .ok_or_else(|| bad("there is no table `lexeme_norm`"))?
            .iter()
            .map(|(id, norm)| Some((id.as_uint()?, norm.as_str()?.into())))
            .collect::<Option<_>>()
            .ok_or_else(|| bad("the table `lexeme_norm` does not map ids to texts"))?;
        let base = BASE_NORMS.lines().filter_map(|line| line.split_once('\t')).collect();
        Ok(Self { by_id, base })
    }

    fn norm(&self, text: &str, lower: &str) -> Box<str> {
        if let Some(norm) = self.by_id.get(&string_id(text)) {
            return norm.clone();
        }
        self.base.get(text).copied().unwrap_or(lower).into()
    }
}

impl Lexeme {
    /// The features of `text`, which must not be empty; `special` is the NORM that a special case
    /// of the tokenizer gives it.
    pub(super) fn new(text: &str, special: Option<&str>, norms: &Norms) -> Self {
        let lower = chars::lower(text).into_boxed_str();
        let norm = special.map_or_else(|| norms.norm(text, &lower), Box::from);
        let shape = shape(text);
        let prefix = text.chars().next().map_or(0, char::len_utf8);
        let suffix = text.char_indices().rev().take(3).last().map_or(0, |(at, _)| at);
        let ids = [string_id(&norm), string_id(&text[..prefix]), string_id(&text[suffix..]), string_id(&shape)];
        Self {
            is_space: text.chars().all(chars::is_space),
            text: text.into(),
            shape: shape.into(),
            norm,
            lower,
            ids,
            opens_phrase: false,
            inputs: Default::default(),
        }
    }
}

/// The outline of a text: `Xxxx` for *March*, `dd/dd` for *12/31*.
pub(super) fn shape(text: &str) -> String {
    if text.chars().nth(LONG - 1).is_some() {
        return "LONG".to_owned();
    }
    let mut shape = String::with_capacity(text.len());
    let (mut last, mut run) = (None, 0);
    for c in text.chars() {
        let mapped = if chars::is_alpha(c) {
            if chars::is_upper(c) { 'X' } else { 'x' }
        } else if chars::is_digit(c) {
            'd'
        } else {
            c
        };
        run = if last == Some(mapped) { run + 1 } else { 1 };
        last = Some(mapped);
        if run <= LONGEST_RUN {
            shape.push(mapped);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn norms() -> Norms {
        let table =
            [&[0x81, 0xab][..], b"lexeme_norm", &[0x81, 0xcf], &string_id("coz").to_be_bytes(), &[0xa7], b"because"]
                .concat();
        Norms::parse("vocab/lookups.bin", &table).unwrap()
    }

    #[test]
    fn shapes_cut_runs_to_four() {
        for (text, outline) in [
            ("I", "X"),
            ("March", "Xxxxx"),
            ("Wednesday", "Xxxxx"),
            ("12/31/2023", "dd/dd/dddd"),
            ("123456", "dddd"),
            ("......", "...."),
            ("m²", "xd"),
            ("ǅx", "xx"),
            ("a\u{93e}", "x\u{93e}"),
            ("½", "½"),
        ] {
            assert_eq!(shape(text), outline, "{text}");
        }
        assert_eq!(shape(&"a".repeat(99)), "xxxx");
        assert_eq!(shape(&"a".repeat(100)), "LONG");
    }

    #[test]
    fn norms_come_from_four_sources_in_order() {
        let norms = norms();
        for (text, special, norm) in [
            ("coz", Some("cos"), "cos"),
            ("coz", None, "because"),
            ("Coz", None, "coz"),
            ("’S", None, "'s"),
            ("US$", None, "$"),
            ("The", None, "the"),
        ] {
            assert_eq!(&*Lexeme::new(text, special, &norms).norm, norm, "{text}");
        }
    }

    #[test]
    fn prefix_and_suffix_count_code_points() {
        let lexeme = Lexeme::new("éàüß", None, &norms());
        assert_eq!(lexeme.ids[1], string_id("é"));
        assert_eq!(lexeme.ids[2], string_id("àüß"));
        let short = Lexeme::new("I", None, &norms());
        assert_eq!(short.ids[2], string_id("I"));
        assert_eq!(short.ids[3], 101);
        assert!(Lexeme::new(" \u{a0}", None, &norms()).is_space);
    }
}
