//! Files that a target may load: its own, and the sources and libraries in the folder of each.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What programs load.
const LOADED: [&str; 20] = [
    "c", "cc", "cpp", "cu", "cubin", "cuh", "dll", "dylib", "h", "hpp", "jl", "js", "mjs", "onnx",
    "ptx", "py", "pyd", "rs", "so", "ts",
];
/// Folders that hold what is built or installed.
const FOREIGN: [&str; 4] = ["__pycache__", "node_modules", "site-packages", "target"];
/// Folders in folders.
const MAX_DEPTH: usize = 6;
/// Entries of folders that are looked at.
pub(super) const MAX_ENTRIES: usize = 20_000;

/// The files, and those that a program loads or that have the ending of one of them, in the folder
/// of each and below; whether all were looked at.
pub fn nearby(files: &[PathBuf]) -> (BTreeSet<PathBuf>, bool) {
    let mut found: BTreeSet<PathBuf> = files.iter().cloned().collect();
    let endings: Vec<&OsStr> = files.iter().filter_map(|path| path.extension()).collect();
    let folders: BTreeSet<&Path> = files.iter().filter_map(|path| path.parent()).collect();
    let mut folders: Vec<(PathBuf, usize)> =
        folders.into_iter().map(|folder| (folder.to_owned(), 0)).collect();
    let mut left = MAX_ENTRIES;
    while let Some((folder, depth)) = folders.pop() {
        let is_current = folder.as_os_str().is_empty();
        let entries = std::fs::read_dir(if is_current { Path::new(".") } else { &folder });
        for entry in entries.into_iter().flatten().flatten() {
            if left == 0 {
                return (found, false);
            }
            left -= 1;
            let (path, name) = (folder.join(entry.file_name()), entry.file_name());
            // A link to a folder may lead back here.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let is_own = !name.to_string_lossy().starts_with('.')
                    && !FOREIGN.iter().any(|foreign| name == *foreign)
                    && !path.join("pyvenv.cfg").is_file();
                if is_own && depth < MAX_DEPTH {
                    folders.push((path, depth + 1));
                }
            } else if path.extension().is_some_and(|ending| {
                endings.contains(&ending) || LOADED.iter().any(|loaded| ending == *loaded)
            }) {
                found.insert(path);
            }
        }
    }
    (found, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_near_is_found() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let write = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(&path, "").expect("a file");
            path
        };
        let own = write("mine.lua");
        let near = ["other.lua", "inner/deep/kernel.cu"].map(write);
        for far in [".git/x.py", "env/pyvenv.cfg", "env/lib/x.py", "target/x.py", "notes.txt"] {
            write(far);
        }
        let (found, is_all) = nearby(std::slice::from_ref(&own));
        assert!(is_all);
        assert_eq!(found, near.into_iter().chain([own]).collect());
    }
}
