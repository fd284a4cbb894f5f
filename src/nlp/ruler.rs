//! Knows the rules that turn tags and dependencies into parts of speech; must not know any network.

use std::collections::HashMap;

use super::error::NlpError;
use super::msgpack::{self, Value};
use super::strings::intern;

/// What a rule may look at: one token before any rule has been applied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) tag: &'a str,
    pub(super) dep: &'a str,
    pub(super) lower: &'a str,
    pub(super) is_space: bool,
}

/// What a rule may set.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) tag: Option<&'static str>,
    pub(super) pos: Option<&'static str>,
    pub(super) morph: Option<&'static str>,
    pub(super) lemma: Option<&'static str>,
    pub(super) dep: Option<&'static str>,
}

/// All rules, indexed by what their first token must be.
#[derive(Debug, Default)]
pub(super) struct Ruler {
    rules: Vec<Rule>,
    by_tag: HashMap<Box<str>, Vec<usize>>,
    by_lower: HashMap<Box<str>, Vec<usize>>,
    others: Vec<usize>,
}

/// One pattern of one rule. Patterns of the same rule share its number.
#[derive(Debug)]
struct Rule {
    number: usize,
    tokens: Vec<Vec<Test>>,
    /// Which token of the pattern is marked.
    index: usize,
    marks: Marks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Field {
    Tag,
    Dep,
    Lower,
}

/// One condition on one token.
#[derive(Debug)]
enum Test {
    Is(Field, Box<str>),
    In(Field, Vec<Box<str>>),
    NotIn(Field, Vec<Box<str>>),
    Like(Field, Vec<Step>),
    Space(bool),
}

/// One step of an anchored expression: a set of code points, which may be left out.
#[derive(Debug)]
struct Step {
    chars: Vec<char>,
    optional: bool,
}

impl Test {
    fn holds(&self, facts: &Facts<'_>) -> bool {
        let value = |field: &Field| match field {
            Field::Tag => facts.tag,
            Field::Dep => facts.dep,
            Field::Lower => facts.lower,
        };
        match self {
            Self::Is(field, text) => value(field) == &**text,
            Self::In(field, texts) => texts.iter().any(|text| value(field) == &**text),
            Self::NotIn(field, texts) => texts.iter().all(|text| value(field) != &**text),
            Self::Like(field, steps) => matches_steps(steps, value(field)),
            Self::Space(wanted) => facts.is_space == *wanted,
        }
    }
}

/// Whether `steps` describe the whole of `text`.
fn matches_steps(steps: &[Step], text: &str) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return text.is_empty();
    };
    let mut chars = text.chars();
    let taken = chars.next().is_some_and(|c| step.chars.contains(&c));
    taken && matches_steps(rest, chars.as_str()) || step.optional && matches_steps(rest, text)
}

/// Reads an expression such as `^n[ou]thin'$`; `None` if it uses anything else.
fn parse_steps(pattern: &str) -> Option<Vec<Step>> {
    let mut rest = pattern.strip_prefix('^')?.strip_suffix('$')?.chars();
    let mut steps: Vec<Step> = Vec::new();
    while let Some(c) = rest.next() {
        let chars = match c {
            '?' => {
                steps.last_mut().filter(|step| !step.optional)?.optional = true;
                continue;
            }
            '[' => {
                let (inside, after) = rest.as_str().split_once(']')?;
                rest = after.chars();
                inside.chars().collect()
            }
            c => vec![c],
        };
        if chars.iter().any(|c| r"\^$.|*+(){}[]-".contains(*c)) {
            return None;
        }
        steps.push(Step { chars, optional: false });
    }
    // Each optional step doubles the work of a mismatch.
    (steps.iter().filter(|step| step.optional).count() <= 4).then_some(steps)
}

impl Ruler {
    /// Reads the rules' `file`.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, NlpError> {
        let top = msgpack::decode(bytes).map_err(|what| NlpError::malformed(file, what))?;
        let rules = top.as_array().ok_or_else(|| NlpError::malformed(file, "it is not a list of rules"))?;
        let mut ruler = Self::default();
        for (number, rule) in rules.iter().enumerate() {
            let parsed = parse_rule(number, rule);
            let what = || NlpError::malformed(file, format!("rule {number} is of unknown shape"));
            for rule in parsed.ok_or_else(what)? {
                ruler.add(rule);
            }
        }
        Ok(ruler)
    }

    fn add(&mut self, rule: Rule) {
        let at = self.rules.len();
        let tests = rule.tokens.first().map_or(&[][..], Vec::as_slice);
        let find = |wanted: Field| {
            tests.iter().find_map(|test| match test {
                Test::Is(field, text) if *field == wanted => Some(vec![text.clone()]),
                Test::In(field, texts) if *field == wanted => Some(texts.clone()),
                _ => None,
            })
        };
        // The rarest condition first: fewer candidates to test.
        let (map, keys) = match (find(Field::Lower), find(Field::Tag)) {
            (Some(texts), _) => (&mut self.by_lower, texts),
            (None, Some(tags)) => (&mut self.by_tag, tags),
            (None, None) => {
                self.others.push(at);
                self.rules.push(rule);
                return;
            }
        };
        for key in keys {
            map.entry(key).or_default().push(at);
        }
        self.rules.push(rule);
    }

    /// Applies all rules to a text. Every rule sees the text as it was; a later rule overwrites what
    /// an earlier one has set.
    pub(super) fn apply(&self, facts: &[Facts<'_>]) -> Vec<Marks> {
        let mut matches = Vec::with_capacity(facts.len() * 2);
        for (start, first) in facts.iter().enumerate() {
            let by_tag = self.by_tag.get(first.tag).into_iter().flatten();
            let by_lower = self.by_lower.get(first.lower).into_iter().flatten();
            for at in by_tag.chain(by_lower).chain(&self.others) {
                let rule = &self.rules[*at];
                let window = facts.get(start..start + rule.tokens.len());
                let holds = window.is_some_and(|window| {
                    let mut pairs = window.iter().zip(&rule.tokens);
                    pairs.all(|(facts, tests)| tests.iter().all(|test| test.holds(facts)))
                });
                if holds {
                    matches.push((rule.number, start, *at));
                }
            }
        }
        matches.sort_unstable();
        let mut marks = vec![Marks::default(); facts.len()];
        for (_, start, at) in matches {
            let rule = &self.rules[at];
            let (target, new) = (&mut marks[start + rule.index], &rule.marks);
            target.tag = new.tag.or(target.tag);
            target.pos = new.pos.or(target.pos);
            target.morph = new.morph.or(target.morph);
            target.lemma = new.lemma.or(target.lemma);
            target.dep = new.dep.or(target.dep);
        }
        marks
    }
}

