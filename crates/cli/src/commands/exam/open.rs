//! Files that others wrote, opened by all commands of exams in one way: regular ones of a bounded
//! size. A pipe that nobody writes to or a device without an end would hold a command for ever.

#![allow(clippy::disallowed_methods, reason = "reads the files that the user names")]

use std::fs;
use std::io::Read;
use std::path::Path;

use qkvet_exam::grade::MOST_BYTES;

use crate::exit::Failure;

/// All bytes of a file, or in words why not.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let data = fs::metadata(path).map_err(|error| error.to_string())?;
    if !data.is_file() {
        return Err("expected a regular one".to_owned());
    }
    let too_large = |n: u64| format!("expected at most {MOST_BYTES} bytes, got {n}");
    let most = MOST_BYTES as u64;
    if data.len() > most {
        return Err(too_large(data.len()));
    }
    let all = start(path, most + 1).map_err(|error| error.to_string())?;
    // Some files say that they have no bytes, and have some.
    if all.len() > MOST_BYTES { Err(too_large(all.len() as u64)) } else { Ok(all) }
}

/// The text of a file, or in words why not.
pub(super) fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(bytes(path)?)
        .map_err(|_| "expected text in UTF-8, got other bytes".to_owned())
}

/// The text of a file, or how its user is told why not.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    text(path).map_err(|reason| Failure::Usage(format!("file {}: {reason}", path.display())))
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
