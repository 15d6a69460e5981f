//! The verdicts on cases: workers with a target each, results in the order of the suite.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use qkvet_engine::ball::Ball;
use qkvet_engine::interpret::{Expected, Reference, interpret};
use qkvet_engine::law::{Attempt, Judge, Outcome, evaluate, judge_call};
use qkvet_engine::lowering::ResultName;
use qkvet_gen::frozen::{FrozenCase, call_of};
use qkvet_spec::{Call, Case, CaseRecord, Meaning, Stopped, Target, Threads, Unexpected, Verdict};

use super::call::{Workers, threads_of};
use super::case::{JudgedCase, PlannedCase};
use super::error::RunError;
use super::stop::Count;
use crate::adapters::OpenTarget;
use crate::config::RunConfig;
use crate::store::Store;

/// Judged cases, and why the rest was skipped, if some were.
pub(super) type Judged<'a> = (Vec<JudgedCase<'a>>, Option<Stopped>);

/// So many cases are drawn ahead of a target that computes elsewhere.
const AHEAD: usize = 4;

/// Judges every case under `meaning`. Of `n` workers each takes every `n`th case, so that a target
/// with a state sees the same calls in every run. What stops a run is counted in order of the cases,
/// whatever was done beyond: the rest is skipped.
pub(super) fn judge<'a>(
    workers: &mut Workers<'_, 'a>,
    cases: &[PlannedCase<'a>],
    meaning: &Meaning,
    progress: &mut dyn FnMut(usize, Verdict),
) -> Result<Judged<'a>, RunError> {
    let (config, store) = (workers.config, workers.running());
    // Nobody goes beyond it. Who sees a reason to stop, in whatever order, has seen no less than
    // there is to count in order, and the others come up to the farthest case that was seen.
    let last = AtomicUsize::new(usize::MAX);
    let seen = Mutex::new((Count::new(config), 0));
    let mut results: Vec<Option<JudgedCase<'a>>> = vec![None; cases.len()];
    let mut failures = BTreeMap::new();
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let n = workers.targets.len();
        for (number, target) in workers.targets.iter_mut().enumerate() {
            let (send, last, seen) = (send.clone(), &last, &seen);
            let draw_each = move || {
                (number..cases.len()).step_by(n).map(|at| (at, DrawnCase::draw(config, &cases[at])))
            };
            let ahead = config.target.adapter.max_restarts().map(|_| {
                let (send, receive) = mpsc::sync_channel(AHEAD);
                scope.spawn(move || {
                    for drawn in draw_each() {
                        if send.send(drawn).is_err() {
                            break;
                        }
                    }
                });
                receive
            });
            scope.spawn(move || {
                let mut drawn = draw_each();
                let mut next = || match &ahead {
                    Some(ahead) => ahead.recv().ok(),
                    None => drawn.next(),
                };
                while !config.stop.load(Ordering::Relaxed)
                    && let Some((at, drawn)) = next()
                    && at <= last.load(Ordering::Relaxed)
                {
                    let store = store.map(|store| (store, number));
                    let put = |drawn| {
                        judge_case(config, target, (&cases[at], drawn), (meaning, None), store)
                    };
                    let result = drawn.and_then(put);
                    if config.stop.load(Ordering::Relaxed) {
                        // The case that was running may have been cut off: it is not decided.
                        break;
                    }
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.1 = at.max(seen.1);
                    if result.as_ref().map_or(true, |case| seen.0.add(case).is_some()) {
                        last.fetch_min(seen.1, Ordering::Relaxed);
                    }
                    if send.send((at, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut count = 0;
        for (at, result) in receive {
            match result {
                Ok(case) => {
                    count += 1;
                    progress(count, case.verdict());
                    results[at] = Some(case);
                }
                Err(error) => {
                    failures.insert(at, error);
                }
            }
        }
    });
    if let Some((_, error)) = failures.pop_first() {
        return Err(error);
    }
    let mut stopped = None;
    if config.stop.load(Ordering::Relaxed) {
        stopped = Some(Stopped::Interrupted);
    } else {
        let mut count = Count::new(config);
        let stops = |(at, case): (usize, &Option<JudgedCase<'a>>)| {
            Some((at, case.as_ref().and_then(|case| count.add(case))?))
        };
        if let Some((last, reason)) = results.iter().enumerate().find_map(stops) {
            results.truncate(last + 1);
            results.resize(cases.len(), None);
            stopped = Some(reason);
        }
    }
    Ok((all_told(config, cases, results)?, stopped))
}

/// What was decided, and of each other case that it was not. Each of those is drawn for its name,
/// on all cores: who ended a run waits for it.
fn all_told<'a>(
    config: &RunConfig<'a>,
    cases: &[PlannedCase<'a>],
    mut results: Vec<Option<JudgedCase<'a>>>,
) -> Result<Vec<JudgedCase<'a>>, RunError> {
    let mut left: Vec<_> =
        results.iter_mut().zip(cases).filter(|(judged, _)| judged.is_none()).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = left.len().div_ceil(cores).max(1);
    let fill = |(judged, planned): &mut (&mut Option<JudgedCase<'a>>, &PlannedCase<'a>)| {
        **judged = Some(JudgedCase::skipped(planned, &planned.case(config)?));
        Ok::<(), RunError>(())
    };
    std::thread::scope(|scope| {
        let shares =
            left.chunks_mut(share).map(|some| scope.spawn(|| some.iter_mut().try_for_each(fill)));
        let shares: Vec<_> = shares.collect();
        shares
            .into_iter()
            .try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    Ok(results.into_iter().flatten().collect())
}

/// Who refuses every call has not refused what does not fit: where no law of answers could be
/// checked, a refusal counts as what became of the others.
pub(super) fn discount_refusals(config: &RunConfig<'_>, cases: &mut [JudgedCase<'_>]) {
    let is_of_refusal = |case: &JudgedCase<'_>| {
        case.planned.checked_law(config).is_ok_and(|law| law.law.misfit.is_some())
    };
    let (refusals, answers): (Vec<_>, Vec<_>) =
        cases.iter_mut().partition(|case| is_of_refusal(case));
    if answers.iter().any(|case| case.verdict().is_checked()) {
        return;
    }
    let is_declined = |case: &&&mut JudgedCase<'_>| {
        matches!(case.verdict(), Verdict::Unsupported | Verdict::Refused)
    };
    let Some(declined) = answers.iter().find(is_declined) else { return };
    for case in refusals.into_iter().filter(|case| case.verdict() == Verdict::Pass) {
        let CaseRecord { verdict, evidence, .. } = &declined.record;
        case.record.margin = None;
        (case.record.verdict, case.record.evidence) = (*verdict, evidence.clone());
    }
}

/// Judges one case once more, on the first target.
pub(super) fn judge_again<'a>(
    workers: &mut Workers<'_, 'a>,
    planned: &PlannedCase<'a>,
    meaning: &Meaning,
    attempt: Attempt,
) -> Result<JudgedCase<'a>, RunError> {
    let threads = if let Attempt::Threads(threads) = attempt { Some(threads) } else { None };
    let (config, store) = (workers.config, workers.running().map(|store| (store, 0)));
    let drawn = DrawnCase::draw(config, planned)?;
    judge_case(config, &mut workers.targets[0], (planned, drawn), (meaning, threads), store)
}

