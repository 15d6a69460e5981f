//! Types of expressions, and of whole laws.

use std::fmt;

use super::domain::declare;
use super::function::{apply, join, mismatch};
use super::{Dim, Scope, Type, Variables};
use crate::nearest::nearest;
use crate::syntax::{BinaryOp, Expr, ExprError, ExprKind, MOMENTS, Span, UnaryOp, parse};
use crate::{Formula, Law, Observation, Unexpected};

/// A law whose expressions are parsed and whose shapes fit.
#[derive(Clone, Debug)]
pub struct CheckedLaw {
    /// The law as written.
    pub law: Law,
    /// Its variables, in order.
    pub given: Vec<Variables>,
    /// Its abbreviations, in order.
    pub lets: Vec<(String, Expr)>,
    /// Its statement.
    pub expect: Option<Expr>,
    /// What its proof passes, in order.
    pub through: Vec<Expr>,
}

impl CheckedLaw {
    /// Whether the law says what one call of the case's own numbers returns, and nothing else: each
    /// row of it stands alone.
    pub fn says_a_result(&self) -> bool {
        let is = |expr: &Expr, functions: [&str; 2]| matches!(&expr.kind, ExprKind::Apply { function, named, .. } if named.is_empty() && functions.contains(&function.as_str()));
        let is_of_itself = |expr: &Expr| match &expr.kind {
            ExprKind::Binary(BinaryOp::Eq, left, right) => {
                is(left, ["attention", "lse"]) && is(right, ["exact", "exact_lse"])
            }
            _ => false,
        };
        self.given.is_empty()
            && self.lets.is_empty()
            && self.expect.as_ref().is_some_and(is_of_itself)
    }

    /// Whether the law asks a target anything: it calls `attention`, `weights` or `lse`, or
    /// observes a call. The others are about numbers alone, and proved.
    pub fn asks(&self) -> bool {
        let calls = |expr: &Expr| expr.application_of(&["attention", "weights", "lse"]).is_some();
        self.law.observe.is_some() || self.formulas().any(|(_, expr)| calls(expr))
    }

    /// Whether its statement compares bits, of which real numbers say nothing.
    pub fn compares_bits(&self) -> bool {
        let is_of_bits =
            |part: &Expr| matches!(part.kind, ExprKind::Binary(BinaryOp::SameBits, ..));
        self.expect.as_ref().is_some_and(|expect| expect.find(&is_of_bits).is_some())
    }

    /// For each abbreviation whether the value of `expr` depends on it, through others too.
    pub fn lets_needed_by(&self, expr: &Expr) -> Vec<bool> {
        let mut needed = vec![false; self.lets.len()];
        let mark = |expr: &Expr, needed: &mut Vec<bool>| {
            expr.each_name(&mut |name| {
                if let Some(at) = self.lets.iter().position(|(known, _)| known == name) {
                    needed[at] = true;
                }
            });
        };
        mark(expr, &mut needed);
        // An abbreviation names only those above it.
        for at in (0..self.lets.len()).rev() {
            if needed[at] {
                mark(&self.lets[at].1, &mut needed);
            }
        }
        needed
    }

    /// Abbreviations and statement, each with its place in the law.
    fn formulas(&self) -> impl Iterator<Item = (String, &Expr)> {
        let lets = self.lets.iter().map(|(name, expr)| (format!("let.{name}"), expr));
        lets.chain(self.expect.iter().map(|expr| ("expect".to_owned(), expr)))
    }

