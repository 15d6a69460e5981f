//! What people believe of attention and is false: refused for its shapes, or refuted by an exact
//! instance of extents up to 3.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use qkvet_prove::outcome::{Status, prove};
use qkvet_spec::{Catalog, Proof};

use self::common::{MAX_EXTENT, largest_extent};

/// A law as a user would add it; `given` has lines such as `P: permutation(n_k)`.
fn status(given: &[&str], expect: &str, proof: Proof) -> Result<Status, String> {
    let mut catalog = Catalog::embedded().unwrap();
    let options = if expect.contains("ones(n_k, d_v)") { "[sinks]" } else { "[]" };
    let given: String = given.iter().map(|line| format!("  {line}\n")).collect();
    let given = if given.is_empty() { given } else { format!("given:\n{given}") };
    let proof = proof.name();
    let text = format!(
        "law: believed\ntitle: Believed by some\n{given}expect: {expect}\noptions: {options}\nproof: {proof}\ncatches: []\n"
    );
    let id = catalog.add_law("believed.yaml", &text).map_err(|error| error.to_string())?;
    Ok(prove(&catalog.laws[&id]).status)
}

fn refuted(lines: &[&str], expect: &str) {
    for proof in [Proof::Rewrite, Proof::Exact] {
        match status(lines, expect, proof) {
            Ok(Status::Refuted(example)) => {
                assert!(
                    (1..=MAX_EXTENT).contains(&largest_extent(&example)),
                    "{expect}: {example}"
                );
            }
            other => panic!("{expect}: {other:?}"),
        }
    }
}

fn ill_shaped(lines: &[&str], expect: &str, shapes: [&str; 2]) {
    match status(lines, expect, Proof::Rewrite) {
        Err(message) => {
            shapes.iter().for_each(|shape| assert!(message.contains(shape), "{message}"))
        }
        Ok(other) => panic!("{expect}: {other:?}"),
    }
}

#[test]
fn permutations_that_do_not_pass() {
    let keys = ["P: permutation(n_k)"];
    // The keys without their values, or the values without their keys.
    refuted(&keys, "attention(Q, P @ K, V) == attention(Q, K, V)");
    refuted(&keys, "attention(Q, K, P @ V) == attention(Q, K, V)");
    // Example 48: reordering the keys permutes the output. With as many queries as keys it has
    // shapes, and is false.
    ill_shaped(&keys, "attention(Q, P @ K, P @ V) == P @ attention(Q, K, V)", ["n_k", "n_q"]);
    let tokens = ["n: dim(2..3)", "P: permutation(n)", "X: tensor(n, d_k)", "Y: tensor(n, d_k)"];
    refuted(&tokens, "attention(X, P @ Y, P @ Y) == P @ attention(X, Y, Y)");
    // A permutation that queries and keys share is not one that the values may do without.
    refuted(&tokens, "attention(P @ X, P @ X, X) == P @ attention(X, X, X)");
    ill_shaped(
        &["P: permutation(n_q)"],
        "attention(P @ Q, P @ K, V) == P @ attention(Q, K, V)",
        ["n_q", "n_k"],
    );
}

#[test]
fn what_is_not_linear() {
    refuted(&[], "attention(2 * Q, K, V) == 2 * attention(Q, K, V)");
    refuted(&[], "attention(Q, 2 * K, V) == 2 * attention(Q, K, V)");
    refuted(&[], "attention(2 * Q, K, V) == attention(Q, K, V)");
    let two = ["A: matrix(2, 2)", "B: matrix(2, 2)"];
    refuted(&two, "softmax_rows(A + B) == softmax_rows(A) + softmax_rows(B)");
    refuted(&two, "softmax_rows(A @ B) == softmax_rows(A) @ softmax_rows(B)");
}

#[test]
fn rows_that_do_not_sum_to_one() {
    // Scores, weights over the other axis, weights of which some were set to 0 afterwards, and a
    // denominator with something added.
    refuted(&[], "sum(Q @ K.T, axis=cols) == ones(n_q)");
    refuted(&["A: matrix(2, 3)"], "sum(softmax_rows(A.T).T, axis=cols) == ones(2)");
    refuted(&["A: matrix(2, 3)", "S: subset(3)"], "softmax_rows(A) @ indicator(S, 3).T == ones(2)");
    refuted(&[], "attention(Q, K, ones(n_k, d_v)) == ones(n_q, d_v)");
}

#[test]
fn axes_and_sides_that_are_not_the_same() {
    refuted(&["A: matrix(2, 2)"], "softmax_rows(A.T) == softmax_rows(A).T");
    refuted(
        &["X: tensor(2, d_k)", "Y: tensor(2, d_k)", "W: tensor(2, d_v)"],
        "attention(X, Y, W) == attention(Y, X, W)",
    );
    refuted(
        &["A: matrix(2, 2)", "c: matrix(1, 2)"],
        "softmax_rows(A + ones(2) @ c) == softmax_rows(A)",
    );
    // The output is as wide as a value.
    refuted(&[], "shape(attention(Q, K, V)) == (b, h_q, n_q, d_k)");
    ill_shaped(&[], "attention(Q, K, V) == Q", ["d_v", "d_k"]);
}

#[test]
fn moments_that_are_others() {
    let given = [
        "mu: number()",
        "sigma: positive()",
        "q: normal(1, d_k, mean=mu, sd=sigma)",
        "k: normal(1, d_k, mean=mu, sd=sigma)",
    ];
    for expect in [
        "Var[q @ k.T] == d_k * sigma * sigma",
        "E[q @ k.T] == d_k * mu * mu + sigma",
        "Var[q @ k.T] == 1",
    ] {
        match status(&given, expect, Proof::Moments) {
            Ok(Status::Refuted(example)) => assert!(example.contains("sigma = "), "{example}"),
            other => panic!("{expect}: {other:?}"),
        }
    }
}
