//! Norms, grids and column statistics that are computed once for a head, in `O((n_q + n_k)·d)`.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::visibility::VisibleKeys;
use crate::exp::U;
use crate::format::pow2;
use crate::gemm::KEY_BLOCK;
use crate::head::Head;

/// Exponent of the grid of a set without non-zero numbers.
pub(crate) const NO_GRID: i32 = i32::MAX;

/// `⌊log₂|x|⌋` of a finite non-zero `x`, at least −1022.
pub(crate) fn exponent(x: f64) -> i32 {
    ((x.abs().to_bits() >> 52) as i32).max(1) - 1023
}

/// Exponent of the lowest set bit: `x` is an odd multiple of `2^g`. [`NO_GRID`] for 0.
pub(super) fn grid(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    if bits == 0 {
        return NO_GRID;
    }
    let is_normal = bits >> 52 > 0;
    let significand = (bits & ((1 << 52) - 1)) | (u64::from(is_normal) << 52);
    exponent(x) - 52 + significand.trailing_zeros() as i32
}

const LANES: usize = 8;

/// As many numbers as can be in flight where one operation waits for the last.
const WIDE: usize = 4 * LANES;

/// Lanes two by two, then pairs, then halves: three operations in a row, not eight.
#[inline(always)]
fn across(lanes: [f64; LANES], both: impl Fn(f64, f64) -> f64) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    both(both(both(a, b), both(c, d)), both(both(e, f), both(g, h)))
}

/// The lowest set bit of `x` as a number, `+∞` for 0; one below [`f64::MIN_POSITIVE`] may have been
/// flushed to 0.
#[inline(always)]
fn lowest_bit(x: f64) -> f64 {
    let bits = x.to_bits() & (u64::MAX >> 1);
    let without = if bits << 12 == 0 { 0.0 } else { f64::from_bits(bits & bits.wrapping_sub(1)) };
    // Exact: the difference is a power of two.
    if bits == 0 { f64::INFINITY } else { f64::from_bits(bits) - without }
}

/// The coarsest grid that holds every number of the slice.
#[inline(always)]
pub(crate) fn common_grid(xs: &[f64]) -> i32 {
    let mut lowest = [f64::INFINITY; WIDE];
    let (chunks, rest) = xs.as_chunks::<WIDE>();
    for chunk in chunks {
        for lane in 0..WIDE {
            let bit = lowest_bit(chunk[lane]);
            lowest[lane] = if bit < lowest[lane] { bit } else { lowest[lane] };
        }
    }
    let least = |a: f64, b: f64| if b < a { b } else { a };
    let mut of_lanes = [f64::INFINITY; LANES];
    for lane in 0..LANES {
        let [a, b, c, d] = [0, 1, 2, 3].map(|part| lowest[part * LANES + lane]);
        of_lanes[lane] = least(least(a, b), least(c, d));
    }
    let of_lanes = across(of_lanes, least);
    let lowest = rest.iter().map(|x| lowest_bit(*x)).fold(of_lanes, f64::min);
    match lowest {
        f64::INFINITY => NO_GRID,
        bit if bit >= f64::MIN_POSITIVE => exponent(bit),
        _ => xs.iter().map(|x| grid(*x)).min().unwrap_or(NO_GRID),
    }
}

/// Upper bound of the 2-norm; 0 only for zeros, NaN where a number is. Derivation:
/// docs/bounds.md#norm.
///
/// Where neither overflow nor underflow can spoil the squares they are taken as they are, otherwise
/// after an exact scaling by a power of two; no bit depends on which.
#[inline(always)]
pub(crate) fn norm_upper(xs: &[f64]) -> f64 {
    let plain = square_sum(xs, 1.0);
    let (square_sum, e) = if (1e-200..1e200).contains(&plain) {
        (plain, 0)
    } else {
        let largest = xs.iter().fold(0.0f64, |max, x| max.max(x.abs()));
        if largest == 0.0 {
            // 0, or NaN for a row of nothing else.
            return plain;
        }
        let e = exponent(largest).clamp(-1000, 1000);
        (square_sum(xs, pow2(-e)), e)
    };
    let n = xs.len() as f64;
    let inflated = square_sum * (1.0 + (n + 4.0) * 2.0 * U) + n * f64::MIN_POSITIVE;
    (inflated.sqrt() * (1.0 + 4.0 * U) * pow2(e)).next_up()
}

