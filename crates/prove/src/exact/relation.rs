//! Whether a law holds on an instance.

use std::cmp::Ordering;

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};
use qkvet_spec::{CheckedLaw, Observation};

use super::evaluate::{Evaluator, aligned, not_a_value};
use super::instance::{Instance, NoValue, Value};
use super::real::Real;

/// How the statement of a law came out on one instance.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It holds, exactly.
    Holds,
    /// It fails, exactly.
    Fails(Box<Failure>),
    /// It has no value in exact numbers, for this reason.
    Undecided(NoValue),
}

/// The first place at which a relation fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The relation that fails, such as `==`.
    pub relation: &'static str,
    /// Batch item, head, row and column; those of extents that the sides do not have are 0.
    pub place: [usize; 4],
    /// What stands on the left there.
    pub left: Real,
    /// What stands on the right.
    pub right: Real,
}

/// Decides `law` on an instance by exact comparison; `same_bits` is equality here.
pub fn decide(law: &CheckedLaw, instance: &Instance) -> Decision {
    let decided = match (&law.expect, law.law.observe) {
        (Some(expr), _) => {
            Evaluator::new(law, instance).and_then(|evaluator| evaluator.truth(expr))
        }
        // What a function is, changes none of its arguments.
        (None, Some(Observation::InputsUnchanged | Observation::Refused) | None) => Err(
            NoValue::Unknown("observation of a call: expected a statement about values".to_owned()),
        ),
    };
    decision(decided)
}

/// Decides a statement whose names have their values.
pub(super) fn decide_on(evaluator: &Evaluator, statement: &Expr) -> Decision {
    decision(evaluator.truth(statement))
}

fn decision(decided: Result<Option<Failure>, NoValue>) -> Decision {
    match decided {
        Ok(None) => Decision::Holds,
        Ok(Some(failure)) => Decision::Fails(Box::new(failure)),
        Err(reason) => Decision::Undecided(reason),
    }
}

impl Evaluator {
    /// The first place where a statement fails.
    fn truth(&self, expr: &Expr) -> Result<Option<Failure>, NoValue> {
        let ExprKind::Binary(op, x, y) = &expr.kind else {
            return Err(NoValue::unfit("statement", "a relation", "a value"));
        };
        match op {
            BinaryOp::And => {
                // What fails on one side fails, even where the other has no value.
                match self.truth(x) {
                    Ok(None) => self.truth(y),
                    Ok(failure) => Ok(failure),
                    Err(reason) => match self.truth(y)? {
                        None => Err(reason),
                        failure => Ok(failure),
                    },
                }
            }
            BinaryOp::In => {
                let ExprKind::Apply { function, args, .. } = &y.kind else {
                    return Err(not_a_value("`in`"));
                };
                let [low, high] = args.as_slice() else { return Err(not_a_value("`between`")) };
                if function != "between" {
                    return Err(not_a_value("`in`"));
                }
                let value = self.value(x)?;
                match compare(BinaryOp::Ge, value.clone(), self.value(low)?)? {
                    None => compare(BinaryOp::Le, value, self.value(high)?),
                    failure => Ok(failure),
                }
            }
            op => compare(*op, self.value(x)?, self.value(y)?),
        }
    }
}

fn compare(op: BinaryOp, x: Value, y: Value) -> Result<Option<Failure>, NoValue> {
    let holds: fn(Ordering) -> bool = match op {
        BinaryOp::Eq | BinaryOp::SameBits => Ordering::is_eq,
        BinaryOp::Le => Ordering::is_le,
        BinaryOp::Ge => Ordering::is_ge,
        other => {
            return Err(NoValue::Unknown(format!(
                "relation `{}`: not known in exact numbers",
                other.symbol()
            )));
        }
    };
    if let (Value::Shape(x), Value::Shape(y)) = (&x, &y) {
        let differs = x.iter().zip(y).position(|(m, n)| m != n);
        let extent = |n: usize| Real::from(i64::try_from(n).unwrap_or(i64::MAX));
        return Ok(differs.map(|at| Failure {
            relation: op.symbol(),
            place: [0, 0, 0, at],
            left: extent(x[at]),
            right: extent(y[at]),
        }));
    }
    let (x, y) = aligned(x, y)?;
    for (at, (left, right)) in x.data.iter().zip(&y.data).enumerate() {
        if !holds(left.compare(right)?) {
            let (i, h) = (at / x.cols, at / x.cols / x.rows);
            let heads = x.heads.unwrap_or(1);
            let place = [h / heads, h % heads, i % x.rows, at % x.cols];
            return Ok(Some(Failure {
                relation: op.symbol(),
                place,
                left: left.clone(),
                right: right.clone(),
            }));
        }
    }
    Ok(None)
}
