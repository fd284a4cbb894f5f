//! The encoder of BERT, RoBERTa and DeBERTa without padding: texts lie back to back as rows, matrix products go through
//! candle and everything between them through the fused kernels. Knows weights and token ids; nothing of texts or scores.

use std::sync::Arc;

use candle_core::{CpuStorage, D, Device, InplaceOp1, Layout, Storage, Tensor};
use rayon::prelude::*;

use super::config::Config;
use super::encoder::{Encoder, Keep};
use super::kernels::{self, Attention, Columns, Norm, Texts};
use super::relative::RelativePositions;
use super::tokenizer::Rows;
use super::weights::{Table, Weights};

/// Rows that go through the layers at once: enough to fill the matrix kernels, few enough to stay near the caches.
const ROWS_A_PASS: usize = 512;

/// The weights of an encoder.
#[derive(Clone)]
pub(super) struct Bert {
    pub embeddings: Arc<Embeddings>,
    pub layers: Vec<Layer>,
    pub heads: usize,
    pub eps: f32,
}

/// What the families call the parts of a layer, and what they start from.
pub(super) struct Naming {
    /// Query, key and value of a layer.
    pub attention: [&'static str; 3],
    /// Added to every position.
    pub first_position: usize,
    /// Whether the family has absolute positions.
    pub positions: bool,
    /// Whether the family tells the texts of a pair apart.
    pub segments: bool,
}

/// What tokens start from. Adapters leave it alone, so an adapted encoder shares it with its base.
pub(super) struct Embeddings {
    hidden: usize,
    words: Table,
    /// Empty when the family has none.
    positions: Vec<f32>,
    first_position: usize,
    /// Empty when the family has none.
    segments: Vec<f32>,
    norm: Norm,
}

/// One layer; query, key and value are one matrix, because they read the same rows.
#[derive(Clone)]
pub(super) struct Layer {
    pub attention: Linear,
    pub attention_out: Linear,
    pub attention_norm: Norm,
    pub up: Linear,
    pub down: Linear,
    pub output_norm: Norm,
    /// Where tokens stand to each other, in the family that looks at that in every layer.
    pub relative: Option<RelativePositions>,
}

/// A linear layer: weight out x in, bias out.
#[derive(Clone)]
pub(super) struct Linear {
    pub weight: Tensor,
    pub bias: Vec<f32>,
}

impl Bert {
    /// Takes the encoder out of a weights file.
    pub(super) fn load(config: &Config, weights: &Weights<'_>, naming: &Naming) -> candle_core::Result<Self> {
        let norm = |name: &str| -> candle_core::Result<Norm> {
            let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
            Ok(Norm { weight: weights.numbers(&weight)?, bias: weights.numbers(&bias)? })
        };
        let linear = |names: &[String]| -> candle_core::Result<Linear> {
            let mut matrices = Vec::with_capacity(names.len());
            let mut bias = Vec::new();
            for name in names {
                matrices.push(weights.tensor(&format!("{name}.weight"))?);
                bias.extend(weights.numbers(&format!("{name}.bias"))?);
            }
            Ok(Linear { weight: Tensor::cat(&matrices, 0)?, bias })
        };
        let hidden = config.hidden_size;
        let table = |wanted: bool, name: &str| match wanted {
            true => weights.numbers(&format!("embeddings.{name}_embeddings.weight")),
            false => Ok(Vec::new()),
        };
        let embeddings = Embeddings {
            hidden,
            words: weights.table("embeddings.word_embeddings.weight", config.vocab_size, hidden)?,
            positions: table(naming.positions, "position")?,
            first_position: naming.first_position,
            segments: table(naming.segments, "token_type")?,
            norm: norm("embeddings.LayerNorm")?,
        };
        let layer = |i: usize| -> candle_core::Result<Layer> {
            let [qkv @ .., attention_out, up, down] = &linear_names(i, naming.attention);
            Ok(Layer {
                attention: linear(qkv)?,
                attention_out: linear(std::slice::from_ref(attention_out))?,
                attention_norm: norm(&format!("encoder.layer.{i}.attention.output.LayerNorm"))?,
                up: linear(std::slice::from_ref(up))?,
                down: linear(std::slice::from_ref(down))?,
                output_norm: norm(&format!("encoder.layer.{i}.output.LayerNorm"))?,
                relative: None,
            })
        };
        Ok(Self {
            embeddings: Arc::new(embeddings),
            layers: (0..config.num_hidden_layers).into_par_iter().map(layer).collect::<candle_core::Result<_>>()?,
            heads: config.num_attention_heads,
            eps: config.eps() as f32,
        })
    }

