//! Balls: a midpoint and a radius, with a second radius for the probabilistic bound. Rounding to
//! nearest only.
//!
//! Every operation encloses: real operands anywhere in their balls give a result in the result's
//! ball. Operations that are exact in binary64 keep radius 0, so exact data stay exact through
//! permutations, sums on a grid and powers of two.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::enclosure::logarithm;
use crate::exp::{EXP_ERROR, exp1};

/// Unit roundoff of binary64.
const U: f64 = f64::EPSILON / 2.0;

/// All reals within `rad` of `mid`; `soft ≤ rad` is the radius under the probabilistic model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Midpoint; NaN stands for "the value is NaN".
    pub mid: f64,
    /// Proved radius.
    pub rad: f64,
    /// Probabilistic radius.
    pub soft: f64,
}

/// An upper bound of a non-negative sum or product of a few rounded terms; 0 stays 0.
#[inline(always)]
fn up(x: f64) -> f64 {
    if x > 0.0 { x * (1.0 + 8.0 * U) + f64::MIN_POSITIVE } else { x }
}

/// `x · y` for radii, where `0 · ∞ = 0`: a zero factor makes every real product zero.
#[inline(always)]
fn product(x: f64, y: f64) -> f64 {
    if x > 0.0 && y > 0.0 { x * y } else { 0.0 }
}

/// The rounding error of `a + b`, exactly (Knuth's two-sum); 0 when the sum overflowed.
#[inline(always)]
fn sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    if error.is_finite() { error.abs() } else { 0.0 }
}

impl Ball {
    /// The ball of one number.
    pub fn exact(mid: f64) -> Self {
        Self { mid, rad: 0.0, soft: 0.0 }
    }

    /// All of `[low, high]`.
    pub fn between(low: f64, high: f64) -> Self {
        let mid =
            if low.is_infinite() || high.is_infinite() { 0.0 } else { low / 2.0 + high / 2.0 };
        let rad = up((high - mid).max(mid - low).max(0.0));
        Self { mid, rad, soft: rad }
    }

    /// A number below which no element of the ball lies.
    pub fn low(self) -> f64 {
        if self.rad > 0.0 { lower(self.mid - self.rad) } else { self.mid }
    }

    /// A number above which no element of the ball lies.
    pub fn high(self) -> f64 {
        -(-self).low()
    }

    /// Whether one number may be in both balls: always, where they enclose the same one.
    pub fn meets(self, other: Self) -> bool {
        self.mid.is_nan() && other.mid.is_nan()
            || self.low() <= other.high() && other.low() <= self.high()
    }

    /// `e^x`.
    ///
    /// # Error bound
    /// `exp1` on `[−600, 0]` has relative error below [`EXP_ERROR`]; positive arguments go through
    /// the reciprocal; below −600 the value lies in `[0, e^−600]`. A radius `r ≤ 1` multiplies by a
    /// factor in `1 ± (r + r²)`.
    pub fn exp(self) -> Self {
        if self.mid.is_nan() {
            return self;
        }
        if self.mid > 0.0 {
            return Self::exact(1.0) / (-self).exp();
        }
        if self.high() < -600.0 {
            return Self::between(0.0, 4e-261);
        }
        let mid = exp1(self.mid.max(-600.0));
        let radius = |r: f64| {
            if r <= 1.0 {
                up(mid * (EXP_ERROR + (r + r * r) * (1.0 + 2.0 * EXP_ERROR)))
            } else {
                f64::INFINITY
            }
        };
        Self { mid, rad: radius(self.rad), soft: radius(self.soft) }
    }

    /// `ln x`: `ln 0 = −∞`, NaN for a negative number, all reals for a ball that reaches 0.
    ///
    /// # Error bound
    /// That of the logarithm of a row sum (`docs/bounds.md#lse`) at both ends of the ball, between
    /// which it grows.
    pub fn log(self) -> Self {
        let of = |x: f64| {
            let log = logarithm(x);
            Self { mid: log.mid, rad: log.rad, soft: log.rad }
        };
        if self.rad == 0.0 && (self.mid <= 0.0 || self.mid.is_nan()) {
            return Self::exact(if self.mid == 0.0 { f64::NEG_INFINITY } else { f64::NAN });
        }
        if self.rad == 0.0 {
            return of(self.mid);
        }
        if self.low() > 0.0 {
            return Self::between(of(self.low()).low(), of(self.high()).high());
        }
        Self { mid: 0.0, rad: f64::INFINITY, soft: f64::INFINITY }
    }

