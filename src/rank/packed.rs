//! The encoder of BERT, RoBERTa and DeBERTa with its matrix products in bf16. Knows packed layers and token ids; nothing
//! of texts or scores.
//!
//! Rows of several texts go through all layers as one piece of work, a thread a piece, and stay in its caches. Sums,
//! attention, norms and residuals are f32; only what enters a product is rounded.

use std::sync::Arc;

use rayon::prelude::*;

use super::bert::{Bert, Embeddings, Layer, Linear, with_slice};
use super::encoder::{Encoder, Keep};
use super::kernels::bf16::{Packed, Rounded};
use super::kernels::{self, Attention, Columns, Norm, Texts};
use super::relative::RelativePositions;
use super::tokenizer::Rows;

/// Rows of a piece of work: enough to pay for reading the weights, few enough to stay in the second cache.
const ROWS_A_PIECE: usize = 256;

/// The encoder, packed.
pub(super) struct PackedBert {
    embeddings: Arc<Embeddings>,
    layers: Vec<PackedLayer>,
    heads: usize,
    eps: f32,
}

/// A layer; query, key and value apart, because the last layer needs fewer queries.
struct PackedLayer {
    attention: [Packed; 3],
    attention_bias: Vec<f32>,
    attention_out: PackedLinear,
    attention_norm: Norm,
    up: PackedLinear,
    down: PackedLinear,
    output_norm: Norm,
    relative: Option<RelativePositions>,
}

struct PackedLinear {
    weight: Packed,
    bias: Vec<f32>,
}

/// What a piece of work needs beside its rows; made once, used in every layer.
#[derive(Default)]
struct Scratch {
    rounded: Rounded,
    firsts: Rounded,
    up: Rounded,
    projected: Vec<f32>,
}

impl PackedBert {
    /// Packs an encoder; its own weights are given up layer by layer.
    ///
    /// # Errors
    /// When a matrix has another shape than the layers around it.
    pub(super) fn of(bert: Bert) -> candle_core::Result<Self> {
        let Bert { embeddings, layers, heads, eps } = bert;
        let hidden = embeddings.hidden();
        let layers = layers.into_par_iter().map(|layer| PackedLayer::of(layer, hidden));
        Ok(Self { embeddings, layers: layers.collect::<candle_core::Result<_>>()?, heads, eps })
    }

    fn pass(&self, rows: &Rows, from: usize, to: usize, keep: Keep) -> candle_core::Result<Vec<f32>> {
        let start = rows.bounds.get(from).copied().unwrap_or(0);
        let bounds: Vec<usize> = rows.bounds.iter().take(to + 1).skip(from).map(|&at| at - start).collect();
        let attended = rows.attended.get(from..to).unwrap_or_default();
        let texts = Texts { bounds: &bounds, attended };
        let mut x = self.embeddings.rows(rows, start, texts.bounds, self.eps)?;
        let mut scratch = Scratch::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let first_only = keep == Keep::First && i + 1 == self.layers.len();
            x = layer.forward(x, texts, first_only, self.heads, self.eps, &mut scratch)?;
        }
        if keep == Keep::First && self.layers.is_empty() {
            x = firsts(&x, texts, self.hidden());
        }
        Ok(x)
    }
}

/// The rows of the first tokens.
fn firsts(x: &[f32], texts: Texts<'_>, hidden: usize) -> Vec<f32> {
    let starts = texts.bounds.iter().take(texts.len());
    starts.flat_map(|at| x.get(at * hidden..(at + 1) * hidden).unwrap_or_default()).copied().collect()
}

/// Where pieces of about the same number of rows begin, and the end of the last; in texts.
fn pieces(bounds: &[usize], threads: usize) -> Vec<usize> {
    let total = bounds.last().copied().unwrap_or(0);
    let count = total.div_ceil(ROWS_A_PIECE).next_multiple_of(threads.max(1)).max(1);
    let (mut cuts, mut next) = (vec![0], 1);
    for (text, &end) in bounds.iter().enumerate().skip(1) {
        let last = text + 1 == bounds.len();
        if last || end * count >= next * total {
            cuts.push(text);
            // A long text may have filled several pieces at once.
            next = end * count / total.max(1) + 1;
        }
    }
    cuts
}

impl Encoder for PackedBert {
    fn hidden(&self) -> usize {
        self.embeddings.hidden()
    }

