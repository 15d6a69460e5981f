//! The proof that `exp_product` keeps its bound, as a computation with directed rounding at 300
//! bits, and samples against it.
//!
//! The argument is in `docs/bounds.md#exp-product`. It holds for whatever coefficients there are:
//! how they were found is no part of it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::directed;

use std::f64::consts::LOG2_E;

use dashu_float::FBig;
use dashu_float::round::mode::{Down, HalfEven, Up};
use directed::{Lower, U, Upper, down, ln2, magnitude, up};
use qkvet_engine::exp::{COEFFICIENTS_BASE_2, EXP_ERROR, FACTOR_ERROR, base_2_factor, exp_product};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Terms of the series of `2^x`; what follows is below `2^-150` for `|x| ≤ 1/2`.
const TERMS: usize = 32;

/// A number between two bounds.
#[derive(Clone)]
struct Interval {
    low: Lower,
    high: Upper,
}

impl Interval {
    fn point(x: f64) -> Self {
        Self { low: down(x), high: up(x) }
    }

    fn add(&self, other: &Self) -> Self {
        Self {
            low: self.low.clone() + other.low.clone(),
            high: self.high.clone() + other.high.clone(),
        }
    }

    fn minus(&self, other: &Self) -> Self {
        let (low, high) = (other.low.clone(), other.high.clone());
        Self {
            low: self.low.clone() - high.with_rounding::<Down>(),
            high: self.high.clone() - low.with_rounding::<Up>(),
        }
    }

    /// Times a number that is not negative and exact.
    fn times(&self, factor: f64) -> Self {
        Self { low: self.low.clone() * down(factor), high: self.high.clone() * up(factor) }
    }

    fn size(&self) -> Upper {
        magnitude(self.high.clone(), -self.low.clone().with_rounding::<Up>())
    }
}

/// `2^n`, exact.
fn power(n: i32) -> f64 {
    (0..n.abs()).fold(1.0, |power, _| if n < 0 { power / 2.0 } else { power * 2.0 })
}

/// Polynomial less series, `Σ d_n x^n`, in `y = 2x`: the coefficients `d_n/2^n`.
fn difference() -> Vec<Interval> {
    let (ln2_low, ln2_high) = ln2();
    let mut term = Interval::point(1.0);
    (0..TERMS)
        .map(|n| {
            if n > 0 {
                let (divisor, high) =
                    (n as f64, term.high.clone() * ln2_high.clone() / up(n as f64));
                term = Interval { low: term.low.clone() * ln2_low.clone() / down(divisor), high };
            }
            let coefficient = COEFFICIENTS_BASE_2.iter().rev().nth(n).copied().unwrap_or(0.0);
            Interval::point(coefficient).minus(&term).times(power(-i32::try_from(n).unwrap()))
        })
        .collect()
}

/// Upper bound of `|P(x) − 2^x|` over `|x| ≤ 1/2`: the sizes of the coefficients by Chebyshev
/// polynomials of `2x`, of which none is above 1. `y^n = 2^(1−n) Σ_k C(n, k) T_(n−2k)`, with half
/// of the term of `T_0`.
fn distance_from_the_power() -> Upper {
    let mut by_chebyshev = vec![Interval::point(0.0); TERMS];
    for (n, d) in difference().iter().enumerate() {
        let mut binomial = 1.0;
        for k in 0..=n / 2 {
            let half = if n == 2 * k { 0.5 } else { 1.0 };
            let share = binomial * half * power(1 - i32::try_from(n).unwrap());
            by_chebyshev[n - 2 * k] = by_chebyshev[n - 2 * k].add(&d.times(share));
            // Exact: binomial coefficients of at most 31 are below 2^53, and so is each product.
            binomial = binomial * (n - k) as f64 / (k + 1) as f64;
        }
    }
    by_chebyshev.iter().fold(up(power(-150)), |sum, coefficient| sum + coefficient.size())
}