    /// What is not drawn, and what speaks of it, has no value on a target.
    #[expect(clippy::result_large_err, reason = "boxed once, by `check_law`")]
    fn check_asked(&self) -> Result<(), LawError> {
        if let Some(given) = self.given.iter().find(|given| !given.domain.is_drawn()) {
            let formula = self.law.given.get(&given.names[0]).cloned();
            let span = 0..formula.as_ref().map_or(0, |formula| formula.text.len());
            let error = ExprError::new(
                span,
                "domain: expected one that is drawn in a law that asks a target",
            )
            .hint("`real(low..high)` and `matrix(rows, cols)` are drawn");
            return Err(LawError::new(format!("given.{}", given.names[0]), formula, error));
        }
        for (place, expr) in self.formulas() {
            if let Some(moment) = expr.application_of(&MOMENTS) {
                let message =
                    "moment: expected a law that asks a target to have no `E` or `Var`, got one";
                let name = place.strip_prefix("let.");
                let formula =
                    name.map_or(self.law.expect.as_ref(), |name| self.law.lets.get(name)).cloned();
                return Err(LawError::new(
                    place,
                    formula,
                    ExprError::new(moment.span.clone(), message),
                ));
            }
        }
        Ok(())
    }

    /// Whether any formula of the law speaks of `name`; an observed call speaks of `Q`, `K` and
    /// `V`.
    pub fn mentions(&self, name: &str) -> bool {
        let observed = self.expect.is_none() && matches!(name, "Q" | "K" | "V");
        // `weights(Q, K)` and `lse(Q, K)` are calls with the case's values.
        observed || self.formulas().any(|(_, expr)| expr.mentions(name))
    }
}

/// An error in one formula of a law.
#[derive(Clone, Debug)]
pub struct LawError {
    /// Where in the law: `expect`, `given.P`, `let.c`.
    pub place: String,
    /// The formula it is in; `None` for an error about the law as a whole.
    pub formula: Option<Formula>,
    /// What is wrong in it.
    pub error: ExprError,
    /// Variables and abbreviations of the law that the wrong part speaks of: where each is
    /// declared, and what it is.
    pub declared: Vec<(Formula, String)>,
}

