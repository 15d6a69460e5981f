//! Outputs that come back in a wider format than the call: one finding, and everything else is
//! judged by the numbers as they are.

use qkvet_spec::{Behavior, Cause, Contract, Dtype, FaultRef, Form, ResultName, Verdict};

use super::call::Workers;
use super::case::JudgedCase;
use super::error::RunError;
use super::group::Group;
use super::judge::judge_under;
use super::state::{RunState, failing_of};

/// Formats whose outputs are wider.
pub(super) struct Wider<'a> {
    /// What holds instead of the contracts of the run.
    pub(super) contracts: Vec<(Dtype, Contract)>,
    /// What is told.
    pub(super) group: Group<'a>,
    /// All cases that failed for the format alone, judged by their numbers.
    pub(super) judged: Vec<(usize, JudgedCase<'a>)>,
}

/// Judges the formats of which most failing cases had a wider output; `None` if there are none.
pub(super) fn wider<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
) -> Result<Option<Wider<'a>>, RunError> {
    let catalog = state.config.catalog;
    let mut faults = catalog.faults.values();
    let fault = faults.find(|fault| fault.behavior == Some(Behavior::WideOutput));
    let Some(fault) = fault.filter(|_| state.stopped.is_none()) else { return Ok(None) };
    let (mut contracts, mut judged) = (Vec::new(), Vec::new());
    for (dtype, contract) in &state.config.contracts {
        let failing = failing_of(state.cases, *dtype);
        let is_wider = |at: &usize| is_wider(&state.cases[*at], contract);
        let wide: Vec<usize> = failing.iter().copied().filter(is_wider).collect();
        if wide.is_empty() || 2 * wide.len() < failing.len() {
            continue;
        }
        let Ok(granted) = catalog.contract(&format!("{}+wider-output", contract.contract)) else {
            continue;
        };
        judged.extend(judge_under(state, workers, &wide, &granted)?);
        contracts.push((*dtype, granted));
    }
    if contracts.is_empty() {
        return Ok(None);
    }
    let is_settled = |(_, case): &&(usize, JudgedCase<'a>)| case.verdict() != Verdict::Fail;
    let settled: Vec<usize> = judged.iter().filter(is_settled).map(|(at, _)| *at).collect();
    let of = judged.len();
    let members =
        if settled.is_empty() { judged.iter().map(|(at, _)| *at).collect() } else { settled };
    let faults = vec![FaultRef::from(fault)];
    let cause = Cause::Faults { faults, explained: of, of, contradicted: 0, rival: None };
    let group = Group { faults: vec![fault], ..Group::new(Verdict::Fail, cause, members) };
    Ok(Some(Wider { contracts, group, judged }))
}

/// Whether the format of an output is what is wrong, and it is wider than that of the contract.
fn is_wider(case: &JudgedCase<'_>, contract: &Contract) -> bool {
    let narrow = contract.output().precision();
    case.form() == Some(Form::Format(ResultName::Output))
        && case.calls.iter().any(|record| record.output.output.dtype.precision() > narrow)
}
