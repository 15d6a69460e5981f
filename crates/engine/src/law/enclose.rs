//! The value of a formula without any target: what a call returns under a meaning is its own
//! enclosure.

use std::sync::Arc;

use qkvet_spec::syntax::Expr;
use qkvet_spec::{Call, Case, CheckedLaw, Response, Target};

use super::evaluate::{Evaluator, Judge, Stop};
use super::undefined::Undefined;
use super::value::Value;
use crate::ball::Ball;

/// The value of a formula, each number in a ball.
#[derive(Clone, Debug, PartialEq)]
pub enum Enclosed {
    /// Matrices, row-major: `rows · cols` balls for each batch item and head.
    Matrix {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// The elements.
        data: Vec<Ball>,
    },
    /// One number.
    Number(Ball),
    /// A row or column number.
    Index(usize),
    /// Extents.
    Shape(Vec<i64>),
}

/// There is no target; nothing asks it.
struct Nobody;

impl Target for Nobody {
    fn call(&mut self, _call: &Call) -> Response {
        Response::NotAsked("there is no target".into())
    }
}

/// The value of `expr` on `case`, after the abbreviations of `law`, where every call means what
/// `judge` says, exactly.
///
/// # Error bound
/// The balls hold the exact values. Arguments of calls must be exact numbers, as in laws.
///
/// # Errors
/// A formula that has no value: an inexact argument, extents that do not fit, a set of indices.
pub fn enclose(
    law: &CheckedLaw,
    expr: &Expr,
    case: &Case,
    judge: Judge<'_>,
) -> Result<Enclosed, Undefined> {
    enclose_all(law, &[expr], case, judge).pop().unwrap_or(Err(Undefined::NoFormula))
}

/// [`enclose`] for several formulas, each abbreviation worked out once, and only those that a
/// formula needs.
pub fn enclose_all(
    law: &CheckedLaw,
    exprs: &[&Expr],
    case: &Case,
    judge: Judge<'_>,
) -> Vec<Result<Enclosed, Undefined>> {
    let mut nobody = Nobody;
    let mut evaluator = Evaluator::new(case, judge, None, &mut nobody);
    evaluator.alone = true;
    let cause = |stop| match stop {
        Stop::Law(cause) => cause,
        Stop::Target(_) => Undefined::kind("formula", "no question to a target"),
    };
    exprs.iter().map(|expr| value_of(law, expr, &mut evaluator).map_err(cause)).collect()
}

fn value_of(
    law: &CheckedLaw,
    expr: &Expr,
    evaluator: &mut Evaluator<'_>,
) -> Result<Enclosed, Stop> {
    let needed = law.lets_needed_by(expr);
    for (((name, expr), formula), is_needed) in
        law.lets.iter().zip(law.law.lets.values()).zip(needed)
    {
        if !is_needed || evaluator.names.contains_key(name) {
            continue;
        }
        formula.text.clone_into(&mut evaluator.source);
        let value = evaluator.value(expr)?;
        evaluator.names.insert(name.clone(), value);
    }
    evaluator.source.clear();
    let value = evaluator.value(expr)?;
    Ok(match &value {
        Value::Number(_) | Value::Integer(_) => Enclosed::Number(evaluator.number(&value)?),
        Value::Index(i) => Enclosed::Index(*i),
        Value::Shape(extents) => Enclosed::Shape(extents.clone()),
        Value::Indices(_) | Value::Absent => {
            return Err(Undefined::kind("formula", "a number, a matrix or a shape").into());
        }
        Value::Matrices(_) | Value::CaseOption(..) | Value::Returned(_) => {
            let m = evaluator.matrices(&value)?;
            Enclosed::Matrix { rows: m.rows, cols: m.cols, data: Arc::unwrap_or_clone(m.data) }
        }
    })
}
