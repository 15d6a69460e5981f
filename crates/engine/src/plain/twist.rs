//! What a twist changes, step by step.

use qkvet_spec::{
    Arithmetic, BoolTensor, Call, CallOption, CallOptions, DenominatorForm, Dims, Dtype, Grid,
    IndexEnv, IndexExpr, InputForm, LogitForm, Mask, MaskJoin, ScaleForm, SoftcapForm, Step,
    Tensor, Twist,
};

use crate::format::{round, unit_roundoff};
use crate::head::Head;
use crate::lowering::call_env;

/// The call with another input, if the twist takes one.
pub(super) fn inputs(twist: Option<&Twist>, call: &Call, reading: Mask) -> Option<Call> {
    let form = match twist? {
        Twist::Inputs { form } => form,
        Twist::Rounded { step, to } => {
            return changed_inputs(*step, call, |tensor| on_grid(tensor, *to));
        }
        Twist::Columns { times } => {
            return Some(Call { query: counted(times, call), ..call.clone() });
        }
        Twist::Clipped { step, limit } => {
            let clip = |x: f64| x.clamp(-limit.abs(), limit.abs());
            return changed_inputs(*step, call, |tensor| each(tensor, clip));
        }
        Twist::KeysAdded { size } => {
            return Some(Call { key: added(&call.key, *size), ..call.clone() });
        }
        Twist::MaskJoined { items, by } => return joined(*items, *by, call, reading),
        _ => return None,
    };
    let Dims { h_q, h_k, n_q, n_k, d_k, d_v, .. } = call.dims();
    let query = || exchanged(&call.query, [n_q, h_q], d_k);
    let key = || exchanged(&call.key, [n_k, h_k], d_k);
    let value = || exchanged(&call.value, [n_k, h_k], d_v);
    match form {
        InputForm::ScoresTransposed => None,
        InputForm::KeyReshaped => {
            Some(Call { key: exchanged(&call.key, [d_k, n_k], 1), ..call.clone() })
        }
        InputForm::QueryAsRows => Some(Call { query: query(), ..call.clone() }),
        InputForm::KeyAsRows => Some(Call { key: key(), ..call.clone() }),
        InputForm::ValueAsRows => Some(Call { value: value(), ..call.clone() }),
        InputForm::AllAsRows => {
            Some(Call { query: query(), key: key(), value: value(), ..call.clone() })
        }
        _ if call.key.shape != call.value.shape => None,
        InputForm::KeyForValue => Some(Call { value: call.key.clone(), ..call.clone() }),
        InputForm::ValueForKey => Some(Call { key: call.value.clone(), ..call.clone() }),
    }
}

/// The query, each column as often as it counts.
fn counted(times: &IndexExpr, call: &Call) -> Tensor {
    let (env, d_k) = (call_env(call), call.dims().d_k.max(1));
    let factor = |c: usize| {
        let env = IndexEnv { c: i64::try_from(c).unwrap_or(0), ..env };
        times.eval(&env).map_or(f64::NAN, |n| n as f64)
    };
    let factors: Vec<f64> = (0..d_k).map(factor).collect();
    let mut query = call.query.clone();
    for row in query.data.chunks_mut(d_k) {
        row.iter_mut().zip(&factors).for_each(|(x, factor)| *x *= factor);
    }
    query
}

/// The mean key of each tile of which it is taken away, one behind the other, and the mean of its
/// sizes.
pub(super) fn means(twist: Option<&Twist>, head: &Head<'_>) -> [Vec<f64>; 2] {
    let Some(Twist::KeysCentered { size }) = twist else { return Default::default() };
    let d = head.d_k.max(1);
    let mean = |of: fn(f64) -> f64| {
        let tiles = head.key.chunks((*size).max(1).saturating_mul(d));
        let of_tile = |tile: &[f64]| -> Vec<f64> {
            let rows = (tile.len() / d) as f64;
            (0..d)
                .map(|c| tile.iter().skip(c).step_by(d).map(|x| of(*x)).sum::<f64>() / rows)
                .collect()
        };
        tiles.flat_map(of_tile).collect()
    };
    [mean(|x| x), mean(f64::abs)]
}

/// The number of the tile of a key of which the mean is taken away.
pub(super) fn tile_of(twist: Option<&Twist>, j: usize) -> usize {
    if let Some(Twist::KeysCentered { size }) = twist { j / (*size).max(1) } else { 0 }
}

