//! The case that shows a finding: a member of its group, or the smallest input that fails for the
//! same reason.

use std::sync::atomic::Ordering;

use qkvet_diagnose::{deviation_explains, smallest, together};
use qkvet_engine::law::Attempt;
use qkvet_gen::CasePlan;
use qkvet_spec::{Cause, Contract, Convention, Deviation, Meaning, Stopped, Threads, Verdict};

use super::again::{Constancy, constancy};
use super::call::Workers;
use super::case::{JudgedCase, PlannedCase};
use super::error::RunError;
use super::group::{Group, representative, undeclared};
use super::judge::{Basis, judge_again};
use super::settle::{Settled, is_of_masks};
use super::state::{RunState, evidence, failing};

/// Calls of the target spent on shrinking one witness.
const SHRINK_BUDGET: usize = 160;
/// Processes spent on it: each finding has its own, so that neither a long run nor another finding
/// takes them away, and a shard spends as many as the whole run.
const SHRINK_ENDS: usize = 12;
/// Cases tried in search of one that a single convention explains.
const MAX_TRIED: usize = 20;
/// Findings of one verdict beyond this are counted, not shrunk.
const MAX_SHRUNK: usize = 10;

/// A finding before it is described.
pub(super) struct Shown<'a> {
    pub(super) group: Group<'a>,
    /// The case that shows it.
    pub(super) case: JudgedCase<'a>,
    /// The meaning of an undeclared convention.
    pub(super) convention: Option<Meaning>,
    pub(super) depth: Depth,
}

/// How much is told of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Words,
    /// A worked example and a picture too.
    Numbers,
}

/// What shows an undeclared convention, to a run that does not know it yet: a case that it explains
/// without the others.
pub(super) fn shown_convention<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    convention: &Convention,
    settled: &Settled<'_, 'a>,
) -> Result<Option<Shown<'a>>, RunError> {
    let mut members = failing(state.cases);
    members.retain(|at| state.cases[*at].may_show(convention));
    let alone = convention.meaning.apply(state.meaning);
    let mut left = members.clone();
    let mut start = representative(state, &left);
    for _ in 0..MAX_TRIED {
        let Some(at) = representative(state, &left) else { break };
        let planned = &state.cases[at].planned;
        if judge_again(workers, planned, &alone, Attempt::Same)?.verdict() != Verdict::Fail {
            start = Some(at);
            break;
        }
        left.retain(|other| *other != at);
    }
    let Some(start) = start else { return Ok(None) };
    let mut group = Group::new(Verdict::Fail, undeclared(convention), members);
    if is_of_masks(convention) {
        group.note_filled(&settled.filled);
    }
    let granted = Some(Basis::from(&alone));
    let case = witness(state, workers, &group, start, granted, Attempt::Same)?;
    Ok(Some(Shown { group, case, convention: Some(alone), depth: Depth::Numbers }))
}

/// What shows a format that was not declared: the smallest case that is right under its contract.
pub(super) fn shown_precision<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    group: Group<'a>,
    contract: &Contract,
) -> Result<Option<Shown<'a>>, RunError> {
    let Some(start) = representative(state, &group.members) else { return Ok(None) };
    let granted = Some(Basis { meaning: state.meaning, contract: Some(contract) });
    let case = witness(state, workers, &group, start, granted, Attempt::Same)?;
    Ok(Some(Shown { group, case, convention: None, depth: Depth::Numbers }))
}

/// What shows a group of cases.
pub(super) fn shown<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    group: Group<'a>,
) -> Result<Option<Shown<'a>>, RunError> {
    let by_turn = |at: &usize| state.cases[*at].turn;
    let first = group.members.iter().copied().min_by_key(by_turn);
    let first = first.filter(|_| starts_first(group.verdict));
    let Some(start) = first.or_else(|| representative(state, &group.members)) else {
        return Ok(None);
    };
    let is_early = group.rank < MAX_SHRUNK;
    let is_shrunk = is_early && !group.on_views && may_shrink(&group, state.stopped);
    let may_be_once = is_shrunk && group.verdict == Verdict::Fail;
    let (group, case, depth) = match constancy(state, workers, &group, start, may_be_once)? {
        Constancy::OnThreads(counts, sureness) => {
            let group = group.on_threads(counts, sureness);
            let several = Attempt::Threads(Threads::Library);
            let case = witness(state, workers, &group, start, None, several)?;
            (group, case, Depth::Numbers)
        }
        Constancy::Once => {
            let case = JudgedCase { once: true, ..state.cases[start].clone() };
            (group.of_once(), case, Depth::Words)
        }
        Constancy::Always(start) if is_shrunk => {
            let case = witness(state, workers, &group, start, None, Attempt::Same)?;
            (group, case, Depth::Numbers)
        }
        Constancy::Always(start) if group.on_views => {
            (group, state.cases[start].clone().on_views(), Depth::Words)
        }
        Constancy::Always(start) => {
            let depth = if is_early { Depth::Numbers } else { Depth::Words };
            (group, state.cases[start].clone(), depth)
        }
    };
    Ok(Some(Shown { group, case, convention: None, depth }))
}

