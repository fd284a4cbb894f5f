//! The models of the pipeline, loaded or absent with a reason. Knows where they are read from; computes nothing.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::choice::{Chosen, RankerChoice, SlotName};
use crate::models::{Architecture, ModelSpec, Role, State, state};
use crate::nlp::{Analysis, Tagger};
use crate::rank::{
    BiEncoder, ColBert, CrossEncoder, MiniLm, Prefixes, RankError, SequenceClassifier, SmallCrossEncoder, TextEncoder,
};
use crate::retrieve::Reader;

/// Folder of the tagger below the models directory.
pub const TAGGER: &str = "en_core_web_sm";

/// One model: ready, or the sentence that says why not.
pub type Slot<T> = Result<Arc<T>, String>;

/// One model in each slot.
#[derive(Clone)]
pub struct Models {
    /// Reads questions and passages.
    pub tagger: Slot<Tagger>,
    /// Scores pairs.
    pub ce: Slot<dyn CrossEncoder>,
    /// Gives token vectors.
    pub colbert: Slot<dyn TextEncoder>,
    /// Gives sentence vectors; often the same model as the one before.
    pub dense: Slot<dyn TextEncoder>,
}

impl Models {
    /// Load what is there. Never fails: what is missing carries its reason.
    pub fn load(choice: &RankerChoice) -> Self {
        let (tagger, (ce, (colbert, dense))) = rayon::join(
            || load_tagger(&choice.dir),
            || {
                let base = Base::load(choice);
                rayon::join(
                    || load_ce(choice, &base),
                    || rayon::join(|| load_colbert(choice, &base), || load_dense(choice, &base)),
                )
            },
        );
        Self { tagger, ce, colbert, dense }
    }

    /// No model at all, for one reason.
    pub fn none(reason: &str) -> Self {
        Self {
            tagger: Err(reason.to_owned()),
            ce: Err(reason.to_owned()),
            colbert: Err(reason.to_owned()),
            dense: Err(reason.to_owned()),
        }
    }

    /// True when one model gives token and sentence vectors, so that a text is read once for both.
    pub fn share_vectors(&self) -> bool {
        match (&self.colbert, &self.dense) {
            (Ok(colbert), Ok(dense)) => colbert.model() == dense.model() && colbert.gives().sentence,
            _ => false,
        }
    }

    /// Why a ranker's slot is empty.
    pub fn reason(&self, slot: SlotName) -> Option<&str> {
        match slot {
            SlotName::Ce => self.ce.as_ref().err(),
            SlotName::Colbert => self.colbert.as_ref().err(),
            SlotName::Dense => self.dense.as_ref().err(),
        }
        .map(String::as_str)
    }
}

/// The tagger alone.
pub fn load_tagger(dir: &Path) -> Slot<Tagger> {
    let folder = dir.join(TAGGER);
    if !folder.is_dir() {
        return Err(format!("no tagger: '{TAGGER}' is not installed; run 'memsift models pull'"));
    }
    Tagger::load(&folder).map(Arc::new).map_err(|error| error.to_string())
}

/// Encoders of token and sentence vectors that several slots stand on, each loaded once.
struct Base(HashMap<String, Slot<MiniLm>>);

impl Base {
    fn load(choice: &RankerChoice) -> Self {
        let mut loaded = HashMap::new();
        for slot in SlotName::ALL {
            let Chosen::Listed(spec) = choice.slot(slot) else { continue };
            if let Some(name) = base_of(spec) {
                loaded.entry(name.to_owned()).or_insert_with(|| {
                    let model = MiniLm::load_as(&choice.dir.join(name), choice.precision);
                    model.map(Arc::new).map_err(|error| error.to_string())
                });
            }
        }
        Self(loaded)
    }

    fn get(&self, spec: &ModelSpec) -> Option<&Slot<MiniLm>> {
        self.0.get(base_of(spec)?)
    }
}