/// A tensor with another number for each.
fn each(tensor: &Tensor, of: impl Fn(f64) -> f64) -> Tensor {
    Tensor { data: tensor.data.iter().map(|x| of(*x)).collect(), ..tensor.clone() }
}

/// `(…, n, d)`, to each row those that are one tile, two tiles and so on before it.
fn added(tensor: &Tensor, size: usize) -> Tensor {
    let mut tensor = tensor.clone();
    let [.., n, d] = tensor.shape[..] else { return tensor };
    let step = size.max(1).saturating_mul(d.max(1));
    for head in tensor.data.chunks_mut((n * d).max(1)) {
        (step..head.len()).for_each(|at| head[at] += head[at - step]);
    }
    tensor
}

/// The call with changed inputs; `None` where the step is no input.
fn changed_inputs(step: Step, call: &Call, on: impl Fn(&Tensor) -> Tensor) -> Option<Call> {
    let (query, key, value) = (|| on(&call.query), || on(&call.key), || on(&call.value));
    let bias = || call.options.bias.as_ref().map(&on);
    Some(match step {
        Step::Query => Call { query: query(), ..call.clone() },
        Step::Key => Call { key: key(), ..call.clone() },
        Step::Value => Call { value: value(), ..call.clone() },
        Step::KeyAndValue => Call { key: key(), value: value(), ..call.clone() },
        Step::Inputs => Call { query: query(), key: key(), value: value(), ..call.clone() },
        Step::Bias => {
            Call { options: CallOptions { bias: bias(), ..call.options.clone() }, ..call.clone() }
        }
        _ => return None,
    })
}

/// The format of a grid that is one.
fn format_of(grid: Grid) -> Option<Dtype> {
    Some(match grid {
        Grid::Float32 => Dtype::Float32,
        Grid::Bfloat16 => Dtype::Bfloat16,
        Grid::Float16 => Dtype::Float16,
        Grid::Float8E4m3fn => Dtype::Float8E4m3fn,
        Grid::Float8E5m2 => Dtype::Float8E5m2,
        _ => return None,
    })
}

/// A tensor of `(…, n, d)` whose numbers are rounded to a grid.
fn on_grid(tensor: &Tensor, grid: Grid) -> Tensor {
    const LEVELS: f64 = 127.0;
    const BLOCK: usize = 32;
    if let Some(format) = format_of(grid) {
        return each(tensor, |x| round(x, format));
    }
    let mut tensor = tensor.clone();
    let [.., n, d] = tensor.shape[..] else { return tensor };
    let d = d.max(1);
    // The numbers that share a largest one.
    let group = |at: usize| match grid {
        Grid::Int8Blocks => at / d * d.div_ceil(BLOCK) + at % d / BLOCK,
        Grid::Int8Columns => at / (n * d).max(1) * d + at % d,
        Grid::Int8Heads => at / (n * d).max(1),
        Grid::Int8Tensor => 0,
        _ => at / d,
    };
    let groups = (0..tensor.data.len()).map(group).max().map_or(0, |last| last + 1);
    let mut largest = vec![0.0f64; groups];
    for (at, x) in tensor.data.iter().enumerate() {
        largest[group(at)] = largest[group(at)].max(x.abs());
    }
    // Halves are common among the quotients: where they round to is for the arithmetic to say.
    let arithmetic = Arithmetic::Ordinary.format(tensor.dtype);
    for (at, x) in tensor.data.iter_mut().enumerate() {
        let step = round(largest[group(at)] / LEVELS, arithmetic);
        if step > 0.0 {
            *x = round(libm::rint(round(*x / step, arithmetic)) * step, arithmetic);
        }
    }
    tensor
}

/// The call whose masks of heads or items are joined; `None` where there are no several.
fn joined(items: bool, by: MaskJoin, call: &Call, reading: Mask) -> Option<Call> {
    let mask = call.options.mask.as_ref()?;
    let [b, h, n_q, n_k] = mask.shape[..] else { return None };
    let (axis, stride) = if items { (b, h * n_q * n_k) } else { (h, n_q * n_k) };
    if axis < 2 {
        return None;
    }
    let data = (0..mask.data.len())
        .map(|at| {
            let own = at / stride % axis;
            let hides = reading == Mask::TrueHides;
            let shows = |other: usize| mask.data[at + other * stride - own * stride] != hides;
            let is_shown = match by {
                MaskJoin::All => (0..axis).all(shows),
                MaskJoin::Any => (0..axis).any(shows),
                MaskJoin::AllBefore => (0..=own).all(shows),
            };
            is_shown != hides
        })
        .collect();
    let mask = Some(BoolTensor { data, ..mask.clone() });
    Some(Call { options: CallOptions { mask, ..call.options.clone() }, ..call.clone() })
}

