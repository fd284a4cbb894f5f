//! Scaled dot-product attention inside each text. Knows heads and their columns; nothing of layers.
//!
//! A few queries at once share every read of a key or a value, and their sums stay in registers.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::path::dispatch;
use super::{Attention, LANES, softmax};

/// Queries at once.
const QUERIES: usize = 4;
/// Vectors of a row at once: with so many queries, half of the registers of the narrowest unit hold sums.
const VECTORS: usize = 2;

/// Attention inside each text. Returns a row a query, `heads` x `width`.
pub(in crate::rank) fn attention(input: Attention<'_>) -> Vec<f32> {
    let (texts, hidden) = (input.texts, input.heads * input.width);
    let total = if input.first_only { texts.len() } else { texts.bounds.last().copied().unwrap_or(0) };
    let mut out = vec![0.0; total * hidden];
    let mut tasks = Vec::with_capacity(texts.len());
    let mut rest = out.as_mut_slice();
    for (queries, keys) in texts.rows(input.first_only) {
        let (mine, others) = rest.split_at_mut(queries.len() * hidden);
        rest = others;
        tasks.push((queries, keys, mine));
    }
    tasks.into_par_iter().for_each_init(Scratch::default, |scratch, (queries, tokens, out)| {
        dispatch(Text { scratch, input, queries, tokens, out });
    });
    out
}

/// Buffers of one head of one text.
#[derive(Default)]
struct Scratch {
    /// Queries of a block, bias added and scaled: each `width` numbers.
    queries: Vec<f32>,
    /// Keys, transposed: `width` x tokens rounded up to whole lanes.
    keys: Vec<f32>,
    /// Values: tokens x `width` rounded up to whole lanes.
    values: Vec<f32>,
    /// Weights of the queries of a block: each tokens rounded up to whole lanes.
    weights: Vec<f32>,
}

/// All heads of one text.
struct Text<'a> {
    scratch: &'a mut Scratch,
    input: Attention<'a>,
    /// Rows of the queries.
    queries: Range<usize>,
    /// Rows of the keys and values.
    tokens: Range<usize>,
    /// A row a query.
    out: &'a mut [f32],
}

impl WithSimd for Text<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { scratch, input, queries, tokens, out } = self;
        let hidden = input.heads * input.width;
        for head in 0..input.heads {
            scratch.fill(&input, tokens.clone(), head);
            let first = head * input.width;
            for (block, out) in out.chunks_mut((QUERIES * hidden).max(1)).enumerate() {
                let start = queries.start + block * QUERIES;
                let n = tokens.len();
                match out.len() / hidden {
                    1 => scratch.block::<S, 1>(simd, &input, start, n, head, out, first),
                    2 => scratch.block::<S, 2>(simd, &input, start, n, head, out, first),
                    3 => scratch.block::<S, 3>(simd, &input, start, n, head, out, first),
                    _ => scratch.block::<S, QUERIES>(simd, &input, start, n, head, out, first),
                }
            }
        }
    }
}

impl Scratch {
    /// Lays out keys and values of one head.
    #[inline(always)]
    fn fill(&mut self, input: &Attention<'_>, tokens: Range<usize>, head: usize) {
        let (n, width) = (tokens.len(), input.width);
        let (padded, padded_width) = (n.next_multiple_of(LANES), width.next_multiple_of(LANES));
        for (buffer, length) in [
            (&mut self.queries, QUERIES * width),
            (&mut self.keys, width * padded),
            (&mut self.values, n * padded_width),
            (&mut self.weights, QUERIES * padded),
        ] {
            buffer.clear();
            buffer.resize(length, 0.0);
        }
        let (key_bias, value_bias) = (input.key.head_bias(head, width), input.value.head_bias(head, width));
        for (j, token) in tokens.enumerate() {
            let row = input.key.head(token, head, width).iter().zip(key_bias);
            for (column, (x, b)) in self.keys.chunks_exact_mut(padded).zip(row) {
                if let Some(place) = column.get_mut(j) {
                    *place = x + b;
                }
            }
            let row = input.value.head(token, head, width).iter().zip(value_bias);
            if let Some(place) = self.values.get_mut(j * padded_width..(j + 1) * padded_width) {
                for (place, (x, b)) in place.iter_mut().zip(row) {
                    *place = x + b;
                }
            }
        }
    }

