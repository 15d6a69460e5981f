//! Decimal numbers that know how far they may be from the exact value.

use std::fmt;
use std::str::FromStr;

use dashu_int::UBig;
use thiserror::Error;

use super::ratio::Ratio;
use crate::exp::U;

/// Exponents of the first digit that are written without an exponent.
const PLAIN: std::ops::RangeInclusive<i64> = -5..=20;

/// Largest exponent, in magnitude, that is read.
const MAX_EXPONENT: i64 = 1_000_000;

/// What is below 10 to this power is printed as 0.
pub(super) const LOWEST_EXPONENT: i64 = -10_000;

/// A decimal number: correctly rounded to some significant digits (ties to even), or exact.
///
/// Its text is a JSON number in one canonical form: no trailing zeros, no `-0`, plain (`-0.0125`,
/// `1200`) where the first digit counts 10⁻⁵ to 10²⁰, else with an exponent (`1.25e-7`, `-3e21`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    is_negative: bool,
    /// Significant digits without leading or trailing zeros; `0` for zero.
    digits: String,
    /// Power of ten that the last digit counts.
    exponent: i64,
    /// Power of ten of the unit to which the number was rounded; `None` for an exact number.
    unit: Option<i64>,
}

/// A text that is not a decimal number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("decimal: expected a JSON number with an exponent of at most {MAX_EXPONENT}, got {got:?}")]
pub struct DecimalError {
    /// The text.
    pub got: String,
}

impl Decimal {
    /// Exactly 0.
    pub(super) fn zero() -> Self {
        Self { is_negative: false, digits: "0".to_owned(), exponent: 0, unit: None }
    }

    /// `significand · 10^exponent`.
    pub(super) fn exact(is_negative: bool, significand: &UBig, exponent: i64) -> Self {
        Self::normal(is_negative, &significand.to_string(), exponent)
    }

    /// 0 for something below 10⁻¹⁰⁰⁰⁰.
    pub(super) fn vanishing() -> Self {
        // Half of this unit is above everything that is printed so.
        Self { unit: Some(LOWEST_EXPONENT + 1), ..Self::zero() }
    }

    /// A number that was rounded to this one, `unit` being what its last digit counts; 0 below
    /// 10⁻¹⁰⁰⁰⁰.
    pub(super) fn rounded(number: Self, unit: i64) -> Self {
        if number.first() < LOWEST_EXPONENT {
            Self::vanishing()
        } else {
            Self { unit: Some(unit), ..number }
        }
    }

    fn normal(is_negative: bool, digits: &str, exponent: i64) -> Self {
        let digits = digits.trim_start_matches('0');
        let trimmed = digits.trim_end_matches('0');
        if trimmed.is_empty() {
            return Self::zero();
        }
        let exponent = exponent + (digits.len() - trimmed.len()) as i64;
        Self { is_negative, digits: trimmed.to_owned(), exponent, unit: None }
    }

    /// Power of ten that the first digit counts.
    fn first(&self) -> i64 {
        self.exponent + self.digits.len() as i64 - 1
    }

    /// Number of significant digits.
    pub(super) fn digit_count(&self) -> usize {
        self.digits.len()
    }

    /// Whether this is 0, exactly or because the value is below 10⁻¹⁰⁰⁰⁰.
    pub fn is_zero(&self) -> bool {
        self.digits == "0"
    }

    /// Whether the number is the exact value, not a rounded one. A parsed number is exact: the text
    /// does not say more.
    pub fn is_exact(&self) -> bool {
        self.unit.is_none()
    }

    /// The same number, taken to be rounded to `digits` significant digits, as
    /// [`answer`](super::answer) rounds.
    ///
    /// For numbers read from a file: their text does not say whether they are exact. One with more
    /// digits than that is.
    #[must_use]
    pub fn rounded_to(self, digits: u32) -> Self {
        let unit = self.first() - i64::from(digits) + 1;
        match self.digits.len() {
            _ if self.is_zero() => Self::vanishing(),
            len if len > digits as usize => self,
            _ => Self { unit: Some(unit), ..self },
        }
    }

    /// Upper bound of the distance to the exact value: half a unit of the last digit, or 0.
    pub fn error(&self) -> f64 {
        let Some(unit) = self.unit else { return 0.0 };
        // Reading is correctly rounded, so the next number is above.
        format!("5e{}", unit - 1).parse::<f64>().map_or(f64::INFINITY, f64::next_up)
    }

