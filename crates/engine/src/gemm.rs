//! The two matrix products of the engine, with the depth of their sums: by faer on one thread, or
//! by loops of our own.
//!
//! Assumption A2 of `docs/bounds.md#dot`: every element is a binary tree over its products, each
//! node rounded to nearest or fused, with no fast (Strassen) variant and no narrower format.
//! [`self_test`](crate::selftest::self_test) probes it. No verdict depends on which bits come back;
//! what is written into files that others keep takes [`Products::FixedOrder`].

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use crate::exp::U;

/// Keys per block of [`Products::times`]: blocking shortens the sums and with them their error, and
/// a block of scores or values stays in the cache.
pub(crate) const KEY_BLOCK: usize = 256;

/// `γ_k(u) = k·u/(1 − k·u)` rounded up; infinite when `k·u ≥ 1`.
pub(crate) fn gamma(k: usize, u: f64) -> f64 {
    let ku = k as f64 * u;
    if ku >= 1.0 { f64::INFINITY } else { ku / (1.0 - ku) * (1.0 + 8.0 * U) }
}

/// How matrix products are computed. Both keep the same proved error bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// By faer: fast, and in an order of summation that depends on its version, its features and
    /// the processor. Rows that need no shift are swept by kernels of our own,
    /// `enclosure/sweep.rs`.
    Faer,
    /// By plain loops: the same operations in the same order, none of them fused, so the same bits
    /// on every machine.
    FixedOrder,
}

impl Products {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::Faer, Self::FixedOrder];

    /// `dst = lhs · rhsᵀ`.
    ///
    /// # Shapes
    /// `lhs: (rows, depth)`, `rhs: (cols, depth)` → `dst: (rows, cols)`.
    ///
    /// # Error bound
    /// `γ(depth) · Σ_t |lhs_it · rhs_jt|` plus underflow.
    pub(crate) fn times_transposed(
        self,
        dst: &mut [f64],
        lhs: &[f64],
        rhs: &[f64],
        shape: (usize, usize, usize),
    ) {
        let (rows, depth, cols) = shape;
        if depth == 0 {
            dst.fill(0.0);
        }
        if rows == 0 || depth == 0 || cols == 0 {
            return;
        }
        match self {
            Self::Faer => matmul(
                MatMut::from_row_major_slice_mut(dst, rows, cols),
                Accum::Replace,
                MatRef::from_row_major_slice(lhs, rows, depth),
                MatRef::from_row_major_slice(rhs, cols, depth).transpose(),
                1.0,
                Par::Seq,
            ),
            Self::FixedOrder => {
                for (dst_row, lhs_row) in dst.chunks_exact_mut(cols).zip(lhs.chunks_exact(depth)) {
                    for (x, rhs_row) in dst_row.iter_mut().zip(rhs.chunks_exact(depth)) {
                        *x = lhs_row.iter().zip(rhs_row).fold(0.0, |sum, (a, b)| sum + a * b);
                    }
                }
            }
        }
    }

    /// `dst = lhs · rhs`, summed over blocks of keys.
    ///
    /// # Shapes
    /// `lhs: (rows, depth)`, `rhs: (depth, cols)` → `dst: (rows, cols)`.
    ///
    /// # Error bound
    /// `γ(times_depth(depth)) · Σ_j |lhs_ij · rhs_jc|` plus underflow.
    pub(crate) fn times(
        self,
        dst: &mut [f64],
        lhs: &[f64],
        rhs: &[f64],
        shape: (usize, usize, usize),
    ) {
        let (rows, depth, cols) = shape;
        dst.fill(0.0);
        if rows == 0 || depth == 0 || cols == 0 {
            return;
        }
        for (b, rhs_block) in rhs.chunks(KEY_BLOCK * cols).enumerate() {
            let keys = rhs_block.len() / cols;
            self.add_times(dst, &lhs[b * KEY_BLOCK..], depth, rhs_block, (rows, keys, cols));
        }
    }

    /// `dst += lhs · rhs` for one block of keys: block after block, from zeros on, this is
    /// [`Products::times`].
    ///
    /// # Shapes
    /// `lhs: (rows, depth)` with `lhs_stride` numbers from row to row, `rhs: (depth, cols)`,
    /// `depth ≤ KEY_BLOCK` → `dst: (rows, cols)`. No extent is 0.
    pub(crate) fn add_times(
        self,
        dst: &mut [f64],
        lhs: &[f64],
        lhs_stride: usize,
        rhs: &[f64],
        shape: (usize, usize, usize),
    ) {
        let (rows, depth, cols) = shape;
        match self {
            Self::Faer => matmul(
                MatMut::from_row_major_slice_mut(dst, rows, cols),
                Accum::Add,
                MatRef::from_row_major_slice_with_stride(lhs, rows, depth, lhs_stride),
                MatRef::from_row_major_slice(rhs, depth, cols),
                1.0,
                Par::Seq,
            ),
            Self::FixedOrder => {
                let mut block_sums = vec![0.0; cols];
                for (dst_row, lhs_row) in dst.chunks_exact_mut(cols).zip(lhs.chunks(lhs_stride)) {
                    block_sums.fill(0.0);
                    for (a, rhs_row) in lhs_row[..depth].iter().zip(rhs.chunks_exact(cols)) {
                        block_sums.iter_mut().zip(rhs_row).for_each(|(sum, b)| *sum += a * b);
                    }
                    dst_row.iter_mut().zip(&block_sums).for_each(|(x, sum)| *x += sum);
                }
            }
        }
    }
}

