//! Number formats: their names and defining constants. Rounding to them is the engine's work.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A binary floating-point format with `precision` significant bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE binary64.
    Float64,
    /// IEEE binary32.
    Float32,
    /// The upper half of binary32.
    Bfloat16,
    /// IEEE binary16.
    Float16,
}

impl Dtype {
    /// Every format, widest first.
    pub const ALL: [Self; 4] = [Self::Float64, Self::Float32, Self::Bfloat16, Self::Float16];

    /// The name used in YAML, on the wire and by NumPy, PyTorch and JAX.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Bfloat16 => "bfloat16",
            Self::Float16 => "float16",
        }
    }

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Significant bits `p`, the hidden one included.
    pub fn precision(self) -> u32 {
        match self {
            Self::Float64 => 53,
            Self::Float32 => 24,
            Self::Bfloat16 => 8,
            Self::Float16 => 11,
        }
    }

    /// Exponent `e` of the smallest normal number `2^e`.
    pub fn min_exponent(self) -> i32 {
        match self {
            Self::Float64 => -1022,
            Self::Float32 | Self::Bfloat16 => -126,
            Self::Float16 => -14,
        }
    }

    /// Exponent `e` of the largest finite number `2^e · (2 − 2^(1−p))`.
    pub fn max_exponent(self) -> i32 {
        match self {
            Self::Float64 => 1023,
            Self::Float32 | Self::Bfloat16 => 127,
            Self::Float16 => 15,
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::Float64 => 8,
            Self::Float32 => 4,
            Self::Bfloat16 | Self::Float16 => 2,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
