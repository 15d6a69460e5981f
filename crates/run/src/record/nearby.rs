//! Files that a target may load: its own, and the sources and libraries in the folder of each.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use qkvet_spec::WRITTEN;

/// What programs load. Libraries may have a version behind the ending.
const LOADED: [&str; 27] = [
    "c", "cc", "cl", "cpp", "cu", "cubin", "cuh", "cxx", "dll", "dylib", "h", "hip", "hpp", "hxx",
    "inc", "jl", "js", "metal", "mjs", "onnx", "ptx", "py", "pyd", "pyx", "rs", "so", "ts",
];
/// Folders that hold what is built or installed.
const FOREIGN: [&str; 4] = ["__pycache__", "node_modules", "site-packages", "target"];
/// Files and folders that are found.
pub(super) const MAX_FOUND: usize = 20_000;
/// Entries of folders that are looked at.
const MAX_ENTRIES: usize = 1_000_000;

/// The files, and those that a program loads or that have the ending of one of them, in the folder
/// of each and below; whether all were looked at. Tests that qkvet wrote are none of them.
pub fn nearby(files: &[PathBuf]) -> (BTreeSet<PathBuf>, bool) {
    let mut found: BTreeSet<PathBuf> = files.iter().cloned().collect();
    let endings: Vec<&OsStr> = files.iter().filter_map(|path| path.extension()).collect();
    let mut folders: Vec<PathBuf> =
        files.iter().filter_map(|path| path.parent()).map(Path::to_owned).collect();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        // Links may lead to where it has been already.
        if !shown.canonicalize().is_ok_and(|path| seen.insert(path)) {
            continue;
        }
        for entry in std::fs::read_dir(shown).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MAX_ENTRIES || found.len() + seen.len() > MAX_FOUND {
                return (found, false);
            }
            let (path, name) = (folder.join(entry.file_name()), entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
                && path.is_dir()
            {
                let is_own = !name.to_string_lossy().starts_with('.')
                    && !FOREIGN.iter().any(|foreign| name == *foreign)
                    && !path.join("pyvenv.cfg").is_file();
                folders.extend(is_own.then_some(path));
            } else if is_loaded(&name, &endings) && !(is_source(&name) && is_of_tests(&path)) {
                found.insert(path);
            }
        }
    }
    (found, true)
}

/// Whether tests may have this ending.
fn is_source(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|own| own == "py" || own == "rs")
}

fn is_loaded(name: &OsStr, endings: &[&OsStr]) -> bool {
    let own = Path::new(name).extension();
    own.is_some_and(|own| endings.contains(&own))
        || name.to_string_lossy().split('.').skip(1).any(|part| LOADED.contains(&part))
}

/// Whether a file is a report in the form of tests.
pub fn is_of_tests(path: &Path) -> bool {
    let mut first = Vec::new();
    let begin = File::open(path).and_then(|file| file.take(64).read_to_end(&mut first));
    let heads = ["#", "//"].map(|comment| format!("{comment} {WRITTEN}"));
    begin.is_ok() && heads.iter().any(|head| first.starts_with(head.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_near_is_found() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(&path, text).expect("a file");
            path
        };
        let own = write("mine.lua", "");
        let near =
            ["other.lua", "a/b/c/d/e/f/g/kernel.cu", "libx.so.1"].map(|path| write(path, ""));
        for far in [".git/x.py", "env/pyvenv.cfg", "env/lib/x.py", "target/x.py", "notes.txt"] {
            write(far, "");
        }
        write("tests/test_findings.py", &format!("# {WRITTEN} findings in it.\n"));
        let all: BTreeSet<PathBuf> = near.into_iter().chain([own.clone()]).collect();
        assert_eq!(nearby(std::slice::from_ref(&own)), (all, true));
        #[cfg(unix)]
        {
            // A folder elsewhere, and a way back.
            let linked = tempfile::TempDir::new().expect("a folder");
            std::fs::write(linked.path().join("far.py"), "").expect("a file");
            let link = std::os::unix::fs::symlink::<&Path, PathBuf>;
            link(linked.path(), folder.path().join("linked")).expect("a link");
            link(folder.path(), folder.path().join("a/back")).expect("a link");
            let (found, is_all) = nearby(&[own]);
            assert!(is_all && found.contains(&folder.path().join("linked/far.py")), "{found:?}");
            assert_eq!(found.len(), 5);
        }
    }
}
