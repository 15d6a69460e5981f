//! What no fault of the atlas explains, or explains against evidence, is identified: as a formula
//! with a condition, confirmed by fresh calls.

use std::collections::BTreeSet;

use qkvet_diagnose::{
    ExplainedBy, Identified, RightCall, confirmed, explained_by, foretells, identify,
};
use qkvet_engine::affects::touches;
use qkvet_engine::law::Attempt;
use qkvet_spec::{
    Behavior, CallOption, Cause, Deviation, Dtype, Fault, FaultRef, Meaning, Standing, Stopped,
    Verdict,
};

use super::call::Workers;
use super::divide::{MIN_PART, Part, divided, only_without};
use super::fresh::{Fresh, KNOWING, first_call, right_like};
use super::group::{Group, unexplained, wrong};
use super::judge::judge_again;
use super::state::RunState;

/// Right cases whose calls are looked at.
const MAX_RIGHT: usize = 240;
/// Cases that are put to new processes.
const MAX_ALONE: usize = 3;

/// The groups with what was identified in the place of wrong results that nothing explains, and of
/// names that right results contradict.
pub(super) fn identified<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    mut groups: Vec<Group<'a>>,
) -> Vec<Group<'a>> {
    if !is_asked(state) {
        return groups;
    }
    refute_memory(state, workers, &mut groups);
    groups.iter_mut().for_each(|group| doubt(state, workers, group));
    if !groups.iter().any(is_doubtful) {
        return groups;
    }
    let members: Vec<usize> = groups
        .iter()
        .filter(|group| is_of_values(group))
        .flat_map(|it| if is_outnumbered(it) { it.with_others() } else { it.members.clone() })
        .collect();
    let mut found: Vec<Group<'a>> = Vec::new();
    let mut formats = Dtype::ALL;
    // What is narrow tells less: it is held against what was found before.
    formats.sort_by_key(|dtype| std::cmp::Reverse(dtype.precision()));
    for dtype in formats {
        let mut own = of_format(state, &members, dtype);
        carry_over(state, &mut found, &mut own);
        if own.is_empty() {
            continue;
        }
        for group in of_one_format(state, workers, dtype, &own) {
            match found.iter_mut().find(|known| known.cause.is_like(&group.cause)) {
                Some(known) => known.members.extend(group.members),
                None => found.push(group),
            }
        }
    }
    // What too few cases of a wider format told is told by those of a narrower one.
    let mut left = members;
    left.retain(|at| !found.iter().any(|group| group.members.contains(at)));
    carry_over(state, &mut found, &mut left);
    // Cases beside a fault whose place is taken.
    let mut open: Vec<usize> = Vec::new();
    // Who is named, and explains nearly all that a group of the atlas does, takes its place.
    for group in groups.iter_mut().filter(|group| is_of_values(group)) {
        let own: BTreeSet<usize> = group.members.iter().copied().collect();
        let is_free = |at: &usize| !own.contains(at);
        let shared = |other: &Group<'a>| match other.cause.is_named() {
            true => other.members.iter().filter(|at| own.contains(at)).count(),
            false => 0,
        };
        let shares: Vec<usize> = found.iter().map(shared).collect();
        // What right results contradict is given up for several names as for one.
        let most = match group.is_contradicted() {
            true => shares.iter().sum(),
            false => shares.iter().copied().max().unwrap_or(0),
        };
        let is_replaced = !group.faults.is_empty() && most * 10 >= own.len() * 9;
        let heir = (0..found.len()).max_by_key(|at| shares[*at]).filter(|_| is_replaced);
        if !group.faults.is_empty() && heir.is_none() {
            found.iter_mut().for_each(|other| other.members.retain(is_free));
        }
        let taken: BTreeSet<usize> =
            found.iter().flat_map(|other| other.members.iter().copied()).collect();
        match heir {
            Some(heir) => {
                open.append(&mut group.others);
                group.members.clear();
                found[heir].members.extend(own.difference(&taken));
                found[heir].members.sort_unstable();
            }
            None if group.faults.is_empty() => group.members.retain(|at| !taken.contains(at)),
            None => group.leave_out(state, |at| taken.contains(&at)),
        }
    }
    let told: BTreeSet<usize> =
        found.iter().chain(&groups).flat_map(|group| group.members.iter().copied()).collect();
    open.retain(|at| !told.contains(at));
    let (mut put, mut open): (Vec<usize>, Vec<usize>) =
        open.into_iter().partition(|at| is_put(state, *at));
    carry_over(state, &mut found, &mut put);
    open.append(&mut put);
    open.sort_unstable();
    groups.extend(unexplained(state, &open));
    groups.retain(|group| !group.members.is_empty());
    found.retain(|group| !group.members.is_empty());
    found.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    found.into_iter().chain(groups).collect()
}

