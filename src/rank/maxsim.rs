//! Late interaction: token MaxSim of a question against one passage or against many. Knows unit vectors; nothing of
//! the model that made them.

use candle_core::{Device, Tensor};
use rayon::prelude::*;

use super::bert::with_slice;
use super::{RankError, TokenVectors};

/// Lowest cosine there is: what a query token gets from a passage without tokens, and what a cosine that is not a
/// number counts as. So every score is finite, and such a passage comes last.
const WORST: f32 = -1.0;
/// Passage tokens whose cosines are held at once.
const BLOCK: usize = 2048;
/// Question tokens that are compared in one product, when there are several questions.
const STACK: usize = 192;

/// A late-interaction score.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MaxSim {
    /// Sum over query tokens of the best cosine.
    pub score: f32,
    /// The same as a mean, so that questions of different length compare.
    pub mean: f32,
}

/// What one query token found in a passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenMatch {
    /// Index of the query token.
    pub query: usize,
    /// Index of the best passage token (the first of equals); `None` for a passage without tokens.
    pub passage: Option<usize>,
    /// Their cosine.
    pub cosine: f32,
}

/// Scores of one passage against one question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassageScore {
    /// Token MaxSim.
    pub maxsim: MaxSim,
    /// Cosine of the sentence vectors.
    pub cosine: f32,
}

/// Vectors of many passages as one matrix, so that a question is compared with all of them in one product.
#[derive(Debug, Clone)]
pub struct PassageVectors {
    dim: usize,
    /// First token of each passage, and the end: one entry more than passages.
    offsets: Vec<usize>,
    /// All tokens x `dim`.
    tokens: Tensor,
    /// Passages x `dim`.
    sentences: Tensor,
}

impl PassageVectors {
    /// Puts the vectors of passages behind each other. All must have `dim` numbers a vector.
    ///
    /// # Errors
    /// [`RankError::Compute`] when one has not.
    pub fn new<'a>(dim: usize, passages: impl IntoIterator<Item = &'a TokenVectors>) -> Result<Self, RankError> {
        let mut offsets = vec![0];
        let (mut tokens, mut sentences) = (Vec::new(), Vec::new());
        for passage in passages {
            tokens.extend_from_slice(&passage.vectors);
            sentences.extend_from_slice(&passage.sentence);
            offsets.push(tokens.len() / dim.max(1));
        }
        let (count, total) = (offsets.len() - 1, tokens.len() / dim.max(1));
        Ok(Self {
            dim,
            offsets,
            tokens: Tensor::from_vec(tokens, (total, dim), &Device::Cpu)?,
            sentences: Tensor::from_vec(sentences, (count, dim), &Device::Cpu)?,
        })
    }

    /// Passages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no passage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tokens of all passages.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Scores every passage against the question, in order. Every score is finite.
    ///
    /// # Errors
    /// [`RankError::Compute`] when the question's vectors have another length.
    pub fn score(&self, query: &TokenVectors) -> Result<Vec<PassageScore>, RankError> {
        Ok(self.score_all(&[query])?.pop().unwrap_or_default())
    }

    /// The same for several questions, each with one entry a passage. Many short questions fill a product far better
    /// than one does, and the stacks of questions run beside each other.
    ///
    /// # Errors
    /// [`RankError::Compute`] when a question's vectors have another length.
    pub fn score_all(&self, queries: &[&TokenVectors]) -> Result<Vec<Vec<PassageScore>>, RankError> {
        let mut stacks: Vec<(usize, usize)> = Vec::new();
        let (mut first, mut tokens) = (0, 0);
        for (at, query) in queries.iter().enumerate() {
            if tokens > 0 && tokens + query.tokens > STACK {
                stacks.push((first, at));
                (first, tokens) = (at, 0);
            }
            tokens += query.tokens;
        }
        stacks.push((first, queries.len()));
        let of = |(first, end): &(usize, usize)| self.score_stack(queries.get(*first..*end).unwrap_or_default());
        let scores: Vec<_> = stacks.par_iter().map(of).collect::<Result<_, _>>()?;
        Ok(scores.into_iter().flatten().collect())
    }

    fn score_stack(&self, queries: &[&TokenVectors]) -> Result<Vec<Vec<PassageScore>>, RankError> {
        let n: usize = queries.iter().map(|query| query.tokens).sum();
        let mut best = vec![WORST; self.len() * n];
        if n > 0 {
            let vectors: Vec<f32> = queries.iter().flat_map(|query| query.vectors.iter().copied()).collect();
            let question = Tensor::from_vec(vectors, (n, self.dim), &Device::Cpu)?.t()?;
            let mut passage = 0;
            for start in (0..self.tokens()).step_by(BLOCK) {
                let rows = BLOCK.min(self.tokens() - start);
                let cosines = self.tokens.narrow(0, start, rows)?.matmul(&question)?;
                with_slice(&cosines, |cosines| {
                    for (row, cosines) in cosines.chunks_exact(n).enumerate() {
                        while self.offsets.get(passage + 1).is_some_and(|&end| end <= start + row) {
                            passage += 1;
                        }
                        if let Some(best) = best.get_mut(passage * n..(passage + 1) * n) {
                            raise(best, cosines);
                        }
                    }
                    Ok(())
                })?;
            }
        }
        let mut first = 0;
        let mut scores = Vec::with_capacity(queries.len());
        for query in queries {
            let own = first..first + query.tokens;
            first = own.end;
            let question = Tensor::from_slice(&query.sentence, (self.dim, 1), &Device::Cpu)?;
            let cosines = if self.is_empty() {
                Vec::new()
            } else {
                self.sentences.matmul(&question)?.flatten_all()?.to_vec1()?
            };
            let sums = (0..self.len())
                .map(|at| MaxSim::of(best.get(at * n + own.start..at * n + own.end).unwrap_or_default()));
            scores.push(
                sums.zip(cosines).map(|(maxsim, cosine)| PassageScore { maxsim, cosine: finite(cosine) }).collect(),
            );
        }
        Ok(scores)
    }
}

