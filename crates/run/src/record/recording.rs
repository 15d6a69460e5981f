//! A target that keeps what it answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use qkvet_gen::call_id;
use qkvet_spec::{Call, Response, Target};

use super::response::StoredResponse;
use crate::repro::Called;

/// Answers by the id of the call, those to one call in the order in which they came; shared by all workers of a run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    answers: Arc<Mutex<BTreeMap<String, Vec<StoredResponse>>>>,
    called: Arc<Mutex<Option<Called>>>,
    stop: Arc<AtomicBool>,
}

impl Recording {
    /// Nothing so far, and nothing once `stop` is set: the call that it cuts off has no answer.
    pub fn until(stop: Arc<AtomicBool>) -> Self {
        Self { answers: Arc::default(), called: Arc::default(), stop }
    }

    /// Keeps how a script calls the target.
    pub(crate) fn set_called(&self, of_target: Option<&Called>) {
        if let Ok(mut called) = self.called.lock() {
            *called = of_target.cloned();
        }
    }

    /// How a script calls the target.
    pub(super) fn called(&self) -> Option<Called> {
        self.called.lock().map_or(None, |called| called.clone())
    }

    fn add(&self, call: &Call, response: &Response) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(mut answers) = self.answers.lock() {
            answers.entry(call_id(call)).or_default().push(StoredResponse::new(response));
        }
    }

    /// The answers, by id of the call; one for all where all are alike.
    pub(super) fn answers(&self) -> BTreeMap<String, Vec<StoredResponse>> {
        let mut answers = self.answers.lock().map(|answers| answers.clone()).unwrap_or_default();
        for all in answers.values_mut() {
            if all.windows(2).all(|pair| pair[0] == pair[1]) {
                all.truncate(1);
            }
        }
        answers
    }
}

/// A target and the recording that it writes to.
pub struct RecordingTarget {
    target: Box<dyn Target + Send>,
    recording: Recording,
}

impl RecordingTarget {
    /// Keeps in `recording` whatever `target` answers from now on.
    pub fn new(target: Box<dyn Target + Send>, recording: Recording) -> Self {
        Self { target, recording }
    }
}

impl Target for RecordingTarget {
    fn call(&mut self, call: &Call) -> Response {
        let response = self.target.call(call);
        self.recording.add(call, &response);
        response
    }

    fn begin(&mut self, case: &str) {
        self.target.begin(case);
    }
}
