//! The arithmetic between the matrix products of a BERT encoder, on rows of f32 without padding. Knows slices and
//! their shapes; nothing of models.
//!
//! Loops are written over fixed-size lanes so that the compiler turns them into vector instructions. The two
//! transcendental functions are polynomials for the same reason; their error is below that of the f32 sums around them.

mod attention;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(super) mod bf16;
mod path;

use std::ops::Range;

use rayon::prelude::*;

pub(super) use attention::attention;
pub use path::Kernel;
pub(super) use path::wide;

/// Lanes of the inner loops.
pub(super) const LANES: usize = 16;
/// Rows that one task of the thread pool takes at least.
const ROWS_A_TASK: usize = 64;

/// e^x for x <= 0, relative error below 2e-7; 0 below -87.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Rounds to an integer in the mantissa's low bits: adding 1.5 * 2^23 leaves no room for a fraction.
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(-87.3);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, so that the remainder keeps all its bits.
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 5e-1;
    let p = p * r * r + r + 1.0;
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    p * scale
}

/// x Φ(x), the exact (erf) form; absolute error below 5e-7.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    // Abramowitz and Stegun 7.1.26 for erfc on the positive side; the symmetry of x Φ(x) gives the other.
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let p = 1.061_405_4;
    let p = p * t - 1.453_152;
    let p = p * t + 1.421_413_8;
    let p = p * t - 0.284_496_74;
    let p = p * t + 0.254_829_6;
    let erfc = p * t * exp(-z * z);
    x.max(0.0) - 0.5 * x.abs() * erfc
}

/// Adds `bias` to every row and applies the activation, in place. `rows` is n x `bias.len()`.
pub(super) fn bias_gelu(rows: &mut [f32], bias: &[f32]) {
    rows.par_chunks_mut(bias.len() * ROWS_A_TASK).for_each(|rows| {
        wide(
            #[inline(always)]
            || {
                for row in rows.chunks_exact_mut(bias.len()) {
                    for (x, b) in row.iter_mut().zip(bias) {
                        *x = gelu(*x + b);
                    }
                }
            },
        );
    });
}

/// `rows = norm(rows + bias + residual)`, in place; all n x `bias.len()`.
pub(super) fn bias_residual_norm(rows: &mut [f32], bias: &[f32], residual: &[f32], norm: &Norm, eps: f32) {
    let step = bias.len() * ROWS_A_TASK;
    rows.par_chunks_mut(step).zip(residual.par_chunks(step)).for_each(|(rows, residual)| {
        wide(
            #[inline(always)]
            || {
                for (row, residual) in rows.chunks_exact_mut(bias.len()).zip(residual.chunks_exact(bias.len())) {
                    for ((x, b), r) in row.iter_mut().zip(bias).zip(residual) {
                        *x += b + r;
                    }
                    norm.apply(row, eps);
                }
            },
        );
    });
}

/// A layer norm.
#[derive(Debug, Clone)]
pub(super) struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
}

impl Norm {
    /// Normalises one row in place.
    #[inline(always)]
    pub(super) fn apply(&self, row: &mut [f32], eps: f32) {
        let n = row.len() as f32;
        let mean = sum(row, |x| x) / n;
        let variance = sum(row, |x| (x - mean) * (x - mean)) / n;
        let scale = 1.0 / (variance + eps).sqrt();
        for ((x, w), b) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
            *x = (*x - mean) * scale * w + b;
        }
    }
}

/// Sum of products; the shorter one counts.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((lane, x), y) in lanes.iter_mut().zip(a).zip(b) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f32>()
}

/// Mean of the rows between two bounds.
pub(super) fn mean(rows: &[f32], bounds: &[usize], width: usize) -> Vec<f32> {
    let mut mean = vec![0.0; width];
    let &[start, end] = bounds else { return mean };
    for row in rows.get(start * width..end * width).unwrap_or_default().chunks_exact(width) {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    mean.iter_mut().for_each(|sum| *sum /= (end - start).max(1) as f32);
    mean
}

/// Scales a row to unit length; a row of zeros stays.
pub(super) fn unit(row: &mut [f32]) {
    let length = sum(row, |x| x * x).sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|x| *x /= length);
    }
}

#[inline(always)]
fn sum(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&x| f(x)).sum::<f32>()
}

/// Columns `offset..offset + width` of a matrix with `stride` numbers a row, and the bias that belongs to them.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub offset: usize,
    pub bias: &'a [f32],
}

