//! Passages: what is matched, ranked and cut. Cuts a conversation into units and keeps their case-folded text in one
//! buffer for the scan. Knows nothing of questions, scores or models.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::history::Conversation;
use crate::retrieve::bm25::Bm25Index;
use crate::settings::{Captions, Settings, Unit};

/// One passage: the unit that is matched, ranked and kept or dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Identifier shown to people: the id of its first turn, or of its session.
    pub id: String,
    /// Its turns, as indices into the conversation.
    pub turns: Range<usize>,
    /// Its session, as an index into the conversation.
    pub session: usize,
    /// What is matched and what the rankers read: `Speaker: text`, one line a turn.
    pub text: String,
    /// Whitespace words of the passage as it is rendered for the answer model, without its header.
    pub words: u32,
    /// Whitespace words of its header, `[1:56 pm on 8 May, 2023]`.
    pub header_words: u32,
    /// The earlier passage of which this one is a copy (same speaker, same words).
    pub copy_of: Option<u32>,
}

/// The settings that decide what a passage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Which unit.
    pub unit: Unit,
    /// What happens with image captions.
    pub captions: Captions,
}

impl Shape {
    /// The shape that these settings ask for.
    pub fn of(settings: &Settings) -> Self {
        Self { unit: settings.unit, captions: settings.captions }
    }
}

/// All passages of one conversation, in conversation order.
#[derive(Debug)]
pub struct PassageSet {
    /// The conversation that was cut.
    pub conversation: Arc<Conversation>,
    /// How it was cut.
    pub shape: Shape,
    /// The passages.
    pub passages: Vec<Passage>,
    folded: Folded,
    passage_of_turn: Vec<u32>,
    bm25: OnceLock<Bm25Index>,
}

impl PassageSet {
    /// Cut a conversation. O(text).
    pub fn new(conversation: Arc<Conversation>, shape: Shape) -> Self {
        let spans: Vec<(Range<usize>, usize)> = match shape.unit {
            Unit::Turn | Unit::TurnText => {
                conversation.turns.iter().enumerate().map(|(at, turn)| (at..at + 1, turn.session)).collect()
            }
            Unit::Window => conversation
                .sessions
                .iter()
                .enumerate()
                .flat_map(|(session, s)| {
                    s.turns.clone().step_by(2).map(move |at| (at..(at + 2).min(s.turns.end), session))
                })
                .collect(),
            Unit::Session => conversation.sessions.iter().enumerate().map(|(at, s)| (s.turns.clone(), at)).collect(),
        };
        let mut passages: Vec<Passage> =
            spans.into_iter().map(|(turns, session)| render(&conversation, shape, turns, session)).collect();
        mark_copies(&mut passages);
        let folded = Folded::new(passages.iter().map(|passage| passage.text.as_str()));
        let mut passage_of_turn = vec![0; conversation.turns.len()];
        for (at, passage) in passages.iter().enumerate() {
            for slot in passage_of_turn.get_mut(passage.turns.clone()).unwrap_or_default() {
                *slot = at as u32;
            }
        }
        Self { conversation, shape, passages, folded, passage_of_turn, bm25: OnceLock::new() }
    }

    /// Number of passages.
    pub fn len(&self) -> usize {
        self.passages.len()
    }

    /// True when the conversation has no turn.
    pub fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// The passage that holds a turn.
    pub fn of_turn(&self, turn: usize) -> Option<u32> {
        self.passage_of_turn.get(turn).copied()
    }

