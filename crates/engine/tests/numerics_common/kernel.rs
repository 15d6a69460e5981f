//! A tiled kernel with a running maximum, in float32 as GPUs compute it, and one fault that can be
//! switched on.
//!
//! What it keeps without a fault: weights rounded to the format, the row sum of the weights before
//! that, sums of 8 in lanes for `QKᵀ`, of one tile at a time for `PV`.

#![allow(dead_code, reason = "every program uses a part of it")]

use qkvet_engine::format::round;
use qkvet_spec::Dtype;

/// Keys in a tile.
pub(crate) const TILE: usize = 64;
/// Partial sums of a dot product.
const LANES: usize = 8;

/// What the kernel does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelFault {
    /// Scores are divided by `d_k`, not by its root.
    ScaleInverseD,
    /// Causal masking shows one key too many.
    CausalOffByOne,
    /// Causal masking is aligned at the first key.
    CausalUpperLeft,
    /// Sums are kept in float16, one number for a whole row.
    SumsInFloat16,
    /// Weights are rounded to a format below the declared one.
    WeightsTooNarrow,
    /// The last key has no influence.
    LastKeyMissing,
    /// The second tile does not rescale what the first one left.
    RescaleSkipped,
    /// Scores are rounded to 16 bits.
    ScoresStored,
    /// Exponentials are taken of the scores themselves.
    MaximumNotSubtracted,
    /// Keys of score 0 and value 0 fill up the last tile.
    PaddingCounted,
    /// Weights are cut off where they have to be rounded.
    WeightsCutOff,
}

/// One head, row-major.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelInputs<'a> {
    pub(crate) n_q: usize,
    pub(crate) n_k: usize,
    pub(crate) d_k: usize,
    pub(crate) d_v: usize,
    pub(crate) query: &'a [f64],
    pub(crate) key: &'a [f64],
    pub(crate) value: &'a [f64],
    pub(crate) scale: f64,
    /// Query `i` sees the keys `j ≤ i + n_k − n_q`.
    pub(crate) causal: bool,
    pub(crate) dtype: Dtype,
}

/// The kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) fault: Option<KernelFault>,
}

/// The next format below.
fn narrower(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Float64 => Dtype::Float32,
        Dtype::Float32 => Dtype::Float16,
        Dtype::Float16 => Dtype::Bfloat16,
        Dtype::Bfloat16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => Dtype::Float8E4m3fn,
    }
}

impl Kernel {
    fn has(self, fault: KernelFault) -> bool {
        self.fault == Some(fault)
    }

    /// Rounds where a sum is rounded.
    fn sum(self, x: f32) -> f32 {
        if self.has(KernelFault::SumsInFloat16) { narrow(x, Dtype::Float16) } else { x }
    }

    /// The output, row-major.
    pub(crate) fn run(self, inputs: &KernelInputs<'_>) -> Vec<f64> {
        let load = |xs: &[f64]| xs.iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let (query, key, value) = (load(inputs.query), load(inputs.key), load(inputs.value));
        let mut output = Vec::with_capacity(inputs.n_q * inputs.d_v);
        for i in 0..inputs.n_q {
            output.extend(self.row(
                inputs,
                &query[i * inputs.d_k..][..inputs.d_k],
                &key,
                &value,
                self.end(inputs, i),
            ));
        }
        output
    }

    /// Keys before this one are seen by query `i`.
    fn end(self, inputs: &KernelInputs<'_>, i: usize) -> usize {
        let KernelInputs { n_q, n_k, .. } = *inputs;
        let end = match (inputs.causal, self.fault) {
            (false, _) => n_k,
            (true, Some(KernelFault::CausalUpperLeft)) => i + 1,
            (true, Some(KernelFault::CausalOffByOne)) => (i + 2 + n_k).saturating_sub(n_q),
            (true, _) => (i + 1 + n_k).saturating_sub(n_q),
        };
        end.min(if self.has(KernelFault::LastKeyMissing) { n_k - 1 } else { n_k })
    }

