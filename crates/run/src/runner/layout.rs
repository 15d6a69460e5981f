//! Results that depend on how query, key and value lie in memory.

use qkvet_diagnose::together;
use qkvet_spec::{Cause, Evidence, RightLayout, Verdict};

use super::evidence;
use super::state::{Done, Group, RunState};

/// For which layout a result is right, where it is for one alone.
pub(crate) fn right_on(evidence: &Evidence) -> Option<RightLayout> {
    let on_views = evidence.contiguous.then_some(RightLayout::Views);
    if evidence.strided { Some(RightLayout::Contiguous) } else { on_views }
}

impl Done {
    /// For which layout it is right, if it failed on the other alone.
    pub(super) fn right_on(&self) -> Option<RightLayout> {
        self.evidence.as_ref().and_then(right_on)
    }

    /// The same case with what views gave, where contiguous inputs gave other wrong results.
    pub(super) fn on_views(&self) -> Self {
        let mut done = self.clone();
        if let Some(on_views) = done.on_views.take() {
            (done.evidence, done.calls) = (Some(on_views.evidence), on_views.calls);
        }
        done
    }
}

/// Cases that failed for one layout alone; if there are none, those that a fault explains but for
/// what their views gave.
pub(super) fn by_layout<'a>(scene: &RunState<'_, 'a>, groups: &mut [Group<'a>]) -> Vec<Group<'a>> {
    let alone = |right: RightLayout| {
        let is_member = |at: &usize| {
            let done = &scene.done[*at];
            done.verdict == Verdict::Fail && done.right_on() == Some(right)
        };
        let members: Vec<usize> = (0..scene.done.len()).filter(is_member).collect();
        (!members.is_empty()).then(|| group(right, Vec::new(), members))
    };
    let alone: Vec<Group<'a>> =
        [RightLayout::Contiguous, RightLayout::Views].into_iter().filter_map(alone).collect();
    if alone.is_empty() {
        groups.iter_mut().filter_map(|named| beside(scene, named)).collect()
    } else {
        alone
    }
}

fn group<'a>(right: RightLayout, faults: Vec<String>, members: Vec<usize>) -> Group<'a> {
    Group::new(Verdict::Fail, Cause::Layout { right, faults }, members)
}

/// Takes from a group the cases whose views gave what its faults refute. What they compute bounds
/// its roundings, so that results which differ by those alone stay.
fn beside<'a>(scene: &RunState<'_, 'a>, named: &mut Group<'a>) -> Option<Group<'a>> {
    let of_meaning =
        named.faults.iter().all(|fault| fault.behavior.is_none() && fault.execution.is_empty());
    if named.faults.is_empty() || !of_meaning {
        return None;
    }
    let seen = |at: &usize| {
        let done = &scene.done[*at];
        Some((
            *at,
            done.on_views.as_ref()?.calls.as_slice(),
            *scene.config.contracts.get(&done.dtype)?,
        ))
    };
    let otherwise: Vec<_> = named.members.iter().filter_map(seen).collect();
    if otherwise.is_empty() {
        return None;
    }
    let mut calls: Vec<_> =
        otherwise.iter().map(|(_, calls, contract)| (*calls, *contract)).collect();
    // What contiguous inputs give confirms the faults.
    calls.extend(evidence(scene.config, scene.done, &named.members));
    let explained = together(&calls, scene.meaning, &named.faults)?.explained;
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
