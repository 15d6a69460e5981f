//! What a target does besides computing: state between calls, forms of results.

use qkvet_spec::{Behavior, BoolTensor, Call, CallOptions, Dtype, Output, Tensor};

use crate::affects::AffectedElements;
use crate::format::{round, unit_roundoff};
use crate::lowering::ResultName;

/// What a target remembers of earlier calls.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    calls: usize,
    buffer: Vec<f64>,
    answers: Vec<(Call, Output)>,
    mask: Option<BoolTensor>,
    scale: Option<f64>,
    lengths: Option<Vec<usize>>,
}

/// The answer to a call, nothing else happening.
pub(super) fn plain(call: &Call, computed: impl Fn(ResultName) -> Tensor) -> Output {
    Output {
        weights: call.return_weights.then(|| computed(ResultName::Weights)),
        lse: call.return_lse.then(|| computed(ResultName::Lse)),
        ..Output::of(computed(ResultName::Output))
    }
}

/// Whether two calls are alike in everything but the numbers.
fn is_alike(x: &Call, y: &Call) -> bool {
    let shapes = |call: &Call| {
        [&call.query, &call.key, &call.value].map(|tensor| (tensor.dtype, tensor.shape.clone()))
    };
    let form =
        |call: &Call| (shapes(call), call.options.on(), call.return_weights, call.return_lse);
    form(x) == form(y)
}

impl State {
    /// The answer of a target with this behavior where the call is struck.
    pub(super) fn answer(
        &mut self,
        behavior: Behavior,
        affects: &AffectedElements,
        call: &Call,
        computed: impl Fn(&Call, ResultName) -> Tensor,
    ) -> Output {
        self.calls += 1;
        let plainly = |call: &Call| plain(call, |want| computed(call, want));
        if *affects == AffectedElements::Nothing {
            let output = plainly(call);
            self.buffer.clone_from(&output.output.data);
            return output;
        }
        match behavior {
            Behavior::InputsOverwritten => Output { inputs_unchanged: false, ..plainly(call) },
            Behavior::NotRepeatable => {
                let mut output = plainly(call);
                if self.calls.is_multiple_of(2) {
                    // The smallest visible change: the other neighbor of a result that was rounded.
                    let factor = 1.0 + 2.0 * unit_roundoff(call.dtype());
                    output
                        .output
                        .data
                        .iter_mut()
                        .for_each(|x| *x = round(*x * factor, call.dtype()));
                }
                output
            }
            Behavior::RowsUnwritten => self.unwritten(plainly(call), affects),
            Behavior::AnswerCached => {
                if let Some((_, answer)) =
                    self.answers.iter().find(|(known, _)| is_alike(known, call))
                {
                    return answer.clone();
                }
                let output = plainly(call);
                self.answers.push((call.clone(), output.clone()));
                output
            }
            Behavior::MaskKept => {
                let kept = self.mask.as_ref().filter(|kept| {
                    call.options.mask.as_ref().is_some_and(|own| own.shape == kept.shape)
                });
                let mask = kept.cloned().or_else(|| call.options.mask.clone());
                self.mask.clone_from(&mask);
                plainly(&with(call, CallOptions { mask, ..call.options.clone() }))
            }
            Behavior::ScaleKept => {
                let scale = if self.calls == 1 { call.options.scale } else { self.scale };
                self.scale = scale;
                plainly(&with(call, CallOptions { scale, ..call.options.clone() }))
            }
            Behavior::LengthsKept => {
                let own = &call.options.key_lengths;
                let kept = self
                    .lengths
                    .clone()
                    .filter(|kept| own.as_ref().is_some_and(|own| own.len() == kept.len()));
                let key_lengths = kept.or_else(|| own.clone());
                if own.is_some() {
                    self.lengths.clone_from(&key_lengths);
                }
                // A cache is never longer than it is.
                let n_k = call.dims().n_k;
                let key_lengths =
                    key_lengths.map(|lengths| lengths.into_iter().map(|n| n.min(n_k)).collect());
                plainly(&with(call, CallOptions { key_lengths, ..call.options.clone() }))
            }
            Behavior::RightAtFirst if self.calls > 1 => plainly(&halved(call)),
            // A call that does not fit is made to fit before it comes here.
            Behavior::RightAtFirst | Behavior::MisfitAnswered(_) => plainly(call),
            Behavior::HeadsLast => heads_last(plainly(call)),
            Behavior::WideOutput => {
                let output = plainly(call);
                Output { output: Tensor { dtype: Dtype::Float32, ..output.output }, ..output }
            }
        }
    }

    /// The struck rows hold what the buffer held.
    fn unwritten(&mut self, output: Output, affects: &AffectedElements) -> Output {
        let mut data = output.output.data.clone();
        let width = output.output.shape.last().copied().unwrap_or(1).max(1);
        let is_struck = |row: usize| match affects {
            AffectedElements::Rows(rows) => rows[row],
            AffectedElements::Call | AffectedElements::Nothing => true,
        };
        for (at, x) in data.iter_mut().enumerate().filter(|(at, _)| is_struck(at / width)) {
            *x = self.buffer.get(at).copied().unwrap_or(f64::NAN);
        }
        self.buffer.clone_from(&output.output.data);
        Output { output: Tensor { data, ..output.output }, ..output }
    }
}

fn with(call: &Call, options: CallOptions) -> Call {
    Call { options, ..call.clone() }
}

/// The call with the second half of the keys hidden; that of one key as it is.
fn halved(call: &Call) -> Call {
    let dims = call.dims();
    let half = dims.n_k.div_ceil(2);
    let key_lengths = if call.options.packed.is_some() { None } else { Some(vec![half; dims.b]) };
    with(call, CallOptions { key_lengths, ..call.options.clone() })
}

/// `(b, h_q, n_q, d_v)` with the axes of heads and queries exchanged.
fn heads_last(output: Output) -> Output {
    let [b, h, n, d] = output.output.shape[..] else { return output };
    let mut data = Vec::with_capacity(output.output.data.len());
    for at in 0..b * n * h {
        let (item, i, head) = (at / (n * h), at / h % n, at % h);
        let start = ((item * h + head) * n + i) * d;
        data.extend_from_slice(&output.output.data[start..start + d]);
    }
    Output { output: Tensor { shape: vec![b, n, h, d], data, ..output.output }, ..output }
}
