//! The calls that a law makes on a case, each with what it must return, found without the target.

use qkvet_engine::ball::Ball;
use qkvet_engine::interpret::{Expected, interpret};
use qkvet_engine::law::{CallRecord, Judge, evaluate, explains};
use qkvet_engine::lowering::Want;
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{Call, Case, CheckedLaw, Execution, Response, Target, Tensor};

/// One call with its results.
pub(crate) struct JudgedCall {
    /// The call and what came back, from the target if it answered.
    pub(crate) record: CallRecord,
    /// Whether the target answered; otherwise what came back is what it should have been.
    pub(crate) answered: bool,
    /// Whether every result lies within its limit.
    pub(crate) fits: bool,
    /// What is judged.
    pub(crate) results: Vec<JudgedResult>,
}

/// One result of a call: the output, or the weights.
pub(crate) struct JudgedResult {
    /// Which.
    pub(crate) want: Want,
    /// The call as the law writes it.
    pub(crate) label: String,
    /// The enclosure.
    pub(crate) expected: Expected,
    /// How far from the midpoint a result may be: radius and bound together.
    pub(crate) allowed: Vec<f64>,
    /// What came back.
    pub(crate) got: Option<Tensor>,
}

/// The calls of `law` on `case`: those in `recorded` as they were answered, further ones answered by the simulator of the
/// meaning.
///
/// # Errors
/// A law that asks for something impossible.
pub(crate) fn judged_calls(
    law: &CheckedLaw,
    case: &Case,
    judge: Judge<'_>,
    recorded: &[CallRecord],
) -> Result<Vec<JudgedCall>, String> {
    let otherwise = Simulator::new(judge.meaning.clone(), Execution::standard());
    let mut answers = Answers { recorded, next: 0, otherwise };
    let calls = evaluate(law, case, judge, &mut answers)?.calls;
    let judged = |(at, record): (usize, CallRecord)| {
        let results = record.results().map(|result| {
            let expected = interpret(judge.meaning, &record.call, judge.contract, result.want);
            let allowed = expected.exact.iter().zip(&expected.hard).map(|(ball, hard)| limit(*ball, *hard)).collect();
            let got = result.tensor().cloned();
            JudgedResult { want: result.want, label: result.label().into_owned(), expected, allowed, got }
        });
        JudgedCall {
            answered: at < recorded.len(),
            fits: explains(std::slice::from_ref(&record), |_| judge.meaning.clone(), judge.contract),
            results: results.collect(),
            record,
        }
    };
    Ok(calls.into_iter().enumerate().map(judged).collect())
}

/// Radius and bound together, rounded up as the judge does.
fn limit(exact: Ball, hard: f64) -> f64 {
    (Ball { mid: 0.0, rad: hard, soft: hard } + Ball { mid: 0.0, ..exact }).rad
}

/// A target that answers as another did.
struct Answers<'a> {
    recorded: &'a [CallRecord],
    next: usize,
    otherwise: Simulator,
}

impl Target for Answers<'_> {
    fn call(&mut self, call: &Call) -> Response {
        let known = self.recorded.get(self.next).filter(|record| record.call == *call);
        self.next += 1;
        match known {
            Some(record) => Response::Output(Box::new(record.output.clone())),
            None => self.otherwise.call(call),
        }
    }
}
