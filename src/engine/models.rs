//! The models of the pipeline, loaded or absent with a reason. Knows where they are read from; computes nothing.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::nlp::{Analysis, Tagger};
use crate::rank::{MiniLm, SmallCrossEncoder};
use crate::retrieve::Reader;

/// Folder of the tagger below the models directory.
pub const TAGGER: &str = "en_core_web_sm";
/// Folder of the encoder below the models directory.
pub const ENCODER: &str = "all-MiniLM-L6-v2";

/// One model: ready, or the sentence that says why not.
pub type Slot<T> = Result<Arc<T>, String>;

/// The small set.
#[derive(Clone)]
pub struct Models {
    /// Reads questions and passages.
    pub tagger: Slot<Tagger>,
    /// Token and sentence vectors: the ColBERT and the dense slot.
    pub encoder: Slot<MiniLm>,
    /// The cross-encoder slot.
    pub ce: Slot<SmallCrossEncoder>,
}

impl Models {
    /// Load what is there. Never fails: what is missing carries its reason.
    pub fn load(dir: &Path) -> Self {
        let (tagger, (encoder, ce)) = rayon::join(|| load_tagger(dir), || load_rankers(dir));
        Self { tagger, encoder, ce }
    }

    /// No model at all, for one reason.
    pub fn none(reason: &str) -> Self {
        Self { tagger: Err(reason.to_owned()), encoder: Err(reason.to_owned()), ce: Err(reason.to_owned()) }
    }
}

/// The tagger alone.
pub fn load_tagger(dir: &Path) -> Slot<Tagger> {
    let folder = dir.join(TAGGER);
    if !folder.is_dir() {
        return Err(missing("tagger", TAGGER));
    }
    Tagger::load(&folder).map(Arc::new).map_err(|error| error.to_string())
}

/// The encoder, and the cross-encoder that is built on it.
pub fn load_rankers(dir: &Path) -> (Slot<MiniLm>, Slot<SmallCrossEncoder>) {
    let folder = dir.join(ENCODER);
    if !folder.is_dir() {
        return (Err(missing("ColBERT slot", ENCODER)), Err(missing("cross-encoder", ENCODER)));
    }
    match MiniLm::load(&folder) {
        Ok(encoder) => {
            let ce = SmallCrossEncoder::on(&encoder).map(Arc::new).map_err(|error| error.to_string());
            (Ok(Arc::new(encoder)), ce)
        }
        Err(error) => (Err(error.to_string()), Err(error.to_string())),
    }
}

fn missing(role: &str, model: &str) -> String {
    format!("no {role}: '{model}' is not installed; run 'memsift models pull'")
}

/// The tagger behind a memory of what it has read; hop 2 reads the same passages again and again.
pub struct MemoReader {
    tagger: Option<Arc<Tagger>>,
    memory: Mutex<HashMap<String, Arc<Analysis>>>,
}

/// Analyses kept; a history of 600 turns fits whole.
const MEMORY: usize = 4096;

impl MemoReader {
    /// A reader on this tagger, or one that cannot read.
    pub fn new(tagger: Option<Arc<Tagger>>) -> Self {
        Self { tagger, memory: Mutex::new(HashMap::new()) }
    }
}

impl Reader for MemoReader {
    fn read(&self, text: &str) -> Option<Arc<Analysis>> {
        let tagger = self.tagger.as_ref()?;
        if let Some(known) = self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Some(Arc::clone(known));
        }
        // The tagger works on whole texts; what stands behind the first 20,000 bytes of a passage teaches no name.
        let end = text.floor_char_boundary(20_000);
        let analysis = Arc::new(tagger.analyse(text.get(..end).unwrap_or(text)));
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() >= MEMORY {
            memory.clear();
        }
        memory.insert(text.to_owned(), Arc::clone(&analysis));
        Some(analysis)
    }
}