    fn forward(&self, rows: &Rows, keep: Keep) -> candle_core::Result<Vec<f32>> {
        let cuts = pieces(&rows.bounds, rayon::current_num_threads());
        let pieces = cuts.par_windows(2).with_max_len(1).map(|piece| match *piece {
            [from, to] if from < to => self.pass(rows, from, to, keep),
            _ => Ok(Vec::new()),
        });
        let done: Vec<Vec<f32>> = pieces.collect::<candle_core::Result<_>>()?;
        Ok(match <[Vec<f32>; 1]>::try_from(done) {
            Ok([one]) => one,
            Err(several) => several.concat(),
        })
    }
}

impl PackedLayer {
    fn of(layer: Layer, hidden: usize) -> candle_core::Result<Self> {
        let Layer { attention, attention_out, attention_norm, up, down, output_norm, relative } = layer;
        let part = |part: usize| {
            let rows = attention.weight.narrow(0, part * hidden, hidden)?.contiguous()?;
            with_slice(&rows, |rows| Packed::new(rows, hidden, hidden))
        };
        Ok(Self {
            attention: [part(0)?, part(1)?, part(2)?],
            attention_bias: attention.bias,
            attention_out: PackedLinear::of(attention_out)?,
            attention_norm,
            up: PackedLinear::of(up)?,
            down: PackedLinear::of(down)?,
            output_norm,
            relative,
        })
    }

    fn forward(
        &self,
        x: Vec<f32>,
        texts: Texts<'_>,
        first_only: bool,
        heads: usize,
        eps: f32,
        scratch: &mut Scratch,
    ) -> candle_core::Result<Vec<f32>> {
        let Scratch { rounded, firsts, up, projected } = scratch;
        let [query, key, value] = &self.attention;
        let hidden = query.outputs();
        rounded.set(&x, hidden);
        let residual = if first_only { self::firsts(&x, texts, hidden) } else { x };
        let queries = if first_only {
            firsts.set(&residual, hidden);
            &*firsts
        } else {
            &*rounded
        };
        let (asked, tokens) = (queries.len() * hidden, rounded.len() * hidden);
        projected.resize(asked + 2 * tokens, 0.0);
        let (q, rest) = projected.split_at_mut(asked);
        let (k, v) = rest.split_at_mut(tokens);
        query.product(queries, q, hidden, 0)?;
        key.product(rounded, k, hidden, 0)?;
        value.product(rounded, v, hidden, 0)?;
        let columns = |data, part: usize| {
            let bias = self.attention_bias.get(part * hidden..(part + 1) * hidden).unwrap_or_default();
            Columns { data, stride: hidden, offset: 0, bias }
        };
        let (query, key, value) = (columns(q, 0), columns(k, 1), columns(v, 2));
        let input = Attention { query, key, value, texts, first_only, heads, width: hidden / heads };
        let context = match &self.relative {
            None => kernels::attention(input),
            Some(positions) => positions.attention(input),
        };
        rounded.set(&context, hidden);
        let mut x = context;
        self.attention_out.normed(rounded, &residual, &self.attention_norm, eps, &mut x)?;
        rounded.set(&x, hidden);
        self.up.weight.product_gelu(rounded, &self.up.bias, up)?;
        let mut out = residual;
        self.down.normed(up, &x, &self.output_norm, eps, &mut out)?;
        Ok(out)
    }
}

impl PackedLinear {
    fn of(linear: Linear) -> candle_core::Result<Self> {
        let (outputs, inputs) = linear.weight.dims2()?;
        let weight = with_slice(&linear.weight.contiguous()?, |weight| Packed::new(weight, outputs, inputs))?;
        Ok(Self { weight, bias: linear.bias })
    }

    /// `norm(rows W^T + bias + residual)` into `out`.
    fn normed(
        &self,
        rows: &Rounded,
        residual: &[f32],
        norm: &Norm,
        eps: f32,
        out: &mut [f32],
    ) -> candle_core::Result<()> {
        self.weight.product(rows, out, self.weight.outputs(), 0)?;
        kernels::bias_residual_norm(out, &self.bias, residual, norm, eps);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_every_text_once_and_about_the_same_rows() {
        assert_eq!(pieces(&[0], 2), [0]);
        assert_eq!(pieces(&[0, 40], 2), [0, 1]);
        let even: Vec<usize> = (0..=100).map(|text| text * 45).collect();
        let cuts = pieces(&even, 2);
        assert_eq!((cuts.first(), cuts.last(), cuts.len()), (Some(&0), Some(&100), 19));
        assert!(cuts.windows(2).all(|piece| (4..=7).contains(&(piece[1] - piece[0]))), "{cuts:?}");
        let uneven = [0, 2000, 2010, 2020, 2030];
        assert_eq!(pieces(&uneven, 2), [0, 1, 4]);
    }
}
