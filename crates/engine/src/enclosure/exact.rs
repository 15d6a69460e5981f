//! Rows whose weights are `1/m` on some keys and nothing on the others. Derivation:
//! `docs/bounds.md#exact`.

use super::stages::Slopes;
use super::table::{NO_GRID, grid};
use crate::exp::U;
use crate::format::pow2;
use crate::head::Head;

/// The computed logit of a dead key is at most this. The true one is then below −1100: rows whose
/// dropped keys have a relative logit error above 2^−20 are given up before.
const DEAD_LOGIT: f64 = -1101.0;

/// Facts about a row in which every visible logit is exactly 0 (*live* keys) or at most −1100
/// (*dead* keys).
///
/// There is at least one live key; a sink counts as a key whose values are 0. Whether the row is
/// exact for an implementation depends on its contract as well.
#[derive(Clone, Debug)]
pub struct ExactRow {
    /// Number of live keys.
    pub live: usize,
    /// Number of dead keys.
    pub dead: usize,
    /// Whether every single product `scale · q_t · k_t` of every live key is 0; if not, their dot
    /// products cancel exactly.
    pub products_vanish: bool,
    /// Upper bound of `(|scale| Σ_t |q_t k_t| + |bias|) / |z|` over the dead keys; 0 without dead
    /// keys.
    pub dead_ratio: f64,
    /// Smallest `g_c` for which every live value of column `c` is a multiple of `2^g_c`; `i32::MAX`
    /// for zeros.
    pub grid: Vec<i32>,
    /// Sum of the live `|v_jc|`, exact if below `2^(53 + g_c)`.
    pub live_abs_sum: Vec<f64>,
    /// Upper bound of the sum of the dead `|v_jc|`.
    pub dead_abs_sum: Vec<f64>,
}

impl ExactRow {
    /// Whether column `c` of the row sums without rounding, in any order, in a format of `bits`
    /// bits whose normal numbers reach down to `2^min_exponent`, when weights are `1/live`.
    pub fn sums_exactly(&self, c: usize, bits: u32, min_exponent: i32) -> bool {
        if !self.live.is_power_of_two() {
            return false;
        }
        let halvings = self.live.trailing_zeros() as i32;
        let g = self.grid[c];
        g == NO_GRID
            || (self.live_abs_sum[c] < pow2(bits as i32 + g) && g - halvings >= min_exponent)
    }

    /// Upper bound of what the dead keys add to column `c` of the exact output; `None` if it is no
    /// longer minute.
    ///
    /// `n·e^−1100·(Σ|v| + |O|)` is below the smallest positive number while `n·Σ|v| ≤ 10^153`.
    pub(super) fn dead_share(&self, c: usize) -> Option<f64> {
        let size = self.dead as f64 * (self.dead_abs_sum[c] + self.live_abs_sum[c]);
        match self.dead {
            0 => Some(0.0),
            _ if size <= 1e153 => Some(f64::from_bits(1)),
            _ => None,
        }
    }
}

/// Looks whether row `i`, whose computed logits of the keys from `start` on are given, −∞ where a
/// key is not seen, is of this kind.
///
/// `dots_are_exact` says that the dot products of the keys that are not dropped are exact in `f64`.
pub(super) fn scan(
    head: &Head<'_>,
    i: usize,
    start: usize,
    logits: &[f64],
    dots_are_exact: bool,
) -> Option<ExactRow> {
    if head.cap().is_some() {
        return None;
    }
    let visible = || logits.iter().enumerate().filter(|(_, z)| **z > f64::NEG_INFINITY);
    let all = || visible().map(|(_, z)| *z).chain(head.sink);
    if !all().all(|z| z == 0.0 || z <= DEAD_LOGIT) || !all().any(|z| z == 0.0) {
        return None;
    }
    let zeros = || vec![0.0; head.d_v];
    let mut row = ExactRow {
        live: 0,
        dead: 0,
        products_vanish: true,
        dead_ratio: 0.0,
        grid: vec![NO_GRID; head.d_v],
        live_abs_sum: zeros(),
        dead_abs_sum: zeros(),
    };
    let scale = head.factor().value.abs();
    let slopes = head.slopes_of(i).map(|alibi| Slopes::new(alibi, i));
    // A scale behind the bias enlarges it, or not.
    let factor = scale.max(1.0);
    for (k, z) in visible() {
        let j = start + k;
        let alibi = slopes.as_ref().map_or(0.0, |slopes| slopes.at(j).abs());
        let bias = head.bias_row(i).map_or(0.0, |bias| bias[j].abs()) + alibi;
        let products = || head.query_row(i).iter().zip(head.key_row(j));
        if *z == 0.0 {
            let vanish = scale == 0.0 || products().all(|(q, k)| *q == 0.0 || *k == 0.0);
            let cancels = || dots_are_exact && products().map(|(q, k)| q * k).sum::<f64>() == 0.0;
            if bias != 0.0 || !(vanish || cancels()) {
                return None;
            }
            row.add_live(head.value_row(j));
            row.products_vanish &= vanish;
        } else {
            let terms = scale * products().map(|(q, k)| (q * k).abs()).sum::<f64>() + factor * bias;
            let underflow = (1.0 + scale) * head.d_k as f64 * f64::MIN_POSITIVE;
            let ratio = (terms * (1.0 + (head.d_k as f64 + 8.0) * 2.0 * U) + underflow) / -z;
            row.dead_ratio = row.dead_ratio.max(ratio);
            row.add_dead(head.value_row(j));
        }
    }
    match head.sink {
        Some(0.0) => row.live += 1,
        Some(_) => {
            row.dead += 1;
            row.dead_ratio = row.dead_ratio.max(1.0);
        }
        None => {}
    }
    row.dead_abs_sum.iter_mut().for_each(|sum| *sum *= 1.0 + (row.dead as f64 + 2.0) * 2.0 * U);
    Some(row)
}

impl ExactRow {
    fn add_live(&mut self, value: &[f64]) {
        self.live += 1;
        for (c, v) in value.iter().enumerate() {
            self.grid[c] = self.grid[c].min(grid(*v));
            self.live_abs_sum[c] += v.abs();
        }
    }

    fn add_dead(&mut self, value: &[f64]) {
        self.dead += 1;
        for (c, v) in value.iter().enumerate() {
            self.dead_abs_sum[c] += v.abs();
        }
    }
}
