//! What every word of the law language means, in one line: the functions, domains and names that
//! the checker knows are those that have an entry here. What type a use has, the checker says
//! ([`super::Word`]).

use crate::syntax::BinaryOp;

/// A function, a domain or a name.
pub(super) struct Entry {
    /// The word.
    pub(super) name: &'static str,
    /// A use of it, in [`EXAMPLES`] and what every law knows.
    pub(super) usage: &'static str,
    /// What the use means.
    pub(super) meaning: &'static str,
}

const fn entry(name: &'static str, usage: &'static str, meaning: &'static str) -> Entry {
    Entry { name, usage, meaning }
}

/// Variables that the uses below speak of, and their domains.
pub(super) const EXAMPLES: [(&str, &str); 14] = [
    ("m", "dim(1..9)"),
    ("n", "dim(1..9)"),
    ("p", "dim(1..9)"),
    ("i", "index(n)"),
    ("S", "subset(n)"),
    ("t", "real(0..1)"),
    ("A", "matrix(n, m)"),
    ("B", "matrix(n, m)"),
    ("C", "matrix(m, p)"),
    ("c", "matrix(n, 1)"),
    ("r", "matrix(1, n)"),
    ("W", "matrix(n, h_q * m)"),
    ("M", "mask(n_q, n_k)"),
    ("z", "normal(1, 1)"),
];

/// Functions.
pub(super) const FUNCTIONS: [Entry; 43] = [
    entry(
        "attention",
        "attention(Q, K, V)",
        "what the target returns for this call; an option that the call does not name is the case's",
    ),
    entry("exact", "exact(Q, K, V)", "the exact output of this call, for which no target is asked"),
    entry(
        "weights",
        "weights(Q, K)",
        "the weights that the target returns for this call; values may be the third argument",
    ),
    entry(
        "lse",
        "lse(Q, K)",
        "the log-sum-exp that the target returns for this call; values may be the third argument",
    ),
    entry(
        "exact_lse",
        "exact_lse(Q, K)",
        "the exact log-sum-exp of this call, for which no target is asked",
    ),
    entry("softmax_rows", "softmax_rows(A)", "the softmax of each row of `A`"),
    entry("shape", "shape(Q)", "batch, heads, rows and columns"),
    entry("ones", "ones(n, m)", "the matrix of ones, one column without `m`"),
    entry("zeros", "zeros(n, m)", "the matrix of zeros, one column without `m`"),
    entry("eye", "eye(n)", "the identity matrix"),
    entry("row", "row(A, i)", "row `i` of `A`"),
    entry("col", "col(A, i)", "column `i` of `A`"),
    entry("select", "select(A, S)", "the rows of `A` whose numbers are in `S`, in ascending order"),
    entry("drop_row", "drop_row(A, i)", "`A` without row `i`"),
    entry("others", "others(S, n)", "the numbers below `n` that are not in `S`"),
    entry("indicator", "indicator(S, n)", "the row with 1 at the numbers in `S` and 0 elsewhere"),
    entry(
        "where",
        "where(c, A, B)",
        "the rows of `A` where `c` is 1, of `B` where it is 0; entry by entry if `c` has as many columns",
    ),
    entry(
        "hidden",
        "hidden(i)",
        "1 for each key that no query of its group of heads sees at row `i`, 0 for the others",
    ),
    entry("heads", "heads(A, B)", "one head after the other, of matrices that have none"),
    entry("mean_heads", "mean_heads(Q)", "the mean over the heads"),
    entry(
        "repeat_heads",
        "repeat_heads(K)",
        "for each query head the key/value head that it reads",
    ),
    entry("split_heads", "split_heads(W, h_q)", "the columns cut into heads of equal width"),
    entry("combine_heads", "combine_heads(Q)", "the columns of all heads side by side"),
    entry("item", "item(Q, i)", "batch item `i`"),
    entry("head", "head(Q, i)", "head `i`"),
    entry("as_bias", "as_bias(M)", "0 where the mask `M` is 1, −∞ where it is 0"),
    entry("scale_row", "scale_row(A, i, t)", "`A` with row `i` times `t`"),
    entry("scale_rows", "scale_rows(A, c)", "`A` with each row times its entry of `c`"),
    entry("spread", "spread(A)", "the largest difference of two entries of one column"),
    entry("norm_max", "norm_max(A)", "the largest magnitude of an entry"),
    entry(
        "norm_2",
        "norm_2(A)",
        "the root of the sum of all squared entries, the largest over items and heads",
    ),
    entry("diag", "diag(r)", "the matrix with the entries of `r` on its diagonal and 0 elsewhere"),
    entry("exp", "exp(t)", "e to the power `t`"),
    entry("log", "log(t)", "the natural logarithm"),
    entry("sqrt", "sqrt(t)", "the square root"),
    entry("sigmoid", "sigmoid(t)", "1/(1 + exp(−t)), of a matrix entry by entry"),
    entry(
        "min",
        "min(A, axis=rows)",
        "the smallest entry of each column (`axis=rows`) or of each row (`axis=cols`)",
    ),
    entry(
        "max",
        "max(A, axis=rows)",
        "the largest entry of each column (`axis=rows`) or of each row (`axis=cols`)",
    ),
    entry(
        "sum",
        "sum(A, axis=cols)",
        "the sum of each column (`axis=rows`) or of each row (`axis=cols`)",
    ),
    entry("hcat", "hcat(A, B)", "`B` to the right of `A`"),
    entry("vcat", "vcat(A, B)", "`B` below `A`"),
    entry("E", "E[z]", "the expected value; only in laws that ask a target nothing"),
    entry("Var", "Var[z]", "the variance; only in laws that ask a target nothing"),
];

