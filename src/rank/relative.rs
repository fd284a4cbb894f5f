//! The disentangled attention of DeBERTa: beside what tokens say, each head weighs how far apart they stand. Knows one
//! layer's projections; nothing of embeddings, heads or texts.
//!
//! He, Liu, Gao, Chen (2021), "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", section 3.1; buckets of
//! distance as in DeBERTa-v2.

use candle_core::Tensor;
use rayon::prelude::*;

use super::config::Config;
use super::kernels::{Attention, Columns, LANES, Norm, dot, softmax, wide};
use super::weights::Weights;

/// The projections of all distances in one layer. They depend on weights alone, so they are computed once.
#[derive(Clone)]
pub(super) struct RelativePositions {
    /// Distances as keys, a row a bucket; `None` when content does not look at positions.
    keys: Option<Vec<f32>>,
    /// Distances as queries; `None` when positions do not look at content.
    queries: Option<Vec<f32>>,
    buckets: Buckets,
    /// Numbers a row.
    hidden: usize,
}

/// How distances become rows of the table.
#[derive(Debug, Clone, Copy)]
struct Buckets {
    /// Rows on each side of the middle.
    span: i64,
    /// Distances that are told apart in exponentially growing steps; 0 for every distance its own row.
    size: i64,
    /// The distance that falls into the last bucket.
    furthest: i64,
}

impl Buckets {
    /// The row of the distance `query place - key place`.
    fn row(self, distance: i64) -> usize {
        let bucket = if self.size > 0 { self.bucket(distance) } else { distance };
        (bucket + self.span).clamp(0, 2 * self.span - 1) as usize
    }

    /// Distances up to half the buckets stand for themselves, further ones for their logarithm.
    fn bucket(self, distance: i64) -> i64 {
        let middle = self.size / 2;
        if distance.abs() <= middle {
            return distance;
        }
        let middle_f = middle as f32;
        let ratio = (distance.abs() as f32 / middle_f).ln() / ((self.furthest - 1) as f32 / middle_f).ln();
        let bucket = (ratio * (middle_f - 1.0)).ceil() as i64 + middle;
        bucket * distance.signum()
    }
}

/// The tables of all layers.
pub(super) fn load(config: &Config, weights: &Weights<'_>) -> candle_core::Result<Vec<RelativePositions>> {
    let hidden = config.hidden_size;
    let furthest = match config.max_relative_positions {
        Some(furthest) if furthest > 0 => furthest,
        _ => config.max_position_embeddings as i64,
    };
    let size = config.position_buckets.unwrap_or(-1).max(0);
    let buckets = Buckets { span: if size > 0 { size } else { furthest }, size, furthest };
    let rows = 2 * buckets.span as usize;
    let table = weights.shaped("encoder.rel_embeddings.weight", &[rows, hidden])?;
    let mut table: Vec<f32> = table.flatten_all()?.to_vec1()?;
    if config.norm_rel_ebd.as_deref() == Some("layer_norm") {
        let (weight, bias) = ("encoder.LayerNorm.weight", "encoder.LayerNorm.bias");
        let norm = Norm { weight: weights.numbers(weight)?, bias: weights.numbers(bias)? };
        let eps = config.eps() as f32;
        table.chunks_exact_mut(hidden).for_each(|row| norm.apply(row, eps));
    }
    let table = Tensor::from_vec(table, (rows, hidden), &candle_core::Device::Cpu)?;
    let kinds = |name: &str| config.pos_att_type.as_ref().is_some_and(|kinds| kinds.has(name));
    let (content_to_position, position_to_content) = (kinds("c2p"), kinds("p2c"));
    let layer = |i: usize| {
        let projected = |wanted: bool, shared: &str, own: &str| -> candle_core::Result<Option<Vec<f32>>> {
            if !wanted {
                return Ok(None);
            }
            let name = if config.share_att_key { shared } else { own };
            let name = format!("encoder.layer.{i}.attention.self.{name}");
            let rows = table.matmul(&weights.tensor(&format!("{name}.weight"))?.t()?)?;
            let bias = format!("{name}.bias");
            let rows = if weights.has(&bias) { rows.broadcast_add(&weights.tensor(&bias)?)? } else { rows };
            rows.flatten_all()?.to_vec1().map(Some)
        };
        Ok(RelativePositions {
            keys: projected(content_to_position, "key_proj", "pos_key_proj")?,
            queries: projected(position_to_content, "query_proj", "pos_query_proj")?,
            buckets,
            hidden,
        })
    };
    (0..config.num_hidden_layers).map(layer).collect()
}

