//! The two forms of a trace file, JSON text and MessagePack bytes, with the same fields by the same names. Knows how to
//! write both and how to tell them apart by content, never by name.

use std::io::Cursor;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::file::{TraceFile, TraceFileError, VERSION};
use crate::settings::{KNOBS, Settings, Value};

/// Deepest nesting that is read; a trace needs about ten levels.
const DEEPEST: usize = 64;

/// All that is read of a file before its version is known to be one that can be read.
#[derive(Deserialize)]
pub(super) struct Version {
    memsift_trace: u32,
}

impl Version {
    /// # Errors
    /// [`TraceFileError::Newer`].
    pub(super) fn check(&self) -> Result<(), TraceFileError> {
        if self.memsift_trace > VERSION { Err(TraceFileError::Newer(self.memsift_trace)) } else { Ok(()) }
    }
}

impl TraceFile {
    /// The MessagePack bytes: maps with the field names of the JSON form; equal traces give equal bytes.
    ///
    /// # Errors
    /// When a value cannot be written as MessagePack, which no trace of this program holds.
    pub fn to_msgpack(&self) -> Result<Vec<u8>, TraceFileError> {
        rmp_serde::to_vec_named(self).map_err(|error| TraceFileError::MessagePack(error.to_string()))
    }

    /// Read the MessagePack bytes. What lengths they declare makes nothing grow: only bytes that are there are kept.
    ///
    /// # Errors
    /// When it is no trace, or one of a newer format.
    pub fn from_msgpack(bytes: &[u8]) -> Result<Self, TraceFileError> {
        let (version, _): (Version, _) = decode(bytes)?;
        version.check()?;
        let (file, end): (Self, _) = decode(bytes)?;
        if end < bytes.len() {
            return Err(TraceFileError::MessagePack(format!("{} bytes stand behind its end", bytes.len() - end)));
        }
        // JSON has no word for these, so a trace that holds one cannot be of this program.
        if !file.is_finite() {
            return Err(TraceFileError::MessagePack("a score or knob is no number".to_owned()));
        }
        Ok(file)
    }

    /// Read a trace in the form that the bytes are of.
    ///
    /// # Errors
    /// When they are of neither form, no trace, or one of a newer format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TraceFileError> {
        if is_msgpack(bytes) {
            return Self::from_msgpack(bytes);
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self::from_json(std::str::from_utf8(text).map_err(|_| TraceFileError::Neither)?)
    }

    fn is_finite(&self) -> bool {
        let settings = |settings: &Settings| {
            let number = |value: Value| !matches!(value, Value::Number(number) if !number.is_finite());
            let terms = &settings.terms;
            KNOBS.iter().all(|knob| number((knob.get)(settings)))
                && terms.weights.values().chain(terms.added.values()).all(|weight| weight.is_finite())
        };
        let passages = self.passages.iter().all(|part| {
            let scores = [part.ce, part.colbert, part.dense];
            let mut scores = scores.into_iter().flatten().map(|ranked| ranked.score);
            let finite =
                |score: crate::scored::Score| score.value.is_finite() && score.logit.is_none_or(f32::is_finite);
            part.match_score.is_finite() && part.bm25.is_finite() && scores.all(finite)
        });
        let mut terms = self.hops.iter().flat_map(|hop| &hop.terms);
        passages
            && settings(&self.settings)
            && self.retrieved_with.as_ref().is_none_or(settings)
            && terms.all(|tally| tally.term.weight.is_finite())
    }
}

/// A value from the beginning of the bytes, and where it ends.
fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), TraceFileError> {
    let mut decoder = rmp_serde::Deserializer::new(Cursor::new(bytes));
    decoder.set_max_depth(DEEPEST);
    let value = T::deserialize(&mut decoder).map_err(|error| TraceFileError::MessagePack(error.to_string()))?;
    let end = usize::try_from(decoder.position()).unwrap_or(usize::MAX);
    Ok((value, end))
}

/// True for a MessagePack map whose first key is a string. No JSON text begins with such a byte.
fn is_msgpack(bytes: &[u8]) -> bool {
    let key = match bytes {
        [0x80..=0x8f, key, ..] | [0xde, _, _, key, ..] | [0xdf, _, _, _, _, key, ..] => *key,
        _ => return false,
    };
    matches!(key, 0xa0..=0xbf | 0xd9..=0xdb)
}
