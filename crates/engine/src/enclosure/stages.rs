//! Logits of one row, stage by stage in any order, each with an error of its own. Derivation:
//! `docs/bounds.md#stages`.

use super::element::UNDERFLOW;
use super::logits::{Dots, Facts, is_power_of_two};
use super::table::KeyTable;
use crate::exp::{CUTOFF, U};
use crate::gemm::gamma;
use crate::head::{Alibi, Head, Stage};
use crate::tanh::{SATURATION, TANH_ERROR, tanh_row};

/// Below this `|x/c|` a cap changes `x` by less than `u|x|`: `2^−27`.
const UNCAPPED: f64 = 1.0 / 134_217_728.0;

/// Covers the roundings of the error of one logit.
const INFLATION: f64 = 1.0 + 64.0 * U;

/// What is known of each logit of a row, or of many; the logits themselves are in the row.
#[derive(Default)]
pub(super) struct Stages {
    /// Upper bound of `|ẑ_j − z_j|`.
    error: Vec<f64>,
    /// Upper bound of `|scale·q·k| + |bias| + |ALiBi|`, up to the present stage.
    terms: Vec<f64>,
    /// The same with the norms of query and key for the dot product: what an error relative to its
    /// products is relative to.
    sizes: Vec<f64>,
    /// Upper bound of `|bias| + |ALiBi|`, up to the present stage.
    bias: Vec<f64>,
    /// Tangents of the present row.
    tangents: Vec<f64>,
}

/// A row on its way from dot products to logits.
pub(super) struct Line<'a> {
    /// The query.
    pub(super) i: usize,
    /// The key of the first entry.
    pub(super) start: usize,
    /// Which entries are seen; all without a mask.
    pub(super) mask: Option<&'a [bool]>,
    /// Norm and grid of the query.
    pub(super) query: (f64, i32),
}

impl Stages {
    /// Replaces the dot products of a line by logits, by `−∞` where the key is not seen.
    ///
    /// Returns the largest, or `None` if an intermediate result of a visible key is not finite.
    ///
    /// # Error bound
    /// Kept for each logit, see [`Stages::facts`]; docs/bounds.md#stages.
    pub(super) fn run(
        &mut self,
        head: &Head<'_>,
        keys: &KeyTable,
        line: &Line<'_>,
        row: &mut [f64],
    ) -> Option<f64> {
        self.begin(head, keys, line, row);
        for stage in head.stages {
            match stage {
                Stage::Scale => self.scale(head, row),
                Stage::Softcap => {
                    if let Some(cap) = head.softcap {
                        self.cap(cap, line, row)?;
                    }
                }
                Stage::Bias => self.bias(head, line, row),
            }
        }
        let mut top = f64::NEG_INFINITY;
        for (k, z) in row.iter_mut().enumerate() {
            if !line.sees(k) {
                *z = f64::NEG_INFINITY;
            } else if z.is_finite() {
                top = top.max(*z);
            } else {
                return None;
            }
        }
        Some(top)
    }

    /// Dot products: `γ_d` times the norms.
    fn begin(&mut self, head: &Head<'_>, keys: &KeyTable, line: &Line<'_>, row: &mut [f64]) {
        self.error.clear();
        self.terms.clear();
        self.sizes.clear();
        self.bias.clear();
        self.bias.resize(row.len(), 0.0);
        let gamma_dot = gamma(head.d_k, U);
        for (k, x) in row.iter_mut().enumerate() {
            if !line.sees(k) {
                *x = 0.0;
                self.error.push(0.0);
                self.terms.push(0.0);
                self.sizes.push(0.0);
                continue;
            }
            let j = line.start + k;
            let (norm, grid) = (keys.norm[j], keys.grid[j]);
            let dots = Dots::new(line.query, (norm, grid));
            let mut error = 0.0;
            if !dots.are_exact() {
                let underflows = (2 * head.d_k + 4) as f64 * (1.0 + line.query.0 + norm);
                error = gamma_dot * dots.magnitude + underflows * UNDERFLOW;
            }
            self.error.push(error);
            self.terms.push(x.abs() + error);
            self.sizes.push(dots.magnitude + error);
        }
    }

    fn scale(&mut self, head: &Head<'_>, row: &mut [f64]) {
        let (scale, size) = (head.scale.value, head.scale.value.abs());
        let rounding = if is_power_of_two(scale) { 0.0 } else { U };
        let rel_error = head.scale.rel_error;
        let growth = size * (1.0 + rel_error);
        for (((z, error), terms), bias) in
            row.iter_mut().zip(&mut self.error).zip(&mut self.terms).zip(&mut self.bias)
        {
            let of_scale =
                if rel_error == 0.0 { 0.0 } else { rel_error * size * (z.abs() + *error) };
            *z *= scale;
            *error = size * *error + of_scale + rounding * z.abs() + UNDERFLOW;
            *terms = growth * *terms + UNDERFLOW;
            *bias *= growth;
        }
        self.sizes.iter_mut().for_each(|size| *size = growth * *size + UNDERFLOW);
    }

