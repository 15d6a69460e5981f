//! Attention under a meaning and a twist in plain binary64, with an estimate of the error that a
//! number format causes: what hypotheses are tried with. Nothing is judged by it.

mod row;
mod stub;
mod twist;

use qkvet_spec::{
    Call, CallOption, Dims, Dtype, IndexEnv, LseBase, LseForm, Meaning, Normalization, Step, Twist,
};

use self::row::{Row, weighed};
use self::stub::stub;
use self::twist::{inputs, output_cells};
use crate::format::round;
use crate::head::{Head, Stage};
use crate::lowering::{LoweredHead, Maps, ResultName, call_env, item_env, lower, width_of};

/// Numbers of a result, and how far a computation with unit roundoff 1 would be from them to first
/// order: the error of a format is that times its roundoff.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plain {
    /// Row-major.
    pub values: Vec<f64>,
    /// The same places.
    pub errors: Vec<f64>,
}

impl Plain {
    fn push(&mut self, value: f64, error: f64) {
        self.values.push(value);
        self.errors.push(error);
    }
}

/// Numbers beyond the largest one of a format are infinite.
fn overflow(values: &mut [f64], dtype: Dtype) {
    let is_beyond = |x: &&mut f64| round(**x, dtype).is_infinite();
    values.iter_mut().filter(is_beyond).for_each(|x| *x = f64::INFINITY.copysign(*x));
}

/// What of a call is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every head, as the output shows them.
    Whole,
    /// One head of one batch item, before rows and columns are put in another order.
    Head {
        /// The batch item.
        item: usize,
        /// The query head.
        h: usize,
    },
}

/// One result of `call` under `meaning` and `twist`; `None` where that is not defined for it.
///
/// # Shapes
/// `(b, h_q, n_q, width)` of the whole call, `(n_q, width)` of a head.
///
/// # Error bound
/// No bound claimed: first order, in sums of any order.
///
/// # Panics
/// When the lowering has another number of rows than the call: a mistake of this crate.
pub fn plain(
    meaning: &Meaning,
    twist: Option<&Twist>,
    call: &Call,
    want: ResultName,
    extent: Extent,
) -> Option<Plain> {
    if meaning.normalization == Normalization::OverQueries {
        return None;
    }
    let changed = inputs(twist, call, meaning.mask);
    let call = changed.as_ref().unwrap_or(call);
    let Dims { b, h_q, n_q, n_k, .. } = call.dims();
    let maps = Maps::new(meaning, call);
    let columns = match want {
        ResultName::Output => maps.output_columns(maps.output_width()),
        ResultName::Weights => (0..n_k).collect(),
        ResultName::Lse => vec![0],
    };
    let hidden = twist::without_option(twist, call);
    let env = call_env(call);
    let format = match want {
        ResultName::Lse => Dtype::Float64,
        ResultName::Output | ResultName::Weights => call.dtype(),
    };
    let place = |item: usize, h: usize| Place {
        meaning,
        twist,
        call,
        hidden: hidden.as_ref(),
        want,
        columns: &columns,
        env: IndexEnv { h: i64::try_from(h).unwrap_or(0), ..item_env(&env, &call.options, item) },
    };
    match extent {
        Extent::Head { item, h } => {
            let mut head = place(item, h).computed(item, h)?;
            overflow(&mut head.values, format);
            Some(head)
        }
        Extent::Whole => {
            let mut all = Plain::default();
            for at in 0..b * h_q {
                let head = place(at / h_q, at % h_q).computed(at / h_q, at % h_q)?;
                all.values.extend(head.values);
                all.errors.extend(head.errors);
            }
            overflow(&mut all.values, format);
            let Some(rows) = maps.output_rows() else { return Some(all) };
            let width = columns.len();
            let shown = |from: &[f64]| {
                let row = |row: &usize| from[row * width..(row + 1) * width].iter().copied();
                rows.iter().flat_map(row).collect()
            };
            assert_eq!(rows.len(), b * h_q * n_q);
            Some(Plain { values: shown(&all.values), errors: shown(&all.errors) })
        }
    }
}

/// What is computed of one head.
struct Place<'a> {
    meaning: &'a Meaning,
    twist: Option<&'a Twist>,
    call: &'a Call,
    /// The call without the option whose keys are hidden otherwise.
    hidden: Option<&'a Call>,
    want: ResultName,
    columns: &'a [usize],
    env: IndexEnv,
}

