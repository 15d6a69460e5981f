//! Laws of the repository that are inequalities, derived for all shapes; and derivations that are
//! not.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use qkvet_prove::derive::{Derivation, Move, check, derive};
use qkvet_prove::outcome::{Status, prove};
use qkvet_prove::tree::Tree;
use qkvet_prove::unfold::{Claim, Relation, unfold};
use qkvet_spec::{Catalog, CheckedLaw, Proof};

fn inequalities() -> Vec<(String, Claim)> {
    let catalog = Catalog::embedded().unwrap();
    let derived = catalog.laws.values().filter(|law| law.law.proof == Proof::Derivation);
    let claims = derived
        .flat_map(|law| unfold(law).unwrap().into_iter().map(|claim| (law.law.law.clone(), claim)));
    // That no element is negative says that 0 is at most each.
    let as_inequality = |(id, claim): (String, Claim)| match claim.relation {
        Relation::AtMost => Some((id, claim)),
        Relation::NonNegative => {
            Some((id, Claim { left: claim.right, right: claim.left, ..claim }))
        }
        Relation::Equal => None,
    };
    claims.filter_map(as_inequality).collect()
}

fn derivation((id, claim): &(String, Claim)) -> Derivation {
    let sides = (&claim.left, &claim.right);
    derive(sides, &claim.names, &claim.facts)
        .unwrap_or_else(|| panic!("{id}: {} <= {}", claim.left, claim.right))
}

#[test]
fn every_law_that_claims_a_derivation_has_one() {
    let inequalities = inequalities();
    assert!(inequalities.len() >= 5, "{}", inequalities.len());
    let mut with_lemma = BTreeSet::new();
    for inequality in &inequalities {
        let derivation = derivation(inequality);
        let claim = &inequality.1;
        check(&derivation, (&claim.left, &claim.right), &claim.names, &claim.facts).unwrap();
        if derivation.steps.iter().any(|step| matches!(step.by, Move::Lemma(_))) {
            with_lemma.insert(&inequality.0);
        }
    }
    assert!(inequalities.iter().all(|(id, _)| with_lemma.contains(id)), "{with_lemma:?}");
}

/// Another move, another direction, another term, a step left out: the checker refuses each, for
/// every step of every derivation.
#[test]
fn an_altered_derivation_is_refused() {
    let mut altered = 0;
    for inequality in &inequalities() {
        let claim = &inequality.1;
        let whole = derivation(inequality);
        let mut refused = |derivation: &Derivation, what: &str| {
            let checked =
                check(derivation, (&claim.left, &claim.right), &claim.names, &claim.facts);
            assert!(checked.is_err(), "{}: {what} passes", inequality.0);
            altered += 1;
        };
        let other = Derivation { upward: !whole.upward, ..whole.clone() };
        refused(&other, "the other direction");
        for at in 0..whole.steps.len() {
            for by in [
                Move::Lemma("no-such-lemma".to_owned()),
                Move::Lemma("triangle".to_owned()),
                Move::Rule { name: "softmax-of-one-column".to_owned(), forward: true },
                Move::Arithmetic,
                Move::More,
            ] {
                let mut derivation = whole.clone();
                if derivation.steps[at].by != by {
                    derivation.steps[at].by = by;
                    refused(&derivation, "another move");
                }
            }
            for factor in ["2", "1/2"] {
                let mut derivation = whole.clone();
                let after = derivation.steps[at].after.clone();
                derivation.steps[at].after = Tree::new("sc", [Tree::leaf(factor), after]);
                refused(&derivation, "another term");
            }
            let mut derivation = whole.clone();
            derivation.steps.remove(at);
            refused(&derivation, "a missing step");
        }
    }
    assert!(altered > 100, "{altered}");
}

fn status(given: &str, expect: &str) -> Status {
    let text = format!(
        "law: x\ntitle: t\n{given}expect: {expect}\noptions: []\nproof: derivation\ncatches: []\n"
    );
    prove(&CheckedLaw::from_yaml("x.yaml", &text).unwrap()).status
}

