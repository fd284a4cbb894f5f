//! The oracle: the cheapest searches that would find all the gold, had one known which (PIPELINE section 8). Knows which
//! passages each term finds; ranks nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};

use serde::Serialize;

use crate::parse::{Origin, Query, Term};
use crate::passage::PassageSet;
use crate::retrieve::Reader;
use crate::retrieve::matcher::find_all;
use crate::retrieve::names::Names;
use crate::settings::{Matching, Settings};

/// What counts as reaching the goal, and what a search may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Rules {
    /// One gold passage is enough.
    pub any: bool,
    /// A search returns its first hits in conversation order only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<u32>,
    /// Names in the passages that a search returned may be searched next.
    pub learned: bool,
}

/// One step: a search for one term, which costs 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The term.
    pub term: String,
    /// The passage that taught it; `None` for a term of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taught_by: Option<u32>,
    /// Passages that the search returns.
    pub hits: u32,
    /// Gold passages among them that no step before it found.
    pub finds: Vec<u32>,
}

/// The cheapest way, or how far all ways lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// The steps, in order.
    Solved(Vec<Step>),
    /// No sequence of searches reaches the goal; the gold passages that some search finds.
    Unsolved(Vec<u32>),
    /// There are more states than were looked at.
    TooLarge,
}

/// Gold passages that a state can tell apart.
const MOST_GOLD: usize = 128;
/// States that are looked at before giving up.
const MOST_STATES: usize = 100_000;

/// A term and what its search returns.
struct Search {
    term: String,
    taught_by: Option<u32>,
    hits: u32,
    /// Gold passages found, as bits.
    covers: u128,
    /// Searches that it makes possible.
    teaches: Vec<usize>,
    /// True for the question's own terms.
    first: bool,
}

/// The cheapest plan for a question: Dijkstra over states of found gold and known names, an edge a single-term search of
/// unit cost. `gold` are passages.
pub fn plan(
    set: &PassageSet,
    query: &Query,
    gold: &[u32],
    reader: &dyn Reader,
    settings: &Settings,
    rules: Rules,
) -> Plan {
    if gold.is_empty() {
        return Plan::Solved(Vec::new());
    }
    if gold.len() > MOST_GOLD {
        return Plan::TooLarge;
    }
    let searches = searches(set, query, gold, reader, settings, rules);
    let all = if gold.len() == MOST_GOLD { u128::MAX } else { (1_u128 << gold.len()) - 1 };
    let reached = |covered: u128| if rules.any { covered != 0 } else { covered == all };
    let Some(steps) = dijkstra(&searches, &reached) else { return Plan::TooLarge };
    let passages = |bits: u128| -> Vec<u32> {
        gold.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, passage)| *passage).collect()
    };
    match steps {
        Ok(steps) => {
            let mut covered = 0_u128;
            let step = |at: usize| {
                let search = searches.get(at)?;
                let fresh = search.covers & !covered;
                covered |= search.covers;
                Some(Step {
                    term: search.term.clone(),
                    taught_by: search.taught_by,
                    hits: search.hits,
                    finds: passages(fresh),
                })
            };
            Plan::Solved(steps.into_iter().filter_map(step).collect())
        }
        Err(covered) => Plan::Unsolved(passages(covered)),
    }
}

/// The terms of the question that find gold or teach a name that does, and those names.
fn searches(
    set: &PassageSet,
    query: &Query,
    gold: &[u32],
    reader: &dyn Reader,
    settings: &Settings,
    rules: Rules,
) -> Vec<Search> {
    let returned = |term: &Term| returned(set, term, settings.matching, rules.hits);
    let covers = |found: &[u32]| {
        let has = |at: &usize| gold.get(*at).is_some_and(|passage| found.binary_search(passage).is_ok());
        (0..gold.len()).filter(has).fold(0_u128, |bits, at| bits | 1 << at)
    };
    let usable = query.terms.iter().filter(|term| !term.muted && term.weight > 0.0);
    let own: Vec<(&Term, Vec<u32>)> = usable.map(|term| (term, returned(term))).collect();
    let mut searches: Vec<Search> = own
        .iter()
        .map(|(term, found)| Search {
            term: term.text.clone(),
            taught_by: None,
            hits: found.len() as u32,
            covers: covers(found),
            teaches: Vec::new(),
            first: true,
        })
        .collect();
    if rules.learned {
        let rules = Names::new(set, &query.text, settings);
        // By name: its place among the searches, or `None` when it finds no gold.
        let mut known: BTreeMap<String, Option<usize>> = BTreeMap::new();
        for (at, (_, found)) in own.iter().enumerate() {
            let mut taught = BTreeSet::new();
            for passage in found {
                let Some(text) = set.passages.get(*passage as usize).map(|found| found.text.as_str()) else { continue };
                let Some(analysis) = reader.read(text) else { continue };
                for term in rules.taught(&analysis, *passage, 1) {
                    let place = *known.entry(term.text.clone()).or_insert_with(|| {
                        let found = returned(&term);
                        let covers = covers(&found);
                        let Origin::Passage { passage, .. } = term.origin else { return None };
                        (covers != 0).then(|| {
                            searches.push(Search {
                                term: term.text.clone(),
                                taught_by: Some(passage),
                                hits: found.len() as u32,
                                covers,
                                teaches: Vec::new(),
                                first: false,
                            });
                            searches.len() - 1
                        })
                    });
                    taught.extend(place);
                }
            }
            if let Some(search) = searches.get_mut(at) {
                search.teaches = taught.into_iter().collect();
            }
        }
    }
    searches
}

