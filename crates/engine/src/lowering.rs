//! From a [`Call`] under a [`Meaning`] to the problems of its single heads: every named choice
//! becomes numbers.

mod hidden;
mod scale;
mod terms;
mod visibility;

use std::borrow::Cow;
use std::ops::Range;

use qkvet_spec::{
    Call, CallOptions, Dims, Dtype, EmptyRow, Extent, IndexEnv, IndexExpr, IndexName, Meaning,
    Normalization, Obedience, Stage, Tensor, UNLIMITED, ValueReading, Window,
};

use self::hidden::{Columns, keep_hidden};
use self::scale::scale;
use self::terms::{alibi_slope, bias_entries, sink_of};
use self::visibility::{Rules, VisibleKeys};
use crate::head::{Alibi, Head, RealScale, Visible};

/// What is asked of a call.
pub use qkvet_spec::ResultName;

/// Numbers of a result for each query, before the meaning has its say.
pub fn width_of(want: ResultName, dims: Dims) -> usize {
    match want {
        ResultName::Output => dims.d_v,
        ResultName::Weights => dims.n_k,
        ResultName::Lse => 1,
    }
}

/// The problem of one query head; it borrows what need not be changed.
#[derive(Clone, Debug, PartialEq)]
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
    visibility: VisibleKeys,
    normalization: Normalization,
    empty_row: EmptyRow,
    is_rounded: bool,
}

impl LoweredHead<'_> {
    /// Whether numbers of the problem are not what the meaning says but the nearest doubles: then
    /// nothing can be proved of it.
    pub(crate) fn is_rounded(&self) -> bool {
        self.is_rounded
    }

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
            visible: match &self.visibility {
                VisibleKeys::All => Visible::All,
                VisibleKeys::Spans(spans) => Visible::Spans(spans),
                VisibleKeys::Mask(mask) => Visible::Mask(mask),
            },
            normalization: self.normalization,
            empty_row: self.empty_row,
        }
    }
}

impl VisibleKeys {
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
        Self { meaning, env: call_env(call) }
    }

    pub(crate) fn of(
        meaning: &'a Meaning,
        dims: Dims,
        dtype: Dtype,
        options: &CallOptions,
    ) -> Self {
        Self { meaning, env: index_env(dims, dtype, options) }
    }

    fn value(&self, map: &IndexExpr, env: IndexEnv, limit: usize) -> usize {
        let value =
            map.eval(&env).and_then(|value| usize::try_from(value.max(0)).ok()).unwrap_or(0);
        value.min(limit.saturating_sub(1))
    }

    fn count(&self, map: &IndexExpr) -> usize {
        count(map, &self.env)
    }

    /// Where something of shape `(b, h_q, n_q, n_k)` is read.
    fn place(&self, maps: [&IndexExpr; 4], env: &IndexEnv) -> [usize; 4] {
        let Dims { b, h_q, n_q, n_k, .. } = self.env.dims;
        let names = [IndexName::Item, IndexName::Head, IndexName::Query, IndexName::Key];
        let own = [env.item, env.h, env.i, env.j];
        let limits = [b, h_q, n_q, n_k];
        std::array::from_fn(|axis| match maps[axis] {
            map if map.is(names[axis]) => usize::try_from(own[axis]).unwrap_or(0),
            map => self.value(map, *env, limits[axis]),
        })
    }

    /// Key/value head that query head `h` reads.
    pub(crate) fn key_head(&self, h: usize) -> usize {
        self.value(&self.meaning.head_map, IndexEnv { h: signed(h), ..self.env }, self.env.dims.h_k)
    }

    /// Columns of the output.
    pub(crate) fn output_width(&self) -> usize {
        self.count(&self.meaning.output_width)
    }

    /// Column of the true output that each of the `width` columns shows.
    pub(crate) fn output_columns(&self, width: usize) -> Vec<usize> {
        let d_v = self.env.dims.d_v;
        let column = |c: usize| {
            let shown =
                self.value(&self.meaning.output_column, IndexEnv { c: signed(c), ..self.env }, d_v);
            if c < d_v { shown } else { c }
        };
        (0..width).map(column).collect()
    }

    /// Row `(item, h, i)` of the true output that each row shows; `None` if it is its own
    /// everywhere.
    pub(crate) fn output_rows(&self) -> Option<Vec<usize>> {
        let Meaning { output_item, output_head, output_row, .. } = self.meaning;
        let is_own_head = output_item.is(IndexName::Item) && output_head.is(IndexName::Head);
        if is_own_head && output_row.is(IndexName::Query) {
            return None;
        }
        let Dims { b, h_q, n_q, .. } = self.env.dims;
        let row = |at: usize| {
            let (item, h, i) = (at / (h_q * n_q), at / n_q % h_q, at % n_q);
            let env = IndexEnv { item: signed(item), h: signed(h), i: signed(i), ..self.env };
            let head = self.value(output_item, env, b) * h_q + self.value(output_head, env, h_q);
            head * n_q + self.value(output_row, env, n_q)
        };
        Some((0..b * h_q * n_q).map(row).collect())
    }
}

