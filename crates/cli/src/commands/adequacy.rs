//! `qkvet adequacy`: which faults a suite notices, by which laws, in which formats.

use std::process::ExitCode;

use qkvet_diagnose::FORMATS;
use qkvet_run::run::self_test;
use qkvet_spec::{Catalog, CheckedLaw, Fault};

use super::setup;
use crate::args::{AdequacyArgs, ProofFormat};
use crate::exit::{FINDINGS, Failure, HELD};
use crate::out::write_text;

pub(super) fn adequacy(args: &AdequacyArgs) -> Result<ExitCode, Failure> {
    self_test()?;
    let catalog = setup::catalog()?;
    let suite = Catalog::find("suite", &catalog.suites, &args.suite)?;
    let laws: Vec<&CheckedLaw> = match args.law.as_slice() {
        [] => catalog.suite_laws(suite)?,
        named => named.iter().map(|id| catalog.asking_law(id)).collect::<Result<_, _>>()?,
    };
    let faults: Vec<&Fault> = match args.fault.as_slice() {
        [] => catalog.faults.values().collect(),
        named => named
            .iter()
            .map(|id| Catalog::find("fault", &catalog.faults, id))
            .collect::<Result<_, _>>()?,
    };
    let dtypes = if args.dtype.is_empty() { FORMATS.to_vec() } else { setup::dtypes(&args.dtype)? };
    let report = qkvet_diagnose::adequacy(&catalog, suite, &laws, &dtypes, &faults, args.seed)?;
    let text = match args.format {
        ProofFormat::Human => qkvet_report::adequacy(&report),
        ProofFormat::Markdown => qkvet_report::adequacy_page(&report),
        ProofFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
    };
    write_text(&text)?;
    let is_adequate = report.gaps().next().is_none() && report.alarms.is_empty();
    Ok(ExitCode::from(if is_adequate { HELD } else { FINDINGS }))
}
