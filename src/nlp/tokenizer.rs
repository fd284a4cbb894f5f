//! Knows how a text becomes tokens (special cases, affixes, phrases); must not know any network.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::affix::{Infixes, Prefixes, Suffixes};
use super::chars::is_space;
use super::error::NlpError;
use super::lexeme::{Lexeme, Norms};
use super::msgpack::{self, Value};
use super::url::Urls;

/// Distinct token texts kept, with their network inputs (up to 12 KB each).
const MAX_LEXEMES: usize = 3_500;

/// Distinct chunks (runs of non-space) kept with their tokens.
const MAX_CHUNKS: usize = 16_384;

/// Longer chunks are not worth keeping: they seldom come twice.
const MAX_CACHED_BYTES: usize = 48;

/// Keys of a special case's tokens in the tokenizer file.
const ORTH: u64 = 65;
const NORM: u64 = 67;

/// One token of a text.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) lexeme: Arc<Lexeme>,
    /// Whether one U+0020 after the token belongs to it.
    pub(super) space_after: bool,
}

/// A token before its features are known: its text and the NORM of its special case.
type Part<'a> = (&'a str, Option<&'a str>);

/// The tokens of one special case. Their texts concatenate to the text of the case.
type Special = Vec<(Box<str>, Option<Box<str>>)>;

/// Splits texts into tokens.
#[derive(Debug)]
pub(super) struct Tokenizer {
    specials: HashMap<Box<str>, Special>,
    longest_special: usize,
    prefixes: Prefixes,
    suffixes: Suffixes,
    infixes: Infixes,
    urls: Urls,
    /// First token of a phrase -> the other tokens of every such phrase.
    phrases: HashMap<Box<str>, Vec<Vec<Box<str>>>>,
    norms: Norms,
    cache: RwLock<Cache>,
}

/// A lexeme and the NORM that a special case has given it.
type Known = (Option<Box<str>>, Arc<Lexeme>);

/// What earlier texts taught; results never depend on it. Emptied when full.
#[derive(Debug, Default)]
struct Cache {
    chunks: HashMap<Box<str>, Arc<[Arc<Lexeme>]>>,
    lexemes: HashMap<Box<str>, Vec<Known>>,
    lexeme_count: usize,
}

impl Tokenizer {
    /// Reads the tokenizer's `file`.
    pub(super) fn parse(file: &str, bytes: &[u8], norms: Norms) -> Result<Self, NlpError> {
        let bad = |what: &str| NlpError::malformed(file, what);
        let top = msgpack::decode(bytes).map_err(|what| NlpError::malformed(file, what))?;
        let pattern = |key: &str| {
            let text = top.get(key).and_then(Value::as_str);
            text.ok_or_else(|| bad(&format!("there is no pattern `{key}`")))
        };
        let strange = |key: &str| bad(&format!("`{key}` holds a rule of unknown shape"));
        let prefixes = Prefixes::parse(pattern("prefix_search")?);
        let suffixes = Suffixes::parse(pattern("suffix_search")?);
        let infixes = Infixes::parse(pattern("infix_finditer")?);
        let urls = Urls::parse(pattern("url_match")?);
        let specials = top.get("exceptions").and_then(parse_specials);
        let specials = specials.ok_or_else(|| bad("its special cases are not readable"))?;
        let mut tokenizer = Self {
            longest_special: specials.keys().map(|text| text.len()).max().unwrap_or(0),
            specials,
            prefixes: prefixes.ok_or_else(|| strange("prefix_search"))?,
            suffixes: suffixes.ok_or_else(|| strange("suffix_search"))?,
            infixes: infixes.ok_or_else(|| strange("infix_finditer"))?,
            urls: urls.ok_or_else(|| strange("url_match"))?,
            phrases: HashMap::new(),
            norms,
            cache: RwLock::default(),
        };
        tokenizer.phrases = tokenizer.collect_phrases();
        Ok(tokenizer)
    }

    /// The special cases that affix rules can cut apart, each as the tokens they cut it into.
    fn collect_phrases(&self) -> HashMap<Box<str>, Vec<Vec<Box<str>>>> {
        let mut phrases: HashMap<Box<str>, Vec<Vec<Box<str>>>> = HashMap::new();
        for text in self.specials.keys() {
            let affected = self.prefixes.length(text) > 0
                || self.suffixes.length(text) > 0
                || self.infixes.occurs(text)
                || text.contains(' ');
            if !affected {
                continue;
            }
            let mut parts = Vec::new();
            for (chunk, _) in chunks(text) {
                self.split(chunk, false, &mut parts);
            }
            let mut texts = parts.into_iter().map(|(text, _)| Box::from(text));
            if let Some(first) = texts.next() {
                phrases.entry(first).or_default().push(texts.collect());
            }
        }
        phrases
    }

