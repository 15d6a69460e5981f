//! Outputs that come back in a wider format than the call: one finding, and everything else is
//! judged by the numbers as they are.

use qkvet_spec::{Behavior, Catalog, Cause, Contract, Dtype, FaultRef, Form, ResultName, Verdict};

use super::case::JudgedCase;
use super::group::Group;
use super::state::{RunState, failing_of};
use crate::config::RunConfig;

/// Formats whose outputs are wider.
pub(super) struct Wider<'a> {
    /// What holds instead of the contracts of the run.
    pub(super) contracts: Vec<(Dtype, Contract)>,
    /// What is told.
    pub(super) group: Group<'a>,
    /// All cases that failed for the format alone, judged by their numbers.
    pub(super) judged: Vec<(usize, JudgedCase<'a>)>,
}

/// The formats of which most failing cases had a wider output, with those cases as they were judged
/// by their numbers; `None` if there are none.
pub(super) fn wider<'a>(state: &RunState<'_, 'a>) -> Option<Wider<'a>> {
    let catalog = state.config.catalog;
    let mut faults = catalog.faults.values();
    let fault = faults.find(|fault| fault.behavior == Some(Behavior::WideOutput));
    let fault = fault.filter(|_| state.stopped.is_none())?;
    let (mut contracts, mut judged) = (Vec::new(), Vec::new());
    for (dtype, contract) in &state.config.contracts {
        let failing = failing_of(state.cases, *dtype);
        let by_numbers =
            |at: &usize| Some((*at, (**state.cases[*at].by_numbers.as_ref()?).clone()));
        let wide: Vec<_> = failing.iter().filter_map(by_numbers).collect();
        if wide.is_empty() || 2 * wide.len() < failing.len() {
            continue;
        }
        let Some(granted) = widened(catalog, contract) else { continue };
        judged.extend(wide);
        contracts.push((*dtype, granted));
    }
    if contracts.is_empty() {
        return None;
    }
    let is_settled = |(_, case): &&(usize, JudgedCase<'a>)| case.verdict() != Verdict::Fail;
    let settled: Vec<usize> = judged.iter().filter(is_settled).map(|(at, _)| *at).collect();
    let of = judged.len();
    let members =
        if settled.is_empty() { judged.iter().map(|(at, _)| *at).collect() } else { settled };
    let faults = vec![FaultRef::from(fault)];
    let cause = Cause::Faults { faults, explained: of, of, contradicted: 0, rival: None };
    let group = Group { faults: vec![fault], ..Group::new(Verdict::Fail, cause, members) };
    Some(Wider { contracts, group, judged })
}

/// What holds for a case instead of its contract, where the format of an output is what is wrong,
/// and it is wider.
pub(super) fn granted(config: &RunConfig<'_>, case: &JudgedCase<'_>) -> Option<Contract> {
    if case.form() != Some(Form::Format(ResultName::Output)) {
        return None;
    }
    let contract = config.contracts.get(&case.planned.dtype())?;
    let narrow = contract.output().precision();
    let is_wider = case.calls.iter().any(|record| record.output.output.dtype.precision() > narrow);
    widened(config.catalog, contract).filter(|_| is_wider)
}

/// The contract with a wider output, if it can have one.
fn widened(catalog: &Catalog, contract: &Contract) -> Option<Contract> {
    catalog.contract(&format!("{}+wider-output", contract.contract)).ok()
}
