//! A small set of cases that notices every fault that the suite notices.

use std::collections::BTreeSet;

use qkvet_gen::{CasePlan, build, case_id};
use qkvet_spec::{CoverCase, Fault};

use super::{Asked, Group, Run, with};
use crate::describe_call;

/// Cases that are asked about every fault: those that were the first to notice most, and the first
/// one for each fault.
const CANDIDATES: usize = 48;

/// Cases of one format, chosen greedily: each notices the most of what those before it do not.
pub(super) fn cover(groups: &[Group<'_>], runs: &[Run], faults: &[&Fault]) -> Vec<CoverCase> {
    let candidates = candidates(groups, runs, faults.len());
    let noticed: Vec<(CoverCase, BTreeSet<usize>)> = candidates
        .into_iter()
        .filter_map(|(group, plan)| {
            let case = build(group.law, plan).ok()?;
            let asked = Asked::new(group, &case);
            let kills = (0..faults.len())
                .filter(|at| asked.mark(faults[*at], &mut with(faults[*at])).0.is_kill())
                .collect();
            let shown = CoverCase {
                dtype: group.dtype,
                law: case.law.clone(),
                case: case_id(&case),
                call: describe_call(&case),
                faults: Vec::new(),
            };
            Some((shown, kills))
        })
        .collect();
    let mut left: BTreeSet<usize> = noticed.iter().flat_map(|(_, kills)| kills).copied().collect();
    let mut cover = Vec::new();
    while !left.is_empty() {
        // The first of the best, so that the choice is the same everywhere.
        let gain = |(_, kills): &(CoverCase, BTreeSet<usize>)| kills.intersection(&left).count();
        let Some((shown, kills)) = noticed.iter().rev().max_by_key(|one| gain(one)) else { break };
        let new: Vec<String> =
            kills.intersection(&left).map(|at| faults[*at].fault.clone()).collect();
        left.retain(|at| !kills.contains(at));
        cover.push(CoverCase { faults: new, ..shown.clone() });
    }
    cover
}

/// Cases that may be chosen.
fn candidates<'a>(
    groups: &'a [Group<'_>],
    runs: &'a [Run],
    faults: usize,
) -> Vec<(&'a Group<'a>, &'a CasePlan)> {
    let mut known: Vec<(usize, &CasePlan, Vec<usize>)> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        for (at, cell) in run.cells.iter().enumerate() {
            let Some(first) = &cell.first else { continue };
            match known.iter_mut().find(|(group, plan, _)| *group == number && *plan == first) {
                Some((_, _, kills)) => kills.push(at),
                None => known.push((number, first, vec![at])),
            }
        }
    }
    known.sort_by_key(|(_, _, kills)| std::cmp::Reverse(kills.len()));
    let mut missing: BTreeSet<usize> = (0..faults).collect();
    let mut chosen = Vec::new();
    for (place, (group, plan, kills)) in known.iter().enumerate() {
        if place < CANDIDATES || kills.iter().any(|at| missing.contains(at)) {
            kills.iter().for_each(|at| {
                missing.remove(at);
            });
            chosen.push((&groups[*group], *plan));
        }
    }
    chosen
}
