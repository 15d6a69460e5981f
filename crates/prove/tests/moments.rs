//! Moments: every law that says so is proved, and false ones are refuted with numbers.

use std::fmt::Write;

use qkvet_prove::moments::{Reason, Step, Undecided, check as check_steps, prove};
use qkvet_spec::{Catalog, CheckedLaw, Proof};

const GIVEN: &str = "  mu: number()
  sigma: positive()
  nu: real(-2..2)
  i: index(n_q)
  j: index(n_q, not=i)
  l: index(n_q)
  w: matrix(1, d_k)
  q: normal(1, d_k, mean=mu, sd=sigma)
  k: normal(1, d_k, mean=mu, sd=sigma)
  x: normal(1, d_k)
  X: normal(n_q, d_k, mean=nu, sd=0.5)
  Y: normal(n_q, n_q)
  z: normal(1, 1, mean=mu, sd=sigma)
";

fn law(expect: &str) -> CheckedLaw {
    let text = format!(
        "law: x\ntitle: t\nproof: moments\ncatches: []\ngiven:\n{GIVEN}expect: \"{expect}\"\n"
    );
    CheckedLaw::from_yaml("x.yaml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn check(expect: &str) {
    let steps = prove(&law(expect)).unwrap_or_else(|reason| panic!("{expect}: {reason}"));
    assert!(!steps.is_empty());
}

fn check_false(expect: &str, values: &str) {
    match prove(&law(expect)) {
        Err(Reason::Refuted(found)) => assert_eq!(found.to_string(), values, "{expect}"),
        other => panic!("{expect}: {other:?}"),
    }
}

fn check_unknown(expect: &str, part: &str) {
    match prove(&law(expect)) {
        Err(Reason::Unknown(why)) => assert!(why.to_string().contains(part), "{expect}: {why}"),
        other => panic!("{expect}: {other:?}"),
    }
}

#[test]
fn the_laws_about_moments_are_proved() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let laws: Vec<_> =
        catalog.laws.values().filter(|law| law.law.proof == Proof::Moments).collect();
    assert!(laws.len() >= 11 && laws.iter().all(|law| !law.asks()));
    let mut text = String::new();
    for law in laws {
        let id = &law.law.law;
        let steps = prove(law).unwrap_or_else(|reason| panic!("{id}: {reason}"));
        writeln!(text, "{id}").unwrap();
        steps.iter().for_each(|step| writeln!(text, "  {step}").unwrap());
    }
    insta::assert_snapshot!(text);
}

/// Another right side, or the law's own statement left out: the checker refuses it, for every step
/// of every proof.
#[test]
fn an_altered_step_is_refused() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let mut altered = 0;
    for (id, law) in catalog.laws.iter().filter(|(_, law)| law.law.proof == Proof::Moments) {
        let steps = prove(law).unwrap_or_else(|reason| panic!("{id}: {reason}"));
        check_steps(law, &steps).unwrap_or_else(|error| panic!("{id}: {error}"));
        for at in 0..steps.len() {
            for more in ["2", "d_k", "n_k"] {
                let mut other = steps.clone();
                let sum = format!("1 + {more}");
                let more =
                    qkvet_spec::syntax::parse(&sum).unwrap_or_else(|error| panic!("{error:?}"));
                other[at].right =
                    Step { left: other[at].right.clone(), right: more, reason: "" }.equation();
                if let qkvet_spec::syntax::ExprKind::Binary(op, ..) = &mut other[at].right.kind {
                    *op = qkvet_spec::syntax::BinaryOp::Add;
                }
                assert!(check_steps(law, &other).is_err(), "{id}, step {}: {}", at + 1, other[at]);
                altered += 1;
            }
        }
        let last = steps.len() - 1;
        assert!(check_steps(law, &steps[..last]).is_err(), "{id}: its statement left out");
    }
    assert!(altered > 300, "{altered}");
}

