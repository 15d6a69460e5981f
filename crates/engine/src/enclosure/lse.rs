//! The logarithm of a row sum, certified. Derivation: `docs/bounds.md#lse`.

use super::element::{DROPPED_WEIGHT, INFLATION, UNDERFLOW};
use super::rows::RowWeights;
use crate::exp::{CUTOFF, EXP_ERROR, U, exp1};
use crate::gemm::gamma;

/// `ln Σ_j e^(z_j)` over the visible keys of a row and its sink: within `rad` of `mid`.
///
/// A row without keys and sink has `−∞` and radius 0; where nothing could be proved the radius is
/// infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lse {
    /// Midpoint.
    pub mid: f64,
    /// Radius.
    pub rad: f64,
}

impl Lse {
    /// Nothing is known.
    pub(super) fn unknown() -> Self {
        Self { mid: 0.0, rad: f64::INFINITY }
    }

    /// That of a row without keys.
    pub(super) fn empty(sink: Option<f64>) -> Self {
        Self { mid: sink.unwrap_or(f64::NEG_INFINITY), rad: 0.0 }
    }

    /// Of a row of exponentials of logits minus `shift`, each with relative error at most
    /// `e^y − 1`.
    ///
    /// # Error bound
    /// `y + 2γ_l + h² + 6u + u|ln L̂| + u|mid|` and the dropped keys, `h` what the guess of the
    /// logarithm left over; docs/bounds.md#lse.
    pub(super) fn of_row(row: &RowWeights, shift: f64, y: f64) -> Self {
        let Self { mid: log, rad: log_error } = logarithm(row.sum);
        let summation = if row.sum_is_exact { 0.0 } else { gamma(row.sum_depth, U) };
        let dropped = if row.has_dropped { 4.0 * row.keys as f64 * DROPPED_WEIGHT } else { 0.0 };
        let mid = shift + log;
        let rounding = if log == 0.0 { 0.0 } else { U * mid.abs() + UNDERFLOW };
        let rad = INFLATION * (y + 2.0 * summation + log_error + dropped + rounding);
        if mid.is_finite() && rad.is_finite() { Self { mid, rad } } else { Self::unknown() }
    }
}

/// `ln x` within `±600`, with an absolute error: a guess, and the logarithm of what the guess
/// leaves over by its series.
pub(crate) fn logarithm(x: f64) -> Lse {
    let guess = libm::log(x);
    if x.to_bits() == 1.0f64.to_bits() {
        return Lse { mid: 0.0, rad: 0.0 };
    }
    if !(CUTOFF..=-CUTOFF).contains(&guess) {
        return Lse::unknown();
    }
    // x·e^−guess = 1 + rest; the difference is exact as both numbers are near 1.
    let product = if guess >= 0.0 { x * exp1(-guess) } else { x / exp1(guess) };
    let rest = product - 1.0;
    if rest.abs() > 1e-6 {
        return Lse::unknown();
    }
    let mid = guess + rest;
    Lse { mid, rad: rest * rest + EXP_ERROR + 2.0 * U + U * mid.abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_powers_of_two_are_multiples_of_ln_2() {
        for k in -300..300 {
            let Lse { mid, rad } = logarithm(crate::format::pow2(k));
            let exact = f64::from(k) * std::f64::consts::LN_2;
            assert!(
                (mid - exact).abs() <= rad + 2.0 * U * exact.abs()
                    && rad <= 16.0 * U * (1.0 + exact.abs()),
                "{k}: {mid} ± {rad:e}"
            );
        }
        assert!(
            logarithm(f64::INFINITY).rad == f64::INFINITY
                && logarithm(f64::NAN).rad == f64::INFINITY
        );
    }
}
