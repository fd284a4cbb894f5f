//! A BERT encoder without padding: texts lie back to back as rows, matrix products go through candle and everything
//! between them through the fused kernels. Knows weights and token ids; nothing of texts or scores.

use std::sync::Arc;

use candle_core::{CpuStorage, D, Device, InplaceOp1, Layout, Storage, Tensor};

use super::kernels::{self, Columns, Norm};
use super::weights::{Config, Weights};
use super::wordpiece::Rows;

/// Rows that go through the layers at once: enough to fill the matrix kernels, few enough to stay near the caches.
const ROWS_A_PASS: usize = 512;

/// The weights of an encoder.
pub(super) struct Bert {
    embeddings: Arc<Embeddings>,
    layers: Vec<Layer>,
    heads: usize,
    eps: f32,
}

/// What tokens start from. Adapters leave it alone, so an adapted encoder shares it with its base.
struct Embeddings {
    hidden: usize,
    words: Vec<f32>,
    positions: Vec<f32>,
    segments: Vec<f32>,
    norm: Norm,
}

/// One layer; query, key and value are one matrix, because they read the same rows.
pub(super) struct Layer {
    pub attention: Linear,
    pub attention_out: Linear,
    pub attention_norm: Norm,
    pub up: Linear,
    pub down: Linear,
    pub output_norm: Norm,
}

/// A linear layer: weight out x in, bias out.
pub(super) struct Linear {
    pub weight: Tensor,
    pub bias: Vec<f32>,
}

/// Which rows of the last layer are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Every token's.
    All,
    /// Only each text's first token's, which saves most of the last layer.
    First,
}

impl Bert {
    /// Takes the encoder out of a weights file.
    pub(super) fn load(config: &Config, weights: &Weights<'_>) -> candle_core::Result<Self> {
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
        let embeddings = Embeddings {
            hidden: config.hidden_size,
            words: weights.numbers("embeddings.word_embeddings.weight")?,
            positions: weights.numbers("embeddings.position_embeddings.weight")?,
            segments: weights.numbers("embeddings.token_type_embeddings.weight")?,
            norm: norm("embeddings.LayerNorm")?,
        };
        let layer = |i: usize| -> candle_core::Result<Layer> {
            let [qkv @ .., attention_out, up, down] = &linear_names(i);
            Ok(Layer {
                attention: linear(qkv)?,
                attention_out: linear(std::slice::from_ref(attention_out))?,
                attention_norm: norm(&format!("encoder.layer.{i}.attention.output.LayerNorm"))?,
                up: linear(std::slice::from_ref(up))?,
                down: linear(std::slice::from_ref(down))?,
                output_norm: norm(&format!("encoder.layer.{i}.output.LayerNorm"))?,
            })
        };
        Ok(Self {
            embeddings: Arc::new(embeddings),
            layers: (0..config.num_hidden_layers).map(layer).collect::<candle_core::Result<_>>()?,
            heads: config.num_attention_heads,
            eps: config.layer_norm_eps as f32,
        })
    }

    /// An encoder with other layers on the same embeddings.
    pub(super) fn with_layers(&self, layers: Vec<Layer>) -> Self {
        Self { embeddings: Arc::clone(&self.embeddings), layers, heads: self.heads, eps: self.eps }
    }

    /// The layers, for an adapter to build on.
    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Numbers a token.
    pub(super) fn hidden(&self) -> usize {
        self.embeddings.hidden
    }

    /// The last hidden states of all texts, row-major: a row a token, or a row a text with [`Keep::First`].
    pub(super) fn forward(&self, rows: &Rows, keep: Keep) -> candle_core::Result<Vec<f32>> {
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
            out.extend(self.pass(rows, start, &bounds, keep)?);
            first = last;
        }
        Ok(out)
    }

    /// Sends some texts through all layers: those whose rows start at `start` with these relative bounds.
    fn pass(&self, rows: &Rows, start: usize, bounds: &[usize], keep: Keep) -> candle_core::Result<Vec<f32>> {
        let hidden = self.hidden();
        let total = bounds.last().copied().unwrap_or(0);
        let embedded = self.embeddings.rows(rows, start, bounds, self.eps)?;
        let mut x = Tensor::from_vec(embedded, (total, hidden), &Device::Cpu)?;
        for (i, layer) in self.layers.iter().enumerate() {
            let first_only = keep == Keep::First && i + 1 == self.layers.len();
            x = layer.forward(&x, bounds, first_only, self.heads, self.eps)?;
        }
        x.flatten_all()?.to_vec1()
    }
}

impl Embeddings {
    fn rows(&self, rows: &Rows, start: usize, bounds: &[usize], eps: f32) -> candle_core::Result<Vec<f32>> {
        let h = self.hidden;
        let row_of = |table: &'_ [f32], at: usize| table.get(at * h..(at + 1) * h).map(<[f32]>::to_vec);
        let mut out = Vec::with_capacity(bounds.last().copied().unwrap_or(0) * h);
        for text in bounds.windows(2) {
            let &[from, to] = text else { continue };
            for (position, at) in (start + from..start + to).enumerate() {
                let token = rows.ids.get(at).zip(rows.segments.get(at));
                let row = token.and_then(|(&id, &segment)| {
                    let mut row = row_of(&self.words, id as usize)?;
                    let position = self.positions.get(position * h..(position + 1) * h)?;
                    let segment = self.segments.get(segment as usize * h..(segment as usize + 1) * h)?;
                    for ((x, p), s) in row.iter_mut().zip(position).zip(segment) {
                        *x += p + s;
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
    fn forward(
        &self,
        x: &Tensor,
        bounds: &[usize],
        first_only: bool,
        heads: usize,
        eps: f32,
    ) -> candle_core::Result<Tensor> {
        let hidden = x.dim(D::Minus1)?;
        let width = hidden / heads;
        let (context, residual) = if first_only {
            let firsts: Vec<u32> = bounds.iter().take(bounds.len() - 1).map(|&at| at as u32).collect();
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
                    Ok(kernels::attention(query, key, value, bounds, true, heads, width))
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
                Ok(kernels::attention(part(0), part(1), part(2), bounds, false, heads, width))
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

/// Names of a layer's linear layers in a weights file: query, key, value, attention output, up, down.
pub(super) fn linear_names(layer: usize) -> [String; 6] {
    [
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "intermediate.dense",
        "output.dense",
    ]
    .map(|name| format!("encoder.layer.{layer}.{name}"))
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
