//! Arbitrary precision: certified decimal digits of the exact output of a call, for files that
//! others keep, and balls as narrow as a double allows.
//!
//! [`answer`] is the entry for digits: each element is decided exactly where it is rational, else
//! by the enclosure where both ends round alike, else in integer arithmetic of growing precision.
//! That this ends is a theorem: `docs/bounds.md#digits`. What an implementation may differ from the
//! printed digits is [`answer_bounds`]. [`PreciseHead`] is the entry for balls.

mod algebraic;
mod bounds;
mod decimal;
mod dyadic;
mod exponential;
mod logarithm;
mod logits;
mod precise;
mod ratio;
mod row;
mod softcap;
mod values;
mod weights;

use qkvet_spec::{Call, Meaning, Normalization, Stage};
use thiserror::Error;

pub use self::bounds::{answer_bounds, answer_bounds_with};
pub use self::decimal::{Decimal, DecimalError};
pub use self::precise::PreciseHead;
pub use self::row::Logarithm;
use crate::enclosure::enclose_with;
use crate::gemm::Products;
use crate::head::Head;
use crate::lowering::{Maps, ResultName, lower};

/// Most digits that can be asked for.
pub const MAX_DIGITS: u32 = 1000;

/// Bits at which the search for a number that no theorem keeps from a tie is given up.
pub const MAX_BITS: usize = 1 << 14;

/// How narrow a ball is wanted: the radius is to be at most `absolute` or `relative · |mid|`.
///
/// It is never made narrower than half a spacing of the midpoint and a little, but for numbers that
/// are an `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    /// Of the midpoint.
    pub relative: f64,
    /// Whatever the midpoint.
    pub absolute: f64,
}

impl Width {
    /// As narrow as a double allows.
    pub const NEAREST: Self = Self { relative: 0.0, absolute: 0.0 };

    /// That of one evaluation with 128 bits: `2^−126 Σ_j w_j |v_j|` and half a spacing of the
    /// midpoint.
    pub const ONE_EVALUATION: Self = Self { relative: f64::INFINITY, absolute: f64::INFINITY };
}

/// The exact output of a call in decimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `(b, h_q, n_q, d_v)`.
    pub shape: [usize; 4],
    /// Elements, row-major.
    pub values: Vec<Decimal>,
}

/// Why there are no digits.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DigitsError {
    /// The meaning does not normalize over the keys.
    #[error("normalization of the meaning: expected over-keys, got {got:?}")]
    Normalization {
        /// What it does.
        got: Normalization,
    },
    /// An input has no real value.
    #[error("{what} at {index}: expected a finite number, got {got}")]
    NotFinite {
        /// Name of the input.
        what: &'static str,
        /// Offset of the element, row-major.
        index: usize,
        /// The element.
        got: f64,
    },
    /// A bias of −∞ that the meaning does not turn into a hidden key.
    #[error("bias at {index}: expected -inf times a positive scale, got a scale of {scale}")]
    NotHiding {
        /// Offset of the element, row-major.
        index: usize,
        /// The factor that the meaning puts on the bias.
        scale: f64,
    },
    /// A bias of −∞ that a softcap makes finite.
    #[error("bias at {index}: expected no -inf in front of a softcap, got one")]
    CappedBias {
        /// Offset of the element, row-major.
        index: usize,
    },
    /// A cap that caps nothing.
    #[error("softcap: expected a positive finite number, got {got}")]
    Softcap {
        /// The cap.
        got: f64,
    },
    /// Two ends still differed: under a softcap no theorem excludes a tie.
    #[error(
        "element under a softcap at {bits} bits: expected two ends that agree, got undecided ones"
    )]
    Undecided {
        /// Bits of the last evaluation.
        bits: usize,
    },
    /// A query that sees no key has no number as its output.
    #[error(
        "row [b={b}, h={h}, i={i}]: expected a visible key, or a number for empty rows, got none and NaN"
    )]
    EmptyRow {
        /// Batch item.
        b: usize,
        /// Query head.
        h: usize,
        /// Query.
        i: usize,
    },
    /// No digits, or too many.
    #[error("digits: expected 1 to {MAX_DIGITS}, got {got}")]
    Digits {
        /// What was asked for.
        got: u32,
    },
}

