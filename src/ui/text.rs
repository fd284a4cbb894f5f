//! Text in cells: how wide it is, how it is clipped and wrapped. Knows widths and grapheme borders; knows no screen.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Cells that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The first part of a text that fits, with `…` where something was left out.
pub fn clip(text: &str, cells: usize) -> String {
    let whole = text.len() <= cells || (text.len() <= cells * 32 && text.width() <= cells);
    if whole && text.width() <= cells {
        return text.to_owned();
    }
    if cells == 0 {
        return String::new();
    }
    let mut out = String::new();
    let mut used = 0;
    for part in text.graphemes(true) {
        let wide = part.width();
        if used + wide > cells - 1 {
            break;
        }
        used += wide;
        out.push_str(part);
    }
    out.push('…');
    out
}

/// The last part of a text that fits, with `…` in front where something was left out.
pub fn clip_start(text: &str, cells: usize) -> String {
    if text.width() <= cells {
        return text.to_owned();
    }
    if cells == 0 {
        return String::new();
    }
    let mut parts: Vec<&str> = Vec::new();
    let mut used = 0;
    for part in text.graphemes(true).rev() {
        let wide = part.width();
        if used + wide > cells - 1 {
            break;
        }
        used += wide;
        parts.push(part);
    }
    parts.reverse();
    format!("…{}", parts.concat())
}

/// Clipped and filled with spaces to exactly so many cells.
pub fn pad(text: &str, cells: usize) -> String {
    let mut out = clip(text, cells);
    out.extend(std::iter::repeat_n(' ', cells.saturating_sub(out.width())));
    out
}

/// One line of text from a certain column on: what a passage shows in a row, without line feeds and tabs.
pub fn one_line(text: &str, from: usize, cells: usize) -> String {
    // Only what can be seen is looked at: a turn may hold a megabyte.
    let end = text.floor_char_boundary((from + cells) * 16 + 64);
    let start = text.get(..end).unwrap_or(text);
    let flat: String = start.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).collect();
    let rest = if from == 0 {
        flat.as_str()
    } else {
        let mut used = 0;
        let mut at = flat.len();
        for (index, part) in flat.grapheme_indices(true) {
            if used >= from {
                at = index;
                break;
            }
            used += part.width();
        }
        flat.get(at..).unwrap_or_default()
    };
    clip(rest, cells)
}

/// Byte ranges of the lines of a text wrapped at spaces, at most `most` of them. Words wider than a line are broken at
/// grapheme borders. Line feeds break too.
pub fn wrap(text: &str, cells: usize, most: usize) -> Vec<Range<usize>> {
    let cells = cells.max(1);
    let mut lines = Vec::new();
    let mut from = 0;
    for piece in text.split_inclusive('\n') {
        let end = from + piece.trim_end_matches('\n').len();
        wrap_piece(text, from..end, cells, most, &mut lines);
        from += piece.len();
        if lines.len() >= most {
            break;
        }
    }
    lines
}

fn wrap_piece(text: &str, piece: Range<usize>, cells: usize, most: usize, lines: &mut Vec<Range<usize>>) {
    let mut start = piece.start;
    let mut used = 0;
    // Behind the last space of the line: where it may break.
    let mut space: Option<usize> = None;
    let body = text.get(piece.clone()).unwrap_or_default();
    for (offset, part) in body.grapheme_indices(true) {
        let at = piece.start + offset;
        let wide = if part == "\t" { 1 } else { part.width() };
        if used + wide > cells && at > start {
            if part == " " {
                lines.push(start..at);
                start = at + 1;
            } else {
                let next = space.filter(|space| *space > start).unwrap_or(at);
                lines.push(start..next);
                start = next;
            }
            if lines.len() >= most {
                return;
            }
            used = text.get(start..at).map_or(0, width);
            space = None;
            if part == " " {
                used = 0;
                continue;
            }
        }
        used += wide;
        if part == " " {
            space = Some(at + 1);
        }
    }
    if start <= piece.end {
        lines.push(start.min(piece.end)..piece.end);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn clipping_never_exceeds_its_cells() {
        for text in ["", "plain", "日本語のテキスト", "a\u{301}e\u{301}", "👩‍👩‍👧 family", "long long long long"]
        {
            for cells in 0..12 {
                assert!(width(&clip(text, cells)) <= cells, "{text:?} in {cells}");
                assert!(width(&clip_start(text, cells)) <= cells, "{text:?} in {cells}");
                assert_eq!(width(&pad(text, cells)), cells, "{text:?} in {cells}");
                assert!(width(&one_line(text, 3, cells)) <= cells, "{text:?} in {cells}");
            }
        }
        assert_eq!(clip("memory", 4), "mem…");
        assert_eq!(clip_start("memory", 4), "…ory");
    }

    #[test]
    fn wrapping_keeps_every_word_and_every_line_narrow() {
        let text = "one two three  four\nfive 日本語日本語 wordthatistoolongforaline end";
        for cells in 2..30 {
            let lines = wrap(text, cells, usize::MAX);
            let kept: String = lines.iter().map(|line| text.get(line.clone()).unwrap()).collect();
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(letters(&kept), letters(text), "in {cells}");
            for line in lines {
                assert!(width(text.get(line.clone()).unwrap().trim_end()) <= cells, "{line:?} in {cells}");
            }
        }
        assert_eq!(wrap(&"word ".repeat(100_000), 10, 3).len(), 3);
        assert_eq!(wrap("", 10, 3).len(), 0);
    }
}
