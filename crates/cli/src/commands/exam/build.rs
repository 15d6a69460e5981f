//! `qkvet exam build`: a problem set and a seed to a folder of sheets and a folder of keys.

#![allow(clippy::disallowed_methods, reason = "files are what this command is for")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use qkvet_exam::ExamError;
use qkvet_exam::build::Request;
use qkvet_exam::key::Source;
use qkvet_exam::print::{HAS_PDF, pdfs};

use super::super::setup;
use super::list::built_in;
use crate::args::ExamBuildArgs;
use crate::exit::{Failure, HELD};

pub(super) fn build(args: &ExamBuildArgs) -> Result<ExitCode, Failure> {
    let out = &args.out;
    new_or_empty(out)?;
    let catalog = setup::catalog(None, None)?;
    let (set, own) = sources(&args.set)?;
    let request = Request { set, own, variants: usize::from(args.variants), seed: args.seed };
    if args.pdf && !HAS_PDF {
        return Err(ExamError::NoPdf.into());
    }
    let files = qkvet_exam::build::build(&request, &catalog)?;
    let pdfs = if args.pdf { pdfs(&files)? } else { Vec::new() };
    for folder in ["student", "key"] {
        make_folder(&out.join(folder), folder == "key")?;
    }
    files.iter().try_for_each(|file| write(&out.join(&file.path), file.text.as_bytes(), file.secret))?;
    pdfs.iter().try_for_each(|pdf| write(&out.join(&pdf.path), &pdf.bytes, pdf.secret))?;
    let secret = files.iter().map(|file| file.secret).chain(pdfs.iter().map(|pdf| pdf.secret));
    let (keys, sheets): (Vec<bool>, Vec<bool>) = secret.partition(|secret| *secret);
    let (keys, sheets) = (keys.len(), sheets.len());
    say!(
        "{}: {} variants of seed {}; {sheets} files in student/, {keys} in key/",
        out.display(),
        args.variants,
        args.seed
    );
    Ok(ExitCode::from(HELD))
}

/// What is there is never written over.
pub(super) fn new_or_empty(out: &Path) -> Result<(), Failure> {
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        let at = out.display();
        return Err(Failure::Usage(format!(
            "folder at {at}: expected a new or an empty one, got one with files in it"
        )));
    }
    Ok(())
}

/// The problem set that is named, and the questions beside it.
fn sources(set: &Path) -> Result<(Source, Vec<Source>), Failure> {
    let name = set.to_string_lossy();
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| Failure::Usage(format!("file {}: {error}", path.display())))
    };
    let id = |path: &str| path.rsplit('/').next().and_then(|file| file.strip_suffix(".yaml")).map(str::to_owned);
    let embedded = |wanted: &str| built_in().find(|(path, _)| id(path).as_deref() == Some(wanted));
    if !set.exists() {
        if let Some((path, text)) = embedded(&name) {
            return Ok((Source { path, text: text.to_owned() }, Vec::new()));
        }
        let known: Vec<String> = built_in().filter_map(|(path, _)| id(&path)).collect();
        let message = format!("problem set `{name}`: expected a file or the id of a set, got neither");
        return Err(Failure::Usage(format!("{message}\nhint: known: {}", known.join(", "))));
    }
    let text = read(set)?;
    // What is the same as what is built in needs nothing beside it.
    if let Some((path, built_in)) = id(&name).and_then(|id| embedded(&id))
        && built_in == text
    {
        return Ok((Source { path, text }, Vec::new()));
    }
    let mut own = Vec::new();
    let folder = set.parent().unwrap_or(Path::new(".")).join("questions");
    if let Ok(entries) = fs::read_dir(&folder) {
        let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.sort();
        for path in paths {
            // Only names below the set, so that the key says nothing of this machine.
            let name = format!("questions/{}", path.file_name().unwrap_or_default().to_string_lossy());
            own.push(Source { path: name, text: read(&path)? });
        }
    }
    let file = set.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((Source { path: file, text }, own))
}

/// A folder; a secret one only its owner can open.
pub(super) fn make_folder(path: &Path, secret: bool) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if secret {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    #[cfg(not(unix))]
    let _ = secret;
    builder.create(path).map_err(|error| Failure::Usage(format!("folder {}: {error}", path.display())))
}

/// A new file; a secret one only its owner can read.
pub(super) fn write(path: &Path, bytes: &[u8], secret: bool) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if secret {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = secret;
    options
        .open(path)
        .and_then(|mut open| open.write_all(bytes))
        .map_err(|error| Failure::Usage(format!("file {}: {error}", path.display())))
}