/// Bounds that anyone would write down: the triangle inequality, a looser factor, one norm below
/// the other.
#[test]
fn plain_bounds_are_derived() {
    let given = "given:\n  A: matrix(n_q, d_k)\n  B: matrix(n_q, d_k)\n  c: real(0.5..2)\nlet:\n  g: norm_max(A)\n";
    for (expect, holds) in [
        ("norm_max(A + B) <= norm_max(A) + norm_max(B)", true),
        ("norm_max(A - B) <= norm_max(B) + norm_max(A)", true),
        ("norm_max(c * A + B) <= c * norm_max(A) + norm_max(B)", true),
        ("norm_max(attention(Q, K, V)) <= 2 * norm_max(V)", true),
        ("norm_max(A) <= norm_2(A) + c", true),
        ("norm_max(g * (A + B) - g * (B + A)) <= 0", true),
        ("norm_max(A + B) <= norm_max(A)", false),
        ("norm_max(2 * A) <= norm_max(A)", false),
        ("norm_max(A) <= norm_2(A) - c", false),
        ("norm_max(A) <= norm_max(A) + norm_max(B) - c", false),
        ("norm_max(A) <= (c - 1) * norm_max(A)", false),
    ] {
        let status = status(given, expect);
        assert_eq!(status == Status::Proved, holds, "{expect}: {status:?}");
    }
}

/// Bounds that are too small, of the other direction, or said of what is not declared.
#[test]
fn what_is_false_is_not_derived() {
    let separated = "given:\n  j: index(n_k)\n  t: real(1..4)\n  (Q, K): separated(j, margin=t)\n";
    let off = "norm_max(softmax_rows(Q @ K.T) @ V - ones(n_q) @ row(V, j))";
    for (given, expect) in [
        // Twice the margin; scores that are not scaled; half of the values; no margin declared;
        // ends swapped; a quarter.
        (
            separated,
            "norm_max(attention(Q, K, V) - ones(n_q) @ row(V, j)) <= exp(-2 * t) * spread(V)",
        ),
        (
            separated,
            "norm_max(attention(Q, K, V, scale=1) - ones(n_q) @ row(V, j)) <= (n_k - 1) * exp(-2 * t) * spread(V)",
        ),
        (separated, "norm_max(attention(Q, K, V)) <= norm_max(V) / 2"),
        (
            "given:\n  j: index(n_k)\n  t: real(1..4)\n",
            &format!("{off} <= (n_k - 1) * exp(-t) * spread(V)"),
        ),
        // A score that is lowered; the largest of all heads, which falls with what is larger for
        // one.
        (
            "given:\n  j: index(n_k)\n  t: real(-8..8)\n",
            "col(softmax_rows(Q @ K.T), j) <= col(softmax_rows(Q @ K.T + t * ones(n_q) @ row(eye(n_k), j)), j)",
        ),
        ("", "norm_max(softmax_rows(Q @ K.T) @ V) <= 2 * norm_max(V) - norm_max(V)"),
        (
            "",
            "attention(Q, K, V) in between(ones(n_q) @ max(V, axis=rows), ones(n_q) @ min(V, axis=rows))",
        ),
        ("", "norm_max(attention(Q, K, V) - attention(Q, K, 2 * V)) <= spread(V) / 4"),
    ] {
        let status = status(given, expect);
        assert!(!matches!(status, Status::Proved), "{expect}: {status:?}");
    }
}

/// What a law's file names on the way is passed, and checked like any other line.
#[test]
fn waypoints_are_passed_and_not_believed() {
    let given = "given:\n  S: matrix(n_q, n_k)\n  W: matrix(n_k, d_v)\n  D: matrix(n_k, d_v)\n";
    let through = |waypoint: &str| format!("{given}through: [\"{waypoint}\"]\n");
    let expect = "norm_max(softmax_rows(S) @ W + softmax_rows(S) @ D) <= norm_max(W + D)";
    assert_eq!(status(&through("norm_max(softmax_rows(S) @ (W + D))"), expect), Status::Proved);
    for false_waypoint in
        ["norm_max(softmax_rows(S) @ W)", "2 * norm_max(softmax_rows(S) @ (W + D))"]
    {
        assert!(
            !matches!(status(&through(false_waypoint), expect), Status::Proved),
            "{false_waypoint}"
        );
    }
    let ill_shaped = format!(
        "law: x\ntitle: t\n{}expect: {expect}\nproof: derivation\ncatches: []\n",
        through("W")
    );
    let ill_shaped = ill_shaped.replace(
        "norm_max(softmax_rows(S) @ W + softmax_rows(S) @ D) <= norm_max(W + D)",
        "W == W + 0 * D",
    );
    let ill_shaped = ill_shaped.replace("[\"W\"]", "[S]");
    assert!(CheckedLaw::from_yaml("x.yaml", &ill_shaped).is_err());
}
