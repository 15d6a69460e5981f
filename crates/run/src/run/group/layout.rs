//! Results that depend on how query, key and value lie in memory.

use qkvet_diagnose::together;
use qkvet_spec::{Cause, RightLayout, Verdict};

use super::Group;
use crate::run::state::RunState;

/// Cases that failed for one layout alone; if there are none, those that a fault explains but for
/// what their views gave.
pub(super) fn by_layout<'a>(state: &RunState<'_, 'a>, groups: &mut [Group<'a>]) -> Vec<Group<'a>> {
    let alone = |right: RightLayout| {
        let is_member = |at: &usize| {
            let case = &state.cases[*at];
            case.verdict() == Verdict::Fail && case.right_on() == Some(right)
        };
        let members: Vec<usize> = (0..state.cases.len()).filter(is_member).collect();
        (!members.is_empty()).then(|| group(right, Vec::new(), members))
    };
    let alone: Vec<Group<'a>> =
        [RightLayout::Contiguous, RightLayout::Views].into_iter().filter_map(alone).collect();
    if alone.is_empty() {
        groups.iter_mut().filter_map(|named| beside(state, named)).collect()
    } else {
        alone
    }
}

fn group<'a>(right: RightLayout, faults: Vec<String>, members: Vec<usize>) -> Group<'a> {
    Group::new(Verdict::Fail, Cause::Layout { right, faults }, members)
}

/// Takes from a group the cases whose views gave what its faults refute. What they compute bounds
/// its roundings, so that results which differ by those alone stay.
fn beside<'a>(state: &RunState<'_, 'a>, named: &mut Group<'a>) -> Option<Group<'a>> {
    let of_meaning =
        named.faults.iter().all(|fault| fault.behavior.is_none() && fault.execution.is_empty());
    if named.faults.is_empty() || !of_meaning {
        return None;
    }
    let seen = |at: &usize| {
        let case = &state.cases[*at];
        let contract = *state.config.contracts.get(&case.planned.dtype())?;
        Some((*at, case.on_views.as_ref()?.calls.as_slice(), contract))
    };
    let otherwise: Vec<_> = named.members.iter().filter_map(seen).collect();
    if otherwise.is_empty() {
        return None;
    }
    let mut calls: Vec<_> =
        otherwise.iter().map(|(_, calls, contract)| (*calls, *contract)).collect();
    // What contiguous inputs give confirms the faults.
    calls.extend(state.evidence(&named.members));
    let explained = together(&calls, state.meaning, &named.faults)?.explained;
    let is_refuted = |at: &usize| {
        otherwise.iter().position(|(of, ..)| of == at).is_some_and(|n| !explained.contains(&n))
    };
    let (moved, kept): (Vec<usize>, Vec<usize>) =
        named.members.iter().partition(|at| is_refuted(at));
    if moved.is_empty() || kept.is_empty() {
        return None;
    }
    named.members = kept;
    let faults = named.faults.iter().map(|fault| fault.fault.clone()).collect();
    Some(Group { on_views: true, ..group(RightLayout::Contiguous, faults, moved) })
}
