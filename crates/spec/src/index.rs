//! Conditions (`1 < h_k and h_k < h_q`) and index maps (`h / (h_q / h_k)`): integer expressions
//! over a few names.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::syntax::{BinaryOp, Expr, ExprError, ExprKind, UnaryOp, parse};
use crate::{CallOption, Dims, Dtype, OptionSet};

/// A name that means something in conditions and index maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexName {
    /// Batch items `b`.
    Items,
    /// Query heads `h_q`.
    QueryHeads,
    /// Key heads `h_k`.
    KeyHeads,
    /// Queries `n_q`.
    Queries,
    /// Keys `n_k`.
    Keys,
    /// Width `d_k` of queries and keys.
    KeyWidth,
    /// Width `d_v` of values.
    ValueWidth,
    /// Query head `h`.
    Head,
    /// Query `i`.
    Query,
    /// Key `j`.
    Key,
    /// Column `c` of the output.
    Column,
    /// Batch item `item`.
    Item,
    /// 1 in a call of this format.
    Format(Dtype),
    /// 1 where the call asks for weights.
    ReturnWeights,
    /// 1 where the call asks for the log-sum-exp.
    ReturnLse,
    /// 1 where this option is on.
    Option(CallOption),
}

/// All but the options.
const NAMES: [(&str, IndexName); 17] = [
    ("b", IndexName::Items),
    ("h_q", IndexName::QueryHeads),
    ("h_k", IndexName::KeyHeads),
    ("n_q", IndexName::Queries),
    ("n_k", IndexName::Keys),
    ("d_k", IndexName::KeyWidth),
    ("d_v", IndexName::ValueWidth),
    ("h", IndexName::Head),
    ("i", IndexName::Query),
    ("j", IndexName::Key),
    ("c", IndexName::Column),
    ("item", IndexName::Item),
    ("float32", IndexName::Format(Dtype::Float32)),
    ("float16", IndexName::Format(Dtype::Float16)),
    ("bfloat16", IndexName::Format(Dtype::Bfloat16)),
    ("return_weights", IndexName::ReturnWeights),
    ("return_lse", IndexName::ReturnLse),
];

fn names() -> impl Iterator<Item = (&'static str, IndexName)> + Clone {
    let options = CallOption::ALL.map(|option| (option.name(), IndexName::Option(option)));
    NAMES.into_iter().chain(options)
}

/// An integer expression; relations give 1 or 0, `/` rounds down, a zero divisor has no value.
#[derive(Clone, Debug)]
pub struct IndexExpr(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    text: String,
    expr: Expr,
    tree: Tree,
}

