//! The value of a formula on an instance.

use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{CheckedLaw, Domain};

use super::attention::sees;
use super::function::area;
use super::instance::{Instance, NoValue, Value};
use super::matrices::{ExactMatrices, join};
use super::number::{Exact, NotExact};
use super::real::Real;

/// The value of a formula of `law` on an instance, under the standard meaning. `attention` and
/// `exact` are the same here.
///
/// # Errors
/// A formula without a value in exact numbers, an option that is not known here, or an instance
/// that does not fit the law.
pub fn evaluate(law: &CheckedLaw, expr: &Expr, instance: &Instance) -> Result<Value, NoValue> {
    Evaluator::new(law, instance)?.value(expr)
}

/// An instance and the values of the law's abbreviations.
#[derive(Clone, Debug)]
pub(super) struct Evaluator {
    pub(super) instance: Instance,
}

impl Evaluator {
    pub(super) fn new(law: &CheckedLaw, instance: &Instance) -> Result<Self, NoValue> {
        for (name, option) in [("mask", &instance.options.mask), ("bias", &instance.options.bias)] {
            let Some(m) = option else { continue };
            let (lead, extents) = (
                (Some(instance.extent("b")?), Some(instance.extent("h_q")?)),
                [instance.extent("n_q")?, instance.extent("n_k")?],
            );
            if join(lead, m.lead()) != Some(lead) || [m.rows, m.cols] != extents || !m.is_whole() {
                return Err(NoValue::unfit(
                    name,
                    format!("{extents:?}"),
                    format!("{:?}", [m.rows, m.cols]),
                ));
            }
        }
        instance
            .options
            .fit(instance.extent("b")?, [instance.extent("n_q")?, instance.extent("n_k")?])?;
        let mut evaluator = Self { instance: instance.clone() };
        for given in &law.given {
            let (option, absent) = match given.domain {
                Domain::Mask => (&instance.options.mask, 1),
                Domain::Bias => (&instance.options.bias, 0),
                _ => continue,
            };
            // No mask shows every key, no bias is zero.
            let value = match option {
                Some(m) => m.clone(),
                None => {
                    let lead = (Some(instance.extent("b")?), Some(instance.extent("h_q")?));
                    let all = |_| Ok(Real::from(absent));
                    ExactMatrices::build(
                        lead,
                        instance.extent("n_q")?,
                        instance.extent("n_k")?,
                        all,
                    )?
                }
            };
            evaluator.instance.values.insert(given.names[0].clone(), Value::Matrices(value));
        }
        for (name, expr) in &law.lets {
            let value = evaluator.value(expr)?;
            evaluator.instance.values.insert(name.clone(), value);
        }
        Ok(evaluator)
    }

    pub(super) fn value(&self, expr: &Expr) -> Result<Value, NoValue> {
        Ok(match &expr.kind {
            ExprKind::Number(x) => Value::Number(Exact::try_from(*x)?.into()),
            ExprKind::Name(name) => self.name(name)?,
            ExprKind::Unary(UnaryOp::Neg, x) => match self.value(x)? {
                Value::Number(x) => Value::Number(x.negated()?),
                other => Value::Matrices(matrices(other)?.each(Real::negated)?),
            },
            ExprKind::Transpose(x) => Value::Matrices(self.matrices(x)?.transpose()),
            ExprKind::Tuple(items) => {
                Value::Shape(items.iter().map(|item| self.extent(item)).collect::<Result<_, _>>()?)
            }
            ExprKind::Apply { function, args, named } => self.apply(function, args, named)?,
            ExprKind::Binary(op, x, y) => binary(*op, self.value(x)?, self.value(y)?)?,
            ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Interval(..) => {
                return Err(not_a_value("expression"));
            }
        })
    }

    fn name(&self, name: &str) -> Result<Value, NoValue> {
        if let Some(value) = self.instance.values.get(name) {
            return Ok(value.clone());
        }
        match name {
            "attended" => return Ok(Value::Matrices(self.attended()?)),
            "visible" => return Ok(Value::Matrices(self.visible()?)),
            "alibi" => return Ok(Value::Matrices(self.alibi()?)),
            "sinks" => return Ok(Value::Matrices(self.sinks()?)),
            _ => {}
        }
        let n = self.instance.extent(name)?;
        Ok(Value::Number(Exact::from(i64::try_from(n).unwrap_or(i64::MAX)).into()))
    }

