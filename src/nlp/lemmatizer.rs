//! Knows how a word form becomes a lemma, given its part of speech; must not know how that was found.

use std::collections::{HashMap, HashSet};

use super::chars::is_alpha;
use super::error::NlpError;
use super::msgpack::{self, Value};
use super::strings::{murmur64a, string_id};

/// Lower-case parts of speech that have tables.
const TABLED: [&str; 5] = ["noun", "verb", "adj", "adv", "punct"];

/// Suffix rules, exceptions and known lemmas for each part of speech.
#[derive(Debug)]
pub(super) struct Lemmatizer {
    tables: HashMap<&'static str, Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Suffix to take off and suffix to put on.
    rules: Vec<(Box<str>, Box<str>)>,
    exceptions: HashMap<Box<str>, Vec<Box<str>>>,
    /// Hashes of the known lemmas: 91,000 strings would take ten times the memory.
    index: HashSet<u64>,
}

impl Lemmatizer {
    /// Reads the tables' `file`.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, NlpError> {
        let top = msgpack::decode(bytes).map_err(|what| NlpError::malformed(file, what))?;
        let mut tables = HashMap::new();
        for pos in TABLED {
            let find = |table: &str| {
                let pairs = top.get(table).and_then(Value::as_map)?;
                let id = Value::Uint(string_id(pos));
                Some(pairs.iter().find(|(name, _)| *name == id).map(|pair| &pair.1))
            };
            let table = parse_table(find)
                .ok_or_else(|| NlpError::malformed(file, format!("the tables for `{pos}` are not readable")))?;
            tables.insert(pos, table);
        }
        if tables.values().all(|table| table.rules.is_empty()) {
            return Err(NlpError::malformed(file, "it holds no lemma rules"));
        }
        Ok(Self { tables })
    }

    /// The lemma of `text`, whose lower case is `lower`, for a part of speech such as `NOUN` and an
    /// analysis such as `Number=Sing`.
    pub(super) fn lemma(&self, text: &str, lower: &str, pos: &str, morph: &str) -> String {
        let pos = pos.to_ascii_lowercase();
        if pos.is_empty() || pos == "space" || is_base_form(&pos, morph) {
            return lower.to_owned();
        }
        let Some(table) = self.tables.get(pos.as_str()) else {
            return if pos == "propn" { text } else { lower }.to_owned();
        };
        table.lemma(text, lower)
    }
}

/// Whether the analysis says that the form is its own lemma.
fn is_base_form(pos: &str, morph: &str) -> bool {
    let has = |feature: &str| morph.split('|').any(|part| part == feature);
    let has_number = || morph.split('|').any(|part| part.starts_with("Number="));
    match pos {
        "noun" if has("Number=Sing") => return true,
        "verb" if has("VerbForm=Fin") && has("Tense=Pres") && !has_number() => return true,
        _ => {}
    }
    has("VerbForm=Inf") || has("VerbForm=None") || has("Degree=Pos")
}

impl Table {
    fn lemma(&self, text: &str, lower: &str) -> String {
        let (mut forms, mut unknown) = (Vec::new(), Vec::new());
        for (old, new) in &self.rules {
            let Some(stem) = lower.strip_suffix(&**old) else {
                continue;
            };
            let form = format!("{stem}{new}");
            if form.is_empty() {
                continue;
            }
            if self.index.contains(&murmur64a(form.as_bytes(), 1)) {
                forms.insert(0, form);
            } else if form.chars().all(is_alpha) {
                unknown.push(form);
            } else {
                forms.push(form);
            }
        }
        for exception in self.exceptions.get(lower).into_iter().flatten() {
            if !forms.iter().any(|form| **form == **exception) {
                forms.insert(0, exception.to_string());
            }
        }
        // Repeated forms need no removal: only the first one counts.
        let best = forms.into_iter().chain(unknown).next();
        best.unwrap_or_else(|| text.to_owned())
    }
}

/// Reads the three tables of one part of speech; a table may lack it.
fn parse_table<'v, 'a: 'v>(find: impl Fn(&str) -> Option<Option<&'v Value<'a>>>) -> Option<Table> {
    let mut table = Table::default();
    if let Some(rules) = find("lemma_rules")? {
        for rule in rules.as_array()? {
            let [old, new] = rule.as_array()? else {
                return None;
            };
            table.rules.push((old.as_str()?.into(), new.as_str()?.into()));
        }
    }
    if let Some(exceptions) = find("lemma_exc")? {
        for (form, lemmas) in exceptions.as_map()? {
            let lemmas = lemmas.as_array()?.iter();
            let lemmas = lemmas.map(|lemma| lemma.as_str().map(Box::from));
            let lemmas = lemmas.collect::<Option<_>>()?;
            table.exceptions.insert(form.as_str()?.into(), lemmas);
        }
    }
    if let Some(index) = find("lemma_index")? {
        let words = index.as_array()?.iter();
        let hashes = words.map(|word| Some(murmur64a(word.as_str()?.as_bytes(), 1)));
        table.index = hashes.collect::<Option<_>>()?;
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn lemmatizer() -> Lemmatizer {
        let pair = |old: &str, new: &str| (Box::from(old), Box::from(new));
        let noun = Table {
            rules: vec![pair("s", ""), pair("ses", "s"), pair("ves", "f")],
            exceptions: HashMap::from([("mice".into(), vec!["mouse".into()])]),
            index: ["dog", "bus", "wolf"].map(|word| murmur64a(word.as_bytes(), 1)).into(),
        };
        let adverb = Table { rules: vec![pair("", "")], ..Table::default() };
        let tables = HashMap::from([("noun", noun), ("adv", adverb)]);
        Lemmatizer { tables }
    }

    #[test]
    fn lemmas_follow_rules_exceptions_and_index() {
        let lemmatizer = lemmatizer();
        for (text, pos, morph, lemma) in [
            ("Dogs", "NOUN", "Number=Plur", "dog"),
            ("Buses", "NOUN", "Number=Plur", "bus"),
            ("wolves", "NOUN", "Number=Plur", "wolf"),
            ("mice", "NOUN", "Number=Plur", "mouse"),
            ("Dogs", "NOUN", "Number=Sing", "dogs"),
            ("ABCs", "NOUN", "Number=Plur", "abc"),
            ("Xyz", "NOUN", "Number=Plur", "Xyz"),
            ("Quickly", "ADV", "", "quickly"),
            ("Better", "ADV", "Degree=Pos", "better"),
            ("Paris", "PROPN", "Number=Sing", "Paris"),
            ("The", "DET", "", "the"),
            ("The", "", "", "the"),
        ] {
            let lower = text.to_lowercase();
            let got = lemmatizer.lemma(text, &lower, pos, morph);
            assert_eq!(got, lemma, "{text} {pos} {morph}");
        }
    }
}
