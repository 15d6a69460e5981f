//! A law: one statement about attention, written once, as an expression over matrices.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{Formula, IndexExpr, Misfit};

/// An option of the call that a law may range over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallOption {
    /// An explicit scale.
    Scale,
    /// Causal masking.
    Causal,
    /// A boolean mask.
    Mask,
    /// An additive bias.
    Bias,
    /// A cap on the scores.
    Softcap,
    /// A sliding window.
    Window,
    /// A logit for each head that has no value.
    Sinks,
    /// A bias that falls with the distance.
    AlibiSlopes,
    /// Numbers of keys that exist.
    KeyLengths,
    /// Numbers of queries that exist.
    QueryLengths,
    /// Several sequences in one.
    Packed,
}

impl CallOption {
    /// Every option.
    pub const ALL: [Self; 11] = [
        Self::Scale,
        Self::Causal,
        Self::Mask,
        Self::Bias,
        Self::Softcap,
        Self::Window,
        Self::Sinks,
        Self::AlibiSlopes,
        Self::KeyLengths,
        Self::QueryLengths,
        Self::Packed,
    ];

    /// The name in YAML, in Python signatures and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scale => "scale",
            Self::Causal => "causal",
            Self::Mask => "mask",
            Self::Bias => "bias",
            Self::Softcap => "softcap",
            Self::Window => "window",
            Self::Sinks => "sinks",
            Self::AlibiSlopes => "alibi_slopes",
            Self::KeyLengths => "key_lengths",
            Self::QueryLengths => "query_lengths",
            Self::Packed => "packed",
        }
    }
}

impl fmt::Display for CallOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Options that are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OptionSet([bool; CallOption::ALL.len()]);

impl CallOption {
    /// Whether no call has both: packed sequences say by themselves how long they are.
    pub fn excludes(self, other: Self) -> bool {
        let is_lengths = |option| matches!(option, Self::KeyLengths | Self::QueryLengths);
        self == Self::Packed && is_lengths(other) || other == Self::Packed && is_lengths(self)
    }
}

impl OptionSet {
    /// Whether the option is on.
    pub fn contains(self, option: CallOption) -> bool {
        self.0[option as usize]
    }

    /// Those that are on, in the order of [`CallOption::ALL`].
    pub fn iter(self) -> impl Iterator<Item = CallOption> {
        CallOption::ALL.into_iter().filter(move |option| self.contains(*option))
    }
}

impl FromIterator<CallOption> for OptionSet {
    fn from_iter<I: IntoIterator<Item = CallOption>>(options: I) -> Self {
        let mut set = Self::default();
        options.into_iter().for_each(|option| set.0[option as usize] = true);
        set
    }
}

/// The law of the definition: a single call, with any options, has the value that it should have.
pub const VALUE_LAW: &str = "value";

/// How the law is known to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// By rewriting, for all shapes.
    Rewrite,
    /// By exact evaluation.
    Exact,
    /// By linearity and independence of moments, for all parameters and extents.
    Moments,
    /// By a derivation with an inequality.
    Derivation,
    /// It is the definition.
    Definition,
}

impl Proof {
    /// The word in YAML.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rewrite => "rewrite",
            Self::Exact => "exact",
            Self::Moments => "moments",
            Self::Derivation => "derivation",
            Self::Definition => "definition",
        }
    }
}

/// Behavior that is observed rather than computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// Query, key, value, mask and bias have the same bits after `attention(Q, K, V)`.
    InputsUnchanged,
    /// `attention(Q, K, V)`, made not to fit as `misfit:` says, is an error of the target and no
    /// answer.
    Refused,
}

impl Observation {
    /// The word in YAML.
    pub fn name(self) -> &'static str {
        match self {
            Self::InputsUnchanged => "inputs-unchanged",
            Self::Refused => "refused",
        }
    }
}

/// One law; one file in `specs/laws/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// The id, equal to the file name.
    pub law: String,
    /// One sentence: what holds.
    pub title: String,
    /// Variables beyond `Q`, `K`, `V` and the domains they range over, in order.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub given: IndexMap<String, Formula>,
    /// Abbreviations, in order.
    #[serde(default, rename = "let", skip_serializing_if = "IndexMap::is_empty")]
    pub lets: IndexMap<String, Formula>,
    /// Condition on the extents under which the law says something.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<IndexExpr>,
    /// The statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Formula>,
    /// Expressions that the proof passes on the way from the left side of the statement to the
    /// right one, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<Formula>,
    /// The behavior observed, for laws without a statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Observation>,
    /// What does not fit in the call that must be refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misfit: Option<Misfit>,
    /// Options it ranges over; all others are off. A call that does not name an option gets the
    /// case's.
    #[serde(default)]
    pub options: Vec<CallOption>,
    /// Why it is true.
    pub proof: Proof,
    /// What fails beside it, in words: the contrast that gives the law its point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contrast: Option<String>,
    /// Faults that break this law; none for one that asks a target nothing.
    pub catches: Vec<String>,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}
