//! Reads tensors out of a safetensors file, one at a time: a large model never lies in memory twice. Knows the format;
//! not what is computed with it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use candle_core::{DType, Device, Tensor, bail};
use half::{bf16, f16};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::RankError;
use super::error::words;

/// The longest table of contents that is believed, in bytes.
const LONGEST_HEADER: u64 = 64 << 20;

/// A safetensors file, opened.
pub(super) struct Weights<'a> {
    /// Locked while bytes are read; they are converted outside, so that several threads can load layers.
    source: Mutex<Source<'a>>,
    entries: HashMap<String, Entry>,
    metadata: HashMap<String, String>,
    /// Where the numbers begin.
    start: u64,
    prefix: String,
}

enum Source<'a> {
    Bytes(&'a [u8]),
    File(File),
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

impl<'a> Weights<'a> {
    /// Opens a file of a model's folder.
    ///
    /// # Errors
    /// [`RankError::Read`], and [`RankError::Model`] for a file that is cut short or no safetensors file.
    pub(super) fn open(path: &Path) -> Result<Self, RankError> {
        let unread = |source| RankError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(unread)?;
        let length = file.metadata().map_err(unread)?.len();
        Self::new(Source::File(file), length)
            .map_err(|error| RankError::Model { path: path.to_owned(), reason: words(&error) })
    }

    /// Reads from memory.
    pub(super) fn of(bytes: &'a [u8]) -> candle_core::Result<Self> {
        Self::new(Source::Bytes(bytes), bytes.len() as u64)
    }

    fn new(mut source: Source<'a>, length: u64) -> candle_core::Result<Self> {
        let foreign = || candle_core::Error::Msg("it is no safetensors file".to_owned());
        let size = source.read(0, 8).ok().and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        let size = size.filter(|size| *size > 1 && *size <= LONGEST_HEADER).ok_or_else(foreign)?;
        if size + 8 > length {
            return Err(foreign());
        }
        let header = source.read(8, size)?;
        let mut header: HashMap<String, serde_json::Value> = serde_json::from_slice(&header).map_err(|_| foreign())?;
        let metadata = header.remove("__metadata__").map(serde_json::from_value).transpose();
        let metadata = metadata.map_err(|_| foreign())?.unwrap_or_default();
        let entries: HashMap<String, Entry> = header
            .into_iter()
            .map(|(name, entry)| Ok((name, serde_json::from_value(entry)?)))
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|_| foreign())?;
        let start = 8 + size;
        let end = entries.values().map(|entry| entry.data_offsets[1]).max().unwrap_or(0);
        if start.checked_add(end).is_none_or(|end| end > length) {
            bail!("it is cut short: its table of contents promises {} bytes, {length} are there", start + end);
        }
        Ok(Self { source: Mutex::new(source), entries, metadata, start, prefix: String::new() })
    }

    /// From now on names are looked up behind `prefix`, when the file has any such name.
    pub(super) fn below(mut self, prefix: &str) -> Self {
        if self.entries.keys().any(|name| name.starts_with(prefix)) {
            prefix.clone_into(&mut self.prefix);
        }
        self
    }

    /// From now on names are looked up as they stand in the file.
    pub(super) fn whole(mut self) -> Self {
        self.prefix.clear();
        self
    }

    /// All names, as they stand in the file.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The description in the file, by key.
    pub(super) fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(&format!("{}{name}", self.prefix))
    }

    /// One tensor, converted to f32.
    pub(super) fn tensor(&self, name: &str) -> candle_core::Result<Tensor> {
        self.stored(name)?.to_dtype(DType::F32)
    }

    /// One tensor in the precision that it is stored in.
    pub(super) fn stored(&self, name: &str) -> candle_core::Result<Tensor> {
        let name = format!("{}{name}", self.prefix);
        let Some(entry) = self.entries.get(&name) else { bail!("it has no tensor '{name}'") };
        let dtype = match entry.dtype.as_str() {
            "F32" => DType::F32,
            "F16" => DType::F16,
            "BF16" => DType::BF16,
            "F64" => DType::F64,
            other => bail!("its tensor '{name}' has numbers of type {other}; f32, f16 and bf16 can be read"),
        };
        let [from, to] = entry.data_offsets;
        let wanted = entry.shape.iter().try_fold(dtype.size_in_bytes(), |size, side| size.checked_mul(*side));
        if to < from || wanted.is_none_or(|wanted| wanted as u64 != to - from) {
            bail!("its tensor '{name}' is not as long as its shape says");
        }
        let bytes = self.source.lock().unwrap_or_else(PoisonError::into_inner).read(self.start + from, to - from)?;
        Tensor::from_raw_buffer(&bytes, dtype, &entry.shape, &Device::Cpu)
    }

    /// One tensor that must have this shape, converted to f32.
    pub(super) fn shaped(&self, name: &str, shape: &[usize]) -> candle_core::Result<Tensor> {
        self.of_shape(name, shape)?.to_dtype(DType::F32)
    }

    fn of_shape(&self, name: &str, shape: &[usize]) -> candle_core::Result<Tensor> {
        let tensor = self.stored(name)?;
        if tensor.dims() != shape {
            bail!("its tensor '{}{name}' has shape {:?} where {shape:?} was expected", self.prefix, tensor.dims());
        }
        Ok(tensor)
    }

    /// One matrix in the precision that it is stored in: a large table need not lie in memory at twice its size.
    pub(super) fn table(&self, name: &str, rows: usize, columns: usize) -> candle_core::Result<Table> {
        let flat = self.of_shape(name, &[rows, columns])?.flatten_all()?;
        Ok(match flat.dtype() {
            DType::F16 => Table::Half(flat.to_vec1()?),
            DType::BF16 => Table::Brain(flat.to_vec1()?),
            _ => Table::Single(flat.to_dtype(DType::F32)?.to_vec1()?),
        })
    }

    /// The numbers of one tensor, row-major.
    pub(super) fn numbers(&self, name: &str) -> candle_core::Result<Vec<f32>> {
        self.tensor(name)?.flatten_all()?.to_vec1()
    }
}

