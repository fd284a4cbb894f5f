//! The vectors of a whole history: read from the cache, made where they are missing, scored against a question. Knows
//! passages and one encoder; nothing of questions' terms or of the cut.

use std::ops::Range;
use std::sync::Arc;

use crate::passage::PassageSet;
use crate::pool::{pool, sum_of};
use crate::rank::{Cache, CacheKey, PassageVectors, RankError, Side, TextEncoder, TokenVectors};
use crate::scored::{Score, SentenceVectors};
use crate::settings::Pooler;

/// Passages whose vectors lie in memory as one matrix.
const CHUNK: usize = 2048;
/// Chunks that stay in memory; longer histories are read from the cache again for every question.
const KEPT_CHUNKS: usize = 8;
/// Passages encoded between two looks at whether to stop.
const BATCH: usize = 32;

/// The vectors of one history.
pub struct HistoryVectors {
    set: Arc<PassageSet>,
    chunks: Vec<Option<Arc<Chunk>>>,
}

/// The vectors of some neighbouring passages.
struct Chunk {
    vectors: PassageVectors,
    tokens: Vec<u32>,
    clipped: Vec<u32>,
    sentences: Vec<f32>,
}

/// Scores of one question against a history.
pub struct VectorScores {
    /// Token MaxSim, by passage; none from a model without token vectors.
    pub maxsim: Vec<Option<Score>>,
    /// Cosine of sentence vectors, by passage; none from a model without them.
    pub cosine: Vec<Option<Score>>,
    /// The sentence vectors, while the history is short enough to keep.
    pub sentences: Option<Arc<SentenceVectors>>,
    /// False when it was stopped before every passage had a score.
    pub complete: bool,
}

impl VectorScores {
    /// No score yet, for so many passages.
    fn none(passages: usize) -> Self {
        Self { maxsim: vec![None; passages], cosine: vec![None; passages], sentences: None, complete: true }
    }

    /// Scores of turns made those of passages of several turns. The ColBERT slot gets the score that the pooler asks for,
    /// from cosines or, for `token`, from token MaxSim; the dense slot pools cosines, by their best for `token`. The vectors
    /// become the unit means of the turns'.
    pub fn pooled(&self, passages: &PassageSet, pooler: Pooler) -> Self {
        let rows = |turns: &Range<usize>| {
            let vectors = self.sentences.as_ref()?;
            Some((vectors.data.get(turns.start * vectors.dim..turns.end * vectors.dim)?, vectors.dim))
        };
        let over = |scores: &[Option<Score>], pooler: Pooler| -> Vec<Option<Score>> {
            let of = |turns: &Range<usize>| {
                let own = scores.get(turns.clone())?;
                let values: Vec<f64> =
                    own.iter().map(|score| Some(f64::from(score.as_ref()?.value))).collect::<Option<_>>()?;
                let found = pool(pooler, &values, rows(turns))?;
                let turn = u32::try_from(turns.start + found.best).ok();
                own.get(found.best)?.map(|best| Score { value: found.score as f32, turn, ..best })
            };
            passages.passages.iter().map(|passage| of(&passage.turns)).collect()
        };
        let cosine = over(&self.cosine, if pooler == Pooler::Token { Pooler::Max } else { pooler });
        let unit = |turns: &Range<usize>| -> Vec<f32> {
            let Some((rows, dim)) = rows(turns) else { return Vec::new() };
            let sum = sum_of(rows, dim);
            let length = sum.iter().map(|number| number * number).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            sum.iter().map(|number| (number / length) as f32).collect()
        };
        let sentences = self.sentences.as_ref().map(|vectors| {
            let data = passages.passages.iter().flat_map(|passage| unit(&passage.turns)).collect();
            Arc::new(SentenceVectors { dim: vectors.dim, data })
        });
        Self {
            maxsim: if pooler == Pooler::Token { over(&self.maxsim, pooler) } else { cosine.clone() },
            cosine,
            sentences,
            complete: self.complete,
        }
    }
}

impl HistoryVectors {
    /// Nothing loaded yet.
    pub fn new(set: Arc<PassageSet>) -> Self {
        let chunks = set.len().div_ceil(CHUNK);
        Self { set, chunks: vec![None; chunks] }
    }

    /// The history.
    pub fn set(&self) -> &Arc<PassageSet> {
        &self.set
    }

