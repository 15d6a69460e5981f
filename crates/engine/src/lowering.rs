//! From a [`Call`] under a [`Meaning`] to the problems of its single heads: every named choice becomes numbers.

mod sight;

use std::borrow::Cow;

use qkvet_spec::{
    Call, CallOptions, DefaultScale, Dims, Dtype, EmptyRow, ExplicitScale, IndexEnv, IndexExpr, Meaning, Normalization,
    Obedience, Output, Stage, Tensor, ValueReading,
};

use self::sight::{Rules, Sight};
use crate::head::{Alibi, Head, RealScale, Visible};

/// What is asked of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The output of attention, `(b, h_q, n_q, d_v)`.
    Output,
    /// The weights themselves, `(b, h_q, n_q, n_k)`: the identity stands for the values.
    Weights,
    /// The log-sum-exp of each query, `(b, h_q, n_q)`.
    Lse,
}

impl Want {
    /// The name of the result on the wire and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Weights => "weights",
            Self::Lse => "lse",
        }
    }

    /// This result among those that a target gave; `None` if it is not there.
    pub fn of(self, output: &Output) -> Option<&Tensor> {
        match self {
            Self::Output => Some(&output.output),
            Self::Weights => output.weights.as_ref(),
            Self::Lse => output.lse.as_ref(),
        }
    }
}

/// Numbers of a result for each query, before the meaning has its say.
pub(crate) fn width_of(want: Want, dims: Dims) -> usize {
    match want {
        Want::Output => dims.d_v,
        Want::Weights => dims.n_k,
        Want::Lse => 1,
    }
}

/// The problem of one query head; it borrows what need not be changed.
#[derive(Clone, Debug)]
pub(crate) struct LoweredHead<'a> {
    n_q: usize,
    n_k: usize,
    d_k: usize,
    d_v: usize,
    query: Cow<'a, [f64]>,
    key: Cow<'a, [f64]>,
    value: Cow<'a, [f64]>,
    stages: &'a [Stage],
    scale: RealScale,
    softcap: Option<f64>,
    bias: Option<Cow<'a, [f64]>>,
    alibi: Option<Alibi>,
    alibi_shifts: Option<Vec<i64>>,
    sink: Option<f64>,
    sight: Sight,
    normalization: Normalization,
    empty_row: EmptyRow,
}

impl LoweredHead<'_> {
    /// The problem as the enclosure takes it.
    pub(crate) fn head(&self) -> Head<'_> {
        Head {
            n_q: self.n_q,
            n_k: self.n_k,
            d_k: self.d_k,
            d_v: self.d_v,
            query: &self.query,
            key: &self.key,
            value: &self.value,
            stages: self.stages,
            scale: self.scale,
            softcap: self.softcap,
            bias: self.bias.as_deref(),
            alibi: self.alibi,
            alibi_shifts: self.alibi_shifts.as_deref(),
            sink: self.sink,
            visible: match &self.sight {
                Sight::All => Visible::All,
                Sight::Spans(spans) => Visible::Spans(spans),
                Sight::Mask(mask) => Visible::Mask(mask),
            },
            normalization: self.normalization,
            empty_row: self.empty_row,
            inexact: None,
        }
    }
}

impl Sight {
    /// Whether query `i` sees key `j` of `n_k`.
    fn sees(&self, i: usize, j: usize, n_k: usize) -> bool {
        match self {
            Self::All => true,
            Self::Spans(spans) => spans[i].contains(j),
            Self::Mask(mask) => mask[i * n_k + j],
        }
    }
}

/// Evaluates index maps of a meaning for one call; a value outside `0..limit` is clamped into it.
pub(crate) struct Maps<'a> {
    meaning: &'a Meaning,
    env: IndexEnv,
}

impl<'a> Maps<'a> {
    pub(crate) fn new(meaning: &'a Meaning, call: &Call) -> Self {
        Self::of(meaning, call.dims(), call.dtype(), &call.options)
    }

