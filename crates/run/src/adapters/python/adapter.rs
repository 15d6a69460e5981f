//! A Python function as a kind of target.

use std::path::PathBuf;

use qkvet_spec::{BroadcastForm, EmptyRow, Meaning, SourcePlace, Unexpected};

use super::config::{PythonConfig, PythonInfo, PythonRef, PythonSource};
use super::place::place_of;
use super::script::CalledPython;
use super::target::{PythonTarget, launch};
use crate::adapters::adapter::{Adapter, Peer};
use crate::adapters::called::Called;
use crate::adapters::kind::Kind;
use crate::adapters::open::OpenTarget;
use crate::adapters::settings::{CallSetting, StoredCall};
use crate::process::{Limits, StartError};

pub(in super::super) const KIND: Kind = Kind {
    prefix: "python:",
    name: "a Python function",
    takes: &[
        CallSetting::Arrays,
        CallSetting::Layout,
        CallSetting::Device,
        CallSetting::Supports,
        CallSetting::MaskTakesBias,
    ],
    identity: |rest, base| {
        let reference = rest.parse::<PythonRef>();
        reference.map_or_else(|_| rest.to_owned(), |found| found.absolute(base).to_string())
    },
    make: |named, settings| {
        let reference: PythonRef = named.rest.parse().map_err(|error: Unexpected| {
            if named.is_entry { error.inside(named.place) } else { error }
        })?;
        let reference = if named.is_entry { reference.absolute(named.base) } else { reference };
        Ok(Box::new(PythonConfig {
            folder: Some(named.base.to_owned()),
            arrays: settings.arrays,
            layout: settings.layout,
            device: settings.device,
            supports: settings.supports,
            mask_takes_bias: settings.mask_takes_bias,
            ..PythonConfig::new(named.python, reference)
        }))
    },
};

impl PythonConfig {
    /// How a script calls it.
    pub(crate) fn called(&self, info: PythonInfo, limits: &Limits) -> Called {
        Called::Python(CalledPython {
            target: self.target.to_string(),
            folder: self.folder.clone().unwrap_or_default(),
            device: self.device.clone(),
            layout: info.layout.or(self.layout).unwrap_or_default(),
            info,
            limit_s: limits.timeout.as_secs_f64(),
        })
    }
}

impl Adapter for PythonConfig {
    fn open(&self, declared: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        let target = PythonTarget::start(self, limits)?;
        let info = target.info().clone();
        let (environment, mut fit, is_layer) = (info.describe(), info.fit(), info.layer);
        if is_layer && declared.empty_row == EmptyRow::Nan {
            // What a head has no numbers for, the projection of the output has for none.
            let forms = [BroadcastForm::PerItem, BroadcastForm::Shared, BroadcastForm::PerKey];
            fit.iter_mut().for_each(|fit| fit.forms = Some(forms.to_vec()));
        }
        let called = Some(self.called(info, limits));
        Ok(OpenTarget { called, fit, is_layer, ..OpenTarget::live(target, environment) })
    }

    fn max_restarts(&self) -> Option<u32> {
        Some(self.max_restarts)
    }

    fn stored_call(&self) -> StoredCall {
        let (arrays, layout, device) = (self.arrays, self.layout, self.device.clone());
        StoredCall { arrays, layout, device, ..StoredCall::default() }
    }

    /// The file of the function, if it is named or lies where modules are looked up first.
    fn files(&self) -> Vec<PathBuf> {
        match &self.target.source {
            PythonSource::File(path) => vec![path.clone()],
            PythonSource::Module(name) => {
                let folder = self.folder.clone().unwrap_or_default().join(name.replace('.', "/"));
                let files = [folder.with_extension("py"), folder.join("__init__.py")];
                files.into_iter().filter(|path| path.is_file()).take(1).collect()
            }
        }
    }

    fn source(&self, _: &str) -> Option<SourcePlace> {
        place_of(&self.target)
    }

    fn peer(&self, limits: &Limits) -> Peer {
        Peer::Wire(launch(self, limits))
    }
}
