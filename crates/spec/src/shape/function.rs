//! Functions of the law language: their arguments and the shape of their result.

use super::vocabulary::FUNCTIONS;
use super::{Dim, Scope, Type, check::type_of, word::names};
use crate::CallOption;
use crate::nearest::unknown_in;
use crate::syntax::{Expr, ExprError, ExprKind, Span};

type Lead = (Option<Dim>, Option<Dim>);

/// Joins the batch and head extents of two operands.
pub(super) fn join(left: Lead, right: Lead, span: &Span) -> Result<Lead, ExprError> {
    let batch = match (left.0, right.0) {
        (Some(x), Some(y)) if x != y => return Err(mismatch("batch", &x, &y, span)),
        (x, y) => x.or(y),
    };
    let (h_q, h_k) = (Dim::symbol("h_q"), Dim::symbol("h_k"));
    let heads = match (left.1, right.1) {
        (Some(x), Some(y)) if x == y => Some(x),
        // A value of h_k heads is read once for every query head, by the head map.
        (Some(x), Some(y)) if (x == h_q && y == h_k) || (x == h_k && y == h_q) => Some(h_q),
        (Some(x), Some(y)) => return Err(mismatch("heads", &x, &y, span)),
        (x, y) => x.or(y),
    };
    Ok((batch, heads))
}

pub(super) fn mismatch(what: &str, left: &Dim, right: &Dim, span: &Span) -> ExprError {
    ExprError::new(
        span.clone(),
        format!("{what}: expected {left} on both sides, got {left} and {right}"),
    )
}

