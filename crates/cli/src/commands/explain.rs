//! `qkvet explain`: one law, fault, convention or contract in full.

use std::process::ExitCode;

use qkvet_spec::{Catalog, nearest};

use crate::exit::Failure;

pub(super) fn explain(name: &str) -> Result<ExitCode, Failure> {
    let catalog = Catalog::embedded()?;
    let fault = catalog
        .faults
        .get(name)
        .or_else(|| catalog.faults.values().find(|fault| fault.code.eq_ignore_ascii_case(name)));
    if let Some(fault) = fault {
        anstream::println!("{} {}\n{}\n\n{}", fault.code, fault.fault, fault.title, fault.tell);
        if let Some(when) = &fault.when {
            anstream::println!("strikes when  {}", when.text());
        }
        if let Some(when) = &fault.equivalent_when {
            anstream::println!("harmless when {}", when.text());
        }
        for seen in &fault.seen {
            anstream::println!("seen in       {seen}");
        }
        if fault.student {
            anstream::println!("students make it");
        }
        for law in catalog.laws.values().filter(|law| law.law.catches.contains(&fault.fault)) {
            anstream::println!("breaks law    {}", law.law.law);
        }
        anstream::println!("try           qkvet check builtin:fault/{}", fault.fault);
    } else if let Some(law) = catalog.laws.get(name) {
        let law = &law.law;
        anstream::println!("law {}\n{}\n", law.law, law.title);
        for (name, domain) in &law.given {
            anstream::println!("given   {name}: {}", domain.text);
        }
        for (name, value) in &law.lets {
            anstream::println!("let     {name} = {}", value.text);
        }
        if let Some(condition) = &law.condition {
            anstream::println!("where   {}", condition.text());
        }
        match (&law.expect, law.observe) {
            (Some(expect), _) => anstream::println!("expect  {}", expect.text),
            (None, Some(observe)) => anstream::println!("observe {observe:?}"),
            (None, None) => {}
        }
        let options: Vec<&str> = law.options.iter().map(|option| option.name()).collect();
        anstream::println!("options {}", if options.is_empty() { "none".to_owned() } else { options.join(", ") });
        anstream::println!("catches {}", law.catches.join(", "));
        anstream::println!("true by {}", law.proof.name());
        if let Some(contrast) = &law.contrast {
            anstream::println!("beside  {contrast}");
        }
        for source in &law.sources {
            anstream::println!("from    {source}");
        }
    } else if let Some(convention) = catalog.conventions.get(name).or_else(|| {
        let written = |one: &&qkvet_spec::Convention| format!("{}={}", one.field, one.value) == name;
        catalog.conventions.values().find(written)
    }) {
        anstream::println!(
            "convention {}={}\n{}\nstandard: {}",
            convention.field,
            convention.value,
            convention.title,
            convention.standard
        );
        for seen in &convention.seen {
            anstream::println!("seen in  {seen}");
        }
    } else if let Some(contract) = catalog.contracts.get(name) {
        anstream::println!("contract {}\n{}\n\n{}", contract.contract, contract.title, contract.about);
    } else {
        let known = catalog
            .faults
            .keys()
            .chain(catalog.laws.keys())
            .chain(catalog.conventions.keys())
            .chain(catalog.contracts.keys());
        let hint = nearest(name, known.map(String::as_str)).map_or_else(
            || "`qkvet list laws|faults|conventions|contracts`".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Failure::Usage(format!(
            "`{name}`: expected a law, fault, convention, contract or code\nhint: {hint}"
        )));
    }
    Ok(ExitCode::SUCCESS)
}
