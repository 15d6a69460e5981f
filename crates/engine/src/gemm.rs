//! The two matrix products of the engine, by faer on one thread, with the depth of their sums.
//!
//! Assumption A2 of `docs/bounds.md#dot`: every element is a binary tree over its products, each node rounded to nearest or
//! fused, with no fast (Strassen) variant and no narrower format. [`self_test`](crate::selftest::self_test) probes it. Nothing
//! depends on which bits come back.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use crate::exp::U;

/// Keys per block of [`times`]: blocking shortens the sums and with them their error.
const KEY_BLOCK: usize = 256;

/// `γ_k(u) = k·u/(1 − k·u)` rounded up; infinite when `k·u ≥ 1`.
pub(crate) fn gamma(k: usize, u: f64) -> f64 {
    let ku = k as f64 * u;
    if ku >= 1.0 { f64::INFINITY } else { ku / (1.0 - ku) * (1.0 + 8.0 * U) }
}

/// `dst = lhs · rhsᵀ`.
///
/// # Shapes
/// `lhs: (rows, depth)`, `rhs: (cols, depth)` → `dst: (rows, cols)`.
///
/// # Error bound
/// `γ(depth) · Σ_t |lhs_it · rhs_jt|` plus underflow.
pub(crate) fn times_transposed(dst: &mut [f64], lhs: &[f64], rhs: &[f64], (rows, depth, cols): (usize, usize, usize)) {
    if depth == 0 {
        dst.fill(0.0);
    }
    if rows == 0 || depth == 0 || cols == 0 {
        return;
    }
    matmul(
        MatMut::from_row_major_slice_mut(dst, rows, cols),
        Accum::Replace,
        MatRef::from_row_major_slice(lhs, rows, depth),
        MatRef::from_row_major_slice(rhs, cols, depth).transpose(),
        1.0,
        Par::Seq,
    );
}

/// `dst = lhs · rhs`, summed over blocks of keys.
///
/// # Shapes
/// `lhs: (rows, depth)`, `rhs: (depth, cols)` → `dst: (rows, cols)`.
///
/// # Error bound
/// `γ(times_depth(depth)) · Σ_j |lhs_ij · rhs_jc|` plus underflow.
pub(crate) fn times(dst: &mut [f64], lhs: &[f64], rhs: &[f64], (rows, depth, cols): (usize, usize, usize)) {
    dst.fill(0.0);
    if rows == 0 || depth == 0 || cols == 0 {
        return;
    }
    let lhs = MatRef::from_row_major_slice(lhs, rows, depth);
    let rhs = MatRef::from_row_major_slice(rhs, depth, cols);
    let mut dst = MatMut::from_row_major_slice_mut(dst, rows, cols);
    for start in (0..depth).step_by(KEY_BLOCK) {
        let len = KEY_BLOCK.min(depth - start);
        matmul(dst.as_mut(), Accum::Add, lhs.subcols(start, len), rhs.subrows(start, len), 1.0, Par::Seq);
    }
}

/// Roundings that a product of [`times`] passes through at most: its own, those of its block, one for each block.
pub(crate) fn times_depth(depth: usize) -> usize {
    depth.min(KEY_BLOCK) + depth.div_ceil(KEY_BLOCK) + 1
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "integer products are exact")]
mod tests {
    use super::*;

    #[test]
    fn products_of_small_integers_are_exact_at_all_sizes() {
        for (rows, depth, cols) in [(1, 1, 1), (2, 0, 3), (0, 2, 1), (3, 5, 0), (3, 7, 2), (5, 300, 4), (2, 513, 3)] {
            let lhs: Vec<f64> = (0..rows * depth).map(|x| (x % 13) as f64 - 6.0).collect();
            let rhs: Vec<f64> = (0..depth * cols).map(|x| (x % 7) as f64 - 3.0).collect();
            let transposed: Vec<f64> = (0..cols * depth).map(|x| rhs[(x % depth) * cols + x / depth]).collect();
            let mut dst = vec![f64::NAN; rows * cols];
            let mut dst_transposed = dst.clone();
            times(&mut dst, &lhs, &rhs, (rows, depth, cols));
            times_transposed(&mut dst_transposed, &lhs, &transposed, (rows, depth, cols));
            for i in 0..rows {
                for c in 0..cols {
                    let exact: f64 = (0..depth).map(|j| lhs[i * depth + j] * rhs[j * cols + c]).sum();
                    assert_eq!(dst[i * cols + c], exact);
                    assert_eq!(dst_transposed[i * cols + c], exact);
                }
            }
        }
    }
}
