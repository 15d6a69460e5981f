//! Quotients of sums of exponentials in lowest terms.
//!
//! Where all exponents are rational multiples of one number, `N/D` is a quotient of polynomials in
//! one indeterminate and its common factors are found; then equal values have the same form.
//! Elsewhere equality needs no reduction, only the form differs.

use dashu_int::Sign;

use super::algebraic::Algebraic;
use super::exp_sum::ExpSum;
use crate::rational::{Rational, inverse_modulo};

/// Largest degree that is reduced: Euclid's algorithm makes long coefficients.
const MAX_DEGREES: usize = 64;

/// Coefficients by power, lowest first, the last not zero; no coefficients: 0.
type Polynomial = Vec<Algebraic>;

/// `num / den` with the least exponent of `den` 0, whole coprime coefficients where they are
/// rational, and the coefficient of the greatest exponent of `den` positive. `den` is not 0.
pub(super) fn reduce(num: ExpSum, den: ExpSum) -> (ExpSum, ExpSum) {
    let (Some((shift, _)), false) = (den.end(false), num.is_zero()) else {
        return (ExpSum::default(), ExpSum::constant(Algebraic::ONE));
    };
    let back = shift.negated();
    let (num, den) = if back.is_zero() {
        (num, den)
    } else {
        (num.shifted(&back, &Algebraic::ONE), den.shifted(&back, &Algebraic::ONE))
    };
    // A divisor without exponentials has no factor in common with anything.
    let reduced = if den.len() == 1 {
        None
    } else {
        multiple(&num, &den).or_else(|| lowest_terms(&num, &den))
    };
    let (num, den) = reduced.unwrap_or((num, den));
    clear(num, den)
}

/// `c·e^a / 1` if `num = c·e^a·den`.
fn multiple(num: &ExpSum, den: &ExpSum) -> Option<(ExpSum, ExpSum)> {
    let ((shift, top), (_, below)) = (num.end(false)?, den.end(false)?);
    let factor = top.times(&below.inverse()?);
    let whole = num.len() == den.len() && *num == den.shifted(shift, &factor);
    whole.then(|| (ExpSum::term(shift.clone(), factor), ExpSum::constant(Algebraic::ONE)))
}

/// Common factors taken out, where the exponents allow to find them.
fn lowest_terms(num: &ExpSum, den: &ExpSum) -> Option<(ExpSum, ExpSum)> {
    let (lowest, _) = num.end(false)?;
    let lowest = lowest.clone();
    let moved = num.shifted(&lowest.negated(), &Algebraic::ONE);
    let unit = unit(&moved, den)?;
    let (n, d) = (polynomial(&moved, &unit)?, polynomial(den, &unit)?);
    if are_coprime(&n, &d) == Some(true) {
        return None;
    }
    let common = gcd(n.clone(), d.clone())?;
    if common.len() < 2 {
        return None;
    }
    let sum = |p: &Polynomial| {
        p.iter().enumerate().fold(ExpSum::default(), |sum, (k, c)| {
            sum.plus(&ExpSum::term(
                unit.scaled(&i64::try_from(k).unwrap_or(i64::MAX).into()),
                c.clone(),
            ))
        })
    };
    let (n, d) = (divide(n, &common)?.0, divide(d, &common)?.0);
    Some((sum(&n).shifted(&lowest, &Algebraic::ONE), sum(&d)))
}

/// The positive number of which every exponent is a whole multiple, the largest such.
fn unit(num: &ExpSum, den: &ExpSum) -> Option<Algebraic> {
    let mut exponents =
        num.terms().chain(den.terms()).map(|(exponent, _)| exponent).filter(|a| !a.is_zero());
    let first = exponents.next()?;
    let mut common = Rational::ONE;
    for exponent in exponents {
        common = common.common(&exponent.ratio(first)?);
    }
    let unit = first.scaled(&common);
    Some(if unit.sign() == Sign::Negative { unit.negated() } else { unit })
}

fn polynomial(sum: &ExpSum, unit: &Algebraic) -> Option<Polynomial> {
    let mut p = Vec::new();
    for (exponent, c) in sum.terms() {
        let power = if exponent.is_zero() { Rational::ZERO } else { exponent.ratio(unit)? };
        let k = usize::try_from(power.whole()?).ok().filter(|k| *k <= MAX_DEGREES)?;
        if p.len() <= k {
            p.resize(k + 1, Algebraic::ZERO);
        }
        p[k] = c.clone();
    }
    Some(p)
}

