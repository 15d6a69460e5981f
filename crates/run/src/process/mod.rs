//! Targets in processes of their own: a child behind pipes, the conversation with it, any program
//! as a target.
//!
//! [`ProcessTarget`] is the [`Target`](qkvet_spec::Target) of every process; [`ExecConfig`] starts
//! a user's program, and `python` starts the worker of this project. A crash, a hang or garbage of
//! the child is a [`Response`](qkvet_spec::Response), and the next call finds a fresh child.

mod child;
mod conversation;
mod error;
mod exec;
mod launch;
mod lines;
mod pipes;
pub(crate) mod registry;
mod target;
mod watch;

pub(crate) use conversation::{Conversation, Exchange, Question};
pub use error::{Heard, LoadKind, StartError};
pub use exec::ExecConfig;
pub use launch::Limits;
pub(crate) use launch::{Launch, Program, limits_threads};
pub use registry::end_all;
pub use target::ProcessTarget;
pub(crate) use target::{describe, offered};
pub use watch::Watch;
