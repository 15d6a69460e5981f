//! From a [`Call`] under a [`Meaning`] to the problems of its single heads: every named choice becomes numbers.

use qkvet_spec::{
    BoolTensor, Call, Causal, DefaultScale, Dims, EmptyRow, ExplicitScale, IndexEnv, IndexExpr, Mask, Meaning,
    Normalization, Stage, Tensor, ValueReading,
};

use crate::head::{Bias, Head, RealScale, Visible};

/// What meets the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The values: the output of attention.
    Output,
    /// The identity: the weights themselves.
    Weights,
}

/// Keys that each query sees.
#[derive(Clone, Debug)]
enum Sight {
    All,
    Prefix(Vec<usize>),
    Mask(Vec<bool>),
}

/// The owned problem of one query head.
#[derive(Clone, Debug)]
pub(crate) struct LoweredHead {
    n_q: usize,
    n_k: usize,
    d_k: usize,
    d_v: usize,
    query: Vec<f64>,
    key: Vec<f64>,
    value: Vec<f64>,
    scale: RealScale,
    bias: Option<(Vec<f64>, f64)>,
    sight: Sight,
    normalization: Normalization,
    empty_row: EmptyRow,
}

impl LoweredHead {
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
            scale: self.scale,
            bias: self.bias.as_ref().map(|(values, rel_error)| Bias { values, rel_error: *rel_error }),
            visible: match &self.sight {
                Sight::All => Visible::All,
                Sight::Prefix(prefix) => Visible::Prefix(prefix),
                Sight::Mask(mask) => Visible::Mask(mask),
            },
            normalization: self.normalization,
            empty_row: self.empty_row,
        }
    }

    /// Whether query `i` sees key `j`.
    pub(crate) fn sees(&self, i: usize, j: usize) -> bool {
        match &self.sight {
            Sight::All => true,
            Sight::Prefix(prefix) => j < prefix[i],
            Sight::Mask(mask) => mask[i * self.n_k + j],
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
        Self { meaning, env: index_env(call) }
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

/// The names of an index expression for this call.
pub fn index_env(call: &Call) -> IndexEnv {
    IndexEnv {
        dims: call.dims(),
        h: 0,
        i: 0,
        j: 0,
        item: 0,
        causal: call.causal,
        mask: call.mask.is_some(),
        bias: call.bias.is_some(),
        scale: call.scale.is_some(),
        dtype: call.dtype(),
    }
}

/// The factor on the scores, as a real number.
fn scale(meaning: &Meaning, call: &Call) -> RealScale {
    let dims = call.dims();
    let default = match meaning.default_scale {
        DefaultScale::InverseSqrtDk => RealScale::inverse_sqrt(dims.d_k),
        DefaultScale::InverseSqrtDv => RealScale::inverse_sqrt(dims.d_v),
        DefaultScale::InverseDk if dims.d_k > 0 => RealScale { value: 1.0 / dims.d_k as f64, rel_error: f64::EPSILON },
        DefaultScale::InverseDk | DefaultScale::One => RealScale::exact(1.0),
    };
    match scale_factors(meaning, call) {
        (None, _) => default,
        (Some(scale), None) => RealScale::exact(scale),
        (Some(scale), Some(_)) => {
            RealScale { value: scale * default.value, rel_error: default.rel_error + 2.0 * f64::EPSILON }
        }
    }
}

/// The factors on the scores: the explicit one, the default one.
fn scale_factors(meaning: &Meaning, call: &Call) -> (Option<f64>, Option<DefaultScale>) {
    match (call.scale, meaning.explicit_scale) {
        (None, _) | (Some(_), ExplicitScale::Ignored) => (None, Some(meaning.default_scale)),
        (Some(scale), ExplicitScale::Used) => (Some(scale), None),
        (Some(scale), ExplicitScale::TimesDefault) => (Some(scale), Some(meaning.default_scale)),
    }
}

/// The factor on the scores as an algebraic number, `factor / √radicand`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExactScale {
    pub(crate) factor: f64,
    /// At least 1.
    pub(crate) radicand: u128,
}

impl ExactScale {
    pub(crate) fn new(meaning: &Meaning, call: &Call) -> Self {
        let dims = call.dims();
        let (explicit, default) = scale_factors(meaning, call);
        let radicand = match default {
            Some(DefaultScale::InverseSqrtDk) => dims.d_k as u128,
            Some(DefaultScale::InverseSqrtDv) => dims.d_v as u128,
            Some(DefaultScale::InverseDk) => (dims.d_k as u128) * (dims.d_k as u128),
            Some(DefaultScale::One) | None => 1,
        };
        Self { factor: explicit.unwrap_or(1.0), radicand: radicand.max(1) }
    }
}

/// Whether the scale multiplies the bias too.
pub(crate) fn bias_is_scaled(meaning: &Meaning) -> bool {
    meaning.stages.first() == Some(&Stage::Bias)
}

/// Offset into a tensor that broadcasts to `(b, h_q, n_q, n_k)`: 2 or 4 axes, each of extent 1 or full.
pub(crate) fn broadcast_at(shape: &[usize], index: [usize; 4]) -> usize {
    shape
        .iter()
        .zip(&index[4 - shape.len()..])
        .fold(0, |at, (extent, i)| at * extent + if *extent == 1 { 0 } else { *i })
}

fn mask_at(mask: &BoolTensor, index: [usize; 4]) -> bool {
    mask.data[broadcast_at(&mask.shape, index)]
}

/// Biases of a row for its `n_k` keys.
pub(crate) fn bias_row(bias: &Tensor, n_k: usize, [item, h, i]: [usize; 3]) -> impl Iterator<Item = f64> {
    (0..n_k).map(move |j| bias.data[broadcast_at(&bias.shape, [item, h, i, j])])
}

/// How many keys the causal rule shows to query `i`.
fn causal_prefix(meaning: &Meaning, dims: Dims, i: usize) -> usize {
    let limit = match meaning.causal {
        Causal::Ignored => return dims.n_k,
        Causal::LowerRight => signed(i) + 1 + signed(dims.n_k) - signed(dims.n_q),
        Causal::UpperLeft => signed(i) + 1,
    };
    usize::try_from((limit + meaning.causal_offset).max(0)).unwrap_or(0).min(dims.n_k)
}

fn sight(meaning: &Meaning, call: &Call, item: usize, h: usize, keys: usize, zero_keys: usize) -> Sight {
    let dims = call.dims();
    let mask = call.mask.as_ref().filter(|_| meaning.mask != Mask::Ignored);
    let causal = call.causal && meaning.causal != Causal::Ignored;
    if mask.is_none() && zero_keys == 0 {
        if !causal && keys == dims.n_k {
            return Sight::All;
        }
        let prefix = |i| if causal { causal_prefix(meaning, dims, i).min(keys) } else { keys };
        return Sight::Prefix((0..dims.n_q).map(prefix).collect());
    }
    let attends = meaning.mask == Mask::TrueAttends;
    let mut seen = Vec::with_capacity(dims.n_q * (dims.n_k + zero_keys));
    for i in 0..dims.n_q {
        let prefix = if causal { causal_prefix(meaning, dims, i).min(keys) } else { keys };
        seen.extend(
            (0..dims.n_k).map(|j| j < prefix && mask.is_none_or(|mask| mask_at(mask, [item, h, i, j]) == attends)),
        );
        seen.extend(std::iter::repeat_n(true, zero_keys));
    }
    Sight::Mask(seen)
}

fn rows(tensor: &Tensor, item: usize, head: usize) -> &[f64] {
    let size = tensor.shape[2] * tensor.shape[3];
    let at = (item * tensor.shape[1] + head) * size;
    &tensor.data[at..at + size]
}

/// The problem of query head `h` of batch item `item`.
pub(crate) fn lower(meaning: &Meaning, call: &Call, item: usize, h: usize, want: Want) -> LoweredHead {
    let dims = call.dims();
    let maps = Maps::new(meaning, call);
    let here = IndexEnv { h: signed(h), item: signed(item), ..maps.env };
    let key_head = maps.key_head(h);
    let key_item = maps.value(&meaning.key_item, here, dims.b);
    let query_head = maps.value(&meaning.query_head, here, dims.h_q);
    let keys = maps.count(&meaning.keys).min(dims.n_k);
    let zero_keys = maps.count(&meaning.zero_keys);
    let n_k = dims.n_k + zero_keys;

    let all_queries = rows(&call.query, item, query_head);
    let mut query = Vec::with_capacity(dims.n_q * dims.d_k);
    for i in 0..dims.n_q {
        let from = maps.value(&meaning.query_index, IndexEnv { i: signed(i), ..here }, dims.n_q);
        query.extend_from_slice(&all_queries[from * dims.d_k..(from + 1) * dims.d_k]);
    }
    let mut key = rows(&call.key, key_item, key_head).to_vec();
    key.resize(n_k * dims.d_k, 0.0);
    let (d_v, mut value) = match want {
        Want::Weights => {
            let mut eye = vec![0.0; n_k * dims.n_k];
            (0..dims.n_k).for_each(|j| eye[j * dims.n_k + j] = 1.0);
            (dims.n_k, eye)
        }
        Want::Output => {
            let all = rows(&call.value, key_item, key_head);
            let mut value = Vec::with_capacity(n_k * dims.d_v);
            for j in 0..dims.n_k {
                let from = maps.value(&meaning.value_index, IndexEnv { j: signed(j), ..here }, dims.n_k);
                value.extend_from_slice(&all[from * dims.d_v..(from + 1) * dims.d_v]);
            }
            value.resize(n_k * dims.d_v, 0.0);
            (dims.d_v, value)
        }
    };
    if meaning.values == ValueReading::NonNegative {
        value.iter_mut().for_each(|v| *v = v.max(0.0));
    }
    let scale = scale(meaning, call);
    let bias = call.bias.as_ref().map(|bias| {
        let scaled = bias_is_scaled(meaning);
        let factor = if scaled { scale.value } else { 1.0 };
        let mut entries = Vec::with_capacity(dims.n_q * n_k);
        for i in 0..dims.n_q {
            entries.extend(bias_row(bias, dims.n_k, [item, h, i]).map(|entry| factor * entry));
            entries.resize((i + 1) * n_k, 0.0);
        }
        (entries, if scaled { scale.rel_error + 2.0 * f64::EPSILON } else { 0.0 })
    });
    LoweredHead {
        n_q: dims.n_q,
        n_k,
        d_k: dims.d_k,
        d_v,
        query,
        key,
        value,
        scale,
        bias,
        sight: sight(meaning, call, item, h, keys, zero_keys),
        normalization: meaning.normalization,
        empty_row: meaning.empty_row,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(n_q: usize, n_k: usize) -> Call {
        let zeros =
            |n: usize| Tensor { dtype: qkvet_spec::Dtype::Float64, shape: vec![1, 1, n, 1], data: vec![0.0; n] };
        Call {
            query: zeros(n_q),
            key: zeros(n_k),
            value: zeros(n_k),
            scale: None,
            causal: true,
            mask: None,
            bias: None,
            return_weights: false,
        }
    }

    fn seen(meaning: &Meaning, n_q: usize, n_k: usize) -> Vec<usize> {
        let lowered = lower(meaning, &call(n_q, n_k), 0, 0, Want::Output);
        (0..n_q).map(|i| (0..n_k).filter(|j| lowered.sees(i, *j)).count()).collect()
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
        assert_eq!(of(16), RealScale::exact(0.25));
    }

    #[test]
    fn broadcast_axes_stand_still() {
        assert_eq!(broadcast_at(&[2, 1, 1, 3], [1, 4, 2, 2]), 5);
        assert_eq!(broadcast_at(&[4, 3], [7, 7, 2, 1]), 7);
    }
}
