//! Calls without a mask that were put with one, as a target that takes a mask in every call needs it.

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{CallRecord, explains};
use qkvet_spec::{BoolTensor, CallOption, Convention, Meaning, Verdict};

use super::RunConfig;
use super::pass::Done;
use super::planned::Planned;

/// Whether the convention is about masks: what is true everywhere hides nothing by the standard, and everything by it.
pub(super) fn is_of_masks(convention: &Convention) -> bool {
    convention.option == Some(CallOption::Mask)
}

/// Marks the failing cases whose calls are right by `meaning` for the mask that was put in place of none, and gives their numbers.
pub(super) fn filled(
    config: &RunConfig<'_>,
    cases: &[Planned<'_>],
    found: &[&Convention],
    meaning: &Meaning,
    done: &mut [Done],
) -> Vec<usize> {
    if !found.iter().any(|convention| is_of_masks(convention)) || !config.target.kind.fills_masks() {
        return Vec::new();
    }
    let is_right = |done: &Done| {
        let Some(contract) = config.contracts.get(&done.dtype) else { return false };
        let as_put = done.calls.iter().map(with_mask);
        !done.calls.is_empty()
            && as_put
                .into_iter()
                .all(|record| explains(&record, |want| interpret(meaning, &record.call, contract, want)))
    };
    let mut filled = Vec::new();
    for (at, done) in done.iter_mut().enumerate() {
        if done.verdict == Verdict::Fail && !cases[at].uses(CallOption::Mask) && is_right(done) {
            done.explained = true;
            filled.push(at);
        }
    }
    filled
}

/// The call as it was put.
fn with_mask(record: &CallRecord) -> CallRecord {
    let mut record = record.clone();
    let shape = vec![record.call.dims().n_q, record.call.dims().n_k];
    record.call.options.mask.get_or_insert_with(|| BoolTensor { data: vec![true; shape.iter().product()], shape });
    record
}
