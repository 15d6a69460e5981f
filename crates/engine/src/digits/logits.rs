//! Logits as exact algebraic numbers `(a + b·√m)/√m`, which tells equal ones from different ones.

use dashu_int::ops::SquareRootRem;
use dashu_int::{IBig, Sign, UBig};
use qkvet_spec::{Call, Meaning};

use super::DigitsError;
use super::dyadic::{Dyadics, shifted};
use crate::head::Head;
use crate::lowering::{ExactScale, LoweredHead, bias_is_scaled, bias_row};

/// What the logits of a head are made of.
pub(super) struct ExactLogits<'a> {
    head: &'a Head<'a>,
    key: Dyadics,
    /// Numerator of the scale.
    factor: Dyadics,
    radicand: UBig,
    /// `√radicand`, if it is an integer.
    root: Option<IBig>,
    /// As given, `(n_q, n_k)`.
    bias: Option<Vec<f64>>,
    bias_is_scaled: bool,
}

impl<'a> ExactLogits<'a> {
    /// The logits of query head `h` of batch item `b`.
    pub(super) fn new(
        meaning: &Meaning,
        call: &Call,
        head: &'a Head<'a>,
        (b, h): (usize, usize),
    ) -> Result<Self, DigitsError> {
        let scale = ExactScale::new(meaning, call);
        let bias_is_scaled = bias_is_scaled(meaning);
        if let Some(bias) = call.bias.as_ref().filter(|_| bias_is_scaled && scale.factor <= 0.0)
            && let Some(index) = bias.data.iter().position(|b| *b == f64::NEG_INFINITY)
        {
            return Err(DigitsError::NotHiding { index, scale: scale.factor });
        }
        let radicand = UBig::from(scale.radicand);
        let (root, rest) = radicand.sqrt_rem();
        let n_k = call.dims().n_k;
        // Keys that the meaning adds have no bias.
        let added = || std::iter::repeat_n(0.0, head.n_k - n_k);
        let rows = |bias| (0..head.n_q).flat_map(|i| bias_row(bias, n_k, [b, h, i]).chain(added())).collect();
        Ok(Self {
            head,
            key: Dyadics::new(head.key),
            factor: Dyadics::new(&[scale.factor]),
            root: rest.is_zero().then(|| IBig::from(root)),
            radicand,
            bias: call.bias.as_ref().map(rows),
            bias_is_scaled,
        })
    }

    /// The keys that query `i` sees, −∞ biases taken into account.
    pub(super) fn visible(&self, lowered: &LoweredHead, i: usize) -> Vec<usize> {
        let hides = |j: usize| self.bias_row(i).is_some_and(|bias| bias[j] == f64::NEG_INFINITY);
        (0..self.head.n_k).filter(|j| lowered.sees(i, *j) && !hides(*j)).collect()
    }

    fn bias_row(&self, i: usize) -> Option<&[f64]> {
        self.bias.as_ref().map(|bias| &bias[i * self.head.n_k..(i + 1) * self.head.n_k])
    }

    /// The logits of query `i` for the keys that it sees.
    pub(super) fn of_row(&self, i: usize, seen: &[usize]) -> RowLogits {
        let d_k = self.head.d_k;
        let query = Dyadics::new(self.head.query_row(i));
        let dot = |j: &usize| -> IBig {
            let key = &self.key.integers[j * d_k..(j + 1) * d_k];
            query.integers.iter().zip(key).map(|(q, k)| q * k).sum()
        };
        let dots = Dyadics { integers: seen.iter().map(dot).collect(), exponent: query.exponent + self.key.exponent };
        let bias = self.bias_row(i).map(|bias| Dyadics::new(&seen.iter().map(|j| bias[*j]).collect::<Vec<_>>()));
        let times_factor = |dyadics: Dyadics| dyadics.times(&self.factor.integers[0], self.factor.exponent);
        let (over_root, plain) = match (bias, &self.root) {
            (Some(bias), _) if self.bias_is_scaled => (times_factor(dots.plus(bias)), None),
            (Some(bias), Some(root)) => (times_factor(dots).plus(bias.times(root, 0)), None),
            (bias, _) => (times_factor(dots), bias),
        };
        RowLogits { over_root, plain, radicand: self.radicand.clone() }
    }
}

/// Logits `over_root / √radicand + plain`; the second part is absent where the root is an integer.
pub(super) struct RowLogits {
    over_root: Dyadics,
    plain: Option<Dyadics>,
    radicand: UBig,
}

impl RowLogits {
    /// Numbers of the logits, equal ones together.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let parts = |at: usize| (&self.over_root.integers[at], self.plain.as_ref().map(|plain| &plain.integers[at]));
        let mut order: Vec<usize> = (0..self.over_root.integers.len()).collect();
        order.sort_by(|x, y| parts(*x).cmp(&parts(*y)));
        order.chunk_by(|x, y| parts(*x) == parts(*y)).map(<[usize]>::to_vec).collect()
    }

    /// The logit in units of `2^−fraction_bits`.
    ///
    /// # Error bound
    /// Less than 2 units: each part is cut to an integer.
    pub(super) fn fixed(&self, at: usize, fraction_bits: usize) -> IBig {
        let signed = |sign, magnitude| IBig::from_parts(sign, magnitude);
        let bits = fraction_bits as i64;
        let (sign, magnitude) = self.over_root.integers[at].clone().into_parts();
        let square = &magnitude * &magnitude;
        let shift = 2 * (self.over_root.exponent + bits);
        let quotient = if shift >= 0 {
            shifted(&square, shift) / &self.radicand
        } else {
            square / shifted(&self.radicand, -shift)
        };
        let over_root = signed(sign, quotient.sqrt_rem().0);
        let Some(plain) = &self.plain else { return over_root };
        let (sign, magnitude): (Sign, UBig) = plain.integers[at].clone().into_parts();
        over_root + signed(sign, shifted(&magnitude, plain.exponent + bits))
    }
}
