//! Why a Python target could not be started.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

/// What was wrong with the target, as its worker saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
    /// The signature cannot take query, key and value by position, or needs what no option provides.
    Signature,
    /// `supports` lists what is unknown or has no argument.
    Supports,
    /// The array library cannot be imported.
    Arrays,
    /// The device cannot be used.
    Device,
}

/// A Python target that could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The interpreter did not run.
    #[error("python at {}: expected a program, got: {source}\nhint: choose another interpreter with --python", python.display())]
    Spawn {
        /// The interpreter.
        python: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The worker ran and could not load the function.
    #[error("{target}: {message}{}", hint_line(hint.as_deref()))]
    Load {
        /// The target as it was given.
        target: String,
        /// What was wrong.
        kind: LoadKind,
        /// In words.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The process died while loading.
    #[error("{target}: expected to be loaded, got a process that {how}")]
    Died {
        /// The target as it was given.
        target: String,
        /// How it ended, with its last words.
        how: String,
    },
    /// Loading took too long.
    #[error("{target}: expected to be loaded within {} s, got no answer{words}\nhint: allow more with --start-timeout", limit.as_secs_f64())]
    Timeout {
        /// The target as it was given.
        target: String,
        /// The limit.
        limit: Duration,
        /// `; stderr: ...`, or nothing.
        words: String,
    },
    /// The process answered something else.
    #[error("{target}: expected an answer of qkvet-wire/1, got {got}")]
    Protocol {
        /// The target as it was given.
        target: String,
        /// What it was.
        got: String,
    },
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default()
}
