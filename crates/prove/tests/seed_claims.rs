//! The five problem sets that the laws come from, claim by claim: each is a law of the catalog or a
//! statement of the language with the status that it has, and each wrong one is refuted by an
//! instance of extents up to 3, or refused for its shapes. What the language cannot state is listed
//! with the reason.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use qkvet_prove::outcome::{Status, prove};
use qkvet_spec::Catalog;

use self::Standing::{Ill, Law, Prose, Refuted, Text};
use self::common::{MAX_EXTENT, largest_extent};

/// How a claim stands.
enum Standing {
    /// A law of the catalog and its status.
    Law(&'static str, &'static str),
    /// A statement that is no law of the catalog, and its status.
    Text(Statement, &'static str),
    /// False, with an exact counterexample that has this line.
    Refuted(Statement, &'static str),
    /// Refused for its shapes: the two extents.
    Ill(Statement, [&'static str; 2]),
    /// No statement of the language: why.
    Prose(&'static str),
}

/// A statement as a user would write it.
struct Statement {
    /// Lines `name: domain`.
    given: &'static [&'static str],
    /// Lines `name: expression`.
    lets: &'static [&'static str],
    expect: &'static str,
    proof: &'static str,
}

const fn about(
    given: &'static [&'static str],
    expect: &'static str,
    proof: &'static str,
) -> Statement {
    Statement { given, lets: &[], expect, proof }
}

const CS189: &str = "CS 189 discussion 10";
const CS114B: &str = "CS114B written assignment 4";
const CSCI5922: &str = "CSCI 5922 problem set 4";
const WORKSHEET: &str = "transformer worksheet";
const EXAMPLE: &str = "example 48";

/// Two keys out of `n` orthonormal ones, and a query along both.
const TWO_KEYS: [&str; 5] =
    ["n: dim(3..6)", "beta: real(1..8)", "a: index(n)", "c: index(n, not=a)", "V: matrix(n, d_v)"];
/// Three queries and three keys of width 2.
const THREE_TOKENS: [&str; 6] = [
    "a: matrix(1, 2)",
    "c: matrix(1, 2)",
    "d: matrix(1, 2)",
    "k: matrix(1, 2)",
    "l: matrix(1, 2)",
    "m: matrix(1, 2)",
];
/// Tokens of self-attention.
const TOKENS: [&str; 3] = ["n: dim(2..3)", "P: permutation(n)", "X: tensor(n, d_k)"];

const RIGHT: [(&str, &str, Standing); 46] = [
    (
        CS189,
        "10.1 d: Q = X W_Q is (n, d_k)",
        Text(
            about(
                &["X: tensor(n_q, d_v)", "W: tensor(d_v, d_k)"],
                "shape(X @ W) == (b, h_k, n_q, d_k)",
                "definition",
            ),
            "definition",
        ),
    ),
    (CS189, "10.1 e: entry (i, j) of QKᵀ is q_i · k_j", Law("score-entry", "proved")),
    (CS189, "10.1 f: row i of AV is the sum of a_ij v_j", Law("output-row", "proved")),
    (CS189, "10.1 f: rows of weights sum to 1", Law("softmax-rows-sum-to-one", "proved")),
    (CS189, "10.1 f: weights are not negative", Law("softmax-not-negative", "proved")),
    (CS189, "10.1 c: the output is a mixture of the values", Law("convex-hull", "proved")),
    (CS189, "10.2 a: E[q · k] = d μ²", Law("dot-product-mean", "proved")),
    (CS189, "10.2 b: Var[q · k] = d", Law("dot-product-variance", "proved")),
    (CS189, "10.2 b, both spreads and means", Law("dot-product-variance-of-two", "proved")),
    (CS189, "10.2 c: q · k / √d has variance 1", Law("dot-product-scale", "proved")),
    (CS189, "10.2 c, any spread and mean", Law("dot-product-general-scale", "proved")),
    (CS189, "what query, key and value stand for", Prose("roles in words")),
    (CS114B, "a: a key far ahead is copied", Law("copy-under-large-norm-keys", "proved")),
    (CS114B, "a: values that are all the same come back", Law("constant-values", "proved")),
    (CS114B, "b: q = β(k_a + k_b) averages two values", Law("average-of-two-keys", "proved")),
    (
        CS114B,
        "c i: the same for random keys of vanishing covariance",
        Prose("a limit, and the expected value of a softmax"),
    ),
    (CS114B, "c ii: one head leans on the longer key", Law("single-head-fragility", "proved")),
    (CS114B, "d: two heads do not", Law("multi-head-robustness", "proved")),
    (
        CS114B,
        "e i: x_2 keeps itself, whatever is added",
        Text(
            Statement {
                given: &["beta: real(1..2)"],
                lets: &[
                    "u: hcat(ones(1), zeros(1, 3))",
                    "r: hcat(hcat(zeros(1), ones(1)), hcat(zeros(1), ones(1)))",
                    "s: hcat(zeros(1), hcat(ones(1, 2), zeros(1)))",
                    "X: vcat(vcat(r, u), s)",
                ],
                expect: "(exp(beta * beta) + 2) * (softmax_rows(beta * beta * (u @ X.T)) @ X) == r + exp(beta * beta) * u + s",
                proof: "exact",
            },
            "proved-small",
        ),
    ),
    (
        CS114B,
        "e ii: sums of outer products read one key",
        Law("outer-product-reads-its-key", "proved"),
    ),
    (CSCI5922, "2a: 1/√d_k keeps the variance of a score", Law("dot-product-scale", "proved")),
    (
        CSCI5922,
        "2a: the softmax makes rows that sum to 1",
        Law("softmax-rows-sum-to-one", "proved"),
    ),
    (
        CSCI5922,
        "2a: every weight lies strictly between 0 and 1",
        Prose("the language has no strict relation; for one key it is false"),
    ),
    (
        CSCI5922,
        "3b: scores of three tokens have rank 2 for d_k = 2, determinant 0",
        Text(
            about(
                &THREE_TOKENS,
                "(a @ k.T) @ ((c @ l.T) @ (d @ m.T) - (c @ m.T) @ (d @ l.T)) - (a @ l.T) @ ((c @ k.T) @ (d @ m.T) - (c @ m.T) @ (d @ k.T)) + (a @ m.T) @ ((c @ k.T) @ (d @ l.T) - (c @ l.T) @ (d @ k.T)) == zeros(1)",
                "exact",
            ),
            "proved-small",
        ),
    ),
    (CSCI5922, "3b: rank(QKᵀ) ≤ d_k for every size", Law("scores-of-low-rank", "proved")),
    (CSCI5922, "1, 2b to 2d: transformers beside other networks", Prose("words")),
    (
        WORKSHEET,
        "shapes before and after a projection",
        Text(
            about(
                &["X: tensor(n_q, d_v)", "W: tensor(d_v, d_k)"],
                "shape(X @ W) == (b, h_k, n_q, d_k)",
                "definition",
            ),
            "definition",
        ),
    ),
    (
        WORKSHEET,
        "split_heads and combine_heads undo each other",
        Law("split-and-combine", "proved"),
    ),
    (
        WORKSHEET,
        "heads side by side times W_O are a sum over heads",
        Law("output-projection-is-a-sum", "proved"),
    ),
    (
        WORKSHEET,
        "Var(XY) of independent X and Y",
        Text(
            about(
                &[
                    "m: number()",
                    "n: number()",
                    "s: positive()",
                    "r: positive()",
                    "x: normal(1, 1, mean=m, sd=s)",
                    "y: normal(1, 1, mean=n, sd=r)",
                ],
                "Var[x @ y] == s * s * r * r + m * m * r * r + n * n * s * s",
                "moments",
            ),
            "proved",
        ),
    ),
    (WORKSHEET, "α = 1/√L", Law("dot-product-scale", "proved")),
    (EXAMPLE, "rows of weights sum to 1", Law("weights-row-stochasticity", "proved")),
    (EXAMPLE, "the output is (n_q, d_v), whatever d_k", Law("output-dimension", "definition")),
    (
        EXAMPLE,
        "subtracting the largest score of a row changes nothing",
        Law("softmax-row-shift", "proved"),
    ),
    (EXAMPLE, "a hidden key has weight exactly 0", Law("masked-keys-cannot-matter", "definition")),
    (EXAMPLE, "under a mask rows still sum to 1", Law("row-stochasticity", "proved")),
    (
        EXAMPLE,
        "the first row of a causal mask attends to itself alone",
        Law("single-visible-key", "proved"),
    ),
    (EXAMPLE, "every output lies in the convex hull of the values", Law("convex-hull", "proved")),
    (EXAMPLE, "hard limit: one weight goes to 1", Law("copy-under-large-norm-keys", "proved")),
    (
        EXAMPLE,
        "keys and values in another order: no change",
        Law("key-value-permutation-invariance", "proved"),
    ),
    (
        EXAMPLE,
        "queries in another order: outputs in that order",
        Law("query-permutation-equivariance", "proved"),
    ),
    (
        EXAMPLE,
        "tokens in another order: outputs in that order",
        Law("self-attention-permutation-equivariance", "proved"),
    ),
    (EXAMPLE, "batch items do not meet", Law("batch-independence", "proved")),
    (EXAMPLE, "heads do not meet", Law("heads-apart", "proved")),
    (EXAMPLE, "XXᵀ-like matrices are positive semidefinite", Law("gram-not-negative", "proved")),
    (EXAMPLE, "numbers of parameters and of operations", Prose("the language counts neither")),
];

const WRONG: [(&str, &str, Standing); 15] = [
    (
        CS189,
        "10.2 c: `variance σ` where σ² is meant",
        Refuted(
            about(
                &[
                    "sigma: positive()",
                    "q: normal(1, d_k, sd=sigma)",
                    "k: normal(1, d_k, sd=sigma)",
                ],
                "Var[q @ k.T] == d_k * sigma * sigma",
                "moments",
            ),
            "sigma = ",
        ),
    ),
    // For two keys the scores are equal, and equal scores give the mean exactly.
    (CS114B, "footnote: softmax never averages two vectors exactly", Law("equal-scores", "proved")),
    (
        CS114B,
        "the same for two keys",
        Text(
            about(
                &[
                    "beta: real(1..8)",
                    "n: dim(2..2)",
                    "a: index(n)",
                    "c: index(n, not=a)",
                    "V: matrix(n, d_v)",
                ],
                "softmax_rows(beta * (row(eye(n), a) + row(eye(n), c))) @ V == (row(V, a) + row(V, c)) / 2",
                "exact",
            ),
            "proved-small",
        ),
    ),
    (
        CS114B,
        "that it averages them exactly among others is false",
        Refuted(
            about(
                &TWO_KEYS,
                "softmax_rows(beta * (row(eye(n), a) + row(eye(n), c))) @ V == (row(V, a) + row(V, c)) / 2",
                "exact",
            ),
            "e/(2·e + 1)",
        ),
    ),
    (
        CSCI5922,
        "3b: printed scores of determinant 185/8",
        Refuted(
            about(
                &THREE_TOKENS,
                "(a @ k.T) @ ((c @ l.T) @ (d @ m.T) - (c @ m.T) @ (d @ l.T)) - (a @ l.T) @ ((c @ k.T) @ (d @ m.T) - (c @ m.T) @ (d @ k.T)) + (a @ m.T) @ ((c @ k.T) @ (d @ l.T) - (c @ l.T) @ (d @ k.T)) == 185 / 8 * ones(1)",
                "exact",
            ),
            "right = 185/8",
        ),
    ),
    (
        CSCI5922,
        "3b: softmax of scores that were not scaled",
        Refuted(
            about(&[], "attention(Q, K, V, scale=1) == attention(Q, K, V)", "rewrite"),
            "e/(e + 1)",
        ),
    ),
    (CSCI5922, "3b: weights rounded before they are used", Prose("the language has no rounding")),
    (
        WORKSHEET,
        "the output is as wide as a query",
        Refuted(
            about(&[], "shape(attention(Q, K, V)) == (b, h_q, n_q, d_k)", "exact"),
            "not left == right",
        ),
    ),
    (
        WORKSHEET,
        "the argument `mask` is taken and never used",
        Refuted(
            about(
                &["S: subset(n_k)"],
                "attention(Q, K, V, mask=ones(n_q) @ indicator(S, n_k)) == attention(Q, K, V)",
                "exact",
            ),
            "S = ",
        ),
    ),
    (
        EXAMPLE,
        "keys in another order permute the output",
        Ill(
            about(
                &["P: permutation(n_k)"],
                "attention(Q, P @ K, P @ V) == P @ attention(Q, K, V)",
                "rewrite",
            ),
            ["n_k", "n_q"],
        ),
    ),
    (
        EXAMPLE,
        "the same where there are as many queries as keys",
        Refuted(
            about(&TOKENS, "attention(X, P @ X, P @ X) == P @ attention(X, X, X)", "exact"),
            "P = [[0, 1], [1, 0]]",
        ),
    ),
    (
        EXAMPLE,
        "QK fails for its shapes",
        Ill(about(&[], "Q @ K == Q @ K.T", "rewrite"), ["d_k", "n_k"]),
    ),
    (
        EXAMPLE,
        "the same for n = d, where it runs and is wrong",
        Refuted(
            about(
                &["n: dim(2..3)", "A: matrix(n, n)", "B: matrix(n, n)"],
                "A @ B == A @ B.T",
                "rewrite",
            ),
            "n = 2",
        ),
    ),
    (
        EXAMPLE,
        "attention projects the values",
        Refuted(
            about(
                &["A: matrix(2, 2)"],
                "softmax_rows(A) @ softmax_rows(A) == softmax_rows(A)",
                "exact",
            ),
            "not left == right",
        ),
    ),
    (EXAMPLE, "positive semidefinite means xᵀAx > 0", Prose("the language has no strict relation")),
];

#[test]
fn every_claim_has_the_standing_that_the_table_gives_it() {
    let catalog = Catalog::embedded().unwrap();
    let all = || RIGHT.iter().chain(&WRONG);
    let wrong: Vec<String> = all()
        .filter_map(|(source, part, standing)| {
            check(&catalog, standing).err().map(|got| format!("{source}, {part}: {got}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for source in [CS189, CS114B, CSCI5922, WORKSHEET, EXAMPLE] {
        assert!(all().any(|(of, ..)| *of == source), "{source}");
    }
}

/// A table that is wrong is noticed: every kind of standing, with something else put in.
#[test]
fn another_standing_is_noticed() {
    let catalog = Catalog::embedded().unwrap();
    for standing in [
        Law("score-entry", "checked"),
        Law("no-such-law", "proved"),
        Text(about(&["A: matrix(2, 2)"], "A == A.T", "exact"), "checked"),
        Refuted(about(&["A: matrix(2, 2)"], "A.T.T == A", "exact"), "A = "),
        Refuted(about(&["A: matrix(2, 2)"], "A == A.T", "exact"), "another line"),
        Ill(about(&[], "Q == Q", "exact"), ["n_q", "n_k"]),
        Ill(about(&[], "Q == K", "exact"), ["d_k", "d_v"]),
        Prose(""),
    ] {
        assert!(check(&catalog, &standing).is_err());
    }
    assert_eq!(largest_extent("A = [[0, 0, 1, 0]]\nleft = 1"), 4);
    assert_eq!(largest_extent("A = [[0], [1]]\nS = [0, 1]"), 2);
}

/// What was found instead, if it is not so.
fn check(catalog: &Catalog, standing: &Standing) -> Result<(), String> {
    match standing {
        Law(id, expected) => {
            let law = catalog.laws.get(*id).ok_or("no such law")?;
            is(expected, prove(law).status.name())
        }
        Text(statement, expected) => is(expected, status(statement)?.name()),
        Refuted(statement, line) => match status(statement)? {
            Status::Refuted(example) if !example.contains(line) => Err(example),
            Status::Refuted(example) if largest_extent(&example) > MAX_EXTENT => Err(example),
            Status::Refuted(_) => Ok(()),
            other => Err(format!("{other:?}")),
        },
        Ill(statement, extents) => match status(statement) {
            Err(message) if extents.iter().all(|extent| message.contains(extent)) => Ok(()),
            Err(message) => Err(message),
            Ok(status) => Err(format!("{status:?}")),
        },
        Prose("") => Err("no reason".to_owned()),
        Prose(_) => Ok(()),
    }
}

fn is(expected: &str, got: &str) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("expected {expected}, got {got}")) }
}

/// The status of a statement, or why it is none.
fn status(statement: &Statement) -> Result<Status, String> {
    let Statement { given, lets, expect, proof } = statement;
    let section = |name: &str, lines: &[&str]| match lines {
        [] => String::new(),
        lines => format!(
            "{name}:\n{}",
            lines.iter().map(|line| format!("  {line}\n")).collect::<String>()
        ),
    };
    let (given, lets) = (section("given", given), section("let", lets));
    let text = format!(
        "law: claimed\ntitle: Claimed\n{given}{lets}expect: {expect}\nproof: {proof}\ncatches: []\n"
    );
    let mut catalog = Catalog::embedded().unwrap();
    let id = catalog.add_law("claimed.yaml", &text).map_err(|error| error.to_string())?;
    Ok(prove(&catalog.laws[&id]).status)
}