    /// `√x`, of the non-negative part of the ball.
    pub fn sqrt(self) -> Self {
        if self.rad == 0.0 {
            let mid = self.mid.sqrt();
            let rad = if mid.mul_add(mid, -self.mid) == 0.0 { 0.0 } else { up(mid * U) };
            return Self { mid, rad, soft: rad };
        }
        Self::between(lower(self.low().max(0.0).sqrt()), up(self.high().max(0.0).sqrt()))
    }

    /// `1/(1 + e^−x)`, which lies between 0 and 1 and grows with `x`.
    pub fn sigmoid(self) -> Self {
        if self.rad > 1.0 {
            let ends = [self.low(), self.high()].map(|end| Self::exact(end).sigmoid());
            return Self::between(ends[0].low().max(0.0), ends[1].high().min(1.0));
        }
        // The exponential that does not overflow.
        let e = if self.mid < 0.0 { self.exp() } else { (-self).exp() };
        let sum = Self::exact(1.0) + e;
        if self.mid < 0.0 { e / sum } else { Self::exact(1.0) / sum }
    }

    /// `|x|`.
    pub fn abs(self) -> Self {
        if self.rad == 0.0 || self.mid.abs() >= self.rad {
            Self { mid: self.mid.abs(), ..self }
        } else {
            Self::between(0.0, self.high().max(-self.low()))
        }
    }

    /// The larger of two.
    pub fn max(self, other: Self) -> Self {
        if self.mid.is_nan() || (self.rad == 0.0 && other.rad == 0.0 && self.mid >= other.mid) {
            return self;
        }
        if other.mid.is_nan() || (self.rad == 0.0 && other.rad == 0.0) {
            return other;
        }
        let hull = Self::between(self.low().max(other.low()), self.high().max(other.high()));
        Self {
            soft: hull
                .rad
                .min(up(self.soft.max(other.soft) + (hull.mid - self.mid.max(other.mid)).abs())),
            ..hull
        }
    }

    /// The smaller of two.
    pub fn min(self, other: Self) -> Self {
        -(-self).max(-other)
    }
}

/// `−x`.
impl Neg for Ball {
    type Output = Self;

    fn neg(self) -> Self {
        Self { mid: -self.mid, ..self }
    }
}

/// `x + y`.
impl Add for Ball {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let mid = self.mid + other.mid;
        let error = sum_error(self.mid, other.mid, mid);
        Self {
            mid,
            rad: up(self.rad + other.rad + error),
            soft: up(self.soft + other.soft + error),
        }
    }
}

/// `x − y`.
impl Sub for Ball {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

/// `x · y`.
impl Mul for Ball {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let mid = self.mid * other.mid;
        let mut error = self.mid.mul_add(other.mid, -mid).abs();
        if !error.is_finite() {
            error = 0.0;
        }
        // Below this the fused residual itself may underflow.
        if mid.abs() < f64::MIN_POSITIVE / U && self.mid != 0.0 && other.mid != 0.0 {
            error += f64::MIN_POSITIVE;
        }
        let radius = |x: f64, y: f64| {
            up(product(self.mid.abs(), y) + product(other.mid.abs(), x) + product(x, y) + error)
        };
        Self { mid, rad: radius(self.rad, other.rad), soft: radius(self.soft, other.soft) }
    }
}

/// `x / y`; all reals when `y` may be zero.
impl Div for Ball {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let mid = self.mid / other.mid;
        let residual = (-mid).mul_add(other.mid, self.mid).abs();
        let residual = if residual.is_finite() { residual } else { 0.0 };
        let radius = |x: f64, y: f64| {
            let divisor = other.mid.abs() - y;
            if divisor > 0.0 {
                up(up(x + product(mid.abs(), y) + residual) / (divisor * (1.0 - 2.0 * U)))
            } else {
                f64::INFINITY
            }
        };
        Self { mid, rad: radius(self.rad, other.rad), soft: radius(self.soft, other.soft) }
    }
}

