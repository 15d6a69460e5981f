//! Right ways to compute attention: orders of sums, rules of rescaling, exponentials, masks.

use qkvet_engine::format::round;
use qkvet_spec::{Call, Dims, Dtype, Handling, Output, Tensor};

use crate::{attends, offset};

/// In what order the terms of a sum are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    Forward,
    Backward,
    Pairwise,
    /// So many sums side by side, added up at the end.
    Lanes(usize),
    /// Sums of so many terms each, added up.
    Blocks(usize),
    /// With the error of each addition carried along.
    Compensated,
    /// Product and addition rounded once.
    Fused,
    /// In twice the precision, rounded at the end.
    Wide,
}

/// When and how numbers are rescaled to a new largest score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Merge {
    /// The largest score is known before the first exponential.
    TwoPasses,
    /// At every tile.
    Online,
    /// At a tile whose largest score is 8 ln 2 above the one that is in use.
    Late,
    /// Parts of keys, each an output and a log-sum-exp.
    ByLse,
    /// Parts of keys, each a numerator, a sum and a largest score.
    BySum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exponential {
    Natural,
    /// `2^(x log2 e)`.
    Binary,
    /// `2^(s log2 e − m log2 e)`, the factor taken into the scale.
    Folded,
    /// A polynomial between halves of ln 2.
    Polynomial,
    /// `(e^(x/2))²`.
    Squared,
    /// Of `x (1 + 2⁻¹⁰)`, which no default contract allows.
    Coarse,
}

/// What hides a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hides {
    Infinity,
    /// A large negative score, and rows of no keys set to zero.
    Finite,
    /// It is not visited.
    Skipped,
    /// Its weight is set to zero.
    Zero,
}

/// Where the scale goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scaled {
    Scores,
    Query,
    /// Its root on query and key each.
    Both,
}

/// How the hyperbolic tangent of a softcap is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cap {
    Tanh,
    /// `(e^x − e^−x) / (e^x + e^−x)` of an argument up to 15.
    Exponentials,
    /// `2 σ(2x) − 1`.
    Sigmoid,
}

/// When weights are divided by their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Divided {
    Late,
    Reciprocal,
    /// Before they meet the values; with two passes alone.
    Early,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Recipe {
    pub(super) order: Order,
    pub(super) tile: usize,
    pub(super) merge: Merge,
    pub(super) exponential: Exponential,
    pub(super) hides: Hides,
    pub(super) scaled: Scaled,
    pub(super) cap: Cap,
    pub(super) divided: Divided,
    /// Weights are stored in the format of the call before they meet the values.
    pub(super) narrow_weights: bool,
    /// Outputs of parts are stored in the format of the call.
    pub(super) narrow_parts: bool,
    /// Every step is stored in the format of the call, as where tensors are added and multiplied
    /// one operation at a time; with two passes alone.
    pub(super) stored_steps: bool,
    /// Subnormal numbers of the arithmetic are zero.
    pub(super) flushes: bool,
}

/// Recipe number `n` of a family in which any two choices meet.
pub(super) fn recipe(n: usize) -> Recipe {
    use Order::{Backward, Blocks, Compensated, Forward, Fused, Lanes, Pairwise, Wide};
    let pick = |stride: usize, of: usize| (n * stride + n / 7 * 3 + n / 31) % of;
    let merges = [Merge::TwoPasses, Merge::Online, Merge::Late, Merge::ByLse, Merge::BySum];
    let exponentials = [
        Exponential::Natural,
        Exponential::Binary,
        Exponential::Folded,
        Exponential::Polynomial,
        Exponential::Squared,
    ];
    let merge = merges[pick(1, 5)];
    let is_plain = merge == Merge::TwoPasses;
    let divided = [Divided::Late, Divided::Reciprocal, Divided::Early][pick(2, 3)];
    Recipe {
        order: [
            Forward,
            Backward,
            Pairwise,
            Lanes(4),
            Lanes(32),
            Blocks(16),
            Compensated,
            Fused,
            Wide,
        ][pick(4, 9)],
        tile: [1, 7, 16, 32, 64, 128][pick(5, 6)],
        merge,
        exponential: exponentials[pick(3, 5)],
        hides: [Hides::Infinity, Hides::Finite, Hides::Skipped, Hides::Zero][pick(3, 4)],
        scaled: [Scaled::Scores, Scaled::Query, Scaled::Both][pick(1, 3)],
        cap: [Cap::Tanh, Cap::Exponentials, Cap::Sigmoid][pick(2, 3)],
        divided: if is_plain || divided != Divided::Early { divided } else { Divided::Late },
        narrow_weights: pick(1, 2) == 0,
        narrow_parts: pick(3, 4) < 2,
        stored_steps: is_plain && pick(1, 4) < 2,
        flushes: pick(1, 8) == 3,
    }
}

