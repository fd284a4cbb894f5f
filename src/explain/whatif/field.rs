//! The candidates of a trace as columns, and the question whether one of them, the target, survives a given order. Knows
//! the rules of the cut; each rule is the cut's own (`crate::truncate`), asked for one passage instead of all.

use std::collections::HashMap;

use crate::scored::RankerState;
use crate::settings::{Header, Overflow, Truncation};
use crate::trace::Trace;

/// Candidates by their position in the list of candidates.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub(super) trace: &'a Trace,
    /// Position of the passage that the what-ifs are about.
    pub(super) target: usize,
    /// Number of candidates.
    pub(super) len: usize,
    /// Words that each costs; without its header where that is counted once a session.
    words: Vec<u32>,
    /// Words without any header, the fewest of all copies.
    bare: Vec<u32>,
    /// Words of the header where it is counted once a session; 0 otherwise.
    header: Vec<u32>,
    session: Vec<usize>,
    /// The passage of which each is a copy, or itself.
    root: Vec<usize>,
    pub(super) ce: Vec<Option<f64>>,
    pub(super) colbert: Vec<Option<f64>>,
    /// The candidate with the best cross-encoder score.
    pub(super) best_ce: Option<usize>,
    /// What the cross-encoder has not scored will not be scored, so that α drops it.
    drop_unscored: bool,
    /// Words above the target decide by their sum alone, whatever their order.
    pub(super) plain: bool,
}

/// The α test with its threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// α plays no part.
    Off,
    /// By cross-encoder score.
    Ce {
        /// Scores below it are dropped.
        value: f64,
    },
    /// By ColBERT score, min-max of those that entered.
    Colbert {
        /// Their lowest score.
        low: f64,
        /// Highest less lowest.
        spread: f64,
        /// Scaled scores below it are dropped.
        value: f64,
    },
}

/// What those that entered say about the threshold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extremes {
    best_ce: Option<f64>,
    any_ce: bool,
    any_colbert: bool,
    low: f64,
    high: f64,
}

/// Marks that are wiped in one step.
#[derive(Default)]
pub(super) struct Scratch {
    now: u32,
    sessions: Vec<u32>,
    roots: Vec<u32>,
}

/// The end of a walk down to the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walked {
    /// The target is kept.
    pub(super) kept: bool,
    /// It is dropped as a copy of a kept passage.
    pub(super) copy: bool,
    /// Words in the context when the walk reached it.
    pub(super) used: u64,
    /// What it costs there.
    pub(super) cost: u64,
    /// The least budget above this one at which a decision on the way changes.
    pub(super) next: u64,
}

impl<'a> Field<'a> {
    /// The columns; `None` when the passage is no candidate.
    pub(super) fn new(trace: &'a Trace, passage: u32) -> Option<Self> {
        let scored = &trace.scored;
        let settings = &trace.settings;
        let candidates = &scored.retrieval.candidates;
        let target = candidates.iter().position(|at| *at == passage)?;
        let found = |at: &u32| scored.passages.passages.get(*at as usize);
        let per_session = settings.header == Header::PerSession;
        let ce: Vec<Option<f64>> = candidates.iter().map(|at| scored.ce.value(*at)).collect();
        let best_ce = best_of(&ce, usize::MAX);
        let root: Vec<usize> =
            candidates.iter().map(|at| found(at).and_then(|found| found.copy_of).unwrap_or(*at) as usize).collect();
        let mut bare: Vec<u32> = candidates.iter().map(|at| found(at).map_or(0, |found| found.words)).collect();
        if settings.dedup {
            let mut least: HashMap<usize, u32> = HashMap::new();
            for (root, words) in root.iter().zip(&bare) {
                least.entry(*root).and_modify(|known| *known = (*known).min(*words)).or_insert(*words);
            }
            for (root, words) in root.iter().zip(&mut bare) {
                *words = least.get(root).copied().unwrap_or(0);
            }
        }
        Some(Self {
            trace,
            target,
            len: candidates.len(),
            words: candidates
                .iter()
                .map(|at| {
                    let header = |header: u32| if settings.header == Header::Counted { header } else { 0 };
                    found(at).map_or(0, |found| found.words.saturating_add(header(found.header_words)))
                })
                .collect(),
            bare,
            header: candidates
                .iter()
                .map(|at| found(at).filter(|_| per_session).map_or(0, |found| found.header_words))
                .collect(),
            session: candidates.iter().map(|at| found(at).map_or(0, |found| found.session)).collect(),
            root,
            colbert: candidates.iter().map(|at| scored.colbert.value(*at)).collect(),
            best_ce,
            ce,
            drop_unscored: !matches!(scored.ce.state, RankerState::Running | RankerState::Done),
            plain: settings.overflow != Overflow::Skip && !per_session && !settings.dedup,
        })
    }

