//! BM25, classic form, over any list of texts. Knows tokens and counts; used as a third ranking and by the
//! lexical-dense profile.

use std::collections::HashMap;

use crate::settings::Bm25Form;

/// Term saturation.
pub const K1: f64 = 1.5;
/// Length normalisation.
pub const B: f64 = 0.75;
/// What BM25L adds to a term frequency that was normalised by length.
pub const DELTA: f64 = 0.5;

/// Words that carry no weight, sorted (the second paper's list of 50).
const STOP_WORDS: &str = "a all an and any are as at be been but by did do does for from has have how i if in is it me \
                          my no not of on or our so that the this to was we what when where who why with yes you your \
                          yours";

/// Counts of every token in every unit.
#[derive(Debug)]
pub struct Bm25Index {
    /// Token to the units that hold it, with its count there.
    postings: HashMap<String, Vec<(u32, u32)>>,
    /// Tokens of every unit.
    lengths: Vec<u32>,
    mean_length: f64,
}

impl Bm25Index {
    /// Count all units. O(text).
    pub fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut postings: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (unit, text) in texts.enumerate() {
            let unit = unit as u32;
            let mut length = 0;
            for token in tokens(text) {
                length += 1;
                let list = postings.entry(token).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == unit => *count += 1,
                    _ => list.push((unit, 1)),
                }
            }
            lengths.push(length);
        }
        let total: f64 = lengths.iter().map(|length| f64::from(*length)).sum();
        let mean_length = if lengths.is_empty() { 0.0 } else { total / lengths.len() as f64 };
        Self { postings, lengths, mean_length }
    }

    /// Scores of all units for a question, classic.
    pub fn scores(&self, question: &str) -> Vec<f64> {
        self.scores_as(question, Bm25Form::Classic)
    }

    /// Scores of all units for a question: sum over its distinct tokens of
    /// `ln((N-df+.5)/(df+.5)+1) * tf (k1+1) / (tf + k1 (1-b+b dl/avgdl))`, f64.
    ///
    /// BM25L (Lv and Zhai 2011) puts `c = tf / (1-b+b dl/avgdl)` in and sums `ln((N+1)/(df+.5)) * (k1+1) (c+δ) / (k1+c+δ)` over
    /// the tokens that a unit holds.
    pub fn scores_as(&self, question: &str, form: Bm25Form) -> Vec<f64> {
        let mut scores = vec![0.0; self.lengths.len()];
        for part in self.parts(question, form) {
            for (unit, share) in part.shares {
                if let Some(score) = scores.get_mut(unit as usize) {
                    *score += share;
                }
            }
        }
        scores
    }

    /// What each distinct token of a question gives to the units that hold it, in the order of the question.
    pub fn parts(&self, question: &str, form: Bm25Form) -> Vec<Part> {
        let units = self.lengths.len() as f64;
        let mut parts: Vec<Part> = Vec::new();
        for token in tokens(question) {
            if parts.iter().any(|part| part.token == token) {
                continue;
            }
            let list = self.postings.get(&token).map(Vec::as_slice).unwrap_or_default();
            let holders = list.len() as f64;
            let idf = match form {
                Bm25Form::Classic => ((units - holders + 0.5) / (holders + 0.5) + 1.0).ln(),
                Bm25Form::L => ((units + 1.0) / (holders + 0.5)).ln(),
            };
            let share = |(unit, count): &(u32, u32)| {
                let length = self.lengths.get(*unit as usize).copied().map_or(0.0, f64::from);
                let norm = 1.0 - B + B * length / self.mean_length;
                let tf = f64::from(*count);
                let gain = match form {
                    Bm25Form::Classic => idf * tf * (K1 + 1.0) / (tf + K1 * norm),
                    Bm25Form::L => idf * (K1 + 1.0) * (tf / norm + DELTA) / (K1 + tf / norm + DELTA),
                };
                (*unit, gain)
            };
            parts.push(Part { token, idf, shares: list.iter().map(share).collect() });
        }
        parts
    }
}

/// One token of a question and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The token.
    pub token: String,
    /// How rare it is.
    pub idf: f64,
    /// Units that hold it, ascending, with what it gives to their scores.
    pub shares: Vec<(u32, f64)>,
}

/// Tokens as the second paper's code takes them: lower-case runs of `[a-z0-9][a-z0-9\-_']{1,30}` of at least three
/// characters that are no stop words.
pub fn tokens(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let bytes = lower.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !(byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            at += 1;
            continue;
        }
        let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'\'');
        let tail = bytes.get(at + 1..).unwrap_or_default().iter().take(30).take_while(|b| inner(b)).count();
        let end = at + 1 + tail;
        if end - at >= 3
            && let Some(token) = lower.get(at..end)
            && !STOP_WORDS.split(' ').any(|word| word == token)
        {
            found.push(token.to_owned());
        }
        at = end;
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_follow_the_published_pattern() {
        let rows: [(&str, &[&str]); 4] = [
            ("Melanie's re-run of the_2nd", &["melanie's", "re-run", "the_2nd"]),
            ("it’s a go! I-", &[]),
            ("aaaaaaaaaabbbbbbbbbbccccccccccddddd", &["aaaaaaaaaabbbbbbbbbbccccccccccd", "dddd"]),
            ("Größe 42 100", &["100"]),
        ];
        for (text, want) in rows {
            assert_eq!(tokens(text).collect::<Vec<_>>(), want, "{text}");
        }
    }

    #[test]
    fn the_formula_on_two_units() {
        let index = Bm25Index::new(["red boat red", "blue car"].into_iter());
        let scores = index.scores("red red unknown");
        // N 2, df 1: idf ln(2); tf 2, dl 3, avgdl 2.5.
        let want = 2.0_f64.ln() * 2.0 * 2.5 / (2.0 + 1.5 * (0.25 + 0.75 * 3.0 / 2.5));
        assert!((scores[0] - want).abs() < 1e-12 && scores[1] == 0.0, "{scores:?}");
    }
}
