//! The calls of one case: put to the target, checked one by one, repeated when the case fails.

use std::ops::Range;

use qkvet_spec::{
    Approx, Aspect, Call, Evidence, Expectation, Form, Got, Number, Place, Response, Strides,
    Target, Tensor, Trouble, Verdict,
};

use super::attempt::{Attempt, Came, Inquiry, Question};
use super::call::{CallRecord, all_verdicts, check_value, is_element_right, malformed, results_of};
use super::relation::{Decision, place};
use super::same::{first_difference, is_same};
use crate::interpret::{Expected, References};
use crate::lowering::ResultName;

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
    /// Where the numbers come from that its results were compared with.
    pub references: References,
    /// What else views gave, where the calls are wrong on contiguous inputs too: `calls` holds what
    /// those gave then.
    pub on_views: Option<Box<OnViews>>,
}

/// Wrong answers to views of which heads and positions lie exchanged in memory, where contiguous
/// inputs got other wrong answers.
#[derive(Clone, Debug)]
pub struct OnViews {
    /// Why the first of them is wrong.
    pub evidence: Evidence,
    /// The calls that were answered otherwise, as views.
    pub calls: Vec<CallRecord>,
}

/// Judges the output of one call, and its weights if the call returns them, against the numbers
/// that `expect` gives for each, without a law.
///
/// The verdict is that of one `attention(...)` of a law: form, then value. A right value does not
/// excuse a call that writes into its inputs. A failing call is made again at once: results that
/// differ make the verdict [`Verdict::Nondet`].
pub fn judge_call(
    label: &str,
    call: &Call,
    expect: impl Fn(ResultName) -> Expected,
    target: &mut dyn Target,
) -> Outcome {
    let mut session = Session::new(target);
    let want = match (call.return_weights, call.return_lse) {
        (true, _) => ResultName::Weights,
        (false, true) => ResultName::Lse,
        (false, false) => ResultName::Output,
    };
    let answered = session.call(label.to_owned(), call.clone(), want, |_, want| expect(want));
    session.conclude(answered.map(|_| Decision::pass()))
}

/// A target and what it answered so far.
pub(super) struct Session<'a> {
    target: &'a mut dyn Target,
    pub(super) records: Vec<CallRecord>,
    /// What each call must return.
    pub(super) expected: Vec<Expected>,
    /// What the calls' own value checks decided so far.
    values: Decision,
    references: References,
}

impl<'a> Session<'a> {
    pub(super) fn new(target: &'a mut dyn Target) -> Self {
        Self {
            target,
            records: Vec::new(),
            expected: Vec::new(),
            values: Decision::pass(),
            references: References::default(),
        }
    }

    /// Puts a call to the target and checks every result that comes back; gives the number of the
    /// call. What must come back is computed while the target computes, where it does so elsewhere.
    ///
    /// # Errors
    /// The decision, when the target gave no result.
    pub(super) fn call(
        &mut self,
        label: String,
        call: Call,
        want: ResultName,
        expect: impl Fn(&Call, ResultName) -> Expected,
    ) -> Result<usize, Box<Decision>> {
        let mut early = Vec::new();
        let response = self.target.call_meanwhile(&call, &mut || {
            early = results_of(want).map(|want| expect(&call, want)).collect();
        });
        let output = match response {
            Response::Output(output) => *output,
            other => return Err(Box::new(self.without_result(label, call, want, other, expect))),
        };
        let record = CallRecord { label, call, output, want };
        let (mut asked, mut early) = (None, early.into_iter());
        for result in record.results() {
            let expected = early.next().unwrap_or_else(|| expect(&record.call, result.want));
            let decision = check_value(result, &expected);
            if malformed(result, &expected).is_none() {
                self.references.add(&expected.rows);
            }
            self.values = std::mem::replace(&mut self.values, Decision::pass()).and(decision);
            asked.get_or_insert(expected);
        }
        self.expected.extend(asked);
        self.records.push(record);
        Ok(self.records.len() - 1)
    }

