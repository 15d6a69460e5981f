//! Snapshots: from a run to a file, and from a file and a run to what is different.

mod accept;
mod compare;
mod file;
mod parts;
mod text;
mod upgrade;

pub use accept::{AcceptedChanges, accept};
pub use compare::compare;
pub use file::{DAMAGED_HINT, new_snapshot, read_snapshot, write_snapshot};
pub(crate) use text::regressions;
pub use text::{ChangeGroup, change_groups, is_about, snapshot_diff, snapshot_line, snapshot_text};

pub use upgrade::{Upgrade, other_version, upgrade};

/// The device of targets that name none.
pub const PLAIN_DEVICE: &str = "cpu";