/// Upper bound of `|exp_product(x, c)/2^(xc) − 1|` over `|xc| ≤ 865`.
fn proved_error() -> Upper {
    let u = || up(U);
    // Horner for |rest| ≤ 1/2: one rounding a step, products are fused with the sums that follow.
    let half = || up(0.5);
    let degree = COEFFICIENTS_BASE_2.len() - 1;
    let (mut size, mut error) = (up(COEFFICIENTS_BASE_2[0].abs()), up(0.0));
    for coefficient in &COEFFICIENTS_BASE_2[1..degree] {
        let before = error * half();
        size = up(coefficient.abs()) + size * half();
        error = before.clone() + u() * (size.clone() + before);
    }
    assert_eq!(COEFFICIENTS_BASE_2[degree].to_bits(), 1.0f64.to_bits());
    // The last sum is rounded by at most 2^−54 below 1 and 2^−53 above; 2^x is at least 0.707 and
    // at least 1 there.
    let before = error * half() + distance_from_the_power();
    let polynomial =
        magnitude((before.clone() + u() / up(2.0)) / up(0.707), (before + u()) / up(1.0 - 1e-10));
    // The rest is rounded once, by at most 2^−55, and 2^a − 1 ≤ a for a ≤ 1 here. What underflows
    // is below 2^−1000.
    let argument = up(0.25) * u() + up(power(-1000));
    polynomial.clone() + argument.clone() + polynomial * argument
}

fn proved_units() -> f64 {
    (proved_error() / up(U)).to_f64().value()
}

#[test]
fn the_error_of_the_power_is_below_4u() {
    let units = proved_units();
    assert!(units < 4.0, "proved {units} u");
    assert_eq!(EXP_ERROR.to_bits(), (4.0 * U).to_bits());
}

/// `log₂e · ln 2 = 1`, and one rounding of the product.
#[test]
fn the_error_of_the_factor_is_below_its_bound() {
    let (ln2_low, ln2_high) = ln2();
    let below = up(1.0) - (down(LOG2_E) * ln2_low).with_rounding::<Up>();
    let constant = magnitude(up(LOG2_E) * ln2_high - up(1.0), below);
    let both = constant.clone() + up(U) + constant * up(U);
    assert!(both < up(FACTOR_ERROR), "{} u", (both / up(U)).to_f64().value());
}

#[test]
fn samples_agree_with_a_correctly_rounded_power() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut cases: Vec<(f64, f64)> = Vec::new();
    for scale in [1.0, 0.125, 0.3, -2.7, 1e-200, 1e200] {
        let factor = base_2_factor(scale).unwrap();
        let of = |power: f64| (power / factor, factor);
        cases.extend((0..400).map(|_| of(1700.0 * rng.random::<f64>() - 850.0)));
        cases.extend((0..400).map(|_| of(4.0 * rng.random::<f64>() - 2.0)));
        // Ends of the reduction intervals, where the rest is largest.
        let ends = (-860..860).step_by(7).map(|k| (f64::from(k) + 0.5) / factor);
        cases.extend(ends.flat_map(|x| [x.next_down(), x, x.next_up()]).map(|x| (x, factor)));
    }
    let precise = |x: f64| FBig::<HalfEven, 2>::try_from(x).unwrap().with_precision(130).value();
    let two = precise(2.0).ln();
    let mut worst = 0.0f64;
    for (x, factor) in cases {
        let product =
            FBig::<HalfEven, 2>::try_from(x).unwrap().with_precision(200).value() * precise(factor);
        let exact = (product * two.clone()).exp();
        let error =
            ((precise(exp_product(x, factor)) - exact.clone()) / exact).to_f64().value().abs();
        worst = worst.max(error / U);
    }
    let proved = proved_units();
    println!("seen {worst:.3} u, proved {proved:.3} u");
    assert!(worst <= proved, "seen {worst} u, proved {proved} u");
    assert!(worst > 1.0, "the samples miss the hard arguments: {worst} u");
}
