//! What a target claims to compute and how: conventions and contracts by the names of flags and of
//! its entry.

use std::collections::BTreeMap;

use qkvet_diagnose::applied;
use qkvet_spec::{Catalog, Contract, Convention, Dtype, Format, Meaning, Unexpected, name_hint};

use super::TargetEntry;

/// Conventions and contracts that are looked up.
#[derive(Clone, Debug)]
pub struct Declared<'a> {
    /// Conventions that differ from the standard.
    pub conventions: Vec<&'a Convention>,
    /// Contracts by format.
    pub contracts: BTreeMap<Dtype, Contract>,
    /// Declared contracts that judge nothing of this run, one line each.
    pub unused: Vec<String>,
}

impl<'a> Declared<'a> {
    /// Those in force for calls in the given formats. Flags are `field=value` and ids of contracts;
    /// they win over the entry. A format that none declares has the loosest contract.
    ///
    /// Flags speak of this run, so one of the contracts has to judge something. The file speaks of
    /// the target, whatever is checked of it this time: what it declares beyond that is only told.
    ///
    /// # Errors
    /// A convention that is not `field=value`, an unknown field, value or contract, two contracts
    /// for one format, one of a format in which no case is called or that the target's own entry
    /// leaves out, and flags none of which is of a format of the run.
    pub fn of(
        entry: &TargetEntry,
        conventions: &[String],
        contracts: &[String],
        dtypes: &[Dtype],
        catalog: &'a Catalog,
    ) -> Result<Self, Unexpected> {
        let conventions = of_conventions(entry, conventions, catalog)?;
        let (contracts, unused) = of_contracts(entry, contracts, dtypes, catalog)?;
        Ok(Self { conventions, contracts, unused })
    }

    /// The exact function that is declared.
    pub fn meaning(&self) -> Meaning {
        meaning_of(&self.conventions)
    }

    /// The contract of a format.
    ///
    /// # Errors
    /// There is none.
    pub fn contract(&self, dtype: Dtype) -> Result<&Contract, Unexpected> {
        self.contracts.get(&dtype).ok_or_else(|| {
            let got = self
                .contracts
                .values()
                .map(|one| format!("{}, which is of {}", one.contract, one.dtype));
            let got = got.collect::<Vec<_>>().join(", ");
            Unexpected::at(format!("contract for {dtype}"), "one").got(got)
        })
    }

    /// The contracts as a run takes them.
    pub fn by_dtype(&self) -> BTreeMap<Dtype, &Contract> {
        self.contracts.iter().map(|(dtype, contract)| (*dtype, contract)).collect()
    }
}

/// The standard under conventions.
pub fn meaning_of(conventions: &[&Convention]) -> Meaning {
    applied(&Meaning::standard(), conventions)
}

/// `field=value` of each.
pub(crate) fn names(conventions: &[&Convention]) -> Vec<String> {
    conventions
        .iter()
        .map(|convention| format!("{}={}", convention.field, convention.value))
        .collect()
}

fn of_conventions<'a>(
    entry: &TargetEntry,
    flags: &[String],
    catalog: &'a Catalog,
) -> Result<Vec<&'a Convention>, Unexpected> {
    let mut chosen: BTreeMap<&str, &str> =
        entry.conventions.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
    for flag in flags {
        let (field, value) = flag.split_once('=').ok_or_else(|| {
            let expected = "field=value, such as causal=upper-left";
            Unexpected::at(format!("convention `{flag}`"), expected)
        })?;
        chosen.insert(field.trim(), value.trim());
    }
    let mut found = Vec::new();
    for (field, value) in chosen {
        let of_field = || catalog.conventions.values().filter(|known| known.field == field);
        // Declaring the standard is allowed and changes nothing.
        if of_field().any(|known| known.standard_value == value) {
            continue;
        }
        if let Some(convention) = of_field().find(|known| known.value == value) {
            found.push(convention);
            continue;
        }
        let mut known: Vec<&str> =
            of_field().flat_map(|known| [known.standard_value.as_str(), &known.value]).collect();
        let (what, wrong) = if known.is_empty() {
            known = catalog.conventions.values().map(|known| known.field.as_str()).collect();
            (format!("convention `{field}`"), field)
        } else {
            (format!("convention `{field}={value}`"), value)
        };
        known.dedup();
        return Err(Unexpected::at(what, "a known one").hint(name_hint(wrong, &known)));
    }
    Ok(found)
}

fn of_contracts(
    entry: &TargetEntry,
    flags: &[String],
    dtypes: &[Dtype],
    catalog: &Catalog,
) -> Result<(BTreeMap<Dtype, Contract>, Vec<String>), Unexpected> {
    let mut by_dtype = BTreeMap::new();
    for dtype in dtypes {
        by_dtype.insert(*dtype, catalog.default_contract(*dtype)?.clone());
    }
    let of_file = named(&entry.contracts, catalog)?;
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
    let of_flags = named(flags, catalog)?;
    let is_used = |contract: &Contract| dtypes.contains(&contract.dtype);
    if let Some(first) = of_flags.values().next()
        && !of_flags.values().any(is_used)
    {
        let fitting = catalog.contracts.values().filter(|contract| is_used(contract));
        let fitting: Vec<&str> = fitting.map(|contract| contract.contract.as_str()).collect();
        let hint = format!("of {} there are {}", listed(dtypes), fitting.join(", "));
        return Err(mismatch(first, "a format that is checked here", dtypes, &hint));
    }
    let (used, unused): (Vec<_>, Vec<_>) =
        of_file.into_iter().chain(of_flags).partition(|(_, contract)| is_used(contract));
    by_dtype.extend(used);
    let unused = unused.into_iter().map(|(dtype, Contract { contract, .. })| {
        format!(
            "contract {contract} judges nothing here: it is of {dtype}, and this run checks {}",
            listed(dtypes)
        )
    });
    Ok((by_dtype, unused.collect()))
}

/// The contracts of these names, one a format.
fn named(names: &[String], catalog: &Catalog) -> Result<BTreeMap<Dtype, Contract>, Unexpected> {
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
    let expected = format!("one of {expected} ({})", listed(formats));
    Unexpected::at(format!("contract `{contract}`"), expected)
        .got(format!("one of {dtype}"))
        .hint(hint)
}

fn listed(dtypes: &[Dtype]) -> String {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}
