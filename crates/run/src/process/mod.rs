//! Targets in processes of their own: a child behind pipes, the conversation with it, any program
//! as a target.
//!
//! [`ProcessTarget`] is the [`Target`](qkvet_spec::Target) of every process; the adapters say what
//! to start. A crash, a hang or garbage of the child is a [`Response`](qkvet_spec::Response), and
//! the next call finds a fresh child.

mod child;
mod conversation;
mod error;
mod launch;
mod lines;
mod offers;
mod pipes;
pub(crate) mod registry;
mod target;
mod watch;

pub(crate) use conversation::{Conversation, Exchange, Question};
pub use error::{Heard, LoadKind, StartError};
pub use launch::Limits;
pub(crate) use launch::{Launch, Program, limits_threads};
pub(crate) use offers::{describe, offered};
pub use registry::{end_all, guard, guard_by};
pub use target::ProcessTarget;
pub use watch::Watch;
