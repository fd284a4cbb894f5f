//! The rows of the panes: which passages, terms and hops stand in which order under the filter. Made once for a trace
//! and a filter; drawing only looks at what is visible.

use crate::parse::Origin;
use crate::passage::fold;
use crate::trace::Trace;
use crate::truncate::FateKind;

/// What is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Words that must stand in the passage or its id.
    pub text: String,
    /// Only passages that hold this term (index into all terms of all hops).
    pub term: Option<u16>,
    /// Only passages of this fate.
    pub fate: Option<FateKind>,
}

impl Filter {
    /// True when everything is shown.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn keeps(&self, trace: &Trace, passage: u32, folded: &str) -> bool {
        let fate = self.fate.is_none_or(|fate| trace.fate(passage).kind() == fate);
        let retrieval = &trace.scored.retrieval;
        let term = self.term.is_none_or(|term| retrieval.hits_of(passage).iter().any(|hit| hit.term == term));
        let set = &trace.scored.passages;
        let text = || {
            let id = set.passages.get(passage as usize).map_or("", |found| found.id.as_str());
            folded.is_empty() || set.folded().text(passage).contains(folded) || fold(id).contains(folded)
        };
        fate && term && text()
    }
}

/// The rows of all lists.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// What is shown.
    pub filter: Filter,
    /// Fused rows in the order of time instead of rank.
    pub by_time: bool,
    /// Hop rows in the order of time instead of match score.
    pub hops_by_time: bool,
    /// Passages of the Fused and the Ranks pane.
    pub fused: Vec<u32>,
    /// How many of them stand above the cut; `None` where no cut can be drawn (ordered by time).
    pub cut_at: Option<usize>,
    /// Rows of the Hops pane.
    pub hops: Vec<HopRow>,
    /// Rows of the Terms pane.
    pub terms: Vec<TermRow>,
    /// Selected row of the Terms pane.
    pub term_at: usize,
    /// Selected row of the Hops pane.
    pub hop_at: usize,
    /// First visible line of the Fused pane, the cut counted as a line.
    pub fused_top: usize,
}

/// A row of the Terms pane: an index into all terms of all hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermRow {
    /// Index of the hop.
    pub hop: usize,
    /// Index of the term in it.
    pub term: usize,
    /// Index among all terms; what hits carry.
    pub id: u16,
}

/// A row of the Hops pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HopRow {
    /// A hop begins.
    Head(usize),
    /// A term and what taught it.
    Term(TermRow),
    /// A passage that the hop found.
    Passage(u32),
    /// Why the loop ended.
    End(usize),
}

/// A line of the Fused pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FusedLine {
    /// A passage.
    Passage(u32),
    /// The cut.
    Cut,
}

/// Most passages listed below one hop.
const LISTED: usize = 200;

impl Rows {
    /// Make all rows anew for a trace.
    pub fn make(&mut self, trace: &Trace) {
        let folded = fold(self.filter.text.trim());
        self.fused.clear();
        if matches!(self.filter.fate, Some(FateKind::Unmatched | FateKind::Capped)) {
            // These never reached the rankers and have no place in the order.
            let all = 0..trace.fates.len() as u32;
            self.fused.extend(all.filter(|at| self.filter.keeps(trace, *at, &folded)));
            self.cut_at = None;
        } else {
            self.make_fused(trace, &folded);
        }
        self.terms.clear();
        self.hops.clear();
        let mut id = 0;
        for (hop, found) in trace.scored.retrieval.hops.iter().enumerate() {
            self.hops.push(HopRow::Head(hop));
            for term in 0..found.terms.len() {
                let row = TermRow { hop, term, id };
                id += 1;
                self.terms.push(row);
                self.hops.push(HopRow::Term(row));
            }
            let mut passages: Vec<u32> =
                found.found.iter().copied().filter(|at| self.filter.keeps(trace, *at, &folded)).collect();
            if !self.hops_by_time {
                let score = |at: u32| trace.scored.match_score(at);
                passages.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
            }
            self.hops.extend(passages.into_iter().take(LISTED).map(HopRow::Passage));
            if found.end.is_some() {
                self.hops.push(HopRow::End(hop));
            }
        }
        self.term_at = self.term_at.min(self.terms.len().saturating_sub(1));
        self.hop_at = self.hop_at.min(self.hops.len().saturating_sub(1));
    }

    fn make_fused(&mut self, trace: &Trace, folded: &str) {
        let mut above = 0;
        for (at, row) in trace.cut.rows.iter().enumerate() {
            if self.filter.keeps(trace, row.passage, folded) {
                self.fused.push(row.passage);
                above += usize::from(at < trace.cut.line as usize);
            }
        }
        self.cut_at = (!self.by_time && !self.fused.is_empty()).then_some(above);
        if self.by_time {
            self.fused.sort_unstable();
        }
    }

    /// The line of the Fused pane on which a row stands.
    pub fn line_of(&self, row: usize) -> usize {
        row + usize::from(self.cut_at.is_some_and(|cut| row >= cut))
    }

    /// What stands on a line of the Fused pane.
    pub fn at_line(&self, line: usize) -> Option<FusedLine> {
        let row = match self.cut_at {
            Some(cut) if line == cut => return Some(FusedLine::Cut),
            Some(cut) if line > cut => line - 1,
            _ => line,
        };
        self.fused.get(row).map(|passage| FusedLine::Passage(*passage))
    }

    /// Number of lines of the Fused pane.
    pub fn lines(&self) -> usize {
        self.fused.len() + usize::from(self.cut_at.is_some())
    }

    /// The term under the cursor.
    pub fn term(&self) -> Option<TermRow> {
        self.terms.get(self.term_at).copied()
    }

    /// The passage that the row under the cursor of the Hops pane stands for.
    pub fn hop_passage(&self, trace: &Trace) -> Option<u32> {
        match self.hops.get(self.hop_at)? {
            HopRow::Passage(passage) => Some(*passage),
            HopRow::Term(row) => match &trace.scored.retrieval.hops.get(row.hop)?.terms.get(row.term)?.term.origin {
                Origin::Passage { passage, .. } => Some(*passage),
                Origin::Feedback { passages } => passages.first().copied(),
                _ => None,
            },
            _ => None,
        }
    }
}
