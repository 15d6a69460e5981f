//! `given`: the domain each variable of a law ranges over.

use super::vocabulary::DOMAINS;
use super::word::names as known;
use super::{Dim, Scope, Type};
use crate::nearest::unknown_in;
use crate::syntax::{Expr, ExprError, ExprKind, UnaryOp};

/// Where the value of a `given` comes from. Ends of ranges are included.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// An extent of the law's own.
    Dim {
        /// Smallest.
        low: usize,
        /// Largest.
        high: usize,
    },
    /// A row or column number below `of`, other than the value of `not`.
    Index {
        /// Extent indexed.
        of: Expr,
        /// Another index that it must differ from.
        not: Option<String>,
    },
    /// A real number on a dyadic grid.
    Real {
        /// Smallest.
        low: f64,
        /// Largest.
        high: f64,
    },
    /// Any real number. It is not drawn: a law that asks a target cannot have it.
    Number,
    /// Any positive real number, not drawn either.
    Positive,
    /// A matrix of independent normal entries, all with this mean and standard deviation: numbers
    /// or variables declared above. It is a random variable, of which `E` and `Var` speak, and not
    /// drawn either.
    Normal {
        /// Rows.
        rows: Expr,
        /// Columns.
        cols: Expr,
        /// Mean of each entry.
        mean: Expr,
        /// Standard deviation of each entry, not negative.
        sd: Expr,
    },
    /// An `n × n` permutation matrix.
    Permutation(Expr),
    /// A non-empty set of indices below `n`, not all of them where `n` is not 1.
    Subset(Expr),
    /// The case's boolean mask, 1 where the query attends; absent when the case has none.
    Mask,
    /// The case's bias; absent when the case has none.
    Bias,
    /// One matrix.
    Matrix(Expr, Expr),
    /// One matrix for each batch item and key/value head.
    Tensor(Expr, Expr),
    /// As [`Domain::Tensor`], of multiples of 1/8 from −2 to 2: sums of two and small multiples are
    /// exact in every format of 16 bits.
    Grid(Expr, Expr),
    /// Query and key such that `scale · q_i·k_j` exceeds every other scaled score by at least
    /// `margin`.
    Separated {
        /// The index variable.
        j: String,
        /// The margin variable.
        margin: String,
    },
    /// Query and key such that `scale · q_i·k_j` lies below every other scaled score by at least
    /// `margin`.
    Opposed {
        /// The index variable.
        j: String,
        /// The margin variable.
        margin: String,
    },
}

impl Domain {
    /// Whether a case has a value from it: the others stand for any number, or for a random one, in
    /// a proof.
    pub fn is_drawn(&self) -> bool {
        !matches!(self, Self::Number | Self::Positive | Self::Normal { .. })
    }
}

/// Variables and the domain they are drawn from together.
#[derive(Clone, Debug, PartialEq)]
pub struct Variables {
    /// One name, or two for `(Q, K)`.
    pub names: Vec<String>,
    /// Where the values come from.
    pub domain: Domain,
}

