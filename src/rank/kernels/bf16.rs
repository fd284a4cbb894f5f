//! Matrix products in bf16 with sums in f32: weights packed once, rows rounded before they are multiplied. Knows shapes
//! and which unit computes; nothing of layers.
//!
//! Both numbers of a product are rounded to 8 bits of mantissa, to nearest and even; products and sums are f32. The
//! portable path does the same arithmetic as the vector unit, in another order of sums.

use candle_core::bail;
use half::bf16;

use super::{gelu, wide};

/// Columns of a panel.
pub(super) const PANEL: usize = 64;
/// Lines of a panel for one pair of inputs.
pub(super) const LINES: usize = PANEL / LANES;
const LANES: usize = 16;

/// Weights of one pair of inputs for 16 outputs: the even input in the low half of each number.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line([u32; LANES]);

/// A weight matrix, rounded and laid out as it is read: panels of [`PANEL`] outputs, in each the inputs in pairs.
#[derive(Debug, Clone)]
pub(in crate::rank) struct Packed {
    panels: Vec<Line>,
    inputs: usize,
    outputs: usize,
}

/// Rows of rounded numbers, filled up with a 0 where their length is odd.
#[derive(Debug, Clone, Default)]
pub(in crate::rank) struct Rounded {
    numbers: Vec<bf16>,
    count: usize,
    width: usize,
}

impl Rounded {
    /// Rounds rows of `width` numbers into the place of those before.
    pub(in crate::rank) fn set(&mut self, rows: &[f32], width: usize) {
        let width = width.max(1);
        self.clear(rows.len() / width, width);
        let stride = self.stride();
        if stride == width {
            round(rows, &mut self.numbers);
        } else {
            for (row, out) in rows.chunks_exact(width).zip(self.numbers.chunks_exact_mut(stride)) {
                round(row, out);
            }
        }
    }

    /// Rows.
    pub(in crate::rank) fn len(&self) -> usize {
        self.count
    }

    /// Makes room for some rows; what is in them is left to whoever asked.
    fn clear(&mut self, count: usize, width: usize) {
        (self.count, self.width) = (count, width);
        self.numbers.resize(count * self.stride(), bf16::ZERO);
        if self.stride() != width {
            self.numbers.fill(bf16::ZERO);
        }
    }

    fn stride(&self) -> usize {
        self.width.next_multiple_of(2)
    }
}

fn round(numbers: &[f32], out: &mut [bf16]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(unit) = unit() {
        return unit.round(numbers, out);
    }
    for (number, out) in numbers.iter().zip(out) {
        *out = bf16::from_f32(*number);
    }
}

/// The vector unit, when it is there and in use.
#[cfg(target_arch = "x86_64")]
fn unit() -> Option<super::avx512::Unit> {
    if super::Kernel::current() == super::Kernel::Bf16 { super::avx512::Unit::find() } else { None }
}

impl Packed {
    /// Packs a matrix, a row an output.
    ///
    /// # Errors
    /// When its length is not `outputs` x `inputs`.
    pub(in crate::rank) fn new(weights: &[f32], outputs: usize, inputs: usize) -> candle_core::Result<Self> {
        if outputs.checked_mul(inputs) != Some(weights.len()) {
            bail!("a matrix of {} weights was said to be {outputs} x {inputs}", weights.len());
        }
        let pairs = inputs.div_ceil(2);
        let mut panels = Vec::with_capacity(outputs.div_ceil(PANEL) * pairs * LINES);
        for rows in weights.chunks(PANEL * inputs.max(1)) {
            let number = |output: usize, input: usize| {
                let weight = rows.get(output * inputs + input).filter(|_| input < inputs).copied();
                u32::from(bf16::from_f32(weight.unwrap_or(0.0)).to_bits())
            };
            for pair in 0..pairs {
                for line in 0..LINES {
                    panels.push(Line(std::array::from_fn(|lane| {
                        let output = line * LANES + lane;
                        number(output, 2 * pair) | number(output, 2 * pair + 1) << 16
                    })));
                }
            }
        }
        Ok(Self { panels, inputs, outputs })
    }

    /// Numbers a row of the result.
    pub(in crate::rank) fn outputs(&self) -> usize {
        self.outputs
    }

