//! Knows what the affix rules of the tokenizer file do, on a short version of its patterns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

const PREFIXES: &str = r##"^§|^%|^—|^\+(?![0-9])|^…|^……|^,|^\!|^\(|^\[|^_|^\.\.+|^\'|^"|^\$|^US\$|^C\$|^A\$|^[\u00A9\u2600-\u266E\U0001F300-\U0001F3FA]"##;
const SUFFIXES: &str = r##"…$|……$|,$|\!$|\)$|\*$|\.\.+$|\'$|"$|[\u00A9\u2600-\u266E]$|'s$|'S$|’s$|—$|(?<=[0-9])\+$|(?<=°[FfCcKk])\.$|(?<=[0-9])(?:\$|£|US\$)$|(?<=[0-9])(?:km|km²|m|m²|kg|km/h|%)$|(?<=[0-9a-z%²\-\+\)'])\.$|(?<=[A-Z][A-Z])\.$"##;
const INFIXES: &str = r##"\.\.+|…|[\u00A9\u2600-\u266E]|(?<=[0-9])[+\-\*^](?=[0-9-])|(?<=[a-z'])\.(?=[A-Z'])|(?<=[A-Za-z]),(?=[A-Za-z])|(?<=[A-Za-z0-9])(?:-|–|—|--|---|——|~)(?=[A-Za-z])|(?<=[A-Za-z0-9])[:<>=/](?=[A-Za-z])"##;

#[test]
fn prefixes() {
    let prefixes = Prefixes::parse(PREFIXES).unwrap();
    for (text, prefix) in [
        ("(word", "("),
        ("…x", "…"),
        ("……", "…"),
        ("...x", "..."),
        (".x", ""),
        ("US$5", "US$"),
        ("C$", "C$"),
        ("$5", "$"),
        ("+x", "+"),
        ("+", "+"),
        ("+5", ""),
        ("☀x", "☀"),
        ("🌍", "🌍"),
        ("-x", ""),
        ("@x", ""),
        ("word", ""),
        ("", ""),
    ] {
        assert_eq!(prefixes.length(text), prefix.len(), "{text}");
    }
}

#[test]
fn suffixes() {
    let suffixes = Suffixes::parse(SUFFIXES).unwrap();
    for (text, suffix) in [
        ("word)", ")"),
        ("word...", "..."),
        ("……", "……"),
        ("x…", "…"),
        ("dog's", "'s"),
        ("DOG'S", "'S"),
        ("dog’s", "’s"),
        ("dogs'", "'"),
        ("5+", "+"),
        ("c+", ""),
        ("20°C.", "."),
        ("°X.", ""),
        ("5km", "km"),
        ("5km²", "km²"),
        ("5km/h", "km/h"),
        ("skm", ""),
        ("5%", "%"),
        ("x%", ""),
        ("5$", "$"),
        ("5US$", "US$"),
        ("US$", ""),
        ("end.", "."),
        ("USA.", "."),
        ("U.S.", ""),
        ("A.", ""),
        ("a).", "."),
        ("☀", "☀"),
        ("word", ""),
        ("", ""),
    ] {
        assert_eq!(suffixes.length(text), suffix.len(), "{text}");
    }
}

#[test]
fn infixes() {
    let infixes = Infixes::parse(INFIXES).unwrap();
    for (text, found) in [
        ("well-known", &["-"][..]),
        ("a--b", &["--"]),
        ("a---b", &["---"]),
        ("a-1", &[]),
        ("1-a", &["-"]),
        ("1-2", &["-"]),
        ("2*-3", &["*"]),
        ("2^x", &[]),
        ("foo.Bar", &["."]),
        ("foo.bar", &[]),
        ("FOO.BAR", &[]),
        ("a,b,c", &[",", ","]),
        ("a,1", &[]),
        ("and/or", &["/"]),
        ("a=b", &["="]),
        ("wait...what", &["..."]),
        ("wait…what", &["…"]),
        ("a☀b", &["☀"]),
        ("☀a", &["☀"]),
        ("a~b", &["~"]),
        ("a—b", &["—"]),
        ("word", &[]),
        ("", &[]),
    ] {
        let spans = infixes.find(text);
        let got: Vec<&str> = spans.iter().map(|(start, end)| &text[*start..*end]).collect();
        assert_eq!(got, found, "{text}");
        assert_eq!(infixes.occurs(text), !found.is_empty());
    }
}

#[test]
fn rules_of_unknown_shape_are_refused() {
    for pattern in ["", "a", "^a|", r"^\w", "^(a)", "^[a", "^a+"] {
        assert!(Prefixes::parse(pattern).is_none(), "{pattern}");
    }
    for pattern in ["", "a", "a$|", r"(?<=\w)a$", "(?<=[a])[b]$", "(?:a$"] {
        assert!(Suffixes::parse(pattern).is_none(), "{pattern}");
    }
    for pattern in ["", "a|", "(?<=[a]b", "a(?=[b]", "a(?!b)", "(?:a"] {
        assert!(Infixes::parse(pattern).is_none(), "{pattern}");
    }
}
