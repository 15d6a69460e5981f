//! Values of the language, what they can be read as, and how two of them are brought to the same
//! extents.

use qkvet_spec::syntax::Expr;

use super::call::{malformed, target_balls};
use super::evaluate::{Evaluator, Stop};
use super::matrices::BallMatrices;
use super::relation::Decision;
use super::undefined::Undefined;
use crate::ball::Ball;
use crate::lowering::{Maps, alibi_of, visibility};

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

impl Evaluator<'_> {
    /// Whether the declared meaning hides where the mask is true. In the language 1 always attends.
    pub(super) fn mask_hides(&self) -> bool {
        self.judge.meaning.mask == qkvet_spec::Mask::TrueHides
    }

    /// The case's mask or bias as a full matrix, remembered to be the case's own.
    pub(super) fn case_option(&self, name: &'static str) -> Result<Value, Stop> {
        let dims = self.case.dims;
        let full = [dims.b, dims.h_q, dims.n_q, dims.n_k];
        let (shape, data): (&[usize], Vec<f64>) = match name {
            "mask" => match &self.case.options.mask {
                Some(mask) => {
                    let shown = |m: &bool| f64::from(u8::from(*m != self.mask_hides()));
                    (&mask.shape, mask.data.iter().map(shown).collect())
                }
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
        let data: Vec<_> = (0..full.iter().product()).map(entry).collect();
        let matrices = BallMatrices {
            batch: Some(full[0]),
            heads: Some(full[1]),
            rows: full[2],
            cols: full[3],
            data: data.into(),
        };
        Ok(Value::CaseOption(name, matrices))
    }

    /// Which keys each query of the case sees: `(b, h_q, n_q, n_k)`.
    pub(super) fn visible(&self) -> Vec<bool> {
        visibility(self.judge.meaning, self.case.dims, self.case.dtype, &self.case.options)
    }

    /// 1 where a query of the case sees a key: `(b, h_q, n_q, n_k)`.
    pub(super) fn visible_matrix(&self) -> BallMatrices {
        let d = self.case.dims;
        let data: Vec<_> =
            self.visible().into_iter().map(|sees| Ball::exact(f64::from(u8::from(sees)))).collect();
        BallMatrices {
            batch: Some(d.b),
            heads: Some(d.h_q),
            rows: d.n_q,
            cols: d.n_k,
            data: data.into(),
        }
    }

    /// What ALiBi adds to the logits of the case: `(b, h_q, n_q, n_k)`, 0 where it has none.
    #[expect(clippy::cast_precision_loss, reason = "positions are far below 2^53")]
    pub(super) fn alibi(&self) -> BallMatrices {
        let d = self.case.dims;
        let of_case = alibi_of(self.judge.meaning, d, &self.case.options);
        let mut data = Vec::with_capacity(d.b * d.h_q * d.n_q * d.n_k);
        for (b, h) in (0..d.b).flat_map(|b| (0..d.h_q).map(move |h| (b, h))) {
            for (i, j) in (0..d.n_q).flat_map(|i| (0..d.n_k).map(move |j| (i, j))) {
                data.push(of_case.as_ref().map_or(Ball::exact(0.0), |(slopes, positions)| {
                    let distance = positions[b][i] as f64 - j as f64;
                    -(Ball::exact(slopes[h]) * Ball::exact(distance.abs()))
                }));
            }
        }
        BallMatrices {
            batch: Some(d.b),
            heads: Some(d.h_q),
            rows: d.n_q,
            cols: d.n_k,
            data: data.into(),
        }
    }

    /// The logit of each query head's sink: `(h_q, 1, 1)`, −∞ where the case has none.
    pub(super) fn sinks(&self) -> BallMatrices {
        let h_q = self.case.dims.h_q;
        let used = self.judge.meaning.sinks == qkvet_spec::Sinks::Used;
        let sinks = self.case.options.sinks.as_ref().filter(|_| used);
        let data: Vec<_> = (0..h_q)
            .map(|h| Ball::exact(sinks.map_or(f64::NEG_INFINITY, |sinks| sinks.data[h])))
            .collect();
        BallMatrices { batch: None, heads: Some(h_q), rows: 1, cols: 1, data: data.into() }
    }

    /// The index maps of the meaning for the case.
    pub(super) fn maps(&self) -> Maps<'_> {
        Maps::of(self.judge.meaning, self.case.dims, self.case.dtype, &self.case.options)
    }

    /// What a row of ones comes back as: 1 where the query sees a key, else what the meaning says
    /// of empty rows.
    pub(super) fn attended(&self) -> BallMatrices {
        let d = self.case.dims;
        let seen = self.visible();
        let empty = match self.judge.meaning.empty_row {
            qkvet_spec::EmptyRow::Zero => 0.0,
            qkvet_spec::EmptyRow::Nan => f64::NAN,
            qkvet_spec::EmptyRow::Mean | qkvet_spec::EmptyRow::First => 1.0,
        };
        let entry = |row: usize| {
            Ball::exact(if seen[row * d.n_k..(row + 1) * d.n_k].contains(&true) {
                1.0
            } else {
                empty
            })
        };
        let data: Vec<_> = (0..d.b * d.h_q * d.n_q).map(entry).collect();
        BallMatrices {
            batch: Some(d.b),
            heads: Some(d.h_q),
            rows: d.n_q,
            cols: 1,
            data: data.into(),
        }
    }

    /// A number.
    #[expect(clippy::cast_precision_loss, reason = "extents are far below 2^53")]
    pub(super) fn number(&self, value: &Value) -> Result<Ball, Stop> {
        match value {
            Value::Number(x) => Ok(*x),
            Value::Integer(n) => Ok(Ball::exact(*n as f64)),
            _ => Err(Undefined::kind("expression", "a number").into()),
        }
    }

    /// An extent.
    pub(super) fn integer(&mut self, expr: &Expr) -> Result<i64, Stop> {
        match self.value(expr)? {
            Value::Integer(n) => Ok(n),
            _ => Err(Undefined::kind(format!("`{}`", self.text(expr)), "a whole number").into()),
        }
    }

    /// Matrices; a result of the target is checked for its form here, a number becomes a 1 × 1
    /// matrix.
    pub(super) fn matrices(&self, value: &Value) -> Result<BallMatrices, Stop> {
        match value {
            Value::Matrices(m) | Value::CaseOption(_, m) => Ok(m.clone()),
            Value::Number(_) | Value::Integer(_) => {
                let x = self.number(value)?;
                Ok(BallMatrices {
                    batch: None,
                    heads: None,
                    rows: 1,
                    cols: 1,
                    data: vec![x].into(),
                })
            }
            Value::Returned(at) => {
                let (record, expected) = (&self.session.records[*at], &self.session.expected[*at]);
                match (malformed(record.asked(), expected), record.asked().tensor()) {
                    (None, Some(tensor)) => Ok(target_balls(tensor, expected)),
                    (Some(evidence), _) => Err(Stop::Target(Box::new(Decision::fail(evidence)))),
                    (None, None) => Err(Undefined::kind("result", "one that was asked for").into()),
                }
            }
            _ => Err(Undefined::kind("expression", "a matrix").into()),
        }
    }

    /// The shape that the target claims for a result, or the shape of a matrix.
    pub(super) fn shape(&self, value: &Value) -> Result<Vec<i64>, Stop> {
        let signed = |n: &usize| i64::try_from(*n).unwrap_or(i64::MAX);
        if let Value::Returned(at) = value
            && let Some(tensor) = self.session.records[*at].asked().tensor()
        {
            return Ok(tensor.shape.iter().map(signed).collect());
        }
        let m = self.matrices(value)?;
        let (batch, heads) = m.leads();
        Ok([batch, heads, m.rows, m.cols].iter().map(signed).collect())
    }

    /// Both operands with the same leads and extents; a 1 × 1 matrix meets any other.
    pub(super) fn align(
        &self,
        x: BallMatrices,
        y: BallMatrices,
    ) -> Result<(BallMatrices, BallMatrices), Stop> {
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
            (left, right) => Err(Undefined::Sides { left, right }.into()),
        }
    }

    /// Both operands with the same leads: key/value heads are read once for every query head.
    pub(super) fn align_leads(
        &self,
        x: BallMatrices,
        y: BallMatrices,
    ) -> Result<(BallMatrices, BallMatrices), Stop> {
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
                return Err(Undefined::Leads { axis: "heads", left, right }.into());
            }
        }
        match (x.batch, y.batch) {
            (Some(left), Some(right)) if left != right => {
                Err(Undefined::Leads { axis: "batch", left, right }.into())
            }
            _ => Ok((x, y)),
        }
    }

    /// One matrix for every query head, by the declared head map.
    pub(super) fn repeat_heads(&self, m: &BallMatrices) -> BallMatrices {
        let maps = self.maps();
        let mut data = Vec::new();
        for b in 0..m.batch.unwrap_or(1) {
            for h in 0..self.case.dims.h_q {
                data.extend_from_slice(m.at(b, maps.key_head(h)));
            }
        }
        BallMatrices {
            batch: m.batch,
            heads: Some(self.case.dims.h_q),
            rows: m.rows,
            cols: m.cols,
            data: data.into(),
        }
    }
}
