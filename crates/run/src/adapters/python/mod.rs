//! Targets in Python: a function called by an embedded worker in a process of its own.

mod adapter;
mod arguments;
mod config;
mod layout;
mod place;
mod script;
mod target;
mod views;

pub use crate::process::{LoadKind, StartError};
pub(super) use adapter::KIND;
pub use arguments::argument_names;
pub use config::{Arrays, Layout, PythonConfig, PythonInfo, PythonRef, PythonSource, find_python};
pub use layout::layout_of;
pub use place::repository_of;
pub(super) use place::source_place;
pub(crate) use script::{CalledPython, PythonCaller};
pub use target::PythonTarget;
pub use views::gets_views;
