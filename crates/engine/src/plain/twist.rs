//! What a twist changes, step by step.

use qkvet_spec::{
    Call, CallOption, Dims, IndexEnv, InputForm, LogitForm, SoftcapForm, Tensor, Twist,
};

/// The call with another input, if the twist takes one.
pub(super) fn inputs(twist: Option<&Twist>, call: &Call) -> Option<Call> {
    let Some(Twist::Inputs { form }) = twist else { return None };
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

/// The call without the option whose hidden keys have a logit.
pub(super) fn without_option(twist: Option<&Twist>, call: &Call) -> Option<Call> {
    let (Twist::Hidden { option, .. } | Twist::HiddenAtCap { option }) = twist? else {
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
        LogitForm::Squared => {
            *error *= 2.0 * z.abs() + 1.0;
            *z *= *z;
        }
    }
    *error += z.abs();
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
