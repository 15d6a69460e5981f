//! `qkvet exam grade`: submissions to points.

#![allow(clippy::disallowed_methods, reason = "lists submissions and keys")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_exam::counted;
use qkvet_exam::grade::{Grader, Submission, read};
use qkvet_exam::key::Key;
use qkvet_spec::Unexpected;

use super::super::setup;
use super::open;
use super::results::{is_result, write};
use crate::args::ExamGradeArgs;
use crate::exit::{Failure, HELD, NOTHING};

/// Folders in folders.
const MAX_DEPTH: usize = 8;

pub(super) fn grade(args: &ExamGradeArgs) -> Result<ExitCode, Failure> {
    let catalog = setup::catalog()?;
    let (keyed, keys) = keys(&args.key)?;
    let grader = Grader::new(keys, &catalog)?;
    let mut submissions = Vec::new();
    // What was read, which nothing is written over.
    let mut inputs = BTreeMap::new();
    let mut note = |path: &Path, what: &'static str| {
        if let Ok(path) = fs::canonicalize(path) {
            inputs.insert(path, what);
        }
    };
    keyed.iter().for_each(|path| note(path, "a key"));
    for path in &args.submissions {
        if !path.exists() {
            return Err(Unexpected::at_path("submissions", path, "a file or a folder")
                .got("neither")
                .into());
        }
        for file in files(path, MAX_DEPTH) {
            // What lies among submissions by an earlier `--out` was handed in by nobody.
            if path.is_dir() && is_result(&file) {
                tell!("note: {}: left out, for it is a result of grading", file.display());
                continue;
            }
            submissions.extend(submission(&file));
            note(&file, "a submission");
        }
    }
    let graded = grader.all(&submissions);
    write(args, &graded, &inputs)?;
    let refused = graded.iter().filter(|one| one.parts.is_empty()).count();
    let troubled = graded.iter().filter(|one| !one.trouble.is_empty()).count();
    tell!(
        "{}: {} graded, {refused} not, {troubled} with trouble",
        counted(graded.len(), "submission"),
        graded.len() - refused
    );
    let left: Vec<String> = graded
        .iter()
        .filter(|one| one.by_hand > 0)
        .map(|one| format!("{} {}", one.student.escape_debug(), one.left().join(", ")))
        .collect();
    if !left.is_empty() {
        let points: u32 = graded.iter().map(|one| one.by_hand).sum();
        tell!("left to a person: {points} points: {}", shortened(&left));
    }
    Ok(ExitCode::from(if refused == graded.len() { NOTHING } else { HELD }))
}

/// The first of many.
fn shortened(all: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = all[..all.len().min(SHOWN)].join("; ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// The keys and their files: one file, a folder of them, or the folder of an exam.
fn keys(path: &Path) -> Result<(Vec<PathBuf>, Vec<Key>), Unexpected> {
    let folder = if path.join("key").is_dir() { path.join("key") } else { path.to_owned() };
    let mut paths = vec![folder.clone()];
    if folder.is_dir() {
        paths = fs::read_dir(&folder)
            .map_err(|error| Unexpected::within_path("key", &folder, error))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        paths.sort();
    }
    if paths.is_empty() {
        let expected = "keys that `qkvet exam build` wrote";
        return Err(Unexpected::at_path("key", folder, expected).got("none"));
    }
    let mut keys = Vec::new();
    for path in &paths {
        let text = open::text(path).map_err(|error| Unexpected::within_path("key", path, error))?;
        keys.push(
            Key::from_json(&text).map_err(|error| Unexpected::within_path("key", path, error))?,
        );
    }
    Ok((paths, keys))
}

/// All files, in order; hidden ones are left out.
fn files(path: &Path, depth: usize) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    entries.retain(|path| {
        !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
    });
    entries.sort();
    if depth == 0 {
        entries.retain(|path| !path.is_dir());
    }
    entries.iter().flat_map(|path| files(path, depth.saturating_sub(1))).collect()
}

/// The submissions in a file; one that cannot be opened is one with trouble.
fn submission(path: &Path) -> Vec<Submission> {
    let name = path.display().to_string();
    match open::bytes(path) {
        Ok(bytes) => read(&name, &bytes),
        Err(reason) => vec![Submission::unreadable(&name, reason)],
    }
}
