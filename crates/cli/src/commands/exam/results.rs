//! Results of grading as files, none over what is not such a result.

#![allow(clippy::disallowed_methods, reason = "writes results")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use qkvet_exam::grade::{Graded, RESULT_HEADS, csv_table, gradescope, json};
use qkvet_spec::Unexpected;

use super::open;
use crate::args::{ExamGradeArgs, GradeFormat};
use crate::exit::Failure;
use crate::out::write_text;

/// Files that were read, without links in their paths, each with what it is.
pub(super) type Inputs = BTreeMap<PathBuf, &'static str>;

/// Writes results to where they are asked for.
pub(super) fn write(
    args: &ExamGradeArgs,
    graded: &[Graded],
    inputs: &Inputs,
) -> Result<(), Failure> {
    let text = match (args.format, graded, &args.out) {
        (GradeFormat::Csv, ..) => csv_table(graded),
        (GradeFormat::Json, ..) => json(graded)?,
        (GradeFormat::Gradescope, _, Some(folder)) => {
            let names = graded
                .iter()
                .enumerate()
                .map(|(at, one)| folder.join(file_name(one, &graded[..at])));
            let paths: Vec<PathBuf> = names.collect();
            paths.iter().try_for_each(|path| may_write(path, inputs))?;
            return paths
                .iter()
                .zip(graded)
                .try_for_each(|(path, one)| put(path, &gradescope(one)?));
        }
        (GradeFormat::Gradescope, [one], None) => gradescope(one)?,
        (GradeFormat::Gradescope, _, None) => {
            let expected = "one submission, or a folder to write to";
            return Err(Unexpected::at("format gradescope", expected)
                .got(graded.len())
                .hint("add --out DIR")
                .into());
        }
    };
    match &args.out {
        Some(path) => {
            may_write(path, inputs)?;
            put(path, &text)
        }
        None => write_text(&text),
    }
}

/// Whether a file begins as results of grading do.
pub(super) fn is_result(path: &Path) -> bool {
    let most = RESULT_HEADS.iter().map(|head| head.len()).max().unwrap_or(0);
    open::head(path, most)
        .is_some_and(|head| RESULT_HEADS.iter().any(|known| head.starts_with(known.as_bytes())))
}

/// Whether nothing is lost where results are written: no file is there, an empty one, or results of
/// an earlier run, which were not read in this one.
fn may_write(path: &Path, inputs: &Inputs) -> Result<(), Unexpected> {
    let Ok(about) = fs::metadata(path) else { return Ok(()) };
    let input = fs::canonicalize(path).ok().and_then(|path| inputs.get(&path));
    let got = match input {
        Some(what) => format!("{what} that was read"),
        None if about.is_dir() => "a folder".to_owned(),
        None if about.is_file() && (about.len() == 0 || is_result(path)) => return Ok(()),
        None => "another file".to_owned(),
    };
    Err(Unexpected::at_path("results", path, "a new file, or results of an earlier run")
        .got(got)
        .hint("name another one behind --out"))
}

/// A file name for one student, other than those before.
fn file_name(one: &Graded, before: &[Graded]) -> String {
    let safe = |name: &str| -> String {
        name.chars()
            .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' })
            .take(80)
            .collect()
    };
    let twice = before.iter().filter(|other| safe(&other.student) == safe(&one.student)).count();
    if twice == 0 {
        format!("{}.json", safe(&one.student))
    } else {
        format!("{}+{}.json", safe(&one.student), twice + 1)
    }
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Unexpected::at_path("file", path, "to be written").error(error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    Ok(fs::File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(failed)?)
}