impl Place<'_> {
    fn computed(&self, item: usize, h: usize) -> Option<Plain> {
        let want = if self.want == ResultName::Lse { ResultName::Lse } else { ResultName::Output };
        let other = match self.twist {
            Some(Twist::HeadOf { head, .. }) => {
                Some(Meaning { head_map: head.clone(), ..self.meaning.clone() })
            }
            _ => None,
        };
        let own = lower(self.meaning, self.call, item, h, want);
        let other = other.as_ref().map(|meaning| lower(meaning, self.call, item, h, want));
        let (lowered, valued) = match (self.twist, &other) {
            (Some(Twist::HeadOf { values: true, .. }), Some(other)) => (&own, other),
            (_, Some(other)) => (other, &own),
            _ => (&own, &own),
        };
        let open = self.hidden.map(|call| lower(self.meaning, call, item, h, want));
        let (head, valued) = (lowered.head(), valued.head());
        let open = open.as_ref().map(LoweredHead::head);
        let is_apart = matches!(self.twist, Some(Twist::Without { .. }));
        let apart = open.as_ref().filter(|_| is_apart).map(|head| Scores::new(head, self));
        let open = open.as_ref().filter(|_| !is_apart);
        let scores = Scores::new(&head, self);
        let mut result = Plain::default();
        for i in 0..head.n_q {
            let row = scores.row(i, open, apart.as_ref())?;
            let env = IndexEnv { i: i64::try_from(i).unwrap_or(0), ..self.env };
            self.add(&mut result, &valued, &row, i, env);
        }
        Some(result)
    }

    /// Adds what is asked for of one row.
    fn add(&self, result: &mut Plain, head: &Head<'_>, row: &Row, i: usize, env: IndexEnv) {
        match self.want {
            ResultName::Lse => {
                let (value, error) = row.lse(self.twist, self.meaning);
                let (shift, size) = match self.twist {
                    Some(Twist::Lse { form: LseForm::KeysCentered })
                        if head.softcap.is_some() || self.meaning.lse_base != LseBase::Natural =>
                    {
                        // No shift that is known here.
                        (f64::NAN, 0.0)
                    }
                    Some(Twist::Lse { form: LseForm::KeysCentered }) => mean_score(head, i),
                    Some(Twist::Lse { form: LseForm::MaxNotScaled }) => {
                        let (unscaled, size) = unscaled_max(head, row, i);
                        (row.max - unscaled, size * (4.0 + head.d_k as f64))
                    }
                    _ => (0.0, 0.0),
                };
                result.push(value - shift, error + size);
            }
            ResultName::Weights => {
                for j in self.columns {
                    let weight = row.weights[*j];
                    result.push(weight, weight.abs() * row.errors[*j]);
                }
            }
            ResultName::Output => {
                let inner = width_of(ResultName::Output, self.call.dims());
                let weighed = weighed(head, row, self.meaning);
                for c in self.columns {
                    let (value, error) = match stub(self.twist, self.call, head, row, env, *c) {
                        Some(number) => number,
                        None if *c >= inner => (0.0, 0.0),
                        None => weighed[*c],
                    };
                    let (value, error) = output_cells(self.twist, env, *c, value, error);
                    result.push(value, error);
                }
                assert!(i < head.n_q);
            }
        }
    }
}

/// The scores of one head on their way to logits.
struct Scores<'a> {
    head: &'a Head<'a>,
    place: &'a Place<'a>,
    is_transposed: bool,
    /// Keys behind are not looked at.
    end: usize,
    /// Means of tiles that are taken away from keys, and of their sizes.
    means: [Vec<f64>; 2],
}

impl<'a> Scores<'a> {
    fn new(head: &'a Head<'a>, place: &'a Place<'a>) -> Self {
        let is_transposed = twist::is_transposed(place.twist) && head.n_q == head.n_k;
        let end = twist::end(place.twist, head, 0..head.n_q, true);
        let means = twist::means(place.twist, head);
        Self { head, place, is_transposed, end, means }
    }

    /// The row of query `i`; `open` sees what an option hides, `apart` are the scores of one of the two
    /// sums.
    fn row(&self, i: usize, open: Option<&Head<'_>>, apart: Option<&Self>) -> Option<Row> {
        let (place, head) = (self.place, self.head);
        let env = IndexEnv { i: i64::try_from(i).unwrap_or(0), ..place.env };
        let apart = apart.map(|scores| scores.logits(i, None));
        Row::new(place.twist, (place.call, head), &env, self.logits(i, open), apart)
    }

