//! When something was said: a civil time with what is known of its zone, or the words of a source that nobody could
//! read. Knows how to read and print times; knows no clock.

use serde::{Deserialize, Serialize};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// A point in time as a source gives it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The source says nothing.
    #[default]
    Unknown,
    /// A civil time, as the clock on the wall showed it.
    At {
        /// Seconds since 1970-01-01T00:00:00 on that wall clock (not UTC unless the zone is).
        seconds: i64,
        /// What is known of the zone.
        zone: Zone,
    },
    /// The source has words that could not be read as a time.
    Unread(String),
}

/// What is known of the zone of a civil time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Nothing.
    #[default]
    Unknown,
    /// UTC.
    Utc,
    /// Minutes east of UTC.
    Offset(i16),
}

impl Moment {
    /// A civil time without a zone. `None` when a field is out of range.
    pub fn civil(year: i32, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> Option<Self> {
        let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
        let time = Time::from_hms(hour, minute, second).ok()?;
        Some(Self::from_primitive(PrimitiveDateTime::new(date, time), Zone::Unknown))
    }

    /// A UTC time from seconds since the epoch.
    pub fn utc(seconds: i64) -> Self {
        Self::At { seconds, zone: Zone::Utc }
    }

    /// Read a time in any of the forms that the supported sources use; [`Moment::Unread`] keeps what is none of them.
    ///
    /// Forms: `1:56 pm on 8 May, 2023` (LoCoMo), `29.12.2023, 22:42:04` (REALTALK), `2023/05/30 (Tue) 23:40`
    /// (LongMemEval), `March-15-2024` (BEAM), ISO 8601 with or without time, fraction and offset.
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Unknown;
        }
        read_iso(text)
            .or_else(|| read_locomo(text))
            .or_else(|| read_realtalk(text))
            .or_else(|| read_longmemeval(text))
            .or_else(|| read_beam(text))
            .unwrap_or_else(|| Self::Unread(text.to_owned()))
    }

    fn from_primitive(at: PrimitiveDateTime, zone: Zone) -> Self {
        Self::At { seconds: at.assume_utc().unix_timestamp(), zone }
    }

    fn wall_clock(&self) -> Option<OffsetDateTime> {
        match self {
            Self::At { seconds, .. } => OffsetDateTime::from_unix_timestamp(*seconds).ok(),
            _ => None,
        }
    }

    /// Seconds on the wall clock, to sort by.
    pub fn seconds(&self) -> Option<i64> {
        match self {
            Self::At { seconds, .. } => Some(*seconds),
            _ => None,
        }
    }

    /// What is known of the zone; `None` when there is no time.
    pub fn zone(&self) -> Option<Zone> {
        match self {
            Self::At { zone, .. } => Some(*zone),
            _ => None,
        }
    }

    /// The words put in brackets before a passage for the answer model, as LoCoMo writes them: `1:56 pm on 8 May, 2023`
    /// (six words). Empty when nothing is known; the source's own words when they could not be read.
    pub fn header(&self) -> String {
        if let Self::Unread(raw) = self {
            return raw.clone();
        }
        let Some(at) = self.wall_clock() else { return String::new() };
        let (hour, half) = match at.hour() {
            0 => (12, "am"),
            h @ 1..=11 => (h, "am"),
            12 => (12, "pm"),
            h => (h - 12, "pm"),
        };
        format!("{hour}:{:02} {half} on {} {}, {}", at.minute(), at.day(), at.month(), at.year())
    }

    /// `2023-05-08`, or the source's words, or `unknown`.
    pub fn date(&self) -> String {
        match self.wall_clock() {
            Some(at) => format!("{:04}-{:02}-{:02}", at.year(), u8::from(at.month()), at.day()),
            None => self.or_words(),
        }
    }

    /// `2023-05-08 13:56`, or the source's words, or `unknown`.
    pub fn date_and_time(&self) -> String {
        match self.wall_clock() {
            Some(at) => format!("{} {:02}:{:02}", self.date(), at.hour(), at.minute()),
            None => self.or_words(),
        }
    }

    fn or_words(&self) -> String {
        match self {
            Self::Unread(raw) => raw.clone(),
            _ => "unknown".to_owned(),
        }
    }

    /// One text that [`Moment::restore`] reads back to the same value: how a time is kept in memsift's own database.
    pub fn store(&self) -> String {
        match (self, self.wall_clock()) {
            (Self::Unread(raw), _) => format!("?{raw}"),
            (Self::At { zone, .. }, Some(at)) => {
                let zone = match zone {
                    Zone::Unknown => String::new(),
                    Zone::Utc => "Z".to_owned(),
                    Zone::Offset(minutes) => {
                        let sign = if *minutes < 0 { '-' } else { '+' };
                        format!("{sign}{:02}:{:02}", minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60)
                    }
                };
                format!("{}T{:02}:{:02}:{:02}{zone}", self.date(), at.hour(), at.minute(), at.second())
            }
            _ => String::new(),
        }
    }

    /// Read what [`Moment::store`] wrote.
    pub fn restore(text: &str) -> Self {
        match text.strip_prefix('?') {
            Some(raw) => Self::Unread(raw.to_owned()),
            None => Self::read(text),
        }
    }
}

type Form = &'static [BorrowedFormatItem<'static>];
const ISO_DATE: Form = format_description!("[year]-[month]-[day]");
const ISO_MINUTE: Form = format_description!("[hour]:[minute]");
const ISO_SECOND: Form = format_description!("[hour]:[minute]:[second]");

