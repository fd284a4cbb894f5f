//! What the numbers and words of a time column mean, guessed from their size. Knows epochs; knows no table.

use rusqlite::types::Value;

use super::verdict::Notes;
use super::{Db, rows::Cells};
use crate::moment::{Moment, Zone};

/// Seconds from 1970 to 2001, where Apple's count begins.
const APPLE: f64 = 978_307_200.0;

/// How a column counts time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::store) struct Clock {
    /// Units in a second.
    unit: f64,
    /// Seconds from 1970 to its zero.
    zero: f64,
}

impl Clock {
    /// Seconds since 1970.
    pub const UNIX: Self = Self { unit: 1.0, zero: 0.0 };

    /// The clock of a column, by the median of its values, and the guess in words.
    pub fn guess(numbers: &mut [f64], has_words: bool) -> (Self, &'static str) {
        numbers.sort_by(f64::total_cmp);
        let Some(median) = numbers.get(numbers.len() / 2).copied().filter(|number| *number > 0.0) else {
            let words = if has_words { "text" } else { "no value" };
            return (Self::UNIX, words);
        };
        let unix = |unit| Self { unit, zero: 0.0 };
        match median {
            ..1e11 => (unix(1.0), "seconds since 1970, UTC"),
            ..1e14 => (unix(1e3), "milliseconds since 1970, UTC"),
            ..1e17 => (unix(1e6), "microseconds since 1970, UTC"),
            _ => (unix(1e9), "nanoseconds since 1970, UTC"),
        }
    }

    /// The same for Apple's databases, which count from 2001: in seconds, since macOS 10.13 in nanoseconds.
    pub fn guess_apple(numbers: &mut [f64]) -> (Self, &'static str) {
        numbers.sort_by(f64::total_cmp);
        let median = numbers.get(numbers.len() / 2).copied().unwrap_or(0.0);
        if median > 1e12 {
            return (Self { unit: 1e9, zero: APPLE }, "nanoseconds since 2001, UTC");
        }
        (Self { unit: 1.0, zero: APPLE }, "seconds since 2001, UTC")
    }

    /// The clock of one column of rows at hand; `name` is for the guess that is shown.
    pub fn of(rows: &[Cells], at: usize, name: &str, notes: &mut Notes) -> Self {
        let mut numbers: Vec<f64> = rows.iter().filter_map(|row| number(row.value(at))).collect();
        let words: Vec<&Value> =
            rows.iter().map(|row| row.value(at)).filter(|value| matches!(value, Value::Text(_))).collect();
        let (clock, said) = Self::guess(&mut numbers, !words.is_empty());
        if numbers.is_empty() && !words.is_empty() {
            let zoned = words.iter().all(|value| clock.read(value).zone() != Some(Zone::Unknown));
            let zone = if zoned { "with a zone" } else { "without a zone: taken as written, zone unknown" };
            notes.guess(format!("{name}: times as text {zone}"));
        } else {
            notes.guess(format!("{name}: {said}"));
        }
        clock
    }

    /// The clock of numbers that stand in JSON.
    pub fn of_numbers(mut numbers: Vec<f64>, name: &str, notes: &mut Notes) -> Self {
        let (clock, said) = Self::guess(&mut numbers, false);
        notes.guess(format!("{name}: {said}"));
        clock
    }

    /// Read one value: numbers by this clock, words as they stand.
    pub fn read(self, value: &Value) -> Moment {
        match (number(value), value) {
            (Some(number), _) => self.at(number),
            (None, Value::Text(text)) => Moment::read(text),
            _ => Moment::Unknown,
        }
    }

    /// Read one number. Zero is how many programs say that they do not know.
    pub fn at(self, number: f64) -> Moment {
        let seconds = (number / self.unit + self.zero).floor();
        if number == 0.0 || !seconds.is_finite() || seconds.abs() > 2e11 {
            return Moment::Unknown;
        }
        Moment::utc(seconds as i64)
    }

    /// Read a JSON value.
    pub fn read_json(self, value: Option<&serde_json::Value>) -> Moment {
        match value {
            Some(serde_json::Value::Number(number)) => {
                number.as_f64().map_or(Moment::Unknown, |number| self.at(number))
            }
            Some(serde_json::Value::String(text)) => self.read(&Value::Text(text.clone())),
            _ => Moment::Unknown,
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        // Years like 2026 do not stand alone in a column of times, long counts do.
        Value::Text(text) if text.len() >= 9 => text.trim().parse().ok(),
        _ => None,
    }
}

impl Db<'_> {
    /// Rows and the clock of one of their columns.
    pub fn timed(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        at: usize,
        name: &str,
        notes: &mut Notes,
    ) -> rusqlite::Result<(Vec<Cells>, Clock)> {
        let rows = self.rows(sql, params)?;
        let clock = Clock::of(&rows, at, name, notes);
        Ok((rows, clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_their_size() {
        let day = 1_777_712_400.0_f64;
        for unit in [1.0, 1e3, 1e6, 1e9] {
            let (clock, said) = Clock::guess(&mut [day * unit, (day + 60.0) * unit], false);
            assert_eq!(clock.at(day * unit).store(), "2026-05-02T09:00:00Z", "{said}");
        }
        for unit in [1.0, 1e9] {
            let apple = (day - APPLE) * unit;
            let (clock, said) = Clock::guess_apple(&mut [apple]);
            assert_eq!(clock.at(apple).store(), "2026-05-02T09:00:00Z", "{said}");
        }
        assert_eq!(Clock::UNIX.at(0.0), Moment::Unknown);
        assert_eq!(Clock::UNIX.at(f64::NAN), Moment::Unknown);
    }
}
