//! What-ifs in words: for which values of a knob a passage is kept, and what the nearest change costs. Knows the language
//! of its readers; computes nothing.

use crate::explain::fate::{number, thousands};
use crate::explain::whatif::{Answer, Price, Strip, TermNeed, WhatIf, WhatIfs};

/// A knob as people call it.
pub fn knob_name(knob: &str) -> &str {
    match knob {
        "alpha" => "α",
        "lambda" => "λ",
        "top-n" => "top n",
        other => other,
    }
}

/// The values of a strip: `α ≤ 0.024`, `w 0.31 to 0.52 or w ≥ 0.9`, `every k`, `no budget`.
pub fn values(knob: &str, strip: &Strip) -> String {
    let name = knob_name(knob);
    if strip.is_everywhere() {
        return format!("every {name}");
    }
    if strip.is_nowhere() {
        return format!("no {name}");
    }
    let (least, most) = strip.range;
    let parts: Vec<String> = strip
        .intervals
        .iter()
        .map(|interval| match (interval.from <= least, interval.to >= most) {
            (true, _) => format!("{name} ≤ {}", value(interval.to)),
            (_, true) => format!("{name} ≥ {}", value(interval.from)),
            _ if interval.from == interval.to => format!("{name} {}", value(interval.from)),
            _ => format!("{name} {} to {}", value(interval.from), value(interval.to)),
        })
        .collect();
    parts.join(" or ")
}

/// What a change does to the context: `3 enter (1 gold), 2 leave, 41 words more`.
pub fn price(price: &Price) -> String {
    let gold = |count: u32| if count > 0 { format!(" ({count} gold)") } else { String::new() };
    let words = match price.words {
        0 => "as many words".to_owned(),
        more if more > 0 => format!("{} words more", thousands(more.unsigned_abs())),
        fewer => format!("{} words fewer", thousands(fewer.unsigned_abs())),
    };
    format!(
        "{} enter{}, {} leave{}, {words}",
        price.enter.len(),
        gold(price.gold_in),
        price.leave.len(),
        gold(price.gold_out)
    )
}

/// One what-if in one line, when its knob can turn the fate: `kept for α ≤ 0.024 (now 0.03): place 19 there; 1 enter …`.
pub fn line(whatif: &WhatIf, kept: bool) -> Option<String> {
    let turn = whatif.nearest.as_ref()?;
    let strip = whatif.strip()?;
    let (name, now) = (knob_name(whatif.knob), value(whatif.now));
    let there = value(turn.value);
    Some(if kept {
        format!(
            "kept for {} (now {now}); dropped at {name} {there}: {}",
            values(whatif.knob, strip),
            price(&turn.price)
        )
    } else {
        format!(
            "kept for {} (now {now}); at {name} {there} place {}: {}",
            values(whatif.knob, strip),
            turn.place,
            price(&turn.price)
        )
    })
}

/// Every what-if that can turn the fate, one line each: knobs, then ranks, then the weights of terms.
pub fn all_lines(whatifs: &WhatIfs) -> Vec<String> {
    let turns = whatifs.knobs.iter().filter_map(|whatif| line(whatif, whatifs.kept));
    turns.chain(rank_line(whatifs)).chain(term_line(&whatifs.terms)).collect()
}

/// The ranks that keep it, without a price because nobody can set a rank: `kept for ce rank ≤ 23 (now 33), or for colbert
/// rank ≤ 2 (now 15)`.
pub fn rank_line(whatifs: &WhatIfs) -> Option<String> {
    let turns = whatifs.ranks.iter().filter(|whatif| whatif.nearest.is_some());
    let parts: Vec<String> = turns
        .filter_map(|whatif| Some(format!("for {} (now {})", values(whatif.knob, whatif.strip()?), whatif.now)))
        .collect();
    let between = if whatifs.kept { ", and " } else { ", or " };
    (!parts.is_empty()).then(|| format!("kept {}", parts.join(between)))
}

/// Term weights that are told at most.
const TERMS: usize = 3;

/// What lifts a passage over the candidate cap: `a candidate with 'clay' at weight 3.4 (now 2), place 60 of 60; or …`.
pub fn term_line(needs: &[TermNeed]) -> Option<String> {
    let parts: Vec<String> = needs
        .iter()
        .take(TERMS)
        .map(|need| {
            let (to, now) = (number(need.to), number(need.now));
            format!("'{}' at weight {to} (now {now}), place {} of {}", need.term, need.place, need.cap)
        })
        .collect();
    (!parts.is_empty()).then(|| format!("a candidate with {}", parts.join("; or with ")))
}

/// Knobs and ranks that cannot turn the fate with the others held, in one line; `None` when all can.
pub fn without_effect(whatifs: &WhatIfs) -> Option<String> {
    let still = whatifs.knobs.iter().chain(&whatifs.ranks).filter(|whatif| whatif.nearest.is_none());
    let names: Vec<&str> = still
        .clone()
        .filter(|whatif| matches!(whatif.answer, Answer::Kept(_)))
        .map(|whatif| knob_name(whatif.knob))
        .collect();
    let unknown: Vec<String> = still
        .filter_map(|whatif| match &whatif.answer {
            Answer::Unknown { reason } => Some(format!("{} unknown: {reason}", knob_name(whatif.knob))),
            Answer::Kept(_) => None,
        })
        .collect();
    let verb = if whatifs.kept { "drops" } else { "keeps" };
    let mut parts = Vec::new();
    if !names.is_empty() {
        parts.push(format!("no value of {} alone {verb} it", names.join(", ")));
    }
    parts.extend(unknown);
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The rescue that brings the most gold for the fewest words, then the smallest change to the context.
pub fn cheapest(whatifs: &WhatIfs) -> Option<&WhatIf> {
    let turns = whatifs.knobs.iter().filter_map(|whatif| whatif.nearest.as_ref().map(|turn| (whatif, &turn.price)));
    turns
        .min_by_key(|(_, price)| {
            let gold = i64::from(price.gold_out) - i64::from(price.gold_in);
            (gold, price.words.max(0), price.enter.len() + price.leave.len())
        })
        .map(|(whatif, _)| whatif)
}

fn value(number_: f64) -> String {
    if number_ >= 1000.0 && number_.fract() == 0.0 { thousands(number_ as u64) } else { number(number_) }
}
