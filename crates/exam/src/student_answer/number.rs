//! A number and how precisely it was stated.

use std::cmp::Ordering;

use qkvet_prove::exact::{Exact, NotExact, Real};

use super::expression::{TIMES, decimal, lowered, read_expression, ten_to};
use super::{MAX_TEXT, ReadError};

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
    /// Reads a number. One that is nothing but digits may have an exponent: `6.9e-13`.
    ///
    /// # Errors
    /// What is no number.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let text = text.trim();
        if text.len() > MAX_TEXT {
            let got = text.len();
            return Err(ReadError::TooMany { most: MAX_TEXT, what: "characters", got });
        }
        let word = text.trim_start_matches(['-', '+', '.']).to_ascii_lowercase();
        if ["nan", "inf", "infinity"].contains(&word.as_str()) {
            return Err(ReadError::NotFinite { got: text.to_owned() });
        }
        let stated = |value, form| Self { text: text.to_owned(), value, form };
        Ok(match scientific(text).as_deref().map_or_else(|| plain(text), plain)? {
            Some((value, decimals)) => stated(value, Form::Decimal(decimals)),
            None => stated(read_expression(text)?, Form::Expression),
        })
    }

    /// Whether it is at most half a unit of the given decimal from a value; undecided counts as no.
    pub fn is_near(&self, value: &Real, places: usize) -> bool {
        is_within(&self.value, value, &half_unit(places))
    }

    /// Whether both are the same number.
    pub fn is(&self, value: &Real) -> bool {
        self.value.compare(value).is_ok_and(Ordering::is_eq)
    }
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

/// Digits of a number that is nothing else.
const MAX_DIGITS: usize = 60;

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

/// `1.05 x 10^-1` and what else is written with a power of ten, as `1.05e-1`.
fn scientific(text: &str) -> Option<String> {
    text.match_indices("10").find_map(|(at, ten)| {
        let (before, power) = (text[..at].trim_end(), text[at + ten.len()..].trim_start());
        let mantissa = TIMES
            .iter()
            .chain(&["x", "X"])
            .find_map(|times| before.strip_suffix(times))?
            .trim_end();
        let power: String = match power.strip_prefix('^').or_else(|| power.strip_prefix("**")) {
            Some(power) => power.replace('−', "-"),
            None => power.chars().map(lowered).collect::<Option<_>>()?,
        };
        let power = power.trim();
        let inner = |open: char, close: char| power.strip_prefix(open)?.strip_suffix(close);
        let power = inner('{', '}').or_else(|| inner('(', ')')).unwrap_or(power).trim();
        let is_whole = !power.is_empty()
            && power.trim_start_matches(['-', '+']).chars().all(|c| c.is_ascii_digit());
        let is_plain =
            mantissa.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '−' | '+'));
        (is_whole && is_plain).then(|| format!("{mantissa}e{power}"))
    })
}

/// Digits with a sign, a point and an exponent, all optional; `None` for anything else.
fn plain(text: &str) -> Result<Option<(Real, usize)>, ReadError> {
    let unsigned = text.strip_prefix(['-', '−', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !is_digits(&format!("{whole}{fraction}")) {
        return Ok(None);
    }
    let exponent: i32 = match exponent {
        None => 0,
        Some(text) if is_digits(text.strip_prefix(['-', '+']).unwrap_or(text)) => {
            let exponent = text.parse().ok().filter(|n| (-90..=90).contains(n));
            exponent.ok_or_else(|| ReadError::LargeExponent { got: text.to_owned() })?
        }
        Some(_) => return Ok(None),
    };
    if mantissa.len() > MAX_DIGITS {
        let got = mantissa.len();
        return Err(ReadError::TooMany { most: MAX_DIGITS, what: "digits", got });
    }
    let power = ten_to(usize::try_from(exponent.unsigned_abs()).unwrap_or(0));
    let power = if exponent < 0 { power.inverse()? } else { power };
    let value = decimal(mantissa)?.times(&power.into())?;
    let value = if text.starts_with(['-', '−']) { value.negated()? } else { value };
    let decimals = i64::try_from(fraction.len()).unwrap_or(0) - i64::from(exponent);
    Ok(Some((value, usize::try_from(decimals).unwrap_or(0))))
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
            assert!(matches!(ParsedNumber::read(text), Err(ReadError::NotFinite { .. })), "{text}");
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