impl MaxSim {
    pub(super) fn of(best: &[f32]) -> Self {
        let score = best.iter().sum::<f32>();
        Self { score, mean: if best.is_empty() { 0.0 } else { score / best.len() as f32 } }
    }
}

/// Token MaxSim of a question and one passage.
#[must_use]
pub fn maxsim(query: &TokenVectors, passage: &TokenVectors) -> MaxSim {
    let best: Vec<f32> = maxsim_matches(query, passage).iter().map(|token| token.cosine).collect();
    MaxSim::of(&best)
}

/// For each query token the passage token that it found, which explains a MaxSim score.
#[must_use]
pub fn maxsim_matches(query: &TokenVectors, passage: &TokenVectors) -> Vec<TokenMatch> {
    let tokens = query.vectors.chunks_exact(query.dim.max(1)).enumerate();
    tokens
        .map(|(query, vector)| {
            let mut found = TokenMatch { query, passage: None, cosine: WORST };
            for (i, other) in passage.vectors.chunks_exact(passage.dim.max(1)).enumerate() {
                let cosine = finite(dot(vector, other));
                if found.passage.is_none() || cosine > found.cosine {
                    found = TokenMatch { query, passage: Some(i), cosine };
                }
            }
            found
        })
        .collect()
}

/// Cosine of two unit vectors; [`PassageScore::cosine`] for one pair.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    finite(dot(a, b))
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for ((lane, x), y) in lanes.iter_mut().zip(a).zip(b) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f32>()
}

/// Element-wise maximum; what is not a number loses against everything.
fn raise(best: &mut [f32], cosines: &[f32]) {
    for (best, &cosine) in best.iter_mut().zip(cosines) {
        if cosine > *best && cosine.is_finite() {
            *best = cosine;
        }
    }
}

