//! `qkvet replay CASE`: one stored case again.

use std::path::Path;
use std::process::ExitCode;

use qkvet_diagnose::{applied, describe_call, describe_inputs};
use qkvet_engine::law::{Judge, evaluate};
use qkvet_run::runner::read_case;
use qkvet_spec::shape::check_law;
use qkvet_spec::{Catalog, Meaning};

use super::setup;
use crate::args::ReplayArgs;
use crate::exit::{FINDINGS, Failure, HELD, NOTHING, TARGET};

pub(super) fn replay(args: &ReplayArgs) -> Result<ExitCode, Failure> {
    let catalog = Catalog::embedded()?;
    let stored = read_case(Path::new(setup::STORE), &args.case)?;
    let case = stored.case().map_err(|error| Failure::Usage(format!("case at {}: {error}", args.case)))?;
    let law = check_law(stored.law.clone())
        .map_err(|error| Failure::Usage(format!("law at {}: {}", args.case, error.error.message)))?;
    let law = &law;
    qkvet_gen::check_case(law, &case).map_err(|error| Failure::Usage(format!("case at {}: {error}", args.case)))?;
    let mut target = setup::target(args.target.as_deref().unwrap_or(&stored.target), &args.on, &catalog)?;
    if args.target.is_none() {
        setup::as_stored(&mut target, &stored.call, &args.on);
    }
    let declared = [stored.conventions.as_slice(), &args.on.convention].concat();
    let conventions = setup::conventions(&target, &declared, &catalog)?;
    let wanted = [std::slice::from_ref(&stored.contract), &args.on.contract].concat();
    let contracts = setup::contracts(&target, &wanted, &[case.dtype], &catalog)?;
    let contract = contracts
        .get(&case.dtype)
        .ok_or_else(|| Failure::Usage(format!("contract for {}: expected one", case.dtype)))?;
    let meaning = applied(&Meaning::standard(), &conventions);
    let mut open = target.kind.open()?;
    open.target.begin(&qkvet_gen::case_id(&case));
    let outcome =
        evaluate(law, &case, Judge { meaning: &meaning, contract }, open.target.as_mut()).map_err(Failure::Usage)?;
    anstream::println!("{}  {}: {}", outcome.verdict, law.law.law, law.law.title);
    anstream::println!("  call      {}", describe_call(&case));
    for line in describe_inputs(law, &case) {
        anstream::println!("            {line}");
    }
    if let Some(evidence) = &outcome.evidence {
        anstream::println!("  at        {}", evidence.place);
        anstream::println!("  expected  {}", evidence.expected);
        anstream::println!("  got       {}", evidence.got);
        if let Some(stderr) = &evidence.stderr {
            anstream::println!("  stderr    {stderr}");
        }
    }
    anstream::println!("  contract  {}", contract.contract);
    let verdict = outcome.verdict;
    Ok(ExitCode::from(if outcome.evidence.as_ref().is_some_and(|evidence| evidence.broke_protocol) {
        TARGET
    } else if verdict.is_finding() {
        FINDINGS
    } else if verdict.is_checked() {
        HELD
    } else {
        NOTHING
    }))
}