    /// The case's own extents of queries and keys.
    pub(super) fn extents(&self) -> Result<[usize; 7], NoValue> {
        let mut extents = [0; 7];
        for (extent, name) in extents.iter_mut().zip(DIMENSIONS) {
            *extent = self.instance.extent(name)?;
        }
        Ok(extents)
    }

    /// 1 for a query and a key that it sees, else 0.
    fn visible(&self) -> Result<ExactMatrices, NoValue> {
        let [b, h_q, _, n_q, n_k, ..] = self.extents()?;
        let mut data = Vec::new();
        for (b, h) in (0..b).flat_map(|b| (0..h_q).map(move |h| (b, h))) {
            for (i, j) in (0..n_q).flat_map(|i| (0..n_k).map(move |j| (i, j))) {
                let seen = sees(&self.instance.options, [b, h, i, j], [n_q, n_k], Some(h_q))?;
                data.push(Real::from(i64::from(seen)));
            }
        }
        Ok(ExactMatrices { batch: Some(b), heads: Some(h_q), rows: n_q, cols: n_k, data })
    }

    /// 1 for a query that sees a key, else 0.
    fn attended(&self) -> Result<ExactMatrices, NoValue> {
        let visible = self.visible()?;
        let rows = visible.batch.unwrap_or(1) * visible.heads.unwrap_or(1) * visible.rows;
        let is_seen = |x: &Real| x.plain().is_ok_and(|x| !x.is_zero());
        let row = |at: usize| &visible.data[at * visible.cols..(at + 1) * visible.cols];
        let data: Vec<Real> =
            (0..rows).map(|at| Real::from(i64::from(row(at).iter().any(is_seen)))).collect();
        Ok(ExactMatrices { cols: 1, data, ..visible })
    }

    /// What ALiBi adds to the logits: `−slope · |i + n_k − n_q − j|`, 0 without slopes.
    fn alibi(&self) -> Result<ExactMatrices, NoValue> {
        let [b, h_q, _, n_q, n_k, ..] = self.extents()?;
        let slopes = self.instance.options.alibi_slopes.as_ref();
        Ok(ExactMatrices::build((Some(b), Some(h_q)), n_q, n_k, |[_, h, i, j]| {
            let distance = i64::try_from((i + n_k).abs_diff(n_q + j)).unwrap_or(i64::MAX);
            Ok(slopes.map_or(Exact::from(0), |slopes| -&(&slopes[h] * &distance.into())).into())
        })?)
    }

    /// The logit of each query head's sink, `ln 0` where there is none.
    fn sinks(&self) -> Result<ExactMatrices, NoValue> {
        let [_, h_q, ..] = self.extents()?;
        let sinks = self.instance.options.sinks.as_ref();
        Ok(ExactMatrices::build((None, Some(h_q)), 1, 1, |[_, h, ..]| {
            Ok(sinks.map_or(Real::Log(0.into()), |sinks| sinks[h].clone().into()))
        })?)
    }

    pub(super) fn number(&self, expr: &Expr) -> Result<Real, NoValue> {
        number(self.value(expr)?)
    }

    pub(super) fn extent(&self, expr: &Expr) -> Result<usize, NoValue> {
        let x = self.number(expr)?;
        let n = x
            .plain()?
            .rational()
            .filter(|x| x.is_int())
            .and_then(|x| usize::try_from(x.into_parts().0).ok());
        n.ok_or_else(|| NoValue::unfit("extent", "a whole number from 0", &x))
    }

    pub(super) fn index(&self, expr: &Expr, limit: usize) -> Result<usize, NoValue> {
        match self.value(expr)? {
            Value::Index(i) if i < limit => Ok(i),
            Value::Index(i) => Err(NoValue::unfit("index", format!("one below {limit}"), i)),
            // Rows and columns by number are counted from 1.
            Value::Number(x) => {
                let number =
                    x.plain()?.rational().and_then(|x| usize::try_from(x.into_parts().0).ok());
                number.filter(|i| (1..=limit).contains(i)).map(|i| i - 1).ok_or_else(|| {
                    NoValue::unfit("index", format!("a whole number from 1 to {limit}"), &x)
                })
            }
            other => Err(NoValue::unfit("index", "an index", other.describe())),
        }
    }

