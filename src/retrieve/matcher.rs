//! Where terms occur: one pass of a substring search over the folded text of all passages. Knows strings only, not why
//! a term is searched.

use std::ops::Range;

use memchr::memmem::Finder;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::parse::Term;
use crate::passage::{Folded, PassageSet};
use crate::settings::Matching;

/// One occurrence of a term in a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The passage.
    pub passage: u32,
    /// The term, as an index into all terms of all hops.
    pub term: u16,
    /// First byte in the passage's text.
    pub start: u32,
    /// Behind its last byte.
    pub end: u32,
}

/// Text from which it pays to use more than one core, in bytes.
const PARALLEL_FROM: usize = 1 << 20;

/// All occurrences of these terms, by passage, then by position. `first` is the index of the first term.
pub fn find_all(set: &PassageSet, terms: &[Term], first: u16, matching: Matching) -> Vec<Hit> {
    let needles: Vec<(u16, Finder<'_>)> = terms
        .iter()
        .enumerate()
        .filter(|(_, term)| !term.muted)
        .flat_map(|(at, term)| term.forms.iter().map(move |form| (first + at as u16, form)))
        .filter(|(_, form)| !form.is_empty())
        .map(|(at, form)| (at, Finder::new(form.as_bytes())))
        .collect();
    let folded = set.folded();
    if folded.buffer().len() < PARALLEL_FROM {
        return find_in(folded, 0..folded.len(), &needles, matching);
    }
    let step = folded.len().div_ceil(rayon::current_num_threads() * 4).max(1);
    (0..folded.len())
        .step_by(step)
        .collect::<Vec<_>>()
        .into_par_iter()
        .flat_map_iter(|from| find_in(folded, from..(from + step).min(folded.len()), &needles, matching))
        .collect()
}

fn find_in(folded: &Folded, passages: Range<usize>, needles: &[(u16, Finder<'_>)], matching: Matching) -> Vec<Hit> {
    let span = folded.span(passages.clone());
    let bytes = folded.buffer().as_bytes().get(span.clone()).unwrap_or_default();
    let mut hits = Vec::new();
    for (term, finder) in needles {
        let mut passage = passages.start;
        for at in finder.find_iter(bytes) {
            let range = span.start + at..span.start + at + finder.needle().len();
            if matching == Matching::Word && !is_word(folded.buffer(), &range) {
                continue;
            }
            passage = folded.passage_at(range.start, passage);
            let original = folded.original(passage as u32, range);
            hits.push(Hit { passage: passage as u32, term: *term, start: original.start, end: original.end });
        }
    }
    hits.sort_unstable_by_key(|hit| (hit.passage, hit.start, hit.end, hit.term));
    hits.dedup();
    hits
}

/// True when no letter, digit or underscore touches the range.
fn is_word(text: &str, range: &Range<usize>) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let before = text.get(..range.start).and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).and_then(|text| text.chars().next());
    !before.is_some_and(part) && !after.is_some_and(part)
}
