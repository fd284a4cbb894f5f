//! The hops: what each round searched, what it found, which passage taught which name, and why the loop ended. Knows the
//! rules of PIPELINE section 2; reads passages only through the tagger it is given.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::matcher::{Hit, find_all};
use super::names::{Names, words_of};
use super::{Everything, Reader, Retrieval, by_match_score, with_weight};
use crate::parse::stop_words::is_stop_word;
use crate::parse::{Origin, Query, Term, TermClass};
use crate::passage::{PassageSet, fold};
use crate::settings::{Discovery, Prf, Settings};

/// One round of matching.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// 1 for the question's own terms. Feedback terms belong to the last hop's results and stand in a round of their own
    /// with the same number.
    pub number: u8,
    /// What was searched and how often it occurs.
    pub terms: Vec<TermTally>,
    /// Passages found here for the first time, in conversation order.
    pub found: Vec<u32>,
    /// Why nothing followed; `None` when another round followed.
    pub end: Option<HopEnd>,
}

/// A term and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TermTally {
    /// The term.
    pub term: Term,
    /// Passages that hold it.
    pub passages: u32,
}

/// Why the hop loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HopEnd {
    /// The largest number of hops was reached.
    HopLimit,
    /// The trigger did not call for another hop: the question has a named entity.
    HasEntity,
    /// The trigger did not call for another hop: enough candidates were found.
    EnoughCandidates,
    /// The user switched discovery off.
    Off,
    /// The top passages hold no name that was not searched yet.
    NoNewNames,
    /// No tagger is there to find names.
    NoTagger,
    /// Nothing matched, so there is nothing to learn from.
    NothingMatched,
}

impl HopEnd {
    /// As shown behind the last hop.
    pub fn words(self) -> &'static str {
        match self {
            Self::HopLimit => "stopped: hop limit reached",
            Self::HasEntity => "stopped: the question has a named entity",
            Self::EnoughCandidates => "stopped: enough candidates",
            Self::Off => "stopped: discovery is off",
            Self::NoNewNames => "stopped: no new names",
            Self::NoTagger => "stopped: no tagger to find names (run 'memsift models pull')",
            Self::NothingMatched => "stopped: nothing matched",
        }
    }
}

/// A retrieval in the making.
pub(super) struct Walk<'a> {
    set: &'a PassageSet,
    settings: &'a Settings,
    hops: Vec<Hop>,
    hits: Vec<Hit>,
    match_score: Vec<f64>,
    found_in: Vec<u8>,
    terms: u16,
}

impl<'a> Walk<'a> {
    pub(super) fn new(set: &'a PassageSet, query: &Query, settings: &'a Settings) -> Self {
        Self {
            set,
            settings,
            hops: Vec::new(),
            hits: Vec::with_capacity(set.len() * query.terms.len().min(4)),
            match_score: vec![0.0; set.len()],
            found_in: vec![0; set.len()],
            terms: 0,
        }
    }

    pub(super) fn first(&mut self, query: &Query) {
        self.search(1, query.terms.clone());
    }

    /// One more round if the rules ask for one. False when the loop is over.
    pub(super) fn next(&mut self, query: &Query, reader: &dyn Reader) -> bool {
        let done = self.hops.last().map_or(0, |hop| hop.number);
        let end = match self.discover(done, query, reader) {
            Ok(terms) => {
                self.search(done + 1, terms);
                return true;
            }
            Err(end) => end,
        };
        if let Some(terms) = self.feedback(query, reader) {
            self.search(done, terms);
        }
        if let Some(last) = self.hops.last_mut() {
            last.end = Some(end);
        }
        false
    }

    fn search(&mut self, number: u8, terms: Vec<Term>) {
        let found = find_all(self.set, &terms, self.terms, self.settings.matching);
        let mut tally = vec![0_u32; terms.len()];
        let mut fresh = Vec::new();
        let mut seen: HashSet<u16> = HashSet::new();
        let mut current = None;
        for hit in &found {
            if current != Some(hit.passage) {
                current = Some(hit.passage);
                seen.clear();
            }
            if !seen.insert(hit.term) {
                continue;
            }
            let local = usize::from(hit.term - self.terms);
            if let Some(count) = tally.get_mut(local) {
                *count += 1;
            }
            let weight = terms.get(local).map_or(0.0, |term| term.weight);
            if let Some(score) = self.match_score.get_mut(hit.passage as usize) {
                *score = with_weight(*score, weight);
            }
            if let Some(hop @ 0) = self.found_in.get_mut(hit.passage as usize) {
                // A term of weight 0 is searched and shown, but finds nobody.
                if weight > 0.0 {
                    *hop = number;
                    fresh.push(hit.passage);
                }
            }
        }
        self.terms += terms.len() as u16;
        self.hits.extend(found);
        let terms = terms.into_iter().zip(tally).map(|(term, passages)| TermTally { term, passages }).collect();
        self.hops.push(Hop { number, terms, found: fresh, end: None });
    }

