//! Conditions (`1 < h_k and h_k < h_q`) and index maps (`h / (h_q / h_k)`): integer expressions
//! over a few names.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::syntax::{BinaryOp, Expr, ExprError, ExprKind, UnaryOp, parse};
use crate::{CallOption, Dims, Dtype, Extent, OptionSet};

/// A name that means something in conditions and index maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexName {
    /// An extent, such as `n_k`.
    Extent(Extent),
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
    /// How far the window reaches before a query; beyond all keys where there is no limit.
    WindowLeft,
    /// How far it reaches behind a query.
    WindowRight,
    /// 1 where a side of the window, left or right, has no limit.
    WindowOpen(usize),
    /// How many keys of the batch item exist.
    KeyLength,
    /// How many queries of it exist.
    QueryLength,
    /// How many keys of the longest batch item exist.
    LongestKeys,
    /// How many axes the mask has, 2 or 4; 0 where there is none.
    MaskAxes,
    /// The same of the bias.
    BiasAxes,
    /// Extent of an axis of the mask; 1 where there is none, or all read the same.
    MaskAxis(usize),
    /// The same of the bias.
    BiasAxis(usize),
    /// 1 where the mask hides a key.
    MaskHides,
    /// 1 in a call of this format.
    Format(Dtype),
    /// 1 where the call asks for weights.
    ReturnWeights,
    /// 1 where the call asks for the log-sum-exp.
    ReturnLse,
    /// 1 where this option is on.
    Option(CallOption),
}

impl IndexName {
    /// What a name means, if it means something.
    pub fn named(text: &str) -> Option<Self> {
        names().find_map(|(known, name)| (known == text).then_some(name))
    }
}

/// All but the extents and the options.
const NAMES: [(&str, IndexName); 29] = [
    ("mask_hides", IndexName::MaskHides),
    ("h", IndexName::Head),
    ("i", IndexName::Query),
    ("j", IndexName::Key),
    ("c", IndexName::Column),
    ("item", IndexName::Item),
    ("window_left", IndexName::WindowLeft),
    ("window_right", IndexName::WindowRight),
    ("window_left_open", IndexName::WindowOpen(0)),
    ("window_right_open", IndexName::WindowOpen(1)),
    ("key_length", IndexName::KeyLength),
    ("query_length", IndexName::QueryLength),
    ("longest_keys", IndexName::LongestKeys),
    ("mask_axes", IndexName::MaskAxes),
    ("bias_axes", IndexName::BiasAxes),
    ("mask_items", IndexName::MaskAxis(0)),
    ("mask_heads", IndexName::MaskAxis(1)),
    ("mask_queries", IndexName::MaskAxis(2)),
    ("mask_keys", IndexName::MaskAxis(3)),
    ("bias_items", IndexName::BiasAxis(0)),
    ("bias_heads", IndexName::BiasAxis(1)),
    ("bias_queries", IndexName::BiasAxis(2)),
    ("bias_keys", IndexName::BiasAxis(3)),
    ("float64", IndexName::Format(Dtype::Float64)),
    ("float32", IndexName::Format(Dtype::Float32)),
    ("float16", IndexName::Format(Dtype::Float16)),
    ("bfloat16", IndexName::Format(Dtype::Bfloat16)),
    ("return_weights", IndexName::ReturnWeights),
    ("return_lse", IndexName::ReturnLse),
];

fn names() -> impl Iterator<Item = (&'static str, IndexName)> + Clone {
    let extents = Extent::ALL.map(|extent| (extent.name(), IndexName::Extent(extent)));
    let options = CallOption::ALL.map(|option| (option.name(), IndexName::Option(option)));
    extents.into_iter().chain(NAMES).chain(options)
}

/// An integer expression; relations give 1 or 0, `/` rounds down, a zero divisor has no value.
#[derive(Clone, Debug)]
pub struct IndexExpr(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    text: String,
    tree: Tree,
}

