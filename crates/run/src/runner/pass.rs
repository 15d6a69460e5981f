//! One pass over the cases: workers with a target each, results in the order of the suite.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use qkvet_engine::interpret::References;
use qkvet_engine::law::{Judge, Outcome, evaluate};
use qkvet_gen::outputs_digest;
use qkvet_spec::{Fit, Form, Handling, Meaning, Quoted, Stopped, Threads, Unexpected, Verdict};

use super::planned::{Planned, judge_frozen, threads_of};
use super::state::Done;
use super::stop::Count;
use super::store::Store;
use super::{RunConfig, RunError};
use crate::adapters::Called;
use crate::adapters::{NamedTarget, OpenTarget};
use crate::config::meaning_of;
use crate::record::{RecordingTarget, Sharding, hashed};

/// Targets that were opened alike.
#[derive(Default)]
pub(super) struct Opened {
    workers: Vec<OpenTarget>,
    /// How a script calls the target, if it runs in a process of its own.
    called: Option<Called>,
}

/// The open targets of a run.
pub(super) struct Pass<'a> {
    config: &'a RunConfig<'a>,
    opened: Opened,
    store: Option<Store>,
    /// Why there is no folder for cases, if there should be one.
    unkept: Option<Unexpected>,
    stopped: Option<Stopped>,
    environment: Vec<Quoted>,
    device: Option<Quoted>,
    is_layer: bool,
    /// The number of threads of what is asked for now, where it is not the case's own.
    threads: Option<Threads>,
}

impl<'a> Pass<'a> {
    /// Starts one target for each worker.
    pub(super) fn open(config: &'a RunConfig<'a>, cases: usize) -> Result<Self, RunError> {
        let jobs = config.jobs.clamp(1, cases);
        if let Some(Sharding { recording, .. }) = &config.sharding {
            // Before it is loaded: a file that changes meanwhile is no file of another version
            // then.
            recording.set_files(hashed(config.target.adapter.files()));
        }
        let declared = meaning_of(&config.conventions);
        let workers =
            (0..jobs).map(|_| config.target.open(&declared)).collect::<Result<Vec<_>, _>>()?;
        let workers: Vec<OpenTarget> =
            workers.into_iter().map(|worker| recorded(config, worker, false)).collect();
        let first = workers.first();
        let environment = first.map(|worker| worker.environment.clone()).unwrap_or_default();
        let device = first.and_then(|worker| worker.device.clone());
        let is_layer = first.is_some_and(|worker| worker.is_layer);
        // Without a folder to write to the verdicts are the same; only replay is lost.
        let (store, unkept) = match config.store.as_ref().map(|folder| Store::open(folder, config))
        {
            Some(Err(error)) => (None, Some(error)),
            store => (store.and_then(Result::ok), None),
        };
        let called = workers.first().and_then(|worker| worker.called.clone());
        Ok(Self {
            config,
            opened: Opened { workers, called },
            store,
            unkept,
            stopped: None,
            environment,
            device,
            is_layer,
            threads: None,
        })
    }

    /// Does something on this number of threads, whatever that of the cases is.
    pub(super) fn on_threads<T>(
        &mut self,
        threads: Threads,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.threads.replace(threads);
        let done = act(self);
        self.threads = before;
        done
    }

    /// As many targets once more, told that they follow `meaning`, by which what takes a mask in
    /// every call is given another where there is none.
    pub(super) fn open_again(&self, meaning: &Meaning) -> Result<Opened, RunError> {
        let open = || {
            let NamedTarget { adapter, limits, .. } = self.config.target;
            let opened = adapter.open_again(meaning, limits)?;
            Ok::<_, RunError>(self::recorded(self.config, opened, true))
        };
        let workers =
            (0..self.opened.workers.len()).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
        let called = workers.first().and_then(|worker| worker.called.clone());
        Ok(Opened { workers, called })
    }

    /// Asks the others from now on, which are given in exchange for those that were asked so far.
    pub(super) fn exchange(&mut self, other: &mut Opened) {
        std::mem::swap(&mut self.opened, other);
    }

