//! Where wrong results lie: in the space of calls, and in an output.

use serde::{Deserialize, Serialize};

use crate::{Dims, IndexExpr};

/// An extent of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Batch items.
    B,
    /// Query heads.
    HQ,
    /// Key heads.
    HK,
    /// Queries.
    NQ,
    /// Keys.
    NK,
    /// Width of queries and keys.
    DK,
    /// Width of values.
    DV,
}

impl Extent {
    /// Every extent.
    pub const ALL: [Self; 7] =
        [Self::B, Self::HQ, Self::HK, Self::NQ, Self::NK, Self::DK, Self::DV];

    /// `n_k`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::B => "b",
            Self::HQ => "h_q",
            Self::HK => "h_k",
            Self::NQ => "n_q",
            Self::NK => "n_k",
            Self::DK => "d_k",
            Self::DV => "d_v",
        }
    }

    /// Its number in a call of these extents.
    pub fn of(self, dims: Dims) -> usize {
        match self {
            Self::B => dims.b,
            Self::HQ => dims.h_q,
            Self::HK => dims.h_k,
            Self::NQ => dims.n_q,
            Self::NK => dims.n_k,
            Self::DK => dims.d_k,
            Self::DV => dims.d_v,
        }
    }
}

/// What all that is wrong has in common, and few others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Condition {
    /// What holds there.
    pub when: IndexExpr,
    /// How many are wrong where it holds.
    pub wrong: usize,
    /// How many there are where it holds.
    pub of: usize,
}

/// Something that is seen in one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeenIn<T> {
    /// The case.
    pub case: String,
    /// What is seen.
    #[serde(flatten)]
    pub seen: T,
}

/// One row of an output that tells which keys hold weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Batch item.
    pub item: usize,
    /// Query head.
    pub head: usize,
    /// Query.
    pub query: usize,
    /// Keys that hold weight in the output.
    pub weighed: Vec<usize>,
    /// Keys that hold weight under the meaning.
    pub expected: Vec<usize>,
}

/// Which elements of an output are wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongElements {
    /// How many.
    pub wrong: usize,
    /// Elements of the output.
    pub of: usize,
    /// Axes of which some indices have none.
    pub axes: Vec<WrongAxis>,
    /// Whether every element at these indices is wrong.
    pub is_whole: bool,
}

/// The indices of one axis where elements are wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongAxis {
    /// `b`, `h`, `i` or `c`.
    pub axis: char,
    /// Its extent.
    pub extent: usize,
    /// The indices.
    pub at: Indices,
}

/// Some indices of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Indices {
    /// Every `step`-th from `first` on.
    Every {
        /// The first one.
        first: usize,
        /// How far apart they are.
        step: usize,
    },
    /// First and last ones of what lies in a row.
    Spans(Vec<[usize; 2]>),
}