pub(super) fn apply(
    scope: &Scope,
    function: &str,
    args: &[Expr],
    named: &[(String, Expr)],
    span: &Span,
) -> Result<Type, ExprError> {
    // What is not said there is not known, even if it had a type below.
    if !names(&FUNCTIONS).any(|known| known == function) {
        return Err(unknown_in("function", function, span.clone(), names(&FUNCTIONS)));
    }
    let call = CallSite { scope, function, args, span };
    let options: Vec<&str> = match function {
        "attention" | "exact" | "weights" | "lse" | "exact_lse" => {
            CallOption::ALL.map(CallOption::name).to_vec()
        }
        "min" | "max" | "sum" => vec!["axis"],
        _ => Vec::new(),
    };
    for (key, value) in named {
        if !options.contains(&key.as_str()) {
            return Err(unknown_in("argument", key, value.span.clone(), options));
        }
    }
    match function {
        "attention" | "exact" | "weights" | "lse" | "exact_lse" => call.attention(named),
        "shape" => {
            call.matrix(0, 1)?;
            Ok(Type::Shape(4))
        }
        "ones" | "zeros" => {
            call.arity(1, 2)?;
            let rows = scope.dim(&args[0])?;
            let cols = args.get(1).map_or(Ok(Dim::constant(1)), |cols| scope.dim(cols))?;
            Ok(Type::plain(rows, cols))
        }
        "eye" => {
            call.arity(1, 1)?;
            let n = scope.dim(&args[0])?;
            Ok(Type::plain(n.clone(), n))
        }
        "row" | "col" | "drop_row" => {
            let (lead, rows, cols) = call.matrix(0, 2)?;
            call.is(1, |ty| matches!(ty, Type::Index), "an index")?;
            Ok(match function {
                "row" => with(lead, Dim::constant(1), cols),
                "col" => with(lead, rows, Dim::constant(1)),
                _ => with(lead, rows.minus(&Dim::constant(1)), cols),
            })
        }
        "select" => {
            let (lead, _, cols) = call.matrix(0, 2)?;
            match type_of(scope, &args[1])? {
                Type::Indices(n) => Ok(with(lead, n, cols)),
                other => Err(call.wrong(1, "a set of indices", &other)),
            }
        }
        "others" => {
            call.arity(2, 2)?;
            match type_of(scope, &args[0])? {
                Type::Indices(n) => Ok(Type::Indices(scope.dim(&args[1])?.minus(&n))),
                other => Err(call.wrong(0, "a set of indices", &other)),
            }
        }
        "indicator" => {
            call.arity(2, 2)?;
            call.is(0, |ty| matches!(ty, Type::Indices(_)), "a set of indices")?;
            Ok(Type::plain(Dim::constant(1), scope.dim(&args[1])?))
        }
        "where" => {
            let (condition, rows, cols) = call.matrix(0, 3)?;
            let (yes, yes_rows, yes_cols) = call.matrix(1, 3)?;
            let (no, no_rows, no_cols) = call.matrix(2, 3)?;
            call.same(&yes_rows, &no_rows, "rows")?;
            call.same(&yes_cols, &no_cols, "columns")?;
            if rows != yes_rows || !(cols.is_one() || cols == yes_cols) {
                return Err(ExprError::new(
                    span.clone(),
                    format!("`where`: expected a condition ({yes_rows}, 1), got ({rows}, {cols})"),
                ));
            }
            Ok(with(join(join(condition, yes, span)?, no, span)?, yes_rows, yes_cols))
        }
        "hidden" => {
            call.arity(1, 1)?;
            call.is(0, |ty| matches!(ty, Type::Index), "an index")?;
            Ok(with(
                (Some(Dim::symbol("b")), Some(Dim::symbol("h_k"))),
                Dim::symbol("n_k"),
                Dim::constant(1),
            ))
        }
        "heads" => {
            call.arity(1, 64)?;
            let (lead, rows, cols) = call.matrix(0, args.len())?;
            for at in 1..args.len() {
                let (other, other_rows, other_cols) = call.matrix(at, args.len())?;
                call.same(&rows, &other_rows, "rows")?;
                call.same(&cols, &other_cols, "columns")?;
                if other != lead {
                    return Err(ExprError::new(
                        args[at].span.clone(),
                        "`heads`: expected matrices of one batch, got different ones",
                    ));
                }
            }
            if lead.1.is_some() {
                return Err(ExprError::new(
                    span.clone(),
                    "`heads`: expected matrices without heads",
                ));
            }
            let count = i64::try_from(args.len()).unwrap_or(i64::MAX);
            Ok(with((lead.0, Some(Dim::constant(count))), rows, cols))
        }
        "mean_heads" => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            Ok(with((lead.0, None), rows, cols))
        }
        "repeat_heads" => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            let h_k = Dim::symbol("h_k");
            if lead.1 != Some(h_k.clone()) {
                return Err(ExprError::new(
                    span.clone(),
                    format!("`repeat_heads`: expected a matrix of {h_k} heads"),
                ));
            }
            Ok(with((lead.0, Some(Dim::symbol("h_q"))), rows, cols))
        }
        "split_heads" => {
            let (lead, rows, cols) = call.matrix(0, 2)?;
            if lead.1.is_some() {
                return Err(call.wrong(0, "a matrix without heads", &type_of(scope, &args[0])?));
            }
            let heads = scope.dim(&args[1])?;
            let width = cols.over(&heads).ok_or_else(|| {
                let message =
                    format!("columns in `split_heads`: expected a multiple of {heads}, got {cols}");
                ExprError::new(args[0].span.clone(), message)
            })?;
            Ok(with((lead.0, Some(heads)), rows, width))
        }
        "combine_heads" => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            let Some(heads) = lead.1 else {
                return Err(call.wrong(0, "a matrix with heads", &type_of(scope, &args[0])?));
            };
            Ok(with((lead.0, None), rows, heads.times(&cols)))
        }
        "diag" => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            if !rows.is_one() {
                return Err(call.wrong(0, "one row", &type_of(scope, &args[0])?));
            }
            Ok(with(lead, cols.clone(), cols))
        }
        "item" => {
            let (lead, rows, cols) = call.matrix(0, 2)?;
            call.is(1, |ty| matches!(ty, Type::Index), "an index")?;
            Ok(with((None, lead.1), rows, cols))
        }
        "head" => {
            let (lead, rows, cols) = call.matrix(0, 2)?;
            call.is(1, |ty| matches!(ty, Type::Index), "an index")?;
            if lead.1.is_none() {
                return Err(ExprError::new(
                    span.clone(),
                    "`head`: expected a matrix with heads, got one for all",
                ));
            }
            Ok(with((lead.0, None), rows, cols))
        }
        "as_bias" => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            Ok(with(lead, rows, cols))
        }
        "scale_row" => {
            let (lead, rows, cols) = call.matrix(0, 3)?;
            call.is(1, |ty| matches!(ty, Type::Index), "an index")?;
            call.is(2, |ty| matches!(ty, Type::Scalar | Type::Integer(_)), "a number")?;
            Ok(with(lead, rows, cols))
        }
        "softmax_rows" => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            Ok(with(lead, rows, cols))
        }
        "scale_rows" => {
            let (left, rows, cols) = call.matrix(0, 2)?;
            let (right, factors, one) = call.matrix(1, 2)?;
            call.same(&rows, &factors, "rows")?;
            if !one.is_one() {
                return Err(call.wrong(1, "one factor a row", &type_of(scope, &args[1])?));
            }
            Ok(with(join(left, right, span)?, rows, cols))
        }
        "spread" | "norm_max" | "norm_2" => {
            call.matrix(0, 1)?;
            Ok(Type::Scalar)
        }
        "sigmoid" if matches!(args, [x] if matches!(type_of(scope, x)?, Type::Matrix { .. })) => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            Ok(with(lead, rows, cols))
        }
        "exp" | "log" | "sqrt" | "sigmoid" => {
            call.arity(1, 1)?;
            call.is(0, |ty| matches!(ty, Type::Scalar | Type::Integer(_)), "a number")?;
            Ok(Type::Scalar)
        }
        "E" | "Var" => {
            call.arity(1, 1)?;
            let one = Type::plain(Dim::constant(1), Dim::constant(1));
            let fits = |ty: &Type| matches!(ty, Type::Scalar | Type::Integer(_)) || *ty == one;
            call.is(0, fits, "a number or a matrix (1, 1)")?;
            Ok(Type::Scalar)
        }
        "min" | "max" | "sum" => {
            let (lead, rows, cols) = call.matrix(0, 1)?;
            match named {
                [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows" => {
                    Ok(with(lead, Dim::constant(1), cols))
                }
                [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "cols" => {
                    Ok(with(lead, rows, Dim::constant(1)))
                }
                _ => Err(ExprError::new(
                    span.clone(),
                    format!("`{function}`: expected `axis=rows` or `axis=cols`"),
                )),
            }
        }
        "hcat" | "vcat" => {
            let (left, rows, cols) = call.matrix(0, 2)?;
            let (right, more_rows, more_cols) = call.matrix(1, 2)?;
            let lead = join(left, right, span)?;
            if function == "hcat" {
                call.same(&rows, &more_rows, "rows")?;
                Ok(with(lead, rows, cols.plus(&more_cols)))
            } else {
                call.same(&cols, &more_cols, "columns")?;
                Ok(with(lead, rows.plus(&more_rows), cols))
            }
        }
        other => Err(unknown_in("function", other, span.clone(), names(&FUNCTIONS))),
    }
}

