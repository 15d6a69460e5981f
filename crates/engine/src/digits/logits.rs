//! The logits of a head, exactly: algebraic numbers, and capped ones in between.

use dashu_int::IBig;

use super::algebraic::{Algebraics, ExactScale};
use super::dyadic::Dyadics;
use super::ratio::Ratio;
use super::softcap::Cap;
use crate::head::{Head, Stage};

/// Bits with which a capped logit is computed beyond those asked for.
const GUARD_BITS: usize = 4;

/// What the logits of a head are made of.
pub(super) struct ExactLogits<'a> {
    head: &'a Head<'a>,
    key: Dyadics,
    pub(super) scale: ExactScale,
    cap: Option<Cap>,
}

impl<'a> ExactLogits<'a> {
    /// The logits of a head whose numbers are finite.
    pub(super) fn new(head: &'a Head<'a>) -> Self {
        let cap = head.softcap.filter(|_| head.stages.contains(&Stage::Softcap));
        Self {
            head,
            key: Dyadics::new(head.key),
            scale: ExactScale::new(head.scale),
            cap: cap.map(Cap::new),
        }
    }

    /// The keys that query `i` sees, −∞ biases taken into account.
    pub(super) fn visible(&self, i: usize) -> Vec<usize> {
        let hides =
            |j: usize| self.head.bias_row(i).is_some_and(|bias| bias[j] == f64::NEG_INFINITY);
        (0..self.head.n_k).filter(|j| self.head.sees(i, *j) && !hides(*j)).collect()
    }

    /// The logits of query `i` for the keys that it sees, and behind them that of the sink.
    pub(super) fn of_row(&self, i: usize, seen: &[usize]) -> RowLogits<'_> {
        let mut sum = Algebraics::zeros(seen.len()).plus(self.dots(i, seen));
        let mut capped: Option<Capped<'_>> = None;
        for stage in self.head.stages {
            match stage {
                Stage::Scale => {
                    sum = sum.scaled(&self.scale);
                    // What is multiplied by 0 is 0, whatever it was.
                    capped = capped.filter(|_| !self.scale.is_zero());
                    capped = capped.map(|capped| Capped { is_scaled: true, ..capped });
                }
                Stage::Bias => {
                    for addends in [self.bias(i, seen), self.alibi(i, seen)].into_iter().flatten() {
                        sum = sum.plus(addends);
                    }
                }
                Stage::Softcap => {
                    if let Some(cap) = &self.cap {
                        capped = Some(Capped { inner: sum, cap, is_scaled: false });
                        sum = Algebraics::zeros(seen.len());
                    }
                }
            }
        }
        if let Some(sink) = self.head.sink {
            sum = sum.with(sink);
            capped = capped.map(|capped| Capped { inner: capped.inner.with(0.0), ..capped });
        }
        let count = seen.len() + usize::from(self.head.sink.is_some());
        let capped =
            capped.map(|capped| Capped { inner: capped.inner.canonical(&self.scale), ..capped });
        RowLogits { count, capped, rest: sum.canonical(&self.scale), scale: &self.scale }
    }

    fn dots(&self, i: usize, seen: &[usize]) -> Dyadics {
        let d_k = self.head.d_k;
        let query = Dyadics::new(self.head.query_row(i));
        let dot = |j: &usize| -> IBig {
            let key = &self.key.integers[j * d_k..(j + 1) * d_k];
            query.integers.iter().zip(key).map(|(q, k)| q * k).sum()
        };
        Dyadics {
            integers: seen.iter().map(dot).collect(),
            exponent: query.exponent + self.key.exponent,
        }
    }

    fn bias(&self, i: usize, seen: &[usize]) -> Option<Dyadics> {
        self.head
            .bias_row(i)
            .map(|bias| Dyadics::new(&seen.iter().map(|j| bias[*j]).collect::<Vec<_>>()))
    }

    fn alibi(&self, i: usize, seen: &[usize]) -> Option<Dyadics> {
        let alibi = self.head.slopes_of(i)?;
        let slope = Dyadics::new(&[-alibi.slope]);
        let distance =
            |j: &usize| (i as i128 + i128::from(alibi.offset) - *j as i128).unsigned_abs();
        let integers = seen.iter().map(|j| &slope.integers[0] * IBig::from(distance(j))).collect();
        Some(Dyadics { integers, exponent: slope.exponent })
    }
}

/// Terms `σ·c·tanh(inner/c)` of the logits, with `σ` the scale or 1.
struct Capped<'a> {
    inner: Algebraics,
    cap: &'a Cap,
    /// Whether `σ` is the scale, which is not 0 then.
    is_scaled: bool,
}

/// Logits of a row: `σ·c·tanh(inner/c) + rest`, or `rest` alone.
pub(super) struct RowLogits<'a> {
    count: usize,
    capped: Option<Capped<'a>>,
    rest: Algebraics,
    scale: &'a ExactScale,
}

impl RowLogits<'_> {
    /// Numbers of the logits, equal ones together.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let parts = |at: &usize| {
            let inner = self.capped.as_ref().map(|capped| capped.inner.parts(*at));
            (inner, self.rest.parts(*at))
        };
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by(|x, y| parts(x).cmp(&parts(y)));
        order.chunk_by(|x, y| parts(x) == parts(y)).map(<[usize]>::to_vec).collect()
    }

    /// Whether every logit is an algebraic number.
    pub(super) fn are_algebraic(&self) -> bool {
        self.capped.as_ref().is_none_or(|capped| (0..self.count).all(|at| capped.inner.is_zero(at)))
    }

    /// The logit, if it is rational.
    pub(super) fn rational(&self, at: usize) -> Option<Ratio> {
        let is_algebraic = self.capped.as_ref().is_none_or(|capped| capped.inner.is_zero(at));
        is_algebraic.then(|| self.rest.rational(at, self.scale)).flatten()
    }

    /// The logit in units of `2^−fraction_bits`.
    ///
    /// # Error bound
    /// Less than 2 units.
    pub(super) fn fixed(&self, at: usize, fraction_bits: usize) -> IBig {
        let Some(Capped { inner, cap, is_scaled }) = &self.capped else {
            return self.rest.fixed(at, self.scale, fraction_bits);
        };
        let guard = GUARD_BITS + if *is_scaled { self.scale.integer_bits() } else { 0 };
        let bits = fraction_bits + guard;
        let mut term = cap.of(&inner.fixed(at, self.scale, bits), bits);
        if *is_scaled {
            term = self.scale.times(&term, bits);
        }
        (term + self.rest.fixed(at, self.scale, bits)) >> guard
    }
}
