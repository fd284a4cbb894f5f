//! Evidence references to turns: which turns a source means, also where it writes them badly. Knows ids; knows no
//! file format and no text of a turn.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::history::{Conversation, DirtyEvidence, EvidenceFault};

/// The ids of one conversation.
pub(super) struct Index<'c> {
    turns: HashMap<&'c str, usize>,
    sessions: HashMap<&'c str, Range<usize>>,
    /// Turns whose id is of the form `D<session>:<turn>`, by these two numbers.
    dialog: BTreeMap<(u32, u32), usize>,
}

/// What the references of one question mean.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Resolved {
    pub gold: Vec<usize>,
    pub dirty: Vec<DirtyEvidence>,
    /// References that name a turn as they stand.
    pub good: usize,
}

impl<'c> Index<'c> {
    pub fn new(conversation: &'c Conversation) -> Self {
        let turns: HashMap<_, _> =
            conversation.turns.iter().enumerate().map(|(at, turn)| (turn.id.as_str(), at)).collect();
        let dialog =
            conversation.turns.iter().enumerate().filter_map(|(at, turn)| Some((dialog_id(&turn.id)?, at))).collect();
        let sessions = conversation.sessions.iter().map(|known| (known.id.as_str(), known.turns.clone())).collect();
        Self { turns, sessions, dialog }
    }

    /// Index of the turn with exactly this id.
    pub fn turn(&self, id: &str) -> Option<usize> {
        self.turns.get(id).copied()
    }

    pub fn resolve(&self, evidence: &[String]) -> Resolved {
        let mut resolved = Resolved::default();
        for raw in evidence {
            self.resolve_one(raw, &mut resolved);
        }
        resolved.gold.sort_unstable();
        resolved.gold.dedup();
        resolved
    }

    fn resolve_one(&self, raw: &str, into: &mut Resolved) {
        let text = raw.trim();
        if let Some(at) = self.turn(text) {
            into.gold.push(at);
            into.good += 1;
            return;
        }
        let found = if text.is_empty() {
            Found::fault(EvidenceFault::Unreadable)
        } else if let Some(turns) = self.sessions.get(text) {
            Found { turns: turns.clone().collect(), fault: EvidenceFault::Range, unknown: Vec::new() }
        } else {
            self.dialog_references(text).unwrap_or_else(|| self.plain_references(text))
        };
        into.gold.extend(found.turns);
        into.dirty.push(DirtyEvidence { raw: raw.to_owned(), fault: found.fault });
        let unknown = found.unknown.into_iter().map(|raw| DirtyEvidence { raw, fault: EvidenceFault::Unknown });
        into.dirty.extend(unknown);
    }

    /// Ids of the form `D4:17` in every spelling that occurs; `None` when the text has no such thing.
    fn dialog_references(&self, text: &str) -> Option<Found> {
        if self.dialog.is_empty() || !text.starts_with(['D', 'd']) {
            return None;
        }
        let marks = scan(text);
        let mut found = Found::fault(EvidenceFault::Typo);
        let mut references = 0;
        let mut ranged = false;
        let mut at = 0;
        while let Some(mark) = marks.get(at) {
            let Mark::Reference(from) = *mark else {
                at += 1;
                continue;
            };
            references += 1;
            if let (Some(Mark::Dash), Some(Mark::Reference(to))) = (marks.get(at + 1), marks.get(at + 2)) {
                ranged = true;
                let (low, high) = (from.min(*to), from.max(*to));
                let before = found.turns.len();
                found.turns.extend(self.dialog.range(low..=high).map(|(_, turn)| *turn));
                if found.turns.len() == before {
                    found.unknown.push(format!("{}-{}", dialog_text(from), dialog_text(*to)));
                }
                at += 3;
                continue;
            }
            match self.dialog.get(&from) {
                Some(turn) => found.turns.push(*turn),
                None => found.unknown.push(dialog_text(from)),
            }
            at += 1;
        }
        if references == 0 {
            return Some(Found::fault(EvidenceFault::Unreadable));
        }
        if found.turns.is_empty() {
            return Some(Found::fault(EvidenceFault::Unknown));
        }
        if ranged {
            found.fault = EvidenceFault::Range;
        } else if references > 1 {
            found.fault = EvidenceFault::Several;
        }
        Some(found)
    }