/// Numbers of one format, every operation rounded.
struct Arithmetic<'a> {
    recipe: &'a Recipe,
    work: Dtype,
    stored: Dtype,
}

impl Arithmetic<'_> {
    fn r(&self, x: f64) -> f64 {
        let y = round(x, self.work);
        let least = if self.work == Dtype::Float64 {
            f64::MIN_POSITIVE
        } else {
            f64::from(f32::MIN_POSITIVE)
        };
        if self.recipe.flushes && y.abs() < least { y * 0.0 } else { y }
    }

    /// What a step leaves behind.
    fn step(&self, x: f64) -> f64 {
        let x = self.r(x);
        if self.recipe.stored_steps { round(x, self.stored) } else { x }
    }

    fn sum(&self, terms: &[(f64, f64)]) -> f64 {
        match self.recipe.order {
            Order::Forward => self.forward(terms.iter().copied()),
            Order::Backward => self.forward(terms.iter().rev().copied()),
            Order::Pairwise => self.pairwise(terms),
            Order::Lanes(n) => {
                let lane = |at: usize| self.forward(terms.iter().skip(at).step_by(n).copied());
                (0..n.min(terms.len())).fold(0.0, |sum, at| self.r(sum + lane(at)))
            }
            Order::Blocks(n) => {
                let blocks = terms.chunks(n).map(|block| self.forward(block.iter().copied()));
                blocks.fold(0.0, |sum, block| self.r(sum + block))
            }
            Order::Compensated => {
                let (mut sum, mut lost) = (0.0, 0.0);
                for (x, y) in terms {
                    let term = self.r(self.r(x * y) - lost);
                    let next = self.r(sum + term);
                    lost = self.r(self.r(next - sum) - term);
                    // Of infinities nothing is lost.
                    lost = if lost.is_finite() { lost } else { 0.0 };
                    sum = next;
                }
                sum
            }
            Order::Fused => terms.iter().fold(0.0, |sum, (x, y)| self.r(x.mul_add(*y, sum))),
            Order::Wide => self.r(terms.iter().map(|(x, y)| x * y).sum()),
        }
    }

    fn forward(&self, terms: impl Iterator<Item = (f64, f64)>) -> f64 {
        terms.fold(0.0, |sum, (x, y)| self.r(sum + self.r(x * y)))
    }

    fn pairwise(&self, terms: &[(f64, f64)]) -> f64 {
        match terms {
            [] => 0.0,
            [(x, y)] => self.r(x * y),
            _ => {
                let (left, right) = terms.split_at(terms.len() / 2);
                self.r(self.pairwise(left) + self.pairwise(right))
            }
        }
    }

    /// `e^x`; with [`Exponential::Folded`] `2^x`, for the scores hold the factor.
    fn exp(&self, x: f64) -> f64 {
        let plain = |x: f64| match self.work {
            Dtype::Float64 => libm::exp(x),
            _ => f64::from(libm::expf(x as f32)),
        };
        let binary = |x: f64| match self.work {
            Dtype::Float64 => libm::exp2(x),
            _ => f64::from(libm::exp2f(x as f32)),
        };
        let y = match self.recipe.exponential {
            Exponential::Natural => plain(x),
            Exponential::Binary => binary(self.r(x * self.r(std::f64::consts::LOG2_E))),
            Exponential::Folded => binary(x),
            Exponential::Squared => {
                let half = plain(self.r(x / 2.0));
                self.r(half * half)
            }
            Exponential::Polynomial => self.polynomial(x),
            Exponential::Coarse => plain(x + x / 1024.0),
        };
        self.step(y)
    }

    /// Reduced by a whole number of ln 2 in two parts, then Taylor's series.
    fn polynomial(&self, x: f64) -> f64 {
        if x < -1000.0 {
            return 0.0;
        }
        let n = (x * std::f64::consts::LOG2_E).round();
        let (high, low) = match self.work {
            Dtype::Float64 => (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10),
            _ => (0.693_359_375, -2.121_944_400_546_905_8e-4),
        };
        let r = self.r(self.r(x - self.r(n * high)) - self.r(n * low));
        let terms = if self.work == Dtype::Float64 { 14 } else { 8 };
        let series = (1..=terms)
            .rev()
            .fold(1.0, |sum, k| self.r(1.0 + self.r(self.r(r * sum) / f64::from(k))));
        self.r(series * libm::exp2(n))
    }

    fn tanh(&self, x: f64) -> f64 {
        let exp = |x: f64| match self.work {
            Dtype::Float64 => libm::exp(x),
            _ => f64::from(libm::expf(x as f32)),
        };
        let y = match self.recipe.cap {
            Cap::Tanh if self.work == Dtype::Float64 => libm::tanh(x),
            Cap::Tanh => f64::from(libm::tanhf(x as f32)),
            Cap::Exponentials => {
                let x = x.clamp(-15.0, 15.0);
                let (up, down) = (exp(x), exp(-x));
                self.r(self.r(up - down) / self.r(up + down))
            }
            Cap::Sigmoid => {
                let sigmoid = self.r(1.0 / self.r(1.0 + exp(self.r(-2.0 * x))));
                self.r(self.r(2.0 * sigmoid) - 1.0)
            }
        };
        self.step(y)
    }
}

