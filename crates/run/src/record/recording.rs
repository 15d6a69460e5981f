//! A target that keeps what it answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use qkvet_gen::call_id;
use qkvet_spec::{Call, Response, Target};

use super::response::StoredAnswer;
use crate::adapters::Called;

/// Answers by the id of the call, those to one call in the order in which they came; shared by all
/// workers of a run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    answers: Arc<Mutex<BTreeMap<String, Vec<StoredAnswer>>>>,
    called: Arc<Mutex<Option<Called>>>,
    files: Arc<Mutex<BTreeMap<String, String>>>,
    stop: Arc<AtomicBool>,
}

impl Recording {
    /// Nothing so far, and nothing once `stop` is set: the call that it cuts off has no answer.
    pub fn until(stop: Arc<AtomicBool>) -> Self {
        Self { answers: Arc::default(), called: Arc::default(), files: Arc::default(), stop }
    }

    /// Keeps how a script calls the target.
    pub(crate) fn set_called(&self, of_target: Option<&Called>) {
        *self.called.lock().unwrap_or_else(PoisonError::into_inner) = of_target.cloned();
    }

    /// How a script calls the target.
    pub(super) fn called(&self) -> Option<Called> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what the files of the target hold.
    pub(crate) fn set_files(&self, files: BTreeMap<String, String>) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = files;
    }

    /// What the files of the target held.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, id: String, response: &Response, ended: bool) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(answer) = StoredAnswer::new(response, ended) {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.entry(id).or_default().push(answer);
        }
    }

    /// The answers, by id of the call; one for all where all are alike.
    pub(super) fn answers(&self) -> BTreeMap<String, Vec<StoredAnswer>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for all in answers.values_mut() {
            if all.windows(2).all(|pair| pair[0] == pair[1]) {
                all.truncate(1);
            }
        }
        answers
    }
}

/// The id of a call whose inputs must be contiguous, beside that of the call as it is put first.
pub(crate) fn contiguous_id(call: &Call) -> String {
    call_id(call) + "-contiguous"
}

/// The same of a call whose inputs must be views.
pub(crate) fn transposed_id(call: &Call) -> String {
    call_id(call) + "-transposed"
}

/// The id of a call whose mask, where it has none, is another than at first.
pub(crate) fn id_of(id: String, call: &Call, has_other_masks: bool) -> String {
    if has_other_masks && call.options.mask.is_none() { id + "-masked" } else { id }
}

/// A target and the recording that it writes to.
pub struct RecordingTarget {
    target: Box<dyn Target + Send>,
    recording: Recording,
    /// Whether it is given another mask where a call has none.
    has_other_masks: bool,
    /// Whether a process ended since the last time somebody asked.
    ended: bool,
}

impl RecordingTarget {
    /// Keeps in `recording` whatever `target` answers from now on.
    pub fn new(target: Box<dyn Target + Send>, recording: Recording) -> Self {
        Self { target, recording, has_other_masks: false, ended: false }
    }

    /// The same of a target that was told to take masks otherwise: its answers to calls without one
    /// are others.
    pub(crate) fn of_other_masks(self) -> Self {
        Self { has_other_masks: true, ..self }
    }

    fn kept(&mut self, id: String, response: Response) -> Response {
        let ended = self.target.take_ended();
        self.ended |= ended;
        self.recording.add(id, &response, ended);
        response
    }
}

impl Target for RecordingTarget {
    fn call(&mut self, call: &Call) -> Response {
        let response = self.target.call(call);
        self.kept(id_of(call_id(call), call, self.has_other_masks), response)
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        let response = self.target.call_meanwhile(call, work);
        self.kept(id_of(call_id(call), call, self.has_other_masks), response)
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        let response = self.target.call_contiguous(call);
        self.kept(id_of(contiguous_id(call), call, self.has_other_masks), response)
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        let response = self.target.call_transposed(call)?;
        Some(self.kept(id_of(transposed_id(call), call, self.has_other_masks), response))
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.target.puts_views(call)
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(self.target.as_mut())
    }

    fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }
}