/// The output of `call` under `meaning`, each element correctly rounded to `digits` significant
/// decimal digits, ties to even.
///
/// A rational element whose decimal expansion ends within `digits` digits is printed in full and is
/// exact; so is a dyadic one that ends within 40 digits. An element below 10⁻¹⁰⁰⁰⁰ in magnitude is
/// printed as 0, which is then not exact.
///
/// The digits depend on the call alone, not on the machine, the number of threads or the way in
/// which they were found.
///
/// # Shapes
/// As [`interpret`](crate::interpret::interpret) → `(b, h_q, n_q, d_v)`, the width as the meaning
/// says.
///
/// # Error bound
/// [`Decimal::error`]: half a unit of the last of the `digits` digits, or 0. Derivation:
/// docs/bounds.md#digits.
///
/// # Edge cases
/// A query that sees no key gives what the meaning says of empty rows.
///
/// # Errors
/// [`DigitsError`] for a number of digits out of range, for inputs that are not finite (a bias of
/// −∞ hides its key), for a bias of −∞ that a later stage makes something else, for a cap that is
/// not positive, for an empty row that is NaN, for weights that are not normalized over the keys,
/// and under a softcap for an element that [`MAX_BITS`] bits do not decide.
pub fn answer(meaning: &Meaning, call: &Call, digits: u32) -> Result<Answer, DigitsError> {
    answer_with(meaning, call, digits, Products::FixedOrder)
}

/// [`answer`] with the given matrix products in its first attempt: the digits are the same.
///
/// # Errors
/// As [`answer`].
pub fn answer_with(
    meaning: &Meaning,
    call: &Call,
    digits: u32,
    products: Products,
) -> Result<Answer, DigitsError> {
    check_digits(digits)?;
    if meaning.normalization != Normalization::OverKeys {
        return Err(DigitsError::Normalization { got: meaning.normalization });
    }
    check_finite(call)?;
    let dims = call.dims();
    let width = Maps::new(meaning, call).output_width();
    let mut values = Vec::with_capacity(dims.b * dims.h_q * dims.n_q * width);
    for b in 0..dims.b {
        for h in 0..dims.h_q {
            let lowered = lower(meaning, call, b, h, ResultName::Output);
            let head = lowered.head();
            check_hiding(&head)?;
            let enclosure = enclose_with(&head, products);
            let precise = PreciseHead::new(&head)?;
            let known = width.min(head.d_v);
            for i in 0..dims.n_q {
                let at = |c: usize| i * head.d_v + c;
                let row = precise.output_digits(i, known, digits, |c| {
                    (enclosure.mid[at(c)], enclosure.rad[at(c)])
                })?;
                values.extend(row.ok_or(DigitsError::EmptyRow { b, h, i })?);
                values.extend((known..width).map(|_| Decimal::zero()));
            }
        }
    }
    Ok(Answer { shape: [dims.b, dims.h_q, dims.n_q, width], values })
}

/// Whether so many digits can be asked for.
fn check_digits(digits: u32) -> Result<(), DigitsError> {
    if (1..=MAX_DIGITS).contains(&digits) {
        Ok(())
    } else {
        Err(DigitsError::Digits { got: digits })
    }
}

/// Whether every bias of −∞ is still −∞ where the stages end: a scale of 0 or less or a cap behind
/// the bias would change it.
fn check_hiding(head: &Head<'_>) -> Result<(), DigitsError> {
    let Some(index) = head.bias.and_then(|bias| bias.iter().position(|b| *b == f64::NEG_INFINITY))
    else {
        return Ok(());
    };
    for stage in head.stages.iter().skip_while(|stage| **stage != Stage::Bias) {
        match stage {
            Stage::Scale if head.scale.factor <= 0.0 => {
                return Err(DigitsError::NotHiding { index, scale: head.scale.factor });
            }
            Stage::Softcap if head.softcap.is_some() => {
                return Err(DigitsError::CappedBias { index });
            }
            Stage::Scale | Stage::Softcap | Stage::Bias => {}
        }
    }
    Ok(())
}

/// Whether all numbers of an input are allowed.
fn check_all(
    what: &'static str,
    data: &[f64],
    allowed: fn(f64) -> bool,
) -> Result<(), DigitsError> {
    let found = data.iter().enumerate().find(|(_, x)| !allowed(**x));
    found.map_or(Ok(()), |(index, got)| Err(DigitsError::NotFinite { what, index, got: *got }))
}

/// Real, or the −∞ of a bias that hides.
fn is_bias(x: f64) -> bool {
    x.is_finite() || x == f64::NEG_INFINITY
}

/// Whether every input is a real number; −∞ may stand in the bias.
fn check_finite(call: &Call) -> Result<(), DigitsError> {
    check_all("query", &call.query.data, f64::is_finite)?;
    check_all("key", &call.key.data, f64::is_finite)?;
    check_all("value", &call.value.data, f64::is_finite)?;
    check_all("scale", call.options.scale.as_slice(), f64::is_finite)?;
    let bias = call.options.bias.as_ref().map_or(&[][..], |bias| &bias.data);
    check_all("bias", bias, is_bias)
}
