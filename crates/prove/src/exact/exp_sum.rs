//! Finite sums `Σ c·e^a` with algebraic `c` and `a`.

use std::collections::BTreeMap;
use std::fmt;

use dashu_int::Sign;
use dashu_int::ops::BitTest;
use dashu_ratio::RBig;

use super::algebraic::Algebraic;
use super::interval::Interval;

fn bits(x: &RBig) -> usize {
    x.numerator().bit_len() + x.denominator().bit_len()
}

/// `Σ c·e^a`, by exponent; no `c` is zero. Such a sum is 0 only if it is empty (Lindemann and Weierstrass: exponentials of distinct
/// algebraic numbers are linearly independent over the algebraic numbers). The derived order is that of the terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpSum(BTreeMap<Algebraic, Algebraic>);

impl ExpSum {
    pub(super) fn term(exponent: Algebraic, factor: Algebraic) -> Self {
        Self(if factor.is_zero() { BTreeMap::new() } else { BTreeMap::from([(exponent, factor)]) })
    }

    pub(super) fn constant(factor: Algebraic) -> Self {
        Self::term(Algebraic::default(), factor)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, if no exponential occurs.
    pub(super) fn algebraic(&self) -> Option<Algebraic> {
        match self.0.len() {
            0 => Some(Algebraic::default()),
            1 => self.0.get(&Algebraic::default()).cloned(),
            _ => None,
        }
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = (&Algebraic, &Algebraic)> {
        self.0.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Bits of all the whole numbers it is written with, more or less.
    pub(super) fn bits(&self) -> usize {
        self.0.iter().flat_map(|(a, x)| a.factors().chain(x.factors())).map(bits).fold(0, usize::saturating_add)
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        other.0.iter().for_each(|(exponent, y)| sum.add(exponent.clone(), y));
        sum
    }

    fn add(&mut self, exponent: Algebraic, factor: &Algebraic) {
        let x = self.0.remove(&exponent).unwrap_or_default().plus(factor);
        if !x.is_zero() {
            self.0.insert(exponent, x);
        }
    }

    pub(super) fn negated(&self) -> Self {
        Self(self.0.iter().map(|(exponent, x)| (exponent.clone(), x.negated())).collect())
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut sum = Self::default();
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                sum.add(a.plus(b), &x.times(y));
            }
        }
        sum
    }

    /// `self · factor · e^exponent`, `factor ≠ 0`.
    pub(super) fn shifted(&self, exponent: &Algebraic, factor: &Algebraic) -> Self {
        Self(self.0.iter().map(|(other, x)| (other.plus(exponent), x.times(factor))).collect())
    }

    /// The term of the least or greatest exponent.
    pub(super) fn end(&self, greatest: bool) -> Option<(&Algebraic, &Algebraic)> {
        self.0.iter().reduce(|x, y| if y.0.compare(x.0).is_gt() == greatest { y } else { x })
    }

    pub(super) fn interval(&self, bits: usize) -> Interval {
        self.0.iter().fold(Interval::zero(), |sum, (exponent, x)| {
            sum.plus(&x.interval(bits).times(&exponent.interval(bits).exp(bits), bits))
        })
    }

    /// The sign; 0 counts as positive.
    pub(super) fn sign(&self) -> Sign {
        if self.is_zero() {
            return Sign::Positive;
        }
        let mut bits = 64;
        loop {
            if let Some(sign) = self.interval(bits).sign() {
                return sign;
            }
            bits *= 2;
        }
    }

    /// Whether it is written as more than one term.
    pub(super) fn is_sum(&self) -> bool {
        self.0.len() > 1 || self.algebraic().is_some_and(|x| x.is_sum())
    }
}

impl fmt::Display for ExpSum {
    /// `2·e^(√2/2) + 1`: the greatest exponent first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<_> = self.0.iter().collect();
        terms.sort_by(|x, y| y.0.compare(x.0));
        if terms.is_empty() {
            return f.write_str("0");
        }
        for (at, (exponent, x)) in terms.into_iter().enumerate() {
            // A sum of roots keeps its signs and stands in parentheses; the sign of any other factor is written before it.
            let negative = !x.is_sum() && x.sign() == Sign::Negative;
            f.write_str(match (at, negative) {
                (0, true) => "-",
                (0, false) => "",
                (_, true) => " - ",
                (_, false) => " + ",
            })?;
            let size = if negative { x.negated() } else { x.clone() };
            if exponent.is_zero() {
                write!(f, "{size}")?;
                continue;
            }
            if x.is_sum() {
                write!(f, "({size})·")?;
            } else if !size.is_one() {
                write!(f, "{size}·")?;
            }
            let exponent = exponent.to_string();
            if exponent == "1" {
                f.write_str("e")?;
            } else if exponent.chars().all(|c| c.is_ascii_digit()) {
                write!(f, "e^{exponent}")?;
            } else {
                write!(f, "e^({exponent})")?;
            }
        }
        Ok(())
    }
}
