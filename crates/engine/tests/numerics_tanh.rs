//! The proof that `tanh1` keeps its bound, as a computation with directed rounding at 300 bits, and
//! samples against it.
//!
//! The argument is in `docs/bounds.md#tanh`. Every quantity below is an upper bound of a magnitude
//! unless it is named `least`.

use crate::directed;

use std::f64::consts::LOG2_E;

use dashu_float::FBig;
use dashu_float::round::mode::{Down, HalfEven};
use directed::{Lower, U, Upper, down, ln2, magnitude, up};
use qkvet_engine::exp::{COEFFICIENTS, LN2_HIGH, LN2_LOW};
use qkvet_engine::tanh::{SATURATION, TANH_ERROR, tanh1};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Lower bound of `1 − e^−x` for `0 ≤ x ≤ 1`: the alternating series up to a negative term.
fn least_complement(x: &Upper) -> Lower {
    let x: Lower = x.clone().with_rounding();
    let upper: Upper = x.clone().with_rounding();
    let mut sum = down(0.0);
    let (mut term_low, mut term_high) = (down(1.0), up(1.0));
    for k in 1..=20 {
        term_low = term_low * x.clone() / down(f64::from(k));
        term_high = term_high * upper.clone() / up(f64::from(k));
        if k % 2 == 1 {
            sum += term_low.clone();
        } else {
            sum -= term_high.clone().with_rounding::<Down>();
        }
    }
    sum
}

/// Upper bound of `|tanh1(x)/tanh x − 1|` over `|x| ≥ 2^−1000`.
fn proved_error() -> Upper {
    let u = || up(U);
    let one = || up(1.0);
    let (ln2_low, ln2_high) = ln2();

    // |k| ≤ 58 as 40·log₂e < 57.8, and k·LN2_HIGH is exact.
    const { assert!(2.0 * SATURATION * LOG2_E < 57.8) };
    let k_max = up(58.0);
    let split_error = magnitude(
        ln2_high.clone() - up(LN2_HIGH) - up(LN2_LOW),
        up(LN2_HIGH) + up(LN2_LOW) - ln2_low.clone().with_rounding(),
    );
    let lowest_product: Upper = (down(LOG2_E) * ln2_low.clone()).with_rounding();
    let log_error = magnitude(up(LOG2_E) * ln2_high.clone() - one(), one() - lowest_product);
    let product_error = up(58.0) * (u() + log_error * (one() + u())) * up(1.125);
    let r_exact = (up(0.5) + product_error) * ln2_high.clone();
    // As for the exponential, x − k·LN2_HIGH is exact; for k = 0 the argument is not changed at
    // all.
    assert!(r_exact < up(0.375) && ln2_low > down(0.65));
    let low_error = u() * k_max.clone() * up(LN2_LOW) + k_max * split_error;
    let r_error = low_error.clone() * (one() + u()) + u() * (r_exact.clone() + low_error);
    let r_max = r_exact.clone() + r_error.clone();

    // Horner for (e^r − 1)/r = Σ r^(k−1)/k!: `error` and `size` of each tail.
    let factorial = |k: usize| (1..=k).fold(1.0, |product, factor| product * factor as f64);
    let coefficient_error = |k: usize| {
        let computed = || up(COEFFICIENTS[13 - k]);
        let low: Upper = (down(1.0) / down(factorial(k))).with_rounding();
        magnitude(one() / up(factorial(k)) - computed(), computed() - low)
    };
    let product = |size: &Upper, error: &Upper| {
        error.clone() * r_max.clone() + u() * (size.clone() + error.clone()) * r_max.clone()
    };
    let (mut size, mut error) = (one() / up(factorial(13)), coefficient_error(13));
    for k in (2..13).rev() {
        let before_rounding = product(&size, &error) + coefficient_error(k);
        size = one() / up(factorial(k)) + size * r_max.clone();
        error = before_rounding.clone() + u() * (size.clone() + before_rounding);
    }
    // The last sum, 1 + r·(…), is below 2: half a spacing is 2^−54 below 1 and 2^−53 above.
    assert!(COEFFICIENTS[12].to_bits() == 1.0f64.to_bits());
    let tail = (0..13).fold(up(1.5) / up(factorial(14)), |tail, _| tail * r_max.clone());
    let last_product = product(&size, &error) + tail;
    // For k = 0 the argument r = −2|x| is not positive, so (e^r − 1)/r ≤ 1 and at least its value
    // at −r_max.
    let least_quotient: Lower = least_complement(&r_max) / r_max.clone().with_rounding::<Down>();
    let quotient_error = last_product.clone() + u();
    let relative_quotient = quotient_error.clone() / least_quotient.with_rounding();

    // k = 0: m = fl(r·p), 2/(2 + m) ≤ 2/(1 + e^−r_max) ≤ 2/(1 + 1 − r_max).
    let second_order = up(1.0 + 1.0 / 1024.0);
    let relative = (relative_quotient + u()) * second_order.clone();
    let near = relative * up(2.0) / (up(2.0) - r_max.clone());

    // k < 0: the error of e^r − 1, of size r·p ≤ e^r − 1 < 0.42, and that of r itself, e^r < 1.42.
    let grown = up(1.42);
    let product_rounding = u() * up(0.42) * second_order.clone();
    let power_error = quotient_error * r_max.clone() + product_rounding + r_error * grown;
    // k = −1: sums below 1 are rounded by 2^−54, |m| ≥ 1 − e^r/2 > 0.29 and |m| ≤ 1 − e^−r/2 <
    // 0.65.
    assert!(r_max < up(0.35) && up(0.35).exp() < up(1.4191));
    let one_half = (power_error.clone() / up(2.0) + u() / up(2.0)) / up(0.29) * up(2.0) / up(1.35);
    // k ≤ −2: 2^k − 1 may be rounded as well, |m| > 0.64 and |m| ≤ 1.
    let further = (power_error / up(4.0) + u()) / up(0.64) * up(2.0);

    let worst = magnitude(near, magnitude(one_half, further)) * second_order.clone();
    // The sum 2 + m, the quotient, and the saturation 1 − tanh 20 < 2·e^−40 < 9·10^−18.
    (worst + up(2.0) * u()) * second_order + up(9e-18)
}

