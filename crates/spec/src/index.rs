//! Conditions (`1 < h_k and h_k < h_q`) and index maps (`h / (h_q / h_k)`): integer expressions
//! over a few names.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::syntax::{BinaryOp, Expr, ExprError, ExprKind, UnaryOp, parse};
use crate::{CallOption, Dims, OptionSet};

/// Names that mean something in conditions and index maps, beside those of the options.
const NAMES: [&str; 17] = [
    "b",
    "h_q",
    "h_k",
    "n_q",
    "n_k",
    "d_k",
    "d_v",
    "h",
    "i",
    "j",
    "c",
    "item",
    "float32",
    "float16",
    "bfloat16",
    "return_weights",
    "return_lse",
];

fn names() -> impl Iterator<Item = &'static str> + Clone {
    NAMES.into_iter().chain(CallOption::ALL.map(CallOption::name))
}

/// An integer expression; relations give 1 or 0, `/` rounds down, a zero divisor has no value.
#[derive(Clone, Debug)]
pub struct IndexExpr(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    text: String,
    expr: Expr,
}

/// Values of names in an [`IndexExpr`].
#[derive(Clone, Copy, Debug)]
pub struct IndexEnv {
    /// Extents of the call.
    pub dims: Dims,
    /// Query head `h`.
    pub h: i64,
    /// Query `i`.
    pub i: i64,
    /// Key `j`.
    pub j: i64,
    /// Column `c` of the output.
    pub c: i64,
    /// Batch item.
    pub item: i64,
    /// Options of the call that are on.
    pub options: OptionSet,
    /// The format of the call.
    pub dtype: crate::Dtype,
    /// Whether the call asks for weights.
    pub return_weights: bool,
    /// Whether the call asks for the log-sum-exp.
    pub return_lse: bool,
}

impl IndexExpr {
    /// Parses and checks the names.
    ///
    /// # Errors
    /// Syntax errors, and names or functions that do not exist here, with the nearest known one.
    pub fn new(text: &str) -> Result<Self, ExprError> {
        let expr = parse(text)?;
        check(&expr)?;
        Ok(Self(Arc::new(Parsed { text: text.to_owned(), expr })))
    }

    /// Whether a name occurs.
    pub fn mentions(&self, name: &str) -> bool {
        self.0.expr.mentions(name)
    }

    /// Whether the expression is this name and nothing else.
    pub fn is(&self, name: &str) -> bool {
        matches!(&self.0.expr.kind, ExprKind::Name(own) if own == name)
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The value; `None` for a zero divisor or an overflow.
    pub fn eval(&self, env: &IndexEnv) -> Option<i64> {
        eval(&self.0.expr, env)
    }

    /// The largest number that `name` is said to be no smaller than, by relations that all have to
    /// hold; 0 if there is none.
    pub fn least(&self, name: &str) -> i64 {
        least(&self.0.expr, name)
    }

    /// Whether the expression, read as a condition, holds.
    pub fn holds(&self, env: &IndexEnv) -> bool {
        self.eval(env).is_some_and(|value| value != 0)
    }
}

fn least(expr: &Expr, name: &str) -> i64 {
    let ExprKind::Binary(op, x, y) = &expr.kind else { return 0 };
    let is_name = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(known) if known == name);
    let number = |expr: &Expr| match &expr.kind {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
        ExprKind::Number(x) => Some(*x as i64),
        _ => None,
    };
    match op {
        BinaryOp::And => least(x, name).max(least(y, name)),
        BinaryOp::Ge | BinaryOp::Gt if is_name(x) => {
            number(y).map_or(0, |n| n + i64::from(*op == BinaryOp::Gt))
        }
        BinaryOp::Le | BinaryOp::Lt if is_name(y) => {
            number(x).map_or(0, |n| n + i64::from(*op == BinaryOp::Lt))
        }
        _ => 0,
    }
}