/// What is evaluated for every element of a mask: names are no texts any more.
#[derive(Debug)]
enum Tree {
    Number(i64),
    Name(IndexName),
    Neg(Box<Tree>),
    Not(Box<Tree>),
    Binary(BinaryOp, Box<[Tree; 2]>),
    Min(Box<[Tree; 2]>),
    Max(Box<[Tree; 2]>),
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
    pub dtype: Dtype,
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
        let tree = resolve(&expr)?;
        Ok(Self(Arc::new(Parsed { text: text.to_owned(), expr, tree })))
    }

    /// Whether a name occurs.
    pub fn mentions(&self, name: &str) -> bool {
        self.0.expr.mentions(name)
    }

    /// Whether the expression is this name and nothing else.
    pub fn is(&self, name: IndexName) -> bool {
        matches!(self.0.tree, Tree::Name(own) if own == name)
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The value; `None` for a zero divisor or an overflow.
    pub fn eval(&self, env: &IndexEnv) -> Option<i64> {
        self.0.tree.eval(env)
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

fn resolve(expr: &Expr) -> Result<Tree, ExprError> {
    let boxed = |expr: &Expr| resolve(expr).map(Box::new);
    let both = |x: &Expr, y: &Expr| Ok(Box::new([resolve(x)?, resolve(y)?]));
    match &expr.kind {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
        ExprKind::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => Ok(Tree::Number(*x as i64)),
        ExprKind::Name(name) => match names().find(|(known, _)| known == name) {
            Some((_, name)) => Ok(Tree::Name(name)),
            None => {
                let names = names().map(|(name, _)| name);
                Err(crate::nearest::unknown_in("name", name, expr.span.clone(), names))
            }
        },
        ExprKind::Unary(UnaryOp::Neg, x) => boxed(x).map(Tree::Neg),
        ExprKind::Unary(UnaryOp::Not, x) => boxed(x).map(Tree::Not),
        ExprKind::Binary(op, x, y)
            if !matches!(op, BinaryOp::MatMul | BinaryOp::SameBits | BinaryOp::In) =>
        {
            Ok(Tree::Binary(*op, both(x, y)?))
        }
        ExprKind::Apply { function, args, named } if named.is_empty() => {
            match (function.as_str(), &args[..]) {
                ("min", [x, y]) => Ok(Tree::Min(both(x, y)?)),
                ("max", [x, y]) => Ok(Tree::Max(both(x, y)?)),
                ("min" | "max", args) => Err(ExprError::new(
                    expr.span.clone(),
                    format!("`{function}`: expected 2 arguments, got {}", args.len()),
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

impl Tree {
    fn eval(&self, env: &IndexEnv) -> Option<i64> {
        let both = |[x, y]: &[Self; 2]| Some((x.eval(env)?, y.eval(env)?));
        Some(match self {
            Self::Number(x) => *x,
            Self::Name(name) => env.value(*name),
            Self::Neg(x) => x.eval(env)?.checked_neg()?,
            Self::Not(x) => i64::from(x.eval(env)? == 0),
            Self::Min(args) => both(args).map(|(x, y)| x.min(y))?,
            Self::Max(args) => both(args).map(|(x, y)| x.max(y))?,
            Self::Binary(op, args) => {
                let (x, y) = both(args)?;
                match op {
                    BinaryOp::Or => i64::from(x != 0 || y != 0),
                    BinaryOp::And => i64::from(x != 0 && y != 0),
                    BinaryOp::Eq => i64::from(x == y),
                    BinaryOp::Ne => i64::from(x != y),
                    BinaryOp::Le => i64::from(x <= y),
                    BinaryOp::Lt => i64::from(x < y),
                    BinaryOp::Ge => i64::from(x >= y),
                    BinaryOp::Gt => i64::from(x > y),
                    BinaryOp::Add => x.checked_add(y)?,
                    BinaryOp::Sub => x.checked_sub(y)?,
                    BinaryOp::Mul => x.checked_mul(y)?,
                    BinaryOp::Div => x.checked_div_euclid(y)?,
                    BinaryOp::Rem => x.checked_rem_euclid(y)?,
                    BinaryOp::MatMul | BinaryOp::In | BinaryOp::SameBits => return None,
                }
            }
        })
    }
}

impl IndexEnv {
    /// The names of a call: all places are 0.
    pub fn new(dims: Dims, dtype: Dtype, options: OptionSet) -> Self {
        let (return_weights, return_lse) = (false, false);
        Self { dims, h: 0, i: 0, j: 0, c: 0, item: 0, options, dtype, return_weights, return_lse }
    }

    fn value(&self, name: IndexName) -> i64 {
        let size = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        match name {
            IndexName::Items => size(self.dims.b),
            IndexName::QueryHeads => size(self.dims.h_q),
            IndexName::KeyHeads => size(self.dims.h_k),
            IndexName::Queries => size(self.dims.n_q),
            IndexName::Keys => size(self.dims.n_k),
            IndexName::KeyWidth => size(self.dims.d_k),
            IndexName::ValueWidth => size(self.dims.d_v),
            IndexName::Head => self.h,
            IndexName::Query => self.i,
            IndexName::Key => self.j,
            IndexName::Column => self.c,
            IndexName::Item => self.item,
            IndexName::Format(dtype) => i64::from(self.dtype == dtype),
            IndexName::ReturnWeights => i64::from(self.return_weights),
            IndexName::ReturnLse => i64::from(self.return_lse),
            IndexName::Option(option) => i64::from(self.options.contains(option)),
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
