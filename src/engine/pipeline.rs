//! One question through all slow stages: parse, retrieve, rank. Streams what it knows as soon as it knows it. Knows the
//! order of the stages and when to stop; leaves fusing and cutting to the trace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::models::{MemoReader, Models};
use super::vectors::{HistoryVectors, VectorScores};
use crate::history::Conversation;
use crate::parse::{Query, parse, parse_plain};
use crate::passage::{PassageSet, Shape};
use crate::rank::{Cache, CacheKey, ModelId, PairScore, RankError, TextEncoder};
use crate::retrieve::{Reader, retrieve};
use crate::scored::{Model, Ranker, RankerState, Score, Scored, Similarity, Timings};
use crate::settings::{Pooler, Settings, Unit};

/// Most pairs between two looks at whether to stop.
const CE_BATCH: usize = 16;
/// Time that one batch of pairs should take, so that a large model hears a stop soon too.
const BATCH_TIME: Duration = Duration::from_millis(150);
/// Time between two writes of fresh scores to the cache.
const KEEP_EVERY: Duration = Duration::from_secs(2);
/// Time between two streamed results.
const STREAM_EVERY: Duration = Duration::from_millis(40);

/// The stages, with the models and the history they work on.
pub struct Pipeline {
    models: Models,
    reader: MemoReader,
    cache: Cache,
    history: Option<History>,
}

/// The history of the last question, with its vectors of both encoders.
struct History {
    set: Arc<PassageSet>,
    whole: Vectors,
    /// Of its turns, for passages of several turns whose scores are pooled; made at first use.
    turns: Option<Vectors>,
}

/// The vectors of both encoders.
struct Vectors {
    colbert: HistoryVectors,
    dense: HistoryVectors,
}

impl Vectors {
    fn new(set: &Arc<PassageSet>) -> Self {
        Self { colbert: HistoryVectors::new(Arc::clone(set)), dense: HistoryVectors::new(Arc::clone(set)) }
    }
}

impl History {
    fn new(set: Arc<PassageSet>) -> Self {
        Self { whole: Vectors::new(&set), turns: None, set }
    }

    /// The vectors that are scored under these settings.
    fn vectors(&mut self, settings: &Settings) -> &mut Vectors {
        if !pools(settings) {
            return &mut self.whole;
        }
        let set = &self.set;
        self.turns.get_or_insert_with(|| {
            let shape = Shape { unit: Unit::Turn, ..set.shape };
            Vectors::new(&Arc::new(PassageSet::new(Arc::clone(&set.conversation), shape)))
        })
    }
}

/// True when a passage's vector scores are pooled from those of its turns.
fn pools(settings: &Settings) -> bool {
    settings.pooler != Pooler::Text && matches!(settings.unit, Unit::Window | Unit::Session)
}

/// Questions for the vectors of one history.
struct Asked<'a> {
    questions: &'a [&'a str],
    /// The passages among which ranks are given.
    candidates: &'a [u32],
    settings: &'a Settings,
    set: &'a PassageSet,
}

/// What a caller hears while a question runs.
pub trait Listener {
    /// What is known so far. The last call carries the final result.
    fn scored(&mut self, scored: Arc<Scored>);
    /// How far a stage is: `embedding` or `scoring`, units done and in all.
    fn progress(&mut self, what: &'static str, done: usize, total: usize);
    /// True when the question should stop at the next batch.
    fn stopped(&self) -> bool;
}

/// Hears nothing and never stops.
pub struct Deaf;

impl Listener for Deaf {
    fn scored(&mut self, _: Arc<Scored>) {}
    fn progress(&mut self, _: &'static str, _: usize, _: usize) {}
    fn stopped(&self) -> bool {
        false
    }
}

impl Pipeline {
    /// A pipeline with these models and this cache.
    pub fn new(models: Models, cache: Cache) -> Self {
        let reader = MemoReader::new(models.tagger.as_ref().ok().cloned());
        Self { models, reader, cache, history: None }
    }

    /// Take other models; what the history's vectors were is forgotten.
    pub fn set_models(&mut self, models: Models) {
        self.reader = MemoReader::new(models.tagger.as_ref().ok().cloned());
        self.models = models;
        self.history = None;
    }

