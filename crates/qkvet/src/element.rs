//! The number formats that slices may hold.

use qkvet_engine::format;
use qkvet_spec::Dtype;

/// A number of a tensor: `f64`, `f32`, [`Bf16`] or [`F16`].
pub trait Element: Stored {
    /// Its format.
    const DTYPE: Dtype;
}

/// The upper half of an `f32`, as bits: `half::bf16::from_bits(x.0)` and `half::bf16::to_bits` are
/// the ways there and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// IEEE binary16, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// How numbers go to and from `f64`, in which all of them are exact.
pub trait Stored: Copy + Send + Sync + 'static {
    #[doc(hidden)]
    fn stored(values: &[f64]) -> Vec<Self>;
    #[doc(hidden)]
    fn values(stored: &[Self]) -> Vec<f64>;
}

impl Stored for f64 {
    fn stored(values: &[f64]) -> Vec<Self> {
        values.to_vec()
    }

    fn values(stored: &[Self]) -> Vec<f64> {
        stored.to_vec()
    }
}

impl Stored for f32 {
    fn stored(values: &[f64]) -> Vec<Self> {
        values.iter().map(|x| *x as Self).collect()
    }

    fn values(stored: &[Self]) -> Vec<f64> {
        stored.iter().copied().map(f64::from).collect()
    }
}

impl Element for f64 {
    const DTYPE: Dtype = Dtype::Float64;
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::Float32;
}

/// What the two formats of 16 bits have in common.
macro_rules! bits {
    ($name:ident, $dtype:ident) => {
        impl Stored for $name {
            fn stored(values: &[f64]) -> Vec<Self> {
                let bytes = format::encode(values, Dtype::$dtype);
                bytes
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .map(|pair| Self(u16::from_le_bytes(*pair)))
                    .collect()
            }

            fn values(stored: &[Self]) -> Vec<f64> {
                let bytes: Vec<u8> = stored.iter().flat_map(|x| x.0.to_le_bytes()).collect();
                format::decode(&bytes, Dtype::$dtype)
            }
        }

        impl Element for $name {
            const DTYPE: Dtype = Dtype::$dtype;
        }

        impl From<f32> for $name {
            /// Rounds to nearest, ties to even.
            fn from(x: f32) -> Self {
                Self::stored(&[f64::from(x)])[0]
            }
        }

        impl From<$name> for f32 {
            fn from(x: $name) -> Self {
                $name::values(&[x])[0] as Self
            }
        }
    };
}

bits!(Bf16, Bfloat16);
bits!(F16, Float16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_16_bits_comes_back() {
        for bits in 0..=u16::MAX {
            let is_nan = f32::from(F16(bits)).is_nan();
            assert!(is_nan || F16::from(f32::from(F16(bits))) == F16(bits), "{bits:#x}");
            let is_nan = f32::from(Bf16(bits)).is_nan();
            assert!(is_nan || Bf16::from(f32::from(Bf16(bits))) == Bf16(bits), "{bits:#x}");
            // The second route: a bfloat16 is the upper half of a binary32.
            assert!(
                is_nan || f32::from(Bf16(bits)).to_bits() == u32::from(bits) << 16,
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn numbers_are_rounded_to_nearest() {
        assert_eq!(F16::from(1.0 + 1.0 / 2048.0), F16(0x3c00), "a tie goes to the even one");
        assert_eq!(F16::from(1.0 + 3.0 / 2048.0), F16(0x3c02));
        assert_eq!(Bf16::from(f32::from_bits(0x3f80_8001)), Bf16(0x3f81));
    }
}
