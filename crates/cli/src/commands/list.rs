//! `qkvet list`: what is known, one line each.

use std::process::ExitCode;

use qkvet_spec::{Catalog, Contract, Dtype};

use super::setup;
use crate::args::Listed;
use crate::exit::Failure;

pub(super) fn list(what: Option<Listed>) -> Result<ExitCode, Failure> {
    let catalog = setup::catalog()?;
    let Some(what) = what else {
        let Catalog { laws, faults, conventions, contracts, suites, .. } = &catalog;
        for (what, n) in [
            ("laws", laws.len()),
            ("faults", faults.len()),
            ("conventions", conventions.len()),
            ("contracts", contracts.len()),
            ("suites", suites.len()),
        ] {
            say!("{n:5}  qkvet list {what}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    match what {
        Listed::Laws => {
            table("", catalog.laws.values().map(|law| (law.law.law.clone(), law.law.title.clone())))
        }
        Listed::Faults => faults(&catalog),
        Listed::Conventions => table(
            "",
            catalog.conventions.values().map(|convention| {
                (format!("{}={}", convention.field, convention.value), convention.title.clone())
            }),
        ),
        Listed::Contracts => contracts(&catalog),
        Listed::Suites => table(
            "",
            catalog.suites.values().map(|suite| (suite.suite.clone(), suite.title.clone())),
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Each family under its title and what `explain` calls it.
fn faults(catalog: &Catalog) {
    for (at, family) in catalog.families.values().enumerate() {
        let own = catalog.faults.values().filter(|fault| fault.family == family.family);
        say!("{}{} ({})", if at > 0 { "\n" } else { "" }, family.title, family.family);
        table(
            "  ",
            own.map(|fault| (format!("{} {}", fault.code, fault.fault), fault.title.clone())),
        );
    }
}

/// Contracts that stand alone, those that no run uses yet, and modifiers, each under what to write.
fn contracts(catalog: &Catalog) {
    let row = |contract: &Contract| {
        let undeclared = if contract.default { "; undeclared too" } else { "" };
        (contract.contract.clone(), format!("{}{undeclared}", contract.title))
    };
    let (checked, narrow): (Vec<_>, Vec<_>) =
        catalog.contracts.values().partition(|contract| Dtype::CHECKED.contains(&contract.dtype));
    say!("Contracts, written as --contract bf16-flash");
    table("  ", checked.into_iter().map(row));
    say!("\nContracts of formats in which `qkvet check` does not call yet");
    table(
        "  ",
        narrow.into_iter().map(|contract| (contract.contract.clone(), contract.title.clone())),
    );
    say!("\nModifiers, written behind a contract as in --contract bf16-flash+split-kv+tile-64");
    table(
        "  ",
        catalog.modifiers.values().map(|one| (format!("+{}", one.modifier), one.title.clone())),
    );
}

fn table(indent: &str, lines: impl Iterator<Item = (String, String)>) {
    let lines: Vec<_> = lines.collect();
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, title) in lines {
        say!("{indent}{name:width$}  {title}");
    }
}
