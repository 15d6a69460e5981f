//! Terms over matrices, for one batch item and one head: what a law says once `attention` is
//! written out.

use std::fmt;
use std::rc::Rc;

use qkvet_spec::shape::Dim;

/// An operator and its arguments; a name or an extent has none.
///
/// | operator | arguments | value |
/// |---|---|---|
/// | `*` `+` | matrices | product, sum |
/// | `T` | matrix | transpose |
/// | `sc` | number, matrix | multiple |
/// | `soft` | scores, mask, sink | softmax of each row over the columns where the mask is 1 (`all`: over all), the sink beside them (`none`: without); a row that sees none is 0 |
/// | `cap` | matrix | one function of each element, such as a softcap |
/// | `both` | masks | 1 where both are |
/// | `att` | mask | the column of 1 for rows that see something, else 0 |
/// | `diag` | row | the diagonal matrix of its elements |
/// | `split` | heads, matrix | of each head its columns of the matrix, which is one for all heads |
/// | `comb` `mean` | heads, matrix | the matrices of all heads side by side, their mean |
/// | `hcat` `vcat` | matrices | side by side, one above the other |
/// | `perm` `orth` `sel` | name | a permutation, an orthogonal matrix, some rows of the identity, all different |
/// | `one` `eye` | extent | a column of ones, the identity |
/// | `stretch` | name of a row, number | the identity with this row multiplied |
/// | `rs` | matrix, column | each row multiplied by its element of the column |
/// | `sig` | matrix | logistic of each element |
/// | `colmin` `colmax` | matrix | smallest and largest element of each column |
/// | `num` `mul` `exp` | number; numbers | a number as a term, product, exponential |
/// | `norm` `norm2` `spread` | matrix | largest magnitude, root of the sum of squares, largest range of a column |
/// | `tv` | matrices | the largest, over rows, of half the sum of the differences' magnitudes |
/// | `lse` | scores | logarithm of the sum of the exponentials of each row |
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tree {
    /// The operator, or the name of a leaf.
    pub op: Rc<str>,
    /// Its arguments.
    pub args: Vec<Tree>,
}

impl Tree {
    /// A name, a number or an extent.
    pub fn leaf(name: &str) -> Self {
        Self { op: name.into(), args: Vec::new() }
    }

    /// An operator applied.
    pub fn new(op: &str, args: impl IntoIterator<Item = Tree>) -> Self {
        Self { op: op.into(), args: args.into_iter().collect() }
    }

    /// A column of ones.
    pub fn ones(rows: &Dim) -> Self {
        Self::new("one", [Self::extent(rows)])
    }

    /// The matrix of ones.
    pub fn all_ones(rows: &Dim, cols: &Dim) -> Self {
        match (rows.is_one(), cols.is_one()) {
            (_, true) => Self::ones(rows),
            (true, false) => Self::new("T", [Self::ones(cols)]),
            (false, false) => {
                Self::new("*", [Self::ones(rows), Self::new("T", [Self::ones(cols)])])
            }
        }
    }

    /// An extent as a leaf.
    pub fn extent(dim: &Dim) -> Self {
        Self::leaf(&dim.to_string().replace(' ', ""))
    }

    /// Reads `(op arg ...)` or a leaf. `None` if parentheses do not match.
    pub fn parse(text: &str) -> Option<Self> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace().peekable();
        let tree = Self::read(&mut words)?;
        words.next().is_none().then_some(tree)
    }

    fn read<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Option<Self> {
        match words.next()? {
            "(" => {
                let op = words.next().filter(|op| !matches!(*op, "(" | ")"))?;
                let mut args = Vec::new();
                while *words.peek()? != ")" {
                    args.push(Self::read(words)?);
                }
                words.next();
                Some(Self::new(op, args))
            }
            ")" => None,
            leaf => Some(Self::leaf(leaf)),
        }
    }

    /// Whether the operator and the number of arguments are these.
    pub fn is(&self, op: &str, arity: usize) -> bool {
        &*self.op == op && self.args.len() == arity
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.args.is_empty() {
            return f.write_str(&self.op);
        }
        write!(f, "({}", self.op)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))?;
        f.write_str(")")
    }
}

/// Rows and columns of names, extents as they are written in leaves.
pub type Shapes = std::collections::BTreeMap<String, (String, String)>;

