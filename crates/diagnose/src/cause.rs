//! Causes: the fault whose exact function holds every wrong result, or whose simulation returns the like.

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{CallRecord, CallResult, confirms, explains};
use qkvet_engine::simulate::{Simulator, faulty_meaning};
use qkvet_spec::{Behavior, Call, Contract, Execution, Fault, Meaning, Response, Target, Tensor};

/// A fault and how much of the evidence it explains.
#[derive(Clone, Debug)]
pub struct Cause<'a> {
    /// The fault.
    pub fault: &'a Fault,
    /// Numbers of the failures it explains.
    pub explained: Vec<usize>,
}

/// The faults that explain at least one of `failures`, the best first; ties keep the order of `faults`.
///
/// A fault of meaning explains a failure when the enclosure of every call under it, widened by the contract's bound, holds
/// what came back, and the enclosure without it does not. A fault of execution explains it when the simulator returns the
/// same elements.
pub fn cause<'a>(
    failures: &[(&[CallRecord], &Contract)],
    base: &Meaning,
    faults: impl IntoIterator<Item = &'a Fault>,
) -> Vec<Cause<'a>> {
    let explained_by = |fault: &'a Fault| {
        let explained =
            failures.iter().enumerate().filter(|(_, (calls, contract))| matches(calls, contract, base, fault));
        Cause { fault, explained: explained.map(|(at, _)| at).collect() }
    };
    let mut causes: Vec<Cause<'a>> =
        faults.into_iter().map(explained_by).filter(|cause| is_confirmed(cause, failures, base)).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.explained.len()));
    causes
}

/// Whether a failure that the cause explains confirms it: where bounds are vacuous, every fault holds whatever came back.
fn is_confirmed(cause: &Cause<'_>, failures: &[(&[CallRecord], &Contract)], base: &Meaning) -> bool {
    let fault = cause.fault;
    cause.explained.iter().any(|at| {
        let (calls, contract) = failures[*at];
        let of_meaning = |record: &CallRecord| {
            let meaning = faulty_meaning(base, fault, &record.call);
            meaning != *base
                && !explains(std::slice::from_ref(record), |_| base.clone(), contract)
                && confirms(record, &meaning, contract)
        };
        fault.meaning.is_empty() || calls.iter().any(of_meaning)
    })
}

fn matches(calls: &[CallRecord], contract: &Contract, base: &Meaning, fault: &Fault) -> bool {
    if fault.behavior == Some(Behavior::InputsOverwritten) {
        return calls.iter().any(|record| !record.output.inputs_unchanged);
    }
    let base_fits = |record: &CallRecord| explains(std::slice::from_ref(record), |_| base.clone(), contract);
    if !fault.meaning.is_empty() {
        // A fault that strikes no call, or none that is wrong, explains nothing.
        let meaning = |call: &Call| faulty_meaning(base, fault, call);
        let wrong = |record: &CallRecord| meaning(&record.call) != *base && !base_fits(record);
        return calls.iter().any(wrong) && explains(calls, meaning, contract);
    }
    if fault.execution.is_empty() || calls.iter().all(base_fits) {
        return false;
    }
    let mut simulator = Simulator::new(base.clone(), Execution::standard()).with_fault(fault.clone());
    calls.iter().all(|record| match simulator.call(&record.call) {
        Response::Output(output) => record.results().all(|result| {
            let simulated = result.want.of(&output);
            simulated.is_some_and(|simulated| alike(result, simulated, base, contract))
        }),
        _ => false,
    })
}

/// Element by element: not finite in both, or the same bits, or right in both. Where some elements overflowed in both,
/// others may have lost their digits in different ways: there wrong in both counts too.
fn alike(result: CallResult<'_>, simulated: &Tensor, base: &Meaning, contract: &Contract) -> bool {
    let Some(got) = result.tensor().filter(|got| got.shape == simulated.shape && got.dtype == simulated.dtype) else {
        return false;
    };
    let expected = interpret(base, &result.record.call, contract, result.want);
    let right = |at: usize, x: f64| {
        let ball = expected.exact[at];
        (x - ball.mid).abs() <= ball.rad + expected.hard[at]
    };
    let overflowed = got.data.iter().zip(&simulated.data).any(|(x, y)| !x.is_finite() && !y.is_finite());
    let same = |at: usize, x: f64, y: f64| match (x.is_finite(), y.is_finite()) {
        (true, true) if x.to_bits() == y.to_bits() => true,
        (true, true) if overflowed => right(at, x) == right(at, y),
        (true, true) => right(at, x) && right(at, y),
        (x, y) => x == y,
    };
    let mut pairs = got.data.iter().zip(&simulated.data).enumerate();
    expected.exact.len() == got.data.len() && pairs.all(|(at, (x, y))| same(at, *x, *y))
}