    pub(super) fn indices(&self, expr: &Expr, limit: usize) -> Result<Vec<usize>, NoValue> {
        match self.value(expr)? {
            Value::Indices(rows) if rows.iter().all(|row| *row < limit) => Ok(rows),
            Value::Indices(_) => {
                Err(NoValue::unfit("indices", format!("all below {limit}"), "larger ones"))
            }
            other => Err(NoValue::unfit("indices", "a set of indices", other.describe())),
        }
    }

    pub(super) fn matrices(&self, expr: &Expr) -> Result<ExactMatrices, NoValue> {
        matrices(self.value(expr)?)
    }
}

pub(super) fn not_a_value(what: &str) -> NoValue {
    NoValue::unfit(what, "a value", "a statement or a domain")
}

impl Value {
    /// What it is, in words.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Index(_) => "an index",
            Self::Indices(_) => "a set of indices",
            Self::Matrices(_) => "a matrix",
            Self::Shape(_) => "a tuple of extents",
        }
    }
}

fn number(value: Value) -> Result<Real, NoValue> {
    match value {
        Value::Number(x) => Ok(x),
        other => Err(NoValue::unfit("operand", "a number", other.describe())),
    }
}

pub(super) fn matrices(value: Value) -> Result<ExactMatrices, NoValue> {
    match value {
        Value::Matrices(m) if m.is_whole() => Ok(m),
        Value::Matrices(m) => {
            let expected = format!("{} by {} elements in each", m.rows, m.cols);
            Err(NoValue::unfit("matrix", expected, format!("{} in all", m.data.len())))
        }
        other => Err(NoValue::unfit("operand", "a matrix", other.describe())),
    }
}

fn binary(op: BinaryOp, x: Value, y: Value) -> Result<Value, NoValue> {
    let combine: fn(&Real, &Real) -> Result<Real, NotExact> = match op {
        BinaryOp::MatMul => {
            let (x, y) = (matrices(x)?, matrices(y)?);
            let lead = join(x.lead(), y.lead()).filter(|_| x.cols == y.rows);
            let lead =
                lead.ok_or_else(|| NoValue::unfit("`@`", format!("{} rows", x.cols), y.rows))?;
            area(x.rows, y.cols)?;
            return Ok(Value::Matrices(x.matmul(&y, lead)?));
        }
        BinaryOp::Add => Real::plus,
        BinaryOp::Sub => |x, y| x.plus(&y.negated()?),
        BinaryOp::Mul => Real::times,
        BinaryOp::Div => |x, y| x.times(&y.inverse()?),
        other => return Err(not_a_value(&format!("`{}`", other.symbol()))),
    };
    Ok(match (x, y) {
        (Value::Number(x), Value::Number(y)) => Value::Number(combine(&x, &y)?),
        (x, y) => {
            let (x, y) = aligned(x, y)?;
            let data =
                x.data.iter().zip(&y.data).map(|(x, y)| combine(x, y)).collect::<Result<_, _>>()?;
            Value::Matrices(ExactMatrices { data, ..x })
        }
    })
}

/// Two values with the same extents: a number meets any matrix, a matrix of fewer heads is repeated
/// by groups.
pub(super) fn aligned(x: Value, y: Value) -> Result<(ExactMatrices, ExactMatrices), NoValue> {
    let fill = |x: Real, m: &ExactMatrices| ExactMatrices { data: vec![x; m.data.len()], ..*m };
    let (x, y) = match (x, y) {
        (Value::Number(x), Value::Number(y)) => {
            let one =
                |x| ExactMatrices { batch: None, heads: None, rows: 1, cols: 1, data: vec![x] };
            return Ok((one(x), one(y)));
        }
        (Value::Number(x), y) => {
            let y = matrices(y)?;
            return Ok((fill(x, &y), y));
        }
        (x, Value::Number(y)) => {
            let x = matrices(x)?;
            let y = fill(y, &x);
            return Ok((x, y));
        }
        (x, y) => (matrices(x)?, matrices(y)?),
    };
    let lead = join(x.lead(), y.lead()).filter(|_| [x.rows, x.cols] == [y.rows, y.cols]);
    let extents = |m: &ExactMatrices| format!("{} by {}", m.rows, m.cols);
    let lead = lead.ok_or_else(|| NoValue::unfit("operands", extents(&x), extents(&y)))?;
    let spread = |m: &ExactMatrices| {
        ExactMatrices::build(lead, m.rows, m.cols, |at| Ok(m.at(at, lead.1).clone()))
    };
    Ok((spread(&x)?, spread(&y)?))
}
