//! Scores of turns to the score of a longer passage (PIPELINE section 6). Pure: knows numbers, no model and no text.

use crate::settings::Pooler;

/// The score of a passage, and the turn behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pooled {
    /// The score, in the units of the turns' scores.
    pub score: f64,
    /// Place of the best turn among those of the passage; the score is its own for `max` and `token`.
    pub best: usize,
}

/// Pool the scores of a passage's turns. `vectors` are the unit sentence vectors of the same turns, one row of `dim` numbers
/// each; only the mean needs them. `None` without turns, for `text`, and for the mean without vectors.
///
/// - `mean` (early): cosine with the mean vector, which is the mean cosine over the length of the mean vector.
/// - `max` (late) and `token`: the best turn.
/// - `top3`: mean of the three best.
/// - `lse10`: `ln(sum(exp(10 s))) / 10`, a sum and not a mean, so that long passages are favoured as in the paper's code.
pub fn pool(pooler: Pooler, scores: &[f64], vectors: Option<(&[f32], usize)>) -> Option<Pooled> {
    let best = (0..scores.len()).reduce(|best, at| if scores.get(at) > scores.get(best) { at } else { best })?;
    let highest = scores.get(best).copied()?;
    let score = match pooler {
        Pooler::Text => return None,
        Pooler::Max | Pooler::Token => highest,
        Pooler::Top3 => {
            let mut sorted = scores.to_vec();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            sorted.truncate(3);
            sorted.iter().sum::<f64>() / sorted.len() as f64
        }
        Pooler::Lse10 => {
            let mut sorted = scores.to_vec();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            sorted.iter().map(|score| (10.0 * score).exp()).sum::<f64>().ln() / 10.0
        }
        Pooler::Mean => {
            let (rows, dim) = vectors?;
            let length = sum_of(rows, dim).iter().map(|number| number * number).sum::<f64>().sqrt();
            if length > 0.0 { scores.iter().sum::<f64>() / length } else { 0.0 }
        }
    };
    Some(Pooled { score, best })
}

/// The sum of rows of `dim` numbers.
pub fn sum_of(rows: &[f32], dim: usize) -> Vec<f64> {
    let mut sum = vec![0.0_f64; dim];
    for row in rows.chunks_exact(dim.max(1)) {
        sum.iter_mut().zip(row).for_each(|(slot, number)| *slot += f64::from(*number));
    }
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_pooler_is_its_formula() {
        let scores = [0.2, 0.6, 0.4, 0.0];
        let of = |pooler| pool(pooler, &scores, None);
        assert_eq!(of(Pooler::Max), Some(Pooled { score: 0.6, best: 1 }));
        assert_eq!(of(Pooler::Token), of(Pooler::Max));
        assert!((of(Pooler::Top3).unwrap().score - 0.4).abs() < 1e-12);
        let soft = (2_f64.exp() + 6_f64.exp() + 4_f64.exp() + 1.0).ln() / 10.0;
        assert!((of(Pooler::Lse10).unwrap().score - soft).abs() < 1e-12);
        assert_eq!((of(Pooler::Mean), of(Pooler::Text), pool(Pooler::Max, &[], None)), (None, None, None));
        // Two unit vectors at a right angle, a question along the first: the cosine with their mean is 1/√2.
        let mean = pool(Pooler::Mean, &[1.0, 0.0], Some((&[1.0, 0.0, 0.0, 1.0], 2))).unwrap();
        assert!((mean.score - 0.5_f64.sqrt()).abs() < 1e-12 && mean.best == 0);
    }
}
