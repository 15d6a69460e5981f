//! Every plan of every law builds, into the law's domains, always into the same case.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use qkvet_gen::{CasePlan, case_id, check_case, from_json, to_json};
use qkvet_spec::Binding;

use crate::plan_strategy::plan_strategy;
use crate::{built, catalog, law, matrices};

/// Draws plans by a fixed seed; what cannot be drawn is an error, not a skip.
pub(crate) fn for_each_plan(
    plans: impl Strategy<Value = CasePlan>,
    count: usize,
    mut check: impl FnMut(CasePlan),
) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner =
        TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng);
    for _ in 0..count {
        check(plans.new_tree(&mut runner).unwrap().current());
    }
}

#[test]
fn every_plan_builds_always_into_the_same_case() {
    for law in catalog().asking_laws() {
        for_each_plan(plan_strategy(law), 40, |plan| {
            // A law may ask for two different indices below an extent.
            let case = built(law, &plan);
            check_case(law, &case).unwrap();
            let again = built(law, &plan);
            assert_eq!(case, again);
            let id = case_id(&case);
            assert!(id.len() == 18 && id.starts_with("c-"), "{id}");
            let stored = from_json(&to_json(&case)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(stored, case);
            assert_eq!(case_id(&stored), id);
            let other = built(law, &CasePlan { seed: plan.seed ^ 1, tiny: false, ..plan.clone() });
            check_case(law, &other).unwrap();
        });
    }
}

#[test]
fn drawn_variables_lie_in_their_domains() {
    let law = law(
        "law: x\ntitle: t\ngiven:\n  n: dim(2..5)\n  P: permutation(n)\n  S: subset(n_k)\n  i: index(n)\n  \
                   j: index(n, not=i)\n  t: real(-2..100)\n  Y: matrix(n + 1, 2 * d_v)\nexpect: P @ P.T == eye(n)\n\
                   options: []\nproof: exact\ncatches: []\n",
    );
    let mut seen = [false; 5];
    for_each_plan(plan_strategy(&law), 400, |plan| {
        let case = built(&law, &plan);
        let Binding::Dim(n) = case.bindings["n"] else { panic!() };
        assert_eq!(plan.law_dims, [n]);
        let permutation = matrices(&case, "P");
        for line in permutation.data.chunks(n) {
            assert_eq!(line.iter().sum::<f64>(), 1.0);
        }
        let identity = (0..n).all(|i| permutation.data[i * n + i] == 1.0);
        assert!(!identity, "never the identity");
        let (Binding::Index(i), Binding::Index(j)) = (&case.bindings["i"], &case.bindings["j"])
        else {
            panic!()
        };
        assert!(i != j && *i < n && *j < n);
        seen[*j] = true;
        let Binding::Indices(subset) = &case.bindings["S"] else { panic!() };
        assert!(!subset.is_empty() && subset.is_sorted_by(|x, y| x < y));
        assert!(subset.len() < plan.dims.n_k || plan.dims.n_k == 1, "a proper subset");
        let Binding::Real(t) = case.bindings["t"] else { panic!() };
        assert!((-2.0..=100.0).contains(&t));
        let y = matrices(&case, "Y");
        assert_eq!((y.rows, y.cols), (n + 1, 2 * plan.dims.d_v));
    });
    assert_eq!(seen, [true; 5]);
}
