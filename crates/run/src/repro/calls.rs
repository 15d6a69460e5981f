//! The calls that a law makes on a case, each with what it must return, found without the target.

use qkvet_engine::ball::Ball;
use qkvet_engine::interpret::{Expected, interpret};
use qkvet_engine::law::{CallRecord, Judge, evaluate, fits, refused_call};
use qkvet_engine::lowering::ResultName;
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{Call, Case, CheckedLaw, Execution, Response, Target, Tensor};

/// One call with its results.
pub(crate) struct JudgedCall {
    /// The call as the law writes it.
    pub(crate) label: String,
    /// The call.
    pub(crate) call: Call,
    /// Whether it is put as views of which heads and positions lie exchanged in memory, until those
    /// raise an exception.
    pub(crate) strided: bool,
    /// Whether the target answered, every result lies within its limit, and the inputs are as they
    /// were.
    pub(crate) holds: bool,
    /// What is judged; nothing of a call that must be refused.
    pub(crate) results: Vec<JudgedResult>,
}

/// One result of a call: the output, or the weights.
pub(crate) struct JudgedResult {
    /// Which.
    pub(crate) want: ResultName,
    /// The call as the law writes it.
    pub(crate) label: String,
    /// The enclosure.
    pub(crate) expected: Expected,
    /// How far from the midpoint a result may be: radius and bound together.
    pub(crate) allowed: Vec<f64>,
    /// What came back.
    pub(crate) got: Option<Tensor>,
}

/// The calls of `law` on `case`: those in `recorded` as they were answered, further ones answered
/// by the simulator of the meaning. `gets_views` says which of them are put as views, whatever came
/// of it. `None` for a law that asks for something impossible.
pub(crate) fn judged_calls(
    law: &CheckedLaw,
    case: &Case,
    judge: Judge<'_>,
    recorded: &[CallRecord],
    gets_views: &dyn Fn(&Call) -> bool,
) -> Option<Vec<JudgedCall>> {
    if let Some(call) = refused_call(law, case).ok()? {
        return Some(vec![JudgedCall {
            label: "attention(Q, K, V)".to_owned(),
            strided: gets_views(&call),
            call,
            holds: false,
            results: Vec::new(),
        }]);
    }
    let otherwise = Simulator::new(judge.meaning.clone(), Execution::standard());
    let mut answers = Answers { recorded, next: 0, otherwise };
    let calls = evaluate(law, case, judge, &mut answers).ok()?.calls;
    let judged = |(at, record): (usize, CallRecord)| {
        let explained = || fits(&record, judge.meaning, judge.contract);
        let holds = at < recorded.len() && record.output.inputs_unchanged && explained();
        let results = record.results().map(|result| {
            let expected = interpret(judge.meaning, &record.call, judge.contract, result.want);
            let allowed = expected
                .exact
                .iter()
                .zip(&expected.hard)
                .map(|(ball, hard)| limit(*ball, *hard))
                .collect();
            let got = result.tensor().cloned();
            JudgedResult {
                want: result.want,
                label: result.label().into_owned(),
                expected,
                allowed,
                got,
            }
        });
        let results = results.collect();
        let strided = gets_views(&record.call);
        JudgedCall { label: record.label, call: record.call, strided, holds, results }
    };
    Some(calls.into_iter().enumerate().map(judged).collect())
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