/// More keys of zeros than any tile has would only take memory.
const MOST_ZERO_KEYS: usize = 1 << 16;

fn count(map: &IndexExpr, env: &IndexEnv) -> usize {
    map.eval(env).and_then(|value| usize::try_from(value.max(0)).ok()).unwrap_or(0)
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The names of an index expression for a call.
pub fn index_env(dims: Dims, dtype: Dtype, options: &CallOptions) -> IndexEnv {
    let side = |of: fn(&Window) -> Option<usize>| {
        options.window.as_ref().and_then(of).map_or(UNLIMITED, signed)
    };
    let window = [side(|window| window.left), side(|window| window.right)];
    let form = |shape: &[usize]| {
        let axes = std::iter::repeat_n(&1, 4 - shape.len().min(4)).chain(shape);
        let mut form = [1; 4];
        form.iter_mut().zip(axes).for_each(|(one, n)| *one = signed(*n));
        form
    };
    let shapes = [
        options.mask.as_ref().map_or(&[][..], |mask| &mask.shape),
        options.bias.as_ref().map_or(&[][..], |bias| &bias.shape),
    ];
    let axes = shapes.map(|shape| signed(shape.len()));
    let longest = options.key_lengths.iter().flatten().max();
    let longest_keys = longest.map_or(signed(dims.n_k), |n| signed(*n));
    let mask_hides = options.mask.as_ref().is_some_and(|mask| mask.data.contains(&false));
    let env = IndexEnv::new(dims, dtype, options.on());
    IndexEnv { window, forms: shapes.map(form), axes, longest_keys, mask_hides, ..env }
}

/// The same for a place of batch item `item`: its lengths are known.
pub fn item_env(env: &IndexEnv, options: &CallOptions, item: usize) -> IndexEnv {
    let length = |lengths: &Option<Vec<usize>>, all: i64| {
        lengths.as_ref().and_then(|lengths| lengths.get(item)).map_or(all, |n| signed(*n))
    };
    let [keys, queries] = env.lengths;
    let lengths = [length(&options.key_lengths, keys), length(&options.query_lengths, queries)];
    IndexEnv { item: signed(item), lengths, ..*env }
}

/// The names of an index expression for a call and what it asks for.
pub fn call_env(call: &Call) -> IndexEnv {
    let Call { return_weights, return_lse, .. } = *call;
    IndexEnv { return_weights, return_lse, ..index_env(call.dims(), call.dtype(), &call.options) }
}

/// Offset into a tensor that broadcasts to `(b, h_q, n_q, n_k)`: 2 or 4 axes, each of extent 1 or
/// full.
pub(crate) fn broadcast_at(shape: &[usize], index: [usize; 4]) -> usize {
    shape
        .iter()
        .zip(&index[4 - shape.len()..])
        .fold(0, |at, (extent, i)| at * extent + if *extent == 1 { 0 } else { *i })
}

fn rows(tensor: &Tensor, item: usize, head: usize) -> &[f64] {
    let size = tensor.shape[2] * tensor.shape[3];
    let at = (item * tensor.shape[1] + head) * size;
    &tensor.data[at..at + size]
}

/// The problem of query head `h` of batch item `item`.
pub(crate) fn lower<'a>(
    meaning: &'a Meaning,
    call: &'a Call,
    item: usize,
    h: usize,
    want: ResultName,
) -> LoweredHead<'a> {
    let (dims, options) = (call.dims(), &call.options);
    let maps = Maps::new(meaning, call);
    let here = IndexEnv { h: signed(h), ..item_env(&maps.env, options, item) };
    let n_zero_keys = |env| count(&meaning.zero_keys, &env).min(MOST_ZERO_KEYS);
    let zero_keys: Vec<usize> = match meaning.zero_keys.mentions(IndexName::Query) {
        true => (0..dims.n_q).map(|i| n_zero_keys(IndexEnv { i: signed(i), ..here })).collect(),
        false => vec![n_zero_keys(here); dims.n_q],
    };
    let n_k = dims.n_k + zero_keys.iter().copied().max().unwrap_or(0);
    let rules = Rules::new(&maps, options, item);

    let Meaning { query_item, query_head, query_index, key_item, .. } = meaning;
    let of_query = |i: usize| {
        let env = IndexEnv { i: signed(i), ..here };
        [(query_item, dims.b), (query_head, dims.h_q), (query_index, dims.n_q)]
            .map(|(map, n)| maps.value(map, env, n))
    };
    let as_it_is = query_item.is(IndexName::Item)
        && query_head.is(IndexName::Head)
        && query_index.is(IndexName::Query);
    let mut query = gathered(&call.query, dims.n_q, as_it_is.then_some([item, h]), of_query);
    if !meaning.query_column.is(IndexName::Column) {
        let column = |c: usize| {
            maps.value(&meaning.query_column, IndexEnv { c: signed(c), ..here }, dims.d_k)
        };
        let columns: Vec<usize> = (0..dims.d_k).map(column).collect();
        let turned = query
            .chunks_exact(dims.d_k.max(1))
            .flat_map(|row| columns.iter().map(|c| row[*c]))
            .collect();
        query = Cow::Owned(turned);
    }
    let score_width = if meaning.score_width.is(IndexName::Extent(Extent::DK)) {
        dims.d_k
    } else {
        maps.count(&meaning.score_width)
    };
    if score_width < dims.d_k {
        query.to_mut().chunks_exact_mut(dims.d_k).for_each(|row| row[score_width..].fill(0.0));
    }
    let key_head = maps.key_head(h);
    let read_item = maps.value(key_item, here, dims.b);
    let is_one_item = !key_item.mentions(IndexName::Key);
    let place = |head: &IndexExpr, index: &IndexExpr, j: usize| {
        let of_item = IndexEnv { j: signed(j), ..here };
        let item = if is_one_item { read_item } else { maps.value(key_item, of_item, dims.b) };
        let env = IndexEnv { h: signed(key_head), ..of_item };
        [item, maps.value(head, env, dims.h_k), maps.value(index, env, dims.n_k)]
    };
    // Further keys are read where the maps say; beyond the tensor there is nothing.
    let behind = |head: &IndexExpr, index: &IndexExpr, j: usize| {
        let env = IndexEnv { j: signed(j), ..here };
        let item = within(key_item, &env, dims.b)?;
        let env = IndexEnv { h: signed(key_head), ..env };
        Some([item, within(head, &env, dims.h_k)?, within(index, &env, dims.n_k)?])
    };
    let whole = |head: &IndexExpr, index: &IndexExpr| {
        let is_whole = is_one_item && head.is(IndexName::Head) && index.is(IndexName::Key);
        is_whole.then_some([read_item, key_head])
    };
    let Meaning { key_head: head, key_index: index, .. } = meaning;
    let key = gathered(&call.key, dims.n_k, whole(head, index), |j| place(head, index, j));
    let key = extended(key, &call.key, dims.n_k..n_k, |j| behind(head, index, j));
    let (d_v, mut value) = match want {
        ResultName::Weights => {
            let mut eye = vec![0.0; n_k * dims.n_k];
            (0..dims.n_k).for_each(|j| eye[j * dims.n_k + j] = 1.0);
            (dims.n_k, Cow::Owned(eye))
        }
        ResultName::Output => {
            let Meaning { value_head: head, value_index: index, .. } = meaning;
            let all =
                gathered(&call.value, dims.n_k, whole(head, index), |j| place(head, index, j));
            (dims.d_v, extended(all, &call.value, dims.n_k..n_k, |j| behind(head, index, j)))
        }
        ResultName::Lse => (0, Cow::Owned(Vec::new())),
    };
    if meaning.values == ValueReading::NonNegative {
        value.to_mut().iter_mut().for_each(|v| *v = v.max(0.0));
    }
    let scale = scale(meaning, call);
    let mut is_rounded = scale.rel_error > 0.0 && scale.radicand == 1;
    let bias = bias_entries(&maps, &rules, call, h, n_k, &mut is_rounded);
    let slope = alibi_slope(&maps, here, options);
    let alibi = slope.map(|slope| Alibi { slope, offset: rules.alibi_offset() });
    let sink = sink_of(&maps, here, options, scale, &mut is_rounded);
    let lowered = LoweredHead {
        n_q: dims.n_q,
        n_k,
        d_k: dims.d_k,
        d_v,
        query,
        key,
        value,
        stages: &meaning.stages,
        scale,
        softcap: options.softcap,
        bias: bias.map(Cow::Owned),
        alibi_shifts: alibi.and_then(|alibi| rules.alibi_shifts(alibi.offset)),
        alibi,
        sink: sink.filter(|_| want != ResultName::Lse || meaning.lse_sinks == Obedience::Used),
        visibility: rules.visibility(h, &zero_keys),
        normalization: meaning.normalization,
        empty_row: meaning.empty_row,
        is_rounded,
    };
    let twice = sink.filter(|_| meaning.sinks == qkvet_spec::Sinks::Twice);
    let lowered = match twice {
        Some(sink) => lowered.with(Columns::zero_key(dims.n_q, sink)),
        None => lowered,
    };
    keep_hidden(meaning, lowered)
}