    /// Score all passages against every question; one entry a question. `progress` hears how many passages were looked at;
    /// when it answers false, scoring stops.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn score(
        &mut self,
        encoder: &dyn TextEncoder,
        cache: &Cache,
        questions: &[&str],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<VectorScores>, RankError> {
        let gives = encoder.gives();
        let queries = question_vectors(encoder, cache, questions)?;
        let references: Vec<&TokenVectors> = queries.iter().collect();
        let passages = self.set.len();
        let mut all: Vec<VectorScores> = queries.iter().map(|_| VectorScores::none(passages)).collect();
        let keep = gives.sentence && self.chunks.len() <= KEPT_CHUNKS;
        let mut sentences = Vec::new();
        for at in 0..self.chunks.len() {
            let Some(chunk) = self.chunk(at, encoder, cache, progress)? else {
                all.iter_mut().for_each(|scores| scores.complete = false);
                return Ok(all);
            };
            for ((scores, query), found) in all.iter_mut().zip(&queries).zip(chunk.vectors.score_all(&references)?) {
                let read = !gives.tokens || query.tokens > 0;
                for (local, found) in found.into_iter().enumerate() {
                    let tokens = chunk.tokens.get(local).copied().unwrap_or(0);
                    let clipped = chunk.clipped.get(local).copied().unwrap_or(0);
                    let score = |value: f32, gives: bool| {
                        (gives && read && value.is_finite()).then_some(Score {
                            value,
                            logit: None,
                            tokens,
                            clipped,
                            turn: None,
                        })
                    };
                    if let Some(slot) = scores.maxsim.get_mut(at * CHUNK + local) {
                        *slot = score(found.maxsim.score, gives.tokens);
                    }
                    if let Some(slot) = scores.cosine.get_mut(at * CHUNK + local) {
                        *slot = score(found.cosine, gives.sentence);
                    }
                }
            }
            if keep {
                sentences.extend_from_slice(&chunk.sentences);
            }
        }
        if keep {
            let sentences = Arc::new(SentenceVectors { dim: encoder.dim(), data: sentences });
            all.iter_mut().for_each(|scores| scores.sentences = Some(Arc::clone(&sentences)));
        }
        Ok(all)
    }

    /// One chunk, from memory, from the cache, or made now. `None` when stopped; what was made is in the cache then.
    fn chunk(
        &mut self,
        at: usize,
        encoder: &dyn TextEncoder,
        cache: &Cache,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<Arc<Chunk>>, RankError> {
        if let Some(Some(chunk)) = self.chunks.get(at) {
            return Ok(progress((at * CHUNK + chunk.tokens.len()).min(self.set.len())).then(|| Arc::clone(chunk)));
        }
        let first = at * CHUNK;
        let passages = self.set.passages.get(first..(first + CHUNK).min(self.set.len())).unwrap_or_default();
        let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
        let keys: Vec<CacheKey> = texts.iter().map(|text| key(Side::Passage, encoder, text)).collect();
        let mut found: Vec<Option<TokenVectors>> = cache.vectors(&keys);
        let missing: Vec<usize> = (0..texts.len()).filter(|at| !matches!(found.get(*at), Some(Some(_)))).collect();
        let known = texts.len() - missing.len();
        for (batch, indices) in missing.chunks(BATCH).enumerate() {
            if !progress(first + known + batch * BATCH) {
                return Ok(None);
            }
            let batch: Vec<&str> = indices.iter().filter_map(|at| texts.get(*at).copied()).collect();
            let mut made = encoder.encode_passages(&batch)?;
            for vectors in &mut made {
                vectors.round_to_half();
            }
            cache.put_vectors(indices.iter().filter_map(|at| keys.get(*at).copied()).zip(&made));
            for (at, vectors) in indices.iter().zip(made) {
                if let Some(slot) = found.get_mut(*at) {
                    *slot = Some(vectors);
                }
            }
        }
        if !progress(first + texts.len()) {
            return Ok(None);
        }
        let found: Vec<TokenVectors> = found.into_iter().flatten().collect();
        let chunk = Arc::new(Chunk {
            vectors: PassageVectors::new(encoder.dim(), &found)?,
            tokens: found.iter().map(|vectors| vectors.tokens as u32).collect(),
            clipped: found.iter().map(|vectors| vectors.clipped).collect(),
            sentences: found.iter().flat_map(|vectors| vectors.sentence.iter().copied()).collect(),
        });
        if self.chunks.len() <= KEPT_CHUNKS
            && let Some(slot) = self.chunks.get_mut(at)
        {
            *slot = Some(Arc::clone(&chunk));
        }
        Ok(Some(chunk))
    }
}

/// The vectors of questions, from the cache where they were asked before.
fn question_vectors(
    encoder: &dyn TextEncoder,
    cache: &Cache,
    questions: &[&str],
) -> Result<Vec<TokenVectors>, RankError> {
    let keys: Vec<CacheKey> = questions.iter().map(|question| key(Side::Question, encoder, question)).collect();
    let known = cache.vectors(&keys).into_iter().zip(questions).zip(keys);
    known
        .map(|((known, question), key)| match known {
            Some(known) => Ok(known),
            None => {
                let mut made = encoder.encode_query(question)?;
                made.round_to_half();
                cache.put_vectors([(key, &made)]);
                Ok(made)
            }
        })
        .collect()
}

fn key(side: Side, encoder: &dyn TextEncoder, text: &str) -> CacheKey {
    CacheKey::text(side, encoder.model(), encoder.max_tokens(), text)
}
