//! `qkvet list`: what is known, one line each.

use std::process::ExitCode;

use qkvet_spec::Catalog;

use crate::args::Listed;
use crate::exit::Failure;

pub(super) fn list(what: Listed) -> Result<ExitCode, Failure> {
    let catalog = Catalog::embedded()?;
    let lines: Vec<(String, &str)> = match what {
        Listed::Laws => catalog.laws.values().map(|law| (law.law.law.clone(), law.law.title.as_str())).collect(),
        Listed::Faults => catalog
            .faults
            .values()
            .map(|fault| (format!("{} {}", fault.code, fault.fault), fault.title.as_str()))
            .collect(),
        Listed::Conventions => catalog
            .conventions
            .values()
            .map(|convention| (format!("{}={}", convention.field, convention.value), convention.title.as_str()))
            .collect(),
        Listed::Contracts => {
            let contracts = catalog.contracts.values();
            let contracts = contracts.map(|contract| (contract.contract.clone(), contract.title.as_str()));
            // A modifier stands behind a contract, and is written so.
            let modifiers = catalog.modifiers.values();
            contracts.chain(modifiers.map(|one| (format!("+{}", one.modifier), one.title.as_str()))).collect()
        }
        Listed::Suites => catalog.suites.values().map(|suite| (suite.suite.clone(), suite.title.as_str())).collect(),
    };
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, title) in lines {
        anstream::println!("{name:width$}  {title}");
    }
    Ok(ExitCode::SUCCESS)
}
