//! Results that depend on the number of threads: a race.

use qkvet_spec::{Cause, Note, Stopped, ThreadCounts, Threads, Verdict};

use super::RunError;
use super::pass::Pass;
use super::planned::{ALWAYS, Planned, threads_of};
use super::state::{Group, RunState};

/// So many members, all of them among the one in [`ONE_IN`](super::planned::ONE_IN), are no accident: 1 in 1,000.
const MANY: usize = 3;
/// Otherwise the member that is shown is put again so often by each number of threads: results, and
/// what broke, for which the target may have to be started again.
const AGAIN: (usize, usize) = (10, 3);

impl Group<'_> {
    /// Whether every member ran on the library's number of threads.
    pub(super) fn is_threaded(&self, scene: &RunState<'_, '_>) -> bool {
        self.members.iter().all(|at| threads(scene, *at) == Threads::Library)
    }
}

fn threads(scene: &RunState<'_, '_>, at: usize) -> Threads {
    threads_of(&scene.done[at].id, scene.cases[at].law())
}

/// What tells that the cases of a group are wrong on several threads alone, and whether it is no
/// accident; `None` where they are wrong on one too, or where nothing can be told.
pub(super) fn of_threads(
    scene: &RunState<'_, '_>,
    pass: &mut Pass<'_>,
    group: &Group<'_>,
    start: usize,
) -> Result<Option<(ThreadCounts, bool)>, RunError> {
    let again = match group.verdict {
        Verdict::Fail | Verdict::Nondet => AGAIN.0,
        Verdict::Crash | Verdict::Error | Verdict::Timeout => AGAIN.1,
        _ => return Ok(None),
    };
    let may_be = scene.config.target.adapter.has_threads()
        && !matches!(pass.stopped(), Some(Stopped::Interrupted | Stopped::Gone(_)))
        && !matches!(scene.cases[start], Planned::Frozen(_))
        && group.is_threaded(scene);
    if !may_be {
        return Ok(None);
    }
    let mut is_wrong_on = |threads: Threads| {
        let done =
            pass.on_threads(threads, |pass| pass.try_case(&scene.cases[start], scene.meaning));
        done.map(|done| done.verdict.is_finding())
    };
    if is_wrong_on(Threads::One)? {
        return Ok(None);
    }
    let is_other = |at: &&usize| scene.cases[**at].law() != ALWAYS;
    let members = group.members.iter().filter(is_other).count();
    if members >= MANY {
        let all: Vec<usize> = (0..scene.done.len()).collect();
        let checked =
            all.iter().filter(is_other).filter(|at| scene.done[**at].verdict.is_checked());
        let (several, one): (Vec<usize>, Vec<usize>) =
            checked.partition(|at| threads(scene, **at) == Threads::Library);
        let (several, one) = (several.len(), one.len());
        return Ok(Some((ThreadCounts::Cases { wrong: members, several, one }, true)));
    }
    let mut wrong = |threads: Threads, times: usize| -> Result<usize, RunError> {
        (0..times).map(|_| is_wrong_on(threads)).try_fold(0, |n, wrong| Ok(n + usize::from(wrong?)))
    };
    // It was right on one thread once already.
    let (one, several) = (wrong(Threads::One, again - 1)?, wrong(Threads::Library, again)?);
    let counts = ThreadCounts::Again { wrong: several, times: again };
    // 8 of 10 and none of 10 come by chance once in 2,799 times, 3 of 3 and none of 3 once in 20, of
    // a case that is among one in ten.
    Ok((one == 0 && several > 0).then_some((counts, several * 5 >= again * 4)))
}

impl Group<'_> {
    /// The same of a group that is wrong on several threads alone, with what tells so. Where that
    /// may be an accident, or where a fault is named, the cause stays.
    pub(super) fn on_threads(mut self, (counts, is_sure): (ThreadCounts, bool)) -> Self {
        if is_sure && self.faults.is_empty() {
            (self.cause, self.notes) = (Cause::Threads, Vec::new());
        }
        self.notes.push(Note::Threads(counts));
        self
    }
}
