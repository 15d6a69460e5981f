//! What is known of a run: decided cases, and groups of them.

use qkvet_engine::interpret::References;
use qkvet_engine::law::{CallRecord, OnViews};
use qkvet_spec::{
    CallOption, Cause, Convention, Dims, Dtype, Evidence, Fault, Handling, Meaning, Note, Quoted,
    Verdict,
};

use super::RunConfig;
use super::planned::Planned;

/// One decided case. Calls are kept only where something failed.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) id: String,
    pub(super) dtype: Dtype,
    pub(super) call: String,
    pub(super) dims: Dims,
    pub(super) options: Vec<CallOption>,
    pub(super) verdict: Verdict,
    pub(super) margin: f64,
    pub(super) evidence: Option<Evidence>,
    pub(super) calls: Vec<CallRecord>,
    /// What else views gave, where it failed in both layouts.
    pub(super) on_views: Option<Box<OnViews>>,
    /// Where the numbers come from that its results were compared with.
    pub(super) references: References,
    /// How its calls were put and answered.
    pub(super) handling: Handling,
    /// Whether a call cost the target its process.
    pub(super) ended: bool,
    /// Hash of what its calls gave, if that was asked for and it passed.
    pub(super) digest: Option<String>,
    /// Why a call was not made, if one was not: the target cannot be asked any more.
    pub(super) unasked: Option<Quoted>,
    /// How many of its calls decided: those that were answered, and the one that came to nothing.
    pub(super) asked: usize,
    /// Whether it was right when it was asked again.
    pub(super) once: bool,
}

/// What was run, how it came out and by what it was judged.
#[derive(Clone, Copy)]
pub(super) struct RunState<'r, 'a> {
    pub(super) config: &'r RunConfig<'a>,
    pub(super) cases: &'r [Planned<'a>],
    pub(super) done: &'r [Done],
    pub(super) meaning: &'r Meaning,
    /// Conventions that `meaning` follows.
    pub(super) conventions: &'r [&'a Convention],
}

/// Cases that belong together.
pub(super) struct Group<'a> {
    pub(super) verdict: Verdict,
    pub(super) cause: Cause,
    pub(super) notes: Vec<Note>,
    /// What explains every member: nothing, a fault, or two together.
    pub(super) faults: Vec<&'a Fault>,
    pub(super) members: Vec<usize>,
    /// Whether it is about what views gave beside a fault that contiguous inputs show.
    pub(super) on_views: bool,
    /// Further cases that its cause speaks of.
    pub(super) beside: Vec<usize>,
}

impl<'a> Group<'a> {
    pub(super) fn new(verdict: Verdict, cause: Cause, members: Vec<usize>) -> Self {
        Self {
            verdict,
            cause,
            notes: Vec::new(),
            faults: Vec::new(),
            members,
            on_views: false,
            beside: Vec::new(),
        }
    }

    /// The same of failures that did not come again: a fault of attention would have.
    pub(super) fn of_once(self) -> Self {
        Self { cause: Cause::Intermittent, notes: Vec::new(), faults: Vec::new(), ..self }
    }

    /// Whether nothing says what explains the cases.
    pub(super) fn is_unexplained(&self) -> bool {
        matches!(self.cause, Cause::Unexplained { .. } | Cause::Form { .. })
            && self.notes.is_empty()
    }

    /// Whether nothing says more of the cases than what they show.
    pub(super) fn is_bare(&self) -> bool {
        let is_plain = matches!(self.cause, Cause::Broken { .. } | Cause::Nondeterministic);
        self.is_unexplained() || is_plain && self.notes.is_empty()
    }
}