impl LawError {
    /// The same for a law that lies in no file, only in this place.
    pub fn inside(&self, place: impl fmt::Display) -> Unexpected {
        let ExprError { message, hint, .. } = &self.error;
        let error = Unexpected::within(format_args!("{place}: {}", self.place), message);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    fn new(place: String, formula: Option<Formula>, error: ExprError) -> Self {
        Self { place, formula, error, declared: Vec::new() }
    }

    /// The same error, if it is one of shapes, with the declarations of the names that its labels
    /// lie on.
    fn declaring(mut self, law: &Law, scope: &Scope, whole: &Expr) -> Self {
        let labelled: Vec<&Expr> =
            self.error.labels.iter().filter_map(|(span, _)| whole.part_at(span)).collect();
        for (key, formula) in law.given.iter().chain(&law.lets) {
            let names = key
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .filter(|name| !name.is_empty());
            for name in names.filter(|name| labelled.iter().any(|part| part.mentions(name))) {
                if let Some(ty) = scope.get(name) {
                    self.declared.push((formula.clone(), format!("{name} is {}", ty.describe())));
                }
            }
        }
        self
    }
}

/// Checks names, types and shapes of every formula of a law.
///
/// # Errors
/// The first formula that does not fit.
pub fn check_law(law: Law) -> Result<CheckedLaw, Box<LawError>> {
    checked(law).map_err(Box::new)
}

#[expect(clippy::result_large_err, reason = "boxed once, above")]
fn checked(law: Law) -> Result<CheckedLaw, LawError> {
    let mut scope = Scope::new();
    let mut given = Vec::new();
    for (name, formula) in &law.given {
        let place = |error, formula: Option<&Formula>| {
            LawError::new(format!("given.{name}"), formula.cloned(), error)
        };
        let names = parse(name).map_err(|error| place(error, None))?;
        let domain = formula.parse().map_err(|error| place(error, Some(formula)))?;
        given.push(
            declare(&mut scope, &given, &names, &domain)
                .map_err(|error| place(error, Some(formula)))?,
        );
    }
    let mut lets = Vec::new();
    for (name, formula) in &law.lets {
        let place = |error| LawError::new(format!("let.{name}"), Some(formula.clone()), error);
        let expr = formula.parse().map_err(place)?;
        let ty =
            type_of(&scope, &expr).map_err(|error| place(error).declaring(&law, &scope, &expr))?;
        if ty == Type::Truth {
            return Err(place(ExprError::new(
                expr.span.clone(),
                "abbreviation: expected a value, got a statement",
            )));
        }
        scope.declare(name, ty, expr.span.clone()).map_err(place)?;
        lets.push((name.clone(), expr));
    }
    let expect = match (&law.expect, law.observe) {
        (Some(formula), None) => {
            let place = |error| LawError::new("expect".to_owned(), Some(formula.clone()), error);
            let expr = formula.parse().map_err(place)?;
            let ty = type_of(&scope, &expr)
                .map_err(|error| place(error).declaring(&law, &scope, &expr))?;
            if ty != Type::Truth {
                let error = ExprError::new(
                    expr.span.clone(),
                    format!("statement: expected a relation such as `==`, got {}", ty.describe()),
                );
                return Err(place(error));
            }
            Some(expr)
        }
        (None, Some(_)) => None,
        _ => {
            let error = ExprError::new(
                0..0,
                format!("law `{}`: expected exactly one of `expect` and `observe`", law.law),
            );
            return Err(LawError::new(law.law.clone(), None, error));
        }
    };
    check_refusal(&law)?;
    let through = waypoints(&scope, &law, expect.as_ref())?;
    let checked = CheckedLaw { law, given, lets, expect, through };
    if checked.asks() {
        checked.check_asked()?;
    }
    Ok(checked)
}

/// A law of refusal says what does not fit, and its call has nothing else that could be refused.
#[expect(clippy::result_large_err, reason = "boxed once, by `check_law`")]
fn check_refusal(law: &Law) -> Result<(), LawError> {
    let fail = |message: String| {
        let error = ExprError::new(0..0, format!("law `{}`: {message}", law.law));
        Err(LawError::new(law.law.clone(), None, error))
    };
    match (law.observe, law.misfit) {
        (Some(Observation::Refused), None) => {
            fail("expected `misfit` beside `observe: refused`, got none".to_owned())
        }
        (Some(Observation::Refused), Some(_)) => {
            let declared = law.given.keys().chain(law.lets.keys()).map(String::as_str);
            let options = law.options.iter().map(|option| option.name());
            match declared.chain(options).next() {
                Some(other) => fail(format!(
                    "expected no variables and options beside `misfit`, got `{other}`"
                )),
                None => Ok(()),
            }
        }
        (_, Some(_)) => fail("expected `observe: refused` beside `misfit`, got none".to_owned()),
        (_, None) => Ok(()),
    }
}

/// What the proof passes: values of the kind of the sides of a single relation.
#[expect(clippy::result_large_err, reason = "boxed once, by `check_law`")]
fn waypoints(scope: &Scope, law: &Law, expect: Option<&Expr>) -> Result<Vec<Expr>, LawError> {
    let mut through = Vec::new();
    for (at, formula) in law.through.iter().enumerate() {
        let place =
            |error| LawError::new(format!("through.{}", at + 1), Some(formula.clone()), error);
        let expr = formula.parse().map_err(place)?;
        let Some(Expr {
            kind: ExprKind::Binary(BinaryOp::Eq | BinaryOp::Le | BinaryOp::Ge, side, _),
            ..
        }) = expect
        else {
            let message = "`through`: expected a statement that is one `==`, `<=` or `>=`";
            return Err(place(ExprError::new(expr.span.clone(), message)));
        };
        let fits = |error| place(error).declaring(law, scope, &expr);
        let (of_side, of_this) =
            (type_of(scope, side).map_err(fits)?, type_of(scope, &expr).map_err(fits)?);
        elementwise(&of_side, &of_this, BinaryOp::Eq, &expr.span).map_err(fits)?;
        through.push(expr);
    }
    Ok(through)
}

/// The type of an expression.
pub(super) fn type_of(scope: &Scope, expr: &Expr) -> Result<Type, ExprError> {
    let span = &expr.span;
    match &expr.kind {
        ExprKind::Number(x) => Ok(match Dim::from_expr(expr, &|_| false) {
            Ok(dim) if x.fract() == 0.0 => Type::Integer(dim),
            _ => Type::Scalar,
        }),
        ExprKind::Name(name) => {
            scope.get(name).cloned().ok_or_else(|| scope.unknown(name, span.clone()))
        }
        ExprKind::Unary(UnaryOp::Neg, x) => match type_of(scope, x)? {
            Type::Integer(dim) => Ok(Type::Integer(Dim::constant(0).minus(&dim))),
            ty @ (Type::Scalar | Type::Matrix { .. }) => Ok(ty),
            other => Err(ExprError::new(
                span.clone(),
                format!("`-`: expected a number or a matrix, got {}", other.describe()),
            )),
        },
        ExprKind::Unary(UnaryOp::Not, _) => {
            Err(ExprError::new(span.clone(), "`not`: expected in conditions only"))
        }
        ExprKind::Transpose(x) => match type_of(scope, x)? {
            Type::Matrix { batch, heads, rows, cols } => {
                Ok(Type::Matrix { batch, heads, rows: cols, cols: rows })
            }
            other => Err(ExprError::new(
                span.clone(),
                format!("`.T`: expected a matrix, got {}", other.describe()),
            )),
        },
        ExprKind::Tuple(items) => {
            for item in items {
                scope.dim(item)?;
            }
            Ok(Type::Shape(items.len()))
        }
        ExprKind::Interval(..) => {
            Err(ExprError::new(span.clone(), "`..`: expected in domains only")
                .hint("write `x in between(low, high)`"))
        }
        ExprKind::Apply { function, args, named } => apply(scope, function, args, named, span)
            .map_err(|error| labelled(error, scope, expr, args)),
        ExprKind::Binary(op, x, y) => {
            binary(scope, *op, x, y, expr).map_err(|error| labelled(error, scope, expr, [&**x, y]))
        }
    }
}

/// An error of this very expression with what each of its parts is; one of a part has its own.
fn labelled<'a>(
    error: ExprError,
    scope: &Scope,
    whole: &Expr,
    parts: impl IntoIterator<Item = &'a Expr>,
) -> ExprError {
    if error.span != whole.span {
        return error;
    }
    let label = |part: &Expr| Some((part.span.clone(), type_of(scope, part).ok()?.describe()));
    error.labels(parts.into_iter().filter_map(label))
}

