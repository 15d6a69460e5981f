//! The simulator of executions: runs a meaning in the formats and habits of an execution, with every rounding in its place.
//!
//! This is a target, not a reference: its results are judged like anybody's.

use qkvet_spec::{
    Behavior, Call, Dtype, EmptyLse, EmptyRow, Execution, Fault, LseBase, Meaning, Normalization, Output, Response,
    Store, Target, Tensor,
};

use crate::format::round;
use crate::head::{Head, Stage};
use crate::lowering::{Maps, Want, index_env, lower, width_of};

/// A target built from data: a meaning and an execution, struck by a fault where its trigger holds.
#[derive(Clone, Debug)]
pub struct Simulator {
    meaning: Meaning,
    execution: Execution,
    fault: Option<Fault>,
    calls: usize,
}

impl Simulator {
    /// A simulator of `meaning` under `execution`.
    pub fn new(meaning: Meaning, execution: Execution) -> Self {
        Self { meaning, execution, fault: None, calls: 0 }
    }

    /// The same with a fault.
    pub fn with_fault(self, fault: Fault) -> Self {
        Self { fault: Some(fault), ..self }
    }
}

/// The meaning of a call when `fault` strikes it, or `base` where its trigger does not hold.
pub fn faulty_meaning(base: &Meaning, fault: &Fault, call: &Call) -> Meaning {
    if strikes(fault, call) { fault.meaning.apply(base) } else { base.clone() }
}

fn strikes(fault: &Fault, call: &Call) -> bool {
    fault.when.as_ref().is_none_or(|when| when.holds(&index_env(call.dims(), call.dtype(), &call.options)))
}

impl Target for Simulator {
    fn call(&mut self, call: &Call) -> Response {
        self.calls += 1;
        let fault = self.fault.as_ref().filter(|fault| strikes(fault, call));
        let meaning = fault.map_or_else(|| self.meaning.clone(), |fault| fault.meaning.apply(&self.meaning));
        let execution = fault.map_or_else(|| self.execution.clone(), |fault| fault.execution.apply(&self.execution));
        let behavior = fault.and_then(|fault| fault.behavior);
        let mut output = simulate(&meaning, &execution, call, Want::Output);
        if behavior == Some(Behavior::NotRepeatable) && self.calls.is_multiple_of(2) {
            // The smallest visible change: the other neighbor of a result that was rounded.
            for x in &mut output.data {
                *x = round(*x * (1.0 + 2.0 * crate::format::unit_roundoff(call.dtype())), call.dtype());
            }
        }
        Response::Output(Box::new(Output {
            output,
            weights: call.return_weights.then(|| simulate(&meaning, &execution, call, Want::Weights)),
            lse: call.return_lse.then(|| simulate(&meaning, &execution, call, Want::Lse)),
            inputs_unchanged: behavior != Some(Behavior::InputsOverwritten),
        }))
    }
}

/// Runs one call.
pub fn simulate(meaning: &Meaning, execution: &Execution, call: &Call, want: Want) -> Tensor {
    let (dims, dtype) = (call.dims(), call.dtype());
    let inner = width_of(want, dims);
    let width = if want == Want::Output { Maps::new(meaning, call).output_width() } else { inner };
    let arithmetic = execution.arithmetic.format(dtype);
    let how = How { meaning, execution, dtype, want };
    let mut data = Vec::with_capacity(dims.b * dims.h_q * dims.n_q * width);
    for item in 0..dims.b {
        for h in 0..dims.h_q {
            let lowered = lower(meaning, call, item, h, want);
            let head = lowered.head();
            let result = match arithmetic {
                Dtype::Float64 => run(&head, &how, |x| x),
                #[expect(clippy::cast_possible_truncation, reason = "rounding to float32 is the point")]
                Dtype::Float32 => run(&head, &how, |x| f64::from(x as f32)),
                narrow => run(&head, &how, |x| round(x, narrow)),
            };
            for row in 0..dims.n_q {
                data.extend((0..width).map(|c| if c < inner { result[row * inner + c] } else { 0.0 }));
            }
        }
    }
    let leads = [dims.b, dims.h_q, dims.n_q];
    match want {
        Want::Output | Want::Weights => Tensor { dtype, shape: [&leads[..], &[width]].concat(), data },
        Want::Lse => Tensor { dtype: arithmetic, shape: leads.to_vec(), data },
    }
}

/// What is computed, and how.
#[derive(Clone, Copy)]
struct How<'a> {
    meaning: &'a Meaning,
    execution: &'a Execution,
    dtype: Dtype,
    want: Want,
}

