//! Evaluation of one law on one case.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use qkvet_spec::{
    Binding, Call, Case, CheckedLaw, Contract, Meaning, Observation, Target, Verdict,
};

use super::call::{CallRecord, all_verdicts, exact_balls, explains_by_head};
use super::matrices::BallMatrices;
use super::refusal::{refusal, refused_call};
use super::relation::Decision;
use super::session::{Outcome, Session};
use super::some_rows::{SomeRows, Whole};
use super::undefined::{EvaluationError, Undefined};
use super::value::Value;
use super::wider_output::WiderOutput;
use crate::ball::Ball;
use crate::interpret::{Expected, interpret, interpret_while};
use crate::lowering::ResultName;

/// By what a target is judged.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The exact function it claims to compute.
    pub meaning: &'a Meaning,
    /// The arithmetic it claims to use.
    pub contract: &'a Contract,
}

/// Why evaluation ended before the relation was decided.
pub(super) enum Stop {
    /// What the target returned, or that it returned nothing, decides.
    Target(Box<Decision>),
    /// The law asks for something impossible: an error in the law, not in the target.
    Law(Undefined),
}

impl From<Undefined> for Stop {
    fn from(cause: Undefined) -> Self {
        Self::Law(cause)
    }
}

impl From<Box<Decision>> for Stop {
    fn from(decision: Box<Decision>) -> Self {
        Self::Target(decision)
    }
}

/// Runs `law` on `case`.
///
/// A failing case is called again at once: results that differ make the verdict
/// [`Verdict::Nondet`](qkvet_spec::Verdict::Nondet).
///
/// # Errors
/// A law that asks for something impossible: an inexact argument, extents that do not fit.
pub fn evaluate(
    law: &CheckedLaw,
    case: &Case,
    judge: Judge<'_>,
    target: &mut dyn Target,
) -> Result<Outcome, EvaluationError> {
    evaluate_with(law, case, judge, None, target)
}

/// [`evaluate`] for one case after another target: what calls must return is looked up in
/// `answers`, and put there.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_by(
    law: &CheckedLaw,
    case: &Case,
    judge: Judge<'_>,
    answers: &Answers,
    target: &mut dyn Target,
) -> Result<Outcome, EvaluationError> {
    evaluate_with(law, case, judge, Some(answers), target)
}

fn evaluate_with(
    law: &CheckedLaw,
    case: &Case,
    judge: Judge<'_>,
    answers: Option<&Answers>,
    target: &mut dyn Target,
) -> Result<Outcome, EvaluationError> {
    let error = |cause| EvaluationError::on(&law.law.law, case, cause);
    let mut wider;
    let target: &mut dyn Target = if judge.contract.wider_output {
        wider = WiderOutput { target, narrow: judge.contract.output() };
        &mut wider
    } else {
        target
    };
    if let Some(call) = refused_call(law, case).map_err(error)? {
        return Ok(refusal(call, target));
    }
    // A variable of another law may have that name.
    let rows = case.rows().filter(|_| law.says_a_result());
    let whole = Whole::default();
    let mut some_rows;
    let target: &mut dyn Target = match rows {
        Some(rows) => {
            some_rows = SomeRows { target, whole: &whole, rows };
            &mut some_rows
        }
        None => target,
    };
    let mut evaluator = Evaluator::new(case, judge, answers, target);
    evaluator.whole = rows.map(|rows| (&whole, rows));
    let decision = evaluator.law(law);
    if evaluator.session.records.is_empty() && decision.is_ok() {
        return Err(EvaluationError::NoCall { law: law.law.law.clone() });
    }
    match decision {
        Ok(decision) => Ok(evaluator.session.conclude(Ok(decision))),
        Err(Stop::Target(decision)) => Ok(evaluator.session.conclude(Err(decision))),
        Err(Stop::Law(cause)) => Err(error(cause)),
    }
}

/// Whether no result of a call is refuted by what `expect` says that the call returns.
pub fn explains<E: Borrow<Expected>>(
    record: &CallRecord,
    expect: impl Fn(ResultName) -> E,
) -> bool {
    all_verdicts(record, expect, |verdict| verdict != Verdict::Fail)
}