/// Whether a target may be asked fresh calls: one is one more combination for which a compiled target
/// is compiled, and a shard has not seen what the others have.
pub(super) fn is_asked(state: &RunState<'_, '_>) -> bool {
    state.config.identifies
        && state.config.sharding.is_none()
        && state.config.cases.most_shapes().is_none()
        && !matches!(state.stopped, Some(Stopped::Interrupted | Stopped::Gone(_)))
}

/// Takes names away that say what a target keeps from call to call, where a call is wrong in a new
/// process too, which has kept nothing.
fn refute_memory<'a>(
    state: &RunState<'_, 'a>,
    workers: &Workers<'_, 'a>,
    groups: &mut Vec<Group<'a>>,
) {
    if state.config.target.adapter.max_restarts().is_none() {
        return;
    }
    let is_wrong_alone = |at: &usize| {
        let Ok(mut new) = workers.open_again(state.meaning, 1) else { return false };
        let planned = &state.cases[*at].planned;
        let again = judge_again(&mut new, planned, state.meaning, Attempt::Same);
        again.is_ok_and(|case| case.verdict() == Verdict::Fail)
    };
    let is_refuted = |group: &Group<'_>| {
        let is_one_call = |at: &&usize| state.cases[**at].calls.len() == 1;
        let alone: Vec<&usize> = group.members.iter().filter(is_one_call).take(MAX_ALONE).collect();
        group.verdict == Verdict::Fail
            && group.faults.iter().any(|it| remembers(it))
            && !alone.is_empty()
            && alone.into_iter().all(is_wrong_alone)
    };
    let refuted: Vec<Group<'a>> = groups.extract_if(.., |group| is_refuted(group)).collect();
    if refuted.is_empty() {
        return;
    }
    let is_open = |group: &mut Group<'_>| {
        matches!(group.cause, Cause::Unexplained { .. }) && is_of_values(group)
    };
    let open: Vec<Group<'a>> = groups.extract_if(.., is_open).collect();
    let mut members: Vec<usize> =
        refuted.iter().chain(&open).flat_map(Group::with_others).collect();
    members.sort_unstable();
    groups.extend(unexplained(state, &members));
}

/// Whether a fault is that something of an earlier call is kept.
fn remembers(fault: &Fault) -> bool {
    fault.behavior.is_some_and(Behavior::keeps_something)
}

/// Puts fresh calls that the fault of a group has to foretell: other sizes and options than those of
/// the suite tell it from what is like it in all cases. What it does not foretell speaks against
/// it.
fn doubt<'a>(state: &RunState<'_, 'a>, workers: &mut Workers<'_, 'a>, group: &mut Group<'a>) {
    let Cause::Faults { contradicted, .. } = &mut group.cause else { return };
    let [fault] = group.faults[..] else { return };
    let is_open = group.verdict == Verdict::Fail && !group.on_views && *contradicted == 0;
    if !is_open || !fault.is_formula() {
        return;
    }
    let formats = group.members.iter().map(|at| state.cases[*at].planned.dtype());
    let Some(dtype) = formats.max_by_key(|dtype| dtype.precision()) else { return };
    let members = of_format(state, &group.members, dtype);
    let failures = state.evidence(&members);
    let mut fresh = Fresh::new(state, workers, dtype, &members);
    let (put, foretold) = foretells(&failures, state.meaning, fault, &mut fresh);
    *contradicted = put - foretold;
}

/// Those of the cases that can be put in other forms, of one format.
pub(super) fn of_format(state: &RunState<'_, '_>, members: &[usize], dtype: Dtype) -> Vec<usize> {
    let is_own = |at: &usize| state.cases[*at].planned.dtype() == dtype && is_put(state, *at);
    members.iter().copied().filter(is_own).collect()
}

/// Whether a case can be put in other forms.
fn is_put(state: &RunState<'_, '_>, at: usize) -> bool {
    let case = &state.cases[at];
    case.planned.plan().is_some() && !case.calls.is_empty()
}

