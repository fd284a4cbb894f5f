//! Hostile text to text fit for a terminal: nothing that moves the cursor, reorders, hides or colours what is read.
//! Knows Unicode; knows no screen and no database.

use std::borrow::Cow;

/// Make what a terminal would obey, or would not show, visible.
///
/// Control characters become their pictures (`␛`), other hidden characters their code point (`⟨U+202E⟩`); `\r\n` and a
/// lone `\r` become `\n`; `\n` and `\t` stay. Joiners and variation selectors stay where they shape an emoji or a
/// script that needs them. Borrowed when nothing changes; cleaning twice changes nothing more.
pub fn clean(text: &str) -> Cow<'_, str> {
    clean_counting(text, &mut 0)
}

/// [`clean`], adding the number of characters made visible to `made_visible`.
pub fn clean_counting<'a>(text: &'a str, made_visible: &mut u64) -> Cow<'a, str> {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | 0x20..=0x7e)) {
        return Cow::Borrowed(text);
    }
    let mut changed: Option<String> = None;
    let mut before: Option<char> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, found)) = chars.next() {
        let after = chars.peek().map(|&(_, next)| next);
        if found == '\r' {
            let out = changed.get_or_insert_with(|| text.get(..at).unwrap_or_default().to_owned());
            if after != Some('\n') {
                out.push('\n');
                before = Some('\n');
            }
        } else if may_stay(before, found, after) {
            if let Some(out) = changed.as_mut() {
                out.push(found);
            }
            before = Some(found);
        } else {
            let out = changed.get_or_insert_with(|| text.get(..at).unwrap_or_default().to_owned());
            push_visible(out, found);
            *made_visible += 1;
            before = out.chars().next_back();
        }
    }
    changed.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// [`clean`] for what has to stay on one line (ids, names): line feeds and tabs become `␊` and `␉`, the ends are trimmed.
pub fn clean_line<'a>(text: &'a str, made_visible: &mut u64) -> Cow<'a, str> {
    let cleaned = match clean_counting(text, made_visible) {
        Cow::Borrowed(same) => Cow::Borrowed(same.trim()),
        Cow::Owned(other) => Cow::Owned(other.trim().to_owned()),
    };
    if !cleaned.contains(['\n', '\t']) {
        return cleaned;
    }
    Cow::Owned(cleaned.replace('\n', "\u{240a}").replace('\t', "\u{2409}"))
}

/// True for characters that never stay: a terminal obeys them or shows nothing. (Joiners and variation selectors stay
/// or go by their neighbours and are not in this set.)
pub fn is_hostile(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Soft hyphen; grapheme joiner; bidi marks, overrides and isolates; invisible operators.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Letters without a shape.
        '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}' => true,
        // Byte order mark, interlinear annotation, shorthand and music controls, tags.
        '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' => true,
        // Code points that are no characters.
        '\u{fdd0}'..='\u{fdef}' => true,
        c => u32::from(c) & 0xfffe == 0xfffe,
    }
}

fn may_stay(before: Option<char>, found: char, after: Option<char>) -> bool {
    match found {
        '\u{200d}' => {
            let joins_emoji =
                before.is_some_and(|c| is_emoji(c) || is_emoji_modifier(c)) && after.is_some_and(is_emoji);
            joins_emoji || before.is_some_and(has_joiners) && after.is_some_and(has_joiners)
        }
        '\u{200c}' => before.is_some_and(has_joiners) && after.is_some_and(has_joiners),
        // One selector after one base; a row of them is a known way to hide data.
        '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(|c| is_emoji(c) || matches!(c, '0'..='9' | '#' | '*')),
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_varied),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => before.is_some_and(|c| ('\u{1820}'..='\u{18aa}').contains(&c)),
        found => !is_hostile(found),
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn is_emoji_modifier(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Scripts in which a joiner or non-joiner decides how a word is written (Arabic to Sinhala, Myanmar, Khmer,
/// Mongolian, and their supplements).
fn has_joiners(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1820}'..='\u{18aa}' | '\u{a8e0}'..='\u{a8ff}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}')
        && !is_hostile(c)
}

/// Characters with standardised or ideographic variants.
fn is_varied(c: char) -> bool {
    matches!(c,
        '\u{2200}'..='\u{22ff}' | '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
        && !is_hostile(c)
}

fn push_visible(out: &mut String, c: char) {
    let code = u32::from(c);
    let picture = match code {
        0..=0x1f => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    };
    match picture {
        Some(picture) => out.push(picture),
        None => out.push_str(&format!("⟨U+{code:04X}⟩")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_text_becomes_visible() {
        let rows = [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
            ("a\0b\x07\x7f", "a␀b␇␡"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("\u{9b}2J", "⟨U+009B⟩2J"),
            ("abc\u{202e}def\u{2066}", "abc⟨U+202E⟩def⟨U+2066⟩"),
            ("zero\u{200b}width\u{feff}", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
            ("a\u{200d}b", "a⟨U+200D⟩b"),
            ("line\u{2028}para\u{2029}", "line⟨U+2028⟩para⟨U+2029⟩"),
            ("tag\u{e0041}", "tag⟨U+E0041⟩"),
            ("soft\u{ad}hyphen", "soft⟨U+00AD⟩hyphen"),
            (
                "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 👍🏽 1\u{fe0f}\u{20e3}",
                "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 👍🏽 1\u{fe0f}\u{20e3}",
            ),
            ("👍\u{fe0f}\u{fe0f}", "👍\u{fe0f}⟨U+FE0F⟩"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("葛\u{e0100}城 ß ÅÄ", "葛\u{e0100}城 ß ÅÄ"),
            ("\u{ffff}", "⟨U+FFFF⟩"),
        ];
        let wrong: Vec<_> =
            rows.iter().map(|(text, want)| (clean(text), *want)).filter(|(got, want)| got != want).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn clean_text_is_not_copied_and_marks_are_counted() {
        assert!(matches!(clean("Grüße, 世界 👋"), Cow::Borrowed(_)));
        let mut count = 0;
        clean_counting("a\u{200b}\x1b\r\n", &mut count);
        assert_eq!(count, 2);
        assert_eq!(clean_line(" a\nb\t", &mut count), "a␊b");
    }

    fn nasty() -> impl Strategy<Value = String> {
        let special = prop::sample::select(vec![
            '\0',
            '\x1b',
            '\r',
            '\n',
            '\t',
            '\x7f',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{202e}',
            '\u{2028}',
            '\u{2066}',
            '\u{fe0f}',
            '\u{fe00}',
            '\u{feff}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{fff9}',
            '👩',
            '🏽',
            '❤',
            '1',
            '世',
            'ک',
            'क',
            '\u{94d}',
            '\u{180e}',
            '\u{180b}',
            '\u{1820}',
            'a',
            ' ',
        ]);
        prop::collection::vec(prop_oneof![special, any::<char>()], 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn nothing_hostile_is_left_and_twice_is_once(text in nasty()) {
            let once = clean(&text).into_owned();
            prop_assert!(!once.chars().any(is_hostile), "{once:?}");
            prop_assert!(matches!(clean(&once), Cow::Borrowed(_)), "{once:?} -> {:?}", clean(&once));
        }

        #[test]
        fn a_line_is_one_line(text in nasty()) {
            let once = clean_line(&text, &mut 0).into_owned();
            prop_assert!(!once.contains(['\n', '\t']));
            prop_assert_eq!(clean_line(&once, &mut 0), once.as_str());
        }
    }
}
