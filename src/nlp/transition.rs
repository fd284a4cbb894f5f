//! Knows how a state of the parser or the entity recogniser is scored; must not know what actions do.

use super::dense::{Matrix, add, larger};
use super::error::NlpError;
use super::thinc::ModelFile;
use super::tok2vec::WIDTH;

/// Width of the hidden layer.
const HIDDEN: usize = 64;

/// Alternatives of a hidden unit.
const PIECES: usize = 2;

/// Hidden values before the maximum, ordered [piece][output].
const WIDE: usize = HIDDEN * PIECES;

/// Scores the actions of one transition system from a few token positions.
#[derive(Debug)]
pub(super) struct Scorer {
    slots: usize,
    projection: Matrix,
    projection_bias: Vec<f32>,
    /// `HIDDEN` x (`slots` x `WIDE`).
    features: Matrix,
    /// What an empty slot contributes, `slots` x `WIDE`.
    padding: Vec<f32>,
    hidden_bias: Vec<f32>,
    upper: Matrix,
    upper_bias: Vec<f32>,
    actions: usize,
}

/// The contributions of every token of one text to every slot.
#[derive(Debug, Default)]
pub(super) struct Features {
    projected: Vec<f32>,
    values: Vec<f32>,
    hidden: Vec<f32>,
    /// One score per action after [`Scorer::score`].
    pub(super) scores: Vec<f32>,
    spread: Vec<[f32; 4]>,
}

impl Features {
    /// Floats that the largest text so far has needed.
    pub(super) fn capacity(&self) -> usize {
        self.values.capacity()
    }
}

impl Scorer {
    /// Reads a scorer of `slots` positions and `actions` actions. Of the two linear nodes, the first
    /// gives the scores and the second projects the token vectors.
    pub(super) fn load(file: &ModelFile<'_>, slots: usize, actions: usize) -> Result<Self, NlpError> {
        let (_, upper) = file.array("linear", 0, "W", &[actions, HIDDEN])?;
        let (_, upper_bias) = file.array("linear", 0, "b", &[actions])?;
        let (_, projection) = file.array("linear", 1, "W", &[HIDDEN, WIDTH])?;
        let (_, projection_bias) = file.array("linear", 1, "b", &[HIDDEN])?;
        let lower = "precomputable_affine";
        let (_, weights) = file.array(lower, 0, "W", &[slots, HIDDEN, PIECES, HIDDEN])?;
        let (_, bias) = file.array(lower, 0, "b", &[HIDDEN, PIECES])?;
        let (_, padding) = file.array(lower, 0, "pad", &[1, slots, HIDDEN, PIECES])?;
        // Stored [slot][output][piece]; `wide` counts [slot][piece][output].
        let stored = |wide: usize| {
            let (slot, piece, output) = (wide / WIDE, wide % WIDE / HIDDEN, wide % HIDDEN);
            (slot * HIDDEN + output) * PIECES + piece
        };
        let mut padded_bias = upper_bias;
        padded_bias.resize(actions.next_multiple_of(super::dense::PANEL), 0.0);
        Ok(Self {
            slots,
            projection: Matrix::new(WIDTH, HIDDEN, |o| row(&projection, o, WIDTH)),
            projection_bias,
            features: Matrix::new(HIDDEN, slots * WIDE, |o| row(&weights, stored(o), HIDDEN)),
            padding: (0..slots * WIDE).map(|wide| padding[stored(wide)]).collect(),
            hidden_bias: (0..WIDE).map(|wide| bias[stored(wide)]).collect(),
            upper: Matrix::new(HIDDEN, actions, |o| row(&upper, o, HIDDEN)),
            upper_bias: padded_bias,
            actions,
        })
    }

    /// Number of actions.
    pub(super) fn actions(&self) -> usize {
        self.actions
    }

    /// Computes the contributions of the tokens whose vectors are given.
    pub(super) fn prepare(&self, vectors: &[f32], features: &mut Features) {
        let Features { projected, values, spread, .. } = features;
        self.projection.multiply(vectors, projected, spread);
        for row in projected.chunks_mut(HIDDEN) {
            add(row, &self.projection_bias);
        }
        self.features.multiply(projected, values, spread);
    }

    /// Scores every action in the state whose slots hold the given tokens; `None` is an empty slot.
    pub(super) fn score(&self, slots: &[Option<usize>], features: &mut Features) {
        let mut wide = [0.0; WIDE];
        wide.copy_from_slice(&self.hidden_bias);
        for (slot, token) in slots.iter().enumerate().take(self.slots) {
            let contribution = match token {
                Some(token) => {
                    let start = (token * self.slots + slot) * WIDE;
                    &features.values[start..start + WIDE]
                }
                None => &self.padding[slot * WIDE..(slot + 1) * WIDE],
            };
            add(&mut wide, contribution);
        }
        let Features { hidden, scores, spread, .. } = features;
        hidden.resize(HIDDEN, 0.0);
        let (first, second) = wide.split_at(HIDDEN);
        for (hidden, (a, b)) in hidden.iter_mut().zip(first.iter().zip(second)) {
            *hidden = larger(*a, *b);
        }
        self.upper.multiply(hidden, scores, spread);
        add(scores, &self.upper_bias);
    }
}

/// Row number `at` of a matrix whose rows have `width` values.
fn row(matrix: &[f32], at: usize, width: usize) -> &[f32] {
    &matrix[at * width..(at + 1) * width]
}

/// The first best of the actions in `allowed`, with its score.
pub(super) fn best(scores: &[f32], allowed: impl IntoIterator<Item = usize>) -> Option<(usize, f32)> {
    let mut best: Option<(usize, f32)> = None;
    for action in allowed {
        let score = scores.get(action).copied().unwrap_or(f32::NEG_INFINITY);
        if best.is_none_or(|(_, top)| score > top) {
            best = Some((action, score));
        }
    }
    best
}
