//! Numbers without an exact form here, sums and products with logarithms, enclosed to 70 digits.

use std::cmp::Ordering;
use std::fmt;

use dashu_int::ops::{Abs, BitTest, DivEuclid};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use super::number::{Exact, NotExact, decimal};

/// Bits behind the point.
const BITS: usize = 256;
/// Decimals to which exact numbers are enclosed.
const DECIMALS: usize = 80;
/// Decimals that are shown: fewer than any enclosure of a question gives.
const SHOWN: usize = 50;

/// `mid · 2^−256`, at most `rad · 2^−256` from the number.
#[derive(Clone, Debug)]
pub struct Near {
    mid: IBig,
    rad: IBig,
}

fn one() -> IBig {
    IBig::ONE << BITS
}

/// `⌊n · 2^256 / d⌋`.
fn scaled(n: IBig, d: &IBig) -> IBig {
    (n << BITS).div_euclid(d)
}

impl Near {
    fn ratio(x: &RBig) -> Self {
        let (n, d) = x.clone().into_parts();
        Self { mid: scaled(n, &d.into()), rad: IBig::ONE }
    }

    /// An exact number.
    pub(super) fn exact(x: &Exact) -> Self {
        if let Some(x) = x.rational() {
            return Self::ratio(&x);
        }
        let digits = x.digits(DECIMALS).replace('.', "");
        let n: IBig = digits.parse().unwrap_or(IBig::ZERO);
        let unit = IBig::from(10).pow(DECIMALS);
        Self { mid: scaled(n, &unit), rad: scaled(IBig::ONE, &unit) + 1 }
    }

    /// `ln x` of a positive number.
    ///
    /// # Error bound
    /// The logarithm grows with `x`, so that it lies between those of the ends of the enclosure of `x`.
    pub(super) fn log(x: &Exact) -> Result<Self, NotExact> {
        let x = Self::exact(x);
        let low = &x.mid - &x.rad;
        if low <= IBig::ZERO {
            return Err(NotExact::Logarithm(x.to_string()));
        }
        let (low, high) = (log(&low), log(&(&x.mid + &x.rad)));
        Ok(Self {
            mid: (&low.mid + &high.mid) >> 1,
            rad: (&high.mid - &low.mid) + low.rad + high.rad,
        })
    }

    /// `x + y`.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { mid: &self.mid + &other.mid, rad: &self.rad + &other.rad }
    }

    /// `−x`.
    pub(super) fn negated(&self) -> Self {
        Self { mid: -&self.mid, rad: self.rad.clone() }
    }

    /// `x · y`.
    ///
    /// # Error bound
    /// `|xy − x̂ŷ| ≤ |x̂|·r_y + |ŷ|·r_x + r_x·r_y`, and one unit each for rounding both down.
    pub(super) fn times(&self, other: &Self) -> Self {
        let (x, y) = (self.mid.clone().abs(), other.mid.clone().abs());
        let rad = x * &other.rad + y * &self.rad + &self.rad * &other.rad;
        Self { mid: (&self.mid * &other.mid) >> BITS, rad: (rad >> BITS) + 2 }
    }

    /// `1 / x`.
    ///
    /// # Error bound
    /// `|1/x − 1/x̂| ≤ r / (|x̂|·(|x̂| − r))`, and one unit each for rounding both down.
    ///
    /// # Errors
    /// A number that may be 0.
    pub(super) fn inverse(&self) -> Result<Self, NotExact> {
        let size = self.mid.clone().abs();
        let least = &size - &self.rad;
        if least <= IBig::ZERO {
            return Err(NotExact::DivisionByZero);
        }
        let rad = (&self.rad << (2 * BITS)).div_euclid(&size * least);
        Ok(Self { mid: (one() << BITS).div_euclid(&self.mid), rad: rad + 2 })
    }

    /// The order of two numbers.
    ///
    /// # Errors
    /// Numbers whose enclosures meet.
    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, NotExact> {
        let apart = &self.mid - &other.mid;
        if apart.clone().abs() > &self.rad + &other.rad {
            Ok(apart.cmp(&IBig::ZERO))
        } else {
            Err(NotExact::Logarithm(self.to_string()))
        }
    }

    fn rounded(x: &IBig, places: usize) -> IBig {
        let size = x.clone().abs() * IBig::from(10).pow(places);
        let size = ((size << 1) + one()) >> (BITS + 1);
        if *x < IBig::ZERO { -size } else { size }
    }

    /// The number rounded to so many decimals, where [`Near::is_certain`].
    pub(super) fn digits(&self, places: usize) -> String {
        decimal(&Self::rounded(&self.mid, places), places)
    }

    /// Whether both ends of the enclosure round to the same decimals.
    pub(super) fn is_certain(&self, places: usize) -> bool {
        let rounded = |x| Self::rounded(&x, places);
        rounded(&self.mid - &self.rad) == rounded(&self.mid + &self.rad)
    }
}