/// Adds the failures of another format to the formulas that explain them, and leaves the others.
fn carry_over<'a>(state: &RunState<'_, 'a>, found: &mut [Group<'a>], left: &mut Vec<usize>) {
    for group in found {
        let Cause::Deviation { deviation, .. } = &mut group.cause else { continue };
        if deviation.standing != Standing::Named || left.is_empty() {
            continue;
        }
        let ExplainedBy { members, untold, calls, .. } =
            explained_by(&state.evidence(left), state.meaning, &[&*deviation]);
        let is_all = members.len() + untold.len() == left.len();
        let taken = members.iter().chain(untold.iter().filter(|_| is_all && !members.is_empty()));
        let taken: BTreeSet<usize> = taken.map(|at| left[*at]).collect();
        left.retain(|at| !taken.contains(at));
        group.members.extend(taken);
        deviation.explained += calls;
        deviation.of += calls;
    }
}

/// Whether wrong values are what a group is about.
fn is_of_values(group: &Group<'_>) -> bool {
    let is_cause = matches!(group.cause, Cause::Unexplained { .. } | Cause::Faults { .. });
    group.verdict == Verdict::Fail && is_cause && !group.on_views
}

/// Whether a group has no name, or one that speaks of what a target does besides computing, or that
/// right results contradict.
fn is_doubtful(group: &Group<'_>) -> bool {
    is_of_values(group)
        && (group.faults.is_empty()
            || group.is_contradicted()
            || is_outnumbered(group)
            || group.faults.iter().any(|it| remembers(it)))
}

/// Whether more cases with the options of a fault are explained by nothing than by the fault.
fn is_outnumbered(group: &Group<'_>) -> bool {
    group.others.len() > group.members.len()
}

/// What is identified among cases of one format.
fn of_one_format<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    dtype: Dtype,
    members: &[usize],
) -> Vec<Group<'a>> {
    let parts = divided(state, members);
    parts
        .and_then(|parts| of_parts(state, workers, (dtype, members), &parts))
        .unwrap_or_else(|| of_calls(state, workers, dtype, (members, None)))
}

/// What is named in each part, by the atlas or by a formula; `None` where nothing is, or where both
/// differ by their condition alone: all calls say more together. With both options nothing is
/// claimed but what explains every such case.
fn of_parts<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    (dtype, members): (Dtype, &[usize]),
    parts: &[Part],
) -> Option<Vec<Group<'a>>> {
    let mut found: Vec<Group<'a>> = Vec::new();
    let mut others = Vec::new();
    for Part { members: own, without } in parts {
        let mut left = own.clone();
        carry_over(state, &mut found, &mut left);
        if left.len() < MIN_PART {
            continue;
        }
        let asked = (&left[..], Some(*without));
        let is_whole =
            |group: &Group<'_>| group.cause.is_named() && group.members.len() == left.len();
        let named = by_atlas(state, workers, dtype, asked)
            .or_else(|| of_calls(state, workers, dtype, asked).into_iter().find(is_whole));
        if let Some(named) = named {
            found.push(named);
            others.push(*without);
        }
    }
    let deviations: Vec<&Deviation> = found.iter().filter_map(deviation).collect();
    if deviations.is_empty() || deviations.windows(2).any(|two| two[0].formula == two[1].formula) {
        return None;
    }
    let is_of_both = |at: &usize| parts.iter().all(|part| !part.members.contains(at));
    let both: Vec<usize> = members.iter().copied().filter(is_of_both).collect();
    judge_both(state, &mut found, &others, both);
    if found.len() < parts.len() {
        let is_open = |at: &usize| found.iter().all(|group| !group.members.contains(at));
        let rest: Vec<usize> = members.iter().copied().filter(is_open).collect();
        found.extend(of_calls(state, workers, dtype, (&rest, None)));
    }
    Some(found)
}

/// Adds cases with both options to the formulas that explain them, alone or together. A formula that
/// explains none of them alone, where some are explained by nothing, holds without the other option
/// only; else those count against it.
fn judge_both<'a>(
    state: &RunState<'_, 'a>,
    found: &mut [Group<'a>],
    others: &[CallOption],
    mut both: Vec<usize>,
) {
    let shown = |of: &[usize], by: &[&Deviation]| {
        let shown = explained_by(&state.evidence(of), state.meaning, by);
        (shown.members.iter().map(|at| of[*at]).collect::<Vec<_>>(), shown)
    };
    let all: Vec<&Deviation> = found.iter().filter_map(deviation).collect();
    let (_, together) = shown(&both, &all);
    let is_all = together.members.len() + together.untold.len() == both.len();
    for (group, other) in found.iter_mut().zip(others) {
        let Cause::Deviation { deviation, .. } = &mut group.cause else { continue };
        if !is_all && shown(&both, &[&*deviation]).0.is_empty() {
            deviation.when = only_without(deviation.when.take(), *other);
        }
    }
    carry_over(state, found, &mut both);
    let all: Vec<&Deviation> = found.iter().filter_map(deviation).collect();
    let (members, together) = shown(&both, &all);
    if let Some(Group { cause: Cause::Deviation { deviation, .. }, members: own, .. }) =
        found.last_mut()
    {
        own.extend(&members);
        deviation.explained += together.calls;
        deviation.of += together.calls;
    }
    both.retain(|at| !members.contains(at));
    for group in found {
        let Cause::Deviation { deviation, .. } = &mut group.cause else { continue };
        deviation.of += shown(&both, &[&*deviation]).1.of;
    }
}

