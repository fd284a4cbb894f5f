//! One mail: its header fields, and its words out of whatever they are packed in. Knows the syntax of mail; knows no mailbox.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use crate::moment::{Moment, Zone};

/// Parts inside parts are looked into so deep.
const DEEPEST: usize = 6;

/// Base64 as mail programs write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A mail or one part of it.
#[derive(Debug, Default)]
pub(super) struct Mail<'m> {
    /// Names in lower case, values on one line.
    fields: Vec<(String, String)>,
    body: &'m [u8],
}

impl<'m> Mail<'m> {
    /// Split header and body.
    pub fn read(bytes: &'m [u8]) -> Self {
        let mut mail = Self::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            rest = after;
            let line = line.trim_ascii_end();
            if line.is_empty() {
                break;
            }
            let text = charset(line, "utf-8");
            let folded = text.starts_with([' ', '\t']);
            if let Some((_, value)) = mail.fields.last_mut().filter(|_| folded) {
                value.push(' ');
                value.push_str(text.trim());
            } else if let Some((name, value)) = text.split_once(':') {
                mail.fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        mail.body = rest;
        mail
    }

    /// A field's value as it stands; empty when there is none.
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    /// A field's value in words.
    pub fn words(&self, name: &str) -> String {
        words(self.field(name))
    }

    /// Who wrote it: the name, or else the address.
    pub fn speaker(&self) -> String {
        let from = self.words("from");
        let inner = |open: char, close: char| {
            let (before, rest) = from.split_once(open)?;
            Some((before.trim().to_owned(), rest.split(close).next().unwrap_or(rest).trim().to_owned()))
        };
        let bare = |name: &str| name.trim().trim_matches(['"', '\'']).trim().to_owned();
        let name = match (inner('<', '>'), inner('(', ')')) {
            (Some((name, address)), _) => {
                if name.is_empty() {
                    address
                } else {
                    name
                }
            }
            (None, Some((address, name))) => {
                if name.is_empty() {
                    address
                } else {
                    name
                }
            }
            (None, None) => from,
        };
        let name = bare(&name);
        if name.is_empty() { "unknown".to_owned() } else { name }
    }

    /// When it was written, with its zone; and the same in UTC, to sort by.
    pub fn time(&self) -> (Moment, Option<i64>) {
        let text = self.field("date");
        if text.is_empty() {
            return (Moment::Unknown, None);
        }
        let plain = text.split('(').next().unwrap_or(text).trim();
        match OffsetDateTime::parse(plain, &Rfc2822) {
            Ok(at) => {
                let (utc, east) = (at.unix_timestamp(), at.offset().whole_seconds());
                let zone = match i16::try_from(east / 60) {
                    Ok(minutes) if minutes != 0 => Zone::Offset(minutes),
                    _ => Zone::Utc,
                };
                (Moment::At { seconds: utc + i64::from(east), zone }, Some(utc))
            }
            Err(_) => {
                let read = Moment::read(plain);
                let seconds = read.seconds();
                (read, seconds)
            }
        }
    }

    /// Its first part of plain text; `None` when it has none.
    pub fn text(&self) -> Option<String> {
        self.text_at(0)
    }

    fn text_at(&self, depth: usize) -> Option<String> {
        let kind = self.field("content-type");
        let lower = kind.to_ascii_lowercase();
        if lower.starts_with("multipart/") && depth < DEEPEST {
            let boundary = parameter(kind, "boundary")?;
            return parts(self.body, &boundary).into_iter().find_map(|part| Self::read(part).text_at(depth + 1));
        }
        let attached = self.field("content-disposition").to_ascii_lowercase().starts_with("attachment");
        if attached || !(lower.is_empty() || lower.starts_with("text/plain") || !lower.contains('/')) {
            return None;
        }
        let bytes = unpack(self.body, &self.field("content-transfer-encoding").to_ascii_lowercase());
        Some(charset(&bytes, &parameter(kind, "charset").unwrap_or_default()))
    }
}

/// The value of a parameter like `charset=utf-8`.
fn parameter(value: &str, name: &str) -> Option<String> {
    let found = value.split(';').skip(1).find_map(|piece| {
        let (known, value) = piece.split_once('=')?;
        known.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    });
    found.filter(|value| !value.is_empty())
}

/// The bytes between lines of `--boundary`.
fn parts<'b>(body: &'b [u8], boundary: &str) -> Vec<&'b [u8]> {
    let mut parts = Vec::new();
    let mut start = None;
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let next = at + line.len();
        let mark = line.strip_prefix(b"--").and_then(|rest| rest.strip_prefix(boundary.as_bytes()));
        if let Some(rest) = mark {
            parts.extend(start.and_then(|start| body.get(start..at)));
            start = (!rest.starts_with(b"--")).then_some(next);
        }
        at = next;
    }
    // The last line of marks may be lost.
    parts.extend(start.and_then(|start| body.get(start..)));
    parts
}

fn unpack(body: &[u8], encoding: &str) -> Vec<u8> {
    match encoding.trim() {
        "quoted-printable" => quoted_printable(body, false),
        "base64" => {
            let signs: Vec<u8> = body.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            BASE64.decode(signs).unwrap_or_else(|_| body.to_vec())
        }
        _ => body.to_vec(),
    }
}