    fn row(
        self,
        inputs: &KernelInputs<'_>,
        query: &[f32],
        key: &[f32],
        value: &[f32],
        end: usize,
    ) -> Vec<f64> {
        let KernelInputs { d_k, d_v, dtype, .. } = *inputs;
        let scale =
            if self.has(KernelFault::ScaleInverseD) { 1.0 / d_k as f64 } else { inputs.scale }
                as f32;
        let (mut top, mut total, mut output) = (f32::NEG_INFINITY, 0.0_f32, vec![0.0_f32; d_v]);
        for start in (0..end).step_by(TILE) {
            let tile = start..end.min(start + TILE);
            let scores: Vec<f32> = tile
                .clone()
                .map(|j| self.score(dtype, scale, query, &key[j * d_k..][..d_k]))
                .collect();
            let new_top = scores.iter().fold(top, |max, z| max.max(*z));
            let unshifted = self.has(KernelFault::MaximumNotSubtracted);
            let skips = start == TILE && self.has(KernelFault::RescaleSkipped);
            let shift = if unshifted { 0.0 } else { new_top };
            let rescale =
                if start == 0 || skips || unshifted { 1.0 } else { libm::expf(top - new_top) };
            total *= rescale;
            output.iter_mut().for_each(|x| *x = self.sum(*x * rescale));
            // Sums of one tile begin at 0 and are added to those of the tiles before.
            let begins = !self.has(KernelFault::SumsInFloat16);
            let mut tile_total = if begins { 0.0 } else { total };
            let mut tile_output = if begins { vec![0.0; d_v] } else { output.clone() };
            for (j, z) in tile.zip(&scores) {
                let weight = libm::expf(*z - shift);
                tile_total = self.sum(tile_total + weight);
                let stored = self.stored(weight, dtype);
                for (x, v) in tile_output.iter_mut().zip(&value[j * d_v..][..d_v]) {
                    *x = self.sum(*x + stored * *v);
                }
            }
            if begins {
                total += tile_total;
                output.iter_mut().zip(tile_output).for_each(|(x, of_tile)| *x += of_tile);
            } else {
                (total, output) = (tile_total, tile_output);
            }
            top = new_top;
        }
        if self.has(KernelFault::PaddingCounted) {
            let padding = end.next_multiple_of(TILE) - end;
            let new_top = if padding > 0 { top.max(0.0) } else { top };
            let rescale = libm::expf(top - new_top);
            total = total * rescale + padding as f32 * libm::expf(-new_top);
            output.iter_mut().for_each(|x| *x *= rescale);
        }
        output.into_iter().map(|x| round(f64::from(x / total), dtype)).collect()
    }

    fn score(self, dtype: Dtype, scale: f32, query: &[f32], key: &[f32]) -> f32 {
        let mut lanes = [0.0_f32; LANES];
        for (at, (q, k)) in query.iter().zip(key).enumerate() {
            let lane =
                &mut lanes[if self.has(KernelFault::SumsInFloat16) { 0 } else { at % LANES }];
            *lane = self.sum(*lane + *q * *k);
        }
        let score = scale * lanes.iter().fold(0.0, |sum, lane| self.sum(sum + *lane));
        match dtype {
            _ if !self.has(KernelFault::ScoresStored) => score,
            Dtype::Bfloat16 => narrow(score, Dtype::Bfloat16),
            _ => narrow(score, Dtype::Float16),
        }
    }

    /// A weight as it meets the values.
    fn stored(self, weight: f32, dtype: Dtype) -> f32 {
        if self.has(KernelFault::WeightsCutOff) {
            // The bits that the format keeps, below a hidden one.
            let kept = 24 - dtype.precision().min(24);
            return f32::from_bits(weight.to_bits() >> kept << kept);
        }
        let format = if self.has(KernelFault::WeightsTooNarrow) { narrower(dtype) } else { dtype };
        narrow(weight, format)
    }
}

/// Every operation of the textbook formula rounded to the format, float32 inside: what kernels are
/// often compared with.
pub(crate) fn unfused(inputs: &KernelInputs<'_>) -> Vec<f64> {
    let KernelInputs { n_q, d_k, d_v, dtype, .. } = *inputs;
    let kernel = Kernel::default();
    let load = |xs: &[f64]| xs.iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let (query, key, value) = (load(inputs.query), load(inputs.key), load(inputs.value));
    let mut output = Vec::with_capacity(n_q * d_v);
    for i in 0..n_q {
        let query = &query[i * d_k..][..d_k];
        let of_key = |j: usize| {
            narrow(kernel.score(dtype, inputs.scale as f32, query, &key[j * d_k..][..d_k]), dtype)
        };
        let scores: Vec<f32> = (0..kernel.end(inputs, i)).map(of_key).collect();
        let top = scores.iter().fold(f32::NEG_INFINITY, |max, z| max.max(*z));
        let exponentials: Vec<f32> = scores.iter().map(|z| libm::expf(z - top)).collect();
        let total: f32 = exponentials.chunks(TILE).map(|tile| tile.iter().sum::<f32>()).sum();
        let mut row = vec![0.0_f32; d_v];
        for (j, e) in exponentials.iter().enumerate() {
            let weight = narrow(e / total, dtype);
            row.iter_mut().zip(&value[j * d_v..][..d_v]).for_each(|(x, v)| *x += weight * v);
        }
        output.extend(row.iter().map(|x| round(f64::from(*x), dtype)));
    }
    output
}

fn narrow(x: f32, dtype: Dtype) -> f32 {
    round(f64::from(x), dtype) as f32
}
