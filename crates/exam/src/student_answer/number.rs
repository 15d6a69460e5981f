//! A number and how precisely it was stated.

use std::cmp::Ordering;

use qkvet_prove::exact::{Exact, NotExact, Real};

use super::lexer::lex;
use super::parser::Parser;
use super::value::{Value, decimal, ten_to, value};
use super::{Notation, ReadError};

/// How a number was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Digits, so many of them behind the point.
    Decimal(usize),
    /// A fraction, a root, a power: something exact.
    Expression,
}

/// A number that somebody wrote.
#[derive(Clone, Debug)]
pub struct ParsedNumber {
    /// As it was typed.
    pub text: String,
    /// Its value.
    pub value: Real,
    /// How it was written.
    pub form: Form,
}

impl ParsedNumber {
    /// Reads a number that stands alone, in plain text or LaTeX: digits, `+ - * / ^`, brackets, `e`,
    /// `exp`, `sqrt`, `ln`. Factors may stand side by side.
    ///
    /// # Errors
    /// What is no number.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let (tokens, text) = lex(text, Notation::default())?;
        match value(&Parser::new(&tokens, None).scalar(true).all()?, &text)? {
            Value::One(x) => Ok(*x),
            Value::List(items) => Err(ReadError::Several { got: items.len() }),
        }
    }

    /// Whether it is at most half a unit of the given decimal from a value; undecided counts as no.
    pub fn is_near(&self, value: &Real, places: usize) -> bool {
        is_within(&self.value, value, &half_unit(places))
    }

    /// Whether it is at most a unit of the given decimal from a value.
    pub(super) fn is_within_unit(&self, value: &Real, places: usize) -> bool {
        is_within(&self.value, value, &(&half_unit(places) + &half_unit(places)))
    }

    /// Whether both are the same number.
    pub fn is(&self, value: &Real) -> bool {
        self.value.compare(value).is_ok_and(Ordering::is_eq)
    }
}

/// The value of a number that stands alone; one of a key that is only enclosed begins with `~`.
///
/// # Errors
/// What is no number.
pub fn read_expression(text: &str) -> Result<Real, ReadError> {
    ParsedNumber::read(text.strip_prefix('~').unwrap_or(text)).map(|x| x.value)
}

/// `½ · 10^−places`.
pub(crate) fn half_unit(places: usize) -> Exact {
    (&Exact::from(2) * &ten_to(places)).inverse().unwrap_or_else(|_| Exact::from(0))
}

/// Whether a number has no decimals behind so many: rounded to these, up, down or to the nearest,
/// it is itself.
pub(crate) fn ends_within(value: &Real, places: usize) -> bool {
    rounded(value, places).is_ok_and(|rounded| rounded.compare(value).is_ok_and(Ordering::is_eq))
}

/// Decimals that tell numbers apart before exact arithmetic has to.
const ENOUGH: usize = 40;

/// A value to 40 decimals, as a rational: at most half a unit of the last from it.
pub(crate) fn approximate(value: &Real) -> Result<Real, NotExact> {
    rounded(value, ENOUGH)
}

/// A value to so many decimals, as a rational.
pub(crate) fn rounded(value: &Real, places: usize) -> Result<Real, NotExact> {
    let digits = value.digits(places);
    let value = decimal(&digits)?;
    if digits.starts_with('-') { value.negated() } else { Ok(value) }
}

/// Whether `|x − y| ≤ most`: by 40 decimals where they decide it, else exactly; what stays
/// undecided counts as no.
pub(crate) fn is_within(x: &Real, y: &Real, most: &Exact) -> bool {
    // Logarithms are compared by their arguments, which takes less than their decimals.
    if let (Real::Plain(_), Real::Plain(_)) = (x, y)
        && let (Ok(x), Ok(y)) = (approximate(x), approximate(y))
        && let (Ok(x), Ok(y), Ok(error)) = (x.plain(), y.plain(), ten_to(ENOUGH).inverse())
        && let Ok(apart) = (x - y).abs()
    {
        if &apart + &error <= *most {
            return true;
        }
        if &apart - &error > *most {
            return false;
        }
    }
    let most = Real::from(most.clone());
    let at_most = |x: &Real, y: &Real| Some(x.compare(&y.plus(&most).ok()?).ok()?.is_le());
    at_most(x, y) == Some(true) && at_most(y, x) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_digits_are_counted() {
        for (text, form, digits) in [
            ("0.70", Form::Decimal(2), "0.7000"),
            ("-3", Form::Decimal(0), "-3.0000"),
            ("6.9e-3", Form::Decimal(4), "0.0069"),
            ("2e1", Form::Decimal(0), "20.0000"),
            ("1.05 x 10^-1", Form::Decimal(3), "0.1050"),
            ("-1.05·10⁻¹", Form::Decimal(3), "-0.1050"),
            (r"1.05 \times 10^{-1}", Form::Decimal(3), "0.1050"),
            ("3*10**2", Form::Decimal(0), "300.0000"),
            ("6.9 x 10 ^ -10", Form::Decimal(11), "0.0000"),
            ("2x10^10", Form::Decimal(0), "20000000000.0000"),
            ("10 × 10^{10}", Form::Decimal(0), "100000000000.0000"),
            ("10^-1", Form::Expression, "0.1000"),
            ("2*3*10^2", Form::Expression, "600.0000"),
            ("110^2", Form::Expression, "12100.0000"),
            (".5", Form::Decimal(1), "0.5000"),
            ("1.", Form::Decimal(0), "1.0000"),
            ("−1.25", Form::Decimal(2), "-1.2500"),
            ("1/2", Form::Expression, "0.5000"),
            ("2e", Form::Expression, "5.4366"),
        ] {
            let read = ParsedNumber::read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((read.form, read.value.digits(4).as_str()), (form, digits), "{text}");
        }
        assert!(ParsedNumber::read("1e999999999").is_err());
        for text in ["nan", ".nan", "-.inf", "Infinity"] {
            assert!(ParsedNumber::read(text).is_err(), "{text}");
        }
        assert!(ParsedNumber::read(&"1".repeat(600)).is_err());
    }

    #[test]
    fn half_a_unit_is_decided_exactly() {
        let third = ParsedNumber::read("1/3").unwrap().value;
        assert!(ParsedNumber::read("0.333").unwrap().is_near(&third, 3));
        assert!(!ParsedNumber::read("0.334").unwrap().is_near(&third, 3));
        // Half a unit itself is near, whichever way it is rounded.
        let half = ParsedNumber::read("0.125").unwrap().value;
        assert!(
            ["0.12", "0.13"].iter().all(|text| ParsedNumber::read(text).unwrap().is_near(&half, 2))
        );
        assert!(!ParsedNumber::read("0.11").unwrap().is_near(&half, 2));
        assert!(ParsedNumber::read("0.1250").unwrap().is(&half));
    }
}
