//! A trace as a file: the stable, documented form, complete enough to rebuild every order and cut without database
//! and models. Knows the format and its version; computes nothing that [`Trace`] does not.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::form::Version;
use super::{Agreement, GoldCounts, Trace};
use crate::fuse::Assumption;
use crate::history::Conversation;
use crate::parse::{Ignored, Parser, Query};
use crate::passage::{PassageSet, Shape};
use crate::retrieve::{Everything, Hit, Hop, Retrieval};
use crate::scored::{Model, Ranker, RankerState, Score, Scored, Timings};
use crate::settings::Settings;
use crate::truncate::{Cut, Fate};

/// Version of the format. Readers refuse newer ones; fields may be added within a version.
pub const VERSION: u32 = 1;

/// A trace in its file form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceFile {
    /// Version of the format: the first field of every trace file.
    pub memsift_trace: u32,
    /// What it was made with and from.
    pub header: TraceHeader,
    /// The question and how it was read.
    pub question: QuestionPart,
    /// Every knob.
    pub settings: Settings,
    /// The settings under which the question was parsed and retrieved, where a knob was turned since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved_with: Option<Settings>,
    /// Rounds of matching: terms, what taught them, what they found, why the loop ended.
    pub hops: Vec<Hop>,
    /// Why passages without a match are candidates, when they are.
    pub everything: Option<Everything>,
    /// The history.
    pub conversation: Conversation,
    /// Every passage of the history with all that is known of it.
    pub passages: Vec<PassagePart>,
    /// The cross-encoder.
    pub ce: RankerPart,
    /// Late interaction.
    pub colbert: RankerPart,
    /// Sentence vectors.
    pub dense: RankerPart,
    /// How much the two rankers agree.
    pub agreement: Option<Agreement>,
    /// What the fusion assumed where scores are missing.
    pub assumptions: Vec<Assumption>,
    /// The cut.
    pub cut: Cut,
    /// Gold by stage.
    pub gold: GoldCounts,
    /// Milliseconds of each stage.
    pub timings: Timings,
}

/// What a trace was made with and from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TraceHeader {
    /// Version of memsift.
    pub program: String,
    /// Fingerprint of the database.
    pub database: String,
    /// Conversation id.
    pub conversation: String,
    /// When it was made (UTC, ISO 8601), when the caller says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
}

/// The question and how it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionPart {
    /// The question.
    pub text: String,
    /// Who read it.
    pub parser: Parser,
    /// Named entities in it.
    pub entities: Vec<String>,
    /// Words that did not become terms.
    pub ignored: Vec<Ignored>,
}

/// One passage with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassagePart {
    /// Identifier.
    pub id: String,
    /// Session identifier.
    pub session: String,
    /// When it was said, in words.
    pub date: String,
    /// What was matched and ranked.
    pub text: String,
    /// Its words without its header.
    pub words: u32,
    /// Words of its header.
    pub header_words: u32,
    /// True when it is known to hold evidence.
    pub gold: bool,
    /// Match score.
    pub match_score: f64,
    /// 1-based place by match score; 0 when unmatched.
    pub match_place: u32,
    /// Hop that found it first; 0 when none did.
    pub found_in: u8,
    /// Occurrences of terms (`term` counts through all terms of all hops).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<Hit>,
    /// BM25 for the question.
    pub bm25: f64,
    /// Cross-encoder score and rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce: Option<Ranked>,
    /// ColBERT score and rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colbert: Option<Ranked>,
    /// Sentence-vector score and rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense: Option<Ranked>,
    /// Place in the fused order, score, and the shares of the two rankings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fused: Option<FusedPart>,
    /// What became of it, with the numbers that decided it.
    pub fate: Fate,
}

/// A score with its rank among the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// 1-based; 0 when it is no candidate.
    pub rank: u32,
    /// The score.
    #[serde(flatten)]
    pub score: Score,
}

/// The fused row of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FusedPart {
    /// 1-based.
    pub rank: u32,
    /// Fused score.
    pub score: f64,
    /// Share of the first ranking (cross-encoder; BM25 in the z fusion).
    pub first_share: f64,
    /// Share of the second ranking (ColBERT).
    pub second_share: f64,
}

