//! Finite sums `Σ c·e^a` with algebraic `c` and `a`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use dashu_int::Sign;

use super::algebraic::Algebraic;
use super::interval::Interval;
use crate::rational::Rational;

/// `Σ c·e^a`: the `c` of `a = 0`, and the others by exponent, none of them zero. Such a sum is 0
/// only if it is empty (Lindemann and Weierstrass: exponentials of distinct algebraic numbers are
/// linearly independent over the algebraic numbers; so are those of distinct polynomials over the
/// polynomials, as some algebraic point keeps the exponents distinct and no factor is 0 there). The
/// derived order is that of the terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpSum {
    constant: Algebraic,
    rest: Vec<(Algebraic, Algebraic)>,
}

impl ExpSum {
    pub(super) fn term(exponent: Algebraic, factor: Algebraic) -> Self {
        let mut sum = Self::default();
        sum.add(&exponent, &factor);
        sum
    }

    pub(super) fn constant(constant: Algebraic) -> Self {
        Self { constant, rest: Vec::new() }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.rest.is_empty() && self.constant.is_zero()
    }

    /// The number, if no exponential occurs.
    pub(super) fn algebraic(&self) -> Option<&Algebraic> {
        self.rest.is_empty().then_some(&self.constant)
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = (&Algebraic, &Algebraic)> {
        const ZERO: &Algebraic = &Algebraic::ZERO;
        let constant = Some((ZERO, &self.constant)).filter(|(_, x)| !x.is_zero());
        constant.into_iter().chain(self.rest.iter().map(|(exponent, x)| (exponent, x)))
    }

    pub(super) fn len(&self) -> usize {
        self.rest.len() + usize::from(!self.constant.is_zero())
    }

    /// Whether indeterminates occur.
    pub(super) fn is_symbolic(&self) -> bool {
        self.terms().any(|(exponent, x)| exponent.is_symbolic() || x.is_symbolic())
    }

    /// Bits of all the whole numbers it is written with, more or less.
    pub(super) fn bits(&self) -> usize {
        self.terms()
            .flat_map(|(a, x)| a.factors().chain(x.factors()))
            .map(Rational::bits)
            .fold(0, usize::saturating_add)
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        other.terms().for_each(|(exponent, y)| sum.add(exponent, y));
        sum
    }

    fn add(&mut self, exponent: &Algebraic, factor: &Algebraic) {
        if factor.is_zero() {
            return;
        }
        if exponent.is_zero() {
            self.constant = self.constant.plus(factor);
            return;
        }
        match self.rest.binary_search_by(|(known, _)| known.cmp(exponent)) {
            Err(at) => self.rest.insert(at, (exponent.clone(), factor.clone())),
            Ok(at) => {
                self.rest[at].1 = self.rest[at].1.plus(factor);
                if self.rest[at].1.is_zero() {
                    self.rest.remove(at);
                }
            }
        }
    }

    pub(super) fn negated(&self) -> Self {
        self.each(Algebraic::negated)
    }

    /// Every factor mapped, none to zero.
    fn each(&self, f: impl Fn(&Algebraic) -> Algebraic) -> Self {
        let rest = self.rest.iter().map(|(exponent, x)| (exponent.clone(), f(x))).collect();
        Self { constant: f(&self.constant), rest }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut sum = Self::default();
        for (a, x) in self.terms() {
            for (b, y) in other.terms() {
                sum.add(&a.plus(b), &x.times(y));
            }
        }
        sum
    }

    /// `self · factor · e^exponent`, `factor ≠ 0`.
    pub(super) fn shifted(&self, exponent: &Algebraic, factor: &Algebraic) -> Self {
        if exponent.is_zero() {
            return if factor.is_one() { self.clone() } else { self.each(|x| x.times(factor)) };
        }
        let mut sum = Self::default();
        self.terms().for_each(|(other, x)| sum.add(&other.plus(exponent), &x.times(factor)));
        sum
    }

    /// The term of the least or greatest exponent.
    pub(super) fn end(&self, greatest: bool) -> Option<(&Algebraic, &Algebraic)> {
        self.terms().reduce(|x, y| if y.0.compare(x.0).is_gt() == greatest { y } else { x })
    }

    pub(super) fn interval(&self, bits: usize) -> Interval {
        self.rest.iter().fold(self.constant.interval(bits), |sum, (exponent, x)| {
            sum.plus(&x.interval(bits).times(&power(exponent, bits), bits))
        })
    }

    /// The sign; 0 counts as positive. With indeterminates that of the term of the greatest
    /// exponent, as of [polynomials](Algebraic::sign).
    pub(super) fn sign(&self) -> Sign {
        if self.is_zero() {
            return Sign::Positive;
        }
        if self.is_symbolic() {
            return self.end(true).map_or(Sign::Positive, |(_, x)| x.sign());
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
        self.len() > 1 || self.algebraic().is_some_and(|x| x.is_sum())
    }
}

/// `e^a`. The exponents of a problem are few and come again and again, so that the last ones are
/// kept, in each thread.
fn power(exponent: &Algebraic, bits: usize) -> Interval {
    thread_local! {
        static KNOWN: RefCell<BTreeMap<(usize, Algebraic), Interval>> = const { RefCell::new(BTreeMap::new()) };
    }
    const MAX: usize = 1 << 12;
    KNOWN.with_borrow_mut(|known| {
        let key = (bits, exponent.clone());
        if let Some(interval) = known.get(&key) {
            return interval.clone();
        }
        let interval = exponent.interval(bits).exp(bits);
        if known.len() >= MAX {
            known.clear();
        }
        // Long ones are not kept: what is, stays small.
        if bits <= 512 {
            known.insert(key, interval.clone());
        }
        interval
    })
}

impl fmt::Display for ExpSum {
    /// `2·e^(√2/2) + 1`: the greatest exponent first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<_> = self.terms().collect();
        terms.sort_by(|x, y| y.0.compare(x.0));
        if terms.is_empty() {
            return f.write_str("0");
        }
        for (at, (exponent, x)) in terms.into_iter().enumerate() {
            // A sum of roots keeps its signs and stands in parentheses; the sign of any other
            // factor is written before it.
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