/// Numerator by column, sum and largest score of some keys.
struct Part {
    largest: f64,
    sum: f64,
    output: Vec<f64>,
}

impl Recipe {
    /// The output of a call.
    pub(super) fn output(&self, call: &Call) -> Output {
        let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = call.dims();
        let stored = call.dtype();
        let work = if stored == Dtype::Float64 { stored } else { Dtype::Float32 };
        let a = Arithmetic { recipe: self, work, stored };
        let mut data = Vec::with_capacity(b * h_q * n_q * d_v);
        for row in 0..b * h_q * n_q {
            let (item, h, i) = (row / n_q / h_q, row / n_q % h_q, row % n_q);
            let head = (item * h_k + h / (h_q / h_k)) * n_k;
            let key = |j: usize| &call.key.data[(head + j) * d_k..][..d_k];
            let query = &call.query.data[row * d_k..][..d_k];
            let scores: Vec<Option<f64>> =
                (0..n_k).map(|j| self.score(&a, call, [item, h, i, j], query, key(j))).collect();
            let value = |j: usize, c: usize| call.value.data[(head + j) * d_v + c];
            data.extend(self.row(&a, &scores, d_v, &value).into_iter().map(|x| round(x, stored)));
        }
        let output = Tensor { dtype: stored, shape: vec![b, h_q, n_q, d_v], data };
        let (weights, lse, inputs_unchanged) = (None, None, true);
        Output { output, weights, lse, inputs_unchanged, handling: Handling::default() }
    }

