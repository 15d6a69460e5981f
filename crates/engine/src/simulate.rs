//! The simulator of executions: runs a meaning in the formats and habits of an execution, with every rounding in its place.
//!
//! This is a target, not a reference: its results are judged like anybody's.

use qkvet_spec::{
    Behavior, Call, Dtype, EmptyRow, Execution, Fault, Meaning, Normalization, Output, Response, Store, Target, Tensor,
};

use crate::format::round;
use crate::head::{Head, Visible};
use crate::lowering::{Maps, Want, index_env, lower};

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
    fault.when.as_ref().is_none_or(|when| when.holds(&index_env(call)))
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
            inputs_unchanged: behavior != Some(Behavior::InputsOverwritten),
        }))
    }
}

/// Runs one call.
pub fn simulate(meaning: &Meaning, execution: &Execution, call: &Call, want: Want) -> Tensor {
    let (dims, dtype) = (call.dims(), call.dtype());
    let inner = if want == Want::Output { dims.d_v } else { dims.n_k };
    let width = if want == Want::Output { Maps::new(meaning, call).output_width() } else { inner };
    let mut data = Vec::with_capacity(dims.b * dims.h_q * dims.n_q * width);
    for item in 0..dims.b {
        for h in 0..dims.h_q {
            let lowered = lower(meaning, call, item, h, want);
            let head = lowered.head();
            let result = match execution.arithmetic.format(dtype) {
                Dtype::Float64 => run(&head, execution, dtype, |x| x),
                #[expect(clippy::cast_possible_truncation, reason = "rounding to float32 is the point")]
                Dtype::Float32 => run(&head, execution, dtype, |x| f64::from(x as f32)),
                narrow => run(&head, execution, dtype, |x| round(x, narrow)),
            };
            for row in 0..dims.n_q {
                data.extend((0..width).map(|c| if c < inner { result[row * inner + c] } else { 0.0 }));
            }
        }
    }
    Tensor { dtype, shape: vec![dims.b, dims.h_q, dims.n_q, width], data }
}

/// One head, every operation followed by `r`. Products and sums of two numbers of a format with `2p + 2 ≤ 53` are rounded
/// correctly through binary64.
fn run(head: &Head<'_>, execution: &Execution, dtype: Dtype, r: impl Fn(f64) -> f64 + Copy) -> Vec<f64> {
    let (n_q, n_k) = (head.n_q, head.n_k);
    let scale = r(head.scale.value);
    let mut logits = vec![f64::NEG_INFINITY; n_q * n_k];
    for i in 0..n_q {
        let query = &head.query[i * head.d_k..(i + 1) * head.d_k];
        for j in (0..n_k).filter(|j| sees(head, i, *j)) {
            let key = &head.key[j * head.d_k..(j + 1) * head.d_k];
            let dot = query.iter().zip(key).fold(0.0, |sum, (q, k)| r(sum + r(q * k)));
            let mut z = r(scale * dot);
            if let Some(bias) = &head.bias {
                z = r(z + r(bias.values[i * n_k + j]));
            }
            logits[i * n_k + j] = if execution.store_scores == Store::Call { round(z, dtype) } else { z };
        }
    }
    match head.normalization {
        Normalization::OverQueries => over_queries(head, &logits, execution, dtype, r),
        Normalization::OverKeys | Normalization::None => {
            (0..n_q).flat_map(|i| row(head, &logits[i * n_k..(i + 1) * n_k], execution, dtype, r)).collect()
        }
    }
}

fn sees(head: &Head<'_>, i: usize, j: usize) -> bool {
    match head.visible {
        Visible::All => true,
        Visible::Prefix(prefix) => j < prefix[i],
        Visible::Mask(mask) => mask[i * head.n_k + j],
    }
}

fn stored_weight(weight: f64, execution: &Execution, dtype: Dtype) -> f64 {
    if execution.store_weights == Store::Call { round(weight, dtype) } else { weight }
}

/// Softmax over the keys of one query, then the weighted sum of the values.
fn row(head: &Head<'_>, logits: &[f64], execution: &Execution, dtype: Dtype, r: impl Fn(f64) -> f64) -> Vec<f64> {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
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
    let total = exponentials.iter().fold(0.0, |sum, e| r(sum + e));
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
    let empty = |i: usize| (0..head.n_k).all(|j| !sees(head, i, j)) && head.empty_row == EmptyRow::Nan;
    (0..head.n_q * head.d_v)
        .map(|at| if empty(at / head.d_v.max(1)) { f64::NAN } else { round(sums[at], dtype) })
        .collect()
}
