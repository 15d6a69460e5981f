//! Formats of the arithmetic inside an implementation: those of storage, and those that only
//! operands of a product have.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Dtype;

/// A binary floating-point format: a [`Dtype`], or one in which nothing is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Format {
    /// IEEE binary64.
    #[serde(rename = "float64")]
    Float64,
    /// IEEE binary32.
    #[serde(rename = "float32")]
    Float32,
    /// binary32 with 11 significant bits: operands of NVIDIA's tensor cores.
    #[serde(rename = "tf32")]
    Tf32,
    /// The upper half of binary32.
    #[serde(rename = "bfloat16")]
    Bfloat16,
    /// IEEE binary16.
    #[serde(rename = "float16")]
    Float16,
    /// 4 bits of exponent, 3 of significand, no infinities.
    #[serde(rename = "float8_e4m3fn")]
    Float8E4m3fn,
    /// The upper half of binary16.
    #[serde(rename = "float8_e5m2")]
    Float8E5m2,
}

impl Format {
    /// Every format, widest first.
    pub const ALL: [Self; 7] = [
        Self::Float64,
        Self::Float32,
        Self::Tf32,
        Self::Bfloat16,
        Self::Float16,
        Self::Float8E4m3fn,
        Self::Float8E5m2,
    ];

    /// The storage format that it is, or whose range it has.
    #[inline]
    pub fn container(self) -> Dtype {
        match self {
            Self::Float64 => Dtype::Float64,
            Self::Float32 | Self::Tf32 => Dtype::Float32,
            Self::Bfloat16 => Dtype::Bfloat16,
            Self::Float16 => Dtype::Float16,
            Self::Float8E4m3fn => Dtype::Float8E4m3fn,
            Self::Float8E5m2 => Dtype::Float8E5m2,
        }
    }

    /// The name used in YAML.
    pub fn name(self) -> &'static str {
        if self == Self::Tf32 { "tf32" } else { self.container().name() }
    }

    /// Significant bits `p`, the hidden one included.
    #[inline]
    pub fn precision(self) -> u32 {
        if self == Self::Tf32 { 11 } else { self.container().precision() }
    }

    /// Exponent `e` of the smallest normal number `2^e`.
    #[inline]
    pub fn min_exponent(self) -> i32 {
        self.container().min_exponent()
    }

    /// Exponent `e` of the largest finite number, as [`Dtype::max_exponent`].
    #[inline]
    pub fn max_exponent(self) -> i32 {
        self.container().max_exponent()
    }

    /// Whether it rounds every number at least as finely as `other` does: in significant bits, at
    /// both ends of the range.
    #[inline]
    pub fn covers(self, other: Self) -> bool {
        self.precision() >= other.precision()
            && self.min_exponent() <= other.min_exponent()
            && self.max_exponent() >= other.max_exponent()
    }

    /// Whether the format has infinities; without them NaN stands for what overflows.
    #[inline]
    pub fn has_infinities(self) -> bool {
        self.container().has_infinities()
    }
}

impl From<Dtype> for Format {
    #[inline]
    fn from(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Float64 => Self::Float64,
            Dtype::Float32 => Self::Float32,
            Dtype::Bfloat16 => Self::Bfloat16,
            Dtype::Float16 => Self::Float16,
            Dtype::Float8E4m3fn => Self::Float8E4m3fn,
            Dtype::Float8E5m2 => Self::Float8E5m2,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
