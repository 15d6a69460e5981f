//! Which contract judges each format of a run.

use std::collections::BTreeMap;

use qkvet_spec::{Catalog, Contract, Dtype, Format, Unexpected};

use crate::config::TargetEntry;

/// Contracts by format, and what was declared in vain.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// One for each format of the run.
    pub by_dtype: BTreeMap<Dtype, Contract>,
    /// Declared contracts that judge nothing of this run, one line each.
    pub unused: Vec<String>,
}

/// The loosest contract of each format, unless `qkvet.yaml` or a flag declares another; a flag wins
/// over the file.
///
/// Flags speak of this run, so one of them has to judge something. The file speaks of the target,
/// whatever is checked of it this time: what it declares beyond that is only told.
///
/// # Errors
/// An unknown contract, two for one format, one of a format in which no case is called or that the
/// target's own entry leaves out, and flags none of which is of a format of the run.
pub fn contracts(
    entry: &TargetEntry,
    flags: &[String],
    dtypes: &[Dtype],
    catalog: &Catalog,
) -> Result<Chosen, Unexpected> {
    let mut by_dtype = BTreeMap::new();
    for dtype in dtypes {
        by_dtype.insert(*dtype, catalog.default_contract(*dtype)?.clone());
    }
    let of_file = declared(&entry.contracts, catalog)?;
    if let Some(own) = &entry.dtypes
        && let Some(beyond) = of_file.values().find(|contract| !own.contains(&contract.dtype))
    {
        return Err(mismatch(
            beyond,
            "the `dtypes` beside it",
            own,
            "name the format in `dtypes`, or leave the contract out",
        ));
    }
    let of_flags = declared(flags, catalog)?;
    let is_used = |contract: &Contract| dtypes.contains(&contract.dtype);
    if let Some(first) = of_flags.values().next()
        && !of_flags.values().any(is_used)
    {
        let fitting = catalog.contracts.values().filter(|contract| is_used(contract));
        let fitting: Vec<&str> = fitting.map(|contract| contract.contract.as_str()).collect();
        let hint = format!("of {} there are {}", names(dtypes), fitting.join(", "));
        return Err(mismatch(first, "a format that is checked here", dtypes, &hint));
    }
    let unused = of_file.values().chain(of_flags.values()).filter(|contract| !is_used(contract));
    let unused = unused.map(|contract| {
        let Contract { contract, dtype, .. } = contract;
        format!(
            "contract {contract} judges nothing here: it is of {dtype}, and this run checks {}",
            names(dtypes)
        )
    });
    let unused = unused.collect();
    by_dtype.extend(of_file.into_iter().chain(of_flags).filter(|(_, contract)| is_used(contract)));
    Ok(Chosen { by_dtype, unused })
}

/// The contracts of these names, one a format.
fn declared(names: &[String], catalog: &Catalog) -> Result<BTreeMap<Dtype, Contract>, Unexpected> {
    let mut declared: BTreeMap<Dtype, Contract> = BTreeMap::new();
    for name in names {
        let contract = catalog.contract(name)?;
        if !Dtype::CHECKED.contains(&contract.dtype) {
            let hint = rounded_inside(catalog, contract.dtype).map_or_else(
                || "`qkvet list contracts`".to_owned(),
                |name| format!("a function that takes wider tensors and rounds them itself keeps {name} or the like"),
            );
            return Err(mismatch(
                &contract,
                "a format that cases are called in",
                &Dtype::CHECKED,
                &hint,
            ));
        }
        if let Some(other) = declared.get(&contract.dtype).filter(|other| **other != contract) {
            let (dtype, other, contract) = (contract.dtype, &other.contract, &contract.contract);
            return Err(Unexpected::at(format!("contract for {dtype}"), "one")
                .got(format!("`{other}` and `{contract}`")));
        }
        declared.insert(contract.dtype, contract);
    }
    Ok(declared)
}

/// A contract of wider tensors that are rounded to this format before they are multiplied.
pub fn rounded_inside(catalog: &Catalog, dtype: Dtype) -> Option<String> {
    let rounds = |patch: Option<Format>| patch == Some(Format::from(dtype));
    let modifier = catalog.modifiers.values().find(|modifier| rounds(modifier.allows.operands))?;
    catalog.behind_a_contract(&modifier.modifier)
}

fn mismatch(contract: &Contract, expected: &str, formats: &[Dtype], hint: &str) -> Unexpected {
    let Contract { contract, dtype, .. } = contract;
    let expected = format!("one of {expected} ({})", names(formats));
    Unexpected::at(format!("contract `{contract}`"), expected)
        .got(format!("one of {dtype}"))
        .hint(hint)
}

fn names(dtypes: &[Dtype]) -> String {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}