    /// What a call without a result decides, and whether views are the reason.
    fn without_result(
        &mut self,
        label: String,
        call: Call,
        want: ResultName,
        response: Response,
        expect: impl Fn(&Call, ResultName) -> Expected,
    ) -> Decision {
        let kind = std::mem::discriminant(&response);
        let decision = no_result(label.clone(), response);
        let other = if yields(decision.verdict) { self.with_other_numbers(&call) } else { None };
        match other {
            Some(Response::Output(_)) => {
                let expected = Expectation::ResultAsOthers;
                let evidence = decision.evidence.map(|evidence| Evidence { expected, ..evidence });
                return Decision { verdict: Verdict::Error, evidence, ..decision };
            }
            // Whoever broke has declined nothing.
            Some(other @ (Response::Crash(_) | Response::Timeout(_) | Response::Broken(_))) => {
                return no_result(label, other);
            }
            _ => {}
        }
        if yields(decision.verdict) || !self.target.puts_views(&call) {
            return decision;
        }
        let is_right = |output| {
            let record = CallRecord { label: label.clone(), call: call.clone(), output, want };
            let is_open = |verdict| verdict != Verdict::Fail;
            all_verdicts(&record, |want| expect(&call, want), is_open)
        };
        let mut inquiry = Inquiry::new(Question::ViewsBreak);
        while let Some(attempt) = inquiry.next() {
            inquiry.add(match (attempt, attempt.put(self.target, &call)) {
                (Attempt::Same, Some(again)) if std::mem::discriminant(&again) == kind => {
                    Came::Alike
                }
                (Attempt::Contiguous, Some(Response::Output(output))) => {
                    if is_right(*output) {
                        Came::Other
                    } else {
                        Came::Nothing
                    }
                }
                _ => Came::Nothing,
            });
        }
        let strided = inquiry.holds();
        let evidence = decision.evidence.map(|evidence| Evidence { strided, ..evidence });
        Decision { evidence, ..decision }
    }

    /// What the call comes to with other numbers in query, key and value. What is declined may
    /// depend on extents, options and the format, and on nothing else: else whoever declines what
    /// it would get wrong is right.
    fn with_other_numbers(&mut self, call: &Call) -> Option<Response> {
        let plain = |tensor: &Tensor, start: usize| {
            // Exact in every format, and small.
            let data = (start..).take(tensor.data.len()).map(|at| (at * 7 % 5) as f64 / 4.0 - 0.5);
            Tensor { data: data.collect(), ..tensor.clone() }
        };
        let (query, key, value) =
            (plain(&call.query, 0), plain(&call.key, 1), plain(&call.value, 2));
        let other = Call { query, key, value, ..call.clone() };
        (other != *call).then(|| self.target.call(&other))
    }

    /// Every call so far must have left its arguments as they were.
    pub(super) fn inputs_unchanged(&self) -> Decision {
        let Some(record) = self.records.iter().find(|record| !record.output.inputs_unchanged)
        else {
            return Decision::pass();
        };
        let inputs = Place { what: Aspect::Inputs, ..place(&record.label) };
        let evidence = Evidence::new(inputs, Expectation::Unchanged, Got::Changed);
        Decision::fail(Evidence { relation: true, ..evidence })
    }