    /// Logits of a row, and their errors.
    fn logits(&self, i: usize, open: Option<&Head<'_>>) -> (Vec<f64>, Vec<f64>) {
        let head = self.head;
        let end = self.end.min(twist::end(self.place.twist, head, i..i + 1, false));
        let (mut logits, mut errors) = (Vec::with_capacity(head.n_k), Vec::with_capacity(head.n_k));
        for j in 0..head.n_k {
            let is_seen = j < end && head.sees(i, j);
            let otherwise = open.filter(|open| !is_seen && j < open.n_k && open.sees(i, j));
            let (mut z, mut error) = (f64::NEG_INFINITY, 0.0);
            if is_seen || otherwise.is_some() {
                (z, error) = self.score(i, j);
                twist::logit(self.place.twist, j, &mut z, &mut error);
            }
            if otherwise.is_some() {
                z = twist::hidden(self.place.twist, head.softcap, z);
            }
            logits.push(z);
            errors.push(if z.is_finite() { error } else { 0.0 });
        }
        (logits, errors)
    }

    /// The score of a key behind all stages, and its error.
    fn score(&self, i: usize, j: usize) -> (f64, f64) {
        let head = self.head;
        let (from, to) = if self.is_transposed { (j, i) } else { (i, j) };
        let (mut z, size) = dot(head.query_row(from), head.key_row(to));
        let mut error = size * (2.0 + head.d_k as f64);
        let tile = twist::tile_of(self.place.twist, j) * head.d_k;
        let [mean, sizes] = self.means.each_ref().map(|it| it.get(tile..tile + head.d_k));
        if let (Some(mean), Some(sizes)) = (mean, sizes) {
            z -= dot(head.query_row(from), mean).0;
            let size = dot(head.query_row(from), sizes).1;
            error += size * (2.0 + (head.d_k + head.n_k) as f64);
        }
        let dtype = self.place.call.dtype();
        twist::rounded(self.place.twist, Step::Products, dtype, &mut z, &mut error);
        for stage in head.stages {
            match stage {
                Stage::Scale => {
                    let scale = twist::scale(self.place.twist, head.scale.value);
                    z *= scale;
                    error = error * scale.abs() + 3.0 * z.abs();
                }
                Stage::Softcap => {
                    let Some(cap) = head.softcap else { continue };
                    (z, error) = twist::softcap(self.place.twist, z, cap, error);
                }
                Stage::Bias => {
                    let added = self.added(i, j);
                    z += added.0;
                    error += 2.0 * added.1 + z.abs();
                    if added.0 == f64::NEG_INFINITY {
                        (z, error) = (f64::NEG_INFINITY, 0.0);
                    }
                }
            }
        }
        error += z.abs();
        twist::rounded(self.place.twist, Step::Logits, dtype, &mut z, &mut error);
        (z, error)
    }

    /// What is added to the score of a key, and its size.
    fn added(&self, i: usize, j: usize) -> (f64, f64) {
        let head = self.head;
        let twist = self.place.twist;
        let env = IndexEnv {
            i: i64::try_from(i).unwrap_or(0),
            j: i64::try_from(j).unwrap_or(0),
            ..self.place.env
        };
        let bias = head.biases().map_or(0.0, |bias| bias[i * head.n_k + j]);
        let bias = twist::bias(twist, self.place.call, env, bias);
        let slope = head.slopes_of(i).map_or(0.0, |alibi| {
            #[expect(clippy::cast_possible_wrap, reason = "extents are far below 2^63")]
            let distance = (i as i64 + alibi.offset - j as i64).unsigned_abs() as f64;
            let distance = twist::distance(twist, &env, distance);
            -twist::times(twist, CallOption::AlibiSlopes) * alibi.slope * distance
        });
        (bias + slope, if bias.is_finite() { bias.abs() + slope.abs() } else { 0.0 })
    }
}

/// `scale · q · (mean of all keys)`, and its error.
fn mean_score(head: &Head<'_>, i: usize) -> (f64, f64) {
    let n = head.n_k.max(1) as f64;
    let scores = (0..head.n_k).map(|j| dot(head.query_row(i), head.key_row(j)));
    let (sum, size) = scores.fold((0.0, 0.0), |(sum, size), one| (sum + one.0, size + one.1));
    let scale = head.scale.value / n;
    (scale * sum, scale.abs() * size * (n + 4.0 + head.d_k as f64))
}

/// The product of query and key that is the maximum of the row behind a scale, and its size; no
/// number where something is added to scores.
fn unscaled_max(head: &Head<'_>, row: &Row, i: usize) -> (f64, f64) {
    let is_scaled = head.softcap.is_none()
        && head.biases().is_none()
        && head.alibi.is_none()
        && head.sink.is_none();
    if !is_scaled {
        return (f64::NAN, 0.0);
    }
    let sign = if head.scale.value < 0.0 { -1.0 } else { 1.0 };
    let seen = (0..head.n_k).filter(|j| row.visible[*j]);
    let products = seen.map(|j| dot(head.query_row(i), head.key_row(j)));
    let most = products.max_by(|x, y| (sign * x.0).total_cmp(&(sign * y.0)));
    // Without a key there is no maximum to take away.
    most.unwrap_or((row.max, 0.0))
}

