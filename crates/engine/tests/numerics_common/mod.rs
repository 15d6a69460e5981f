//! Random problems of one head and their exact outputs at 240 bits, independent of the engine's own arithmetic.

#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use qkvet_engine::format::round;
use qkvet_engine::head::{Bias, EmptyRow, Head, Normalization, RealScale, Visible};
use qkvet_spec::Dtype;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) mod simulate;

pub(crate) type Big = FBig<HalfEven, 2>;

/// The number at the working precision.
pub(crate) fn big(x: f64) -> Big {
    Big::try_from(x).unwrap().with_precision(240).value()
}

/// The random stream of a seed.
pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A normal draw (Box and Muller).
pub(crate) fn gauss(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * libm::log(1.0 - a)).sqrt() * libm::cos(std::f64::consts::TAU * b)
}

/// `n` normal draws, each rounded to the format.
pub(crate) fn gaussians(rng: &mut ChaCha8Rng, n: usize, size: f64, dtype: Dtype) -> Vec<f64> {
    (0..n).map(|_| round(size * gauss(rng), dtype)).collect()
}

/// The true scale.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    Given(f64),
    InverseSqrt,
}

#[derive(Clone, Debug)]
pub(crate) enum Sees {
    All,
    Prefix(Vec<usize>),
    Mask(Vec<bool>),
}

/// A head that owns its data, and knows its true scale and bias.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) n_q: usize,
    pub(crate) n_k: usize,
    pub(crate) d_k: usize,
    pub(crate) d_v: usize,
    pub(crate) query: Vec<f64>,
    pub(crate) key: Vec<f64>,
    pub(crate) value: Vec<f64>,
    pub(crate) scale: Scale,
    pub(crate) bias: Option<Vec<f64>>,
    /// The true bias is `value · (1 + bias_error)`.
    pub(crate) bias_error: f64,
    pub(crate) sees: Sees,
    pub(crate) normalization: Normalization,
    pub(crate) empty_row: EmptyRow,
}

impl Problem {
    /// Normal data of size 1 in the format, scale `1/√d_k`, no mask.
    pub(crate) fn gaussian(seed: u64, (n_q, n_k, d_k, d_v): (usize, usize, usize, usize), dtype: Dtype) -> Self {
        let mut rng = rng(seed);
        Self {
            n_q,
            n_k,
            d_k,
            d_v,
            query: gaussians(&mut rng, n_q * d_k, 1.0, dtype),
            key: gaussians(&mut rng, n_k * d_k, 1.0, dtype),
            value: gaussians(&mut rng, n_k * d_v, 1.0, dtype),
            scale: Scale::InverseSqrt,
            bias: None,
            bias_error: 0.0,
            sees: Sees::All,
            normalization: Normalization::OverKeys,
            empty_row: EmptyRow::Zero,
        }
    }