    /// The outcome: the relation's decision, or the one without a result, joined with those of the
    /// values.
    pub(super) fn conclude(mut self, decision: Result<Decision, Box<Decision>>) -> Outcome {
        let values = std::mem::replace(&mut self.values, Decision::pass());
        let (mut decision, margin) = match decision {
            Ok(relation) => {
                // The relation names the property; a wrong value without a broken relation is
                // reported as such. The margin is that of the values: how far a relation is from
                // being refuted says nothing of the target's accuracy.
                let margin = values.margin;
                let (first, second) = if relation.verdict == Verdict::Fail {
                    (relation, values)
                } else {
                    (values, relation)
                };
                (first.and(second), margin)
            }
            // What was answered before is an answer: whoever takes no further call may have been
            // wrong already.
            Err(no_result) if yields(no_result.verdict) && values.verdict == Verdict::Fail => {
                let margin = values.margin;
                (values, margin)
            }
            Err(no_result) => (*no_result, 0.0),
        };
        if yields(decision.verdict)
            && let Decision { evidence: Some(evidence), .. } = self.inputs_unchanged()
        {
            decision = Decision::fail(Evidence { relation: false, ..evidence });
        }
        if decision.verdict == Verdict::Fail
            && let Some(evidence) = self.unrepeatable()
        {
            let relation = decision.evidence.as_ref().is_some_and(|evidence| evidence.relation);
            decision.verdict = Verdict::Nondet;
            decision.evidence = Some(Evidence { relation, ..evidence });
        }
        let mut on_views = None;
        if decision.verdict == Verdict::Fail {
            match self.of_layout() {
                Layouts::Depends(evidence) => decision.evidence = Some(*evidence),
                Layouts::BothWrong(seen) => {
                    let is_relation =
                        decision.evidence.as_ref().is_some_and(|evidence| evidence.relation);
                    let contiguous = self.values_again();
                    if !is_relation && contiguous.verdict == Verdict::Fail {
                        decision = contiguous;
                    }
                    on_views = Some(seen);
                }
                Layouts::Alike => {}
            }
        }
        let Self { records: calls, references, .. } = self;
        Outcome {
            verdict: decision.verdict,
            margin,
            evidence: decision.evidence,
            calls,
            references,
            on_views,
        }
    }

    /// Puts wrong calls again, with inputs that lie otherwise in memory. What contiguous inputs
    /// give takes the place of what views gave if both are wrong: a cause is looked for where
    /// nothing else is wrong.
    fn of_layout(&mut self) -> Layouts {
        let mut views: Option<Box<OnViews>> = None;
        for (record, expected) in self.records.iter_mut().zip(&self.expected) {
            let Decision { verdict: Verdict::Fail, evidence: Some(evidence), .. } =
                check_value(record.asked(), expected)
            else {
                continue;
            };
            let strides = record.output.handling.strides;
            let was_view = strides == Strides::Transposed;
            let (mut inquiry, mut last) = (Inquiry::new(Question::Layout(strides)), None);
            while let Some(attempt) = inquiry.next() {
                last = answered(self.target, record, attempt).map(|seen| {
                    let decided = check_value(seen.asked(), expected);
                    (seen, decided)
                });
                inquiry.add(match &last {
                    None => Came::Nothing,
                    Some((_, decided)) if decided.verdict == Verdict::Fail => Came::Alike,
                    Some(_) => Came::Other,
                });
            }
            if inquiry.holds() {
                return Layouts::Depends(Box::new(Evidence {
                    strided: was_view,
                    contiguous: !was_view,
                    ..evidence
                }));
            }
            let (Some((mut other, decided)), [Came::Alike]) = (last, inquiry.came()) else {
                continue;
            };
            if is_same(record, &other) {
                continue;
            }
            let evidence = if was_view {
                // How the case was put does not change with what is kept of it.
                other.output.handling = record.output.handling;
                std::mem::swap(record, &mut other);
                Some(evidence)
            } else {
                decided.evidence
            };
            match (&mut views, evidence) {
                (Some(views), _) => views.calls.push(other),
                (None, Some(evidence)) => {
                    views = Some(Box::new(OnViews { evidence, calls: vec![other] }))
                }
                (None, None) => {}
            }
        }
        views.map_or(Layouts::Alike, Layouts::BothWrong)
    }

    /// Whether the result of one of these calls is wrong by itself.
    pub(super) fn has_wrong(&self, mut calls: Range<usize>) -> bool {
        calls.any(|at| {
            check_value(self.records[at].asked(), &self.expected[at]).verdict == Verdict::Fail
        })
    }

    /// Whether one element of the result of a call is right by itself, of as many as are compared.
    pub(super) fn is_right_at(&self, call: usize, at: usize) -> bool {
        self.records.get(call).zip(self.expected.get(call)).is_some_and(|(record, expected)| {
            malformed(record.asked(), expected).is_none()
                && is_element_right(record.asked(), expected, at)
        })
    }

    /// What the calls' own value checks decide of the results as they are kept now.
    fn values_again(&self) -> Decision {
        let results = self.records.iter().zip(&self.expected);
        results
            .map(|(record, expected)| check_value(record.asked(), expected))
            .fold(Decision::pass(), Decision::and)
    }

