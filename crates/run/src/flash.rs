//! `builtin:flash`: attention as GPU kernels compute it, in one pass over tiles of keys with a running maximum and sum.
//!
//! Written from the recurrence of FlashAttention-2. It shares nothing with the engine's own attention but the rounding of
//! stored numbers, so that the two can be wrong in different ways only.

use qkvet_engine::format::round;
use qkvet_spec::{BoolTensor, Call, Dims, Dtype, Output, Response, Target, Tensor};

/// Keys in a tile.
const TILE: usize = 64;
/// Partial sums of a dot product.
const LANES: usize = 8;

/// The built-in target `flash`: 32-bit arithmetic (64-bit for `float64`), probabilities of a tile and results in the
/// format of the call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flash;

impl Target for Flash {
    fn call(&mut self, call: &Call) -> Response {
        if let Err(reason) = check_shapes(call) {
            return Response::Refused(reason);
        }
        match call.dtype() {
            Dtype::Float64 => attention::<f64>(call),
            Dtype::Float32 | Dtype::Bfloat16 | Dtype::Float16 => attention::<f32>(call),
            narrow @ (Dtype::Float8E4m3fn | Dtype::Float8E5m2) => {
                Response::Unsupported(format!("no kernel for {narrow}"))
            }
        }
    }
}

/// Working precision of a kernel.
trait Real:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    const ZERO: Self;
    const LOWEST: Self;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn exp(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const LOWEST: Self = Self::NEG_INFINITY;
    fn of(x: f64) -> Self {
        x as f32
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn exp(self) -> Self {
        libm::expf(self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const LOWEST: Self = Self::NEG_INFINITY;
    fn of(x: f64) -> Self {
        x
    }
    fn wide(self) -> f64 {
        self
    }
    fn exp(self) -> Self {
        libm::exp(self)
    }
}

fn check_shapes(call: &Call) -> Result<(), String> {
    let (q, k, v) = (&call.query.shape, &call.key.shape, &call.value.shape);
    let four_axes = q.len() == 4 && k.len() == 4 && v.len() == 4;
    if !four_axes || k[..3] != v[..3] || q[0] != k[0] || q[3] != k[3] || k[1] == 0 || q[1] % k[1] != 0 {
        return Err(format!("shapes do not fit together: query {q:?}, key {k:?}, value {v:?}"));
    }
    let scores = [q[0], q[1], q[2], k[2]];
    let masks = call.mask.as_ref().map(|mask| ("mask", &mask.shape, mask.data.len()));
    let biases = call.bias.as_ref().map(|bias| ("bias", &bias.shape, bias.data.len()));
    for (name, shape, len) in masks.into_iter().chain(biases) {
        if shape.iter().product::<usize>() != len {
            return Err(format!("{name}: {len} elements for shape {shape:?}"));
        }
        let fits = shape.len() <= 4 && shape.iter().rev().zip(scores.iter().rev()).all(|(n, m)| n == m || *n == 1);
        if !fits {
            return Err(format!("{name} of shape {shape:?} does not broadcast to {scores:?}"));
        }
    }
    Ok(())
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
    causal: bool,
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
        scale: T::of(call.scale.unwrap_or_else(|| 1.0 / (dims.d_k as f64).sqrt())),
        causal: call.causal,
        mask: call.mask.as_ref().map(|mask| (mask, Broadcast::new(&mask.shape))),
        bias: call.bias.as_ref().map(|bias| (bias, Broadcast::new(&bias.shape))),
    };
    let Dims { b, h_q, n_q, n_k, d_v, .. } = dims;
    let mut output = vec![0.0; b * h_q * n_q * d_v];
    let mut weights = call.return_weights.then(|| vec![0.0; b * h_q * n_q * n_k]);
    for row in 0..b * h_q * n_q {
        let at = (row / (h_q * n_q), row / n_q % h_q, row % n_q);
        let (top, sum) = kernel.output_row(at, &mut output[row * d_v..][..d_v]);
        if let Some(weights) = &mut weights {
            kernel.weights_row(at, top, sum, &mut weights[row * n_k..][..n_k]);
        }
    }
    let tensor = |last: usize, data| Tensor { dtype: call.dtype(), shape: vec![b, h_q, n_q, last], data };
    Response::Output(Box::new(Output {
        output: tensor(d_v, output),
        weights: weights.map(|data| tensor(n_k, data)),
        inputs_unchanged: true,
    }))
}

impl<T: Real> Kernel<'_, T> {
    /// One row of the output; returns the row's maximum score and `Σ exp(score − maximum)`.
    fn output_row(&self, at: (usize, usize, usize), output: &mut [f64]) -> (T, T) {
        let (mut top, mut sum) = (T::LOWEST, T::ZERO);
        let mut acc = vec![T::ZERO; self.dims.d_v];
        let mut scores = [T::ZERO; TILE];
        let end = self.end(at.2);
        for start in (0..end).step_by(TILE) {
            let n = TILE.min(end - start);
            self.scores(at, start, &mut scores[..n]);
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
    fn weights_row(&self, at: (usize, usize, usize), top: T, sum: T, weights: &mut [f64]) {
        let end = self.end(at.2);
        let mut scores = [T::ZERO; TILE];
        for start in (0..end).step_by(TILE) {
            let n = TILE.min(end - start);
            self.scores(at, start, &mut scores[..n]);
            for (weight, score) in weights[start..].iter_mut().zip(&scores[..n]) {
                if *score != T::LOWEST {
                    *weight = round(((*score - shift_of(top)).exp() / sum).wide(), self.dtype);
                }
            }
        }
    }

    /// Keys before this one may be attended by query `i`: causal masking is aligned lower-right.
    fn end(&self, i: usize) -> usize {
        let Dims { n_q, n_k, .. } = self.dims;
        if self.causal { (i + 1 + n_k).saturating_sub(n_q).min(n_k) } else { n_k }
    }

    /// Scores of a tile; a key that is masked scores −∞.
    fn scores(&self, at: (usize, usize, usize), start: usize, scores: &mut [T]) {
        let (b, h, i) = at;
        let Dims { h_q, n_q, d_k, .. } = self.dims;
        let q = &self.query[((b * h_q + h) * n_q + i) * d_k..][..d_k];
        for (j, score) in (start..).zip(scores) {
            let attends = self.mask.is_none_or(|(mask, steps)| mask.data[steps.row(b, h, i) + j * steps.0[3]]);
            *score = T::LOWEST;
            if attends {
                *score = self.scale * dot(q, &self.key[self.key_head(at) + j * d_k..][..d_k]);
                if let Some((bias, steps)) = self.bias {
                    *score = *score + T::of(bias.data[steps.row(b, h, i) + j * steps.0[3]]);
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