fn binary(
    scope: &Scope,
    op: BinaryOp,
    x: &Expr,
    y: &Expr,
    whole: &Expr,
) -> Result<Type, ExprError> {
    let span = &whole.span;
    if op == BinaryOp::In {
        let value = type_of(scope, x)?;
        return match &y.kind {
            ExprKind::Apply { function, args, named }
                if function == "between" && args.len() == 2 && named.is_empty() =>
            {
                for end in args {
                    elementwise(&value, &type_of(scope, end)?, op, span)?;
                }
                Ok(Type::Truth)
            }
            _ => Err(ExprError::new(y.span.clone(), "`in`: expected `between(low, high)`")),
        };
    }
    let (left, right) = (type_of(scope, x)?, type_of(scope, y)?);
    match op {
        BinaryOp::And if left == Type::Truth && right == Type::Truth => Ok(Type::Truth),
        BinaryOp::Eq | BinaryOp::Le | BinaryOp::Ge | BinaryOp::SameBits => match (&left, &right) {
            (Type::Shape(m), Type::Shape(n)) if m == n && op == BinaryOp::Eq => Ok(Type::Truth),
            _ => elementwise(&left, &right, op, span).map(|_| Type::Truth),
        },
        BinaryOp::Add | BinaryOp::Sub => match (&left, &right) {
            (Type::Integer(m), Type::Integer(n)) => Ok(Type::Integer(if op == BinaryOp::Add {
                m.clone().plus(n)
            } else {
                m.clone().minus(n)
            })),
            _ => elementwise(&left, &right, op, span),
        },
        BinaryOp::Mul => match (&left, &right) {
            (Type::Integer(m), Type::Integer(n)) => Ok(Type::Integer(m.times(n))),
            (Type::Scalar | Type::Integer(_), Type::Matrix { .. }) => Ok(right),
            (Type::Matrix { .. }, Type::Scalar | Type::Integer(_)) => Ok(left),
            (Type::Scalar | Type::Integer(_), Type::Scalar | Type::Integer(_)) => Ok(Type::Scalar),
            _ => {
                Err(operands(op, &left, &right, span).hint("`*` scales; the matrix product is `@`"))
            }
        },
        BinaryOp::Div => match (&left, &right) {
            (Type::Matrix { .. }, Type::Scalar | Type::Integer(_)) => Ok(left),
            (Type::Scalar | Type::Integer(_), Type::Scalar | Type::Integer(_)) => Ok(Type::Scalar),
            _ => Err(operands(op, &left, &right, span)),
        },
        BinaryOp::MatMul => match (left, right) {
            (
                Type::Matrix { batch, heads, rows, cols },
                Type::Matrix { batch: batch_y, heads: heads_y, rows: rows_y, cols: cols_y },
            ) => {
                if cols != rows_y {
                    return Err(mismatch("inner extents of `@`", &cols, &rows_y, span));
                }
                let (batch, heads) = join((batch, heads), (batch_y, heads_y), span)?;
                Ok(Type::Matrix { batch, heads, rows, cols: cols_y })
            }
            (left, right) => Err(operands(op, &left, &right, span)),
        },
        _ => {
            let hint = nearest(op.symbol(), ["==", "<=", "same_bits"])
                .map(|other| format!("did you mean `{other}`?"));
            let error = operands(op, &left, &right, span);
            Err(match hint {
                Some(hint) => error.hint(hint),
                None => error,
            })
        }
    }
}

