//! `qkvet exam export`: an exam that was built, in a format of others.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use qkvet_exam::export::{Credit, Target, export as exported};
use qkvet_exam::key::Key;
use qkvet_exam::verify::not_of_seed;
use qkvet_exam::{ExamError, counted};
use qkvet_spec::Unexpected;

use super::super::setup;
use super::build::{make_folder, new_or_empty, write};
use super::verify::keys;
use crate::args::ExamExportArgs;
use crate::exit::{Failure, HELD};

pub(super) fn export(args: &ExamExportArgs) -> Result<ExitCode, Failure> {
    let out = &args.out;
    new_or_empty(out)?;
    let Some((target, ..)) = Target::all().find(|(_, name, _)| *name == args.to) else {
        return Err(Unexpected::at(format!("format `{}`", args.to), "a known one").into());
    };
    let catalog = setup::catalog()?;
    let mut all: Vec<Key> = keys(&args.folder)?
        .values()
        .map(|text| Key::from_json(text))
        .collect::<Result<_, ExamError>>()?;
    all.sort_by_key(|key| key.variant);
    if let Some((variant, reason)) = not_of_seed(&all.iter().collect::<Vec<_>>(), &catalog)? {
        return Err(ExamError::Untrue { variant, reason: reason.into() }.into());
    }
    let percent = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    let credit =
        Credit { entered: percent(&args.mistakes_earn), ticked: percent(&args.options_earn) };
    let files = exported(target, &all, credit, &catalog)?;
    // Outer folders first, so that all below a secret one are made by its owner.
    let folders: BTreeSet<(PathBuf, bool)> = files
        .iter()
        .flat_map(|file| {
            let path = PathBuf::from(&file.path);
            let above: Vec<PathBuf> = path.ancestors().skip(1).map(PathBuf::from).collect();
            above
                .into_iter()
                .filter(|folder| folder.components().next().is_some())
                .map(|folder| (folder, file.secret))
        })
        .collect();
    make_folder(out, false)?;
    folders.iter().try_for_each(|(folder, secret)| make_folder(&out.join(folder), *secret))?;
    files.iter().try_for_each(|file| write(&out.join(&file.path), &file.bytes, file.secret))?;
    let n_secret = files.iter().filter(|file| file.secret).count();
    let n_open = files.len() - n_secret;
    say!(
        "{}: {} as {}; {} in student/, {n_secret} in key/",
        out.display(),
        counted(all.len(), "variant"),
        target.name(),
        counted(n_open, "file")
    );
    Ok(ExitCode::from(HELD))
}