impl<'a> Columns<'a> {
    /// The numbers of one head in one row, without their bias.
    #[inline(always)]
    fn head(&self, row: usize, head: usize, width: usize) -> &'a [f32] {
        let start = row * self.stride + self.offset + head * width;
        self.data.get(start..start + width).unwrap_or_default()
    }

    /// The numbers of one head in some rows, bias added, row-major.
    #[inline(always)]
    pub(super) fn rows(&self, rows: Range<usize>, head: usize, width: usize) -> Vec<f32> {
        let bias = self.head_bias(head, width);
        let row = |row| self.head(row, head, width).iter().zip(bias).map(|(x, b)| x + b);
        rows.flat_map(row).collect()
    }

    #[inline(always)]
    fn head_bias(&self, head: usize, width: usize) -> &'a [f32] {
        self.bias.get(head * width..(head + 1) * width).unwrap_or_default()
    }
}

/// Where texts lie in rows of tokens.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    /// Where each text starts, and the end of the last.
    pub bounds: &'a [usize],
    /// How many tokens of each text, from its first on, are attended to.
    pub attended: &'a [usize],
}

impl<'a> Texts<'a> {
    /// Texts.
    pub(super) fn len(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    /// Of each text, the rows of its queries and of its keys. With `first_only` queries have a row a text.
    pub(super) fn rows(self, first_only: bool) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + 'a {
        self.bounds.windows(2).zip(self.attended).enumerate().filter_map(move |(text, (pair, attended))| {
            let &[start, end] = pair else { return None };
            let queries = if first_only { text..text + 1 } else { start..end };
            Some((queries, start..end.min(start + attended)))
        })
    }
}

/// What one attention needs: keys and values have a row a token; queries have a row a token too, or (`first_only`) a row
/// a text.
#[derive(Clone, Copy)]
pub(super) struct Attention<'a> {
    pub query: Columns<'a>,
    pub key: Columns<'a>,
    pub value: Columns<'a>,
    pub texts: Texts<'a>,
    pub first_only: bool,
    pub heads: usize,
    /// Numbers a head.
    pub width: usize,
}

/// Turns the first `n` scores into e^(score - best), the padding behind them into 0, and returns their sum.
#[inline(always)]
pub(super) fn softmax(scores: &mut [f32], n: usize) -> f32 {
    if let Some(padding) = scores.get_mut(n..) {
        padding.fill(f32::MIN);
    }
    let mut best = [f32::MIN; LANES];
    for chunk in scores.as_chunks::<LANES>().0 {
        for (best, &x) in best.iter_mut().zip(chunk) {
            *best = if x > *best { x } else { *best };
        }
    }
    let best = best.iter().fold(f32::MIN, |a, &b| a.max(b));
    let mut total = [0.0; LANES];
    for chunk in scores.as_chunks_mut::<LANES>().0 {
        for (total, x) in total.iter_mut().zip(chunk) {
            *x = exp(*x - best);
            *total += *x;
        }
    }
    if let Some(padding) = scores.get_mut(n..) {
        // e^-87 is not quite 0, but too small to change any sum above.
        padding.fill(0.0);
    }
    total.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// erf by its series and continued fraction in f64.
    fn phi(x: f64) -> f64 {
        // Simpson's rule on the density from 0: plain, and exact to 1e-12 at this step.
        let n = 2000;
        let h = x / f64::from(n);
        let f = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let inner: f64 = (1..n).map(|i| f(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        0.5 + (f(0.0) + inner + f(x)) * h / 3.0
    }

    #[test]
    fn gelu_is_exact_to_five_in_ten_million() {
        let worst = (-12_000..=12_000)
            .map(|i| {
                let x = i as f32 / 1000.0;
                (f64::from(gelu(x)) - f64::from(x) * phi(f64::from(x))).abs()
            })
            .fold(0.0, f64::max);
        assert!(worst < 1e-6, "{worst}");
        assert_eq!(gelu(40.0), 40.0);
        assert!(gelu(-40.0).abs() < 1e-30);
    }

    #[test]
    fn exp_is_exact_to_the_last_bits() {
        let worst = (0..=87_000)
            .map(|i| {
                let x = -(i as f32) / 1000.0;
                (f64::from(exp(x)) / f64::from(x).exp() - 1.0).abs()
            })
            .fold(0.0, f64::max);
        assert!(worst < 2.5e-7, "{worst}");
        assert!(exp(f32::MIN) < 1e-37);
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn a_row_of_zeros_has_no_direction_and_stays() {
        let mut row = [0.0; 20];
        unit(&mut row);
        assert_eq!(row, [0.0; 20]);
        let mut row = [3.0, 4.0];
        unit(&mut row);
        assert_eq!(row, [0.6, 0.8]);
    }
}
