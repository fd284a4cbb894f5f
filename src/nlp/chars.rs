//! Knows Python's character predicates where they differ from Rust's; must not know what a token is.

use super::unicode;

/// Whether `c` lies in a flat list of inclusive, ascending ranges.
fn within(ranges: &[u32], c: char) -> bool {
    // An odd number of bounds at or below `c` means that it is inside a range, and so does the
    // last code point of a range, which is itself a bound.
    let below = ranges.partition_point(|bound| *bound <= u32::from(c));
    below % 2 == 1 || (below > 0 && ranges[below - 1] == u32::from(c))
}

/// Python's `str.isalpha` for one code point.
pub(super) fn is_alpha(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { within(&unicode::ALPHA, c) }
}

/// Python's `str.isupper` for one alphabetic code point.
pub(super) fn is_upper(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_uppercase() } else { within(&unicode::UPPER, c) }
}

/// Python's `str.isdigit` for one code point: superscripts and circled digits are digits too.
pub(super) fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { within(&unicode::DIGIT, c) }
}

/// Python's `str.isspace` for one code point: White_Space and the four information separators.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, '\u{1c}'..='\u{1f}') || c.is_whitespace()
}

/// `\w` of Python's regular expressions.
pub(super) fn is_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { within(&unicode::WORD, c) }
}

/// `\d` of Python's regular expressions.
pub(super) fn is_decimal(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { within(&unicode::DECIMAL, c) }
}

/// Python's `str.lower`: like Rust's, but blind to capitals that Unicode added after version 14.
pub(super) fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    if !text.chars().any(is_newer_capital) {
        return text.to_lowercase();
    }
    // Rare: keep the unknown capitals and lower what lies between them.
    let mut lowered = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_newer_capital) {
        lowered.push_str(&rest[..at].to_lowercase());
        let end = at + rest[at..].chars().next().map_or(0, char::len_utf8);
        lowered.push_str(&rest[at..end]);
        rest = &rest[end..];
    }
    lowered.push_str(&rest.to_lowercase());
    lowered
}

/// A code point that Rust would lower but Python 3.11 does not know: it is no letter there, and
/// none of the Roman numerals and circled letters, the only others with a lower case.
fn is_newer_capital(c: char) -> bool {
    !c.is_ascii()
        && !matches!(c, '\u{2160}'..='\u{216f}' | '\u{24b6}'..='\u{24cf}')
        && !is_alpha(c)
        && !c.to_lowercase().eq([c])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn count(predicate: impl Fn(char) -> bool) -> usize {
        ('\0'..=char::MAX).filter(|c| predicate(*c)).count()
    }

    #[test]
    fn predicates_hold_for_known_code_points() {
        assert!(is_alpha('é') && is_alpha('ß') && is_alpha('中') && is_alpha('ª'));
        assert!(!is_alpha('\u{93e}') && !is_alpha('Ⅷ') && !is_alpha('1') && !is_alpha('_'));
        assert!(is_digit('²') && is_digit('①') && is_digit('٣') && !is_digit('½'));
        assert!(is_decimal('٣') && !is_decimal('²'));
        assert!(is_space('\u{1f}') && is_space('\u{a0}') && is_space('\u{3000}'));
        assert!(!is_space('\u{200b}') && !is_space('\u{feff}'));
        assert!(is_upper('É') && !is_upper('ǅ') && !is_upper('é'));
        assert!(is_word('½') && is_word('_') && !is_word('-') && !is_word('\u{301}'));
    }

    #[test]
    fn spaces_are_pythons_29() {
        assert_eq!(count(is_space), 29);
    }

    #[test]
    fn fifty_five_capitals_are_newer_than_the_tables() {
        // More is possible with a later compiler, which is what the rule is for.
        assert!(count(is_newer_capital) >= 55);
        assert_eq!(lower("Ⓐ Ⅷ İ ΑΣ ΣΑ"), "ⓐ ⅷ i\u{307} ας σα");
        assert_eq!(lower("A\u{a7cb}B"), "a\u{a7cb}b");
    }
}