fn read_iso(text: &str) -> Option<Moment> {
    let date = Date::parse(text.get(..10)?, ISO_DATE).ok()?;
    let rest = text.get(10..)?;
    if rest.is_empty() {
        return Some(Moment::from_primitive(PrimitiveDateTime::new(date, Time::MIDNIGHT), Zone::Unknown));
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, zone) = split_zone(rest)?;
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let time = Time::parse(clock, ISO_SECOND).or_else(|_| Time::parse(clock, ISO_MINUTE)).ok()?;
    Some(Moment::from_primitive(PrimitiveDateTime::new(date, time), zone))
}

fn split_zone(text: &str) -> Option<(&str, Zone)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, Zone::Utc));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, Zone::Unknown)) };
    let (clock, offset) = text.split_at_checked(at)?;
    let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
    let minutes: i16 = match digits.len() {
        2 => digits.parse::<i16>().ok()? * 60,
        4 => digits.get(..2)?.parse::<i16>().ok()? * 60 + digits.get(2..)?.parse::<i16>().ok()?,
        _ => return None,
    };
    UtcOffset::from_whole_seconds(i32::from(minutes) * 60).ok()?;
    let minutes = if offset.starts_with('-') { -minutes } else { minutes };
    Some((clock, if minutes == 0 { Zone::Utc } else { Zone::Offset(minutes) }))
}

/// `1:56 pm on 8 May, 2023`
fn read_locomo(text: &str) -> Option<Moment> {
    let (clock, date) = text.split_once(" on ")?;
    let (clock, half) = clock.trim().split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour: u8 = hour.parse().ok().filter(|h| (1..=12).contains(h))?;
    let hour = match half.trim().to_ascii_lowercase().as_str() {
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        _ => return None,
    };
    let (day, rest) = date.trim().split_once(' ')?;
    let (month, year) = rest.split_once(',')?;
    Moment::civil(year.trim().parse().ok()?, month_number(month)?, day.parse().ok()?, hour, minute.parse().ok()?, 0)
}

/// `29.12.2023, 22:42:04`
fn read_realtalk(text: &str) -> Option<Moment> {
    let (date, clock) = text.split_once(", ")?;
    let mut parts = date.splitn(3, '.');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let time = Time::parse(clock.trim(), ISO_SECOND).or_else(|_| Time::parse(clock.trim(), ISO_MINUTE)).ok()?;
    Moment::civil(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?, time.hour(), time.minute(), time.second())
}

/// `2023/05/30 (Tue) 23:40`
fn read_longmemeval(text: &str) -> Option<Moment> {
    let mut words = text.split_whitespace();
    let mut date = words.next()?.splitn(3, '/');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let time = match words.find(|word| !word.starts_with('(')) {
        Some(clock) => Time::parse(clock, ISO_MINUTE).or_else(|_| Time::parse(clock, ISO_SECOND)).ok()?,
        None => Time::MIDNIGHT,
    };
    Moment::civil(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?, time.hour(), time.minute(), time.second())
}

/// `March-15-2024`
fn read_beam(text: &str) -> Option<Moment> {
    let mut parts = text.splitn(3, '-');
    let (month, day, year) = (parts.next()?, parts.next()?, parts.next()?);
    Moment::civil(year.trim().parse().ok()?, month_number(month)?, day.parse().ok()?, 0, 0, 0)
}

fn month_number(name: &str) -> Option<u8> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = name.trim().to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| name.starts_with(month))?;
    u8::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_form_is_read() {
        let rows = [
            ("1:56 pm on 8 May, 2023", "2023-05-08 13:56"),
            ("12:09 am on 13 September, 2023", "2023-09-13 00:09"),
            ("12:30 pm on 1 January, 2024", "2024-01-01 12:30"),
            ("29.12.2023, 22:42:04", "2023-12-29 22:42"),
            ("2023/05/30 (Tue) 23:40", "2023-05-30 23:40"),
            ("March-15-2024", "2024-03-15 00:00"),
            ("2024-03-02T19:12:00", "2024-03-02 19:12"),
            ("2024-03-02 19:12", "2024-03-02 19:12"),
            ("2024-03-02", "2024-03-02 00:00"),
            ("2026-11-30 18:49:46.909198+00:00", "2026-11-30 18:49"),
            ("2026-11-30T18:49:46-05:30", "2026-11-30 18:49"),
        ];
        let wrong: Vec<_> = rows.iter().filter(|(text, want)| Moment::read(text).date_and_time() != *want).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn what_cannot_be_read_keeps_its_words() {
        for text in ["soon", "99:99 pm on 8 May, 2023", "2024-13-40", "8 pm", "31.02.2023, 10:00:00", "-", "+", "T"] {
            assert_eq!(Moment::read(text), Moment::Unread(text.to_owned()));
        }
        assert_eq!(Moment::read("  "), Moment::Unknown);
    }

    #[test]
    fn the_header_has_the_six_words_of_the_data_set() {
        for text in ["1:56 pm on 8 May, 2023", "12:09 am on 13 September, 2023", "12:05 pm on 1 June, 2022"] {
            assert_eq!(Moment::read(text).header(), text);
            assert_eq!(text.split_whitespace().count(), 6);
        }
    }

    #[test]
    fn stored_times_come_back() {
        for text in ["1:56 pm on 8 May, 2023", "2026-11-30T18:49:46-05:30", "2026-11-30T18:49:46Z", "later", ""] {
            let moment = Moment::read(text);
            assert_eq!(Moment::restore(&moment.store()), moment);
        }
    }
}
