//! The inner loop, of keys and of values: products of the numbers of a group with those of a panel,
//! `N` keys (or columns) at a time.

use pulp::Simd;

use super::float::Float;
use super::group::Group;

/// Turns of the inner loop between two jumps; with one it does without 7 % of the operations.
const UNROLLED: usize = 4;

/// Keys whose products with values are one chain of fused operations; [`BLOCK`](super::BLOCK) is a
/// multiple.
pub(super) const CHAIN: usize = 48;

/// `Σ_t x_t y_tn` for each `n`.
///
/// # Shapes
/// `rows: (depth)`, `panel: (depth, N)` → `(N)`.
///
/// # Error bound
/// `depth` fused operations from 0 on.
#[inline(always)]
pub(super) fn products<F: Float, S: Simd, const V: usize, const N: usize>(
    simd: S,
    rows: &[Group<F, S, V>],
    panel: &[[F; N]],
) -> [Group<F, S, V>; N] {
    let mut sums = [[F::splat(simd, F::ZERO); V]; N];
    let ((several, rest), (panels, end)) =
        (rows.as_chunks::<UNROLLED>(), panel.as_chunks::<UNROLLED>());
    for (x, y) in several.iter().zip(panels) {
        for u in 0..UNROLLED {
            fuse::<F, S, V, N>(simd, &x[u], &y[u], &mut sums);
        }
    }
    for (x, y) in rest.iter().zip(end) {
        fuse::<F, S, V, N>(simd, x, y, &mut sums);
    }
    sums
}

/// `Σ_j e_j v_jn` of a block of keys from the start of a chain on, chain by chain.
///
/// # Shapes
/// `exponentials: (keys)`, `panel: (keys, N)` → `(N)`.
///
/// # Error bound
/// [`CHAIN`] fused operations from 0 on, and an addition for each chain but the first.
#[inline(always)]
pub(super) fn in_chains<F: Float, S: Simd, const V: usize, const N: usize>(
    simd: S,
    exponentials: &[Group<F, S, V>],
    panel: &[[F; N]],
) -> [Group<F, S, V>; N] {
    // From the first chain on, not from 0: what differs is the sign of a sum that is 0, which is
    // lost where the sum of the block is added.
    let first = exponentials.len().min(CHAIN);
    let mut sums = products::<F, S, V, N>(simd, &exponentials[..first], &panel[..first]);
    for (exponentials, panel) in
        exponentials[first..].chunks(CHAIN).zip(panel[first..].chunks(CHAIN))
    {
        let chain = products::<F, S, V, N>(simd, exponentials, panel);
        add::<F, S, V, N>(simd, &mut sums, &chain);
    }
    sums
}

/// Adds to each sum.
#[inline(always)]
pub(super) fn add<F: Float, S: Simd, const V: usize, const N: usize>(
    simd: S,
    sums: &mut [Group<F, S, V>; N],
    more: &[Group<F, S, V>; N],
) {
    for n in 0..N {
        for m in 0..V {
            sums[n][m] = F::add(simd, sums[n][m], more[n][m]);
        }
    }
}

#[inline(always)]
fn fuse<F: Float, S: Simd, const V: usize, const N: usize>(
    simd: S,
    x: &Group<F, S, V>,
    y: &[F; N],
    sums: &mut [Group<F, S, V>; N],
) {
    for n in 0..N {
        let y = F::splat(simd, y[n]);
        for m in 0..V {
            sums[n][m] = F::mul_add(simd, x[m], y, sums[n][m]);
        }
    }
}
