//! The values that each option of a suite's cases takes, simplest first. All are exact in every
//! format.

use qkvet_spec::{CallOption, Window};
use serde::{Deserialize, Serialize};

use crate::source::Draws;

/// Tiles of kernels, largest first: what lies at their ends is lost first.
pub(crate) const TILES: [usize; 5] = [256, 128, 64, 32, 16];

/// Whether an option is none of the four of plain cases: scale, causal, mask, bias.
pub(crate) fn is_extended(option: CallOption) -> bool {
    !matches!(option, CallOption::Scale | CallOption::Causal | CallOption::Mask | CallOption::Bias)
}

/// A number that a target has as a constant, in order of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Number(u64);

impl Number {
    /// The number of this value.
    pub fn new(value: f64) -> Self {
        Self(value.to_bits())
    }

    /// Its value.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// The scale of a call. Each explicit one is exact in every format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleChoice {
    /// None given.
    Default,
    /// 1/2.
    Half,
    /// 3/32: far from the default of every ordinary width.
    Small,
    /// −3/8: the order of the keys is reversed.
    Negative,
    /// 1: scores are the dot products.
    One,
    /// 0, which is not "none given": every visible key weighs the same.
    Zero,
    /// 1/1024: every visible key weighs nearly the same.
    Tiny,
    /// 128: the largest score decides.
    Large,
    /// The one that a target has.
    Own(Number),
}

impl ScaleChoice {
    /// Every choice, simplest first.
    pub const ALL: [Self; 8] = [
        Self::Default,
        Self::Half,
        Self::Small,
        Self::Negative,
        Self::One,
        Self::Zero,
        Self::Tiny,
        Self::Large,
    ];

    /// Those of a version of suites.
    pub(crate) fn drawn(version: usize) -> &'static [Self] {
        if version > 1 { &Self::ALL } else { Self::ALL.split_at(6).0 }
    }

    /// The factor given to the call.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Default => None,
            Self::Half => Some(0.5),
            Self::Small => Some(0.093_75),
            Self::Negative => Some(-0.375),
            Self::One => Some(1.0),
            Self::Tiny => Some(1.0 / 1024.0),
            Self::Large => Some(128.0),
            Self::Zero => Some(0.0),
            Self::Own(number) => Some(number.value()),
        }
    }
}

/// The softcap of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SoftcapChoice {
    /// 30: bends only large scores.
    Thirty,
    /// 1/2: levels nearly all scores.
    Half,
    /// 4.
    Four,
    /// The one that a target has.
    Own(Number),
}

impl SoftcapChoice {
    /// Every choice, simplest first.
    pub const ALL: [Self; 3] = [Self::Thirty, Self::Half, Self::Four];

    /// The cap given to the call.
    pub fn value(self) -> f64 {
        match self {
            Self::Thirty => 30.0,
            Self::Half => 0.5,
            Self::Four => 4.0,
            Self::Own(number) => number.value(),
        }
    }
}

/// Farther than any extent.
pub(crate) const FAR: usize = 1 << 20;

/// Windows of a call, simplest first: some keys before the query, its own key, both sides, no
/// future, one key behind it, some keys after it, the past and a little more, all.
pub(crate) const WINDOWS: [Window; 8] = [
    Window { left: Some(2), right: Some(0) },
    Window { left: Some(0), right: Some(0) },
    Window { left: Some(3), right: Some(1) },
    Window { left: None, right: Some(0) },
    Window { left: Some(1), right: None },
    Window { left: Some(0), right: Some(5) },
    Window { left: None, right: Some(2) },
    Window { left: Some(FAR), right: Some(FAR) },
];

/// The window of a call, simplest first: the fixed ones, then those whose edge is about a tile
/// away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowChoice {
    /// One of [`WINDOWS`].
    Fixed(Window),
    /// As wide as a tile, give or take a key, and nothing after the query.
    TileBehind,
    /// The same, and a few keys after the query.
    TileAround,
}

impl WindowChoice {
    /// Every choice, simplest first.
    pub(crate) fn all() -> Vec<Self> {
        WINDOWS.into_iter().map(Self::Fixed).chain([Self::TileBehind, Self::TileAround]).collect()
    }

    /// The window among `n_k` keys.
    pub(crate) fn window(self, n_k: usize, draws: &mut Draws) -> Window {
        let behind = |draws: &mut Draws| {
            let edges: Vec<usize> = TILES
                .into_iter()
                .flat_map(|tile| [tile - 1, tile, tile + 1])
                .filter(|edge| *edge < n_k)
                .collect();
            if edges.is_empty() { n_k / 2 + 4 } else { edges[draws.below(edges.len())] }
        };
        match self {
            Self::Fixed(window) => window,
            Self::TileBehind => Window { left: Some(behind(draws)), right: Some(0) },
            Self::TileAround => {
                Window { left: Some(behind(draws)), right: Some(draws.between(1, 9)) }
            }
        }
    }
}

/// The sinks of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SinkChoice {
    /// Multiples of 1/2 up to 4: among the scores.
    Near,
    /// Far above or far below the scores: they take everything or nothing.
    Far,
}

impl SinkChoice {
    /// Every choice, simplest first.
    pub const ALL: [Self; 2] = [Self::Near, Self::Far];
}

/// The slopes of ALiBi of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlibiChoice {
    /// 2⁻¹ to 2⁻⁸, head by head and again.
    Geometric,
    /// The same with the opposite sign at every third head: distant keys weigh more.
    Signed,
}

impl AlibiChoice {
    /// Every choice, simplest first.
    pub const ALL: [Self; 2] = [Self::Geometric, Self::Signed];

    /// The slope of head `h`.
    pub(crate) fn slope(self, h: usize) -> f64 {
        let slope = (0..=h % 8).fold(1.0, |slope, _| slope / 2.0);
        if self == Self::Signed && h.is_multiple_of(3) { -slope } else { slope }
    }
}

/// Which queries and keys belong together: lengths or packed sequences, which exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SequenceChoice {
    /// Numbers of keys that exist.
    KeyLengths,
    /// Numbers of queries that exist.
    QueryLengths,
    /// Both.
    BothLengths,
    /// Several sequences in one.
    Packed,
    /// Numbers of keys at their ends: all, all but one, none.
    KeyEnds,
    /// The same of queries and keys.
    BothEnds,
}

impl SequenceChoice {
    /// Every choice, simplest first.
    pub const ALL: [Self; 6] = [
        Self::KeyLengths,
        Self::QueryLengths,
        Self::BothLengths,
        Self::Packed,
        Self::KeyEnds,
        Self::BothEnds,
    ];

    /// Those of a version of suites.
    pub(crate) fn drawn(version: usize) -> &'static [Self] {
        if version > 1 { &Self::ALL } else { Self::ALL.split_at(4).0 }
    }

    /// Whether the lengths are those at the ends.
    pub(crate) fn is_at_ends(self) -> bool {
        matches!(self, Self::KeyEnds | Self::BothEnds)
    }

    /// Options that it switches on.
    pub fn options(self) -> &'static [CallOption] {
        match self {
            Self::KeyLengths | Self::KeyEnds => &[CallOption::KeyLengths],
            Self::QueryLengths => &[CallOption::QueryLengths],
            Self::BothLengths | Self::BothEnds => {
                &[CallOption::KeyLengths, CallOption::QueryLengths]
            }
            Self::Packed => &[CallOption::Packed],
        }
    }
}