    /// Names in the best passages that were not searched yet, or why there is no further hop.
    fn discover(&self, done: u8, query: &Query, reader: &dyn Reader) -> Result<Vec<Term>, HopEnd> {
        let settings = self.settings;
        let candidates = self.found_in.iter().filter(|hop| **hop > 0).count();
        match settings.discovery {
            Discovery::Never => return Err(HopEnd::Off),
            Discovery::NoEntity if !query.entities.is_empty() => return Err(HopEnd::HasEntity),
            Discovery::Few if candidates >= settings.discovery_floor as usize => return Err(HopEnd::EnoughCandidates),
            _ => {}
        }
        if u32::from(done) >= settings.hops {
            return Err(HopEnd::HopLimit);
        }
        if candidates == 0 {
            return Err(HopEnd::NothingMatched);
        }
        let rules = Names::new(self.set, &query.text, settings);
        let mut names: Vec<Term> = Vec::new();
        for passage in by_match_score(&self.match_score, settings.discovery_top as usize) {
            let Some(text) = self.set.passages.get(passage as usize).map(|p| p.text.as_str()) else { continue };
            let analysis = reader.read(text).ok_or(HopEnd::NoTagger)?;
            for term in rules.taught(&analysis, passage, done) {
                let searched = self.hops.iter().flat_map(|hop| &hop.terms).any(|tally| tally.term.text == term.text);
                if !searched && !names.iter().any(|known| known.text == term.text) {
                    names.push(term);
                }
            }
        }
        for term in &mut names {
            term.edit(&settings.terms);
        }
        if names.is_empty() { Err(HopEnd::NoNewNames) } else { Ok(names) }
    }

    /// Nouns and proper nouns that several of the best passages share, when feedback is on.
    fn feedback(&self, query: &Query, reader: &dyn Reader) -> Option<Vec<Term>> {
        let settings = self.settings;
        let on = match settings.prf {
            Prf::Off => false,
            Prf::On => true,
            Prf::Auto => self.set.words() > u64::from(settings.prf_words),
        };
        if !on {
            return None;
        }
        let speakers: HashSet<String> =
            self.set.conversation.speakers.iter().flat_map(|name| words_of(&fold(name))).collect();
        let asked: HashSet<String> = words_of(&fold(&query.text)).into_iter().collect();
        let known: HashSet<&str> =
            self.hops.iter().flat_map(|hop| &hop.terms).map(|tally| tally.term.text.as_str()).collect();
        let mut holders: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for passage in by_match_score(&self.match_score, settings.discovery_top as usize) {
            let text = self.set.passages.get(passage as usize).map(|p| p.text.as_str())?;
            let analysis = reader.read(text)?;
            for token in &analysis.tokens {
                let pos = token.pos;
                let word = fold(&token.text);
                let usable = matches!(pos, "NOUN" | "PROPN")
                    && word.chars().count() >= settings.min_term_length as usize
                    && word.chars().any(char::is_alphanumeric)
                    && !is_stop_word(&word)
                    && !speakers.contains(&word)
                    && !asked.contains(&word)
                    && !known.contains(word.as_str());
                if usable {
                    let at = holders.entry(word).or_default();
                    if at.last() != Some(&passage) {
                        at.push(passage);
                    }
                }
            }
        }
        let mut terms: Vec<Term> = holders
            .into_iter()
            .filter(|(_, passages)| passages.len() >= settings.prf_passages as usize)
            .map(|(word, passages)| {
                Term::single(&word, TermClass::Prf, settings.weight_prf, Origin::Feedback { passages })
            })
            .collect();
        for term in &mut terms {
            term.edit(&settings.terms);
        }
        (!terms.is_empty()).then_some(terms)
    }

    pub(super) fn finish(mut self) -> Retrieval {
        self.hits.sort_unstable_by_key(|hit| (hit.passage, hit.start, hit.end, hit.term));
        let mut first_hit = vec![0_u32; self.set.len() + 1];
        for hit in &self.hits {
            if let Some(count) = first_hit.get_mut(hit.passage as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for slot in &mut first_hit {
            sum += *slot;
            *slot = sum;
        }
        let order = by_match_score(&self.match_score, usize::MAX);
        let mut match_place = vec![0_u32; self.set.len()];
        for (at, passage) in order.iter().enumerate() {
            if let Some(place) = match_place.get_mut(*passage as usize) {
                *place = at as u32 + 1;
            }
        }
        let everything = match (self.settings.rank_everything, order.is_empty()) {
            (true, _) => Some(Everything::Asked),
            (false, true) => Some(Everything::NothingMatched),
            (false, false) => None,
        };
        let candidates = match everything {
            Some(_) => (0..self.set.len() as u32).collect(),
            None => {
                let cap =
                    if self.settings.candidate_cap == 0 { usize::MAX } else { self.settings.candidate_cap as usize };
                let mut best: Vec<u32> = order.into_iter().take(cap).collect();
                best.sort_unstable();
                best
            }
        };
        Retrieval {
            hops: self.hops,
            hits: self.hits,
            first_hit,
            match_score: self.match_score,
            match_place,
            found_in: self.found_in,
            candidates,
            everything,
        }
    }
}
