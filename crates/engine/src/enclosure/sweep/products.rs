//! Products of exponentials with values, `N` columns at a time.

use pulp::Simd;

use super::group::Group;

/// Adds `Σ_j e_j v_jc` to the sum of every column `c`.
///
/// # Shapes
/// `exponentials: (keys)`, `values: (keys, d_v)`, `sums: (d_v)`.
///
/// # Error bound
/// `keys` fused operations from 0 on, and one addition.
#[inline(always)]
pub(super) fn add<S: Simd, const V: usize, const N: usize>(
    simd: S,
    exponentials: &[Group<S, V>],
    values: &[f64],
    d_v: usize,
    sums: &mut [Group<S, V>],
) {
    let (several, single) = sums.as_chunks_mut::<N>();
    let mut c = 0;
    for sums in several {
        add_columns::<S, V, N>(simd, exponentials, values, (d_v, c), sums);
        c += N;
    }
    for sum in single {
        add_columns::<S, V, 1>(simd, exponentials, values, (d_v, c), std::array::from_mut(sum));
        c += 1;
    }
}

/// [`add`] for the `N` columns from `c` on.
#[inline(always)]
fn add_columns<S: Simd, const V: usize, const N: usize>(
    simd: S,
    exponentials: &[Group<S, V>],
    values: &[f64],
    (d_v, c): (usize, usize),
    sums: &mut [Group<S, V>; N],
) {
    let mut products = [[simd.splat_f64s(0.0); V]; N];
    for (e, row) in exponentials.iter().zip(values.chunks_exact(d_v)) {
        let row = &row[c..c + N];
        for n in 0..N {
            let value = simd.splat_f64s(row[n]);
            for m in 0..V {
                products[n][m] = simd.mul_add_f64s(e[m], value, products[n][m]);
            }
        }
    }
    for n in 0..N {
        for m in 0..V {
            sums[n][m] = simd.add_f64s(sums[n][m], products[n][m]);
        }
    }
}

/// Replaces exponentials by their squares.
#[inline(always)]
pub(super) fn square<S: Simd, const V: usize>(simd: S, exponentials: &mut [Group<S, V>]) {
    for e in exponentials.as_flattened_mut() {
        *e = simd.mul_f64s(*e, *e);
    }
}