/// Domains of `given:`.
pub(super) const DOMAINS: [Entry; 15] = [
    entry("dim", "dim(2..9)", "an extent of the law's own, both ends included"),
    entry(
        "index",
        "index(n, not=i)",
        "a row or column number below `n`, other than `i` if `not=i` is there",
    ),
    entry("real", "real(-1..1)", "a number of the range, both ends included"),
    entry(
        "number",
        "number()",
        "any real number: not drawn, so only in laws that ask a target nothing",
    ),
    entry(
        "positive",
        "positive()",
        "any positive number: not drawn, so only in laws that ask a target nothing",
    ),
    entry(
        "normal",
        "normal(n, m, mean=0, sd=t)",
        "independent normal entries, by default of mean 0 and standard deviation 1: not drawn, so only in laws that ask a target nothing",
    ),
    entry("permutation", "permutation(n)", "a permutation matrix"),
    entry(
        "subset",
        "subset(n)",
        "some of the numbers below `n`, at least one, and not all unless `n` is 1",
    ),
    entry("mask", "mask(n_q, n_k)", "the mask of the case, 1 where a query may see a key"),
    entry("bias", "bias(n_q, n_k)", "the bias of the case"),
    entry("matrix", "matrix(n, m)", "one matrix for all batch items and heads"),
    entry("tensor", "tensor(n, m)", "one matrix for each batch item and key/value head"),
    entry(
        "grid",
        "grid(n, m)",
        "as `tensor`, of multiples of 1/8 from −2 to 2, whose sums are exact in every format of 16 bits",
    ),
    entry(
        "separated",
        "separated(i, margin=t)",
        "queries and keys with which the scaled score of key `i` exceeds all others of its row by at least `t`",
    ),
    entry(
        "opposed",
        "opposed(i, margin=t)",
        "queries and keys with which the scaled score of key `i` lies below all others of its row by at least `t`",
    ),
];

/// Names that need no declaration.
pub(super) const NAMES: [Entry; 14] = [
    entry("b", "b", "batch size"),
    entry("h_q", "h_q", "number of query heads"),
    entry("h_k", "h_k", "number of key/value heads, which divides `h_q`"),
    entry("n_q", "n_q", "number of queries"),
    entry("n_k", "n_k", "number of keys"),
    entry("d_k", "d_k", "width of a query and of a key"),
    entry("d_v", "d_v", "width of a value"),
    entry("Q", "Q", "the queries of the case"),
    entry("K", "K", "the keys of the case"),
    entry("V", "V", "the values of the case"),
    entry(
        "attended",
        "attended",
        "1 for a query that sees a key; for another what an empty row gives, 0 as a rule",
    ),
    entry("visible", "visible", "1 where a query of the case sees a key, 0 elsewhere"),
    entry("alibi", "alibi", "what ALiBi adds to the scores of the case, 0 where it has none"),
    entry("sinks", "sinks", "the sink of each query head, −∞ where the case has none"),
];

/// Signs that are no infix operators.
pub(super) const SIGNS: [Entry; 4] = [
    entry("-", "-A", "every entry negated"),
    entry(".T", "A.T", "the transpose"),
    entry("( , )", "(n, m)", "extents, to compare a `shape` with"),
    entry("not", "not n_q == n_k", "the condition does not hold; only in `where:`"),
];

/// A use of an infix operator and its meaning. Whatever the parser reads has one.
pub(super) fn operator(op: BinaryOp) -> Entry {
    let (usage, meaning) = match op {
        BinaryOp::Or => ("n_q == 1 or n_k == 1", "one of two conditions holds; only in `where:`"),
        BinaryOp::And => ("n <= m and m <= p", "both statements hold"),
        BinaryOp::Eq => ("A == B", "both sides are equal; a number meets every entry"),
        BinaryOp::Ne => ("n_q != n_k", "two whole numbers differ; only in `where:`"),
        BinaryOp::Le => ("t <= A", "every entry is at most the other; `a <= b <= c` chains"),
        BinaryOp::Lt => ("h_k < h_q", "a whole number is less; only in `where:`"),
        BinaryOp::Ge => ("A >= 0", "every entry is at least the other"),
        BinaryOp::Gt => ("h_q > h_k", "a whole number is greater; only in `where:`"),
        BinaryOp::In => {
            ("A in between(0, 1)", "every entry lies between two bounds, both included")
        }
        BinaryOp::SameBits => ("A same_bits B", "both sides have the same bits, ±0 being equal"),
        BinaryOp::Add => ("A + B", "the sum, entry by entry; a number meets every entry"),
        BinaryOp::Sub => ("A - B", "the difference, entry by entry; a number meets every entry"),
        BinaryOp::Mul => ("t * A", "every entry times a number"),
        BinaryOp::Div => {
            ("A / t", "every entry over a number; whole numbers in `where:`, rounded down")
        }
        BinaryOp::Rem => ("h_q % h_k", "the remainder of two whole numbers; only in `where:`"),
        BinaryOp::MatMul => ("A @ C", "the matrix product, for every batch item and head"),
    };
    entry(op.symbol(), usage, meaning)
}
