//! One answer to one call, with no target behind it: judged, and explained where it is wrong.

use qkvet_diagnose::{CannedTarget, Named, cause, conventions_that_explain, describe_call};
use qkvet_engine::interpret::{Expected, certainly_passes, interpret};
use qkvet_engine::law::{CallRecord, Outcome, judge_call};
use qkvet_engine::lowering::ResultName;
use qkvet_spec::{
    Call, Case, Catalog, Cause, Contract, Convention, Dtype, Judgment, Meaning, Output, Verdict,
};

use crate::config::meaning_of;
use crate::run::{cause_of, right_on, undeclared_cause};

/// By what an answer is judged.
#[derive(Clone, Copy, Debug)]
pub struct Criteria<'a> {
    /// The knowledge.
    pub catalog: &'a Catalog,
    /// Conventions declared.
    pub conventions: &'a [&'a Convention],
    /// The arithmetic claimed.
    pub contract: &'a Contract,
}

/// What is known of one answer.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The verdict with its evidence.
    pub outcome: Outcome,
    /// Elements of the output.
    pub elements: usize,
    /// How many of them no implementation under the contract may return; 0 where the form is wrong
    /// already.
    pub refuted: usize,
}

/// Weights of a call below which an assertion measures: that takes some milliseconds.
const MEASURED: usize = 1 << 20;

/// Multiplications of one enclosure beyond which an explanation is not looked for: each of some
/// hundred candidates takes one.
const MAX_WORK: usize = 1 << 22;

impl Criteria<'_> {
    /// The exact function claimed.
    pub fn meaning(&self) -> Meaning {
        meaning_of(self.conventions)
    }

    /// Judges an output as a check judges the call of a case.
    ///
    /// # Error bound
    /// That of [`interpret`]: a `FAIL` is proved.
    pub fn judge(&self, call: &Call, output: &Output) -> Judged {
        let meaning = self.meaning();
        let expected = interpret(&meaning, call, self.contract, ResultName::Output);
        let outcome =
            judge_call("attention(Q, K, V)", call, |_| expected.clone(), &mut CannedTarget(output));
        let (elements, refuted) = (output.output.data.len(), refuted(&expected, output));
        Judged { outcome, elements, refuted }
    }

    /// The verdict on an output, explained if it fails.
    pub fn judgment(&self, call: &Call, output: &Output) -> Judgment {
        let Judged { outcome, elements, refuted } = self.judge(call, output);
        self.judgment_of(outcome, elements, refuted)
    }

    /// As [`Criteria::judgment`], but for large calls that certainly pass: their margin is not
    /// measured.
    pub fn assertion(&self, call: &Call, output: &Output) -> Judgment {
        // Weights that are rounded to less decide by a product of their own, which has no good
        // bound from below; of those in float64 the radius is too wide.
        let may_pass = weights(call) >= MEASURED && self.contract.weights == Dtype::Float32;
        let has_more = call.return_weights || call.return_lse || !output.inputs_unchanged;
        if !may_pass
            || has_more
            || !certainly_passes(&self.meaning(), call, self.contract, &output.output)
        {
            return self.judgment(call, output);
        }
        let (contract, elements) = (self.contract.contract.clone(), output.output.data.len());
        Judgment {
            verdict: Verdict::Pass,
            margin: None,
            contract,
            elements,
            refuted: 0,
            evidence: None,
            explanation: None,
        }
    }

    /// The verdict on a case, explained if it fails.
    pub fn judgment_of_case(&self, outcome: Outcome) -> Judgment {
        self.judgment_of(outcome, 0, 0)
    }

    fn judgment_of(&self, outcome: Outcome, elements: usize, refuted: usize) -> Judgment {
        let Outcome { verdict, margin, evidence, calls, .. } = outcome;
        let explanation = match evidence.as_ref().and_then(right_on) {
            Some(right) => Some(Cause::Layout { right, faults: Vec::new() }),
            None => (verdict == Verdict::Fail).then(|| self.explain(&calls)).flatten(),
        };
        let margin = margin.is_finite().then_some(margin);
        let contract = self.contract.contract.clone();
        Judgment { verdict, margin, contract, elements, refuted, evidence, explanation }
    }

    /// Which convention or single fault explains what a target returned for calls that failed;
    /// `None` if none does or the calls are too large to try them.
    pub fn explain(&self, calls: &[CallRecord]) -> Option<Cause> {
        let work = |record: &CallRecord| {
            let d = record.call.dims();
            weights(&record.call).saturating_mul(d.d_k + d.d_v)
        };
        if calls.is_empty() || calls.iter().map(work).fold(0, usize::saturating_add) > MAX_WORK {
            return None;
        }
        let (meaning, failures) = (self.meaning(), [(calls, self.contract)]);
        let declared: Vec<&str> =
            self.conventions.iter().map(|convention| convention.field.as_str()).collect();
        let known = self.catalog.conventions.values();
        if let Some(found) = conventions_that_explain(&failures, &meaning, known, &declared).first()
        {
            return Some(undeclared_cause(found));
        }
        // What is wrong in some rows looks as if they had not been written, and one answer cannot
        // tell. Pairs of faults, which a whole run is held against, take minutes.
        let faults = self.catalog.faults.values().filter(|fault| fault.behavior.is_none());
        let causes = cause(&failures, &[], &meaning, faults);
        let rival = causes.get(1).map(|rival| (rival.faults.clone(), 1, 1));
        let named = Named {
            faults: causes.first()?.faults.clone(),
            members: vec![0],
            of: 1,
            contradicted: 0,
            rival,
        };
        Some(cause_of(&named))
    }
}

/// Format, extents and options of a case in one line.
pub fn describe(case: &Case) -> String {
    describe_call(case)
}

fn weights(call: &Call) -> usize {
    let d = call.dims();
    [d.h_q, d.n_q, d.n_k].iter().fold(d.b, |product, n| product.saturating_mul(*n))
}

fn refuted(expected: &Expected, output: &Output) -> usize {
    if output.output.shape != expected.shape {
        return 0;
    }
    output.output.data.iter().enumerate().filter(|(at, x)| !expected.holds(*at, **x)).count()
}