    /// The score of a key; `None` if it is hidden.
    fn score(
        &self,
        a: &Arithmetic<'_>,
        call: &Call,
        at: [usize; 4],
        q: &[f64],
        k: &[f64],
    ) -> Option<f64> {
        let options = &call.options;
        if !attends(options, call.dims(), at) {
            return None;
        }
        let scale = options.scale.unwrap_or(1.0 / (q.len() as f64).sqrt());
        let folded = self.exponential == Exponential::Folded;
        let is_late = options.softcap.is_some() || options.bias.is_some() || self.stored_steps;
        let log2e = a.r(std::f64::consts::LOG2_E);
        let scale = if folded && !is_late { a.r(a.r(scale) * log2e) } else { a.r(scale) };
        let scaled = if scale < 0.0 { Scaled::Scores } else { self.scaled };
        let root = a.r(scale.abs().sqrt());
        let terms: Vec<(f64, f64)> = q
            .iter()
            .zip(k)
            .map(|(q, k)| match scaled {
                Scaled::Scores => (*q, *k),
                Scaled::Query => (a.r(q * scale), *k),
                Scaled::Both => (a.r(q * root), a.r(k * root)),
            })
            .collect();
        let mut score = a.step(a.sum(&terms));
        if scaled == Scaled::Scores {
            score = a.step(score * scale);
        }
        if let Some(cap) = options.softcap {
            let cap = a.r(cap);
            score = a.step(cap * a.tanh(a.step(score / cap)));
        }
        if let Some(bias) = &options.bias {
            score = a.step(score + bias.data[offset(&bias.shape, at)]);
        }
        Some(if folded && is_late { a.r(score * log2e) } else { score })
    }

    fn row(
        &self,
        a: &Arithmetic<'_>,
        scores: &[Option<f64>],
        d_v: usize,
        value: &dyn Fn(usize, usize) -> f64,
    ) -> Vec<f64> {
        let all: Vec<usize> = (0..scores.len()).collect();
        let n = all.len().max(1);
        let tiles = |keys: &[usize]| -> Vec<Vec<usize>> {
            keys.chunks(self.tile).map(<[usize]>::to_vec).collect()
        };
        match self.merge {
            Merge::TwoPasses => {
                let part = self.part(a, scores, d_v, value, &[all]);
                self.divided(a, part)
            }
            Merge::Online | Merge::Late => {
                let part = self.part(a, scores, d_v, value, &tiles(&all));
                self.divided(a, part)
            }
            Merge::BySum => {
                let parts = all
                    .chunks(n.div_ceil(3))
                    .map(|keys| self.part(a, scores, d_v, value, &tiles(keys)));
                let merged = parts.fold(None, |merged, part| {
                    Some(match merged {
                        None => part,
                        Some(merged) => self.merged(a, merged, part),
                    })
                });
                merged.map_or_else(|| vec![0.0; d_v], |part| self.divided(a, part))
            }
            Merge::ByLse => {
                let parts: Vec<(f64, Vec<f64>)> = all
                    .chunks(n.div_ceil(3))
                    .map(|keys| {
                        let part = self.part(a, scores, d_v, value, &tiles(keys));
                        let lse = a.r(part.largest + self.log(a, part.sum));
                        let narrow =
                            |x: f64| if self.narrow_parts { round(x, a.stored) } else { x };
                        (lse, self.divided(a, part).into_iter().map(narrow).collect())
                    })
                    .collect();
                let largest = parts.iter().map(|(lse, _)| *lse).fold(f64::NEG_INFINITY, f64::max);
                let shift = if largest == f64::NEG_INFINITY { 0.0 } else { largest };
                let shares: Vec<f64> =
                    parts.iter().map(|(lse, _)| a.exp(a.r(lse - shift))).collect();
                let total = a.sum(&shares.iter().map(|share| (*share, 1.0)).collect::<Vec<_>>());
                let column = |c: usize| {
                    let terms: Vec<_> =
                        shares.iter().zip(&parts).map(|(s, (_, o))| (*s, o[c])).collect();
                    if total > 0.0 { a.r(a.sum(&terms) / total) } else { 0.0 }
                };
                (0..d_v).map(column).collect()
            }
        }
    }

    fn log(&self, a: &Arithmetic<'_>, x: f64) -> f64 {
        match (self.exponential, a.work) {
            (Exponential::Folded, Dtype::Float64) => libm::log2(x),
            (Exponential::Folded, _) => f64::from(libm::log2f(x as f32)),
            (_, Dtype::Float64) => libm::log(x),
            _ => f64::from(libm::logf(x as f32)),
        }
    }