/// Whether no result of a call is refuted under `meaning`: [`explains`] of [`interpret`], which ends
/// at the first head that is refuted.
pub fn fits(record: &CallRecord, meaning: &Meaning, contract: &Contract) -> bool {
    let call = &record.call;
    explains_by_head(record, |want, goes_on| {
        interpret_while(meaning, call, contract, want, goes_on)
    })
}

/// Whether the results of a call are what `expect` says, where the bound of the contract says
/// something: that they are not refuted when anything is allowed proves nothing.
pub fn confirms<E: Borrow<Expected>>(
    record: &CallRecord,
    expect: impl Fn(ResultName) -> E,
) -> bool {
    all_verdicts(record, expect, |verdict| matches!(verdict, Verdict::Pass | Verdict::Suspect))
}

/// What calls must return under one meaning and contract, so that several targets are judged by one
/// computation.
#[derive(Debug, Default)]
pub struct Answers(RefCell<Vec<(Call, ResultName, Expected)>>);

impl Answers {
    /// What the call must return.
    pub fn expected(&self, judge: Judge<'_>, call: &Call, want: ResultName) -> Expected {
        let known = self
            .0
            .borrow()
            .iter()
            .find(|(known, of, _)| *of == want && known == call)
            .map(|(_, _, e)| e.clone());
        known.unwrap_or_else(|| {
            let expected = interpret(judge.meaning, call, judge.contract, want);
            self.0.borrow_mut().push((call.clone(), want, expected.clone()));
            expected
        })
    }
}

/// What a call must return, looked up where answers are kept.
fn expected(
    judge: Judge<'_>,
    answers: Option<&Answers>,
    call: &Call,
    want: ResultName,
) -> Expected {
    match answers {
        Some(answers) => answers.expected(judge, call, want),
        None => interpret(judge.meaning, call, judge.contract, want),
    }
}

pub(super) struct Evaluator<'a> {
    pub(super) case: &'a Case,
    pub(super) judge: Judge<'a>,
    answers: Option<&'a Answers>,
    pub(super) names: BTreeMap<String, Value>,
    /// Text of the formula being evaluated, for labels.
    pub(super) source: String,
    pub(super) session: Session<'a>,
    /// Whether calls of the target mean the exact ones: there is no target.
    pub(super) alone: bool,
    /// Where whole calls are noted in place of which some rows are looked at.
    whole: Option<(&'a Whole, &'a [usize])>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        case: &'a Case,
        judge: Judge<'a>,
        answers: Option<&'a Answers>,
        target: &'a mut dyn Target,
    ) -> Self {
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
            answers,
            names,
            source: String::new(),
            session: Session::new(target),
            alone: false,
            whole: None,
        }
    }

    /// The call, or that of the rows that are looked at.
    pub(super) fn of_rows(&self, call: Call) -> Call {
        match self.whole {
            Some((whole, rows)) => whole.of_rows(call, rows, self.judge.meaning),
            None => call,
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
            (None, Some(Observation::Refused)) => Err(Undefined::NoMisfit.into()),
            (None, None) => Err(Undefined::NoStatement.into()),
        }
    }

    /// `attention(Q, K, V)` must leave its arguments as they were.
    fn inputs_unchanged(&mut self) -> Result<Decision, Stop> {
        let expr =
            qkvet_spec::syntax::parse("attention(Q, K, V)").map_err(|_| Undefined::NoStatement)?;
        "attention(Q, K, V)".clone_into(&mut self.source);
        self.value(&expr)?;
        Ok(self.session.inputs_unchanged())
    }

    /// Puts a call to the target and checks every result that comes back.
    pub(super) fn ask(
        &mut self,
        label: String,
        call: Call,
        want: ResultName,
    ) -> Result<Value, Stop> {
        if self.alone {
            return Ok(Value::Matrices(self.exact(&call, want)));
        }
        let (answers, judge) = (self.answers, self.judge);
        let at = self
            .session
            .call(label, call, want, |call, want| expected(judge, answers, call, want))?;
        Ok(Value::Returned(at))
    }

    /// The enclosure of a call, without the target.
    pub(super) fn exact(&self, call: &Call, want: ResultName) -> BallMatrices {
        let records = &self.session.records;
        match records.iter().position(|record| record.call == *call && record.want == want) {
            Some(at) => exact_balls(&self.session.expected[at]),
            None => exact_balls(&expected(self.judge, self.answers, call, want)),
        }
    }
}
