//! Products of bf16 rows and packed weights on AVX-512 with BF16. Knows registers and panels; nothing of layers.
//!
//! The only unsafe code of the program. What is safe here checks every length before it goes to the registers, and
//! [`Unit`] proves that the CPU has them.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use half::bf16;

use super::bf16::{LINES, Line, PANEL};

/// Rows that the registers hold the sums of: with four vectors a row, 24 of 32 registers.
const ROWS: usize = 6;

/// Proof that this CPU has the vector units that this file is compiled for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit(());

/// What becomes of the sums.
pub(super) enum Out<'a> {
    /// They are stored as they are, in rows of `stride` numbers, from column `offset` on.
    Plain { out: &'a mut [f32], stride: usize, offset: usize },
    /// Bias and GELU, rounded to bf16; rows of `stride` numbers.
    Gelu { out: &'a mut [bf16], stride: usize, bias: &'a [f32] },
}

/// One product: `count` rows of `2 * pairs` numbers, `outputs` columns.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub count: usize,
    pub pairs: usize,
    pub outputs: usize,
}

impl Unit {
    /// The unit, when this CPU has it.
    pub(super) fn find() -> Option<Self> {
        let here = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bf16");
        here.then_some(Self(()))
    }

    /// Rounds numbers to bf16, as many as both have.
    pub(super) fn round(self, numbers: &[f32], out: &mut [bf16]) {
        let length = numbers.len().min(out.len());
        // SAFETY: `self` proves the features; both pointers are good for `length` numbers, and `bf16` is a `u16`.
        unsafe { round(numbers.as_ptr(), out.as_mut_ptr().cast(), length) }
    }

    /// Multiplies rows with panels. False, and nothing is written, when the slices are shorter than the shape says.
    #[must_use]
    pub(super) fn product(self, rows: &[bf16], panels: &[Line], shape: Shape, out: Out<'_>) -> bool {
        let Shape { count, pairs, outputs } = shape;
        let needed = |stride: usize, from: usize| {
            (count == 0 || from + outputs <= stride).then(|| count.checked_mul(stride)).flatten()
        };
        let weights = outputs.div_ceil(PANEL).checked_mul(pairs).and_then(|lines| lines.checked_mul(LINES));
        let numbers = count.checked_mul(2 * pairs);
        let read = numbers.is_some_and(|n| n <= rows.len()) && weights.is_some_and(|n| n <= panels.len());
        let written = match &out {
            Out::Plain { out, stride, offset } => needed(*stride, *offset).is_some_and(|n| n <= out.len()),
            Out::Gelu { out, stride, bias } => {
                bias.len() >= outputs && needed(*stride, 0).is_some_and(|n| n <= out.len())
            }
        };
        if !read || !written {
            return false;
        }
        // SAFETY: `self` proves the features. By the checks above all rows and all panels lie inside their slices, and
        // every row of the result ends at or before its stride, so inside `out`.
        unsafe { product(rows.as_ptr().cast(), panels.as_ptr(), shape, out) }
        true
    }
}

/// # Safety
/// The features; `from` and `to` must be good for `length` numbers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn round(from: *const f32, to: *mut u16, length: usize) {
    for at in (0..length).step_by(16) {
        let mask = lanes(length - at);
        // SAFETY: the mask leaves out what lies behind `length`.
        unsafe {
            let numbers = _mm512_maskz_loadu_ps(mask, from.add(at));
            store_rounded(to.add(at), mask, numbers);
        }
    }
}

/// The first `n` of 16 lanes.
#[inline(always)]
fn lanes(n: usize) -> __mmask16 {
    if n >= 16 { u16::MAX } else { (1 << n) - 1 }
}

/// # Safety
/// The features; `to` must be good for the lanes of the mask.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn store_rounded(to: *mut u16, mask: __mmask16, numbers: __m512) {
    // SAFETY: both are 256 bits; the caller vouches for the place.
    unsafe {
        let rounded: __m256i = std::mem::transmute(_mm512_cvtneps_pbh(numbers));
        _mm256_mask_storeu_epi16(to.cast(), mask, rounded);
    }
}

/// # Safety
/// The features, and slices as long as [`Unit::product`] checks.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn product(rows: *const u16, panels: *const Line, shape: Shape, mut out: Out<'_>) {
    let Shape { count, pairs, outputs } = shape;
    for (panel, column) in (0..outputs).step_by(PANEL).enumerate() {
        // A panel stays in the second cache while all rows go by.
        // SAFETY: there is a panel for every `PANEL` columns that were begun.
        let panel = unsafe { panels.add(panel * pairs * LINES) };
        let width = (outputs - column).min(PANEL);
        let mut first = 0;
        while first < count {
            let tile = Tile { first, column, width };
            // SAFETY: `first` is below `count`, and the tile reads at most `count - first` rows.
            unsafe {
                let rows = rows.add(first * 2 * pairs);
                match count - first {
                    1 => tile.run::<1>(rows, panel, pairs, &mut out),
                    2 => tile.run::<2>(rows, panel, pairs, &mut out),
                    3 => tile.run::<3>(rows, panel, pairs, &mut out),
                    4 => tile.run::<4>(rows, panel, pairs, &mut out),
                    5 => tile.run::<5>(rows, panel, pairs, &mut out),
                    _ => tile.run::<ROWS>(rows, panel, pairs, &mut out),
                }
            }
            first += ROWS;
        }
    }
}