/// A number not above the exact result that rounded to `x`.
fn lower(x: f64) -> f64 {
    x - (x.abs() * 2.0 * U + f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(ball: Ball, value: f64) -> bool {
        ball.low() <= value && value <= ball.high()
    }

    #[test]
    fn exact_arithmetic_stays_exact() {
        let x = (Ball::exact(1.5) + Ball::exact(-0.25)) * Ball::exact(8.0) / Ball::exact(4.0);
        assert_eq!(x, Ball::exact(2.5));
        assert_eq!(Ball::exact(9.0).sqrt(), Ball::exact(3.0));
        assert_eq!(Ball::exact(0.0).exp(), Ball { mid: 1.0, ..Ball::exact(0.0).exp() });
    }

    #[test]
    fn inexact_results_are_enclosed() {
        let third = Ball::exact(1.0) / Ball::exact(3.0);
        assert!(third.rad > 0.0 && third.rad < 1e-15);
        let one = third * Ball::exact(3.0);
        assert!(holds(one, 1.0));
        let sum = Ball::exact(1.0) + Ball::exact(1e-17);
        assert!(sum.rad >= 1e-17 && sum.rad < 1.1e-17);
        let e = Ball::exact(1.0).exp();
        assert!(holds(e, std::f64::consts::E) && e.rad < 1e-14);
        assert!(holds(Ball::exact(2.0).sqrt(), std::f64::consts::SQRT_2));
        assert!(holds(Ball::exact(-1000.0).exp(), 0.0));
        assert!((Ball::exact(1.0) / Ball::between(-1.0, 1.0)).rad.is_infinite());
    }

    #[test]
    fn logistic_is_symmetric() {
        let (up, down) = (Ball::exact(3.0).sigmoid(), Ball::exact(-3.0).sigmoid());
        assert!(holds(up + down, 1.0));
        assert!(up.rad < 1e-14);
    }

    #[test]
    fn logistic_never_leaves_0_to_1() {
        for (x, low, high) in [
            (Ball::exact(-1100.0), 0.0, 3e-261),
            (Ball::exact(1100.0), 1.0, 1.0),
            (Ball::between(-2.0, 2.0), 0.119_202_922_022_117_55, 0.880_797_077_977_882_5),
            (Ball { rad: f64::INFINITY, soft: f64::INFINITY, ..Ball::exact(0.0) }, 0.0, 1.0),
        ] {
            let got = x.sigmoid();
            assert!(
                holds(got, low) && holds(got, high) && got.rad <= (high - low) / 2.0 + 1e-15,
                "{x:?}: {got:?}"
            );
        }
    }

    #[test]
    fn logarithms_are_enclosed() {
        let e = Ball::exact(1.0).exp();
        assert!(holds(e.log(), 1.0) && e.log().rad < 1e-14);
        let ten = Ball::exact(10.0).log();
        assert!(holds(ten, std::f64::consts::LN_10) && ten.rad < 1e-14);
        let wide = Ball::between(0.5, 2.0).log();
        assert!(
            holds(wide, -std::f64::consts::LN_2)
                && holds(wide, std::f64::consts::LN_2)
                && wide.rad < 0.7
        );
        assert_eq!(Ball::exact(1.0).log(), Ball::exact(0.0));
        assert_eq!(Ball::exact(0.0).log(), Ball::exact(f64::NEG_INFINITY));
        assert!(Ball::exact(-1.0).log().mid.is_nan());
        for unknown in
            [Ball::between(0.0, 1.0), Ball::between(-1.0, 2.0), Ball::exact(f64::INFINITY)]
        {
            assert!(unknown.log().rad.is_infinite(), "{unknown:?}");
        }
    }

    #[test]
    fn nan_is_kept() {
        let nan = Ball::exact(f64::NAN);
        assert!((nan + Ball::exact(1.0)).mid.is_nan());
        assert!(nan.max(Ball::exact(1.0)).mid.is_nan() && Ball::exact(1.0).max(nan).mid.is_nan());
    }
}