/// A case, and what is to be decided of it.
struct DrawnCase<'a> {
    case: Case,
    undecided: JudgedCase<'a>,
}

impl<'a> DrawnCase<'a> {
    fn draw(config: &RunConfig<'a>, planned: &PlannedCase<'a>) -> Result<Self, RunError> {
        let case = planned.case(config)?;
        Ok(Self { undecided: JudgedCase::skipped(planned, &case), case })
    }
}

/// Puts one case to a target, and judges what comes back.
fn judge_case<'a>(
    config: &RunConfig<'a>,
    open: &mut OpenTarget,
    (planned, drawn): (&PlannedCase<'a>, DrawnCase<'a>),
    (meaning, threads): (&Meaning, Option<Threads>),
    store: Option<(&Store, usize)>,
) -> Result<JudgedCase<'a>, RunError> {
    let DrawnCase { case, undecided: judged } = drawn;
    let law = planned.checked_law(config)?;
    let id = &judged.record.id;
    // On disk before the call, so that a target that takes everything down with it leaves its case
    // behind.
    if let Some((store, number)) = store {
        store.running(number, id, planned.plan(), &case, law);
    }
    let contract = config
        .contracts
        .get(&planned.dtype())
        .ok_or_else(|| Unexpected::at(format!("contract for {}", planned.dtype()), "one"))?;
    let judge = Judge { meaning, contract };
    let target = open.target.as_mut();
    target.begin(id);
    target.set_threads(threads.unwrap_or_else(|| threads_of(id, planned.law())));
    let outcome = match planned {
        PlannedCase::Plan(_) => evaluate(law, &case, judge, target)?,
        PlannedCase::Frozen(frozen) => judge_frozen(frozen, judge, target)?,
    };
    let ended = target.take_ended();
    if open.take_unanswered() {
        return Ok(judged);
    }
    Ok(judged.decided(outcome, ended, config.digests))
}

/// For each row, whether a format may overflow on the way to it: only where there is no bound does
/// it matter, and is asked.
fn overflows(judge: Judge<'_>, call: &Call, bounds: &[f64]) -> Vec<bool> {
    let d = call.dims();
    match bounds.iter().any(|bound| bound.is_infinite()) {
        true => interpret(judge.meaning, call, judge.contract, ResultName::Output).overflows,
        false => vec![false; d.b * d.h_q * d.n_q],
    }
}

/// Judges the one call of a frozen case by its frozen answer. For a target that declares another
/// convention, or a contract without frozen bounds, the answer is enclosed anew.
fn judge_frozen(
    frozen: &FrozenCase,
    judge: Judge<'_>,
    target: &mut dyn Target,
) -> Result<Outcome, RunError> {
    let call = call_of(&frozen.case)
        .map_err(|error| RunError::Case { law: frozen.case.law.clone(), error })?;
    let expected = match frozen.bounds.get(&judge.contract.contract) {
        Some(bounds) if *judge.meaning == Meaning::standard() => Expected {
            dtype: frozen.case.dtype,
            shape: frozen.answer.shape,
            exact: frozen.answer.values.iter().map(|answer| Ball::exact(answer.to_f64())).collect(),
            hard: bounds.clone(),
            probable: bounds.clone(),
            rows: vec![Reference::Stored; frozen.answer.shape[..3].iter().product()],
            overflows: overflows(judge, &call, bounds),
        },
        _ => interpret(judge.meaning, &call, judge.contract, ResultName::Output),
    };
    Ok(judge_call("attention(Q, K, V)", &call, |_| expected.clone(), target))
}