    /// The passages that hold these turns, ascending, without repeats.
    pub fn of_turns(&self, turns: &[usize]) -> Vec<u32> {
        let mut found: Vec<u32> = turns.iter().filter_map(|turn| self.of_turn(*turn)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The folded text of all passages.
    pub fn folded(&self) -> &Folded {
        &self.folded
    }

    /// Term statistics of these passages, counted at first use.
    pub fn bm25(&self) -> &Bm25Index {
        self.bm25.get_or_init(|| Bm25Index::new(self.passages.iter().map(|passage| passage.text.as_str())))
    }

    /// The header put before a passage for the answer model, with its brackets; empty when no time is known.
    pub fn header(&self, passage: u32) -> String {
        let moment = self
            .passages
            .get(passage as usize)
            .and_then(|passage| self.conversation.turns.get(passage.turns.start))
            .map(|turn| turn.time.header())
            .unwrap_or_default();
        if moment.is_empty() { moment } else { format!("[{moment}]") }
    }

    /// A passage exactly as it is sent to the answer model: `[date] Speaker: text`.
    pub fn rendered(&self, passage: u32) -> String {
        let Some(found) = self.passages.get(passage as usize) else { return String::new() };
        let captions = if self.shape.captions == Captions::Render { Captions::Render } else { Captions::Off };
        let body = lines(&self.conversation, self.shape.unit, captions, found.turns.clone());
        let header = self.header(passage);
        if header.is_empty() { body } else { format!("{header} {body}") }
    }

    /// Whitespace words of the whole history, as rendered without headers.
    pub fn words(&self) -> u64 {
        self.passages.iter().map(|passage| u64::from(passage.words)).sum()
    }
}

fn render(conversation: &Conversation, shape: Shape, turns: Range<usize>, session: usize) -> Passage {
    let text = lines(conversation, shape.unit, shape.captions, turns.clone());
    let words = if shape.captions == Captions::Match {
        count_words(&lines(conversation, shape.unit, Captions::Off, turns.clone()))
    } else {
        count_words(&text)
    };
    let first = conversation.turns.get(turns.start);
    let id = match (shape.unit, conversation.sessions.get(session)) {
        (Unit::Session, Some(session)) => session.id.clone(),
        _ => first.map(|turn| turn.id.clone()).unwrap_or_default(),
    };
    let header_words = first.map_or(0, |turn| count_words(&turn.time.header()));
    Passage { id, turns, session, text, words, header_words, copy_of: None }
}

fn lines(conversation: &Conversation, unit: Unit, captions: Captions, turns: Range<usize>) -> String {
    let mut text = String::new();
    for turn in conversation.turns.get(turns).unwrap_or_default() {
        if !text.is_empty() {
            text.push('\n');
        }
        if unit != Unit::TurnText {
            text.push_str(conversation.speaker_of(turn));
            text.push_str(": ");
        }
        text.push_str(&turn.text);
        if let (Captions::Match | Captions::Render, Some(caption)) = (captions, &turn.caption) {
            text.push_str(" [shares ");
            text.push_str(caption);
            text.push(']');
        }
    }
    text
}

/// Whitespace words: the unit in which budgets are counted.
pub fn count_words(text: &str) -> u32 {
    text.split_whitespace().count() as u32
}

fn mark_copies(passages: &mut [Passage]) {
    let mut first: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
    for (at, passage) in passages.iter_mut().enumerate() {
        let mut key = String::with_capacity(passage.text.len());
        for word in passage.text.split_whitespace() {
            fold_into(word, &mut key);
            key.push(' ');
        }
        match first.entry(key) {
            std::collections::hash_map::Entry::Occupied(seen) => passage.copy_of = Some(*seen.get()),
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(at as u32);
            }
        }
    }
}

/// Case-folded text of all passages in one buffer, with the way back to the bytes of the original.
///
/// Folding is Unicode lower-casing character by character, with `ß` as `ss` and final sigma as sigma, so that both
/// sides of a comparison always agree.
#[derive(Debug)]
pub struct Folded {
    buffer: String,
    /// Start of every passage in the buffer, and the end of the last one.
    starts: Vec<usize>,
    /// For passages whose folding changed byte positions: original byte of every folded byte, plus the end.
    maps: std::collections::HashMap<u32, Box<[u32]>>,
}

/// Between two passages; cleaned text never holds it, so no term can match across.
const SEPARATOR: char = '\0';

impl Folded {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut folded = Self { buffer: String::new(), starts: Vec::new(), maps: std::collections::HashMap::new() };
        for (at, text) in texts.enumerate() {
            let start = folded.buffer.len();
            folded.starts.push(start);
            if text.is_ascii() {
                folded.buffer.push_str(text);
                if let Some(tail) = folded.buffer.get_mut(start..) {
                    tail.make_ascii_lowercase();
                }
            } else {
                let map = fold_with_map(text, &mut folded.buffer);
                if let Some(map) = map {
                    folded.maps.insert(at as u32, map);
                }
            }
            folded.buffer.push(SEPARATOR);
        }
        folded.starts.push(folded.buffer.len());
        folded
    }

    /// The whole buffer; passages are separated by NUL.
    pub fn buffer(&self) -> &str {
        &self.buffer
    }

