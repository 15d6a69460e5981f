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
        let exact: Vec<String> =
            self.data.iter().map(|x| super::form::text(&x.to_string())).collect();
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
