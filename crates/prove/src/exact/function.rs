//! The functions of the law language in exact numbers.

use std::cmp::Ordering;

use qkvet_spec::syntax::{Expr, ExprKind};

use super::attention::{AttentionCall, Want, sees};
use super::evaluate::{Evaluator, aligned};
use super::instance::{NoValue, Value};
use super::matrices::{ExactMatrices, join};
use super::number::{Exact, NotExact};
use super::real::Real;

/// Largest number of elements of a matrix that a formula may write down.
pub(super) const MAX_ELEMENTS: usize = 256;

impl Evaluator {
    /// Applies a function; argument counts and types were checked with the law.
    pub(super) fn apply(
        &self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
    ) -> Result<Value, NoValue> {
        let m = match function {
            "attention" | "exact" => self.attention(args, named, Want::Output)?,
            "weights" => self.attention(args, named, Want::Weights)?,
            "lse" | "exact_lse" => self.attention(args, named, Want::Lse)?,
            "shape" => {
                let m = self.matrices(&args[0])?;
                return Ok(Value::Shape(vec![
                    m.batch.unwrap_or(1),
                    m.heads.unwrap_or(1),
                    m.rows,
                    m.cols,
                ]));
            }
            "softmax_rows" => {
                let m = self.matrices(&args[0])?;
                let mut data = Vec::with_capacity(m.data.len());
                for row in m.data.chunks(m.cols.max(1)) {
                    let powers = row.iter().map(Real::exp).collect::<Result<Vec<_>, _>>()?;
                    let over =
                        powers.iter().fold(Exact::from(0), |sum, power| &sum + power).inverse()?;
                    data.extend(powers.iter().map(|power| Real::from(power * &over)));
                }
                ExactMatrices { data, ..m }
            }
            "sigmoid" if matches!(self.value(&args[0])?, Value::Matrices(_)) => {
                let m = self.matrices(&args[0])?;
                ExactMatrices::build(m.lead(), m.rows, m.cols, |place| {
                    let power = m.at(place, m.heads).negated()?.exp()?;
                    Ok((&Exact::from(1) + &power).inverse()?.into())
                })?
            }
            "log" => return Ok(Value::Number(self.number(&args[0])?.ln()?)),
            "exp" | "sqrt" | "sigmoid" => {
                let x = self.number(&args[0])?;
                let result = match function {
                    "exp" => x.exp()?,
                    "sqrt" => x.plain()?.sqrt()?,
                    // 1 / (1 + e^−x)
                    _ => (&Exact::from(1) + &x.negated()?.exp()?).inverse()?,
                };
                return Ok(Value::Number(result.into()));
            }
            "spread" => {
                let m = self.matrices(&args[0])?;
                let (high, low) = (nonempty(&m)?.over_rows(greatest)?, m.over_rows(least)?);
                let ranges: Vec<Real> = high
                    .data
                    .iter()
                    .zip(&low.data)
                    .map(|(x, y)| x.plus(&y.negated()?))
                    .collect::<Result<_, _>>()?;
                return Ok(Value::Number(largest(&ranges)?));
            }
            "norm_max" => {
                let m = self.matrices(&args[0])?;
                let sizes: Vec<Real> = m
                    .data
                    .iter()
                    .map(|x| Ok(x.plain()?.abs()?.into()))
                    .collect::<Result<_, NotExact>>()?;
                return Ok(Value::Number(largest(&sizes)?));
            }
            "norm_2" => {
                let m = self.matrices(&args[0])?;
                let roots: Vec<Real> = m
                    .data
                    .chunks((m.rows * m.cols).max(1))
                    .map(|one| {
                        let squares =
                            one.iter().map(|x| x.times(x)).collect::<Result<Vec<_>, _>>()?;
                        let sum = squares.iter().try_fold(Real::from(0), |sum, x| sum.plus(x))?;
                        Ok(sum.plain()?.sqrt()?.into())
                    })
                    .collect::<Result<_, NotExact>>()?;
                return Ok(Value::Number(largest(&roots)?));
            }
            "diag" => {
                let m = self.matrices(&args[0])?;
                ExactMatrices::build(m.lead(), m.cols, m.cols, |[b, h, i, j]| {
                    Ok(if i == j { m.at([b, h, 0, j], m.heads).clone() } else { 0.into() })
                })?
            }
            "split_heads" => {
                let (m, heads) = (self.matrices(&args[0])?, self.extent(&args[1])?);
                if heads == 0 || m.heads.is_some() || !m.cols.is_multiple_of(heads) {
                    return Err(NoValue::unfit(
                        "`split_heads`",
                        "columns for every head",
                        "others",
                    ));
                }
                let width = m.cols / heads;
                ExactMatrices::build((m.batch, Some(heads)), m.rows, width, |[b, h, i, j]| {
                    Ok(m.at([b, 0, i, h * width + j], None).clone())
                })?
            }
            "combine_heads" => {
                let m = self.matrices(&args[0])?;
                let cols = m.heads.unwrap_or(1) * m.cols;
                ExactMatrices::build((m.batch, None), m.rows, cols, |[b, _, i, j]| {
                    Ok(m.at([b, j / m.cols.max(1), i, j % m.cols.max(1)], m.heads).clone())
                })?
            }
            "ones" | "zeros" => {
                let cols = args.get(1).map_or(Ok(1), |cols| self.extent(cols))?;
                let (rows, cols) = area(self.extent(&args[0])?, cols)?;
                ExactMatrices::plain(rows, cols, |_, _| i64::from(function == "ones"))
            }
            "eye" => {
                let n = self.extent(&args[0])?;
                let (n, _) = area(n, n)?;
                ExactMatrices::plain(n, n, |i, j| i64::from(i == j))
            }
            "row" | "drop_row" | "scale_row" => {
                let m = self.matrices(&args[0])?;
                let i = self.index(&args[1], m.rows)?;
                match function {
                    "row" => m.select(&[i]),
                    "drop_row" => {
                        m.select(&(0..m.rows).filter(|row| *row != i).collect::<Vec<_>>())
                    }
                    _ => {
                        let factor = self.number(&args[2])?;
                        let scaled = |place: [usize; 4]| {
                            let x = m.at(place, m.heads);
                            if place[2] == i { x.times(&factor) } else { Ok(x.clone()) }
                        };
                        ExactMatrices::build(m.lead(), m.rows, m.cols, scaled)?
                    }
                }
            }
            "col" => {
                let m = self.matrices(&args[0])?;
                let c = self.index(&args[1], m.cols)?;
                m.pick(m.rows, 1, |[b, h, i, _]| [b, h, i, c])
            }
            "select" => {
                let m = self.matrices(&args[0])?;
                m.select(&self.indices(&args[1], m.rows)?)
            }
            "indicator" => {
                let (_, n) = area(1, self.extent(&args[1])?)?;
                let set = self.indices(&args[0], n)?;
                ExactMatrices::plain(1, n, |_, c| i64::from(set.contains(&c)))
            }
            "others" => {
                let n = self.extent(&args[1])?;
                let set = self.indices(&args[0], n)?;
                return Ok(Value::Indices((0..n).filter(|at| !set.contains(at)).collect()));
            }
            "head" => {
                let m = self.matrices(&args[0])?;
                let h = self.index(&args[1], m.heads.unwrap_or(1))?;
                ExactMatrices::build((m.batch, None), m.rows, m.cols, |[b, _, i, j]| {
                    Ok(m.at([b, h, i, j], m.heads).clone())
                })?
            }
            "scale_rows" => {
                let (m, factors) = aligned(self.value(&args[0])?, self.value(&args[1])?)?;
                ExactMatrices::build(m.lead(), m.rows, m.cols, |[b, h, i, j]| {
                    m.at([b, h, i, j], m.heads).times(factors.at([b, h, i, 0], factors.heads))
                })?
            }
            "where" => self.choose(args)?,
            "hidden" => self.hidden(args)?,
            "heads" => {
                let parts: Vec<_> =
                    args.iter().map(|arg| self.matrices(arg)).collect::<Result<_, _>>()?;
                let first = &parts[0];
                let extents = |m: &ExactMatrices| (m.batch, m.heads, m.rows, m.cols);
                if first.heads.is_some() || parts.iter().any(|part| extents(part) != extents(first))
                {
                    return Err(NoValue::unfit(
                        "`heads`",
                        "matrices of one shape without heads",
                        "others",
                    ));
                }
                ExactMatrices::build(
                    (first.batch, Some(parts.len())),
                    first.rows,
                    first.cols,
                    |[b, h, i, j]| Ok(parts[h].at([b, 0, i, j], None).clone()),
                )?
            }
            "mean_heads" => {
                let m = self.matrices(&args[0])?;
                let count = m.heads.unwrap_or(1);
                let over = Exact::from(i64::try_from(count).unwrap_or(i64::MAX)).inverse()?.into();
                ExactMatrices::build((m.batch, None), m.rows, m.cols, |[b, _, i, j]| {
                    let mut sum = Real::from(0);
                    for h in 0..count {
                        sum = sum.plus(m.at([b, h, i, j], m.heads))?;
                    }
                    sum.times(&over)
                })?
            }
            "repeat_heads" => {
                let m = self.matrices(&args[0])?;
                let heads = Some(self.instance.extent("h_q")?);
                if m.heads.is_none()
                    || join(m.lead(), (None, heads)).is_none_or(|lead| lead.1 != heads)
                {
                    return Err(NoValue::unfit(
                        "`repeat_heads`",
                        "heads that divide h_q",
                        "others",
                    ));
                }
                ExactMatrices::build((m.batch, heads), m.rows, m.cols, |place| {
                    Ok(m.at(place, heads).clone())
                })?
            }
            "item" => {
                let m = self.matrices(&args[0])?;
                let b = self.index(&args[1], m.batch.unwrap_or(1))?;
                ExactMatrices::build((None, m.heads), m.rows, m.cols, |[_, h, i, j]| {
                    Ok(m.at([b, h, i, j], m.heads).clone())
                })?
            }
            "as_bias" => {
                let m = self.matrices(&args[0])?;
                ExactMatrices::build(m.lead(), m.rows, m.cols, |place| {
                    let is_hidden = m.plain_at(place, m.heads)?.vanishes()?;
                    Ok(if is_hidden { Real::log(Exact::from(0)) } else { Real::from(0) })
                })?
            }
            "min" | "max" | "sum" => {
                let m = self.matrices(&args[0])?;
                let fold = match function {
                    "min" => least,
                    "max" => greatest,
                    _ => Real::plus,
                };
                match named {
                    [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows" => {
                        nonempty(&m)?.over_rows(fold)?
                    }
                    _ => nonempty(&m.transpose())?.over_rows(fold)?.transpose(),
                }
            }
            "hcat" => beneath(
                &self.matrices(&args[0])?.transpose(),
                &self.matrices(&args[1])?.transpose(),
            )?
            .transpose(),
            "vcat" => beneath(&self.matrices(&args[0])?, &self.matrices(&args[1])?)?,
            other => {
                return Err(NoValue::Unknown(format!(
                    "function `{other}`: not known in exact numbers"
                )));
            }
        };
        Ok(Value::Matrices(m))
    }