/// Whether a call asks something else under `meaning` than under `base`, or wants it shown
/// otherwise.
pub fn alters(meaning: &Meaning, base: &Meaning, call: &Call) -> bool {
    let of_lse = |meaning: &Meaning| (meaning.lse_base, meaning.empty_lse, meaning.lse_sinks);
    if call.return_lse && of_lse(meaning) != of_lse(base) {
        return true;
    }
    let dims = call.dims();
    let shown = |meaning: &Meaning| {
        let maps = Maps::new(meaning, call);
        (maps.output_rows(), maps.output_columns(maps.output_width()))
    };
    let differ = |(item, h)| {
        lower(meaning, call, item, h, ResultName::Output)
            != lower(base, call, item, h, ResultName::Output)
    };
    shown(meaning) != shown(base)
        || (0..dims.b).any(|item| (0..dims.h_q).any(|h| differ((item, h))))
}

/// Row `place(i)` of the tensor for each of its `count` rows of a head; borrowed where that is a
/// `whole` head as it is.
fn gathered(
    tensor: &Tensor,
    count: usize,
    whole: Option<[usize; 2]>,
    place: impl Fn(usize) -> [usize; 3],
) -> Cow<'_, [f64]> {
    if let Some([item, head]) = whole {
        return Cow::Borrowed(rows(tensor, item, head));
    }
    let width = tensor.shape[3];
    let row = |i: usize| {
        let [item, head, index] = place(i);
        &rows(tensor, item, head)[index * width..(index + 1) * width]
    };
    Cow::Owned((0..count).map(row).collect::<Vec<_>>().concat())
}