    /// Why cases were lost, if any was.
    pub(super) fn lost(&self) -> Option<String> {
        let unkept = self.unkept.as_ref().map(Unexpected::to_string);
        unkept.or_else(|| self.store.as_ref().and_then(Store::lost))
    }

    /// How a script calls the target, if it runs in a process of its own.
    pub(super) fn called(&self) -> Option<&Called> {
        self.opened.called.as_ref()
    }

    /// What the target told that it takes when it started.
    pub(super) fn fit(&self) -> Option<Fit> {
        self.opened.workers.first().and_then(|worker| worker.fit.clone())
    }

    pub(super) fn environment(&self) -> &[Quoted] {
        &self.environment
    }

    /// The device that its program says it runs on.
    pub(super) fn device(&self) -> Option<&Quoted> {
        self.device.as_ref()
    }

    /// Whether it is a multi-head layer.
    pub(super) fn is_layer(&self) -> bool {
        self.is_layer
    }

    pub(super) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Why the run was stopped early, if it was.
    pub(super) fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// Judges every case under `meaning`. What stops a run is counted in order of the cases,
    /// however many workers there are and whatever they did beyond: the rest is skipped.
    pub(super) fn judge(
        &mut self,
        cases: &[Planned<'_>],
        meaning: &Meaning,
        progress: &mut dyn FnMut(usize, Verdict),
    ) -> Result<Vec<Done>, RunError> {
        let (config, store) = (self.config, self.store.as_ref());
        let foreign = config.target.adapter.max_restarts().is_some();
        let next = AtomicUsize::new(0);
        // Whoever sees a reason to stop, in whatever order, has seen no less than there is to count
        // in order.
        let halt = AtomicBool::new(self.stopped.is_some());
        let seen = Mutex::new(Count::new(config));
        let mut results: Vec<Option<Done>> = vec![None; cases.len()];
        let mut failure = None;
        std::thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for (number, worker) in self.opened.workers.iter_mut().enumerate() {
                let (send, next, halt, seen) = (send.clone(), &next, &halt, &seen);
                scope.spawn(move || {
                    loop {
                        // Whoever takes a number also decides it, so that all below the last one
                        // are decided.
                        if config.stop.load(Ordering::Relaxed) || halt.load(Ordering::Relaxed) {
                            break;
                        }
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= cases.len() {
                            break;
                        }
                        let store = store.filter(|_| foreign).map(|store| (store, number));
                        let result = one(config, worker, &cases[at], (meaning, None), store);
                        if config.stop.load(Ordering::Relaxed) {
                            // The case that was running may have been cut off: it is not decided.
                            break;
                        }
                        let stops = match &result {
                            Ok(done) => seen
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .add(cases[at].law(), done)
                                .is_some(),
                            Err(_) => true,
                        };
                        if stops {
                            halt.store(true, Ordering::Relaxed);
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
                        failure.get_or_insert(error);
                    }
                }
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if config.stop.load(Ordering::Relaxed) {
            self.stopped.get_or_insert(Stopped::Interrupted);
        } else {
            let mut count = Count::new(config);
            let decided =
                results.iter().enumerate().filter_map(|(at, done)| Some((at, done.as_ref()?)));
            let last = decided
                .map(|(at, done)| (at, count.add(cases[at].law(), done)))
                .find_map(|(at, stops)| Some((at, stops?)));
            if let Some((last, reason)) = last {
                results.truncate(last + 1);
                results.resize(cases.len(), None);
                self.stopped.get_or_insert(reason);
            }
        }
        all_told(config, cases, results)
    }

    /// Judges one case on the first target.
    pub(super) fn try_case(
        &mut self,
        case: &Planned<'_>,
        meaning: &Meaning,
    ) -> Result<Done, RunError> {
        let config = self.config;
        let store = self
            .store
            .as_ref()
            .filter(|_| config.target.adapter.max_restarts().is_some())
            .map(|store| (store, 0));
        match self.opened.workers.first_mut() {
            Some(worker) => one(config, worker, case, (meaning, self.threads), store),
            None => skipped(config, case),
        }
    }
}

/// The target, its answers kept if the run is a shard, apart from those of the first if it was
/// opened again.
fn recorded(config: &RunConfig<'_>, open: OpenTarget, is_again: bool) -> OpenTarget {
    let Some(Sharding { recording, .. }) = &config.sharding else { return open };
    let target = RecordingTarget::new(open.target, recording.clone());
    if is_again {
        return OpenTarget { target: Box::new(target.of_other_masks()), ..open };
    }
    recording.set_called(open.called.as_ref());
    OpenTarget { target: Box::new(target), ..open }
}

/// What was decided, and of each other case that it was not. Each of those is drawn for its name,
/// on all cores: who ended a run waits for it.
fn all_told(
    config: &RunConfig<'_>,
    cases: &[Planned<'_>],
    mut results: Vec<Option<Done>>,
) -> Result<Vec<Done>, RunError> {
    let mut left: Vec<_> =
        results.iter_mut().zip(cases).filter(|(done, _)| done.is_none()).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = left.len().div_ceil(cores).max(1);
    let fill = |(done, case): &mut (&mut Option<Done>, &Planned<'_>)| -> Result<(), RunError> {
        **done = Some(skipped(config, case)?);
        Ok(())
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

fn skipped(config: &RunConfig<'_>, planned: &Planned<'_>) -> Result<Done, RunError> {
    let case = planned.case(config)?;
    Ok(Done {
        id: planned.id(&case),
        dtype: planned.dtype(),
        call: qkvet_diagnose::describe_call(&case),
        dims: case.dims,
        options: case.options.on().iter().collect(),
        verdict: Verdict::Skipped,
        margin: 0.0,
        evidence: None,
        calls: Vec::new(),
        on_views: None,
        references: References::default(),
        handling: Handling::default(),
        ended: false,
        digest: None,
        unasked: None,
        asked: 0,
        once: false,
    })
}

fn one(
    config: &RunConfig<'_>,
    worker: &mut OpenTarget,
    planned: &Planned<'_>,
    (meaning, threads): (&Meaning, Option<Threads>),
    store: Option<(&Store, usize)>,
) -> Result<Done, RunError> {
    let law = planned.checked_law(config)?;
    let case = planned.case(config)?;
    let id = planned.id(&case);
    // On disk before the call, so that a target that takes everything down with it leaves its case
    // behind.
    if let Some((store, number)) = store {
        store.running(number, &case, law);
    }
    let contract = config
        .contracts
        .get(&planned.dtype())
        .ok_or_else(|| Unexpected::at(format!("contract for {}", planned.dtype()), "one"))?;
    let judge = Judge { meaning, contract };
    let target = worker.target.as_mut();
    target.begin(&id);
    target.set_threads(threads.unwrap_or_else(|| threads_of(&id, planned.law())));
    let Outcome { verdict, margin, evidence, calls, references, on_views } = match planned {
        Planned::Plan(_) => evaluate(law, &case, judge, target)?,
        Planned::Frozen(frozen) => judge_frozen(frozen, judge, target)?,
    };
    let ended = target.take_ended();
    if worker.take_unanswered() {
        return skipped(config, planned);
    }
    if verdict == Verdict::Skipped {
        let unasked = evidence.map(|evidence| evidence.said(usize::MAX));
        return Ok(Done { ended, unasked, ..skipped(config, planned)? });
    }
    let hashed = config.digests && verdict == Verdict::Pass && !calls.is_empty();
    let digest = hashed.then(|| outputs_digest(calls.iter().map(|record| &record.output)));
    let handling =
        calls.iter().map(|record| record.output.handling).fold(Handling::default(), Handling::and);
    let of_kind = evidence.as_ref().is_some_and(|evidence| evidence.form == Some(Form::Kind));
    let asked =
        calls.len() + usize::from(!matches!(verdict, Verdict::Fail | Verdict::Nondet) || of_kind);
    let calls = if verdict == Verdict::Fail { calls } else { Vec::new() };
    Ok(Done {
        id,
        dtype: planned.dtype(),
        call: qkvet_diagnose::describe_call(&case),
        dims: case.dims,
        options: case.options.on().iter().collect(),
        verdict,
        margin,
        evidence,
        calls,
        on_views: on_views.filter(|_| verdict == Verdict::Fail),
        references,
        handling,
        ended,
        digest,
        unasked: None,
        asked,
        once: false,
    })
}