    /// The models.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// What the cache has to say.
    pub fn notices(&self) -> Vec<String> {
        self.cache.notices()
    }

    /// The history cut into passages; the one of the last question when it is the same.
    pub fn passages(&mut self, conversation: &Arc<Conversation>, shape: Shape) -> Arc<PassageSet> {
        match &self.history {
            Some(known) if Arc::ptr_eq(&known.set.conversation, conversation) && known.set.shape == shape => {
                Arc::clone(&known.set)
            }
            _ => {
                let set = Arc::new(PassageSet::new(Arc::clone(conversation), shape));
                self.history = Some(History::new(Arc::clone(&set)));
                set
            }
        }
    }

    /// The tagger behind its memory, for whoever learns names from passages.
    pub fn reader(&self) -> &dyn Reader {
        &self.reader
    }

    /// The terms of a question.
    pub fn read(&self, text: &str, settings: &Settings) -> Query {
        read(&self.reader, text, settings)
    }

    /// Run a question. Returns the final result, which the listener has heard too.
    pub fn ask(
        &mut self,
        conversation: &Arc<Conversation>,
        text: &str,
        gold: &[usize],
        settings: &Settings,
        listener: &mut dyn Listener,
    ) -> Arc<Scored> {
        let set = self.passages(conversation, Shape::of(settings));
        let mut timings = Timings::default();
        let began = Instant::now();
        let query = read(&self.reader, text, settings);
        timings.parse_ms = millis(began);
        let began = Instant::now();
        let retrieval = retrieve(&set, &query, &self.reader, settings);
        timings.retrieve_ms = millis(began);
        let mut scored = Scored {
            bm25: Arc::new(set.bm25().scores_as(text, settings.bm25)),
            gold: Arc::new(set.of_turns(gold)),
            settings: Arc::new(settings.clone()),
            query: Arc::new(query),
            retrieval: Arc::new(retrieval),
            ce: Arc::new(waiting(self.models.ce.as_ref().map(|ce| ce.model()))),
            colbert: Arc::new(waiting(self.models.colbert.as_ref().map(|colbert| colbert.model()))),
            dense: Arc::new(waiting(self.models.dense.as_ref().map(|dense| dense.model()))),
            sentences: None,
            passages: set,
            timings,
        };
        listener.scored(Arc::new(scored.clone()));
        self.vectors(&mut scored, listener);
        listener.scored(Arc::new(scored.clone()));
        self.cross_encoder(&mut scored, listener);
        let scored = Arc::new(scored);
        listener.scored(Arc::clone(&scored));
        scored
    }

    /// The cross-encoder's scores of these texts, from the cache where they are known. `None` without a model.
    pub fn score_pairs(&mut self, question: &str, texts: &[&str]) -> Option<Result<Vec<f64>, RankError>> {
        let ce = self.models.ce.as_ref().ok()?;
        let keys: Vec<CacheKey> =
            texts.iter().map(|text| CacheKey::pair(ce.model(), ce.max_tokens(), question, text)).collect();
        let mut known = self.cache.scores(&keys);
        let missing = |known: &Option<PairScore>| known.is_none();
        let left: Vec<&str> =
            texts.iter().zip(&known).filter(|(_, known)| missing(known)).map(|(text, _)| *text).collect();
        if !left.is_empty() {
            let fresh = match ce.score(question, &left) {
                Ok(fresh) => fresh,
                Err(error) => return Some(Err(error)),
            };
            let open = known.iter_mut().zip(&keys).filter(|(known, _)| missing(known));
            let entries = open.zip(fresh).map(|((slot, key), pair)| {
                *slot = Some(pair);
                (*key, pair)
            });
            let entries: Vec<(CacheKey, PairScore)> = entries.collect();
            self.cache.put_scores(entries);
        }
        Some(Ok(known.into_iter().map(|pair| pair.map_or(f64::MIN, |pair| f64::from(pair.score))).collect()))
    }

    /// What vectors say about every passage of a history, for many questions at once, which is several times faster than
    /// one after the other. One entry a question; ranks are given among no candidates.
    pub fn similarities(
        &mut self,
        conversation: &Arc<Conversation>,
        questions: &[&str],
        settings: &Settings,
    ) -> Vec<Similarity> {
        let set = self.passages(conversation, Shape::of(settings));
        self.similarity(&Asked { questions, candidates: &[], settings, set: &set }, &mut Deaf)
    }