fn with((batch, heads): Lead, rows: Dim, cols: Dim) -> Type {
    Type::Matrix { batch, heads, rows, cols }
}

struct CallSite<'a> {
    scope: &'a Scope,
    function: &'a str,
    args: &'a [Expr],
    span: &'a Span,
}

impl CallSite<'_> {
    fn arity(&self, low: usize, high: usize) -> Result<(), ExprError> {
        let n = self.args.len();
        if (low..=high).contains(&n) {
            return Ok(());
        }
        let expected = if low == high { low.to_string() } else { format!("{low} to {high}") };
        Err(ExprError::new(
            self.span.clone(),
            format!("`{}`: expected {expected} arguments, got {n}", self.function),
        ))
    }

    fn wrong(&self, at: usize, expected: &str, got: &Type) -> ExprError {
        ExprError::new(
            self.args[at].span.clone(),
            format!(
                "argument {} of `{}`: expected {expected}, got {}",
                at + 1,
                self.function,
                got.describe()
            ),
        )
    }

    fn is(&self, at: usize, fits: impl Fn(&Type) -> bool, expected: &str) -> Result<(), ExprError> {
        let ty = type_of(self.scope, &self.args[at])?;
        if fits(&ty) { Ok(()) } else { Err(self.wrong(at, expected, &ty)) }
    }

    fn same(&self, left: &Dim, right: &Dim, what: &str) -> Result<(), ExprError> {
        if left == right {
            Ok(())
        } else {
            Err(mismatch(&format!("{what} in `{}`", self.function), left, right, self.span))
        }
    }

    /// Argument `at` of `arity` as a matrix.
    fn matrix(&self, at: usize, arity: usize) -> Result<(Lead, Dim, Dim), ExprError> {
        self.arity(arity, arity)?;
        match type_of(self.scope, &self.args[at])? {
            Type::Matrix { batch, heads, rows, cols } => Ok(((batch, heads), rows, cols)),
            other => Err(self.wrong(at, "a matrix", &other)),
        }
    }

    /// `attention(Q, K, V)`, `exact(Q, K, V)`, `weights(Q, K)`, `lse(Q, K)` or `exact_lse(Q, K)`
    /// with named options; the last three take values as well, which are the case's where there are
    /// none.
    fn attention(&self, named: &[(String, Expr)]) -> Result<Type, ExprError> {
        let gives_lse = self.function.ends_with("lse");
        let gives_output = !gives_lse && self.function != "weights";
        let arity = if gives_output { 3 } else { self.args.len().clamp(2, 3) };
        let (query, n_q, d_k) = self.matrix(0, arity)?;
        let (key, n_k, key_width) = self.matrix(1, arity)?;
        if d_k != key_width {
            return Err(mismatch("width of query and key", &d_k, &key_width, self.span));
        }
        let mut cols = if gives_lse { Dim::constant(1) } else { n_k.clone() };
        if arity == 3 {
            let (value, value_rows, d_v) = self.matrix(2, 3)?;
            if value_rows != n_k {
                return Err(mismatch("rows of key and value", &n_k, &value_rows, self.span));
            }
            if let (Some(x), Some(y)) = (&key.1, &value.1)
                && x != y
            {
                return Err(mismatch("heads of key and value", x, y, self.span));
            }
            join(query.clone(), value, self.span)?;
            if gives_output {
                cols = d_v;
            }
        }
        join(query.clone(), key, self.span)?;
        for (name, value) in named {
            if value.is_off() {
                continue;
            }
            if !["scale", "mask", "bias", "softcap"].contains(&name.as_str()) {
                let error = ExprError::new(
                    value.span.clone(),
                    format!("argument `{name}`: expected `off`"),
                );
                return Err(
                    error.hint(format!("a call that does not name `{name}` gets the case's"))
                );
            }
            let ty = type_of(self.scope, value)?;
            if [CallOption::Scale.name(), CallOption::Softcap.name()].contains(&name.as_str()) {
                if !matches!(ty, Type::Scalar | Type::Integer(_)) {
                    return Err(ExprError::new(
                        value.span.clone(),
                        format!("argument `{name}`: expected a number, got {}", ty.describe()),
                    ));
                }
                continue;
            }
            let Type::Matrix { batch, heads, rows, cols } = ty else {
                return Err(ExprError::new(
                    value.span.clone(),
                    format!("argument `{name}`: expected a matrix, got {}", ty.describe()),
                ));
            };
            if rows != n_q || cols != n_k {
                return Err(ExprError::new(
                    value.span.clone(),
                    format!("argument `{name}`: expected ({n_q}, {n_k}), got ({rows}, {cols})"),
                ));
            }
            if (batch.is_some() && batch != query.0) || (heads.is_some() && heads != query.1) {
                let all = |lead: [&Option<Dim>; 2]| {
                    let extents: Vec<String> =
                        lead.into_iter().flatten().map(ToString::to_string).collect();
                    if extents.is_empty() {
                        "one matrix".to_owned()
                    } else {
                        format!("({}) matrices", extents.join(", "))
                    }
                };
                let (queries, got) = (all([&query.0, &query.1]), all([&batch, &heads]));
                let message = format!(
                    "argument `{name}`: expected no more than the {queries} of queries, got {got}"
                );
                return Err(ExprError::new(value.span.clone(), message));
            }
        }
        Ok(with(query, n_q, cols))
    }
}
