//! Where the order of two candidates turns as k, the constant of reciprocal rank fusion, moves. Knows ranks and one formula;
//! near every root, and wherever rounding could matter, the comparison itself is made instead of the algebra.

use super::fusion::reciprocal;

/// Two candidates under reciprocal rank fusion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// Share of the cross-encoder, 0 to 1.
    pub(super) w: f64,
    /// Ranks of the first by both rankers; 0 for none.
    pub(super) first: (u32, u32),
    /// Ranks of the second.
    pub(super) second: (u32, u32),
    /// The first stands above where both scores are equal.
    pub(super) wins_ties: bool,
}

/// Relative gap above which eight rounded operations cannot turn a comparison.
const SAFE: f64 = 1e-13;

/// A polynomial of degree 2 at most, lowest power first.
type Poly = [f64; 3];

impl Pair {
    /// True when the first stands above the second, in the arithmetic of the fusion.
    pub(super) fn above(&self, k: f64) -> bool {
        let score = |(ce, colbert)| self.w * reciprocal(k, ce) + (1.0 - self.w) * reciprocal(k, colbert);
        score(self.first).total_cmp(&score(self.second)).then(self.wins_ties.cmp(&false)).is_gt()
    }

    /// Whether the first stands above at the first point, and by calls of `turn` every index at which that changes.
    pub(super) fn turns(&self, points: &[f64], mut turn: impl FnMut(usize)) -> bool {
        let Some(first) = points.first() else { return false };
        let start = self.above(*first);
        let mut state = start;
        let mut meet = |at: usize, above: bool| {
            if above != state {
                state = above;
                turn(at);
            }
        };
        // Above the second by both rankers, or below it: nothing turns, whatever k is.
        let (x, y) = (self.first, self.second);
        let ahead = |a: u32, b: u32| a > 0 && (b == 0 || a <= b);
        let level = |a: u32, b: u32| ahead(a, b) || a == b;
        if self.wins_ties && level(x.0, y.0) && level(x.1, y.1) {
            return start;
        }
        if !self.wins_ties && level(y.0, x.0) && level(y.1, x.1) {
            return start;
        }
        // The same score for both: ties do not turn either.
        if (self.w == 0.0 || x.0 == y.0) && (self.w == 1.0 || x.1 == y.1) {
            return start;
        }
        let (gap, bound) = self.gap();
        let mut from = 0;
        let stretch = |from: usize, to: usize, meet: &mut dyn FnMut(usize, bool)| {
            if let Some(sign) = steady(&gap, &bound, points.get(from..to).unwrap_or_default()) {
                meet(from, sign);
                return;
            }
            for (at, k) in points.iter().enumerate().take(to).skip(from) {
                meet(at, self.above(*k));
            }
        };
        for root in roots(&gap) {
            let near = points.partition_point(|k| *k < root - 1.5).max(from);
            let behind = points.partition_point(|k| *k <= root + 1.5).max(near);
            if near > from {
                stretch(from, near, &mut meet);
            }
            for (at, k) in points.iter().enumerate().take(behind).skip(near) {
                meet(at, self.above(*k));
            }
            from = behind;
        }
        if from < points.len() {
            stretch(from, points.len(), &mut meet);
        }
        start
    }

    /// The gap of the two scores and a bound of what is rounded, both times the same positive product of denominators.
    fn gap(&self) -> (Poly, [f64; 4]) {
        let (above, below, ce) = side(self.first.0, self.second.0);
        let (above2, below2, colbert) = side(self.first.1, self.second.1);
        let (w, v) = (self.w, 1.0 - self.w);
        let mut gap = [0.0; 3];
        for at in 0..3 {
            gap[at] = w * above * colbert[at] + v * above2 * ce[at];
        }
        // below is the sum of both reciprocals times the denominator: a polynomial of degree 1.
        let mut bound = [0.0; 4];
        for (low, high) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
            bound[low + high] += w * below[low] * colbert[high] + v * below2[low] * ce[high];
        }
        (gap, bound)
    }
}

/// Difference and sum of two reciprocals, each times the product of those denominators that there are.
fn side(first: u32, second: u32) -> (f64, [f64; 2], Poly) {
    let (a, b) = (f64::from(first), f64::from(second));
    match (first, second) {
        (0, 0) => (0.0, [0.0, 0.0], [1.0, 0.0, 0.0]),
        (_, 0) => (1.0, [1.0, 0.0], [a, 1.0, 0.0]),
        (0, _) => (-1.0, [1.0, 0.0], [b, 1.0, 0.0]),
        _ => (b - a, [a + b, 2.0], [a * b, a + b, 1.0]),
    }
}

fn at(poly: &[f64], k: f64) -> f64 {
    poly.iter().rev().fold(0.0, |sum, part| sum * k + part)
}

/// The sign of the gap over these points when it is the same for all of them beyond any rounding: there is no root among
/// them, so it is least at an end or at the vertex, and the bound grows with k.
fn steady(gap: &Poly, bound: &[f64; 4], points: &[f64]) -> Option<bool> {
    let (from, to) = (*points.first()?, *points.last()?);
    let (first, last) = (at(gap, from), at(gap, to));
    let vertex = -gap[1] / (2.0 * gap[2]);
    let least = SAFE * at(bound, to);
    let middle = if vertex > from && vertex < to { at(gap, vertex) } else { first };
    let all = [first, last, middle];
    let clear = all.iter().all(|gap| *gap > least) || all.iter().all(|gap| *gap < -least);
    clear.then_some(first > 0.0)
}

/// Real roots, ascending.
fn roots(gap: &Poly) -> Vec<f64> {
    let [c, b, a] = *gap;
    if a == 0.0 {
        return if b == 0.0 { Vec::new() } else { vec![-c / b] };
    }
    let inside = b * b - 4.0 * a * c;
    if inside < 0.0 {
        return Vec::new();
    }
    let q = -0.5 * (b + inside.sqrt().copysign(b));
    let mut roots = if q == 0.0 { vec![0.0] } else { vec![q / a, c / q] };
    roots.sort_by(f64::total_cmp);
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator: the same pairs on every run.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, most: u32) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % u64::from(most)) as u32
        }
    }

    #[test]
    fn turns_are_those_of_every_single_comparison() {
        let points: Vec<f64> = (1..=1000).map(f64::from).collect();
        let mut draw = Draw(7);
        let mut turned = 0;
        for _ in 0..40_000 {
            let most = [4, 40, 3000][draw.below(3) as usize];
            let w = match draw.below(8) {
                0 => 0.0,
                1 => 1.0,
                2 => 1e-16,
                3 => 1.0 - 1e-16,
                4 => 1e-4,
                _ => f64::from(draw.below(101)) / 100.0,
            };
            let mut ranks = || (draw.below(most), draw.below(most));
            let (first, second) = (ranks(), ranks());
            let pair = Pair { w, first, second, wins_ties: draw.below(2) == 0 };
            let mut found = Vec::new();
            let start = pair.turns(&points, |at| found.push(at));
            let truth: Vec<bool> = points.iter().map(|k| pair.above(*k)).collect();
            assert_eq!(start, truth[0], "{pair:?}");
            let turns: Vec<usize> = (1..truth.len()).filter(|at| truth[*at] != truth[at - 1]).collect();
            assert_eq!(found, turns, "{pair:?}");
            turned += turns.len();
        }
        assert!(turned > 2_000, "{turned} turns");
    }
}