/// Roundings that a product of [`Products::times`] passes through at most: its own, those of its
/// block, one for each block.
pub(crate) fn times_depth(depth: usize) -> usize {
    depth.min(KEY_BLOCK) + depth.div_ceil(KEY_BLOCK) + 1
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "integer products are exact")]
mod tests {
    use super::*;

    #[test]
    fn products_of_small_integers_are_exact_at_all_sizes() {
        for (rows, depth, cols) in
            [(1, 1, 1), (2, 0, 3), (0, 2, 1), (3, 5, 0), (3, 7, 2), (5, 300, 4), (2, 513, 3)]
        {
            let lhs: Vec<f64> = (0..rows * depth).map(|x| (x % 13) as f64 - 6.0).collect();
            let rhs: Vec<f64> = (0..depth * cols).map(|x| (x % 7) as f64 - 3.0).collect();
            let transposed: Vec<f64> =
                (0..cols * depth).map(|x| rhs[(x % depth) * cols + x / depth]).collect();
            for products in Products::ALL {
                let mut dst = vec![f64::NAN; rows * cols];
                let mut dst_transposed = dst.clone();
                products.times(&mut dst, &lhs, &rhs, (rows, depth, cols));
                products.times_transposed(
                    &mut dst_transposed,
                    &lhs,
                    &transposed,
                    (rows, depth, cols),
                );
                for i in 0..rows {
                    for c in 0..cols {
                        let exact: f64 =
                            (0..depth).map(|j| lhs[i * depth + j] * rhs[j * cols + c]).sum();
                        assert_eq!(dst[i * cols + c], exact, "{products:?}");
                        assert_eq!(dst_transposed[i * cols + c], exact, "{products:?}");
                    }
                }
            }
        }
    }

    /// Sums whose rounding tells the order: a block is summed from its first key on, and blocks one
    /// after the other.
    #[test]
    fn the_fixed_order_is_from_the_first_key_on_in_blocks() {
        let small = U;
        let mut products = vec![small; 2 * KEY_BLOCK];
        products[0] = 1.0;
        let ones = vec![1.0; products.len()];
        let mut dst = [0.0];
        Products::FixedOrder.times(&mut dst, &products, &ones, (1, products.len(), 1));
        // Within the first block each `u` is lost against 1, the second sums up to 256 u.
        assert_eq!(dst[0], 1.0 + KEY_BLOCK as f64 * small);
        Products::FixedOrder.times_transposed(&mut dst, &products, &ones, (1, products.len(), 1));
        assert_eq!(dst[0], 1.0);
        products.reverse();
        Products::FixedOrder.times_transposed(&mut dst, &products, &ones, (1, products.len(), 1));
        // 511 u come first; with 1 they are a tie, which goes to 512 u.
        assert_eq!(dst[0], 1.0 + products.len() as f64 * small);
    }
}
