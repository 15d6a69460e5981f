//! Models and backends of ONNX as kinds of targets.

use std::path::PathBuf;

use qkvet_spec::{Meaning, Unexpected};

use super::config::{BackendConfig, MAX_RESTARTS, OnnxConfig};
use super::script::CalledOnnx;
use super::target::{BackendTarget, OnnxTarget};
use crate::adapters::adapter::{Adapter, Peer};
use crate::adapters::called::Called;
use crate::adapters::kind::{Kind, file_identity};
use crate::adapters::open::OpenTarget;
use crate::adapters::settings::{CallSetting, StoredCall};
use crate::process::{Limits, StartError};

/// Its worker is asked more than the wire says.
const OTHER_WORDS: Peer = Peer::None("one of ONNX, whose worker speaks more than the wire");

pub(in super::super) const MODEL: Kind = Kind {
    prefix: "onnx:",
    name: "a model",
    takes: &[CallSetting::Layout, CallSetting::Device, CallSetting::Constants],
    identity: file_identity,
    make: |named, settings| {
        if named.rest.is_empty() {
            let expected = "the file of a model, as in onnx:model.onnx";
            return Err(Unexpected::at(named.target(), expected).into());
        }
        let mut config = OnnxConfig::new(named.rest, named.base, named.python);
        config.layout = settings.layout_of_four(named.place_of(CallSetting::Layout))?;
        config.device = settings.device;
        let declared = config.declare(&settings.constants);
        declared.map_err(|error| error.inside(named.place_of(CallSetting::Constants)))?;
        Ok(Box::new(config))
    },
};

pub(in super::super) const BACKEND: Kind = Kind {
    prefix: "onnx-backend:",
    name: "a backend of ONNX",
    takes: &[CallSetting::Device],
    identity: |rest, _| rest.to_owned(),
    make: |named, settings| {
        let config = BackendConfig::parse(named.rest, named.base, named.python)
            .map_err(|error| error.inside(named.target()))?;
        Ok(Box::new(BackendConfig { device: settings.device, ..config }))
    },
};

impl Adapter for OnnxConfig {
    fn open(&self, declared: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        let target = OnnxTarget::start(self, declared.mask, limits)?;
        let environment = target.describe();
        let called = Some(Called::Onnx(CalledOnnx {
            model: self.path(),
            device: self.device.clone(),
            layout: self.layout,
            constants: self.declared.clone(),
            mask: declared.mask,
            limit_s: limits.timeout.as_secs_f64(),
        }));
        let model = OnnxTarget::read(&self.path(), &self.constants);
        let fit = model.map(|model| model.fit(self.layout));
        Ok(OpenTarget { called, fit, ..OpenTarget::live(target, environment) })
    }

    fn max_restarts(&self) -> Option<u32> {
        Some(MAX_RESTARTS)
    }

    fn stored_call(&self) -> StoredCall {
        let (layout, device) = (self.layout, self.device.clone());
        StoredCall {
            layout: Some(layout),
            device,
            constants: self.declared.clone(),
            ..StoredCall::default()
        }
    }

    fn fills_masks(&self) -> bool {
        OnnxTarget::read(&self.path(), &self.constants).is_some_and(|model| model.fills_masks())
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path()]
    }

    fn peer(&self, _: &Limits) -> Peer {
        OTHER_WORDS
    }
}

impl Adapter for BackendConfig {
    fn open(&self, _: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        let target = BackendTarget::start(self, limits)?;
        let environment = target.describe();
        Ok(OpenTarget::live(target, environment))
    }

    fn max_restarts(&self) -> Option<u32> {
        Some(MAX_RESTARTS)
    }

    fn stored_call(&self) -> StoredCall {
        StoredCall { device: self.device.clone(), ..StoredCall::default() }
    }

    fn peer(&self, _: &Limits) -> Peer {
        OTHER_WORDS
    }
}
