//! The answers of the target of a shard.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use qkvet_spec::Response;

use super::kept::Keeper;
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

impl Keeper for Recording {
    fn keep(&self, _: &str, call: String, response: &Response, ended: bool) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(answer) = StoredAnswer::new(response, ended) {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.entry(call).or_default().push(answer);
        }
    }
}