    /// Ids of any other form.
    fn plain_references(&self, text: &str) -> Found {
        if let Some(at) = self.nearly(text) {
            return Found { turns: vec![at], fault: EvidenceFault::Typo, unknown: Vec::new() };
        }
        if let Some(turns) = self.plain_range(text) {
            return Found { turns, fault: EvidenceFault::Range, unknown: Vec::new() };
        }
        let words: Vec<&str> =
            text.split([';', ',', ' ', '\t', '/', '&', '+']).map(str::trim).filter(|word| !word.is_empty()).collect();
        let mut found = Found::fault(EvidenceFault::Several);
        for word in &words {
            match self.turn(word).or_else(|| self.nearly(word)) {
                Some(at) => found.turns.push(at),
                None => found.unknown.push((*word).to_owned()),
            }
        }
        if !found.turns.is_empty() {
            return found;
        }
        let looks_like_an_id = words.len() == 1 && text.contains(|c: char| c.is_ascii_digit());
        Found::fault(if looks_like_an_id { EvidenceFault::Unknown } else { EvidenceFault::Unreadable })
    }

    /// An id with a stray point, comma or bracket at its ends, or in the other case.
    fn nearly(&self, text: &str) -> Option<usize> {
        let bare = text.trim_matches(|c: char| c.is_whitespace() || ".,;:()[]'\"".contains(c));
        if let Some(at) = self.turn(bare) {
            return Some(at);
        }
        let mut same = self.turns.iter().filter(|(id, _)| id.eq_ignore_ascii_case(bare));
        match (same.next(), same.next()) {
            (Some((_, at)), None) => Some(*at),
            _ => None,
        }
    }

    /// `<id>-<id>`, where ids may have dashes of their own.
    fn plain_range(&self, text: &str) -> Option<Vec<usize>> {
        text.match_indices(['-', '–', '—', '~']).find_map(|(at, dash)| {
            let from = self.turn(text.get(..at)?.trim())?;
            let to = self.turn(text.get(at + dash.len()..)?.trim())?;
            Some((from.min(to)..=from.max(to)).collect())
        })
    }
}

struct Found {
    turns: Vec<usize>,
    fault: EvidenceFault,
    /// Parts that name no turn, when other parts do.
    unknown: Vec<String>,
}

impl Found {
    fn fault(fault: EvidenceFault) -> Self {
        Self { turns: Vec::new(), fault, unknown: Vec::new() }
    }
}

fn dialog_text((session, turn): (u32, u32)) -> String {
    format!("D{session}:{turn}")
}

/// `D4:17` as its two numbers.
fn dialog_id(id: &str) -> Option<(u32, u32)> {
    let (session, turn) = id.strip_prefix('D')?.split_once(':')?;
    Some((session.parse().ok()?, turn.parse().ok()?))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Reference((u32, u32)),
    Dash,
}

/// References and dashes in a badly written list. A bare number after a reference is in the same session.
fn scan(text: &str) -> Vec<Mark> {
    let chars: Vec<char> = text.chars().collect();
    let mut marks = Vec::new();
    let mut session = None;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let in_word = at > 0 && chars.get(at - 1).is_some_and(|before| before.is_alphanumeric());
        if matches!(c, 'D' | 'd') && !in_word {
            if let Some((pair, next)) = read_pair(&chars, at + 1) {
                marks.push(Mark::Reference(pair));
                session = Some(pair.0);
                at = next;
                continue;
            }
        } else if matches!(c, '-' | '–' | '—' | '~') {
            marks.push(Mark::Dash);
        } else if c.is_ascii_digit() && !in_word {
            let (number, next) = read_number(&chars, at);
            let pair = (chars.get(next) == Some(&':')).then(|| read_pair(&chars, at)).flatten();
            match (pair, session, number) {
                (Some((pair, after)), ..) => {
                    marks.push(Mark::Reference(pair));
                    at = after;
                    continue;
                }
                (None, Some(session), Some(number)) => marks.push(Mark::Reference((session, number))),
                _ => {}
            }
            at = next;
            continue;
        }
        at += 1;
    }
    marks
}

fn is_separator(c: &char) -> bool {
    matches!(c, ':' | ';' | '.' | ',' | ' ')
}

/// Two numbers with separators before and between them.
fn read_pair(chars: &[char], at: usize) -> Option<((u32, u32), usize)> {
    let skip = |from: usize| from + chars.iter().skip(from).take_while(|c| is_separator(c)).count();
    let (session, next) = read_number(chars, skip(at));
    let after = skip(next);
    if after == next {
        return None;
    }
    let (turn, end) = read_number(chars, after);
    Some(((session?, turn?), end))
}

