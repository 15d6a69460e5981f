//! One row: from logits to weights, by the softmax or by what stands for it.

use qkvet_spec::{
    Arithmetic, Call, CountOf, DenominatorForm, Dims, EmptyLse, IndexEnv, IndexExpr, LazySlip,
    LseBase, LseForm, Meaning, PartWeight, Step, TileFactor, TileForm, TileMax, TilePlace, Twist,
    WeightForm,
};

use crate::format::{smallest_subnormal, unit_roundoff};
use crate::head::{EmptyRow, Head, Normalization};

/// Smallest numbers that the largest exponential of a row has to be, or nothing is said of the row.
const MIN_STEPS: f64 = 64.0;

/// Parts of keys that are told apart: each of them is looked at for each row.
const MAX_PARTS: usize = 1024;

/// Weights of one row, each with its relative error.
pub(super) struct Row {
    pub(super) weights: Vec<f64>,
    pub(super) errors: Vec<f64>,
    pub(super) visible: Vec<bool>,
    pub(super) max: f64,
    /// In units of the exponential of `max`.
    sum: f64,
    /// Mean error of the logits.
    mean_error: f64,
}

impl Row {
    pub(super) fn new(
        twist: Option<&Twist>,
        (call, head): (&Call, &Head<'_>),
        env: &IndexEnv,
        (mut logits, mut errors): (Vec<f64>, Vec<f64>),
        apart: Option<(Vec<f64>, Vec<f64>)>,
    ) -> Option<Self> {
        if matches!(twist, Some(Twist::Weights { form: WeightForm::Uniform })) {
            logits.iter_mut().filter(|z| z.is_finite()).for_each(|z| *z = 0.0);
        }
        let sink = head.sink.filter(|_| head.normalization != Normalization::None);
        let sink = sink.map(|sink| super::twist::sink(twist, call, env, sink));
        let visible: Vec<bool> = logits.iter().map(|z| *z > f64::NEG_INFINITY).collect();
        let all = logits.iter().chain(apart.iter().flat_map(|(logits, _)| logits)).copied();
        let mut max = all.chain(sink).fold(f64::NEG_INFINITY, f64::max);
        if let Some(Twist::MaxAtLeast { score, .. }) = twist
            && max > f64::NEG_INFINITY
        {
            max = max.max(*score);
        }
        if max.is_nan() || max == f64::INFINITY {
            return None;
        }
        let mut shift = if max == f64::NEG_INFINITY { 0.0 } else { max };
        let mut terms: Vec<f64> = logits.iter().map(|z| libm::exp(z - shift)).collect();
        let plain = terms.iter().sum::<f64>();
        let tail = sink.map_or(0.0, |sink| libm::exp(sink - shift));
        let mut sum = plain + tail;
        let (mut amplified, mut of_lse, mut of_sum) = (1.0, None, 0.0f64);
        match twist {
            Some(Twist::MaxAtLeast { divided, .. }) => {
                let format = Arithmetic::Ordinary.format(call.dtype());
                let largest = terms.iter().copied().fold(tail, f64::max);
                let least = smallest_subnormal(format);
                if largest <= least / 4.0 {
                    terms.fill(if *divided { f64::NAN } else { 0.0 });
                    sum = 0.0;
                } else if largest < MIN_STEPS * least {
                    return None;
                } else {
                    // Digits that are lost below the normal range.
                    amplified += least / largest / unit_roundoff(call.dtype());
                }
            }
            Some(Twist::Without { of, .. }) => {
                let (others, other_errors) = apart.as_ref()?;
                let apart: Vec<f64> = others.iter().map(|z| libm::exp(z - shift)).collect();
                errors.iter_mut().zip(other_errors).for_each(|(e, other)| *e = e.max(*other));
                if *of != CountOf::Values {
                    sum = apart.iter().sum::<f64>() + tail;
                    let size: f64 = apart.iter().zip(&errors).map(|(term, e)| term * e).sum();
                    of_sum = size / sum.max(f64::MIN_POSITIVE);
                }
                if *of != CountOf::Sum && sum > 0.0 {
                    terms = apart;
                }
            }
            Some(Twist::Denominator { form: DenominatorForm::SinkAboveKeys })
                if visible.contains(&true) && sink.is_some() =>
            {
                shift = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                terms = logits.iter().map(|z| libm::exp(z - shift)).collect();
                sum = terms.iter().sum::<f64>() + sink.map_or(0.0, libm::exp);
            }
            Some(Twist::Denominator { form }) if plain > 0.0 => {
                let other =
                    denominator(*form, (call, env), head, (plain, &logits), tail, (sink, shift));
                sum = plain + other.unwrap_or(tail);
            }
            Some(Twist::Weights { form }) => sum = reweighed(*form, &logits, &mut terms, sum),
            Some(Twist::Tiles { size, form, at }) => {
                let scale = head.scale.value;
                let tiles = Tiles { size: *size, form: *form, at: *at, call, env, scale };
                sum = tiles.sum(&logits, &mut terms, shift) + tail;
                if tiles.is_divided() && logits.len() > (*size).max(1) {
                    sum = 1.0;
                }
            }
            Some(Twist::Counts { times, of }) => {
                let mut counted = 0.0;
                let mut times = times.along_keys(env);
                for (j, term) in terms.iter_mut().enumerate() {
                    let once = *term;
                    let often = times(j).map_or(1.0, |n| n.max(0) as f64);
                    counted += if *of == CountOf::Values { once } else { once * often };
                    *term = if *of == CountOf::Sum { once } else { once * often };
                }
                sum = counted + tail;
            }
            Some(Twist::Parts { part, by }) if sink.is_none() => {
                let (order, ends) = parts(part, env, logits.len())?;
                let taken = |of: &[f64]| order.iter().map(|j| of[*j]).collect::<Vec<_>>();
                let (ordered, mut merged_terms) = (taken(&logits), taken(&terms));
                let total;
                let scales = [head.scale.value, 1.0 / libm::sqrt(head.d_k as f64)];
                (amplified, total) = merged(&ends, (*by, scales), &ordered, &mut merged_terms)?;
                order.iter().zip(merged_terms).for_each(|(j, term)| terms[*j] = term);
                of_lse = match by {
                    PartWeight::EmptyAsZero => Some(total),
                    // What comes back is the logarithm in the base of the merge, in that of the
                    // parts.
                    PartWeight::ExpOfLog2 => Some(libm::pow(total, std::f64::consts::LN_2)),
                    PartWeight::TwoToLse => Some(libm::pow(total, std::f64::consts::LOG2_E)),
                    _ => None,
                };
                sum = 1.0;
            }
            Some(Twist::Parts { .. }) => return None,
            _ => {}
        }
        let divisor = match head.normalization {
            Normalization::None => 1.0,
            _ if sum == 0.0 => 1.0,
            _ => sum,
        };
        let mut weights: Vec<f64> = terms.iter().map(|term| term / divisor).collect();
        let mean_error = weights.iter().zip(&errors).map(|(w, e)| w.abs() * e).sum::<f64>();
        let mean_error = mean_error.max(of_sum);
        let own = 16.0 + head.n_k as f64;
        let mut errors: Vec<f64> =
            errors.iter().map(|e| (e + mean_error + own) * amplified).collect();
        if let Some(Twist::Rounded { step: step @ (Step::Exponentials | Step::Weights), .. }) =
            twist
        {
            let by = if *step == Step::Weights { 1.0 } else { divisor };
            for (weight, error) in weights.iter_mut().zip(&mut errors) {
                let mut x = *weight * by;
                let mut size = x * *error;
                super::twist::rounded(twist, *step, call.dtype(), &mut x, &mut size);
                // What may be rounded to 0 or not keeps its error.
                *weight = if x == 0.0 && size > 0.0 { f64::MIN_POSITIVE } else { x / by };
                *error = if *weight > 0.0 { size / by / *weight } else { 0.0 };
            }
        }
        Some(Self { weights, errors, visible, max: shift, sum: of_lse.unwrap_or(sum), mean_error })
    }

    /// Whether no key is seen.
    pub(super) fn is_empty(&self) -> bool {
        !self.visible.contains(&true)
    }

    pub(super) fn lse(&self, twist: Option<&Twist>, meaning: &Meaning) -> (f64, f64) {
        let natural = if self.sum == 0.0 {
            match meaning.empty_lse {
                EmptyLse::NegativeInfinity => f64::NEG_INFINITY,
                EmptyLse::Infinity => f64::INFINITY,
                EmptyLse::Zero => 0.0,
            }
        } else {
            self.max + libm::log(self.sum)
        };
        let form = match twist {
            Some(Twist::Lse { form }) => Some(*form),
            _ => None,
        };
        let value = match form {
            None => natural,
            Some(LseForm::Zero) => 0.0,
            Some(LseForm::WithoutMax) => libm::log(self.sum),
            Some(LseForm::MaxOnly) if self.sum == 0.0 => natural,
            Some(LseForm::MaxOnly) => self.max,
            Some(LseForm::Sum) => self.sum,
            Some(LseForm::Negative) => -natural,
            Some(LseForm::NegativeInfinity) => f64::NEG_INFINITY,
            // What is taken away is a number of the query.
            Some(LseForm::KeysCentered | LseForm::MaxNotScaled) => natural,
            Some(LseForm::MaxInBaseTwo | LseForm::SumInBaseTwo) if self.sum == 0.0 => natural,
            Some(LseForm::MaxInBaseTwo) => {
                self.max * std::f64::consts::LOG2_E + libm::log(self.sum)
            }
            Some(LseForm::SumInBaseTwo) => self.max + libm::log2(self.sum),
        };
        let factor = match meaning.lse_base {
            LseBase::Natural => 1.0,
            LseBase::Two => std::f64::consts::LOG2_E,
            LseBase::NaturalTimesLn2 => std::f64::consts::LN_2,
        };
        let value = value * factor;
        let size = if value.is_finite() { value.abs() + self.max.abs() } else { 0.0 };
        (value, 2.0 * (self.mean_error + 8.0 + self.weights.len() as f64) + 4.0 * size)
    }
}

/// `Σ_j w_j v_jc` of each column, and its error.
pub(super) fn weighed(head: &Head<'_>, row: &Row, meaning: &Meaning) -> Vec<(f64, f64)> {
    let mut all = vec![(0.0, 0.0); head.d_v];
    if row.is_empty() && head.sink.is_none() {
        match meaning.empty_row {
            EmptyRow::Zero => {}
            EmptyRow::Nan => all.fill((f64::NAN, 0.0)),
            EmptyRow::Mean => {
                let n = (head.n_k.max(1)) as f64;
                for j in 0..head.n_k {
                    for (one, v) in all.iter_mut().zip(head.value_row(j)) {
                        *one = (one.0 + v, one.1 + v.abs());
                    }
                }
                all.iter_mut().for_each(|one| *one = (one.0 / n, one.1 / n * (n + 2.0)));
            }
            EmptyRow::First if head.n_k > 0 => {
                all.iter_mut().zip(head.value_row(0)).for_each(|(one, v)| one.0 = *v);
            }
            EmptyRow::First => {}
        }
        return all;
    }
    for (j, (weight, relative)) in row.weights.iter().zip(&row.errors).enumerate() {
        if *weight == 0.0 {
            continue;
        }
        for ((value, error), v) in all.iter_mut().zip(head.value_row(j)) {
            *value += weight * v;
            *error += (weight * v).abs() * relative;
        }
    }
    let is_finite = row.weights.iter().all(|weight| weight.is_finite());
    for (value, error) in &mut all {
        // Which of NaN and the infinities comes of infinite weights is for the order of sums to
        // say.
        *error =
            if is_finite || value.is_finite() { *error + 2.0 * value.abs() } else { f64::INFINITY };
    }
    all
}

/// What joins the row sum beside the keys.
fn denominator(
    form: DenominatorForm,
    (call, env): (&Call, &IndexEnv),
    head: &Head<'_>,
    (plain, logits): (f64, &[f64]),
    tail: f64,
    (sink, shift): (Option<f64>, f64),
) -> Option<f64> {
    Some(match form {
        DenominatorForm::SinkAboveKeys => return None,
        DenominatorForm::OwnMaxima { size, strided } => {
            let size = size.max(1);
            let part = |j: usize| if strided { j % size } else { j / size };
            let n = if strided { size } else { logits.len().div_ceil(size) };
            let mut maxima = vec![f64::NEG_INFINITY; n];
            for (j, z) in logits.iter().enumerate() {
                maxima[part(j)] = maxima[part(j)].max(*z);
            }
            let seen = logits.iter().enumerate().filter(|(_, z)| **z > f64::NEG_INFINITY);
            let sum: f64 = seen.map(|(j, z)| libm::exp(z - maxima[part(j)])).sum();
            tail + sum - plain
        }
        DenominatorForm::Plus { term } => tail + term,
        DenominatorForm::Times { factor } => (plain + tail) * factor - plain,
        DenominatorForm::SinkEachTile { size } => tail * logits.len().div_ceil(size.max(1)) as f64,
        DenominatorForm::SinkTimes { factor } => tail * factor,
        DenominatorForm::SinkKeysCentered => {
            let row = usize::try_from(env.i).unwrap_or(0);
            tail * libm::exp(super::mean_score(head, row).0)
        }
        // The sink is another one already.
        DenominatorForm::SinkCapped => tail,
        DenominatorForm::TiesOnce => {
            let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let ties = logits.iter().filter(|z| z.total_cmp(&max).is_eq()).count();
            tail - (ties.max(1) - 1) as f64 * libm::exp(max - shift)
        }
        DenominatorForm::SinkAsNumber => sink?.abs(),
        DenominatorForm::SinkNotShifted => libm::exp(sink?),
        DenominatorForm::PaddingAtCap { multiple } => {
            let n_k = call.dims().n_k;
            let multiple = multiple.max(1);
            let count = (multiple - n_k % multiple) % multiple;
            tail + count as f64 * libm::exp(-head.softcap? - shift)
        }
    })
}

/// Weights that are no softmax; their sum.
fn reweighed(form: WeightForm, logits: &[f64], terms: &mut [f64], sum: f64) -> f64 {
    let seen = |z: f64| z > f64::NEG_INFINITY;
    match form {
        WeightForm::Uniform => sum,
        WeightForm::Sigmoid => {
            let of = |z: f64| if seen(z) { 1.0 / (1.0 + libm::exp(-z)) } else { 0.0 };
            terms.iter_mut().zip(logits).for_each(|(term, z)| *term = of(*z));
            1.0
        }
        WeightForm::Relu => {
            terms.iter_mut().zip(logits).for_each(|(term, z)| *term = z.max(0.0));
            terms.iter().sum()
        }
        WeightForm::Largest => {
            let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let first = logits.iter().position(|z| seen(max) && z.total_cmp(&max).is_eq());
            terms.fill(0.0);
            first.into_iter().for_each(|at| terms[at] = 1.0);
            1.0
        }
        WeightForm::Squared => {
            terms.iter_mut().for_each(|term| *term = (*term / sum) * (*term / sum));
            1.0
        }
    }
}

/// Keys by tiles, with a fault at some of them.
struct Tiles<'a> {
    size: usize,
    form: TileForm,
    at: TilePlace,
    call: &'a Call,
    env: &'a IndexEnv,
    /// What scores are multiplied with.
    scale: f64,
}