    pub(crate) fn of(meaning: &'a Meaning, dims: Dims, dtype: Dtype, options: &CallOptions) -> Self {
        Self { meaning, env: index_env(dims, dtype, options) }
    }

    fn value(&self, map: &IndexExpr, env: IndexEnv, limit: usize) -> usize {
        let value = map.eval(&env).and_then(|value| usize::try_from(value.max(0)).ok()).unwrap_or(0);
        value.min(limit.saturating_sub(1))
    }

    fn count(&self, map: &IndexExpr) -> usize {
        map.eval(&self.env).and_then(|value| usize::try_from(value.max(0)).ok()).unwrap_or(0)
    }

    /// Key/value head that query head `h` reads.
    pub(crate) fn key_head(&self, h: usize) -> usize {
        self.value(&self.meaning.head_map, IndexEnv { h: signed(h), ..self.env }, self.env.dims.h_k)
    }

    /// Columns of the output.
    pub(crate) fn output_width(&self) -> usize {
        self.count(&self.meaning.output_width)
    }
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The names of an index expression for a call.
pub fn index_env(dims: Dims, dtype: Dtype, options: &CallOptions) -> IndexEnv {
    IndexEnv { dims, h: 0, i: 0, j: 0, item: 0, options: options.on(), dtype }
}

/// The factor on the scores, as a real number.
fn scale(meaning: &Meaning, call: &Call) -> RealScale {
    let dims = call.dims();
    let (explicit, default) = scale_factors(meaning, call);
    let radicand = match default {
        Some(DefaultScale::InverseSqrtDk) => dims.d_k as u128,
        Some(DefaultScale::InverseSqrtDv) => dims.d_v as u128,
        Some(DefaultScale::InverseDk) => (dims.d_k as u128) * (dims.d_k as u128),
        Some(DefaultScale::One) | None => 1,
    };
    RealScale::over_root(explicit.unwrap_or(1.0), radicand)
}

/// The factors on the scores: the explicit one, the default one.
fn scale_factors(meaning: &Meaning, call: &Call) -> (Option<f64>, Option<DefaultScale>) {
    match (call.options.scale, meaning.explicit_scale) {
        (None, _) | (Some(_), ExplicitScale::Ignored) => (None, Some(meaning.default_scale)),
        (Some(scale), ExplicitScale::Used) => (Some(scale), None),
        (Some(scale), ExplicitScale::TimesDefault) => (Some(scale), Some(meaning.default_scale)),
    }
}

/// Offset into a tensor that broadcasts to `(b, h_q, n_q, n_k)`: 2 or 4 axes, each of extent 1 or full.
pub(crate) fn broadcast_at(shape: &[usize], index: [usize; 4]) -> usize {
    shape
        .iter()
        .zip(&index[4 - shape.len()..])
        .fold(0, |at, (extent, i)| at * extent + if *extent == 1 { 0 } else { *i })
}

/// Biases of a row for its `n_k` keys.
pub(crate) fn bias_row(bias: &Tensor, n_k: usize, [item, h, i]: [usize; 3]) -> impl Iterator<Item = f64> {
    (0..n_k).map(move |j| bias.data[broadcast_at(&bias.shape, [item, h, i, j])])
}

fn rows(tensor: &Tensor, item: usize, head: usize) -> &[f64] {
    let size = tensor.shape[2] * tensor.shape[3];
    let at = (item * tensor.shape[1] + head) * size;
    &tensor.data[at..at + size]
}

/// The problem of query head `h` of batch item `item`.
pub(crate) fn lower<'a>(meaning: &'a Meaning, call: &'a Call, item: usize, h: usize, want: Want) -> LoweredHead<'a> {
    let (dims, options) = (call.dims(), &call.options);
    let maps = Maps::new(meaning, call);
    let here = IndexEnv { h: signed(h), item: signed(item), ..maps.env };
    let key_head = maps.key_head(h);
    let key_item = maps.value(&meaning.key_item, here, dims.b);
    let query_head = maps.value(&meaning.query_head, here, dims.h_q);
    let zero_keys = maps.count(&meaning.zero_keys);
    let n_k = dims.n_k + zero_keys;
    let rules = Rules::new(meaning, options, dims, item, maps.count(&meaning.keys).min(dims.n_k));

    let query_index = |i: usize| maps.value(&meaning.query_index, IndexEnv { i: signed(i), ..here }, dims.n_q);
    let value_index = |j: usize| maps.value(&meaning.value_index, IndexEnv { j: signed(j), ..here }, dims.n_k);
    let query = gathered(rows(&call.query, item, query_head), dims.d_k, dims.n_q, query_index);
    let key = extended(Cow::Borrowed(rows(&call.key, key_item, key_head)), n_k * dims.d_k);
    let (d_v, mut value) = match want {
        Want::Weights => {
            let mut eye = vec![0.0; n_k * dims.n_k];
            (0..dims.n_k).for_each(|j| eye[j * dims.n_k + j] = 1.0);
            (dims.n_k, Cow::Owned(eye))
        }
        Want::Output => {
            let all = gathered(rows(&call.value, key_item, key_head), dims.d_v, dims.n_k, value_index);
            (dims.d_v, extended(all, n_k * dims.d_v))
        }
        Want::Lse => (0, Cow::Owned(Vec::new())),
    };
    if meaning.values == ValueReading::NonNegative {
        value.to_mut().iter_mut().for_each(|v| *v = v.max(0.0));
    }
    let bias = options.bias.as_ref().map(|bias| {
        let mut entries = Vec::with_capacity(dims.n_q * n_k);
        for i in 0..dims.n_q {
            entries.extend(bias_row(bias, dims.n_k, [item, h, i]));
            entries.resize((i + 1) * n_k, 0.0);
        }
        Cow::Owned(entries)
    });
    let of_head = |tensor: &Option<Tensor>, obedience| match (tensor, obedience) {
        (Some(tensor), Obedience::Used) => Some(tensor.data[h]),
        _ => None,
    };
    let slope = of_head(&options.alibi_slopes, meaning.alibi);
    let alibi = slope.map(|slope| Alibi { slope, offset: rules.alibi_offset() });
    LoweredHead {
        n_q: dims.n_q,
        n_k,
        d_k: dims.d_k,
        d_v,
        query,
        key,
        value,
        stages: &meaning.stages,
        scale: scale(meaning, call),
        softcap: options.softcap,
        bias,
        alibi_shifts: alibi.and_then(|alibi| rules.alibi_shifts(alibi.offset)),
        alibi,
        sink: of_head(&options.sinks, meaning.sinks),
        sight: rules.sight(h, zero_keys),
        normalization: meaning.normalization,
        empty_row: meaning.empty_row,
    }
}

/// Row `index(i)` for each of `count` rows; borrowed where that changes nothing.
fn gathered(all: &[f64], width: usize, count: usize, index: impl Fn(usize) -> usize) -> Cow<'_, [f64]> {
    if (0..count).all(|i| index(i) == i) {
        return Cow::Borrowed(all);
    }
    Cow::Owned((0..count).flat_map(|i| &all[index(i) * width..(index(i) + 1) * width]).copied().collect())
}

