//! One row for each kind of target that has a name.

use std::path::Path;

use qkvet_spec::Unexpected;

use super::kind::Kind;
use super::settings::{CallSetting, CallSettings};
use super::{builtin, library, onnx, program, python};

static KINDS: [Kind; 6] =
    [builtin::KIND, program::KIND, library::KIND, onnx::MODEL, onnx::BACKEND, Kind::PYTHON];

impl Kind {
    /// Functions.
    pub(super) const PYTHON: Self = python::KIND;

    /// The kind of a name, and what stands behind its prefix; `None` for what may be a name of
    /// `qkvet.yaml` alone.
    pub(super) fn of(name: &str) -> Option<(&'static Self, &str)> {
        let by_prefix = |kind: &'static Self| Some((kind, name.strip_prefix(kind.prefix)?));
        let is_function = || name.parse::<python::PythonRef>().is_ok();
        KINDS.iter().find_map(by_prefix).or_else(|| is_function().then_some((&Self::PYTHON, name)))
    }

    /// The same text for each name of one target, whatever its kind.
    pub(super) fn identity_of(name: &str, base: &Path) -> String {
        Self::of(name).map_or_else(
            || name.to_owned(),
            |(kind, rest)| format!("{}{}", kind.prefix, (kind.identity)(rest, base)),
        )
    }

    /// What is wrong with a setting that it does not take.
    pub(super) fn refuses(
        &self,
        settings: &CallSettings,
        wrong: impl Fn(CallSetting) -> Unexpected,
    ) -> Result<(), Unexpected> {
        let Some(other) = settings.said().find(|setting| !self.takes.contains(setting)) else {
            return Ok(());
        };
        let takers = KINDS.iter().filter(|kind| kind.takes.contains(&other));
        let takers = takers.map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        Err(wrong(other).hint(format!("`{}` is for {takers}", other.name())))
    }
}

/// Whether a command line means the target itself by a name, so that no entry could be called so.
pub(crate) fn is_target(name: &str) -> bool {
    Kind::of(name).is_some()
}
