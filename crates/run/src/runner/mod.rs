//! The runner: builds the cases of a suite, puts them to a target, judges, looks for conventions
//! and causes, finds the smallest witnesses. What it does is told as events; what it found is one
//! [`Summary`].

mod example;
mod filled;
mod findings;
mod groups;
mod layout;
mod pass;
mod planned;
mod reading;
mod state;
mod stop;
mod store;
mod summary;
mod threads;
mod trace;

use qkvet_diagnose::{MIN_SHARE, applied, conventions_that_explain, sample_evenly};
use qkvet_engine::law::{CallRecord, EvaluationError};
use qkvet_engine::selftest::SelfTestError;
use qkvet_gen::GenError;
use qkvet_spec::{
    Contract, Convention, Event, Finding, Meaning, Quoted, RunInfo, SpecError, Summary, Unexpected,
    Verdict,
};

pub use crate::config::{CaseSource, FailFast, RunConfig, Seen};
use crate::process::StartError;
use filled::{as_put, changes_masks, filled};
pub(crate) use groups::{cause_of, undeclared as undeclared_cause};
pub(crate) use layout::right_on;
use pass::Pass;
use planned::Planned;
pub use planned::threads_of;
use state::{Done, RunState};
pub use store::{Stored, StoredFinding, read_case};

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A specification is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A name or a file is wrong.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// A case is not well-formed.
    #[error(transparent)]
    Gen(#[from] GenError),
    /// A case could not be made from the suite.
    #[error("case of law {law}: {error}")]
    Case {
        /// The law.
        law: String,
        /// What the generator says.
        error: GenError,
    },
    /// A law has no value on a case.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// Two numbers that must agree do not: this machine or this build cannot be trusted.
    #[error("self-test: {0}")]
    SelfTest(#[from] SelfTestError),
}

/// Cases whose calls are looked at when searching for a convention or a cause.
const EVIDENCE_LIMIT: usize = 60;

/// Tests what every verdict rests on: rounding, subnormal numbers, the exponential, matrix
/// products.
///
/// # Errors
/// What does not hold: no verdict may be given then.
pub fn self_test() -> Result<(), RunError> {
    Ok(qkvet_engine::selftest::self_test()?)
}

/// Runs everything and tells about it.
///
/// # Errors
/// A target that cannot be started, a specification that is wrong, a folder that cannot be written.
/// Whatever the target does once started is a verdict, not an error.
pub fn run(config: &RunConfig<'_>, events: &mut dyn FnMut(Event)) -> Result<Summary, RunError> {
    self_test()?;
    let mut cases = config.cases.planned(config, None)?;
    let standard = Meaning::standard();
    let declared = applied(&standard, &config.conventions);
    let mut pass = Pass::open(config, cases.len().max(1))?;
    let fit = pass.fit().filter(|fit| config.cases.is_changed_by(fit));
    if let Some(fit) = &fit {
        cases = config.cases.planned(config, Some(fit))?;
    }
    events(Event::Started(Box::new(info(config, &cases, &pass))));
    if let Some(fit) = &fit {
        let name = config.cases.name();
        events(Event::Notice(format!("suite {name} is made to fit what the target takes: {fit}")));
    }
    let unkept = pass.lost();
    unkept.iter().for_each(|why| events(lost(why)));
    let mut done = pass.judge(&cases, &declared, &mut |done, verdict| {
        events(Event::Case { done, total: cases.len(), verdict });
    })?;
    unheard(config, &cases, &mut done);
    let (mut meaning, mut conventions) = (declared.clone(), config.conventions.clone());
    let found =
        if pass.stopped().is_none() { undeclared(config, &declared, &done) } else { Vec::new() };
    let mut explained = Vec::new();
    if !found.is_empty() {
        events(Event::Notice(format!(
            "judging again as if {} were declared",
            store::names(&found).join(", ")
        )));
        let under = applied(&declared, &found);
        let is_refilled = changes_masks(config, &declared, &found);
        let mut other = if is_refilled { Some(pass.open_again(&under)?) } else { None };
        other.iter_mut().for_each(|other| pass.exchange(other));
        let again = pass.judge(&cases, &under, &mut |_, _| {})?;
        other.iter_mut().for_each(|other| pass.exchange(other));
        if consistent(&done, &again) && settles(&found, &cases, &done, &again) {
            let scene = RunState {
                config,
                cases: &cases,
                done: &done,
                meaning: &declared,
                conventions: &conventions,
            };
            let beside = if is_refilled { filled(&cases, &done, &again) } else { Vec::new() };
            explained = findings::conventions(&scene, &mut pass, &found, &beside)?;
            // Whatever is put from now on is put as a replay under these conventions puts it.
            other.iter_mut().for_each(|other| pass.exchange(other));
            done = again;
            meaning = under;
            conventions.extend(found);
        }
    }
    let mut findings = explained;
    let scene = RunState {
        config,
        cases: &cases,
        done: &done,
        meaning: &meaning,
        conventions: &conventions,
    };
    findings.extend(findings::verdicts(&scene, &mut pass)?);
    let run = info(config, &cases, &pass);
    let shown = shown(&findings, cases.len());
    let findings = findings.into_iter().map(|(finding, _)| finding).collect();
    let mut summary =
        summary::summary(config, run, &cases, (done, &shown), findings, pass.stopped());
    trace::keep_undecided(config, &conventions, &pass, &cases, &mut summary)?;
    if unkept.is_none() {
        pass.lost().iter().for_each(|why| events(lost(why)));
    }
    events(Event::Finished(Box::new(summary.clone())));
    Ok(summary)
}

/// For each case the finding that it shows: that of its verdict, else an undeclared convention.
fn shown(findings: &[(Finding, Vec<usize>)], cases: usize) -> Vec<Option<usize>> {
    let mut shown: Vec<Option<usize>> = vec![None; cases];
    for (number, (_, members)) in findings.iter().enumerate() {
        // Conventions come first.
        members.iter().for_each(|at| shown[*at] = Some(number));
    }
    shown
}

/// Without a place to write to the verdicts are the same; only what should be left behind is lost.
fn lost(why: &str) -> Event {
    Event::Warning(format!("`qkvet replay` will not find the cases of this run: {why}"))
}

fn info(config: &RunConfig<'_>, cases: &[Planned<'_>], pass: &Pass<'_>) -> RunInfo {
    let told = config.target.adapter.stored_call().device;
    RunInfo {
        tool: format!("qkvet {}", env!("CARGO_PKG_VERSION")),
        target: config.target.name.clone(),
        environment: pass.environment().to_vec(),
        suite: config.cases.name().to_owned(),
        seed: config.cases.seed(),
        conventions: store::names(&config.conventions),
        contracts: config
            .contracts
            .iter()
            .map(|(dtype, contract)| (dtype.to_string(), contract.contract.clone()))
            .collect(),
        cases: cases.len(),
        source: config.target.adapter.source(&config.target.name),
        device: told.map(Quoted::new).or_else(|| pass.device().cloned()),
        is_layer: pass.is_layer(),
        chosen: config.cases.chosen(config),
        fit: match config.cases {
            CaseSource::Suite { suite, .. } => suite.fit.clone(),
            CaseSource::Frozen { .. } => None,
        },
    }
}

