//! Sums of rational multiples of square roots, the field `Q(√2, √3, √5, …)`, and polynomials over
//! it.

use std::cmp::Ordering;
use std::fmt;

use dashu_int::{IBig, Sign, UBig};
use dashu_ratio::RBig;
use smallvec::{SmallVec, smallvec};

use super::interval::Interval;
use crate::rational::Rational;

/// `√n · x^k · y^l · …`: the prime factors of a squarefree `n`, ascending, and the powers of
/// indeterminates, by their numbers. Without either it is 1. Most are one root of one prime, and
/// kept where they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Product {
    powers: SmallVec<[(u32, u32); 2]>,
    primes: Primes,
}

type Primes = SmallVec<[u32; 4]>;

const ONE: &Product = &Product { powers: SmallVec::new_const(), primes: SmallVec::new_const() };

impl Product {
    fn is_one(&self) -> bool {
        self.powers.is_empty() && self.primes.is_empty()
    }

    fn radicand(&self) -> UBig {
        self.primes.iter().fold(UBig::ONE, |product, p| product * *p)
    }

    /// The product, and the whole number that comes out of the roots: `√m · √n = g · √(m·n/g²)`
    /// with `g` what both contain.
    fn times(&self, other: &Self) -> (Self, Rational) {
        let (both, once): (Primes, Primes) =
            self.primes.iter().copied().partition(|p| other.primes.contains(p));
        let mut primes: Primes = once
            .into_iter()
            .chain(other.primes.iter().copied().filter(|p| !both.contains(p)))
            .collect();
        primes.sort_unstable();
        let mut powers = self.powers.clone();
        for (symbol, power) in &other.powers {
            match powers.binary_search_by_key(symbol, |(known, _)| *known) {
                Ok(at) => powers[at].1 += power,
                Err(at) => powers.insert(at, (*symbol, *power)),
            }
        }
        let outside =
            both.iter().fold(Rational::ONE, |product, p| product.times(&i64::from(*p).into()));
        (Self { powers, primes }, outside)
    }
}

/// `r + Σ r_p · p` over products `p` other than 1 of a square root and indeterminates, ascending,
/// no `r_p` zero: a polynomial with real algebraic coefficients; without indeterminates, a number.
/// Square roots of distinct squarefree numbers are independent over the rationals, so that equal
/// ones have equal terms. The derived order is that of the terms, not of the numbers; those compare
/// by [`compare`](Self::compare).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Algebraic {
    rational: Rational,
    roots: SmallVec<[(Product, Rational); 1]>,
}

impl Default for Algebraic {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<Rational> for Algebraic {
    fn from(rational: Rational) -> Self {
        Self { rational, roots: SmallVec::new_const() }
    }
}

impl Algebraic {
    pub(super) const ZERO: Self = Self { rational: Rational::ZERO, roots: SmallVec::new_const() };
    pub(super) const ONE: Self = Self { rational: Rational::ONE, roots: SmallVec::new_const() };

    fn term(product: Product, factor: Rational) -> Self {
        match (product.is_one(), factor.is_zero()) {
            (true, _) => factor.into(),
            (false, true) => Self::ZERO,
            (false, false) => {
                Self { rational: Rational::ZERO, roots: smallvec![(product, factor)] }
            }
        }
    }

    /// An indeterminate.
    pub(super) fn symbol(number: u32) -> Self {
        Self::term(
            Product { powers: smallvec![(number, 1)], primes: SmallVec::new() },
            Rational::ONE,
        )
    }

    /// Whether indeterminates occur.
    pub(super) fn is_symbolic(&self) -> bool {
        self.roots.iter().any(|(product, _)| !product.powers.is_empty())
    }

    /// All terms, that of 1 first.
    fn terms(&self) -> impl Iterator<Item = (&Product, &Rational)> {
        let rational = Some((ONE, &self.rational)).filter(|(_, x)| !x.is_zero());
        rational.into_iter().chain(self.roots.iter().map(|(product, x)| (product, x)))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.roots.is_empty() && self.rational.is_zero()
    }

    pub(super) fn is_one(&self) -> bool {
        self.roots.is_empty() && self.rational.is_one()
    }

    /// The number, if it is rational.
    pub(super) fn rational(&self) -> Option<&Rational> {
        self.roots.is_empty().then_some(&self.rational)
    }