/// What is evaluated for every element of a mask: names are no texts any more.
#[derive(Debug)]
enum Tree {
    Number(i64),
    Name(IndexName),
    Neg(Box<Tree>),
    Not(Box<Tree>),
    /// The smallest power of two that is no smaller.
    Power(Box<Tree>),
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
    /// How far the window reaches before and behind a query.
    pub window: [i64; 2],
    /// How many keys and queries of the batch item exist.
    pub lengths: [i64; 2],
    /// How many keys of the longest batch item exist.
    pub longest_keys: i64,
    /// How many axes mask and bias have.
    pub axes: [i64; 2],
    /// Extents of mask and bias: items, heads, queries, keys.
    pub forms: [[i64; 4]; 2],
    /// Whether the mask hides a key.
    pub mask_hides: bool,
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
        let tree = resolve(&parse(text)?)?;
        Ok(Self(Arc::new(Parsed { text: text.to_owned(), tree })))
    }

    /// Whether a name occurs.
    pub fn mentions(&self, name: IndexName) -> bool {
        self.0.tree.mentions(name)
    }

    /// Whether the expression is this name and nothing else.
    pub fn is(&self, name: IndexName) -> bool {
        matches!(self.0.tree, Tree::Name(own) if own == name)
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The value; `None` for a zero divisor or an overflow. What is right of a false `and`, or of a
    /// true `or`, is not looked at.
    #[inline]
    pub fn eval(&self, env: &IndexEnv) -> Option<i64> {
        self.0.tree.eval(env)
    }

    /// The largest number that `name` is said to be no smaller than, by relations that all have to
    /// hold; 0 if there is none.
    pub fn least(&self, name: IndexName) -> i64 {
        self.0.tree.least(name)
    }

    /// Extents and numbers that its relations tell apart. Relations `>=` and `<` have `n − 1` and
    /// `n`, `==` and `!=` have `n` and `n + 1`. A rest `x % n` has an odd multiple of `n`, and that
    /// with half of `n` added.
    pub fn edges(&self) -> Vec<(Extent, i64)> {
        let mut found = Vec::new();
        self.0.tree.edges(&mut found);
        found
    }

    /// The two expressions that an operator joins; `None` where it is not the outermost.
    pub fn operands(&self, op: BinaryOp) -> Option<[Self; 2]> {
        match parse(self.text()).ok()?.kind {
            ExprKind::Binary(own, x, y) if own == op => Some([self.part(&x)?, self.part(&y)?]),
            _ => None,
        }
    }

    /// `x` of `not x`.
    pub fn negated(&self) -> Option<Self> {
        match parse(self.text()).ok()?.kind {
            ExprKind::Unary(UnaryOp::Not, x) => self.part(&x),
            _ => None,
        }
    }

    /// A part of it, without parentheses around all of that.
    fn part(&self, expr: &Expr) -> Option<Self> {
        let text = self.text().get(expr.span.clone())?;
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        inner.and_then(|inner| Self::new(inner).ok()).or_else(|| Self::new(text).ok())
    }

    /// Whether it is two expressions joined by `or`.
    pub fn is_either(&self) -> bool {
        matches!(self.0.tree, Tree::Binary(BinaryOp::Or, _))
    }

    /// The value for each key, `env.j` aside: what is the same for all keys is computed once.
    pub fn along_keys(&self, env: &IndexEnv) -> impl FnMut(usize) -> Option<i64> + use<> {
        let (tree, mut env) = (self.0.tree.along_keys(env), *env);
        move |j| {
            env.j = i64::try_from(j).unwrap_or(i64::MAX);
            tree.eval(&env)
        }
    }

    /// Whether the expression, read as a condition, holds.
    #[inline]
    pub fn holds(&self, env: &IndexEnv) -> bool {
        self.eval(env).is_some_and(|value| value != 0)
    }
}

