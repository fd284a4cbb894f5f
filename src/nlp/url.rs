//! Knows which strings the tokenizer keeps whole as an address; must not know tokens or models.
//!
//! A hand-written equivalent of the pattern `url_match`: only the alphabet of the top-level label
//! is read from the file. One pass over the text for each `@`, each of which ends at the next one.

use super::chars::{is_decimal, is_word};
use super::pattern::{CharClass, Scanner};

/// The start of the pattern that this matcher was written for.
const EXPECTED: &str = r"(?u)^(?:(?:[\w\+\-\.]{2,})://)?(?:\S+(?::\S*)?@)?(?:(?!(?:10|127)";

/// Recognises web addresses, host names and e-mail addresses.
#[derive(Debug)]
pub(super) struct Urls {
    top_level: CharClass,
}

impl Urls {
    /// Reads the pattern `url_match`; `None` if it is not the one that this matcher stands for.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        if !pattern.starts_with(EXPECTED) {
            return None;
        }
        let mut scanner = Scanner::new(pattern);
        loop {
            scanner.seek_class();
            if scanner.is_done() {
                return None;
            }
            match scanner.class() {
                Some(top_level) if scanner.eat("{2,63})") => return Some(Self { top_level }),
                Some(_) => {}
                // A class such as `[\w\+]` has no code points to read: step over its bracket.
                None => scanner.seek_class(),
            }
        }
    }

    /// Whether the whole of `text` is an address.
    pub(super) fn matches(&self, text: &str) -> bool {
        if self.with_user(text) {
            return true;
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return false;
        };
        let fits = |c: char| is_word(c) || matches!(c, '+' | '-' | '.');
        scheme.chars().nth(1).is_some() && scheme.chars().all(fits) && self.with_user(rest)
    }

    /// An address after an optional user part, which ends at any `@` but one at the start.
    fn with_user(&self, text: &str) -> bool {
        self.address(text) || text.match_indices('@').any(|(at, _)| at > 0 && self.address(&text[at + 1..]))
    }

    /// A host, then perhaps a port, then perhaps a path, query or fragment.
    fn address(&self, text: &str) -> bool {
        let possible = |c: char| {
            c.is_ascii_alphanumeric()
                || matches!(c, '.' | '-' | '_' | '\u{a1}'..='\u{ffff}')
                || is_decimal(c)
                || self.top_level.contains(c)
        };
        let end = text.find(|c: char| !possible(c)).unwrap_or(text.len());
        let (host, rest) = text.split_at(end);
        if !rest.is_empty() && !rest.starts_with([':', '/', '?', '#']) {
            return false;
        }
        follows_host(rest) && (is_public_ip(host) || self.is_domain(host))
    }

    fn is_domain(&self, host: &str) -> bool {
        let Some((labels, last)) = host.rsplit_once('.') else {
            return false;
        };
        let length = last.chars().count();
        (2..=63).contains(&length)
            && last.chars().all(|c| self.top_level.contains(c))
            && labels.split('.').all(is_label)
    }
}

/// What may come after the host: nothing, `:` and a port, and then a path, query or fragment.
fn follows_host(rest: &str) -> bool {
    let rest = match rest.strip_prefix(':') {
        None => rest,
        Some(port) => {
            let end = port.find(|c| !is_decimal(c)).unwrap_or(port.len());
            let digits = port[..end].chars().count();
            // More than five digits could not be followed by anything allowed either.
            if !(2..=5).contains(&digits) {
                return false;
            }
            &port[end..]
        }
    };
    rest.is_empty() || rest.starts_with(['/', '?', '#'])
}

/// One label of a host name other than the last.
fn is_label(label: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || ('\u{a1}'..='\u{ffff}').contains(&c);
    let inner = |c: char| letter(c) || c == '_' || c == '-';
    label.starts_with(letter) && label.ends_with(letter) && label.chars().all(inner) && label.chars().count() <= 64
}

/// Four octets that are no private or local address. Digits may be of any script, as in Python's
/// `\d`, except where the pattern lists them.
fn is_public_ip(host: &str) -> bool {
    let octets: Vec<Vec<char>> = host.split('.').map(|part| part.chars().collect()).collect();
    let [first, second, third, last] = octets.as_slice() else {
        return false;
    };
    let upto = |top: [char; 3], octet: &[char]| match octet {
        ['1'..='9'] => true,
        ['1'..='9', d] => is_decimal(*d),
        ['1', d, e] => is_decimal(*d) && is_decimal(*e),
        ['2', d, e] => ('0'..=top[0]).contains(d) && is_decimal(*e) || *d == top[1] && ('0'..=top[2]).contains(e),
        _ => false,
    };
    let middle = |octet: &[char]| match octet {
        [d] => is_decimal(*d),
        [d, e] => is_decimal(*d) && is_decimal(*e),
        ['1', d, e] => is_decimal(*d) && is_decimal(*e),
        ['2', '0'..='4', e] => is_decimal(*e),
        ['2', '5', '0'..='5'] => true,
        _ => false,
    };
    let private = match (first.as_slice(), second.as_slice()) {
        (['1', '0'] | ['1', '2', '7'], _) => true,
        (['1', '6', '9'], ['2', '5', '4']) | (['1', '9', '2'], ['1', '6', '8']) => true,
        (['1', '7', '2'], ['1', '6'..='9'] | ['3', '0'..='1']) => true,
        (['1', '7', '2'], ['2', d]) => is_decimal(*d),
        _ => false,
    };
    upto(['1', '2', '3'], first) && middle(second) && middle(third) && upto(['4', '5', '4'], last) && !private
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn urls() -> Urls {
        Urls { top_level: CharClass::of(('a'..='z').chain(['中', '国'])) }
    }

    #[test]
    fn addresses_are_recognised() {
        let urls = urls();
        for text in [
            "foo.bar",
            "Foo.bar",
            "www.example.com",
            "http://example.com",
            "https://user:pass@example.com:8080/a?b#c",
            "x+y-z.w://a.bc",
            "someone@example.org",
            "a@b@c.de",
            "http://a@b@c.de/@",
            "1.2.3.4",
            "223.255.255.254",
            "8.8.8.8:53/x",
            "172.15.0.1",
            "a_b-c.de",
            "例子.中国",
            "example.com/path@x",
            "1.1.1.1?q",
        ] {
            assert!(urls.matches(text), "{text}");
        }
    }

    #[test]
    fn other_strings_are_not() {
        let urls = urls();
        for text in [
            "",
            "foo",
            "foo.",
            ".bar",
            "foo.Bar",
            "FOO.BAR",
            "U.S.",
            "a.b",
            "foo..bar",
            "-foo.bar",
            "foo-.bar",
            "_a.bc",
            "@a.bc",
            "a://b.cd",
            "h t://b.cd",
            "http://",
            "example.com:1",
            "example.com:123456",
            "example.com:80x",
            "10.1.2.3",
            "127.0.0.1",
            "192.168.0.1",
            "169.254.1.1",
            "172.16.0.1",
            "172.31.255.1",
            "224.0.0.1",
            "0.1.2.3",
            "1.2.3.0",
            "1.2.3.255",
            "1.256.3.4",
            "1.2.3",
            "foo.bar!",
        ] {
            assert!(!urls.matches(text), "{text}");
        }
    }

    #[test]
    fn long_hostile_strings_cost_one_pass() {
        let urls = urls();
        assert!(!urls.matches(&"a@".repeat(200_000)));
        assert!(!urls.matches(&"a.".repeat(200_000)));
        assert!(!urls.matches(&"://".repeat(200_000)));
    }
}