/// One head, every operation followed by `r`. Products and sums of two numbers of a format with `2p + 2 ≤ 53` are rounded
/// correctly through binary64.
fn run(head: &Head<'_>, how: &How<'_>, r: impl Fn(f64) -> f64 + Copy) -> Vec<f64> {
    let How { execution, dtype, .. } = *how;
    let (n_q, n_k) = (head.n_q, head.n_k);
    let scale = r(head.scale.value);
    let mut logits = vec![f64::NEG_INFINITY; n_q * n_k];
    for i in 0..n_q {
        let query = &head.query[i * head.d_k..(i + 1) * head.d_k];
        for j in (0..n_k).filter(|j| head.sees(i, *j)) {
            let key = &head.key[j * head.d_k..(j + 1) * head.d_k];
            let dot = query.iter().zip(key).fold(0.0, |sum, (q, k)| r(sum + r(q * k)));
            let mut z = dot;
            for stage in head.stages {
                z = match (stage, head.softcap) {
                    (Stage::Scale, _) => r(scale * z),
                    (Stage::Softcap, Some(cap)) => r(r(cap) * r(libm::tanh(r(z / r(cap))))),
                    (Stage::Softcap, None) => z,
                    (Stage::Bias, _) => {
                        let z = head.bias.map_or(z, |bias| r(z + r(bias[i * n_k + j])));
                        head.slopes_of(i).map_or(z, |alibi| {
                            let distance = (i as i64 + alibi.offset - j as i64).unsigned_abs() as f64;
                            r(z + r(-r(alibi.slope) * r(distance)))
                        })
                    }
                };
            }
            logits[i * n_k + j] = if execution.store_scores == Store::Call { round(z, dtype) } else { z };
        }
    }
    let rows = || (0..n_q).map(|i| &logits[i * n_k..(i + 1) * n_k]);
    match (how.want, head.normalization) {
        (Want::Lse, _) => rows().map(|logits| log_sum_exp(head, logits, how, r)).collect(),
        (_, Normalization::OverQueries) => over_queries(head, &logits, execution, dtype, r),
        (_, Normalization::OverKeys | Normalization::None) => {
            rows().flat_map(|logits| row(head, logits, execution, dtype, r)).collect()
        }
    }
}

fn stored_weight(weight: f64, execution: &Execution, dtype: Dtype) -> f64 {
    if execution.store_weights == Store::Call { round(weight, dtype) } else { weight }
}

/// `ln Σ e^z` over the keys of one query and the sink.
fn log_sum_exp(head: &Head<'_>, logits: &[f64], how: &How<'_>, r: impl Fn(f64) -> f64) -> f64 {
    let all = || logits.iter().copied().chain(joining_sink(head).map(&r));
    let max = all().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return match how.meaning.empty_lse {
            EmptyLse::NegativeInfinity => max,
            EmptyLse::Infinity => -max,
        };
    }
    let shift = if how.execution.subtract_max { max } else { 0.0 };
    let total = all().fold(0.0, |sum, z| r(sum + r(libm::exp(r(z - shift)))));
    let natural = r(shift + r(libm::log(total)));
    match how.meaning.lse_base {
        LseBase::Natural => natural,
        LseBase::Two => r(natural * r(std::f64::consts::LOG2_E)),
    }
}

/// The sink. It joins a sum, and without division there is none.
fn joining_sink(head: &Head<'_>) -> Option<f64> {
    head.sink.filter(|_| head.normalization != Normalization::None)
}

/// Softmax over the keys of one query, then the weighted sum of the values.
fn row(head: &Head<'_>, logits: &[f64], execution: &Execution, dtype: Dtype, r: impl Fn(f64) -> f64) -> Vec<f64> {
    let sink = joining_sink(head).map(&r);
    let max = logits.iter().copied().fold(sink.unwrap_or(f64::NEG_INFINITY), f64::max);
    let mut sums = vec![0.0; head.d_v];
    if max == f64::NEG_INFINITY {
        return match head.empty_row {
            EmptyRow::Zero => sums,
            EmptyRow::Nan => vec![f64::NAN; head.d_v],
            EmptyRow::Mean if head.n_k == 0 => sums,
            EmptyRow::Mean => {
                for value in head.value.chunks_exact(head.d_v.max(1)) {
                    sums.iter_mut().zip(value).for_each(|(sum, v)| *sum = r(*sum + v));
                }
                sums.into_iter().map(|sum| round(r(sum / head.n_k as f64), dtype)).collect()
            }
        };
    }
    let shift = if execution.subtract_max { max } else { 0.0 };
    let exponentials: Vec<f64> = logits.iter().map(|z| r(libm::exp(r(z - shift)))).collect();
    let of_sink = sink.map_or(0.0, |sink| r(libm::exp(r(sink - shift))));
    let total = exponentials.iter().fold(of_sink, |sum, e| r(sum + e));
    for (j, e) in exponentials.iter().enumerate() {
        let weight = stored_weight(*e, execution, dtype);
        let value = &head.value[j * head.d_v..(j + 1) * head.d_v];
        sums.iter_mut().zip(value).for_each(|(sum, v)| *sum = r(*sum + r(weight * v)));
    }
    let divisor = if head.normalization == Normalization::None { 1.0 } else { total };
    sums.into_iter().map(|sum| round(r(sum / divisor), dtype)).collect()
}

/// Softmax over the queries of each key, then the weighted sum of the values.
fn over_queries(
    head: &Head<'_>,
    logits: &[f64],
    execution: &Execution,
    dtype: Dtype,
    r: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let mut sums = vec![0.0; head.n_q * head.d_v];
    for j in 0..head.n_k {
        let column: Vec<f64> = (0..head.n_q).map(|i| logits[i * head.n_k + j]).collect();
        let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if max == f64::NEG_INFINITY {
            continue;
        }
        let exponentials: Vec<f64> = column.iter().map(|z| r(libm::exp(r(z - max)))).collect();
        let total = exponentials.iter().fold(0.0, |sum, e| r(sum + e));
        let value = &head.value[j * head.d_v..(j + 1) * head.d_v];
        for (i, e) in exponentials.iter().enumerate() {
            let weight = stored_weight(r(e / total), execution, dtype);
            let sums = &mut sums[i * head.d_v..(i + 1) * head.d_v];
            sums.iter_mut().zip(value).for_each(|(sum, v)| *sum = r(*sum + r(weight * v)));
        }
    }
    let empty = |i: usize| (0..head.n_k).all(|j| !head.sees(i, j)) && head.empty_row == EmptyRow::Nan;
    (0..head.n_q * head.d_v)
        .map(|at| if empty(at / head.d_v.max(1)) { f64::NAN } else { round(sums[at], dtype) })
        .collect()
}
