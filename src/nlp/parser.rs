//! Knows the dependency parser's transition system; must not know how its states are scored.

use std::ops::Range;

use super::error::NlpError;
use super::moves;
use super::strings::intern;
use super::thinc::ModelFile;
use super::transition::{Features, Scorer, best};

/// Positions of a state that the scorer looks at.
const SLOTS: usize = 8;

/// Move types of the file, in their order.
const SHIFT: u32 = 0;
const REDUCE: u32 = 1;
const LEFT: u32 = 2;
const RIGHT: u32 = 3;
const BREAK: u32 = 4;

/// An arc-eager parser with sentence breaks.
#[derive(Debug)]
pub(super) struct Parser {
    scorer: Scorer,
    labels: Vec<&'static str>,
    shift: usize,
    reduce: usize,
    left: Range<usize>,
    right: Range<usize>,
    brk: usize,
    root: &'static str,
}

/// A parsed text, one entry per token.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The token's head; its own number for a root.
    pub(super) heads: Vec<usize>,
    pub(super) labels: Vec<&'static str>,
    pub(super) sentence_starts: Vec<bool>,
}

impl Parser {
    /// Reads the parser's two files.
    pub(super) fn load(model: &ModelFile<'_>, moves_file: &str, moves_bytes: &[u8]) -> Result<Self, NlpError> {
        let actions = moves::parse(moves_file, moves_bytes)?;
        let bad = |what: &str| NlpError::malformed(moves_file, what);
        let range = |kind: u32| {
            let start = actions.iter().take_while(|action| action.0 < kind).count();
            let length = actions.iter().filter(|action| action.0 == kind).count();
            start..start + length
        };
        let one = |kind: u32| {
            let range = range(kind);
            (range.len() == 1).then_some(range.start)
        };
        let missing = || bad("it does not hold the five kinds of moves of a parser");
        let (left, right) = (range(LEFT), range(RIGHT));
        if left.is_empty() || right.is_empty() || actions.iter().any(|action| action.0 > BREAK) {
            return Err(missing());
        }
        Ok(Self {
            scorer: Scorer::load(model, SLOTS, actions.len())?,
            shift: one(SHIFT).ok_or_else(missing)?,
            reduce: one(REDUCE).ok_or_else(missing)?,
            brk: one(BREAK).ok_or_else(missing)?,
            left,
            right,
            labels: actions.into_iter().map(|(_, label)| label).collect(),
            root: intern("ROOT"),
        })
    }

    /// Parses the text whose shared token vectors are given. `is_space` tells space tokens; `watch`
    /// sees the slots and scores of every state that was scored.
    pub(super) fn parse(
        &self,
        vectors: &[f32],
        is_space: &[bool],
        features: &mut Features,
        mut watch: impl FnMut(&[Option<usize>], &[f32]),
    ) -> Tree {
        let count = is_space.len();
        let mut state = State::new(count);
        self.scorer.prepare(vectors, features);
        // Every token is pushed, put back and pushed again at most once, and broken off once.
        for _ in 0..8 * count + 8 {
            let Some(action) = self.choose(&state, features, &mut watch) else {
                break;
            };
            self.apply(action, &mut state);
        }
        let heads: Vec<usize> = (0..count).map(|t| state.heads[t].unwrap_or(t)).collect();
        let mut labels = state.labels;
        for (token, head) in heads.iter().enumerate() {
            if *head == token {
                labels[token] = self.root;
            }
        }
        let mut tree = Tree { heads, labels, sentence_starts: Vec::new() };
        tree.lift_labels(is_space);
        tree.sentence_starts = tree.find_sentence_starts();
        tree
    }

    /// The best valid action, or `None` in a final state. Nothing is scored where only one is valid.
    fn choose(
        &self,
        state: &State,
        features: &mut Features,
        watch: &mut impl FnMut(&[Option<usize>], &[f32]),
    ) -> Option<usize> {
        let (top, next) = (state.stack_at(0), state.buffer_at(0));
        let (Some(_), Some(first)) = (top, next) else {
            return match (top, next) {
                (None, None) => None,
                // An empty stack can also break, but only with two tokens ahead.
                (None, Some(_)) if !state.can_break() => Some(self.shift),
                (Some(_), None) => Some(self.reduce),
                _ => {
                    self.score(state, features, watch);
                    best(&features.scores, [self.shift, self.brk]).map(|(action, _)| action)
                }
            };
        };
        self.score(state, features, watch);
        let starts_sentence = state.starts[first];
        let second = state.buffer_at(1);
        let shift = second.is_some() && !starts_sentence && !state.unshiftable[first];
        let arcs = if starts_sentence { 0..0 } else { self.left.start..self.right.end };
        let brk = state.can_break().then_some(self.brk);
        let allowed = shift.then_some(self.shift).into_iter().chain([self.reduce]).chain(arcs).chain(brk);
        best(&features.scores, allowed).map(|(action, _)| action)
    }

    fn score(&self, state: &State, features: &mut Features, watch: &mut impl FnMut(&[Option<usize>], &[f32])) {
        let (b0, b1) = (state.buffer_at(0), state.buffer_at(1));
        let (s0, s1, s2) = (state.stack_at(0), state.stack_at(1), state.stack_at(2));
        let last = |children: &[Vec<usize>], of: Option<usize>| children[of?].last().copied();
        let slots = [b0, b1, s0, s1, s2, last(&state.left, b0), last(&state.left, s0), last(&state.right, s0)];
        self.scorer.score(&slots, features);
        watch(&slots, &features.scores[..self.scorer.actions()]);
    }

