//! Why a run ended before its last case.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Later, Quoted};

/// Why a run ended before its last case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The user ended it.
    Interrupted,
    /// The user wanted no more than one finding.
    FirstFinding,
    /// So many calls did not answer in time.
    Timeouts(usize),
    /// The target crashed, broke the protocol or reported a fatal error so often.
    Ends(usize),
    /// The target cannot be called any more, and why.
    Gone(Quoted),
    /// These shards of the run ended before their cases did.
    Shards(Vec<StoppedShard>),
    /// What an older version says.
    #[serde(untagged)]
    Older(Quoted),
    /// A kind of a later version, which wrote the report.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Later(Later),
}

/// A shard that ended before its cases did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StoppedShard {
    /// Its number, from 1.
    pub shard: u32,
    /// Why.
    pub stopped: Stopped,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::FirstFinding => f.write_str("the first finding, as asked"),
            Self::Timeouts(n) => write!(f, "{n} calls did not answer in time"),
            Self::Ends(n) => {
                let what = "the target crashed, broke the protocol or reported a fatal error";
                write!(f, "{what} {n} times")
            }
            Self::Gone(why) => {
                write!(f, "the target cannot be called any more: {}", why.display())
            }
            Self::Shards(shards) => {
                for (at, StoppedShard { shard, stopped }) in shards.iter().enumerate() {
                    let between = if at == 0 { "" } else { "; " };
                    write!(f, "{between}shard {shard}: {stopped}")?;
                }
                Ok(())
            }
            Self::Older(why) => write!(f, "{}", why.display()),
            Self::Later(Later) => f.write_str("for a reason that a later version of qkvet knows"),
        }
    }
}
