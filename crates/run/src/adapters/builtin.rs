//! `builtin:NAME`: the simulator, whole or with one fault, and a second implementation.

use qkvet_engine::flash::Flash;
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{Catalog, Execution, Fault, Meaning, Unexpected};

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
            (_, Some(id)) => Box::new(Simulated(Some(of_fault(id)?.clone()))),
            _ => {
                let expected = "builtin:standard, builtin:flash or builtin:fault/ID";
                let place = format!("target `builtin:{}`", named.rest);
                let hint = "`qkvet list faults` shows the ids";
                return Err(Unexpected::at(place, expected).hint(hint).into());
            }
        })
    },
};

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