/// `ln(x · 2^−256)` for `x > 0`: `k · ln 2 + 2 · artanh((m − 1)/(m + 1))` with `x = m · 2^k`,
/// `1/2 ≤ m < 1`, so that the argument is at most 1/3 in size.
///
/// # Error bound
/// Each of at most 100 terms is rounded down by less than two units, what is left out is less than
/// one, and the argument is off by one unit, which the slope `1/(1 − z²) ≤ 9/8` leaves below two: 250
/// units for each artanh, twice, and `k` times for `ln 2`.
fn log(x: &IBig) -> Near {
    let bits = UBig::try_from(x.clone()).map_or(0, |x| x.bit_len());
    let k = IBig::from(bits) - IBig::from(BITS);
    let m = if bits > BITS { x >> (bits - BITS) } else { x << (BITS - bits) };
    let z = scaled(&m - one(), &(&m + one()));
    let two = artanh(&scaled(IBig::ONE, &IBig::from(3))) << 1;
    let units = IBig::from(500) * (k.clone().abs() + 2);
    Near { mid: k * two + (artanh(&z) << 1), rad: units }
}

/// `z + z³/3 + z⁵/5 + …`.
fn artanh(z: &IBig) -> IBig {
    let square = (z * z) >> BITS;
    let (mut power, mut sum) = (z.clone(), z.clone());
    for i in 1..100u32 {
        power = (power * &square) >> BITS;
        sum += power.clone().div_euclid(IBig::from(2 * i + 1));
    }
    sum
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~{}", self.digits(SHOWN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(n: i64) -> Exact {
        n.into()
    }

    #[test]
    fn logarithms_have_known_digits() {
        for (x, digits) in [
            (2, "0.69314718055994530941723212145817656807550013436026"),
            (10, "2.30258509299404568401799145468436420760110148862877"),
            (1000, "6.90775527898213705205397436405309262280330446588632"),
        ] {
            let log = Near::log(&exact(x)).unwrap();
            assert_eq!(log.digits(50), digits);
            assert!(log.is_certain(70) && log.rad < IBig::ONE << 16);
        }
        let half = exact(2).inverse().unwrap();
        let sum = Near::log(&half).unwrap().plus(&Near::log(&exact(2)).unwrap());
        assert!(!sum.is_certain(76) || sum.digits(70).trim_matches(['0', '.', '-']).is_empty());
        assert!(Near::log(&exact(0)).is_err());
    }

    #[test]
    fn products_and_quotients_hold_their_numbers() {
        let (two, three) = (Near::log(&exact(2)).unwrap(), Near::log(&exact(3)).unwrap());
        // log 3 / log 2
        let ratio = three.times(&two.inverse().unwrap());
        assert_eq!(ratio.digits(30), "1.584962500721156181453738943948");
        assert_eq!(ratio.times(&two).compare(&two), Ok(Ordering::Greater));
        assert!(ratio.times(&two).compare(&three).is_err(), "equal numbers are not told apart");
        assert!(two.plus(&two.negated()).inverse().is_err());
        // What rounds differently at its two ends is not certain.
        let tie = Near { mid: one() >> 1, rad: IBig::ONE };
        assert!(!tie.is_certain(0) && tie.is_certain(1));
    }
}
