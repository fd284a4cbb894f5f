//! What a knob is: its name, what it takes, how it is read, set and stepped. Knows no particular knob.

use std::fmt;

use super::choice::{
    Bm25Form, Captions, Discovery, Fusion, Header, Matching, Names, Overflow, Pooler, Prf, TermForm, Truncation, Unit,
};
use super::{KNOBS, Settings, Stage};

/// What a knob may be set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnobKind {
    /// A number in a range.
    Number {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// One key press.
        step: f64,
        /// One fine key press.
        fine: f64,
    },
    /// One of some names.
    Choice(&'static [&'static str]),
    /// On or off.
    Flag,
}

/// The value of a knob without its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A name.
    Choice(&'static str),
    /// On or off.
    Flag(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Choice(name) => f.write_str(name),
            Self::Flag(on) => f.write_str(if *on { "on" } else { "off" }),
        }
    }
}

/// One knob of the table.
pub struct Knob {
    /// Its name in flags, `:set`, configuration and traces.
    pub name: &'static str,
    /// The first stage that it touches.
    pub stage: Stage,
    /// Unit of a number; empty when it has none.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// What it may be set to.
    pub kind: KnobKind,
    /// Read it.
    pub get: fn(&Settings) -> Value,
    pub(super) set: fn(&mut Settings, &Value) -> bool,
}

impl fmt::Debug for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knob").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Knob {
    /// The knob with this name.
    pub fn named(name: &str) -> Option<&'static Knob> {
        KNOBS.iter().find(|knob| knob.name == name)
    }

    /// Set it from words. The error is one sentence that names the knob and what it takes.
    pub fn set_from(&self, settings: &mut Settings, text: &str) -> Result<(), SettingError> {
        let wrong = || SettingError { knob: self.name, given: text.to_owned(), takes: self.takes() };
        let value = match self.kind {
            KnobKind::Number { min, max, .. } => {
                let number: f64 = text.parse().map_err(|_| wrong())?;
                if !(min..=max).contains(&number) {
                    return Err(wrong());
                }
                Value::Number(number)
            }
            KnobKind::Choice(names) => {
                Value::Choice(names.iter().find(|name| **name == text).copied().ok_or_else(wrong)?)
            }
            KnobKind::Flag => match text {
                "on" | "true" | "yes" => Value::Flag(true),
                "off" | "false" | "no" => Value::Flag(false),
                _ => return Err(wrong()),
            },
        };
        if (self.set)(settings, &value) { Ok(()) } else { Err(wrong()) }
    }

    /// Move a number by steps (rounded to the grid of the step), the next name of a choice, or the other state of a flag.
    pub fn step(&self, settings: &mut Settings, steps: i32, fine: bool) {
        let next = match (self.kind, (self.get)(settings)) {
            (KnobKind::Number { min, max, step, fine: small }, Value::Number(now)) => {
                let by = if fine { small } else { step };
                let moved = ((now / by).round() + f64::from(steps)) * by;
                // A value between two grid points moves at least to the next one, never by less than a press is worth.
                Value::Number(round(moved).clamp(min, max))
            }
            (KnobKind::Choice(names), Value::Choice(now)) => {
                let at = names.iter().position(|name| *name == now).unwrap_or(0) as i32;
                let next = (at + steps).rem_euclid(names.len().max(1) as i32) as usize;
                Value::Choice(names.get(next).copied().unwrap_or(now))
            }
            (_, Value::Flag(on)) => Value::Flag(!on),
            (_, value) => value,
        };
        (self.set)(settings, &next);
    }

    /// Put it back to what it is in these defaults.
    pub fn reset_to(&self, settings: &mut Settings, defaults: &Settings) {
        (self.set)(settings, &(self.get)(defaults));
    }

    /// What it takes, in words.
    pub fn takes(&self) -> String {
        match self.kind {
            KnobKind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            KnobKind::Choice(names) => names.join(", "),
            KnobKind::Flag => "on or off".to_owned(),
        }
    }
}

/// Decimal steps must not leave 0.30000000000000004 behind: six digits are finer than any knob.
fn round(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// A knob was given something it does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{knob} cannot be '{given}': it takes {takes}")]
pub struct SettingError {
    /// The knob.
    pub knob: &'static str,
    /// What was given.
    pub given: String,
    /// What it takes.
    pub takes: String,
}

pub(super) trait Valued: Sized {
    fn value(&self) -> Value;
    fn from_value(value: &Value) -> Option<Self>;
}

impl Valued for f64 {
    fn value(&self) -> Value {
        Value::Number(*self)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) if number.is_finite() => Some(*number),
            _ => None,
        }
    }
}

impl Valued for u32 {
    fn value(&self) -> Value {
        Value::Number(f64::from(*self))
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(n) if n.fract() == 0.0 && (0.0..=f64::from(Self::MAX)).contains(n) => Some(*n as Self),
            _ => None,
        }
    }
}

impl Valued for bool {
    fn value(&self) -> Value {
        Value::Flag(*self)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Flag(on) => Some(*on),
            _ => None,
        }
    }
}

macro_rules! valued_choice {
    ($($name:ident),+) => {$(
        impl Valued for $name {
            fn value(&self) -> Value {
                Value::Choice(self.name())
            }
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Choice(name) => name.parse().ok(),
                    _ => None,
                }
            }
        }
    )+};
}
valued_choice!(
    TermForm, Pooler, Bm25Form, Names, Unit, Matching, Captions, Discovery, Prf, Fusion, Truncation, Overflow, Header
);
