//! The beginning of a message in WhatsApp's text export: a date and a clock as a phone's language writes them. Knows one
//! line; which number is the day is for the whole file to tell.

use crate::moment::Moment;

/// Marks that show nothing; the program puts them before lines and around names.
pub(super) const MARKS: [char; 9] =
    ['\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2069}'];

/// Which comes first in a date that does not begin with its year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    DayFirst,
    MonthFirst,
}

/// The time of a message, its date still as three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub date: [u32; 3],
    /// The first number is the year; then nothing is left to guess.
    pub year_first: bool,
    /// Between the numbers of the date.
    pub separator: char,
    /// The clock counts to 12.
    pub half: bool,
    clock: [u8; 3],
}

/// A line that begins a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head<'l> {
    pub stamp: Stamp,
    /// Date and clock stand in brackets, as on an iPhone.
    pub bracket: bool,
    /// Date and clock as they stand.
    pub words: &'l str,
    /// What follows them.
    pub rest: &'l str,
}

impl Stamp {
    /// The time, when the date is one in this order.
    pub fn moment(&self, order: Order) -> Option<Moment> {
        let [first, second, third] = self.date;
        let (year, month, day) = match (self.year_first, order) {
            (true, _) => (first, second, third),
            (false, Order::DayFirst) => (third, second, first),
            (false, Order::MonthFirst) => (third, first, second),
        };
        let year = if year < 100 { year + 2000 } else { year };
        let small = |number: u32| u8::try_from(number).ok();
        let [hour, minute, second] = self.clock;
        Moment::civil(i32::try_from(year).ok()?, small(month)?, small(day)?, hour, minute, second)
    }

    /// True when another line of the same file can be written like this one.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.separator, self.year_first, self.half) == (other.separator, other.year_first, other.half)
    }
}

/// Read a line that begins with `[31/12/2023, 21:15:03] ` or `12/31/23, 9:15 PM - ` or a relative of these.
pub(super) fn head(line: &str) -> Option<Head<'_>> {
    let line = line.trim_start_matches(MARKS);
    let (bracket, begin) = line.strip_prefix('[').map_or((false, line), |rest| (true, rest));
    let (date, year_first, separator, rest) = date(begin)?;
    let (before, rest) = word_before_clock(rest)?;
    let (clock, rest) = clock(rest)?;
    let (after, rest) = half_after(rest);
    let half = before.or(after);
    let clock = twelve(clock, half)?;
    let end = skip(rest);
    let words = begin.get(..begin.len() - end.len())?.trim();
    let rest = match bracket {
        true => end.strip_prefix(']')?,
        false => end.strip_prefix(['-', '–']).filter(|rest| rest.is_empty() || rest.starts_with(is_blank))?,
    };
    let stamp = Stamp { date, year_first, separator, half: half.is_some(), clock };
    Some(Head { stamp, bracket, words, rest: skip(rest) })
}

fn date(text: &str) -> Option<([u32; 3], bool, char, &str)> {
    let (first, rest) = number(text, 4)?;
    let separator = rest.chars().next().filter(|sign| matches!(sign, '/' | '.' | '-'))?;
    let next = |rest: &'_ str| -> Option<usize> {
        let after = rest.strip_prefix(separator)?;
        // `2023. 12. 31.`
        Some(rest.len() - after.strip_prefix(' ').filter(|_| separator == '.').unwrap_or(after).len())
    };
    let (second, rest) = number(rest.get(next(rest)?..)?, 2)?;
    let (third, rest) = number(rest.get(next(rest)?..)?, 4)?;
    let rest = rest.strip_prefix('.').filter(|_| separator == '.').unwrap_or(rest);
    let year_first = first > 31;
    let small = |number: u32, most: u32| (1..=most).contains(&number);
    let real = match year_first {
        true => first > 1_000 && small(second, 12) && small(third, 31),
        false => small(first, 31) && small(second, 31) && (first <= 12 || second <= 12),
    };
    real.then_some(([first, second, third], year_first, separator, rest))
}

/// Half of the day, when a language says it first, or a short word like `at`.
fn word_before_clock(text: &str) -> Option<(Option<bool>, &str)> {
    let rest = skip(text.strip_prefix(',').unwrap_or(text));
    if rest.len() == text.len() {
        return None;
    }
    for (words, late) in [(["오전", "上午", "午前"], false), (["오후", "下午", "午後"], true)] {
        if let Some(rest) = words.iter().find_map(|word| rest.strip_prefix(word)) {
            return Some((Some(late), skip(rest)));
        }
    }
    let clock = rest.trim_start_matches(char::is_alphabetic);
    let letters = rest.get(..rest.len() - clock.len())?.chars().count();
    let short = letters > 0 && letters <= 4;
    let clock = clock.strip_prefix('.').filter(|_| short).unwrap_or(clock);
    if letters > 4 { None } else { Some((None, skip(clock))) }
}

