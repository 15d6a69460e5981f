//! Expressions: names, literals, operators and statements, by walking the tree.

use std::ops::Range;

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{Evidence, Expectation, Extent, Form, Got, Origin, Relates, ResultName, Verdict};

use super::evaluate::{Evaluator, Stop};
use super::relation::{Decision, Sides, decide_at, place};
use super::undefined::Undefined;
use super::value::Value;
use crate::ball::Ball;

impl Evaluator<'_> {
    /// A statement.
    pub(super) fn truth(&mut self, expr: &Expr) -> Result<Decision, Stop> {
        let ExprKind::Binary(op, left, right) = &expr.kind else {
            return Err(Undefined::kind("statement", "a relation").into());
        };
        if *op == BinaryOp::And {
            let first = self.truth(left)?;
            return Ok(first.and(self.truth(right)?));
        }
        if *op == BinaryOp::In {
            let ExprKind::Apply { args, .. } = &right.kind else {
                return Err(Undefined::kind("`in`", "between(low, high)").into());
            };
            let (value, low, high) =
                (self.value(left)?, self.value(&args[0])?, self.value(&args[1])?);
            let (label, low_label, high_label) =
                (self.text(left), self.text(&args[0]), self.text(&args[1]));
            let above = self.relate(Relates::AtLeast, (&value, &label), (&low, &low_label))?;
            return Ok(above.and(self.relate(
                Relates::AtMost,
                (&value, &label),
                (&high, &high_label),
            )?));
        }
        let first = self.session.records.len();
        let x = if *op == BinaryOp::Le { self.entries(left)? } else { self.value(left)? };
        let second = self.session.records.len();
        let y = if *op == BinaryOp::Ge { self.entries(right)? } else { self.value(right)? };
        let (x_text, y_text) = (self.text(left), self.text(right));
        if let (Value::Shape(got), Value::Shape(expected)) = (&x, &y) {
            return Ok(self.same_shape(got, expected, &x_text));
        }
        match op {
            BinaryOp::Eq | BinaryOp::SameBits => {
                let relation = if *op == BinaryOp::Eq { Relates::Equal } else { Relates::Bits };
                let (decision, shown) = self.relate_at(relation, (&x, &x_text), (&y, &y_text))?;
                // Either side may be shown as what came: the one that is wrong by itself, as a
                // whole or in the entry shown.
                let is_left_right = match (&x, shown) {
                    (Value::Returned(call), Some(at)) => {
                        decision.verdict == Verdict::Fail && self.session.is_right_at(*call, at)
                    }
                    _ => false,
                };
                let is_right_wrong = decision.verdict == Verdict::Fail
                    && !self.session.has_wrong(calls(&x, first..second))
                    && self.session.has_wrong(calls(&y, second..self.session.records.len()));
                if is_right_wrong || is_left_right {
                    self.relate(relation, (&y, &y_text), (&x, &x_text))
                } else {
                    Ok(decision)
                }
            }
            BinaryOp::Le => self.relate(Relates::AtMost, (&x, &x_text), (&y, &y_text)),
            BinaryOp::Ge => self.relate(Relates::AtLeast, (&x, &x_text), (&y, &y_text)),
            other => Err(Undefined::Relation { symbol: other.symbol() }.into()),
        }
    }

    /// What is at most a number if the value is: of a norm the sizes of the entries, each with its
    /// own error and place.
    fn entries(&mut self, expr: &Expr) -> Result<Value, Stop> {
        match &expr.kind {
            ExprKind::Apply { function, args, .. } if function == "norm_max" => {
                let of = self.value(&args[0])?;
                Ok(Value::Matrices(self.matrices(&of)?.each(Ball::abs)))
            }
            _ => self.value(expr),
        }
    }

    fn same_shape(&self, got: &[i64], expected: &[i64], of: &str) -> Decision {
        if got == expected {
            return Decision::pass();
        }
        let shape = |of: &[i64]| of.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        let form = Some(Form::Shape(ResultName::Output));
        Decision::fail(Evidence {
            form,
            relation: true,
            ..Evidence::new(place(of), Expectation::Shape(shape(expected)), Got::Shape(shape(got)))
        })
    }

    fn relate(
        &mut self,
        relation: Relates,
        left: (&Value, &str),
        right: (&Value, &str),
    ) -> Result<Decision, Stop> {
        Ok(self.relate_at(relation, left, right)?.0)
    }

    /// The decision, and which entry of the left side it shows, if that has as many as are
    /// compared.
    fn relate_at(
        &mut self,
        relation: Relates,
        left: (&Value, &str),
        right: (&Value, &str),
    ) -> Result<(Decision, Option<usize>), Stop> {
        let (x, y) = (self.matrices(left.0)?, self.matrices(right.0)?);
        let n = x.data.len();
        let (x, y) = self.align(x, y)?;
        let (decision, shown) = decide_at(
            relation,
            &x,
            &y,
            &Sides { left: place(left.1), right: Origin::Expression(right.1.to_owned()) },
        );
        Ok((decision, shown.filter(|_| x.data.len() == n && y.data.len() == n)))
    }

    /// The source text of a subexpression.
    pub(super) fn text(&self, expr: &Expr) -> String {
        self.source.get(expr.span.clone()).unwrap_or("expression").to_owned()
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Value, Stop> {
        match &expr.kind {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be a small whole number"
            )]
            ExprKind::Number(x) if x.fract() == 0.0 && x.abs() < 1e9 => {
                Ok(Value::Integer(*x as i64))
            }
            ExprKind::Number(x) => Ok(Value::Number(Ball::exact(*x))),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Unary(UnaryOp::Neg, x) => match self.value(x)? {
                Value::Integer(n) => Ok(Value::Integer(-n)),
                Value::Number(x) => Ok(Value::Number(-x)),
                other => Ok(Value::Matrices(self.matrices(&other)?.each(std::ops::Neg::neg))),
            },
            ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Interval(..) => {
                Err(Undefined::kind("expression", "a value").into())
            }
            ExprKind::Transpose(x) => match self.value(x)? {
                Value::Absent => Ok(Value::Absent),
                other => Ok(Value::Matrices(self.matrices(&other)?.transpose())),
            },
            ExprKind::Tuple(items) => {
                let extents =
                    items.iter().map(|item| self.integer(item)).collect::<Result<_, _>>()?;
                Ok(Value::Shape(extents))
            }
            ExprKind::Apply { function, args, named } => self.apply(function, args, named, expr),
            ExprKind::Binary(op, x, y) => {
                let (x, y) = (self.value(x)?, self.value(y)?);
                self.binary(*op, x, y)
            }
        }
    }

    fn name(&self, name: &str) -> Result<Value, Stop> {
        if let Some(value) = self.names.get(name) {
            return Ok(value.clone());
        }
        if let Some(extent) = Extent::ALL.into_iter().find(|extent| extent.name() == name) {
            let n = extent.of(self.case.dims);
            return Ok(Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)));
        }
        match name {
            "attended" => Ok(Value::Matrices(self.attended())),
            "visible" => Ok(Value::Matrices(self.visible_matrix())),
            "alibi" => Ok(Value::Matrices(self.alibi())),
            "sinks" => Ok(Value::Matrices(self.sinks())),
            other => Err(Undefined::Name { name: other.to_owned() }.into()),
        }
    }

    fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Result<Value, Stop> {
        let scalar = |value: &Value| matches!(value, Value::Number(_) | Value::Integer(_));
        match (op, &x, &y) {
            (_, Value::Absent, _) | (_, _, Value::Absent) => return Ok(Value::Absent),
            (
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul,
                Value::Integer(x),
                Value::Integer(y),
            ) => {
                let result = match op {
                    BinaryOp::Add => x.checked_add(*y),
                    BinaryOp::Sub => x.checked_sub(*y),
                    _ => x.checked_mul(*y),
                };
                let overflow =
                    || Undefined::kind(format!("`{}`", op.symbol()), "a number below 2^63");
                return Ok(Value::Integer(result.ok_or_else(overflow)?));
            }
            _ => {}
        }
        let combine: fn(Ball, Ball) -> Ball = match op {
            BinaryOp::MatMul => {
                let (x, y) = (self.matrices(&x)?, self.matrices(&y)?);
                let (x, y) = self.align_leads(x, y)?;
                if x.cols != y.rows {
                    return Err(Undefined::Rows { expected: x.cols, got: y.rows }.into());
                }
                return Ok(Value::Matrices(x.matmul(&y)));
            }
            BinaryOp::Add => |x, y| x + y,
            BinaryOp::Sub => |x, y| x - y,
            BinaryOp::Mul => |x, y| x * y,
            BinaryOp::Div => |x, y| x / y,
            other => return Err(Undefined::Operator { symbol: other.symbol() }.into()),
        };
        if scalar(&x) && scalar(&y) {
            return Ok(Value::Number(combine(self.number(&x)?, self.number(&y)?)));
        }
        if scalar(&x) {
            let x = self.number(&x)?;
            return Ok(Value::Matrices(self.matrices(&y)?.each(|y| combine(x, y))));
        }
        if scalar(&y) {
            let y = self.number(&y)?;
            return Ok(Value::Matrices(self.matrices(&x)?.each(|x| combine(x, y))));
        }
        let (x, y) = (self.matrices(&x)?, self.matrices(&y)?);
        let (x, y) = self.align(x, y)?;
        Ok(Value::Matrices(x.zip(&y, combine)))
    }
}

/// The calls that a value is made of: one that has a name, or those that were made for it.
fn calls(value: &Value, made: Range<usize>) -> Range<usize> {
    match value {
        Value::Returned(at) => *at..*at + 1,
        _ => made,
    }
}