fn resolve(expr: &Expr) -> Result<Tree, ExprError> {
    let boxed = |expr: &Expr| resolve(expr).map(Box::new);
    let both = |x: &Expr, y: &Expr| Ok(Box::new([resolve(x)?, resolve(y)?]));
    match &expr.kind {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
        ExprKind::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => Ok(Tree::Number(*x as i64)),
        ExprKind::Name(name) => match IndexName::named(name) {
            Some(name) => Ok(Tree::Name(name)),
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
                ("next_power_of_two", [x]) => boxed(x).map(Tree::Power),
                ("min" | "max", args) => Err(ExprError::new(
                    expr.span.clone(),
                    format!("`{function}`: expected 2 arguments, got {}", args.len()),
                )),
                ("next_power_of_two", args) => Err(ExprError::new(
                    expr.span.clone(),
                    format!("`{function}`: expected 1 argument, got {}", args.len()),
                )),
                _ => Err(crate::nearest::unknown_in(
                    "function",
                    function,
                    expr.span.clone(),
                    ["min", "max", "next_power_of_two"],
                )),
            }
        }
        _ => Err(ExprError::new(
            expr.span.clone(),
            "index expression: expected whole numbers, names, + - * / %, relations, min, max and next_power_of_two",
        )),
    }
}

