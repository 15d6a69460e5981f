//! Findings while a run goes on: what the cases so far show is proposed, and revised or withdrawn
//! when more are known. The report has what is final.

use std::collections::BTreeSet;

use qkvet_diagnose::{applied, explained};
use qkvet_spec::{Cause, Event, Finding, FindingState, Proposal, Verdict};

use super::case::JudgedCase;
use super::group::{Group, groups, undeclared as cause_of};
use super::precision::suspected;
use super::settle::undeclared;
use super::state::{RunState, failing};
use super::wider::{Wider, wider};

/// Numbers of decided cases after which findings are proposed: few, for the first ones, and about
/// those in which each law has met each option.
const WAVES: [usize; 2] = [64, 400];

/// What was proposed so far and not withdrawn.
#[derive(Default)]
pub(super) struct Proposals {
    told: Vec<Proposal>,
}

/// Cases that belong together, as far as is known.
pub(super) struct Seen {
    verdict: Verdict,
    cause: Cause,
    /// Their numbers.
    members: Vec<usize>,
}

impl Proposals {
    /// Proposes findings where the cases so far are a wave, and takes back what they do not show.
    pub(super) fn after(&mut self, state: &RunState<'_, '_>, events: &mut dyn FnMut(Event)) {
        if WAVES.contains(&state.cases.len()) {
            let seen = known(state);
            let new = self.take_back(state.cases, &seen, events);
            for seen in new.iter().map(|at| &seen[*at]) {
                // Two that have cases in common are followed by different ones.
                let id = |at: usize| &state.cases[at].record.id;
                let is_free = |at: &&usize| self.told.iter().all(|told| told.case != *id(**at));
                let first = seen.members.iter().find(is_free).or(seen.members.first());
                let Some(first) = first else { continue };
                let told = seen.proposal(state.cases, *first);
                events(Event::Proposal(Box::new(told.clone())));
                self.told.push(told);
            }
        }
    }

