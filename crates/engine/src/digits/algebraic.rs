//! Rows of algebraic numbers `(a + b·√m)/√m`, which tells equal ones from different ones.

use dashu_int::ops::SquareRootRem;
use dashu_int::{IBig, Sign, UBig};

use super::dyadic::{Dyadics, shifted};
use super::ratio::Ratio;
use crate::head::RealScale;

/// The number `factor/√radicand`, exactly.
pub(super) struct ExactScale {
    factor: Dyadics,
    radicand: UBig,
    /// `√radicand`, if it is an integer.
    root: Option<IBig>,
}

impl ExactScale {
    /// The true factor of a scale; its `f64` is not looked at.
    pub(super) fn new(scale: RealScale) -> Self {
        let radicand = UBig::from(scale.radicand.max(1));
        let (root, rest) = radicand.sqrt_rem();
        Self {
            factor: Dyadics::new(&[scale.factor]),
            root: rest.is_zero().then(|| IBig::from(root)),
            radicand,
        }
    }

    /// Whether the scale is 0.
    pub(super) fn is_zero(&self) -> bool {
        self.factor.integers[0].is_zero()
    }

    /// `x · factor/√radicand` in units of `2^−bits`, for `x = integer · 2^−bits`, cut towards zero.
    pub(super) fn times(&self, integer: &IBig, bits: usize) -> IBig {
        let product = integer * &self.factor.integers[0];
        self.over_root(&product, self.factor.exponent - bits as i64, bits)
    }

    /// `integer · 2^exponent / √radicand` in units of `2^−bits`, cut towards zero: `⌊√⌊x⌋⌋ = ⌊√x⌋`.
    fn over_root(&self, integer: &IBig, exponent: i64, bits: usize) -> IBig {
        let (sign, magnitude) = integer.clone().into_parts();
        let square = &magnitude * &magnitude;
        let shift = 2 * (exponent + bits as i64);
        let quotient = if shift >= 0 {
            shifted(&square, shift) / &self.radicand
        } else {
            square / shifted(&self.radicand, -shift)
        };
        IBig::from_parts(sign, quotient.sqrt_rem().0)
    }

    /// Number of bits in front of the binary point of the scale, from above; at least 0.
    pub(super) fn integer_bits(&self) -> usize {
        let (_, magnitude) = self.factor.integers[0].clone().into_parts();
        usize::try_from(super::dyadic::bits(&magnitude) + self.factor.exponent).unwrap_or(0)
    }
}

/// Numbers `over_root / √radicand + plain`; an absent part is 0 everywhere.
///
/// Two of them are equal iff both parts are, once [`Algebraics::canonical`] was called: `√radicand`
/// is irrational, or all is in the first part.
#[derive(Clone, Debug)]
pub(super) struct Algebraics {
    over_root: Option<Dyadics>,
    plain: Option<Dyadics>,
    count: usize,
}

impl Algebraics {
    /// Zeros.
    pub(super) fn zeros(count: usize) -> Self {
        Self { over_root: None, plain: None, count }
    }

    /// Adds dyadic numbers, element by element.
    pub(super) fn plus(self, addends: Dyadics) -> Self {
        let plain = match self.plain {
            Some(plain) => plain.plus(addends),
            None => addends,
        };
        Self { plain: Some(plain), ..self }
    }

    /// Multiplies dyadic numbers by the scale. A scale comes once: nothing was multiplied before.
    pub(super) fn scaled(self, scale: &ExactScale) -> Self {
        let over_root =
            self.plain.map(|plain| plain.times(&scale.factor.integers[0], scale.factor.exponent));
        Self { over_root, plain: None, ..self }
    }

    /// One more element behind the last: a dyadic number.
    pub(super) fn with(self, x: f64) -> Self {
        let count = self.count + 1;
        let longer = |dyadics: Dyadics| {
            let mut dyadics = dyadics;
            dyadics.integers.push(IBig::ZERO);
            dyadics
        };
        let last = Dyadics::new(&[x]);
        let mut addends =
            Dyadics { integers: vec![IBig::ZERO; self.count], exponent: last.exponent };
        addends.integers.extend(last.integers);
        let longer =
            Self { over_root: self.over_root.map(longer), plain: self.plain.map(longer), count };
        if x == 0.0 { longer } else { longer.plus(addends) }
    }

    /// Puts all into the first part where the root is an integer.
    pub(super) fn canonical(self, scale: &ExactScale) -> Self {
        let Some(root) = &scale.root else { return self };
        let over_root = match (self.over_root, self.plain) {
            (over_root, None) => over_root,
            (None, Some(plain)) => Some(plain.times(root, 0)),
            (Some(over_root), Some(plain)) => Some(over_root.plus(plain.times(root, 0))),
        };
        Self { over_root, plain: None, ..self }
    }

    /// What an element is compared by.
    pub(super) fn parts(&self, at: usize) -> [Option<&IBig>; 2] {
        [&self.over_root, &self.plain]
            .map(|part| part.as_ref().map(|dyadics| &dyadics.integers[at]))
    }

    /// Whether an element is 0.
    pub(super) fn is_zero(&self, at: usize) -> bool {
        self.parts(at).into_iter().flatten().all(IBig::is_zero)
    }

    /// An element, if it is rational.
    pub(super) fn rational(&self, at: usize, scale: &ExactScale) -> Option<Ratio> {
        let ratio = |dyadics: &Dyadics, by: UBig| {
            Ratio::new(dyadics.integers[at].clone(), by, dyadics.exponent)
        };
        let is_zero = |part: &Option<Dyadics>| {
            part.as_ref().is_none_or(|dyadics| dyadics.integers[at].is_zero())
        };
        match (&self.over_root, &self.plain, &scale.root) {
            (Some(over_root), None, Some(root)) => {
                Some(ratio(over_root, root.clone().into_parts().1))
            }
            (over_root, Some(plain), None) if is_zero(over_root) => Some(ratio(plain, UBig::ONE)),
            _ => self.is_zero(at).then(|| Ratio::new(IBig::ZERO, UBig::ONE, 0)),
        }
    }

    /// An element in units of `2^−fraction_bits`.
    ///
    /// # Error bound
    /// Less than 2 units: each part is cut to an integer.
    pub(super) fn fixed(&self, at: usize, scale: &ExactScale, fraction_bits: usize) -> IBig {
        let over_root = self.over_root.as_ref();
        let over_root = over_root
            .map(|part| scale.over_root(&part.integers[at], part.exponent, fraction_bits))
            .unwrap_or_default();
        let Some(plain) = &self.plain else { return over_root };
        let (sign, magnitude): (Sign, UBig) = plain.integers[at].clone().into_parts();
        over_root
            + IBig::from_parts(sign, shifted(&magnitude, plain.exponent + fraction_bits as i64))
    }
}
