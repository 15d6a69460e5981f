//! One `attention(...)` of a law: built from balls that must be exact, answered by the target,
//! checked against its enclosure.

use std::borrow::{Borrow, Cow};

use qkvet_spec::{
    Aspect, BoolTensor, Call, Dtype, Evidence, Expectation, Form, Got, Origin, Output, Place,
    Relates, Tensor, Verdict,
};

use super::matrices::BallMatrices;
use super::relation::{Decision, Sides, decide, equal};
use super::undefined::Undefined;
use crate::ball::Ball;
use crate::format::is_representable;
use crate::interpret::{Expected, GoesOn};
use crate::lowering::ResultName;

/// A call that the target answered.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// The call as the law writes it.
    pub label: String,
    /// The call.
    pub call: Call,
    /// What came back.
    pub output: Output,
    /// What the law asked for.
    pub want: ResultName,
}

impl CallRecord {
    /// The result that the law asked for.
    pub fn asked(&self) -> CallResult<'_> {
        CallResult { record: self, want: self.want }
    }

    /// Every result of the call: what is asked for comes with an output, which is a result like any
    /// other.
    pub fn results(&self) -> impl Iterator<Item = CallResult<'_>> {
        results_of(self.want).map(|want| CallResult { record: self, want })
    }
}

/// The results of a call that asks for one.
pub(super) fn results_of(want: ResultName) -> impl Iterator<Item = ResultName> {
    std::iter::once(want).chain((want != ResultName::Output).then_some(ResultName::Output))
}

/// One result of a call that the target answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallResult<'a> {
    /// The call and all that came back.
    pub record: &'a CallRecord,
    /// Which of it is meant.
    pub want: ResultName,
}

impl<'a> CallResult<'a> {
    /// The result as the law writes it.
    pub fn label(self) -> Cow<'a, str> {
        let label = &self.record.label;
        if self.want == self.record.want {
            label.into()
        } else {
            format!("{label} (its output)").into()
        }
    }

    /// Where something is seen of it.
    pub(super) fn place(self, what: Aspect) -> Place {
        let its_output = self.want != self.record.want;
        Place { of: self.record.label.clone(), its_output, what }
    }

    /// What came back; `None` if it did not come.
    pub fn tensor(self) -> Option<&'a Tensor> {
        self.want.of(&self.record.output)
    }
}

/// A tensor `(batch, heads, rows, cols)` from exact balls; absent axes are expanded to the given
/// extents.
pub(super) fn tensor(
    m: &BallMatrices,
    batch: usize,
    heads: usize,
    dtype: Dtype,
    what: &str,
) -> Result<Tensor, Undefined> {
    let mut data = Vec::with_capacity(batch * heads * m.rows * m.cols);
    for b in 0..batch {
        for h in 0..heads {
            for x in m.at(b, h) {
                if x.rad != 0.0 || !is_representable(x.mid, dtype) {
                    let what = what.to_owned();
                    return Err(Undefined::Inexact { what, dtype, got: x.mid });
                }
                data.push(x.mid);
            }
        }
    }
    Ok(Tensor { dtype, shape: vec![batch, heads, m.rows, m.cols], data })
}

/// A boolean tensor from zeros and ones.
pub(super) fn bool_tensor(
    m: &BallMatrices,
    batch: usize,
    heads: usize,
) -> Result<BoolTensor, Undefined> {
    let mut data = Vec::with_capacity(batch * heads * m.rows * m.cols);
    for b in 0..batch {
        for h in 0..heads {
            for x in m.at(b, h) {
                match *x {
                    x if x == Ball::exact(0.0) => data.push(false),
                    x if x == Ball::exact(1.0) => data.push(true),
                    x => return Err(Undefined::Mask { got: x.mid }),
                }
            }
        }
    }
    Ok(BoolTensor { shape: vec![batch, heads, m.rows, m.cols], data })
}

/// Whether a result is there in the format and shape in which it must be.
pub fn has_form(result: CallResult<'_>, expected: &Expected) -> bool {
    malformed(result, expected).is_none()
}

/// What is wrong with the form of a result: missing, of another format, of another shape.
pub(super) fn malformed(result: CallResult<'_>, expected: &Expected) -> Option<Evidence> {
    let evidence = |form: Form, expected: Expectation, got: Got| {
        let evidence = Evidence::new(result.place(Aspect::Form), expected, got);
        Some(Evidence { form: Some(form), ..evidence })
    };
    let Some(tensor) = result.tensor() else {
        return evidence(Form::Number, Expectation::Second(result.want), Got::One);
    };
    let axes =
        if result.want == ResultName::Lse { &expected.shape[..3] } else { &expected.shape[..] };
    if tensor.shape != axes {
        let (shape, got) = (axes.to_vec(), tensor.shape.clone());
        let expected = Expectation::Shape(shape);
        return evidence(Form::Shape(result.want), expected, Got::Shape(got));
    }
    let wrong = match result.want {
        ResultName::Output => tensor.dtype != expected.dtype,
        ResultName::Weights | ResultName::Lse => {
            tensor.dtype.precision() < expected.dtype.precision()
        }
    };
    if wrong {
        let expected = Expectation::Format(expected.dtype);
        return evidence(Form::Format(result.want), expected, Got::Format(tensor.dtype));
    }
    None
}