/// A number of a step that is rounded, and its error in roundoffs of the format of the call: near
/// the middle of two numbers of the grid either may come out.
pub(super) fn rounded(twist: Option<&Twist>, at: Step, dtype: Dtype, x: &mut f64, error: &mut f64) {
    let Some(Twist::Rounded { step, to }) = twist else { return };
    let Some(format) = format_of(*to).filter(|_| *step == at && x.is_finite()) else { return };
    let unit = unit_roundoff(dtype);
    let own = round(*x, format);
    let [low, high] = [-1.0, 1.0].map(|sign| round(*x + sign * *error * unit, format));
    if own.is_finite() && !(low.is_finite() && high.is_finite()) {
        // Nothing is said of what may overflow or not.
        *x = f64::INFINITY;
        return;
    }
    // What is on the grid either way has no error left.
    *error = (own - low).abs().max((high - own).abs()) / unit;
    *x = own;
}

/// The end of the first keys in front of a tile that none of some queries sees.
pub(super) fn end(
    twist: Option<&Twist>,
    head: &Head<'_>,
    queries: std::ops::Range<usize>,
    of_head: bool,
) -> usize {
    let Some(Twist::StopsAtHiddenTile { size, by_head }) = twist else { return head.n_k };
    let size = (*size).max(1);
    let is_hidden = |start: &usize| {
        let mut keys = *start..(*start + size).min(head.n_k);
        keys.all(|j| queries.clone().all(|i| !head.sees(i, j)))
    };
    let mut starts = (0..head.n_k).step_by(size).filter(|_| *by_head == of_head);
    starts.find(is_hidden).unwrap_or(head.n_k)
}

/// Blocks of `m × n` parts of `width` numbers, read as such and transposed.
fn exchanged(tensor: &Tensor, [m, n]: [usize; 2], width: usize) -> Tensor {
    let mut data = Vec::with_capacity(tensor.data.len());
    for block in tensor.data.chunks(m * n * width) {
        for at in 0..m * n {
            let from = (at % m * n + at / m) * width;
            data.extend_from_slice(&block[from..from + width]);
        }
    }
    Tensor { data, ..tensor.clone() }
}

pub(super) fn is_transposed(twist: Option<&Twist>) -> bool {
    matches!(twist, Some(Twist::Inputs { form: InputForm::ScoresTransposed }))
}

/// The call without the option whose hidden keys have a logit, or that one of two sums leaves out.
pub(super) fn without_option(twist: Option<&Twist>, call: &Call) -> Option<Call> {
    let (Twist::Hidden { option, .. }
    | Twist::HiddenAtCap { option }
    | Twist::Without { option, .. }) = twist?
    else {
        return None;
    };
    let mut open = call.clone();
    open.options.clear(*option);
    Some(open)
}

/// The logit of a key that the option hides.
pub(super) fn hidden(twist: Option<&Twist>, softcap: Option<f64>, z: f64) -> f64 {
    match twist {
        Some(Twist::HiddenAtCap { .. }) => softcap.map_or(f64::NEG_INFINITY, |cap| -cap.abs()),
        Some(Twist::Hidden { score, added: true, .. }) => z + score,
        Some(Twist::Hidden { score, added: false, .. }) => *score,
        _ => f64::NEG_INFINITY,
    }
}

/// The factor on an addend or a sink.
pub(super) fn times(twist: Option<&Twist>, of: CallOption) -> f64 {
    match twist {
        Some(Twist::Times { option, factor }) if *option == of => *factor,
        _ => 1.0,
    }
}

/// The scale of a head.
pub(super) fn scale(twist: Option<&Twist>, right: f64) -> f64 {
    let Some(Twist::Scale { form }) = twist else {
        return right * times(twist, CallOption::Scale);
    };
    match form {
        ScaleForm::Root => libm::sqrt(right.abs()).copysign(right),
        ScaleForm::Squared => right * right,
        ScaleForm::Cubed => right * right * right,
        ScaleForm::Inverse => 1.0 / right,
        ScaleForm::Negative => -right,
    }
}

