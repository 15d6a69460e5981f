//! Laws decided for all numbers at small shapes, with indeterminates: a route that shares nothing
//! with rules and lemmas.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use qkvet_prove::exact::holds_up_to;
use qkvet_prove::outcome::{Status, prove};
use qkvet_spec::{Catalog, CheckedLaw, Proof};

fn law(given: &str, expect: &str, options: &str) -> CheckedLaw {
    let given = if given.is_empty() { String::new() } else { format!("given:\n{given}") };
    let text = format!(
        "law: x\ntitle: t\n{given}expect: {expect}\noptions: [{options}]\nproof: exact\ncatches: []\n"
    );
    CheckedLaw::from_yaml("x.yaml", &text).unwrap()
}

#[test]
fn what_holds_for_all_numbers_is_proved_at_small_shapes() {
    for (given, expect, options) in [
        ("", "attention(Q, K, 2 * V) == 2 * attention(Q, K, V)", "scale, causal"),
        ("  P: permutation(n_k)\n", "attention(Q, P @ K, P @ V) == attention(Q, K, V)", ""),
        ("  c: real(0.5..2)\n", "attention(c * Q, K, V) == attention(Q, c * K, V)", ""),
        (
            "  A: matrix(n_q, n_k)\n  r: matrix(n_q, 1)\n",
            "softmax_rows(A + r @ ones(1, n_k)) == softmax_rows(A)",
            "",
        ),
        (
            "  c: real(-1..1)\n",
            "lse(Q, K, bias=c * ones(n_q, n_k)) == lse(Q, K) + c * ones(n_q)",
            "",
        ),
    ] {
        let status = prove(&law(given, expect, options)).status;
        assert!(
            matches!(status, Status::ProvedTo { extent: 2, instances } if instances > 50),
            "{expect}: {status:?}"
        );
        assert!(status.reaches(Proof::Exact) && !status.reaches(Proof::Rewrite));
    }
}

/// True of the whole numbers that are tried at random, or of some shapes, or undecidable here: none
/// is proved.
#[test]
fn what_is_false_or_not_decided_is_not_proved() {
    for (given, expect, options) in [
        ("", "attention(Q, K, 2 * V) == 3 * attention(Q, K, V)", ""),
        // True of one query.
        ("  i: index(n_q)\n", "attention(Q, K, V) == ones(n_q) @ row(attention(Q, K, V), i)", ""),
        // (x + 2)(x + 1)x(x − 1)(x − 2) is 0 for every number that is drawn.
        (
            "  x: matrix(1, 1)\n",
            "(x + ones(1, 1) + ones(1, 1)) @ (x + ones(1, 1)) @ x @ (x - ones(1, 1)) @ (x - ones(1, 1) - ones(1, 1)) == 0 * x",
            "",
        ),
        // Not where the number is 0.
        (
            "  A: matrix(n_q, n_k)\n",
            "where(A, ones(n_q, n_k), zeros(n_q, n_k)) == ones(n_q, n_k)",
            "",
        ),
        ("", "norm_max(attention(Q, K, V)) <= norm_max(V)", ""),
        ("", "attention(Q, K, V) == attention(Q, K, V)", "softcap"),
        // Twice the keys are wider than any window of the case: true of windows that end at 1,
        // false of one that ends at 2.
        (
            "  n: dim(2..9)\n  A: tensor(n, d_k)\n  W: tensor(n, d_v)\n",
            "attention(Q, vcat(A, A), vcat(W, W)) == attention(Q, A, W)",
            "window",
        ),
        ("", "attention(Q, K, V) == attention(Q, K, V)", "packed"),
        // With two keys the matrix is larger than what is evaluated: nothing is known of them.
        (
            "  W: matrix(200, n_k)\n  P: permutation(n_k)\n",
            "attention(Q, P @ K, V) == attention(Q, K, V)",
            "",
        ),
    ] {
        assert_eq!(holds_up_to(&law(given, expect, options), 2), None, "{expect}");
    }
}

/// A condition is asked of the options of an instance, and what it says of formats and places is
/// not decided.
#[test]
fn conditions_are_those_of_instances() {
    let with = |condition: &str| {
        let text = format!(
            "law: x\ntitle: t\nwhere: {condition}\nexpect: attention(Q, K, V) == ones(n_q, n_k) @ V\noptions: [scale, bias]\nproof: exact\ncatches: []\n"
        );
        holds_up_to(&CheckedLaw::from_yaml("x.yaml", &text).unwrap(), 2)
    };
    assert!(with("n_k == 1").is_some());
    assert_eq!(with("n_k == 1 or (scale and not bias)"), None);
    assert_eq!(with("n_k == 1 or float16"), None);
}

/// Laws that rewriting proves for all shapes are decided here too, by no rule: every one that this
/// route can reach holds.
#[test]
fn rewriting_and_indeterminates_agree() {
    let catalog = Catalog::embedded().unwrap();
    let rewritten: Vec<_> =
        catalog.laws.values().filter(|law| law.law.proof == Proof::Rewrite).collect();
    let reached = rewritten.iter().filter(|law| holds_up_to(law, 2).is_some()).count();
    assert!(reached >= 35, "{reached} of {}", rewritten.len());
    let known = |id: &str| prove(&catalog.laws[id]).status;
    for id in ["sink-is-a-key", "leading-hidden-block"] {
        assert!(matches!(known(id), Status::ProvedTo { extent: 2, .. }), "{id}: {:?}", known(id));
    }
}
