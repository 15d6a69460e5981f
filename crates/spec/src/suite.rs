//! A suite: which laws, shapes, formats and values are combined into cases.

use serde::{Deserialize, Serialize};

use crate::{Dims, Dtype, Fit};

/// How query, key and value are drawn. Every draw is rounded to the case's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Standard normal.
    Normal,
    /// Multiples of 1/8 up to 2: dot products are exact in float32.
    Grid,
    /// Normal with logits of standard deviation about 8 (3 in bfloat16): one key dominates a row.
    Peaked,
    /// Normal, values scaled by 1/64: errors that an absolute tolerance hides.
    Small,
    /// Normal, values scaled by 2¹⁷, in float16 by 2¹¹: what is added to them or capped shows.
    Large,
    /// Heavy tails (log-normal magnitudes, random signs).
    Heavy,
    /// Normal plus a common offset in keys and values.
    Offset,
    /// Large equal logits plus small differences: the maximum must be subtracted.
    Lofty,
    /// Logits 0 on a chosen power-of-two set, vanishing elsewhere; small-integer values:
    /// tolerance 0.
    Exact,
    /// As exact, with a one in each row of the values, in a column of its own for each key of a
    /// set: the output shows which keys a query sees.
    Routed,
    /// As lofty with the sign turned: every logit is near −57344 (in bfloat16 near −81920 for one
    /// key and −20 for several, in float16 near −80 for several; there no dot product is below
    /// −57344).
    Deep,
    /// Dot products of one large product, 2⁸ units (2¹¹ but in bfloat16), and for every second key
    /// `d_k − 1` units behind it: each is lost where they are summed in too few bits. A unit is 1,
    /// in two-byte formats a power of two with which a score is about 8 or 64.
    Stair,
}

/// How a boolean mask is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MaskPattern {
    /// Each entry by a fair coin, one key of each row visible for certain.
    Random,
    /// Contiguous blocks on the diagonal, as in packed sequences.
    Blocks,
    /// Every third key.
    Strided,
    /// The first half of the keys hidden.
    LeadingBlock,
    /// Random, with some rows that see nothing.
    EmptyRows,
    /// The last keys hidden, a different number for each batch item.
    Padding,
}

/// Which axes of a mask or bias are present, the others broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BroadcastForm {
    /// `(b, h_q, n_q, n_k)`
    #[serde(rename = "b h i j")]
    Full,
    /// `(b, 1, n_q, n_k)`
    #[serde(rename = "b 1 i j")]
    PerItem,
    /// `(1, h_q, n_q, n_k)`
    #[serde(rename = "1 h i j")]
    PerHead,
    /// `(n_q, n_k)`
    #[serde(rename = "i j")]
    Shared,
    /// `(b, 1, 1, n_k)`
    #[serde(rename = "b 1 1 j")]
    PerKey,
}

impl BroadcastForm {
    /// Every form.
    pub const ALL: [Self; 5] =
        [Self::Full, Self::PerItem, Self::PerHead, Self::Shared, Self::PerKey];

    /// Its axes, as suites name them.
    pub fn axes(self) -> &'static str {
        match self {
            Self::Full => "b h i j",
            Self::PerItem => "b 1 i j",
            Self::PerHead => "1 h i j",
            Self::Shared => "i j",
            Self::PerKey => "b 1 1 j",
        }
    }
}

/// What is combined into cases; one file in `specs/suites/` or a file of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The id, equal to the file name.
    pub suite: String,
    /// How its cases are drawn, 1 or 2; absent: 1, and the cases stay as they are. Version 2 has
    /// scales of 1/1024 and 128, and lengths of all, all but one and none.
    #[serde(default = "one")]
    pub version: usize,
    /// One sentence: what it is for.
    pub title: String,
    /// Law ids, `*` for all.
    pub laws: Vec<String>,
    /// Formats.
    pub dtypes: Vec<Dtype>,
    /// Extents; sizes that differ show which is confused with which.
    pub shapes: Vec<Dims>,
    /// Value families.
    pub values: Vec<Values>,
    /// Mask patterns.
    pub masks: Vec<MaskPattern>,
    /// Broadcast forms of mask and bias.
    pub broadcast: Vec<BroadcastForm>,
    /// How many choices are combined exhaustively: 2 covers every pair of choices.
    pub strength: u8,
    /// Cases per law and format at most; absent: all that the covering array has.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Further cases per law, format and option with that option alone, for targets that take one
    /// at a time.
    #[serde(default)]
    pub alone: usize,
    /// Cases beyond scale, causal, mask and bias; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended: Option<Extended>,
    /// Further cases in which options meet; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// How many combinations of extents, format and options the calls have at most; absent: any
    /// number. A compiled function is compiled once for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_shapes: Option<usize>,
    /// How often the covering array is repeated with fresh values.
    #[serde(default = "one")]
    pub rounds: usize,
    /// What every case is made to fit; absent: what the target is known to take, such as a model of
    /// fixed shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Cases of the value law whose certified answers are kept; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// Extents that the user asks for beside those of the suite, in laws that say what a call
    /// returns.
    #[serde(skip)]
    pub at: Vec<Dims>,
    /// How many query rows of each call such laws look at, as the user wishes; absent: all.
    #[serde(skip)]
    pub rows: Option<usize>,
}

impl Suite {
    /// The id, with the version behind it: `core@2`.
    pub fn full_name(&self) -> String {
        suite_name(&self.suite, self.version)
    }
}

/// The name of a version of a suite, `core@2`; a name that has a version keeps it.
pub fn suite_name(suite: &str, version: usize) -> String {
    if suite.contains('@') { suite.to_owned() } else { format!("{suite}@{version}") }
}

/// The name of a suite without its version.
pub fn suite_id(name: &str) -> &str {
    name.split_once('@').map_or(name, |(suite, _)| suite)
}

/// Cases of a suite with softcap, window, sinks, ALiBi, lengths or packed sequences, or with
/// further value families.
///
/// They come from a covering array of their own over all options, in which each row has at least
/// one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Extended {
    /// Cases per law and format at most; absent: all that the covering array has.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Value families beside those of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Values>,
}

/// How often options meet in cases of the law `value`, for each format and among the options that a
/// target takes. Cases are added until it is so.
///
/// A window counts once as itself and once as what it is: open on a side, closed, or beyond all
/// keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// Every two options.
    pub pairs: usize,
    /// Every three; every two in calls with other numbers of queries and keys, and twice as often in
    /// calls of one query; every option with a scale of 0 and with a negative one.
    pub triples: usize,
}

/// Which cases of a suite are frozen: single calls with certified answers, the same on every
/// machine for ever.
///
/// They are cases of the law `value` with the suite's formats, masks, broadcast forms, strength and
/// `alone`, drawn as in version 1 of suites, seed 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// Version of the answers, `MAJOR.MINOR.PATCH`. A changed or removed case or answer moves the
    /// first part, which therefore never happens by itself; new cases, conventions and hunted
    /// faults move the second; layout moves the third.
    pub version: String,
    /// Faults that frozen cases were made with: each case, of whatever suite, says which of those
    /// of all suites it catches.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Extents of the cases that are kept as text: small ones.
    pub shapes: Vec<Dims>,
    /// Cases kept as text for each format at most, those of `alone` aside; absent: all that the
    /// covering array has.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Cases for each format of which only the hash is kept.
    #[serde(default)]
    pub larger: usize,
    /// Extents of those; absent: those of the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub larger_shapes: Option<Vec<Dims>>,
    /// Value families; absent: those of the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Values>>,
}

/// Rounds and version of a suite that says nothing of them.
pub(crate) fn one() -> usize {
    1
}
