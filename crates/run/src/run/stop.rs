//! Why a run ends before its last case.

use std::time::{Duration, Instant};

use qkvet_spec::{CaseRecord, Stopped, Verdict};

use super::case::JudgedCase;
use crate::config::{FailFast, RunConfig, Seen};

/// When a run begins no further case.
#[derive(Debug)]
pub(super) struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    #[expect(clippy::disallowed_methods, reason = "the user says how long a run may take")]
    pub(super) fn after(time: Duration) -> Option<Self> {
        Instant::now().checked_add(time).map(Self)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "how far a run comes is told, and can be repeated"
    )]
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// What stops a run, counted case by case: cases without an answer in time, and cases that cost the
/// target its process.
#[derive(Clone, Debug)]
pub(super) struct Count<'a> {
    timeouts: usize,
    most_timeouts: usize,
    ends: usize,
    most_ends: usize,
    fail_fast: FailFast<'a>,
}

impl<'a> Count<'a> {
    pub(super) fn new(config: &RunConfig<'a>) -> Self {
        let kind = &config.target.adapter;
        Self {
            timeouts: 0,
            most_timeouts: kind.most_timeouts(&config.target.limits),
            ends: 0,
            most_ends: kind.most_ends(),
            fail_fast: config.fail_fast,
        }
    }

    /// Counts one more case; why it is the last one, if it is.
    pub(super) fn add(&mut self, case: &JudgedCase<'_>) -> Option<Stopped> {
        if let Some(reason) = &case.unasked {
            return Some(Stopped::Gone(reason.clone()));
        }
        for put in std::iter::once(case).chain(case.by_numbers.as_deref()) {
            if put.verdict() == Verdict::Timeout {
                self.timeouts += 1;
            } else if put.broke() {
                self.ends += 1;
            }
        }
        if self.timeouts >= self.most_timeouts {
            return Some(Stopped::Timeouts(self.timeouts));
        }
        if self.ends >= self.most_ends {
            return Some(Stopped::Ends(self.ends));
        }
        let CaseRecord { id: case, law, dtype, options, verdict, .. } = &case.record;
        let seen = Seen { law, dtype, case, options, verdict: *verdict };
        self.fail_fast.ends_at(&seen).then_some(Stopped::FirstFinding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::case::PlannedCase;
    use qkvet_gen::{build, plans};
    use qkvet_spec::{Catalog, Dtype};

    fn judged(verdict: Verdict, ended: bool) -> JudgedCase<'static> {
        let catalog = Catalog::embedded().expect("a catalog");
        let (law, suite) = (&catalog.laws["value"], &catalog.suites["smoke"]);
        let plan = plans(suite, &[law], &[Dtype::Float32], 0).remove(0);
        let case = build(law, &plan).expect("a case");
        let mut judged = JudgedCase::skipped(&PlannedCase::Plan(plan), &case);
        judged.record.verdict = verdict;
        JudgedCase { ended, ..judged }
    }

    fn check(
        cases: &[(Verdict, bool)],
        fail_fast: impl Into<FailFast<'static>>,
        expected: Option<Stopped>,
    ) {
        let fail_fast = fail_fast.into();
        let mut count = Count { timeouts: 0, most_timeouts: 2, ends: 0, most_ends: 3, fail_fast };
        let all: Vec<_> =
            cases.iter().map(|(verdict, ended)| count.add(&judged(*verdict, *ended))).collect();
        let (last, before) = all.split_last().expect("a case");
        assert!(before.iter().all(Option::is_none), "{all:?}");
        assert_eq!(*last, expected);
    }

    #[test]
    fn the_last_case_is_the_one_that_is_too_many() {
        use Verdict::{Crash, Error, Fail, Pass, Timeout};
        let fatal = Stopped::Ends(3);
        check(
            &[(Crash, true), (Pass, false), (Error, true), (Error, true)],
            false,
            Some(fatal.clone()),
        );
        check(&[(Error, false), (Error, false), (Error, false), (Fail, false)], false, None);
        check(&[(Pass, true), (Pass, true), (Pass, true)], false, Some(fatal));
        check(
            &[(Timeout, true), (Crash, true), (Timeout, true)],
            false,
            Some(Stopped::Timeouts(2)),
        );
        check(&[(Pass, false), (Fail, false)], true, Some(Stopped::FirstFinding));
        // What is expected is passed over.
        let but = FailFast::FirstBut(&|seen| seen.law == "value" && seen.verdict == Fail);
        check(&[(Fail, false), (Fail, false)], but, None);
        check(&[(Fail, false), (Error, false)], but, Some(Stopped::FirstFinding));
    }

    #[test]
    fn a_target_that_cannot_be_asked_ends_the_run() {
        let mut count = Count {
            timeouts: 0,
            most_timeouts: 2,
            ends: 0,
            most_ends: 3,
            fail_fast: FailFast::Off,
        };
        assert_eq!(count.add(&judged(Verdict::Skipped, false)), None);
        let gone =
            JudgedCase { unasked: Some("not restarted".into()), ..judged(Verdict::Skipped, false) };
        assert_eq!(count.add(&gone), Some(Stopped::Gone("not restarted".into())));
    }
}
