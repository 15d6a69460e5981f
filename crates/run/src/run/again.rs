//! Wrong cases put to the target again: whether they are wrong every time, at times, or on several
//! threads alone.

use qkvet_engine::law::{Came, Inquiry, Question};
use qkvet_spec::{Cause, Note, Stopped, ThreadCounts, Threads, Verdict};

use super::call::{ALWAYS, Workers, threads_of};
use super::error::RunError;
use super::group::{Group, representative};
use super::judge::judge_again;
use super::state::RunState;

/// Members put again in search of one that still fails.
const MAX_AGAIN: usize = 6;
/// So many members, all of them among the one in [`ONE_IN`](super::call::ONE_IN), are no accident:
/// 1 in 1,000.
const MANY: usize = 3;
/// Otherwise the member that is shown is put again so often by each number of threads: results, and
/// what broke, for which the target may have to be started again.
const TIMES: (usize, usize) = (10, 3);

/// When a group is wrong.
pub(super) enum Constancy {
    /// As far as known, always; this member as well when it is put again.
    Always(usize),
    /// Not when its members are put again: what they gave came of the calls before.
    Once,
    /// On several threads alone.
    OnThreads(ThreadCounts, Sureness),
}

/// Whether what was counted may be an accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sureness {
    Sure,
    Likely,
}

/// When a group is wrong, told by its member `start`, and by others if `start` does not come again
/// and it `may_be_once`.
pub(super) fn constancy<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    group: &Group<'a>,
    start: usize,
    may_be_once: bool,
) -> Result<Constancy, RunError> {
    if let Some((counts, sureness)) = threads_alone(state, workers, group, start)? {
        return Ok(Constancy::OnThreads(counts, sureness));
    }
    if !may_be_once {
        return Ok(Constancy::Always(start));
    }
    let mut left = group.members.clone();
    let mut inquiry = Inquiry::new(Question::Stays(MAX_AGAIN));
    while let (Some(attempt), Some(at)) = (inquiry.next(), representative(state, &left)) {
        let planned = &state.cases[at].planned;
        // Frozen cases are judged as they are, and nothing else is asked.
        if planned.is_frozen() || !judge_again(workers, planned, state.meaning, attempt)?.is_right()
        {
            return Ok(Constancy::Always(at));
        }
        inquiry.add(Came::Other);
        left.retain(|other| *other != at);
    }
    Ok(Constancy::Once)
}

/// What tells that the cases of a group are wrong on several threads alone; `None` where they are
/// wrong on one too, or where nothing can be told.
fn threads_alone<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    group: &Group<'a>,
    start: usize,
) -> Result<Option<(ThreadCounts, Sureness)>, RunError> {
    let times = match group.verdict {
        Verdict::Fail | Verdict::Nondet => TIMES.0,
        _ if matches!(group.cause, Cause::Declined { .. }) => return Ok(None),
        Verdict::Crash | Verdict::Error | Verdict::Timeout => TIMES.1,
        _ => return Ok(None),
    };
    let planned = &state.cases[start].planned;
    let may_be = state.config.target.adapter.has_threads()
        && !matches!(state.stopped, Some(Stopped::Interrupted | Stopped::Gone(_)))
        && !planned.is_frozen()
        && group.members.iter().all(|at| has_threads(state, *at));
    if !may_be {
        return Ok(None);
    }
    let is_other = |at: &usize| state.cases[*at].record.law != ALWAYS;
    let members = group.members.iter().copied().filter(is_other).count();
    let is_frequent = members >= MANY;
    let times = if is_frequent { 1 } else { times };
    let mut inquiry = Inquiry::new(Question::Threads { times });
    while let Some(attempt) = inquiry.next() {
        let case = judge_again(workers, planned, state.meaning, attempt)?;
        inquiry.add(if case.verdict().is_finding() { Came::Alike } else { Came::Other });
    }
    if !inquiry.holds() {
        return Ok(None);
    }
    if is_frequent {
        let checked = (0..state.cases.len())
            .filter(|at| is_other(at) && state.cases[*at].verdict().is_checked());
        let (several, one): (Vec<usize>, Vec<usize>) =
            checked.partition(|at| has_threads(state, *at));
        let (several, one) = (several.len(), one.len());
        let counts = ThreadCounts::Cases { wrong: members, several, one };
        return Ok(Some((counts, Sureness::Sure)));
    }
    let wrong = inquiry.came()[times..].iter().filter(|came| **came == Came::Alike).count();
    // 8 of 10 and none of 10 come by chance once in 2,799 times, 3 of 3 and none of 3 once in 20,
    // of a case that is among one in ten.
    let sureness = if wrong * 5 >= times * 4 { Sureness::Sure } else { Sureness::Likely };
    Ok(Some((ThreadCounts::Again { wrong, times }, sureness)))
}

/// Whether the case ran on the library's number of threads.
fn has_threads(state: &RunState<'_, '_>, at: usize) -> bool {
    let record = &state.cases[at].record;
    threads_of(&record.id, &record.law) == Threads::Library
}

impl Group<'_> {
    /// The same of failures that did not come again: a fault of attention would have.
    pub(super) fn of_once(self) -> Self {
        Self { cause: Cause::Intermittent, notes: Vec::new(), faults: Vec::new(), ..self }
    }

    /// The same of a group that is wrong on several threads alone, with what tells so. Where that
    /// may be an accident, or where a fault is named, the cause stays.
    pub(super) fn on_threads(mut self, counts: ThreadCounts, sureness: Sureness) -> Self {
        if sureness == Sureness::Sure && self.faults.is_empty() {
            (self.cause, self.notes) = (Cause::Threads, Vec::new());
        }
        self.notes.push(Note::Threads(counts));
        self
    }
}