/// A fault of the atlas that explains all of these cases, and foretells fresh calls without an
/// option.
fn by_atlas<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    dtype: Dtype,
    (members, without): (&[usize], Option<CallOption>),
) -> Option<Group<'a>> {
    let groups = wrong(state, members.to_vec());
    let [group] = &groups[..] else { return None };
    let [fault] = group.faults[..] else { return None };
    if !fault.is_formula() || group.is_contradicted() || group.members.len() < members.len() {
        return None;
    }
    let failures = state.evidence(members);
    // That a call uses the option that the fault is about goes without saying.
    let bare = Fault { when: None, ..fault.clone() };
    let right = right_calls(state, dtype, members);
    let wrong = failures.iter().flat_map(|(calls, _)| calls.iter().map(|record| &record.call));
    let mut calls = right.iter().map(|right| &right.call).chain(wrong);
    let is_same = |call| touches(&bare, state.meaning, call) == touches(fault, state.meaning, call);
    let told = if calls.all(is_same) { &bare } else { fault };
    let mut fresh = Fresh::new(state, workers, dtype, members).without(without);
    let deviation = confirmed(&failures, state.meaning, told, &mut fresh)?;
    let faults = vec![FaultRef::from(fault)];
    let cause = Cause::Deviation { deviation: Box::new(deviation), faults };
    Some(Group::new(Verdict::Fail, cause, members.to_vec()))
}

/// What was found, if it is a formula.
fn deviation<'g>(group: &'g Group<'_>) -> Option<&'g Deviation> {
    match &group.cause {
        Cause::Deviation { deviation, .. } => Some(deviation),
        _ => None,
    }
}

/// What is identified among these cases, by fresh calls without an option if one is given.
fn of_calls<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    dtype: Dtype,
    (members, without): (&[usize], Option<CallOption>),
) -> Vec<Group<'a>> {
    let failures = state.evidence(members);
    let right = right_calls(state, dtype, members);
    let mut fresh = Fresh::new(state, workers, dtype, members).without(without);
    let found = identify(&failures, &right, state.meaning, &mut fresh);
    found.into_iter().map(|one| group(state, one, members)).collect()
}

fn group<'a>(state: &RunState<'_, 'a>, found: Identified, cases: &[usize]) -> Group<'a> {
    let Identified { deviation, members } = found;
    let standard = Meaning::standard();
    let meaning = deviation.formula.meaning.apply(&standard);
    let is_same = |fault: &&&'a Fault| {
        deviation.standing == Standing::Named
            && deviation.formula.twist.is_none()
            && deviation.formula.result.is_none()
            && fault.execution.is_empty()
            && fault.behavior.is_none()
            && fault.meaning.apply(&standard) == meaning
    };
    let faults: Vec<&Fault> = state.config.catalog.faults.values().collect();
    // The plainest of several: the others have a condition of their own.
    let length = |fault: &&&'a Fault| fault.when.as_ref().map_or(0, |when| when.text().len());
    let faults = faults.iter().filter(is_same).min_by_key(length);
    let faults = faults.map(|fault| FaultRef::from(*fault));
    let cause =
        Cause::Deviation { deviation: Box::new(deviation), faults: faults.into_iter().collect() };
    Group::new(Verdict::Fail, cause, members.into_iter().map(|at| cases[at]).collect())
}

/// Calls of cases of the format that came out right.
pub(super) fn right_calls(
    state: &RunState<'_, '_>,
    dtype: Dtype,
    members: &[usize],
) -> Vec<RightCall> {
    let right = |at: usize| {
        let planned = &state.cases[at].planned;
        let is_known = KNOWING.contains(&planned.law());
        Some(RightCall { call: first_call(state, planned)?, is_known })
    };
    right_like(state, dtype, members, MAX_RIGHT).into_iter().filter_map(right).collect()
}
