//! Implementations that keep a contract, written apart from the engine's simulator: every operation
//! is rounded by hand.

use qkvet_engine::format::{min_normal, round, unit_roundoff};
use qkvet_engine::head::Stage;
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
    /// Rescale only when the maximum has grown by more than `ln 2⁸`.
    pub(crate) puts_off: bool,
    /// Fold `log₂ e` into the scale and use powers of two.
    pub(crate) base_two: bool,
    /// Round `query·√s` and `key·√s` to the storage format (only if the contract allows it).
    pub(crate) scale_inputs: bool,
    /// Store scores in the storage format (only if the contract allows it).
    pub(crate) store_scores: bool,
    /// Store shifted scores, exponentials and row sum in the storage format (only if the contract
    /// allows it, and not in an online recurrence).
    pub(crate) store_steps: bool,
    /// How the tangent of a softcap is made.
    pub(crate) tangent: Tangent,
    /// Sum products in reverse order.
    pub(crate) reverse: bool,
    /// How exponentials below the normal range come out: flushed to zero, or clamped to the
    /// smallest normal number.
    pub(crate) clamp: bool,
    /// Cut off what does not fit (only if the contract allows it), products in blocks of this many.
    pub(crate) cut: Option<usize>,
    /// Parts of the keys that are normalized on their own and merged (more than 1 only if the
    /// contract allows it).
    pub(crate) parts: usize,
    /// Add up rounded weights (only if the contract allows it).
    pub(crate) sum_rounded: bool,
    /// The sink comes after the keys; otherwise before them.
    pub(crate) sink_last: bool,
}

/// How a hyperbolic tangent is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tangent {
    /// By a function with a relative error.
    Function,
    /// `(e^y − e^−y) / (e^y + e^−y)`.
    Quotient,
    /// `2 / (1 + e^(−2y)) − 1`.
    Sigmoid,
}

impl Style {
    /// The plainest one.
    pub(crate) const PLAIN: Self = Self {
        online: false,
        tile: 16,
        puts_off: false,
        base_two: false,
        scale_inputs: false,
        store_scores: false,
        store_steps: false,
        tangent: Tangent::Function,
        reverse: false,
        clamp: false,
        cut: None,
        parts: 1,
        sum_rounded: false,
        sink_last: false,
    };
}

/// Format-true arithmetic of one contract.
pub(crate) struct Machine<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) style: Style,
    pub(crate) rng: ChaCha8Rng,
}

/// A part of the keys: its normalized output and its log-sum-exp in the base of the style.
struct Part {
    output: Vec<f64>,
    lse: f64,
}

/// `x` with `bits` significant bits, the rest cut off or rounded to nearest.
fn keep_bits(x: f64, bits: u32, cut: bool) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = i32::try_from((x.abs().to_bits() >> 52) & 2047).unwrap() - 1023;
    on_grid(x, (exponent - i32::try_from(bits).unwrap() + 1).max(-1074), cut)
}

/// `x` as a multiple of `2^grid`.
fn on_grid(x: f64, grid: i32, cut: bool) -> f64 {
    let unit = libm::exp2(f64::from(grid));
    let count = x / unit;
    unit * if cut { count.trunc() } else { count.round_ties_even() }
}

