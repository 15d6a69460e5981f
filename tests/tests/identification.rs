//! Faults of the atlas that strike under a condition which no file has: whole runs in every format
//! come to one finding, with the fault and the condition.

use qkvet_engine::simulate::Simulator;
use qkvet_run::adapters::OpenTarget;
use qkvet_spec::{Catalog, Cause, Dtype, Execution, Fault, IndexExpr, Meaning, Standing, Summary};

use crate::in_process::{self, causes};

fn check(catalog: &Catalog, fault: &Fault) -> Summary {
    let fault = fault.clone();
    let open = move || {
        let right = Simulator::new(Meaning::standard(), Execution::standard());
        OpenTarget::live(right.with_fault(fault.clone()), Vec::new())
    };
    let suite = &catalog.suites["smoke"];
    let contract = |dtype: &Dtype| catalog.default_contract(*dtype).expect("a contract");
    let contracts: Vec<_> = suite.dtypes.iter().map(|dtype| (*dtype, contract(dtype))).collect();
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
        let summary = check(&catalog, &faulty);
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
        let summary = check(&catalog, &catalog.faults[fault]);
        let [Cause::Faults { faults, contradicted: 0, .. }] = causes(&summary)[..] else {
            panic!("{fault}: {:#?}", causes(&summary));
        };
        assert_eq!(faults.iter().map(|one| &one.fault).collect::<Vec<_>>(), [fault]);
    }
}