/// Quotient and remainder; `None` for a zero divisor.
fn divide(mut rest: Polynomial, by: &Polynomial) -> Option<(Polynomial, Polynomial)> {
    let inverse = by.last()?.inverse()?;
    let mut quotient = vec![Algebraic::ZERO; (rest.len() + 1).saturating_sub(by.len())];
    while rest.len() >= by.len() {
        let (k, c) = (rest.len() - by.len(), rest.last()?.times(&inverse));
        for (x, y) in rest[k..].iter_mut().zip(by) {
            *x = x.minus(&c.times(y));
        }
        quotient[k] = c;
        while rest.last().is_some_and(Algebraic::is_zero) {
            rest.pop();
        }
    }
    Some((quotient, rest))
}

/// The greatest common divisor, with leading coefficient 1.
fn gcd(mut x: Polynomial, mut y: Polynomial) -> Option<Polynomial> {
    while !y.is_empty() {
        let inverse = y.last()?.inverse()?;
        y.iter_mut().for_each(|c| *c = c.times(&inverse));
        (x, y) = (y.clone(), divide(x, &y)?.1);
    }
    Some(x)
}

/// Whether polynomials have no common factor, as far as a prime tells: what divides both divides
/// both modulo the prime, so that one without a common factor there has none. `None` for
/// coefficients with roots and for a prime that divides a leading one.
fn are_coprime(x: &Polynomial, y: &Polynomial) -> Option<bool> {
    const PRIME: u64 = 2_147_483_629;
    let modulo = |p: &Polynomial| -> Option<Vec<u64>> {
        p.iter().map(|c| c.rational()?.modulo(PRIME)).collect::<Option<_>>()
    };
    let (mut x, mut y) = (modulo(x)?, modulo(y)?);
    if x.last()? == &0 || y.last()? == &0 {
        return None;
    }
    while let Some(lead) = y.last() {
        let over = inverse_modulo(*lead, PRIME);
        while x.len() >= y.len() {
            let (k, c) = (x.len() - y.len(), x.last()? * over % PRIME);
            for (x, y) in x[k..].iter_mut().zip(&y) {
                *x = (*x + PRIME - c * y % PRIME) % PRIME;
            }
            while x.last() == Some(&0) {
                x.pop();
            }
        }
        std::mem::swap(&mut x, &mut y);
    }
    Some(x.len() < 2)
}

/// Both over the leading coefficient of `den`, then times the least rational that leaves whole
/// factors without a common divisor.
pub(super) fn clear(mut num: ExpSum, mut den: ExpSum) -> (ExpSum, ExpSum) {
    let lead = den.end(true).map_or(Algebraic::ONE, |(_, lead)| lead.clone());
    let mut sign = Sign::Positive;
    if lead.rational().is_some() {
        // A rational changes no more than what follows takes away again, but for its sign.
        sign = lead.sign();
    } else if let Some(over) = lead.inverse() {
        (num, den) = (num.shifted(&Algebraic::ZERO, &over), den.shifted(&Algebraic::ZERO, &over));
    }
    let factors = num.terms().chain(den.terms()).flat_map(|(_, c)| c.factors());
    let common = factors.fold(Rational::ZERO, |common, x| common.common(x));
    let common = if sign == Sign::Negative { common.negated() } else { common };
    match common.inverse() {
        Some(over) if !common.is_one() => {
            let over = over.into();
            (num.shifted(&Algebraic::ZERO, &over), den.shifted(&Algebraic::ZERO, &over))
        }
        _ => (num, den),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polynomial(coefficients: &[i64]) -> Polynomial {
        coefficients.iter().map(|c| Rational::from(*c).into()).collect()
    }

    #[test]
    fn a_prime_tells_of_common_factors_what_the_gcd_says() {
        // (t + 1)(t + 2), (t + 2)(t + 3), (t + 1)(t − 1), 2t + 2, 5.
        let all = [vec![2, 3, 1], vec![6, 5, 1], vec![-1, 0, 1], vec![2, 2], vec![5]]
            .map(|p| polynomial(&p));
        for x in &all {
            for y in &all {
                let common = gcd(x.clone(), y.clone()).map(|common| common.len() < 2);
                assert_eq!(are_coprime(x, y), common, "{x:?} and {y:?}");
            }
        }
        let root = vec![Algebraic::ONE, Algebraic::root(&2.into()).unwrap()];
        assert_eq!(are_coprime(&root, &all[0]), None);
    }
}