    fn apply(&self, action: usize, state: &mut State) {
        let (top, first) = (state.stack_at(0), state.buffer_at(0));
        match (top, first) {
            (_, Some(first)) if action == self.shift => {
                state.advance();
                state.stack.push(first);
            }
            (Some(top), _) if action == self.reduce => {
                state.stack.pop();
                if state.heads[top].is_none() && !state.stack.is_empty() {
                    state.unshiftable[top] = true;
                    state.put_back.push(top);
                }
            }
            (_, Some(first)) if action == self.brk => {
                if let Some(start) = state.starts.get_mut(first + 1) {
                    *start = true;
                }
            }
            (Some(top), Some(first)) if self.left.contains(&action) => {
                state.attach(top, first, self.labels[action]);
                state.unshiftable[first] = false;
                state.stack.pop();
            }
            (Some(top), Some(first)) => {
                state.attach(first, top, self.labels[action]);
                state.advance();
                state.stack.push(first);
            }
            _ => {}
        }
    }
}

/// A partly parsed text.
#[derive(Debug)]
struct State {
    stack: Vec<usize>,
    /// Tokens that were put back in front of the untouched ones; the last comes first.
    put_back: Vec<usize>,
    untouched: usize,
    heads: Vec<Option<usize>>,
    labels: Vec<&'static str>,
    /// Children to the left, in the order in which they were attached.
    left: Vec<Vec<usize>>,
    right: Vec<Vec<usize>>,
    unshiftable: Vec<bool>,
    starts: Vec<bool>,
}

impl State {
    fn new(count: usize) -> Self {
        Self {
            stack: Vec::new(),
            put_back: Vec::new(),
            untouched: 0,
            heads: vec![None; count],
            labels: vec![""; count],
            left: vec![Vec::new(); count],
            right: vec![Vec::new(); count],
            unshiftable: vec![false; count],
            starts: vec![false; count],
        }
    }

    fn stack_at(&self, depth: usize) -> Option<usize> {
        let at = self.stack.len().checked_sub(depth + 1)?;
        self.stack.get(at).copied()
    }

    fn buffer_at(&self, depth: usize) -> Option<usize> {
        if let Some(at) = self.put_back.len().checked_sub(depth + 1) {
            return self.put_back.get(at).copied();
        }
        let token = self.untouched + depth - self.put_back.len();
        (token < self.heads.len()).then_some(token)
    }

    /// Whether the second token of the buffer follows the first and could start a sentence.
    fn can_break(&self) -> bool {
        match (self.buffer_at(0), self.buffer_at(1)) {
            (Some(first), Some(second)) => second == first + 1 && !self.starts[second],
            _ => false,
        }
    }

    /// Takes the first token off the buffer.
    fn advance(&mut self) {
        if self.put_back.pop().is_none() {
            self.untouched += 1;
        }
    }

    fn attach(&mut self, child: usize, head: usize, label: &'static str) {
        if let Some(old) = self.heads[child] {
            let side = if child < old { &mut self.left } else { &mut self.right };
            side[old].retain(|other| *other != child);
        }
        self.heads[child] = Some(head);
        self.labels[child] = label;
        let side = if child < head { &mut self.left } else { &mut self.right };
        side[head].push(child);
    }
}

impl Tree {
    /// Resolves labels of the form `x||y`: the token belongs under the nearest token labelled `y`
    /// below its present head.
    fn lift_labels(&mut self, is_space: &[bool]) {
        let mut children: Option<Vec<Vec<usize>>> = None;
        for token in 0..self.heads.len() {
            let Some((label, target)) = self.labels[token].split_once("||") else {
                continue;
            };
            let children = children.get_or_insert_with(|| self.children());
            let head = self.heads[token];
            let mut queue = vec![head];
            let mut at = 0;
            // The bound holds for any tree; it only guards against a damaged model's cycles.
            let found = 'search: loop {
                let Some(parent) = queue.get(at).copied().filter(|_| at < self.heads.len()) else {
                    break None;
                };
                at += 1;
                for child in &children[parent] {
                    if *child == token || is_space[*child] {
                        continue;
                    }
                    if self.labels[*child] == target {
                        break 'search Some(*child);
                    }
                    queue.push(*child);
                }
            };
            self.labels[token] = label;
            if let Some(found) = found {
                children[head].retain(|child| *child != token);
                let at = children[found].partition_point(|child| *child < token);
                children[found].insert(at, token);
                self.heads[token] = found;
            }
        }
    }

    /// The children of every token, left to right.
    fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.heads.len()];
        for (token, head) in self.heads.iter().enumerate() {
            if *head != token {
                children[*head].push(token);
            }
        }
        children
    }

    /// A sentence starts at the left edge of the subtree of every root.
    fn find_sentence_starts(&self) -> Vec<bool> {
        let count = self.heads.len();
        let mut left: Vec<usize> = (0..count).collect();
        let mut right = left.clone();
        let mut starts = vec![false; count];
        for _ in 0..12 {
            for token in (0..count).chain((0..count).rev()) {
                let head = self.heads[token];
                left[head] = left[head].min(left[token]);
                right[head] = right[head].max(right[token]);
            }
            starts.fill(false);
            for (token, head) in self.heads.iter().enumerate() {
                if *head == token {
                    starts[left[token]] = true;
                }
            }
            if self.sentences_are_closed(&starts) {
                break;
            }
        }
        starts
    }

    /// Whether no arc crosses the boundaries as far as the reference looks.
    fn sentences_are_closed(&self, starts: &[bool]) -> bool {
        let count = self.heads.len();
        let mut begin = 0;
        for (at, starts) in starts.iter().enumerate() {
            if (at > 0 && *starts) || at + 1 == count {
                let inside = begin..=at;
                if !(begin..at).all(|token| inside.contains(&self.heads[token])) {
                    return false;
                }
                begin = at;
            }
        }
        true
    }
}