    fn attention(
        &self,
        args: &[Expr],
        named: &[(String, Expr)],
        want: Want,
    ) -> Result<ExactMatrices, NoValue> {
        let (query, key) = (self.matrices(&args[0])?, self.matrices(&args[1])?);
        // Weights and logarithms do not depend on the values.
        let value = args
            .get(2)
            .filter(|_| want == Want::Output)
            .map(|value| self.matrices(value))
            .transpose()?;
        let mut options = self.instance.options.clone();
        for (name, expr) in named {
            match name.as_str() {
                "scale" if expr.is_off() => options.scale = None,
                "mask" if expr.is_off() => options.mask = None,
                "bias" if expr.is_off() => options.bias = None,
                "causal" if expr.is_off() => options.causal = false,
                "window" if expr.is_off() => options.window = None,
                "sinks" if expr.is_off() => options.sinks = None,
                "alibi_slopes" if expr.is_off() => options.alibi_slopes = None,
                "key_lengths" if expr.is_off() => options.key_lengths = None,
                "query_lengths" if expr.is_off() => options.query_lengths = None,
                "packed" if expr.is_off() => options.packed = None,
                // Never on in exact numbers.
                "softcap" if expr.is_off() => {}
                "scale" => options.scale = Some(self.number(expr)?.plain()?.clone()),
                "mask" => options.mask = Some(self.matrices(expr)?),
                "bias" => options.bias = Some(self.matrices(expr)?),
                other => {
                    return Err(NoValue::Unknown(format!(
                        "option `{other}`: not known in exact numbers"
                    )));
                }
            }
        }
        AttentionCall { query: &query, key: &key, value: value.as_ref(), options: &options }
            .evaluate(want)
    }