impl Tree {
    fn mentions(&self, name: IndexName) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Name(own) => *own == name,
            Self::Neg(x) | Self::Not(x) | Self::Power(x) => x.mentions(name),
            Self::Min(args) | Self::Max(args) | Self::Binary(_, args) => {
                args.iter().any(|x| x.mentions(name))
            }
        }
    }

    fn edges(&self, found: &mut Vec<(Extent, i64)>) {
        let Self::Binary(op, both) = self else { return };
        match (op, &**both) {
            (BinaryOp::And | BinaryOp::Or, [x, y]) => {
                x.edges(found);
                y.edges(found);
            }
            (BinaryOp::Eq | BinaryOp::Ne, [Self::Binary(BinaryOp::Rem, rest), Self::Number(_)]) => {
                if let [Self::Name(IndexName::Extent(extent)), Self::Number(n)] = **rest {
                    let least = if extent < Extent::NQ { n } else { 3 * n };
                    found.extend([least, least + n / 2].map(|at| (extent, at)));
                }
            }
            (op, [Self::Name(IndexName::Extent(extent)), Self::Number(n)]) => {
                let first = match op {
                    BinaryOp::Ge | BinaryOp::Lt => n - 1,
                    BinaryOp::Eq | BinaryOp::Ne => *n,
                    _ => return,
                };
                found.extend([first, first + 1].map(|at| (*extent, at)));
            }
            _ => {}
        }
    }

    fn least(&self, name: IndexName) -> i64 {
        let Self::Binary(op, args) = self else { return 0 };
        match (op, &**args) {
            (BinaryOp::And, [x, y]) => x.least(name).max(y.least(name)),
            (BinaryOp::Ge, [Self::Name(own), Self::Number(n)])
            | (BinaryOp::Le, [Self::Number(n), Self::Name(own)])
                if *own == name =>
            {
                *n
            }
            (BinaryOp::Gt, [Self::Name(own), Self::Number(n)])
            | (BinaryOp::Lt, [Self::Number(n), Self::Name(own)])
                if *own == name =>
            {
                n + 1
            }
            _ => 0,
        }
    }

    /// The same for `env`, whatever the key. What has no value stays as it is.
    fn along_keys(&self, env: &IndexEnv) -> Self {
        let one = |x: &Self| Box::new(x.along_keys(env));
        let both = |args: &[Self; 2]| Box::new(args.each_ref().map(|x| x.along_keys(env)));
        if !self.mentions(IndexName::Key)
            && let Some(value) = self.eval(env)
        {
            return Self::Number(value);
        }
        match self {
            Self::Number(x) => Self::Number(*x),
            Self::Name(name) => Self::Name(*name),
            Self::Neg(x) => Self::Neg(one(x)),
            Self::Not(x) => Self::Not(one(x)),
            Self::Power(x) => Self::Power(one(x)),
            Self::Min(args) => Self::Min(both(args)),
            Self::Max(args) => Self::Max(both(args)),
            Self::Binary(op, args) => match (op, both(args)) {
                (BinaryOp::And, both) if matches!(both[0], Self::Number(0)) => Self::Number(0),
                (op, both) => Self::Binary(*op, both),
            },
        }
    }

    // Compiled where it is used: it is called for every element of every prediction.
    #[inline]
    fn eval(&self, env: &IndexEnv) -> Option<i64> {
        let both = |[x, y]: &[Self; 2]| Some((x.eval(env)?, y.eval(env)?));
        Some(match self {
            Self::Number(x) => *x,
            Self::Name(name) => env.value(*name),
            Self::Neg(x) => x.eval(env)?.checked_neg()?,
            Self::Not(x) => i64::from(x.eval(env)? == 0),
            Self::Power(x) => {
                let x = u64::try_from(x.eval(env)?).unwrap_or(0);
                i64::try_from(x.checked_next_power_of_two()?).ok()?
            }
            Self::Min(args) => both(args).map(|(x, y)| x.min(y))?,
            Self::Max(args) => both(args).map(|(x, y)| x.max(y))?,
            Self::Binary(op, args) => {
                let x = args[0].eval(env)?;
                match op {
                    BinaryOp::Or if x != 0 => return Some(1),
                    BinaryOp::And if x == 0 => return Some(0),
                    _ => {}
                }
                let y = args[1].eval(env)?;
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

/// The reach of a side of a window that has no limit.
pub const UNLIMITED: i64 = 1 << 40;

impl IndexEnv {
    /// The names of a call: all places are 0.
    pub fn new(dims: Dims, dtype: Dtype, options: OptionSet) -> Self {
        let (return_weights, return_lse) = (false, false);
        let lengths = [dims.n_k, dims.n_q].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let window = [UNLIMITED; 2];
        Self {
            dims,
            window,
            lengths,
            longest_keys: lengths[0],
            axes: [0; 2],
            h: 0,
            i: 0,
            j: 0,
            c: 0,
            item: 0,
            forms: [[1; 4]; 2],
            mask_hides: false,
            options,
            dtype,
            return_weights,
            return_lse,
        }
    }

    #[inline]
    fn value(&self, name: IndexName) -> i64 {
        match name {
            IndexName::Extent(extent) => i64::try_from(extent.of(self.dims)).unwrap_or(i64::MAX),
            IndexName::Head => self.h,
            IndexName::Query => self.i,
            IndexName::Key => self.j,
            IndexName::Column => self.c,
            IndexName::Item => self.item,
            IndexName::WindowLeft => self.window[0],
            IndexName::WindowRight => self.window[1],
            IndexName::WindowOpen(side) => i64::from(self.window[side] == UNLIMITED),
            IndexName::KeyLength => self.lengths[0],
            IndexName::QueryLength => self.lengths[1],
            IndexName::LongestKeys => self.longest_keys,
            IndexName::MaskAxes => self.axes[0],
            IndexName::BiasAxes => self.axes[1],
            IndexName::MaskHides => i64::from(self.mask_hides),
            IndexName::MaskAxis(axis) => self.forms[0][axis],
            IndexName::BiasAxis(axis) => self.forms[1][axis],
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
        schemars::json_schema!({ "type": "string", "description": "integer expression over b h_q h_k n_q n_k d_k d_v h i j c item window_left window_right window_left_open window_right_open key_length query_length longest_keys mask_axes bias_axes float64 float32 float16 bfloat16 return_weights return_lse, and the options: scale causal mask bias softcap window sinks alibi_slopes key_lengths query_lengths packed" })
    }
}