/// A ranker without its scores, which stand with the passages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankerPart {
    /// The model.
    pub model: Option<Model>,
    /// How far it got.
    pub state: RankerState,
}

/// A trace file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// Not JSON, or not of this shape.
    #[error("this is no memsift trace ({0}): export one with 'memsift ask --json'")]
    Shape(#[from] serde_json::Error),
    /// MessagePack, and not of this shape.
    #[error("this is no memsift trace (MessagePack: {0}): export one with 'memsift ask --format msgpack'")]
    MessagePack(String),
    /// Not text and not MessagePack.
    #[error(
        "this is no memsift trace (neither JSON nor MessagePack): export one with 'memsift ask --json' or \
         '--format msgpack'"
    )]
    Neither,
    /// Written by a newer program.
    #[error("this trace has format {0} and this memsift reads up to {VERSION}: update memsift")]
    Newer(u32),
    /// Its parts contradict each other.
    #[error("this trace contradicts itself ({0}): it was changed after it was written; export it again")]
    Contradiction(&'static str),
}

impl TraceFile {
    /// The file form of a trace.
    pub fn new(trace: &Trace, mut header: TraceHeader) -> Self {
        let scored = &trace.scored;
        let set = &scored.passages;
        if header.program.is_empty() {
            header.program = env!("CARGO_PKG_VERSION").to_owned();
        }
        header.conversation.clone_from(&set.conversation.id);
        let mut fused_rank = vec![0_u32; set.len()];
        for (at, row) in trace.fused.rows.iter().enumerate() {
            if let Some(rank) = fused_rank.get_mut(row.passage as usize) {
                *rank = at as u32 + 1;
            }
        }
        let passages = (0..set.len() as u32)
            .zip(&set.passages)
            .map(|(at, passage)| {
                let rank = fused_rank.get(at as usize).copied().unwrap_or(0);
                let row = rank.checked_sub(1).and_then(|row| trace.fused.rows.get(row as usize));
                PassagePart {
                    id: passage.id.clone(),
                    session: set.conversation.sessions.get(passage.session).map(|s| s.id.clone()).unwrap_or_default(),
                    date: set
                        .conversation
                        .turns
                        .get(passage.turns.start)
                        .map(|turn| turn.time.date_and_time())
                        .unwrap_or_default(),
                    text: passage.text.clone(),
                    words: passage.words,
                    header_words: passage.header_words,
                    gold: scored.is_gold(at),
                    match_score: scored.match_score(at),
                    match_place: scored.retrieval.match_place.get(at as usize).copied().unwrap_or(0),
                    found_in: scored.retrieval.found_in.get(at as usize).copied().unwrap_or(0),
                    hits: scored.retrieval.hits_of(at).to_vec(),
                    bm25: scored.bm25(at),
                    ce: ranked(&scored.ce, at),
                    colbert: ranked(&scored.colbert, at),
                    dense: ranked(&scored.dense, at),
                    fused: row.map(|row| FusedPart {
                        rank,
                        score: row.score,
                        first_share: row.first_share,
                        second_share: row.second_share,
                    }),
                    fate: trace.fate(at).clone(),
                }
            })
            .collect();
        let retrieved_with = (*scored.settings != trace.settings).then(|| (*scored.settings).clone());
        Self {
            memsift_trace: VERSION,
            header,
            question: QuestionPart {
                text: scored.query.text.clone(),
                parser: scored.query.parser,
                entities: scored.query.entities.clone(),
                ignored: scored.query.ignored.clone(),
            },
            settings: trace.settings.clone(),
            retrieved_with,
            hops: scored.retrieval.hops.clone(),
            everything: scored.retrieval.everything,
            conversation: Conversation { questions: Vec::new(), ..(*set.conversation).clone() },
            passages,
            ce: part(&scored.ce),
            colbert: part(&scored.colbert),
            dense: part(&scored.dense),
            agreement: trace.agreement(),
            assumptions: trace.fused.assumptions.clone(),
            cut: trace.cut.clone(),
            gold: trace.gold(),
            timings: scored.timings,
        }
    }

    /// The JSON text, one line; equal traces give equal bytes.
    ///
    /// # Errors
    /// When a number cannot be written as JSON, which no trace of this program holds.
    pub fn to_json(&self) -> Result<String, TraceFileError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Read the JSON text.
    ///
    /// # Errors
    /// When it is no trace, or one of a newer format.
    pub fn from_json(text: &str) -> Result<Self, TraceFileError> {
        serde_json::from_str::<Version>(text)?.check()?;
        Ok(serde_json::from_str(text)?)
    }