/// `Σ (x·factor)²`, without error bound.
#[inline(always)]
fn square_sum(xs: &[f64], factor: f64) -> f64 {
    let (chunks, rest) = xs.as_chunks::<LANES>();
    let mut squares = [0.0; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            squares[lane] += (chunk[lane] * factor) * (chunk[lane] * factor);
        }
    }
    rest.iter().map(|x| (x * factor) * (x * factor)).chain(squares).sum()
}

/// Upper bound of the norm, and grid, of each of `n` rows of width `d`.
pub(super) fn norms_and_grids(rows: &[f64], n: usize, d: usize) -> Vec<(f64, i32)> {
    Arch::new().dispatch(NormsAndGrids { rows, n, d })
}

struct NormsAndGrids<'a> {
    rows: &'a [f64],
    n: usize,
    d: usize,
}

impl WithSimd for NormsAndGrids<'_> {
    type Output = Vec<(f64, i32)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Self::Output {
        let mut result = Vec::with_capacity(self.n);
        for i in 0..self.n {
            let row = &self.rows[i * self.d..(i + 1) * self.d];
            result.push((norm_upper(row), common_grid(row)));
        }
        result
    }
}

/// Upper bound of a norm, also if that is not a number.
pub(super) fn finite_or_infinite(norm: f64) -> f64 {
    if norm.is_nan() { f64::INFINITY } else { norm }
}

/// Norms and grids of the keys.
pub(super) struct KeyTable {
    /// Upper bound of `‖k_j‖`.
    pub(super) norm: Vec<f64>,
    /// Grid of the elements of `k_j`.
    pub(super) grid: Vec<i32>,
    /// Largest norm and coarsest common grid of the first `j` keys.
    prefix: Vec<(f64, i32)>,
}

impl KeyTable {
    pub(super) fn new(head: &Head<'_>) -> Self {
        let (mut norm, grid): (Vec<f64>, Vec<i32>) =
            norms_and_grids(head.key, head.n_k, head.d_k).into_iter().unzip();
        norm.iter_mut().for_each(|norm| *norm = finite_or_infinite(*norm));
        let mut prefix = Vec::with_capacity(head.n_k + 1);
        prefix.push((0.0f64, NO_GRID));
        let mut last = prefix[0];
        for (norm, grid) in norm.iter().zip(&grid) {
            last = (last.0.max(*norm), last.1.min(*grid));
            prefix.push(last);
        }
        Self { norm, grid, prefix }
    }

    /// Largest norm and common grid of the keys of a window.
    pub(super) fn of_window(&self, window: Range<usize>) -> (f64, i32) {
        if window.start == 0 { self.prefix[window.end] } else { self.of_keys(window) }
    }

    /// Largest norm and common grid of some keys.
    pub(super) fn of_keys(&self, keys: impl Iterator<Item = usize>) -> (f64, i32) {
        keys.fold((0.0, NO_GRID), |(norm, grid), j| {
            (norm.max(self.norm[j]), grid.min(self.grid[j]))
        })
    }
}

/// What is known of the values beforehand; for keys seen from the first on, little beside the
/// values themselves.
pub(super) struct ValueTable<'a> {
    head: Head<'a>,
    /// The values with 0 where they are not finite; none where all are.
    finite: Option<Vec<f64>>,
    /// Which keys at least one row sees. What no row sees may be huge and must not cost the others
    /// their range.
    seen: Vec<bool>,
    /// Keeps the squares of [`ValueTable::abs_and_squares`] from overflow.
    pub(super) square_exponent: i32,
    are_far_apart: bool,
    /// Statistics of the keys below each multiple of [`KEY_BLOCK`], and of all that rows see; none
    /// where rows have masks.
    checkpoints: Vec<ColumnStats>,
    /// Statistics of runs of keys; none unless there are windows that begin behind the first key.
    runs: Vec<ColumnStats>,
}

/// Per column, over the visible keys of a row.
#[derive(Clone)]
pub(super) struct ColumnStats {
    /// Smallest value; `+∞` for no key.
    pub(super) low: Vec<f64>,
    /// Largest value; `−∞` for no key.
    pub(super) high: Vec<f64>,
    computed_abs_sum: Vec<f64>,
    keys: usize,
}

