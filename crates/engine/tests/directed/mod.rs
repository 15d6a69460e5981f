//! Arithmetic with directed rounding, for proofs of error bounds.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dashu_float::FBig;
use dashu_float::round::mode::{Down, Up};

/// Bits of every number below.
const PRECISION: usize = 300;
/// Unit roundoff of `f64`.
pub(crate) const U: f64 = f64::EPSILON / 2.0;

pub(crate) type Upper = FBig<Up, 2>;
pub(crate) type Lower = FBig<Down, 2>;

pub(crate) fn up(x: f64) -> Upper {
    Upper::try_from(x).unwrap().with_precision(PRECISION).value()
}

pub(crate) fn down(x: f64) -> Lower {
    up(x).with_rounding()
}

/// `|x|` for an `x` between `low` and `high`, given as `high` and `−low`, both rounded up.
pub(crate) fn magnitude(high: Upper, minus_low: Upper) -> Upper {
    if high > minus_low { high } else { minus_low }
}

/// Lower and upper bound of `ln 2 = Σ 1/(k·2^k)`; the tail after `n` terms is below `2^−n`.
pub(crate) fn ln2() -> (Lower, Upper) {
    let (mut low, mut high, mut power) = (down(0.0), up(0.0), up(1.0));
    for k in 1..=290 {
        power /= up(2.0);
        high += power.clone() / up(f64::from(k));
        low += power.clone().with_rounding::<Down>() / down(f64::from(k));
    }
    (low, high + power)
}