    /// Numerator and sum of the keys of some tiles, one after the other.
    fn part(
        &self,
        a: &Arithmetic<'_>,
        scores: &[Option<f64>],
        d_v: usize,
        value: &dyn Fn(usize, usize) -> f64,
        tiles: &[Vec<usize>],
    ) -> Part {
        let hidden = match self.hides {
            Hides::Finite if a.stored == Dtype::Float16 && self.stored_steps => -65504.0,
            Hides::Finite => -1e30,
            _ => f64::NEG_INFINITY,
        };
        let mut part = Part { largest: f64::NEG_INFINITY, sum: 0.0, output: vec![0.0; d_v] };
        for tile in tiles {
            let keys: Vec<usize> = tile
                .iter()
                .copied()
                .filter(|j| self.hides != Hides::Skipped || scores[*j].is_some())
                .collect();
            let score = |j: usize| match scores[j] {
                Some(score) => score,
                // It is as if nothing hid it, till its weight is set to zero.
                None if self.hides == Hides::Zero => 0.0,
                None => hidden,
            };
            let seen = |j: &&usize| scores[**j].is_some() || self.hides != Hides::Zero;
            let largest =
                keys.iter().filter(seen).map(|j| score(*j)).fold(f64::NEG_INFINITY, f64::max);
            let step = if self.exponential == Exponential::Folded {
                8.0
            } else {
                8.0 * std::f64::consts::LN_2
            };
            let is_late = self.merge == Merge::Late && largest <= part.largest + step;
            let next = if is_late { part.largest } else { part.largest.max(largest) };
            if next == f64::NEG_INFINITY {
                continue;
            }
            let rescale = if part.sum == 0.0 { 0.0 } else { a.exp(a.r(part.largest - next)) };
            let weights: Vec<f64> = keys
                .iter()
                .map(|j| match (self.hides, scores[*j]) {
                    (Hides::Zero, None) => 0.0,
                    _ => a.exp(a.step(score(*j) - next)),
                })
                .collect();
            let ones: Vec<_> = weights.iter().map(|w| (*w, 1.0)).collect();
            let own = a.step(a.sum(&ones));
            part.sum = if part.sum == 0.0 { own } else { a.r(a.r(part.sum * rescale) + own) };
            part.largest = next;
            let weight = |w: f64| {
                let w =
                    if self.divided == Divided::Early && own > 0.0 { a.step(w / own) } else { w };
                if self.narrow_weights { round(w, a.stored) } else { w }
            };
            let weights: Vec<f64> = weights.into_iter().map(weight).collect();
            for c in 0..d_v {
                let terms: Vec<_> =
                    weights.iter().zip(&keys).map(|(w, j)| (*w, value(*j, c))).collect();
                let kept = if part.output[c] == 0.0 { 0.0 } else { a.r(part.output[c] * rescale) };
                part.output[c] = a.r(kept + a.sum(&terms));
            }
        }
        let is_empty = self.hides == Hides::Finite && scores.iter().all(Option::is_none);
        if is_empty { Part { sum: 0.0, largest: f64::NEG_INFINITY, ..part } } else { part }
    }

    fn merged(&self, a: &Arithmetic<'_>, one: Part, other: Part) -> Part {
        let largest = one.largest.max(other.largest);
        let factor =
            |part: &Part| if part.sum == 0.0 { 0.0 } else { a.exp(a.r(part.largest - largest)) };
        let (x, y) = (factor(&one), factor(&other));
        let sum = |p: f64, q: f64| a.r(a.r(p * x) + a.r(q * y));
        let output = one.output.iter().zip(&other.output).map(|(p, q)| sum(*p, *q)).collect();
        Part { largest, sum: sum(one.sum, other.sum), output }
    }

    fn divided(&self, a: &Arithmetic<'_>, part: Part) -> Vec<f64> {
        let Part { sum, output, .. } = part;
        let column = |x: f64| match self.divided {
            _ if sum == 0.0 => 0.0,
            Divided::Early => x,
            Divided::Late => a.step(x / sum),
            Divided::Reciprocal => a.r(x * a.r(1.0 / sum)),
        };
        output.into_iter().map(column).collect()
    }
}