fn proved_units() -> f64 {
    (proved_error() / up(U)).to_f64().value()
}

#[test]
fn the_error_of_the_tangent_is_below_9u() {
    let units = proved_units();
    println!("proved {units:.3} u");
    assert!(units < 9.0, "proved {units} u");
    assert_eq!(TANH_ERROR.to_bits(), (9.0 * U).to_bits());
}

#[test]
fn samples_agree_with_240_bits() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut xs: Vec<f64> = (0..1500).map(|_| 25.0 * rng.random::<f64>()).collect();
    xs.extend((0..2500).map(|_| rng.random::<f64>()));
    xs.extend((0..500).map(|_| libm::exp(-50.0 * rng.random::<f64>())));
    let ends = (0..58).map(|k| (f64::from(k) + 0.5) * std::f64::consts::LN_2 / 2.0);
    xs.extend(ends.flat_map(|x| [x.next_down(), x, x.next_up()]));
    xs.extend([SATURATION, SATURATION.next_down(), SATURATION.next_up(), 300.0, 1e-300, 1e-200]);
    let precise = |x: f64| FBig::<HalfEven, 2>::try_from(x).unwrap().with_precision(240).value();
    let mut worst = (0.0f64, 0.0);
    for x in xs {
        // −m/(2 + m) with m = e^(−2x) − 1, by the series where it cancels.
        let exact = if x < 1e-30 {
            precise(x)
        } else {
            let m = (precise(-2.0 * x)).exp_m1();
            -m.clone() / (precise(2.0) + m)
        };
        let error = ((precise(tanh1(x)) - exact.clone()) / exact).to_f64().value().abs();
        if error / U > worst.0 {
            worst = (error / U, x);
        }
    }
    let proved = proved_units();
    println!("seen {:.3} u at {:e}, proved {proved:.3} u", worst.0, worst.1);
    assert!(worst.0 <= proved, "seen {} u at {:e}, proved {proved} u", worst.0, worst.1);
    assert!(worst.0 > 1.0, "the samples miss the hard arguments: {} u", worst.0);
}
