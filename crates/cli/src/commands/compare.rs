//! `qkvet compare A B`: two targets on the same cases.

use std::process::ExitCode;

use qkvet_report::{Comparison, ReportFormat};
use qkvet_spec::{Fit, Summary, Unexpected};

use super::check::{Purpose, run_for};
use super::expected::Expected;
use super::setup;
use crate::args::{CheckArgs, CompareArgs};
use crate::exit::{Ended, FINDINGS, Failure, HELD, INTERRUPTED, NOTHING, USAGE, of_stopped};
use crate::out::write_text;

pub(super) fn compare(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let format = args.check.report.output.format;
    if ![ReportFormat::Human, ReportFormat::Json].contains(&format) {
        let wrong = Unexpected::at("--format", "human or json").got(format.name());
        return Err(wrong.into());
    }
    let [a, b] = args.runs.as_slice() else { unreachable!("two targets were named") };
    let mut of_a = run(a, None)?;
    let of_b = run(b, of_a.run.fit.clone())?;
    // What takes everything is asked again what the other one takes.
    if of_a.run.fit.is_none() && of_b.run.fit.is_some() {
        of_a = run(a, of_b.run.fit.clone())?;
    }
    let comparison = Comparison::new(&of_a, &of_b);
    write_text(&match format {
        ReportFormat::Json => comparison.json(),
        _ => comparison.text(),
    })?;
    Ok(ExitCode::from(match () {
        () if [&of_a, &of_b].iter().any(|run| run.interrupted) => INTERRUPTED,
        () if [&of_a, &of_b].iter().any(|run| run.has_other_configuration()) => USAGE,
        () if comparison.is_different() => FINDINGS,
        () if comparison.compared() == 0 => of_stopped(comparison.stopped(), NOTHING),
        () => of_stopped(comparison.stopped(), HELD),
    }))
}

fn run(args: &CheckArgs, fit: Option<Fit>) -> Result<Summary, Failure> {
    let home = setup::home(&args.target, args.on.process.config.as_deref())?;
    let purpose = Purpose::Compare(fit.map(Box::new));
    match run_for(&purpose, args, &home, &Expected::default())? {
        Ended::Run(summary) => Ok(*summary),
        Ended::Code(_) => unreachable!("it runs here"),
    }
}