    /// How many of the order may enter, where that is a number.
    pub(super) fn top(&self, top_n: u32) -> usize {
        match self.trace.settings.truncation {
            Truncation::Adaptive | Truncation::Mmr => (top_n as usize).min(self.len),
            Truncation::Fixed | Truncation::Cumulative => self.len,
        }
    }

    /// True when α plays a part.
    pub(super) fn is_adaptive(&self) -> bool {
        self.trace.settings.truncation == Truncation::Adaptive
    }

    /// True when the first stands above the second.
    pub(super) fn beats(&self, scores: &[f64], a: usize, b: usize) -> bool {
        let score = |at: usize| scores.get(at).copied().unwrap_or(0.0);
        // Candidates stand in conversation order, which decides ties.
        score(a).total_cmp(&score(b)).then(b.cmp(&a)).is_gt()
    }

    /// What a candidate costs, its header included.
    pub(super) fn cost(&self, at: usize) -> u64 {
        u64::from(self.words.get(at).copied().unwrap_or(0))
    }

    /// Whether the target survives when the candidates have these fused scores.
    pub(super) fn survives(&self, scores: &[f64], scratch: &mut Scratch) -> bool {
        let above: Vec<usize> = (0..self.len).filter(|at| self.beats(scores, *at, self.target)).collect();
        self.survives_below(above, scores, scratch)
    }

    /// The same with the candidates above the target known, in any order.
    pub(super) fn survives_below(&self, mut above: Vec<usize>, scores: &[f64], scratch: &mut Scratch) -> bool {
        let settings = &self.trace.settings;
        if above.len() >= self.top(settings.top_n) {
            return false;
        }
        if settings.truncation == Truncation::Cumulative && above.len() >= self.reach_of_share(scores) {
            return false;
        }
        let rule = self.rule(scores, &above);
        if !self.passes(&rule, self.target) {
            return false;
        }
        above.retain(|at| self.passes(&rule, *at));
        if self.plain {
            return self.fits(above.iter().map(|at| self.cost(*at)).sum());
        }
        if self.overflows(&above, scratch) {
            return false;
        }
        above.sort_unstable_by(|a, b| {
            if self.beats(scores, *a, *b) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater }
        });
        self.walk(&above, settings.budget, scratch).kept
    }

    /// Whether the target fits when so many words stand above it; for plain cuts.
    pub(super) fn fits(&self, above: u64) -> bool {
        let own = if self.trace.settings.overflow == Overflow::Keep { 0 } else { self.cost(self.target) };
        above + own <= u64::from(self.trace.settings.budget)
    }

    /// True when these alone, however they are ordered, leave no room in a cut that stops; spares the sorting.
    fn overflows(&self, above: &[usize], scratch: &mut Scratch) -> bool {
        let settings = &self.trace.settings;
        if settings.overflow == Overflow::Skip {
            return false;
        }
        scratch.wipe();
        let mut words = 0;
        for at in above {
            let root = self.root.get(*at).copied().unwrap_or(*at);
            if settings.dedup && scratch.has(Mark::Root, root) {
                continue;
            }
            scratch.put(Mark::Root, root);
            // The least of its copies stands for whichever of them comes first.
            words += self.bare.get(*at).copied().map_or(0, u64::from);
        }
        words > u64::from(settings.budget)
    }

    /// How many the cumulative cut lets in.
    fn reach_of_share(&self, scores: &[f64]) -> usize {
        let mut sorted = scores.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let least = sorted.iter().copied().fold(0.0, f64::min);
        let total: f64 = sorted.iter().map(|score| score - least).sum();
        let mut sum = 0.0;
        let mut enter = 0;
        for score in &sorted {
            if total > 0.0 && sum / total >= self.trace.settings.cumulative_p {
                break;
            }
            sum += score - least;
            enter += 1;
        }
        enter
    }

    /// The α test of an order in which these stand above the target.
    fn rule(&self, scores: &[f64], above: &[usize]) -> Rule {
        if !self.is_adaptive() {
            return Rule::Off;
        }
        let top = self.top(self.trace.settings.top_n);
        // The best of all decides whenever it enters, which it nearly always does.
        if let Some(best) = self.best_ce {
            let enters = best == self.target
                || self.beats(scores, best, self.target)
                || (0..self.len).filter(|at| self.beats(scores, *at, best)).count() < top;
            if enters {
                return self.rule_of(&self.extremes([best]), self.trace.settings.alpha);
            }
        }
        let mut order: Vec<usize> = (0..self.len).collect();
        if top < self.len {
            order.select_nth_unstable_by(top, |a, b| {
                if a == b {
                    std::cmp::Ordering::Equal
                } else if self.beats(scores, *a, *b) {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Greater
                }
            });
            order.truncate(top);
        }
        debug_assert!(above.len() < top);
        self.rule_of(&self.extremes(order), self.trace.settings.alpha)
    }

    /// Gather the extremes of those that entered.
    pub(super) fn extremes(&self, entered: impl IntoIterator<Item = usize>) -> Extremes {
        let mut extremes = Extremes::default();
        for at in entered {
            self.widen(&mut extremes, at);
        }
        extremes
    }

    /// One more has entered.
    pub(super) fn widen(&self, extremes: &mut Extremes, at: usize) {
        if let Some(score) = self.ce.get(at).copied().flatten() {
            extremes.any_ce = true;
            extremes.best_ce = Some(extremes.best_ce.unwrap_or(f64::NEG_INFINITY).max(score));
        }
        if let Some(score) = self.colbert.get(at).copied().flatten() {
            extremes.any_colbert = true;
            extremes.low = extremes.low.min(score);
            extremes.high = extremes.high.max(score);
        }
    }

    /// The α test of those that entered.
    pub(super) fn rule_of(&self, extremes: &Extremes, alpha: f64) -> Rule {
        if !self.is_adaptive() {
            return Rule::Off;
        }
        if let (true, Some(best)) = (extremes.any_ce, extremes.best_ce) {
            return Rule::Ce { value: alpha * best };
        }
        if !extremes.any_colbert || extremes.high <= extremes.low {
            return Rule::Off;
        }
        let spread = extremes.high - extremes.low;
        let best = if spread > 0.0 { (extremes.high - extremes.low) / spread } else { 0.0 };
        Rule::Colbert { low: extremes.low, spread, value: alpha * best }
    }

    /// Whether α lets a candidate through.
    pub(super) fn passes(&self, rule: &Rule, at: usize) -> bool {
        // Written as "not below", as the cut has it: a score that is no number is not below anything.
        match *rule {
            Rule::Off => true,
            Rule::Ce { value } => match self.ce.get(at).copied().flatten() {
                Some(score) if score < value => false,
                Some(_) => true,
                None => !self.drop_unscored,
            },
            Rule::Colbert { low, spread, value } => match self.colbert.get(at).copied().flatten() {
                Some(score) => {
                    let scaled = if spread > 0.0 { (score - low) / spread } else { 0.0 };
                    !matches!(scaled.partial_cmp(&value), Some(std::cmp::Ordering::Less))
                }
                None => true,
            },
        }
    }

    /// The walk down these, in this order, to the target.
    pub(super) fn walk(&self, above: &[usize], budget: u32, scratch: &mut Scratch) -> Walked {
        let settings = &self.trace.settings;
        let budget = u64::from(budget);
        let (stop, keep) = (settings.overflow != Overflow::Skip, settings.overflow == Overflow::Keep);
        scratch.wipe();
        let (mut used, mut full, mut next) = (0_u64, false, u64::MAX);
        let mut cost = 0;
        for at in above.iter().copied().chain([self.target]) {
            let (session, root) =
                (self.session.get(at).copied().unwrap_or(0), self.root.get(at).copied().unwrap_or(at));
            cost = self.cost(at);
            if settings.header == Header::PerSession && !scratch.has(Mark::Session, session) {
                cost += u64::from(self.header.get(at).copied().unwrap_or(0));
            }
            if settings.dedup && scratch.has(Mark::Root, root) {
                if at == self.target {
                    return Walked { kept: false, copy: true, used, cost, next };
                }
                continue;
            }
            let fits = used + cost <= budget;
            let takes = !full && (fits || keep);
            if !fits {
                next = next.min(used + cost);
                full |= stop;
            }
            if at == self.target {
                return Walked { kept: takes, copy: false, used, cost, next };
            }
            if takes {
                used += cost;
                scratch.put(Mark::Session, session);
                scratch.put(Mark::Root, root);
            }
        }
        Walked { kept: false, copy: false, used, cost, next }
    }
}

