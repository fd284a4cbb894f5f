//! Knows the vector units that the running machine has; must not know what the numbers stand for.

use pulp::{Simd, WithSimd};

use super::dense::PANEL;

/// Rows multiplied at once: with two vectors each, their sums fill the registers.
const MOST_ROWS: usize = 6;

/// One product of some rows with a matrix in panels.
pub(super) struct Product<'a> {
    /// Whole rows of `inputs` values.
    pub(super) rows: &'a [f32],
    /// Panels of `inputs` x 16 values.
    pub(super) cells: &'a [f32],
    pub(super) inputs: usize,
    /// Whole rows of `width` values.
    pub(super) out: &'a mut [f32],
    pub(super) width: usize,
}

impl WithSimd for Product<'_> {
    /// Whether the product was computed: not on units of unusual width.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        match S::F32_LANES {
            4 => self.run::<S, 4>(simd),
            8 => self.run::<S, 2>(simd),
            16 => self.run::<S, 1>(simd),
            _ => return false,
        }
        true
    }
}

impl Product<'_> {
    /// Computes the product with `W` vectors to a panel. Each panel is read from memory once and
    /// then serves all rows.
    #[inline(always)]
    fn run<S: Simd, const W: usize>(self, simd: S) {
        let count = self.rows.len() / self.inputs;
        let blocks = count.div_ceil(MOST_ROWS).max(1);
        let block = count.div_ceil(blocks).max(1);
        for (index, panel) in self.cells.chunks_exact(self.inputs * PANEL).enumerate() {
            let cells = S::as_simd_f32s(panel).0.as_chunks::<W>().0;
            let all_rows = self.rows.chunks(block * self.inputs);
            let outs = self.out.chunks_mut(block * self.width);
            for (rows, out) in all_rows.zip(outs) {
                let tile = Tile { rows, cells, width: self.width, column: index * PANEL };
                match rows.len() / self.inputs {
                    1 => tile.multiply::<1>(simd, out),
                    2 => tile.multiply::<2>(simd, out),
                    3 => tile.multiply::<3>(simd, out),
                    4 => tile.multiply::<4>(simd, out),
                    5 => tile.multiply::<5>(simd, out),
                    _ => tile.multiply::<6>(simd, out),
                }
            }
        }
    }
}

/// A few rows and one panel.
struct Tile<'a, S: Simd, const W: usize> {
    rows: &'a [f32],
    cells: &'a [[S::f32s; W]],
    width: usize,
    column: usize,
}

impl<S: Simd, const W: usize> Tile<'_, S, W> {
    /// Multiplies exactly `M` rows.
    #[inline(always)]
    fn multiply<const M: usize>(&self, simd: S, out: &mut [f32]) {
        let inputs = self.cells.len();
        let mut rows: [&[f32]; M] = [&[]; M];
        for (slot, row) in rows.iter_mut().zip(self.rows.chunks_exact(inputs)) {
            *slot = row;
        }
        // Said once here, this spares a check for every single value.
        if rows.iter().any(|row| row.len() != inputs) {
            return;
        }
        let mut sums = [[simd.splat_f32s(0.0); W]; M];
        for (at, cells) in self.cells.iter().enumerate() {
            for m in 0..M {
                let value = simd.splat_f32s(rows[m][at]);
                for j in 0..W {
                    sums[m][j] = simd.mul_add_e_f32s(value, cells[j], sums[m][j]);
                }
            }
        }
        for (out, sums) in out.chunks_exact_mut(self.width).zip(&sums) {
            let out = &mut out[self.column..self.column + PANEL];
            for (out, sum) in S::as_mut_simd_f32s(out).0.iter_mut().zip(sums) {
                *out = *sum;
            }
        }
    }
}
