//! What a script must know of a target that runs in a process of its own; the shards of a run carry
//! it along.

use qkvet_spec::{Call, Meaning};
use serde::{Deserialize, Serialize};

use super::library::{CalledLibrary, LibraryCaller};
use super::onnx::{CalledOnnx, OnnxCaller};
use super::program::{CalledExec, ExecCaller};
use super::python::{CalledPython, PythonCaller, gets_views};
use crate::repro::{Caller, Ground};

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
        self.takes_views() && gets_views(call)
    }

    /// Whether some calls may be put as views.
    pub(crate) fn takes_views(&self) -> bool {
        matches!(self, Self::Python(CalledPython { info, .. }) if info.takes_views())
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