/// `=C3=BC` to bytes; `=` at the end of a line joins it to the next. In header fields `_` is a blank.
fn quoted_printable(text: &[u8], header: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'=' => {
                let line = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n"));
                let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                match (line, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
                    (Some(line), _) => rest = line,
                    (None, Some(byte)) => {
                        bytes.push(byte);
                        rest = after.get(2..).unwrap_or_default();
                    }
                    (None, None) => bytes.push(b'='),
                }
            }
            b'_' if header => bytes.push(b' '),
            byte => bytes.push(*byte),
        }
    }
    bytes
}

/// `=?utf-8?Q?Gr=C3=BC=C3=9Fe?=` to words.
fn words(value: &str) -> String {
    let mut text = String::new();
    let mut rest = value;
    let mut coded = false;
    while let Some(at) = rest.find("=?") {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let Some((word, after)) = encoded(from) else {
            text.push_str(before);
            text.push_str("=?");
            rest = from.strip_prefix("=?").unwrap_or_default();
            coded = false;
            continue;
        };
        // Blanks between two encoded words are no part of the text.
        if !(coded && before.trim().is_empty()) {
            text.push_str(before);
        }
        text.push_str(&word);
        rest = after;
        coded = true;
    }
    text.push_str(rest);
    text
}

fn encoded(text: &str) -> Option<(String, &str)> {
    let (name, rest) = text.strip_prefix("=?")?.split_once('?')?;
    let (kind, rest) = rest.split_once('?')?;
    let (body, rest) = rest.split_once("?=")?;
    let bytes = match kind {
        "q" | "Q" => quoted_printable(body.as_bytes(), true),
        "b" | "B" => BASE64.decode(body.trim()).ok()?,
        _ => return None,
    };
    Some((charset(&bytes, name), rest))
}

/// Bytes to text. UTF-8 is tried first whatever the name says; what is none is Latin, or UTF-8 with faults.
fn charset(bytes: &[u8], name: &str) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let name = name.to_ascii_lowercase();
    if name.starts_with("utf") || name.contains("2022") || name.starts_with("gb") || name.contains("jis") {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    bytes.iter().map(|byte| latin(*byte)).collect()
}

/// The character of a byte in Windows' western code page, which is Latin 1 with letters where that has controls.
fn latin(byte: u8) -> char {
    const UPPER: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    let upper = byte.checked_sub(0x80).and_then(|at| UPPER.get(usize::from(at)));
    upper.copied().unwrap_or(char::from(byte))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn mail(header: &str, body: &str) -> Vec<u8> {
        format!("{header}\n\n{body}").into_bytes()
    }

    #[test]
    fn speakers_and_times_are_read() {
        let rows = [
            ("Ana Lopes <ana@x.org>", "Ana Lopes"),
            ("\"Lopes, Ana\" <ana@x.org>", "Lopes, Ana"),
            ("ana@x.org (Ana Lopes)", "Ana Lopes"),
            ("<ana@x.org>", "ana@x.org"),
            ("ana at x.org (Ana Lopes)", "Ana Lopes"),
            ("=?utf-8?Q?J=C3=B6rg?= =?UTF-8?B?IE3DvGxsZXI=?= <j@x.org>", "Jörg Müller"),
            ("", "unknown"),
        ];
        for (from, want) in rows {
            assert_eq!(Mail::read(&mail(&format!("From: {from}"), "")).speaker(), want);
        }
        let rows = [
            ("Sat, 2 May 2026 11:00:00 +0200", "2026-05-02T11:00:00+02:00"),
            ("2 May 2026 09:00:00 GMT", "2026-05-02T09:00:00Z"),
            ("Sat, 02 May 2026 09:00:00 +0000 (UTC)", "2026-05-02T09:00:00Z"),
            ("some day", "?some day"),
        ];
        for (date, want) in rows {
            assert_eq!(Mail::read(&mail(&format!("Date: {date}"), "")).time().0.store(), want);
        }
    }

    #[test]
    fn words_come_out_of_their_packing() {
        let quoted = mail(
            "Content-Type: text/plain;\n charset=ISO-8859-1\nContent-Transfer-Encoding: Quoted-Printable",
            "Gr=FC=\n=DFe = 1",
        );
        assert_eq!(Mail::read(&quoted).text().as_deref(), Some("Grüße = 1"));
        let packed = mail("Content-Transfer-Encoding: base64", "R3LDvMOf\nZQ");
        assert_eq!(Mail::read(&packed).text().as_deref(), Some("Grüße"));
        let parts = mail(
            "Content-Type: multipart/mixed; boundary=\"b 1\"",
            "note\n--b 1\nContent-Type: multipart/alternative; boundary=c\n\n--c\nContent-Type: text/html\n\n<b>x</b>\n--c\n\nplain\n--c--\n--b 1\nContent-Type: image/png\n\nx\n--b 1--\n",
        );
        assert_eq!(Mail::read(&parts).text().as_deref(), Some("plain\n"));
        let html = mail("Content-Type: text/html", "<b>x</b>");
        assert_eq!(Mail::read(&html).text(), None);
        assert_eq!(Mail::read(b"Subject: =?x?=?\r\n folded\r\n\r\nb").words("subject"), "=?x?=? folded");
    }
}
