//! `qkvet exam check-solution`: a worked solution, step by step.

use std::process::ExitCode;

use qkvet_exam::solution::{CheckedSolution, Found, WrittenSolution, check};

use super::open;
use crate::args::{ExamCheckSolutionArgs, SolutionFormat};
use crate::exit::{FINDINGS, Failure, HELD, NOTHING};
use crate::out::write_text;

pub(super) fn check_solution(args: &ExamCheckSolutionArgs) -> Result<ExitCode, Failure> {
    let path = args.file.display().to_string();
    let source = open::text_of(&args.file)
        .map_err(|error| error.hint("`qkvet exam new --solution FILE` writes an example"))?;
    let checked = check(&WrittenSolution::from_yaml(&path, &source)?);
    match args.format {
        SolutionFormat::Human => print(&checked),
        SolutionFormat::Json => {
            let text = serde_json::to_string_pretty(&checked)?;
            write_text(&format!("{text}\n"))?;
        }
    }
    Ok(ExitCode::from(match (checked.first, checked.undecided) {
        (Some(_), _) => FINDINGS,
        (None, 0) => HELD,
        (None, _) => NOTHING,
    }))
}

fn print(checked: &CheckedSolution) {
    let printable = |text: &str| -> String {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    };
    say!("{}", printable(&checked.solution));
    let places: Vec<String> =
        checked.steps.iter().map(|step| printable(&step.place.to_string())).collect();
    let place = places.iter().map(|place| place.chars().count()).max().unwrap_or(0);
    for (step, at) in checked.steps.iter().zip(&places) {
        let found = match step.found {
            Found::Right => "right",
            Found::Follows => "follows",
            Found::Slip => "SLIP",
            Found::Undecided => "undecided",
        };
        let first = step.says.first().map(|says| printable(&says.to_string())).unwrap_or_default();
        let line = format!("  {found:9}  {:7}  {at:place$}  {first}", step.step);
        say!("{}", line.trim_end());
        for says in step.says.iter().skip(1) {
            say!("  {:9}  {:7}  {:place$}  {}", "", "", "", printable(&says.to_string()));
        }
    }
    let slips = checked.steps.iter().filter(|step| step.found == Found::Slip).count();
    match checked.first {
        Some(first) => {
            say!("{slips} of {} steps with a slip; the first is in {first}", checked.steps.len())
        }
        None if checked.undecided > 0 => {
            say!(
                "no slip seen in {} steps, of which {} not decided",
                checked.steps.len(),
                checked.undecided
            );
        }
        None => say!("no slip in {} steps", checked.steps.len()),
    }
}