    fn similarity(&mut self, asked: &Asked, listener: &mut dyn Listener) -> Vec<Similarity> {
        let none = Similarity {
            colbert: Arc::new(waiting(self.models.colbert.as_ref().map(|colbert| colbert.model()))),
            dense: Arc::new(waiting(self.models.dense.as_ref().map(|dense| dense.model()))),
            sentences: None,
        };
        let mut all = vec![none; asked.questions.len()];
        let Some(history) = &mut self.history else { return all };
        let vectors = history.vectors(asked.settings);
        let shared = self.models.share_vectors();
        if let Ok(encoder) = &self.models.colbert {
            let found = rank_all(&mut vectors.colbert, encoder.as_ref(), &self.cache, asked, listener);
            for (slot, found) in all.iter_mut().zip(found) {
                if shared { *slot = found } else { slot.colbert = found.colbert }
            }
        }
        if let Ok(encoder) = &self.models.dense
            && !shared
        {
            let found = rank_all(&mut vectors.dense, encoder.as_ref(), &self.cache, asked, listener);
            for (slot, found) in all.iter_mut().zip(found) {
                (slot.dense, slot.sentences) = (found.dense, found.sentences);
            }
        }
        all
    }

    /// Token MaxSim and sentence cosine of every passage.
    fn vectors(&mut self, scored: &mut Scored, listener: &mut dyn Listener) {
        let began = Instant::now();
        let asked = Asked {
            questions: &[&scored.query.text],
            candidates: &scored.retrieval.candidates,
            settings: &scored.settings,
            set: &scored.passages,
        };
        if let Some(found) = self.similarity(&asked, listener).pop() {
            (scored.colbert, scored.dense, scored.sentences) = (found.colbert, found.dense, found.sentences);
        }
        scored.timings.colbert_ms = millis(began);
    }