    /// An encoder with other layers on the same embeddings.
    pub(super) fn with_layers(&self, layers: Vec<Layer>) -> Self {
        Self { embeddings: Arc::clone(&self.embeddings), layers, heads: self.heads, eps: self.eps }
    }

    /// Sends some texts through all layers: those whose rows start at `start` with these relative bounds.
    fn pass(&self, rows: &Rows, start: usize, texts: Texts<'_>, keep: Keep) -> candle_core::Result<Vec<f32>> {
        let hidden = self.hidden();
        let total = texts.bounds.last().copied().unwrap_or(0);
        let embedded = self.embeddings.rows(rows, start, texts.bounds, self.eps)?;
        let mut x = Tensor::from_vec(embedded, (total, hidden), &Device::Cpu)?;
        for (i, layer) in self.layers.iter().enumerate() {
            let first_only = keep == Keep::First && i + 1 == self.layers.len();
            x = layer.forward(&x, texts, first_only, self.heads, self.eps)?;
        }
        x.flatten_all()?.to_vec1()
    }
}

impl Encoder for Bert {
    fn hidden(&self) -> usize {
        self.embeddings.hidden
    }

    fn forward(&self, rows: &Rows, keep: Keep) -> candle_core::Result<Vec<f32>> {
        let wanted = if keep == Keep::All { rows.ids.len() } else { rows.len() };
        let mut out = Vec::with_capacity(wanted * self.hidden());
        let mut first = 0;
        while first < rows.len() {
            let start = rows.bounds.get(first).copied().unwrap_or(0);
            let mut last = first + 1;
            while rows.bounds.get(last + 1).is_some_and(|&end| end - start <= ROWS_A_PASS) {
                last += 1;
            }
            let bounds: Vec<usize> = rows.bounds.iter().take(last + 1).skip(first).map(|&at| at - start).collect();
            let attended = rows.attended.get(first..last).unwrap_or_default();
            out.extend(self.pass(rows, start, Texts { bounds: &bounds, attended }, keep)?);
            first = last;
        }
        Ok(out)
    }
}

impl Embeddings {
    /// Numbers a token.
    pub(super) fn hidden(&self) -> usize {
        self.hidden
    }

    /// Normed rows of the tokens of texts that start at `start`, with these bounds from there.
    pub(super) fn rows(&self, rows: &Rows, start: usize, bounds: &[usize], eps: f32) -> candle_core::Result<Vec<f32>> {
        let h = self.hidden;
        let mut out = Vec::with_capacity(bounds.last().copied().unwrap_or(0) * h);
        for text in bounds.windows(2) {
            let &[from, to] = text else { continue };
            for (position, at) in (start + from..start + to).enumerate() {
                let position = position + self.first_position;
                let token = rows.ids.get(at).zip(rows.segments.get(at));
                let row = token.and_then(|(&id, &segment)| {
                    let mut row = self.words.row(id as usize, h)?;
                    // A family with one segment gives it to all tokens.
                    let segment = if self.segments.len() > h { segment as usize } else { 0 };
                    for (table, at) in [(&self.positions, position), (&self.segments, segment)] {
                        if !table.is_empty() {
                            row.iter_mut().zip(table.get(at * h..(at + 1) * h)?).for_each(|(x, y)| *x += y);
                        }
                    }
                    Some(row)
                });
                let Some(mut row) = row else {
                    candle_core::bail!("the tokenizer gave a token that the weights have no row for");
                };
                self.norm.apply(&mut row, eps);
                out.extend(row);
            }
        }
        Ok(out)
    }
}

impl Layer {
    fn attend(&self, input: Attention<'_>) -> Vec<f32> {
        match &self.relative {
            None => kernels::attention(input),
            Some(positions) => positions.attention(input),
        }
    }