/// Rows of `tensor` behind others; a row of zeros for those that it has not.
fn extended<'t>(
    mut all: Cow<'t, [f64]>,
    tensor: &Tensor,
    more: Range<usize>,
    place: impl Fn(usize) -> Option<[usize; 3]>,
) -> Cow<'t, [f64]> {
    let width = tensor.shape[3];
    for j in more {
        match place(j) {
            Some([item, head, index]) => {
                let row = &rows(tensor, item, head)[index * width..(index + 1) * width];
                all.to_mut().extend_from_slice(row);
            }
            None => all.to_mut().extend(std::iter::repeat_n(0.0, width)),
        }
    }
    all
}

/// The number of a map, if it is below the limit.
fn within(map: &IndexExpr, env: &IndexEnv, limit: usize) -> Option<usize> {
    let number = usize::try_from(map.eval(env)?).ok()?;
    Some(number).filter(|number| *number < limit)
}

/// The slope of each query head and, for each query of each batch item, the key that it stands at:
/// ALiBi adds `−slope · |position − j|`. `None` where the case or `meaning` has none.
pub(crate) fn alibi_of<'a>(
    meaning: &Meaning,
    dims: Dims,
    options: &'a CallOptions,
) -> Option<(&'a [f64], Vec<Vec<i64>>)> {
    let slopes =
        options.alibi_slopes.as_ref().filter(|_| meaning.alibi == qkvet_spec::Alibi::Used)?;
    let maps = Maps::of(meaning, dims, Dtype::Float64, options);
    let positions = |item| {
        let rules = Rules::new(&maps, options, item);
        (0..dims.n_q).map(|i| rules.alibi_position(i)).collect()
    };
    Some((&slopes.data, (0..dims.b).map(positions).collect()))
}

/// Which keys each query sees under `meaning`: `(b, h_q, n_q, n_k)`, row-major, keys of the call
/// only.
pub fn visibility(meaning: &Meaning, dims: Dims, dtype: Dtype, options: &CallOptions) -> Vec<bool> {
    let maps = Maps::of(meaning, dims, dtype, options);
    let mut seen = Vec::with_capacity(dims.b * dims.h_q * dims.n_q * dims.n_k);
    for item in 0..dims.b {
        let rules = Rules::new(&maps, options, item);
        for h in 0..dims.h_q {
            let visibility = rules.visibility(h, &[]);
            seen.extend(
                (0..dims.n_q * dims.n_k)
                    .map(|at| visibility.sees(at / dims.n_k, at % dims.n_k, dims.n_k)),
            );
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use qkvet_spec::Causal;

    use super::*;

    fn call(n_q: usize, n_k: usize) -> Call {
        let zeros = |n: usize| Tensor {
            dtype: qkvet_spec::Dtype::Float64,
            shape: vec![1, 1, n, 1],
            data: vec![0.0; n],
        };
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
                query: Tensor {
                    dtype: qkvet_spec::Dtype::Float64,
                    shape: vec![1, 1, 1, d_k],
                    data: vec![0.0; d_k],
                },
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
