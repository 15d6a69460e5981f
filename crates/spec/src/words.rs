//! Sentences and texts of targets: what can be shown, and nothing else.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Cause, Note};

/// A sentence for people. It can be shown, and nothing can be read out of it:
///
/// ```
/// let shown = qkvet_spec::Sentence::new("wrong results").to_string();
/// assert_eq!(shown.len(), 13);
/// ```
///
/// ```compile_fail
/// qkvet_spec::Sentence::new("QK221 is wrong").contains("QK221");
/// ```
///
/// ```compile_fail
/// assert!(qkvet_spec::Sentence::new("wrong") == qkvet_spec::Sentence::new("wrong"));
/// ```
///
/// ```compile_fail
/// assert!(qkvet_spec::Sentence::new("wrong") == "wrong");
/// ```
///
/// ```compile_fail
/// let _: usize = qkvet_spec::Sentence::new("7").parse().unwrap();
/// ```
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Sentence(String);

impl Sentence {
    /// A sentence. Modules of words alone make them.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A text that a target wrote: the message of an exception, what is told of its end. Nothing looks
/// into it for a name, a code or a place; it is told from another one, and shown.
///
/// ```compile_fail
/// qkvet_spec::Quoted::new("QK221").contains("QK221");
/// ```
///
/// ```compile_fail
/// let _: &str = qkvet_spec::Quoted::new("QK221").as_ref();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Quoted(String);

impl Quoted {
    /// A text of a target.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text for what escapes it: `quote.rs` and `words.rs` of the reports, and nothing else.
    pub fn open_to_escape<T>(&self, escape: impl FnOnce(&str) -> T) -> T {
        escape(&self.0)
    }

    /// Whether both say the same but for the digits in them, which hold numbers and addresses that
    /// change.
    pub fn is_like(&self, other: &Self) -> bool {
        let letters = |text: &Self| text.0.chars().filter(|c| !c.is_ascii_digit()).collect();
        let [x, y]: [String; 2] = [letters(self), letters(other)];
        x == y
    }
}

/// Where a hint is followed: how a convention is declared there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `--convention causal=upper-left`.
    #[default]
    CommandLine,
    /// `convention="causal=upper-left"`, an argument in Python.
    Python,
    /// `.convention("causal=upper-left")`, a method of a suite in Rust.
    RustSuite,
    /// `convention = "causal=upper-left"`, in a macro in Rust.
    RustMacro,
}

/// What makes sentences of findings. The verdicts, names and files of a run do not depend on it.
pub trait Words: fmt::Debug + Sync {
    /// What is wrong, in one line.
    fn title(&self, cause: &Cause) -> Sentence;

    /// What explains it and how well, and what else is to be known.
    fn cause(&self, cause: &Cause, notes: &[Note]) -> Option<Sentence>;

    /// What to do: a declaration, a fix, an explanation.
    fn hint(&self, cause: &Cause, notes: &[Note], dialect: Dialect) -> Option<Sentence>;
}
