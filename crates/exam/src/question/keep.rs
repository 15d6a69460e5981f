//! Conditions on the numbers of a question, under which it is a good one.

use std::cmp::Ordering;

use qkvet_prove::exact::{NoValue, Real, Value};
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::{Expr, ExprKind};

use crate::answer::Worked;

/// What `keep:` says, parsed.
#[derive(Clone, Debug)]
pub enum Keep {
    /// A statement of the law language.
    Holds(Expr),
    /// A word that instructors have for what makes a question trivial.
    Word(KeepWord, Vec<Expr>),
}

/// What makes a question trivial, by the words that forbid it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepWord {
    /// `distinct_rows(V)`: no two rows are equal.
    DistinctRows,
    /// `distinct_cols(V)`: no two columns are equal.
    DistinctCols,
    /// `nonzero_rows(Q)`: no row is 0 alone.
    NonzeroRows,
    /// `nonzero_cols(W)`: no column is 0 alone.
    NonzeroCols,
    /// `distinct(n, d, h * m)`: no two numbers are equal.
    Distinct,
}

impl KeepWord {
    const ALL: [(&str, Self); 5] = [
        ("distinct_rows", Self::DistinctRows),
        ("distinct_cols", Self::DistinctCols),
        ("nonzero_rows", Self::NonzeroRows),
        ("nonzero_cols", Self::NonzeroCols),
        ("distinct", Self::Distinct),
    ];
}

impl Keep {
    /// The word of a condition and its arguments; `None` for a statement.
    pub(super) fn word(expr: &Expr) -> Option<(KeepWord, &[Expr])> {
        let ExprKind::Apply { function, args, .. } = &expr.kind else { return None };
        let (_, word) = KeepWord::ALL.iter().find(|(name, _)| name == function)?;
        Some((*word, args))
    }

    /// Whether the numbers are kept.
    ///
    /// # Errors
    /// A formula without an exact value.
    pub(crate) fn holds(&self, law: &CheckedLaw, worked: &mut Worked) -> Result<bool, NoValue> {
        match self {
            Self::Holds(statement) => {
                worked.work_for(law, statement)?;
                worked.holds(statement)
            }
            Self::Word(word, args) => {
                let mut values = Vec::new();
                for arg in args {
                    worked.work_for(law, arg)?;
                    values.push(worked.value(arg)?);
                }
                word.holds(&values)
            }
        }
    }
}

impl KeepWord {
    fn holds(self, values: &[Value]) -> Result<bool, NoValue> {
        if self == Self::Distinct {
            let rows: Vec<Vec<Real>> = values.iter().filter_map(number).map(|x| vec![x]).collect();
            return distinct(&rows);
        }
        let zero = Real::from(0);
        for value in values {
            let Value::Matrices(m) = value else { continue };
            let mut lines: Vec<Vec<Real>> =
                m.data.chunks(m.cols.max(1)).map(<[_]>::to_vec).collect();
            if matches!(self, Self::DistinctCols | Self::NonzeroCols) {
                lines =
                    (0..m.cols).map(|j| lines.iter().map(|row| row[j].clone()).collect()).collect();
            }
            let holds = match self {
                Self::DistinctRows | Self::DistinctCols => distinct(&lines)?,
                _ => {
                    let mut holds = true;
                    for line in &lines {
                        holds &= !equal(line, &vec![zero.clone(); line.len()])?;
                    }
                    holds
                }
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn number(value: &Value) -> Option<Real> {
    match value {
        Value::Number(x) => Some(x.clone()),
        Value::Index(i) => Some(Real::from(i64::try_from(*i).ok()?)),
        _ => None,
    }
}

fn distinct(lines: &[Vec<Real>]) -> Result<bool, NoValue> {
    for (at, line) in lines.iter().enumerate() {
        for other in &lines[..at] {
            if equal(line, other)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn equal(x: &[Real], y: &[Real]) -> Result<bool, NoValue> {
    for (x, y) in x.iter().zip(y) {
        if x.compare(y)? != Ordering::Equal {
            return Ok(false);
        }
    }
    Ok(true)
}
