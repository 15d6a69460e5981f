//! The verdicts on cases: workers with a target each, results in the order of the suite.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use qkvet_engine::ball::Ball;
use qkvet_engine::interpret::{Expected, Reference, interpret};
use qkvet_engine::law::{Attempt, Judge, Outcome, evaluate, judge_call};
use qkvet_engine::lowering::ResultName;
use qkvet_gen::frozen::{FrozenCase, call_of};
use qkvet_spec::{
    Call, CallOption, Case, CaseRecord, Contract, Fit, Meaning, OptionSet, Stopped, Target,
    Threads, Unexpected, VALUE_LAW, Verdict,
};

use super::call::{Workers, threads_of};
use super::case::{JudgedCase, PlannedCase};
use super::error::RunError;
use super::plan::Plan;
use super::state::RunState;
use super::stop::{Count, Deadline};
use super::wider::granted;
use crate::adapters::OpenTarget;
use crate::config::RunConfig;
use crate::store::Store;

/// Judged cases in order of the suite, and why the rest was skipped, if some were.
pub(super) type Judged<'a> = (Vec<JudgedCase<'a>>, Option<Stopped>);

/// So many cases are drawn ahead of a target that computes elsewhere.
const AHEAD: usize = 4;

/// Judges every case under `meaning`, and tells all that are decided, in the order of the plan,
/// after each. Of `n` workers each takes every `n`th case, so that a target with a state sees the
/// same calls in every run. What stops a run is counted in that order, whatever was done beyond:
/// the rest is skipped. After `deadline` no case is begun: the plan is cut behind the last one.
pub(super) fn judge<'a>(
    workers: &mut Workers<'_, 'a>,
    plan: &mut Plan<'a>,
    meaning: &Meaning,
    deadline: Option<&Deadline>,
    follow: &mut dyn FnMut(&[JudgedCase<'a>]),
) -> Result<Judged<'a>, RunError> {
    let (config, store) = (workers.config, workers.running());
    let shared = Shared {
        config,
        plan,
        meaning,
        deadline,
        n: workers.targets.len(),
        last: AtomicUsize::new(usize::MAX),
        seen: Mutex::new((Count::new(config), 0)),
    };
    let mut count = Count::new(config);
    let (mut done, mut stopped) = (Vec::new(), None);
    // Decided before one that comes first.
    let mut early = BTreeMap::new();
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for (number, target) in workers.targets.iter_mut().enumerate() {
            let (shared, send) = (&shared, send.clone());
            let drawn: Box<dyn Iterator<Item = _> + Send> =
                match config.target.adapter.max_restarts() {
                    None => Box::new(shared.draw_each(number)),
                    Some(_) => {
                        let (send, receive) = mpsc::sync_channel(AHEAD);
                        scope.spawn(move || {
                            shared.draw_each(number).all(|drawn| send.send(drawn).is_ok())
                        });
                        Box::new(receive.into_iter())
                    }
                };
            let store = store.map(|store| (store, number));
            scope.spawn(move || shared.put_each(drawn, target, store, &send));
        }
        drop(send);
        for (at, result) in receive {
            early.insert(at, result);
            while stopped.is_none()
                && let Some(result) = early.remove(&done.len())
            {
                done.push(result?);
                stopped = count.add(&done[done.len() - 1]);
                follow(&done);
            }
        }
        Ok::<(), RunError>(())
    })?;
    if config.stop.load(Ordering::Relaxed) {
        stopped = Some(Stopped::Interrupted);
    } else {
        early.clear();
        if stopped.is_none() && done.len() < plan.cases.len() {
            plan.cut(done.len());
        }
    }
    let mut results: Vec<Option<JudgedCase<'a>>> = vec![None; plan.cases.len()];
    for (at, case) in done.into_iter().map(Ok).enumerate().chain(early) {
        results[plan.order[at]] = Some(JudgedCase { turn: at, ..case? });
    }
    Ok((all_told(config, &plan.cases, results)?, stopped))
}

