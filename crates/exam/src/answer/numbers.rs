//! A value as the numbers that stand in a key.

use qkvet_prove::exact::{Exact, Real, Value};
use serde::{Deserialize, Serialize};

use super::AnswerError;

/// Numbers by rows, as they are printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// Whether it is one number and no matrix.
    pub scalar: bool,
    /// Decimals after the point; absent: the exact values.
    pub places: Option<usize>,
    /// By rows: decimals whose every digit is certain, or exact rationals.
    pub rows: Vec<Vec<String>>,
    /// By rows: the exact values in the law language.
    pub exact: Vec<Vec<String>>,
}

/// A value as it is printed; the exact values are written out when they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Printed {
    scalar: bool,
    places: Option<usize>,
    cols: usize,
    data: Vec<Real>,
    rows: Vec<Vec<String>>,
}

/// The numbers of a value.
///
/// # Errors
/// Several heads, a set of indices, or what is not rational without `places`.
pub fn of_value(value: &Value, places: Option<usize>) -> Result<Numbers, AnswerError> {
    Ok(Printed::new(value.clone(), places)?.numbers())
}

impl Printed {
    /// The value with so many decimals.
    ///
    /// # Errors
    /// As [`of_value`].
    pub(crate) fn new(value: Value, places: Option<usize>) -> Result<Self, AnswerError> {
        let whole = |n: usize| Real::from(i64::try_from(n).unwrap_or(i64::MAX));
        let (scalar, cols, data) = match value {
            Value::Number(x) => (true, 1, vec![x]),
            Value::Index(i) => (true, 1, vec![whole(i + 1)]),
            Value::Matrices(m) if m.batch.unwrap_or(1) == 1 && m.heads.unwrap_or(1) == 1 => {
                (false, m.cols, m.data)
            }
            Value::Matrices(_) => return Err(AnswerError::Heads),
            Value::Shape(extents) => {
                (false, extents.len(), extents.into_iter().map(whole).collect())
            }
            Value::Indices(_) => return Err(AnswerError::Indices),
        };
        let printed = |x: &Real| match places {
            Some(places) => Ok(unsigned_zero(x.digits(places))),
            None => match x.plain().ok().and_then(Exact::rational) {
                Some(rational) => Ok(rational.to_string()),
                None => Err(AnswerError::Irrational { got: x.to_string() }),
            },
        };
        let cells: Vec<String> = data.iter().map(printed).collect::<Result<_, _>>()?;
        let rows = cells.chunks(cols.max(1)).map(<[String]>::to_vec).collect();
        Ok(Self { scalar, places, cols, data, rows })
    }

    /// The exact values, row after row.
    pub(crate) fn data(&self) -> &[Real] {
        &self.data
    }

    /// What is printed, by rows.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Whether a number that is not 0 is printed as 0, which tells nothing.
    pub(crate) fn vanishes(&self) -> bool {
        let is_zero = |x: &Real| x.plain().is_ok_and(Exact::is_zero);
        let seems_zero = |printed: &String| printed.chars().all(|c| matches!(c, '0' | '.' | '-'));
        let mut cells = self.rows.iter().flatten().zip(&self.data);
        self.places.is_some() && cells.any(|(printed, x)| seems_zero(printed) && !is_zero(x))
    }

    /// The same with the exact values.
    pub(crate) fn numbers(self) -> Numbers {
        let exact: Vec<String> = self.data.iter().map(|x| in_laws(&x.to_string())).collect();
        let exact = exact.chunks(self.cols.max(1)).map(<[String]>::to_vec).collect();
        Numbers { scalar: self.scalar, places: self.places, rows: self.rows, exact }
    }
}

impl Numbers {
    /// Whether a number that is not 0 is printed as 0, which tells nothing.
    pub fn vanishes(&self) -> bool {
        let cells = self.rows.iter().flatten().zip(self.exact.iter().flatten());
        cells.into_iter().any(|(printed, exact)| {
            self.places.is_some()
                && exact != "0"
                && printed.chars().all(|c| matches!(c, '0' | '.' | '-'))
        })
    }

    /// Whether both are printed alike.
    pub fn looks_like(&self, other: &Self) -> bool {
        self.rows == other.rows
    }
}

/// Zero has no sign on paper.
pub(crate) fn unsigned_zero(digits: String) -> String {
    match digits.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        _ => digits,
    }
}

/// An exact number in the law language: `3·e^(√2/2)` becomes `3*exp(sqrt(2)/2)`.
fn in_laws(exact: &str) -> String {
    let mut text = String::new();
    let mut rest = exact;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let (written, skipped) = match c {
            '·' => ("*".to_owned(), 0),
            '√' => {
                let digits =
                    after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                (format!("sqrt({})", &after[..digits]), digits)
            }
            'e' => match after.strip_prefix('^') {
                Some(power) if power.starts_with('(') => ("exp".to_owned(), 1),
                Some(power) => {
                    let digits =
                        power.len() - power.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                    (format!("exp({})", &power[..digits]), digits + 1)
                }
                None => ("exp(1)".to_owned(), 0),
            },
            'l' if after.starts_with("n(") => ("log".to_owned(), 1),
            c => (c.to_string(), 0),
        };
        text += &written;
        rest = &after[skipped..];
    }
    text
}

#[cfg(test)]
mod tests {
    use qkvet_spec::syntax::parse;

    use super::in_laws;

    #[test]
    fn exact_numbers_are_formulas() {
        for (exact, written) in [
            ("3·e^(√2/2)/(2·e^(√2/2) + 1)", "3*exp(sqrt(2)/2)/(2*exp(sqrt(2)/2) + 1)"),
            ("-5/2", "-5/2"),
            ("e^12 - e", "exp(12) - exp(1)"),
            ("2·√3/3", "2*sqrt(3)/3"),
            ("ln(2·e^(-1))", "log(2*exp(-1))"),
        ] {
            assert_eq!(in_laws(exact), written);
            assert!(parse(written).is_ok());
        }
    }
}
