//! Folders of frozen cases and of outputs: the files around the formats of `qkvet_gen`.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::path::{Path, PathBuf};

use qkvet_gen::GenError;
use qkvet_gen::frozen::{
    FrozenCase, LargerEntry, Manifest, StoredOutput, case_from_json, case_from_npz,
    case_from_safetensors, case_to_json, case_to_npz, case_to_safetensors, output_from_json,
    output_from_npz, output_from_safetensors, read_manifest,
};
use qkvet_spec::Unexpected;

/// The file that lists what a folder of frozen text holds.
pub const MANIFEST: &str = "manifest.snap";

/// No case and no output is larger: a longer file is refused before it is read.
const MAX_BYTES: u64 = 1 << 30;

/// How a case or an output is written into a file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Readable text.
    Json,
    /// A `NumPy` archive.
    Npz,
    /// Tensors with their true formats.
    Safetensors,
}

impl FileFormat {
    const ALL: [Self; 3] = [Self::Json, Self::Npz, Self::Safetensors];

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Npz => "npz",
            Self::Safetensors => "safetensors",
        }
    }

    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|format| format.extension() == extension)
    }

    /// The bytes of a case.
    ///
    /// # Errors
    /// A case that is no single call.
    pub fn case_bytes(self, case: &FrozenCase) -> Result<Vec<u8>, GenError> {
        match self {
            Self::Json => case_to_json(case).map(String::into_bytes),
            Self::Npz => case_to_npz(case),
            Self::Safetensors => case_to_safetensors(case),
        }
    }

    fn case(self, bytes: &[u8]) -> Result<FrozenCase, Unreadable> {
        Ok(match self {
            Self::Json => case_from_json(text(bytes)?),
            Self::Npz => case_from_npz(bytes),
            Self::Safetensors => case_from_safetensors(bytes),
        }?)
    }

    /// The output in a file.
    pub(crate) fn output(self, path: &Path) -> Result<StoredOutput, Unreadable> {
        let bytes = read(path)?;
        Ok(match self {
            Self::Json => output_from_json(text(&bytes)?),
            Self::Npz => output_from_npz(&bytes),
            Self::Safetensors => output_from_safetensors(&bytes),
        }?)
    }
}

