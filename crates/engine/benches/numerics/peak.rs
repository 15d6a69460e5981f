//! What bounds every sweep from below: fused operations, as many as the machine does.

use std::hint::black_box;

use pulp::{Arch, Simd, WithSimd};

/// Sums that do not wait for each other: twelve hide what two units take for one.
const SUMS: usize = 12;
const TURNS: usize = 20_000;
/// Fused operations of each sum in a turn.
const UNROLLED: usize = 4;

/// Does fused operations, and says how many, each lane for one.
pub(super) fn fused() -> f64 {
    Arch::new().dispatch(Chains)
}

/// Bits of a vector.
pub(super) fn vector_bits() -> usize {
    Arch::new().dispatch(Bits)
}

struct Chains;

impl WithSimd for Chains {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut sums = [simd.splat_f64s(1.0); SUMS];
        let (a, b) = (simd.splat_f64s(black_box(0.5)), simd.splat_f64s(black_box(0.25)));
        for _ in 0..TURNS {
            for _ in 0..UNROLLED {
                for sum in &mut sums {
                    *sum = simd.mul_add_f64s(*sum, a, b);
                }
            }
        }
        black_box(&sums);
        (TURNS * UNROLLED * SUMS * S::F64_LANES) as f64
    }
}

struct Bits;

impl WithSimd for Bits {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        S::F64_LANES * 64
    }
}