/// Whether the witness of the group is looked for.
///
/// Not in a run that the user ended, nor on a target that is gone. Where a run is stopped by what
/// broke, its shards see cases beyond it and may start from another one, so that only what broke is
/// shrunk, which starts from the first.
fn may_shrink(group: &Group<'_>, stopped: Option<&Stopped>) -> bool {
    match stopped {
        _ if matches!(group.cause, Cause::Declined { .. }) => false,
        None | Some(Stopped::FirstFinding) => true,
        Some(Stopped::Timeouts(_) | Stopped::Ends(_)) => starts_first(group.verdict),
        Some(_) => false,
    }
}

/// Whether the case of a group is shown that was put first. It is the first one in its shard too,
/// however far that one went.
fn starts_first(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Crash | Verdict::Error)
}

/// The smallest input that fails for the same reason as a member of a group: the same verdict, the
/// relation if it was one, the same form, the same fault, and for a convention or a format nothing
/// once it alone is granted. Every case is put to the target as `attempt` says.
fn witness<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    group: &Group<'a>,
    start: usize,
    alone: Option<Basis<'_>>,
    attempt: Attempt,
) -> Result<JudgedCase<'a>, RunError> {
    let first = &state.cases[start];
    let mut ends = 0;
    let mut same_reason = |planned: &PlannedCase<'a>| -> Result<bool, RunError> {
        if ends >= SHRINK_ENDS || state.config.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let case = judge_again(workers, planned, state.meaning, attempt)?;
        if case.broke() {
            ends += 1;
        }
        if case.verdict() == Verdict::Skipped {
            // Nobody answers, so nobody will: what was found so far is the witness.
            ends = SHRINK_ENDS;
        }
        let is_other = case.right_on() != first.right_on()
            || case.form() != first.form()
            || (first.is_relation() && !case.is_relation());
        if case.verdict() != group.verdict || is_other {
            return Ok(false);
        }
        let own: Vec<_> = evidence(state.config, &case).into_iter().collect();
        if !group.faults.is_empty() && together(&own, state.meaning, &group.faults).is_none() {
            return Ok(false);
        }
        let explains = |deviation: &Deviation| {
            own.iter().all(|(calls, contract)| {
                deviation_explains(calls, contract, state.meaning, deviation)
            })
        };
        if let Cause::Deviation { deviation, .. } = &group.cause
            && !explains(deviation)
        {
            return Ok(false);
        }
        Ok(match alone {
            Some(alone) => {
                judge_again(workers, planned, alone, attempt)?.verdict() != Verdict::Fail
            }
            None => true,
        })
    };
    // What is not drawn is shown as it is.
    let PlannedCase::Plan(plan) = &first.planned else { return Ok(first.clone()) };
    let mut failure = None;
    let mut still_fails = |plan: &CasePlan, _: &qkvet_spec::Case| {
        same_reason(&PlannedCase::Plan(plan.clone())).unwrap_or_else(|error| {
            failure.get_or_insert(error);
            false
        })
    };
    // A hang is asked for once more, and not made smaller: every try may take as long as a call is
    // waited for.
    let is_hang = group.verdict == Verdict::Timeout;
    // A smaller one is one more combination for which the target is compiled.
    let last = match is_hang || state.config.cases.most_shapes().is_some() {
        true => first.planned.clone(),
        false => {
            let law = first.planned.checked_law(state.config)?;
            PlannedCase::Plan(smallest(law, plan, SHRINK_BUDGET, &mut still_fails))
        }
    };
    if let Some(error) = failure {
        return Err(error);
    }
    let again = judge_again(workers, &last, state.meaning, attempt)?;
    // A target that changed its mind is shown by the case as it was first seen.
    Ok(if !is_hang && again.verdict() == group.verdict {
        again
    } else {
        JudgedCase { once: again.is_right(), ..first.clone() }
    })
}
