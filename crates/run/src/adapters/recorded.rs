//! A target that answers from shard files.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use qkvet_gen::call_id;
use qkvet_spec::{Call, Meaning, Quoted, Response, SourcePlace, Target, Unexpected, Warning};

use super::adapter::Adapter;
use super::called::Called;
use super::open::OpenTarget;
use super::open::OwnTarget;
use super::python::gets_views;
use super::settings::StoredCall;
use crate::process::{Limits, StartError, Watch};
use crate::record::{Answered, Joined, contiguous_id, id_of, transposed_id};

/// What the shards recorded, and the target to ask for the rest.
#[derive(Debug)]
pub struct Recorded {
    /// What the target said of itself.
    environment: Vec<Quoted>,
    device: Option<Quoted>,
    is_layer: bool,
    source: Option<SourcePlace>,
    warnings: Vec<Warning>,
    most_ends: usize,
    most_timeouts: usize,
    call: StoredCall,
    called: Option<Called>,
    answers: BTreeMap<String, Vec<Answered>>,
    live: Option<Box<dyn Adapter>>,
    unanswered: AtomicUsize,
    trouble: Mutex<Option<Unexpected>>,
}

impl Recorded {
    /// Takes the answers over. Calls that no shard asked are put to `live`, if there is one.
    pub fn new(joined: Joined, live: Option<Box<dyn Adapter>>) -> Self {
        Self {
            environment: joined.header.environment,
            device: joined.header.device,
            is_layer: joined.header.is_layer,
            source: joined.header.source,
            warnings: joined.warnings,
            most_ends: joined.header.most_ends,
            most_timeouts: joined.header.most_timeouts,
            call: joined.header.call,
            called: joined.header.called,
            answers: joined.answers,
            live,
            unanswered: AtomicUsize::new(0),
            trouble: Mutex::new(None),
        }
    }

    /// Calls that nobody answered so far.
    pub fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Why the live target could not be asked, if it could not.
    pub fn trouble(&self) -> Option<Unexpected> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a call ended a process: a run may be stopped by those, and then fewer calls are
    /// wanted.
    pub fn has_broken(&self) -> bool {
        self.answers.values().flatten().any(|answered| {
            answered.ended
                || matches!(
                    answered.response,
                    Response::Crash(_) | Response::Timeout(_) | Response::Broken(_)
                )
        })
    }

    /// The function of this process to ask for the rest, if it is one.
    fn own(&self) -> Option<&OwnTarget> {
        self.live.as_ref().and_then(|live| live.in_process())
    }

    /// Whether query, key and value may be handed to the target as views.
    fn takes_views(&self) -> bool {
        match &self.called {
            Some(called) => called.takes_views(),
            None => self.own().is_some_and(OwnTarget::takes_views),
        }
    }

    fn opened(
        self: &Arc<Self>,
        declared: &Meaning,
        limits: &Limits,
        has_other_masks: bool,
    ) -> OpenTarget {
        let unanswered = Arc::new(AtomicBool::new(false));
        let target = RecordedTarget {
            recorded: Arc::clone(self),
            declared: declared.clone(),
            limits: limits.clone(),
            has_other_masks,
            given: BTreeMap::new(),
            live: None,
            ended: false,
            unanswered: Arc::clone(&unanswered),
        };
        OpenTarget {
            target: Box::new(target),
            environment: self.environment.clone(),
            device: self.device.clone(),
            is_layer: self.is_layer,
            unanswered: Some(unanswered),
            called: self.called.as_ref().map(|called| called.taking(declared)),
            // The suite of the shards was made to fit.
            fit: None,
        }
    }

    /// Starts the live target, which has to be what the shards ran on.
    fn open_live(&self, declared: &Meaning, limits: &Limits) -> Option<OpenTarget> {
        let kind = self.live.as_ref()?;
        let opened = match kind.open(declared, limits) {
            Ok(open) if open.environment == self.environment => return Some(open),
            Ok(open) => {
                let expected = format!("{}, as of the shards", told(&self.environment));
                Unexpected::at("environment", expected).got(told(&open.environment))
            }
            Err(error) => Unexpected::within("target of the shards", error),
        };
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(opened);
        None
    }
}

