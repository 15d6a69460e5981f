//! `qkvet exam build`: a problem set and a seed to a folder of sheets and a folder of keys.

#![allow(clippy::disallowed_methods, reason = "files are what this command is for")]

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_exam::build::{File, Request, build_each, notes};
use qkvet_exam::generate::Report;
use qkvet_exam::key::Source;
use qkvet_exam::print::{HAS_PDF, pdfs};
use qkvet_exam::{ExamError, counted};
use qkvet_report::Progress;
use qkvet_spec::Unexpected;

use super::super::setup;
use super::list::built_in;
use super::open::text_of;
use crate::args::ExamBuildArgs;
use crate::exit::{Failure, HELD};
use crate::out::is_live;

pub(super) fn build(args: &ExamBuildArgs) -> Result<ExitCode, Failure> {
    let out = &args.out;
    new_or_empty(out)?;
    let catalog = setup::catalog()?;
    let (set, own) = sources(&args.set)?;
    let seed = args.seed.unwrap_or_else(fresh);
    let request = Request { set, own, variants: usize::try_from(args.variants).unwrap_or(1), seed };
    if args.pdf && !HAS_PDF {
        return Err(ExamError::NoPdf.into());
    }
    let mut written =
        Written { out, pdf: args.pdf, waiting: Vec::new(), made: Vec::new(), sheets: 0, keys: 0 };
    // Large matrices take their time, which only who looks on has to know.
    let progress = Progress::new(true, !is_live());
    let mut variants = 1..=args.variants;
    let mut note = || {
        variants
            .next()
            .map(|variant| progress.note(&format!("variant {variant} of {}", args.variants)))
    };
    note();
    let built = build_each(&request, &catalog, &mut |files| {
        note();
        written.take(files)
    });
    let built = built.and_then(|report| written.finish().map(|()| report));
    progress.end();
    let report = match built {
        Ok(report) => report,
        Err(error) => {
            // Half an exam is none; folders that another build made are left to it.
            for folder in written.made {
                let _ = fs::remove_dir_all(folder);
            }
            return Err(error);
        }
    };
    let Written { sheets, keys, .. } = written;
    let (variants, sheets) = (
        counted(usize::try_from(args.variants).unwrap_or(usize::MAX), "variant"),
        counted(sheets, "file"),
    );
    say!("{}: {variants} of seed {seed}; {sheets} in student/, {keys} in key/", out.display());
    say_report(&report);
    let notes = notes(&request, &catalog)?;
    for (path, line, name) in notes.unused {
        tell!("note: {path}:{line}: no answer depends on `{name}`");
    }
    for (path, line, name) in notes.strangers {
        tell!(
            "note: {path}:{line}: `{name}` in a formula of the text: expected a name that the question defines"
        );
    }
    if seed < MIN_SEED {
        tell!(
            "note: seed {seed} can be found by trying all short ones, and with it the key of every sheet"
        );
        tell!(
            "hint: for an exam that counts leave `--seed` out, or give a long one, as --seed {}",
            fresh()
        );
    }
    Ok(ExitCode::from(HELD))
}

/// Reasons of one question that are printed.
const MAX_REASONS: usize = 3;

/// What was thrown away and why, how much work the variants are, and what the tolerance admits.
fn say_report(report: &Report) {
    for draws in report.questions() {
        let thrown = draws.n_thrown();
        let (kept, (low, high)) = (draws.kept, draws.load);
        say!(
            "  {}: {thrown} of {} draws thrown away; load {low} to {high}",
            draws.question,
            kept + thrown
        );
        for (reason, n) in draws.thrown.iter().take(MAX_REASONS) {
            say!("    {n}: {reason}");
        }
        let more: usize = draws.thrown.iter().skip(MAX_REASONS).map(|(_, n)| n).sum();
        if more > 0 {
            say!("    {more}: for other reasons");
        }
        if kept > 1 && !draws.same.is_empty() {
            let parts: Vec<String> = draws.same.iter().map(ToString::to_string).collect();
            say!("    the same answer in all variants: part {}", parts.join(", "));
        }
        let (held, admitted) = draws.mistakes;
        if held > 0 {
            say!(
                "    tolerance: admits 0 of {} modelled mistakes in these variants (0 %); {admitted} draws thrown away because it would have",
                held - admitted
            );
        }
    }
}

/// Seeds below are found in hours by who has a sheet: a variant takes about a millisecond.
const MIN_SEED: u64 = 1 << 32;

/// A seed that nobody can guess: a hash under a key from the operating system's own source of
/// random numbers.
fn fresh() -> u64 {
    loop {
        let seed = RandomState::new().hash_one("seed of an exam") >> 1;
        if seed >= MIN_SEED {
            return seed;
        }
    }
}

/// Variants whose PDFs are made at once.
const PDFS_AT_ONCE: usize = 50;

