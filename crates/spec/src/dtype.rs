//! Number formats: their names and defining constants. Rounding to them is the engine's work.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A binary floating-point format with `precision` significant bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Dtype {
    /// IEEE binary64.
    #[serde(rename = "float64")]
    Float64,
    /// IEEE binary32.
    #[serde(rename = "float32")]
    Float32,
    /// The upper half of binary32.
    #[serde(rename = "bfloat16")]
    Bfloat16,
    /// IEEE binary16.
    #[serde(rename = "float16")]
    Float16,
    /// 4 bits of exponent, 3 of significand, no infinities: overflow is NaN.
    #[serde(rename = "float8_e4m3fn")]
    Float8E4m3fn,
    /// The upper half of binary16.
    #[serde(rename = "float8_e5m2")]
    Float8E5m2,
}

impl Dtype {
    /// Every format, widest first.
    pub const ALL: [Self; 6] = [
        Self::Float64,
        Self::Float32,
        Self::Bfloat16,
        Self::Float16,
        Self::Float8E4m3fn,
        Self::Float8E5m2,
    ];

    /// The formats in which targets are checked: those with a default contract.
    pub const CHECKED: [Self; 4] = [Self::Float64, Self::Float32, Self::Bfloat16, Self::Float16];

    /// The name used in YAML, on the wire and by NumPy, PyTorch and JAX.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Bfloat16 => "bfloat16",
            Self::Float16 => "float16",
            Self::Float8E4m3fn => "float8_e4m3fn",
            Self::Float8E5m2 => "float8_e5m2",
        }
    }

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Significant bits `p`, the hidden one included.
    #[inline]
    pub fn precision(self) -> u32 {
        match self {
            Self::Float64 => 53,
            Self::Float32 => 24,
            Self::Bfloat16 => 8,
            Self::Float16 => 11,
            Self::Float8E4m3fn => 4,
            Self::Float8E5m2 => 3,
        }
    }

    /// Exponent `e` of the smallest normal number `2^e`.
    #[inline]
    pub fn min_exponent(self) -> i32 {
        match self {
            Self::Float64 => -1022,
            Self::Float32 | Self::Bfloat16 => -126,
            Self::Float16 | Self::Float8E5m2 => -14,
            Self::Float8E4m3fn => -6,
        }
    }

    /// Exponent `e` of the largest finite number, `2^e · (2 − 2^(1−p))`; `2^e · (2 − 2^(2−p))`
    /// without infinities, where NaN takes the last place.
    #[inline]
    pub fn max_exponent(self) -> i32 {
        match self {
            Self::Float64 => 1023,
            Self::Float32 | Self::Bfloat16 => 127,
            Self::Float16 | Self::Float8E5m2 => 15,
            Self::Float8E4m3fn => 8,
        }
    }

    /// Whether the format has infinities; without them NaN stands for what overflows.
    #[inline]
    pub fn has_infinities(self) -> bool {
        self != Self::Float8E4m3fn
    }

    /// Bytes of one element.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            Self::Float64 => 8,
            Self::Float32 => 4,
            Self::Bfloat16 | Self::Float16 => 2,
            Self::Float8E4m3fn | Self::Float8E5m2 => 1,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
