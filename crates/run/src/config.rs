//! `qkvet.yaml`: targets by name and what they declare.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use qkvet_spec::{Dtype, SpecError, parse_yaml};
use serde::Deserialize;

use crate::python::{Arrays, Layout};

/// The file's name, looked for beside the target and upwards, then in the current folder and upwards.
pub const CONFIG_FILE: &str = "qkvet.yaml";

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Targets by name.
    #[serde(default)]
    pub targets: IndexMap<String, TargetEntry>,
}

/// What one target declares.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
    pub layout: Layout,
    /// The argument for the mask takes the bias too, one of the two at a time.
    #[serde(default)]
    pub mask_takes_bias: bool,
    /// Device of torch and jax arrays.
    #[serde(default)]
    pub device: Option<String>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// An unreadable file, or YAML that does not fit, with its place.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let shown = path.display().to_string();
        let source = std::fs::read_to_string(path)
            .map_err(|error| SpecError::plain(format!("file at {shown}: expected a readable file, got: {error}")))?;
        parse_yaml(&shown, &source)
    }

    /// The nearest `qkvet.yaml` in `folder` or above it.
    pub fn find(folder: &Path) -> Option<PathBuf> {
        let folder = std::path::absolute(folder).ok()?;
        folder.ancestors().map(|folder| folder.join(CONFIG_FILE)).find(|path| path.is_file())
    }
}