/// Reads one `given` entry, after those `above`, and adds its variables to the scope.
pub(super) fn declare(
    scope: &mut Scope,
    above: &[Variables],
    name: &Expr,
    domain: &Expr,
) -> Result<Variables, ExprError> {
    let names = names(name)?;
    let ExprKind::Apply { function, args, named } = &domain.kind else {
        return Err(ExprError::new(
            domain.span.clone(),
            "domain: expected a call such as `permutation(n_k)`",
        )
        .hint(format!("known: {}", known(&DOMAINS).collect::<Vec<_>>().join(", "))));
    };
    // What is not said there is not known, even if it were read below.
    if !known(&DOMAINS).any(|known| known == function) {
        return Err(unknown_in("domain", function, domain.span.clone(), known(&DOMAINS)));
    }
    let arity = |n: usize| {
        if args.len() == n {
            Ok(())
        } else {
            Err(ExprError::new(
                domain.span.clone(),
                format!("`{function}`: expected {n} arguments, got {}", args.len()),
            ))
        }
    };
    let allow =
        |allowed: &[&str]| match named.iter().find(|(key, _)| !allowed.contains(&key.as_str())) {
            Some((key, value)) => {
                Err(unknown_in("argument", key, value.span.clone(), allowed.iter().copied()))
            }
            None => Ok(()),
        };
    let (domain, types) = match function.as_str() {
        "dim" => {
            arity(1).and(allow(&[]))?;
            let (low, high) = range(&args[0])?;
            if low.fract() != 0.0 || high.fract() != 0.0 || low < 1.0 || high > 4096.0 {
                return Err(ExprError::new(
                    args[0].span.clone(),
                    "range: expected whole numbers from 1 to 4096",
                ));
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be small whole numbers"
            )]
            let domain = Domain::Dim { low: low as usize, high: high as usize };
            (domain, vec![Type::Integer(Dim::symbol(&names[0]))])
        }
        "index" => {
            arity(1).and(allow(&["not"]))?;
            scope.dim(&args[0])?;
            let not = match named.first() {
                None => None,
                Some((_, Expr { kind: ExprKind::Name(other), .. }))
                    if matches!(scope.get(other), Some(Type::Index)) =>
                {
                    Some(other.clone())
                }
                Some((_, other)) => {
                    return Err(ExprError::new(
                        other.span.clone(),
                        "`not`: expected an index declared above",
                    ));
                }
            };
            (Domain::Index { of: args[0].clone(), not }, vec![Type::Index])
        }
        "real" => {
            arity(1).and(allow(&[]))?;
            let (low, high) = range(&args[0])?;
            (Domain::Real { low, high }, vec![Type::Scalar])
        }
        "number" | "positive" => {
            arity(0).and(allow(&[]))?;
            (
                if function == "number" { Domain::Number } else { Domain::Positive },
                vec![Type::Scalar],
            )
        }
        "normal" => {
            arity(2).and(allow(&["mean", "sd"]))?;
            let ty = Type::plain(scope.dim(&args[0])?, scope.dim(&args[1])?);
            let parameter = |key: &str, default: f64| {
                let given =
                    named.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
                given.unwrap_or_else(|| Expr {
                    kind: ExprKind::Number(default),
                    span: domain.span.clone(),
                })
            };
            let (mean, sd) = (parameter("mean", 0.0), parameter("sd", 1.0));
            if number(&mean).is_none() {
                variable(scope, &mean, &Type::Scalar, "a number or a real declared above")?;
            }
            deviation(scope, above, &sd)?;
            (Domain::Normal { rows: args[0].clone(), cols: args[1].clone(), mean, sd }, vec![ty])
        }
        "permutation" => {
            arity(1).and(allow(&[]))?;
            let n = scope.dim(&args[0])?;
            (Domain::Permutation(args[0].clone()), vec![Type::plain(n.clone(), n)])
        }
        "subset" => {
            arity(1).and(allow(&[]))?;
            scope.dim(&args[0])?;
            (
                Domain::Subset(args[0].clone()),
                vec![Type::Indices(Dim::symbol(&format!("|{}|", names[0])))],
            )
        }
        "mask" | "bias" => {
            arity(2).and(allow(&[]))?;
            let shape = [scope.dim(&args[0])?, scope.dim(&args[1])?];
            if shape != [Dim::symbol("n_q"), Dim::symbol("n_k")] {
                return Err(ExprError::new(
                    domain.span.clone(),
                    format!("`{function}`: expected (n_q, n_k), got ({}, {})", shape[0], shape[1]),
                ));
            }
            let [rows, cols] = shape;
            let domain = if function == "mask" { Domain::Mask } else { Domain::Bias };
            (
                domain,
                vec![Type::Matrix {
                    batch: Some(Dim::symbol("b")),
                    heads: Some(Dim::symbol("h_q")),
                    rows,
                    cols,
                }],
            )
        }
        "matrix" | "tensor" | "grid" => {
            arity(2).and(allow(&[]))?;
            let (rows, cols) = (scope.dim(&args[0])?, scope.dim(&args[1])?);
            let (batch, heads) = match function.as_str() {
                "matrix" => (None, None),
                _ => (Some(Dim::symbol("b")), Some(Dim::symbol("h_k"))),
            };
            let domain = match function.as_str() {
                "matrix" => Domain::Matrix,
                "tensor" => Domain::Tensor,
                _ => Domain::Grid,
            };
            (
                domain(args[0].clone(), args[1].clone()),
                vec![Type::Matrix { batch, heads, rows, cols }],
            )
        }
        "separated" | "opposed" => {
            arity(1).and(allow(&["margin"]))?;
            let j = variable(scope, &args[0], &Type::Index, "an index declared above")?;
            let margin = match named.first() {
                Some((_, margin)) => {
                    variable(scope, margin, &Type::Scalar, "a real declared above")?
                }
                None => {
                    return Err(ExprError::new(
                        domain.span.clone(),
                        format!("`{function}`: expected `margin=`, got nothing"),
                    ));
                }
            };
            if names != ["Q", "K"] {
                return Err(ExprError::new(
                    name.span.clone(),
                    format!("`{function}`: expected the variables (Q, K)"),
                ));
            }
            let types = vec![scope.standard("Q"), scope.standard("K")];
            (
                if function == "separated" {
                    Domain::Separated { j, margin }
                } else {
                    Domain::Opposed { j, margin }
                },
                types,
            )
        }
        other => return Err(unknown_in("domain", other, domain.span.clone(), known(&DOMAINS))),
    };
    if names.len() != types.len() {
        return Err(ExprError::new(
            name.span.clone(),
            format!("`{function}`: expected {} names, got {}", types.len(), names.len()),
        ));
    }
    for (name_text, ty) in names.iter().zip(types) {
        scope.declare(name_text, ty, name.span.clone())?;
    }
    Ok(Variables { names, domain })
}