impl ColumnStats {
    fn new(d_v: usize) -> Self {
        let (low, high) = (vec![f64::INFINITY; d_v], vec![f64::NEG_INFINITY; d_v]);
        Self { low, high, computed_abs_sum: vec![0.0; d_v], keys: 0 }
    }

    /// Upper bound of `Σ_j |v_jc|`.
    pub(super) fn abs_sum(&self, c: usize) -> f64 {
        self.computed_abs_sum[c] * (1.0 + (self.keys as f64 + 2.0) * 2.0 * U)
    }

    fn clear(&mut self) {
        self.low.fill(f64::INFINITY);
        self.high.fill(f64::NEG_INFINITY);
        self.computed_abs_sum.fill(0.0);
        self.keys = 0;
    }

    /// Takes in some keys, in vectors.
    fn add_keys(&mut self, head: &Head<'_>, keys: Range<usize>, is_seen: impl Fn(usize) -> bool) {
        Arch::new().dispatch(AddKeys { stats: self, head, keys, is_seen });
    }

    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, value: &[f64]) {
        self.keys += 1;
        let (values, rest) = S::as_simd_f64s(value);
        let (low, low_rest) = S::as_mut_simd_f64s(&mut self.low);
        let (high, high_rest) = S::as_mut_simd_f64s(&mut self.high);
        let (abs_sum, abs_sum_rest) = S::as_mut_simd_f64s(&mut self.computed_abs_sum);
        // Every column is written, also where nothing changes: the next key would wait for a vector
        // of which only some are.
        for ((low, high), v) in low.iter_mut().zip(high).zip(values) {
            *low = simd.select_f64s(simd.less_than_f64s(*v, *low), *v, *low);
            *high = simd.select_f64s(simd.greater_than_f64s(*v, *high), *v, *high);
        }
        for (abs_sum, v) in abs_sum.iter_mut().zip(values) {
            *abs_sum = simd.add_f64s(*abs_sum, simd.abs_f64s(*v));
        }
        for ((low, high), v) in low_rest.iter_mut().zip(high_rest).zip(rest) {
            *low = if *v < *low { *v } else { *low };
            *high = if *v > *high { *v } else { *high };
        }
        for (abs_sum, v) in abs_sum_rest.iter_mut().zip(rest) {
            *abs_sum += v.abs();
        }
    }

    fn add_all(&mut self, other: &Self) {
        self.keys += other.keys;
        for c in 0..self.low.len() {
            self.computed_abs_sum[c] += other.computed_abs_sum[c];
            self.low[c] = self.low[c].min(other.low[c]);
            self.high[c] = self.high[c].max(other.high[c]);
        }
    }
}

/// No closure: what one calls is not compiled for vectors.
struct AddKeys<'a, F> {
    stats: &'a mut ColumnStats,
    head: &'a Head<'a>,
    keys: Range<usize>,
    is_seen: F,
}

impl<F: Fn(usize) -> bool> WithSimd for AddKeys<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for j in self.keys {
            if (self.is_seen)(j) {
                self.stats.add(simd, self.head.value_row(j));
            }
        }
    }
}

/// The smallest size but 0, `+∞` if there is none, and the largest, of the values that are seen.
struct Sizes<'a> {
    values: &'a [f64],
    seen: &'a [bool],
    d_v: usize,
}

impl WithSimd for Sizes<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> (f64, f64) {
        let mut lanes = ([f64::INFINITY; WIDE], [0.0f64; WIDE]);
        for (value, is_seen) in self.values.chunks_exact(self.d_v.max(1)).zip(self.seen) {
            for value in value.chunks(WIDE).take(if *is_seen { value.len() } else { 0 }) {
                for ((low, high), v) in lanes.0.iter_mut().zip(&mut lanes.1).zip(value) {
                    let size = if *v == 0.0 { *low } else { v.abs() };
                    *low = if size < *low { size } else { *low };
                    *high = if v.abs() > *high { v.abs() } else { *high };
                }
            }
        }
        (lanes.0.into_iter().fold(f64::INFINITY, f64::min), lanes.1.into_iter().fold(0.0, f64::max))
    }
}

