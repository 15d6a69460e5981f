//! `qkvet explain`: one law, fault, convention, contract or modifier of contracts in full.

use std::process::ExitCode;

use qkvet_spec::{Catalog, Contract, Modifier, nearest};

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
    } else if catalog.contracts.contains_key(name) || name.trim_start_matches('+').contains('+') {
        explain_contract(&catalog.contract(name)?);
    } else if let Ok(modifier) = catalog.modifier(name.trim_start_matches('+')) {
        explain_modifier(&modifier);
    } else if let Some(modifier) = catalog.modifiers.get(name.trim_start_matches('+')) {
        explain_modifier(modifier);
    } else {
        let known = catalog
            .faults
            .keys()
            .chain(catalog.laws.keys())
            .chain(catalog.conventions.keys())
            .chain(catalog.contracts.keys())
            .chain(catalog.modifiers.keys());
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

fn explain_contract(contract: &Contract) {
    let Contract { dtype, dot, softmax, weights, .. } = contract;
    anstream::println!("contract {}\n{}\n\n{}\n", contract.contract, contract.title, contract.about);
    anstream::println!("inputs    {dtype}, output {}, log-sum-exp {}", contract.output(), contract.lse());
    if let Some(operands) = contract.operands {
        anstream::println!("operands  {operands}");
    }
    let cut = if contract.truncates { ", may cut off" } else { "" };
    anstream::println!("products  summed in {dot} with {} bits{cut}", contract.dot_precision());
    let depths = [("scores", contract.depth.scores), ("values", contract.depth.values)];
    for (of, depth) in depths.into_iter().filter_map(|(of, depth)| Some((of, depth?))) {
        anstream::println!("depth     at most {depth} for {of}");
    }
    anstream::println!(
        "softmax   {softmax}, exp within {} units, tanh within {}",
        contract.exp_error,
        contract.tanh_error
    );
    let rounded = if contract.sum_of_rounded { ", which may be what is summed" } else { "" };
    anstream::println!("weights   {weights}{rounded}");
    anstream::println!("roundings {} of inputs, {} of scores", contract.input_roundings, contract.score_roundings);
    match contract.tile {
        Some(tile) => anstream::println!("tile      at least {tile} keys"),
        None => anstream::println!("tile      none: a single pass"),
    }
    let partial = contract.partial.map_or(String::new(), |format| format!(", stored in {format}"));
    anstream::println!("merging   {}{partial}", if contract.merges { "of partial results" } else { "none" });
}

fn explain_modifier(modifier: &Modifier) {
    anstream::println!("modifier +{}\n{}\n\n{}\n", modifier.modifier, modifier.title, modifier.about);
    let fits = modifier.fits.as_ref().map_or_else(
        || "every contract".to_owned(),
        |fits| fits.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", "),
    );
    anstream::println!("fits      {fits}");
    for (does, patch) in [("allows", &modifier.allows), ("promises", &modifier.promises)] {
        if !patch.is_empty() {
            anstream::println!("{does:9} {}", patch.fields().join(", "));
        }
    }
}