    fn forward(
        &self,
        x: &Tensor,
        texts: Texts<'_>,
        first_only: bool,
        heads: usize,
        eps: f32,
    ) -> candle_core::Result<Tensor> {
        let hidden = x.dim(D::Minus1)?;
        let width = hidden / heads;
        let (context, residual) = if first_only {
            let firsts: Vec<u32> = texts.bounds.iter().take(texts.len()).map(|&at| at as u32).collect();
            let firsts = x.index_select(&Tensor::new(firsts, &Device::Cpu)?, 0)?;
            let query = firsts.matmul(&self.attention.weight.narrow(0, 0, hidden)?.t()?)?;
            let key_value = x.matmul(&self.attention.weight.narrow(0, hidden, 2 * hidden)?.t()?)?;
            let context = with_slice(&query, |query| {
                with_slice(&key_value, |data| {
                    let columns = |data, stride, offset, part: usize| Columns {
                        data,
                        stride,
                        offset,
                        bias: self.attention.bias.get(part * hidden..(part + 1) * hidden).unwrap_or_default(),
                    };
                    let query = columns(query, hidden, 0, 0);
                    let (key, value) = (columns(data, 2 * hidden, 0, 1), columns(data, 2 * hidden, hidden, 2));
                    Ok(self.attend(Attention { query, key, value, texts, first_only, heads, width }))
                })
            })?;
            (context, firsts)
        } else {
            let all = x.matmul(&self.attention.weight.t()?)?;
            let context = with_slice(&all, |data| {
                let part = |part: usize| Columns {
                    data,
                    stride: 3 * hidden,
                    offset: part * hidden,
                    bias: self.attention.bias.get(part * hidden..(part + 1) * hidden).unwrap_or_default(),
                };
                let (query, key, value) = (part(0), part(1), part(2));
                Ok(self.attend(Attention { query, key, value, texts, first_only, heads, width }))
            })?;
            (context, x.clone())
        };
        let context = Tensor::from_vec(context, residual.shape(), &Device::Cpu)?;
        let x = self.attention_out.normed(&context, &residual, &self.attention_norm, eps)?;
        let up = x.matmul(&self.up.weight.t()?)?;
        up.inplace_op1(&InPlace(|rows: &mut [f32]| kernels::bias_gelu(rows, &self.up.bias)))?;
        self.down.normed(&up, &x, &self.output_norm, eps)
    }
}

impl Linear {
    /// `norm(x W^T + bias + residual)`.
    fn normed(&self, x: &Tensor, residual: &Tensor, norm: &Norm, eps: f32) -> candle_core::Result<Tensor> {
        let out = x.matmul(&self.weight.t()?)?;
        with_slice(residual, |residual| {
            out.inplace_op1(&InPlace(|rows: &mut [f32]| {
                kernels::bias_residual_norm(rows, &self.bias, residual, norm, eps);
            }))
        })?;
        Ok(out)
    }
}

/// What BERT calls query, key and value of a layer.
pub(super) const ATTENTION: [&str; 3] = ["query", "key", "value"];

/// Names of a layer's linear layers in a weights file: query, key, value, attention output, up, down.
pub(super) fn linear_names(layer: usize, [query, key, value]: [&str; 3]) -> [String; 6] {
    let own = |name| format!("attention.self.{name}");
    let shared = ["attention.output.dense", "intermediate.dense", "output.dense"].map(str::to_owned);
    let [attention_out, up, down] = shared;
    [own(query), own(key), own(value), attention_out, up, down].map(|name| format!("encoder.layer.{layer}.{name}"))
}

/// Reads a contiguous f32 tensor without copying it.
pub(super) fn with_slice<R>(
    tensor: &Tensor,
    read: impl FnOnce(&[f32]) -> candle_core::Result<R>,
) -> candle_core::Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    let (Storage::Cpu(storage), Some((start, end))) = (&*storage, layout.contiguous_offsets()) else {
        candle_core::bail!("a tensor is not where the kernels can read it");
    };
    let Some(slice) = storage.as_slice::<f32>()?.get(start..end) else {
        candle_core::bail!("a tensor is shorter than its shape");
    };
    read(slice)
}

/// Changes a fresh tensor of f32 in place.
struct InPlace<F>(F);

impl<F: Fn(&mut [f32])> InplaceOp1 for InPlace<F> {
    fn name(&self) -> &'static str {
        "in-place"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
        match (storage, layout.contiguous_offsets()) {
            (CpuStorage::F32(numbers), Some((start, end))) => {
                if let Some(numbers) = numbers.get_mut(start..end) {
                    (self.0)(numbers);
                    return Ok(());
                }
                candle_core::bail!("a tensor is shorter than its shape")
            }
            _ => candle_core::bail!("the kernels work on contiguous f32 only"),
        }
    }
}