    /// The tokens of `text`, in order; they cover it exactly.
    pub(super) fn tokenize(&self, text: &str) -> Vec<Piece> {
        let chunks = chunks(text);
        let known: Vec<Option<Arc<[Arc<Lexeme>]>>> = {
            let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
            let lookup = |(chunk, _): &(&str, bool)| cache.chunks.get(*chunk).cloned();
            chunks.iter().map(lookup).collect()
        };
        let mut pieces = Vec::with_capacity(chunks.len() * 5 / 4);
        for ((chunk, space_after), known) in chunks.into_iter().zip(known) {
            let lexemes = known.unwrap_or_else(|| self.learn(chunk));
            pieces.extend(lexemes.iter().map(|lexeme| Piece { lexeme: Arc::clone(lexeme), space_after: false }));
            if let Some(last) = pieces.last_mut() {
                last.space_after = space_after;
            }
        }
        self.join_phrases(&mut pieces);
        pieces
    }

    /// Splits a chunk that the cache does not know, and lets the cache know it.
    fn learn(&self, chunk: &str) -> Arc<[Arc<Lexeme>]> {
        let mut parts = Vec::new();
        self.split(chunk, true, &mut parts);
        let lexemes: Arc<[_]> = parts.into_iter().map(|part| self.lexeme(part)).collect();
        if chunk.len() <= MAX_CACHED_BYTES {
            let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
            if cache.chunks.len() >= MAX_CHUNKS {
                *cache = Cache::default();
            }
            cache.chunks.insert(chunk.into(), Arc::clone(&lexemes));
        }
        lexemes
    }

    fn lexeme(&self, (text, special): Part<'_>) -> Arc<Lexeme> {
        let find = |cache: &Cache| {
            let same = cache.lexemes.get(text)?;
            let found = same.iter().find(|(norm, _)| norm.as_deref() == special);
            found.map(|(_, lexeme)| Arc::clone(lexeme))
        };
        let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(lexeme) = find(&cache) {
            return lexeme;
        }
        drop(cache);
        let mut lexeme = Lexeme::new(text, special, &self.norms);
        lexeme.opens_phrase = self.phrases.contains_key(text);
        let lexeme = Arc::new(lexeme);
        if text.len() <= MAX_CACHED_BYTES {
            let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have been quicker.
            if let Some(lexeme) = find(&cache) {
                return lexeme;
            }
            if cache.lexeme_count >= MAX_LEXEMES {
                // The chunks hold lexemes too: both go, or nothing would be freed.
                *cache = Cache::default();
            }
            let same = cache.lexemes.entry(text.into()).or_default();
            same.push((special.map(Box::from), Arc::clone(&lexeme)));
            cache.lexeme_count += 1;
        }
        lexeme
    }

    fn special(&self, text: &str, enabled: bool) -> Option<&Special> {
        if !enabled || text.len() > self.longest_special {
            return None;
        }
        self.specials.get(text)
    }