fn names(expr: &Expr) -> Result<Vec<String>, ExprError> {
    let one = |expr: &Expr| match &expr.kind {
        ExprKind::Name(name) => Ok(name.clone()),
        _ => Err(ExprError::new(expr.span.clone(), "variable: expected a name or (name, name)")),
    };
    match &expr.kind {
        ExprKind::Tuple(items) => items.iter().map(one).collect(),
        _ => Ok(vec![one(expr)?]),
    }
}

fn variable(scope: &Scope, expr: &Expr, ty: &Type, what: &str) -> Result<String, ExprError> {
    match &expr.kind {
        ExprKind::Name(name) if scope.get(name) == Some(ty) => Ok(name.clone()),
        _ => Err(ExprError::new(expr.span.clone(), format!("argument: expected {what}"))),
    }
}

/// Checks a standard deviation: a number that is not negative, or a variable that cannot be.
fn deviation(scope: &Scope, above: &[Variables], sd: &Expr) -> Result<(), ExprError> {
    let expected = "argument `sd`: expected a number that is not negative, or a variable declared above that is never negative";
    let fits = match number(sd) {
        Some(x) => x >= 0.0,
        None => {
            let name = variable(scope, sd, &Type::Scalar, "a number or a real declared above")?;
            above.iter().any(|given| {
                given.names.contains(&name)
                    && matches!(given.domain, Domain::Positive | Domain::Real { low: 0.0.., .. })
            })
        }
    };
    if fits {
        Ok(())
    } else {
        Err(ExprError::new(sd.span.clone(), expected)
            .hint("`positive()` is the domain of any positive number"))
    }
}

fn number(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Number(x) => Some(*x),
        ExprKind::Unary(UnaryOp::Neg, x) => match x.kind {
            ExprKind::Number(x) => Some(-x),
            _ => None,
        },
        _ => None,
    }
}

fn range(expr: &Expr) -> Result<(f64, f64), ExprError> {
    if let ExprKind::Interval(low, high) = &expr.kind
        && let (Some(low), Some(high)) = (number(low), number(high))
        && low <= high
    {
        return Ok((low, high));
    }
    Err(ExprError::new(expr.span.clone(), "range: expected `low..high` with numbers, low first"))
}