fn clock(text: &str) -> Option<([u8; 3], &str)> {
    let (hour, rest) = number(text, 2)?;
    let sign = rest.chars().next().filter(|sign| matches!(sign, ':' | '.'))?;
    let (minute, rest) = number(rest.strip_prefix(sign)?, 2)?;
    let seconds = rest.strip_prefix(sign).and_then(|rest| number(rest, 2));
    let (second, rest) = seconds.unwrap_or((0, rest));
    let small = |number: u32, most: u8| u8::try_from(number).ok().filter(|number| *number <= most);
    Some(([small(hour, 23)?, small(minute, 59)?, small(second, 59)?], rest))
}

/// `PM`, `p.m.`, `p. m.`: true for the second half of the day.
fn half_after(text: &str) -> (Option<bool>, &str) {
    let read = || {
        let rest = skip(text);
        let late = match rest.chars().next()? {
            'a' | 'A' => false,
            'p' | 'P' => true,
            _ => return None,
        };
        let rest = rest.get(1..)?;
        let rest = skip(rest.strip_prefix('.').unwrap_or(rest)).strip_prefix(['m', 'M'])?;
        Some((late, rest.strip_prefix('.').unwrap_or(rest)))
    };
    read().map_or((None, text), |(late, rest)| (Some(late), rest))
}

fn twelve([hour, minute, second]: [u8; 3], half: Option<bool>) -> Option<[u8; 3]> {
    match half {
        None => Some([hour, minute, second]),
        Some(_) if hour > 12 => None,
        Some(late) => Some([hour % 12 + if late { 12 } else { 0 }, minute, second]),
    }
}

/// A number of at most so many digits.
fn number(text: &str, most: usize) -> Option<(u32, &str)> {
    let rest = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let digits = text.get(..text.len() - rest.len()).filter(|digits| (1..=most).contains(&digits.len()))?;
    Some((digits.parse().ok()?, rest))
}

fn is_blank(sign: char) -> bool {
    // A thin blank stands before AM and PM.
    matches!(sign, ' ' | '\u{a0}' | '\u{202f}')
}

fn skip(text: &str) -> &str {
    text.trim_start_matches(is_blank)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_many_phones_are_read() {
        let rows = [
            ("[31/12/2023, 21:15:03] Ana: hi", Order::DayFirst, "2023-12-31T21:15:03", "Ana: hi"),
            ("\u{200e}[12/31/23, 9:15:03\u{202f}PM] Ana: hi", Order::MonthFirst, "2023-12-31T21:15:03", "Ana: hi"),
            ("12/31/23, 9:15 PM - Ana: hi", Order::MonthFirst, "2023-12-31T21:15:00", "Ana: hi"),
            ("31.12.23, 21:15 - Ana: hi", Order::DayFirst, "2023-12-31T21:15:00", "Ana: hi"),
            ("31/12/2023 21:15 - Ana: hi", Order::DayFirst, "2023-12-31T21:15:00", "Ana: hi"),
            ("2023-12-31, 21:15 - Ana: hi", Order::DayFirst, "2023-12-31T21:15:00", "Ana: hi"),
            ("31/12/2023, 9:15 p.\u{a0}m. - Ana: hi", Order::DayFirst, "2023-12-31T21:15:00", "Ana: hi"),
            ("31/12/2023, 12:15 am - Ana: hi", Order::DayFirst, "2023-12-31T00:15:00", "Ana: hi"),
            ("31.12.2023 klo 21.15 - Ana: hi", Order::DayFirst, "2023-12-31T21:15:00", "Ana: hi"),
            ("31/12/2023 à 21:15 - Ana: hi", Order::DayFirst, "2023-12-31T21:15:00", "Ana: hi"),
            ("[2023. 12. 31. 오후 9:15:03] Ana: hi", Order::DayFirst, "2023-12-31T21:15:03", "Ana: hi"),
            ("31/12/2023, 21:15 -", Order::DayFirst, "2023-12-31T21:15:00", ""),
        ];
        for (line, order, time, rest) in rows {
            let head = head(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((head.stamp.moment(order).unwrap().store().as_str(), head.rest), (time, rest), "{line}");
        }
        assert_eq!(head("[31/12/2023, 21:15:03] Ana: hi").unwrap().words, "31/12/2023, 21:15:03");
    }

    #[test]
    fn other_lines_begin_nothing() {
        for line in [
            "",
            "hello",
            "31/12/2023",
            "31/12/2023, 21:15",
            "31/12/2023, 21:15 -5 degrees",
            "13/13/2023, 21:15 - Ana: x",
            "[1] see below",
            "3.5.1 - Ana: x",
            "31/12/2023, 25:15 - Ana: x",
            "31/12/2023 exactly 21:15 - Ana: x",
            "2023-12-31 21:15:03,123 - root: x",
            "1/2-3, 10:00 - x",
            "31/12/2023, 13:15 PM - Ana: x",
        ] {
            assert_eq!(head(line), None, "{line}");
        }
    }
}
