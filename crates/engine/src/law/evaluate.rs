//! Evaluation of one law on one case.

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{
    Binding, Call, Case, CheckedLaw, Contract, Evidence, Meaning, Observation, Output, Response, Target, Tensor,
    Verdict,
};
use std::collections::BTreeMap;

use super::call::{CallRecord, check_value, exact_balls, fits, malformed, show_shape, target_balls};
use super::matrices::BallMatrices;
use super::relation::{Decision, Relation, Sides, decide};
use crate::ball::Ball;
use crate::interpret::{Expected, interpret, visibility};
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
    Target(Verdict, String, String),
    /// A result has the wrong form.
    Form(Evidence),
    /// The law asks for something impossible: an error in the law, not in the target.
    Law(String),
}

/// A value of the language.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// An option that the case leaves off.
    Absent,
    Number(Ball),
    Integer(i64),
    Index(usize),
    Indices(Vec<usize>),
    Matrices(BallMatrices),
    /// The case's own mask or bias, still in its broadcast form.
    CaseOption(&'static str, BallMatrices),
    /// A result of the target, by number of the call.
    Returned(usize),
    Shape(Vec<i64>),
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
            Outcome { verdict: Verdict::Fail, margin: 0.0, evidence: Some(evidence), calls: Vec::new() }
        }
        Err(Stop::Target(verdict, place, got)) => {
            let expected = "a result".to_owned();
            let evidence = Evidence { place, expected, got, ratio: None, relation: false };
            Outcome { verdict, margin: 0.0, evidence: Some(evidence), calls: Vec::new() }
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
    names: BTreeMap<String, Value>,
    /// Text of the formula being evaluated, for labels.
    source: String,
    records: Vec<CallRecord>,
    expected: Vec<Expected>,
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
        let evidence = Evidence {
            place: "inputs of attention(Q, K, V)".to_owned(),
            expected: "the same bits after the call".to_owned(),
            got: "other bits: the call wrote into query, key, value, mask or bias".to_owned(),
            ratio: None,
            relation: true,
        };
        Ok(Decision { verdict: Verdict::Fail, margin: 0.0, evidence: Some(evidence) })
    }

    /// Calls everything once more; the first result with other bits is the evidence.
    fn unrepeatable(&mut self) -> Option<Evidence> {
        let records = std::mem::take(&mut self.records);
        let mut found = None;
        for (at, record) in records.iter().enumerate() {
            let earlier = records[..at].iter().find(|other| other.call == record.call && other.want == record.want);
            let again = match earlier {
                Some(earlier) => Some(earlier.output.clone()),
                None => match self.target.call(&record.call) {
                    Response::Output(output) => Some(*output),
                    _ => None,
                },
            };
            let differs = |x: &Tensor, y: &Tensor| {
                x.shape == y.shape
                    && x.data
                        .iter()
                        .zip(&y.data)
                        .any(|(x, y)| x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan()))
            };
            if let Some(again) = again
                && differs(&record.output.output, &again.output)
            {
                let pairs = record.output.output.data.iter().zip(&again.output.data);
                let (x, y) = pairs.clone().find(|(x, y)| x.to_bits() != y.to_bits()).unwrap_or((&0.0, &0.0));
                found = Some(Evidence {
                    place: format!("two identical calls of {}", record.label),
                    expected: format!("{} again", super::relation::show_number(*x)),
                    got: super::relation::show_number(*y),
                    ratio: None,
                    relation: true,
                });
                break;
            }
        }
        self.records = records;
        found
    }

    /// The case's mask or bias as a full matrix, remembered to be the case's own.
    fn case_option(&self, name: &'static str) -> Result<Value, Stop> {
        let dims = self.case.dims;
        let full = [dims.b, dims.h_q, dims.n_q, dims.n_k];
        let (shape, data): (&[usize], Vec<f64>) = match name {
            "mask" => match &self.case.options.mask {
                Some(mask) => (&mask.shape, mask.data.iter().map(|m| f64::from(u8::from(*m))).collect()),
                None => return Ok(Value::Absent),
            },
            _ => match &self.case.options.bias {
                Some(bias) => (&bias.shape, bias.data.clone()),
                None => return Ok(Value::Absent),
            },
        };
        let entry = |at: usize| {
            let j = at % full[3];
            let i = at / full[3] % full[2];
            let h = at / (full[3] * full[2]) % full[1];
            let b = at / (full[3] * full[2] * full[1]);
            Ball::exact(data[crate::lowering::broadcast_at(shape, [b, h, i, j])])
        };
        let data = (0..full.iter().product()).map(entry).collect();
        let matrices = BallMatrices { batch: Some(full[0]), heads: Some(full[1]), rows: full[2], cols: full[3], data };
        Ok(Value::CaseOption(name, matrices))
    }

    /// A statement.
    fn truth(&mut self, expr: &Expr) -> Result<Decision, Stop> {
        let ExprKind::Binary(op, left, right) = &expr.kind else {
            return Err(Stop::Law("statement: expected a relation".to_owned()));
        };
        if *op == BinaryOp::And {
            let first = self.truth(left)?;
            return Ok(first.and(self.truth(right)?));
        }
        if *op == BinaryOp::In {
            let ExprKind::Apply { args, .. } = &right.kind else {
                return Err(Stop::Law("`in`: expected between(low, high)".to_owned()));
            };
            let (value, low, high) = (self.value(left)?, self.value(&args[0])?, self.value(&args[1])?);
            let (label, low_label, high_label) = (self.text(left), self.text(&args[0]), self.text(&args[1]));
            let above = self.relate(Relation::AtLeast, (&value, &label), (&low, &low_label))?;
            return Ok(above.and(self.relate(Relation::AtMost, (&value, &label), (&high, &high_label))?));
        }
        let (x, y) = (self.value(left)?, self.value(right)?);
        let (x_text, y_text) = (self.text(left), self.text(right));
        if let (Value::Shape(got), Value::Shape(expected)) = (&x, &y) {
            return Ok(self.same_shape(got, expected, &x_text));
        }
        match op {
            BinaryOp::Eq => self.relate(Relation::Equal, (&x, &x_text), (&y, &y_text)),
            BinaryOp::Le => self.relate(Relation::AtMost, (&x, &x_text), (&y, &y_text)),
            BinaryOp::Ge => self.relate(Relation::AtLeast, (&x, &x_text), (&y, &y_text)),
            BinaryOp::SameBits => self.relate(Relation::SameBits, (&x, &x_text), (&y, &y_text)),
            other => Err(Stop::Law(format!("relation `{}`: not decided", other.symbol()))),
        }
    }

    fn same_shape(&self, got: &[i64], expected: &[i64], place: &str) -> Decision {
        if got == expected {
            return Decision::pass();
        }
        let show =
            |shape: &[i64]| show_shape(&shape.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect::<Vec<_>>());
        let evidence =
            Evidence { place: place.to_owned(), expected: show(expected), got: show(got), ratio: None, relation: true };
        Decision { verdict: Verdict::Fail, margin: 0.0, evidence: Some(evidence) }
    }

    fn relate(&mut self, relation: Relation, left: (&Value, &str), right: (&Value, &str)) -> Result<Decision, Stop> {
        let (x, y) = (self.matrices(left.0)?, self.matrices(right.0)?);
        let (x, y) = self.align(x, y)?;
        Ok(decide(relation, &x, &y, &Sides { left: left.1, right: right.1 }))
    }

    /// The source text of a subexpression.
    pub(super) fn text(&self, expr: &Expr) -> String {
        self.source.get(expr.span.clone()).unwrap_or("expression").to_owned()
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Value, Stop> {
        match &expr.kind {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
            ExprKind::Number(x) if x.fract() == 0.0 && x.abs() < 1e9 => Ok(Value::Integer(*x as i64)),
            ExprKind::Number(x) => Ok(Value::Number(Ball::exact(*x))),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Unary(UnaryOp::Neg, x) => match self.value(x)? {
                Value::Integer(n) => Ok(Value::Integer(-n)),
                Value::Number(x) => Ok(Value::Number(-x)),
                other => Ok(Value::Matrices(self.matrices(&other)?.each(std::ops::Neg::neg))),
            },
            ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Interval(..) => {
                Err(Stop::Law("expression: not a value".to_owned()))
            }
            ExprKind::Transpose(x) => match self.value(x)? {
                Value::Absent => Ok(Value::Absent),
                other => Ok(Value::Matrices(self.matrices(&other)?.transpose())),
            },
            ExprKind::Tuple(items) => {
                let extents = items.iter().map(|item| self.integer(item)).collect::<Result<_, _>>()?;
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
        let d = self.case.dims;
        let size = |n: usize| Ok(Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)));
        match name {
            "b" => size(d.b),
            "h_q" => size(d.h_q),
            "h_k" => size(d.h_k),
            "n_q" => size(d.n_q),
            "n_k" => size(d.n_k),
            "d_k" => size(d.d_k),
            "d_v" => size(d.d_v),
            "attended" => Ok(Value::Matrices(self.attended())),
            other => Err(Stop::Law(format!("name `{other}`: not bound by the case"))),
        }
    }

    /// A call with the case's extents and options, for asking the meaning what is visible; its numbers do not matter.
    pub(super) fn blank_call(&self) -> Call {
        let d = self.case.dims;
        let dtype = self.case.dtype;
        let zeros =
            |shape: [usize; 4]| Tensor { dtype, shape: shape.to_vec(), data: vec![0.0; shape.iter().product()] };
        let options = &self.case.options;
        Call {
            query: zeros([d.b, d.h_q, d.n_q, d.d_k]),
            key: zeros([d.b, d.h_k, d.n_k, d.d_k]),
            value: zeros([d.b, d.h_k, d.n_k, d.d_v]),
            scale: options.scale,
            causal: options.causal,
            mask: options.mask.clone(),
            bias: options.bias.clone(),
            return_weights: false,
        }
    }

    /// What a row of ones comes back as: 1 where the query sees a key, else what the meaning says of empty rows.
    fn attended(&self) -> BallMatrices {
        let d = self.case.dims;
        let seen = visibility(self.judge.meaning, &self.blank_call());
        let empty = match self.judge.meaning.empty_row {
            qkvet_spec::EmptyRow::Zero => 0.0,
            qkvet_spec::EmptyRow::Nan => f64::NAN,
            qkvet_spec::EmptyRow::Mean => 1.0,
        };
        let entry =
            |row: usize| Ball::exact(if seen[row * d.n_k..(row + 1) * d.n_k].contains(&true) { 1.0 } else { empty });
        let data = (0..d.b * d.h_q * d.n_q).map(entry).collect();
        BallMatrices { batch: Some(d.b), heads: Some(d.h_q), rows: d.n_q, cols: 1, data }
    }

    fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Result<Value, Stop> {
        let scalar = |value: &Value| matches!(value, Value::Number(_) | Value::Integer(_));
        match (op, &x, &y) {
            (_, Value::Absent, _) | (_, _, Value::Absent) => return Ok(Value::Absent),
            (BinaryOp::Add, Value::Integer(x), Value::Integer(y)) => return Ok(Value::Integer(x + y)),
            (BinaryOp::Sub, Value::Integer(x), Value::Integer(y)) => return Ok(Value::Integer(x - y)),
            (BinaryOp::Mul, Value::Integer(x), Value::Integer(y)) => return Ok(Value::Integer(x * y)),
            _ => {}
        }
        let combine: fn(Ball, Ball) -> Ball = match op {
            BinaryOp::MatMul => {
                let (x, y) = (self.matrices(&x)?, self.matrices(&y)?);
                let (x, y) = self.align_leads(x, y)?;
                if x.cols != y.rows {
                    return Err(Stop::Law(format!("`@`: expected {} rows, got {}", x.cols, y.rows)));
                }
                return Ok(Value::Matrices(x.matmul(&y)));
            }
            BinaryOp::Add => |x, y| x + y,
            BinaryOp::Sub => |x, y| x - y,
            BinaryOp::Mul => |x, y| x * y,
            BinaryOp::Div => |x, y| x / y,
            other => return Err(Stop::Law(format!("`{}`: not a value", other.symbol()))),
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

    /// A number.
    #[expect(clippy::cast_precision_loss, reason = "extents are far below 2^53")]
    pub(super) fn number(&self, value: &Value) -> Result<Ball, Stop> {
        match value {
            Value::Number(x) => Ok(*x),
            Value::Integer(n) => Ok(Ball::exact(*n as f64)),
            _ => Err(Stop::Law("expression: expected a number".to_owned())),
        }
    }

    /// An extent.
    pub(super) fn integer(&mut self, expr: &Expr) -> Result<i64, Stop> {
        match self.value(expr)? {
            Value::Integer(n) => Ok(n),
            _ => Err(Stop::Law(format!("`{}`: expected a whole number", self.text(expr)))),
        }
    }

    /// Matrices; a result of the target is checked for its form here, a number becomes a 1 × 1 matrix.
    pub(super) fn matrices(&self, value: &Value) -> Result<BallMatrices, Stop> {
        match value {
            Value::Matrices(m) | Value::CaseOption(_, m) => Ok(m.clone()),
            Value::Number(_) | Value::Integer(_) => {
                let x = self.number(value)?;
                Ok(BallMatrices { batch: None, heads: None, rows: 1, cols: 1, data: vec![x] })
            }
            Value::Returned(at) => {
                let (record, expected) = (&self.records[*at], &self.expected[*at]);
                match (malformed(record, &expected.shape), record.returned()) {
                    (None, Some(tensor)) => Ok(target_balls(tensor, expected)),
                    (Some(evidence), _) => Err(Stop::Form(evidence)),
                    (None, None) => Err(Stop::Law("result: expected weights".to_owned())),
                }
            }
            _ => Err(Stop::Law("expression: expected a matrix".to_owned())),
        }
    }

    /// The shape that the target claims for a result, or the shape of a matrix.
    pub(super) fn shape(&self, value: &Value) -> Result<Vec<i64>, Stop> {
        let signed = |n: &usize| i64::try_from(*n).unwrap_or(i64::MAX);
        if let Value::Returned(at) = value
            && let Some(tensor) = self.records[*at].returned()
        {
            return Ok(tensor.shape.iter().map(signed).collect());
        }
        let m = self.matrices(value)?;
        let (batch, heads) = m.leads();
        Ok([batch, heads, m.rows, m.cols].iter().map(signed).collect())
    }

    /// Both operands with the same leads and extents; a 1 × 1 matrix meets any other.
    fn align(&self, x: BallMatrices, y: BallMatrices) -> Result<(BallMatrices, BallMatrices), Stop> {
        let (x, y) = self.align_leads(x, y)?;
        if (x.rows, x.cols) == (y.rows, y.cols) {
            return Ok((x, y));
        }
        let spread = |m: &BallMatrices, rows: usize, cols: usize| {
            m.map(rows, cols, |one, out| out.extend(std::iter::repeat_n(one[0], rows * cols)))
        };
        match ((x.rows, x.cols), (y.rows, y.cols)) {
            ((1, 1), (rows, cols)) => Ok((spread(&x, rows, cols), y)),
            ((rows, cols), (1, 1)) => {
                let y = spread(&y, rows, cols);
                Ok((x, y))
            }
            (left, right) => Err(Stop::Law(format!("extents: expected {left:?} on both sides, got {right:?}"))),
        }
    }

    /// Both operands with the same leads: key/value heads are read once for every query head.
    pub(super) fn align_leads(&self, x: BallMatrices, y: BallMatrices) -> Result<(BallMatrices, BallMatrices), Stop> {
        let d = self.case.dims;
        let (mut x, mut y) = (x, y);
        if let (Some(left), Some(right)) = (x.heads, y.heads)
            && left != right
        {
            if (left, right) == (d.h_k, d.h_q) {
                x = self.repeat_heads(&x);
            } else if (left, right) == (d.h_q, d.h_k) {
                y = self.repeat_heads(&y);
            } else {
                return Err(Stop::Law(format!("heads: expected {left}, got {right}")));
            }
        }
        match (x.batch, y.batch) {
            (Some(left), Some(right)) if left != right => {
                Err(Stop::Law(format!("batch: expected {left}, got {right}")))
            }
            _ => Ok((x, y)),
        }
    }

    /// One matrix for every query head, by the declared head map.
    pub(super) fn repeat_heads(&self, m: &BallMatrices) -> BallMatrices {
        let call = self.blank_call();
        let mut data = Vec::new();
        for b in 0..m.batch.unwrap_or(1) {
            for h in 0..self.case.dims.h_q {
                data.extend_from_slice(m.at(b, crate::interpret::key_head(self.judge.meaning, &call, h)));
            }
        }
        BallMatrices { batch: m.batch, heads: Some(self.case.dims.h_q), rows: m.rows, cols: m.cols, data }
    }

    /// Puts a call to the target and checks what comes back.
    pub(super) fn ask(&mut self, label: String, call: Call, want: Want) -> Result<Value, Stop> {
        let output: Output = match self.target.call(&call) {
            Response::Output(output) => *output,
            Response::Malformed(got) => {
                let evidence = Evidence {
                    place: label,
                    expected: "a tensor of floating-point numbers".to_owned(),
                    got,
                    ratio: None,
                    relation: false,
                };
                return Err(Stop::Form(evidence));
            }
            Response::Unsupported(reason) => return Err(Stop::Target(Verdict::Unsupported, label, reason)),
            Response::Refused(reason) => return Err(Stop::Target(Verdict::Refused, label, reason)),
            Response::Error(reason) => return Err(Stop::Target(Verdict::Error, label, reason)),
            Response::Crash(reason) => return Err(Stop::Target(Verdict::Crash, label, reason)),
            Response::Timeout(reason) => return Err(Stop::Target(Verdict::Timeout, label, reason)),
        };
        let expected = interpret(self.judge.meaning, &call, self.judge.contract, want);
        let record = CallRecord { label, call, output, want };
        let decision = check_value(&record, &expected);
        self.values = std::mem::replace(&mut self.values, Decision::pass()).and(decision);
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