/// `Σ q·k` and `Σ |q·k|`, in eight chains: additions wait for each other.
fn dot(query: &[f64], key: &[f64]) -> (f64, f64) {
    const CHAINS: usize = 8;
    let (mut sums, mut sizes) = ([0.0; CHAINS], [0.0; CHAINS]);
    let mut add = |query: &[f64], key: &[f64]| {
        for (((sum, size), q), k) in sums.iter_mut().zip(&mut sizes).zip(query).zip(key) {
            *sum += q * k;
            *size += (q * k).abs();
        }
    };
    let (queries, keys) = (query.chunks_exact(CHAINS), key.chunks_exact(CHAINS));
    let rest = (queries.remainder(), keys.remainder());
    queries.zip(keys).for_each(|(query, key)| add(query, key));
    add(rest.0, rest.1);
    (sums.iter().sum(), sizes.iter().sum())
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{
        Arithmetic, CallOptions, Dtype, Execution, Merge, Rescale, Tensor, TileFactor, TileForm,
        TilePlace, Window,
    };

    use super::*;
    use crate::simulate::simulate;

    fn call(n_q: usize, n_k: usize) -> Call {
        let mut state = 1u64;
        let mut tensor = |shape: [usize; 4]| {
            let data = (0..shape.iter().product::<usize>())
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 40) % 64) as f64 / 16.0 - 2.0
                })
                .collect();
            Tensor { dtype: Dtype::Float64, shape: shape.to_vec(), data }
        };
        let options = CallOptions {
            causal: true,
            softcap: Some(4.0),
            window: Some(Window { left: Some(7), right: None }),
            sinks: Some(tensor([1, 1, 1, 4])).map(|it| Tensor { shape: vec![4], ..it }),
            alibi_slopes: Some(tensor([1, 1, 1, 4])).map(|it| Tensor { shape: vec![4], ..it }),
            bias: Some(tensor([2, 4, n_q, n_k])),
            ..CallOptions::default()
        };
        let (query, key, value) =
            (tensor([2, 4, n_q, 4]), tensor([2, 2, n_k, 4]), tensor([2, 2, n_k, 3]));
        Call { query, key, value, options, return_weights: true, return_lse: true }
    }

    fn agrees(twist: Option<&Twist>, execution: &Execution, call: &Call, want: ResultName) {
        let meaning = Meaning::standard();
        let mine = plain(&meaning, twist, call, want, Extent::Whole).expect("a result");
        let simulated = simulate(&meaning, execution, call, want);
        assert_eq!(mine.values.len(), simulated.data.len());
        for (at, x) in simulated.data.iter().enumerate() {
            let limit = mine.errors[at] * 4.0 * f64::EPSILON;
            let is_same = mine.values[at].to_bits() == x.to_bits()
                || (mine.values[at] - x).abs() <= limit + f64::MIN_POSITIVE;
            assert!(is_same, "{twist:?} {want:?} {at}: {} {x} {limit}", mine.values[at]);
        }
    }

    /// The simulator is another program for the same function.
    #[test]
    fn it_agrees_with_the_simulator() {
        let standard = Execution { arithmetic: Arithmetic::Float64, ..Execution::standard() };
        let call = call(9, 23);
        for want in ResultName::ALL {
            agrees(None, &standard, &call, want);
        }
        let no_sink = Call { options: CallOptions { sinks: None, ..call.options.clone() }, ..call };
        use TileFactor::{Missing, Right};
        for (rescale, values, sum) in [
            (Rescale::Neither, Missing, Missing),
            (Rescale::SumOnly, Missing, Right),
            (Rescale::ValuesOnly, Right, Missing),
        ] {
            let form = TileForm::Rescaled { values, sum };
            let twist = Twist::Tiles { size: 5, form, at: TilePlace::Every };
            let execution = Execution { tile: 5, rescale, ..standard.clone() };
            agrees(Some(&twist), &execution, &no_sink, ResultName::Output);
        }
        for (by, merge) in [
            (qkvet_spec::PartWeight::Equal, Merge::Mean),
            (qkvet_spec::PartWeight::OwnSum, Merge::ByOwnSum),
        ] {
            let part = qkvet_spec::IndexExpr::new("j / ((n_k + 1) / 2)").expect("halves");
            let twist = Twist::Parts { part, by };
            let execution = Execution { splits: 2, merge, ..standard.clone() };
            let open = Call {
                options: CallOptions { causal: false, window: None, ..no_sink.options.clone() },
                ..no_sink.clone()
            };
            agrees(Some(&twist), &execution, &open, ResultName::Output);
        }
    }
}
