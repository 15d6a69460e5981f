//! Commutative polynomials with exact rational coefficients, in named symbols, square roots,
//! entries of matrices and sums of entries; and quotients of them. Two that print alike are equal.

use std::collections::BTreeMap;

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use super::root::split_square;
use crate::rational::root_of;

/// Products larger than this are given up.
const MAX_TERMS: usize = 2_000;

/// A factor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom {
    /// A number or an extent.
    Symbol {
        /// Its name in the law.
        name: String,
        /// Whether it is known to be positive.
        positive: bool,
    },
    /// `√p`, of a polynomial without entries that is nowhere negative.
    Root(Poly),
    /// An entry of a matrix.
    Entry(Entry),
    /// A product of entries, summed over their place [`At::Summed`].
    Sum {
        /// How many terms.
        extent: Poly,
        /// The entries and their powers.
        entries: BTreeMap<Entry, u32>,
    },
}

/// An entry of a matrix of the law.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) matrix: String,
    pub(super) row: At,
    pub(super) col: At,
}

/// A place along one axis.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum At {
    /// The only place of an axis of extent 1.
    Only,
    /// An index of the law.
    Index(String),
    /// The row of the matrix that the entry is part of.
    Row,
    /// Its column.
    Col,
    /// The index of the sum around it.
    Summed,
}

/// Factors and their powers, none of them 0.
pub(super) type Monomial = BTreeMap<Atom, u32>;

/// A sum of monomials, no coefficient 0, no root to a power above 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poly(pub(super) BTreeMap<Monomial, RBig>);

/// A product had too many terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooLarge;

impl Poly {
    pub(super) fn constant(x: RBig) -> Self {
        Self::term(Monomial::new(), x)
    }

    pub(super) fn atom(atom: Atom) -> Self {
        Self::term(Monomial::from([(atom, 1)]), RBig::ONE)
    }

    pub(super) fn term(monomial: Monomial, coefficient: RBig) -> Self {
        Self(if coefficient.is_zero() {
            BTreeMap::new()
        } else {
            BTreeMap::from([(monomial, coefficient)])
        })
    }

