//! `onnx:FILE` and `onnx-backend:NAME`: what to start.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::allowance::Allowance;
use super::constants::Constants;
use super::node::Opset;
use crate::adapters::python::Layout;
use crate::process::{Launch, Limits, Program};
use crate::runtime::onnx_worker;
use qkvet_spec::{Threads, Unexpected};

/// How often a worker is started again: importing a runtime takes a second.
pub(super) const MAX_RESTARTS: u32 = 10;

/// A model in a file, run by ONNX Runtime.
#[derive(Clone, Debug)]
pub struct OnnxConfig {
    /// The file as the user wrote it.
    pub model: String,
    /// Folder that it is relative to.
    pub folder: PathBuf,
    /// The interpreter that has ONNX Runtime.
    pub python: PathBuf,
    /// `cpu`, `cuda:0`, or the name of an execution provider.
    pub device: Option<String>,
    /// Order of the axes, where there are four.
    pub layout: Layout,
    /// Options that are constants of the model and that no attribute tells.
    pub constants: Constants,
    /// The same as they were written.
    pub declared: Vec<String>,
}

impl OnnxConfig {
    /// A model by its file, nothing declared.
    pub fn new(model: &str, folder: &Path, python: &Path) -> Self {
        Self {
            model: model.to_owned(),
            folder: folder.to_owned(),
            python: python.to_owned(),
            device: None,
            layout: Layout::default(),
            constants: Constants::default(),
            declared: Vec::new(),
        }
    }

    /// Declares constants in place of those so far: `causal`, `scale=0.125`, `softcap=30`,
    /// `heads=8,2`.
    ///
    /// # Errors
    /// The first that is none of these.
    pub fn declare(&mut self, constants: &[String]) -> Result<(), Unexpected> {
        self.constants = Constants::parse(constants)?;
        self.declared = constants.to_vec();
        Ok(())
    }

    /// Where the file is.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.model)
    }

    pub(super) fn name(&self) -> String {
        format!("onnx:{}", self.model)
    }

    pub(crate) fn launch(&self, limits: &Limits) -> Launch {
        let model = self.path().to_string_lossy().into_owned();
        let told = [("model", Some(model)), ("device", self.device.clone())];
        launch(self.name(), &self.python, told, limits)
    }
}

/// A backend of ONNX: what has `prepare(model, device)`, which gives what has `run(inputs)`.
#[derive(Clone, Debug)]
pub struct BackendConfig {
    /// `onnxruntime`, `onnx.reference`, `MODULE` or `MODULE:CLASS`; a module may be a file.
    pub backend: String,
    /// Version of the operators.
    pub opset: Opset,
    /// Folder that modules are looked up in first.
    pub folder: PathBuf,
    /// The interpreter.
    pub python: PathBuf,
    /// Device by the words of backends: `CPU`, `CUDA:1`.
    pub device: Option<String>,
    /// Calls whose outputs are compared as ONNX's own runner does; empty unless a run asks for it.
    pub allowance: Allowance,
}

impl BackendConfig {
    /// Reads `NAME` or `NAME@OPSET`.
    ///
    /// # Errors
    /// No name, or a version that is not known.
    pub fn parse(text: &str, folder: &Path, python: &Path) -> Result<Self, Unexpected> {
        let (backend, opset) = match text.rsplit_once('@') {
            Some((backend, version)) => {
                let found = version.parse().ok().and_then(Opset::from_version);
                let wrong = || Unexpected::at("opset", "23 or 24").quoted(version);
                (backend, found.ok_or_else(wrong)?)
            }
            None => (text, Opset::default()),
        };
        if backend.is_empty() {
            let expected = "onnxruntime, onnx.reference, MODULE or MODULE:CLASS";
            return Err(Unexpected::at("backend", expected).got("nothing"));
        }
        Ok(Self {
            backend: backend.to_owned(),
            opset,
            folder: folder.to_owned(),
            python: python.to_owned(),
            device: None,
            allowance: Allowance::default(),
        })
    }

    pub(crate) fn launch(&self, limits: &Limits) -> Launch {
        let folder = self.folder.to_string_lossy().into_owned();
        let told = [
            ("backend", Some(self.backend.clone())),
            ("folder", Some(folder)),
            ("device", self.device.clone()),
        ];
        launch(format!("onnx-backend:{}", self.backend), &self.python, told, limits)
    }
}

fn launch<const N: usize>(
    name: String,
    python: &Path,
    told: [(&str, Option<String>); N],
    limits: &Limits,
) -> Launch {
    let told: Map<String, Value> = told
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?))))
        .collect();
    Launch {
        name,
        whose: Program::Python,
        program: python.to_owned(),
        arguments: onnx_worker().map(Into::into).to_vec(),
        folder: None,
        python: Some(told),
        limits: limits.clone(),
        max_restarts: MAX_RESTARTS,
        threads: Threads::One,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_by_name() {
        let parse = |text: &str| BackendConfig::parse(text, Path::new("."), Path::new("python3"));
        let read = |text: &str| {
            parse(text).map(|config| (config.backend, config.opset.version())).unwrap()
        };
        assert_eq!(read("onnxruntime"), ("onnxruntime".to_owned(), 23));
        assert_eq!(read("my.py:Backend@24"), ("my.py:Backend".to_owned(), 24));
        assert_eq!(parse("x@22").unwrap_err().to_string(), "opset: expected 23 or 24, got `22`");
        assert!(parse("@23").is_err() && parse("").is_err());
    }
}