impl Machine<'_> {
    /// Rounds to the softmax format.
    fn a(&self, x: f64) -> f64 {
        round(x, self.contract.softmax)
    }

    /// Rounds to what the accumulator keeps.
    fn d(&self, x: f64) -> f64 {
        round(
            keep_bits(x, self.contract.dot_precision(), self.style.cut.is_some()),
            self.contract.dot,
        )
    }

    /// An operand of a product.
    fn operand(&self, x: f64) -> f64 {
        match self.contract.operands {
            Some(format) if self.style.cut.is_some() => keep_bits(x, format.precision(), true),
            Some(format) => round(x, format),
            None => x,
        }
    }

    /// A sum of products in the accumulator.
    fn dot(&self, terms: impl DoubleEndedIterator<Item = (f64, f64)>) -> f64 {
        let terms = terms.map(|(x, y)| (self.operand(x), self.operand(y)));
        let mut terms: Vec<(f64, f64)> =
            if self.style.reverse { terms.rev().collect() } else { terms.collect() };
        match self.style.cut {
            Some(block) if block > 1 => {
                terms.chunks(block).fold(0.0, |sum, block| self.add_block(sum, block))
            }
            _ if self.contract.depth.scores.is_some() || self.contract.depth.values.is_some() => {
                let mut sums: Vec<f64> = terms.drain(..).map(|(x, y)| self.d(x * y)).collect();
                while sums.len() > 1 {
                    sums = sums.chunks(2).map(|pair| self.d(pair.iter().sum())).collect();
                }
                sums.first().copied().unwrap_or(0.0)
            }
            _ => terms.iter().fold(0.0, |sum, (x, y)| self.d(sum + self.d(x * y))),
        }
    }

    /// Neighboring products, aligned with the sum so far to the largest of them, cut off and added
    /// at once.
    fn add_block(&self, sum: f64, block: &[(f64, f64)]) -> f64 {
        let addends: Vec<f64> = block.iter().map(|(x, y)| x * y).chain([sum]).collect();
        let largest = addends.iter().fold(0.0f64, |max, x| max.max(x.abs()));
        if largest == 0.0 || !largest.is_finite() {
            return addends.iter().sum();
        }
        let exponent = i32::try_from(largest.to_bits() >> 52).unwrap() - 1023;
        let grid = exponent - i32::try_from(self.contract.dot_precision()).unwrap() + 1;
        self.d(addends.iter().map(|x| on_grid(*x, grid, true)).sum())
    }

    /// A sum in the softmax format.
    fn sum(&self, addends: &[f64]) -> f64 {
        if self.contract.depth.values.is_none() {
            return addends.iter().fold(0.0, |sum, x| self.a(sum + x));
        }
        let mut sums = addends.to_vec();
        while sums.len() > 1 {
            sums = sums.chunks(2).map(|pair| self.a(pair.iter().sum())).collect();
        }
        sums.first().copied().unwrap_or(0.0)
    }

    /// A function value as bad as an error of so many unit roundoffs allows.
    fn spoil(&mut self, exact: f64, allowed: u32) -> f64 {
        let slack = f64::from(allowed).max(3.0) - 3.0;
        let error = unit_roundoff(self.contract.softmax) * slack * self.rng.random_range(-1.0..1.0);
        self.a(exact * (1.0 + error))
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
        self.spoil(exact, self.contract.exp_error)
    }

    /// A tangent as bad as the contract allows; 0 at 0.
    fn tanh(&mut self, y: f64) -> f64 {
        // No exponential of those that make a tangent may overflow.
        let y = y.clamp(-20.0, 20.0);
        match self.style.tangent {
            Tangent::Function => self.spoil(libm::tanh(y), self.contract.tanh_error),
            Tangent::Quotient => {
                let (up, down) = (self.natural_exp(y), self.natural_exp(-y));
                self.a(self.a(up - down) / self.a(up + down))
            }
            Tangent::Sigmoid => {
                let divisor = 1.0 + self.natural_exp(-2.0 * y);
                let half = self.a(1.0 / self.a(divisor));
                self.a(2.0 * half - 1.0)
            }
        }
    }

    fn natural_exp(&mut self, x: f64) -> f64 {
        if x == 0.0 { 1.0 } else { self.spoil(libm::exp(x), self.contract.exp_error) }
    }

    /// A step of the softmax as the next one reads it.
    fn step(&self, x: f64) -> f64 {
        if self.style.store_steps { round(x, self.contract.storage()) } else { x }
    }

    /// A logarithm as bad as the contract allows; 0 at 1.
    fn log(&mut self, x: f64) -> f64 {
        let exact = if self.style.base_two { libm::log2(x) } else { libm::log(x) };
        self.spoil(exact, self.contract.exp_error)
    }

    /// The output of the whole problem, row-major.
    pub(crate) fn run(&mut self, problem: &Problem, scale: f64) -> Vec<f64> {
        self.run_with_lse(problem, scale).0
    }

    /// The output of the whole problem and the log-sum-exp of each row.
    pub(crate) fn run_with_lse(&mut self, problem: &Problem, scale: f64) -> (Vec<f64>, Vec<f64>) {
        let rows: Vec<_> = (0..problem.n_q).map(|i| self.row(problem, scale, i)).collect();
        (
            rows.iter().flat_map(|row| row.0.clone()).collect(),
            rows.iter().map(|row| row.1).collect(),
        )
    }

    fn row(&mut self, problem: &Problem, scale: f64, i: usize) -> (Vec<f64>, f64) {
        let sink = problem.sink.map(|sink| self.in_base(sink));
        let is_empty = !(0..problem.n_k).any(|j| problem.sees(i, j));
        if is_empty && sink.is_none() {
            return (vec![0.0; problem.d_v], f64::NEG_INFINITY);
        }
        let shift = self.alibi_shift(problem, i);
        let scores: Vec<f64> =
            (0..problem.n_k).map(|j| self.score(problem, scale, i, j, shift.is_some())).collect();
        // A shift of all keys is one of the sink too, which has none of its own.
        let sink = sink.map(|sink| shift.map_or(sink, |shift| self.a(sink + self.in_base(shift))));
        let count = if self.contract.merges { self.style.parts } else { 1 };
        let length = problem.n_k.div_ceil(count).max(self.style.tile).max(1);
        let mut parts = Vec::new();
        for start in (0..problem.n_k.max(1)).step_by(length) {
            let keys = start..problem.n_k.min(start + length);
            let is_last = start + length >= problem.n_k;
            parts.extend(self.part(problem, &scores, keys, sink.filter(|_| is_last)));
        }
        // Every score has overflowed.
        if parts.is_empty() {
            return (vec![f64::NAN; problem.d_v], f64::NAN);
        }
        let Part { output, lse } = self.merge(parts);
        let lse =
            if self.style.base_two { self.a(lse * self.a(std::f64::consts::LN_2)) } else { lse };
        let lse = shift.map_or(lse, |shift| self.a(lse - shift));
        let stored = |x: f64| self.contract.storage.map_or(x, |storage| round(x, storage));
        let output = output.iter().map(|x| round(stored(*x), self.contract.output())).collect();
        (output, round(lse, self.contract.lse()))
    }

    fn in_base(&self, z: f64) -> f64 {
        if self.style.base_two {
            self.a(self.a(z) * self.a(std::f64::consts::LOG2_E))
        } else {
            self.a(z)
        }
    }

    /// `slope·(i + offset)` where the distance to a key may be replaced by its position.
    fn alibi_shift(&self, problem: &Problem, i: usize) -> Option<f64> {
        let alibi = problem
            .alibi
            .filter(|_| problem.stages.last() == Some(&Stage::Bias) && self.style.reverse)?;
        let position = i as f64 + alibi.offset as f64;
        let is_causal = (0..problem.n_k).all(|j| !problem.sees(i, j) || j as f64 <= position);
        is_causal.then(|| self.a(self.a(alibi.slope) * position))
    }

    /// The logit of a key as the exponential takes it, `−∞` if the key is not seen.
    fn score(
        &mut self,
        problem: &Problem,
        scale: f64,
        i: usize,
        j: usize,
        is_shifted: bool,
    ) -> f64 {
        if !problem.sees(i, j) {
            return f64::NEG_INFINITY;
        }
        let dtype = self.contract.storage();
        let stores = self.style.store_scores;
        let stored = |x: f64| if stores { round(x, dtype) } else { x };
        let half_scale = self.a(scale.abs().sqrt());
        let width = problem.d_k;
        let query = &problem.query[i * width..(i + 1) * width];
        let key = &problem.key[j * width..(j + 1) * width];
        let pairs = query.iter().zip(key);
        let scales_inputs =
            self.style.scale_inputs && problem.stages.first() == Some(&Stage::Scale);
        // What one rounding of the contract admits: the query alone takes the scale.
        let only_query = self.contract.input_roundings < 4;
        let mut z = if scales_inputs {
            let scaled = |x: f64, factor: f64| round(x * factor, dtype);
            let signed = half_scale.copysign(scale);
            let (of_query, of_key) =
                if only_query { (round(scale, dtype), 1.0) } else { (signed, half_scale) };
            stored(self.dot(pairs.map(|(q, k)| (scaled(*q, of_query), scaled(*k, of_key)))))
        } else {
            stored(self.dot(pairs.map(|(q, k)| (*q, *k))))
        };
        for stage in &problem.stages {
            match stage {
                Stage::Scale if scales_inputs => {}
                Stage::Scale => z = stored(self.a(z * self.a(scale))),
                Stage::Softcap => {
                    if let Some(cap) = problem.softcap {
                        let cap = self.a(cap);
                        let quotient = stored(self.a(z / cap));
                        let tanh = stored(self.tanh(quotient));
                        z = stored(self.a(tanh * cap));
                    }
                }
                Stage::Bias => {
                    if let Some(bias) = &problem.bias {
                        z = stored(self.a(z + self.a(bias[i * problem.n_k + j])));
                    }
                    if let Some(alibi) = problem.alibi {
                        let position = i as f64 + alibi.offset as f64;
                        let distance =
                            if is_shifted { -(j as f64) } else { (position - j as f64).abs() };
                        z = stored(self.a(z - stored(self.a(self.a(alibi.slope) * distance))));
                    }
                }
            }
        }
        if self.style.base_two { self.a(z * self.a(std::f64::consts::LOG2_E)) } else { z }
    }

    /// Output and log-sum-exp of some keys, and of the sink if it is given; `None` if all are
    /// hidden.
    fn part(
        &mut self,
        problem: &Problem,
        scores: &[f64],
        keys: std::ops::Range<usize>,
        sink: Option<f64>,
    ) -> Option<Part> {
        let is_empty = scores[keys.clone()].iter().all(|z| *z == f64::NEG_INFINITY);
        if is_empty && sink.is_none() {
            return None;
        }
        Some(if self.style.online {
            self.online(problem, scores, keys, sink)
        } else {
            self.stored(problem, scores, keys, sink)
        })
    }

    fn online(
        &mut self,
        problem: &Problem,
        scores: &[f64],
        keys: std::ops::Range<usize>,
        sink: Option<f64>,
    ) -> Part {
        let (mut top, mut total, mut output) = (f64::NEG_INFINITY, 0.0, vec![0.0; problem.d_v]);
        if let Some(sink) = sink.filter(|_| !self.style.sink_last) {
            (top, total) = (sink, 1.0);
        }
        for start in keys.clone().step_by(self.style.tile) {
            let tile = start..keys.end.min(start + self.style.tile);
            let new_top = scores[tile.clone()].iter().fold(top, |max, z| max.max(*z));
            if new_top == f64::NEG_INFINITY {
                continue;
            }
            let threshold = 8.0 * if self.style.base_two { 1.0 } else { std::f64::consts::LN_2 };
            let waits = self.style.puts_off && new_top - top <= threshold;
            let new_top = if waits { top } else { new_top };
            let rescale =
                if top == f64::NEG_INFINITY { 0.0 } else { self.exp(self.a(top - new_top)) };
            let weights: Vec<f64> =
                scores[tile.clone()].iter().map(|z| self.weight(*z, new_top)).collect();
            total = self.a(self.a(total * rescale) + self.sum(&self.summed(&weights)));
            for (c, output) in output.iter_mut().enumerate() {
                let rounded = weights.iter().map(|p| round(*p, self.contract.weights));
                let terms =
                    rounded.zip(tile.clone()).map(|(p, j)| (p, problem.value[j * problem.d_v + c]));
                *output = self.d(self.d(*output * rescale) + self.dot(terms));
            }
            top = new_top;
        }
        if let Some(sink) = sink.filter(|_| self.style.sink_last) {
            let new_top = top.max(sink);
            let rescale =
                if top == f64::NEG_INFINITY { 0.0 } else { self.exp(self.a(top - new_top)) };
            let of_sink = self.exp(self.a(sink - new_top));
            total = self.a(self.a(total * rescale) + of_sink);
            output.iter_mut().for_each(|x| *x = self.d(*x * rescale));
            top = new_top;
        }
        let log = self.log(total);
        Part { output: output.iter().map(|x| self.a(x / total)).collect(), lse: self.a(top + log) }
    }

    fn stored(
        &mut self,
        problem: &Problem,
        scores: &[f64],
        keys: std::ops::Range<usize>,
        sink: Option<f64>,
    ) -> Part {
        let top = scores[keys.clone()]
            .iter()
            .fold(sink.unwrap_or(f64::NEG_INFINITY), |max, z| max.max(*z));
        let exponentials: Vec<f64> =
            scores[keys.clone()].iter().map(|z| self.weight(*z, top)).collect();
        let mut addends = self.summed(&exponentials);
        addends.extend(sink.map(|sink| self.weight(sink, top)));
        let total = self.step(self.sum(&addends));
        let divisor = if self.contract.divides_last { 1.0 } else { total };
        let weights: Vec<f64> = exponentials
            .iter()
            .map(|e| round(self.a(e / divisor), self.contract.weights))
            .collect();
        let column = |c: usize| {
            weights
                .iter()
                .zip(keys.clone())
                .map(move |(w, j)| (*w, problem.value[j * problem.d_v + c]))
        };
        let outputs =
            (0..problem.d_v).map(|c| self.a(self.dot(column(c)) / (total / divisor))).collect();
        let log = self.log(total);
        Part { output: outputs, lse: self.a(top + log) }
    }

    /// Parts merged by their log-sum-exp, each rounded to the format in which it is stored.
    fn merge(&mut self, parts: Vec<Part>) -> Part {
        if parts.len() == 1 {
            return parts.into_iter().next().unwrap();
        }
        let top = parts.iter().fold(f64::NEG_INFINITY, |max, part| max.max(part.lse));
        let weights: Vec<f64> = parts.iter().map(|part| self.exp(self.a(part.lse - top))).collect();
        let total = self.sum(&weights);
        let stored = |x: f64| self.contract.partial.map_or(x, |format| round(x, format));
        let output = (0..parts[0].output.len())
            .map(|c| {
                let terms = parts.iter().zip(&weights);
                terms.fold(0.0, |sum, (part, w)| {
                    self.a(sum + self.a(self.a(w / total) * stored(part.output[c])))
                })
            })
            .collect();
        let log = self.log(total);
        Part { output, lse: self.a(top + log) }
    }

    /// The weights that the row sum adds up.
    fn summed(&self, weights: &[f64]) -> Vec<f64> {
        let rounded =
            |p: &f64| if self.style.sum_rounded { round(*p, self.contract.weights) } else { *p };
        weights.iter().map(rounded).collect()
    }

    fn weight(&mut self, z: f64, top: f64) -> f64 {
        if z == f64::NEG_INFINITY {
            return 0.0;
        }
        let exponential = self.exp(self.step(self.a(z - top)));
        self.step(exponential)
    }
}
