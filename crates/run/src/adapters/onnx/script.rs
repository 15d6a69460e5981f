//! How a script runs a model of ONNX: with ONNX Runtime and NumPy, the inputs of the model written
//! out.

use std::path::PathBuf;

use qkvet_spec::{Call, Mask};
use serde::{Deserialize, Serialize};

use super::constants::Constants;
use super::model::Model;
use super::role::Role;
use super::target::OnnxTarget;
use crate::adapters::python::Layout;
use crate::repro::literal::{Style, bytes, dict, optional, python};
use crate::repro::{Caller, Ground};
use crate::runtime::{ARRAYS, GRAPH, LOAD};

const ONNX: &str = include_str!("script.py");

/// A model of ONNX.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledOnnx {
    /// Its file.
    pub(in crate::adapters) model: PathBuf,
    pub(in crate::adapters) device: Option<String>,
    pub(in crate::adapters) layout: Layout,
    /// Options that are constants of it, as they were declared.
    pub(in crate::adapters) constants: Vec<String>,
    /// How it is declared to take masks.
    pub(in crate::adapters) mask: Mask,
    pub(in crate::adapters) limit_s: f64,
}

impl CalledOnnx {
    /// What the model takes; `None` if it is not there any more.
    pub(in crate::adapters) fn model(&self) -> Option<Model> {
        Some(
            OnnxTarget::read(&self.model, &Constants::parse(&self.constants).ok()?)?
                .taking(self.mask),
        )
    }
}

/// A model and what it takes.
pub(crate) struct OnnxCaller<'a> {
    pub(in crate::adapters) called: &'a CalledOnnx,
    pub(in crate::adapters) model: Model,
    /// Where the script lies.
    pub(in crate::adapters) ground: Ground<'a>,
}

impl Caller for OnnxCaller<'_> {
    fn needs(&self) -> String {
        "numpy (and ml_dtypes for bfloat16), onnxruntime and the model (or another, as argument)"
            .to_owned()
    }

    fn is_inside(&self) -> bool {
        true
    }

    fn takes(&self, call: &Call) -> bool {
        self.model.ask(call, self.called.layout).is_ok()
    }

    fn constants(&self) -> String {
        let Model { output: (output, rank), weights, .. } = &self.model;
        let weights = weights.as_ref().map(|name| ("weights", name));
        let has_axes = self.model.input(Role::Query).is_some_and(|query| query.rank() == 4);
        format!(
            "FILE = sys.argv[1] if len(sys.argv) > 1 else {}\nDEVICE = {}\nOUTPUTS = {}\nSWAPPED = {}  # whether heads come after positions\nSIDE_BY_SIDE = {}  # whether heads may come in one row\n",
            self.ground.path(&self.called.model),
            optional(self.called.device.as_deref()),
            dict(std::iter::once(("output", output)).chain(weights)),
            python(self.called.layout == Layout::Bnhd && has_axes),
            python(*rank != Some(4)),
        )
    }

    fn options(&self, call: &Call, _: Style) -> Vec<(String, String)> {
        let feeds = self.model.ask(call, self.called.layout).unwrap_or_default();
        feeds
            .into_iter()
            .map(|feed| (feed.name, bytes(feed.element.name(), &feed.shape, &feed.bytes)))
            .collect()
    }

    fn ask(&self) -> Vec<&'static str> {
        vec![LOAD, ARRAYS, GRAPH, ONNX]
    }
}
