//! Faults of the atlas that strike under a condition which no file has: whole runs in every format
//! come to one finding, with the fault and the condition.

use qkvet_engine::simulate::Simulator;
use qkvet_run::adapters::OpenTarget;
use qkvet_spec::{Catalog, Cause, Dtype, Execution, Fault, IndexExpr, Meaning, Standing, Summary};

use crate::in_process::{self, causes};

fn check(catalog: &Catalog, faults: &[Fault], dtypes: &[Dtype]) -> Summary {
    let faults = faults.to_vec();
    let open = move || {
        let right = Simulator::new(Meaning::standard(), Execution::standard());
        let faulty = faults.iter().fold(right, |target, fault| target.with_fault(fault.clone()));
        OpenTarget::live(faulty, Vec::new())
    };
    let suite = &catalog.suites["smoke"];
    let contract = |dtype: &Dtype| catalog.default_contract(*dtype).expect("a contract");
    let contracts: Vec<_> = dtypes.iter().map(|dtype| (*dtype, contract(dtype))).collect();
    let laws = catalog.suite_laws(suite).expect("known laws");
    in_process::check(catalog, open, laws, &contracts)
}

#[test]
fn a_fault_under_a_condition_is_one_finding_in_all_formats() {
    let catalog = Catalog::embedded().expect("a catalog");
    for (fault, when) in [
        // No case of the suite tells it from one of more queries than keys: fresh calls do.
        ("causal-ignored", "n_k % 4 == 0"),
        ("causal-upper-left", "n_q < 2"),
        ("keys-of-first-item", "n_q < 2"),
        ("window-ignored", "not causal"),
    ] {
        let when = IndexExpr::new(when).expect("a condition");
        let faulty = Fault { when: Some(when.clone()), ..catalog.faults[fault].clone() };
        let summary = check(&catalog, &[faulty], &catalog.suites["smoke"].dtypes);
        let [Cause::Deviation { deviation, faults }] = causes(&summary)[..] else {
            panic!("{fault} where {}: {:#?}", when.text(), causes(&summary));
        };
        assert_eq!(faults.iter().map(|one| &one.fault).collect::<Vec<_>>(), [fault]);
        assert_eq!(deviation.standing, Standing::Named, "{fault}");
        assert_eq!(deviation.when.as_ref().map(IndexExpr::text), Some(when.text()), "{fault}");
    }
}

#[test]
fn a_fault_without_a_condition_keeps_its_name() {
    let catalog = Catalog::embedded().expect("a catalog");
    for fault in ["scale-inverse-d", "causal-open-for-more-queries", "window-lost-without-mask"] {
        let fault_alone = [catalog.faults[fault].clone()];
        let summary = check(&catalog, &fault_alone, &catalog.suites["smoke"].dtypes);
        let [Cause::Faults { faults, contradicted: 0, .. }] = causes(&summary)[..] else {
            panic!("{fault}: {:#?}", causes(&summary));
        };
        assert_eq!(faults.iter().map(|one| &one.fault).collect::<Vec<_>>(), [fault]);
    }
}

/// A fault that strikes under this condition.
fn faulty(catalog: &Catalog, fault: &str, when: &str) -> Fault {
    let when = Some(IndexExpr::new(when).expect("a condition"));
    Fault { when, ..catalog.faults[fault].clone() }
}

/// What was identified: how surely, as which faults, and where.
fn told(summary: &Summary) -> Vec<(Standing, Vec<&str>, Option<&str>)> {
    fn deviation(cause: &Cause) -> Option<(Standing, Vec<&str>, Option<&str>)> {
        match cause {
            Cause::Deviation { deviation, faults } => Some((
                deviation.standing,
                faults.iter().map(|fault| fault.fault.as_str()).collect(),
                deviation.when.as_ref().map(IndexExpr::text),
            )),
            _ => None,
        }
    }
    causes(summary).into_iter().filter_map(deviation).collect()
}

/// All together they look like one that comes and goes.
#[test]
fn faults_beside_options_of_their_own_are_found_apart() {
    let catalog = Catalog::embedded().expect("a catalog");
    let faults = [
        faulty(&catalog, "causal-ignored", "i < n_q - 1"),
        faulty(&catalog, "mask-ignored", "not causal"),
    ];
    let summary = check(&catalog, &faults, &[Dtype::Float32]);
    let named = Standing::Named;
    let apart =
        [(named, vec!["mask-ignored"], Some("not causal")), (named, vec!["causal-ignored"], None)];
    assert_eq!(told(&summary), apart);
}

/// Of calls with both options, in which neither explains what comes, nothing is claimed: the atlas
/// has a fault that is the first one without the second option.
#[test]
fn a_name_found_beside_one_option_claims_nothing_beside_both() {
    let catalog = Catalog::embedded().expect("a catalog");
    let faults = [
        faulty(&catalog, "causal-ignored", "not mask"),
        faulty(&catalog, "mask-ignored", "not causal"),
        faulty(&catalog, "scale-inverse-d", "mask and causal"),
    ];
    let summary = check(&catalog, &faults, &[Dtype::Float32]);
    let named = Standing::Named;
    let apart = [
        (named, vec!["mask-ignored"], Some("not causal")),
        (named, vec!["causal-lost-without-mask"], Some("causal and not mask")),
    ];
    assert_eq!(told(&summary), apart);
}
