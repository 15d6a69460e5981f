//! `qkvet exam new`: the beginning of a problem set or of a worked solution.

#![allow(clippy::disallowed_methods, reason = "files are what this command is for")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_exam::begin;
use qkvet_exam::solution::TEMPLATE;
use qkvet_spec::Unexpected;

use crate::args::ExamNewArgs;
use crate::exit::{Failure, HELD};

pub(super) fn new(args: &ExamNewArgs) -> Result<ExitCode, Failure> {
    // `./` before a name says nothing.
    let out = args.out.strip_prefix(".").unwrap_or(&args.out);
    if args.solution {
        let path = out.join(&args.name);
        write(&[(path.clone(), TEMPLATE.to_owned())])?;
        say!("{}: an example; put your own numbers in, then", path.display());
        say!("  qkvet exam check-solution {}", path.display());
        return Ok(ExitCode::from(HELD));
    }
    if !begin::is_id(&args.name) {
        return Err(Unexpected::at("name", "small letters, digits and `-`, a letter first")
            .quoted(&args.name)
            .hint("it becomes the id of the set, NAME.yaml its file")
            .into());
    }
    let files = begin::files(&args.name).map(|(path, text)| (out.join(path), text));
    write(&files)?;
    for (path, _) in &files {
        say!("{}", path.display());
    }
    let set = files[0].0.display();
    say!("next: qkvet exam build {set} --out {}-out", args.name);
    Ok(ExitCode::from(HELD))
}

/// Writes files, none over another.
fn write(files: &[(PathBuf, String)]) -> Result<(), Unexpected> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(Unexpected::at_path("file", path, "a new one").got("one that is there"));
    }
    for (path, text) in files {
        let failed = |error| Unexpected::at_path("file", path, "to be written").error(error);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        let mut open =
            fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
        open.write_all(text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}
