//! One pass over the cases: workers with a target each, results in the order of the suite.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use qkvet_engine::law::{CallRecord, Judge, Outcome, evaluate};
use qkvet_spec::{Dtype, Evidence, Meaning, Verdict};

use super::planned::{Planned, judge_frozen};
use super::store::{Store, StoreError};
use super::{RunConfig, RunError};
use crate::record::{RecordingTarget, Sharding};
use crate::repro::Called;
use crate::target::OpenTarget;

/// Why a run ended before its last case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The user ended it.
    Interrupted,
    /// Anything else, in words.
    Because(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupted => "interrupted",
            Self::Because(reason) => reason,
        })
    }
}

/// One decided case. Calls are kept only where something failed.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) id: String,
    pub(super) dtype: Dtype,
    pub(super) call: String,
    pub(super) verdict: Verdict,
    pub(super) margin: f64,
    pub(super) evidence: Option<Evidence>,
    pub(super) calls: Vec<CallRecord>,
}

/// The open targets of a run.
pub(super) struct Pass<'a> {
    config: &'a RunConfig<'a>,
    workers: Vec<OpenTarget>,
    store: Option<Store>,
    /// Why there is no folder for cases, if there should be one.
    unkept: Option<StoreError>,
    /// How a script calls the target, if it runs in a process of its own.
    called: Option<Called>,
    stopped: Mutex<Option<Stopped>>,
    environment: Vec<String>,
}

impl<'a> Pass<'a> {
    /// Starts one target for each worker.
    pub(super) fn open(config: &'a RunConfig<'a>, cases: usize) -> Result<Self, RunError> {
        let jobs = config.jobs.clamp(1, cases);
        let workers = (0..jobs).map(|_| config.target.kind.open()).collect::<Result<Vec<_>, _>>()?;
        let workers: Vec<OpenTarget> = workers.into_iter().map(|worker| recorded(config, worker)).collect();
        let environment = workers.first().map(|worker| worker.environment.clone()).unwrap_or_default();
        // Without a folder to write to the verdicts are the same; only replay is lost.
        let (store, unkept) = match config.store.as_ref().map(|folder| Store::open(folder, config)) {
            Some(Err(error)) => (None, Some(error)),
            store => (store.and_then(Result::ok), None),
        };
        let called = workers.first().and_then(|worker| worker.called.clone());
        Ok(Self { config, workers, store, unkept, called, stopped: Mutex::new(None), environment })
    }

    /// Why cases were lost, if any was.
    pub(super) fn lost(&self) -> Option<String> {
        let unkept = self.unkept.as_ref().map(StoreError::to_string);
        unkept.or_else(|| self.store.as_ref().and_then(Store::lost))
    }

    /// How a script calls the target, if it runs in a process of its own.
    pub(super) fn called(&self) -> Option<&Called> {
        self.called.as_ref()
    }

    pub(super) fn environment(&self) -> &[String] {
        &self.environment
    }

