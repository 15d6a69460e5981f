//! Random problems of one head and their exact outputs at 240 bits, independent of the engine's own
//! arithmetic.

#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use qkvet_engine::format::round;
use qkvet_engine::head::{Alibi, EmptyRow, Head, Normalization, RealScale, Span, Stage, Visible};
use qkvet_spec::Dtype;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) mod problems;
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
    Spans(Vec<Span>),
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
    pub(crate) stages: Vec<Stage>,
    pub(crate) scale: Scale,
    pub(crate) softcap: Option<f64>,
    pub(crate) bias: Option<Vec<f64>>,
    pub(crate) alibi: Option<Alibi>,
    pub(crate) sink: Option<f64>,
    pub(crate) sees: Sees,
    pub(crate) normalization: Normalization,
    pub(crate) empty_row: EmptyRow,
}

/// The order of the stages in which most people compute.
pub(crate) const STAGES: [Stage; 3] = [Stage::Scale, Stage::Softcap, Stage::Bias];

impl Problem {
    /// Normal data of size 1 in the format, scale `1/√d_k`, no mask.
    pub(crate) fn gaussian(
        seed: u64,
        (n_q, n_k, d_k, d_v): (usize, usize, usize, usize),
        dtype: Dtype,
    ) -> Self {
        let mut rng = rng(seed);
        Self {
            n_q,
            n_k,
            d_k,
            d_v,
            query: gaussians(&mut rng, n_q * d_k, 1.0, dtype),
            key: gaussians(&mut rng, n_k * d_k, 1.0, dtype),
            value: gaussians(&mut rng, n_k * d_v, 1.0, dtype),
            stages: STAGES.to_vec(),
            scale: Scale::InverseSqrt,
            softcap: None,
            bias: None,
            alibi: None,
            sink: None,
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
            stages: &self.stages,
            scale: match self.scale {
                Scale::Given(scale) => RealScale::exact(scale),
                Scale::InverseSqrt => RealScale::inverse_sqrt(self.d_k),
            },
            softcap: self.softcap,
            bias: self.bias.as_deref(),
            alibi: self.alibi,
            alibi_shifts: None,
            sink: self.sink,
            visible: match &self.sees {
                Sees::All => Visible::All,
                Sees::Spans(spans) => Visible::Spans(spans),
                Sees::Mask(mask) => Visible::Mask(mask),
            },
            normalization: self.normalization,
            empty_row: self.empty_row,
        }
    }

    pub(crate) fn sees(&self, i: usize, j: usize) -> bool {
        let sees = match &self.sees {
            Sees::All => true,
            Sees::Spans(spans) => spans[i].contains(j),
            Sees::Mask(mask) => mask[i * self.n_k + j],
        };
        let hides = |bias: &Vec<f64>| bias[i * self.n_k + j] == f64::NEG_INFINITY;
        sees && !(self.stages.contains(&Stage::Bias) && self.bias.as_ref().is_some_and(hides))
    }

    fn dot(&self, i: usize, j: usize) -> Big {
        let terms = (0..self.d_k)
            .map(|t| big(self.query[i * self.d_k + t]) * big(self.key[j * self.d_k + t]));
        terms.fold(big(0.0), |sum, term| sum + term)
    }

    fn scaled(&self, x: Big) -> Big {
        match self.scale {
            Scale::Given(scale) => x * big(scale),
            Scale::InverseSqrt if self.d_k == 0 => x,
            Scale::InverseSqrt => x / big_sqrt(self.d_k),
        }
    }

    /// What the stage of the bias adds.
    fn added(&self, i: usize, j: usize) -> [Big; 2] {
        let bias = self.bias.as_ref().map_or(0.0, |bias| bias[i * self.n_k + j]);
        let distance = |offset: i64| (i as i128 + i128::from(offset) - j as i128).unsigned_abs();
        // Two halves of 40 bits, each exact.
        let exact = |n: u128| {
            big((n >> 40) as f64) * big((1u64 << 40) as f64) + big((n & ((1 << 40) - 1)) as f64)
        };
        let alibi =
            self.alibi.map_or(big(0.0), |alibi| -big(alibi.slope) * exact(distance(alibi.offset)));
        [big(bias), alibi]
    }

    /// The logit of a visible key.
    pub(crate) fn logit(&self, i: usize, j: usize) -> Big {
        self.stages.iter().fold(self.dot(i, j), |x, stage| match (stage, self.softcap) {
            (Stage::Scale, _) => self.scaled(x),
            (Stage::Softcap, Some(cap)) => big(cap) * tanh(x / big(cap)),
            (Stage::Softcap, None) => x,
            (Stage::Bias, _) => self.added(i, j).into_iter().fold(x, |x, term| x + term),
        })
    }

    /// `|scale·q·k| + |bias| + |ALiBi|` of a key, without a factor of the bias.
    pub(crate) fn terms(&self, i: usize, j: usize) -> Big {
        let scaled = if self.stages.contains(&Stage::Scale) {
            self.scaled(self.dot(i, j))
        } else {
            self.dot(i, j)
        };
        let added = if self.stages.contains(&Stage::Bias) {
            self.added(i, j)
        } else {
            [big(0.0), big(0.0)]
        };
        added.into_iter().fold(magnitude(scaled), |sum, term| sum + magnitude(term))
    }

