//! `builtin:flash`: attention as GPU kernels compute it, in one pass over tiles of keys with a
//! running maximum and sum.
//!
//! Written from the recurrence of FlashAttention-2. It shares nothing with the engine's other
//! attention but the rounding of stored numbers, so that the two can be wrong in different ways
//! only.

mod check;
mod reach;
mod real;

use qkvet_spec::{BoolTensor, Call, CallOptions, Dims, Dtype, Output, Response, Target, Tensor};

use self::check::{Rejected, check_call};
use self::reach::Reach;
use self::real::Real;
use crate::format::round;

/// Keys in a tile.
const TILE: usize = 64;
/// Partial sums of a dot product.
const LANES: usize = 8;

/// The built-in target `flash`: 32-bit arithmetic (64-bit for `float64`), probabilities of a tile
/// and results in the format of the call, the log-sum-exp in that of the arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flash;

impl Target for Flash {
    fn call(&mut self, call: &Call) -> Response {
        if let Err(reason) = check_call(call) {
            return Response::Refused(reason.to_string().into());
        }
        match call.dtype() {
            Dtype::Float64 => attention::<f64>(call),
            Dtype::Float32 | Dtype::Bfloat16 | Dtype::Float16 => attention::<f32>(call),
            narrow @ (Dtype::Float8E4m3fn | Dtype::Float8E5m2) => {
                Response::Unsupported(Rejected::Format(narrow).to_string().into())
            }
        }
    }
}

/// Steps in memory along `(b, h, i, j)` of an array that broadcasts to the scores.
#[derive(Clone, Copy)]
struct Broadcast([usize; 4]);

impl Broadcast {
    fn new(shape: &[usize]) -> Self {
        let mut steps = [0; 4];
        let mut step = 1;
        for (axis, n) in (0..4).rev().zip(shape.iter().rev()) {
            steps[axis] = if *n == 1 { 0 } else { step };
            step *= n;
        }
        Self(steps)
    }

    fn row(self, b: usize, h: usize, i: usize) -> usize {
        b * self.0[0] + h * self.0[1] + i * self.0[2]
    }
}

