//! Models and backends as targets: each call is put as the tensors of a graph.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use prost::Message;
use qkvet_spec::{Call, Mask, Output, Quoted, Response, Target};
use serde_json::{Value, json};

use super::allowance::Allowance;
use super::config::{BackendConfig, OnnxConfig};
use super::constants::Constants;
use super::feed::Feed;
use super::model::Model;
use super::node::{NodeTest, Opset, node_test};
use super::role::Role;
use crate::adapters::python::Layout;
use crate::process::{Limits, LoadKind, ProcessTarget, StartError};
use crate::wire::{Changed, WorkerFields};

/// No model is larger: a longer file is refused before it is read.
const MAX_BYTES: u64 = 1 << 30;

/// A model of a file.
pub struct OnnxTarget {
    process: ProcessTarget,
    model: Model,
    layout: Layout,
}

/// What is in the place of a file that can be read.
#[derive(Debug, thiserror::Error)]
enum NoFile {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("{size} bytes")]
    TooLarge { size: u64 },
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, NoFile> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_BYTES {
        return Err(NoFile::TooLarge { size });
    }
    Ok(std::fs::read(path)?)
}

impl OnnxTarget {
    /// Reads the model, starts the worker and loads the model there. `mask` is how it is declared
    /// to take masks.
    ///
    /// # Errors
    /// [`StartError`] if the file is no model that can be called as attention, or ONNX Runtime is
    /// missing or does not load it.
    pub fn start(config: &OnnxConfig, mask: Mask, limits: &Limits) -> Result<Self, StartError> {
        let name = config.name();
        let failed = |kind, message: String, hint: Option<String>| {
            let (message, hint) = (message.into(), hint.map(Quoted::new));
            StartError::Load { target: name.clone(), kind, message, hint }
        };
        let path = config.path();
        let no_file = |got: NoFile| {
            failed(
                Some(LoadKind::FileNotFound),
                format!("expected a readable file, got {got} at {}", path.display()),
                None,
            )
        };
        let bytes = bytes_of(&path).map_err(no_file)?;
        let model = Model::read(&bytes, &config.constants).map_err(|mut error| {
            failed(Some(LoadKind::Signature), format!("{error:#}"), error.hints.pop())
        })?;
        let process = ProcessTarget::start(config.launch(limits))?;
        Ok(Self { process, model: model.taking(mask), layout: config.layout })
    }

    /// What the model of a file takes; `None` if it cannot be read, or is no model that can be
    /// called as attention.
    pub(crate) fn read(path: &Path, constants: &Constants) -> Option<Model> {
        Model::read(&bytes_of(path).ok()?, constants).ok()
    }

    /// Versions, and how the model is called: one line each.
    pub fn describe(&self) -> Vec<Quoted> {
        [versions(&self.process), self.model.describe()]
            .concat()
            .into_iter()
            .map(Quoted::new)
            .collect()
    }

    fn message(&self, call: &Call, feeds: &[Feed]) -> Value {
        let swap = self.layout == Layout::Bnhd
            && self.model.input(Role::Query).is_some_and(|query| query.rank() == 4);
        let heads = (self.model.output.1 != Some(4)).then_some(call.dims().h_q);
        let output =
            json!({"role": "output", "name": self.model.output.0, "heads": heads, "swap": swap});
        let weights = self.model.weights.as_ref().filter(|_| call.return_weights);
        let weights = weights.map(|name| json!({"role": "weights", "name": name}));
        let outputs: Vec<Value> = std::iter::once(output).chain(weights).collect();
        json!({"feeds": feeds.iter().map(Feed::message).collect::<Vec<_>>(), "outputs": outputs})
    }
}

impl Target for OnnxTarget {
    fn call(&mut self, call: &Call) -> Response {
        self.call_meanwhile(call, &mut || ())
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        match self.model.ask(call, self.layout) {
            Ok(feeds) => {
                let message = self.message(call, &feeds);
                self.process.call_with(call, fed(&message), work)
            }
            Err(reason) => Response::Unsupported(reason.to_string().into()),
        }
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(&mut self.process)
    }
}

/// A backend, asked by models of one node.
pub struct BackendTarget {
    process: ProcessTarget,
    opset: Opset,
    allowance: Allowance,
}

impl BackendTarget {
    /// Starts the worker and loads the backend. What it answers to calls that `allowance` lists is
    /// compared there.
    ///
    /// # Errors
    /// [`StartError`] if the backend cannot be loaded.
    pub fn start(config: &BackendConfig, limits: &Limits) -> Result<Self, StartError> {
        Ok(Self {
            process: ProcessTarget::start(config.launch(limits))?,
            opset: config.opset,
            allowance: config.allowance.clone(),
        })
    }

    /// Versions, and the version of the operators: one line each.
    pub fn describe(&self) -> Vec<Quoted> {
        let opset =
            format!("asked by models of one node Attention, opset {}", self.opset.version());
        [versions(&self.process), vec![opset]].concat().into_iter().map(Quoted::new).collect()
    }
}

impl Target for BackendTarget {
    fn call(&mut self, call: &Call) -> Response {
        self.call_meanwhile(call, &mut || ())
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        let NodeTest { model, inputs, present } = match node_test(call, self.opset) {
            Ok(test) => test,
            Err(reason) => return Response::Unsupported(reason.to_string().into()),
        };
        let messages = |feeds: &[Feed]| feeds.iter().map(Feed::message).collect::<Vec<_>>();
        let message = json!({
            "model": BASE64.encode(model.encode_to_vec()),
            "feeds": messages(&inputs),
            "outputs": [{"role": "output", "name": "output"}],
            "present": messages(&present),
            "fits": call.misfit().is_none(),
        });
        let response = self.process.call_with(call, fed(&message), work);
        if let Response::Output(answer) = &response {
            let Output { output, .. } = answer.as_ref();
            self.allowance.see(call, output);
        }
        response
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(&mut self.process)
    }
}

/// What is fed in place of the tensors of the call.
fn fed(message: &Value) -> WorkerFields<'_> {
    WorkerFields { onnx: Some(Changed(message)), ..WorkerFields::default() }
}

/// `numpy 2.4.6, onnxruntime 1.32.0, python 3.12.3`.
fn versions(process: &ProcessTarget) -> Vec<String> {
    let told = process.greeting().python.as_ref().and_then(|python| python.get("versions"));
    let Some(Value::Object(versions)) = told else { return Vec::new() };
    let one = |(name, version): (&String, &Value)| {
        format!("{name} {}", version.as_str().unwrap_or_default())
    };
    vec![versions.iter().map(one).collect::<Vec<_>>().join(", ")]
}
