//! Targets in Python: a function called by an embedded worker in a child process of its own.
//!
//! [`PythonTarget`] is the [`Target`](qkvet_spec::Target); a crash, a hang or garbage of the child is a
//! [`Response`](qkvet_spec::Response), and the next call finds a fresh child.

mod child;
mod config;
mod error;
mod lines;
mod target;

pub use config::{Arrays, Layout, PythonConfig, PythonInfo, PythonRef, PythonRefError, PythonSource, find_python};
pub use error::{LoadKind, StartError};
pub use target::PythonTarget;
