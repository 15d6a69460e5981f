//! `qkvet exam read`: how the answers of a submission are understood, without a key.

use std::process::ExitCode;

use qkvet_exam::grade::{Submission, read as read_file};
use qkvet_exam::student_answer::understood;
use qkvet_spec::Unexpected;

use super::open;
use crate::args::ExamReadArgs;
use crate::exit::{Failure, HELD, NOTHING};

pub(super) fn read(args: &ExamReadArgs) -> Result<ExitCode, Failure> {
    let bytes = open::bytes(&args.file)
        .map_err(|error| Unexpected::within_path("file", &args.file, error))?;
    let submissions = read_file(&args.file.display().to_string(), &bytes);
    submissions.iter().for_each(print);
    let is_read = submissions.iter().any(|one| !one.answers.is_empty());
    Ok(ExitCode::from(if is_read { HELD } else { NOTHING }))
}

fn print(submission: &Submission) {
    let printable = |text: &str| -> String {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    };
    if let Some(student) = &submission.student {
        say!("{}", printable(student));
    }
    for trouble in &submission.trouble {
        say!("  {}: {}", trouble.place, printable(&trouble.problem.to_string()));
    }
    let parts: Vec<String> =
        submission.answers.iter().map(|answer| printable(&answer.part)).collect();
    let width = parts.iter().map(|part| part.chars().count()).max().unwrap_or(0);
    for (part, answer) in parts.iter().zip(&submission.answers) {
        let says = understood(&answer.answer, submission.comma).to_string();
        say!("  {part:width$}  {}", printable(&says));
    }
}