#[test]
fn what_is_true_is_proved() {
    check("Var[2 * q @ k.T + 3] == 4 * Var[q @ k.T]");
    check("Var[row(Y, i) @ ones(n_q) + col(row(Y, j), l)] == n_q + 1");
    check("Var[q @ k.T + z] == Var[q @ k.T] + sigma * sigma");
    check("E[2 * sum(q, axis=cols) - z / 3 + mu] == (2 * d_k + 2 / 3) * mu");
    check("Var[row(X, i) @ row(X, j).T] == d_k * (1 / 16 + nu * nu / 2)");
    check("Var[(row(X, i) + row(X, j)) @ ones(d_k)] == d_k / 2");
    check("Var[w @ x.T] == w @ w.T and E[w @ q.T] == mu * (w @ ones(d_k))");
    check("Var[z] == E[z @ z] - E[z] * E[z]");
    check("E[z @ z @ z] == mu * mu * mu + 3 * mu * sigma * sigma");
    check(
        "E[z @ z @ z @ z @ z] == mu * (mu * mu * mu * mu + 10 * mu * mu * sigma * sigma + 15 * sigma * sigma * sigma * sigma)",
    );
    check("Var[z @ z] == 2 * sigma * sigma * (sigma * sigma + 2 * mu * mu)");
    check(
        "sqrt(4 * d_k) * sqrt(d_k) == 2 * d_k and sqrt(8 * d_k) == 2 * sqrt(2 * d_k) and 0.1 + 0.2 == 0.3",
    );
    check("Var[x @ k.T / sqrt(d_k * (mu * mu + sigma * sigma))] == 1");
    check("E[E[q @ k.T] * sqrt(d_k)] / sqrt(d_k) == d_k * mu * mu and Var[mu] == 0");
}

#[test]
fn what_is_false_gets_numbers() {
    check_false(
        "Var[q @ k.T] == d_k * sigma * sigma",
        "at d_k = 2, mu = 1, sigma = 1, the left side is 6, the right side 2",
    );
    check_false(
        "Var[x @ q.T] == 1",
        "at d_k = 2, mu = 1, sigma = 1, the left side is 4, the right side 1",
    );
    check_false(
        "E[q @ k.T] == d_k * sigma",
        "at d_k = 2, mu = 1, sigma = 2, the left side is 2, the right side 4",
    );
    check_false(
        "Var[q @ k.T] == Var[2 * q @ k.T] / 2",
        "at d_k = 2, mu = 1, sigma = 1, the left side is 6, the right side 12",
    );
    check_false("Var[x @ x.T] == d_k", "at d_k = 2, the left side is 4, the right side 2");
    check_false("sqrt(mu * mu) == mu", "at mu = -1, the left side is 1, the right side -1");
}

/// Entries are counted one by one, so that extents are limited before any is laid out; other
/// numbers are not.
#[test]
fn large_extents_are_not_tried() {
    let of = |n: u64| {
        let expect = format!("200 * w @ ones({n}) == w @ ones({n}) * 200");
        let given = format!("  w: matrix(1, {n})\n");
        let text = format!(
            "law: x\ntitle: t\nproof: moments\ncatches: []\ngiven:\n{given}expect: \"{expect}\"\n"
        );
        prove(&CheckedLaw::from_yaml("x.yaml", &text).unwrap_or_else(|error| panic!("{error}")))
    };
    assert!(of(64).is_ok());
    for n in [65, 900_000_000] {
        assert!(matches!(of(n), Err(Reason::Unknown(Undecided::NoNumbers))), "{n}");
    }
}

#[test]
fn what_is_beyond_is_not_decided() {
    check_unknown("E[(q @ k.T) @ (q @ k.T)] == 0", "product of two random sums");
    check_unknown("E[z @ z @ z @ z @ z @ z] == 0", "moment 6");
    check_unknown("Var[z @ z @ z] == 0", "moment 6");
    check_unknown("Var[row(X, i) @ row(X, l).T] == 0", "one entry or two");
    check_unknown(
        "Var[row(Y, i) @ ones(n_q) + ones(1, n_q) @ col(Y, i)] == 2 * n_q",
        "are independent",
    );
    check_unknown("Var[row(Y, i) @ ones(n_q) + col(row(Y, i), j)] == n_q + 1", "are independent");
    check_unknown("E[q @ X.T @ ones(n_q)] == 0", "sum of sums");
    check_unknown("E[q @ k.T / mu] == 0", "may be zero");
    check_unknown("E[z / exp(mu)] == 0", "no polynomial");
    check_unknown("0 <= Var[z]", "no equation");
    check_unknown("V == V", "part of a call");
    check_unknown("z == mu", "no numbers tried");
    check_unknown("z == z", "no numbers at which");
    check_unknown("sqrt(8) == 2 * sqrt(2)", "no numbers at which");
    let product = vec!["(mu + sigma + nu + d_k + d_v + n_q + n_k + b)"; 20].join(" * ");
    check_unknown(&format!("{product} == 0"), "too many terms");
}
