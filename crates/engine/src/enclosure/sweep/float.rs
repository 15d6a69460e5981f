//! Vectors of `f64` and of `f32` behind one trait, so that the inner loop is written once.

use pulp::{Simd, bytemuck};

/// A format that sums are taken in.
pub(super) trait Float: bytemuck::Pod {
    type Vector<S: Simd>: Copy;
    const ZERO: Self;

    fn vectors<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `a·b + c`, rounded once.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
}

macro_rules! float {
    ($float:ty, $vector:ident, $of:ident, $of_mut:ident, $splat:ident, $add:ident, $mul_add:ident) => {
        impl Float for $float {
            type Vector<S: Simd> = S::$vector;
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn vectors<S: Simd>(numbers: &[Self]) -> &[S::$vector] {
                S::$of(numbers).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::$vector] {
                S::$of_mut(numbers).0
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
        }
    };
}

float!(f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, add_f64s, mul_add_f64s);
float!(f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, add_f32s, mul_add_f32s);
