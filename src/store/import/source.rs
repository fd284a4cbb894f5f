//! Where an import reads from: a file or a text in memory, from its first byte after a byte order mark. Knows bytes
//! and JSON syntax; knows no format.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};

use super::super::clean::clean_line;
use super::super::{StoreError, hex};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One thing to import.
#[derive(Debug, Clone)]
pub(super) struct Source<'a> {
    /// As the user named it, for messages.
    pub name: String,
    place: Place<'a>,
}

#[derive(Debug, Clone)]
enum Place<'a> {
    File(PathBuf),
    Text(&'a str),
}

pub(super) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// A reader that counts, so that progress can be shown while a parser holds it.
pub(super) struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

pub(super) type Reader<'a> = BufReader<Counted<Box<dyn ReadSeek + 'a>>>;

impl<'a> Source<'a> {
    pub fn file(path: &Path) -> Self {
        // Names end up in messages, reports and the database.
        let name = clean_line(&path.to_string_lossy(), &mut 0).into_owned();
        Self { name, place: Place::File(path.to_owned()) }
    }

    pub fn text(name: &str, text: &'a str) -> Self {
        Self { name: name.to_owned(), place: Place::Text(text) }
    }

    /// Name without its folder: what the database remembers, so that it does not depend on the machine.
    pub fn short_name(&self) -> String {
        let name = Path::new(&self.name).file_name();
        name.map_or_else(|| self.name.clone(), |name| name.to_string_lossy().into_owned())
    }

    /// Name without folder and extension: the id of a conversation whose file has no other.
    pub fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem();
        stem.map_or_else(|| self.name.clone(), |stem| stem.to_string_lossy().into_owned())
    }

    pub fn bytes(&self) -> Result<u64, StoreError> {
        match &self.place {
            Place::File(path) => Ok(std::fs::metadata(path).map_err(|cause| StoreError::from_io(path, cause))?.len()),
            Place::Text(text) => Ok(text.len() as u64),
        }
    }

    /// SHA-256 of all bytes.
    pub fn sha256(&self) -> Result<String, StoreError> {
        let mut hash = Sha256::new();
        let mut reader = self.open(&Rc::default())?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = reader.read(&mut buffer).map_err(|cause| self.io(cause))?;
            if read == 0 {
                return Ok(hex(&hash.finalize()));
            }
            hash.update(buffer.get(..read).unwrap_or_default());
        }
    }

    /// A reader after the byte order mark; `count` follows how far it has read.
    pub fn open(&self, count: &Rc<Cell<u64>>) -> Result<Reader<'a>, StoreError> {
        let inner: Box<dyn ReadSeek + 'a> = match &self.place {
            Place::File(path) => Box::new(File::open(path).map_err(|cause| self.io(cause))?),
            Place::Text(text) => Box::new(Cursor::new(text.as_bytes())),
        };
        count.set(0);
        let mut reader = BufReader::with_capacity(1 << 16, Counted { inner, count: Rc::clone(count) });
        let mut head = [0; 3];
        let mut have = 0;
        while have < head.len() {
            let rest = head.get_mut(have..).unwrap_or_default();
            match reader.read(rest).map_err(|cause| self.io(cause))? {
                0 => break,
                read => have += read,
            }
        }
        if head != BOM {
            reader.seek(SeekFrom::Start(0)).map_err(|cause| self.io(cause))?;
        }
        Ok(reader)
    }

    pub fn io(&self, cause: io::Error) -> StoreError {
        StoreError::from_io(Path::new(&self.name), cause)
    }

    pub fn bad_json(&self, fault: &serde_json::Error, format: &'static str) -> StoreError {
        if let Some(kind) = fault.io_error_kind() {
            return self.io(io::Error::new(kind, fault.to_string()));
        }
        let what = fault.to_string();
        // The position is printed in front, so the parser's own suffix would say it twice.
        let what = what.split(" at line ").next().unwrap_or(&what).to_owned();
        StoreError::BadJson { file: self.name.clone(), line: fault.line(), column: fault.column(), what, format }
    }

    /// Hand every element of the top-level array (or the one top-level object) to `each`, holding one at a time.
    pub fn each<T: DeserializeOwned>(
        &self,
        count: &Rc<Cell<u64>>,
        format: &'static str,
        each: &mut dyn FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut parser = serde_json::Deserializer::from_reader(self.open(count)?);
        let mut failure = None;
        let walk = Walk { each, failure: &mut failure, kind: std::marker::PhantomData };
        let outcome = parser.deserialize_any(walk).and_then(|()| parser.end());
        match (failure, outcome) {
            (Some(failure), _) => Err(failure),
            (None, Err(fault)) => Err(self.bad_json(&fault, format)),
            (None, Ok(())) => Ok(()),
        }
    }
}

struct Walk<'w, T> {
    each: &'w mut dyn FnMut(T) -> Result<(), StoreError>,
    failure: &'w mut Option<StoreError>,
    kind: std::marker::PhantomData<T>,
}

