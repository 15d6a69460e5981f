//! Laws of the repository, proved for all shapes by rewriting; and proofs that are not.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use qkvet_prove::rewrite::{COLLECTED, Chain, Found, Step, check, prove};
use qkvet_prove::tree::{Shapes, Tree};
use qkvet_prove::unfold::{Claim, Relation, unfold};
use qkvet_spec::{Catalog, CheckedLaw, Proof};

fn equations() -> Vec<(String, Claim)> {
    let catalog = Catalog::embedded().unwrap();
    let by_rewriting = catalog.laws.values().filter(|law| law.law.proof == Proof::Rewrite);
    let claims = by_rewriting
        .flat_map(|law| unfold(law).unwrap().into_iter().map(|claim| (law.law.law.clone(), claim)));
    claims.filter(|(_, claim)| claim.relation == Relation::Equal).collect()
}

fn chain((id, claim): &(String, Claim)) -> Chain {
    match prove(&claim.left, &claim.right, &claim.names) {
        Found::Chain(chain) => chain,
        other => panic!("{id}: {other:?}: {} = {}", claim.left, claim.right),
    }
}

#[test]
fn every_law_that_claims_a_proof_by_rewriting_has_one() {
    let equations = equations();
    assert!(equations.len() >= 10, "{} equations", equations.len());
    for equation in &equations {
        let chain = chain(equation);
        check(&chain, &equation.1.right, &equation.1.names).unwrap();
        assert_eq!(chain.start, equation.1.left);
    }
}

/// Another rule, another direction, another term, a step left out: the checker refuses each, for
/// every step of every proof.
#[test]
fn an_altered_proof_is_refused() {
    let mut altered = 0;
    for equation in &equations() {
        let (names, end) = (&equation.1.names, &equation.1.right);
        let whole = chain(equation);
        let refused = |chain: &Chain, what: &str| {
            assert!(check(chain, end, names).is_err(), "{}: {what} passes", equation.0);
        };
        for at in 0..whole.steps.len() {
            let mut chain = whole.clone();
            chain.steps[at].rule = "no-such-rule".to_owned();
            refused(&chain, "a rule that does not exist");
            let mut chain = whole.clone();
            chain.steps[at].rule =
                if chain.steps[at].rule == "scalar-one" { "scalar-product" } else { "scalar-one" }
                    .to_owned();
            refused(&chain, "another rule");
            let mut chain = whole.clone();
            chain.steps[at].forward = !chain.steps[at].forward;
            refused(&chain, "the other direction");
            let mut chain = whole.clone();
            chain.steps[at].after =
                Tree::new("sc", [Tree::leaf("2"), chain.steps[at].after.clone()]);
            refused(&chain, "another term");
            let mut chain = whole.clone();
            chain.steps.remove(at);
            refused(&chain, "a missing step");
            altered += 5;
        }
    }
    assert!(altered > 100, "{altered}");
}

fn names() -> Shapes {
    [
        ("Q", "n", "d"),
        ("K", "m", "d"),
        ("V", "m", "v"),
        ("X", "n", "d"),
        ("W", "d", "d"),
        ("p", "m", "m"),
        ("r", "n", "n"),
    ]
    .map(|(name, rows, cols)| (name.to_owned(), (rows.to_owned(), cols.to_owned())))
    .into()
}

#[test]
fn what_is_false_is_not_proved() {
    for (left, right) in [
        // Keys without their values; a permutation that queries and keys share; the inverse
        // permutation.
        (
            "(* (soft (sc s (* Q (T (* (perm p) K)))) all none) V)",
            "(* (soft (sc s (* Q (T K))) all none) V)",
        ),
        (
            "(* (soft (* Q (T (* (perm p) K))) all none) (* (T (perm p)) V))",
            "(* (soft (* Q (T K)) all none) V)",
        ),
        ("(* (soft (* (* (perm r) X) (T X)) all none) X)", "(* (soft (* X (T X)) all none) X)"),
        // The weights of a row with a sink do not add up to 1.
        ("(* (soft (* Q (T K)) all sink) (one m))", "(one n)"),
        // A factor of the scores is not one of the output.
        ("(soft (sc 2 (* Q (T K))) all none)", "(sc 2 (soft (* Q (T K)) all none))"),
        // A shift of the columns.
        (
            "(soft (+ (* Q (T K)) (* (one n) (T (* K (one d))))) all none)",
            "(soft (* Q (T K)) all none)",
        ),
    ] {
        let (left, right) = (Tree::parse(left).unwrap(), Tree::parse(right).unwrap());
        let found = prove(&left, &right, &names());
        assert!(matches!(found, Found::Saturated | Found::Limit), "{left} = {right}: {found:?}");
    }
}