/// A matrix of which single rows are wanted.
pub(super) enum Table {
    Single(Vec<f32>),
    Half(Vec<f16>),
    Brain(Vec<bf16>),
}

impl Table {
    /// One row of this length; `None` behind the end.
    pub(super) fn row(&self, at: usize, length: usize) -> Option<Vec<f32>> {
        let range = at * length..(at + 1) * length;
        Some(match self {
            Self::Single(numbers) => numbers.get(range)?.to_vec(),
            Self::Half(numbers) => numbers.get(range)?.iter().map(|number| number.to_f32()).collect(),
            Self::Brain(numbers) => numbers.get(range)?.iter().map(|number| number.to_f32()).collect(),
        })
    }
}

impl Source<'_> {
    fn read(&mut self, from: u64, length: u64) -> candle_core::Result<Vec<u8>> {
        let short = || candle_core::Error::Msg("it is cut short".to_owned());
        match self {
            Self::Bytes(bytes) => {
                let from = usize::try_from(from).map_err(|_| short())?;
                let end = usize::try_from(length).ok().and_then(|length| from.checked_add(length));
                end.and_then(|end| bytes.get(from..end)).map(<[u8]>::to_vec).ok_or_else(short)
            }
            Self::File(file) => {
                let mut bytes = vec![0; usize::try_from(length).map_err(|_| short())?];
                file.seek(SeekFrom::Start(from))?;
                file.read_exact(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// The weights file of a model's folder.
///
/// # Errors
/// [`RankError::Unsupported`] when there are only weights in a format that can carry programs.
pub(super) fn weights_file(folder: &Path) -> Result<PathBuf, RankError> {
    let path = folder.join("model.safetensors");
    let pickled = ["pytorch_model.bin", "model.pt", "pytorch_model.bin.index.json"];
    if let Some(pickle) = pickled.into_iter().find(|name| !path.exists() && folder.join(name).exists()) {
        let reason = "only safetensors are read, because pickled weights can run programs; convert it, or take the \
                      model's model.safetensors"
            .to_owned();
        return Err(RankError::Unsupported { path: folder.join(pickle), reason });
    }
    if !path.exists() && folder.join("model.safetensors.index.json").exists() {
        let reason = "its weights are split into several files".to_owned();
        return Err(RankError::Unsupported { path: folder.join("model.safetensors.index.json"), reason });
    }
    Ok(path)
}

/// SHA-256 of a file, lower-case hexadecimal.
pub(super) fn sha256_of(path: &Path) -> Result<String, RankError> {
    crate::models::digest(path).map_err(|source| RankError::Read { path: path.to_owned(), source })
}

/// SHA-256 of some bytes, lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    crate::models::hex(&Sha256::digest(bytes))
}