fn told(environment: &[Quoted]) -> String {
    environment.iter().map(|line| line.display().to_string()).collect::<Vec<_>>().join("; ")
}

impl Adapter for Arc<Recorded> {
    fn open(&self, declared: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        Ok(self.opened(declared, limits, false))
    }

    fn open_again(&self, declared: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        Ok(self.opened(declared, limits, true))
    }

    fn stored_call(&self) -> StoredCall {
        self.call.clone()
    }

    fn in_process(&self) -> Option<&OwnTarget> {
        self.own()
    }

    fn most_timeouts(&self, _: &Limits) -> usize {
        self.most_timeouts
    }

    fn most_ends(&self) -> usize {
        self.most_ends
    }

    fn fills_masks(&self) -> bool {
        self.called.as_ref().is_some_and(Called::fills_masks)
    }

    fn warnings(&self, _: &Watch) -> Vec<Warning> {
        self.warnings.clone()
    }

    /// As the first of the shards saw it.
    fn source(&self, _: &str) -> Option<SourcePlace> {
        self.source.clone()
    }
}

/// Gives the recorded answers, those to one call in order and then from the first again.
pub struct RecordedTarget {
    recorded: Arc<Recorded>,
    /// What the live target is told that it claims to compute.
    declared: Meaning,
    limits: Limits,
    /// Whether it was given another mask where a call has none.
    has_other_masks: bool,
    /// How often each call of this case was answered.
    given: BTreeMap<String, usize>,
    live: Option<OpenTarget>,
    /// Whether a process ended since the last time somebody asked.
    ended: bool,
    /// Set when a call is not answered.
    unanswered: Arc<AtomicBool>,
}

impl RecordedTarget {
    /// What was recorded under this id; what was not is asked of the live target.
    fn answer(&mut self, id: String, ask: impl FnOnce(&mut dyn Target) -> Response) -> Response {
        if let Some(responses) = self.recorded.answers.get(&id) {
            let given = self.given.entry(id).or_insert(0);
            let at = *given % responses.len().max(1);
            *given += 1;
            if let Some(Answered { response, ended }) = responses.get(at) {
                self.ended |= ended;
                return response.clone();
            }
        }
        if self.live.is_none() && self.recorded.trouble().is_none() {
            self.live = self.recorded.open_live(&self.declared, &self.limits);
        }
        if let Some(live) = &mut self.live {
            let response = ask(live.target.as_mut());
            self.ended |= live.target.take_ended();
            return response;
        }
        self.recorded.unanswered.fetch_add(1, Ordering::Relaxed);
        self.unanswered.store(true, Ordering::Relaxed);
        Response::NotAsked("no shard asked this".into())
    }
}

impl Target for RecordedTarget {
    fn call(&mut self, call: &Call) -> Response {
        self.answer(id_of(call_id(call), call, self.has_other_masks), |live| live.call(call))
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.answer(id_of(contiguous_id(call), call, self.has_other_masks), |live| {
            live.call_contiguous(call)
        })
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        if !self.recorded.takes_views() {
            return None;
        }
        let none = || Response::NotAsked("the target is handed no views".into());
        Some(self.answer(id_of(transposed_id(call), call, self.has_other_masks), |live| {
            live.call_transposed(call).unwrap_or_else(none)
        }))
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.recorded.takes_views() && gets_views(call)
    }

    /// Every case hears the same, whichever worker asks and in whatever order.
    fn begin(&mut self, case: &str) {
        self.given.clear();
        if let Some(live) = self.inner() {
            live.begin(case);
        }
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(self.live.as_mut()?.target.as_mut())
    }

    fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }
}