    pub(super) fn one() -> Self {
        Self::constant(RBig::ONE)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn plus(mut self, other: &Self) -> Self {
        for (monomial, x) in &other.0 {
            let sum = self.0.remove(monomial).unwrap_or(RBig::ZERO) + x;
            if !sum.is_zero() {
                self.0.insert(monomial.clone(), sum);
            }
        }
        self
    }

    pub(super) fn scaled(&self, factor: &RBig) -> Self {
        if factor.is_zero() {
            return Self::default();
        }
        Self(self.0.iter().map(|(monomial, x)| (monomial.clone(), x * factor)).collect())
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, TooLarge> {
        if self.0.len().saturating_mul(other.0.len()) > MAX_TERMS {
            return Err(TooLarge);
        }
        let mut sum = Self::default();
        for (left, x) in &self.0 {
            for (right, y) in &other.0 {
                let mut product = left.clone();
                right
                    .iter()
                    .for_each(|(atom, power)| *product.entry(atom.clone()).or_insert(0) += power);
                let squares = without_squared_roots(&mut product);
                let mut term = Self::term(product, x * y);
                for (radicand, power) in squares {
                    term = term.times(&radicand.power(power)?)?;
                }
                sum = sum.plus(&term);
            }
        }
        Ok(sum)
    }

    pub(super) fn power(&self, n: u32) -> Result<Self, TooLarge> {
        (0..n).try_fold(Self::one(), |product, _| product.times(self))
    }

    /// Whether it is positive for all values of its symbols, as far as signs of terms show.
    pub(super) fn is_positive(&self) -> bool {
        self.is_never_negative()
            && self.0.keys().any(|monomial| monomial.keys().all(Atom::is_positive))
    }

    /// Whether it is nowhere negative, as far as signs of terms show.
    pub(super) fn is_never_negative(&self) -> bool {
        let square = |(atom, power): (&Atom, &u32)| {
            power % 2 == 0 || atom.is_positive() || matches!(atom, Atom::Root(_))
        };
        self.0.iter().all(|(monomial, x)| *x > RBig::ZERO && monomial.iter().all(square))
    }

    /// `√p`; `None` where `p` may be negative or has entries.
    pub(super) fn root(&self) -> Option<Result<Self, TooLarge>> {
        let entries = |atom: &Atom| matches!(atom, Atom::Entry(_) | Atom::Sum { .. });
        if !self.is_never_negative() || self.0.keys().flat_map(BTreeMap::keys).any(entries) {
            return None;
        }
        if self.is_zero() {
            return Some(Ok(Self::default()));
        }
        let (content, common) = self.content();
        let common = common
            .into_iter()
            .filter(|(atom, _)| atom.is_positive() && !matches!(atom, Atom::Root(_)));
        let common: Monomial = common.collect();
        let rest = self.divided(&content, &common);
        let mut roots = constant_root(&content);
        for (atom, power) in common {
            let odd = Self::atom(Atom::Root(Self::atom(atom.clone()))).power(power % 2);
            roots.push(odd.and_then(|odd| Self::atom(atom).power(power / 2)?.times(&odd)));
        }
        if rest != Self::one() {
            roots.push(Ok(Self::atom(Atom::Root(rest))));
        }
        Some(roots.into_iter().try_fold(Self::one(), |product, root| product.times(&root?)))
    }

    /// Largest rational and largest monomial that divide every term; the rational is positive.
    pub(super) fn content(&self) -> (RBig, Monomial) {
        let (mut numerator, mut denominator) = (UBig::ZERO, UBig::ONE);
        let mut common: Option<Monomial> = None;
        for (monomial, x) in &self.0 {
            let (top, bottom) = x.clone().into_parts();
            numerator = gcd(numerator, top.into_parts().1);
            denominator = &denominator / gcd(denominator.clone(), bottom.clone()) * bottom;
            common = Some(match common {
                None => monomial.clone(),
                Some(common) => shared(&common, monomial),
            });
        }
        if numerator == UBig::ZERO {
            return (RBig::ONE, Monomial::new());
        }
        (RBig::from_parts(IBig::from(numerator), denominator), common.unwrap_or_default())
    }

    /// `p / (x · m)` where `m` divides every term.
    pub(super) fn divided(&self, x: &RBig, m: &Monomial) -> Self {
        let divide = |(monomial, y): (&Monomial, &RBig)| {
            let mut quotient = monomial.clone();
            for (atom, power) in m {
                match quotient.get(atom).copied().unwrap_or(0).saturating_sub(*power) {
                    0 => drop(quotient.remove(atom)),
                    left => drop(quotient.insert(atom.clone(), left)),
                }
            }
            (quotient, y / x)
        };
        Self(self.0.iter().map(divide).collect())
    }

    /// The polynomial with every entry's places changed, inside sums too.
    pub(super) fn places(&self, change: &dyn Fn(&At) -> At) -> Self {
        let entry = |entry: &Entry| Entry {
            matrix: entry.matrix.clone(),
            row: change(&entry.row),
            col: change(&entry.col),
        };
        let atom = |atom: &Atom| match atom {
            Atom::Entry(one) => Atom::Entry(entry(one)),
            Atom::Sum { extent, entries } => {
                let inner = |(one, power): (&Entry, &u32)| {
                    let keep = |at: &At| if *at == At::Summed { At::Summed } else { change(at) };
                    (
                        Entry {
                            matrix: one.matrix.clone(),
                            row: keep(&one.row),
                            col: keep(&one.col),
                        },
                        *power,
                    )
                };
                Atom::Sum { extent: extent.clone(), entries: entries.iter().map(inner).collect() }
            }
            other => other.clone(),
        };
        let mut sum = Self::default();
        for (monomial, x) in &self.0 {
            let mut changed = Monomial::new();
            monomial
                .iter()
                .for_each(|(one, power)| *changed.entry(atom(one)).or_insert(0) += power);
            sum = sum.plus(&Self::term(changed, x.clone()));
        }
        sum
    }
}

impl Atom {
    /// Whether it is known to be positive.
    fn is_positive(&self) -> bool {
        match self {
            Self::Symbol { positive, .. } => *positive,
            Self::Root(radicand) => radicand.is_positive(),
            Self::Entry(_) | Self::Sum { .. } => false,
        }
    }
}

/// A polynomial over a positive one.
#[derive(Clone, Debug)]
pub(super) struct Ratio {
    pub(super) top: Poly,
    pub(super) bottom: Poly,
}

impl Ratio {
    pub(super) fn of(top: Poly) -> Self {
        Self { top, bottom: Poly::one() }
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, TooLarge> {
        if self.bottom == other.bottom {
            return Self::over(self.top.clone().plus(&other.top), self.bottom.clone());
        }
        let top = self.top.times(&other.bottom)?.plus(&other.top.times(&self.bottom)?);
        Self::over(top, self.bottom.times(&other.bottom)?)
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, TooLarge> {
        Self::over(self.top.times(&other.top)?, self.bottom.times(&other.bottom)?)
    }

    pub(super) fn negated(&self) -> Self {
        Self { top: self.top.scaled(&-RBig::ONE), bottom: self.bottom.clone() }
    }

    /// `1/x`; `None` where `x` may be zero or negative, or a sign is in doubt.
    pub(super) fn inverse(&self) -> Option<Result<Self, TooLarge>> {
        let minus = self.top.scaled(&-RBig::ONE);
        if self.top.is_positive() {
            Some(Self::over(self.bottom.clone(), self.top.clone()))
        } else if minus.is_positive() {
            Some(Self::over(self.bottom.scaled(&-RBig::ONE), minus))
        } else {
            None
        }
    }

    /// `√x = √(top · bottom) / bottom`.
    pub(super) fn root(&self) -> Option<Result<Self, TooLarge>> {
        let radicand = match self.top.times(&self.bottom) {
            Ok(radicand) => radicand,
            Err(error) => return Some(Err(error)),
        };
        Some(radicand.root()?.and_then(|root| Self::over(root, self.bottom.clone())))
    }

    /// The quotient without common factors of all terms, and without a root in a denominator of one
    /// term.
    pub(super) fn over(top: Poly, bottom: Poly) -> Result<Self, TooLarge> {
        let (mut top, mut bottom) = (top, bottom);
        if bottom.0.len() == 1 {
            let roots = bottom
                .0
                .keys()
                .flat_map(BTreeMap::keys)
                .filter(|atom| matches!(atom, Atom::Root(_)));
            let roots: Monomial = roots.map(|root| (root.clone(), 1)).collect();
            let roots = Poly::term(roots, RBig::ONE);
            (top, bottom) = (top.times(&roots)?, bottom.times(&roots)?);
        }
        if top.is_zero() {
            return Ok(Self::of(top));
        }
        let ((x, above), (y, below)) = (top.content(), bottom.content());
        let common = shared(&above, &below);
        let constant = if bottom.0.len() == 1 { y } else { shared_content(&x, &y) };
        Ok(Self {
            top: top.divided(&constant, &common),
            bottom: bottom.divided(&constant, &common),
        })
    }

    /// Whether both are the same for all values of their symbols.
    pub(super) fn equals(&self, other: &Self) -> Result<bool, TooLarge> {
        Ok(self.top.times(&other.bottom)? == other.top.times(&self.bottom)?)
    }
}

/// Takes squares of roots out of a monomial: the radicands and the powers they are left to.
fn without_squared_roots(monomial: &mut Monomial) -> Vec<(Poly, u32)> {
    let mut squares = Vec::new();
    let roots: Vec<(Atom, u32)> = monomial
        .iter()
        .filter(|(atom, n)| matches!(atom, Atom::Root(_)) && **n > 1)
        .map(|(a, n)| (a.clone(), *n))
        .collect();
    for (atom, power) in roots {
        monomial.remove(&atom);
        if power % 2 == 1 {
            monomial.insert(atom.clone(), 1);
        }
        if let Atom::Root(radicand) = atom {
            squares.push((radicand, power / 2));
        }
    }
    squares
}

/// `√x` for a positive rational: a rational and the roots of primes.
fn constant_root(x: &RBig) -> Vec<Result<Poly, TooLarge>> {
    if let Some(root) = root_of(x, 2) {
        return vec![Ok(Poly::constant(root))];
    }
    let (top, bottom) = x.clone().into_parts();
    let (outside, primes) = split_square(top.into_parts().1 * &bottom);
    let rational = RBig::from_parts(IBig::from(outside), bottom);
    let root = |n: UBig| {
        Ok(Poly::atom(Atom::Root(Poly::constant(RBig::from_parts(IBig::from(n), UBig::ONE)))))
    };
    std::iter::once(Ok(Poly::constant(rational))).chain(primes.into_iter().map(root)).collect()
}

fn shared(left: &Monomial, right: &Monomial) -> Monomial {
    let least = |(atom, power): (&Atom, &u32)| {
        right.get(atom).map(|other| (atom.clone(), *power.min(other)))
    };
    left.iter().filter_map(least).collect()
}

fn shared_content(x: &RBig, y: &RBig) -> RBig {
    let ((a, b), (c, d)) = (x.clone().into_parts(), y.clone().into_parts());
    let top = gcd(a.into_parts().1 * &d, c.into_parts().1 * &b);
    RBig::from_parts(IBig::from(top), b * d)
}

fn gcd(left: UBig, right: UBig) -> UBig {
    let (mut left, mut right) = (left, right);
    while right != UBig::ZERO {
        (left, right) = (right.clone(), left % right);
    }
    left
}