    pub(crate) fn head(&self) -> Head<'_> {
        Head {
            n_q: self.n_q,
            n_k: self.n_k,
            d_k: self.d_k,
            d_v: self.d_v,
            query: &self.query,
            key: &self.key,
            value: &self.value,
            scale: match self.scale {
                Scale::Given(scale) => RealScale::exact(scale),
                Scale::InverseSqrt => RealScale::inverse_sqrt(self.d_k),
            },
            bias: self.bias.as_ref().map(|values| Bias { values, rel_error: self.bias_error * 1.001 }),
            visible: match &self.sees {
                Sees::All => Visible::All,
                Sees::Prefix(prefix) => Visible::Prefix(prefix),
                Sees::Mask(mask) => Visible::Mask(mask),
            },
            normalization: self.normalization,
            empty_row: self.empty_row,
        }
    }

    pub(crate) fn sees(&self, i: usize, j: usize) -> bool {
        let sees = match &self.sees {
            Sees::All => true,
            Sees::Prefix(prefix) => j < prefix[i],
            Sees::Mask(mask) => mask[i * self.n_k + j],
        };
        sees && self.bias.as_ref().is_none_or(|bias| bias[i * self.n_k + j] > f64::NEG_INFINITY)
    }

    /// The logit of a visible key.
    fn logit(&self, i: usize, j: usize) -> Big {
        let terms = (0..self.d_k).map(|t| big(self.query[i * self.d_k + t]) * big(self.key[j * self.d_k + t]));
        let dot = terms.fold(big(0.0), |sum, term| sum + term);
        let scaled = match self.scale {
            Scale::Given(scale) => dot * big(scale),
            Scale::InverseSqrt if self.d_k == 0 => dot,
            Scale::InverseSqrt => dot / big_sqrt(self.d_k),
        };
        match &self.bias {
            Some(bias) => scaled + big(bias[i * self.n_k + j]) * (big(1.0) + big(self.bias_error)),
            None => scaled,
        }
    }

    /// Unnormalized weights of all rows, relative to the largest of a row, or of a column; `None` where a key is not seen.
    fn exponentials(&self, by_column: bool) -> Vec<Option<Big>> {
        let index = |i: usize, j: usize| i * self.n_k + j;
        let mut logits: Vec<Option<Big>> = Vec::new();
        for i in 0..self.n_q {
            logits.extend((0..self.n_k).map(|j| self.sees(i, j).then(|| self.logit(i, j))));
        }
        let mut result = vec![None; self.n_q * self.n_k];
        let lines = if by_column { self.n_k } else { self.n_q };
        for line in 0..lines {
            let cells: Vec<usize> = if by_column {
                (0..self.n_q).map(|i| index(i, line)).collect()
            } else {
                (0..self.n_k).map(|j| index(line, j)).collect()
            };
            let Some(top) =
                cells.iter().filter_map(|cell| logits[*cell].clone()).reduce(|a, b| if a > b { a } else { b })
            else {
                continue;
            };
            for cell in cells {
                result[cell] = logits[cell].clone().map(|z| exp(z - top.clone()));
            }
        }
        result
    }

    /// The exact outputs; `None` for NaN.
    pub(crate) fn exact(&self) -> Vec<Option<Big>> {
        let over_queries = self.normalization == Normalization::OverQueries;
        let weights = self.exponentials(over_queries);
        let weight = |i: usize, j: usize| weights[i * self.n_k + j].clone();
        let sum = |parts: &mut dyn Iterator<Item = Big>| parts.fold(big(0.0), |sum, part| sum + part);
        let column_sums: Vec<Big> =
            (0..self.n_k).map(|j| sum(&mut (0..self.n_q).filter_map(|i| weight(i, j)))).collect();
        let mut outputs = Vec::new();
        for i in 0..self.n_q {
            let row_sum = sum(&mut (0..self.n_k).filter_map(|j| weight(i, j)));
            let is_empty = (0..self.n_k).all(|j| weight(i, j).is_none());
            for c in 0..self.d_v {
                let value = |j: usize| big(self.value[j * self.d_v + c]);
                let output = match (is_empty, self.empty_row, self.normalization) {
                    (true, EmptyRow::Nan, _) => None,
                    (true, EmptyRow::Mean, _) if self.n_k > 0 => {
                        Some(sum(&mut (0..self.n_k).map(value)) / big(self.n_k as f64))
                    }
                    (true, ..) => Some(big(0.0)),
                    (false, _, Normalization::OverQueries) => Some(sum(
                        &mut (0..self.n_k).filter_map(|j| Some(weight(i, j)? / column_sums[j].clone() * value(j)))
                    )),
                    (false, _, normalization) => {
                        let total = sum(&mut (0..self.n_k).filter_map(|j| Some(weight(i, j)? * value(j))));
                        Some(if normalization == Normalization::None { total } else { total / row_sum.clone() })
                    }
                };
                outputs.push(output);
            }
        }
        outputs
    }
}

fn big_sqrt(d_k: usize) -> Big {
    big(d_k as f64).sqrt()
}

/// `e^x` for `x ≤ 0`; what is below `e^−5000` counts as nothing.
fn exp(x: Big) -> Big {
    if x < big(-5000.0) { big(0.0) } else { x.exp() }
}

/// Prefixes of causal masking aligned at the lower right.
pub(crate) fn causal(n_q: usize, n_k: usize) -> Sees {
    Sees::Prefix((0..n_q).map(|i| (i + 1 + n_k).saturating_sub(n_q).min(n_k)).collect())
}
