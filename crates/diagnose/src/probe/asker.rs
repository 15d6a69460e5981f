//! Puts calls to the target: each once, so many in all, and none after the target was lost too
//! often.

use std::collections::BTreeSet;
use std::fmt;

use qkvet_spec::{Call, Contract, Dtype, Output, Quoted, Response, Target};

use super::trials::{swapped, swapped_call};

/// Most calls of one probe.
pub const MAX_CALLS: usize = 200;

/// After so many crashes and calls without an answer, nothing more is asked: each costs the user
/// its time.
const MAX_LOST: usize = 3;

/// How a call ended.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// With an output.
    Output(Box<Output>),
    /// The target does not offer it.
    Declined(Quoted),
    /// It broke.
    Broken(Quoted),
}

pub(super) struct Asker<'a> {
    target: &'a mut dyn Target,
    /// Format of the output under the contract.
    dtype: Dtype,
    asked: Vec<(Call, Answer)>,
    lost: usize,
    /// How many calls the target was given.
    pub(super) calls: usize,
    /// Whether the target takes heads behind positions.
    pub(super) swapped: bool,
    /// Formats of the outputs that came back.
    pub(super) formats: BTreeSet<Dtype>,
    /// Whether a call wrote into its inputs.
    pub(super) overwrites: bool,
}

impl<'a> Asker<'a> {
    pub(super) fn new(target: &'a mut dyn Target, contract: &Contract) -> Self {
        let dtype = contract.output();
        let formats = BTreeSet::new();
        Self {
            target,
            dtype,
            asked: Vec::new(),
            lost: 0,
            calls: 0,
            swapped: false,
            formats,
            overwrites: false,
        }
    }

    /// The answer to a call, in the layout of the call. The format of an output is noted and then
    /// taken to be the contract's: the questions are about its numbers.
    pub(super) fn ask(&mut self, call: &Call) -> Answer {
        let call = if self.swapped { swapped_call(call) } else { call.clone() };
        if let Some((_, answer)) = self.asked.iter().find(|(asked, _)| *asked == call) {
            return answer.clone();
        }
        if self.lost >= MAX_LOST {
            let why = format!("not asked: {MAX_LOST} calls before it ended without an answer");
            return Answer::Broken(why.into());
        }
        if self.calls >= MAX_CALLS {
            let why = format!("not asked: a probe makes at most {MAX_CALLS} calls");
            return Answer::Declined(why.into());
        }
        self.calls += 1;
        let answer = match self.target.call_contiguous(&call) {
            Response::Output(output) => Answer::Output(self.noted(output)),
            Response::Unsupported(reason) => {
                Answer::Declined(said("unsupported", reason.display()))
            }
            Response::Refused(reason) => Answer::Declined(said("refused", reason.display())),
            Response::NotAsked(reason) => Answer::Declined(said("not asked", reason.display())),
            Response::Error(reason) => Answer::Broken(said("error", reason.display())),
            Response::Malformed(reason) => Answer::Broken(said("malformed", reason.display())),
            Response::Crash(trouble) => self.lost(said("crash", trouble.display())),
            Response::Timeout(trouble) => self.lost(said("timeout", trouble.display())),
            Response::Broken(trouble) => self.lost(said("broken", trouble.display())),
        };
        self.asked.push((call, answer.clone()));
        answer
    }

    fn noted(&mut self, mut output: Box<Output>) -> Box<Output> {
        self.formats.insert(output.output.dtype);
        self.overwrites |= !output.inputs_unchanged;
        output.output.dtype = self.dtype;
        output.inputs_unchanged = true;
        if self.swapped {
            output.output = swapped(&output.output);
        }
        output
    }

    fn lost(&mut self, how: Quoted) -> Answer {
        self.lost += 1;
        Answer::Broken(how)
    }
}

fn said(what: &str, words: impl fmt::Display) -> Quoted {
    format!("{what}: {words}").into()
}
