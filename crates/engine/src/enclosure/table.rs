//! Norms, grids and column statistics that are computed once for a head, in `O((n_q + n_k)·d)`.

use super::sight::Sight;
use crate::exp::U;
use crate::format::pow2;
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

/// The coarsest grid that holds every number of the slice.
pub(crate) fn common_grid(xs: &[f64]) -> i32 {
    xs.iter().map(|x| grid(*x)).min().unwrap_or(NO_GRID)
}

/// Upper bound of the 2-norm; 0 only for zeros.
///
/// Squares are taken after an exact scaling by a power of two, so neither overflow nor underflow spoils them.
pub(super) fn norm_upper(xs: &[f64]) -> f64 {
    let largest = xs.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let e = exponent(largest).clamp(-1000, 1000);
    let factor = pow2(-e);
    let square_sum: f64 = xs.iter().map(|x| (x * factor) * (x * factor)).sum();
    let n = xs.len() as f64;
    let inflated = square_sum * (1.0 + (n + 4.0) * 2.0 * U) + n * f64::MIN_POSITIVE;
    (inflated.sqrt() * (1.0 + 4.0 * U) * pow2(e)).next_up()
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
        let norm: Vec<f64> = (0..head.n_k).map(|j| norm_upper(head.key_row(j))).collect();
        let grid: Vec<i32> = (0..head.n_k).map(|j| common_grid(head.key_row(j))).collect();
        let mut prefix = vec![(0.0f64, NO_GRID)];
        let mut last = prefix[0];
        for (norm, grid) in norm.iter().zip(&grid) {
            last = (last.0.max(*norm), last.1.min(*grid));
            prefix.push(last);
        }
        Self { norm, grid, prefix }
    }

    /// Largest norm and common grid of the keys below `limit`.
    pub(super) fn of_prefix(&self, limit: usize) -> (f64, i32) {
        self.prefix[limit]
    }

    /// Largest norm and common grid of the chosen keys below `limit`.
    pub(super) fn of_chosen(&self, limit: usize, chosen: impl Fn(usize) -> bool) -> (f64, i32) {
        let keys = (0..limit).filter(|j| chosen(*j));
        keys.fold((0.0, NO_GRID), |(norm, grid), j| (norm.max(self.norm[j]), grid.min(self.grid[j])))
    }
}

/// Values prepared for the products with the exponentials.
pub(super) struct ValueTable {
    /// `|v_jc|`, 0 for keys that no row sees.
    pub(super) abs: Vec<f64>,
    /// `(v_jc · 2^−square_exponent)²`.
    pub(super) squares: Vec<f64>,
    /// Keeps the squares from overflow.
    pub(super) square_exponent: i32,
    columns: Vec<ColumnStats>,
    of_row: Vec<usize>,
}

/// Per column, over the visible keys of a row.
#[derive(Clone)]
pub(super) struct ColumnStats {
    /// Upper bound of `Σ_j |v_jc|`.
    pub(super) abs_sum: Vec<f64>,
    /// Smallest value; `+∞` for no key.
    pub(super) low: Vec<f64>,
    /// Largest value; `−∞` for no key.
    pub(super) high: Vec<f64>,
    keys: usize,
}

impl ColumnStats {
    fn new(d_v: usize) -> Self {
        Self { abs_sum: vec![0.0; d_v], low: vec![f64::INFINITY; d_v], high: vec![f64::NEG_INFINITY; d_v], keys: 0 }
    }

    fn add(&mut self, value: &[f64]) {
        self.keys += 1;
        for (c, v) in value.iter().enumerate() {
            self.abs_sum[c] += v.abs();
            self.low[c] = self.low[c].min(*v);
            self.high[c] = self.high[c].max(*v);
        }
    }

    fn rounded_up(&self) -> Self {
        let mut stats = self.clone();
        stats.abs_sum.iter_mut().for_each(|sum| *sum *= 1.0 + (self.keys as f64 + 2.0) * 2.0 * U);
        stats
    }
}

impl ValueTable {
    pub(super) fn new(head: &Head<'_>, sight: &Sight<'_>) -> Self {
        let mut abs: Vec<f64> = head.value.iter().map(|v| v.abs()).collect();
        // What no row sees may be huge and must not cost the others their range.
        for (row, is_seen) in abs.chunks_exact_mut(head.d_v.max(1)).zip(sight.seen_keys(head.n_q)) {
            if !is_seen {
                row.fill(0.0);
            }
        }
        let largest = abs.iter().fold(0.0f64, |max, v| max.max(*v));
        let square_exponent = exponent(largest).clamp(-1000, 1000);
        let factor = pow2(-square_exponent);
        let squares = abs.iter().map(|v| (v * factor) * (v * factor)).collect();
        let (columns, of_row) = column_stats(head, sight);
        Self { abs, squares, square_exponent, columns, of_row }
    }

    /// Column statistics of the keys that row `i` sees.
    pub(super) fn columns(&self, i: usize) -> &ColumnStats {
        &self.columns[self.of_row[i]]
    }
}

/// One entry for each different set of visible keys, and the entry of each row.
fn column_stats(head: &Head<'_>, sight: &Sight<'_>) -> (Vec<ColumnStats>, Vec<usize>) {
    let mut columns = Vec::new();
    let mut of_row = vec![0; head.n_q];
    if (0..head.n_q).any(|i| sight.mask(i).is_some()) {
        for (i, entry) in of_row.iter_mut().enumerate() {
            let mut stats = ColumnStats::new(head.d_v);
            (0..head.n_k).filter(|j| sight.sees(i, *j)).for_each(|j| stats.add(head.value_row(j)));
            *entry = columns.len();
            columns.push(stats.rounded_up());
        }
        return (columns, of_row);
    }
    let mut rows: Vec<usize> = (0..head.n_q).collect();
    rows.sort_by_key(|i| sight.limit(*i));
    let mut stats = ColumnStats::new(head.d_v);
    for i in rows {
        if columns.is_empty() || stats.keys < sight.limit(i) {
            (stats.keys..sight.limit(i)).for_each(|j| stats.add(head.value_row(j)));
            columns.push(stats.rounded_up());
        }
        of_row[i] = columns.len() - 1;
    }
    (columns, of_row)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "grids and exponents are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_the_lowest_set_bit() {
        for (x, expected) in [(1.0, 0), (-3.0, 0), (0.75, -2), (96.0, 5), (5e-324, -1074), (f64::MIN_POSITIVE, -1022)] {
            assert_eq!(grid(x), expected, "{x}");
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
            assert!(norm >= 5.0 * scale && norm <= 5.0 * scale * (1.0 + 1e-14) + 1e-323, "{scale:e}: {norm:e}");
        }
        assert_eq!(norm_upper(&[f64::MAX, f64::MAX]), f64::INFINITY);
    }
}