    /// Rebuild the trace, with all knobs behind the rankers live.
    ///
    /// # Errors
    /// When the parts of the file contradict each other.
    pub fn to_trace(&self) -> Result<Trace, TraceFileError> {
        let retrieved_with = self.retrieved_with.as_ref().unwrap_or(&self.settings);
        let conversation = &self.conversation;
        let turns = conversation.turns.len();
        let whole = conversation.sessions.iter().all(|s| s.turns.start <= s.turns.end && s.turns.end <= turns)
            && conversation.turns.iter().all(|t| t.session < conversation.sessions.len());
        if !whole {
            return Err(TraceFileError::Contradiction("sessions and turns"));
        }
        let set = PassageSet::new(Arc::new(conversation.clone()), Shape::of(retrieved_with));
        if set.len() != self.passages.len() || !set.passages.iter().zip(&self.passages).all(|(a, b)| a.text == b.text) {
            return Err(TraceFileError::Contradiction("passages and turns"));
        }
        let passages = &self.passages;
        let terms: usize = self.hops.iter().map(|hop| hop.terms.len()).sum();
        let mut hits = Vec::new();
        let mut first_hit = vec![0];
        for (at, passage) in passages.iter().enumerate() {
            let sound = |hit: &Hit| {
                hit.passage as usize == at
                    && usize::from(hit.term) < terms
                    && passage.text.get(hit.start as usize..hit.end as usize).is_some()
            };
            if !passage.hits.iter().all(sound) {
                return Err(TraceFileError::Contradiction("matches and texts"));
            }
            hits.extend_from_slice(&passage.hits);
            first_hit.push(hits.len() as u32);
        }
        let candidates: Vec<u32> =
            (0..passages.len() as u32).zip(passages).filter(|(_, p)| p.fused.is_some()).map(|(at, _)| at).collect();
        let retrieval = Retrieval {
            hops: self.hops.clone(),
            hits,
            first_hit,
            match_score: passages.iter().map(|p| p.match_score).collect(),
            match_place: passages.iter().map(|p| p.match_place).collect(),
            found_in: passages.iter().map(|p| p.found_in).collect(),
            candidates,
            everything: self.everything,
        };
        let ranker = |part: &RankerPart, scores: Vec<Option<Score>>| {
            let scores = if scores.iter().all(Option::is_none) { Vec::new() } else { scores };
            Arc::new(Ranker::new(part.model.clone(), part.state.clone(), scores, &retrieval.candidates))
        };
        let scored = Scored {
            query: Arc::new(Query {
                text: self.question.text.clone(),
                parser: self.question.parser,
                terms: self.hops.first().map(|h| h.terms.iter().map(|t| t.term.clone()).collect()).unwrap_or_default(),
                ignored: self.question.ignored.clone(),
                entities: self.question.entities.clone(),
            }),
            settings: Arc::new(retrieved_with.clone()),
            bm25: Arc::new(passages.iter().map(|p| p.bm25).collect()),
            ce: ranker(&self.ce, passages.iter().map(|p| p.ce.map(|r| r.score)).collect()),
            colbert: ranker(&self.colbert, passages.iter().map(|p| p.colbert.map(|r| r.score)).collect()),
            dense: ranker(&self.dense, passages.iter().map(|p| p.dense.map(|r| r.score)).collect()),
            sentences: None,
            gold: Arc::new(
                (0..passages.len() as u32).zip(passages).filter(|(_, p)| p.gold).map(|(at, _)| at).collect(),
            ),
            timings: self.timings,
            passages: Arc::new(set),
            retrieval: Arc::new(retrieval),
        };
        Ok(Trace::new(Arc::new(scored), self.settings.clone()))
    }
}

fn ranked(ranker: &Ranker, passage: u32) -> Option<Ranked> {
    ranker.score(passage).map(|score| Ranked { rank: ranker.rank(passage), score: *score })
}

fn part(ranker: &Ranker) -> RankerPart {
    RankerPart { model: ranker.model.clone(), state: ranker.state.clone() }
}