fn finite(cosine: f32) -> f32 {
    if cosine.is_finite() { cosine } else { WORST }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn vectors(rows: &[[f32; 2]]) -> TokenVectors {
        TokenVectors { dim: 2, tokens: rows.len(), vectors: rows.concat(), sentence: vec![1.0, 0.0], clipped: 0 }
    }

    #[test]
    fn each_query_token_takes_its_best_and_the_first_of_equals() {
        let query = vectors(&[[1.0, 0.0], [0.0, 1.0]]);
        let passage = vectors(&[[0.6, 0.8], [0.8, 0.6], [0.8, 0.6]]);
        let found = maxsim_matches(&query, &passage);
        assert_eq!(found.iter().map(|m| m.passage).collect::<Vec<_>>(), [Some(1), Some(0)]);
        assert_eq!(maxsim(&query, &passage), MaxSim { score: 1.6, mean: 0.8 });
    }

    #[test]
    fn many_passages_score_as_each_alone_and_empty_ones_come_last() {
        let query = vectors(&[[1.0, 0.0], [0.0, 1.0]]);
        let nan = vectors(&[[f32::NAN, 0.0]]);
        let passages = [
            vectors(&[]),
            vectors(&[[0.6, 0.8]]),
            vectors(&[]),
            vectors(&[[0.0, -1.0], [1.0, 0.0]]),
            nan,
            vectors(&[]),
        ];
        let all = PassageVectors::new(2, &passages).unwrap();
        assert_eq!((all.len(), all.tokens()), (6, 4));
        let scores = all.score(&query).unwrap();
        for (score, passage) in scores.iter().zip(&passages) {
            assert_eq!(score.maxsim, maxsim(&query, passage));
            assert!(score.maxsim.score.is_finite());
        }
        assert_eq!(scores[0].maxsim.score, -2.0);
        assert_eq!(scores[4].maxsim.score, -2.0);
    }

    #[test]
    fn many_questions_score_as_each_alone() {
        let turn = |i: usize, rows: usize| -> TokenVectors {
            let rows: Vec<_> = (0..rows).map(|j| ((i * 31 + j * 17) as f32).sin_cos().into()).collect();
            vectors(&rows)
        };
        let passages: Vec<_> = (0..300).map(|i| turn(i, i % 5)).collect();
        let all = PassageVectors::new(2, &passages).unwrap();
        // More tokens than one stack holds, among them a question without any and one longer than a stack.
        let questions: Vec<_> = (0..60).map(|i| turn(i + 7, [0, 9, 3, STACK + 5, 12][i % 5])).collect();
        let scores = all.score_all(&questions.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(scores.len(), questions.len());
        for (scores, question) in scores.iter().zip(&questions) {
            let alone = all.score(question).unwrap();
            assert_eq!(scores.len(), alone.len());
            for (a, b) in scores.iter().zip(&alone) {
                assert!((a.maxsim.score - b.maxsim.score).abs() < 1e-4 && a.cosine == b.cosine);
            }
        }
        assert!(all.score_all(&[]).unwrap().is_empty());
    }

    #[test]
    fn blocks_do_not_show() {
        let passages: Vec<_> = (0..1500)
            .map(|i| {
                let rows: Vec<_> = (0..i % 5).map(|j| ((i * 31 + j * 17) as f32).sin_cos().into()).collect();
                vectors(&rows)
            })
            .collect();
        let query = vectors(&[[0.6, 0.8], [-0.8, 0.6], [0.0, -1.0]]);
        let all = PassageVectors::new(2, &passages).unwrap();
        assert!(all.tokens() > BLOCK);
        for (score, passage) in all.score(&query).unwrap().iter().zip(&passages) {
            assert!((score.maxsim.score - maxsim(&query, passage).score).abs() < 1e-6);
        }
    }

    #[test]
    fn nothing_asked_or_nothing_there_is_no_error() {
        let none = PassageVectors::new(2, &[]).unwrap();
        assert!(none.is_empty() && none.score(&vectors(&[[1.0, 0.0]])).unwrap().is_empty());
        let one = PassageVectors::new(2, &[vectors(&[[1.0, 0.0]])]).unwrap();
        assert_eq!(one.score(&vectors(&[])).unwrap()[0].maxsim, MaxSim::default());
        assert!(PassageVectors::new(3, &[vectors(&[[1.0, 0.0]])]).is_err());
    }
}