    /// `where(C, X, Y)`: rows or entries of `X` where `C` is not 0, of `Y` where it is.
    fn choose(&self, args: &[Expr]) -> Result<ExactMatrices, NoValue> {
        let condition = self.matrices(&args[0])?;
        let (yes, no) = aligned(self.value(&args[1])?, self.value(&args[2])?)?;
        let fits = || NoValue::unfit("`where`", "matrices that fit each other", "others");
        let lead = join(condition.lead(), yes.lead())
            .filter(|_| condition.rows == yes.rows)
            .ok_or_else(fits)?;
        Ok(ExactMatrices::build(lead, yes.rows, yes.cols, |[b, h, i, j]| {
            let column = if condition.cols == 1 { 0 } else { j };
            let chosen = !condition.plain_at([b, h, i, column], lead.1)?.vanishes()?;
            Ok(if chosen { &yes } else { &no }.at([b, h, i, j], lead.1).clone())
        })?)
    }

    /// 1 for the keys that no query head of their group sees at row `i`.
    fn hidden(&self, args: &[Expr]) -> Result<ExactMatrices, NoValue> {
        let [b, h_q, h_k, n_q, n_k, ..] = self.extents()?;
        let i = self.index(&args[0], n_q)?;
        let group = h_q / h_k.max(1);
        let mut data = Vec::new();
        for (item, head) in (0..b).flat_map(|item| (0..h_k).map(move |head| (item, head))) {
            for j in 0..n_k {
                let mut seen = false;
                for h in head * group..(head + 1) * group {
                    seen |= sees(&self.instance.options, [item, h, i, j], [n_q, n_k], Some(h_q))?;
                }
                data.push(Real::from(i64::from(!seen)));
            }
        }
        Ok(ExactMatrices { batch: Some(b), heads: Some(h_k), rows: n_k, cols: 1, data })
    }
}