impl<T> Walk<'_, T> {
    fn take<E: serde::de::Error>(&mut self, item: T) -> Result<(), E> {
        (self.each)(item).map_err(|failure| {
            *self.failure = Some(failure);
            E::custom("stopped")
        })
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Walk<'_, T> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of objects or one object")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element()? {
            self.take(item)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        let item = T::deserialize(MapAccessDeserializer::new(map))?;
        self.take(item)
    }
}

/// The outline of a file: enough to tell the format.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The top level is an array.
    pub array: bool,
    /// Keys of the first object.
    pub keys: Vec<String>,
}

/// Read the keys of the first object. Stops at the first fault; what was seen until then is the answer.
pub(super) fn outline(reader: impl Read) -> Outline {
    struct Keys<'o>(&'o mut Outline, bool);
    impl<'de> Visitor<'de> for Keys<'_> {
        type Value = ();
        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("JSON")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key()? {
                self.0.keys.push(key);
                map.next_value::<IgnoredAny>()?;
            }
            // Nothing after the first object matters; an error is how a visitor leaves early.
            Err(A::Error::custom("seen enough"))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
            if self.1 {
                return Err(A::Error::custom("a list of lists"));
            }
            self.0.array = true;
            list.next_element_seed(Keys(self.0, true)).map(drop)
        }
    }
    impl<'de> serde::de::DeserializeSeed<'de> for Keys<'_> {
        type Value = ();
        fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
            parser.deserialize_any(self)
        }
    }
    let mut outline = Outline::default();
    // Faults are reported by the importer, with a format to name.
    drop(serde_json::Deserializer::from_reader(reader).deserialize_any(Keys(&mut outline, false)));
    outline
}

/// A JSON string that may hold half a surrogate pair or broken UTF-8, as real chat exports do.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(lossy(bytes)))
            }
        }
        parser.deserialize_bytes(Bytes)
    }
}

/// UTF-8 with one replacement character for each broken piece (a lone surrogate is three broken bytes).
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let continues = chunk.valid().is_empty() && matches!(chunk.invalid(), [0x80..=0xbf]);
        if continues && text.ends_with('\u{fffd}') {
            continue;
        }
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push('\u{fffd}');
        }
    }
    text
}

/// Text, a number or a truth value where sources disagree on the type; lists are joined; null is nothing.
pub(super) fn scalar<'de, D: Deserializer<'de>>(parser: D) -> Result<Option<String>, D::Error> {
    fn words(value: serde_json::Value) -> Option<String> {
        match value {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text),
            serde_json::Value::Array(list) => {
                let list: Vec<String> = list.into_iter().filter_map(words).collect();
                (!list.is_empty()).then(|| list.join("; "))
            }
            other => Some(other.to_string()),
        }
    }
    Ok(words(serde_json::Value::deserialize(parser)?))
}

/// A list of references: strings or numbers, one of them alone, nested lists; null is none.
pub(super) fn references<'de, D: Deserializer<'de>>(parser: D) -> Result<Vec<String>, D::Error> {
    fn collect(value: serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::String(text) => into.push(text),
            serde_json::Value::Array(list) => list.into_iter().for_each(|item| collect(item, into)),
            serde_json::Value::Object(map) => map.into_iter().for_each(|(_, item)| collect(item, into)),
            other => into.push(other.to_string()),
        }
    }
    let mut list = Vec::new();
    collect(serde_json::Value::deserialize(parser)?, &mut list);
    Ok(list)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_one_replacement() {
        let text: Text = serde_json::from_slice(br#""a\ud83db \ud83d\ude00""#).unwrap();
        assert_eq!(text.0, "a\u{fffd}b 😀");
        let text: Text = serde_json::from_slice(b"\"a\xffb\"").unwrap();
        assert_eq!(text.0, "a\u{fffd}b");
    }

    #[test]
    fn outlines_stop_at_the_first_object() {
        let seen = outline(&br#"[{"a": [1, {"z": 2}], "b": 1}, {"c": 2}]"#[..]);
        assert!(seen.array);
        assert_eq!(seen.keys, ["a", "b"]);
        assert_eq!(outline(&br#"{"a": 1, "b": tru"#[..]).keys, ["a", "b"]);
        assert!(outline(&b"[[1]]"[..]).keys.is_empty());
    }

    #[test]
    fn scalars_and_references_take_what_sources_write() {
        #[derive(Deserialize)]
        struct Row {
            #[serde(deserialize_with = "scalar")]
            answer: Option<String>,
            #[serde(deserialize_with = "references")]
            evidence: Vec<String>,
        }
        let row: Row = serde_json::from_str(r#"{"answer": 2022, "evidence": [1, "D1:2", [3], null]}"#).unwrap();
        assert_eq!(row.answer.as_deref(), Some("2022"));
        assert_eq!(row.evidence, ["1", "D1:2", "3"]);
    }
}
