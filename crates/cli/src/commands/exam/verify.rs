//! `qkvet exam verify`: every answer derived again by the engine, every file compared with what its
//! key makes.

#![allow(clippy::disallowed_methods, reason = "reads the folder that the user names")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_exam::counted;
use qkvet_exam::key::Key;
use qkvet_exam::question::Library;
use qkvet_exam::verify::{Verified, differing, surplus, verify as derive};
use qkvet_spec::Unexpected;

use super::super::setup;
use super::open;
use crate::exit::{FINDINGS, Failure, HELD};

pub(super) fn verify(folder: &Path) -> Result<ExitCode, Failure> {
    let catalog = setup::catalog()?;
    let paths = paths(folder)?;
    let mut wrong = Vec::new();
    let (mut answers, mut mistakes) = (0, 0);
    let mut first: Option<(Key, String)> = None;
    let mut known: Option<(Key, Library)> = None;
    for path in &paths {
        let (name, text) = text_of(path)?;
        let key = match Key::from_json(&text) {
            Ok(key) => key,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        // Keys of one exam are from the same questions.
        let known = match known
            .take()
            .filter(|(other, _)| (&other.set, &other.own) == (&key.set, &key.own))
        {
            Some(same) => known.insert(same),
            None => match key.sources(&catalog) {
                Ok((set, library)) => {
                    first.get_or_insert_with(|| (key.clone(), set.exam));
                    known.insert((key.clone(), library))
                }
                Err(error) => {
                    wrong.push(format!("{name}: {error}"));
                    continue;
                }
            },
        };
        let verified: Verified = derive(&key, &known.1, &catalog);
        answers += verified.answers;
        mistakes += verified.mistakes;
        wrong.extend(verified.wrong.into_iter().map(|reason| format!("{name}: {reason}")));
    }
    if let Some((key, exam)) = &first {
        let file = |path: &str| open::bytes(&folder.join(path)).ok();
        wrong.extend(differing(key, &file, &catalog).iter().map(ToString::to_string));
        let present = ["student", "key"].map(|name| names(folder, name)).concat();
        let surplus = surplus(key, exam, present.iter().map(String::as_str));
        wrong.extend(surplus.iter().map(ToString::to_string));
        wrong.extend(linked(folder, &present));
    }
    for reason in &wrong {
        say!("wrong  {reason}");
    }
    say!(
        "{}: {} and {mistakes} values of mistakes derived again by the engine; {} wrong",
        counted(paths.len(), "key"),
        counted(answers, "answer"),
        wrong.len()
    );
    let open = open_to_others(folder);
    if let Some((path, mode)) = open.first() {
        let more =
            if open.len() > 1 { format!(" and {} more", open.len() - 1) } else { String::new() };
        tell!(
            "warning: {path}{more} in the folder of keys: expected a file that only its owner can read, got mode {mode:o}"
        );
        tell!("hint: chmod -R go= {}", folder.join("key").display());
    }
    Ok(ExitCode::from(if wrong.is_empty() { HELD } else { FINDINGS }))
}

/// What lies in one of the folders of an exam, `student/NAME`, in order.
fn names(folder: &Path, inner: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.join(inner)).into_iter().flatten().filter_map(Result::ok);
    let mut all: Vec<String> =
        entries.map(|entry| format!("{inner}/{}", entry.file_name().to_string_lossy())).collect();
    all.sort();
    all
}

/// What is a link where a file or a folder of the exam should be: what it leads to may change after
/// it was verified.
fn linked(folder: &Path, present: &[String]) -> Vec<String> {
    let is_link =
        |name: &str| fs::symlink_metadata(folder.join(name)).is_ok_and(|about| about.is_symlink());
    let all = ["student", "key"].into_iter().chain(present.iter().map(String::as_str));
    all.filter(|name| is_link(name))
        .map(|name| format!("{name}: expected a file of its own, got a link"))
        .collect()
}

/// Files of keys that others than their owner can read, with their mode.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> Vec<(String, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let mode =
        |name: &String| Some(fs::metadata(folder.join(name)).ok()?.permissions().mode() & 0o777);
    let all = names(folder, "key").into_iter().filter_map(|name| Some((mode(&name)?, name)));
    all.filter(|(mode, _)| mode & 0o077 != 0).map(|(mode, name)| (name, mode)).collect()
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Vec<(String, u32)> {
    Vec::new()
}

/// Every key of an exam, in order.
fn paths(folder: &Path) -> Result<Vec<PathBuf>, Unexpected> {
    let path = folder.join("key");
    let wrong = || Unexpected::at_path("folder", &path, "keys that `qkvet exam build` wrote");
    let failed = |error| wrong().error(error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(&path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(wrong().got("none"));
    }
    Ok(paths)
}

fn text_of(path: &Path) -> Result<(String, String), Unexpected> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, open::text_of(path)?))
}

/// Name and text of every key.
pub(super) fn keys(folder: &Path) -> Result<BTreeMap<String, String>, Unexpected> {
    paths(folder)?.iter().map(|path| text_of(path)).collect()
}