/// A call prepared for the kernel.
struct Kernel<'a, T> {
    dims: Dims,
    dtype: Dtype,
    query: Vec<T>,
    key: Vec<T>,
    value: Vec<T>,
    scale: T,
    options: &'a CallOptions,
    softcap: Option<T>,
    mask: Option<(&'a BoolTensor, Broadcast)>,
    bias: Option<(&'a Tensor, Broadcast)>,
}

fn attention<T: Real>(call: &Call) -> Response {
    let dims = call.dims();
    let load = |tensor: &Tensor| tensor.data.iter().map(|x| T::of(*x)).collect();
    let kernel = Kernel::<T> {
        dims,
        dtype: call.dtype(),
        query: load(&call.query),
        key: load(&call.key),
        value: load(&call.value),
        scale: T::of(call.options.scale.unwrap_or_else(|| 1.0 / (dims.d_k as f64).sqrt())),
        options: &call.options,
        softcap: call.options.softcap.map(T::of),
        mask: call.options.mask.as_ref().map(|mask| (mask, Broadcast::new(&mask.shape))),
        bias: call.options.bias.as_ref().map(|bias| (bias, Broadcast::new(&bias.shape))),
    };
    let Dims { b, h_q, n_q, n_k, d_v, .. } = dims;
    let mut output = vec![0.0; b * h_q * n_q * d_v];
    let mut weights = call.return_weights.then(|| vec![0.0; b * h_q * n_q * n_k]);
    let mut lse = Vec::new();
    for row in 0..b * h_q * n_q {
        let at = (row / (h_q * n_q), row / n_q % h_q, row % n_q);
        let reach = Reach::new(dims, &call.options, at.0, at.2);
        let (top, sum) = kernel.output_row(at, reach, &mut output[row * d_v..][..d_v]);
        if let Some(weights) = &mut weights {
            kernel.weights_row(at, reach, (top, sum), &mut weights[row * n_k..][..n_k]);
        }
        if call.return_lse {
            lse.push((top + sum.ln()).wide());
        }
    }
    let tensor =
        |last: usize, data| Tensor { dtype: call.dtype(), shape: vec![b, h_q, n_q, last], data };
    Response::Output(Box::new(Output {
        weights: weights.map(|data| tensor(n_k, data)),
        lse: call.return_lse.then(|| Tensor {
            dtype: T::DTYPE,
            shape: vec![b, h_q, n_q],
            data: lse,
        }),
        ..Output::of(tensor(d_v, output))
    }))
}

impl<T: Real> Kernel<'_, T> {
    /// One row of the output; returns the maximum and `Σ exp(· − maximum)` of the row's scores and
    /// sink.
    fn output_row(&self, at: (usize, usize, usize), reach: Reach, output: &mut [f64]) -> (T, T) {
        // A sink is a key of value 0 that every row has seen before its first tile.
        let sink = self.options.sinks.as_ref().map(|sinks| T::of(sinks.data[at.1]));
        let (mut top, mut sum) = sink.map_or((T::LOWEST, T::ZERO), |sink| (sink, T::ONE));
        let mut acc = vec![T::ZERO; self.dims.d_v];
        let mut scores = [T::ZERO; TILE];
        for (start, n) in tiles(reach) {
            self.scores(at, reach, start, &mut scores[..n]);
            let new_top = scores[..n].iter().fold(top, |m, s| if *s > m { *s } else { m });
            let shift = shift_of(new_top);
            let rescale = (top - shift).exp();
            top = new_top;
            sum = sum * rescale;
            acc.iter_mut().for_each(|a| *a = *a * rescale);
            for (j, score) in (start..).zip(&scores[..n]) {
                if *score == T::LOWEST {
                    continue; // what a masked key holds must not matter, not even a NaN
                }
                let p = (*score - shift).exp();
                sum = sum + p;
                let stored = self.store(p);
                for (a, v) in acc.iter_mut().zip(self.value_row(at, j)) {
                    *a = *a + stored * *v;
                }
            }
        }
        for (out, a) in output.iter_mut().zip(acc) {
            *out = if sum == T::ZERO { 0.0 } else { round((a / sum).wide(), self.dtype) };
        }
        (top, sum)
    }

    /// One row of the weights, by a second pass with the final maximum and sum.
    fn weights_row(
        &self,
        at: (usize, usize, usize),
        reach: Reach,
        (top, sum): (T, T),
        weights: &mut [f64],
    ) {
        let mut scores = [T::ZERO; TILE];
        for (start, n) in tiles(reach) {
            self.scores(at, reach, start, &mut scores[..n]);
            for (weight, score) in weights[start..].iter_mut().zip(&scores[..n]) {
                if *score != T::LOWEST {
                    *weight = round(((*score - shift_of(top)).exp() / sum).wide(), self.dtype);
                }
            }
        }
    }

    /// Scores of a tile; a key that is masked scores −∞.
    fn scores(&self, at: (usize, usize, usize), reach: Reach, start: usize, scores: &mut [T]) {
        let (b, h, i) = at;
        let Dims { h_q, n_q, d_k, .. } = self.dims;
        let q = &self.query[((b * h_q + h) * n_q + i) * d_k..][..d_k];
        let slope = self.options.alibi_slopes.as_ref().map(|slopes| T::of(slopes.data[h]));
        for (j, score) in (start..).zip(scores) {
            let attends = self
                .mask
                .is_none_or(|(mask, steps)| mask.data[steps.row(b, h, i) + j * steps.0[3]]);
            *score = T::LOWEST;
            if attends {
                *score = self.scale * dot(q, &self.key[self.key_head(at) + j * d_k..][..d_k]);
                if let Some(cap) = self.softcap {
                    *score = cap * (*score / cap).tanh();
                }
                if let Some((bias, steps)) = self.bias {
                    *score = *score + T::of(bias.data[steps.row(b, h, i) + j * steps.0[3]]);
                }
                if let Some(slope) = slope {
                    *score = *score - slope * T::of(reach.distance(j) as f64);
                }
            }
        }
    }

    fn key_head(&self, at: (usize, usize, usize)) -> usize {
        let Dims { h_q, h_k, n_k, d_k, .. } = self.dims;
        (at.0 * h_k + at.1 / (h_q / h_k)) * n_k * d_k
    }

    fn value_row(&self, at: (usize, usize, usize), j: usize) -> &[T] {
        let Dims { h_q, h_k, n_k, d_v, .. } = self.dims;
        &self.value[((at.0 * h_k + at.1 / (h_q / h_k)) * n_k + j) * d_v..][..d_v]
    }

    fn store(&self, p: T) -> T {
        match self.dtype {
            Dtype::Float64 | Dtype::Float32 => p,
            Dtype::Bfloat16 | Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => {
                T::of(round(p.wide(), self.dtype))
            }
        }
    }
}

/// Tiles that hold a key within reach, as the first such key and how many; those beyond are not
/// looked at. They begin at multiples of [`TILE`] whatever the reach.
fn tiles(Reach { first, end, .. }: Reach) -> impl Iterator<Item = (usize, usize)> {
    (first / TILE * TILE..end).step_by(TILE).map(move |tile| {
        let start = tile.max(first);
        (start, (tile + TILE).min(end) - start)
    })
}

/// What is subtracted before the exponential; a row without any key yet has no maximum.
fn shift_of<T: Real>(top: T) -> T {
    if top == T::LOWEST { T::ZERO } else { top }
}

fn dot<T: Real>(x: &[T], y: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    let (x_head, x_tail) = x.as_chunks::<LANES>();
    let (y_head, y_tail) = y.as_chunks::<LANES>();
    for (a, b) in x_head.iter().zip(y_head) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane = *lane + *a * *b;
        }
    }
    let tail = x_tail.iter().zip(y_tail).fold(T::ZERO, |sum, (a, b)| sum + *a * *b);
    lanes.iter().fold(tail, |sum, lane| sum + *lane)
}