impl Tiles<'_> {
    /// What the keys add to the row sum, in units of the exponential of `shift`, and to each
    /// weight. One tile alone has no fault.
    fn sum(&self, logits: &[f64], terms: &mut [f64], shift: f64) -> f64 {
        let (size, n) = (self.size.max(1), logits.len());
        if n <= size {
            return terms.iter().sum();
        }
        let (mut max, mut sum) = (f64::NEG_INFINITY, 0.0);
        // By what each tile multiplies the weighted values before it, and its own besides.
        let mut factors = vec![(1.0, 1.0); n.div_ceil(size)];
        for (number, start) in (0..n).step_by(size).enumerate() {
            let end = (start + size).min(n);
            let own = logits[start..end].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let form = self.is_at(end, n).then_some(self.form);
            if own == f64::NEG_INFINITY {
                let is_nan = match form {
                    Some(TileForm::NoneYetIsNan) => max == f64::NEG_INFINITY,
                    other => other == Some(TileForm::NoneIsNan),
                };
                if is_nan {
                    terms.fill(f64::NAN);
                    return f64::NAN;
                }
                terms[start..end].fill(0.0);
                continue;
            }
            let (risen, is_first) = (max.max(own), max == f64::NEG_INFINITY);
            let is_kept = matches!(form, Some(TileForm::Lazy { most, .. }) if risen - max <= most);
            let rises = matches!(form, Some(TileForm::Lazy { slip: LazySlip::NotRescaled, .. }));
            let kept = if is_kept && !rises { max } else { risen };
            let [factor, passed] =
                [kept, risen].map(|to| if is_first { 1.0 } else { libm::exp(max - to) });
            let by = |factor: f64, what: TileFactor| match what {
                TileFactor::Right => factor,
                TileFactor::Missing => 1.0,
                TileFactor::Inverse => 1.0 / factor,
                TileFactor::ScaledTwice => libm::pow(factor, self.scale),
                TileFactor::BaseTwo => libm::pow(factor, std::f64::consts::LN_2),
            };
            let mut by_shift = kept;
            let (mut of_values, mut of_sum) = (factor, factor);
            match form {
                Some(TileForm::Rescaled { values, sum }) => {
                    (of_values, of_sum) = (by(factor, values), by(factor, sum));
                }
                Some(TileForm::Shifted { by: TileMax::Own }) => by_shift = own,
                Some(TileForm::Shifted { by: TileMax::Before }) if !is_first => by_shift = max,
                Some(TileForm::Lazy { slip, .. }) if is_kept => match slip {
                    LazySlip::Shifted => by_shift = risen,
                    LazySlip::Rescaled => (of_values, of_sum) = (passed, passed),
                    LazySlip::ValuesRescaled => of_values = passed,
                    LazySlip::SumRescaled => of_sum = passed,
                    LazySlip::NotRescaled => (of_values, of_sum) = (1.0, 1.0),
                },
                _ => {}
            }
            sum *= of_sum;
            factors[number].0 = of_values;
            for at in start..end {
                terms[at] = libm::exp(logits[at] - by_shift);
                sum += terms[at];
            }
            if self.is_divided() {
                factors[number].1 = 1.0 / sum;
            }
            max = kept;
        }
        let unit = if self.is_divided() { 1.0 } else { libm::exp(max - shift) };
        let mut behind = unit;
        for (tile, (before, own)) in terms.chunks_mut(size).zip(&factors).rev() {
            behind *= own;
            tile.iter_mut().for_each(|term| *term *= behind);
            behind *= before;
        }
        sum * unit
    }

    /// Whether the weighted values are divided at every tile, and no more at the end.
    fn is_divided(&self) -> bool {
        self.form == TileForm::Divided && self.at == TilePlace::Every
    }

    /// Whether the fault is at the tile that ends at a key.
    fn is_at(&self, end: usize, n: usize) -> bool {
        match self.at {
            TilePlace::Every => true,
            TilePlace::Last => end == n,
            TilePlace::Diagonal => {
                let (Dims { n_q, n_k, .. }, size) = (self.call.dims(), self.size.max(1));
                let row = usize::try_from(self.env.i).unwrap_or(0) / size * size;
                self.call.options.causal && end + n_q > row + n_k + 1
            }
        }
    }
}

