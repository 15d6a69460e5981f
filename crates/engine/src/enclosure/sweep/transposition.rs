//! Rows to columns, tile by tile of as many rows as a vector has lanes.

use pulp::{Simd, bytemuck};

/// Lanes of the widest vectors.
const LANES: usize = 8;

/// `to[j, i] = factor·from[i, j]`, for as many rows and columns as both have.
///
/// # Shapes
/// `from: (.., from_width)`, `to: (.., to_width)`, no width 0.
#[inline(always)]
pub(super) fn transpose<S: Simd>(
    simd: S,
    (from, from_width): (&[f64], usize),
    (to, to_width): (&mut [f64], usize),
    factor: f64,
) {
    let lanes = S::F64_LANES;
    let (n, m) = ((from.len() / from_width).min(to_width), from_width.min(to.len() / to_width));
    let (whole_n, whole_m) = (n / lanes * lanes, m / lanes * lanes);
    let by = simd.splat_f64s(factor);
    for i in (0..whole_n).step_by(lanes) {
        for j in (0..whole_m).step_by(lanes) {
            let mut tile = [by; LANES];
            for r in 0..lanes {
                let row = &from[(i + r) * from_width + j..][..lanes];
                tile[r] = simd.mul_f64s(S::as_simd_f64s(row).0[0], by);
            }
            flip(simd, &mut tile);
            for c in 0..lanes {
                let row = &mut to[(j + c) * to_width + i..][..lanes];
                S::as_mut_simd_f64s(row).0[0] = tile[c];
            }
        }
    }
    for i in 0..n {
        for j in if i < whole_n { whole_m } else { 0 }..m {
            to[j * to_width + i] = factor * from[i * from_width + j];
        }
    }
}

/// A square of numbers, rows to columns: first within pairs of rows, then pairs of pairs.
#[inline(always)]
fn flip<S: Simd>(simd: S, tile: &mut [S::f64s; LANES]) {
    if S::F64_LANES == 4 {
        // Of as many rows as lanes, to take structures apart is to transpose.
        let [a, b, c, d, ..] = *tile;
        let [a, b, c, d] = simd.deinterleave_shfl_f64s([a, b, c, d]);
        tile[..4].copy_from_slice(&[a, b, c, d]);
        return;
    }
    let mut step = 1;
    while step < S::F64_LANES {
        let mut is_upper = simd.splat_f64s(0.0);
        let lanes = std::slice::from_mut(&mut is_upper);
        let lanes = bytemuck::cast_slice_mut::<S::f64s, f64>(lanes);
        lanes.iter_mut().enumerate().for_each(|(l, x)| *x = f64::from(u8::from(l & step > 0)));
        let is_upper = simd.greater_than_f64s(is_upper, simd.splat_f64s(0.0));
        for pair in 0..S::F64_LANES / 2 {
            let i = pair / step * 2 * step + pair % step;
            let (a, b) = (tile[i], tile[i + step]);
            tile[i] = simd.select_f64s(is_upper, simd.rotate_right_f64s(b, step), a);
            tile[i + step] = simd.select_f64s(is_upper, b, simd.rotate_left_f64s(a, step));
        }
        step *= 2;
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "numbers are copied")]
mod tests {
    use super::super::tests::Vectors;
    use super::*;
    use pulp::WithSimd;

    struct Transpose<'a>(&'a [f64], usize, &'a mut [f64], usize);

    impl WithSimd for Transpose<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            transpose(simd, (self.0, self.1), (self.2, self.3), -2.0);
        }
    }

    /// Wider than what there is to fill it, and narrower: the rest stays as it is.
    #[test]
    fn rows_become_columns_on_all_vectors() {
        for (rows, from_width, columns, to_width) in
            [(24, 64, 64, 24), (17, 13, 13, 24), (13, 24, 9, 11), (1, 1, 1, 1), (3, 5, 2, 2)]
        {
            let from: Vec<f64> = (0..rows * from_width).map(|at| at as f64).collect();
            for vectors in Vectors::all() {
                let mut to = vec![0.5; columns * to_width];
                vectors.run(Transpose(&from, from_width, &mut to, to_width));
                for (at, to) in to.iter().enumerate() {
                    let (j, i) = (at / to_width, at % to_width);
                    let is_there = i < rows && j < from_width;
                    let expected = if is_there { -2.0 * from[i * from_width + j] } else { 0.5 };
                    assert_eq!(*to, expected, "{rows} {from_width} {to_width} {vectors:?} {j} {i}");
                }
            }
        }
    }
}