fn operands(op: BinaryOp, left: &Type, right: &Type, span: &Span) -> ExprError {
    ExprError::new(
        span.clone(),
        format!(
            "`{}`: expected operands that fit it, got {} and {}",
            op.symbol(),
            left.describe(),
            right.describe()
        ),
    )
}

/// Type of an elementwise combination: a number meets any matrix, matrices meet matrices of the
/// same extents.
fn elementwise(left: &Type, right: &Type, op: BinaryOp, span: &Span) -> Result<Type, ExprError> {
    match (left, right) {
        (Type::Scalar | Type::Integer(_), Type::Scalar | Type::Integer(_)) => Ok(Type::Scalar),
        (Type::Scalar | Type::Integer(_), Type::Matrix { .. }) => Ok(right.clone()),
        (Type::Matrix { .. }, Type::Scalar | Type::Integer(_)) => Ok(left.clone()),
        (
            Type::Matrix { batch, heads, rows, cols },
            Type::Matrix { batch: batch_y, heads: heads_y, rows: rows_y, cols: cols_y },
        ) => {
            if rows != rows_y {
                return Err(mismatch(&format!("rows of `{}`", op.symbol()), rows, rows_y, span));
            }
            if cols != cols_y {
                return Err(mismatch(&format!("columns of `{}`", op.symbol()), cols, cols_y, span));
            }
            let (batch, heads) =
                join((batch.clone(), heads.clone()), (batch_y.clone(), heads_y.clone()), span)?;
            Ok(Type::Matrix { batch, heads, rows: rows.clone(), cols: cols.clone() })
        }
        _ => Err(operands(op, left, right, span)),
    }
}
