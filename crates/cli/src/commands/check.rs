//! `qkvet check TARGET`: the main job.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_run::adapters::NamedTarget;
use qkvet_run::contracts::contracts;
use qkvet_run::conventions::conventions;
use qkvet_run::frozen::read_cases;
use qkvet_run::runner::CaseSource;
use qkvet_spec::{Catalog, CheckedLaw, Dtype, Suite, Unexpected};

use super::expected::Expected;
use super::frozen_cases;
use super::launch::{Manner, Subject, launch};
use super::reports::check_wishes;
use super::{own_laws, scale_out, setup};
use crate::args::{CheckArgs, Engine};
use crate::exit::{Ended, Failure, code};

pub(super) fn check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let expected = Expected::known(&args.report, &args.target, args.on.process.config.as_deref())?;
    Ok(ExitCode::from(match run_check(args, &expected)? {
        Ended::Run(summary) => code(&summary, args.report.strict),
        Ended::Code(code) => code,
    }))
}

/// Runs it and prints the report.
pub(super) fn run_check(args: &CheckArgs, expected: &Expected) -> Result<Ended, Failure> {
    check_wishes(&args.report.output)?;
    let mut catalog = setup::catalog(Some(&args.target), args.on.process.config.as_deref())?;
    match &args.cases {
        Some(folder) => by_frozen_cases(args, folder, &catalog, expected),
        None => by_suite(args, &mut catalog, expected),
    }
}

fn by_suite(
    args: &CheckArgs,
    catalog: &mut Catalog,
    expected: &Expected,
) -> Result<Ended, Failure> {
    let mut suite = setup::suite(catalog, &args.suite)?;
    let laws = laws(catalog, &suite, &args.law)?;
    let target = setup::target(&args.target, &args.on, &setup::dtypes(&args.dtype)?, catalog)?;
    let dtypes = dtypes(args, &suite.dtypes, target.entry.dtypes.as_deref())?;
    let laws: Vec<&CheckedLaw> =
        laws.iter().map(|id| catalog.asking_law(id)).collect::<Result<_, _>>()?;
    let has_conventions =
        !args.on.declared.convention.is_empty() || !target.entry.conventions.is_empty();
    let mut notices = own_laws::notices(&laws, catalog, has_conventions)?;
    if suite.fit.is_none()
        && let Some(fit) = target.adapter.fit()
    {
        let masks = fit_masks(&mut suite, &target)
            .map_or_else(String::new, |forms| format!(", masks {forms}"));
        notices.push(format!(
            "notice: suite {} is made to fit what the target takes: {fit}{masks}",
            suite.suite
        ));
        suite.fit = Some(fit);
    }
    if let Some(Engine::Ray) = args.scale_out.engine {
        for notice in &notices {
            tell!("{notice}");
        }
        for line in contracts(&target.entry, &args.on.declared.contract, &dtypes, catalog)?.unused {
            tell!("warning: {line}");
        }
        conventions(&target.entry, &args.on.declared.convention, catalog)?;
        return scale_out::scale_out(args, expected);
    }
    let subject = Subject {
        cases: CaseSource::Suite { suite: &suite, seed: args.seed },
        laws,
        dtypes,
        notices,
    };
    launch(catalog, subject, manner(args, target), expected)
        .map(|summary| Ended::Run(Box::new(summary)))
}

/// Leaves the forms of masks and biases that the target takes, and names them if there were others.
fn fit_masks(suite: &mut Suite, target: &NamedTarget) -> Option<String> {
    let forms = target.adapter.forms()?;
    let mut kept = suite.broadcast.clone();
    kept.retain(|form| forms.contains(form));
    if kept.len() == suite.broadcast.len() {
        return None;
    }
    suite.broadcast = if kept.is_empty() { forms } else { kept };
    Some(suite.broadcast.iter().map(|form| form.axes()).collect::<Vec<_>>().join(" or "))
}

fn by_frozen_cases(
    args: &CheckArgs,
    folder: &Path,
    catalog: &Catalog,
    expected: &Expected,
) -> Result<Ended, Failure> {
    let frozen = read_cases(folder)?;
    let target = setup::target(&args.target, &args.on, &setup::dtypes(&args.dtype)?, catalog)?;
    let dtypes =
        dtypes(args, &frozen_cases::dtypes(&frozen.cases), target.entry.dtypes.as_deref())?;
    let subject = Subject {
        cases: frozen_cases::source(&frozen),
        laws: vec![frozen_cases::law(catalog)?],
        dtypes,
        notices: if args.quiet { Vec::new() } else { frozen_cases::notices(&frozen) },
    };
    launch(catalog, subject, manner(args, target), expected)
        .map(|summary| Ended::Run(Box::new(summary)))
}

fn manner(args: &CheckArgs, target: NamedTarget) -> Manner<'_> {
    Manner {
        target,
        conventions: &args.on.declared.convention,
        contracts: &args.on.declared.contract,
        jobs: args.jobs,
        fail_fast: args.fail_fast,
        store: Some(PathBuf::from(setup::STORE)),
        shard: args.shard,
        shard_file: args.shard_file.clone(),
        quiet: args.quiet,
        silent: args.quiet,
        report: args.report.clone(),
    }
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

/// Formats: the flag's, else those of `qkvet.yaml`, else those of the cases.
fn dtypes(
    args: &CheckArgs,
    present: &[Dtype],
    declared: Option<&[Dtype]>,
) -> Result<Vec<Dtype>, Unexpected> {
    if !args.dtype.is_empty() {
        return setup::dtypes(&args.dtype);
    }
    Ok(declared.unwrap_or(present).to_vec())
}
