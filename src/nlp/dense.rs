//! Knows how to multiply small f32 matrices quickly; must not know what the numbers stand for.
//!
//! Products are computed by the widest vector units at hand. The loops in this file are for
//! machines where none of those is known; they are written so that the compiler can still use
//! four lanes, with inputs repeated four times so that no instruction is spent on spreading them.

use super::wide::Product;

/// Lanes of the narrowest vector unit.
const LANES: usize = 4;

/// Vectors side by side in one panel of a matrix.
const VECTORS: usize = 4;

/// Columns of one panel; results are this wide or a multiple of it.
pub(super) const PANEL: usize = LANES * VECTORS;

/// Most rows multiplied at once: their sums must stay in registers.
const MOST_ROWS: usize = 12;

type Lanes = [f32; LANES];

/// A constant matrix of `inputs` x `outputs`, stored in panels of 16 columns.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    inputs: usize,
    width: usize,
    cells: Vec<[Lanes; VECTORS]>,
}

impl Matrix {
    /// The matrix whose columns are `column(output)`, slices of `inputs` values; missing columns
    /// and values are zero.
    pub(super) fn new<C: AsRef<[f32]>>(inputs: usize, outputs: usize, column: impl Fn(usize) -> C) -> Self {
        let panels = outputs.div_ceil(PANEL);
        let mut cells = vec![[[0.0; LANES]; VECTORS]; panels * inputs];
        for (index, panel) in cells.chunks_mut(inputs).enumerate() {
            for place in 0..PANEL.min(outputs - index * PANEL) {
                let values = column(index * PANEL + place);
                for (cell, value) in panel.iter_mut().zip(values.as_ref()) {
                    cell[place / LANES][place % LANES] = *value;
                }
            }
        }
        Self { inputs, width: panels * PANEL, cells }
    }

    /// Columns of a result: the number of outputs, rounded up to a multiple of 16.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// `out = rows · self`, where `rows` holds whole rows of `inputs` values, and `out` becomes as
    /// many rows of `width` values. `spread` is scratch space.
    pub(super) fn multiply(&self, rows: &[f32], out: &mut Vec<f32>, spread: &mut Vec<Lanes>) {
        let count = rows.len() / self.inputs;
        out.resize(count * self.width, 0.0);
        if count == 0 {
            return;
        }
        let product = Product {
            rows,
            cells: self.cells.as_flattened().as_flattened(),
            inputs: self.inputs,
            out,
            width: self.width,
        };
        if pulp::Arch::new().dispatch(product) {
            return;
        }
        let blocks = count.div_ceil(MOST_ROWS);
        let block = count.div_ceil(blocks);
        let inputs = rows.chunks(block * self.inputs);
        let outputs = out.chunks_mut(block * self.width);
        for (rows, out) in inputs.zip(outputs) {
            match rows.len() / self.inputs {
                1 => self.block::<1, 4>(rows, out, spread),
                2 => self.block::<2, 4>(rows, out, spread),
                3 => self.block::<3, 2>(rows, out, spread),
                4 => self.block::<4, 2>(rows, out, spread),
                5 => self.block::<5, 2>(rows, out, spread),
                6 => self.block::<6, 1>(rows, out, spread),
                7 => self.block::<7, 1>(rows, out, spread),
                8 => self.block::<8, 1>(rows, out, spread),
                9 => self.block::<9, 1>(rows, out, spread),
                10 => self.block::<10, 1>(rows, out, spread),
                11 => self.block::<11, 1>(rows, out, spread),
                _ => self.block::<12, 1>(rows, out, spread),
            }
        }
    }

    /// Multiplies exactly `M` rows, `W` vectors of columns at a time.
    #[inline(never)]
    fn block<const M: usize, const W: usize>(&self, rows: &[f32], out: &mut [f32], spread: &mut Vec<Lanes>) {
        spread.clear();
        spread.resize(self.inputs * M, [0.0; LANES]);
        for (m, row) in rows.chunks_exact(self.inputs).enumerate().take(M) {
            for (slots, value) in spread.as_chunks_mut::<M>().0.iter_mut().zip(row) {
                slots[m] = [*value; LANES];
            }
        }
        let rows = spread.as_chunks::<M>().0;
        for (index, panel) in self.cells.chunks_exact(self.inputs).enumerate() {
            for first in (0..VECTORS).step_by(W) {
                let sums = tile::<M, W>(rows, panel, first);
                let column = index * PANEL + first * LANES;
                for (out, sums) in out.chunks_exact_mut(self.width).zip(&sums) {
                    let out = &mut out[column..column + W * LANES];
                    for (out, sum) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
                        *out = *sum;
                    }
                }
            }
        }
    }
}

/// The sums of `M` rows with `W` vectors of one panel, from vector `first` on.
#[inline(always)]
fn tile<const M: usize, const W: usize>(
    rows: &[[Lanes; M]],
    panel: &[[Lanes; VECTORS]],
    first: usize,
) -> [[Lanes; W]; M] {
    let mut sums = [[[0.0; LANES]; W]; M];
    if first + W > VECTORS {
        return sums;
    }
    for (values, cells) in rows.iter().zip(panel) {
        for (sums, value) in sums.iter_mut().zip(values) {
            for (j, sum) in sums.iter_mut().enumerate() {
                let cell = &cells[first + j];
                for lane in 0..LANES {
                    sum[lane] += value[lane] * cell[lane];
                }
            }
        }
    }
    sums
}

/// Adds `addend` to `sum`, element by element.
#[inline]
pub(super) fn add(sum: &mut [f32], addend: &[f32]) {
    for (sum, addend) in sum.iter_mut().zip(addend) {
        *sum += addend;
    }
}

/// The larger of two numbers; unlike `f32::max`, one instruction.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_number_of_rows_gives_the_plain_product() {
        let (inputs, outputs) = (7, 37);
        let cell = |i: usize, o: usize| ((i * 31 + o * 17) % 23) as f32 - 11.0;
        let column = |o: usize| (0..inputs).map(|i| cell(i, o)).collect::<Vec<_>>();
        let matrix = Matrix::new(inputs, outputs, column);
        assert_eq!(matrix.width(), 48);
        let (mut out, mut spread) = (Vec::new(), Vec::new());
        for count in 0..30 {
            let rows: Vec<f32> = (0..count * inputs).map(|i| (i % 13) as f32 - 6.0).collect();
            matrix.multiply(&rows, &mut out, &mut spread);
            assert_eq!(out.len(), count * 48);
            for (row, got) in rows.chunks(inputs).zip(out.chunks(48)) {
                for (o, got) in got.iter().enumerate() {
                    let cell = |i: usize| if o < outputs { cell(i, o) } else { 0.0 };
                    let want: f32 = (0..inputs).map(|i| row[i] * cell(i)).sum();
                    assert_eq!(*got, want, "{count} rows, column {o}");
                }
            }
        }
    }
}