/// What the workers of a run have in common. Cases are numbered by their place in the order.
struct Shared<'s, 'a> {
    config: &'s RunConfig<'a>,
    plan: &'s Plan<'a>,
    meaning: &'s Meaning,
    deadline: Option<&'s Deadline>,
    /// Number of workers.
    n: usize,
    /// Nobody goes beyond it.
    last: AtomicUsize,
    /// Who sees a reason to stop, in whatever order, has seen no less than there is to count in
    /// order, and the others come up to the farthest case that was seen.
    seen: Mutex<(Count<'s>, usize)>,
}

/// A case that was drawn, and its place.
type Drawn<'a> = (usize, Result<DrawnCase<'a>, RunError>);

impl<'a> Shared<'_, 'a> {
    /// Draws the cases of one worker, one by one.
    fn draw_each(&self, number: usize) -> impl Iterator<Item = Drawn<'a>> {
        let order = self.plan.order.iter().enumerate().skip(number).step_by(self.n);
        order.map(|(at, case)| (at, DrawnCase::draw(self.config, &self.plan.cases[*case])))
    }

    /// Puts cases to the target of one worker.
    fn put_each(
        &self,
        drawn: impl Iterator<Item = Drawn<'a>>,
        target: &mut OpenTarget,
        store: Option<(&Store, usize)>,
        send: &mpsc::Sender<(usize, Result<JudgedCase<'a>, RunError>)>,
    ) {
        let is_ended = || self.config.stop.load(Ordering::Relaxed);
        for (at, drawn) in drawn {
            if is_ended() || at > self.last.load(Ordering::Relaxed) {
                break;
            }
            let planned = &self.plan.cases[self.plan.order[at]];
            let result = drawn.and_then(|drawn| self.put(&drawn, planned, target, store));
            if is_ended() {
                // The case that was running may have been cut off: it is not decided.
                break;
            }
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.1 = at.max(seen.1);
            if result.as_ref().map_or(true, |case| seen.0.add(case).is_some())
                || self.deadline.is_some_and(Deadline::is_over)
            {
                self.last.fetch_min(seen.1, Ordering::Relaxed);
            }
            if send.send((at, result)).is_err() {
                break;
            }
        }
    }

    /// Puts one case, and once more by its numbers where a wider format is all that is known to be
    /// wrong.
    fn put(
        &self,
        drawn: &DrawnCase<'a>,
        planned: &PlannedCase<'a>,
        target: &mut OpenTarget,
        store: Option<(&Store, usize)>,
    ) -> Result<JudgedCase<'a>, RunError> {
        let basis = Basis::from(self.meaning);
        let mut put =
            |basis| judge_case(self.config, target, (planned, drawn), (basis, None), store);
        let mut judged = put(basis)?;
        if let Some(granted) = granted(self.config, &judged) {
            let by_numbers = put(Basis { contract: Some(&granted), ..basis })?;
            let is_decided = by_numbers.verdict() != Verdict::Skipped;
            judged.by_numbers = is_decided.then(|| Box::new(by_numbers));
        }
        Ok(judged)
    }
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

/// A call that the target is required to answer, and declines, is an error. Of other laws it is not
/// known which of their calls was declined. Whether something is required, and no case lies inside.
pub(super) fn require(
    config: &RunConfig<'_>,
    told: Option<&Fit>,
    cases: &mut [JudgedCase<'_>],
) -> bool {
    let takes = |option: CallOption| told.is_none_or(|fit| fit.has(option));
    let is_inside = |case: &JudgedCase<'_>| {
        let options: OptionSet = case.record.options.iter().copied().collect();
        case.record.law == VALUE_LAW
            && config.required.contains(case.planned.dtype(), options, case.record.dims, takes)
    };
    if config.required.is_empty() {
        return false;
    }
    let mut is_any = false;
    for case in cases.iter_mut().filter(|case| is_inside(case)) {
        is_any = true;
        if matches!(case.verdict(), Verdict::Unsupported | Verdict::Refused) {
            (case.record.verdict, case.is_required) = (Verdict::Error, true);
        }
    }
    !is_any
}

