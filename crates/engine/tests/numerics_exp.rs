//! The proof that `exp1` keeps its bound, as a computation with directed rounding at 300 bits, and
//! samples against it.
//!
//! The argument is in `docs/bounds.md#exp`. Every quantity below is an upper bound of a magnitude:
//! sums, products and quotients of non-negative numbers are rounded up.

use crate::directed;

use std::f64::consts::LOG2_E;

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use directed::{U, Upper, down, ln2, magnitude, up};
use qkvet_engine::exp::{COEFFICIENTS, CUTOFF, EXP_ERROR, LN2_HIGH, LN2_LOW, MAGIC, exp1};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Upper bound of `|exp1(x)/e^x − 1|` over `|x| ≤ −CUTOFF`. All that enters it are magnitudes: the
/// sign of `x` does not.
fn proved_error() -> Upper {
    let u = || up(U);
    let one = || up(1.0);
    let (ln2_low, ln2_high) = ln2();

    // k·LN2_HIGH is exact: |k| < 2^10 and LN2_HIGH has at most 33 significant bits.
    assert!(LN2_HIGH.to_bits().trailing_zeros() >= 20);
    const { assert!(-CUTOFF * LOG2_E < 866.0 && MAGIC.to_bits() == 0x4338_0000_0000_0000) };
    let k_max = up(867.0);
    let split_error = magnitude(
        ln2_high.clone() - up(LN2_HIGH) - up(LN2_LOW),
        up(LN2_HIGH) + up(LN2_LOW) - ln2_low.clone().with_rounding(),
    );

    // k is the product with a rounded constant, fused with the sum that rounds it to an integer.
    let lowest_product: Upper = (down(LOG2_E) * ln2_low.clone()).with_rounding();
    let log_error = magnitude(up(LOG2_E) * ln2_high.clone() - one(), one() - lowest_product);
    let product_error = up(866.0) * log_error * up(1.125);
    let r_exact = (up(0.5) + product_error) * ln2_high.clone();

    // x − k·LN2_HIGH is exact: for k ≠ 0 it is a multiple of 2^−54 (as |x| > 1/4) and below 1/2.
    assert!(r_exact < up(0.375) && ln2_low > down(0.65));
    assert!(r_exact.clone() + k_max.clone() * (ln2_high - up(LN2_HIGH)) < up(0.5));
    // What is left is fused as well: one rounding of the difference.
    let low_error = k_max * split_error;
    let r_error = low_error.clone() * (one() + u()) + u() * (r_exact.clone() + low_error);
    let r_max = r_exact + r_error.clone();

    // Horner: `error` and `size` of each tail of the series for |r| ≤ r_max; products are fused
    // with the sums that follow.
    let factorial = |k: usize| (1..=k).fold(1.0, |product, factor| product * factor as f64);
    let coefficient_error = |k: usize| {
        let computed = || up(COEFFICIENTS[13 - k]);
        let low: Upper = (down(1.0) / down(factorial(k))).with_rounding();
        magnitude(one() / up(factorial(k)) - computed(), computed() - low)
    };
    let (mut size, mut error) = (one() / up(factorial(13)), coefficient_error(13));
    for k in (1..13).rev() {
        let before_rounding = error * r_max.clone() + coefficient_error(k);
        size = one() / up(factorial(k)) + size * r_max.clone();
        error = before_rounding.clone() + u() * (size.clone() + before_rounding);
    }
    let last_product = error * r_max.clone();

    // The last sum is rounded by at most 2^−54 below 1 and 2^−53 above; what the series leaves out
    // is below 1.5·r^14/14!.
    let tail = (0..14).fold(up(1.5) / up(factorial(14)), |tail, _| tail * r_max.clone());
    assert!(COEFFICIENTS[13] == 1.0 && r_max < up(0.375));
    let below = (last_product.clone() + tail.clone() + u() / up(2.0)) / up(0.6875);
    let above = last_product + tail + u();
    let polynomial = magnitude(below, above);
    let argument = r_error * up(1.001);
    polynomial.clone() + argument.clone() + polynomial * argument
}

fn proved_units() -> f64 {
    (proved_error() / up(U)).to_f64().value()
}

#[test]
fn the_error_of_the_exponential_is_below_4u() {
    let units = proved_units();
    assert!(units < 4.0, "proved {units} u");
    assert_eq!(EXP_ERROR.to_bits(), (4.0 * U).to_bits());
}

#[test]
fn samples_agree_with_a_correctly_rounded_exponential() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut xs: Vec<f64> = (0..1500).map(|_| CUTOFF * rng.random::<f64>()).collect();
    xs.extend((0..1500).map(|_| -2.0 * rng.random::<f64>()));
    // Ends of the reduction intervals, where |r| is largest.
    let ends = (0..865).map(|k| -(f64::from(k) + 0.5) * std::f64::consts::LN_2);
    xs.extend(ends.flat_map(|x| [x.next_down(), x, x.next_up()]));
    xs.extend_from_within(..);
    let half = xs.len() / 2;
    xs[half..].iter_mut().for_each(|x| *x = -*x);
    xs.extend([CUTOFF, -CUTOFF, -f64::MIN_POSITIVE, -5e-324, -1e-17]);
    let precise = |x: f64| FBig::<HalfEven, 2>::try_from(x).unwrap().with_precision(130).value();
    let mut worst = 0.0f64;
    for x in xs {
        let exact = precise(x).exp();
        let error = ((precise(exp1(x)) - exact.clone()) / exact).to_f64().value().abs();
        worst = worst.max(error / U);
    }
    let proved = proved_units();
    println!("seen {worst:.3} u, proved {proved:.3} u");
    assert!(worst <= proved, "seen {worst} u, proved {proved} u");
    assert!(worst > 1.0, "the samples miss the hard arguments: {worst} u");
}
