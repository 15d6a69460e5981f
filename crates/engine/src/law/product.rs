//! Products of matrices of balls.

use pulp::{Arch, Simd, WithSimd};

use crate::ball::Ball;

/// Balls by their parts: what one instruction takes several of.
struct Parts {
    mid: Vec<f64>,
    rad: Vec<f64>,
    soft: Vec<f64>,
}

impl Parts {
    fn of(balls: &[Ball]) -> Self {
        Self {
            mid: balls.iter().map(|ball| ball.mid).collect(),
            rad: balls.iter().map(|ball| ball.rad).collect(),
            soft: balls.iter().map(|ball| ball.soft).collect(),
        }
    }

    /// Adds what `term` makes of each of the balls of `other` from `start` on.
    #[inline(always)]
    fn add(&mut self, other: &Self, start: usize, term: impl Fn(Ball) -> Ball) {
        let n = self.mid.len();
        let (mid, rad, soft) = (&mut self.mid[..n], &mut self.rad[..n], &mut self.soft[..n]);
        let range = start..start + n;
        let theirs = (&other.mid[range.clone()], &other.rad[range.clone()], &other.soft[range]);
        for c in 0..n {
            let sum = Ball { mid: mid[c], rad: rad[c], soft: soft[c] };
            let other = Ball { mid: theirs.0[c], rad: theirs.1[c], soft: theirs.2[c] };
            let sum = sum + term(other);
            (mid[c], rad[c], soft[c]) = (sum.mid, sum.rad, sum.soft);
        }
    }
}

/// Adds `x · y` to `data`, for `x` of `(rows, inner)` and `y` of `(inner, cols)`.
pub(super) fn push_product(
    data: &mut Vec<Ball>,
    (x, y): (&[Ball], &[Ball]),
    (rows, inner, cols): (usize, usize, usize),
) {
    let y = Parts::of(y);
    let mut sums = Parts::of(&vec![Ball::exact(0.0); cols]);
    for i in 0..rows {
        let factors = &x[i * inner..(i + 1) * inner];
        for part in [&mut sums.mid, &mut sums.rad, &mut sums.soft] {
            part.fill(0.0);
        }
        Arch::new().dispatch(Products { sums: &mut sums, factors, rows: &y });
        let parts = sums.mid.iter().zip(&sums.rad).zip(&sums.soft);
        data.extend(parts.map(|((mid, rad), soft)| Ball { mid: *mid, rad: *rad, soft: *soft }));
    }
}

/// Adds the products of factors and rows.
struct Products<'a> {
    sums: &'a mut Parts,
    factors: &'a [Ball],
    rows: &'a Parts,
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sums, factors, rows } = self;
        let cols = sums.mid.len();
        for (at, factor) in factors.iter().enumerate() {
            // Permutations are exact zeros and ones: they copy rows and round nothing.
            if *factor == Ball::exact(1.0) {
                sums.add(rows, at * cols, |term| term);
            } else if *factor != Ball::exact(0.0) {
                sums.add(rows, at * cols, |term| *factor * term);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vector instructions give the bits of one ball after the other.
    #[test]
    fn products_are_those_of_the_operators() {
        let (rows, inner, cols) = (3, 5, 19);
        let numbers = |n: usize, seed: u64| -> Vec<Ball> {
            let mut state = seed;
            let mut draw = move || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) as f64 / f64::from(1 << 20) - 7.0
            };
            (0..n)
                .map(|at| {
                    let rad = [0.0, 1e-9, 1e-300, f64::INFINITY][at % 4] * f64::from(at % 3 != 0);
                    let rad = if rad.is_nan() { 0.0 } else { rad };
                    Ball { mid: draw() * [1.0, 1e-160, 1e150][at % 3], rad, soft: rad / 2.0 }
                })
                .collect()
        };
        let (mut x, y) = (numbers(rows * inner, 1), numbers(inner * cols, 2));
        (x[1], x[7]) = (Ball::exact(1.0), Ball::exact(0.0));
        let mut data = Vec::new();
        push_product(&mut data, (&x, &y), (rows, inner, cols));
        assert_eq!(data.len(), rows * cols);
        for (at, got) in data.iter().enumerate() {
            let (i, c) = (at / cols, at % cols);
            let term = |t: usize| match x[i * inner + t] {
                factor if factor == Ball::exact(1.0) => Some(y[t * cols + c]),
                factor if factor == Ball::exact(0.0) => None,
                factor => Some(factor * y[t * cols + c]),
            };
            let sum = (0..inner).filter_map(term).fold(Ball::exact(0.0), |sum, term| sum + term);
            let bits = |ball: &Ball| [ball.mid, ball.rad, ball.soft].map(f64::to_bits);
            assert_eq!(bits(got), bits(&sum), "row {i}, column {c}");
        }
    }

    #[test]
    fn a_product_over_nothing_is_zeros() {
        let mut data = Vec::new();
        push_product(&mut data, (&[], &[]), (2, 0, 3));
        assert_eq!(data, [Ball::exact(0.0); 6]);
    }
}
