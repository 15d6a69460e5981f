//! Files that others wrote, opened by all commands of exams in one way: regular ones of a bounded
//! size. A pipe that nobody writes to or a device without an end would hold a command for ever.

#![allow(clippy::disallowed_methods, reason = "reads the files that the user names")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use qkvet_exam::grade::{FileError, MAX_BYTES};
use qkvet_spec::Unexpected;

/// All bytes of a file.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    let data = fs::metadata(path).map_err(Arc::new)?;
    if !data.is_file() {
        let got = if data.is_dir() { "a folder" } else { "another kind of file" };
        return Err(FileError::NotRegular { got });
    }
    let most = MAX_BYTES as u64;
    if data.len() > most {
        return Err(FileError::TooLarge { got: data.len() });
    }
    let all = start(path, most + 1).map_err(Arc::new)?;
    // Some files say that they have no bytes, and have some.
    let got = all.len() as u64;
    if got > most { Err(FileError::TooLarge { got }) } else { Ok(all) }
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String, FileError> {
    String::from_utf8(bytes(path)?).map_err(|_| FileError::NotText)
}

/// The text of a file, or how its user is told why not.
pub(super) fn text_of(path: &Path) -> Result<String, Unexpected> {
    text(path).map_err(|error| Unexpected::within_path("file", path, error))
}

/// The first bytes of a regular file.
pub(super) fn head(path: &Path, n: usize) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    start(path, n as u64).ok()
}

fn start(path: &Path, n: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(n).read_to_end(&mut bytes)?;
    Ok(bytes)
}
