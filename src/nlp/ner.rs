//! Knows the entity recogniser's transition system; must not know tags, lemmas or the parser.

use std::ops::Range;

use super::error::NlpError;
use super::moves;
use super::thinc::ModelFile;
use super::transition::{Features, Scorer, best};

/// Positions of a state that the scorer looks at.
const SLOTS: usize = 3;

/// Move types of the file.
const BEGIN: u32 = 1;
const INSIDE: u32 = 2;
const LAST: u32 = 3;
const UNIT: u32 = 4;
const OUT: u32 = 5;

/// Marks entities one token at a time.
#[derive(Debug)]
pub(super) struct EntityRecogniser {
    scorer: Scorer,
    labels: Vec<&'static str>,
    /// First action of each kind; the labels follow in the same order within every kind.
    begin: usize,
    inside: usize,
    last: usize,
    unit: usize,
    out: usize,
}

/// One entity: its tokens and its label.
pub(super) type Span = (Range<usize>, &'static str);

impl EntityRecogniser {
    /// Reads the recogniser's two files.
    pub(super) fn load(model: &ModelFile<'_>, moves_file: &str, moves_bytes: &[u8]) -> Result<Self, NlpError> {
        let actions = moves::parse(moves_file, moves_bytes)?;
        let start = |kind: u32| actions.iter().take_while(|action| action.0 < kind).count();
        let labels = |kind: u32| -> Vec<&'static str> {
            let same = actions.iter().filter(|action| action.0 == kind);
            same.map(|action| action.1).collect()
        };
        let names = labels(BEGIN);
        let mut units = labels(UNIT);
        // A unit without a label is listed but never valid.
        units.retain(|label| !label.is_empty());
        let same = names == labels(INSIDE) && names == labels(LAST) && names == units;
        if names.is_empty() || !same || labels(OUT).len() != 1 {
            let what = "it does not hold the five kinds of moves of an entity recogniser";
            return Err(NlpError::malformed(moves_file, what));
        }
        Ok(Self {
            scorer: Scorer::load(model, SLOTS, actions.len())?,
            begin: start(BEGIN),
            inside: start(INSIDE),
            last: start(LAST),
            unit: start(UNIT),
            out: start(OUT),
            labels: names,
        })
    }

    /// The entities of the text whose token vectors (of the recogniser's own network) are given;
    /// `watch` sees the slots and scores of every state that was scored.
    pub(super) fn entities(
        &self,
        vectors: &[f32],
        is_space: &[bool],
        sentence_starts: &[bool],
        features: &mut Features,
        mut watch: impl FnMut(&[Option<usize>], &[f32]),
    ) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut open: Option<(usize, usize)> = None;
        self.scorer.prepare(vectors, features);
        for (token, space) in is_space.iter().enumerate() {
            // An entity must not reach over the end of a sentence.
            let ends = sentence_starts.get(token + 1).copied().unwrap_or(true);
            if let Some((start, label)) = open
                && ends
            {
                // Only one action is valid: nothing to score.
                spans.push((start..token + 1, self.labels[label]));
                open = None;
                continue;
            }
            let before = token.checked_sub(1).filter(|_| open.is_some());
            let slots = [Some(token), open.map(|(start, _)| start), before];
            if open.is_none() && *space {
                continue;
            }
            self.scorer.score(&slots, features);
            let scores = &features.scores;
            watch(&slots, &scores[..self.scorer.actions()]);
            if let Some((start, label)) = open {
                let (inside, last) = (self.inside + label, self.last + label);
                if best(scores, [inside, last]).is_some_and(|(action, _)| action == last) {
                    spans.push((start..token + 1, self.labels[label]));
                    open = None;
                }
                continue;
            }
            let count = self.labels.len();
            let begins = self.begin..self.begin + if ends { 0 } else { count };
            let units = self.unit..self.unit + count;
            let allowed = begins.clone().chain(units.clone()).chain([self.out]);
            let action = best(scores, allowed).map_or(self.out, |(action, _)| action);
            if begins.contains(&action) {
                open = Some((token, action - self.begin));
            } else if units.contains(&action) {
                spans.push((token..token + 1, self.labels[action - self.unit]));
            }
        }
        spans
    }
}
