//! What the cases of a finding say together: where they lie, which elements are wrong, which keys a
//! query weighs.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use qkvet_diagnose::{Place, boundary, region, structure};
use qkvet_engine::law::{CallRecord, read_keys};
use qkvet_spec::{CallOption, Cause, Condition, Contract, Reading, SeenIn, Verdict, WrongElements};

use super::replay::keep;
use crate::run::call::Workers;
use crate::run::case::JudgedCase;
use crate::run::group::Group;
use crate::run::identify::{of_format, right_calls};
use crate::run::state::RunState;

/// Cases whose outputs are looked at.
const MAX_READ: usize = 20;

/// What the plainest case whose output can be read says of the keys that a query weighs; the case
/// is kept.
pub(super) fn reading(
    state: &RunState<'_, '_>,
    workers: &Workers<'_, '_>,
    group: &Group<'_>,
) -> Option<SeenIn<Reading>> {
    let mut readable = group.members.clone();
    readable.retain(|at| state.cases[*at].planned.is_routed());
    readable.sort_by_key(|at| {
        let planned = &state.cases[*at].planned;
        (planned.options(), planned.dims().n_k, planned.size())
    });
    seen_in(state, workers, &readable, |record, contract| {
        read_keys(record, state.meaning, contract)
    })
}

/// What the members have in common and few passing cases of their laws.
pub(super) fn boundary_of(state: &RunState<'_, '_>, group: &Group<'_>) -> Option<Condition> {
    if group.verdict != Verdict::Fail {
        return None;
    }
    let place = |case: &JudgedCase<'_>| {
        let planned = &case.planned;
        let options = CallOption::ALL.into_iter().filter(|option| planned.uses(*option)).collect();
        // The call that is wrong may have other extents than the case, such as fewer keys.
        let shown = case.record.evidence.as_ref().map(|evidence| &evidence.place.of);
        let wrong = case.calls.iter().find(|record| Some(&record.label) == shown);
        let dims =
            wrong.filter(|record| record.call.misfit().is_none()).map(|record| record.call.dims());
        Place { dims: dims.unwrap_or(planned.dims()), dtype: planned.dtype(), options }
    };
    let laws: BTreeSet<&str> =
        state.of(&group.members).map(|case| case.record.law.as_str()).collect();
    let is_right = |case: &&JudgedCase<'_>| {
        case.verdict() == Verdict::Pass && laws.contains(case.record.law.as_str())
    };
    let failing: Vec<Place> = state.of(&group.members).map(place).collect();
    let passing: Vec<Place> = state.cases.iter().filter(is_right).map(place).collect();
    boundary(&failing, &passing)
}

/// What the wrong elements of the members have in common, if nothing explains all of them: in the
/// widest format, which tells most.
pub(super) fn region_of(state: &RunState<'_, '_>, group: &Group<'_>) -> Option<Condition> {
    let is_of_values = !matches!(group.cause, Cause::Form { .. });
    let is_open = is_of_values && (group.is_unexplained() || group.is_contradicted());
    if group.verdict != Verdict::Fail || !is_open {
        return None;
    }
    let formats = group.members.iter().map(|at| state.cases[*at].planned.dtype());
    let dtype = formats.max_by_key(|dtype| dtype.precision())?;
    let members = of_format(state, &group.members, dtype);
    region(&state.evidence(&members), &right_calls(state, dtype, &members), state.meaning)
}

/// Where the wrong elements are in the largest output of a member, if nothing explains them; the
/// case is kept.
pub(super) fn structure_of(
    state: &RunState<'_, '_>,
    workers: &Workers<'_, '_>,
    group: &Group<'_>,
) -> Option<SeenIn<WrongElements>> {
    if group.verdict != Verdict::Fail || !group.is_unexplained() {
        return None;
    }
    let mut members = group.members.clone();
    members.sort_by_key(|at| (Reverse(state.cases[*at].planned.size()), *at));
    seen_in(state, workers, &members, |record, contract| structure(record, state.meaning, contract))
}

/// The first of the cases that has a call of which something is `seen`; it is kept.
fn seen_in<T>(
    state: &RunState<'_, '_>,
    workers: &Workers<'_, '_>,
    members: &[usize],
    seen: impl Fn(&CallRecord, &Contract) -> Option<T>,
) -> Option<SeenIn<T>> {
    members.iter().take(MAX_READ).find_map(|at| {
        let case = &state.cases[*at];
        let contract = state.config.contracts.get(&case.planned.dtype())?;
        let seen = case.calls.iter().find_map(|record| seen(record, contract))?;
        keep_member(state, workers, *at);
        Some(SeenIn { case: case.record.id.clone(), seen })
    })
}

/// Keeps a member, so that it can be replayed.
pub(super) fn keep_member(state: &RunState<'_, '_>, workers: &Workers<'_, '_>, at: usize) {
    let JudgedCase { planned, record, .. } = &state.cases[at];
    if let (Ok(case), Ok(law)) = (planned.case(state.config), planned.checked_law(state.config)) {
        keep(state.conventions, workers, (&record.id, &case, law), None);
    }
}