    /// `c·tanh(x/c)`: every factor has a relative error, and what came before shrinks with the
    /// slope of the tangent.
    fn cap(&mut self, cap: f64, line: &Line<'_>, row: &mut [f64]) -> Option<()> {
        let is_finite = row.iter().enumerate().all(|(k, z)| z.is_finite() || !line.sees(k));
        if !(is_finite && cap.is_finite() && cap > 0.0) {
            return None;
        }
        let quotient = |z: &f64| z / cap;
        self.tangents.clear();
        self.tangents.extend(row.iter().map(quotient));
        tanh_row(&mut self.tangents);
        let relative = TANH_ERROR + 3.0 * U;
        for ((z, error), t) in row.iter_mut().zip(&mut self.error).zip(&self.tangents) {
            let is_flat = z.abs() * (1.0 - 128.0 * U) - *error >= 1.01 * SATURATION * cap;
            *z = if t.abs() < UNCAPPED { *z } else { cap * t };
            // The square of the hyperbolic secant grows by less than e^(1/2) within a quarter of
            // the cap.
            let slope =
                if *error <= 0.25 * cap { (1.65 * (1.0 - t * t + 32.0 * U)).min(1.0) } else { 1.0 };
            let passed = if is_flat { U * cap } else { slope * *error };
            let capped = passed + relative * z.abs() + UNDERFLOW;
            *error = capped.min(2.0 * cap);
        }
        Some(())
    }

    fn bias(&mut self, head: &Head<'_>, line: &Line<'_>, row: &mut [f64]) {
        let biases = head.bias_row(line.i).map(|bias| &bias[line.start..line.start + row.len()]);
        let slopes = head.slopes_of(line.i).map(|alibi| Slopes::new(alibi, line.i));
        if biases.is_none() && slopes.is_none() {
            return;
        }
        for (k, z) in row.iter_mut().enumerate() {
            if !line.sees(k) {
                continue;
            }
            let (mut added, mut size, mut error) = (biases.map_or(0.0, |bias| bias[k]), 0.0, 0.0);
            size += added.abs();
            if let Some(slopes) = &slopes {
                let alibi = slopes.at(line.start + k);
                size += alibi.abs();
                error += slopes.rel_error * alibi.abs() + UNDERFLOW;
                if added == 0.0 {
                    added = alibi;
                } else {
                    added += alibi;
                    error += U * added.abs();
                }
            }
            if added != 0.0 {
                *z += added;
                error += U * z.abs() + UNDERFLOW;
            }
            self.error[k] += error;
            self.terms[k] += size;
            self.sizes[k] += size;
            self.bias[k] += size;
        }
    }

    /// What is known of the logits, given with their places, −∞ for keys that are not seen, when
    /// they are compared with `shift`.
    pub(super) fn facts(&self, logits: impl Iterator<Item = (usize, f64)>, shift: f64) -> Facts {
        let mut facts = Facts {
            error: 0.0,
            term_max: 0.0,
            bias_max: 0.0,
            dropped_ratio: 0.0,
            gap: f64::INFINITY,
        };
        for (at, z) in logits {
            let (error, terms, bias) = (self.error[at], self.terms[at], self.bias[at]);
            let size = if self.sizes[at].is_nan() { f64::INFINITY } else { self.sizes[at] };
            if z == f64::NEG_INFINITY {
                continue;
            }
            let error = if error.is_nan() { f64::INFINITY } else { error * INFLATION };
            let terms = if terms.is_nan() { f64::INFINITY } else { terms * INFLATION };
            if z - shift > CUTOFF {
                facts.error = facts.error.max(error);
                facts.term_max = facts.term_max.max(terms);
                facts.bias_max = facts.bias_max.max(bias * INFLATION);
            } else {
                let distance = (shift - z) * (1.0 - 4.0 * U);
                facts.gap = facts.gap.min(distance - error);
                facts.dropped_ratio =
                    facts.dropped_ratio.max(size * INFLATION / distance * (1.0 + 4.0 * U));
            }
        }
        facts
    }

    /// Adds what another holds behind itself.
    pub(super) fn append(&mut self, other: &Self) {
        self.error.extend(&other.error);
        self.terms.extend(&other.terms);
        self.sizes.extend(&other.sizes);
        self.bias.extend(&other.bias);
    }
}

impl Line<'_> {
    fn sees(&self, k: usize) -> bool {
        self.mask.is_none_or(|mask| mask[k])
    }
}

/// ALiBi of one query.
pub(super) struct Slopes {
    slope: f64,
    position: f64,
    /// Relative error of what [`Slopes::at`] returns, by itself.
    rel_error: f64,
}

impl Slopes {
    pub(super) fn new(alibi: Alibi, i: usize) -> Self {
        let position = i as i128 + i128::from(alibi.offset);
        // Distances of positions below 2^52 are exact. Beyond, that of the position itself is
        // rounded, and the distance to a key.
        let rounded = if position.unsigned_abs() <= 1 << 52 { 0.0 } else { 4.0 * U };
        let product = if is_power_of_two(alibi.slope) { 0.0 } else { U };
        Self { slope: alibi.slope, position: position as f64, rel_error: rounded + product }
    }

    /// `−slope·|i + offset − j|`.
    pub(super) fn at(&self, j: usize) -> f64 {
        -self.slope * (self.position - j as f64).abs()
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "distances are integers")]
mod tests {
    use super::*;

    #[test]
    fn distances_count_from_the_position_of_the_query() {
        let slopes = Slopes::new(Alibi { slope: 0.5, offset: 3 }, 2);
        assert_eq!([0, 5, 9].map(|j| slopes.at(j)), [-2.5, 0.0, -2.0]);
        assert_eq!(slopes.rel_error, 0.0);
        assert!(Slopes::new(Alibi { slope: 0.5, offset: i64::MIN }, 2).rel_error > 0.0);
        assert!(Slopes::new(Alibi { slope: 0.3, offset: 0 }, 2).rel_error > 0.0);
    }
}