/// By what a case is judged.
#[derive(Clone, Copy)]
pub(super) struct Basis<'s> {
    pub(super) meaning: &'s Meaning,
    /// Absent: that of the run for the format of the case.
    pub(super) contract: Option<&'s Contract>,
}

impl<'s> From<&'s Meaning> for Basis<'s> {
    fn from(meaning: &'s Meaning) -> Self {
        Self { meaning, contract: None }
    }
}

/// The cases of these numbers, put again and judged by another contract.
pub(super) fn judge_under<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    members: &[usize],
    contract: &Contract,
) -> Result<Vec<(usize, JudgedCase<'a>)>, RunError> {
    let basis = Basis { meaning: state.meaning, contract: Some(contract) };
    let mut again =
        |at: &usize| judge_again(workers, &state.cases[*at].planned, basis, Attempt::Same);
    members.iter().map(|at| Ok((*at, again(at)?))).collect()
}

/// Judges one case once more, on the first target.
pub(super) fn judge_again<'a, 's>(
    workers: &mut Workers<'_, 'a>,
    planned: &PlannedCase<'a>,
    basis: impl Into<Basis<'s>>,
    attempt: Attempt,
) -> Result<JudgedCase<'a>, RunError> {
    let threads = if let Attempt::Threads(threads) = attempt { Some(threads) } else { None };
    let (config, store) = (workers.config, workers.running().map(|store| (store, 0)));
    let drawn = DrawnCase::draw(config, planned)?;
    let basis = basis.into();
    judge_case(config, &mut workers.targets[0], (planned, &drawn), (basis, threads), store)
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
    (planned, drawn): (&PlannedCase<'a>, &DrawnCase<'a>),
    (basis, threads): (Basis<'_>, Option<Threads>),
    store: Option<(&Store, usize)>,
) -> Result<JudgedCase<'a>, RunError> {
    let DrawnCase { case, undecided } = drawn;
    let law = planned.checked_law(config)?;
    let id = &undecided.record.id;
    // On disk before the call, so that a target that takes everything down with it leaves its case
    // behind.
    if let Some((store, number)) = store {
        store.running(number, id, planned.plan(), case, law);
    }
    let contract = basis
        .contract
        .or_else(|| config.contracts.get(&planned.dtype()).copied())
        .ok_or_else(|| Unexpected::at(format!("contract for {}", planned.dtype()), "one"))?;
    let judge = Judge { meaning: basis.meaning, contract };
    let target = open.target.as_mut();
    target.begin(id);
    target.set_threads(threads.unwrap_or_else(|| threads_of(id, planned.law())));
    let outcome = match planned {
        PlannedCase::Plan(_) => evaluate(law, case, judge, target)?,
        // What a law makes of a call of the user's own need not be a call of attention.
        PlannedCase::Own(_) => match evaluate(law, case, judge, target) {
            Ok(outcome) => outcome,
            Err(_) => return Ok(undecided.clone()),
        },
        PlannedCase::Frozen(frozen) => judge_frozen(frozen, judge, target)?,
    };
    let ended = target.take_ended();
    if open.take_unanswered() {
        return Ok(undecided.clone());
    }
    let claimed = config.claim.and_then(|named| {
        let is_right = match outcome.verdict {
            Verdict::Pass | Verdict::Suspect => true,
            Verdict::Fail => false,
            _ => return None,
        };
        let holds = named.claim.holds(&outcome.calls, contract, basis.meaning);
        (holds != is_right).then_some(holds)
    });
    Ok(undecided.clone().decided(outcome, ended, config.digests).claimed(claimed))
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