/// `n` keys in the order of their parts, and where each part ends, from part 0 to the last one that
/// has a key; `None` where a part has no number, or too large a one.
fn parts(part: &IndexExpr, env: &IndexEnv, n: usize) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut part = part.along_keys(env);
    let number = |j: usize| {
        part(j).and_then(|number| usize::try_from(number).ok()).filter(|it| *it < MAX_PARTS)
    };
    let numbers: Vec<usize> = (0..n).map(number).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|j| numbers[*j]);
    let last = order.last().map_or(0, |j| numbers[*j]);
    let end = |number| order.partition_point(|j| numbers[*j] <= number);
    let ends = (0..=last).map(end).collect();
    Some((order, ends))
}

/// Keys in parts, each with a softmax of its own: by how much errors grow, and the sum of what
/// weighs the parts. `None` where nothing weighs anything. Scores were multiplied with `scale`; its
/// default is another number.
fn merged(
    ends: &[usize],
    (by, [scale, default]): (PartWeight, [f64; 2]),
    logits: &[f64],
    terms: &mut [f64],
) -> Option<(f64, f64)> {
    let n = logits.len();
    let whole = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // What maxima are multiplied with: scores are all 0 where the scale is.
    let factor = match by {
        PartWeight::MaxScaledTwice => scale,
        PartWeight::MaxOfDefaultScale if scale != 0.0 => default / scale,
        PartWeight::MaxNotScaled if scale != 0.0 => 1.0 / scale,
        _ => 0.0,
    };
    let max_of = |part: std::ops::Range<usize>| {
        logits[part].iter().copied().fold(f64::NEG_INFINITY, f64::max)
    };
    // The one whose product is largest.
    let largest = if factor < 0.0 {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let maxima = starts.zip(ends).map(|(start, end)| max_of(start..*end));
        maxima.filter(|max| max.is_finite()).fold(f64::INFINITY, f64::min)
    } else {
        whole
    };
    let (mut total, mut absolute) = (0.0, 0.0);
    let mut weights: Vec<(std::ops::Range<usize>, f64)> = Vec::new();
    let (mut start, mut all) = (0, f64::NEG_INFINITY);
    for end in ends {
        let part = start..*end;
        start = *end;
        let max = max_of(part.clone());
        if max == f64::NEG_INFINITY {
            terms[part].fill(0.0);
            if by == PartWeight::EmptyAsZero {
                let weight = libm::exp(-whole);
                (total, absolute) = (total + weight, absolute + weight);
            }
            continue;
        }
        let mut sum = 0.0;
        for at in part.clone() {
            terms[at] = libm::exp(logits[at] - max);
            sum += terms[at];
        }
        let lse = max + libm::log(sum);
        let before = all;
        all = max.max(before);
        all += libm::log(libm::exp(before - all) + libm::exp(lse - all));
        let weight = match by {
            PartWeight::Equal => 1.0,
            PartWeight::Lse => lse,
            PartWeight::Keys => {
                logits[part.clone()].iter().filter(|z| **z > f64::NEG_INFINITY).count() as f64
            }
            PartWeight::ExpMax => libm::exp(max - whole),
            PartWeight::OwnSum => sum,
            PartWeight::ShareOfAll if part.start == 0 => 1.0,
            PartWeight::ShareOfAll => {
                let share = 1.0 / (1.0 + libm::exp(all - lse));
                weights.iter_mut().for_each(|(_, before)| *before *= 1.0 - share);
                share
            }
            PartWeight::EmptyAsZero => libm::exp(lse - whole),
            PartWeight::TwoToLse => libm::exp2(lse - whole),
            PartWeight::ExpOfLog2 => libm::exp((lse - whole) * std::f64::consts::LOG2_E),
            PartWeight::LastOnly => f64::from(u8::from(part.end == n)),
            PartWeight::MaxScaledTwice
            | PartWeight::MaxOfDefaultScale
            | PartWeight::MaxNotScaled => sum * libm::exp(factor * (max - largest)),
            PartWeight::TwoToMax => sum * libm::exp2(max - whole),
        };
        terms[part.clone()].iter_mut().for_each(|term| *term /= sum);
        (total, absolute) = (total + weight, absolute + weight.abs());
        weights.push((part, weight));
    }
    if by == PartWeight::ShareOfAll {
        (total, absolute) = (1.0, 1.0);
    }
    if weights.is_empty() {
        return Some((1.0, 0.0));
    }
    let divisor = if total == 0.0 { 1.0 } else { total };
    for (part, weight) in weights {
        terms[part].iter_mut().for_each(|term| *term *= weight / divisor);
    }
    let grown = if by == PartWeight::Lse { 8.0 } else { 2.0 };
    Some(((absolute / divisor.abs()).max(1.0) * grown, total))
}
