//! One small expression syntax for laws, conditions and index maps: lexer, Pratt parser, spanned
//! tree. What the words mean is decided by [`crate::shape`] (laws) and [`crate::IndexExpr`]
//! (conditions and index maps).

mod lexer;
mod parser;

use std::fmt;
use std::ops::Range;

pub(crate) use parser::MOMENTS;
pub use parser::parse;

/// Byte range in the expression's text.
pub type Span = Range<usize>;

/// An expression and where it stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

impl Expr {
    /// Whether it is the word `off`, which as an option of a call takes the case's away.
    pub fn is_off(&self) -> bool {
        matches!(&self.kind, ExprKind::Name(name) if name == "off")
    }

    /// Whether the variable `name` occurs.
    pub fn mentions(&self, name: &str) -> bool {
        self.find(&|expr| matches!(&expr.kind, ExprKind::Name(other) if other == name)).is_some()
    }

    /// The first use of one of these functions.
    pub fn application_of(&self, functions: &[&str]) -> Option<&Self> {
        let is_one = |expr: &Self| matches!(&expr.kind, ExprKind::Apply { function, .. } if functions.contains(&function.as_str()));
        self.find(&is_one)
    }

    /// The part that stands at this place of the text.
    pub fn part_at(&self, span: &Span) -> Option<&Self> {
        self.find(&|expr| expr.span == *span)
    }

    /// Calls `f` with every name that stands in it.
    pub fn each_name(&self, f: &mut dyn FnMut(&str)) {
        match &self.kind {
            ExprKind::Number(_) => {}
            ExprKind::Name(name) => f(name),
            ExprKind::Unary(_, x) | ExprKind::Transpose(x) => x.each_name(f),
            ExprKind::Binary(_, x, y) | ExprKind::Interval(x, y) => {
                x.each_name(f);
                y.each_name(f);
            }
            ExprKind::Tuple(items) => items.iter().for_each(|item| item.each_name(f)),
            ExprKind::Apply { args, named, .. } => {
                args.iter()
                    .chain(named.iter().map(|(_, value)| value))
                    .for_each(|arg| arg.each_name(f));
            }
        }
    }

    /// What it is made of, from left to right.
    pub fn parts(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Number(_) | ExprKind::Name(_) => Vec::new(),
            ExprKind::Unary(_, x) | ExprKind::Transpose(x) => vec![x],
            ExprKind::Binary(_, x, y) | ExprKind::Interval(x, y) => vec![x, y],
            ExprKind::Tuple(items) => items.iter().collect(),
            ExprKind::Apply { args, named, .. } => {
                args.iter().chain(named.iter().map(|(_, value)| value)).collect()
            }
        }
    }

    /// The same, to be changed.
    pub fn parts_mut(&mut self) -> Vec<&mut Self> {
        match &mut self.kind {
            ExprKind::Number(_) | ExprKind::Name(_) => Vec::new(),
            ExprKind::Unary(_, x) | ExprKind::Transpose(x) => vec![x],
            ExprKind::Binary(_, x, y) | ExprKind::Interval(x, y) => vec![x, y],
            ExprKind::Tuple(items) => items.iter_mut().collect(),
            ExprKind::Apply { args, named, .. } => {
                args.iter_mut().chain(named.iter_mut().map(|(_, value)| value)).collect()
            }
        }
    }

    /// The first part that fits, the whole included.
    pub(crate) fn find(&self, fits: &dyn Fn(&Self) -> bool) -> Option<&Self> {
        if fits(self) {
            return Some(self);
        }
        match &self.kind {
            ExprKind::Number(_) | ExprKind::Name(_) => None,
            ExprKind::Unary(_, x) | ExprKind::Transpose(x) => x.find(fits),
            ExprKind::Binary(_, x, y) | ExprKind::Interval(x, y) => {
                x.find(fits).or_else(|| y.find(fits))
            }
            ExprKind::Tuple(items) => items.iter().find_map(|item| item.find(fits)),
            ExprKind::Apply { args, named, .. } => args
                .iter()
                .chain(named.iter().map(|(_, value)| value))
                .find_map(|arg| arg.find(fits)),
        }
    }
}

