//! `qkvet.yaml`: targets by name and what they declare, and profiles of runs.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

mod declared;
mod home;
mod profile;
mod run;
mod settings;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use qkvet_spec::{Dtype, Required, SpecError, Unexpected, parse_yaml};
use serde::Deserialize;

use crate::adapters::python::{Arrays, Layout};
use crate::adapters::{CallSettings, is_target};

pub(crate) use declared::names;
pub use declared::{Declared, meaning_of, rounded_inside};
pub use home::{Home, KNOWN_FILE};
pub use profile::{DEFAULT_PROFILE, Profile};
pub use run::{CaseSource, FailFast, NamedClaim, RunConfig, Seen};
pub use settings::{CALLING, Origin, PREFIX, SETTINGS, Said, Setting, said};

/// The file's name, looked for beside the target and upwards, then in the current folder and
/// upwards.
pub const CONFIG_FILE: &str = "qkvet.yaml";

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Targets by name.
    #[serde(default)]
    pub targets: IndexMap<String, TargetEntry>,
    /// Folder of the user's own specifications, relative to the file: laws in `laws/`, conventions
    /// in `conventions/`.
    #[serde(default)]
    pub specs: Option<PathBuf>,
    /// How runs are done, by name: `--profile`.
    #[serde(default)]
    pub profiles: IndexMap<String, Profile>,
}

/// What one target declares.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TargetEntry {
    /// The target, paths relative to the file.
    pub target: String,
    /// Conventions other than the standard, `field: value`.
    #[serde(default)]
    pub conventions: IndexMap<String, String>,
    /// Contracts other than the loosest of their format, by id.
    #[serde(default)]
    pub contracts: Vec<String>,
    /// Formats to check; absent: those of the suite.
    #[serde(default)]
    pub dtypes: Option<Vec<Dtype>>,
    /// Options that the function offers, for a function without a telling signature.
    #[serde(default)]
    pub supports: Option<Vec<String>>,
    /// Library of the arrays.
    #[serde(default)]
    pub arrays: Option<Arrays>,
    /// Order of axes.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// The argument for the mask takes the bias too, one of the two at a time.
    #[serde(default)]
    pub mask_takes_bias: bool,
    /// Device of torch and jax arrays.
    #[serde(default)]
    pub device: Option<String>,
    /// Options that are constants of a model of ONNX and that none of its attributes tells.
    #[serde(default)]
    pub constants: Vec<String>,
    /// Prototype of the function of a shared library.
    #[serde(default)]
    pub call: Option<String>,
    /// Combinations of extents, format and options that calls have at most, for a function that is
    /// compiled for each.
    #[serde(default)]
    pub shapes: Option<usize>,
    /// Calls that it is required to answer: options, `dtype=FORMAT`, extents as in `n_k=1..4096`.
    #[serde(default)]
    pub requires: Option<Required>,
}

impl TargetEntry {
    /// What it says of how the target is called.
    pub(crate) fn settings(&self) -> CallSettings {
        CallSettings {
            arrays: self.arrays,
            layout: self.layout,
            device: self.device.clone(),
            call: self.call.clone(),
            constants: self.constants.clone(),
            supports: self.supports.clone(),
            mask_takes_bias: self.mask_takes_bias,
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// An unreadable file, YAML that does not fit, an entry named as a target, a profile that
    /// extends none or itself, with its place.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let shown = path.display().to_string();
        Self::parse(&shown, &text(path, &shown)?)
    }

    /// Reads the text of a file, which is called `shown` in errors.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn parse(shown: &str, source: &str) -> Result<Self, SpecError> {
        let config: Self = parse_yaml(shown, source)?;
        if let Some(name) = config.targets.keys().find(|name| is_target(name)) {
            let hint = "on a command line this is the target itself: give the entry a short name, and write this behind `target:`";
            let what = format!("target `{}`", name.escape_debug());
            return Err(Unexpected::at_path(&what, shown, "a name of an entry")
                .got("a target")
                .hint(hint)
                .into());
        }
        profile::check(&config.profiles, shown, source)?;
        Ok(config)
    }

    /// What a profile of `file` says, with what it takes from those that it extends; paths are from
    /// the current folder. Nothing for [`DEFAULT_PROFILE`] where the file has none.
    ///
    /// # Errors
    /// A profile that is not there, with the nearest name.
    pub fn settings(&self, profile: &str, file: &Path) -> Result<Vec<Said>, Unexpected> {
        profile::settings(&self.profiles, profile, file)
    }

    /// The JSON Schema of the file.
    #[cfg(feature = "schema")]
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }

    /// The nearest `qkvet.yaml` in `folder` or above it.
    pub fn find(folder: &Path) -> Option<PathBuf> {
        let folder = std::path::absolute(folder).ok()?;
        folder.ancestors().map(|folder| folder.join(CONFIG_FILE)).find(|path| path.is_file())
    }
}

/// Larger files are no specifications.
const MAX_BYTES: u64 = 1 << 20;

fn text(path: &Path, shown: &str) -> Result<String, Unexpected> {
    let wrong = Unexpected::at_path("file", shown, "a readable file");
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() => return Err(wrong.got("no plain file")),
        Ok(about) if about.len() > MAX_BYTES => {
            return Err(wrong.got(format!("{} bytes", about.len())));
        }
        _ => {}
    }
    std::fs::read_to_string(path).map_err(|error| wrong.error(error))
}

/// The path as it is written from the current folder, where it lies below.
pub(crate) fn below_current(path: &Path) -> PathBuf {
    let current = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&current).unwrap_or(path).to_owned()
}
