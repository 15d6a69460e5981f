//! Rational numbers: from literals, and their square roots.

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// The decimal that a literal shows: `0.1` is a tenth, not the nearest double.
pub(super) fn literal(x: f64) -> Option<RBig> {
    RBig::from_str_decimal(&format!("{x}")).ok()
}

/// `√x`, if it is rational.
pub(super) fn root_of(x: &RBig) -> Option<RBig> {
    if *x < RBig::ZERO {
        return None;
    }
    let (top, bottom) = x.clone().into_parts();
    let whole = |n: UBig| {
        let root = n.nth_root(2);
        (&root * &root == n).then_some(root)
    };
    Some(RBig::from_parts(IBig::from(whole(top.into_parts().1)?), whole(bottom)?))
}

/// `n = outside² · Π inside`: the factors of `inside` are different primes below 1000, and one more number that is not a square.
pub(super) fn split_square(n: UBig) -> (UBig, Vec<UBig>) {
    let (mut rest, mut outside, mut inside) = (n, UBig::ONE, Vec::new());
    for p in 2_u32..1000 {
        let p = UBig::from(p);
        let mut odd = false;
        while &rest % &p == UBig::ZERO {
            rest /= &p;
            if odd {
                outside *= &p;
            }
            odd = !odd;
        }
        if odd {
            inside.push(p);
        }
    }
    let root = rest.nth_root(2);
    if &root * &root == rest {
        outside *= root;
    } else {
        inside.push(rest);
    }
    (outside, inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_decimals() {
        let tenth = RBig::from_parts(IBig::ONE, UBig::from(10_u8));
        assert_eq!(literal(0.1), Some(tenth));
        assert_eq!(literal(2.0), Some(RBig::from(2)));
        assert!(literal(1e300).is_some() && literal(f64::INFINITY).is_none());
    }

    #[test]
    fn a_root_is_split_or_rational() {
        let ratio = |n: i32, d: u32| RBig::from_parts(IBig::from(n), UBig::from(d));
        assert_eq!(root_of(&ratio(4, 9)), Some(ratio(2, 3)));
        assert!(root_of(&ratio(2, 9)).is_none() && root_of(&ratio(-4, 1)).is_none());
        for n in 1_u32..2000 {
            let (outside, inside) = split_square(UBig::from(n));
            let product = inside.iter().fold(UBig::ONE, |product, p| product * p);
            assert_eq!(&outside * &outside * product, UBig::from(n));
            assert!(inside.windows(2).all(|pair| pair[0] < pair[1]), "{n}");
        }
    }
}