    /// `M` queries from row `start` on, into columns from `first` on of as many rows.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn block<S: Simd, const M: usize>(
        &mut self,
        simd: S,
        input: &Attention<'_>,
        start: usize,
        n: usize,
        head: usize,
        out: &mut [f32],
        first: usize,
    ) {
        let width = input.width;
        let (padded, padded_width) = (n.next_multiple_of(LANES), width.next_multiple_of(LANES));
        let scale = 1.0 / (width as f32).sqrt();
        let bias = input.query.head_bias(head, width);
        for (place, row) in self.queries.chunks_exact_mut(width).zip(start..start + M) {
            for ((place, x), b) in place.iter_mut().zip(input.query.head(row, head, width)).zip(bias) {
                *place = (x + b) * scale;
            }
        }
        let vectors = padded / S::F32_LANES;
        let queries = rows::<M>(&self.queries, width);
        for at in (0..vectors).step_by(VECTORS) {
            if at + VECTORS <= vectors {
                let sums = sums::<S, M, VECTORS>(simd, queries, &self.keys, padded, at);
                store::<S, M, VECTORS>(&sums, &mut self.weights, padded, at);
            } else {
                let sums = sums::<S, M, 1>(simd, queries, &self.keys, padded, at);
                store::<S, M, 1>(&sums, &mut self.weights, padded, at);
            }
        }
        let mut totals = [1.0; M];
        for (weights, total) in self.weights.chunks_exact_mut(padded.max(1)).zip(&mut totals) {
            *total = softmax(weights, n);
        }
        let weights = rows::<M>(&self.weights, padded);
        let weights = weights.map(|row| row.get(..n).unwrap_or_default());
        let hidden = input.heads * width;
        let mut buffer = [0.0; LANES * VECTORS * QUERIES];
        let vectors = padded_width / S::F32_LANES;
        for at in (0..vectors).step_by(VECTORS) {
            let stride = VECTORS * S::F32_LANES;
            if at + VECTORS <= vectors {
                let sums = sums::<S, M, VECTORS>(simd, weights, &self.values, padded_width, at);
                store::<S, M, VECTORS>(&sums, &mut buffer, stride, 0);
            } else {
                let sums = sums::<S, M, 1>(simd, weights, &self.values, padded_width, at);
                store::<S, M, 1>(&sums, &mut buffer, stride, 0);
            }
            let column = at * S::F32_LANES;
            let wanted = stride.min(width.saturating_sub(column));
            for ((out, sums), total) in out.chunks_exact_mut(hidden).zip(buffer.chunks_exact(stride)).zip(totals) {
                let out = out.get_mut(first + column..first + column + wanted).unwrap_or_default();
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = sum / total;
                }
            }
        }
    }
}

/// The first `M` rows of this length.
#[inline(always)]
fn rows<const M: usize>(numbers: &[f32], length: usize) -> [&[f32]; M] {
    let mut rows: [&[f32]; M] = [&[]; M];
    for (place, row) in rows.iter_mut().zip(numbers.chunks_exact(length.max(1))) {
        *place = row;
    }
    rows
}

/// For each of `M` rows the sum of its numbers times the rows of a matrix, in `V` vectors from vector `at` on.
#[inline(always)]
fn sums<S: Simd, const M: usize, const V: usize>(
    simd: S,
    factors: [&[f32]; M],
    matrix: &[f32],
    stride: usize,
    at: usize,
) -> [[S::f32s; V]; M] {
    let mut sums = [[simd.splat_f32s(0.0); V]; M];
    let length = factors.first().map_or(0, |row| row.len());
    // Said once here, this spares a check for every single number.
    if factors.iter().any(|row| row.len() != length) {
        return sums;
    }
    let lines = S::as_simd_f32s(matrix).0.chunks_exact((stride / S::F32_LANES).max(1));
    for (t, line) in lines.take(length).enumerate() {
        let Some(line) = line.get(at..).and_then(|line| line.first_chunk::<V>()) else { return sums };
        for m in 0..M {
            let factor = simd.splat_f32s(factors[m][t]);
            for v in 0..V {
                // Where vectors are short there may be no fused instruction, and without one it is a slow call.
                sums[m][v] = if S::F32_LANES > 4 {
                    simd.mul_add_e_f32s(factor, line[v], sums[m][v])
                } else {
                    simd.add_f32s(simd.mul_f32s(factor, line[v]), sums[m][v])
                };
            }
        }
    }
    sums
}