/// One rule of the file as one entry per pattern.
fn parse_rule(number: usize, rule: &Value<'_>) -> Option<Vec<Rule>> {
    let mut marks = Marks::default();
    for (name, value) in rule.get("attrs")?.as_map()? {
        let value = intern(value.as_str()?);
        match name.as_str()? {
            "TAG" => marks.tag = Some(value),
            "POS" => marks.pos = Some(value),
            // An underscore is the empty analysis.
            "MORPH" => marks.morph = Some(if value == "_" { "" } else { value }),
            "LEMMA" => marks.lemma = Some(value),
            "DEP" => marks.dep = Some(value),
            _ => return None,
        }
    }
    let index = usize::try_from(rule.get("index")?.as_uint()?).ok()?;
    let mut rules = Vec::new();
    for pattern in rule.get("patterns")?.as_array()? {
        let tokens = pattern.as_array()?.iter().map(parse_token);
        let tokens = tokens.collect::<Option<Vec<_>>>()?;
        if index >= tokens.len() {
            return None;
        }
        rules.push(Rule { number, tokens, index, marks });
    }
    Some(rules)
}

/// The conditions on one token of a pattern.
fn parse_token(token: &Value<'_>) -> Option<Vec<Test>> {
    let mut tests = Vec::new();
    for (name, value) in token.as_map()? {
        let field = match name.as_str()? {
            "TAG" => Field::Tag,
            "DEP" => Field::Dep,
            "LOWER" => Field::Lower,
            "IS_SPACE" => {
                let Value::Bool(wanted) = value else {
                    return None;
                };
                tests.push(Test::Space(*wanted));
                continue;
            }
            _ => return None,
        };
        if let Some(text) = value.as_str() {
            tests.push(Test::Is(field, text.into()));
            continue;
        }
        for (operator, operand) in value.as_map()? {
            let texts = || -> Option<Vec<Box<str>>> {
                let texts = operand.as_array()?.iter();
                texts.map(|text| Some(text.as_str()?.into())).collect()
            };
            tests.push(match operator.as_str()? {
                "IN" => Test::In(field, texts()?),
                "NOT_IN" => Test::NotIn(field, texts()?),
                "REGEX" => Test::Like(field, parse_steps(operand.as_str()?)?),
                _ => return None,
            });
        }
    }
    Some(tests)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn anchored_expressions_describe_the_whole_text() {
        for (pattern, yes, no) in [
            ("^n'?t$", &["nt", "n't"][..], &["n", "n''t", "ant", "nts"][..]),
            ("^n[ou]thin'$", &["nothin'", "nuthin'"], &["nthin'", "nouthin'"]),
            ("^y'?$", &["y", "y'"], &["", "y''", "ya"]),
        ] {
            let steps = parse_steps(pattern).unwrap();
            assert!(yes.iter().all(|text| matches_steps(&steps, text)), "{pattern}");
            assert!(!no.iter().any(|text| matches_steps(&steps, text)), "{pattern}");
        }
        for pattern in ["n", "^a*$", "^a|b$", "^[a-c]$", "^?$", r"^\w$", "^(a)$"] {
            assert!(parse_steps(pattern).is_none(), "{pattern}");
        }
    }

    fn rule(number: usize, tokens: Vec<Vec<Test>>, index: usize, lemma: &'static str) -> Rule {
        let lemma = Some(lemma);
        let marks = Marks { lemma, ..Marks::default() };
        Rule { number, tokens, index, marks }
    }

    #[test]
    fn later_rules_overwrite_and_two_token_rules_mark_their_index() {
        let is = |text: &str| Test::Is(Field::Lower, text.into());
        let mut ruler = Ruler::default();
        ruler.add(rule(0, vec![vec![is("gon")], vec![is("na")]], 0, "go"));
        ruler.add(rule(1, vec![vec![is("gon")], vec![is("na")]], 1, "to"));
        ruler.add(rule(2, vec![vec![Test::Space(false)]], 0, "first"));
        ruler.add(rule(3, vec![vec![is("na")]], 0, "last"));
        let facts = ["gon", "na"].map(|lower| Facts { tag: "", dep: "", lower, is_space: false });
        let lemmas: Vec<_> = ruler.apply(&facts).iter().map(|m| m.lemma).collect();
        assert_eq!(lemmas, [Some("first"), Some("last")]);
        assert_eq!(ruler.apply(&facts[..1])[0].lemma, Some("first"));
    }
}
