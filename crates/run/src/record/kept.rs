//! A target whose answers are kept, or known from before.

use qkvet_gen::call_id;
use qkvet_spec::{Call, Response, Target};

use super::response::Answered;

/// Where answers are kept.
pub(crate) trait Keeper: Send {
    /// The answer to a call of a case, if it is known.
    fn known(&self, _case: &str, _call: &str) -> Option<Answered> {
        None
    }

    /// Keeps an answer, with which the process may have ended.
    fn keep(&self, case: &str, call: String, response: &Response, ended: bool);
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

/// A target and what keeps its answers.
pub(crate) struct KeptTarget<K> {
    target: Box<dyn Target + Send>,
    keeper: K,
    /// The case that calls belong to.
    case: String,
    /// Whether it is given another mask where a call has none: its answers to those are others.
    has_other_masks: bool,
    /// Whether a process ended since the last time somebody asked.
    ended: bool,
}

impl<K: Keeper> KeptTarget<K> {
    pub(crate) fn new(target: Box<dyn Target + Send>, keeper: K, has_other_masks: bool) -> Self {
        Self { target, keeper, case: String::new(), has_other_masks, ended: false }
    }

    fn answer(
        &mut self,
        id: String,
        call: &Call,
        ask: impl FnOnce(&mut dyn Target) -> Response,
    ) -> Response {
        let id = id_of(id, call, self.has_other_masks);
        self.known(&id).unwrap_or_else(|| {
            let response = ask(self.target.as_mut());
            self.kept(id, response)
        })
    }

    fn known(&mut self, id: &str) -> Option<Response> {
        let Answered { response, ended } = self.keeper.known(&self.case, id)?;
        self.ended |= ended;
        Some(response)
    }

    fn kept(&mut self, id: String, response: Response) -> Response {
        let ended = self.target.take_ended();
        self.ended |= ended;
        self.keeper.keep(&self.case, id, &response, ended);
        response
    }
}

impl<K: Keeper> Target for KeptTarget<K> {
    fn call(&mut self, call: &Call) -> Response {
        self.answer(call_id(call), call, |target| target.call(call))
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        self.answer(call_id(call), call, |target| target.call_meanwhile(call, work))
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.answer(contiguous_id(call), call, |target| target.call_contiguous(call))
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        let id = id_of(transposed_id(call), call, self.has_other_masks);
        if let Some(known) = self.known(&id) {
            return Some(known);
        }
        let response = self.target.call_transposed(call)?;
        Some(self.kept(id, response))
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.target.puts_views(call)
    }

    fn begin(&mut self, case: &str) {
        case.clone_into(&mut self.case);
        self.target.begin(case);
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(self.target.as_mut())
    }

    fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }
}
