//! What is known of a run: its judged cases, and by what they were judged.

use qkvet_engine::law::CallRecord;
use qkvet_spec::{Contract, Convention, Dtype, Meaning, Stopped, Verdict};

use super::case::JudgedCase;
use crate::config::RunConfig;

/// Everything that a step reads.
#[derive(Clone, Copy)]
pub(super) struct RunState<'r, 'a> {
    pub(super) config: &'r RunConfig<'a>,
    pub(super) cases: &'r [JudgedCase<'a>],
    pub(super) meaning: &'r Meaning,
    /// Conventions that `meaning` follows.
    pub(super) conventions: &'r [&'a Convention],
    /// Why the run ended before its last case, if it did.
    pub(super) stopped: Option<&'r Stopped>,
}

impl<'r, 'a> RunState<'r, 'a> {
    /// The cases of these numbers.
    pub(super) fn of(
        &self,
        members: &[usize],
    ) -> impl DoubleEndedIterator<Item = &'r JudgedCase<'a>> + Clone {
        members.iter().map(|at| &self.cases[*at])
    }

    /// Recorded calls of the given cases, each with its contract.
    pub(super) fn evidence(&self, members: &[usize]) -> Vec<(&'r [CallRecord], &'a Contract)> {
        members.iter().filter_map(|at| evidence(self.config, &self.cases[*at])).collect()
    }
}

/// The recorded calls of a case, with its contract.
pub(super) fn evidence<'c, 'a>(
    config: &RunConfig<'a>,
    case: &'c JudgedCase<'_>,
) -> Option<(&'c [CallRecord], &'a Contract)> {
    Some((case.calls.as_slice(), *config.contracts.get(&case.planned.dtype())?))
}

/// Those of [`failing`] of one format.
pub(super) fn failing_of(cases: &[JudgedCase<'_>], dtype: Dtype) -> Vec<usize> {
    let mut failing = failing(cases);
    failing.retain(|at| cases[*at].planned.dtype() == dtype);
    failing
}

/// Numbers of the cases that failed, but for those whose inputs were only to lie otherwise in
/// memory.
pub(super) fn failing(cases: &[JudgedCase<'_>]) -> Vec<usize> {
    let is_open =
        |case: &JudgedCase<'_>| case.verdict() == Verdict::Fail && case.right_on().is_none();
    (0..cases.len()).filter(|at| is_open(&cases[*at])).collect()
}
