//! Rational numbers from literals, and square roots of whole ones that are split.

use dashu_int::UBig;
use dashu_ratio::RBig;

/// The decimal that a literal shows: `0.1` is a tenth, not the nearest double.
pub(super) fn literal(x: f64) -> Option<RBig> {
    RBig::from_str_decimal(&format!("{x}")).ok()
}

/// `n = outside² · Π inside`: the factors of `inside` are different primes below 1000, and one more
/// number that is not a square.
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
    use dashu_int::IBig;

    use super::*;

    #[test]
    fn literals_are_decimals() {
        let tenth = RBig::from_parts(IBig::ONE, UBig::from(10_u8));
        assert_eq!(literal(0.1), Some(tenth));
        assert_eq!(literal(2.0), Some(RBig::from(2)));
        assert!(literal(1e300).is_some() && literal(f64::INFINITY).is_none());
    }

    #[test]
    fn a_root_is_split() {
        for n in 1_u32..2000 {
            let (outside, inside) = split_square(UBig::from(n));
            let product = inside.iter().fold(UBig::ONE, |product, p| product * p);
            assert_eq!(&outside * &outside * product, UBig::from(n));
            assert!(inside.windows(2).all(|pair| pair[0] < pair[1]), "{n}");
        }
    }
}
