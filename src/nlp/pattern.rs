//! Knows the few shapes of Python regular expressions in the tokenizer file; must not know tokens.

/// A set of code points, read from the text of a character class.
#[derive(Debug, Clone, Default)]
pub(super) struct CharClass {
    ascii: u128,
    /// Ascending, disjoint, inclusive.
    ranges: Vec<(u32, u32)>,
}

impl CharClass {
    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(open) if first <= open.1.saturating_add(1) => open.1 = open.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        let bit = |code: u32| merged.iter().any(|r| r.0 <= code && code <= r.1);
        let ascii = (0..128).fold(0, |set, code| set | (u128::from(bit(code)) << code));
        Self { ascii, ranges: merged }
    }

    /// The class of the given code points.
    pub(super) fn of(chars: impl IntoIterator<Item = char>) -> Self {
        let pair = |c: char| (u32::from(c), u32::from(c));
        Self::from_ranges(chars.into_iter().map(pair).collect())
    }

    /// Whether `c` belongs to the class.
    pub(super) fn contains(&self, c: char) -> bool {
        let code = u32::from(c);
        if code < 128 {
            return self.ascii >> code & 1 == 1;
        }
        let after = self.ranges.partition_point(|range| range.0 <= code);
        after > 0 && code <= self.ranges[after - 1].1
    }

    /// This class and another one together.
    pub(super) fn union(&self, other: &Self) -> Self {
        let both = self.ranges.iter().chain(&other.ranges);
        Self::from_ranges(both.copied().collect())
    }

    /// Number of code points in the class.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ranges.iter().map(|r| (r.1 - r.0 + 1) as usize).sum()
    }
}

/// Reads a pattern from left to right. Every method says with `None` that the text is not of the
/// expected shape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Whether everything has been read.
    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Skips `expected` if it comes next.
    pub(super) fn eat(&mut self, expected: &str) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// One code point, written as itself or with a backslash (`\.`, `\u2026`, `\U0001F600`).
    fn code(&mut self) -> Option<u32> {
        let c = self.bump()?;
        if c != '\\' {
            return Some(u32::from(c));
        }
        let digits = match self.bump()? {
            'u' => 4,
            'U' => 8,
            // A letter or digit would be a class such as `\d`, which has another reader.
            c if c.is_ascii_alphanumeric() => return None,
            c => return Some(u32::from(c)),
        };
        let (number, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        u32::from_str_radix(number, 16).ok()
    }

    /// A character class with its brackets, not negated.
    pub(super) fn class(&mut self) -> Option<CharClass> {
        if !self.eat("[") || self.rest.starts_with('^') {
            return None;
        }
        let mut ranges = Vec::new();
        while !self.eat("]") {
            let first = self.code()?;
            // A dash before the closing bracket stands for itself.
            let last = if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.bump()?;
                self.code()?
            } else {
                first
            };
            if last < first {
                return None;
            }
            ranges.push((first, last));
        }
        Some(CharClass::from_ranges(ranges))
    }

    /// A non-empty run of code points that stand for themselves; stops at any operator.
    pub(super) fn literal(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(c) = self.rest.chars().next() {
            if "[]()|^$?*+.{}".contains(c) {
                break;
            }
            text.push(char::from_u32(self.code()?)?);
        }
        (!text.is_empty()).then_some(text)
    }

    /// Literals between `(?:` and `)`, separated by bars.
    pub(super) fn literal_group(&mut self) -> Option<Vec<String>> {
        if !self.eat("(?:") {
            return None;
        }
        let mut all = vec![self.literal()?];
        while self.eat("|") {
            all.push(self.literal()?);
        }
        self.eat(")").then_some(all)
    }

    /// Skips to the next class in the text, or to the end.
    pub(super) fn seek_class(&mut self) {
        while !self.rest.is_empty() && !self.rest.starts_with('[') {
            if self.bump() == Some('\\') {
                self.bump();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn classes_hold_ranges_escapes_and_a_last_dash() {
        let mut scanner = Scanner::new(r"[a-c\u00e9\U0001F600-\U0001F602\]\-x_-]rest");
        let class = scanner.class().unwrap();
        assert!(['a', 'b', 'c', 'é', '😁', ']', '-', 'x', '_'].iter().all(|c| class.contains(*c)));
        assert!(!['d', '[', 'y', '\\', '😄'].iter().any(|c| class.contains(*c)));
        assert_eq!(class.len(), 3 + 1 + 3 + 4);
        assert!(scanner.eat("rest") && scanner.is_done());
    }

    #[test]
    fn malformed_classes_are_refused() {
        for text in ["[a", "[b-a]", r"[\u12", r"[\w]", "a]", "", r"[\u12é4]"] {
            assert!(Scanner::new(text).class().is_none(), "{text}");
        }
    }

    #[test]
    fn literals_stop_at_operators() {
        let mut scanner = Scanner::new(r"(?:US\$|a|km/h)x");
        assert_eq!(scanner.literal_group().unwrap(), ["US$", "a", "km/h"]);
        assert_eq!(scanner.literal().unwrap(), "x");
        assert!(scanner.literal().is_none());
    }
}
