//! What the files of a target held when a shard ran it, so that answers of two versions of it are
//! not taken for those of one.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::config::below_current;

/// Digits of a hash that a message shows.
const SHOWN: usize = 12;

/// Files, with `sha256:` and the hash of what is in each.
pub(crate) fn hashed(files: impl IntoIterator<Item = PathBuf>) -> BTreeMap<String, String> {
    let told = |path: PathBuf| {
        Some((below_current(&path).to_string_lossy().replace('\\', "/"), digest(&path)?))
    };
    files.into_iter().filter_map(told).collect()
}

fn digest(path: &Path) -> Option<String> {
    let mut file =
        File::open(path).ok().filter(|file| file.metadata().is_ok_and(|about| about.is_file()))?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash).ok()?;
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// A file whose content is not that of before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path.
    pub name: String,
    /// The beginning of the hash of what it held.
    pub before: String,
    /// The same of what it holds.
    pub now: String,
}

/// Files that are here and do not hold what they held when the shards ran. For what is not here ask
/// [`gone_since`].
pub(super) fn changed_since(files: &BTreeMap<String, String>) -> Vec<ChangedFile> {
    let now =
        files.keys().filter_map(|name| Some((name.clone(), digest(Path::new(name))?))).collect();
    changes(files, &now)
}

/// Files that are not here.
pub(super) fn gone_since(files: &BTreeMap<String, String>) -> Vec<String> {
    let is_gone = |name: &&String| {
        std::fs::metadata(name).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    files.keys().filter(is_gone).cloned().collect()
}

/// Files of `x` that hold something else in `y`.
pub(super) fn changes(
    x: &BTreeMap<String, String>,
    y: &BTreeMap<String, String>,
) -> Vec<ChangedFile> {
    let short = |hash: &str| hash.chars().take("sha256:".len() + SHOWN).collect();
    let changed = x.iter().filter_map(|(name, before)| Some((name, before, y.get(name)?)));
    let changed = changed.filter(|(_, before, now)| before != now);
    changed
        .map(|(name, before, now)| ChangedFile {
            name: name.clone(),
            before: short(before),
            now: short(now),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_is_hashed() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, "abc").expect("a file");
        let files = BTreeMap::from([(path.display().to_string(), digest(&path).expect("a hash"))]);
        assert_eq!(
            files.values().next().map(String::as_str),
            Some("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
        assert_eq!(changed_since(&files), []);
        std::fs::write(&path, "abd").expect("a file");
        let changed = changed_since(&files);
        assert_eq!(changed.len(), 1);
        assert_eq!((changed[0].before.as_str(), changed[0].now.len()), ("sha256:ba7816bf8f01", 19));
        assert!(gone_since(&files).is_empty());
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(gone_since(&files), [path.display().to_string()]);
        assert_eq!((changed_since(&files), digest(folder.path())), (Vec::new(), None));
    }
}