impl<'a> ValueTable<'a> {
    pub(super) fn new(head: &Head<'a>, visibility: &VisibleKeys<'_>) -> Self {
        let seen = visibility.seen_keys(head.n_q);
        let mut stats = ColumnStats::new(head.d_v);
        let mut checkpoints = Vec::new();
        let windows = || (0..head.n_q).map(|i| visibility.window(i));
        let end = windows().map(|window| window.end).max().unwrap_or(0);
        for first in (0..end).step_by(KEY_BLOCK) {
            if visibility.is_spans() {
                checkpoints.push(stats.clone());
            }
            stats.add_keys(head, first..end.min(first + KEY_BLOCK), |j| seen[j]);
        }
        // What the sums of sizes do not tell takes a look at every value.
        let is_finite = seen.iter().all(|seen| *seen)
            && stats.computed_abs_sum.iter().all(|sum| sum.is_finite())
            || head.value.iter().all(|v| v.is_finite());
        let finite = || head.value.iter().map(|v| if v.is_finite() { *v } else { 0.0 }).collect();
        let finite = (!is_finite).then(finite);
        let sizes = stats.low.iter().chain(&stats.high).filter(|v| v.is_finite());
        let largest = sizes.fold(0.0f64, |max, v| max.max(v.abs()));
        let square_exponent = exponent(largest).clamp(-1000, 1000);
        let values = finite.as_deref().unwrap_or(head.value);
        let (smallest, largest) =
            Arch::new().dispatch(Sizes { values, seen: &seen, d_v: head.d_v });
        let power = pow2(-square_exponent);
        let are_far_apart = smallest * power < pow2(-60) || largest * power >= 2.0;
        if visibility.is_spans() {
            checkpoints.push(stats);
        }
        let has_windows = visibility.is_spans() && windows().any(|window| window.start > 0);
        let runs = if has_windows { runs_of_keys(head) } else { Vec::new() };
        Self { head: *head, finite, seen, are_far_apart, square_exponent, checkpoints, runs }
    }

    /// The head that the values belong to.
    pub(super) fn head(&self) -> &Head<'a> {
        &self.head
    }

    /// The values of some keys as they enter products: 0 where they are not finite, so that a
    /// hidden key spoils nothing.
    pub(super) fn of_keys(&self, keys: Range<usize>) -> &[f64] {
        let d_v = self.head.d_v;
        &self.finite.as_deref().unwrap_or(self.head.value)[keys.start * d_v..keys.end * d_v]
    }

    /// Whether there may be columns of which a row sees a value that is not finite: then their sum
    /// of `|v|` is not.
    pub(super) fn are_finite(&self) -> bool {
        self.finite.is_none()
    }

    /// Whether some row sees key `j`.
    pub(super) fn is_seen(&self, j: usize) -> bool {
        self.seen[j]
    }

    /// Whether a value but 0 is so much smaller than another that its scaled square may be no normal
    /// number of `f32`: `|v|·2^−square_exponent` is not in `[2^−60, 2)`.
    pub(super) fn are_far_apart(&self) -> bool {
        self.are_far_apart
    }

    /// `|v_jc|` and `(v_jc · 2^−square_exponent)²` of a block of keys; 0 for keys that no row sees.
    pub(super) fn abs_and_squares(
        &self,
        keys: Range<usize>,
        abs: &mut Vec<f64>,
        squares: &mut Vec<f64>,
    ) {
        let d_v = self.head.d_v;
        abs.resize(keys.len() * d_v, 0.0);
        squares.resize(keys.len() * d_v, 0.0);
        let factor = pow2(-self.square_exponent);
        let rows = abs.chunks_exact_mut(d_v.max(1)).zip(squares.chunks_exact_mut(d_v.max(1)));
        for ((abs, squares), j) in rows.zip(keys) {
            if self.seen[j] {
                for ((abs, square), v) in abs.iter_mut().zip(squares).zip(self.of_keys(j..j + 1)) {
                    *abs = v.abs();
                    *square = (v * factor) * (v * factor);
                }
            } else {
                abs.fill(0.0);
                squares.fill(0.0);
            }
        }
    }
}

/// Keys of a run.
const RUN: usize = 32;

/// Statistics of runs of keys, from which those of a window are put together.
fn runs_of_keys(head: &Head<'_>) -> Vec<ColumnStats> {
    let of_run = |start: usize| {
        let mut stats = ColumnStats::new(head.d_v);
        stats.add_keys(head, start..head.n_k.min(start + RUN), |_| true);
        stats
    };
    (0..head.n_k).step_by(RUN).map(of_run).collect()
}

