//! Whether a target is compiled for each new combination of extents and options, seen by how long
//! its first calls take. Nothing but a hint is made of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use qkvet_spec::{Call, Response, Target};

use super::few::Combination;

/// New combinations that are looked at.
const FIRST: usize = 10;
/// Each takes at least so many times a repeated one.
const TIMES: u32 = 50;

/// A target whose first calls are timed.
pub(super) struct Timed {
    target: Box<dyn Target + Send>,
    met: BTreeSet<Combination>,
    /// The shortest call of a combination that was new, and of one that was not.
    new: Duration,
    repeated: Option<Duration>,
    is_compiled: Arc<AtomicBool>,
}

impl Timed {
    /// `is_compiled` is set as soon as the target is seen to be.
    pub(super) fn new(target: Box<dyn Target + Send>, is_compiled: Arc<AtomicBool>) -> Self {
        Self { target, met: BTreeSet::new(), new: Duration::MAX, repeated: None, is_compiled }
    }

    #[expect(clippy::disallowed_methods, reason = "a hint, on standard error alone")]
    fn timed(&mut self, call: &Call, put: impl FnOnce(&mut dyn Target) -> Response) -> Response {
        if self.met.len() >= FIRST {
            return put(&mut *self.target);
        }
        let start = Instant::now();
        let response = put(&mut *self.target);
        // What is declined is not compiled.
        if matches!(response, Response::Output(_)) {
            let time = start.elapsed();
            if self.met.insert(Combination::of(call)) {
                self.new = self.new.min(time);
            } else {
                self.repeated = Some(self.repeated.map_or(time, |least| least.min(time)));
            }
            let is_slow = self.repeated.is_some_and(|least| self.new >= least * TIMES);
            if is_slow && self.met.len() == FIRST {
                self.is_compiled.store(true, Ordering::Relaxed);
            }
        }
        response
    }
}

impl Target for Timed {
    fn call(&mut self, call: &Call) -> Response {
        self.timed(call, |target| target.call(call))
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        self.timed(call, |target| target.call_meanwhile(call, work))
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.target.call_contiguous(call)
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        self.target.call_transposed(call)
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.target.puts_views(call)
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(self.target.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use qkvet_engine::law::{Judge, evaluate};
    use qkvet_engine::simulate::Simulator;
    use qkvet_gen::{build, plans};
    use qkvet_spec::{Catalog, Dtype, Execution, Meaning};

    use super::*;

    /// Right, and slow where a combination is new, or always.
    struct Slow {
        target: Simulator,
        met: BTreeSet<Combination>,
        is_always: bool,
    }

    impl Target for Slow {
        fn call(&mut self, call: &Call) -> Response {
            if self.met.insert(Combination::of(call)) || self.is_always {
                sleep(Duration::from_millis(60));
            }
            self.target.call(call)
        }
    }

    #[test]
    fn what_is_slow_when_it_is_new_is_compiled() {
        let catalog = Catalog::embedded().expect("a catalog");
        let (law, suite) = (&catalog.laws["value"], &catalog.suites["core"]);
        let meaning = Meaning::standard();
        let right = || Simulator::new(meaning.clone(), Execution::standard());
        let judge = Judge { meaning: &meaning, contract: &catalog.contracts["f32"] };
        let mut calls = Vec::new();
        for plan in plans(suite, &[law], &[Dtype::Float32], 0).into_iter().take(20) {
            let case = build(law, &plan).expect("a case");
            let outcome = evaluate(law, &case, judge, &mut right()).expect("an outcome");
            calls.extend(outcome.calls.into_iter().map(|record| record.call));
        }
        for is_always in [false, true] {
            let slow = Slow { target: right(), met: BTreeSet::new(), is_always };
            let is_compiled = Arc::new(AtomicBool::new(false));
            let mut timed = Timed::new(Box::new(slow), Arc::clone(&is_compiled));
            for call in calls.iter().flat_map(|call| [call, call]) {
                timed.call(call);
            }
            assert!(timed.met.len() == FIRST, "{} combinations", timed.met.len());
            assert_eq!(is_compiled.load(Ordering::Relaxed), !is_always);
        }
    }
}