    /// `√x` of a rational `x ≥ 0`; `None` if it has a prime factor above 2^16 that may stand in the
    /// radicand.
    pub(super) fn root(x: &RBig) -> Option<Self> {
        // √(n/d) = √(n·d) / d.
        let (n, d) = (UBig::try_from(x.numerator().clone()).ok()?, x.denominator());
        let mut rest = n * d;
        if rest == UBig::ZERO {
            return Some(Self::default());
        }
        let (mut outside, mut primes) = (UBig::ONE, SmallVec::new());
        for p in 2u32..1 << 16 {
            let square = UBig::from(u64::from(p) * u64::from(p));
            while &rest % &square == UBig::ZERO {
                rest /= &square;
                outside *= p;
            }
            if &rest % p == 0 {
                rest /= p;
                primes.push(p);
            }
            if rest < square {
                break;
            }
        }
        // No prime below 2^16 divides what is left twice; below 2^32 it is 1 or a prime, unless it
        // is a square.
        let root = dashu_int::ops::SquareRoot::sqrt(&rest);
        if &root * &root == rest {
            outside *= root;
        } else {
            primes.push(u32::try_from(rest).ok()?);
        }
        let root = Product { powers: SmallVec::new(), primes };
        Some(Self::term(root, RBig::from_parts(outside.into(), d.clone()).into()))
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum =
            Self { rational: self.rational.plus(&other.rational), roots: self.roots.clone() };
        for (radicand, y) in &other.roots {
            match sum.roots.binary_search_by(|(known, _)| known.cmp(radicand)) {
                Err(at) => sum.roots.insert(at, (radicand.clone(), y.clone())),
                Ok(at) => {
                    sum.roots[at].1 = sum.roots[at].1.plus(y);
                    if sum.roots[at].1.is_zero() {
                        sum.roots.remove(at);
                    }
                }
            }
        }
        sum
    }

    fn each(&self, f: impl Fn(&Rational) -> Rational) -> Self {
        let roots = self.roots.iter().map(|(radicand, x)| (radicand.clone(), f(x))).collect();
        Self { rational: f(&self.rational), roots }
    }

    pub(super) fn negated(&self) -> Self {
        self.each(Rational::negated)
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    pub(super) fn scaled(&self, factor: &Rational) -> Self {
        if factor.is_zero() { Self::ZERO } else { self.each(|x| x.times(factor)) }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        if let Some(factor) = other.rational() {
            return self.scaled(factor);
        }
        if let Some(factor) = self.rational() {
            return other.scaled(factor);
        }
        let mut sum = Self::ZERO;
        for (left, x) in self.terms() {
            for (right, y) in other.terms() {
                let (product, outside) = left.times(right);
                sum = sum.plus(&Self::term(product, x.times(y).times(&outside)));
            }
        }
        sum
    }

    /// `1/x`; `None` for 0 and for polynomials.
    pub(super) fn inverse(&self) -> Option<Self> {
        if let Some(x) = self.rational() {
            return Some(x.inverse()?.into());
        }
        if self.is_symbolic() {
            return None;
        }
        if let (true, [(radicand, x)]) = (self.rational.is_zero(), self.roots.as_slice()) {
            // 1/(x√n) = √n/(x·n).
            return Some(Self::term(
                radicand.clone(),
                x.times(&RBig::from(radicand.radicand()).into()).inverse()?,
            ));
        }
        // x = a + b√p: 1/x = (a − b√p) / (a² − p·b²), whose denominator is free of √p and not 0, √p
        // being independent.
        let p = *self.roots.iter().filter_map(|(radicand, _)| radicand.primes.last()).max()?;
        let mut conjugate = self.clone();
        for (_, x) in
            conjugate.roots.iter_mut().filter(|(radicand, _)| radicand.primes.contains(&p))
        {
            *x = x.negated();
        }
        Some(conjugate.times(&self.times(&conjugate).inverse()?))
    }

    /// Of a number; of polynomials nothing is asked that has intervals.
    pub(super) fn interval(&self, bits: usize) -> Interval {
        assert!(!self.is_symbolic(), "{self} has no interval");
        self.roots.iter().fold(Interval::rational(&self.rational, bits), |sum, (radicand, x)| {
            let root = Interval::root(&radicand.radicand(), bits);
            sum.plus(&Interval::rational(x, bits).times(&root, bits))
        })
    }

    /// The sign; 0 counts as positive. Of a polynomial that of its last coefficient: an order in
    /// which indeterminates are larger than every number, which forms are made by and nothing is
    /// concluded from.
    pub(super) fn sign(&self) -> Sign {
        if let Some((last, _)) = self.roots.last().filter(|_| self.is_symbolic()) {
            let of_last = self.roots.iter().filter(|(product, _)| product.powers == last.powers);
            let number = |(product, x): &(Product, Rational)| {
                (Product { powers: SmallVec::new(), primes: product.primes.clone() }, x.clone())
            };
            return of_last
                .map(number)
                .fold(Self::ZERO, |sum, (product, x)| sum.plus(&Self::term(product, x)))
                .sign();
        }
        match (self.rational.is_zero(), self.roots.as_slice()) {
            (_, []) => return self.rational.sign(),
            (true, [(_, factor)]) => return factor.sign(),
            _ => {}
        }
        let mut bits = 64;
        loop {
            if let Some(sign) = self.interval(bits).sign() {
                return sign;
            }
            bits *= 2;
        }
    }

    /// The order of the numbers.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        if let (Some(x), Some(y)) = (self.rational(), other.rational()) {
            return x.compare(y);
        }
        let difference = self.minus(other);
        match (difference.is_zero(), difference.sign()) {
            (true, _) => Ordering::Equal,
            (false, Sign::Positive) => Ordering::Greater,
            (false, Sign::Negative) => Ordering::Less,
        }
    }

