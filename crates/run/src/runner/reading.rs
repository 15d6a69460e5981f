//! What the cases of a finding say together: where they lie, which elements are wrong, which keys a
//! query weighs.

use std::collections::BTreeSet;

use qkvet_diagnose::{Place, boundary, structure};
use qkvet_engine::law::read_keys;
use qkvet_spec::{CallOption, Condition, Reading, SeenIn, Verdict, WrongElements};

use super::pass::Pass;
use super::state::{Group, RunState};
use super::trace::keep;

/// Cases whose outputs are looked at.
const MAX_READ: usize = 20;

/// What the plainest case whose output can be read says of the keys that a query weighs; the case
/// is kept.
pub(super) fn reading(
    scene: &RunState<'_, '_>,
    pass: &Pass<'_>,
    group: &Group<'_>,
) -> Option<SeenIn<Reading>> {
    let options =
        |at: usize| CallOption::ALL.iter().filter(|option| scene.cases[at].uses(**option)).count();
    let mut readable: Vec<usize> =
        group.members.iter().copied().filter(|at| scene.cases[*at].is_routed()).collect();
    readable.sort_by_key(|at| (options(*at), scene.cases[*at].dims().n_k, scene.cases[*at].size()));
    readable.into_iter().take(MAX_READ).find_map(|at| {
        let done = &scene.done[at];
        let contract = scene.config.contracts.get(&done.dtype)?;
        let seen =
            done.calls.iter().find_map(|record| read_keys(record, scene.meaning, contract))?;
        keep_member(scene, pass, at);
        Some(SeenIn { case: done.id.clone(), seen })
    })
}

/// What the members have in common and few passing cases of their laws.
pub(super) fn boundary_of(scene: &RunState<'_, '_>, group: &Group<'_>) -> Option<Condition> {
    if group.verdict != Verdict::Fail {
        return None;
    }
    let place = |at: usize| {
        let case = &scene.cases[at];
        let options = CallOption::ALL.into_iter().filter(|option| case.uses(*option)).collect();
        // The call that is wrong may have other extents than the case, such as fewer keys.
        let done = &scene.done[at];
        let shown = done.evidence.as_ref().map(|evidence| &evidence.place.of);
        let wrong = done.calls.iter().find(|record| Some(&record.label) == shown);
        let dims =
            wrong.filter(|record| record.call.misfit().is_none()).map(|record| record.call.dims());
        Place { dims: dims.unwrap_or(case.dims()), dtype: case.dtype(), options }
    };
    let laws: BTreeSet<&str> = group.members.iter().map(|at| scene.cases[*at].law()).collect();
    let is_right = |at: &usize| {
        scene.done[*at].verdict == Verdict::Pass && laws.contains(scene.cases[*at].law())
    };
    let failing: Vec<Place> = group.members.iter().copied().map(place).collect();
    let passing: Vec<Place> = (0..scene.done.len()).filter(is_right).map(place).collect();
    boundary(&failing, &passing)
}

/// Where the wrong elements are in the largest output of a member, if nothing explains them; the
/// case is kept.
pub(super) fn structure_of(
    scene: &RunState<'_, '_>,
    pass: &Pass<'_>,
    group: &Group<'_>,
) -> Option<SeenIn<WrongElements>> {
    if group.verdict != Verdict::Fail || !group.is_unexplained() {
        return None;
    }
    let mut members = group.members.clone();
    members.sort_by_key(|at| (std::cmp::Reverse(scene.cases[*at].size()), *at));
    members.into_iter().take(MAX_READ).find_map(|at| {
        let done = &scene.done[at];
        let contract = scene.config.contracts.get(&done.dtype)?;
        let seen =
            done.calls.iter().find_map(|record| structure(record, scene.meaning, contract))?;
        keep_member(scene, pass, at);
        Some(SeenIn { case: done.id.clone(), seen })
    })
}

/// Keeps a member, so that it can be replayed.
pub(super) fn keep_member(scene: &RunState<'_, '_>, pass: &Pass<'_>, at: usize) {
    let (planned, done) = (&scene.cases[at], &scene.done[at]);
    if let (Ok(case), Ok(law)) = (planned.case(scene.config), planned.checked_law(scene.config)) {
        keep(scene.config, scene.conventions, pass, (&done.id, &case, law), None);
    }
}
