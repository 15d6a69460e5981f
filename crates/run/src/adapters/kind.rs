//! How a kind of target is named and set up.

use std::path::Path;

use qkvet_spec::{Catalog, Dtype, SpecError};

use super::adapter::Adapter;
use super::settings::{CallSetting, CallSettings};

/// How a kind of target is named and set up.
pub(super) struct Kind {
    /// What stands before a name of it; a Python function needs none.
    pub(super) prefix: &'static str,
    /// A noun phrase for messages.
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) takes: &'static [CallSetting],
    /// The same text for names of one target; paths are relative to the folder.
    pub(super) identity: fn(&str, &Path) -> String,
    /// Sets it up.
    pub(super) make: fn(&Named<'_>, CallSettings) -> Made,
}

/// A target that is set up.
pub(super) type Made = Result<Box<dyn Adapter>, SpecError>;

/// A name and where it stands.
pub(super) struct Named<'a> {
    /// What stands behind the prefix.
    pub(super) rest: &'a str,
    /// The name or the entry, for messages.
    pub(super) place: &'a str,
    /// Folder of relative paths.
    pub(super) base: &'a Path,
    /// What flags say.
    pub(super) flags: &'a CallSettings,
    /// Whether it stands in `qkvet.yaml`, whose folder need not be the current one.
    pub(super) is_entry: bool,
    /// Formats that are called, if they are known.
    pub(super) dtypes: &'a [Dtype],
    /// The interpreter of functions, models and backends.
    pub(super) python: &'a Path,
    /// Faults by their ids.
    pub(super) catalog: &'a Catalog,
}

impl Named<'_> {
    /// The target, for messages.
    pub(super) fn target(&self) -> String {
        format!("target `{}`", self.place)
    }

    /// Where a setting was said: its flag, or else the target.
    pub(super) fn place_of(&self, setting: CallSetting) -> String {
        let is_of_flags = self.flags.said().any(|said| said == setting);
        if is_of_flags { setting.flag() } else { self.target() }
    }
}

/// The same text for each way to write a file.
pub(super) fn file_identity(file: &str, base: &Path) -> String {
    let file = base.join(file);
    file.canonicalize().unwrap_or(file).display().to_string()
}
