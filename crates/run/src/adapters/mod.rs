//! Kinds of targets, a folder each. [`Adapter`] is all that the others know of one; `kinds` has a
//! row for each: how it is named and what it takes of [`CallSettings`].

mod adapter;
pub mod builtin;
mod called;
mod in_process;
mod kind;
mod kinds;
pub mod library;
pub mod onnx;
mod open;
mod outputs;
mod program;
pub mod python;
mod recorded;
mod resolve;
mod settings;

pub use adapter::{Adapter, Peer};
pub(crate) use called::Called;
pub(crate) use kinds::is_target;
pub use open::{Again, OpenTarget, OwnTarget};
pub use outputs::OutputFolder;
pub use program::ExecConfig;
pub use recorded::{Recorded, RecordedTarget};
pub use resolve::{Finder, NamedTarget, mistyped_target, other_names};
pub use settings::{CallSettings, StoredCall};
