//! Results that depend on the number of threads: a race.

use qkvet_spec::{Threads, Verdict};

use super::RunError;
use super::findings::Scene;
use super::groups::Group;
use super::pass::Pass;
use super::planned::Planned;

/// Title of what is wrong on several threads alone, where no fault is named.
pub const THREADS: &str = "wrong only when the library uses several threads";

const HINT: &str = "look for memory that two threads write, or that one reads before another wrote it; `qkvet explain threads` says more";

/// The law whose cases all run on the library's own number of threads.
const ALWAYS: &str = "repeatability";
/// One in so many of the other cases does.
const ONE_IN: u32 = 10;
/// So many members, all of them among the one in [`ONE_IN`], are no accident: 1 in 1,000.
const MANY: usize = 3;
/// Otherwise the member that is shown is put again so often, by each number of threads.
const AGAIN: usize = 10;
/// Right in all of [`AGAIN`] on one thread and wrong in so many on several: by chance 1 in 2,799.
const WRONG: usize = 8;

/// The number of threads of a case. It depends on the case alone, so that shards and replays do as
/// the run did.
pub fn threads_of(id: &str, law: &str) -> Threads {
    let is_threaded = law == ALWAYS || crc32fast::hash(id.as_bytes()).is_multiple_of(ONE_IN);
    if is_threaded { Threads::Library } else { Threads::One }
}

impl Group<'_> {
    /// Whether every member ran on the library's number of threads.
    pub(super) fn is_threaded(&self, scene: &Scene<'_, '_>) -> bool {
        self.members.iter().all(|at| threads(scene, *at) == Threads::Library)
    }
}

fn threads(scene: &Scene<'_, '_>, at: usize) -> Threads {
    threads_of(&scene.done[at].id, scene.cases[at].law())
}

/// What tells that the cases of a group are wrong on several threads alone; `None` where they are
/// wrong on one too, or where it cannot be told.
pub(super) fn of_threads(
    scene: &Scene<'_, '_>,
    pass: &mut Pass<'_>,
    group: &Group<'_>,
    start: usize,
) -> Result<Option<String>, RunError> {
    let may_be = scene.config.target.kind.has_threads()
        && matches!(group.verdict, Verdict::Fail | Verdict::Nondet)
        && !matches!(scene.cases[start], Planned::Frozen(_))
        && group.is_threaded(scene);
    if !may_be {
        return Ok(None);
    }
    let laws = |at: &usize| scene.cases[*at].law() != ALWAYS;
    let mut is_wrong_on = |threads: Threads| {
        let again =
            pass.on_threads(threads, |pass| pass.try_case(&scene.cases[start], scene.meaning));
        again.map(|done| matches!(done.verdict, Verdict::Fail | Verdict::Nondet))
    };
    if is_wrong_on(Threads::One)? {
        return Ok(None);
    }
    if group.members.iter().filter(|at| laws(at)).count() >= MANY {
        let checked: Vec<usize> = (0..scene.done.len())
            .filter(|at| laws(at) && scene.done[*at].verdict.is_checked())
            .collect();
        let on_several = checked.iter().filter(|at| threads(scene, **at) == Threads::Library);
        let (n, several) = (group.members.len(), on_several.count());
        return Ok(Some(format!(
            "on several threads {n} cases were wrong of {several}, on one thread none of {}",
            checked.len() - several
        )));
    }
    let mut wrong = |threads: Threads| -> Result<usize, RunError> {
        (0..AGAIN).map(|_| is_wrong_on(threads)).try_fold(0, |n, wrong| Ok(n + usize::from(wrong?)))
    };
    let (one, several) = (wrong(Threads::One)?, wrong(Threads::Library)?);
    Ok((one == 0 && several >= WRONG).then(|| {
        format!(
            "case {} was wrong {several} of {AGAIN} times on several threads, never of {AGAIN} on one",
            scene.done[start].id
        )
    }))
}

impl Group<'_> {
    /// The same of a group that is wrong on several threads alone, with what tells so.
    pub(super) fn on_threads(self, told: String) -> Self {
        if self.faults.is_empty() {
            return Self {
                title: THREADS.to_owned(),
                cause: Some(told),
                hint: Some(HINT.to_owned()),
                ..self
            };
        }
        let cause = self.cause.map_or_else(|| told.clone(), |cause| format!("{cause}; {told}"));
        Self { cause: Some(cause), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_case_in_ten_runs_on_several_threads_and_all_of_repeatability() {
        let ids: Vec<String> = (0..10_000).map(|n| format!("c-{n:016x}")).collect();
        let threaded = ids.iter().filter(|id| threads_of(id, "value") == Threads::Library).count();
        assert!((800..1200).contains(&threaded), "{threaded}");
        assert!(ids.iter().all(|id| threads_of(id, ALWAYS) == Threads::Library));
    }
}