/// The numbers with zeros behind them, up to `len`.
fn extended(mut all: Cow<'_, [f64]>, len: usize) -> Cow<'_, [f64]> {
    if all.len() < len {
        all.to_mut().resize(len, 0.0);
    }
    all
}

/// The slope of each query head and, for each query of each batch item, the key that it stands at: ALiBi adds
/// `−slope · |position − j|`. `None` where the case or `meaning` has none.
pub(crate) fn alibi_of<'a>(
    meaning: &Meaning,
    dims: Dims,
    options: &'a CallOptions,
) -> Option<(&'a [f64], Vec<Vec<i64>>)> {
    let slopes = options.alibi_slopes.as_ref().filter(|_| meaning.alibi == Obedience::Used)?;
    let positions = |item| {
        let rules = Rules::new(meaning, options, dims, item, dims.n_k);
        (0..dims.n_q).map(|i| rules.alibi_position(i)).collect()
    };
    Some((&slopes.data, (0..dims.b).map(positions).collect()))
}

/// Which keys each query sees under `meaning`: `(b, h_q, n_q, n_k)`, row-major, keys of the call only.
pub fn visibility(meaning: &Meaning, dims: Dims, dtype: Dtype, options: &CallOptions) -> Vec<bool> {
    let maps = Maps::of(meaning, dims, dtype, options);
    let keys = maps.count(&meaning.keys).min(dims.n_k);
    let mut seen = Vec::with_capacity(dims.b * dims.h_q * dims.n_q * dims.n_k);
    for item in 0..dims.b {
        let rules = Rules::new(meaning, options, dims, item, keys);
        for h in 0..dims.h_q {
            let sight = rules.sight(h, 0);
            seen.extend((0..dims.n_q * dims.n_k).map(|at| sight.sees(at / dims.n_k, at % dims.n_k, dims.n_k)));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use qkvet_spec::Causal;

    use super::*;

    fn call(n_q: usize, n_k: usize) -> Call {
        let zeros =
            |n: usize| Tensor { dtype: qkvet_spec::Dtype::Float64, shape: vec![1, 1, n, 1], data: vec![0.0; n] };
        Call {
            query: zeros(n_q),
            key: zeros(n_k),
            value: zeros(n_k),
            return_weights: false,
            return_lse: false,
            options: CallOptions { causal: true, ..CallOptions::default() },
        }
    }

    fn seen(meaning: &Meaning, n_q: usize, n_k: usize) -> Vec<usize> {
        let call = call(n_q, n_k);
        let seen = visibility(meaning, call.dims(), call.dtype(), &call.options);
        seen.chunks(n_k).map(|row| row.iter().filter(|sees| **sees).count()).collect()
    }

    #[test]
    fn the_causal_diagonal_ends_in_its_corner() {
        let standard = Meaning::standard();
        assert_eq!(seen(&standard, 2, 5), [4, 5]);
        assert_eq!(seen(&standard, 4, 2), [0, 0, 1, 2]);
        let upper_left = Meaning { causal: Causal::UpperLeft, ..Meaning::standard() };
        assert_eq!(seen(&upper_left, 2, 5), [1, 2]);
        assert_eq!(seen(&upper_left, 4, 2), [1, 2, 2, 2]);
        let one_more = Meaning { causal_offset: 1, ..Meaning::standard() };
        assert_eq!(seen(&one_more, 2, 5), [5, 5]);
    }

    #[test]
    fn an_irrational_scale_carries_its_error() {
        let of = |d_k: usize| {
            let call = Call {
                query: Tensor { dtype: qkvet_spec::Dtype::Float64, shape: vec![1, 1, 1, d_k], data: vec![0.0; d_k] },
                ..call(1, 1)
            };
            scale(&Meaning::standard(), &call)
        };
        // 1/sqrt(2) is not a binary64 number, so half a spacing of it is the least honest error.
        assert!(of(2).rel_error >= f64::EPSILON / 2.0 && of(40).rel_error > 0.0);
        assert_eq!((of(16).value, of(16).rel_error), (0.25, 0.0));
    }

    #[test]
    fn broadcast_axes_stand_still() {
        assert_eq!(broadcast_at(&[2, 1, 1, 3], [1, 4, 2, 2]), 5);
        assert_eq!(broadcast_at(&[4, 3], [7, 7, 2, 1]), 7);
    }
}
