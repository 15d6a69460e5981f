//! Why a target's process could not be started.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use qkvet_spec::{Quoted, Trouble};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::launch::Program;
use crate::wire::WireError;

/// What was wrong with a Python target, as its worker saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// There is no such file.
    FileNotFound,
    /// There is no such module.
    ModuleNotFound,
    /// Importing raised.
    ImportFailed,
    /// The module has no such function.
    FunctionNotFound,
    /// The name is something that cannot be called.
    NotCallable,
    /// The signature cannot take query, key and value by position, or needs what no option
    /// provides.
    Signature,
    /// `supports` lists what is unknown or has no argument.
    Supports,
    /// The array library cannot be imported.
    Arrays,
    /// The device cannot be used.
    Device,
}

/// A target that could not be started. It is shown with a hint behind it, by `{:#}` without.
#[derive(Debug, Error)]
pub enum StartError {
    /// The program did not run.
    Spawn {
        /// `python`, or the target as it was given.
        what: String,
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The program ran and declined: the function cannot be loaded, the device is missing.
    Load {
        /// The target as it was given.
        target: String,
        /// What was wrong, if it is a Python target.
        kind: Option<LoadKind>,
        /// In words.
        message: Quoted,
        /// What to do.
        hint: Option<Quoted>,
    },
    /// The process died while loading.
    Died {
        /// The target as it was given.
        target: String,
        /// How it ended.
        trouble: Box<Trouble>,
        /// What it said beside the protocol.
        heard: Box<Heard>,
    },
    /// Loading took too long.
    Timeout {
        /// The target as it was given.
        target: String,
        /// The limit.
        limit: Duration,
        /// What came instead: nothing, half a line.
        trouble: Box<Trouble>,
        /// What it said beside the protocol.
        heard: Box<Heard>,
        /// What to do.
        hint: &'static str,
    },
    /// The user wanted to stop while it was loading.
    Interrupted {
        /// The target as it was given.
        target: String,
    },
    /// The process answered something else.
    Protocol {
        /// The target as it was given.
        target: String,
        /// What it was.
        error: Box<WireError>,
        /// What it said beside the protocol.
        heard: Box<Heard>,
    },
    /// No folder for files can be made.
    Scratch {
        /// Where.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl StartError {
    /// What to do.
    pub fn hint(&self) -> Option<Quoted> {
        match self {
            Self::Spawn { hint, .. } | Self::Timeout { hint, .. } => Some(Quoted::new(*hint)),
            Self::Load { hint, .. } => hint.clone(),
            Self::Died { .. }
            | Self::Interrupted { .. }
            | Self::Protocol { .. }
            | Self::Scratch { .. } => None,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spawn { what, program, source, .. } => {
                write!(f, "{what} at {}: expected a program, got: {source}", program.display())
            }
            Self::Load { target, message, .. } => write!(f, "{target}: {}", message.display()),
            Self::Died { target, trouble, heard } => {
                let how = trouble.display();
                write!(f, "{target}: expected to be loaded, got a process that {how}{heard}")
            }
            Self::Timeout { target, limit, trouble, heard, .. } => {
                let (limit, how) = (limit.as_secs_f64(), trouble.display());
                write!(f, "{target}: expected to be loaded within {limit} s, got {how}{heard}")
            }
            Self::Interrupted { target } => write!(f, "{target}: interrupted while it was loaded"),
            Self::Protocol { target, error, heard } => {
                let expected = "expected an answer of qkvet-wire/1 to hello";
                write!(f, "{target}: {expected}; {error}{heard}")
            }
            Self::Scratch { folder, source } => {
                let folder = folder.display();
                write!(f, "scratch folder at {folder}: expected to be made, got: {source}")
            }
        }?;
        match self.hint().filter(|_| !f.alternate()) {
            Some(hint) => write!(f, "\nhint: {}", hint.display()),
            None => Ok(()),
        }
    }
}

impl Program {
    pub(super) fn spawn_hint(self) -> &'static str {
        match self {
            Self::Python => "choose another interpreter with --python",
            Self::Library => {
                "the binary of qkvet is started again to load the library; was it moved?"
            }
            Self::User => {
                "exec: takes a program, by its path or in PATH, and its arguments; no shell reads them"
            }
        }
    }

    pub(super) fn timeout_hint(self) -> &'static str {
        match self {
            Self::Python | Self::Library => "allow more with --start-timeout",
            Self::User => {
                "does it read a line from standard input, answer with one line and flush standard output? \
                 Allow more time with --start-timeout"
            }
        }
    }
}

/// What a process said beside the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The telling part of the end of its standard error.
    pub stderr: Option<Quoted>,
    /// The first line on its standard output that was no message, quoted.
    pub stray: Option<Quoted>,
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stderr) = &self.stderr {
            write!(f, "; stderr: {}", stderr.display())?;
        }
        match &self.stray {
            Some(stray) => {
                write!(f, "; it wrote a line that does not begin with `{{`: {}", stray.display())
            }
            None => Ok(()),
        }
    }
}