    pub(super) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Why the run was stopped early, if it was.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.stopped.lock().map_or(None, |stopped| stopped.clone())
    }

    /// Judges every case under `meaning`.
    pub(super) fn judge(
        &mut self,
        cases: &[Planned<'_>],
        meaning: &Meaning,
        progress: &mut dyn FnMut(usize, Verdict),
    ) -> Result<Vec<Done>, RunError> {
        let (config, store, stopped) = (self.config, self.store.as_ref(), &self.stopped);
        let foreign = config.target.kind.is_foreign();
        let (next, timeouts, ends) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let (most_ends, most_timeouts) = (config.target.kind.most_ends(), config.target.kind.most_timeouts());
        let stop_for = |reason: Stopped| {
            if let Ok(mut stopped) = stopped.lock() {
                stopped.get_or_insert(reason);
            }
        };
        let stop = |reason: &str| stop_for(Stopped::Because(reason.to_owned()));
        let is_stopped = || stopped.lock().is_ok_and(|stopped| stopped.is_some());
        let mut results: Vec<Option<Done>> = vec![None; cases.len()];
        let mut failure = None;
        std::thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for (number, worker) in self.workers.iter_mut().enumerate() {
                let (send, next, timeouts, ends) = (send.clone(), &next, &timeouts, &ends);
                let (stop, stop_for, is_stopped) = (&stop, &stop_for, &is_stopped);
                scope.spawn(move || {
                    loop {
                        if config.stop.load(Ordering::Relaxed) {
                            stop_for(Stopped::Interrupted);
                        }
                        // Whoever takes a number also decides it, so that all below the last one are decided.
                        if is_stopped() {
                            break;
                        }
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= cases.len() {
                            break;
                        }
                        let store = store.filter(|_| foreign).map(|store| (store, number));
                        let result = one(config, worker, &cases[at], meaning, store);
                        if config.stop.load(Ordering::Relaxed) {
                            // The case that was running may have been cut off: it is not decided.
                            stop_for(Stopped::Interrupted);
                            break;
                        }
                        if let Ok(done) = &result {
                            match done.verdict {
                                Verdict::Timeout if timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= most_timeouts => {
                                    stop(&format!("{most_timeouts} calls did not answer in time"));
                                }
                                _ if broke(done) && ends.fetch_add(1, Ordering::Relaxed) + 1 >= most_ends => {
                                    stop(&format!("the target crashed or broke the protocol {most_ends} times"));
                                }
                                verdict if verdict.is_finding() && config.fail_fast => {
                                    stop("the first finding, as asked")
                                }
                                _ => {}
                            }
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
                    Ok(done) => {
                        count += 1;
                        progress(count, done.verdict);
                        results[at] = Some(done);
                    }
                    Err(error) => {
                        stop("an error in a law");
                        failure.get_or_insert(error);
                    }
                }
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if config.fail_fast
            && let Some(first) =
                results.iter().position(|done| done.as_ref().is_some_and(|done| done.verdict.is_finding()))
        {
            // What other workers decided beyond it depends on their number.
            results.truncate(first + 1);
            results.resize(cases.len(), None);
        }
        results.into_iter().zip(cases).map(|(done, case)| done.map_or_else(|| skipped(config, case), Ok)).collect()
    }

    /// Judges one case on the first target.
    pub(super) fn try_case(&mut self, case: &Planned<'_>, meaning: &Meaning) -> Result<Done, RunError> {
        let config = self.config;
        let store = self.store.as_ref().filter(|_| config.target.kind.is_foreign()).map(|store| (store, 0));
        match self.workers.first_mut() {
            Some(worker) => one(config, worker, case, meaning, store),
            None => skipped(config, case),
        }
    }
}

/// The target, its answers kept if the run is a shard.
fn recorded(config: &RunConfig<'_>, open: OpenTarget) -> OpenTarget {
    let Some(Sharding { recording, .. }) = &config.sharding else { return open };
    recording.set_called(open.called.as_ref());
    OpenTarget { target: Box::new(RecordingTarget::new(open.target, recording.clone())), ..open }
}

/// Whether the case cost the target its process, or may have.
fn broke(done: &Done) -> bool {
    done.verdict == Verdict::Crash || done.evidence.as_ref().is_some_and(|evidence| evidence.broke_protocol)
}

fn skipped(config: &RunConfig<'_>, planned: &Planned<'_>) -> Result<Done, RunError> {
    let case = planned.case(config)?;
    Ok(Done {
        id: planned.id(&case),
        dtype: planned.dtype(),
        call: qkvet_diagnose::describe_call(&case),
        verdict: Verdict::Skipped,
        margin: 0.0,
        evidence: None,
        calls: Vec::new(),
    })
}

fn one(
    config: &RunConfig<'_>,
    worker: &mut OpenTarget,
    planned: &Planned<'_>,
    meaning: &Meaning,
    store: Option<(&Store, usize)>,
) -> Result<Done, RunError> {
    let law = planned.checked_law(config)?;
    let case = planned.case(config)?;
    let id = planned.id(&case);
    // On disk before the call, so that a target that takes everything down with it leaves its case behind.
    if let Some((store, number)) = store {
        store.running(number, &case, law);
    }
    let contract = config
        .contracts
        .get(&planned.dtype())
        .ok_or_else(|| RunError::Law(format!("contract for {}: expected one", planned.dtype())))?;
    let judge = Judge { meaning, contract };
    let target = worker.target.as_mut();
    target.begin(&id);
    let Outcome { verdict, margin, evidence, calls } = match planned {
        Planned::Plan(_) => evaluate(law, &case, judge, target).map_err(RunError::Law)?,
        Planned::Frozen(frozen) => judge_frozen(frozen, judge, target)?,
    };
    if worker.take_unanswered() {
        return skipped(config, planned);
    }
    let calls = if verdict == Verdict::Fail { calls } else { Vec::new() };
    Ok(Done {
        id,
        dtype: planned.dtype(),
        call: qkvet_diagnose::describe_call(&case),
        verdict,
        margin,
        evidence,
        calls,
    })
}
