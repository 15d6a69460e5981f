//! The formats of an execution, and rounding to them.

use qkvet_spec::{Arithmetic, Dtype, Execution, Store};

use crate::format::round;

/// Formats of the steps of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formats {
    arithmetic: Dtype,
    dots: Dtype,
    sums: Dtype,
    outputs: Dtype,
    exponentials: Dtype,
    query: Option<Dtype>,
    scores: Option<Dtype>,
    weights: Option<Dtype>,
}

impl Formats {
    pub(super) fn new(execution: &Execution, dtype: Dtype) -> Self {
        let arithmetic = execution.arithmetic.format(dtype);
        let of = |own: Arithmetic| {
            if own == Arithmetic::Ordinary { arithmetic } else { own.format(dtype) }
        };
        let stored = |store: Store| (store == Store::Call).then_some(dtype);
        Self {
            arithmetic,
            dots: of(execution.dots),
            sums: of(execution.sums),
            outputs: of(execution.outputs),
            exponentials: of(execution.exponentials),
            query: stored(execution.scaled_query),
            scores: stored(execution.store_scores),
            weights: stored(execution.store_weights),
        }
    }

    /// Rounded as every other sum, product and exponential.
    pub(super) fn arithmetic(&self, x: f64) -> f64 {
        to(x, self.arithmetic)
    }

    /// Rounded as partial sums of a score.
    pub(super) fn dot(&self, x: f64) -> f64 {
        to(x, self.dots)
    }

    /// Rounded as partial row sums.
    pub(super) fn sum(&self, x: f64) -> f64 {
        to(x, self.sums)
    }

    /// Rounded as partial sums of an output.
    pub(super) fn output(&self, x: f64) -> f64 {
        to(x, self.outputs)
    }

    /// `e^x` of what is rounded to the arithmetic, rounded.
    pub(super) fn exp(&self, x: f64) -> f64 {
        to(libm::exp(self.arithmetic(x)), self.exponentials)
    }

    /// A scaled query as stored; `None` where the scale meets the score.
    pub(super) fn scaled_query(&self, x: f64) -> Option<f64> {
        self.query.map(|format| round(x, format))
    }

    /// A score as stored.
    pub(super) fn score(&self, x: f64) -> f64 {
        self.scores.map_or(x, |format| round(x, format))
    }

    /// A weight as stored.
    pub(super) fn weight(&self, x: f64) -> f64 {
        self.weights.map_or(x, |format| round(x, format))
    }
}

fn to(x: f64, format: Dtype) -> f64 {
    match format {
        Dtype::Float64 => x,
        #[expect(clippy::cast_possible_truncation, reason = "rounding to float32 is the point")]
        Dtype::Float32 => f64::from(x as f32),
        narrow => round(x, narrow),
    }
}
