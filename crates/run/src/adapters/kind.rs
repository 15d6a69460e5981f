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
    /// Whether it stands in `qkvet.yaml`, whose folder need not be the current one.
    pub(super) is_entry: bool,
    /// Formats that are called, if they are known.
    pub(super) dtypes: &'a [Dtype],
    /// The interpreter of functions, models and backends.
    pub(super) python: &'a Path,
    /// Faults by their ids.
    pub(super) catalog: &'a Catalog,
}
