//! Conventions that a target follows without declaring them, found by judging again as if they were
//! declared.

use std::borrow::Cow;

use qkvet_diagnose::{MIN_SHARE, applied, conventions_that_explain, sample_evenly};
use qkvet_engine::law::CallRecord;
use qkvet_spec::{BoolTensor, CallOption, Convention, Event, Meaning, Notice, Stopped, Verdict};

use super::call::Workers;
use super::case::JudgedCase;
use super::error::RunError;
use super::judge::judge;
use super::plan::Plan;
use super::state::{RunState, failing};
use crate::adapters::NamedTarget;
use crate::config::RunConfig;
use crate::config::names;

/// Cases whose calls are looked at when searching for a convention.
const EVIDENCE_LIMIT: usize = 60;

/// Undeclared conventions, and what is known once they count as declared.
pub(super) struct Settled<'r, 'a> {
    pub(super) conventions: Vec<&'a Convention>,
    /// What the target is judged by, as it declares and with these conventions.
    pub(super) meaning: Meaning,
    pub(super) cases: Vec<JudgedCase<'a>>,
    /// The target told so, where that changes what it is given.
    pub(super) workers: Option<Workers<'r, 'a>>,
    /// Numbers of failing cases that have no mask and are right once none is put as one that hides
    /// nothing.
    pub(super) filled: Vec<usize>,
}

/// Looks for undeclared conventions that explain failures, and judges again under them. They count
/// if they settle failures and break nothing. Tells too why the run was stopped meanwhile.
pub(super) fn settle<'r, 'a>(
    before: &RunState<'_, 'a>,
    workers: &mut Workers<'r, 'a>,
    plan: &mut Plan<'a>,
    events: &mut dyn FnMut(Event),
) -> Result<(Option<Settled<'r, 'a>>, Option<Stopped>), RunError> {
    let conventions = undeclared(before);
    if conventions.is_empty() {
        return Ok((None, None));
    }
    events(Event::Notice(Notice::JudgedAgain { conventions: names(&conventions) }));
    let meaning = applied(before.meaning, &conventions);
    let is_refilled = puts_true(before.config.target, before.meaning)
        && conventions.iter().any(|convention| is_of_masks(convention));
    let again = || workers.open_again(&meaning, workers.targets.len());
    let mut other = is_refilled.then(again).transpose()?;
    let workers = other.as_mut().unwrap_or(workers);
    let (cases, stopped) = judge(workers, plan, &meaning, None, &mut |_| {})?;
    if !is_consistent(before.cases, &cases) || !settles(&conventions, before.cases, &cases) {
        return Ok((None, stopped));
    }
    let filled = if is_refilled { filled(before.cases, &cases) } else { Vec::new() };
    Ok((Some(Settled { conventions, meaning, cases, workers: other, filled }), stopped))
}

pub(super) fn undeclared<'a>(before: &RunState<'_, 'a>) -> Vec<&'a Convention> {
    let RunState { config, cases, meaning, stopped, .. } = *before;
    if stopped.is_some() {
        return Vec::new();
    }
    let fields: Vec<&str> =
        config.conventions.iter().map(|convention| convention.field.as_str()).collect();
    let mut recorded = failing(cases);
    recorded.retain(|at| !cases[*at].calls.is_empty());
    let sample: Vec<usize> = sample_evenly(&recorded, EVIDENCE_LIMIT).copied().collect();
    let failures = before.evidence(&sample);
    if failures.is_empty() {
        return Vec::new();
    }
    let put = failures
        .iter()
        .map(|(calls, contract)| (as_put(config, meaning, calls), *contract))
        .collect::<Vec<_>>();
    let failures: Vec<_> =
        put.iter().map(|(calls, contract)| (calls.as_ref(), *contract)).collect();
    conventions_that_explain(&failures, meaning, config.catalog.conventions.values(), &fields)
}

/// Under the conventions fewer cases fail, and none fails that did not.
fn is_consistent(before: &[JudgedCase<'_>], after: &[JudgedCase<'_>]) -> bool {
    let is_broken = |(before, after): (&JudgedCase<'_>, &JudgedCase<'_>)| {
        before.verdict() != Verdict::Fail && after.verdict() == Verdict::Fail
    };
    !before.iter().zip(after).any(is_broken) && failing(after).len() < failing(before).len()
}

/// Whether the conventions settle a good part of the failing cases that they can have to do with. A
/// target that is wrong throughout agrees with one of them here and there, by chance.
fn settles(found: &[&Convention], before: &[JudgedCase<'_>], after: &[JudgedCase<'_>]) -> bool {
    let concerns = |at: &usize| found.iter().any(|convention| before[*at].may_show(convention));
    let concerned: Vec<usize> = failing(before).into_iter().filter(concerns).collect();
    let settled = concerned.iter().filter(|at| after[**at].verdict() != Verdict::Fail).count();
    settled * MIN_SHARE >= concerned.len()
}

/// Whether the convention is about masks: what is true everywhere hides nothing by the standard,
/// and everything by it.
pub(super) fn is_of_masks(convention: &Convention) -> bool {
    convention.options.contains(&CallOption::Mask)
}

/// Whether calls without a mask are put with one that is true everywhere, as a target that takes a
/// mask in every call needs it.
pub(crate) fn puts_true(target: &NamedTarget, declared: &Meaning) -> bool {
    target.adapter.fills_masks() && declared.mask == Meaning::standard().mask
}

fn filled(before: &[JudgedCase<'_>], after: &[JudgedCase<'_>]) -> Vec<usize> {
    let is_filled = |at: &usize| {
        before[*at].verdict() == Verdict::Fail
            && after[*at].verdict() != Verdict::Fail
            && !before[*at].planned.uses(CallOption::Mask)
    };
    (0..before.len()).filter(is_filled).collect()
}

/// The calls as they were put.
fn as_put<'c>(
    config: &RunConfig<'_>,
    declared: &Meaning,
    calls: &'c [CallRecord],
) -> Cow<'c, [CallRecord]> {
    let is_filled = puts_true(config.target, declared);
    if is_filled { calls.iter().map(with_mask).collect() } else { calls.into() }
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