/// The shapes of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal, exactly as written.
    Number(f64),
    /// A variable, dimension or option.
    Name(String),
    /// `-x`, `not x`.
    Unary(UnaryOp, Box<Expr>),
    /// `x op y`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `x.T`.
    Transpose(Box<Expr>),
    /// `f(x, y, name=z)`.
    Apply {
        /// Function name.
        function: String,
        /// Positional arguments.
        args: Vec<Expr>,
        /// Named arguments in the order written.
        named: Vec<(String, Expr)>,
    },
    /// `(x, y, ...)`.
    Tuple(Vec<Expr>),
    /// `lo..hi`, both ends included.
    Interval(Box<Expr>, Box<Expr>),
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `not`
    Not,
}

/// Infix operators, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `or`
    Or,
    /// `and`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<=`
    Le,
    /// `<`
    Lt,
    /// `>=`
    Ge,
    /// `>`
    Gt,
    /// `in`
    In,
    /// `same_bits`
    SameBits,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `@`
    MatMul,
}

impl BinaryOp {
    /// Every operator, loosest first.
    pub const ALL: [Self; 16] = [
        Self::Or,
        Self::And,
        Self::Eq,
        Self::Ne,
        Self::Le,
        Self::Lt,
        Self::Ge,
        Self::Gt,
        Self::In,
        Self::SameBits,
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Rem,
        Self::MatMul,
    ];

    /// Whether the operator makes a statement from two values.
    pub fn is_relation(self) -> bool {
        matches!(
            self,
            Self::Eq
                | Self::Ne
                | Self::Le
                | Self::Lt
                | Self::Ge
                | Self::Gt
                | Self::In
                | Self::SameBits
        )
    }

    /// The operator as written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Le => "<=",
            Self::Lt => "<",
            Self::Ge => ">=",
            Self::Gt => ">",
            Self::In => "in",
            Self::SameBits => "same_bits",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::MatMul => "@",
        }
    }
}

/// Text of the language that gives the tree again, fully parenthesised.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |items: &[Self]| items.iter().map(Self::to_string).collect::<Vec<_>>().join(", ");
        match &self.kind {
            ExprKind::Number(x) => write!(f, "{x}"),
            ExprKind::Name(name) => f.write_str(name),
            ExprKind::Unary(UnaryOp::Neg, x) => write!(f, "(-{x})"),
            ExprKind::Unary(UnaryOp::Not, x) => write!(f, "(not {x})"),
            ExprKind::Binary(op, x, y) => write!(f, "({x} {} {y})", op.symbol()),
            ExprKind::Transpose(x) => write!(f, "{x}.T"),
            ExprKind::Tuple(items) => write!(f, "({})", list(items)),
            ExprKind::Interval(low, high) => write!(f, "{low}..{high}"),
            ExprKind::Apply { function, args, named } => {
                let mut all: Vec<String> = args.iter().map(Self::to_string).collect();
                all.extend(named.iter().map(|(key, value)| format!("{key}={value}")));
                write!(f, "{function}({})", all.join(", "))
            }
        }
    }
}

/// A syntax, name or shape error inside one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// Byte range in the expression's text.
    pub span: Span,
    /// `<what>: expected <E>, got <G>`.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What stands at other places of the text: the types of the parts that do not fit.
    pub labels: Vec<(Span, String)>,
}

impl ExprError {
    /// An error without a hint.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: None, labels: Vec::new() }
    }

    /// The same error with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with labels at other places.
    pub fn labels(mut self, labels: impl IntoIterator<Item = (Span, String)>) -> Self {
        self.labels.extend(labels);
        self
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExprError {}
