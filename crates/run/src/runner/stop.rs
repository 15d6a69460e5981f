//! Why a run ends before its last case.

use qkvet_spec::{Stopped, Verdict};

use super::state::Done;
use super::{FailFast, RunConfig, Seen};

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
    pub(super) fn add(&mut self, law: &str, done: &Done) -> Option<Stopped> {
        if let Some(reason) = &done.unasked {
            return Some(Stopped::Gone(reason.clone()));
        }
        if done.verdict == Verdict::Timeout {
            self.timeouts += 1;
        } else if done.broke() {
            self.ends += 1;
        }
        if self.timeouts >= self.most_timeouts {
            return Some(Stopped::Timeouts(self.timeouts));
        }
        if self.ends >= self.most_ends {
            return Some(Stopped::Ends(self.ends));
        }
        let Done { id: case, dtype, options, verdict, .. } = done;
        let seen = Seen { law, dtype: dtype.name(), case, options, verdict: *verdict };
        self.fail_fast.ends_at(&seen).then_some(Stopped::FirstFinding)
    }
}

impl Done {
    /// Whether the case cost the target its process, or may have.
    pub(super) fn broke(&self) -> bool {
        self.ended
            || matches!(self.verdict, Verdict::Crash | Verdict::Timeout)
            || self.evidence.as_ref().is_some_and(|evidence| evidence.broke_protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qkvet_engine::interpret::References;
    use qkvet_spec::{Dims, Dtype};

    fn done(verdict: Verdict, ended: bool) -> Done {
        Done {
            id: String::new(),
            dtype: Dtype::Float32,
            call: String::new(),
            dims: Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 1, d_k: 1, d_v: 1 },
            options: Vec::new(),
            verdict,
            margin: 0.0,
            evidence: None,
            calls: Vec::new(),
            on_views: None,
            references: References::default(),
            handling: qkvet_spec::Handling::default(),
            ended,
            digest: None,
            unasked: None,
            asked: 0,
            once: false,
        }
    }

    fn check(
        cases: &[(Verdict, bool)],
        fail_fast: impl Into<FailFast<'static>>,
        expected: Option<Stopped>,
    ) {
        let fail_fast = fail_fast.into();
        let mut count = Count { timeouts: 0, most_timeouts: 2, ends: 0, most_ends: 3, fail_fast };
        let all: Vec<_> = cases
            .iter()
            .map(|(verdict, ended)| count.add("value", &done(*verdict, *ended)))
            .collect();
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
        assert_eq!(count.add("value", &done(Verdict::Skipped, false)), None);
        let gone = Done { unasked: Some("not restarted".into()), ..done(Verdict::Skipped, false) };
        assert_eq!(count.add("value", &gone), Some(Stopped::Gone("not restarted".into())));
    }
}