    /// The bytes of some neighbouring passages in the buffer.
    pub fn span(&self, passages: Range<usize>) -> Range<usize> {
        let at = |passage: usize| self.starts.get(passage).copied().unwrap_or(self.buffer.len());
        at(passages.start)..at(passages.end)
    }

    /// The folded text of one passage.
    pub fn text(&self, passage: u32) -> &str {
        let span = self.span(passage as usize..passage as usize + 1);
        self.buffer.get(span).unwrap_or_default().trim_end_matches(SEPARATOR)
    }

    /// The passage that holds a byte of the buffer, searching onwards from `from`.
    pub fn passage_at(&self, byte: usize, from: usize) -> usize {
        let tail = self.starts.get(from + 1..).unwrap_or_default();
        // Matches come in order and close together, so a few steps usually suffice before the search halves.
        match tail.iter().take(8).position(|start| *start > byte) {
            Some(steps) => from + steps,
            None => from + tail.partition_point(|start| *start <= byte),
        }
    }

    /// Byte range in the passage's own text of a byte range of the buffer.
    pub fn original(&self, passage: u32, range: Range<usize>) -> Range<u32> {
        let start = self.starts.get(passage as usize).copied().unwrap_or(0);
        let (from, to) = (range.start.saturating_sub(start), range.end.saturating_sub(start));
        match self.maps.get(&passage) {
            None => from as u32..to as u32,
            Some(map) => {
                let at = |byte: usize| map.get(byte).or(map.last()).copied().unwrap_or(0);
                // A match may end inside the folding of one character: then the whole character is marked.
                let end = (to..map.len()).map(at).find(|end| *end > at(to.saturating_sub(1))).unwrap_or_else(|| at(to));
                at(from)..end
            }
        }
    }

    /// Number of passages.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True when there is no passage.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn push_folded(character: char, into: &mut String) {
    match character {
        'ß' | 'ẞ' => into.push_str("ss"),
        'ς' => into.push('σ'),
        _ => into.extend(character.to_lowercase()),
    }
}

fn fold_into(text: &str, into: &mut String) {
    for character in text.chars() {
        push_folded(character, into);
    }
}

/// Fold a text the way passages are folded.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

fn fold_with_map(text: &str, into: &mut String) -> Option<Box<[u32]>> {
    let start = into.len();
    let mut map = Vec::with_capacity(text.len() + 1);
    let mut moved = false;
    for (at, character) in text.char_indices() {
        let before = into.len();
        push_folded(character, into);
        let length = into.len() - before;
        // As many bytes are not enough: ß and ss are two each, and a match may end between the two s.
        moved |= length != character.len_utf8() || into.get(before..).is_some_and(|part| part.chars().count() > 1);
        map.resize(map.len() + length, at as u32);
    }
    debug_assert_eq!(map.len(), into.len() - start);
    map.push(text.len() as u32);
    moved.then(|| map.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn folding_keeps_the_way_back_to_the_original_bytes() {
        let texts = ["Ana: STOSSLÜFTEN", "Ana: großes İstanbul", "plain", "ΟΔΟΣ οδος οδός", "Ana: große"];
        let folded = Folded::new(texts.into_iter());
        for (at, (text, needle, want)) in [
            (texts[0], "stosslüften", "STOSSLÜFTEN"),
            (texts[1], "grosses", "großes"),
            (texts[2], "lai", "lai"),
            (texts[3], "οδοσ", "ΟΔΟΣ"),
        ]
        .into_iter()
        .enumerate()
        {
            let span = folded.span(at..at + 1);
            let found = folded.buffer()[span.clone()].find(needle).unwrap() + span.start;
            let range = folded.original(at as u32, found..found + needle.len());
            assert_eq!(&text[range.start as usize..range.end as usize], want);
            assert_eq!(folded.passage_at(found, 0), at);
        }
        // Half of a folded ß still marks a whole character, also where no other letter changes its length.
        for at in [1, 4] {
            let span = folded.span(at..at + 1);
            let found = folded.buffer()[span.clone()].find("gros").unwrap() + span.start;
            let range = folded.original(at as u32, found..found + 4);
            assert_eq!(&texts[at][range.start as usize..range.end as usize], "groß");
        }
        assert_eq!(fold("Größe"), "grösse");
    }
}
