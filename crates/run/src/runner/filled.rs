//! Calls without a mask that were put with one, as a target that takes a mask in every call needs
//! it.

use std::borrow::Cow;

use qkvet_engine::law::CallRecord;
use qkvet_spec::{BoolTensor, CallOption, Convention, Meaning, Verdict};

use super::RunConfig;
use super::planned::Planned;
use super::state::Done;

/// Whether the convention is about masks: what is true everywhere hides nothing by the standard,
/// and everything by it.
pub(super) fn is_of_masks(convention: &Convention) -> bool {
    convention.option == Some(CallOption::Mask)
}

/// Whether the target is given another mask, where a call has none, once it is known to take masks
/// by `found`.
pub(super) fn changes_masks(
    config: &RunConfig<'_>,
    declared: &Meaning,
    found: &[&Convention],
) -> bool {
    puts_true(config, declared) && found.iter().any(|convention| is_of_masks(convention))
}

/// Whether calls without a mask are put with one that is true everywhere.
fn puts_true(config: &RunConfig<'_>, declared: &Meaning) -> bool {
    config.target.adapter.fills_masks() && declared.mask == Meaning::standard().mask
}

/// The numbers of failing cases that have no mask and are right once none is put as one that hides
/// nothing.
pub(super) fn filled(cases: &[Planned<'_>], before: &[Done], after: &[Done]) -> Vec<usize> {
    let is_filled = |at: &usize| {
        before[*at].verdict == Verdict::Fail
            && after[*at].verdict != Verdict::Fail
            && !cases[*at].uses(CallOption::Mask)
    };
    (0..cases.len()).filter(is_filled).collect()
}

/// The calls as they were put.
pub(super) fn as_put<'a>(
    config: &RunConfig<'_>,
    declared: &Meaning,
    calls: &'a [CallRecord],
) -> Cow<'a, [CallRecord]> {
    if puts_true(config, declared) { calls.iter().map(with_mask).collect() } else { calls.into() }
}

fn with_mask(record: &CallRecord) -> CallRecord {
    let mut record = record.clone();
    if record.call.misfit().is_none() {
        let shape = vec![record.call.dims().n_q, record.call.dims().n_k];
        record
            .call
            .options
            .mask
            .get_or_insert_with(|| BoolTensor { data: vec![true; shape.iter().product()], shape });
    }
    record
}
