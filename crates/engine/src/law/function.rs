//! The functions of the language.

use qkvet_spec::syntax::{Expr, ExprKind};
use qkvet_spec::{BoolTensor, Call, CallOption, Tensor};

use super::call::{bool_tensor, tensor};
use super::evaluate::{Evaluator, Stop};
use super::matrices::BallMatrices;
use super::undefined::{MAX_ELEMENTS, Undefined};
use super::value::Value;
use crate::ball::Ball;
use crate::lowering::ResultName;

fn size(n: i64) -> Result<usize, Undefined> {
    usize::try_from(n).map_err(|_| Undefined::Extent { got: n })
}

/// Two extents whose product is not absurd.
fn area(rows: i64, cols: i64) -> Result<(usize, usize), Undefined> {
    let (rows, cols) = (size(rows)?, size(cols)?);
    match rows.checked_mul(cols) {
        Some(n) if n <= MAX_ELEMENTS => Ok((rows, cols)),
        _ => Err(Undefined::Elements { rows, cols }),
    }
}

impl Evaluator<'_> {
    fn index(&mut self, expr: &Expr, limit: usize) -> Result<usize, Stop> {
        match self.value(expr)? {
            Value::Index(i) if i < limit => Ok(i),
            Value::Index(got) => {
                Err(Undefined::Index { index: self.text(expr), limit, got }.into())
            }
            _ => Err(Undefined::kind(format!("`{}`", self.text(expr)), "an index").into()),
        }
    }

    fn matrix(&mut self, expr: &Expr) -> Result<BallMatrices, Stop> {
        let value = self.value(expr)?;
        self.matrices(&value)
    }

    /// Applies a function; argument counts and types were checked with the law.
    pub(super) fn apply(
        &mut self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
        whole: &Expr,
    ) -> Result<Value, Stop> {
        let m = match function {
            "attention" | "exact" | "weights" | "lse" | "exact_lse" => {
                return self.attention(function, args, named, whole);
            }
            "shape" => {
                let value = self.value(&args[0])?;
                return Ok(Value::Shape(self.shape(&value)?));
            }
            "exp" | "log" | "sqrt" | "sigmoid" => {
                let value = self.value(&args[0])?;
                if matches!(value, Value::Matrices(_) | Value::Returned(_)) {
                    return Ok(Value::Matrices(self.matrices(&value)?.each(Ball::sigmoid)));
                }
                let x = self.number(&value)?;
                return Ok(Value::Number(match function {
                    "exp" => x.exp(),
                    "log" => x.log(),
                    "sqrt" => x.sqrt(),
                    _ => x.sigmoid(),
                }));
            }
            "softmax_rows" => {
                let m = self.matrix(&args[0])?;
                m.map(m.rows, m.cols, |one, out| {
                    for row in one.chunks_exact(m.cols.max(1)) {
                        // Every shift is as good as any other.
                        let shift = Ball::exact(
                            row.iter().map(|x| x.mid).fold(f64::NEG_INFINITY, f64::max),
                        );
                        let powers: Vec<Ball> = row.iter().map(|x| (*x - shift).exp()).collect();
                        let sum =
                            powers.iter().copied().reduce(|x, y| x + y).unwrap_or(Ball::exact(1.0));
                        out.extend(powers.iter().map(|x| *x / sum));
                    }
                })
            }
            "spread" => {
                let m = self.matrix(&args[0])?;
                let ranges = m.over_rows(Ball::max).zip(&m.over_rows(Ball::min), |x, y| x - y);
                return Ok(Value::Number(
                    ranges.data.iter().copied().reduce(Ball::max).unwrap_or(Ball::exact(0.0)),
                ));
            }
            "norm_max" => {
                let m = self.matrix(&args[0])?;
                return Ok(Value::Number(
                    m.data
                        .iter()
                        .copied()
                        .map(Ball::abs)
                        .reduce(Ball::max)
                        .unwrap_or(Ball::exact(0.0)),
                ));
            }
            "norm_2" => return Ok(Value::Number(self.matrix(&args[0])?.norm_2())),
            "diag" => {
                let m = self.matrix(&args[0])?;
                let entry = |one: &[Ball], at: usize| {
                    if at / m.cols == at % m.cols { one[at % m.cols] } else { Ball::exact(0.0) }
                };
                m.map(m.cols, m.cols, |one, out| {
                    out.extend((0..m.cols * m.cols).map(|at| entry(one, at)))
                })
            }
            "split_heads" => {
                let m = self.matrix(&args[0])?;
                let heads = size(self.integer(&args[1])?)?;
                if heads == 0 || m.heads.is_some() || !m.cols.is_multiple_of(heads) {
                    return Err(Undefined::Columns { heads, cols: m.cols }.into());
                }
                m.split_heads(heads)
            }
            "combine_heads" => self.matrix(&args[0])?.combine_heads(),
            "ones" | "zeros" => {
                let fill = if function == "ones" { 1.0 } else { 0.0 };
                let rows = self.integer(&args[0])?;
                let (rows, cols) =
                    area(rows, args.get(1).map_or(Ok(1), |cols| self.integer(cols))?)?;
                BallMatrices::plain(rows, cols, |_, _| fill)
            }
            "eye" => {
                let n = self.integer(&args[0])?;
                let (n, _) = area(n, n)?;
                BallMatrices::plain(n, n, |i, j| f64::from(u8::from(i == j)))
            }
            "row" | "drop_row" | "scale_row" => {
                let value = self.value(&args[0])?;
                if matches!(value, Value::Absent) {
                    return Ok(Value::Absent);
                }
                let m = self.matrices(&value)?;
                let i = self.index(&args[1], m.rows)?;
                match function {
                    "row" => m.select(&[i]),
                    "drop_row" => {
                        m.select(&(0..m.rows).filter(|row| *row != i).collect::<Vec<_>>())
                    }
                    _ => {
                        let value = self.value(&args[2])?;
                        let factor = self.number(&value)?;
                        m.map(m.rows, m.cols, |one, out| {
                            out.extend(
                                one.iter()
                                    .enumerate()
                                    .map(|(at, x)| if at / m.cols == i { *x * factor } else { *x }),
                            );
                        })
                    }
                }
            }
            "col" => {
                let m = self.matrix(&args[0])?;
                let c = self.index(&args[1], m.cols)?;
                m.column(c)
            }
            "select" => {
                let m = self.matrix(&args[0])?;
                match self.value(&args[1])? {
                    Value::Indices(rows) if rows.iter().all(|row| *row < m.rows) => m.select(&rows),
                    _ => {
                        let expected = "row numbers within the matrix";
                        return Err(Undefined::kind("`select`", expected).into());
                    }
                }
            }
            "others" => {
                let (_, n) = area(1, self.integer(&args[1])?)?;
                return match self.value(&args[0])? {
                    Value::Indices(set) => {
                        Ok(Value::Indices((0..n).filter(|at| !set.contains(at)).collect()))
                    }
                    _ => Err(Undefined::kind("`others`", "a set of indices").into()),
                };
            }
            "indicator" => {
                let (_, n) = area(1, self.integer(&args[1])?)?;
                match self.value(&args[0])? {
                    Value::Indices(set) => {
                        BallMatrices::plain(1, n, |_, c| f64::from(u8::from(set.contains(&c))))
                    }
                    _ => {
                        return Err(Undefined::kind("`indicator`", "a set of indices").into());
                    }
                }
            }
            "where" => self.choose(args)?,
            "hidden" => {
                let i = self.index(&args[0], self.case.dims.n_q)?;
                self.hidden(i)
            }
            "heads" => {
                let parts =
                    args.iter().map(|arg| self.matrix(arg)).collect::<Result<Vec<_>, _>>()?;
                stack_heads(&parts)
            }
            "mean_heads" => mean_heads(&self.matrix(&args[0])?),
            "repeat_heads" => {
                let m = self.matrix(&args[0])?;
                self.repeat_heads(&m)
            }
            "item" | "head" | "as_bias" => {
                let value = self.value(&args[0])?;
                if matches!(value, Value::Absent) {
                    return Ok(Value::Absent);
                }
                let m = self.matrices(&value)?;
                let (batch, heads) = m.leads();
                match function {
                    "item" => {
                        let b = self.index(&args[1], batch)?;
                        let data: Vec<_> = (0..heads).flat_map(|h| m.at(b, h).to_vec()).collect();
                        BallMatrices { batch: None, data: data.into(), ..m }
                    }
                    "head" => {
                        let h = self.index(&args[1], heads)?;
                        let data: Vec<_> = (0..batch).flat_map(|b| m.at(b, h).to_vec()).collect();
                        BallMatrices { heads: None, data: data.into(), ..m }
                    }
                    // 0 where the mask shows a key, −∞ where it hides one.
                    _ => m.each(|x| {
                        Ball::exact(if x == Ball::exact(0.0) { f64::NEG_INFINITY } else { 0.0 })
                    }),
                }
            }
            "scale_rows" => {
                let (m, factors) = (self.matrix(&args[0])?, self.matrix(&args[1])?);
                let (m, factors) = self.align_leads(m, factors)?;
                scale_rows(&m, &factors)
            }
            "min" | "max" | "sum" => {
                let m = self.matrix(&args[0])?;
                let fold = match function {
                    "min" => Ball::min,
                    "max" => Ball::max,
                    _ => |x, y| x + y,
                };
                match named {
                    [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows" => {
                        m.over_rows(fold)
                    }
                    _ => m.over_cols(fold),
                }
            }
            "hcat" | "vcat" => {
                let (x, y) = (self.matrix(&args[0])?, self.matrix(&args[1])?);
                let (x, y) = self.align_leads(x, y)?;
                if function == "vcat" {
                    concat_rows(&x, &y)
                } else {
                    concat_rows(&x.transpose(), &y.transpose()).transpose()
                }
            }
            other => return Err(Undefined::Function { name: other.to_owned() }.into()),
        };
        Ok(Value::Matrices(m))
    }

    /// `where(C, X, Y)`: rows or entries of `X` where `C` is 1, of `Y` where it is 0.
    fn choose(&mut self, args: &[Expr]) -> Result<BallMatrices, Stop> {
        let (condition, yes, no) =
            (self.matrix(&args[0])?, self.matrix(&args[1])?, self.matrix(&args[2])?);
        let (yes, no) = self.align_leads(yes, no)?;
        let (condition, yes) = self.align_leads(condition, yes)?;
        let (batch, heads) = (
            condition.batch.or(yes.batch).or(no.batch),
            condition.heads.or(yes.heads).or(no.heads),
        );
        let mut data = Vec::new();
        for b in 0..batch.unwrap_or(1) {
            for h in 0..heads.unwrap_or(1) {
                let (c, y, n) = (condition.at(b, h), yes.at(b, h), no.at(b, h));
                let chosen = |at: usize| if condition.cols == 1 { c[at / yes.cols] } else { c[at] } != Ball::exact(0.0);
                data.extend(
                    (0..yes.rows * yes.cols).map(|at| if chosen(at) { y[at] } else { n[at] }),
                );
            }
        }
        Ok(BallMatrices { batch, heads, rows: yes.rows, cols: yes.cols, data: data.into() })
    }

    /// 1 for the keys that no query head of their group sees at row `i`. An empty row that means
    /// the mean sees all.
    fn hidden(&self, i: usize) -> BallMatrices {
        let d = self.case.dims;
        let (seen, maps) = (self.visible(), self.maps());
        let mut hidden = vec![true; d.b * d.h_k * d.n_k];
        for b in 0..d.b {
            for h in 0..d.h_q {
                let row = &seen[((b * d.h_q + h) * d.n_q + i) * d.n_k..][..d.n_k];
                let empty_row = self.judge.meaning.empty_row;
                let gives_values =
                    matches!(empty_row, qkvet_spec::EmptyRow::Mean | qkvet_spec::EmptyRow::First);
                let all_matter = gives_values && !row.contains(&true);
                let at = (b * d.h_k + maps.key_head(h)) * d.n_k;
                hidden[at..at + d.n_k]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(hidden, seen)| *hidden &= !seen && !all_matter);
            }
        }
        let data: Vec<_> =
            hidden.into_iter().map(|h| Ball::exact(f64::from(u8::from(h)))).collect();
        BallMatrices {
            batch: Some(d.b),
            heads: Some(d.h_k),
            rows: d.n_k,
            cols: 1,
            data: data.into(),
        }
    }

    fn attention(
        &mut self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
        whole: &Expr,
    ) -> Result<Value, Stop> {
        let label = self.text(whole);
        let query = self.matrix(&args[0])?;
        let key = self.matrix(&args[1])?;
        let dtype = self.case.dtype;
        let value = match args.get(2) {
            Some(value) => self.matrix(value)?,
            None => {
                let value =
                    self.value(&Expr { kind: ExprKind::Name("V".to_owned()), span: 0..0 })?;
                self.matrices(&value)?
            }
        };
        let batch = query.batch.or(key.batch).or(value.batch).unwrap_or(1);
        let h_q = query.heads.unwrap_or(1);
        let h_k = key.heads.or(value.heads).unwrap_or(h_q);
        let make =
            |m: &BallMatrices, heads: usize, what: &str| tensor(m, batch, heads, dtype, what);
        let want = match function {
            "weights" => ResultName::Weights,
            "lse" | "exact_lse" => ResultName::Lse,
            _ => ResultName::Output,
        };
        let mut call = Call {
            query: make(&query, h_q, "query")?,
            key: make(&key, h_k, "key")?,
            value: make(&value, h_k, "value")?,
            options: self.case.options.clone(),
            return_weights: want == ResultName::Weights,
            return_lse: want == ResultName::Lse,
        };
        for (name, expr) in named {
            if expr.is_off() {
                CallOption::ALL
                    .into_iter()
                    .filter(|option| option.name() == name)
                    .for_each(|off| call.options.clear(off));
                continue;
            }
            let value = self.value(expr)?;
            match name.as_str() {
                "scale" => call.options.scale = Some(self.exact_number("scale", &value)?),
                "softcap" => {
                    let cap = self.exact_number("softcap", &value)?;
                    if cap <= 0.0 {
                        return Err(Undefined::Softcap { cap }.into());
                    }
                    call.options.softcap = Some(cap);
                }
                "mask" => call.options.mask = self.mask_argument(&value, batch, h_q)?,
                _ => call.options.bias = self.bias_argument(&value, batch, h_q)?,
            }
        }
        self.fit_options(&call)?;
        let call = self.of_rows(call);
        if function.starts_with("exact") {
            Ok(Value::Matrices(self.exact(&call, want)))
        } else {
            self.ask(label, call, want)
        }
    }

    fn exact_number(&self, what: &str, value: &Value) -> Result<f64, Stop> {
        let number = self.number(value)?;
        if number.rad != 0.0 {
            return Err(Undefined::kind(what, "an exact number").into());
        }
        Ok(number.mid)
    }

    fn mask_argument(
        &self,
        value: &Value,
        batch: usize,
        heads: usize,
    ) -> Result<Option<BoolTensor>, Stop> {
        match value {
            Value::Absent => Ok(None),
            Value::CaseOption("mask", _) => Ok(self.case.options.mask.clone()),
            other => {
                let mut mask = bool_tensor(&self.matrices(other)?, batch, heads)?;
                mask.data.iter_mut().for_each(|m| *m = *m != self.mask_hides());
                Ok(Some(mask))
            }
        }
    }

    fn bias_argument(
        &self,
        value: &Value,
        batch: usize,
        heads: usize,
    ) -> Result<Option<Tensor>, Stop> {
        match value {
            Value::Absent => Ok(None),
            Value::CaseOption("bias", _) => Ok(self.case.options.bias.clone()),
            other => {
                let dtype = self.case.dtype;
                Ok(Some(tensor(&self.matrices(other)?, batch, heads, dtype, "bias")?))
            }
        }
    }

    /// An option of the case that a call takes over must fit the call's extents.
    fn fit_options(&self, call: &Call) -> Result<(), Undefined> {
        let (d, options) = (call.dims(), &call.options);
        let full = [d.b, d.h_q, d.n_q, d.n_k];
        let broadcasts = |shape: &[usize]| {
            shape.len() <= 4
                && shape.iter().zip(&full[4 - shape.len()..]).all(|(n, full)| *n == 1 || n == full)
        };
        let by_head =
            |tensor: &Option<Tensor>| tensor.as_ref().is_none_or(|tensor| tensor.shape == [d.h_q]);
        let by_item = |lengths: &Option<Vec<usize>>, n: usize| {
            lengths.as_ref().is_none_or(|lengths| {
                lengths.len() == d.b && lengths.iter().all(|length| *length <= n)
            })
        };
        let ends = |offsets: &[usize], n: usize| offsets.last() == Some(&n);
        let fits = |option: CallOption| match option {
            CallOption::Scale | CallOption::Causal | CallOption::Softcap | CallOption::Window => {
                true
            }
            CallOption::Mask => options.mask.as_ref().is_none_or(|mask| broadcasts(&mask.shape)),
            CallOption::Bias => options.bias.as_ref().is_none_or(|bias| broadcasts(&bias.shape)),
            CallOption::Sinks => by_head(&options.sinks),
            CallOption::AlibiSlopes => by_head(&options.alibi_slopes),
            CallOption::KeyLengths => by_item(&options.key_lengths, d.n_k),
            CallOption::QueryLengths => by_item(&options.query_lengths, d.n_q),
            CallOption::Packed => options.packed.as_ref().is_none_or(|packed| {
                ends(&packed.query_offsets, d.n_q) && ends(&packed.key_offsets, d.n_k)
            }),
        };
        match CallOption::ALL.into_iter().find(|option| !fits(*option)) {
            None => Ok(()),
            Some(option @ (CallOption::Mask | CallOption::Bias)) => {
                Err(Undefined::Broadcast { option, full })
            }
            Some(option) => Err(Undefined::Option { option, dims: d }),
        }
    }
}

