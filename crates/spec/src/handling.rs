//! How a call was put to a target and answered, beside its numbers.

use serde::{Deserialize, Serialize};

/// How query, key and value lay in memory when a function was called.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Strides {
    /// Row-major without gaps.
    #[default]
    Contiguous,
    /// The same, after the function raised an exception on transposed views.
    Declined,
    /// Views whose axes lie in another order in memory: positions and heads exchanged, of masks
    /// and biases the last two axes.
    Transposed,
}

/// What is known of a call beside its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Handling {
    /// How its inputs lay in memory.
    pub strides: Strides,
    /// Whether the result took the memory of the one before, which was still in use and is lost.
    pub reuses_result: bool,
}

impl Handling {
    /// Both together: the rarest strides, and whether any result was reused.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            strides: self.strides.max(other.strides),
            reuses_result: self.reuses_result || other.reuses_result,
        }
    }

    /// Whether there is nothing to tell.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
