//! What a script must know of a target that runs in a process of its own; the shards of a run carry
//! it along.

use std::path::PathBuf;

use qkvet_spec::{Call, Fit, Mask, Meaning};
use serde::{Deserialize, Serialize};

use super::{Caller, ExecCaller, Ground, LibraryCaller, OnnxCaller, PythonCaller};
use crate::adapters::ExecConfig;
use crate::adapters::library::{LibraryConfig, WrittenCall};
use crate::adapters::onnx::{Constants, Model, OnnxConfig, OnnxTarget};
use crate::adapters::python::{self, Layout, PythonConfig, PythonInfo};

/// A target and how it is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Called {
    /// A Python function.
    Python(CalledPython),
    /// A program.
    Exec(CalledExec),
    /// A model of ONNX.
    Onnx(CalledOnnx),
    /// A function of a shared library.
    Library(CalledLibrary),
}

/// A Python function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledPython {
    /// `pkg.mod:fn` or `path/file.py:fn`.
    pub(super) target: String,
    /// Folder that modules are looked up in first.
    pub(super) folder: PathBuf,
    pub(super) device: Option<String>,
    pub(super) layout: Layout,
    /// What it said of itself.
    pub(super) info: PythonInfo,
    limit_s: f64,
}

/// A program that speaks the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledExec {
    /// A path, or a name to be looked up.
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    /// Folder that it runs in.
    pub(super) folder: PathBuf,
    limit_s: f64,
}

/// A model of ONNX.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledOnnx {
    /// Its file.
    pub(super) model: PathBuf,
    pub(super) device: Option<String>,
    pub(super) layout: Layout,
    /// Options that are constants of it, as they were declared.
    constants: Vec<String>,
    /// How it is declared to take masks.
    mask: Mask,
    limit_s: f64,
}

/// A function of a shared library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledLibrary {
    /// Its file.
    pub(super) library: PathBuf,
    /// The prototype of the function; none: it takes the struct of ours.
    prototype: Option<String>,
    pub(super) layout: Layout,
    limit_s: f64,
}

impl CalledLibrary {
    pub(crate) fn new(config: &LibraryConfig) -> Self {
        Self {
            library: config.folder.join(&config.library),
            prototype: config.prototype.clone(),
            layout: config.layout,
            limit_s: config.limits.timeout.as_secs_f64(),
        }
    }

    /// How its function is called; `None` for a prototype that is none.
    fn call(&self) -> Option<Option<WrittenCall>> {
        let written = |prototype: &String| WrittenCall::new(prototype, self.layout);
        self.prototype.as_ref().map_or(Some(None), |prototype| written(prototype).map(Some))
    }
}

impl CalledOnnx {
    pub(crate) fn new(config: &OnnxConfig, mask: Mask) -> Self {
        Self {
            model: config.path(),
            device: config.device.clone(),
            layout: config.layout,
            constants: config.declared.clone(),
            mask,
            limit_s: config.limits.timeout.as_secs_f64(),
        }
    }

    /// What the model takes; `None` if it is not there any more.
    fn model(&self) -> Option<Model> {
        Some(
            OnnxTarget::read(&self.model, &Constants::parse(&self.constants).ok()?)?
                .taking(self.mask),
        )
    }
}

impl CalledPython {
    pub(crate) fn new(config: &PythonConfig, info: PythonInfo) -> Self {
        Self {
            target: config.target.to_string(),
            folder: config.folder.clone().unwrap_or_default(),
            device: config.device.clone(),
            layout: config.layout,
            info,
            limit_s: config.limits.timeout.as_secs_f64(),
        }
    }
}

impl CalledExec {
    pub(crate) fn new(config: &ExecConfig) -> Self {
        let ExecConfig { program, arguments, folder, limits, .. } = config.clone();
        Self { program, arguments, folder, limit_s: limits.timeout.as_secs_f64() }
    }
}

impl Called {
    /// Seconds after which a call has not answered.
    pub(crate) fn limit_s(&self) -> f64 {
        match self {
            Self::Python(CalledPython { limit_s, .. })
            | Self::Exec(CalledExec { limit_s, .. })
            | Self::Onnx(CalledOnnx { limit_s, .. })
            | Self::Library(CalledLibrary { limit_s, .. }) => *limit_s,
        }
    }

    /// Whether query, key and value of the call are put as views at first: by its shapes alone, so
    /// that it is known of calls that came to nothing too.
    pub(crate) fn gets_views(&self, call: &Call) -> bool {
        self.takes_views() && python::gets_views(call)
    }

    /// Whether some calls may be put as views.
    pub(crate) fn takes_views(&self) -> bool {
        matches!(self, Self::Python(CalledPython { info, .. }) if info.takes_views())
    }

    /// What it takes, if that is told when it starts.
    pub(crate) fn fit(&self) -> Option<Fit> {
        if let Self::Python(CalledPython { info, .. }) = self { info.fit() } else { None }
    }

    /// The same, told that the target follows `meaning`.
    pub(crate) fn taking(&self, meaning: &Meaning) -> Self {
        match self {
            Self::Onnx(called) => Self::Onnx(CalledOnnx { mask: meaning.mask, ..called.clone() }),
            other => other.clone(),
        }
    }

    /// Whether calls without a mask are put with one that is true everywhere.
    pub(crate) fn fills_masks(&self) -> bool {
        matches!(self, Self::Onnx(called) if called.model().is_some_and(|model| model.fills_masks()))
    }

    /// How a script calls it; `None` for a reference to a function that is none, a prototype that
    /// is none, or a model that is gone.
    pub(crate) fn caller<'a>(&'a self, ground: Ground<'a>) -> Option<Box<dyn Caller + 'a>> {
        Some(match self {
            Self::Python(called) => {
                Box::new(PythonCaller { called, target: called.target.parse().ok()?, ground })
            }
            Self::Exec(called) => Box::new(ExecCaller { called, ground }),
            Self::Onnx(called) => Box::new(OnnxCaller { called, model: called.model()?, ground }),
            Self::Library(called) => {
                Box::new(LibraryCaller { called, call: called.call()?, ground })
            }
        })
    }
}
