//! Certified decimal digits of the exact output of a call, for files that others keep.
//!
//! [`answer`] is the entry: each element is decided exactly where it is rational, else by the enclosure where both ends round
//! alike, else in integer arithmetic of growing precision. That this ends is a theorem: `docs/bounds.md#digits`. What an
//! implementation may differ from the printed digits is [`answer_bounds`].

mod bounds;
mod decimal;
mod dyadic;
mod exponential;
mod logits;
mod ratio;
mod row;

use qkvet_spec::{Call, EmptyRow, Meaning, Normalization};
use thiserror::Error;

pub use self::bounds::{answer_bounds, answer_bounds_with};
pub use self::decimal::{Decimal, DecimalError};
use self::logits::ExactLogits;
use self::row::{Row, Values};
use crate::enclosure::enclose_with;
use crate::gemm::Products;
use crate::lowering::{Maps, Want, lower};

/// Most digits that can be asked for.
pub const MOST_DIGITS: u32 = 1000;

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
    /// A query that sees no key has no number as its output.
    #[error("row [b={b}, h={h}, i={i}]: expected a visible key, or a number for empty rows, got none and NaN")]
    EmptyRow {
        /// Batch item.
        b: usize,
        /// Query head.
        h: usize,
        /// Query.
        i: usize,
    },
    /// No digits, or too many.
    #[error("digits: expected 1 to {MOST_DIGITS}, got {got}")]
    Digits {
        /// What was asked for.
        got: u32,
    },
}

/// The output of `call` under `meaning`, each element correctly rounded to `digits` significant decimal digits, ties to even.
///
/// A rational element whose decimal expansion ends within `digits` digits is printed in full and is exact; so is a dyadic one
/// that ends within 40 digits. An element below 10⁻¹⁰⁰⁰⁰ in magnitude is printed as 0, which is then not exact.
///
/// The digits depend on the call alone, not on the machine, the number of threads or the way in which they were found.
///
/// # Shapes
/// As [`interpret`](crate::interpret::interpret) → `(b, h_q, n_q, d_v)`, the width as the meaning says.
///
/// # Error bound
/// [`Decimal::error`]: half a unit of the last of the `digits` digits, or 0. Derivation: docs/bounds.md#digits.
///
/// # Edge cases
/// A query that sees no key gives what the meaning says of empty rows.
///
/// # Errors
/// [`DigitsError`] for a number of digits out of range, for inputs that are not finite (a bias of −∞ hides its key), for an
/// empty row that is NaN, and for weights that are not normalized over the keys.
pub fn answer(meaning: &Meaning, call: &Call, digits: u32) -> Result<Answer, DigitsError> {
    answer_with(meaning, call, digits, Products::FixedOrder)
}

/// [`answer`] with the given matrix products in its first attempt: the digits are the same.
///
/// # Errors
/// As [`answer`].
pub fn answer_with(meaning: &Meaning, call: &Call, digits: u32, products: Products) -> Result<Answer, DigitsError> {
    if !(1..=MOST_DIGITS).contains(&digits) {
        return Err(DigitsError::Digits { got: digits });
    }
    if meaning.normalization != Normalization::OverKeys {
        return Err(DigitsError::Normalization { got: meaning.normalization });
    }
    check_finite(call)?;
    let dims = call.dims();
    let width = Maps::new(meaning, call).output_width();
    let mut values = Vec::with_capacity(dims.b * dims.h_q * dims.n_q * width);
    for b in 0..dims.b {
        for h in 0..dims.h_q {
            let lowered = lower(meaning, call, b, h, Want::Output);
            let head = lowered.head();
            let enclosure = enclose_with(&head, products);
            let logits = ExactLogits::new(meaning, call, &head, (b, h))?;
            let exact_values = Values::new(&head);
            let known = width.min(head.d_v);
            for i in 0..dims.n_q {
                let seen = logits.visible(&lowered, i);
                if seen.is_empty() && head.empty_row == EmptyRow::Nan {
                    return Err(DigitsError::EmptyRow { b, h, i });
                }
                if seen.is_empty() {
                    values.extend((0..known).map(|c| exact_values.of_empty_row(head.empty_row, c, digits)));
                } else {
                    let row = Row::new(&exact_values, &seen, logits.of_row(i, &seen));
                    let at = |c: usize| i * head.d_v + c;
                    values.extend(row.decimals(known, digits, |c| (enclosure.mid[at(c)], enclosure.rad[at(c)])));
                }
                values.extend((known..width).map(|_| Decimal::zero()));
            }
        }
    }
    Ok(Answer { shape: [dims.b, dims.h_q, dims.n_q, width], values })
}

/// Whether every input is a real number; −∞ may stand in the bias.
fn check_finite(call: &Call) -> Result<(), DigitsError> {
    let not_finite = |what, data: &[f64], allowed: fn(f64) -> bool| {
        let found = data.iter().enumerate().find(|(_, x)| !allowed(**x));
        found.map_or(Ok(()), |(index, got)| Err(DigitsError::NotFinite { what, index, got: *got }))
    };
    not_finite("query", &call.query.data, f64::is_finite)?;
    not_finite("key", &call.key.data, f64::is_finite)?;
    not_finite("value", &call.value.data, f64::is_finite)?;
    not_finite("scale", call.scale.as_slice(), f64::is_finite)?;
    let bias = call.bias.as_ref().map_or(&[][..], |bias| &bias.data);
    not_finite("bias", bias, |x| x.is_finite() || x == f64::NEG_INFINITY)
}