fn stack_heads(parts: &[BallMatrices]) -> BallMatrices {
    let first = &parts[0];
    let data: Vec<_> = (0..first.batch.unwrap_or(1))
        .flat_map(|b| parts.iter().flat_map(move |part| part.at(b, 0).to_vec()))
        .collect();
    BallMatrices {
        batch: first.batch,
        heads: Some(parts.len()),
        rows: first.rows,
        cols: first.cols,
        data: data.into(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "head counts are small")]
fn mean_heads(m: &BallMatrices) -> BallMatrices {
    let heads = m.heads.unwrap_or(1);
    let count = Ball::exact(heads as f64);
    let mut data = Vec::new();
    for b in 0..m.batch.unwrap_or(1) {
        let mut sum = m.at(b, 0).to_vec();
        for h in 1..heads {
            sum.iter_mut().zip(m.at(b, h)).for_each(|(sum, x)| *sum = *sum + *x);
        }
        data.extend(sum.into_iter().map(|sum| sum / count));
    }
    BallMatrices { batch: m.batch, heads: None, rows: m.rows, cols: m.cols, data: data.into() }
}

/// `diag(c) · X`; leads must already agree or be absent.
fn scale_rows(m: &BallMatrices, factors: &BallMatrices) -> BallMatrices {
    let ones = BallMatrices::plain(1, m.cols, |_, _| 1.0);
    m.zip(&factors.matmul(&ones), |x, factor| x * factor)
}

fn concat_rows(x: &BallMatrices, y: &BallMatrices) -> BallMatrices {
    let (batch, heads) = (x.batch.or(y.batch), x.heads.or(y.heads));
    let mut data = Vec::new();
    for b in 0..batch.unwrap_or(1) {
        for h in 0..heads.unwrap_or(1) {
            data.extend_from_slice(x.at(b, h));
            data.extend_from_slice(y.at(b, h));
        }
    }
    BallMatrices { batch, heads, rows: x.rows + y.rows, cols: x.cols, data: data.into() }
}