    /// Takes back or revises what the findings of the whole run are not.
    pub(super) fn end(
        &mut self,
        cases: &[JudgedCase<'_>],
        findings: &[(Finding, Vec<usize>)],
        events: &mut dyn FnMut(Event),
    ) {
        let seen: Vec<_> = findings
            .iter()
            .map(|(finding, members)| Seen {
                verdict: finding.verdict,
                cause: finding.cause.clone(),
                members: members.clone(),
            })
            .collect();
        self.take_back(cases, &seen, events);
    }

    /// Tells what is other than it was told, by the case for which it was. Numbers of what was not
    /// told so far.
    fn take_back(
        &mut self,
        cases: &[JudgedCase<'_>],
        seen: &[Seen],
        events: &mut dyn FnMut(Event),
    ) -> Vec<usize> {
        let mut left: BTreeSet<usize> = (0..seen.len()).collect();
        for told in std::mem::take(&mut self.told) {
            let shows = |at: &usize| cases[*at].record.id == told.case;
            let now = left.iter().find_map(|number| {
                Some((*number, seen[*number].members.iter().copied().find(shows)?))
            });
            let Some((number, first)) = now else {
                let state = FindingState::Withdrawn;
                events(Event::Proposal(Box::new(Proposal { state, ..told })));
                continue;
            };
            left.remove(&number);
            let mut now = seen[number].proposal(cases, first);
            if now.verdict != told.verdict || !now.cause.is_like(&told.cause) {
                now.state = FindingState::Revised;
                events(Event::Proposal(Box::new(now.clone())));
            }
            self.told.push(now);
        }
        left.into_iter().collect()
    }
}

impl From<Group<'_>> for Seen {
    fn from(Group { verdict, cause, members, .. }: Group<'_>) -> Self {
        Self { verdict, cause, members }
    }
}

impl Seen {
    /// What is told of it, by one of its cases.
    fn proposal(&self, cases: &[JudgedCase<'_>], first: usize) -> Proposal {
        let record = &cases[first].record;
        Proposal {
            state: FindingState::Proposed,
            verdict: self.verdict,
            cause: self.cause.clone(),
            law: record.law.clone(),
            case: record.id.clone(),
            call: record.call.clone(),
            cases: self.members.len(),
            of: cases.iter().filter(|one| one.verdict().is_checked()).count(),
        }
    }
}

/// What the cases so far show. Outputs in a wider format are one finding, and everything else is told
/// by their numbers.
fn known(state: &RunState<'_, '_>) -> Vec<Seen> {
    let Some(Wider { contracts, group, judged }) = wider(state) else {
        return by_values(state);
    };
    let (mut config, mut cases) = (state.config.clone(), state.cases.to_vec());
    config.contracts.extend(contracts.iter().map(|(dtype, contract)| (*dtype, contract)));
    judged.into_iter().for_each(|(at, case)| cases[at] = case);
    let others = by_values(&RunState { config: &config, cases: &cases, ..*state });
    std::iter::once(group.into()).chain(others).collect()
}

/// What they show by their values. Where conventions explain most wrong results, no fault is looked
/// for: the whole run is judged by them first.
fn by_values(state: &RunState<'_, '_>) -> Vec<Seen> {
    let suspected = suspected(state);
    let is_of_narrow = |at: &usize| {
        let dtype = state.cases[*at].planned.dtype();
        suspected.iter().any(|one| one.dtype == dtype)
    };
    let mut conventions = undeclared(state);
    let mut failing = failing(state.cases);
    failing.retain(|at| !is_of_narrow(at));
    let meaning = applied(state.meaning, &conventions);
    let evidence = state.evidence(&failing);
    let settled =
        evidence.iter().filter(|(calls, contract)| explained(calls, &meaning, contract)).count();
    if settled * 2 < failing.len() {
        conventions.clear();
    }
    let by_convention = conventions.iter().map(|convention| {
        let mut members = failing.clone();
        members.retain(|at| state.cases[*at].may_show(convention));
        Seen { verdict: Verdict::Fail, cause: cause_of(convention), members }
    });
    let others = groups(state)
        .into_iter()
        .filter(|group| conventions.is_empty() || group.verdict != Verdict::Fail)
        .filter(|group| group.verdict != Verdict::Fail || !group.members.iter().any(is_of_narrow))
        .map(Seen::from);
    let by_format = suspected.iter().map(|one| Seen {
        verdict: Verdict::Fail,
        cause: one.cause(one.on_grid.len()),
        members: one.on_grid.clone(),
    });
    by_format.chain(by_convention).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use qkvet_gen::{build, plans};
    use qkvet_spec::{Catalog, Dtype, Form, ResultName};

    use super::*;
    use crate::run::case::PlannedCase;

    fn seen(verdict: Verdict, cause: &Cause, members: &[usize]) -> Seen {
        Seen { verdict, cause: cause.clone(), members: members.to_vec() }
    }

    /// A finding is followed by the case for which it was told.
    #[test]
    fn what_is_not_confirmed_is_revised_or_withdrawn() {
        let catalog = Catalog::embedded().expect("a catalog");
        let (law, suite) = (&catalog.laws["value"], &catalog.suites["smoke"]);
        let case = |plan| {
            let case = build(law, &plan).expect("a case");
            JudgedCase::skipped(&PlannedCase::Plan(plan), &case)
        };
        let plans = plans(suite, &[law], &[Dtype::Float32], 0);
        let cases: Vec<_> = plans.into_iter().take(4).map(case).collect();
        let id = |at: usize| cases[at].record.id.clone();
        let form = |of| Cause::Form { form: Form::Shape(of) };
        let (shape, weights) = (form(ResultName::Output), form(ResultName::Weights));
        let mut proposals = Proposals::default();
        for at in 0..3 {
            proposals.told.push(seen(Verdict::Fail, &shape, &[at]).proposal(&cases, at));
        }
        let mut told = Vec::new();
        let now = [
            seen(Verdict::Fail, &shape, &[0, 3]),
            seen(Verdict::Fail, &weights, &[1]),
            seen(Verdict::Crash, &Cause::Threads, &[3]),
        ];
        let new = proposals.take_back(&cases, &now, &mut |event| {
            let Event::Proposal(one) = event else { panic!("{event:?}") };
            told.push((one.state, one.case, one.cause));
        });
        assert_eq!(
            told,
            [
                (FindingState::Revised, id(1), weights.clone()),
                (FindingState::Withdrawn, id(2), shape.clone())
            ]
        );
        assert_eq!(new, [2]);
    }
}
