//! `builtin:NAME`: the simulator, whole, with one fault or with what a file of deviations says, and a
//! second implementation.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use qkvet_diagnose::{Claim, Claimed};
use qkvet_engine::flash::Flash;
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{Catalog, DeviationFile, Execution, Fault, Meaning, SpecError, Unexpected};

use super::adapter::Adapter;
use super::kind::Kind;
use super::open::OpenTarget;
use crate::process::{Limits, StartError};

pub(super) const KIND: Kind = Kind {
    prefix: "builtin:",
    name: "a target that is built in",
    takes: &[],
    identity: |rest, _| rest.to_owned(),
    make: |named, _| {
        let of_fault = |id: &str| Catalog::find("fault", &named.catalog.faults, id);
        Ok(match (named.rest, named.rest.strip_prefix("fault/")) {
            ("standard", _) => Box::new(Simulated(None)),
            ("flash", _) => Box::new(Flash),
            (_, Some(path)) if path.ends_with(YAML) => {
                Box::new(Deviant(deviant(path, named.catalog)?))
            }
            (_, Some(id)) => Box::new(Simulated(Some(of_fault(id)?.clone()))),
            _ => {
                let expected =
                    "builtin:standard, builtin:flash, builtin:fault/ID or builtin:fault/FILE.yaml";
                let place = format!("target `builtin:{}`", named.rest);
                let hint = "`qkvet list faults` shows the ids";
                return Err(Unexpected::at(place, expected).hint(hint).into());
            }
        })
    },
};

/// How the name of a file of deviations ends.
const YAML: &str = ".yaml";

/// What a file of deviations says.
fn deviant(path: &str, catalog: &Catalog) -> Result<Claimed, SpecError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let hint = "`qkvet check TARGET --save-fault FILE` writes one";
        Unexpected::at_path("deviations", path, "a readable file").error(error).hint(hint)
    })?;
    let file = DeviationFile::from_yaml(path, &text)?;
    Ok(Claim::new(&file, catalog).map_err(|error| error.inside(path))?.into())
}

/// What a file of deviations says that a target computes.
#[derive(Debug)]
struct Deviant(Claimed);

impl Adapter for Deviant {
    fn open(&self, _: &Meaning, _: &Limits) -> Result<OpenTarget, StartError> {
        Ok(OpenTarget::live(self.0.clone(), Vec::new()))
    }
}

/// The simulator of the standard meaning, with a fault if there is one.
#[derive(Clone, Debug)]
pub struct Simulated(pub Option<Fault>);

impl Adapter for Simulated {
    fn open(&self, _: &Meaning, _: &Limits) -> Result<OpenTarget, StartError> {
        let standard = Simulator::new(Meaning::standard(), Execution::standard());
        let simulator = match &self.0 {
            Some(fault) => standard.with_fault(fault.clone()),
            None => standard,
        };
        Ok(OpenTarget::live(simulator, Vec::new()))
    }
}

impl Adapter for Flash {
    fn open(&self, _: &Meaning, _: &Limits) -> Result<OpenTarget, StartError> {
        Ok(OpenTarget::live(Self, Vec::new()))
    }
}
