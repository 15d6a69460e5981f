//! `qkvet exam grade`: submissions to points.

#![allow(clippy::disallowed_methods, reason = "reads submissions and keys, writes results")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_exam::counted;
use qkvet_exam::grade::{Graded, Grader, MOST_BYTES, Submission, csv_table, gradescope, json, read};
use qkvet_exam::key::Key;

use super::super::setup;
use crate::args::{ExamGradeArgs, GradeFormat};
use crate::commands::launch::write_text;
use crate::exit::{Failure, HELD, NOTHING};

/// Folders in folders.
const MOST_DEPTH: usize = 8;

pub(super) fn grade(args: &ExamGradeArgs) -> Result<ExitCode, Failure> {
    let catalog = setup::catalog(None, None)?;
    let grader = Grader::new(keys(&args.key)?, &catalog)?;
    let mut submissions = Vec::new();
    for path in &args.submissions {
        if !path.exists() {
            let at = path.display();
            return Err(Failure::Usage(format!("submissions at {at}: expected a file or a folder, got neither")));
        }
        for file in files(path, MOST_DEPTH) {
            submissions.extend(submission(&file));
        }
    }
    let graded = grader.all(&submissions);
    write(args, &graded)?;
    let refused = graded.iter().filter(|one| one.parts.is_empty()).count();
    let troubled = graded.iter().filter(|one| !one.trouble.is_empty()).count();
    tell!(
        "{}: {} graded, {refused} not, {troubled} with trouble",
        counted(graded.len(), "submission"),
        graded.len() - refused
    );
    Ok(ExitCode::from(if refused == graded.len() { NOTHING } else { HELD }))
}

/// The keys: one file, a folder of them, or the folder of an exam.
fn keys(path: &Path) -> Result<Vec<Key>, Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure::Usage(format!("key at {}: {error}", path.display()));
    let folder = if path.join("key").is_dir() { path.join("key") } else { path.to_owned() };
    let mut paths = vec![folder.clone()];
    if folder.is_dir() {
        paths = fs::read_dir(&folder)
            .map_err(|error| failed(&folder, error))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        paths.sort();
    }
    if paths.is_empty() {
        let at = folder.display();
        return Err(Failure::Usage(format!("key at {at}: expected keys that `qkvet exam build` wrote, got none")));
    }
    let mut keys = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
        let key =
            Key::from_json(&text).map_err(|error| Failure::Usage(format!("key at {}: {error}", path.display())))?;
        keys.push(key);
    }
    Ok(keys)
}

/// All files, in order; hidden ones are left out.
fn files(path: &Path, depth: usize) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    entries.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
    entries.sort();
    if depth == 0 {
        entries.retain(|path| !path.is_dir());
    }
    entries.iter().flat_map(|path| files(path, depth.saturating_sub(1))).collect()
}

/// The submissions in a file; one that cannot be opened is one with trouble.
fn submission(path: &Path) -> Vec<Submission> {
    let name = path.display().to_string();
    let told = |says: String| vec![Submission::unreadable(&name, says, None)];
    match fs::metadata(path) {
        Ok(data) if data.len() > MOST_BYTES as u64 => {
            told(format!("file: expected at most {MOST_BYTES} bytes, got {}", data.len()))
        }
        Ok(data) if !data.is_file() => told("file: expected a regular one".to_owned()),
        _ => match fs::read(path) {
            Ok(bytes) => read(&name, &bytes),
            Err(error) => told(format!("file: {error}")),
        },
    }
}

fn write(args: &ExamGradeArgs, graded: &[Graded]) -> Result<(), Failure> {
    let text = match (args.format, graded, &args.out) {
        (GradeFormat::Csv, ..) => csv_table(graded),
        (GradeFormat::Json, ..) => json(graded)?,
        (GradeFormat::Gradescope, _, Some(folder)) => {
            for (at, one) in graded.iter().enumerate() {
                put(&folder.join(file_name(one, &graded[..at])), &gradescope(one)?)?;
            }
            return Ok(());
        }
        (GradeFormat::Gradescope, [one], None) => gradescope(one)?,
        (GradeFormat::Gradescope, _, None) => {
            let got = graded.len();
            let message = format!("format gradescope: expected one submission, or a folder to write to, got {got}");
            return Err(Failure::Usage(format!("{message}\nhint: add --out DIR")));
        }
    };
    match &args.out {
        Some(path) => put(path, &text),
        None => write_text(&text),
    }
}

/// A file name for one student, other than those before.
fn file_name(one: &Graded, before: &[Graded]) -> String {
    let safe = |name: &str| -> String {
        name.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).take(80).collect()
    };
    let twice = before.iter().filter(|other| safe(&other.student) == safe(&one.student)).count();
    if twice == 0 {
        format!("{}.json", safe(&one.student))
    } else {
        format!("{}+{}.json", safe(&one.student), twice + 1)
    }
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Usage(format!("file {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::File::create(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}
