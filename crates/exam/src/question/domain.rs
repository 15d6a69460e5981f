//! The domains of parameters, and ranges of extents.

use qkvet_spec::Formula;
use qkvet_spec::syntax::{Expr, ExprError, ExprKind, UnaryOp};

/// The values that an extent may have, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Least.
    pub low: usize,
    /// Greatest.
    pub high: usize,
}

/// Where the value of a parameter comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// A matrix, each entry a multiple of `1 / per` from `low / per` to `high / per`.
    Matrix {
        /// Rows, an extent.
        rows: Expr,
        /// Columns.
        cols: Expr,
        /// What entries are multiples of, inverted: 1 or 2.
        per: i64,
        /// Least numerator.
        low: i64,
        /// Greatest numerator.
        high: i64,
    },
    /// A number, likewise.
    Number {
        /// What it is a multiple of, inverted.
        per: i64,
        /// Least numerator.
        low: i64,
        /// Greatest numerator.
        high: i64,
    },
    /// One of these numbers.
    OneOf(Vec<f64>),
    /// A row or column number, other than those of other parameters.
    Index {
        /// The extent that it is below.
        of: Expr,
        /// Parameters that it differs from.
        not: Vec<String>,
    },
    /// The lower triangle of ones with its diagonal: who sees whom when none sees the future.
    Causal(Expr),
    /// A mask: zeros and ones, with a one in each row.
    Mask(Expr, Expr),
    /// A permutation matrix other than the identity.
    Permutation(Expr),
}

const KNOWN: &str = "known: integers(n, m, -3..3), halves(n, m, -2..2), integer(1..4), half(0..2), one_of(1, 2, 4), index(n, not=i), causal(n), mask(n, m), permutation(n)";

impl Size {
    /// Reads a number or a range.
    ///
    /// # Errors
    /// Anything else, or extents beyond 1 to 4096.
    pub fn parse(formula: &Formula) -> Result<Self, ExprError> {
        let expr = formula.parse()?;
        let (low, high) = match &expr.kind {
            ExprKind::Number(_) => (whole(&expr)?, whole(&expr)?),
            ExprKind::Interval(low, high) => (whole(low)?, whole(high)?),
            _ => {
                return Err(ExprError::new(
                    expr.span,
                    "extent: expected a number or a range such as `2..4`",
                ));
            }
        };
        match (usize::try_from(low), usize::try_from(high)) {
            (Ok(low), Ok(high)) if 1 <= low && low <= high && high <= 4096 => {
                Ok(Self { low, high })
            }
            _ => Err(ExprError::new(
                expr.span,
                "extent: expected whole numbers from 1 to 4096, the least first",
            )),
        }
    }
}

impl Domain {
    /// Reads a domain; parameters above it may be named by `not=`.
    ///
    /// # Errors
    /// What is no domain, with the known ones.
    pub fn parse(formula: &Formula, above: &[&str]) -> Result<Self, ExprError> {
        let expr = formula.parse()?;
        let unknown =
            || ExprError::new(expr.span.clone(), "domain: expected a known one").hint(KNOWN);
        let ExprKind::Apply { function, args, named } = &expr.kind else { return Err(unknown()) };
        if let Some((_, value)) = named.iter().find(|_| function != "index") {
            return Err(ExprError::new(
                value.span.clone(),
                format!("`{function}`: expected no named argument"),
            ));
        }
        let per = if function.starts_with("hal") { 2 } else { 1 };
        let range = |expr: &Expr| {
            let ExprKind::Interval(low, high) = &expr.kind else {
                return Err(ExprError::new(
                    expr.span.clone(),
                    "range: expected `low..high` with whole numbers",
                ));
            };
            let (low, high) = (whole(low)? * per, whole(high)? * per);
            if low > high || low < -64 * per || high > 64 * per {
                return Err(ExprError::new(
                    expr.span.clone(),
                    "range: expected numbers from -64 to 64, the least first",
                ));
            }
            Ok((low, high))
        };
        Ok(match (function.as_str(), args.as_slice()) {
            ("integers" | "halves", [rows, cols, values]) => {
                let (low, high) = range(values)?;
                Self::Matrix { rows: rows.clone(), cols: cols.clone(), per, low, high }
            }
            ("integer" | "half", [values]) => {
                let (low, high) = range(values)?;
                Self::Number { per, low, high }
            }
            ("one_of", values @ [_, ..]) => {
                Self::OneOf(values.iter().map(number).collect::<Result<_, _>>()?)
            }
            ("index", [of]) => {
                let mut not = Vec::new();
                for (key, value) in named {
                    match &value.kind {
                        ExprKind::Name(other)
                            if key == "not" && above.contains(&other.as_str()) =>
                        {
                            not.push(other.clone())
                        }
                        ExprKind::Tuple(others) if key == "not" => {
                            for other in others {
                                match &other.kind {
                                    ExprKind::Name(name) if above.contains(&name.as_str()) => {
                                        not.push(name.clone())
                                    }
                                    _ => {
                                        return Err(ExprError::new(
                                            other.span.clone(),
                                            "`not`: expected an index drawn above",
                                        ));
                                    }
                                }
                            }
                        }
                        _ => {
                            return Err(ExprError::new(
                                value.span.clone(),
                                "`not`: expected an index drawn above",
                            ));
                        }
                    }
                }
                Self::Index { of: of.clone(), not }
            }
            ("causal", [n]) => Self::Causal(n.clone()),
            ("mask", [rows, cols]) => Self::Mask(rows.clone(), cols.clone()),
            ("permutation", [n]) => Self::Permutation(n.clone()),
            _ => return Err(unknown()),
        })
    }

    /// Rows and columns, each an extent.
    pub(super) fn extents(&self) -> Option<(&Expr, &Expr)> {
        match self {
            Self::Matrix { rows, cols, .. } | Self::Mask(rows, cols) => Some((rows, cols)),
            Self::Causal(n) | Self::Permutation(n) => Some((n, n)),
            Self::Number { .. } | Self::OneOf(_) | Self::Index { .. } => None,
        }
    }

    /// The domain of the law language that values of this one belong to; `source` is the text that
    /// this one was read from.
    pub(super) fn in_laws(&self, source: &str) -> String {
        let text = |expr: &Expr| source.get(expr.span.clone()).unwrap_or_default().to_owned();
        match self {
            Self::Matrix { rows, cols, .. } | Self::Mask(rows, cols) => {
                format!("matrix({}, {})", text(rows), text(cols))
            }
            Self::Causal(n) | Self::Permutation(n) => format!("matrix({0}, {0})", text(n)),
            Self::Number { .. } | Self::OneOf(_) => "real(-64..64)".to_owned(),
            Self::Index { of, .. } => format!("index({})", text(of)),
        }
    }
}

fn number(expr: &Expr) -> Result<f64, ExprError> {
    match &expr.kind {
        ExprKind::Number(x) => Ok(*x),
        ExprKind::Unary(UnaryOp::Neg, x) => number(x).map(|x| -x),
        _ => Err(ExprError::new(expr.span.clone(), "argument: expected a number")),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
fn whole(expr: &Expr) -> Result<i64, ExprError> {
    let x = number(expr)?;
    if x.fract() == 0.0 && x.abs() <= 1e6 {
        Ok(x as i64)
    } else {
        Err(ExprError::new(expr.span.clone(), "number: expected a whole one"))
    }
}
