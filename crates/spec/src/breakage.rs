//! How a target broke: its exception, the end of its process, silence, or a message that is not of
//! the protocol.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Quoted;

/// How a call ended without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Breakage {
    /// The target says so: the message of an exception.
    Said(Quoted),
    /// The process ended with this exit code.
    Exited(i32),
    /// A signal ended the process.
    Killed {
        /// Its number.
        signal: i32,
        /// Its name on this system, `SIGSEGV`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The process closed this pipe and went on.
    Closed(Pipe),
    /// No answer came in this time.
    Silent {
        /// The time.
        milliseconds: u64,
    },
    /// The process took more memory than it may, and was ended.
    Memory {
        /// What it may take.
        mebibytes: u64,
    },
    /// A message is not of the protocol.
    Protocol {
        /// The field that is wrong; empty if it is the message as a whole.
        field: Quoted,
    },
    /// A kind of a later version, which wrote the report.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Later(Later),
}

/// What only a later version knows, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later;

impl<'de> Deserialize<'de> for Later {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Serialize for Later {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("later")
    }
}

/// A pipe between qkvet and a process, as the process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// Its standard input.
    Input,
    /// Its standard output.
    Output,
}

/// What went wrong with a target's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// How it broke.
    pub how: Breakage,
    /// The line that it had begun, or what is wrong with the message.
    pub detail: Option<Quoted>,
    /// The end of its standard error, if it wrote something.
    pub stderr: Option<Quoted>,
}

impl From<Breakage> for Trouble {
    fn from(how: Breakage) -> Self {
        Self { how, detail: None, stderr: None }
    }
}

impl Breakage {
    /// Whether both are the same but for numbers, which change from call to call.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Said(x), Self::Said(y)) => x.is_like(y),
            (Self::Exited(_), Self::Exited(_)) | (Self::Silent { .. }, Self::Silent { .. }) => true,
            (Self::Protocol { field: x }, Self::Protocol { field: y }) => x.is_like(y),
            (x, y) => x == y,
        }
    }
}
