//! One `attention(...)` of a law: built from balls that must be exact, answered by the target, checked against its enclosure.

use qkvet_spec::{BoolTensor, Call, Contract, Dtype, Evidence, Meaning, Output, Tensor, Verdict};

use super::matrices::BallMatrices;
use super::relation::{Decision, Relation, Sides, decide};
use crate::ball::Ball;
use crate::format::is_representable;
use crate::interpret::{Expected, interpret};
use crate::lowering::Want;

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
    pub want: Want,
}

impl CallRecord {
    /// What the call returned, one result a record: weights come with an output, which is a result like any other.
    pub fn results(&self) -> Vec<Self> {
        let beside = |label| Self { label, want: Want::Output, ..self.clone() };
        match self.want {
            Want::Output => vec![self.clone()],
            Want::Weights => vec![self.clone(), beside(format!("{} (its output)", self.label))],
        }
    }

    /// The tensor that the law asked for.
    pub fn returned(&self) -> Option<&Tensor> {
        match self.want {
            Want::Output => Some(&self.output.output),
            Want::Weights => self.output.weights.as_ref(),
        }
    }
}

/// A tensor `(batch, heads, rows, cols)` from exact balls; absent axes are expanded to the given extents.
pub(super) fn tensor(m: &BallMatrices, batch: usize, heads: usize, dtype: Dtype, what: &str) -> Result<Tensor, String> {
    let mut data = Vec::with_capacity(batch * heads * m.rows * m.cols);
    for b in 0..batch {
        for h in 0..heads {
            for x in m.at(b, h) {
                if x.rad != 0.0 || !is_representable(x.mid, dtype) {
                    return Err(format!("{what}: expected numbers that are exact in {dtype}, got {}", x.mid));
                }
                data.push(x.mid);
            }
        }
    }
    Ok(Tensor { dtype, shape: vec![batch, heads, m.rows, m.cols], data })
}

/// A boolean tensor from zeros and ones.
pub(super) fn bool_tensor(m: &BallMatrices, batch: usize, heads: usize) -> Result<BoolTensor, String> {
    let mut data = Vec::with_capacity(batch * heads * m.rows * m.cols);
    for b in 0..batch {
        for h in 0..heads {
            for x in m.at(b, h) {
                match *x {
                    x if x == Ball::exact(0.0) => data.push(false),
                    x if x == Ball::exact(1.0) => data.push(true),
                    x => return Err(format!("mask: expected 0 or 1, got {}", x.mid)),
                }
            }
        }
    }
    Ok(BoolTensor { shape: vec![batch, heads, m.rows, m.cols], data })
}

/// What is wrong with the form of a result: missing, of another format, of another shape.
pub(super) fn malformed(record: &CallRecord, expected: &[usize; 4]) -> Option<Evidence> {
    let name = if record.want == Want::Output { "output" } else { "weights" };
    let evidence = |place: &str, expected: String, got: String| {
        let evidence = Evidence::new(format!("{place} of {}", record.label), expected, got);
        Some(Evidence { form: Some(place.to_owned()), ..evidence })
    };
    let Some(tensor) = record.returned() else {
        return evidence(
            "number of results",
            "a second result, asked for by return_weights".to_owned(),
            "one result".to_owned(),
        );
    };
    if tensor.shape != expected {
        return evidence(&format!("shape of the {name}"), show_shape(expected), show_shape(&tensor.shape));
    }
    if tensor.dtype != record.call.dtype() {
        return evidence(&format!("format of the {name}"), record.call.dtype().to_string(), tensor.dtype.to_string());
    }
    None
}

pub(super) fn show_shape(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({})", extents.join(", "))
}

/// The enclosure as balls, without any target's error.
pub(super) fn exact_balls(expected: &Expected) -> BallMatrices {
    let [b, h, rows, cols] = expected.shape;
    BallMatrices { batch: Some(b), heads: Some(h), rows, cols, data: expected.exact.clone() }
}

/// The target's result as balls: its numbers, each with the contract's bound.
pub(super) fn target_balls(tensor: &Tensor, expected: &Expected) -> BallMatrices {
    let [b, h, rows, cols] = expected.shape;
    let bounds = expected.hard.iter().zip(&expected.probable);
    let data =
        tensor.data.iter().zip(bounds).map(|(mid, (rad, soft))| Ball { mid: *mid, rad: *rad, soft: *soft }).collect();
    BallMatrices { batch: Some(b), heads: Some(h), rows, cols, data }
}

/// Checks one result against the enclosure of its call.
pub(super) fn check_value(record: &CallRecord, expected: &Expected) -> Decision {
    if let Some(evidence) = malformed(record, &expected.shape) {
        return Decision { verdict: Verdict::Fail, margin: 0.0, evidence: Some(evidence) };
    }
    let Some(tensor) = record.returned() else { return Decision::pass() };
    let exact = if record.want == Want::Output { "exact value" } else { "exact weight" };
    let sides = Sides { left: &record.label, right: exact };
    let mut decision = decide(Relation::Equal, &target_balls(tensor, expected), &exact_balls(expected), &sides);
    if let Some(evidence) = &mut decision.evidence {
        evidence.relation = false;
    }
    decision
}

/// Whether the result of a call is what `meaning` gives under `contract`.
pub(super) fn fits(record: &CallRecord, meaning: &Meaning, contract: &Contract) -> bool {
    record.results().iter().all(|result| {
        let expected = interpret(meaning, &result.call, contract, result.want);
        check_value(result, &expected).verdict != Verdict::Fail
    })
}