fn read_number(chars: &[char], at: usize) -> (Option<u32>, usize) {
    let digits: String = chars.iter().skip(at).take_while(|c| c.is_ascii_digit()).collect();
    (digits.parse().ok(), at + digits.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::history::{Session, Turn};
    use crate::moment::Moment;

    fn talk(id: impl Fn(u32, u32) -> String) -> Conversation {
        let mut talk = Conversation { id: "c".to_owned(), ..Default::default() };
        for session in 1..=3_u32 {
            let start = talk.turns.len();
            for number in 1..=5_u32 {
                talk.turns.push(Turn {
                    id: id(session, number),
                    session: session as usize - 1,
                    number,
                    speaker: 0,
                    text: String::new(),
                    caption: None,
                    time: Moment::Unknown,
                });
            }
            let turns = start..talk.turns.len();
            talk.sessions.push(Session {
                id: format!("session_{session}"),
                number: session,
                time: Moment::Unknown,
                turns,
            });
        }
        talk
    }

    fn read(talk: &Conversation, raw: &str) -> (Vec<usize>, Vec<(String, EvidenceFault)>) {
        let resolved = Index::new(talk).resolve(&[raw.to_owned()]);
        (resolved.gold, resolved.dirty.into_iter().map(|dirty| (dirty.raw, dirty.fault)).collect())
    }

    #[test]
    fn dialog_references_in_every_spelling() {
        use EvidenceFault::{Range, Several, Typo, Unknown, Unreadable};
        let talk = talk(|session, number| format!("D{session}:{number}"));
        let rows: [(&str, &[usize], &[EvidenceFault]); 24] = [
            ("D1:3", &[2], &[]),
            (" D1:3 ", &[2], &[]),
            ("D2:1-D2:3", &[5, 6, 7], &[Range]),
            ("D2:1 – 3", &[5, 6, 7], &[Range]),
            ("D2:4-D2:9", &[8, 9], &[Range]),
            ("D1:2; D1:4", &[1, 3], &[Several]),
            ("D1:2 D2:4 D3:5", &[1, 8, 14], &[Several]),
            ("D1:2,D1:2", &[1], &[Several]),
            ("D1:2. D9:4", &[1], &[Several, Unknown]),
            ("D1:2, 4", &[1, 3], &[Several]),
            ("D1:1 and D2:1", &[0, 5], &[Several]),
            ("D3;4", &[13], &[Typo]),
            ("D 2:5", &[9], &[Typo]),
            ("D2:5.", &[9], &[Typo]),
            ("D:1:5", &[4], &[Typo]),
            ("D1:05", &[4], &[Typo]),
            ("d1:5", &[4], &[Typo]),
            ("D7:1", &[], &[Unknown]),
            ("D7:1-D8:2", &[], &[Unknown]),
            ("D", &[], &[Unreadable]),
            ("D1", &[], &[Unreadable]),
            ("", &[], &[Unreadable]),
            ("none", &[], &[Unreadable]),
            ("session_2", &[5, 6, 7, 8, 9], &[Range]),
        ];
        for (raw, gold, faults) in rows {
            let (found, dirty) = read(&talk, raw);
            let dirty: Vec<_> = dirty.into_iter().map(|(_, fault)| fault).collect();
            assert_eq!((found.as_slice(), dirty.as_slice()), (gold, faults), "{raw}");
        }
    }

    #[test]
    fn other_ids_are_read_as_well() {
        use EvidenceFault::{Range, Several, Typo, Unknown, Unreadable};
        let talk = talk(|session, number| format!("s-{session}.t{number}"));
        let rows: [(&str, &[usize], &[EvidenceFault]); 8] = [
            ("s-1.t3", &[2], &[]),
            ("S-1.T3", &[2], &[Typo]),
            ("s-1.t3.", &[2], &[Typo]),
            ("s-1.t3-s-1.t5", &[2, 3, 4], &[Range]),
            ("s-1.t3, s-2.t1", &[2, 5], &[Several]),
            ("s-1.t3 s-9.t1", &[2], &[Several, Unknown]),
            ("s-9.t1", &[], &[Unknown]),
            ("no evidence", &[], &[Unreadable]),
        ];
        for (raw, gold, faults) in rows {
            let (found, dirty) = read(&talk, raw);
            let dirty: Vec<_> = dirty.into_iter().map(|(_, fault)| fault).collect();
            assert_eq!((found.as_slice(), dirty.as_slice()), (gold, faults), "{raw}");
        }
    }

    #[test]
    fn the_part_that_names_no_turn_is_told() {
        let talk = talk(|session, number| format!("D{session}:{number}"));
        let (_, dirty) = read(&talk, "D1:2; D9:4");
        assert_eq!(
            dirty,
            [("D1:2; D9:4".to_owned(), EvidenceFault::Several), ("D9:4".to_owned(), EvidenceFault::Unknown)]
        );
    }

    proptest! {
        #[test]
        fn any_reference_is_good_or_told(raw in "[D0-9:;,. a-z\\-–]{0,16}") {
            let talk = talk(|session, number| format!("D{session}:{number}"));
            let resolved = Index::new(&talk).resolve(&[raw]);
            prop_assert_eq!(resolved.good == 0, !resolved.dirty.is_empty());
            prop_assert!(resolved.gold.iter().all(|at| *at < talk.turns.len()));
            prop_assert!(resolved.gold.is_sorted());
        }
    }
}