/// One head of one text.
struct Head<'a> {
    query: Columns<'a>,
    key: Columns<'a>,
    value: Columns<'a>,
    /// Rows of the queries; either all tokens, or one row that holds the first token's query.
    queries: std::ops::Range<usize>,
    tokens: std::ops::Range<usize>,
    head: usize,
    width: usize,
}

impl RelativePositions {
    /// Attention inside each text, as [`super::kernels::attention`] with distances added.
    pub(super) fn attention(&self, input: Attention<'_>) -> Vec<f32> {
        let Attention { query, key, value, texts, first_only, heads, width } = input;
        let hidden = heads * width;
        let texts: Vec<_> = texts.rows(first_only).collect();
        let outs: Vec<Vec<f32>> = texts
            .into_par_iter()
            .map(|(queries, tokens)| {
                let mut out = vec![0.0; queries.len() * hidden];
                for head in 0..heads {
                    let (queries, tokens) = (queries.clone(), tokens.clone());
                    let one = Head { query, key, value, queries, tokens, head, width };
                    wide(
                        #[inline(always)]
                        || self.head(&one, &mut out),
                    );
                }
                out
            })
            .collect();
        outs.concat()
    }

    #[inline(always)]
    fn head(&self, one: &Head<'_>, out: &mut [f32]) {
        let (head, width, n) = (one.head, one.width, one.tokens.len());
        let queries = one.query.rows(one.queries.clone(), head, width);
        let keys = one.key.rows(one.tokens.clone(), head, width);
        let values = one.value.rows(one.tokens.clone(), head, width);
        // Only distances that occur in a text of n tokens, and they lie side by side.
        let furthest = n.max(one.queries.len()) as i64 - 1;
        let first = self.buckets.row(-furthest);
        let count = self.buckets.row(furthest) + 1 - first;
        let rows: Vec<usize> = (-furthest..=furthest).map(|distance| self.buckets.row(distance) - first).collect();
        let row_of = |i: usize, j: usize| rows.get(furthest as usize + i - j).copied().unwrap_or(0);
        let table = |table: &'_ Option<Vec<f32>>, texts: &[f32]| {
            table.as_ref().map(|table| {
                let row = |at: usize| {
                    let start = (first + at) * self.hidden + head * width;
                    table.get(start..start + width).unwrap_or_default()
                };
                let mut products = Vec::with_capacity(texts.len() / width * count);
                for text in texts.chunks_exact(width) {
                    products.extend((0..count).map(|at| dot(text, row(at))));
                }
                products
            })
        };
        let content_to_position = table(&self.keys, &queries);
        let position_to_content = table(&self.queries, &keys);
        let terms = 1 + usize::from(self.keys.is_some()) + usize::from(self.queries.is_some());
        let scale = 1.0 / ((width * terms) as f32).sqrt();
        let mut weights = vec![0.0_f32; n.next_multiple_of(LANES)];
        let hidden = self.hidden;
        for (i, (query, out)) in queries.chunks_exact(width).zip(out.chunks_exact_mut(hidden)).enumerate() {
            for (j, (weight, key)) in weights.iter_mut().zip(keys.chunks_exact(width)).enumerate() {
                let row = row_of(i, j);
                let of = |products: &Option<Vec<f32>>, at: usize| {
                    products.as_ref().and_then(|products| products.get(at * count + row)).copied().unwrap_or(0.0)
                };
                *weight = (dot(query, key) + of(&content_to_position, i) + of(&position_to_content, j)) * scale;
            }
            let total = softmax(&mut weights, n);
            let Some(out) = out.get_mut(head * width..(head + 1) * width) else { continue };
            for (value, weight) in values.chunks_exact(width).zip(&weights) {
                for (out, value) in out.iter_mut().zip(value) {
                    *out += weight / total * value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_distances_have_their_own_row_and_far_ones_share_one() {
        let buckets = Buckets { span: 16, size: 16, furthest: 64 };
        let rows: Vec<usize> = [-64, -9, -8, -1, 0, 1, 8, 9, 64].map(|distance| buckets.row(distance)).to_vec();
        assert_eq!(rows, [0, 7, 8, 15, 16, 17, 24, 25, 31]);
        let plain = Buckets { span: 4, size: 0, furthest: 4 };
        assert_eq!([-9, -4, 0, 3, 9].map(|distance| plain.row(distance)), [0, 0, 4, 7, 7]);
    }
}
