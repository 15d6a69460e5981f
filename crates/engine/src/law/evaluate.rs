//! Evaluation of one law on one case.

use qkvet_spec::{
    Binding, Call, Case, CheckedLaw, Contract, Evidence, Meaning, Observation, Output, Response, Target, Tensor,
    Trouble, Verdict,
};
use std::collections::BTreeMap;

use super::call::{CallRecord, check_value, exact_balls, fits};
use super::matrices::BallMatrices;
use super::relation::{Decision, show_number};
use super::value::Value;
use crate::ball::Ball;
use crate::interpret::{Expected, interpret};
use crate::lowering::Want;

/// By what a target is judged.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The exact function it claims to compute.
    pub meaning: &'a Meaning,
    /// The arithmetic it claims to use.
    pub contract: &'a Contract,
}

/// How a case came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Largest distance over bound among the numbers checked.
    pub margin: f64,
    /// Why it is not a pass.
    pub evidence: Option<Evidence>,
    /// The calls that the target answered.
    pub calls: Vec<CallRecord>,
}

/// Why evaluation ended before the relation was decided.
pub(super) enum Stop {
    /// The target gave no result.
    Target(Verdict, Box<Evidence>),
    /// A result has the wrong form.
    Form(Box<Evidence>),
    /// The law asks for something impossible: an error in the law, not in the target.
    Law(String),
}

/// Runs `law` on `case`.
///
/// A failing case is called again at once: results that differ make the verdict [`Verdict::Nondet`].
///
/// # Errors
/// A law that asks for something impossible: an inexact argument, extents that do not fit.
pub fn evaluate(law: &CheckedLaw, case: &Case, judge: Judge<'_>, target: &mut dyn Target) -> Result<Outcome, String> {
    let mut evaluator = Evaluator::new(case, judge, target);
    let decision = evaluator.law(law);
    let values = std::mem::replace(&mut evaluator.values, Decision::pass());
    if evaluator.records.is_empty() && decision.is_ok() {
        return Err(format!("law {}: expected a call of attention or weights, got none", law.law.law));
    }
    let mut outcome = match decision {
        Ok(decision) => {
            // The relation names the property; a wrong value without a broken relation is reported as such. The margin is
            // that of the values: how far a relation is from being refuted says nothing of the target's accuracy.
            let margin = values.margin;
            let (first, second) =
                if decision.verdict == Verdict::Fail { (decision, values) } else { (values, decision) };
            let joined = first.and(second);
            Outcome { verdict: joined.verdict, margin, evidence: joined.evidence, calls: Vec::new() }
        }
        Err(Stop::Form(evidence)) => {
            Outcome { verdict: Verdict::Fail, margin: 0.0, evidence: Some(*evidence), calls: Vec::new() }
        }
        Err(Stop::Target(verdict, evidence)) => {
            Outcome { verdict, margin: 0.0, evidence: Some(*evidence), calls: Vec::new() }
        }
        Err(Stop::Law(message)) => return Err(format!("law {} on {}: {message}", law.law.law, case_line(case))),
    };
    if outcome.verdict == Verdict::Fail
        && let Some(evidence) = evaluator.unrepeatable()
    {
        outcome.verdict = Verdict::Nondet;
        let relation = outcome.evidence.as_ref().is_some_and(|evidence| evidence.relation);
        outcome.evidence = Some(Evidence { relation, ..evidence });
    }
    outcome.calls = evaluator.records;
    Ok(outcome)
}

/// Whether every result in `calls` is what the meaning chosen by `meaning` gives under `contract`.
pub fn explains(calls: &[CallRecord], meaning: impl Fn(&Call) -> Meaning, contract: &Contract) -> bool {
    !calls.is_empty() && calls.iter().all(|record| fits(record, &meaning(&record.call), contract))
}

fn case_line(case: &Case) -> String {
    let d = case.dims;
    format!(
        "{} b={} h_q={} h_k={} n_q={} n_k={} d_k={} d_v={}",
        case.dtype, d.b, d.h_q, d.h_k, d.n_q, d.n_k, d.d_k, d.d_v
    )
}

pub(super) struct Evaluator<'a> {
    pub(super) case: &'a Case,
    pub(super) judge: Judge<'a>,
    target: &'a mut dyn Target,
    pub(super) names: BTreeMap<String, Value>,
    /// Text of the formula being evaluated, for labels.
    pub(super) source: String,
    pub(super) records: Vec<CallRecord>,
    pub(super) expected: Vec<Expected>,
    /// What the calls' own value checks decided so far.
    values: Decision,
}

impl<'a> Evaluator<'a> {
    fn new(case: &'a Case, judge: Judge<'a>, target: &'a mut dyn Target) -> Self {
        let mut names = BTreeMap::new();
        for (name, binding) in &case.bindings {
            let value = match binding {
                Binding::Dim(n) => Value::Integer(i64::try_from(*n).unwrap_or(i64::MAX)),
                Binding::Index(i) => Value::Index(*i),
                Binding::Indices(rows) => Value::Indices(rows.clone()),
                Binding::Real(x) => Value::Number(Ball::exact(*x)),
                Binding::Matrices(m) => Value::Matrices(BallMatrices::exact(m)),
            };
            names.insert(name.clone(), value);
        }
        Self {
            case,
            judge,
            target,
            names,
            source: String::new(),
            records: Vec::new(),
            expected: Vec::new(),
            values: Decision::pass(),
        }
    }

