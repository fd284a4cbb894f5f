//! What is suspicious in a trace: each a kind, the passages it is about and one sentence. Reads a trace, judges nothing
//! by itself: every threshold stands here by name.

use std::collections::HashMap;

use crate::explain::fate::{id_of, number};
use crate::moment::Moment;
use crate::parse::Origin;
use crate::scored::Ranker;
use crate::trace::Trace;
use crate::truncate::{CutRule, FateKind};

/// A name learnt in a hop that matches more than this share of the passages finds nothing in particular.
const FLOOD: f64 = 0.3;
/// A passage that takes more than this share of the budget crowds out others.
const LONG: f64 = 0.25;
/// When α leaves more than this share of the budget unspent, it decides alone.
const UNSPENT: f64 = 0.25;

/// What kind of thing is suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LintKind {
    /// A gold passage is not kept.
    GoldLost,
    /// The rankers' places for a passage near the top differ by more than half the list.
    RankersApart,
    /// A ranker read only the beginning of a passage that matters.
    ReadInPart,
    /// A name learnt in a hop occurs in a large part of the history.
    FloodingName,
    /// One kept passage takes a large part of the budget.
    LongPassage,
    /// The last kept and the first dropped passage have the same score.
    TieAtCut,
    /// The context holds the same words more than once.
    Copies,
    /// α stopped the cut long before the budget was used.
    BudgetUnspent,
    /// The history has no times, so that nothing can be said about "yesterday".
    NoTimes,
}

/// Something suspicious.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Lint {
    /// What kind.
    pub kind: LintKind,
    /// The passages it is about, most telling first; indices.
    pub passages: Vec<u32>,
    /// One sentence with the numbers.
    pub text: String,
}

impl LintKind {
    /// Its name, as exports and screens give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GoldLost => "gold lost",
            Self::RankersApart => "rankers apart",
            Self::ReadInPart => "read in part",
            Self::FloodingName => "flooding name",
            Self::LongPassage => "long passage",
            Self::TieAtCut => "tie at the cut",
            Self::Copies => "copies",
            Self::BudgetUnspent => "budget unspent",
            Self::NoTimes => "no times",
        }
    }
}

/// Everything suspicious in a trace, by kind.
pub fn lints(trace: &Trace) -> Vec<Lint> {
    let found = [
        gold_lost(trace),
        rankers_apart(trace),
        read_in_part(trace),
        flooding_name(trace),
        long_passage(trace),
        tie_at_cut(trace),
        copies(trace),
        budget_unspent(trace),
        no_times(trace),
    ];
    found.into_iter().flatten().collect()
}

fn gold_lost(trace: &Trace) -> Option<Lint> {
    let lost: Vec<u32> = trace.scored.gold.iter().copied().filter(|gold| !trace.fate(*gold).is_kept()).collect();
    let stages: Vec<String> = FateKind::ALL
        .into_iter()
        .map(|kind| (kind, lost.iter().filter(|gold| trace.fate(**gold).kind() == kind).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.name()))
        .collect();
    let text = format!("{} of {} gold passages are lost: {}", lost.len(), trace.scored.gold.len(), stages.join(", "));
    lint(LintKind::GoldLost, lost, text)
}

/// Passages that one ranker puts above the cut line and the other more than half the list further down.
fn rankers_apart(trace: &Trace) -> Option<Lint> {
    let (ce, colbert) = (&trace.scored.ce, &trace.scored.colbert);
    let line = trace.cut.line.max(1);
    let half = trace.cut.rows.len() as u32 / 2;
    let mut apart: Vec<(bool, u32, u32)> = trace
        .cut
        .rows
        .iter()
        .map(|row| (row.passage, ce.rank(row.passage), colbert.rank(row.passage)))
        .filter(|(_, ce, colbert)| {
            *ce > 0 && *colbert > 0 && (*ce).min(*colbert) <= line && ce.abs_diff(*colbert) > half
        })
        .map(|(passage, ce, colbert)| (trace.scored.is_gold(passage), ce.abs_diff(colbert), passage))
        .collect();
    apart.sort_unstable_by(|a, b| b.cmp(a));
    let passages: Vec<u32> = apart.into_iter().map(|(_, _, passage)| passage).collect();
    let first = *passages.first()?;
    let text = format!(
        "the rankers disagree by more than half the list on {} of the passages that one of them puts above the line, \
         most on {}: ce {}, colbert {}",
        passages.len(),
        id_of(trace, first),
        ce.rank(first),
        colbert.rank(first)
    );
    lint(LintKind::RankersApart, passages, text)
}

/// Gold passages and the first places, as far as a ranker did not see their end.
fn read_in_part(trace: &Trace) -> Option<Lint> {
    let clipped = |ranker: &Ranker, passage: u32| ranker.score(passage).map_or(0, |score| score.clipped);
    let both = |passage: u32| clipped(&trace.scored.ce, passage).max(clipped(&trace.scored.colbert, passage));
    let matter = |at: usize, passage: u32| at < trace.settings.top_n as usize || trace.scored.is_gold(passage);
    let rows = trace.cut.rows.iter().enumerate();
    let mut cut: Vec<(u32, u32)> = rows
        .filter(|(at, row)| matter(*at, row.passage))
        .map(|(_, row)| (both(row.passage), row.passage))
        .filter(|(clipped, _)| *clipped > 0)
        .collect();
    cut.sort_by_key(|(clipped, passage)| (std::cmp::Reverse(*clipped), *passage));
    let (worst, first) = *cut.first()?;
    let text = format!(
        "a ranker read only the beginning of {} passages among the first {} and the gold; most is missing of {}: \
         {worst} tokens",
        cut.len(),
        trace.settings.top_n,
        id_of(trace, first)
    );
    lint(LintKind::ReadInPart, cut.into_iter().map(|(_, passage)| passage).collect(), text)
}