/// Why the bytes of a file are not what they should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("expected UTF-8 text, got: {0}")]
    Text(#[from] std::str::Utf8Error),
    #[error(transparent)]
    Document(#[from] GenError),
    #[error(transparent)]
    File(#[from] Unexpected),
}

fn text(bytes: &[u8]) -> Result<&str, Unreadable> {
    Ok(std::str::from_utf8(bytes)?)
}

/// A folder of frozen cases, read.
#[derive(Clone, Debug)]
pub struct FrozenFolder {
    /// Suite and version, or the folder's name.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// Its manifest, if it is a folder of text.
    pub manifest: Option<Manifest>,
    /// The cases, in order of the manifest, else of their files' names.
    pub cases: Vec<FrozenCase>,
    /// Larger cases that the manifest lists and whose files are not there.
    pub absent: Vec<LargerEntry>,
}

/// Reads every case of a folder: text with its manifest, as in `snapshots/`, and one file a case
/// beside it or alone, as `qkvet export` writes them.
///
/// # Errors
/// A folder without cases; a file that is not what the manifest says or no frozen case.
pub fn read_cases(folder: &Path) -> Result<FrozenFolder, Unexpected> {
    let names = file_names(folder)?;
    if names.iter().any(|name| name == MANIFEST) {
        return read_text(folder, &names);
    }
    let mut cases = Vec::new();
    for name in &names {
        let path = folder.join(name);
        if let Some(format) = FileFormat::of(&path) {
            let case = format
                .case(&read(&path)?)
                .map_err(|error| Unexpected::within_path("case", &path, error))?;
            if cases.iter().any(|known: &FrozenCase| known.id == case.id) {
                let expected = format!("{} once", case.id);
                return Err(Unexpected::at_path("case", path, expected).got("another file of it"));
            }
            cases.push(case);
        }
    }
    if cases.is_empty() {
        let hint =
            "`snapshots/core` of the repository is one, `qkvet export --out FOLDER` writes one";
        return Err(Unexpected::at_path("cases", folder, "a folder of frozen cases")
            .got("none")
            .hint(hint));
    }
    let name = folder
        .file_name()
        .map_or_else(|| folder.display().to_string(), |name| name.display().to_string());
    Ok(FrozenFolder { name, folder: folder.to_owned(), manifest: None, cases, absent: Vec::new() })
}

fn read_text(folder: &Path, names: &[String]) -> Result<FrozenFolder, Unexpected> {
    let path = folder.join(MANIFEST);
    let bad =
        |path: &Path, error: &dyn std::fmt::Display| Unexpected::within_path("cases", path, error);
    let manifest = read(&path)?;
    let manifest = text(&manifest).and_then(|text| Ok(read_manifest(text)?));
    let manifest = manifest.map_err(|error| bad(&path, &error))?;
    let mut cases = Vec::new();
    for entry in &manifest.groups {
        let path = folder.join(&entry.file);
        let bytes = read(&path)?;
        let group = text(&bytes).map_err(|message| bad(&path, &message))?;
        cases.extend(
            manifest.read_group(&entry.file, group).map_err(|error| bad(&path, &error))?.cases,
        );
    }
    let mut absent = Vec::new();
    for entry in &manifest.larger {
        if !names.contains(&entry.file) {
            absent.push(entry.clone());
            continue;
        }
        let path = folder.join(&entry.file);
        let bytes = read(&path)?;
        entry.check(&bytes).map_err(|error| bad(&path, &error))?;
        cases.push(case_from_safetensors(&bytes).map_err(|error| bad(&path, &error))?);
    }
    let name = format!("{} {}, frozen", manifest.suite, manifest.version);
    Ok(FrozenFolder { name, folder: folder.to_owned(), manifest: Some(manifest), cases, absent })
}

/// Names of the files, sorted.
pub(crate) fn file_names(folder: &Path) -> Result<Vec<String>, Unexpected> {
    let failed = |error| Unexpected::at_path("folder", folder, "a readable one").error(error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_file()
            && let Some(name) = entry.file_name().to_str()
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Unexpected> {
    let failed = |error| Unexpected::at_path("file", path, "a readable one").error(error);
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MAX_BYTES {
        let expected = format!("at most {MAX_BYTES} bytes");
        return Err(Unexpected::at_path("file", path, expected).got(size));
    }
    std::fs::read(path).map_err(failed)
}

/// Writes cases, a file each, into a folder that is empty or not there yet.
#[derive(Debug)]
pub struct CaseWriter {
    folder: PathBuf,
    format: FileFormat,
}

impl CaseWriter {
    /// Makes the folder.
    ///
    /// # Errors
    /// A folder that holds something, or cannot be made.
    pub fn create(folder: &Path, format: FileFormat) -> Result<Self, Unexpected> {
        empty_folder(folder)?;
        Ok(Self { folder: folder.to_owned(), format })
    }

    /// Writes one case.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, case: &FrozenCase) -> Result<(), Unexpected> {
        let path = self.folder.join(format!("{}.{}", case.id, self.format.extension()));
        let bytes = self
            .format
            .case_bytes(case)
            .map_err(|error| Unexpected::within_path("case", &path, error))?;
        write(&path, bytes)
    }
}

pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Unexpected> {
    std::fs::write(path, bytes)
        .map_err(|error| Unexpected::at_path("file", path, "to be written").error(error))
}

/// Makes a folder, or finds it empty.
pub(crate) fn empty_folder(folder: &Path) -> Result<(), Unexpected> {
    let failed = |error| Unexpected::at_path("folder", folder, "to be made").error(error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(Unexpected::at_path("folder", folder, "an empty one")
            .got("files")
            .hint("choose another --out"));
    }
    Ok(())
}
