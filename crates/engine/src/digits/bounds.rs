//! How far an output under a contract may be from printed digits, as a plain reader computes it.

use qkvet_spec::{Call, Contract, Meaning};

use super::Answer;
use crate::exp::U;
use crate::gemm::Products;
use crate::interpret::interpret_with;
use crate::lowering::ResultName;

/// Bounds `|x − d|` for the outputs `x` of an implementation that keeps the contract and the
/// decimals `d` of an answer.
///
/// A reader who parses a decimal to the nearest binary64 number, subtracts in binary64 and compares
/// with the parsed bound finds `|x − d| ≤ bound` for every such output: the bound is that of the
/// contract, plus the errors of the decimal, of reading it and of subtracting, rounded up to three
/// significant decimal digits. It is the same on every machine.
///
/// # Shapes
/// That of `answer`, which is to be [`answer`](super::answer)`(meaning, call, …)`, or one read from
/// a file through [`Decimal::rounded_to`](super::Decimal::rounded_to).
///
/// # Error bound
/// `(hard + decimal + reading) · (1 + 8u)`, rounded up. Derivation: docs/bounds.md#digits. 0 only
/// where the contract allows nothing and the decimal is exact and a binary64 number.
///
/// # Edge cases
/// Infinite where the contract's bound is vacuous or the decimal exceeds the finite numbers.
pub fn answer_bounds(
    meaning: &Meaning,
    call: &Call,
    contract: &Contract,
    answer: &Answer,
) -> Vec<f64> {
    answer_bounds_with(meaning, call, contract, answer, Products::FixedOrder)
}

/// [`answer_bounds`] with the given matrix products: valid bounds, and the same unless one of them
/// lies within the last places of binary64 of a decimal of three digits.
pub fn answer_bounds_with(
    meaning: &Meaning,
    call: &Call,
    contract: &Contract,
    answer: &Answer,
    products: Products,
) -> Vec<f64> {
    let expected = interpret_with(meaning, call, contract, ResultName::Output, products);
    let pairs = expected.hard.iter().zip(&answer.values);
    pairs
        .map(|(hard, decimal)| {
            three_digits_up(total(*hard, decimal.error(), decimal.reading_error()))
        })
        .collect()
}

/// Upper bound of what a reader finds: the sum, one rounding of the difference, and three of this
/// expression.
fn total(hard: f64, decimal: f64, reading: f64) -> f64 {
    let sum = hard + decimal + reading;
    if sum > 0.0 { (sum * (1.0 + 8.0 * U)).next_up() } else { sum }
}

/// The binary64 number of the smallest decimal of three digits that is not below `x`.
fn three_digits_up(x: f64) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    let text = format!("{x:.2e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return f64::INFINITY };
    let hundreds: u32 = mantissa
        .bytes()
        .filter(u8::is_ascii_digit)
        .fold(0, |n, digit| 10 * n + u32::from(digit - b'0'));
    let exponent = exponent.parse::<i32>().unwrap_or(i32::MAX / 2);
    let number =
        |hundreds: u32| format!("{hundreds}e{}", exponent - 2).parse().unwrap_or(f64::INFINITY);
    if number(hundreds) >= x { number(hundreds) } else { number(hundreds + 1) }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "decimals of three digits are read correctly")]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_never_below() {
        for (x, expected) in [
            (1.0, 1.0),
            (1.001, 1.01),
            (9.999, 10.0),
            (1.239e-7, 1.24e-7),
            (0.5, 0.5),
            (5e-324, 5e-324),
            (0.0, 0.0),
        ] {
            assert_eq!(three_digits_up(x), expected);
        }
        assert_eq!(three_digits_up(f64::INFINITY), f64::INFINITY);
        assert_eq!(three_digits_up(f64::MAX), f64::INFINITY);
        assert_eq!(three_digits_up(1.23f64.next_up()), 1.24);
    }

    #[test]
    fn nothing_stays_nothing_and_something_grows() {
        assert_eq!(total(0.0, 0.0, 0.0), 0.0);
        assert!(total(1.0, 0.0, 0.0) > 1.0 && total(0.0, 0.0, 5e-324) > 5e-324);
        assert_eq!(total(f64::INFINITY, 0.0, 0.0), f64::INFINITY);
    }
}