/// Puts sums into rows of `stride` numbers, from vector `at` on.
#[inline(always)]
fn store<S: Simd, const M: usize, const V: usize>(
    sums: &[[S::f32s; V]; M],
    rows: &mut [f32],
    stride: usize,
    at: usize,
) {
    let lines = S::as_mut_simd_f32s(rows).0.chunks_exact_mut((stride / S::F32_LANES).max(1));
    for (line, sums) in lines.zip(sums) {
        for (place, sum) in line.iter_mut().skip(at).zip(sums) {
            *place = *sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::on_every_kernel;
    use super::super::{Columns, Texts};
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let next = |at: usize| (at as u32 ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b);
        (0..count).map(|at| next(at) as f32 / 2_147_483_648.0 - 1.0).collect()
    }

    /// One query of one head, in f64.
    fn wanted(input: &Attention<'_>, query: usize, tokens: Range<usize>, head: usize) -> Vec<f64> {
        let width = input.width;
        let row = |columns: &Columns<'_>, row: usize| -> Vec<f64> {
            columns.rows(row..row + 1, head, width).into_iter().map(f64::from).collect()
        };
        let query = row(&input.query, query);
        let score = |token| -> f64 { row(&input.key, token).iter().zip(&query).map(|(k, q)| k * q).sum() };
        let weights: Vec<f64> = tokens.clone().map(|token| (score(token) / (width as f64).sqrt()).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut out = vec![0.0; width];
        for (token, weight) in tokens.zip(weights) {
            out.iter_mut().zip(row(&input.value, token)).for_each(|(out, value)| *out += weight / total * value);
        }
        out
    }

    #[test]
    fn every_head_weighs_the_values_by_its_keys() {
        for (heads, width, bounds, attended) in [
            (1, 1, vec![0, 1], vec![1]),
            (3, 8, vec![0, 1, 6, 40], vec![1, 3, 34]),
            (2, 32, vec![0, 45, 93, 110], vec![45, 48, 17]),
            (2, 40, vec![0, 16, 33], vec![16, 9]),
            (1, 64, vec![0, 300], vec![300]),
        ] {
            let hidden = heads * width;
            let rows: usize = bounds.last().copied().unwrap_or(0);
            let (data, bias) = (numbers(rows * 3 * hidden, 1), numbers(3 * hidden, 2));
            let texts = Texts { bounds: &bounds, attended: &attended };
            for first_only in [false, true] {
                let part = |part: usize| Columns {
                    data: &data,
                    stride: 3 * hidden,
                    offset: part * hidden,
                    bias: &bias[part * hidden..(part + 1) * hidden],
                };
                let (query, key, value) = (part(0), part(1), part(2));
                let input = Attention { query, key, value, texts, first_only, heads, width };
                on_every_kernel(|kernel| {
                    let out = attention(input);
                    let asked: Vec<_> =
                        texts.rows(first_only).flat_map(|(q, t)| q.map(move |q| (q, t.clone()))).collect();
                    assert_eq!(out.len(), asked.len() * hidden);
                    for ((query, tokens), row) in asked.into_iter().zip(out.chunks_exact(hidden)) {
                        for (head, found) in row.chunks_exact(width).enumerate() {
                            for (found, wanted) in found.iter().zip(wanted(&input, query, tokens.clone(), head)) {
                                let apart = (f64::from(*found) - wanted).abs();
                                assert!(apart < 2e-6, "{kernel:?} {heads} x {width}: {found} for {wanted}");
                            }
                        }
                    }
                });
            }
        }
    }
}
