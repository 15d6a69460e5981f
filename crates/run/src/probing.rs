//! What a target computes, recovered from its outputs, with known conventions by name.

use qkvet_diagnose::{Probed, followed};
use qkvet_spec::{
    Catalog, Contract, Convention, Dtype, Meaning, MeaningPatch, Probe, ProbedConvention, Quoted,
};

use crate::adapters::NamedTarget;
use crate::config::{meaning_of, names};
use crate::process::StartError;
use crate::run::puts_true;

/// Starts a target and asks it what tells the values of each field apart.
///
/// # Errors
/// A target that cannot be started.
pub fn probe(
    target: &NamedTarget,
    contract: &Contract,
    dtype: Dtype,
    declared: &[&Convention],
    catalog: &Catalog,
) -> Result<Probe, StartError> {
    let meaning = meaning_of(declared);
    let mut open = target.open(&meaning)?;
    let mut probed = qkvet_diagnose::probe(open.target.as_mut(), &meaning, contract, dtype);
    if probed.meaning.mask != meaning.mask && puts_true(target, &meaning) {
        // Calls without a mask were put with one that hides everything.
        let mask = probed.meaning.mask;
        open = target.open(&Meaning { mask, ..meaning.clone() })?;
        let calls = probed.calls;
        probed = qkvet_diagnose::probe(open.target.as_mut(), &meaning, contract, dtype);
        probed.calls += calls;
    }
    Ok(assembled(&target.name, open.environment, contract, declared, probed, catalog))
}

/// The report: what is a known convention is named, the rest is a patch.
fn assembled(
    target: &str,
    environment: Vec<Quoted>,
    contract: &Contract,
    declared: &[&Convention],
    probed: Probed,
    catalog: &Catalog,
) -> Probe {
    let Probed { fields, meaning, calls } = probed;
    let found = followed(&meaning, catalog.conventions.values());
    let shown_by = |convention: &Convention| {
        let names: Vec<String> =
            convention.meaning.entries().into_iter().map(|(name, _)| name).collect();
        let shows = fields
            .iter()
            .find(|field| field.meaning.entries().iter().any(|(name, _)| names.contains(name)));
        shows.map(|field| field.field.clone()).unwrap_or_default()
    };
    let conventions = found.iter().map(|convention| ProbedConvention {
        field: convention.field.clone(),
        value: convention.value.clone(),
        shown_by: shown_by(convention),
    });
    Probe {
        tool: format!("qkvet {}", env!("CARGO_PKG_VERSION")),
        target: target.to_owned(),
        environment,
        dtype: contract.dtype.to_string(),
        contract: contract.contract.clone(),
        declared: names(declared),
        calls,
        conventions: conventions.collect(),
        meaning: MeaningPatch::between(&meaning_of(&found), &meaning),
        fields,
    }
}