/// The position of the highest score, one position left out; a score that is no number is none.
pub(super) fn best_of(scores: &[Option<f64>], without: usize) -> Option<usize> {
    let value = |at: usize| scores.get(at).copied().flatten().filter(|score| !score.is_nan());
    (0..scores.len())
        .filter(|at| *at != without && value(*at).is_some())
        .reduce(|best, at| if value(at) > value(best) { at } else { best })
}

impl Default for Extremes {
    fn default() -> Self {
        Self { best_ce: None, any_ce: false, any_colbert: false, low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

/// What is marked.
#[derive(Clone, Copy)]
enum Mark {
    Session,
    Root,
}

impl Scratch {
    fn wipe(&mut self) {
        self.now += 1;
    }

    fn marks(&mut self, mark: Mark) -> &mut Vec<u32> {
        match mark {
            Mark::Session => &mut self.sessions,
            Mark::Root => &mut self.roots,
        }
    }

    fn has(&mut self, mark: Mark, at: usize) -> bool {
        let now = self.now;
        self.marks(mark).get(at) == Some(&now)
    }

    fn put(&mut self, mark: Mark, at: usize) {
        let now = self.now;
        let marks = self.marks(mark);
        if marks.len() <= at {
            marks.resize(at + 1, 0);
        }
        if let Some(slot) = marks.get_mut(at) {
            *slot = now;
        }
    }
}
