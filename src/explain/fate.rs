//! The fate of a passage as one sentence, and its path through the stages as lines. Reads a trace, computes no score.

use crate::parse::Origin;
use crate::retrieve::Everything;
use crate::scored::{Ranker, RankerState};
use crate::settings::Fusion;
use crate::trace::Trace;
use crate::truncate::{AlphaScale, CutRule, Fate};

/// A number as people read it: four digits at most behind the point, none that say nothing.
pub fn number(value: f64) -> String {
    let text = if value.abs() >= 100.0 { format!("{value:.1}") } else { format!("{value:.4}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The fate in one sentence with the numbers that decided it.
pub fn sentence(trace: &Trace, passage: u32) -> String {
    match trace.fate(passage) {
        Fate::Kept { position, words_before, words } => {
            format!("kept: number {position} of the context, words {} to {}", words_before + 1, words_before + words)
        }
        Fate::Unmatched => "unmatched: no term of the question and no name of a hop occurs in it".to_owned(),
        Fate::Capped { hop, place, cap } => format!(
            "capped: matched in hop {hop} with weight {}, place {place} by match score, and {cap} go to the rankers",
            number(trace.scored.match_score(passage))
        ),
        Fate::Duplicate { of } => format!("duplicate: same words as {}, which is kept", id_of(trace, *of)),
        Fate::Unscored { reason } => format!("unscored: {reason}"),
        Fate::BeyondTopN { fused_rank, top_n } => {
            format!("beyond top n: place {fused_rank} in the order, and the first {top_n} enter the cut")
        }
        Fate::BelowAlpha { score, best, alpha } => {
            let name = match trace.cut.threshold.map(|threshold| threshold.scale) {
                Some(AlphaScale::ColbertMinMax) => "ColBERT (min-max of the top n)",
                _ => "CE",
            };
            let share = if *best > 0.0 { score / best } else { 0.0 };
            format!(
                "below alpha: {name} {} is {} of the best ({}), and α is {alpha}",
                number(*score),
                number(share),
                number(*best)
            )
        }
        Fate::OverBudget { words_before, words, budget } => format!(
            "over budget: place {}, {words_before} words stand above it, it needs {words}, and the budget is {budget}",
            trace.place(passage)
        ),
    }
}

/// The path through the stages: pairs of a stage and what happened there.
pub fn path(trace: &Trace, passage: u32) -> Vec<(&'static str, String)> {
    let mut lines = vec![("found", found(trace, passage))];
    if trace.place(passage) > 0 {
        lines.push(("ranked", ranked(trace, passage)));
        lines.push(("fused", fused(trace, passage)));
        lines.push(("truncate", sentence(trace, passage)));
    }
    lines
}

/// Which terms matched, and the place by match score.
fn found(trace: &Trace, passage: u32) -> String {
    let scored = &trace.scored;
    let retrieval = &scored.retrieval;
    let mut seen: Vec<u16> = retrieval.hits_of(passage).iter().map(|hit| hit.term).collect();
    seen.sort_unstable();
    seen.dedup();
    if seen.is_empty() {
        return match retrieval.everything {
            Some(Everything::NothingMatched) => {
                "no term occurs anywhere in the history, so the rankers saw every passage".to_owned()
            }
            Some(Everything::Asked) => "no term occurs in it; ranked because everything is ranked".to_owned(),
            None => "no term of the question and no name of a hop occurs in it".to_owned(),
        };
    }
    let terms: Vec<_> = retrieval.terms().collect();
    let parts: Vec<String> = seen
        .iter()
        .filter_map(|at| terms.get(usize::from(*at)))
        .map(|term| {
            let taught = match &term.origin {
                Origin::Passage { passage, .. } => format!(" (taught by {})", id_of(trace, *passage)),
                _ => String::new(),
            };
            format!("{} {}{taught}", term.text, number(term.weight))
        })
        .collect();
    let place = retrieval.match_place.get(passage as usize).copied().unwrap_or(0);
    let hop = retrieval.found_in.get(passage as usize).copied().unwrap_or(0);
    format!(
        "hop {hop}: {} = {}, place {place} of {} by match score",
        parts.join(" + "),
        number(scored.match_score(passage)),
        retrieval.matched()
    )
}

fn ranked(trace: &Trace, passage: u32) -> String {
    let scored = &trace.scored;
    let [_, second] = trace.rankings();
    format!("ce {}   {second} {}", one_ranker(&scored.ce, passage), one_ranker(&scored.colbert, passage))
}

fn one_ranker(ranker: &Ranker, passage: u32) -> String {
    match (ranker.score(passage), &ranker.state) {
        (Some(score), _) => {
            let logit = score.logit.map(|logit| format!(", logit {logit:.3}")).unwrap_or_default();
            format!("{} ({:.4}{logit})", ranker.rank(passage), score.value)
        }
        (None, RankerState::Running) => "not scored yet".to_owned(),
        (None, RankerState::Stopped) => "stopped before scoring".to_owned(),
        (None, RankerState::Absent(_)) => "no model".to_owned(),
        (None, RankerState::Failed(_)) => "failed".to_owned(),
        (None, RankerState::Done) => "not scored".to_owned(),
    }
}

fn fused(trace: &Trace, passage: u32) -> String {
    let Some(row) = trace.fused_row(passage) else { return String::new() };
    let [_, second] = trace.rankings();
    let (first, second) = match trace.settings.fusion {
        Fusion::Z if second == "colbert" => ("BM25", "MaxSim"),
        Fusion::Z => ("BM25", second),
        _ => ("ce", second),
    };
    let shares = match trace.settings.fusion {
        Fusion::Rrf | Fusion::Z | Fusion::MinMax | Fusion::ScoreZ | Fusion::Rrf3 => {
            format!(", {first} gives {:.5}, {second} gives {:.5}", row.first_share, row.second_share)
        }
        _ => String::new(),
    };
    format!("place {} of {}, score {:.5}{shares}", trace.place(passage), trace.cut.rows.len(), row.score)
}

/// The id of a passage.
pub fn id_of(trace: &Trace, passage: u32) -> &str {
    trace.scored.passages.passages.get(passage as usize).map_or("?", |passage| &passage.id)
}

/// The cut as one line: rule, words used, and what the next passage needs.
pub fn cut_line(trace: &Trace) -> String {
    let cut = &trace.cut;
    let settings = &trace.settings;
    let rule = match cut.rule {
        CutRule::Budget => format!("budget {}", settings.budget),
        CutRule::TopN => format!("top n {}", settings.top_n),
        CutRule::Share => format!("score share {}", settings.cumulative_p),
        CutRule::Alpha => format!("α {}", settings.alpha),
        CutRule::End => "nothing dropped".to_owned(),
    };
    let next = match cut.next {
        Some(next) => format!("next needs {}, {} left", next.words, cut.left),
        None => format!("{} of {} words left", cut.left, settings.budget),
    };
    format!("cut · {rule} · {} used · {next}", cut.used)
}

/// A whole number with a comma at every thousand.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