    fn law(&mut self, law: &CheckedLaw) -> Result<Decision, Stop> {
        for given in &law.given {
            let option = match given.domain {
                qkvet_spec::Domain::Mask => "mask",
                qkvet_spec::Domain::Bias => "bias",
                _ => continue,
            };
            let value = self.case_option(option)?;
            self.names.insert(given.names[0].clone(), value);
        }
        for ((name, expr), formula) in law.lets.iter().zip(law.law.lets.values()) {
            formula.text.clone_into(&mut self.source);
            let value = self.value(expr)?;
            self.names.insert(name.clone(), value);
        }
        match (&law.expect, law.law.observe) {
            (Some(expr), _) => {
                if let Some(formula) = &law.law.expect {
                    formula.text.clone_into(&mut self.source);
                }
                self.truth(expr)
            }
            (None, Some(Observation::InputsUnchanged)) => self.inputs_unchanged(),
            (None, None) => Err(Stop::Law("neither `expect` nor `observe`".to_owned())),
        }
    }

    /// `attention(Q, K, V)` must leave its arguments as they were.
    fn inputs_unchanged(&mut self) -> Result<Decision, Stop> {
        let expr = qkvet_spec::syntax::parse("attention(Q, K, V)").map_err(|error| Stop::Law(error.message))?;
        "attention(Q, K, V)".clone_into(&mut self.source);
        self.value(&expr)?;
        if self.records.iter().all(|record| record.output.inputs_unchanged) {
            return Ok(Decision::pass());
        }
        let got = "other bits: the call wrote into query, key, value, mask or bias";
        let evidence = Evidence::new("inputs of attention(Q, K, V)", "the same bits after the call", got);
        let evidence = Evidence { relation: true, ..evidence };
        Ok(Decision { verdict: Verdict::Fail, margin: 0.0, evidence: Some(evidence) })
    }

    /// Calls everything twice more, in a row; the first result with other bits is the evidence. Twice, because a target that
    /// alternates may be in step with the first repetition.
    fn unrepeatable(&mut self) -> Option<Evidence> {
        for at in 0..self.records.len() {
            let call = self.records[at].call.clone();
            let mut last = self.records[at].output.output.clone();
            for _ in 0..2 {
                let Response::Output(again) = self.target.call(&call) else { break };
                if let Some((x, y)) = first_difference(&last, &again.output) {
                    let place = format!("identical calls of {}", self.records[at].label);
                    let evidence = Evidence::new(place, format!("{} every time", show_number(x)), show_number(y));
                    return Some(Evidence { relation: true, ..evidence });
                }
                last = again.output;
            }
        }
        None
    }

    /// Puts a call to the target and checks what comes back.
    pub(super) fn ask(&mut self, label: String, call: Call, want: Want) -> Result<Value, Stop> {
        let output: Output = match self.target.call(&call) {
            Response::Output(output) => *output,
            Response::Malformed(got) => {
                let form = Some("kind of result".to_owned());
                let evidence = Evidence { form, ..Evidence::new(label, "a tensor of floating-point numbers", got) };
                return Err(Stop::Form(Box::new(evidence)));
            }
            Response::Unsupported(reason) => return Err(no_result(Verdict::Unsupported, label, reason)),
            Response::Refused(reason) => return Err(no_result(Verdict::Refused, label, reason)),
            Response::Error(reason) => return Err(no_result(Verdict::Error, label, reason)),
            Response::Crash(trouble) => return Err(no_result(Verdict::Crash, label, trouble)),
            Response::Timeout(trouble) => return Err(no_result(Verdict::Timeout, label, trouble)),
            Response::Broken(Trouble { what, stderr }) => {
                let got = Evidence::new(label, "an answer of the protocol", format!("broke the protocol: {what}"));
                return Err(Stop::Target(Verdict::Error, Box::new(Evidence { broke_protocol: true, stderr, ..got })));
            }
        };
        let record = CallRecord { label, call, output, want };
        let mut expected = None;
        for result in record.results() {
            let one = interpret(self.judge.meaning, &result.call, self.judge.contract, result.want);
            let decision = check_value(&result, &one);
            self.values = std::mem::replace(&mut self.values, Decision::pass()).and(decision);
            expected.get_or_insert(one);
        }
        let expected = expected.ok_or_else(|| Stop::Law("call: expected a result to check".to_owned()))?;
        self.records.push(record);
        self.expected.push(expected);
        Ok(Value::Returned(self.records.len() - 1))
    }

    /// The enclosure of a call, without the target.
    pub(super) fn exact(&self, call: &Call) -> BallMatrices {
        let known = self.records.iter().position(|record| record.call == *call && record.want == Want::Output);
        match known {
            Some(at) => exact_balls(&self.expected[at]),
            None => exact_balls(&interpret(self.judge.meaning, call, self.judge.contract, Want::Output)),
        }
    }
}

fn no_result(verdict: Verdict, place: String, trouble: impl Into<Trouble>) -> Stop {
    let Trouble { what, stderr } = trouble.into();
    Stop::Target(verdict, Box::new(Evidence { stderr, ..Evidence::new(place, "a result", what) }))
}

/// The first elements that differ; NaN is NaN and the sign of zero does not count.
fn first_difference(x: &Tensor, y: &Tensor) -> Option<(f64, f64)> {
    #[expect(clippy::float_cmp, reason = "two runs of one call either agree or do not")]
    let differ = |(x, y): &(&f64, &f64)| x != y && !(x.is_nan() && y.is_nan());
    if x.shape == y.shape { x.data.iter().zip(&y.data).find(differ).map(|(x, y)| (*x, *y)) } else { None }
}