fn check(expr: &Expr) -> Result<(), ExprError> {
    match &expr.kind {
        ExprKind::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => Ok(()),
        ExprKind::Name(name) if names().any(|known| known == name) => Ok(()),
        ExprKind::Name(name) => {
            Err(crate::nearest::unknown_in("name", name, expr.span.clone(), names()))
        }
        ExprKind::Unary(_, x) => check(x),
        ExprKind::Binary(op, x, y)
            if !matches!(op, BinaryOp::MatMul | BinaryOp::SameBits | BinaryOp::In) =>
        {
            check(x)?;
            check(y)
        }
        ExprKind::Apply { function, args, named } if named.is_empty() => {
            match (function.as_str(), args.len()) {
                ("min" | "max", 2) => args.iter().try_for_each(check),
                ("min" | "max", n) => Err(ExprError::new(
                    expr.span.clone(),
                    format!("`{function}`: expected 2 arguments, got {n}"),
                )),
                _ => Err(crate::nearest::unknown_in(
                    "function",
                    function,
                    expr.span.clone(),
                    ["min", "max"],
                )),
            }
        }
        _ => Err(ExprError::new(
            expr.span.clone(),
            "index expression: expected whole numbers, names, + - * / %, relations, min and max",
        )),
    }
}

fn eval(expr: &Expr, env: &IndexEnv) -> Option<i64> {
    match &expr.kind {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
        ExprKind::Number(x) => Some(*x as i64),
        ExprKind::Name(name) => Some(env.value(name)),
        ExprKind::Unary(UnaryOp::Neg, x) => eval(x, env)?.checked_neg(),
        ExprKind::Unary(UnaryOp::Not, x) => Some(i64::from(eval(x, env)? == 0)),
        ExprKind::Binary(op, x, y) => {
            let (x, y) = (eval(x, env)?, eval(y, env)?);
            match op {
                BinaryOp::Or => Some(i64::from(x != 0 || y != 0)),
                BinaryOp::And => Some(i64::from(x != 0 && y != 0)),
                BinaryOp::Eq => Some(i64::from(x == y)),
                BinaryOp::Ne => Some(i64::from(x != y)),
                BinaryOp::Le => Some(i64::from(x <= y)),
                BinaryOp::Lt => Some(i64::from(x < y)),
                BinaryOp::Ge => Some(i64::from(x >= y)),
                BinaryOp::Gt => Some(i64::from(x > y)),
                BinaryOp::Add => x.checked_add(y),
                BinaryOp::Sub => x.checked_sub(y),
                BinaryOp::Mul => x.checked_mul(y),
                BinaryOp::Div => x.checked_div_euclid(y),
                BinaryOp::Rem => x.checked_rem_euclid(y),
                BinaryOp::MatMul | BinaryOp::In | BinaryOp::SameBits => None,
            }
        }
        ExprKind::Apply { function, args, .. } => {
            let (x, y) = (eval(&args[0], env)?, eval(&args[1], env)?);
            Some(if function == "min" { x.min(y) } else { x.max(y) })
        }
        _ => None,
    }
}

impl IndexEnv {
    /// The names of a call: all places are 0.
    pub fn new(dims: Dims, dtype: crate::Dtype, options: OptionSet) -> Self {
        let (return_weights, return_lse) = (false, false);
        Self { dims, h: 0, i: 0, j: 0, c: 0, item: 0, options, dtype, return_weights, return_lse }
    }

    fn value(&self, name: &str) -> i64 {
        let size = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        match name {
            "b" => size(self.dims.b),
            "h_q" => size(self.dims.h_q),
            "h_k" => size(self.dims.h_k),
            "n_q" => size(self.dims.n_q),
            "n_k" => size(self.dims.n_k),
            "d_k" => size(self.dims.d_k),
            "d_v" => size(self.dims.d_v),
            "h" => self.h,
            "i" => self.i,
            "j" => self.j,
            "c" => self.c,
            "item" => self.item,
            "float32" => i64::from(self.dtype == crate::Dtype::Float32),
            "return_weights" => i64::from(self.return_weights),
            "return_lse" => i64::from(self.return_lse),
            "float16" => i64::from(self.dtype == crate::Dtype::Float16),
            "bfloat16" => i64::from(self.dtype == crate::Dtype::Bfloat16),
            option => i64::from(self.options.iter().any(|on| on.name() == option)),
        }
    }
}

impl PartialEq for IndexExpr {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Serialize for IndexExpr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.text)
    }
}

impl<'de> Deserialize<'de> for IndexExpr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(|error| {
            let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            serde::de::Error::custom(format!("{} in `{text}`{hint}", error.message))
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for IndexExpr {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IndexExpr".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "integer expression over b h_q h_k n_q n_k d_k d_v h i j c item float32 float16 bfloat16 return_weights return_lse, and the options: scale causal mask bias softcap window sinks alibi_slopes key_lengths query_lengths packed" })
    }
}
