//! `qkvet check TARGET`: the main job.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use qkvet_report::Progress;
use qkvet_run::process::{Watch, end_all};
use qkvet_run::runner::{RunConfig, run};
use qkvet_spec::{Catalog, Dtype, Suite, parse_yaml};

use super::setup;
use crate::args::{CheckArgs, Format};
use crate::exit::{Failure, code};

pub(super) fn check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let mut catalog = Catalog::embedded()?;
    let suite = suite(&mut catalog, &args.suite)?;
    let laws = laws(&mut catalog, &suite, &args.law)?;
    let mut target = setup::target(&args.target, &args.on, &catalog)?;
    let dtypes = dtypes(args, &suite, target.entry.dtypes.as_deref())?;
    let conventions = setup::conventions(&target, &args.on.convention, &catalog)?;
    let contracts = setup::contracts(&target, &args.on.contract, &dtypes, &catalog)?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // The second interrupt ends the program at once.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            end_all();
            #[expect(clippy::exit, reason = "asked for twice")]
            std::process::exit(i32::from(crate::exit::INTERRUPTED));
        }
    });
    let mut progress = Progress::new(std::io::stderr().is_terminal(), args.quiet);
    if let Some(limits) = target.kind.limits_mut() {
        limits.watch = Watch::new(Arc::clone(&stop), progress.teller());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let config = RunConfig {
        catalog: &catalog,
        target: &target,
        suite: &suite,
        laws: laws.iter().map(|id| Catalog::find("law", &catalog.laws, id)).collect::<Result<_, _>>()?,
        dtypes,
        seed: args.seed,
        jobs: args.jobs.unwrap_or(if target.kind.is_foreign() { 1 } else { cores }).max(1),
        conventions,
        contracts,
        fail_fast: args.fail_fast,
        store: Some(PathBuf::from(setup::STORE)),
        stop: &stop,
    };
    if target.kind.is_foreign() {
        progress.note(&format!("loading {}", target.name));
    }
    let summary = run(&config, &mut |event| progress.event(&event))?;
    let text = match args.format {
        Format::Human => qkvet_report::render(&summary),
        Format::Json => qkvet_report::json(&summary).map_err(|error| Failure::Usage(format!("report: {error}")))?,
    };
    let mut stdout = anstream::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // A closed pipe is the reader's choice.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            return Err(Failure::Usage(format!("report: expected to be written, got: {error}")));
        }
        _ => {}
    }
    Ok(ExitCode::from(code(&summary, args.strict)))
}

/// The suite by id, or from a file.
fn suite(catalog: &mut Catalog, name: &str) -> Result<Suite, Failure> {
    let suite = match setup::yaml_file(name)? {
        Some(source) => parse_yaml::<Suite>(name, &source)?,
        None => Catalog::find("suite", &catalog.suites, name)?.clone(),
    };
    qkvet_gen::check_suite(&suite).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    Ok(suite)
}

/// Ids of the laws to run; laws from files join the catalog.
fn laws(catalog: &mut Catalog, suite: &Suite, only: &[String]) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for name in only {
        match setup::yaml_file(name)? {
            Some(source) => ids.push(catalog.add_law(name, &source)?),
            None => ids.push(Catalog::find("law", &catalog.laws, name)?.law.law.clone()),
        }
    }
    if only.is_empty() {
        ids = catalog.suite_laws(suite)?.iter().map(|law| law.law.law.clone()).collect();
    }
    let mut seen = std::collections::BTreeSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

/// Formats: the flag's, else those of `qkvet.yaml`, else the suite's.
fn dtypes(args: &CheckArgs, suite: &Suite, declared: Option<&[Dtype]>) -> Result<Vec<Dtype>, Failure> {
    if !args.dtype.is_empty() {
        return setup::dtypes(&args.dtype);
    }
    Ok(declared.map_or_else(|| suite.dtypes.clone(), <[Dtype]>::to_vec))
}