/// Column statistics of one row after the other.
pub(super) struct Columns<'a> {
    values: &'a ValueTable<'a>,
    visibility: &'a VisibleKeys<'a>,
    stats: ColumnStats,
    /// The window that `stats` is of; none if that row had a mask.
    window: Option<Range<usize>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(values: &'a ValueTable<'a>, visibility: &'a VisibleKeys<'a>) -> Self {
        Self { values, visibility, stats: ColumnStats::new(values.head.d_v), window: Some(0..0) }
    }

    /// Over the keys that row `i` sees; rows in the order of their windows cost least.
    pub(super) fn of_row(&mut self, i: usize) -> &ColumnStats {
        let head = &self.values.head;
        let window = self.visibility.window(i);
        if let Some(mask) = self.visibility.mask(i) {
            self.stats.clear();
            self.stats.add_keys(head, window.clone(), |j| mask[j - window.start]);
            self.window = None;
        } else if window.start > 0 {
            if self.window.as_ref() != Some(&window) {
                self.stats.clear();
                self.add_runs(window.clone());
            }
            self.window = Some(window);
        } else {
            let last = self.window.take().filter(|last| last.start == 0 && last.end <= window.end);
            let mut end = last.map_or(0, |last| last.end);
            if end == 0 || end + KEY_BLOCK <= window.end {
                let whole = self.values.checkpoints.last().filter(|all| all.keys == window.end);
                let below = whole.unwrap_or(&self.values.checkpoints[window.end / KEY_BLOCK]);
                end = below.keys;
                self.stats.clone_from(below);
            }
            self.stats.add_keys(head, end..window.end, |_| true);
            self.window = Some(window);
        }
        &self.stats
    }

    fn add_runs(&mut self, window: Range<usize>) {
        let mut j = window.start;
        while j < window.end {
            if j.is_multiple_of(RUN) && j + RUN <= window.end {
                self.stats.add_all(&self.values.runs[j / RUN]);
                j += RUN;
            } else {
                self.stats.add_keys(&self.values.head, j..j + 1, |_| true);
                j += 1;
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "grids and exponents are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_the_lowest_set_bit() {
        for (x, expected) in [
            (1.0, 0),
            (-3.0, 0),
            (0.75, -2),
            (96.0, 5),
            (5e-324, -1074),
            (f64::MIN_POSITIVE, -1022),
        ] {
            assert_eq!(grid(x), expected, "{x}");
        }
        for xs in [
            vec![96.0, 3.5, -0.0],
            vec![1.1; 20],
            vec![2.5e-308, 1e-320],
            vec![f64::MIN_POSITIVE * 1.5],
            vec![1e300; 9],
        ] {
            assert_eq!(common_grid(&xs), xs.iter().map(|x| grid(*x)).min().unwrap(), "{xs:?}");
        }
        assert_eq!(common_grid(&[0.0, 4.0, 0.5]), -1);
        assert_eq!(common_grid(&[0.0, 0.0]), NO_GRID);
        assert_eq!(common_grid(&[]), NO_GRID);
    }

    #[test]
    fn norms_are_upper_bounds_even_at_the_ends_of_the_range() {
        assert_eq!(norm_upper(&[0.0, 0.0]), 0.0);
        assert_eq!(norm_upper(&[]), 0.0);
        for scale in [1.0, 1e300, 1e-300, 1e-320] {
            let norm = norm_upper(&[3.0 * scale, -4.0 * scale]);
            assert!(
                norm >= 5.0 * scale && norm <= 5.0 * scale * (1.0 + 1e-14) + 1e-323,
                "{scale:e}: {norm:e}"
            );
        }
        assert_eq!(norm_upper(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert!(norm_upper(&[f64::NAN, 1.0]).is_nan() && norm_upper(&[f64::NAN]).is_nan());
    }

    /// What a scaling does not round has the same bits: norms do not tell which way they came.
    #[test]
    fn norms_near_the_ends_of_the_range_have_the_bits_of_those_within() {
        let numbers: Vec<f64> =
            (1..40).map(|at| f64::from((at * 7919) % 1009) / 504.0 - 1.0).collect();
        let norm = norm_upper(&numbers);
        for exponent in [-700, -320, 310, 700] {
            let scaled: Vec<f64> = numbers.iter().map(|x| x * pow2(exponent)).collect();
            assert_eq!(norm_upper(&scaled), norm * pow2(exponent), "{exponent}");
        }
    }
}