fn flooding_name(trace: &Trace) -> Option<Lint> {
    let total = trace.scored.passages.len().max(1) as f64;
    let tallies = trace.scored.retrieval.hops.iter().flat_map(|hop| &hop.terms);
    let worst = tallies
        .filter(|tally| !tally.term.muted && f64::from(tally.passages) > FLOOD * total)
        .filter_map(|tally| match &tally.term.origin {
            Origin::Passage { passage, .. } => Some((tally.passages, tally.term.text.as_str(), *passage)),
            _ => None,
        })
        .max_by_key(|(passages, ..)| *passages)?;
    let (passages, name, taught) = worst;
    let text = format!(
        "the name '{name}', taught by {}, occurs in {passages} of {total} passages: it finds nothing in particular",
        id_of(trace, taught)
    );
    lint(LintKind::FloodingName, vec![taught], text)
}

fn long_passage(trace: &Trace) -> Option<Lint> {
    let budget = f64::from(trace.settings.budget);
    let kept = trace.cut.rows.iter().filter(|row| trace.fate(row.passage).is_kept());
    let mut long: Vec<(u32, u32)> =
        kept.filter(|row| f64::from(row.words) > LONG * budget).map(|row| (row.words, row.passage)).collect();
    long.sort_by_key(|(words, passage)| (std::cmp::Reverse(*words), *passage));
    let (words, first) = *long.first()?;
    let text = format!(
        "{} of the kept passages takes more than a quarter of the budget, most {}: {words} of {} words",
        long.len(),
        id_of(trace, first),
        trace.settings.budget
    );
    lint(LintKind::LongPassage, long.into_iter().map(|(_, passage)| passage).collect(), text)
}

/// Which of two passages with equal scores is kept is decided by their place in the conversation alone.
fn tie_at_cut(trace: &Trace) -> Option<Lint> {
    let line = trace.cut.line as usize;
    let last = trace.fused_row(trace.cut.rows.get(line.checked_sub(1)?)?.passage)?;
    let next = trace.fused_row(trace.cut.rows.get(line)?.passage)?;
    if last.score != next.score {
        return None;
    }
    let text = format!(
        "{} above the line and {} below it have the same score ({}): their place in the conversation decided",
        id_of(trace, last.passage),
        id_of(trace, next.passage),
        number(last.score)
    );
    lint(LintKind::TieAtCut, vec![last.passage, next.passage], text)
}

fn copies(trace: &Trace) -> Option<Lint> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let (mut copies, mut words, mut originals) = (Vec::new(), 0, 0);
    let mut counted: HashMap<u32, ()> = HashMap::new();
    for row in trace.cut.rows.iter().filter(|row| trace.fate(row.passage).is_kept()) {
        let Some(passage) = trace.scored.passages.passages.get(row.passage as usize) else { continue };
        match known.get(passage.text.as_str()) {
            Some(first) => {
                copies.push(row.passage);
                words += row.words;
                originals += u32::from(counted.insert(*first, ()).is_none());
            }
            None => {
                known.insert(&passage.text, row.passage);
            }
        }
    }
    let text = format!(
        "{} kept passages are copies of {originals} others and take {words} words of the budget: \
         'dedup on' drops them",
        copies.len()
    );
    lint(LintKind::Copies, copies, text)
}

fn budget_unspent(trace: &Trace) -> Option<Lint> {
    let cut = &trace.cut;
    if cut.rule != CutRule::Alpha || f64::from(cut.left) <= UNSPENT * f64::from(trace.settings.budget) {
        return None;
    }
    let below: Vec<u32> = cut
        .rows
        .iter()
        .map(|row| row.passage)
        .filter(|passage| trace.fate(*passage).kind() == FateKind::BelowAlpha)
        .collect();
    let text = format!(
        "α {} leaves {} of {} words unspent; {} passages stand below it",
        trace.settings.alpha,
        cut.left,
        trace.settings.budget,
        below.len()
    );
    lint(LintKind::BudgetUnspent, below, text)
}

fn no_times(trace: &Trace) -> Option<Lint> {
    let turns = &trace.scored.passages.conversation.turns;
    let without = turns.iter().filter(|turn| turn.time == Moment::Unknown).count();
    (without == turns.len() && without > 0).then(|| Lint {
        kind: LintKind::NoTimes,
        passages: Vec::new(),
        text: "no turn of the history has a time: 'yesterday' and 'last week' in it mean no day".to_owned(),
    })
}

fn lint(kind: LintKind, passages: Vec<u32>, text: String) -> Option<Lint> {
    (!passages.is_empty()).then_some(Lint { kind, passages, text })
}