/// Files of an exam on their way to its folder, a variant after the other.
struct Written<'a> {
    out: &'a Path,
    pdf: bool,
    /// What has no PDF yet.
    waiting: Vec<Vec<File>>,
    /// The folders that were made here.
    made: Vec<PathBuf>,
    sheets: usize,
    keys: usize,
}

impl Written<'_> {
    fn take(&mut self, files: Vec<File>) -> Result<(), Failure> {
        if self.made.is_empty() {
            make_folder(self.out, false)?;
            for folder in ["student", "key"] {
                let folder = self.out.join(folder);
                make_new_folder(&folder, folder.ends_with("key"))?;
                self.made.push(folder);
            }
        }
        for file in &files {
            self.put(&file.path, file.text.as_bytes(), file.secret)?;
        }
        if self.pdf {
            self.waiting.push(files);
        }
        if self.waiting.len() >= PDFS_AT_ONCE { self.finish() } else { Ok(()) }
    }

    /// Makes the PDFs that are still to be made.
    fn finish(&mut self) -> Result<(), Failure> {
        let files: Vec<File> = self.waiting.drain(..).flatten().collect();
        if files.is_empty() {
            return Ok(());
        }
        pdfs(&files)?.iter().try_for_each(|pdf| self.put(&pdf.path, &pdf.bytes, pdf.secret))
    }

    fn put(&mut self, path: &str, bytes: &[u8], secret: bool) -> Result<(), Failure> {
        *if secret { &mut self.keys } else { &mut self.sheets } += 1;
        Ok(write(&self.out.join(path), bytes, secret)?)
    }
}

/// What is there is never written over.
pub(super) fn new_or_empty(out: &Path) -> Result<(), Unexpected> {
    if !fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    let wrong =
        Unexpected::at_path("folder", out, "a new or an empty one").got("one with files in it");
    if ["student", "key"].iter().any(|folder| out.join(folder).exists()) {
        let hint = "a build that was stopped leaves such a folder: remove it if it is one, or name another";
        return Err(wrong.hint(hint));
    }
    Err(wrong)
}

/// The problem set that is named, and the questions beside it.
fn sources(set: &Path) -> Result<(Source, Vec<Source>), Failure> {
    let name = set.to_string_lossy();
    let id = |path: &str| {
        path.rsplit('/').next().and_then(|file| file.strip_suffix(".yaml")).map(str::to_owned)
    };
    let embedded = |wanted: &str| built_in().find(|(path, _)| id(path).as_deref() == Some(wanted));
    // A folder called as a set, such as one that was built before, does not hide the set.
    if !set.exists() || set.is_dir() {
        if let Some((path, text)) = embedded(&name) {
            return Ok((Source { path, text: text.to_owned() }, Vec::new()));
        }
        let known: Vec<String> = built_in().filter_map(|(path, _)| id(&path)).collect();
        let got = if set.is_dir() { "a folder" } else { "neither" };
        let place = format!("problem set `{name}`");
        return Err(Unexpected::at(place, "a file or the id of a set")
            .got(got)
            .hint(format!("known: {}", known.join(", ")))
            .into());
    }
    let text = text_of(set)?;
    // What is the same as what is built in needs nothing beside it.
    if let Some((path, built_in)) = id(&name).and_then(|id| embedded(&id))
        && built_in == text
    {
        return Ok((Source { path, text }, Vec::new()));
    }
    let mut own = Vec::new();
    let folder = set.parent().unwrap_or(Path::new(".")).join("questions");
    if let Ok(entries) = fs::read_dir(&folder) {
        let mut paths: Vec<_> =
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.sort();
        for path in paths {
            // Only names below the set, so that the key says nothing of this machine.
            let name =
                format!("questions/{}", path.file_name().unwrap_or_default().to_string_lossy());
            own.push(Source { path: name, text: text_of(&path)? });
        }
    }
    let file = set.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((Source { path: file, text }, own))
}

/// A folder; a secret one only its owner can open.
pub(super) fn make_folder(path: &Path, secret: bool) -> Result<(), Unexpected> {
    folder_builder(secret)
        .recursive(true)
        .create(path)
        .map_err(|error| Unexpected::at_path("folder", path, "to be made").error(error))
}

/// The same, but one that is there already is an error: of two builds into one folder a single one
/// goes on.
fn make_new_folder(path: &Path, secret: bool) -> Result<(), Unexpected> {
    folder_builder(secret).create(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Unexpected::at_path("folder", path, "none")
            .got("one of another build")
            .hint("give each build its own `--out`"),
        _ => Unexpected::at_path("folder", path, "to be made").error(error),
    })
}

fn folder_builder(secret: bool) -> fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are of Unix"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    if secret {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    #[cfg(not(unix))]
    let _ = secret;
    builder
}

/// A new file; a secret one only its owner can read.
pub(super) fn write(path: &Path, bytes: &[u8], secret: bool) -> Result<(), Unexpected> {
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
        .map_err(|error| Unexpected::at_path("file", path, "to be written").error(error))
}
