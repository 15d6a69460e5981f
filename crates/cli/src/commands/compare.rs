//! `qkvet compare A B`: two targets on the same cases.

use std::process::ExitCode;

use qkvet_report::{Comparison, ReportFormat};
use qkvet_spec::{Summary, Unexpected};

use super::check::{Purpose, SameCases, run_for};
use super::expected::Expected;
use super::setup;
use crate::args::{CheckArgs, CompareArgs};
use crate::exit::{Ended, FINDINGS, Failure, HELD, INTERRUPTED, NOTHING, USAGE, of_stopped, worst};
use crate::out::write_text;

pub(super) fn compare(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let format = args.check.report.output.format;
    if ![ReportFormat::Human, ReportFormat::Json].contains(&format) {
        let wrong = Unexpected::at("--format", "human or json").got(format.name());
        return Err(wrong.into());
    }
    let [a, b] = args.runs.as_slice() else { unreachable!("two targets were named") };
    let mut of_a = run(a, None)?;
    let of_b = run(b, Some(SameCases::of(&of_a)))?;
    let mut is_other = of_a.other_configuration || of_b.other_configuration;
    // What takes everything is asked again what the other one takes.
    let cases = SameCases::of(&of_b);
    if cases.narrows(&SameCases::of(&of_a)) {
        of_a = run(a, Some(cases))?;
        is_other |= of_a.other_configuration;
    }
    let comparison = Comparison::new(&of_a, &of_b);
    write_text(&match format {
        ReportFormat::Json => comparison.json(),
        _ => comparison.text(),
    })?;
    let both = [&of_a, &of_b];
    let code = match () {
        () if comparison.compared() == 0 => NOTHING,
        () if comparison.is_different() => FINDINGS,
        () => HELD,
    };
    Ok(ExitCode::from(match () {
        () if both.iter().any(|run| run.interrupted) => INTERRUPTED,
        () if is_other => USAGE,
        () => worst(both.iter().map(|run| of_stopped(run.stopped.as_ref(), code))),
    }))
}

fn run(args: &CheckArgs, cases: Option<SameCases>) -> Result<Summary, Failure> {
    let home = setup::home(&args.target, args.on.process.config.as_deref())?;
    let purpose = Purpose::Compare(cases.map(Box::new));
    match run_for(&purpose, args, &home, &Expected::default())? {
        Ended::Run(summary) => Ok(*summary),
        Ended::Code(_) => unreachable!("it runs here"),
    }
}