/// Rows and columns of what an operator makes of its arguments; `None` if they do not fit.
///
/// `name` is the name of the argument of `perm`, `orth` and `sel`, the extent of `one` and `eye`,
/// or the number of heads of `split`, `comb` and `mean`.
///
/// `is_all` says that the second argument of `soft` is the leaf `all`.
pub fn shape_of(
    op: &str,
    (name, is_all): (Option<&str>, bool),
    args: &[Option<(String, String)>],
    names: &Shapes,
) -> Option<(String, String)> {
    let one = || "1".to_owned();
    let arg = |at: usize| args.get(at).cloned().flatten();
    match (op, args.len()) {
        (_, 0) => names.get(op).cloned(),
        ("*", 2) => {
            let ((rows, inner), (other, cols)) = (arg(0)?, arg(1)?);
            (inner == other).then_some((rows, cols))
        }
        ("+" | "both", 2) => arg(0).filter(|shape| arg(1).as_ref() == Some(shape)),
        ("T", 1) => arg(0).map(|(rows, cols)| (cols, rows)),
        ("sc", 2) => arg(1),
        ("soft", 3) => arg(0).filter(|shape| is_all || arg(1).as_ref() == Some(shape)),
        ("cap", 1) => arg(0),
        ("cap", 2) => arg(1),
        ("att", 1) => arg(0).map(|(rows, _)| (rows, one())),
        ("diag", 1) => arg(0).filter(|(rows, _)| rows == "1").map(|(_, cols)| (cols.clone(), cols)),
        ("split", 2) => {
            let (rows, cols) = arg(1)?;
            Some((rows, text(&dim(&cols)?.over(&dim(name?)?)?)))
        }
        ("comb", 2) => {
            let (rows, cols) = arg(1)?;
            Some((rows, text(&dim(&cols)?.times(&dim(name?)?))))
        }
        ("mean", 2) => arg(1),
        ("hcat", 2) => {
            let ((rows, cols), (other, more)) = (arg(0)?, arg(1)?);
            (rows == other).then(|| (rows, sum(&cols, &more)))
        }
        ("vcat", 2) => {
            let ((rows, cols), (more, other)) = (arg(0)?, arg(1)?);
            (cols == other).then(|| (sum(&rows, &more), cols))
        }
        ("perm" | "orth" | "sel", 1) => names.get(name?).cloned(),
        ("stretch", 2) => names.get(name?).map(|(_, cols)| (cols.clone(), cols.clone())),
        ("rs", 2) => arg(0).filter(|(rows, _)| arg(1) == Some((rows.clone(), one()))),
        ("sig", 1) => arg(0),
        ("colmin" | "colmax", 1) => arg(0).map(|(_, cols)| (one(), cols)),
        ("num", 1) => Some((one(), one())),
        ("norm" | "norm2" | "spread", 1) => arg(0).map(|_| (one(), one())),
        ("mul", 2) => {
            arg(0).filter(|shape| *shape == (one(), one()) && arg(1).as_ref() == Some(shape))
        }
        ("exp", 1) => arg(0).filter(|shape| *shape == (one(), one())),
        ("tv", 2) => arg(0).filter(|shape| arg(1).as_ref() == Some(shape)).map(|_| (one(), one())),
        ("lse", 1) => arg(0).map(|(rows, _)| (rows, one())),
        ("one", 1) => Some((name?.to_owned(), one())),
        ("eye", 1) => Some((name?.to_owned(), name?.to_owned())),
        _ => None,
    }
}

/// An extent as it is written in leaves, read.
fn dim(text: &str) -> Option<Dim> {
    qkvet_spec::syntax::parse(text).ok().and_then(|expr| Dim::from_expr(&expr, &|_| true).ok())
}

fn text(dim: &Dim) -> String {
    dim.to_string().replace(' ', "")
}

/// The extent of two blocks side by side.
fn sum(x: &str, y: &str) -> String {
    match (dim(x), dim(y)) {
        (Some(x), Some(y)) => text(&x.plus(&y)),
        _ => format!("{x}+{y}"),
    }
}

/// The shape of a term, by [`shape_of`] from the leaves up.
pub fn shape(tree: &Tree, names: &Shapes) -> Option<(String, String)> {
    let args: Vec<_> = tree.args.iter().map(|arg| shape(arg, names)).collect();
    let is_all = tree.args.get(1).is_some_and(|arg| *arg == Tree::leaf("all"));
    shape_of(&tree.op, (tree.args.first().map(|arg| &*arg.op), is_all), &args, names)
}

/// Whether no element can be negative, by how the term is built: weights, masks, ones, permutations
/// and selections are not, and neither are sums and products of what is not.
pub fn is_non_negative(tree: &Tree) -> bool {
    match (&*tree.op, tree.args.len()) {
        ("soft" | "att" | "both" | "one" | "eye" | "perm" | "sel", 1..) => true,
        ("*" | "+" | "T" | "hcat" | "vcat" | "diag", 1..) => tree.args.iter().all(is_non_negative),
        _ => false,
    }
}

/// Whether a term is 0 by how it is built.
pub fn is_zero(tree: &Tree) -> bool {
    match (&*tree.op, tree.args.as_slice()) {
        ("sc", [factor, matrix]) => *factor == Tree::leaf("0") || is_zero(matrix),
        ("*", factors) => factors.iter().any(is_zero),
        ("+", summands) => summands.iter().all(is_zero),
        ("T", [matrix]) => is_zero(matrix),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["Q", "(* (soft (sc s (* Q (T K))) m none) V)", "(one n_k)"] {
            assert_eq!(Tree::parse(text).map(|tree| tree.to_string()).as_deref(), Some(text));
        }
        for text in ["", "(", "(* a b", "a b", ")", "(() a)", "(* a b))"] {
            assert_eq!(Tree::parse(text), None, "{text}");
        }
    }

    #[test]
    fn shapes_fit_or_there_is_none() {
        let names: Shapes = [("Q", "n", "d"), ("K", "m", "d"), ("p", "m", "m")]
            .map(|(name, rows, cols)| (name.to_owned(), (rows.to_owned(), cols.to_owned())))
            .into();
        let of = |text: &str| Tree::parse(text).and_then(|tree| shape(&tree, &names));
        let pair = |rows: &str, cols: &str| Some((rows.to_owned(), cols.to_owned()));
        assert_eq!(of("(* Q (T K))"), pair("n", "m"));
        assert_eq!(of("(* Q K)"), None);
        assert_eq!(of("(* (perm p) K)"), pair("m", "d"));
        assert_eq!(of("(vcat Q K)"), pair("m+n", "d"));
        assert_eq!(of("(* (soft (* Q (T K)) (* (one n) (T (one m))) none) K)"), pair("n", "d"));
    }
}