    /// The binary64 number nearest to it, which is what a correct reader makes of its text;
    /// infinite above the finite numbers.
    pub fn to_f64(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Upper bound of the distance between it and [`Decimal::to_f64`]; 0 only if they are the same
    /// number.
    pub(super) fn reading_error(&self) -> f64 {
        let x = self.to_f64();
        if !x.is_finite() {
            return f64::INFINITY;
        }
        // Zero is not to be multiplied out: its exponent may be anything.
        if self.is_zero() {
            return 0.0;
        }
        let is_near = self.first() >= -400;
        if is_near && self.ratio().is_some_and(|ratio| ratio.equals(&Ratio::from_f64(x))) {
            return 0.0;
        }
        // Half a spacing: u times the number in the normal range, half of the smallest number below
        // it.
        (U * x.abs()).next_up()
    }

    fn ratio(&self) -> Option<Ratio> {
        let significand = self.digits.parse::<UBig>().ok()?;
        Some(Ratio::decimal(self.is_negative, significand, self.exponent))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negative {
            f.write_str("-")?;
        }
        let (digits, first) = (&self.digits, self.first());
        if !PLAIN.contains(&first) {
            let (head, tail) = digits.split_at(1);
            let point = if tail.is_empty() { "" } else { "." };
            return write!(f, "{head}{point}{tail}e{first}");
        }
        if first < 0 {
            return write!(f, "0.{}{digits}", "0".repeat((-first - 1) as usize));
        }
        let whole = first as usize + 1;
        if whole >= digits.len() {
            return write!(f, "{digits}{}", "0".repeat(whole - digits.len()));
        }
        let (head, tail) = digits.split_at(whole);
        write!(f, "{head}.{tail}")
    }
}

/// Any JSON number; the canonical form is not asked for.
impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        parse(text).ok_or_else(|| DecimalError { got: text.chars().take(60).collect() })
    }
}

fn parse(text: &str) -> Option<Decimal> {
    let (is_negative, magnitude) =
        text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (magnitude, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let whole_is_valid = all_digits(whole) && (whole.len() == 1 || !whole.starts_with('0'));
    if !whole_is_valid || fraction.is_some_and(|fraction| !all_digits(fraction)) {
        return None;
    }
    let exponent = match exponent {
        None => 0,
        Some(text) if all_digits(text.strip_prefix(['+', '-']).unwrap_or(text)) => {
            text.parse::<i64>().ok()?
        }
        Some(_) => return None,
    };
    let fraction = fraction.unwrap_or("");
    let is_in_range = exponent.abs() <= MAX_EXPONENT;
    is_in_range.then(|| {
        Decimal::normal(
            is_negative,
            &format!("{whole}{fraction}"),
            exponent - fraction.len() as i64,
        )
    })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "reading is correctly rounded")]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_canonical_text() {
        for (text, canonical) in [
            ("0", "0"),
            ("-0.00e7", "0"),
            ("1.500", "1.5"),
            ("-1200", "-1200"),
            ("12e3", "12000"),
            ("0.00001", "0.00001"),
            ("0.00000125", "1.25e-6"),
            ("1e20", "100000000000000000000"),
            ("-1E+21", "-1e21"),
            ("123.456e-2", "1.23456"),
            ("120e-1", "12"),
            ("1.25e-4343", "1.25e-4343"),
        ] {
            let decimal: Decimal = text.parse().unwrap();
            assert_eq!(decimal.to_string(), canonical);
            assert_eq!(canonical.parse::<Decimal>().unwrap(), decimal);
            assert!(decimal.is_exact() && decimal.error() == 0.0);
            assert_eq!(decimal.to_f64(), text.parse::<f64>().unwrap());
        }
    }

    #[test]
    fn what_is_no_json_number_is_refused() {
        for text in [
            "",
            "-",
            "+1",
            ".5",
            "1.",
            "01",
            "1e",
            "1e+",
            "0x1",
            "NaN",
            "Infinity",
            "1 ",
            "1_0",
            "1e9999999999",
        ] {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError { got: text.to_owned() }));
        }
    }

    #[test]
    fn errors_are_upper_bounds() {
        let rounded = |significand: u32, unit: i64| {
            Decimal::rounded(Decimal::exact(false, &UBig::from(significand), unit), unit)
        };
        let third = rounded(333, -3);
        assert!(third.error() >= 0.0005 && third.error() <= 0.000_500_000_1 && !third.is_exact());
        let one = rounded(100, -2);
        assert_eq!(one.to_string(), "1");
        assert!(one.error() >= 0.005);
        assert_eq!("1".parse::<Decimal>().unwrap().rounded_to(3), one);
        assert!("0.0625".parse::<Decimal>().unwrap().rounded_to(2).is_exact());
        let nothing = rounded(1, -10_001);
        assert_eq!(nothing.to_string(), "0");
        assert!(!nothing.is_exact() && nothing.error() == 5e-324);
    }

    #[test]
    fn reading_is_exact_only_for_binary_fractions() {
        let reading = |text: &str| text.parse::<Decimal>().unwrap().reading_error();
        assert_eq!((reading("0.5"), reading("0"), reading("9007199254740992")), (0.0, 0.0, 0.0));
        assert!(reading("0.1") >= 5.5e-18 && reading("0.1") <= 1.2e-17);
        assert_eq!(reading("1e-4000"), 5e-324);
        assert_eq!(reading("2e308"), f64::INFINITY);
    }
}
