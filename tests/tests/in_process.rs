//! Runs of smoke on a target of this process, and what they came to.

use std::sync::atomic::AtomicBool;

use qkvet_report::English;
use qkvet_run::adapters::{NamedTarget, OpenTarget, OwnTarget};
use qkvet_run::config::{CaseSource, RunConfig};
use qkvet_run::run::run;
use qkvet_spec::{Catalog, Cause, CheckedLaw, Contract, Dtype, Summary, Verdict};

/// What these laws say of the target that `open` makes, each format under its contract.
pub(crate) fn check(
    catalog: &Catalog,
    open: impl Fn() -> OpenTarget + Send + Sync + 'static,
    laws: Vec<&CheckedLaw>,
    contracts: &[(Dtype, &Contract)],
) -> Summary {
    let own = OwnTarget::new(open, |_| String::new());
    let target = NamedTarget::new("own".to_owned(), own);
    let cases = CaseSource::Suite { suite: &catalog.suites["smoke"], seed: 0 };
    let stop = AtomicBool::new(false);
    let config = RunConfig {
        laws,
        dtypes: contracts.iter().map(|(dtype, _)| *dtype).collect(),
        contracts: contracts.iter().copied().collect(),
        ..RunConfig::of(&English, catalog, &target, cases, &stop)
    };
    run(&config, &mut |_| {}).expect("a run")
}

/// What is wrong with the numbers. Calls that nobody should make are another matter.
pub(crate) fn causes(summary: &Summary) -> Vec<&Cause> {
    let wrong = summary.findings.iter().filter(|finding| finding.verdict == Verdict::Fail);
    wrong.map(|finding| &finding.cause).collect()
}