/// Passages that hold a term, ascending, at most so many.
fn returned(set: &PassageSet, term: &Term, matching: Matching, most: Option<u32>) -> Vec<u32> {
    let mut found: Vec<u32> =
        find_all(set, std::slice::from_ref(term), 0, matching).into_iter().map(|hit| hit.passage).collect();
    found.dedup();
    found.truncate(most.map_or(usize::MAX, |most| most as usize));
    found
}

/// The steps of the cheapest way, or the gold that all searches together reach; `None` when there are too many states.
/// Among equally cheap ways the one whose searches stand first.
fn dijkstra(searches: &[Search], reached: &dyn Fn(u128) -> bool) -> Option<Result<Vec<usize>, u128>> {
    // A state: gold found and names known (searches made possible). A way there is the list of its steps.
    let mut queue = BinaryHeap::new();
    let mut seen: HashSet<(u128, Vec<usize>)> = HashSet::new();
    queue.push(Reverse((0_usize, Vec::<usize>::new())));
    let mut reachable = 0_u128;
    while let Some(Reverse((cost, way))) = queue.pop() {
        let (mut covered, mut names) = (0_u128, BTreeSet::new());
        for search in way.iter().filter_map(|at| searches.get(*at)) {
            covered |= search.covers;
            names.extend(search.teaches.iter().copied());
        }
        reachable |= covered;
        if reached(covered) {
            return Some(Ok(way));
        }
        if !seen.insert((covered, names.iter().copied().collect())) {
            continue;
        }
        if seen.len() > MOST_STATES {
            return None;
        }
        for (at, search) in searches.iter().enumerate() {
            let open = search.first || names.contains(&at);
            let news = search.covers & !covered != 0 || search.teaches.iter().any(|name| !names.contains(name));
            if open && news {
                let mut longer = way.clone();
                longer.push(at);
                queue.push(Reverse((cost + 1, longer)));
            }
        }
    }
    Some(Err(reachable))
}

/// Plans of many questions, added up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Oracle {
    /// Questions with gold.
    pub questions: usize,
    /// Solved ones by number of steps.
    pub steps: BTreeMap<usize, usize>,
    /// Solved ones that need a learned name.
    pub learned: usize,
    /// Questions that no searches solve.
    pub unsolved: usize,
    /// Questions with too many states.
    pub too_large: usize,
    /// Passages that the searches of the cheapest plans return, in all.
    pub hits: u64,
}

impl Oracle {
    /// Count a plan in.
    pub fn add(&mut self, plan: &Plan) {
        self.questions += 1;
        match plan {
            Plan::Solved(steps) => {
                *self.steps.entry(steps.len()).or_default() += 1;
                self.learned += usize::from(steps.iter().any(|step| step.taught_by.is_some()));
                self.hits += steps.iter().map(|step| u64::from(step.hits)).sum::<u64>();
            }
            Plan::Unsolved(_) => self.unsolved += 1,
            Plan::TooLarge => self.too_large += 1,
        }
    }

    /// Questions that were solved.
    pub fn solved(&self) -> usize {
        self.steps.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(first: bool, covers: u128, teaches: &[usize]) -> Search {
        Search { term: String::new(), taught_by: None, hits: 0, covers, teaches: teaches.to_vec(), first }
    }

    fn cheapest(searches: &[Search], all: u128) -> Option<Result<Vec<usize>, u128>> {
        dijkstra(searches, &|covered| covered == all)
    }

    #[test]
    fn the_cheapest_way_wins_whether_terms_or_names_lead_there() {
        // Two terms cover it in two steps, one greedy choice would take three.
        let terms = [search(true, 0b0111, &[]), search(true, 0b0011, &[]), search(true, 0b1100, &[])];
        assert_eq!(cheapest(&terms, 0b1111), Some(Ok(vec![0, 2])));
        // A name is open only behind the term that teaches it, which itself finds nothing.
        let names = [search(true, 0b01, &[]), search(true, 0, &[2]), search(false, 0b11, &[])];
        assert_eq!(cheapest(&names, 0b11), Some(Ok(vec![1, 2])));
        assert_eq!(cheapest(&names[..2], 0b11), Some(Err(0b01)));
        assert_eq!(cheapest(&[search(false, 0b1, &[])], 0b1), Some(Err(0)));
    }
}
