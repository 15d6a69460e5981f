//! Query and key such that one key's scaled score stands apart from all others by a margin.
//!
//! Every query agrees in sign with a vector `u` of ±1 (one for each batch item); key `j` is `±c·u`
//! with large `c`, all other keys are small. So the margin holds between every query head and every
//! key/value head, under any head map.

use qkvet_spec::{Dims, Dtype};

use crate::draw::coarse_above;
use crate::source::Source;

/// Coordinates in which the large key lives, at most.
const CARRIERS: usize = 64;

/// Largest dot product in float16: beyond it, scores before scaling overflow.
const FLOAT16_DOT: f64 = 30_000.0;

/// The construction for one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margin {
    j: usize,
    /// What key `j` holds, before sign and spread.
    large: f64,
    carriers: usize,
    /// Largest entry of the small keys, in eighths.
    reach: u32,
    /// Entries without variety, for small witnesses.
    tiny: bool,
}

/// Largest entry of the small keys, in eighths: formats of few bits get less to resolve.
fn reach(dtype: Dtype, tiny: bool) -> u32 {
    match dtype {
        _ if tiny => 0,
        Dtype::Bfloat16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => 2,
        _ => 8,
    }
}

/// What the small keys can contribute to a dot product, at most.
fn noise(d_k: usize, reach: u32) -> f64 {
    let carriers = d_k.min(CARRIERS);
    (2.0 * carriers as f64 + (d_k - carriers) as f64) * f64::from(reach) / 8.0
}

/// The largest margin for which no dot product overflows the format, or that the format still
/// resolves.
pub(crate) fn largest_margin(dtype: Dtype, d_k: usize, scale: f64) -> f64 {
    match dtype {
        // Key j: at most twice the query's least, 3/2 of spread, 9/8 from rounding up.
        Dtype::Float16 => {
            let fits =
                (FLOAT16_DOT / (3.0 * 1.125) - noise(d_k, reach(dtype, false))) * scale.abs();
            fits.min(64.0)
        }
        // Beyond this (and 64 in float16) the bound of unfused kernels says nothing any more.
        Dtype::Bfloat16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => 8.0,
        Dtype::Float32 | Dtype::Float64 => f64::INFINITY,
    }
}

impl Margin {
    /// `sign` is 1 for separated, −1 for opposed; `scale` is not 0.
    pub(crate) fn new(
        j: usize,
        margin: f64,
        dtype: Dtype,
        d_k: usize,
        scale: f64,
        sign: f64,
        tiny: bool,
    ) -> Self {
        let reach = reach(dtype, tiny);
        let carriers = d_k.min(CARRIERS);
        // The default scale is a rounded number: a little more than the margin is asked for.
        let needed = margin * (1.0 + 1e-9) / scale.abs() + noise(d_k, reach);
        Self {
            j,
            large: coarse_above(needed / carriers as f64).copysign(scale * sign),
            carriers,
            reach,
            tiny,
        }
    }

    /// `(b, h_q, n_q, d_k)`.
    pub(crate) fn query(&self, dims: &Dims, source: Source) -> Vec<f64> {
        let streams = source.variable("Q");
        self.fill(dims, source, dims.h_q, dims.n_q, |item, head, i, signs, row| {
            let mut draws = streams.row(item, head, i);
            row.extend((0..dims.d_k).map(|t| match signs.get(t) {
                Some(sign) if self.tiny => *sign,
                Some(sign) => sign * (1.0 + draws.below(5) as f64 / 4.0),
                None => draws.symmetric(4) / 4.0,
            }));
        })
    }

    /// `(b, h_k, n_k, d_k)`.
    pub(crate) fn key(&self, dims: &Dims, source: Source) -> Vec<f64> {
        let streams = source.variable("K");
        self.fill(dims, source, dims.h_k, dims.n_k, |item, head, j, signs, row| {
            let mut draws = streams.row(item, head, j);
            row.extend((0..dims.d_k).map(|t| match signs.get(t) {
                Some(sign) if j == self.j && self.tiny => sign * self.large,
                Some(sign) if j == self.j => {
                    sign * self.large * (1.0 + draws.below(3) as f64 / 4.0)
                }
                None if j == self.j => 0.0,
                _ => draws.symmetric(self.reach) / 8.0,
            }));
        })
    }

    fn fill(
        &self,
        dims: &Dims,
        source: Source,
        heads: usize,
        rows: usize,
        fill: impl Fn(usize, usize, usize, &[f64], &mut Vec<f64>),
    ) -> Vec<f64> {
        let streams = source.variable("signs");
        let mut data = Vec::with_capacity(dims.b * heads * rows * dims.d_k);
        for item in 0..dims.b {
            let mut draws = streams.row(item, 0, 0);
            let signs: Vec<f64> =
                (0..self.carriers).map(|_| if self.tiny { 1.0 } else { draws.sign() }).collect();
            for head in 0..heads {
                for row in 0..rows {
                    fill(item, head, row, &signs, &mut data);
                }
            }
        }
        data
    }
}