    /// Cuts one chunk into parts; `rules` says whether special cases apply.
    fn split<'a>(&'a self, chunk: &'a str, rules: bool, parts: &mut Vec<Part<'a>>) {
        let emit = |special: &'a Special, parts: &mut Vec<Part<'a>>| {
            parts.extend(special.iter().map(|(text, norm)| (&**text, norm.as_deref())));
        };
        let (mut rest, mut suffixes, mut last) = (chunk, Vec::new(), 0);
        while !rest.is_empty() && rest.len() != last && self.special(rest, rules).is_none() {
            last = rest.len();
            let prefix = self.prefixes.length(rest);
            let after_prefix = &rest[prefix..];
            if prefix > 0 && self.special(after_prefix, rules).is_some() {
                parts.push((&rest[..prefix], None));
                rest = after_prefix;
                break;
            }
            let suffix = self.suffixes.length(after_prefix);
            let suffix_at = rest.len() - suffix;
            if suffix > 0 && self.special(&rest[..suffix_at], rules).is_some() {
                suffixes.push(&rest[suffix_at..]);
                rest = &rest[..suffix_at];
                break;
            }
            if prefix > 0 {
                parts.push((&rest[..prefix], None));
            }
            if suffix > 0 {
                suffixes.push(&rest[suffix_at..]);
            }
            rest = &rest[prefix..suffix_at];
        }
        if let Some(special) = self.special(rest, rules) {
            emit(special, parts);
        } else if self.urls.matches(rest) {
            parts.push((rest, None));
        } else if !rest.is_empty() {
            let mut from = 0;
            for (start, end) in self.infixes.find(rest) {
                // An infix at the very start is no cut, and does not move the last cut either.
                if start == 0 {
                    continue;
                }
                if from < start {
                    parts.push((&rest[from..start], None));
                }
                parts.push((&rest[start..end], None));
                from = end;
            }
            if from < rest.len() {
                parts.push((&rest[from..], None));
            }
        }
        parts.extend(suffixes.into_iter().rev().map(|text| (text, None)));
    }

    /// The second pass: special cases that the affix rules have cut apart.
    fn join_phrases(&self, pieces: &mut Vec<Piece>) {
        let mut spans = Vec::new();
        for (start, piece) in pieces.iter().enumerate() {
            if !piece.lexeme.opens_phrase {
                continue;
            }
            for phrase in self.phrases.get(&piece.lexeme.text).into_iter().flatten() {
                let end = start + 1 + phrase.len();
                let matches = pieces.get(start + 1..end).is_some_and(|others| {
                    let mut pairs = others.iter().zip(phrase);
                    pairs.all(|(piece, text)| piece.lexeme.text == *text)
                });
                if matches {
                    spans.push((start, end));
                }
            }
        }
        if spans.is_empty() {
            return;
        }
        spans.sort_by_key(|(start, end)| (std::cmp::Reverse(end - start), *start));
        let mut covered = vec![false; pieces.len()];
        let mut accepted = Vec::new();
        for (start, end) in spans {
            if !covered[start] && !covered[end - 1] {
                accepted.push((start, end));
            }
            // Rejected spans cover their tokens too: the reference behaves so.
            covered[start..end].fill(true);
        }
        accepted.sort_unstable();
        for (start, end) in accepted.into_iter().rev() {
            let mut text = String::new();
            for (at, piece) in pieces[start..end].iter().enumerate() {
                text.push_str(&piece.lexeme.text);
                if piece.space_after && start + at + 1 < end {
                    text.push(' ');
                }
            }
            let Some(special) = self.special(&text, true) else {
                continue;
            };
            let space_after = pieces[end - 1].space_after;
            let mut joined: Vec<Piece> = special
                .iter()
                .map(|(text, norm)| Piece { lexeme: self.lexeme((text, norm.as_deref())), space_after: false })
                .collect();
            if let Some(last) = joined.last_mut() {
                last.space_after = space_after;
            }
            pieces.splice(start..end, joined);
        }
    }
}

/// The runs of non-space and of space in `text`, and whether each takes a following U+0020 with it.
fn chunks(text: &str) -> Vec<(&str, bool)> {
    let mut chunks = Vec::with_capacity(text.len() / 5 + 1);
    let mut in_space = text.starts_with(is_space);
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if is_space(c) == in_space {
            continue;
        }
        in_space = !in_space;
        let takes_space = c == ' ';
        if start < at {
            chunks.push((&text[start..at], takes_space));
        }
        start = if takes_space { at + 1 } else { at };
    }
    if start < text.len() {
        chunks.push((&text[start..], false));
    }
    chunks
}

/// The map of special cases; `None` if it is not what it should be.
fn parse_specials(value: &Value<'_>) -> Option<HashMap<Box<str>, Special>> {
    let mut specials = HashMap::new();
    for (text, tokens) in value.as_map()? {
        let text = text.as_str()?;
        let mut special = Special::new();
        for token in tokens.as_array()? {
            let field = |key: u64| {
                let mut pairs = token.as_map()?.iter();
                let found = pairs.find(|(name, _)| name.as_uint() == Some(key))?;
                found.1.as_str()
            };
            special.push((field(ORTH)?.into(), field(NORM).map(Box::from)));
        }
        let whole: String = special.iter().map(|(orth, _)| &**orth).collect();
        let empty = special.iter().any(|(orth, _)| orth.is_empty());
        // Offsets are sums of token lengths: a case that does not add up would shift them.
        if whole != text || empty || text.is_empty() {
            return None;
        }
        specials.insert(text.into(), special);
    }
    Some(specials)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_chunk_takes_one_plain_space_with_it() {
        assert_eq!(chunks("a  b"), [("a", true), (" ", false), ("b", false)]);
        assert_eq!(chunks("a b"), [("a", true), ("b", false)]);
        assert_eq!(chunks(" a"), [(" ", false), ("a", false)]);
        assert_eq!(chunks("a \n b"), [("a", true), ("\n ", false), ("b", false)]);
        assert_eq!(chunks("a\n b"), [("a", false), ("\n ", false), ("b", false)]);
        assert_eq!(chunks("a "), [("a", true)]);
        assert_eq!(chunks("a\u{a0}b").len(), 3);
        assert!(chunks("").is_empty());
    }
}