/// The enclosure as balls, without any target's error.
pub(super) fn exact_balls(expected: &Expected) -> BallMatrices {
    let [b, h, rows, cols] = expected.shape;
    BallMatrices { batch: Some(b), heads: Some(h), rows, cols, data: expected.exact.clone().into() }
}

/// The target's result as balls: its numbers, each with the contract's bound. NaN has an infinite
/// one where nothing speaks against it, else none.
pub(super) fn target_balls(tensor: &Tensor, expected: &Expected) -> BallMatrices {
    let [b, h, rows, cols] = expected.shape;
    let n = tensor.data.len().min(expected.hard.len());
    let data: Vec<_> = (0..n).map(|at| target_ball(tensor.data[at], expected, at)).collect();
    BallMatrices { batch: Some(b), heads: Some(h), rows, cols, data: data.into() }
}

fn target_ball(mid: f64, expected: &Expected, at: usize) -> Ball {
    let (rad, soft) = (expected.hard[at], expected.probable[at]);
    match mid.is_nan() {
        false => Ball { mid, rad, soft },
        true if expected.allows_nan(at) => Ball { mid, rad: f64::INFINITY, soft: f64::INFINITY },
        true => Ball::exact(mid),
    }
}

/// Checks one result against the enclosure of its call.
pub(super) fn check_value(result: CallResult<'_>, expected: &Expected) -> Decision {
    if let Some(evidence) = malformed(result, expected) {
        return Decision::fail(evidence);
    }
    let Some(tensor) = result.tensor() else { return Decision::pass() };
    let sides = Sides { left: result.place(Aspect::Whole), right: Origin::Exact(result.want) };
    let mut decision =
        decide(Relates::Equal, &target_balls(tensor, expected), &exact_balls(expected), &sides);
    if let Some(evidence) = &mut decision.evidence {
        evidence.relation = false;
    }
    decision
}

/// Whether one element of a result lies where it may.
pub(super) fn is_element_right(result: CallResult<'_>, expected: &Expected, at: usize) -> bool {
    let verdict = result.tensor().and_then(|tensor| element_verdict(tensor, expected, at));
    verdict.is_some_and(|verdict| verdict != Verdict::Fail)
}

/// What [`check_value`] says of one element; `None` where one of the two has none.
fn element_verdict(tensor: &Tensor, expected: &Expected, at: usize) -> Option<Verdict> {
    let (mid, exact) = tensor.data.get(at).zip(expected.exact.get(at))?;
    Some(equal(target_ball(*mid, expected, at), *exact).0)
}

/// The verdict of [`check_value`], without evidence.
fn verdict_on(result: CallResult<'_>, expected: &Expected) -> Verdict {
    let tensor = match result.tensor() {
        Some(tensor) if malformed(result, expected).is_none() => tensor,
        _ => return Verdict::Fail,
    };
    let of = (0..tensor.data.len()).filter_map(|at| element_verdict(tensor, expected, at));
    // Elements of which nothing is known count where all are such.
    let (mut worst, mut undecided) = (None, false);
    for verdict in of {
        match verdict {
            Verdict::Fail => return Verdict::Fail,
            Verdict::Inconclusive => undecided = true,
            Verdict::Suspect => worst = Some(Verdict::Suspect),
            _ => worst = worst.or(Some(Verdict::Pass)),
        }
    }
    worst.unwrap_or(if undecided { Verdict::Inconclusive } else { Verdict::Pass })
}

/// Whether every verdict on the results of a call, if it returned what `expect` says, is as it
/// should be.
pub(super) fn all_verdicts<E: Borrow<Expected>>(
    record: &CallRecord,
    expect: impl Fn(ResultName) -> E,
    is_right: impl Fn(Verdict) -> bool,
) -> bool {
    record.results().all(|result| is_right(verdict_on(result, expect(result.want).borrow())))
}

/// Whether no result of a call is refuted by what `expect` says that the call returns. It is told
/// to end at the first head that is.
pub fn explains_by_head<E: Borrow<Expected>>(
    record: &CallRecord,
    expect: impl Fn(ResultName, GoesOn<'_>) -> Option<E>,
) -> bool {
    record.results().all(|result| {
        let Some(tensor) = result.tensor() else { return false };
        let mut seen = 0;
        let mut goes_on = |expected: &Expected| {
            let new = seen..expected.exact.len();
            seen = new.end;
            let is_refuted = |verdict| verdict == Some(Verdict::Fail);
            !new.into_iter().any(|at| is_refuted(element_verdict(tensor, expected, at)))
        };
        let expected = expect(result.want, &mut goes_on);
        expected.is_some_and(|expected| verdict_on(result, expected.borrow()) != Verdict::Fail)
    })
}
