//! A target that keeps what it answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use qkvet_gen::call_id;
use qkvet_spec::{Call, Response, Target};

use super::response::StoredResponse;

/// Answers by the id of the call, those to one call in the order in which they came; shared by all workers of a run.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<BTreeMap<String, Vec<StoredResponse>>>>);

impl Recording {
    fn add(&self, call: &Call, response: &Response) {
        if let Ok(mut answers) = self.0.lock() {
            answers.entry(call_id(call)).or_default().push(StoredResponse::new(response));
        }
    }

    /// The answers, by id of the call; one for all where all are alike.
    pub(super) fn answers(&self) -> BTreeMap<String, Vec<StoredResponse>> {
        let mut answers = self.0.lock().map(|answers| answers.clone()).unwrap_or_default();
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
}