    /// `rows W^T` into columns `offset..offset + outputs` of rows of `stride` numbers.
    ///
    /// # Errors
    /// When the shapes do not fit.
    pub(in crate::rank) fn product(
        &self,
        rows: &Rounded,
        out: &mut [f32],
        stride: usize,
        offset: usize,
    ) -> candle_core::Result<()> {
        if rows.width != self.inputs || offset + self.outputs > stride || rows.count * stride > out.len() {
            bail!("a matrix product of shapes that do not fit");
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(unit) = unit() {
            use super::avx512::Out;
            if !unit.product(&rows.numbers, &self.panels, self.shape(rows), Out::Plain { out, stride, offset }) {
                bail!("a matrix product of shapes that do not fit");
            }
            return Ok(());
        }
        self.portable(rows, |row, column, sums| {
            let start = row * stride + offset + column;
            if let Some(out) = out.get_mut(start..start + sums.len()) {
                out.copy_from_slice(sums);
            }
        });
        Ok(())
    }

    /// `gelu(rows W^T + bias)`, rounded, in the place of what is in `out`.
    ///
    /// # Errors
    /// When the shapes do not fit.
    pub(in crate::rank) fn product_gelu(
        &self,
        rows: &Rounded,
        bias: &[f32],
        out: &mut Rounded,
    ) -> candle_core::Result<()> {
        if rows.width != self.inputs || bias.len() != self.outputs {
            bail!("a matrix product of shapes that do not fit");
        }
        out.clear(rows.count, self.outputs);
        let stride = out.stride();
        #[cfg(target_arch = "x86_64")]
        if let Some(unit) = unit() {
            use super::avx512::Out;
            let to = Out::Gelu { out: &mut out.numbers, stride, bias };
            if !unit.product(&rows.numbers, &self.panels, self.shape(rows), to) {
                bail!("a matrix product of shapes that do not fit");
            }
            return Ok(());
        }
        self.portable(rows, |row, column, sums| {
            let bias = bias.get(column..).unwrap_or_default();
            let out = out.numbers.get_mut(row * stride + column..).unwrap_or_default();
            for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                *out = bf16::from_f32(gelu(sum + bias));
            }
        });
        Ok(())
    }

    #[cfg(target_arch = "x86_64")]
    fn shape(&self, rows: &Rounded) -> super::avx512::Shape {
        super::avx512::Shape { count: rows.count, pairs: self.inputs.div_ceil(2), outputs: self.outputs }
    }

    /// The product without the vector unit; hands out the sums of a row and a panel, with their row and first column.
    fn portable(&self, rows: &Rounded, mut out: impl FnMut(usize, usize, &[f32])) {
        let pairs = self.inputs.div_ceil(2);
        for (panel, lines) in self.panels.chunks_exact((pairs * LINES).max(1)).enumerate() {
            let width = (self.outputs - panel * PANEL).min(PANEL);
            for (row, numbers) in rows.numbers.chunks_exact(rows.stride().max(1)).enumerate() {
                let mut sums = [[0.0_f32; LANES]; LINES];
                wide(
                    #[inline(always)]
                    || multiply(numbers, lines, &mut sums),
                );
                if let Some(sums) = sums.as_flattened().get(..width) {
                    out(row, panel * PANEL, sums);
                }
            }
        }
    }
}