/// What ALiBi's slope is multiplied with.
pub(super) fn distance(twist: Option<&Twist>, env: &IndexEnv, right: f64) -> f64 {
    match twist {
        Some(Twist::AlibiDistance { distance }) => {
            distance.eval(env).map_or(f64::NAN, |distance| distance as f64)
        }
        _ => right,
    }
}

/// The sink of a row of a head.
pub(super) fn sink(twist: Option<&Twist>, call: &Call, env: &IndexEnv, right: f64) -> f64 {
    match (twist, &call.options.sinks) {
        (Some(Twist::SinkOf { head }), Some(sinks)) => {
            let at = head.eval(env).and_then(|head| usize::try_from(head).ok());
            at.and_then(|at| sinks.data.get(at)).copied().unwrap_or(f64::NAN)
        }
        (Some(Twist::Denominator { form: DenominatorForm::SinkCapped }), _) => {
            call.options.softcap.map_or(right, |cap| cap * libm::tanh(right / cap))
        }
        _ => right * times(twist, CallOption::Sinks),
    }
}

/// The bias of a cell.
pub(super) fn bias(twist: Option<&Twist>, call: &Call, env: IndexEnv, bias: f64) -> f64 {
    match twist {
        Some(Twist::BiasCells { cells, value })
            if call.options.bias.is_some() && cells.holds(&env) =>
        {
            value.eval(&env).map_or(f64::NAN, |value| value as f64)
        }
        _ => bias * times(twist, CallOption::Bias),
    }
}

pub(super) fn softcap(twist: Option<&Twist>, x: f64, cap: f64, error: f64) -> (f64, f64) {
    let cap = cap * times(twist, CallOption::Softcap);
    let right = cap * libm::tanh(x / cap);
    let Some(Twist::Softcap { form }) = twist else {
        return (right, error + 8.0 * right.abs());
    };
    // How much an error of the score may grow.
    let (value, grown) = match form {
        SoftcapForm::TimesScore => (x * libm::tanh(x / cap), 1.0 + x.abs() / cap),
        SoftcapForm::NotDivided => (cap * libm::tanh(x), cap.abs()),
        SoftcapForm::NotMultiplied => (libm::tanh(x / cap), 1.0 / cap.abs()),
        SoftcapForm::Clamped => (x.clamp(-cap.abs(), cap.abs()), 1.0),
        SoftcapForm::Rational => (x / (1.0 + x.abs() / cap), 1.0),
        SoftcapForm::Inverted => (cap * libm::tanh(x * cap), cap * cap),
    };
    (value, error * grown.max(1.0) + 8.0 * value.abs())
}

pub(super) fn logit(twist: Option<&Twist>, j: usize, z: &mut f64, error: &mut f64) {
    let Some(Twist::Logits { form }) = twist else { return };
    if *z == f64::NEG_INFINITY {
        // A limit from below shows what a bias of −∞ hides; nothing else does.
        if let LogitForm::Clipped { limit } = form {
            *z = -limit.abs();
        }
        return;
    }
    match form {
        LogitForm::Times { factor } => {
            *z *= factor;
            *error *= factor.abs();
        }
        LogitForm::Clipped { limit } => *z = z.clamp(-limit.abs(), limit.abs()),
        LogitForm::ClippedAbove { limit } => *z = z.min(*limit),
        LogitForm::TimesEachTile { factor, size } => {
            let power = libm::pow(*factor, (j / (*size).max(1)) as f64);
            *z *= power;
            *error *= power.abs();
        }
        LogitForm::Absolute => *z = z.abs(),
        LogitForm::ZeroHidden if *z == 0.0 => *z = f64::NEG_INFINITY,
        LogitForm::ZeroHidden => {}
        LogitForm::Squared => {
            *error *= 2.0 * z.abs() + 1.0;
            *z *= *z;
        }
    }
    if z.is_finite() {
        *error += z.abs();
    }
}

/// A cell of the output, if the twist changes it.
pub(super) fn output_cells(
    twist: Option<&Twist>,
    env: IndexEnv,
    c: usize,
    value: f64,
    error: f64,
) -> (f64, f64) {
    match twist {
        Some(Twist::OutputWhere { cells, value: other })
            if cells.holds(&IndexEnv { c: i64::try_from(c).unwrap_or(0), ..env }) =>
        {
            (*other, 0.0)
        }
        Some(Twist::OutputTimes { factor }) => {
            (value * factor, error * factor.abs() + 2.0 * (value * factor).abs())
        }
        _ => (value, error),
    }
}