/// The encoder that a model is or stands on, when it is one that gives token and sentence vectors.
fn base_of(spec: &ModelSpec) -> Option<&str> {
    let both = spec.roles.contains(&Role::Colbert) && spec.roles.contains(&Role::Dense);
    spec.base.as_deref().or_else(|| both.then_some(spec.name.as_str()))
}

fn load_ce(choice: &RankerChoice, base: &Base) -> Slot<dyn CrossEncoder> {
    installed(choice, SlotName::Ce)?;
    if let Chosen::Listed(spec) = &choice.ce
        && spec.architecture == Architecture::Adapter
    {
        let Some(base) = base.get(spec) else { return Err(format!("'{}' names no base", spec.name)) };
        let adapted = SmallCrossEncoder::on(base.as_ref().map_err(Clone::clone)?);
        return adapted.map(|model| Arc::new(model) as _).map_err(|error| error.to_string());
    }
    from_folder(choice, SlotName::Ce, |folder| SequenceClassifier::load_as(folder, choice.precision))
        .map(|model| model as _)
}

fn load_colbert(choice: &RankerChoice, base: &Base) -> Slot<dyn TextEncoder> {
    installed(choice, SlotName::Colbert)?;
    match &choice.colbert {
        Chosen::Listed(spec) if base.get(spec).is_some() => shared(base, spec),
        _ => from_folder(choice, SlotName::Colbert, |folder| ColBert::load_as(folder, choice.precision))
            .map(|model| model as _),
    }
}

fn load_dense(choice: &RankerChoice, base: &Base) -> Slot<dyn TextEncoder> {
    installed(choice, SlotName::Dense)?;
    let prefixes = match &choice.dense {
        Chosen::Listed(spec) if base.get(spec).is_some() => return shared(base, spec),
        Chosen::Listed(spec) => spec.prefixes.clone(),
        _ => None,
    };
    let prefixes = prefixes.map(|spec| Prefixes { question: spec.question, passage: spec.passage });
    from_folder(choice, SlotName::Dense, |folder| BiEncoder::load_as(folder, prefixes, choice.precision))
        .map(|model| model as _)
}

fn shared(base: &Base, spec: &ModelSpec) -> Slot<dyn TextEncoder> {
    match base.get(spec) {
        Some(Ok(model)) => Ok(Arc::clone(model) as _),
        Some(Err(reason)) => Err(reason.clone()),
        None => Err(format!("'{}' was not loaded", spec.name)),
    }
}

fn from_folder<T>(choice: &RankerChoice, slot: SlotName, load: impl FnOnce(&Path) -> Result<T, RankError>) -> Slot<T> {
    let folder = match choice.slot(slot) {
        Chosen::Folder(folder) => folder.clone(),
        Chosen::Listed(spec) => choice.dir.join(&spec.name),
        Chosen::Nothing => return Err(nothing(slot)),
    };
    load(&folder).map(Arc::new).map_err(|error| error.to_string())
}

fn nothing(slot: SlotName) -> String {
    format!("no {} model was wanted", slot.name())
}

/// Fails with a sentence when a slot is to stay empty, or its model is not there or not whole.
fn installed(choice: &RankerChoice, slot: SlotName) -> Result<(), String> {
    let spec = match choice.slot(slot) {
        Chosen::Nothing => return Err(nothing(slot)),
        Chosen::Folder(_) => return Ok(()),
        Chosen::Listed(spec) => spec,
    };
    // An adapter has no files of its own.
    let name = spec.base.as_deref().unwrap_or(&spec.name);
    let role = slot.name();
    if !choice.dir.join(name).is_dir() {
        return Err(format!("no {role} model: '{name}' is not installed; run 'memsift models pull {name}'"));
    }
    match state(spec, &choice.dir) {
        State::Ready => Ok(()),
        State::Missing { files } => Err(format!(
            "no {role} model: '{name}' lacks '{}'; run 'memsift models pull {name}'",
            files.first().map_or("", String::as_str)
        )),
        State::Damaged { file } => {
            Err(format!("no {role} model: '{file}' of '{name}' is damaged; run 'memsift models pull {name}'"))
        }
    }
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
