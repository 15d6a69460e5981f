//! The configuration that speaks for a target: found and read once.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use qkvet_spec::{Catalog, SpecError, Unexpected};

use super::{Config, below_current, text};
use crate::adapters::python::{PythonRef, PythonSource};
use crate::record::hashed;

/// Name of the file of known deviations.
pub const KNOWN_FILE: &str = "qkvet.known.yaml";

/// Where a target is looked up, and the configuration there.
#[derive(Clone, Debug)]
pub struct Home {
    /// The current folder.
    pub folder: PathBuf,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    config: Result<Config, SpecError>,
}

impl Home {
    /// Reads the file that speaks for a target of this name: the one given, else the nearest to the
    /// target's own file, else to `folder`.
    pub fn of(target: &str, folder: &Path, given: Option<&Path>) -> Self {
        let target = target.strip_prefix("python:").unwrap_or(target);
        let beside = match target.parse().map(|PythonRef { source, .. }| source) {
            Ok(PythonSource::File(path)) => folder.join(path).parent().and_then(Config::find),
            _ => None,
        };
        let file = given.map(Path::to_owned).or(beside).or_else(|| Config::find(folder));
        let config = file.as_deref().map_or_else(|| Ok(Config::default()), Config::read);
        Self { folder: folder.to_owned(), file, config }
    }

    /// What the file says; nothing where there is none.
    ///
    /// # Errors
    /// A file that cannot be read or does not fit.
    pub fn config(&self) -> Result<&Config, SpecError> {
        self.config.as_ref().map_err(Clone::clone)
    }

    /// The folder of the file, or else the current one. The file's path may be relative.
    pub fn base(&self) -> PathBuf {
        self.folder.join(self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")))
    }

    /// The file as it is written from the current folder.
    pub fn shown(&self) -> Option<&Path> {
        self.file.as_deref().map(|file| file.strip_prefix(&self.folder).unwrap_or(file))
    }

    /// The file of known deviations: beside the configuration, else in the current folder or above.
    pub fn known_file(&self) -> Option<PathBuf> {
        let beside = self.file.as_deref().and_then(Path::parent);
        let folders = beside.into_iter().chain(self.folder.ancestors());
        folders.map(|folder| folder.join(KNOWN_FILE)).find(|path| path.is_file())
    }

    /// The hashes of the configuration, of the laws and conventions that it names, and of the known
    /// deviations: those of the given file, else those that are found.
    pub fn hashes(&self, known: Option<&Path>) -> BTreeMap<String, String> {
        let known = known.map(Path::to_owned).or_else(|| self.known_file());
        let specs = self.specs().ok().flatten();
        let specs = specs.iter().flat_map(|folder| {
            KINDS.into_iter().flat_map(|kind| spec_files(folder, kind).unwrap_or_default())
        });
        hashed(self.file.iter().cloned().chain(known).chain(specs))
    }

    /// The folder of laws and conventions that the file names, if it names one.
    fn specs(&self) -> Result<Option<PathBuf>, SpecError> {
        let Some(file) = &self.file else { return Ok(None) };
        let beside = file.parent().unwrap_or(Path::new(""));
        Ok(self.config()?.specs.as_ref().map(|specs| beside.join(specs)))
    }

    /// What is built in, and the laws and conventions of the folder that the file names under
    /// `specs:`, in order of path.
    ///
    /// # Errors
    /// A file or folder that cannot be read, another folder than the two, a specification that does
    /// not fit or whose id is taken.
    pub fn catalog(&self) -> Result<Catalog, SpecError> {
        let mut catalog = Catalog::embedded()?;
        if let Some(specs) = self.specs()? {
            add_specs(&specs, &mut catalog)?;
        }
        Ok(catalog)
    }
}

/// Folders of specifications: laws may use conventions.
const KINDS: [&str; 2] = ["conventions", "laws"];

fn add_specs(folder: &Path, catalog: &mut Catalog) -> Result<(), SpecError> {
    type Add = fn(&mut Catalog, &str, &str) -> Result<String, SpecError>;
    let adds: [Add; 2] = [Catalog::add_own_convention, Catalog::add_own_law];
    for (kind, add) in KINDS.into_iter().zip(adds) {
        for file in spec_files(folder, kind)? {
            let shown = below_current(&file).display().to_string();
            add(catalog, &shown, &text(&file, &shown)?)?;
        }
    }
    let wrong =
        Unexpected::at_path("specs", below_current(folder), "the folders `laws` and `conventions`");
    let is_known = |path: &PathBuf| path.is_dir() && KINDS.iter().any(|kind| path.ends_with(kind));
    let all = entries(folder)?;
    match all.iter().find(|path| !is_known(path)) {
        Some(other) => Err(wrong.quoted(other.file_name().unwrap_or_default().display()).into()),
        None if all.is_empty() => Err(wrong.got("neither").into()),
        None => Ok(()),
    }
}

/// The files of a kind, in order of path.
fn spec_files(folder: &Path, kind: &str) -> Result<Vec<PathBuf>, Unexpected> {
    let folder = folder.join(kind);
    let mut files = Vec::new();
    for path in if folder.is_dir() { entries(&folder)? } else { Vec::new() } {
        // Families, as in the folder that is built in.
        files.extend(if path.is_dir() { entries(&path)? } else { vec![path] });
    }
    files.retain(|file| is_yaml(file));
    Ok(files)
}

/// What lies in a folder, in order of path.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Unexpected> {
    let found =
        std::fs::read_dir(folder).and_then(|found| found.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<_> = found.map_err(|error| {
        Unexpected::at_path("specs", below_current(folder), "a readable folder").error(error)
    })?;
    paths.sort();
    Ok(paths)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}