    /// Every candidate against the question, in the order in which it can still change the cut: best ColBERT first.
    fn cross_encoder(&mut self, scored: &mut Scored, listener: &mut dyn Listener) {
        let Ok(ce) = &self.models.ce else { return };
        let began = Instant::now();
        let candidates = Arc::clone(&scored.retrieval);
        let candidates = &candidates.candidates;
        let mut order = candidates.clone();
        // Without ColBERT scores the sentence vectors say what may rank high.
        let vectors = if scored.colbert.scored() > 0 { &scored.colbert } else { &scored.dense };
        order.sort_by(|a, b| {
            let key = |at: u32| (vectors.value(at).unwrap_or(f64::MIN), scored.match_score(at));
            let (a, b) = (key(*a), key(*b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        let question = scored.query.text.clone();
        let passages = Arc::clone(&scored.passages);
        let text = |at: u32| passages.passages.get(at as usize).map_or("", |passage| passage.text.as_str());
        let keys: Vec<CacheKey> =
            order.iter().map(|at| CacheKey::pair(ce.model(), ce.max_tokens(), &question, text(*at))).collect();
        let mut scores: Vec<Option<Score>> = vec![None; passages.len()];
        let mut left: Vec<(u32, CacheKey)> = Vec::new();
        let put = |at: u32, pair: &PairScore, scores: &mut Vec<Option<Score>>| {
            if let Some(slot) = scores.get_mut(at as usize) {
                *slot = pair.logit.is_finite().then_some(Score {
                    value: pair.score,
                    logit: Some(pair.logit),
                    tokens: pair.tokens,
                    clipped: pair.clipped.unwrap_or(0),
                    turn: None,
                });
            }
        };
        for ((at, key), known) in order.iter().zip(&keys).zip(self.cache.scores(&keys)) {
            match known {
                Some(pair) => put(*at, &pair, &mut scores),
                None => left.push((*at, *key)),
            }
        }
        let total = order.len();
        let mut done = total - left.len();
        let mut state = RankerState::Done;
        let mut last: Option<Instant> = None;
        let mut fresh: Vec<(CacheKey, PairScore)> = Vec::with_capacity(left.len());
        let mut kept = Instant::now();
        let (mut from, mut size) = (0, 1);
        while let Some(batch) = left.get(from..(from + size).min(left.len())).filter(|batch| !batch.is_empty()) {
            if listener.stopped() {
                state = RankerState::Stopped;
                break;
            }
            if last.is_none_or(|last| last.elapsed() >= STREAM_EVERY) {
                last = Some(Instant::now());
                scored.timings.ce_ms = millis(began);
                scored.ce =
                    Arc::new(Ranker::new(Some(model(ce.model())), RankerState::Running, scores.clone(), candidates));
                listener.scored(Arc::new(scored.clone()));
                listener.progress("scoring", done, total);
            }
            let texts: Vec<&str> = batch.iter().map(|(at, _)| text(*at)).collect();
            let started = Instant::now();
            match ce.score(&question, &texts) {
                Ok(pairs) => {
                    for ((at, key), pair) in batch.iter().zip(pairs) {
                        put(*at, &pair, &mut scores);
                        fresh.push((*key, pair));
                    }
                    done += batch.len();
                }
                Err(error) => {
                    state = RankerState::Failed(error.to_string());
                    break;
                }
            }
            from += batch.len();
            let a_pair = started.elapsed().as_secs_f64() / batch.len() as f64;
            size = ((BATCH_TIME.as_secs_f64() / a_pair.max(1e-6)) as usize).clamp(1, CE_BATCH);
            // What a large model computed for minutes must not be lost with the program.
            if kept.elapsed() >= KEEP_EVERY {
                kept = Instant::now();
                self.cache.put_scores(std::mem::take(&mut fresh));
            }
        }
        self.cache.put_scores(fresh);
        let holes = candidates.iter().any(|at| !matches!(scores.get(*at as usize), Some(Some(_))));
        if state == RankerState::Done && holes {
            state = RankerState::Failed("the model gave no finite score for some passages".to_owned());
        }
        scored.timings.ce_ms = millis(began);
        scored.ce = Arc::new(Ranker::new(Some(model(ce.model())), state, scores, candidates));
        listener.progress("scoring", done, total);
    }
}

/// What one encoder says about every passage, a question each.
fn rank_all(
    history: &mut HistoryVectors,
    encoder: &dyn TextEncoder,
    cache: &Cache,
    asked: &Asked,
    listener: &mut dyn Listener,
) -> Vec<Similarity> {
    let total = history.set().len();
    let mut last = Instant::now();
    let result = history.score(encoder, cache, asked.questions, &mut |done| {
        if last.elapsed() >= STREAM_EVERY {
            last = Instant::now();
            listener.progress("embedding", done, total);
        }
        !listener.stopped()
    });
    let model = model(encoder.model());
    let ranker = |state: &RankerState, scores| {
        Arc::new(Ranker::new(Some(model.clone()), state.clone(), scores, asked.candidates))
    };
    match result {
        Ok(all) => {
            let pooler = asked.settings.pooler;
            let of = |found: VectorScores| {
                let found = if pools(asked.settings) { found.pooled(asked.set, pooler) } else { found };
                let state = if found.complete { RankerState::Done } else { RankerState::Stopped };
                Similarity {
                    colbert: ranker(&state, found.maxsim),
                    dense: ranker(&state, found.cosine),
                    sentences: found.sentences,
                }
            };
            all.into_iter().map(of).collect()
        }
        Err(error) => {
            let state = RankerState::Failed(error.to_string());
            let failed =
                Similarity { colbert: ranker(&state, Vec::new()), dense: ranker(&state, Vec::new()), sentences: None };
            vec![failed; asked.questions.len()]
        }
    }
}

fn read(reader: &MemoReader, text: &str, settings: &Settings) -> Query {
    match reader.read(text) {
        Some(analysis) => parse(text, &analysis, settings),
        None => parse_plain(text, settings),
    }
}

fn waiting(model_or_reason: Result<&ModelId, &String>) -> Ranker {
    match model_or_reason {
        Ok(id) => Ranker::new(Some(model(id)), RankerState::Running, Vec::new(), &[]),
        Err(reason) => Ranker::absent(reason.clone()),
    }
}

fn model(id: &ModelId) -> Model {
    Model { name: id.label(), hash: id.hash.clone() }
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