pub(super) fn area(rows: usize, cols: usize) -> Result<(usize, usize), NoValue> {
    match rows.checked_mul(cols) {
        Some(n) if n <= MAX_ELEMENTS => Ok((rows, cols)),
        _ => Err(NoValue::unfit(
            "matrix",
            format!("at most {MAX_ELEMENTS} elements"),
            format!("{rows} by {cols}"),
        )),
    }
}

fn nonempty(m: &ExactMatrices) -> Result<&ExactMatrices, NoValue> {
    if m.rows > 0 {
        Ok(m)
    } else {
        Err(NoValue::unfit("least, greatest or sum", "elements", "none"))
    }
}

fn least(x: &Real, y: &Real) -> Result<Real, NotExact> {
    Ok(if x.compare(y)? == Ordering::Greater { y } else { x }.clone())
}

fn greatest(x: &Real, y: &Real) -> Result<Real, NotExact> {
    Ok(if x.compare(y)? == Ordering::Less { y } else { x }.clone())
}

/// The largest; 0 if there are none.
fn largest(numbers: &[Real]) -> Result<Real, NotExact> {
    let Some((first, rest)) = numbers.split_first() else { return Ok(0.into()) };
    rest.iter().try_fold(first.clone(), |x, y| greatest(&x, y))
}

fn beneath(x: &ExactMatrices, y: &ExactMatrices) -> Result<ExactMatrices, NoValue> {
    let lead = join(x.lead(), y.lead()).filter(|_| x.cols == y.cols);
    let lead = lead.ok_or_else(|| {
        NoValue::unfit("`hcat` or `vcat`", "matrices that fit each other", "others")
    })?;
    Ok(ExactMatrices::build(lead, x.rows + y.rows, x.cols, |[b, h, i, j]| {
        Ok(if i < x.rows {
            x.at([b, h, i, j], lead.1)
        } else {
            y.at([b, h, i - x.rows, j], lead.1)
        }
        .clone())
    })?)
}