/// Recorded calls of the given cases, each with its contract.
fn evidence<'a>(
    config: &RunConfig<'a>,
    done: &'a [Done],
    cases: &[usize],
) -> Vec<(&'a [CallRecord], &'a Contract)> {
    let of = |done: &'a Done| Some((done.calls.as_slice(), *config.contracts.get(&done.dtype)?));
    cases.iter().filter_map(|at| of(&done[*at])).collect()
}

/// Numbers of the cases that failed, but for those whose inputs were only to lie otherwise in
/// memory.
fn failing(done: &[Done]) -> Vec<usize> {
    let is_open = |done: &Done| done.verdict == Verdict::Fail && done.right_on().is_none();
    (0..done.len()).filter(|at| is_open(&done[*at])).collect()
}

/// Those of the given cases whose calls were recorded, thinned out evenly to the limit.
fn sample(done: &[Done], cases: &[usize]) -> Vec<usize> {
    let recorded: Vec<usize> =
        cases.iter().copied().filter(|at| !done[*at].calls.is_empty()).collect();
    sample_evenly(&recorded, EVIDENCE_LIMIT).copied().collect()
}

fn undeclared<'a>(
    config: &RunConfig<'a>,
    declared: &Meaning,
    done: &[Done],
) -> Vec<&'a Convention> {
    let fields: Vec<&str> =
        config.conventions.iter().map(|convention| convention.field.as_str()).collect();
    let failures = evidence(config, done, &sample(done, &failing(done)));
    if failures.is_empty() {
        return Vec::new();
    }
    let put: Vec<_> = failures
        .iter()
        .map(|(calls, contract)| (as_put(config, declared, calls), *contract))
        .collect();
    let failures: Vec<_> =
        put.iter().map(|(calls, contract)| (calls.as_ref(), *contract)).collect();
    conventions_that_explain(&failures, declared, config.catalog.conventions.values(), &fields)
}

/// Whether the conventions settle a good part of the failing cases that they can have to do with. A
/// target that is wrong throughout agrees with one of them here and there, by chance.
fn settles(found: &[&Convention], cases: &[Planned<'_>], before: &[Done], after: &[Done]) -> bool {
    let concerns = |at: &usize| {
        found
            .iter()
            .any(|convention| convention.option.is_none_or(|option| cases[*at].uses(option)))
    };
    let concerned: Vec<usize> = failing(before).into_iter().filter(concerns).collect();
    let settled = concerned.iter().filter(|at| after[**at].verdict != Verdict::Fail).count();
    settled * MIN_SHARE >= concerned.len()
}

/// Who refuses every call has not refused what does not fit: where no law of answers could be
/// checked, a refusal counts as what became of the others.
fn unheard(config: &RunConfig<'_>, cases: &[Planned<'_>], done: &mut [Done]) {
    let is_of_refusal =
        |at: &usize| cases[*at].checked_law(config).is_ok_and(|law| law.law.misfit.is_some());
    let (refusals, answers): (Vec<usize>, Vec<usize>) = (0..done.len()).partition(is_of_refusal);
    let is_declined =
        |at: &&usize| matches!(done[**at].verdict, Verdict::Unsupported | Verdict::Refused);
    let declined =
        answers.iter().find(is_declined).map(|at| (done[*at].verdict, done[*at].evidence.clone()));
    let Some((verdict, evidence)) =
        declined.filter(|_| !answers.iter().any(|at| done[*at].verdict.is_checked()))
    else {
        return;
    };
    for at in refusals {
        if done[at].verdict == Verdict::Pass {
            (done[at].verdict, done[at].evidence) = (verdict, evidence.clone());
        }
    }
}

/// Under the conventions fewer cases fail, and none fails that did not.
fn consistent(before: &[Done], after: &[Done]) -> bool {
    let broken = before
        .iter()
        .zip(after)
        .any(|(before, after)| before.verdict != Verdict::Fail && after.verdict == Verdict::Fail);
    !broken && failing(after).len() < failing(before).len()
}
