//! Implementations that keep a contract, written apart from the engine's simulator: every operation is rounded by hand.

use qkvet_engine::format::{min_normal, round, unit_roundoff};
use qkvet_spec::Contract;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::Problem;

/// Choices that a contract leaves open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Online recurrence over tiles; otherwise one softmax over stored scores.
    pub(crate) online: bool,
    /// Tile of the recurrence.
    pub(crate) tile: usize,
    /// Fold `log₂ e` into the scale and use powers of two.
    pub(crate) base_two: bool,
    /// Round `query·√s` and `key·√s` to the storage format (only if the contract allows it).
    pub(crate) scale_inputs: bool,
    /// Store scores in the storage format (only if the contract allows it).
    pub(crate) store_scores: bool,
    /// Sum products in reverse order.
    pub(crate) reverse: bool,
    /// How exponentials below the normal range come out: flushed to zero, or clamped to the smallest normal number.
    pub(crate) clamp: bool,
}

/// Format-true arithmetic of one contract.
pub(crate) struct Machine<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) style: Style,
    pub(crate) rng: ChaCha8Rng,
}

impl Machine<'_> {
    /// Rounds to the softmax format.
    fn a(&self, x: f64) -> f64 {
        round(x, self.contract.softmax)
    }

    /// Rounds to the dot format.
    fn d(&self, x: f64) -> f64 {
        round(x, self.contract.dot)
    }

    fn dot(&self, terms: impl DoubleEndedIterator<Item = (f64, f64)>) -> f64 {
        let add = |sum: f64, (x, y): (f64, f64)| self.d(sum + self.d(x * y));
        if self.style.reverse { terms.rev().fold(0.0, add) } else { terms.fold(0.0, add) }
    }

    /// An exponential as bad as the contract allows; 1 at 0.
    fn exp(&mut self, x: f64) -> f64 {
        let format = self.contract.softmax;
        let exact = if self.style.base_two { libm::exp2(x) } else { libm::exp(x) };
        if x == 0.0 {
            return 1.0;
        }
        if exact < min_normal(format) {
            return if self.style.clamp { min_normal(format) } else { 0.0 };
        }
        let slack = f64::from(self.contract.exp_error).max(3.0) - 3.0;
        let error = unit_roundoff(format) * slack * self.rng.random_range(-1.0..1.0);
        self.a(exact * (1.0 + error))
    }

    /// The output of the whole problem, row-major.
    pub(crate) fn run(&mut self, problem: &Problem, scale: f64) -> Vec<f64> {
        (0..problem.n_q).flat_map(|i| self.row(problem, scale, i)).collect()
    }

    fn row(&mut self, problem: &Problem, scale: f64, i: usize) -> Vec<f64> {
        let keys: Vec<usize> = (0..problem.n_k).collect();
        if !keys.iter().any(|j| problem.sees(i, *j)) {
            return vec![0.0; problem.d_v];
        }
        let scores: Vec<f64> = keys.iter().map(|j| self.score(problem, scale, i, *j)).collect();
        if self.style.online { self.online(problem, &scores) } else { self.stored(problem, &scores) }
    }

    /// The logit of a key as the exponential takes it, `−∞` if the key is not seen.
    fn score(&self, problem: &Problem, scale: f64, i: usize, j: usize) -> f64 {
        if !problem.sees(i, j) {
            return f64::NEG_INFINITY;
        }
        let dtype = self.contract.dtype;
        let stored = |x: f64| if self.style.store_scores { round(x, dtype) } else { x };
        let half_scale = self.a(scale.abs().sqrt());
        let width = problem.d_k;
        let query = &problem.query[i * width..(i + 1) * width];
        let key = &problem.key[j * width..(j + 1) * width];
        let pairs = query.iter().zip(key);
        let mut z = if self.style.scale_inputs {
            let scaled = |x: f64, factor: f64| round(x * factor, dtype);
            let signed = half_scale.copysign(scale);
            stored(self.dot(pairs.map(|(q, k)| (scaled(*q, signed), scaled(*k, half_scale)))))
        } else {
            stored(self.a(stored(self.dot(pairs.map(|(q, k)| (*q, *k)))) * self.a(scale)))
        };
        if let Some(bias) = &problem.bias {
            z = stored(self.a(z + bias[i * problem.n_k + j]));
        }
        if self.style.base_two { self.a(z * self.a(std::f64::consts::LOG2_E)) } else { z }
    }

    fn online(&mut self, problem: &Problem, scores: &[f64]) -> Vec<f64> {
        let (mut top, mut total, mut output) = (f64::NEG_INFINITY, 0.0, vec![0.0; problem.d_v]);
        for start in (0..problem.n_k).step_by(self.style.tile) {
            let tile = start..problem.n_k.min(start + self.style.tile);
            let new_top = scores[tile.clone()].iter().fold(top, |max, z| max.max(*z));
            if new_top == f64::NEG_INFINITY {
                continue;
            }
            let rescale = if top == f64::NEG_INFINITY { 0.0 } else { self.exp(self.a(top - new_top)) };
            let weights: Vec<f64> = scores[tile.clone()].iter().map(|z| self.weight(*z, new_top)).collect();
            let tile_sum = weights.iter().fold(0.0, |sum, p| self.a(sum + p));
            total = self.a(self.a(total * rescale) + tile_sum);
            for (c, output) in output.iter_mut().enumerate() {
                let rounded = weights.iter().map(|p| round(*p, self.contract.weights));
                let terms = rounded.zip(tile.clone()).map(|(p, j)| (p, problem.value[j * problem.d_v + c]));
                *output = self.d(self.d(*output * rescale) + self.dot(terms));
            }
            top = new_top;
        }
        output.iter().map(|x| round(self.a(x / total), self.contract.dtype)).collect()
    }

    fn stored(&mut self, problem: &Problem, scores: &[f64]) -> Vec<f64> {
        let top = scores.iter().fold(f64::NEG_INFINITY, |max, z| max.max(*z));
        let exponentials: Vec<f64> = scores.iter().map(|z| self.weight(*z, top)).collect();
        let total = exponentials.iter().fold(0.0, |sum, e| self.a(sum + e));
        let weights: Vec<f64> = exponentials.iter().map(|e| round(self.a(e / total), self.contract.weights)).collect();
        let column = |c: usize| weights.iter().enumerate().map(move |(j, w)| (*w, problem.value[j * problem.d_v + c]));
        (0..problem.d_v).map(|c| round(self.dot(column(c)), self.contract.dtype)).collect()
    }

    fn weight(&mut self, z: f64, top: f64) -> f64 {
        if z == f64::NEG_INFINITY { 0.0 } else { self.exp(self.a(z - top)) }
    }
}