    /// Unnormalized weights of all rows, relative to the largest of a row, or of a column; `None`
    /// where a key is not seen. And the largest of each line, a sink among the keys of a row that
    /// is divided.
    fn exponentials(&self, by_column: bool) -> (Vec<Option<Big>>, Vec<Option<Big>>) {
        let index = |i: usize, j: usize| i * self.n_k + j;
        let sink = self.sink.filter(|_| self.normalization == Normalization::OverKeys);
        let mut logits: Vec<Option<Big>> = Vec::new();
        for i in 0..self.n_q {
            logits.extend((0..self.n_k).map(|j| self.sees(i, j).then(|| self.logit(i, j))));
        }
        let mut result = vec![None; self.n_q * self.n_k];
        let mut tops = Vec::new();
        for line in 0..if by_column { self.n_k } else { self.n_q } {
            let cells: Vec<usize> = if by_column {
                (0..self.n_q).map(|i| index(i, line)).collect()
            } else {
                (0..self.n_k).map(|j| index(line, j)).collect()
            };
            let all = cells.iter().filter_map(|cell| logits[*cell].clone()).chain(sink.map(big));
            let top = all.reduce(|a, b| if a > b { a } else { b });
            tops.push(top.clone());
            let Some(top) = top else { continue };
            for cell in cells {
                result[cell] = logits[cell].clone().map(|z| exp(z - top.clone()));
            }
        }
        (result, tops)
    }

    /// `ln Σ e^z` of each row over its keys and the sink; `None` for an empty row.
    pub(crate) fn lse(&self) -> Vec<Option<Big>> {
        let (weights, tops) = self.exponentials(false);
        let row = |i: usize| {
            let top = tops[i].clone()?;
            let sum = self.row_sum(&weights, &top, i);
            Some(top + sum.ln())
        };
        (0..self.n_q).map(row).collect()
    }

    fn row_sum(&self, weights: &[Option<Big>], top: &Big, i: usize) -> Big {
        let sink = self.sink.filter(|_| self.normalization == Normalization::OverKeys);
        let keys = (0..self.n_k).filter_map(|j| weights[i * self.n_k + j].clone());
        keys.chain(sink.map(|sink| exp(big(sink) - top.clone())))
            .fold(big(0.0), |sum, part| sum + part)
    }

    /// The exact outputs; `None` for NaN.
    pub(crate) fn exact(&self) -> Vec<Option<Big>> {
        let over_queries = self.normalization == Normalization::OverQueries;
        let (weights, tops) = self.exponentials(over_queries);
        let weight = |i: usize, j: usize| weights[i * self.n_k + j].clone();
        let sum =
            |parts: &mut dyn Iterator<Item = Big>| parts.fold(big(0.0), |sum, part| sum + part);
        let column_sums: Vec<Big> =
            (0..self.n_k).map(|j| sum(&mut (0..self.n_q).filter_map(|i| weight(i, j)))).collect();
        let mut outputs = Vec::new();
        for i in 0..self.n_q {
            let row_sum = match tops.get(i) {
                Some(Some(top)) if !over_queries => self.row_sum(&weights, top, i),
                _ => big(0.0),
            };
            let is_empty = (0..self.n_k).all(|j| weight(i, j).is_none());
            for c in 0..self.d_v {
                let value = |j: usize| big(self.value[j * self.d_v + c]);
                let output = match (is_empty, self.empty_row, self.normalization) {
                    (true, ..) if self.sink.is_some() => Some(big(0.0)),
                    (true, EmptyRow::Nan, _) => None,
                    (true, EmptyRow::Mean, _) if self.n_k > 0 => {
                        Some(sum(&mut (0..self.n_k).map(value)) / big(self.n_k as f64))
                    }
                    (true, ..) => Some(big(0.0)),
                    (false, _, Normalization::OverQueries) => Some(sum(&mut (0..self.n_k)
                        .filter_map(|j| Some(weight(i, j)? / column_sums[j].clone() * value(j))))),
                    (false, _, normalization) => {
                        let total =
                            sum(&mut (0..self.n_k).filter_map(|j| Some(weight(i, j)? * value(j))));
                        Some(if normalization == Normalization::None {
                            total
                        } else {
                            total / row_sum.clone()
                        })
                    }
                };
                outputs.push(output);
            }
        }
        outputs
    }
}

pub(crate) fn magnitude(x: Big) -> Big {
    if x < big(0.0) { -x } else { x }
}

/// `tanh x` from `m = e^(−2|x|) − 1` as `−m/(2 + m)`.
fn tanh(x: Big) -> Big {
    let size = magnitude(x.clone());
    let tangent = if size < big(1e-40) {
        size
    } else if size > big(2000.0) {
        big(1.0)
    } else {
        let m = (-(size.clone() + size)).exp_m1();
        -m.clone() / (big(2.0) + m)
    };
    if x < big(0.0) { -tangent } else { tangent }
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
    Sees::Spans(
        (0..n_q).map(|i| Span::prefix((i + 1 + n_k).saturating_sub(n_q).min(n_k))).collect(),
    )
}