/// Sums in any order and multiples of one matrix; what is not the same sum is none.
#[test]
fn sums_are_collected() {
    let step = |left: &str, right: &str| {
        let (start, after) = (Tree::parse(left).unwrap(), Tree::parse(right).unwrap());
        let steps = vec![Step { rule: COLLECTED.to_owned(), forward: true, after: after.clone() }];
        check(&Chain { start, steps }, &after, &names()).is_ok()
    };
    let weights = "(soft (* Q (T K)) all none)";
    for (left, right, equal) in [
        ("(+ Q X)", "(+ X Q)", true),
        ("(+ (+ Q X) (+ Q Q))", "(+ X (sc 3 Q))", true),
        ("(+ (sc c Q) (sc -1 (sc c Q)))", "(sc 0 X)", true),
        ("(+ Q (sc 0 X))", "Q", true),
        (&format!("(* {weights} (+ V (sc 2 V)))"), &format!("(* {weights} (sc 3 V))"), true),
        ("(+ Q X)", "(+ Q Q)", false),
        ("(+ Q Q)", "(sc 3 Q)", false),
        ("(+ (sc c Q) (sc b Q))", "(sc c Q)", false),
        ("(+ Q (sc -1 X))", "(+ X (sc -1 Q))", false),
        ("(* Q (T K))", "(* K (T Q))", false),
        ("(sc 0 Q)", "Q", false),
    ] {
        assert_eq!(step(left, right), equal, "{left} = {right}");
        let (left, right) = (Tree::parse(left).unwrap(), Tree::parse(right).unwrap());
        let found = prove(&left, &right, &names());
        let proved =
            matches!(&found, Found::Chain(chain) if check(chain, &right, &names()).is_ok());
        assert_eq!(proved, equal, "{left} = {right}: {found:?}");
    }
}

/// Residual connections and layers that work on every row keep the order of the rows; adding
/// positions does not.
#[test]
fn layers_are_equivariant_unless_positions_are_added() {
    let attention = |x: &str| format!("(* (soft (sc s (* (* {x} W) (T {x}))) all none) (* {x} W))");
    let permuted = "(* (perm r) X)";
    let residual = |x: &str| format!("(+ {x} {})", attention(x));
    let block = |x: &str| format!("(cap (* {} W))", residual(x));
    let proved = |left: String, right: String| {
        let (left, right) = (Tree::parse(&left).unwrap(), Tree::parse(&right).unwrap());
        match prove(&left, &right, &names()) {
            Found::Chain(chain) => check(&chain, &right, &names()).is_ok(),
            _ => false,
        }
    };
    assert!(proved(residual(permuted), format!("(* (perm r) {})", residual("X"))));
    assert!(proved(block(permuted), format!("(* (perm r) {})", block("X"))));
    let with_positions = |x: &str| residual(&format!("(+ {x} Q)"));
    assert!(!proved(with_positions(permuted), format!("(* (perm r) {})", with_positions("X"))));
}

/// Of no extents everything is true; a mask of every head says nothing of one matrix of scores.
#[test]
fn what_has_no_instance_is_not_proved() {
    let law = |lines: &str, expect: &str| {
        let text = format!(
            "law: x\ntitle: t\n{lines}expect: {expect}\noptions: [mask]\nproof: rewrite\ncatches: []\n"
        );
        CheckedLaw::from_yaml("x.yaml", &text)
    };
    let negated = "attention(Q, K, V) == attention(-Q, -K, V)";
    let status =
        |lines: &str| qkvet_prove::outcome::prove(&law(lines, negated).unwrap()).status.name();
    assert_eq!(status("where: n_k >= 2 and n_k <= 1\n"), "unknown");
    assert_eq!(status("where: n_k >= 128\n"), "proved");
    assert_eq!(status("where: n_q == n_k and h_q == 4\n"), "proved");
    let given = "given:\n  A: matrix(n_q, d_k)\n  B: matrix(n_k, d_k)\n  M: mask(n_q, n_k)\n";
    let error = law(given, "attention(A, B, V, mask=M) == attention(-A, -B, V, mask=M)")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no more than the one matrix of queries, got (b, h_q) matrices"),
        "{error}"
    );
    assert!(law(given, "attention(Q, B, V, mask=M) == attention(-Q, -B, V, mask=M)").is_ok());
}

/// Names that the prover has for things of the case, and abbreviations that hide what they are made
/// of.
#[test]
fn names_are_not_taken_for_others() {
    let unfolded = |given: &str, lets: &str, expect: &str| {
        let text = format!(
            "law: x\ntitle: t\ngiven:\n  P: permutation(n_k)\n{given}let:\n  Z: 2 * V\n{lets}expect: {expect}\noptions: [mask]\nproof: rewrite\ncatches: []\n"
        );
        unfold(&CheckedLaw::from_yaml("x.yaml", &text).unwrap())
    };
    assert!(
        unfolded(
            "  all: matrix(n_q, n_k)\n",
            "",
            "attention(Q, K, V, mask=all) == attention(Q, K, V)"
        )
        .is_err()
    );
    for (given, expect) in [
        ("  scale: real(1..2)\n", "attention(Q, K, V, scale=scale) == attention(Q, K, V)"),
        ("  mask: matrix(n_q, n_k)\n", "attention(Q, K, V, mask=mask) == attention(Q, K, V)"),
    ] {
        let claims = unfolded(given, "", expect).unwrap();
        assert_ne!(claims[0].left, claims[0].right, "{expect}");
    }
    // `K` above is the case's, `K` below is this.
    let claims = unfolded("", "  K: P @ K\n", "attention(Q, K, V) == attention(Q, K, V)").unwrap();
    assert!(claims[0].left.to_string().contains("(* (perm P) K)"), "{}", claims[0].left);
}
