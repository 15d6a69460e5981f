//! `qkvet check TARGET...`: a run for each target, and again whenever a file changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_report::{ReportFormat, visible};
use qkvet_spec::Unexpected;

use super::check::check;
use super::target_folder::{module_name_of, name_of};
use super::watch::watch;
use crate::args::{CheckArgs, ChecksArgs};
use crate::exit::{Failure, HELD, INTERRUPTED, worst};

/// What stands for the target in the path of a report.
const TARGET: &str = "{target}";

pub(super) fn checks(args: &ChecksArgs) -> Result<ExitCode, Failure> {
    let mut runs = args.runs.clone();
    name_reports(&mut runs)?;
    let code = if args.watch { watch(&runs, || all(&runs)) } else { all(&runs)? };
    Ok(ExitCode::from(code))
}

/// The runs, one after the other; one that cannot be begun costs none of the others.
fn all(runs: &[CheckArgs]) -> Result<u8, Failure> {
    if let [one] = runs {
        return check(one);
    }
    let mut codes = Vec::new();
    for run in runs {
        let is_human = run.report.output.format == ReportFormat::Human;
        if is_human {
            say!("== {}", visible(&run.target));
        }
        let code = check(run).unwrap_or_else(|failure| failure.tell());
        codes.push((run, code));
        if is_human {
            say!();
        }
        if code == INTERRUPTED {
            break;
        }
    }
    let held = codes.iter().filter(|(_, code)| *code == HELD).count();
    let mut told = vec![format!("{held} of {} targets held", runs.len())];
    told.extend(codes.iter().map(|(run, code)| format!("  exit {code}  {}", visible(&run.target))));
    let rest = runs[codes.len()..].iter();
    told.extend(rest.map(|run| format!("  not begun  {}", visible(&run.target))));
    // Output that a program reads has a line for each report alone.
    if runs.iter().any(|run| run.report.output.format == ReportFormat::Human) {
        told.iter().for_each(|line| say!("{line}"));
    } else if codes.iter().any(|(_, code)| *code != HELD) {
        told.iter().for_each(|line| tell!("{line}"));
    }
    Ok(worst(codes.into_iter().map(|(_, code)| code)))
}

/// Gives the reports of each of several runs a place of their own.
fn name_reports(runs: &mut [CheckArgs]) -> Result<(), Unexpected> {
    let is_alone = runs.len() < 2;
    let [mut taken, mut taken_modules] = [BTreeSet::new(), BTreeSet::new()];
    for run in runs {
        let output = &mut run.report.output;
        if !is_alone && !output.format.is_sequence() {
            let name = output.format.name();
            let all = ReportFormat::ALL.into_iter().filter(|format| format.is_sequence());
            let all: Vec<&str> = all.map(ReportFormat::name).collect();
            let expected = format!("one that holds several runs: {}", all.join(", "));
            let wrong = Unexpected::at("--format", expected).got(name);
            return Err(wrong.hint(format!("--report {name} writes a file for each target")));
        }
        let name = name_of(&run.target, &mut taken);
        let module = module_name_of(&run.target, &mut taken_modules);
        for wish in output.report.iter_mut().flat_map(|wishes| &mut wishes.0) {
            let Some(path) = &mut wish.path else { continue };
            let name = if wish.format.is_of_tests() { &module } else { &name };
            let own = path.to_string_lossy().replace(TARGET, name);
            if !is_alone && Path::new(&own) == path {
                let expected = format!("a path with {TARGET}, as there are several targets");
                return Err(Unexpected::at("--report", expected).quoted(visible(&own)));
            }
            *path = PathBuf::from(own);
        }
        output.run = (!is_alone).then_some(name);
    }
    Ok(())
}