/// A few rows of the result, one panel wide.
struct Tile {
    first: usize,
    column: usize,
    /// Columns, at most [`PANEL`].
    width: usize,
}

impl Tile {
    /// # Safety
    /// The features; `M` rows of `2 * pairs` numbers, a panel of `pairs` x [`LINES`] lines, and `M` rows of the result
    /// from `first` on must be there.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
    unsafe fn run<const M: usize>(&self, rows: *const u16, panel: *const Line, pairs: usize, out: &mut Out<'_>) {
        let mut sums = [[_mm512_setzero_ps(); LINES]; M];
        let rows = rows.cast::<i32>();
        for pair in 0..pairs {
            // SAFETY: the caller vouches for the panel and the rows; lines are aligned, pairs need not be.
            unsafe {
                let mut weights: [__m512bh; LINES] = [pairs_of(_mm512_setzero_si512()); LINES];
                for (line, weights) in weights.iter_mut().enumerate() {
                    *weights = pairs_of(_mm512_load_si512(panel.add(pair * LINES + line).cast()));
                }
                for (m, sums) in sums.iter_mut().enumerate() {
                    let both = rows.add(m * pairs + pair).read_unaligned();
                    let both = pairs_of(_mm512_set1_epi32(both));
                    for (sum, weights) in sums.iter_mut().zip(weights) {
                        *sum = _mm512_dpbf16_ps(*sum, both, weights);
                    }
                }
            }
        }
        for (m, sums) in sums.into_iter().enumerate() {
            for (line, sum) in sums.into_iter().enumerate() {
                let mask = lanes(self.width.saturating_sub(line * 16));
                let column = self.column + line * 16;
                // SAFETY: row and masked columns are inside of what the caller vouches for.
                unsafe {
                    match out {
                        Out::Plain { out, stride, offset } => {
                            let at = (self.first + m) * *stride + *offset + column;
                            _mm512_mask_storeu_ps(out.as_mut_ptr().wrapping_add(at), mask, sum);
                        }
                        Out::Gelu { out, stride, bias } => {
                            let at = (self.first + m) * *stride + column;
                            let bias = _mm512_maskz_loadu_ps(mask, bias.as_ptr().wrapping_add(column));
                            let to = out.as_mut_ptr().cast::<u16>().wrapping_add(at);
                            store_rounded(to, mask, gelu(_mm512_add_ps(sum, bias)));
                        }
                    }
                }
            }
        }
    }
}

/// 32 numbers of bf16 from the bits of 16 pairs.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs_of(bits: __m512i) -> __m512bh {
    // SAFETY: both have 512 bits, and every pattern is a number.
    unsafe { std::mem::transmute(bits) }
}

/// x Φ(x) as [`super::gelu`] computes it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
fn gelu(x: __m512) -> __m512 {
    let all = _mm512_set1_ps;
    let z = _mm512_mul_ps(_mm512_abs_ps(x), all(std::f32::consts::FRAC_1_SQRT_2));
    let t = _mm512_div_ps(all(1.0), _mm512_fmadd_ps(all(0.327_591_1), z, all(1.0)));
    let mut p = all(1.061_405_4);
    for c in [-1.453_152, 1.421_413_8, -0.284_496_74, 0.254_829_6] {
        p = _mm512_fmadd_ps(p, t, all(c));
    }
    let erfc = _mm512_mul_ps(_mm512_mul_ps(p, t), exp(_mm512_sub_ps(_mm512_setzero_ps(), _mm512_mul_ps(z, z))));
    let half = _mm512_mul_ps(all(0.5), _mm512_abs_ps(x));
    // Of two numbers one of which is NaN, the second is taken.
    _mm512_fnmadd_ps(half, erfc, _mm512_max_ps(_mm512_setzero_ps(), x))
}

/// e^x for x <= 0 as [`super::exp`] computes it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
fn exp(x: __m512) -> __m512 {
    let all = _mm512_set1_ps;
    let x = _mm512_max_ps(x, all(-87.3));
    let n = _mm512_roundscale_ps::<0>(_mm512_mul_ps(x, all(std::f32::consts::LOG2_E)));
    let r = _mm512_fnmadd_ps(n, all(0.693_359_4), x);
    let r = _mm512_fnmadd_ps(n, all(-2.121_944_4e-4), r);
    let mut p = all(1.987_569_1e-4);
    for c in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1] {
        p = _mm512_fmadd_ps(p, r, all(c));
    }
    let p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), all(1.0));
    _mm512_scalef_ps(p, n)
}