    /// Calls everything again; the first result with other bits is the evidence.
    fn unrepeatable(&mut self) -> Option<Evidence> {
        for (record, bounds) in self.records.iter().zip(&self.expected) {
            let (mut inquiry, mut again) = (Inquiry::new(Question::Varies), None);
            while let Some(attempt) = inquiry.next() {
                let Some(Response::Output(output)) = attempt.put(self.target, &record.call) else {
                    break;
                };
                let last = again.as_ref().unwrap_or(&record.output.output);
                let Some((at, x, y)) = first_difference(last, &output.output) else {
                    again = Some(output.output);
                    inquiry.add(Came::Alike);
                    continue;
                };
                let calls = Place { what: Aspect::Repeated, ..place(&record.label) };
                // What came first is no more right than what came then.
                let exact = bounds.exact.get(at).filter(|_| record.want == ResultName::Output);
                let exact = exact
                    .map(|exact| Approx { value: Number(exact.mid), error: Number(exact.rad) });
                let expected = Expectation::EveryTime(exact);
                let is_within = |record: &CallRecord| {
                    check_value(record.asked(), bounds).verdict != Verdict::Fail
                };
                let other = CallRecord { output: *output, ..record.clone() };
                let within_bound = Some(is_within(record) && is_within(&other));
                let evidence = Evidence::new(calls, expected, Got::Then(Number(x), Number(y)));
                return Some(Evidence { relation: true, within_bound, ..evidence });
            }
        }
        None
    }
}

/// What a call gives at an attempt; `None` if nothing comes back, or no views were handed on.
fn answered(target: &mut dyn Target, record: &CallRecord, attempt: Attempt) -> Option<CallRecord> {
    let Response::Output(output) = attempt.put(target, &record.call)? else { return None };
    let is_so = attempt != Attempt::Views || output.handling.strides == Strides::Transposed;
    is_so.then(|| CallRecord { output: *output, ..record.clone() })
}

/// What wrong calls give where their inputs lie otherwise in memory.
enum Layouts {
    /// As far as asked, the same.
    Alike,
    /// A right result.
    Depends(Box<Evidence>),
    /// Other results, which are wrong too.
    BothWrong(Box<OnViews>),
}

/// Whether a verdict gives way to what is proved of the calls that were answered.
fn yields(verdict: Verdict) -> bool {
    use Verdict::{Inconclusive, Pass, Refused, Skipped, Suspect, Unsupported};
    matches!(verdict, Pass | Suspect | Inconclusive | Unsupported | Refused | Skipped)
}

/// What a response without a tensor decides.
pub(super) fn no_result(label: String, response: Response) -> Decision {
    let place = place(label);
    let said = |verdict, reason| (verdict, Expectation::Result, Got::Said(reason), None);
    let broke = |verdict, expected, Trouble { how, detail, stderr }| {
        (verdict, expected, Got::Broke { how, detail }, stderr)
    };
    let (verdict, expected, got, stderr) = match response {
        Response::Output(_) => return Decision::pass(),
        Response::Malformed(got) => {
            let evidence = Evidence::new(place, Expectation::Tensor, Got::Said(got));
            return Decision::fail(Evidence { form: Some(Form::Kind), ..evidence });
        }
        Response::Unsupported(reason) => said(Verdict::Unsupported, reason),
        Response::Refused(reason) => said(Verdict::Refused, reason),
        Response::Error(reason) => said(Verdict::Error, reason),
        Response::NotAsked(reason) => said(Verdict::Skipped, reason),
        Response::Crash(trouble) => broke(Verdict::Crash, Expectation::Result, trouble),
        Response::Timeout(trouble) => broke(Verdict::Timeout, Expectation::Result, trouble),
        Response::Broken(trouble) => broke(Verdict::Error, Expectation::Protocol, trouble),
    };
    let broke_protocol = matches!(expected, Expectation::Protocol);
    let evidence = Evidence::new(place, expected, got);
    let evidence = Evidence { broke_protocol, stderr, ..evidence };
    Decision { verdict, margin: 0.0, evidence: Some(evidence) }
}

#[cfg(test)]
mod tests;
