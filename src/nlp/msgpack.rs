//! Knows the subset of msgpack that the model files use; must not know what the values mean.

/// Nesting beyond this depth is refused, so that a damaged file cannot exhaust the stack.
const MAX_DEPTH: usize = 32;

/// One decoded value; text and bytes borrow from the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    /// The absent value.
    Nil,
    /// True or false.
    Bool(bool),
    /// A non-negative integer.
    Uint(u64),
    /// A negative integer.
    Int(i64),
    /// A floating point number; no weight is stored this way, so its value is never needed.
    Float,
    /// UTF-8 text.
    Str(&'a str),
    /// Raw bytes.
    Bin(&'a [u8]),
    /// A list.
    Array(Vec<Value<'a>>),
    /// Key and value pairs in file order; keys may be of any type.
    Map(Vec<(Value<'a>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The text, if this is text.
    pub(super) fn as_str(&self) -> Option<&'a str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if these are raw bytes.
    pub(super) fn as_bin(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bin(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The integer, if this is one that is not negative.
    pub(super) fn as_uint(&self) -> Option<u64> {
        match self {
            Self::Uint(number) => Some(*number),
            _ => None,
        }
    }

    /// The list, if this is one.
    pub(super) fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The pairs, if this is a map.
    pub(super) fn as_map(&self) -> Option<&[(Value<'a>, Value<'a>)]> {
        match self {
            Self::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The value under a key that is either text or raw bytes (array headers use the latter).
    pub(super) fn get(&self, key: &str) -> Option<&Value<'a>> {
        let matches = |name: &Value<'a>| match name {
            Self::Str(text) => *text == key,
            Self::Bin(bytes) => *bytes == key.as_bytes(),
            _ => false,
        };
        self.as_map()?.iter().find(|(name, _)| matches(name)).map(|(_, value)| value)
    }
}

/// Decodes one value that fills `bytes` completely, or says in a few words what is wrong.
pub(super) fn decode(bytes: &[u8]) -> Result<Value<'_>, String> {
    let mut reader = Reader { bytes, at: 0 };
    let value = reader.value(0)?;
    if reader.at == bytes.len() { Ok(value) } else { Err(format!("unexpected bytes after offset {}", reader.at)) }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(slice) => {
                self.at += count;
                Ok(slice)
            }
            None => Err(format!("it ends early, at offset {}", self.at)),
        }
    }

    fn uint(&mut self, width: usize) -> Result<u64, String> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn length(&mut self, width: usize) -> Result<usize, String> {
        let length = self.uint(width)?;
        usize::try_from(length).map_err(|_| "a length is too large".to_owned())
    }

    fn text(&mut self, length: usize) -> Result<Value<'a>, String> {
        let at = self.at;
        std::str::from_utf8(self.take(length)?).map(Value::Str).map_err(|_| format!("text at offset {at} is not UTF-8"))
    }

    fn array(&mut self, length: usize, depth: usize) -> Result<Value<'a>, String> {
        // Each item takes at least one byte: a damaged length must not reserve gigabytes.
        let mut items = Vec::with_capacity(length.min(self.bytes.len() - self.at));
        for _ in 0..length {
            items.push(self.value(depth + 1)?);
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, length: usize, depth: usize) -> Result<Value<'a>, String> {
        let mut pairs = Vec::with_capacity(length.min((self.bytes.len() - self.at) / 2));
        for _ in 0..length {
            let key = self.value(depth + 1)?;
            pairs.push((key, self.value(depth + 1)?));
        }
        Ok(Value::Map(pairs))
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, String> {
        if depth > MAX_DEPTH {
            return Err("values are nested too deeply".to_owned());
        }
        let at = self.at;
        let kind = self.uint(1)?;
        let low = |mask: u64| (kind & mask) as usize;
        match kind {
            0x00..=0x7f => Ok(Value::Uint(kind)),
            0x80..=0x8f => self.map(low(0x0f), depth),
            0x90..=0x9f => self.array(low(0x0f), depth),
            0xa0..=0xbf => self.text(low(0x1f)),
            0xc0 => Ok(Value::Nil),
            0xc2 | 0xc3 => Ok(Value::Bool(kind == 0xc3)),
            0xc4..=0xc6 => {
                let length = self.length(1 << (kind - 0xc4))?;
                self.take(length).map(Value::Bin)
            }
            0xca | 0xcb => self.take(4 << (kind - 0xca)).map(|_| Value::Float),
            0xcc..=0xcf => self.uint(1 << (kind - 0xcc)).map(Value::Uint),
            0xd0..=0xd3 => {
                let width = 1 << (kind - 0xd0);
                let unused = 64 - 8 * width as u32;
                let number = (self.uint(width)? << unused) as i64 >> unused;
                Ok(u64::try_from(number).map_or(Value::Int(number), Value::Uint))
            }
            0xd9..=0xdb => {
                let length = self.length(1 << (kind - 0xd9))?;
                self.text(length)
            }
            0xdc | 0xdd => {
                let length = self.length(2 << (kind - 0xdc))?;
                self.array(length, depth)
            }
            0xde | 0xdf => {
                let length = self.length(2 << (kind - 0xde))?;
                self.map(length, depth)
            }
            0xe0..=0xff => Ok(Value::Int(kind as i64 - 256)),
            _ => Err(format!("unknown type byte {kind:#04x} at offset {at}")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn decodes_every_type_that_occurs() {
        let bytes = [
            0x9a, 0x07, 0xc0, 0xc3, 0xa1, b'x', 0xc4, 2, 1, 2, 0xcd, 1, 0, 0xcb, 0, 0, 0, 0, 0, 0, 0, 0, 0xdc, 0, 1, 5,
            0x81, 0xc4, 1, b'k', 0xd9, 1, b'v', 0xff,
        ];
        let value = decode(&bytes).unwrap();
        let items = value.as_array().unwrap();
        assert_eq!(items[0], Value::Uint(7));
        assert_eq!(items[1], Value::Nil);
        assert_eq!(items[2], Value::Bool(true));
        assert_eq!(items[3].as_str(), Some("x"));
        assert_eq!(items[4].as_bin(), Some(&[1u8, 2][..]));
        assert_eq!(items[5].as_uint(), Some(256));
        assert_eq!(items[6], Value::Float);
        assert_eq!(items[7].as_array(), Some(&[Value::Uint(5)][..]));
        assert_eq!(items[8].get("k").and_then(Value::as_str), Some("v"));
        assert_eq!(items[9], Value::Int(-1));
    }

    #[test]
    fn damaged_input_is_an_error_and_never_a_panic() {
        for bytes in [
            &[][..],
            &[0xdf, 0xff, 0xff, 0xff, 0xff],
            &[0xdd, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xa2, 0xff, 0xff],
            &[0xc6, 0xff, 0xff, 0xff, 0xff],
            &[0xc1],
            &[1, 2],
            &[0x91; 100],
        ] {
            assert!(decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
