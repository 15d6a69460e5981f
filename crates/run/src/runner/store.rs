//! `.qkvet/`: the case that is running and the cases of findings. The folder ignores itself in git.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::path::{Path, PathBuf};

use qkvet_gen::{from_json, to_json};
use qkvet_spec::{Case, CheckedLaw, Convention, Law};
use serde::{Deserialize, Serialize};

use super::RunConfig;
use crate::python::{Arrays, Layout};

/// A case file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("case at {}: {message}", path.display())]
pub struct StoreError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
}

/// A stored case and how it was judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// Target as the user wrote it.
    pub target: String,
    /// Conventions, `field=value`.
    pub conventions: Vec<String>,
    /// Contract id.
    pub contract: String,
    /// How a Python target is called.
    #[serde(default)]
    pub call: StoredCall,
    /// The law, which may be the user's own.
    pub law: Law,
    /// The case, as the generator writes it.
    pub case: Box<serde_json::value::RawValue>,
}

/// Flags of a Python target that change what it is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredCall {
    /// `--arrays`.
    pub arrays: Option<Arrays>,
    /// `--layout`.
    pub layout: Layout,
    /// `--device`.
    pub device: Option<String>,
}

impl Stored {
    /// The case itself.
    ///
    /// # Errors
    /// A case that does not fit its own description.
    pub fn case(&self) -> Result<Case, String> {
        from_json(self.case.get()).map_err(|error| error.to_string())
    }
}

/// The folder.
pub(super) struct Store {
    folder: PathBuf,
    target: String,
    declared: Vec<String>,
    call: StoredCall,
    contracts: Vec<(qkvet_spec::Dtype, String)>,
}

impl Store {
    pub(super) fn open(folder: &Path, config: &RunConfig<'_>) -> Result<Self, StoreError> {
        let store = Self {
            folder: folder.to_owned(),
            target: config.target.name.clone(),
            declared: names(&config.conventions),
            call: config.target.kind.stored_call(),
            contracts: config.contracts.iter().map(|(dtype, contract)| (*dtype, contract.contract.clone())).collect(),
        };
        let cases = folder.join("cases");
        std::fs::create_dir_all(&cases).map_err(|error| StoreError {
            path: cases,
            message: format!("expected a folder to write to, got: {error}"),
        })?;
        write(&folder.join(".gitignore"), "*\n")?;
        Ok(store)
    }

    /// Remembers the case that worker `number` is about to run.
    pub(super) fn running(&self, number: usize, case: &Case, law: &CheckedLaw) -> Result<(), StoreError> {
        self.write(&self.folder.join(format!("running-{number}.json")), case, law, &self.declared)
    }

    /// Keeps a case for `qkvet replay`, with the conventions it was judged under.
    pub(super) fn keep(
        &self,
        id: &str,
        case: &Case,
        law: &CheckedLaw,
        conventions: &[&Convention],
    ) -> Result<(), StoreError> {
        self.write(&self.folder.join("cases").join(format!("{id}.json")), case, law, &names(conventions))
    }

    fn write(&self, path: &Path, case: &Case, law: &CheckedLaw, conventions: &[String]) -> Result<(), StoreError> {
        let contract =
            self.contracts.iter().find(|(dtype, _)| *dtype == case.dtype).map(|(_, id)| id.clone()).unwrap_or_default();
        let fail = |error: serde_json::Error| StoreError { path: path.to_owned(), message: error.to_string() };
        let raw = serde_json::value::RawValue::from_string(to_json(case)).map_err(fail)?;
        let stored = Stored {
            target: self.target.clone(),
            conventions: conventions.to_vec(),
            contract,
            call: self.call.clone(),
            law: law.law.clone(),
            case: raw,
        };
        let text = serde_json::to_string(&stored).map_err(fail)?;
        write(path, &text)
    }
}

/// `field=value` of each.
pub(super) fn names(conventions: &[&Convention]) -> Vec<String> {
    conventions.iter().map(|convention| format!("{}={}", convention.field, convention.value)).collect()
}

fn write(path: &Path, text: &str) -> Result<(), StoreError> {
    std::fs::write(path, text)
        .map_err(|error| StoreError { path: path.to_owned(), message: format!("expected to be written, got: {error}") })
}

/// Reads a stored case: an id under `folder`, or a file.
///
/// # Errors
/// A file that is missing, unreadable or not a stored case.
pub fn read_case(folder: &Path, name: &str) -> Result<Stored, StoreError> {
    let by_id = folder.join("cases").join(format!("{name}.json"));
    let path = if by_id.is_file() { by_id } else { PathBuf::from(name) };
    let text = std::fs::read_to_string(&path).map_err(|error| StoreError {
        path: path.clone(),
        message: format!(
            "expected a stored case, got: {error}\nhint: ids are those that `qkvet check` printed in this folder"
        ),
    })?;
    serde_json::from_str(&text)
        .map_err(|error| StoreError { path, message: format!("expected a stored case, got: {error}") })
}