    /// `self / other` if that is rational.
    pub(super) fn ratio(&self, other: &Self) -> Option<Rational> {
        let (product, y) = other.terms().next()?;
        let (_, x) = self.terms().find(|(own, _)| *own == product)?;
        let ratio = x.times(&y.inverse()?);
        (*self == other.scaled(&ratio)).then_some(ratio)
    }

    /// The rational factors of the roots, and that of 1.
    pub(super) fn factors(&self) -> impl Iterator<Item = &Rational> {
        self.terms().map(|(_, x)| x)
    }

    /// Whether it is written as more than one term.
    pub(super) fn is_sum(&self) -> bool {
        self.terms().nth(1).is_some()
    }
}

impl fmt::Display for Product {
    /// `√6·x1^2·x3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = Some(format!("√{}", self.radicand())).filter(|_| !self.primes.is_empty());
        let powers = self.powers.iter().map(|(symbol, power)| match power {
            1 => format!("x{symbol}"),
            power => format!("x{symbol}^{power}"),
        });
        f.write_str(&root.into_iter().chain(powers).collect::<Vec<_>>().join("·"))
    }
}

impl fmt::Display for Algebraic {
    /// `1 − 3·√2/2`: terms by their radicands, the rational one first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<(&Product, RBig)> =
            self.terms().map(|(product, x)| (product, x.big())).collect();
        terms.sort_by_key(|(product, x)| (product.radicand(), product.powers.clone(), x.clone()));
        if terms.is_empty() {
            return f.write_str("0");
        }
        for (at, (product, x)) in terms.into_iter().enumerate() {
            let negative = x.sign() == Sign::Negative;
            f.write_str(match (at, negative) {
                (0, true) => "-",
                (0, false) => "",
                (_, true) => " - ",
                (_, false) => " + ",
            })?;
            let (n, d) =
                (if negative { -x.numerator() } else { x.numerator().clone() }, x.denominator());
            match (product.is_one(), n == IBig::ONE) {
                (true, _) => write!(f, "{n}")?,
                (false, true) => write!(f, "{product}")?,
                (false, false) => write!(f, "{n}·{product}")?,
            }
            if *d != UBig::ONE {
                write!(f, "/{d}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(n: u32) -> Algebraic {
        Algebraic::root(&n.into()).unwrap()
    }

    #[test]
    fn roots_are_reduced() {
        for (n, text) in [
            (0, "0"),
            (1, "1"),
            (8, "2·√2"),
            (12, "2·√3"),
            (49, "7"),
            (65537, "√65537"),
            (30, "√30"),
        ] {
            assert_eq!(root(n).to_string(), text);
        }
        let quotient = RBig::from_parts(IBig::from(9), UBig::from(8u8));
        assert_eq!(Algebraic::root(&quotient).unwrap().to_string(), "3·√2/4");
        // A square of a large prime is a root; a product of two large primes is not factored.
        let p = UBig::from(4_294_967_291u64);
        assert_eq!(
            Algebraic::root(&RBig::from(p.clone() * &p)).unwrap().to_string(),
            p.to_string()
        );
        assert_eq!(Algebraic::root(&RBig::from(p * UBig::from(4_294_967_279u64))), None);
    }

    #[test]
    fn products_and_inverses_are_exact() {
        let x = root(2).plus(&root(3)).plus(&root(6).scaled(&(-2).into())).plus(&Algebraic::ONE);
        assert!(x.times(&x.inverse().unwrap()).is_one());
        assert_eq!(root(6).times(&root(10)).to_string(), "2·√15");
        assert_eq!(Algebraic::ZERO.inverse(), None);
    }

    #[test]
    fn close_numbers_are_told_apart() {
        // 1351/780 is a convergent of √3: it exceeds it by 4.7e-7.
        let convergent: Algebraic = Rational::Small(1351, 780).into();
        assert_eq!(root(3).compare(&convergent), Ordering::Less);
        assert_eq!(root(2).times(&root(3)).compare(&root(6)), Ordering::Equal);
    }
}