/// Adds the products of one row with one panel.
#[inline(always)]
fn multiply(row: &[bf16], panel: &[Line], sums: &mut [[f32; LANES]; LINES]) {
    for (pair, lines) in row.as_chunks::<2>().0.iter().zip(panel.as_chunks::<LINES>().0) {
        let [even, odd] = pair.map(bf16::to_f32);
        for (sums, line) in sums.iter_mut().zip(lines) {
            for (sum, both) in sums.iter_mut().zip(line.0) {
                *sum += odd * f32::from_bits(both & 0xffff_0000);
                *sum += even * f32::from_bits(both << 16);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::path::on_every_kernel;
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn rounded(rows: &[f32], width: usize) -> Rounded {
        let mut rounded = Rounded::default();
        rounded.set(rows, width);
        rounded
    }

    /// The product of the rounded numbers in f64, and how large its terms were.
    fn wanted(x: &[f32], w: &[f32], inputs: usize) -> Vec<(f64, f64)> {
        let near = |x: &f32| f64::from(bf16::from_f32(*x).to_f32());
        let rows = x.chunks_exact(inputs);
        rows.flat_map(|row| {
            w.chunks_exact(inputs).map(move |weights| {
                let terms = row.iter().zip(weights).map(|(x, w)| near(x) * near(w));
                terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
            })
        })
        .collect()
    }

    const SHAPES: [(usize, usize, usize); 10] = [
        (1, 1, 1),
        (1, 384, 384),
        (2, 3, 17),
        (3, 33, 65),
        (5, 8, 200),
        (6, 64, 64),
        (7, 31, 63),
        (13, 100, 130),
        (512, 384, 96),
        (97, 1536, 40),
    ];

    #[test]
    fn products_of_all_shapes_are_those_of_the_rounded_numbers() {
        on_every_kernel(|kernel| {
            for (seed, (count, inputs, outputs)) in SHAPES.into_iter().enumerate() {
                let (x, w) = (numbers(count * inputs, seed as u32), numbers(outputs * inputs, 77 + seed as u32));
                let packed = Packed::new(&w, outputs, inputs).unwrap();
                // Columns on both sides must stay as they are.
                let stride = outputs + 5;
                let mut out = vec![7.0; count * stride];
                packed.product(&rounded(&x, inputs), &mut out, stride, 2).unwrap();
                let wanted = wanted(&x, &w, inputs);
                for (row, wanted) in out.chunks_exact(stride).zip(wanted.chunks_exact(outputs)) {
                    assert_eq!((&row[..2], &row[2 + outputs..]), (&[7.0; 2][..], &[7.0; 3][..]));
                    for (found, (sum, size)) in row[2..].iter().zip(wanted) {
                        let apart = (f64::from(*found) - sum).abs();
                        assert!(apart <= 1e-6 * size, "{kernel:?} {count} x {inputs} x {outputs}: {found} for {sum}");
                    }
                }
            }
        });
    }

    #[test]
    fn the_activation_is_that_of_the_product() {
        on_every_kernel(|kernel| {
            for (count, inputs, outputs) in SHAPES {
                let (x, w, bias) = (numbers(count * inputs, 5), numbers(outputs * inputs, 6), numbers(outputs, 7));
                let packed = Packed::new(&w, outputs, inputs).unwrap();
                let mut plain = vec![0.0; count * outputs];
                packed.product(&rounded(&x, inputs), &mut plain, outputs, 0).unwrap();
                let mut out = rounded(&[1.0; 12], 3);
                packed.product_gelu(&rounded(&x, inputs), &bias, &mut out).unwrap();
                assert_eq!((out.len(), out.width), (count, outputs));
                let stride = out.stride();
                for (row, sums) in out.numbers.chunks_exact(stride).zip(plain.chunks_exact(outputs)) {
                    assert!(row[outputs..].iter().all(|x| *x == bf16::ZERO), "{kernel:?}: filled up with 0");
                    for ((found, sum), bias) in row.iter().zip(sums).zip(&bias) {
                        let wanted = gelu(sum + bias);
                        let apart = (found.to_f32() - wanted).abs();
                        assert!(apart <= 0.005 * wanted.abs() + 1e-6, "{kernel:?}: {found} for {wanted}");
                    }
                }
            }
        });
    }

    #[test]
    fn what_is_no_number_stays_so() {
        on_every_kernel(|kernel| {
            for (count, inputs, outputs) in [(1, 2, 3), (7, 33, 70), (6, 64, 64)] {
                let w = vec![1.0; outputs * inputs];
                let packed = Packed::new(&w, outputs, inputs).unwrap();
                for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut x = vec![1.0; count * inputs];
                    x[(count - 1) * inputs + inputs - 1] = bad;
                    let mut out = vec![0.0; count * outputs];
                    packed.product(&rounded(&x, inputs), &mut out, outputs, 0).unwrap();
                    let (good, last) = out.split_at((count - 1) * outputs);
                    assert!(good.iter().all(|x| *x == inputs as f32), "{kernel:?}: the other rows are as they were");
                    let same = |x: &f32| x.total_cmp(&bad).is_eq() || (bad.is_nan() && x.is_nan());
                    assert!(last.iter().all(same), "{kernel:?}: {bad} became {last:?}");
                    let mut active = Rounded::default();
                    packed.product_gelu(&rounded(&x, inputs), &vec![0.0; outputs], &mut active).unwrap();
                    let row = &active.numbers[(count - 1) * active.stride()..][..outputs];
                    assert!(bad < 0.0 || row.iter().all(|x| !x.is_finite()), "{kernel:?}: {bad} became {row:?}");
                }
                let mut weights = w.clone();
                weights[inputs - 1] = f32::NAN;
                let packed = Packed::new(&weights, outputs, inputs).unwrap();
                let mut out = vec![0.0; count * outputs];
                packed.product(&rounded(&vec![1.0; count * inputs], inputs), &mut out, outputs, 0).unwrap();
                for row in out.chunks_exact(outputs) {
                    assert!(row[0].is_nan() && row[1..].iter().all(|x| *x == inputs as f32), "{kernel:?}: {row:?}");
                }
            }
        });
    }

    #[test]
    fn nothing_gives_nothing_and_what_does_not_fit_is_refused() {
        on_every_kernel(|kernel| {
            let packed = Packed::new(&numbers(12, 1), 3, 4).unwrap();
            let nothing = rounded(&[], 4);
            assert_eq!(nothing.len(), 0);
            packed.product(&nothing, &mut [], 3, 0).unwrap();
            let mut active = rounded(&[1.0, 2.0], 1);
            packed.product_gelu(&nothing, &[0.0; 3], &mut active).unwrap();
            assert_eq!((active.len(), active.numbers.len()), (0, 0), "{kernel:?}");
            let two = rounded(&numbers(8, 2), 4);
            let refused = [
                packed.product(&two, &mut [0.0; 5], 3, 0),
                packed.product(&two, &mut [0.0; 6], 3, 1),
                packed.product(&rounded(&numbers(8, 2), 8), &mut [0.0; 6], 3, 0),
                packed.product_gelu(&two, &[0.0; 2], &mut active),
                Packed::new(&[0.0; 11], 3, 4).map(|_| ()),
            ];
            assert!(refused.iter().all(Result::is_err), "{kernel:?}: {refused:?}");
        });
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_and_even() {
        on_every_kernel(|kernel| {
            let mut x = numbers(1000, 3);
            x.extend([0.0, -0.0, 1.0, 1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, f32::MAX, f32::MIN, 3e38, 1e30, -1e-30]);
            let found = rounded(&x, 1).numbers;
            for (found, x) in found.chunks_exact(2).zip(&x) {
                assert_eq!(found[0].to_bits(), bf16::from_f32(*x).to_bits(), "{kernel:?}: {x}");
            }
        });
    }
}
